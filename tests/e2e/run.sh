#!/bin/sh
# The main job through the real program and the real kubectl.   run.sh BUILD SANITIZED_BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/e2e.py" "$(realpath "$1")/berth" "$here/../../.tools/kubectl"
