#!/bin/sh
# Who may do what, tokens, hostile requests, the sandbox and the binary, against the real program.   run.sh BUILD SANITIZED_BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python3 "$here/hardening.py" "$(realpath "$1")/berth"
exec python3 "$here/security.py" "$(realpath "$1")/berth"
