#!/bin/sh
# Kills, full disks, damaged files and many watchers against the real program.   run.sh BUILD SANITIZED_BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
berth=$(realpath "$1")/berth
other=$berth
[ -x "${2:-}/berth" ] && other=$(realpath "$2")/berth

status=0
python3 "$here/kill9.py" "$berth" 100 || status=1
python3 "$here/watches.py" "$berth" || status=1
small=$(mktemp -d)
if unshare -m --propagation private mount -t tmpfs -o size=32m tmpfs "$small" 2>/dev/null; then
    unshare -m --propagation private sh -c 'mount -t tmpfs -o size=32m tmpfs "$0" && exec python3 "$@"' "$small" \
        "$here/disk.py" "$other" "$small" || status=1
else
    python3 "$here/disk.py" "$other" - || status=1
fi
rmdir "$small"
exit $status
