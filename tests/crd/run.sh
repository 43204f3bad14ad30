#!/bin/sh
# run.sh BERTH KUBECTL [NAME...]: custom kinds end to end.
exec python3 "$(dirname "$0")/crd.py" "$@"
