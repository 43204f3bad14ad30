#!/bin/sh
# Configuration, metrics and the visibility API of a real `berth up`.   run.sh BUILD SANITIZED_BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/observe.py" "$(realpath "$1")/berth" "$here/../../.tools/kubectl"
