#!/bin/sh
# Deployments and ReplicaSets, driven by kubectl, with real pods.   run.sh BUILD SANITIZED_BUILD [TEST...]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "$1")
shift 2
exec python3 "$here/apps.py" "$build/berth" "$here/../../.tools/kubectl" "$@"
