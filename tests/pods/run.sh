#!/bin/sh
# Plain pods and pod groups in queues, with real pods on slices of a simulated GPU.   run.sh BUILD SANITIZED_BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/pods.py" "$(realpath "$1")/berth" "$here/../../.tools/kubectl"
