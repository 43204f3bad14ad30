#!/bin/sh
# Probes, hooks, restarts, messages and what is refused, with real pods and kubectl.   run.sh BUILD SANITIZED_BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "$1")
shift 2
exec python3 "$here/life.py" "$build/berth" "$here/../../.tools/kubectl" "$@"
