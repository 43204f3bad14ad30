#!/bin/sh
# Every condition of Workloads, ClusterQueues and LocalQueues, as kubectl shows it.   run.sh BUILD SANITIZED_BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/conditions.py" "$(realpath "$1")/berth" "$here/../../.tools/kubectl"
