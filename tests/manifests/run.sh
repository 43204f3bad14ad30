#!/bin/sh
# What `berth manifests` prints, beside what Helm makes of the chart.   run.sh BUILD SANITIZED_BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=$here/../..
# Debian's own python3 is the one that has python3-yaml.
exec /usr/bin/python3 "$here/manifests.py" "$(realpath "$1")/berth" "$top/.tools/helm"
