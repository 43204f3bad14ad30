#!/usr/bin/env python3
"""late: what a killed leader had sent lands after his successor decided: of the pool's quota nothing is sold twice.

    late.py --kubeconfig FILE --berth PROGRAM

One `berth operate` books GPUs by way of a proxy, which keeps back the patch that gives the pool a GPU again. He is killed,
another one leads and gives that GPU to the next booking; then the proxy sends the patch on. It must be refused, and at no
revision may all quota together be more than the GPUs. Everything is made under names of its own, and removed in the end."""
import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import faulty  # noqa: E402
from client import KUEUE, Api, Fail, check, wait_for  # noqa: E402

BOOKINGS = "/apis/berth.dev/v1alpha1"
GPU = "nvidia.com/gpu"
GPUS = 4


class Keeping(faulty.Handler):
    """Keeps back the next patch of a Cohort, when told to, until it is let go; its client hears nothing."""
    keep, caught, let_go, done = threading.Event(), threading.Event(), threading.Event(), threading.Event()
    status, body = None, None

    def ask(self, body):
        if not (self.command == "PATCH" and "/cohorts/" in self.path and "/status" not in self.path and
                Keeping.keep.is_set()):
            return super().ask(body)
        Keeping.keep.clear()
        Keeping.body = body
        Keeping.caught.set()
        Keeping.let_go.wait(120)
        answer = super().ask(body)
        answer.read()
        Keeping.status = answer.status
        Keeping.done.set()
        raise faulty.Cut


class Quota:
    """Every revision of the pool and of the queues of bookings, in order."""

    def __init__(self, api):
        self.api, self.events, self.over, self.threads, self.faults = api, [], False, [], []
        for plural in ("cohorts", "clusterqueues"):
            self.threads.append(threading.Thread(target=self.run, args=(f"{KUEUE}/{plural}", plural), daemon=True))
            self.threads[-1].start()

    def run(self, path, plural):
        def hear(kind, o):
            groups = o["spec"].get("resourceGroups", [])
            quota = 0 if kind == "DELETED" else sum(int(r["nominalQuota"]) for g in groups for f in g["flavors"]
                                                    for r in f["resources"] if r["name"] == GPU)
            self.events.append((int(o["metadata"]["resourceVersion"]), plural, o["metadata"]["name"], quota))
        try:
            self.api.watch(path, self.api.get(path)["metadata"]["resourceVersion"], hear, lambda: self.over)
        except Exception as e: # the test ends with it, not this thread
            self.faults.append(repr(e))

    def end(self):
        self.over = True
        for t in self.threads:
            t.join(10)
        check(not self.faults, f"the watches: {self.faults}")
        has, most = {}, 0
        for revision, plural, name, quota in sorted(self.events):
            has[plural, name] = quota
            total = sum(has.values())
            check(total <= GPUS, f"{total} of {GPUS} at revision {revision}: {has}")
            most = max(most, total)
        return most


class Leader:
    def __init__(self, berth, kubeconfig, folder, name):
        self.log = open(os.path.join(folder, name), "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [berth, "operate", "--kubeconfig", kubeconfig, "--controllers", "queues,reservations", "--dashboard", "none",
             "--lease-duration", "2s", "--lease-renew", "1500ms", "--lease-retry", "250ms"],
            stdout=self.log, stderr=self.log)

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def end(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(30)


class Test:
    def __init__(self, api, berth, kubeconfig, folder):
        self.api, self.berth, self.kubeconfig, self.folder = api, berth, kubeconfig, folder
        self.ns = f"berth-late-{os.getpid()}"
        self.leaders, self.server = [], None

    def booking(self, name):
        return f"{BOOKINGS}/namespaces/{self.ns}/reservations/{name}"

    def quota(self, plural, name):
        """What the object gives. A booking's status names its queue while that is still being made: until then it gives 0."""
        path = f"{KUEUE}/{plural}/{name}"
        status, o = self.api.request("GET", path, ok=False)
        if status == 404:
            return 0
        check(status == 200, f"GET {path}: {status} {o.get('message')}")
        return sum(int(r["nominalQuota"]) for g in o["spec"].get("resourceGroups", []) for f in g["flavors"]
                   for r in f["resources"] if r["name"] == GPU)

    def phase(self, name):
        return self.api.get(self.booking(name)).get("status", {}).get("phase")

    def book(self, name):
        now = int(time.time()) // 900 * 900
        text = [time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(t)) for t in (now, now + 4 * 3600)]
        self.api.create("Reservation", f"{BOOKINGS}/namespaces/{self.ns}/reservations", {
            "metadata": {"name": name, "namespace": self.ns, "annotations": {"berth.dev/requested-by": "ann"}},
            "spec": {"start": text[0], "end": text[1], "lines": [{"resource": GPU, "count": 1}]}})

    def set_up(self):
        a = self.api
        a.create("Namespace", "/api/v1/namespaces", {"metadata": {"name": self.ns, "labels": {
            "kubernetes.io/metadata.name": self.ns}}})
        a.create("Node", "/api/v1/nodes", {"metadata": {"name": self.ns, "labels": {"late": self.ns}}})
        a.merge(f"/api/v1/nodes/{self.ns}/status", {"status": {
            "allocatable": {GPU: str(GPUS), "cpu": "32", "memory": "64Gi"},
            "conditions": [{"type": "Ready", "status": "True"}]}})
        a.create("ResourceFlavor", f"{KUEUE}/resourceflavors", {"metadata": {"name": self.ns}, "spec": {
            "nodeLabels": {"late": self.ns}}})
        a.create("ReservationPolicy", f"{BOOKINGS}/reservationpolicies", {"metadata": {"name": "default"}, "spec": {
            "pool": {"cohort": self.ns, "flavors": [self.ns]}}})

    def clean_up(self):
        a = self.api
        for name in ("a", "b"):
            a.delete(self.booking(name))
        for path in (f"{BOOKINGS}/reservationpolicies/default", f"/api/v1/namespaces/{self.ns}", f"/api/v1/nodes/{self.ns}",
                     f"{KUEUE}/cohorts/{self.ns}", f"{KUEUE}/resourceflavors/{self.ns}"):
            a.delete(path)
        for q in a.get(f"{KUEUE}/clusterqueues")["items"]:
            if q["spec"].get("cohortName") == self.ns:
                a.delete(f"{KUEUE}/clusterqueues/{q['metadata']['name']}")

    def lead(self, kubeconfig, name):
        self.leaders.append(Leader(self.berth, kubeconfig, self.folder, name))
        return self.leaders[-1]

    def run(self):
        proxied = os.path.join(self.folder, "proxied")
        self.server, _ = faulty.start(self.kubeconfig, proxied, rate=0, base=Keeping)
        self.set_up()
        quota = Quota(self.api)
        first = self.lead(proxied, "first")
        self.book("a")
        wait_for(lambda: f"a to begin: {self.api.get(self.booking('a')).get('status')}", lambda: self.phase("a") == "Active")
        wait_for("the pool without it", lambda: self.quota("cohorts", self.ns) == GPUS - 1)
        Keeping.keep.set()
        self.api.merge(self.booking("a"), {"spec": {"cancel": {"reason": "late"}}})
        check(Keeping.caught.wait(60), "the pool was not given its GPU again")
        check(f'"{GPUS}"'.encode() in Keeping.body, f"that was another patch: {Keeping.body}")
        self.book("b") # in the name of nobody yet: he who is to make its queue waits for that answer
        wait_for(lambda: f"b to be planned: {self.api.get(self.booking('b')).get('status')}",
                 lambda: self.phase("b") in ("Preparing", "Active", "Degraded"))
        first.end(signal.SIGKILL)
        self.lead(self.kubeconfig, "second")
        queue = wait_for(lambda: f"the queue of b: {self.api.get(self.booking('b')).get('status')}",
                         lambda: self.api.get(self.booking("b")).get("status", {}).get("objects", {}).get("clusterQueue"))
        wait_for("the quota of b", lambda: self.quota("clusterqueues", queue) == 1)
        before = self.api.get(f"{KUEUE}/cohorts/{self.ns}")["metadata"]
        Keeping.let_go.set()
        check(Keeping.done.wait(30), "the late patch had no answer")
        check(Keeping.status == 409, f"the late patch was answered {Keeping.status}")
        check(before["annotations"].get("berth.dev/term"), f"the pool was not marked: {before}")
        wait_for("b to be ready", lambda: self.phase("b") == "Active")
        check(self.quota("cohorts", self.ns) == GPUS - 1, "the pool has another GPU")
        self.leaders[-1].end()
        print(f"a late patch of a killed leader: {Keeping.status}; at most {quota.end()} of {GPUS} GPUs at any of "
              f"{len(quota.events)} revisions")

    def end(self):
        Keeping.let_go.set()
        for leader in self.leaders:
            leader.end(signal.SIGKILL)
        if self.server:
            self.server.shutdown()
        self.clean_up()


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--kubeconfig", required=True)
    args.add_argument("--berth", required=True)
    args = args.parse_args()
    with tempfile.TemporaryDirectory(prefix="berth-late.") as folder:
        test = Test(Api(args.kubeconfig), args.berth, args.kubeconfig, folder)
        try:
            test.run()
            return 0
        except Fail as e:
            print(f"FAILED: {e}")
            for leader in test.leaders:
                print("---- the end of berth's log\n" + "".join(leader.said().splitlines(True)[-40:]))
            return 1
        finally:
            test.end()


if __name__ == "__main__":
    sys.exit(main())
