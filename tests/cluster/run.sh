#!/bin/sh
# `berth operate` on an API server: Berth's own, which takes Kueue's kinds as CustomResourceDefinitions here, or the one of
# $BERTH_CLUSTER, a kubeconfig.   run.sh BUILD SANITIZED_BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
export KUBECTL="$here/../../.tools/kubectl"
[ -x "$KUBECTL" ] || KUBECTL=kubectl
exec python3 "$here/cluster.py" "$(realpath "$1")/berth" "${BERTH_CLUSTER:-}"
