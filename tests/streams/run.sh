#!/bin/sh
# kubectl exec, attach, run, cp and port-forward with real pods.   run.sh BUILD SANITIZED_BUILD [TEST...]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "$1")
shift 2
exec python3 "$here/streams.py" "$build/berth" "$here/../../.tools/kubectl" "$@"
