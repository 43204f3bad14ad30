#!/bin/sh
# The dashboard's HTTP side: files, signing in, who a request runs as, other sites, a cluster.
#
#   run.sh BUILD SANITIZED_BUILD [TEST...]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
BERTH_SANITIZED=$(realpath "$2")/berth
export BERTH_SANITIZED
program=$(realpath "$1")/berth
shift 2
exec python3 "$here/dashboard_http.py" "$program" "$here/../../.tools/kubectl" "$@"
