#!/bin/sh
# What queues do to running work, with real pods on slices of simulated GPUs.   run.sh BUILD SANITIZED_BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/queues.py" "$(realpath "$1")/berth" "$here/../../.tools/kubectl"
