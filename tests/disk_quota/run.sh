#!/bin/sh
# Claims on a file system with project quotas; skipped where none can be mounted.   run.sh BUILD SANITIZED_BUILD [TEST...]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "$1")
shift 2
exec python3 "$here/disk_quota.py" "$build/berth" "$here/../../.tools/kubectl" "$@"
