#!/bin/sh
# berth simulate on the examples and on bad input: exact output, since a run in virtual time has no other.
#   run.sh BUILD SANITIZED_BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/simulate.py" "$(realpath "$1")/berth"
