#!/bin/sh
# Recorded scheduling scenarios, further ones that the model answers, and scenarios with a changed answer.
#   run.sh BUILD SANITIZED_BUILD [CASES [SEED]]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
san=$2
shift 2
exec python3 "$here/replay.py" "$san/tests/replay/queue_replay" "$@"
