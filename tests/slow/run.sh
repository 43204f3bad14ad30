#!/bin/sh
# Requests that are grown until one takes too much of the server's time: a minute of the time fuzzer (fuzz/slow.c).
#   run.sh BUILD SANITIZED_BUILD
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
[ -x "$1/fuzz/fuzz-slow" ] || exit 77
exec "$1/fuzz/fuzz-slow" "$here/fuzz/corpus/slow" "${SLOW_SECONDS:-60}" "${SLOW_SEED:-1}"
