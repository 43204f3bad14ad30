#!/bin/sh
# What is queued, kind by kind, with CustomResourceDefinitions that allow everything.   run.sh BUILD SANITIZED_BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/integrations.py" "$(realpath "$1")/berth" "$here/../../.tools/kubectl"
