"""story: one day of somebody who keeps things running, as it is typed: what the README promises, one after another."""
import os
import re
import select
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from harness import check, wait_for

SERVER = "import http.server, os; os.chdir('/tmp'); http.server.ThreadingHTTPServer(('', 8000), http.server.SimpleHTTPRequestHandler).serve_forever()"


def ready_addresses(b, name):
    slices = b.get("endpointslices", "-l", f"kubernetes.io/service-name={name}")["items"]
    return sorted(a for s in slices for e in s.get("endpoints") or [] if e["conditions"].get("ready") for a in e["addresses"])


def deployment(b):
    """Two replicas listen on the same port, behind a Service; rolled out, undone, scaled."""
    b.kubectl("create", "deployment", "web", "--image=none", "--replicas=2", "--", "python3", "-c", SERVER)
    b.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
    pods = b.get("pods", "-l", "app=web")["items"]
    check(len({p["status"]["podIP"] for p in pods}) == 2, f"addresses {[p['status']['podIP'] for p in pods]}")
    b.kubectl("expose", "deployment", "web", "--port=80", "--target-port=8000")
    wait_for("two endpoints", lambda: len(ready_addresses(b, "web")) == 2)
    b.kubectl("rollout", "restart", "deployment/web")
    b.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
    b.kubectl("rollout", "undo", "deployment/web")
    b.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
    b.kubectl("scale", "deployment", "web", "--replicas=3")
    b.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
    wait_for("three endpoints", lambda: len(ready_addresses(b, "web")) == 3)


def run_and_forward(b):
    """kubectl run --rm -it reaches the Service by name; port-forward brings it to the machine; cp goes both ways."""
    got = b.kubectl("run", "ask", "--rm", "-i", "--restart=Never", "--image=none", "--command", "--", "python3", "-c",
                    "import urllib.request as u; print('got', len(u.urlopen('http://web/', timeout=5).read()) > 0)")
    check("got True" in got, got)
    p = subprocess.Popen([b.kubectl_program, "port-forward", "service/web", ":80"], env=b.env, stdout=subprocess.PIPE)
    try:
        check(select.select([p.stdout], [], [], 30)[0], "port-forward says nothing")
        port = re.search(rb"127\.0\.0\.1:(\d+)", p.stdout.readline()).group(1).decode()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10) as r:
            check(r.status == 200, str(r.status))
    finally:
        p.terminate()
        p.wait(30)
    pod = b.get("pods", "-l", "app=web")["items"][0]["metadata"]["name"]
    with tempfile.TemporaryDirectory() as d:
        with open(os.path.join(d, "in"), "w", encoding="utf-8") as f:
            f.write("there and back")
        b.kubectl("cp", os.path.join(d, "in"), f"{pod}:/tmp/in")
        check(b.kubectl("exec", pod, "--", "cat", "/tmp/in") == "there and back", "what was copied in")
        b.kubectl("cp", f"{pod}:/tmp/in", os.path.join(d, "out"))
        with open(os.path.join(d, "out"), encoding="utf-8") as f:
            check(f.read() == "there and back", "what was copied out")


def top(b):
    wait_for("what three pods take", lambda: b.kubectl("top", "pod", "-l", "app=web", "--no-headers", ok=False).stdout.count("web-") == 3)
    row = b.kubectl("top", "pod", "-l", "app=web", "--containers", "--no-headers").split("\n")[0].split()
    check(len(row) == 4 and row[2].endswith("m") and row[3].endswith("Mi") and row[3] != "0Mi", str(row))
    node = b.kubectl("top", "node", "--no-headers").split()
    check(len(node) == 5 and node[1].endswith("m") and node[3].endswith("Mi"), str(node))
    wrong = b.kubectl("top", "pod", "no-such-pod", ok=False)
    check("NotFound" in wrong.stderr, wrong.stderr)
    shown = b.kubectl("get", "podmetrics", "-l", "app=web")
    check(shown.startswith("NAME") and "CPU" in shown, shown)
    other = b.kubectl("--as=somebody", "get", "--raw", "/apis/metrics.k8s.io/v1beta1/pods", ok=False)
    check("forbidden" in other.stderr, other.stderr)


def readiness(b):
    """Who fails its readiness is out of the Service within a second of the answer; printed, as machines are busy."""
    b.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "moody", "labels": {"app": "moody"}}, "spec": {
        "terminationGracePeriodSeconds": 0, "containers": [{
            "name": "main", "image": "none", "command": ["sh", "-c", "touch ok; exec sleep 100000"],
            "readinessProbe": {"exec": {"command": ["test", "-e", "ok"]}, "periodSeconds": 1, "failureThreshold": 1}}]}})
    b.kubectl("expose", "pod", "moody", "--port=80")
    wait_for("its endpoint", lambda: len(ready_addresses(b, "moody")) == 1)
    b.kubectl("exec", "moody", "--", "rm", "ok")
    wait_for("the probe's answer", lambda: any(
        c["type"] == "Ready" and c["status"] == "False" for c in b.get("pod", "moody")["status"]["conditions"]))
    since = time.monotonic()
    wait_for("no endpoint", lambda: not ready_addresses(b, "moody"), 30, 0.01)
    print(f"        not ready: out of the Service within {time.monotonic() - since:.2f} s", flush=True)
    b.kubectl("exec", "moody", "--", "touch", "ok")
    wait_for("it is back", lambda: len(ready_addresses(b, "moody")) == 1)


def stateful(b):
    """A StatefulSet keeps its claim, and what is on it, over a restart of Berth and of its pod."""
    b.apply({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "db"},
             "spec": {"clusterIP": "None", "selector": {"app": "db"}, "ports": [{"port": 80}]}},
            {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}, "spec": {
                "serviceName": "db", "replicas": 1, "selector": {"matchLabels": {"app": "db"}},
                "template": {"metadata": {"labels": {"app": "db"}}, "spec": {
                    "terminationGracePeriodSeconds": 0, "containers": [{
                        "name": "main", "image": "none", "command": ["sh", "-c", "echo $HOSTNAME >> /data/seen; exec sleep 100000"],
                        "volumeMounts": [{"name": "data", "mountPath": "/data"}]}]}},
                "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {
                    "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "8Mi"}}}}]}})
    b.kubectl("rollout", "status", "sts/db", "--timeout=60s")
    claim = b.get("pvc", "data-db-0")["spec"]["volumeName"]
    uid = b.get("pod", "db-0")["metadata"]["uid"]
    b.stop()
    b.up()
    check(b.get("pod", "db-0")["metadata"]["uid"] == uid, "the pod outlives Berth")
    b.kubectl("delete", "pod", "db-0")
    wait_for("the pod anew", lambda: b.kubectl("exec", "db-0", "--", "cat", "/data/seen", ok=False).stdout == "db-0\ndb-0\n", 60)
    check(b.get("pvc", "data-db-0")["spec"]["volumeName"] == claim, "the claim is the same")


def drain(b):
    """The node is emptied; what is wanted comes back when it takes pods again."""
    node = b.get("nodes")["items"][0]["metadata"]["name"]
    b.kubectl("delete", "pod", "moody")
    b.kubectl("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=60s")
    check("SchedulingDisabled" in b.kubectl("get", "node", node), "the node is cordoned")
    wait_for("nothing runs", lambda: not [p for p in b.get("pods")["items"] if p["status"].get("phase") == "Running"])
    b.kubectl("uncordon", node)
    b.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
    b.kubectl("rollout", "status", "sts/db", "--timeout=60s")


def the_story(b):
    for part in (deployment, run_and_forward, top, readiness, stateful, drain):
        print(f"        {part.__name__}", flush=True)
        part(b)
