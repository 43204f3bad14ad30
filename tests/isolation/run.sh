#!/bin/sh
# What one pod may not do to another or to the machine, tried from inside.   run.sh BUILD SANITIZED_BUILD [NAME...]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "$1")
shift 2
exec python3 "$here/isolation.py" "$build/berth" "$here/../../.tools/kubectl" "$@"
