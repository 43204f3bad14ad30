#!/bin/sh
# The dashboard's own tests, without a server: types, words outside strings.ts, unit tests of the data layer and of what
# formats, and the size of the first view. Exits 77 (skipped) where node or web/node_modules is missing (scripts/setup installs them).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
web=$(cd "$here/../../web" && pwd)
command -v node >/dev/null && [ -x "$web/node_modules/.bin/tsc" ] || {
    echo "tests/web: node or web/node_modules is missing: skipped"
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$web"
node node_modules/typescript/bin/tsc --noEmit
echo "types: clean"
node "$here/words.mjs" .
for t in "$here"/*.test.ts; do
    NODE_PATH="$web/node_modules" node_modules/.bin/esbuild "$t" --bundle --platform=node --format=esm --jsx=automatic \
        --log-level=warning --loader:.css=empty --outfile="$work/$(basename "$t" .ts).mjs"
done
node --test "$work"
node build.mjs "$work/dist"
! grep -rlE '<script>|style=|onclick=' "$work/dist/index.html" || { echo "index.html has something inline" >&2; exit 1; }
! grep -nE '"resolved"|https?://' package-lock.json || { echo "package-lock.json names a host" >&2; exit 1; }
