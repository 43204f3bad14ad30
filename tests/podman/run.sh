#!/bin/sh
# Pods in containers, with the real podman; skipped where there is none, or where it cannot run a container.
#   run.sh BUILD SANITIZED_BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
command -v podman >/dev/null || {
    echo "podman is not installed"
    exit 77
}
exec python3 "$here/podman.py" "$(realpath "$1")/berth" "$here/../../.tools/kubectl"
