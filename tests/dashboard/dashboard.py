#!/usr/bin/env python3
"""dashboard: a `berth up` with two teams, for a browser test in node.   dashboard.py BERTH KUBECTL SCRIPT [NAME...]"""
import contextlib
import json
import os
import socket
import subprocess
import sys
import threading

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(TOP, "tests", "e2e"))
from harness import Berth, Fail, check  # noqa: E402

KUEUE = "kueue.x-k8s.io/v1beta2"
TEAMS = ("blue", "red")
# Vera may look at everything of red and at all queues; Carol may sign in, and no more.
PEOPLE = {"alice": "red", "anders": "red", "bob": "blue", "vera": "lookers", "carol": "nobody"}
HOSTILE = "<img src=x onerror=window.hacked=1>"
SECONDS = 1500


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def binding(name, namespace, role, group):
    kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    meta = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": meta,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group}]}


def priority(name, value, text):
    return {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "metadata": {"name": name}, "value": value,
            "description": text}


def objects():
    out = []
    for team in TEAMS:
        out.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": team}})
        out.append(binding("team", team, "admin", team))
        out.append({"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": {"name": "default", "namespace": team},
                    "spec": {"clusterQueue": "default"}})
    out += [binding("lookers", "red", "view", "lookers"), binding("lookers", None, "berth:queue-viewer", "lookers")]
    # A text that is markup: whoever shows it as that runs it.
    return out + [priority("loud", 7, HOSTILE), priority("urgent", 1000, "goes first")]


class Other:
    """A second Berth, for stories that stop it or break its GPUs; it is there once a script asks for it. With other GPUs
    than before it is a new one."""

    def __init__(self, program, kubectl, stack):
        self.make, self.stack, self.berth = (program, kubectl), stack.enter_context(contextlib.ExitStack()), None
        self.port = free_port()

    def up(self, gpus):
        if self.berth and self.berth.gpus == gpus:
            self.berth.up()
        else:
            self.stack.close()
            args = ["--dashboard", f"127.0.0.1:{self.port}"]
            self.berth = self.stack.enter_context(Berth(*self.make, gpus=gpus, args=args))
        return {"address": f"http://127.0.0.1:{self.port}", "data": self.berth.data,
                "kubeconfig": self.berth.env["KUBECONFIG"]}

    def stop(self):
        self.berth.stop()
        return {}


def converse(script, config, env, other):
    """Runs the script: its first line of input is the configuration; its lines "@up GPUS" and "@stop" are done to the
    other Berth and answered with a line; the rest of what it says is shown."""
    with subprocess.Popen(["node", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as p:
        late = threading.Timer(SECONDS, p.kill)
        late.start()

        def say(what):
            p.stdin.write(json.dumps(what) + "\n")
            p.stdin.flush()
        try:
            say(config)
            for line in p.stdout:
                if line.startswith("@"):
                    verb, *rest = line[1:].split()
                    say(getattr(other, verb)(*rest))
                else:
                    print(line, end="", flush=True)
        finally:
            late.cancel()
            if p.poll() is None and sys.exc_info()[0]:
                p.kill()
        check(p.wait() == 0, f"the browser's tests ended with {p.returncode}")


def main():
    program, kubectl, script, names = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]
    kubectl = kubectl if os.path.exists(kubectl) else "kubectl"
    port = free_port()
    gpus = os.environ.get("GPUS", "sim:8xh200")
    with contextlib.ExitStack() as stack:
        b = stack.enter_context(Berth(program, kubectl, gpus=gpus, args=["--dashboard", f"127.0.0.1:{port}"]))
        b.apply(*objects())
        tokens = {who: b.berth("token", who, "--group", team, "--time", "1h").strip() for who, team in PEOPLE.items()}
        config = {"address": f"http://127.0.0.1:{port}", "tokens": tokens, "berth": program, "kubectl": kubectl,
                  "data": b.data, "kubeconfig": b.env["KUBECONFIG"], "hostile": HOSTILE, "names": names}
        converse(script, config, b.env, Other(program, kubectl, stack))


if __name__ == "__main__":
    try:
        main()
    except Fail as e:
        sys.exit(f"dashboard: {e}")
