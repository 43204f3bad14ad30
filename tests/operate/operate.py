#!/usr/bin/env python3
"""operate: `berth operate` against `berth up --controllers kubernetes`, which is an API server, a Job controller and a
node here, and knows Kueue's kinds by CustomResourceDefinitions alone.   operate.py BERTH KUBECTL [NAME...]

Each test is a function test_*; it gets a Cluster of its own. Prints a line each, closes with "N passed, N failed".
"""
import json
import os
import random
import signal
import subprocess
import sys
import time
import traceback
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from harness import Berth, Fail, check, job, wait_for  # noqa: E402  pylint: disable=wrong-import-position

QUICK = ["--lease-duration", "3s", "--lease-renew", "2s", "--lease-retry", "400ms"]
WRITES = {"create", "update", "patch", "delete", "deletecollection"}


class Operate:
    """One `berth operate`. Its log is cluster.root/NAME.log."""

    def __init__(self, cluster, name, *args, kubeconfig=None):
        self.cluster, self.name = cluster, name
        self.path = os.path.join(cluster.root, name + ".log")
        with open(self.path, "ab") as log:
            self.process = subprocess.Popen(
                [cluster.program, "operate", "--kubeconfig", kubeconfig or os.path.join(cluster.data, "kubeconfig"),
                 "--metrics-port", "0", *args], stdout=subprocess.PIPE, stderr=log, env=cluster.env, text=True)
        cluster.operates.append(self)
        self.url = ""

    def ready(self):
        line = self.process.stdout.readline()
        check(line.startswith("berth: ready"), f"{self.name} said {line!r}\n{self.log()}")
        self.url = line.split("metrics ")[1].split()[0]
        return self

    def log(self):
        with open(self.path, encoding="utf-8") as f:
            return f.read()

    def says(self, text, seconds=30):
        wait_for(f"{self.name} says {text!r}", lambda: text in self.log(), seconds)
        return self

    def get(self, path):
        try:
            with urllib.request.urlopen(self.url + path, timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as e:
            return e.code, e.read().decode()

    def metric(self, name):
        for line in self.get("/metrics")[1].splitlines():
            if line.startswith(name + " ") or line.startswith(name + "{"):
                return float(line.split()[-1])
        return None

    def end(self, sig=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(sig)
        return self.process.wait(timeout=30)


class Cluster(Berth):
    """`berth up` as a cluster. Without a node whose pods Berth places, quota alone counts."""

    def __init__(self, program, kubectl, node=True):
        super().__init__(program, kubectl, gpus="none",
                         args=["--controllers", "kubernetes"] + ([] if node else ["--no-node"]))
        self.node, self.operates = node, []

    def kubectl(self, *args, **more):
        if args[:2] == ("wait", "--for=condition=Ready") and not self.node:
            return ""
        return super().kubectl(*args, **more)

    def __exit__(self, kind, value, trace):
        logs = {}
        for o in self.operates:
            if o.process.poll() is None:
                o.process.kill()
            o.process.wait()
            if kind:
                logs[o.name] = o.log()
        for name, text in logs.items():
            print(f"---- the end of {name}'s log\n" + "".join(text.splitlines(keepends=True)[-30:]))
        if kind:
            print(self.kubectl("get", "clusterqueues,workloads,jobs,pods", "-o", "wide", ok=False).stdout[-6000:])
        super().__exit__(kind, value, trace)

    def kinds(self):
        """Kueue's kinds, as a cluster gets them."""
        self.kubectl("create", "-f", "-", stdin=self.berth("manifests", "crds"))
        self.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=20s")

    def queue(self, cpu="2"):
        self.apply({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "any"}},
                   {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "team"},
                    "spec": {"namespaceSelector": {}, "resourceGroups": [
                        {"coveredResources": ["cpu"], "flavors": [
                            {"name": "any", "resources": [{"name": "cpu", "nominalQuota": cpu}]}]}]}},
                   {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue",
                    "metadata": {"name": "team", "namespace": "default"}, "spec": {"clusterQueue": "team"}})

    def user(self, name):
        """A kubeconfig of a ServiceAccount that may everything: the audit log tells it from others."""
        self.kubectl("create", "serviceaccount", name, retry=10)
        self.kubectl("create", "clusterrolebinding", name, "--clusterrole=cluster-admin",
                     f"--serviceaccount=default:{name}")
        token = self.kubectl("create", "token", name, "--duration=1h").strip()
        config = json.loads(self.kubectl("config", "view", "--raw", "-o", "json"))
        config["users"][0]["user"] = {"token": token}
        path = os.path.join(self.root, name + ".kubeconfig")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(config, f)
        return path

    def audit(self):
        with open(os.path.join(self.data, "audit.log"), encoding="utf-8") as f:
            return [json.loads(line) for line in f if line.endswith("\n")]

    def lease(self):
        return self.get("lease", "berth-controller", "-n", "kube-system")["spec"]

    def usage(self):
        """What the ClusterQueue says, and what the Workloads that hold quota add up to."""
        status = self.get("clusterqueue", "team").get("status", {})
        told = [r["total"] for f in status.get("flavorsUsage", []) for r in f["resources"]]
        held = 0
        for w in self.get("workloads")["items"]:
            s = w.get("status", {})
            ended = any(c["type"] == "Finished" and c["status"] == "True" for c in s.get("conditions", []))
            for a in [] if ended else s.get("admission", {}).get("podSetAssignments", []):
                held += milli(a["resourceUsage"]["cpu"])
        return told, held / 1000


def milli(quantity):
    return int(quantity[:-1]) if quantity.endswith("m") else int(quantity) * 1000


def workloads(n, first=0, cpu="1"):
    return [{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
             "metadata": {"name": f"w{i:04}", "namespace": "default"},
             "spec": {"queueName": "team", "podSets": [{"name": "main", "count": 1, "template": {"spec": {
                 "restartPolicy": "Never", "containers": [
                     {"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}]}}}]}}
            for i in range(first, first + n)]


def no_node(test):
    test.node = False
    return test


def test_a_job(b):
    """Suspended, admitted, run, finished; quota is given back; pages; kinds that come later than the process."""
    o = Operate(b, "operate", *QUICK)
    o.says("the cluster does not serve them")
    b.kinds()
    o.ready()
    check(o.get("/readyz")[0] == 200 and "[+]caches ok" in o.get("/readyz?verbose")[1], str(o.get("/readyz?verbose")))
    o.says("controllers: ")
    check(o.metric("leader_election_master_status") == 1, "it does not say that it leads")
    b.queue()
    b.apply(job("first", "sleep 5", "team", parallelism=2, completions=2, suspend=True,
                pod={"containers": [{"name": "c", "image": "x", "command": ["sh", "-c", "sleep 5"],
                                     "resources": {"requests": {"cpu": "1"}}}]}))
    b.apply(job("second", "true", "team", suspend=True,
                pod={"containers": [{"name": "c", "image": "x", "command": ["true"],
                                     "resources": {"requests": {"cpu": "1"}}}]}))
    wait_for("one waits for the other", lambda: sorted(
        j["spec"]["suspend"] for j in b.get("jobs")["items"]) == [False, True])
    b.kubectl("wait", "--for=condition=complete", "job/first", "job/second", "--timeout=60s")
    wait_for("quota is given back", lambda: b.usage() == (["0"], 0))
    events = b.kubectl("get", "events", "-A")
    check("QuotaReserved" in events and "became leader" in events, events)
    check(o.end() == 0, "it did not end well")
    lease = b.lease()
    check(lease.get("holderIdentity", "") == "" and lease["leaseDurationSeconds"] == 1, f"not handed over: {lease}")
    check("stopped leading" in b.kubectl("get", "events", "-n", "kube-system"), "no Event of the end")


def test_elastic(b):
    """A Job grows, then again while its operate is killed: its pods go on, one Workload replaces the other, quota counts
    once. Its pods ask for little, so that nine fit on a small machine: it is quota that they wait for."""
    b.kinds()
    o = Operate(b, "first", *QUICK).ready()
    b.queue("400m")
    body = job("grows", "sleep 300", "team", parallelism=1, suspend=True, pod={
        "terminationGracePeriodSeconds": 1, "schedulingGates": [{"name": "kueue.x-k8s.io/elastic-job"}],
        "containers": [{"name": "c", "image": "x", "command": ["sleep", "300"],
                        "resources": {"requests": {"cpu": "100m"}}}]})
    body["metadata"]["annotations"] = {"kueue.x-k8s.io/elastic-job": "true"}
    b.apply(body)

    def want(n):
        b.kubectl("patch", "job", "grows", "--type=merge", "-p", json.dumps({"spec": {"parallelism": n}}))

    def ready():
        return b.get("job", "grows")["status"].get("ready")

    def ended(reason):
        return sum(1 for w in b.get("workloads")["items"] for c in w.get("status", {}).get("conditions", [])
                   if c["type"] == "Finished" and c["reason"] == reason)

    wait_for("a pod that runs", lambda: ready() == 1)
    uid = b.get("pods")["items"][0]["metadata"]["uid"]
    want(2)
    wait_for("two pods that run", lambda: ready() == 2)
    wait_for("one was replaced", lambda: ended("WorkloadSliceReplaced") == 1)
    want(3)
    o.end(signal.SIGKILL)
    o = Operate(b, "second", *QUICK).ready()
    wait_for("three pods that run", lambda: ready() == 3)
    wait_for("another was replaced", lambda: ended("WorkloadSliceReplaced") == 2)
    wait_for("three are held", lambda: b.usage() == (["300m"], 0.3))
    check(uid in [p["metadata"]["uid"] for p in b.get("pods")["items"]], "the first pod was stopped")
    want(9)
    wait_for("nine pods", lambda: len(b.get("pods")["items"]) == 9)
    wait_for("a Workload that waits", lambda: any(
        c["type"] == "QuotaReserved" and c["status"] == "False" for w in b.get("workloads")["items"]
        for c in w.get("status", {}).get("conditions", [])))
    check(ready() == 3 and b.usage() == (["300m"], 0.3), "more run than have quota")
    want(2)
    wait_for("what waited has ended", lambda: ended("OutOfSync") == 1)
    wait_for("two are held", lambda: b.usage()[0] == ["200m"])
    b.kubectl("delete", "job", "grows", "--timeout=30s")
    wait_for("quota is given back", lambda: b.usage() == (["0"], 0))
    check(o.end() == 0, "the end")


@no_node
def test_hand_over(b):
    """A clean end: the other acts at once, not after the lease."""
    b.kinds()
    b.queue("1000")
    a = Operate(b, "a", "--lease-duration", "60s", "--lease-renew", "40s", "--lease-retry", "10s").ready()
    a.says("became leader")
    c = Operate(b, "c", "--lease-duration", "60s", "--lease-renew", "40s", "--lease-retry", "10s").ready()
    time.sleep(1)
    check(c.metric("leader_election_master_status") == 0, "two lead")
    check(a.end() == 0, "the end of the first")
    c.says("became leader", 8)
    c.says("controllers: ")
    b.apply(*workloads(1))
    wait_for("the other acts", lambda: b.usage() == (["1"], 1))
    check(b.lease()["leaseTransitions"] == 1, str(b.lease()))


@no_node
def test_fence(b):
    """A leader that is stopped amid a stream of writes makes none after another could take over."""
    b.kinds()
    b.queue("100000")
    users = [b.user("one"), b.user("two")]
    b.apply(*workloads(600))
    flow = QUICK + ["--qps", "60", "--burst", "5"]
    one = Operate(b, "one", *flow, kubeconfig=users[0]).ready().says("controllers: ")
    two = Operate(b, "two", *flow, kubeconfig=users[1]).ready()

    def admitted(user):
        return sum(1 for e in b.audit() if e["user"].endswith(":" + user) and e.get("resource") == "workloads")

    wait_for("the first writes", lambda: admitted("one") > 60)
    check("became leader" not in two.log(), "two lead")
    check(one.metric("berth_writes_waiting") > 20, "nothing waits: this test would not see what it looks for")
    one.process.send_signal(signal.SIGSTOP)
    two.says("became leader")
    time.sleep(0.5)
    before = admitted("two")
    one.process.send_signal(signal.SIGCONT)
    one.says("is no longer leader")
    wait_for("the second goes on", lambda: admitted("two") > before + 30)
    time.sleep(2)
    audit = b.audit()
    taken = next(e["seq"] for e in audit if e["user"].endswith(":two") and e.get("resource") == "leases")
    late = [e for e in audit if e["seq"] > taken and e["user"].endswith(":one") and e["verb"] in WRITES]
    check(not late, f"{len(late)} writes of the first after the take-over: {late[:3]}")
    early = [e for e in audit if e["seq"] < taken and e["user"].endswith(":one") and e["verb"] in WRITES]
    check(len(early) > 60, "the first wrote nothing")
    # The first is a candidate like any other now, and takes over in its turn.
    two.process.kill()
    two.process.wait()
    wait_for("all is admitted", lambda: b.usage()[1] == 600, 60)
    wait_for("and counted", lambda: b.usage()[0] == ["600"], 30)


def test_killed_at_any_moment(b):
    """kill -9 again and again while jobs come and go: quota is never exceeded, and right in the end."""
    b.kinds()
    b.queue("3")
    rng = random.Random(7)
    for i in range(12):
        b.apply(job(f"j{i}", "true", "team", suspend=bool(i % 3), parallelism=1 + i % 2, completions=1 + i % 2,
                    pod={"containers": [{"name": "c", "image": "x", "command": ["sh", "-c", "sleep 0.3"],
                                         "resources": {"requests": {"cpu": "1"}}}]}))

    def finished():
        held = b.usage()[1]
        check(held <= 3, f"{held} of 3 are held")
        return all(any(c["type"] == "Complete" for c in j.get("status", {}).get("conditions", []))
                   for j in b.get("jobs")["items"])

    for _ in range(40):
        o = Operate(b, "killed", "--leader-elect=false")
        time.sleep(rng.uniform(0.1, 1.5))
        done = finished()
        o.end(signal.SIGKILL)
        if done:
            break
    last = Operate(b, "last", "--leader-elect=false").ready()
    wait_for("every job is complete", finished, 60)
    wait_for("quota is given back", lambda: b.usage() == (["0"], 0))
    names = [w["metadata"]["ownerReferences"][0]["name"] for w in b.get("workloads")["items"]]
    check(sorted(names) == sorted(f"j{i}" for i in range(12)), f"Workloads of {names}")
    check(last.end() == 0, "the end")


@no_node
def test_beside_kueue(b):
    """Where Kueue's manager is, its part is left to it; what is named runs anyway."""
    b.kinds()
    b.queue("10")
    now = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())
    b.kubectl("create", "namespace", "kueue-system")
    b.apply({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
             "metadata": {"name": "c1f6bfd2.kueue.x-k8s.io", "namespace": "kueue-system"},
             "spec": {"holderIdentity": "kueue-1", "leaseDurationSeconds": 15, "renewTime": now}})
    o = Operate(b, "beside", "--leader-elect=false").ready()
    o.says("KUEUE IS AT WORK").says("controllers: reservations")
    check(o.metric("berth_kueue_present") == 1, "the metric")
    b.apply(*workloads(1))
    time.sleep(1)
    check(b.usage()[1] == 0, "the queues were not left alone")
    o.end()
    o = Operate(b, "named", "--leader-elect=false", "--controllers", "kueue").ready()
    o.says("controllers: queues")
    wait_for("admitted", lambda: b.usage()[1] == 1)


def main():
    program, kubectl, only = sys.argv[1], sys.argv[2], sys.argv[3:]
    passed = failed = 0
    for name, test in sorted(globals().items()):
        if not name.startswith("test_") or (only and name[5:] not in only):
            continue
        start = time.monotonic()
        try:
            with Cluster(program, kubectl, getattr(test, "node", True)) as b:
                test(b)
            passed += 1
            print(f"ok {name[5:]} ({time.monotonic() - start:.1f} s)", flush=True)
        except Exception:  # pylint: disable=broad-except
            failed += 1
            print(f"FAILED {name[5:]}", flush=True)
            traceback.print_exc()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
