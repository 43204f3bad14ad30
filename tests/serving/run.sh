#!/bin/sh
# Served models: InferenceServices against `berth up`, with a small server as the model server.   run.sh BUILD SANITIZED_BUILD [TEST...]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "$1")
shift 2
exec python3 "$here/serving.py" "$build/berth" "$here/../../.tools/kubectl" "$@"
