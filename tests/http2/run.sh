#!/bin/sh
# HTTP/2 and protobuf with kubectl, curl, node, Chromium, and who makes frames by hand.   run.sh BUILD SANITIZED_BUILD [TEST...]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "$1")
shift 2
exec python3 "$here/http2.py" "$build/berth" "$here/../../.tools/kubectl" "$@"
