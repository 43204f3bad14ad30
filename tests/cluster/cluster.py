#!/usr/bin/env python3
"""cluster: what is shown of `berth operate`, on Berth's own API server or on a real one.

    cluster.py PROGRAM [KUBECONFIG]

$BERTH_FAULT_SECONDS says how long the misbehaving server is kept up (30). On a real cluster everything is made in
namespaces and under names of our own and removed after; definitions that are missing are installed and removed as well."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
KUBECTL = os.environ.get("KUBECTL", "kubectl")


class Server:
    """`berth up` as an API server with the controllers of Kubernetes, and none of Berth's."""

    def __init__(self, berth):
        self.folder = tempfile.mkdtemp(prefix="berth-cluster.")
        self.kubeconfig = os.path.join(self.folder, "data", "kubeconfig")
        with open(os.path.join(self.folder, "log"), "wb") as log:
            self.process = subprocess.Popen(
                [berth, "up", "--data", os.path.join(self.folder, "data"), "--listen", "127.0.0.1:0", "--controllers",
                 "kubernetes", "--no-node"], stdout=subprocess.PIPE, stderr=log)
        line = self.process.stdout.readline().decode()
        if not re.match("berth: ready", line):
            self.end()
            raise SystemExit(f"berth up said {line!r}")

    def end(self):
        self.process.terminate()
        code = self.process.wait(30)
        with open(os.path.join(self.folder, "log"), encoding="utf-8", errors="replace") as f:
            text = f.read()
        shutil.rmtree(self.folder, ignore_errors=True)
        if code:
            print(f"berth up ended with {code}\n{text[-3000:]}")
        return code


def kubectl(kubeconfig, *args, stdin=None, ok=True):
    done = subprocess.run([KUBECTL, "--kubeconfig", kubeconfig, *args], input=stdin, capture_output=True, text=True,
                          timeout=120, check=False)
    if ok and done.returncode:
        raise SystemExit(f"kubectl {' '.join(args)}: {done.stderr}")
    return done.stdout


def install(kubeconfig, berth):
    """All definitions, where Kueue's are missing; returns the names of what was installed."""
    there = kubectl(kubeconfig, "get", "crd", "-o", "name").split()
    if "customresourcedefinition.apiextensions.k8s.io/workloads.kueue.x-k8s.io" in there:
        return []
    text = subprocess.run([berth, "manifests", "crds"], capture_output=True, text=True, check=True).stdout
    kubectl(kubeconfig, "apply", "-f", "-", stdin=text)
    kubectl(kubeconfig, "wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
    return [name for name in re.findall(r"^  name: (\S+)$", text, re.M)
            if f"customresourcedefinition.apiextensions.k8s.io/{name}" not in there]


def main():
    berth, real = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    server = None if real else Server(berth)
    kubeconfig = real or server.kubeconfig
    if real and "clusterqueues.kueue" in kubectl(real, "get", "crd", "-o", "name") and \
            kubectl(real, "get", "clusterqueues.kueue.x-k8s.io", "-o", "name"):
        raise SystemExit("check-cluster: this cluster has ClusterQueues, and what is tried here would act on them as well")
    installed, failed = [], 0
    try:
        installed = install(kubeconfig, berth)
        seconds = os.environ.get("BERTH_FAULT_SECONDS", "30")
        commands = [[os.path.join(HERE, "faults.py"), "--kubeconfig", kubeconfig, "--berth", berth, "--seconds", seconds]]
        if not real: # it makes a node and the policy of bookings
            commands.append([os.path.join(HERE, "late.py"), "--kubeconfig", kubeconfig, "--berth", berth])
        if real: # on our own server, tests/scenarios does it
            commands.append([os.path.join(HERE, "..", "scenarios", "scenarios.py"), berth, "--kubeconfig", real, "--world",
                             "operate"])
        for command in commands:
            failed |= subprocess.run([sys.executable, *command], check=False).returncode
    finally:
        if installed and real:
            kubectl(kubeconfig, "delete", "crd", *installed, ok=False)
        if server:
            failed |= server.end()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
