#!/bin/sh
# HorizontalPodAutoscalers, by kubectl against `berth up`.   run.sh BUILD SANITIZED_BUILD [TEST...]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "$1")
shift 2
exec python3 "$here/scaling.py" "$build/berth" "$here/../../.tools/kubectl" "$@"
