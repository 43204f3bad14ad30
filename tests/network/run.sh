#!/bin/sh
# The network of pods: addresses, Services, names, policies, restarts; as root and without.   run.sh BUILD SANITIZED_BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
program=$(realpath "$1")/berth
shift 2
exec python3 "$here/network.py" "$program" "$here/../../.tools/kubectl" "$@"
