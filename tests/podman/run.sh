#!/bin/sh
# Pods with the files of images, which the real podman fetches; skipped where there is none.
#   run.sh BUILD SANITIZED_BUILD [NAME...]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
command -v podman >/dev/null || {
    echo "podman is not installed"
    exit 77
}
build=$(realpath "$1")
shift 2
exec python3 "$here/podman.py" "$build/berth" "$here/../../.tools/kubectl" "$@"
