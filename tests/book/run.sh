#!/bin/sh
# Booking as people do it: berth book, bookings, availability and top against a real berth up.
#   run.sh BUILD SANITIZED_BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/book.py" "$(realpath "$1")/berth" "$here/../../.tools/kubectl"
