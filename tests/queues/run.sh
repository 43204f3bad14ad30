#!/bin/sh
# What queues do to running work, with real pods on slices of simulated GPUs.   run.sh BUILD SANITIZED_BUILD [TEST...]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
program=$(realpath "$1")/berth
shift 2
exec python3 "$here/queues.py" "$program" "$here/../../.tools/kubectl" "$@"
