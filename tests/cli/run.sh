#!/bin/sh
# The command line as people use it: overview, completion, what is refused and why, Ctrl-C, streams.
#   run.sh BUILD SANITIZED_BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/cli.py" "$(realpath "$1")/berth" "$here/../../.tools/kubectl"
