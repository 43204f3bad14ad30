#!/usr/bin/env python3
"""faults: `berth operate` behind an API server that misbehaves ends where it ends in a calm run, and never admits beyond
quota on the way.

    faults.py --kubeconfig FILE --berth PROGRAM [--seconds N] [--seed N] [--rate R]

The server needs Kueue's kinds and something that runs Jobs (kube-controller-manager, or berth up --controllers
kubernetes). Everything is made in a namespace of its own and under names of its own, and removed in the end."""
import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import faulty  # noqa: E402
from client import KUEUE, Api, Fail, Judge, Kubelet, check, condition, wait_for  # noqa: E402

QUEUES = {"research": 6, "product": 4, "spare": 2} # cpus
JOBS = "/apis/batch/v1"


class Operator:
    """`berth operate`, which may be killed and comes back."""

    def __init__(self, berth, kubeconfig, log):
        self.command = [berth, "operate", "--kubeconfig", kubeconfig, "--metrics-port", "0", "--lease-duration", "4s",
                        "--lease-renew", "3s", "--lease-retry", "500ms"]
        self.log, self.process = log, None
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=self.log)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()
            return None


class Run:
    """One load in one namespace."""

    def __init__(self, api, name, seed, seconds):
        self.api, self.ns, self.random, self.seconds = api, name, random.Random(seed), seconds
        self.jobs = max(20, int(seconds * 1.2))

    def queue(self, short):
        return f"{self.ns}-{short}"

    def set_up(self):
        a = self.api
        a.create("Namespace", "/api/v1/namespaces", {"metadata": {"name": self.ns}})
        a.create("ResourceFlavor", f"{KUEUE}/resourceflavors", {"metadata": {"name": self.ns}})
        for name, value in (("low", -10), ("high", 10)):
            a.create("WorkloadPriorityClass", f"{KUEUE}/workloadpriorityclasses", {"metadata": {"name": self.queue(name)}, "value": value})
        for short, cpus in QUEUES.items():
            a.create("ClusterQueue", f"{KUEUE}/clusterqueues", {"metadata": {"name": self.queue(short)}, "spec": {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.ns}}, "cohortName": self.ns,
                "preemption": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"},
                "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [{"name": self.ns, "resources": [
                    {"name": "cpu", "nominalQuota": cpus}]}]}]}})
            a.create("LocalQueue", f"{KUEUE}/namespaces/{self.ns}/localqueues", {"metadata": {"name": short, "namespace": self.ns},
                                                                  "spec": {"clusterQueue": self.queue(short)}})

    def load(self):
        """Jobs over time; their number, sizes and times are the seed's, so that two runs are given the same."""
        plan = []
        for i in range(self.jobs):
            plan.append((self.random.uniform(0, self.seconds), f"job-{i:04}", self.random.choice(list(QUEUES)),
                         self.random.choice(["low", "low", "high"]), self.random.randint(1, 3),
                         round(self.random.uniform(0.3, 2.5), 1)))
        start = time.monotonic()
        held = False
        for at, name, short, priority, cpus, runs in sorted(plan):
            time.sleep(max(0, at - (time.monotonic() - start)))
            if not held and at > self.seconds / 2: # a queue is emptied, and goes on later
                held = True
                self.api.merge(f"{KUEUE}/clusterqueues/{self.queue('product')}", {"spec": {"stopPolicy": "HoldAndDrain"}})
            self.api.create("Job", f"{JOBS}/namespaces/{self.ns}/jobs", {
                "metadata": {"name": name, "namespace": self.ns, "labels": {
                    "kueue.x-k8s.io/queue-name": short, "kueue.x-k8s.io/priority-class": self.queue(priority)}},
                "spec": {"suspend": True, "parallelism": cpus, "completions": cpus, "backoffLimit": 100, "template": {
                    "metadata": {"annotations": {"berth.dev/runtime": f"{runs}s"}},
                    "spec": {"restartPolicy": "Never", "containers": [
                        {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": "1"}}}]}}}})
        self.api.merge(f"{KUEUE}/clusterqueues/{self.queue('product')}", {"spec": {"stopPolicy": "None"}})

    def open_jobs(self):
        return [j["metadata"]["name"] for j in self.api.get(f"{JOBS}/namespaces/{self.ns}/jobs")["items"]
                if condition(j, "Complete")["status"] != "True"]

    def state(self):
        """What is left, without what differs between two calm runs: times, uids, revisions."""
        jobs = {j["metadata"]["name"]: [condition(j, "Complete")["status"], j["status"].get("succeeded"),
                                        j["spec"]["template"]["spec"].get("nodeSelector")]
                for j in self.api.get(f"{JOBS}/namespaces/{self.ns}/jobs")["items"]}
        works = {}
        for w in self.api.get(f"{KUEUE}/namespaces/{self.ns}/workloads")["items"]:
            owner = w["metadata"]["ownerReferences"][0]["name"]
            check(owner not in works, f"two Workloads of {owner}")
            works[owner] = [condition(w, "Finished")["status"], condition(w, "Finished")["reason"],
                            w["metadata"].get("finalizers")]
        queues = {}
        for short in QUEUES:
            s = self.api.get(f"{KUEUE}/clusterqueues/{self.queue(short)}").get("status", {})
            queues[short] = [s.get("pendingWorkloads", 0), s.get("reservingWorkloads", 0), s.get("admittedWorkloads", 0),
                             [r["total"] for f in s.get("flavorsUsage", []) for r in f["resources"]],
                             condition({"status": s}, "Active")["status"]]
        return {"jobs": jobs, "workloads": works, "queues": queues}

    def settled(self):
        return all(q[:3] == [0, 0, 0] and q[4] == "True" for q in self.state()["queues"].values())

    def clean_up(self):
        a = self.api
        for j in a.get(f"{JOBS}/namespaces/{self.ns}/jobs")["items"]:
            a.delete(f"{JOBS}/namespaces/{self.ns}/jobs/{j['metadata']['name']}")
        a.delete(f"/api/v1/namespaces/{self.ns}")
        for short in QUEUES:
            a.delete(f"{KUEUE}/clusterqueues/{self.queue(short)}")
        for name in ("low", "high"):
            a.delete(f"{KUEUE}/workloadpriorityclasses/{self.queue(name)}")
        a.delete(f"{KUEUE}/resourceflavors/{self.ns}")


def trouble(operator, faults, seed, ended):
    """Kills the operator and takes the server away, now and then."""
    r = random.Random(seed)
    while not ended.wait(r.uniform(4, 9)):
        if r.random() < 0.5:
            operator.kill()
            faults.count("operator killed")
            operator.start()
        else:
            faults.down = True
            faults.count("server away")
            ended.wait(r.uniform(0.5, 3))
            faults.down = False


def one(args, api, name, log, rate):
    """One run; returns the state that it ends in and what the judge saw."""
    run = Run(api, name, args.seed, args.seconds)
    folder = tempfile.mkdtemp(prefix="berth-faults.")
    ended = threading.Event()
    operator = server = troubler = None
    run.set_up()
    judge = Judge(api, name, sum(QUEUES.values()) * 1000)
    kubelet = Kubelet(api, name)
    try:
        kubeconfig = args.kubeconfig
        if rate:
            kubeconfig = os.path.join(folder, "kubeconfig")
            server, faults = faulty.start(args.kubeconfig, kubeconfig, args.seed, rate)
        operator = Operator(args.berth, kubeconfig, log)
        if rate:
            troubler = threading.Thread(target=trouble, args=(operator, faults, args.seed, ended), daemon=True)
            troubler.start()
        run.load()
        ended.set()
        if rate:
            troubler.join(20)
            faults.down = False
            faults.rate = rate / 4 # it does not become good, but lets things end
        # What is judged is where it ends; a busy machine needs longer.
        wait_for(lambda: f"the end of {run.open_jobs()}", lambda: not run.open_jobs(), 120 + args.seconds * 2)
        wait_for(lambda: f"queues at rest: {run.state()['queues']}", run.settled, 60)
        state = run.state()
        wait_for(lambda: f"finalizers gone: {run.state()['workloads']}",
                 lambda: all(not w[2] for w in run.state()["workloads"].values()), 30)
        state = run.state()
        judge.end()
        check(judge.revisions > len(state["jobs"]) and judge.peak > 0, f"the judge heard {judge.revisions} revisions")
        check(rate or operator.end() == 0, "berth operate did not end well")
        return state, judge, faults.done if rate else {}
    finally:
        ended.set()
        judge.over = kubelet.over = True
        kubelet.end()
        if server:
            server.shutdown()
        if operator and operator.process.poll() is None:
            operator.kill()
        run.clean_up()
        shutil.rmtree(folder, ignore_errors=True)


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--kubeconfig", required=True)
    args.add_argument("--berth", required=True)
    args.add_argument("--seconds", type=float, default=40)
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--rate", type=float, default=1.0)
    args = args.parse_args()
    api = Api(args.kubeconfig)
    name = f"berth-faults-{os.getpid()}"
    with tempfile.TemporaryFile() as log:
        try:
            calm, judge, _ = one(args, api, name + "-calm", log, 0)
            print(f"calm: {len(calm['jobs'])} jobs, {judge.revisions} revisions, {judge.evictions} evictions, "
                  f"at most {judge.peak} of {judge.most} held", flush=True)
            state, judge, done = one(args, api, name + "-bad", log, args.rate)
            print(f"faulty: {len(state['jobs'])} jobs, {judge.revisions} revisions, {judge.evictions} evictions, at most "
                  f"{judge.peak} of {judge.most} held; {json.dumps(done)}", flush=True)
            check(sum(done.values()) > args.seconds, f"hardly anything went wrong: {done}")
            for part, want in calm.items():
                for key in sorted(set(want) | set(state[part])):
                    check(want.get(key) == state[part].get(key), f"{part} {key}: calm {want.get(key)}, "
                                                                 f"faulty {state[part].get(key)}")
            print("the same final state")
            return 0
        except Fail as e:
            print(f"FAILED: {e}")
            log.seek(0)
            print("---- the end of berth's log\n" + "".join(log.read().decode(errors="replace").splitlines(True)[-60:]))
            return 1


if __name__ == "__main__":
    sys.exit(main())
