#!/bin/sh
# Recorded scheduling scenarios, further ones that the model answers, and scenarios with a changed answer; then recorded
# lives with edits, through the controllers; then recorded answers of autoscalers.
#   run.sh BUILD SANITIZED_BUILD [CASES [SEED]]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "$1") san=$2
shift 2
python3 "$here/replay.py" "$san/tests/replay/queue_replay" "$@"
python3 "$here/scale.py" "$san/tests/replay/scale_replay"
exec python3 "$here/edits.py" "$build/berth"
