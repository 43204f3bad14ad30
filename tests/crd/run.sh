#!/bin/sh
# Kinds from CustomResourceDefinitions, with kubectl and the real program.   run.sh BUILD SANITIZED_BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/crd.py" "$(realpath "$1")/berth" "$here/../../.tools/kubectl"
