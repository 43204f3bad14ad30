#!/bin/sh
# OpenAPI and discovery as kubectl, Helm and plain HTTP clients read them.   run.sh BUILD SANITIZED_BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/openapi.py" "$(realpath "$1")/berth" "$here/../../.tools/kubectl" "$here/../../.tools/helm"
