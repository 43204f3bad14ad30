#!/usr/bin/env python3
"""bench/trickle: many pending, few finishes, through a real `berth up`.   trickle.py BERTH [PENDING [QUEUES [RATE [SECONDS]]]]

PENDING Workloads of 1 to 3 cpu wait in QUEUES ClusterQueues of 4 cpu, 50 to a cohort, in which nobody preempts. Measured: the processor time
of the server at rest; then, while RATE of those that run are finished each second, the time from the finish being sent to the
next admission in the same cohort being seen by a watch, the processor time of the server, and how many other events the watch
shows (what is written about those who wait).
"""
import os
import random
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "faults"))
from client import CLUSTERQUEUES, MERGE, WORKLOADS, Mortal, Watch, context  # noqa: E402  (found through the path above)

KUEUE, GROUP = "/apis/kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta2"
COHORT, CREATORS, REST = 50, 8, 10


def made(kind, name, spec):
    return {"apiVersion": GROUP, "kind": kind, "metadata": {"name": name}, "spec": spec}


def set_up(api, queues):
    api.ok("POST", f"{KUEUE}/resourceflavors", made("ResourceFlavor", "f", {}))
    flavors = [{"name": "f", "resources": [{"name": "cpu", "nominalQuota": 4}]}]
    for q in range(queues):
        api.ok("POST", CLUSTERQUEUES, made("ClusterQueue", f"q{q}", {
            "cohortName": f"c{q // COHORT}", "namespaceSelector": {},
            "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}]}))
        api.ok("POST", f"{KUEUE}/namespaces/default/localqueues", made("LocalQueue", f"q{q}", {"clusterQueue": f"q{q}"}))


def create(b, first, pending, queues):
    api = b.api(seconds=60)
    for i in range(first, pending, CREATORS):
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": str(1 + i % 3)}}}
        template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
        api.ok("POST", WORKLOADS, made("Workload", f"w{i}", {
            "queueName": f"q{i % queues}", "podSets": [{"name": "main", "count": 1, "template": template}]}))


def processor(pid):
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as f:
            total += int(f.read().split()[0])
    return total / 1e9


def rest(pid):
    """Waits until it does nothing any more; seconds of processor a second."""
    while True:
        before = processor(pid)
        time.sleep(REST)
        used = (processor(pid) - before) / REST
        if used < 0.05:
            return used


class Finisher:
    """Knows who runs, from a list and a watch; ends some, and notes when the next of their cohort was admitted."""

    def __init__(self, b):
        self.lock, self.running, self.sent, self.took, self.others = threading.Lock(), {}, {}, [], 0
        api, token = b.api(seconds=60), ""
        while True:
            page = api.ok("GET", f"{WORKLOADS}?limit=500{token}")
            for o in page["items"]:
                self.see(o)
            if not page["metadata"].get("continue"):
                break
            token = "&continue=" + page["metadata"]["continue"]
        self.others, self.api = 0, api
        self.watch = Watch(context(b.data), b.port, f"{WORKLOADS}?watch=1&resourceVersion={page['metadata']['resourceVersion']}",
                           seconds=120)
        threading.Thread(target=self.follow, daemon=True).start()

    def see(self, o):
        name, true = o["metadata"]["name"], {c["type"] for c in o.get("status", {}).get("conditions", []) if c["status"] == "True"}
        with self.lock:
            if "Admitted" not in true:
                self.others += 1
            elif "Finished" not in true and name not in self.running:
                self.running[name] = o
                waits = self.sent.get(self.cohort(o))
                if waits:
                    self.took.append(time.monotonic() - waits.pop(0))

    def follow(self):
        while (event := self.watch.next()) is not None:
            self.see(event["object"])

    @staticmethod
    def cohort(o):
        return int(o["spec"]["queueName"][1:]) // COHORT

    def finish(self, rnd):
        with self.lock:
            o = self.running.pop(rnd.choice(sorted(self.running)))
            self.sent.setdefault(self.cohort(o), []).append(time.monotonic())
        ended = {"type": "Finished", "status": "True", "reason": "ByTest", "message": "-",
                 "lastTransitionTime": "2026-01-01T00:00:00Z"}
        self.api.ok("PATCH", f"{WORKLOADS}/{o['metadata']['name']}/status",
                    {"status": {"conditions": o["status"]["conditions"] + [ended]}}, MERGE)


def main(program, pending=50000, queues=200, rate=5, seconds=60):
    with Mortal(program, None, gpus="none", args=["--no-node"]) as b:
        api, rnd = b.api(), random.Random(1)
        set_up(api, queues)
        threads = [threading.Thread(target=create, args=(b, i, pending, queues)) for i in range(CREATORS)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        pid = b.process.pid
        print(f"{pending} Workloads in {queues} ClusterQueues; at rest {rest(pid) * 100:.2f} % of a processor", flush=True)
        f = Finisher(b)
        before, start = processor(pid), time.monotonic()
        for i in range(rate * seconds):
            f.finish(rnd)
            time.sleep(max(0, start + (i + 1) / rate - time.monotonic()))
        used, lasted = processor(pid) - before, time.monotonic() - start
        time.sleep(1)
        took = sorted(f.took)
        print(f"{rate * seconds} finishes in {lasted:.0f} s: {len(took)} admissions, seen after p50 {took[len(took) // 2] * 1e3:.1f}, "
              f"p99 {took[len(took) * 99 // 100] * 1e3:.1f}, at most {took[-1] * 1e3:.1f} ms; the server takes "
              f"{used / lasted * 100:.1f} % of a processor, {used / rate / seconds * 1e3:.1f} ms a finish; "
              f"{f.others / rate / seconds:.0f} other events a finish")
        b.stop()


if __name__ == "__main__":
    main(sys.argv[1], *[int(a) for a in sys.argv[2:]])
