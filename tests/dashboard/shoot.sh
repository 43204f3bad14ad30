#!/bin/sh
# Makes the pictures of docs/dashboard.md anew: of the real program with examples/sample, as a newcomer sees it.
#   tests/dashboard/shoot.sh BUILD [SECONDS]      SECONDS: how long the sample lives before (90)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
chromium=${CHROMIUM:-$(command -v chromium || command -v chromium-browser)}
folder=$(mktemp -d)
pid=
finish() {
    [ -z "$pid" ] || {
        kill "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    }
    rm -rf "$folder"
}
trap finish EXIT
trap 'exit 1' INT TERM
LISTEN=127.0.0.1:0 "$top/examples/sample/run" "$(realpath "$1")/berth" "$folder/data" >"$folder/out" 2>&1 &
pid=$!
tries=0
until grep -q '#code=' "$folder/out"; do
    kill -0 "$pid" 2>/dev/null || {
        cat "$folder/out" >&2
        exit 1
    }
    tries=$((tries + 1))
    [ "$tries" -lt 120 ] || exit 1
    sleep 1
done
sleep "${2:-90}"
CHROMIUM=$chromium node "$here/shoot.mjs" "$(realpath "$1")/berth" "$folder/data" "$top/docs/dashboard"
