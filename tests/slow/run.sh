#!/bin/sh
# Requests that are grown until one takes too much of the server's time (fuzz/slow.c): the known plans, and as many of each
# file as take some 30 s on two quiet processors. Always the same ones, so that what fails is due to the change that is
# tested; scripts/fuzz slow looks for others.
#   run.sh BUILD SANITIZED_BUILD
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
[ -x "$1/fuzz/fuzz-slow" ] || exit 77
exec "$1/fuzz/fuzz-slow" "$here/fuzz/corpus/slow" "plans=${SLOW_PLANS:-25}" "${SLOW_SEED:-1}"
