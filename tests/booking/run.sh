#!/bin/sh
# Bookings from the calendar to the GPU, through the real program and the real kubectl.   run.sh BUILD SANITIZED_BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
program=$(realpath "$1")/berth
shift 2
exec python3 "$here/booking.py" "$program" "$here/../../.tools/kubectl" "$@"
