#!/usr/bin/env python3
"""pods: plain pods and pod groups in queues, on MIG slices.   pods.py BERTH KUBECTL [SCENE...]

One Berth with one simulated H200. Each scene ends as it began; at the end nothing is held. Prints a line a scene and
closes with "N passed, N failed".
"""
import json
import os
import sys
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from harness import Berth, Fail, check, wait_for

API = "kueue.x-k8s.io/v1beta2"
SLICE, SMALL = "nvidia.com/mig-3g.71gb", "nvidia.com/mig-1g.18gb"
LONG = "echo on $CUDA_VISIBLE_DEVICES; exec sleep 300"
GATE = "kueue.x-k8s.io/admission"


UNTIL_TOLD = "echo on $CUDA_VISIBLE_DEVICES; until [ -e /tmp/done ]; do sleep 0.1; done"  # World.tell


def queue(name, slices):
    quotas = {"cpu": "2", "memory": "4Gi", **slices}
    return [{"apiVersion": API, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": {
        "namespaceSelector": {}, "preemption": {"withinClusterQueue": "LowerPriority"}, "resourceGroups": [{
            "coveredResources": list(quotas), "flavors": [{"name": "h200", "resources": [
                {"name": r, "nominalQuota": q} for r, q in quotas.items()]}]}]}},
            {"apiVersion": API, "kind": "LocalQueue", "metadata": {"name": name, "namespace": "default"},
             "spec": {"clusterQueue": name}}]


def pod(name, script=LONG, to="one", slices=SLICE, labels=None, group=None, total=0, **notes):
    annotations = {f"kueue.x-k8s.io/{k.replace('_', '-')}": v for k, v in notes.items()}
    meta = {"name": name, "labels": {"kueue.x-k8s.io/queue-name": to, **(labels or {})}, "annotations": annotations}
    if group:
        meta["labels"]["kueue.x-k8s.io/pod-group-name"] = group
        annotations["kueue.x-k8s.io/pod-group-total-count"] = str(total)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {
        "restartPolicy": "Never", "terminationGracePeriodSeconds": 1,
        "containers": [{"name": "main", "image": "none", "command": ["sh", "-c", script],
                        "resources": {"requests": {"cpu": "10m"}, "limits": {slices: 1} if slices else {}}}]}}


def condition(o, type_):
    found = [c for c in o.get("status", {}).get("conditions", []) if c["type"] == type_]
    return (found[0]["status"], found[0].get("reason", ""), found[0].get("message", "")) if found else ("", "", "")


class World:
    def __init__(self, b):
        self.b = b
        b.apply({"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": "h200"},
                 "spec": {"nodeLabels": {"nvidia.com/gpu.product": "NVIDIA-H200"}}},
                *[{"apiVersion": API, "kind": "WorkloadPriorityClass", "metadata": {"name": n}, "value": v}
                  for n, v in (("low", 10), ("high", 1000))],
                *queue("one", {SLICE: 1}), *queue("few", {SMALL: 2}))

    def pods(self):
        return {p["metadata"]["name"]: p for p in self.b.get("pods")["items"]}

    def phase(self, name):
        p = self.pods().get(name)
        return None if p is None else p["status"].get("phase")

    def gated(self, name):
        p = self.pods().get(name)
        return p is not None and GATE in [g["name"] for g in p["spec"].get("schedulingGates", [])]

    def runs(self, *names):
        def all_run():
            p = self.pods()
            return all(p.get(n, {}).get("status", {}).get("phase") == "Running" and
                       not p[n]["metadata"].get("deletionTimestamp") for n in names)
        try:
            wait_for("", all_run, 30)
        except Fail:
            raise Fail(f"{names} do not run: {json.dumps(self.pods())[:3000]} "
                       f"{json.dumps(self.b.get('workloads')['items'])[:3000]}") from None

    def workload(self, name):
        found = [w for w in self.b.get("workloads")["items"] if w["metadata"]["name"].startswith(name)]
        return found[0] if found else {}

    def used(self, name):
        cq = self.b.get("clusterqueue", name)
        return {r["name"]: r["total"] for f in cq["status"].get("flavorsReservation", []) for r in f["resources"]}

    def tell(self, name):
        """A pod that runs UNTIL_TOLD may end: how long the steps before take does not matter."""
        self.b.kubectl("exec", name, "--", "touch", "/tmp/done")

    def drop(self, *names):
        self.b.kubectl("delete", "pod", "--wait=false", *names)

    def empty(self):
        wait_for("no pods", lambda: not self.pods(), 40)
        wait_for("no Workloads", lambda: not self.b.get("workloads")["items"], 40)
        for q, r in (("one", SLICE), ("few", SMALL)):
            wait_for(f"{q} is free", lambda: self.used(q).get(r, "0") == "0", 20)


def one_pod_after_the_other(w):
    w.b.apply(pod("a", UNTIL_TOLD))
    w.runs("a")
    w.b.apply(pod("b", "echo on $CUDA_VISIBLE_DEVICES; exit 3"))
    wait_for("b says that it waits",
             lambda: condition(w.pods()["b"], "PodScheduled")[:2] == ("False", "SchedulingGated"), 20)
    check(w.gated("b"), "b waits")
    b = w.pods()["b"]
    check(b["metadata"]["labels"]["kueue.x-k8s.io/managed"] == "true", "b is marked")
    check("SchedulingGated" in w.b.kubectl("get", "pod", "b"), "kubectl shows it")
    a = w.pods()["a"]
    check("MIG-" in a["metadata"]["annotations"]["berth.dev/devices"] or
          "3g.71gb" in a["metadata"]["annotations"]["berth.dev/devices"], f"a has a slice: {a['metadata']}")
    w.tell("a")
    wait_for("b ran", lambda: w.phase("b") == "Failed", 40)
    check(w.phase("a") == "Succeeded", "a ended first")
    wait_for("both are finished", lambda: [condition(w.workload(f"pod-{n}-"), "Finished")[1] for n in "ab"] ==
             ["Succeeded", "Failed"], 20)
    wait_for("nothing holds them", lambda: not any(p["metadata"].get("finalizers") for p in w.pods().values()), 20)
    w.drop("a", "b")


def a_group_waits_for_quota(w):
    w.b.apply(*[pod(f"g{i}", to="few", slices=SMALL, group="g", total=3) for i in range(3)])
    wait_for("its Workload", lambda: w.workload("g"), 20)
    time.sleep(1.5)
    check(all(w.gated(f"g{i}") for i in range(3)), "all wait: there is quota for two")
    check(condition(w.workload("g"), "QuotaReserved")[0] != "True", "nothing is reserved")
    w.b.apply(*queue("few", {SMALL: 3})[:1])
    w.runs("g0", "g1", "g2")
    check(w.used("few")[SMALL] == "3", f"three are used: {w.used('few')}")
    w.b.kubectl("delete", "workload", "g", "--wait=false")
    wait_for("its pods stop", lambda: not w.pods(), 30)
    w.b.apply(*queue("few", {SMALL: 2})[:1])


def a_group_is_preempted_and_replaced(w):
    low, high = ({"kueue.x-k8s.io/priority-class": n} for n in ("low", "high"))
    w.b.apply(*[pod(f"v{i}", to="few", slices=SMALL, group="v", total=2, labels=low) for i in range(2)])
    w.runs("v0", "v1")
    w.b.apply(pod("h", UNTIL_TOLD, to="few", slices=SMALL, labels=high))
    w.runs("h")
    check(condition(w.workload("v"), "Evicted")[:2] == ("True", "Preempted"), "the group was evicted")
    v0 = w.pods()["v0"]
    check(condition(v0, "TerminationTarget")[:2] == ("True", "WorkloadEvictedDueToPreempted"), f"v0 says why: {v0}")
    wait_for("it waits for others", lambda: condition(w.workload("v"), "WaitingForReplacementPods")[0] == "True", 20)
    w.b.apply(*[pod(f"n{i}", "sleep 2", to="few", slices=SMALL, group="v", total=2, labels=low) for i in range(2)])
    wait_for("the old ones go", lambda: set(w.pods()) == {"h", "n0", "n1"}, 30)
    check(w.gated("n0") and w.gated("n1"), "the new ones wait")
    w.tell("h")
    wait_for("they did their work", lambda: condition(w.workload("v"), "Finished")[2] == "Pods succeeded: 2/2.", 60)
    w.drop("h", "n0", "n1")


def a_failed_pod_is_replaced(w):
    w.b.apply(pod("r0", "sleep 300", to="few", slices=SMALL, group="r", total=2),
              pod("r1", "exit 1", to="few", slices=SMALL, group="r", total=2))
    wait_for("one failed", lambda: w.phase("r1") == "Failed", 30)
    wait_for("it waits", lambda: condition(w.workload("r"), "WaitingForReplacementPods")[1] == "PodsFailed", 20)
    w.b.apply(pod("r2", to="few", slices=SMALL, group="r", total=2))
    w.runs("r0", "r2")
    w.b.apply(pod("r3", to="few", slices=SMALL, group="r", total=2))
    wait_for("one too many goes", lambda: "r3" not in w.pods(), 30)
    w.b.kubectl("delete", "workload", "r", "--wait=false")
    wait_for("its pods stop", lambda: set(w.pods()) <= {"r1"}, 30)
    if w.pods():
        w.drop("r1")


def nobody_goes_past_the_queue(w):
    w.b.kubectl("create", "namespace", "team")
    w.b.kubectl("create", "rolebinding", "alice", "-n", "team", "--clusterrole=edit", "--user=alice")
    w.b.kubectl("create", "rolebinding", "alice", "-n", "default", "--clusterrole=edit", "--user=alice")
    bare = pod("bare")
    bare["metadata"]["labels"] = {}
    text = w.b.kubectl("--as=alice", "create", "-n", "team", "-f", "-", stdin=json.dumps(bare), ok=False)
    check("queue" in str(text), f"no GPU without a queue: {text}")
    w.b.apply(*queue("none", {SLICE: 0}))
    w.b.kubectl("--as=alice", "create", "-f", "-", stdin=json.dumps(pod("mine", to="none")))
    check(w.gated("mine"), "it waits")
    for patch in ({"spec": {"schedulingGates": None}}, {"metadata": {"labels": {"kueue.x-k8s.io/managed": None}}},
                  {"metadata": {"finalizers": None}}):
        w.b.kubectl("--as=alice", "patch", "pod", "mine", "--type=merge", "-p", json.dumps(patch), ok=False)
        check(w.gated("mine") and w.pods()["mine"]["metadata"].get("finalizers"), f"{patch} is refused")
    w.b.kubectl("--as=alice", "delete", "pod", "mine", "--wait=false")
    wait_for("it goes", lambda: not w.pods(), 20)
    w.b.kubectl("delete", "localqueue", "none")
    w.b.kubectl("delete", "clusterqueue", "none")


def a_restart_forgets_nothing(w):
    w.b.apply(pod("a"), pod("b"))
    w.runs("a")
    w.b.stop(9)
    w.b.up()
    w.runs("a")
    check(w.gated("b"), "b still waits")
    check(w.used("one").get(SLICE) == "1", "one is used")
    w.drop("a")
    w.runs("b")
    w.drop("b")


SCENES = [one_pod_after_the_other, a_group_waits_for_quota, a_group_is_preempted_and_replaced,
          a_failed_pod_is_replaced, nobody_goes_past_the_queue, a_restart_forgets_nothing]


def main():
    wanted, failed, ran = sys.argv[3:], 0, 0
    with Berth(sys.argv[1], sys.argv[2], gpus="sim:1xh200") as b:
        w = World(b)
        for scene in SCENES:
            if wanted and scene.__name__ not in wanted:
                continue
            ran += 1
            try:
                scene(w)
                w.empty()
                print(f"ok   {scene.__name__}", flush=True)
            except Exception as e:  # pylint: disable=broad-except
                failed += 1
                print(f"FAIL {scene.__name__}: {e}", flush=True)
                if not isinstance(e, Fail):
                    traceback.print_exc()
                b.kubectl("delete", "pods", "--all", "--wait=false", ok=False)
                b.kubectl("delete", "workloads", "--all", "--wait=false", ok=False)
                time.sleep(4)
    print(f"{ran - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
