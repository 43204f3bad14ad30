#!/bin/sh
# CronJobs, disruption budgets with evictions and drains, quotas of namespaces.   run.sh BUILD SANITIZED_BUILD [TEST...]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "$1")
shift 2
exec python3 "$here/housekeep.py" "$build/berth" "$here/../../.tools/kubectl" "$@"
