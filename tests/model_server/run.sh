#!/bin/sh
# The stub model server that other suites use in the place of vLLM.   run.sh BUILD SANITIZED_BUILD [TEST...]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "$1")
shift 2
exec python3 "$here/model_server.py" "$build/stub/model/model-server" "$here/../../.tools/kubectl" "$@"
