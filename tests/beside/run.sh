#!/bin/sh
# Random documents for `berth up` and a real kube-apiserver beside it; answers must be the same, or told in docs/beside.md.
#   run.sh BUILD SANITIZED_BUILD [beside.py's options]
# A kube-apiserver is not among what a machine must have: $KUBE_APISERVER names one, $ETCD an etcd (else on PATH).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
program=$(realpath "$1")/berth
shift 2
etcd=${ETCD:-$(command -v etcd || true)}
if [ ! -x "${KUBE_APISERVER:-}" ] || [ ! -x "$etcd" ]; then
    echo "SKIPPED: set KUBE_APISERVER to a kube-apiserver, and ETCD to an etcd (or have it on PATH): nothing was compared"
    exit 77
fi
exec python3 "$here/beside.py" --berth "$program" --kube-apiserver "$KUBE_APISERVER" --etcd "$etcd" "$@"
