#!/bin/sh
# Other people's clients against the real program, and the tables of docs/compatibility.md.   run.sh BUILD SANITIZED_BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec /usr/bin/python3 "$here/compat.py" "$(realpath "$1")/berth"
