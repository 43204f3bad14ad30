#!/bin/sh
# The weights of models in pods, with a model server that reads them.   run.sh BUILD SANITIZED_BUILD [TEST...]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "$1")
shift 2
MODEL_SERVER="$build/stub/model/model-server" exec python3 "$here/weights.py" "$build/berth" "$here/../../.tools/kubectl" "$@"
