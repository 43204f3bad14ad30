#!/bin/sh
# The gateway against stub servers: streams, faults, smuggling, disconnects, reloads, zones, waiting.   run.sh BUILD SANITIZED_BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/gateway.py" "$(realpath "$1")/berth" "$@"
