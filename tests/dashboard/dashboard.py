#!/usr/bin/env python3
"""dashboard: a `berth up` with two teams, for a browser test in node.   dashboard.py BERTH KUBECTL SCRIPT [NAME...]"""
import json
import os
import socket
import subprocess
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(TOP, "tests", "e2e"))
from harness import Berth, Fail, check  # noqa: E402

KUEUE = "kueue.x-k8s.io/v1beta2"
PEOPLE = {"alice": "red", "anders": "red", "bob": "blue"}
HOSTILE = "<img src=x onerror=window.hacked=1>"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def objects():
    out = []
    for team in sorted(set(PEOPLE.values())):
        out.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": team}})
        out.append({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
                    "metadata": {"name": "team", "namespace": team},
                    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"},
                    "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": team}]})
        out.append({"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": {"name": "default", "namespace": team},
                    "spec": {"clusterQueue": "default"}})
    # A name that is none: whoever shows it as markup runs it.
    out.append({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass",
                "metadata": {"name": "loud"}, "value": 7, "description": HOSTILE})
    return out


def main():
    program, kubectl, script, names = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]
    kubectl = kubectl if os.path.exists(kubectl) else "kubectl"
    port = free_port()
    with Berth(program, kubectl, gpus=os.environ.get("GPUS", "sim:8xh200"), args=["--dashboard", f"127.0.0.1:{port}"]) as b:
        b.apply(*objects())
        tokens = {who: b.berth("token", who, "--group", team, "--time", "1h").strip() for who, team in PEOPLE.items()}
        config = {"address": f"http://127.0.0.1:{port}", "tokens": tokens, "berth": program, "kubectl": kubectl,
                  "data": b.data, "kubeconfig": b.env["KUBECONFIG"], "hostile": HOSTILE, "names": names}
        done = subprocess.run(["node", script], input=json.dumps(config), text=True, env=b.env, check=False, timeout=1500)
        check(done.returncode == 0, f"the browser's tests ended with {done.returncode}")


if __name__ == "__main__":
    try:
        main()
    except Fail as e:
        sys.exit(f"dashboard: {e}")
