#!/usr/bin/env python3
"""queues: what queues do to running work, with real pods on MIG slices.   queues.py BERTH KUBECTL [SCENE...]

One Berth with one simulated H200. Each scene ends as it began; at the end every counter is zero, every slice is gone
and nobody was evicted more often than the scenes did. Prints a line a scene and closes with "N passed, N failed".
"""
import json
import os
import re
import signal
import sys
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from harness import Berth, Fail, check, job, wait_for

API = "kueue.x-k8s.io/v1beta2"
SLICE, WIDE, SMALL = "nvidia.com/mig-3g.71gb", "nvidia.com/mig-4g.71gb", "nvidia.com/mig-1g.18gb"
PREEMPT = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}
LONG = "echo on $CUDA_VISIBLE_DEVICES; exec sleep 300"
SHORT = "echo on $CUDA_VISIBLE_DEVICES; sleep 1"


def queue(name, cpu, slices, cohort=None, **spec):
    """A ClusterQueue over cpu (in milli), memory and slices, and its LocalQueue of the same name."""
    quotas = {"cpu": f"{cpu}m", "memory": "4Gi", **slices}
    body = {"namespaceSelector": {}, "preemption": PREEMPT, "resourceGroups": [{
        "coveredResources": list(quotas), "flavors": [{"name": "h200", "resources": [
            {"name": r, "nominalQuota": q} for r, q in quotas.items()]}]}], **spec}
    if cohort:
        body["cohortName"] = cohort
    return [{"apiVersion": API, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": body},
            {"apiVersion": API, "kind": "LocalQueue", "metadata": {"name": name, "namespace": "default"},
             "spec": {"clusterQueue": name}}]


class World:
    def __init__(self, b):
        self.b, self.evicted = b, 0
        b.apply({"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": "h200"},
                 "spec": {"nodeLabels": {"nvidia.com/gpu.product": "NVIDIA-H200"}}},
                *[{"apiVersion": API, "kind": "WorkloadPriorityClass", "metadata": {"name": n}, "value": v}
                  for n, v in (("low", 10), ("high", 1000))],
                *queue("one", 1000, {SLICE: 1}), *queue("left", 1000, {SLICE: 1}, "all"),
                *queue("right", 1000, {SLICE: 1}, "all"), *queue("tight", 50, {WIDE: 1, SMALL: 1}),
                *queue("few", 100, {}), *queue("places", 1000, {SLICE: 9, WIDE: 9, SMALL: 9}))
        self.queues = ["one", "left", "right", "tight", "few", "places"]

    def submit(self, name, script, to, priority="low", slices=None, annotations=None, grace=1, **spec):
        body = job(name, script, queue=to, limits={slices: 1} if slices else {}, pod=spec.pop("pod", {}),
                   labels={"kueue.x-k8s.io/priority-class": priority}, **spec)
        body["metadata"]["annotations"] = annotations or {}
        body["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = grace
        self.b.apply(body)

    def job(self, name):
        return self.b.get("job", name)

    def pods(self, name):
        return [p for p in self.b.get("pods", "-l", f"batch.kubernetes.io/job-name={name}")["items"]
                if p["status"].get("phase") in ("Pending", "Running")]

    def workload(self, name):
        found = [w for w in self.b.get("workloads")["items"]
                 if [o["name"] for o in w["metadata"].get("ownerReferences", [])] == [name]]
        return found[0] if found else None

    def condition(self, name, type_):
        w = self.workload(name)
        found = [c for c in w.get("status", {}).get("conditions", []) if c["type"] == type_] if w else []
        return (found[0]["status"], found[0]["reason"], found[0]["message"]) if found else ("", "", "")

    def becomes(self, name, type_, status, reason, seconds=20):
        try:
            wait_for("", lambda: self.condition(name, type_)[:2] == (status, reason), seconds)
        except Fail:
            raise Fail(f"{name}: {type_} is {self.condition(name, type_)}, not {status}/{reason}; "
                       f"{json.dumps(self.workload(name))}") from None

    def running(self, name, pods=1, seconds=20):
        wait_for(f"{pods} running pods of {name}", lambda: self.job(name)["status"].get("ready", 0) == pods, seconds)

    def complete(self, *names):
        self.b.kubectl("wait", "--for=condition=complete", *[f"job/{n}" for n in names], "--timeout=30s")

    def evictions(self, name):
        return {e["reason"] + e["underlyingCause"]: e["count"]
                for e in (self.workload(name)["status"].get("schedulingStats") or {}).get("evictions", [])}

    def evicted_as(self, name, **expected):
        check(self.evictions(name) == expected, f"{name}: evictions {self.evictions(name)}, not {expected}")
        self.evicted += sum(expected.values())

    def finish(self, *names):
        """Jobs that were to run long are deleted, with all that they held."""
        self.b.kubectl("delete", "job", *names, "--timeout=30s")
        wait_for(f"no Workload of {names}", lambda: not any(self.workload(n) for n in names))

    def stop_policy(self, kind, name, policy):
        self.b.kubectl("patch", kind, name, "--type=merge", "-p", json.dumps({"spec": {"stopPolicy": policy}}))

    def slice_of(self, name):
        return wait_for(f"a log of {name}", lambda: re.findall(r"^on (MIG-\S+)$", self.b.kubectl("logs", f"job/{name}"),
                                                              re.M))


def scene_preemption(w):
    """Within a queue: the victim's pod ends, its slice is free, the preemptor runs there; the victim comes back."""
    w.submit("victim", "echo on $CUDA_VISIBLE_DEVICES; sleep 6", "one", slices=SLICE)
    w.running("victim")
    w.submit("urgent", SHORT, "one", "high", slices=SLICE)
    w.becomes("victim", "Preempted", "True", "InClusterQueue")
    w.complete("urgent")
    check(w.slice_of("urgent"), "urgent saw no slice")
    w.complete("victim")
    w.becomes("victim", "Preempted", "False", "QuotaReserved")
    w.becomes("victim", "Finished", "True", "Succeeded")
    w.evicted_as("victim", Preempted=1)
    w.evicted_as("urgent")
    w.finish("victim", "urgent")



def scene_stubborn(w):
    """A pod that ignores SIGTERM is killed when its grace is over; until then both are told whose end is awaited."""
    w.submit("stubborn", "trap '' TERM; echo on $CUDA_VISIBLE_DEVICES; for i in $(seq 300); do sleep 1; done", "one", slices=SLICE,
             grace=6)
    w.running("stubborn")
    w.slice_of("stubborn")  # by now it ignores the signal
    pod = w.pods("stubborn")[0]["metadata"]["name"]
    w.submit("waits", SHORT, "one", "high", slices=SLICE)
    w.becomes("stubborn", "Evicted", "True", "Preempted")
    for name in ("waits", "stubborn"):
        text = wait_for(f"why {name}", lambda n=name: (t := w.b.berth("queue", "why", n)) and "awaits the end of" in t and t, 5)
        check(f"awaits the end of pod default/{pod}" in text, f"why {name}: {text}")
    w.complete("waits")
    w.evicted_as("stubborn", Preempted=1)
    w.finish("stubborn", "waits")

def scene_reclaim(w):
    """A borrower gives back what the other queue of its cohort owns, and runs again when there is room."""
    w.submit("own", LONG, "left", slices=SLICE)
    w.running("own")
    time.sleep(1.1)  # of two that got their quota in the same second either may be the later one
    w.submit("borrower", "sleep 6", "left", slices=SLICE)
    w.running("borrower")
    borrowed = {r["name"]: r["borrowed"] for r in w.b.get("clusterqueue", "left")["status"]["flavorsUsage"][0]["resources"]}
    check(borrowed[SLICE] == "1", f"borrowed is {borrowed}")
    w.submit("owner", SHORT, "right", slices=SLICE)
    w.complete("owner")
    check(w.job("own")["status"].get("ready") == 1, "own was stopped, which borrowed nothing")
    w.complete("borrower")
    w.evicted_as("borrower", Preempted=1)
    w.evicted_as("own")
    w.finish("own", "borrower", "owner")


def scene_no_place_no_eviction(w):
    """Quota would be free without a victim, and a place still not: nobody is evicted, again and again."""
    w.submit("holder", LONG, "default", slices=WIDE)
    w.running("holder")
    w.submit("lesser", LONG, "tight", slices=SMALL)
    w.running("lesser")
    w.submit("wide", SHORT, "tight", "high", slices=WIDE)
    w.becomes("wide", "QuotaReserved", "False", "WaitingForPlacement")
    check("would not help" in w.condition("wide", "QuotaReserved")[2], w.condition("wide", "QuotaReserved"))
    time.sleep(2)
    w.evicted_as("lesser")
    check(w.job("lesser")["status"].get("ready") == 1, "lesser does not run")
    w.finish("holder")
    w.complete("wide")
    w.running("lesser")
    w.evicted_as("lesser", Preempted=1)
    w.finish("lesser", "wide")


def scene_partial_admission(w):
    """Half of the pods, since there is quota for so many; all completions are reached."""
    w.submit("partial", "sleep 1", "few", parallelism=4, completions=4,
             annotations={"kueue.x-k8s.io/job-min-parallelism": "1"})
    w.running("partial", 2)
    check(w.job("partial")["spec"]["parallelism"] == 2, "parallelism was not reduced")
    sets = w.workload("partial")["status"]["admission"]["podSetAssignments"]
    check(sets[0]["count"] == 2, f"podSetAssignments {sets}")
    w.complete("partial")
    check(w.job("partial")["status"]["succeeded"] == 4, "not all completions")
    w.finish("partial")


def scene_fewer_places_than_quota(w):
    """Quota for nine and places for two: what may start with fewer pods starts with two."""
    w.submit("some", "sleep 1", "places", slices=SLICE, parallelism=4, completions=4,
             annotations={"kueue.x-k8s.io/job-min-parallelism": "1"})
    w.running("some", 2)
    w.complete("some")
    check(w.job("some")["status"]["succeeded"] == 4, "not all completions")
    w.finish("some")


def scene_behind_those_without_a_place(w):
    """Some alike wait for a place, one after the other; what comes later and fits is not held up by them."""
    w.submit("hog", LONG, "places", slices=WIDE)
    w.running("hog")
    for name in ("alike-1", "alike-2", "alike-3"):
        w.submit(name, SHORT, "places", slices=SLICE, parallelism=2, completions=2)
        w.becomes(name, "QuotaReserved", "False", "WaitingForPlacement")
    w.submit("small", SHORT, "places", slices=SMALL)
    w.complete("small")
    w.finish("hog")
    for name in ("alike-1", "alike-2", "alike-3"):
        w.complete(name)
    w.finish("alike-1", "alike-2", "alike-3", "small")


def scene_drain(w):
    """HoldAndDrain of a ClusterQueue and of a LocalQueue: pods end, and come back with the queue."""
    for kind, reason in (("clusterqueue", "ClusterQueue"), ("localqueue", "LocalQueue")):
        name = f"drained-{kind}"
        w.submit(name, LONG, "one", slices=SLICE)
        w.running(name)
        w.stop_policy(kind, "one", "HoldAndDrain")
        w.becomes(name, "Evicted", "True", f"{reason}Stopped")
        wait_for("no pods", lambda: not w.pods(name))
        w.becomes(name, "QuotaReserved", "False", "Suspended")
        wait_for("nothing reserved", lambda: w.b.get("clusterqueue", "one")["status"]["reservingWorkloads"] == 0)
        w.stop_policy(kind, "one", "None")
        w.running(name)
        w.becomes(name, "Evicted", "False", "QuotaReserved")
        w.becomes(name, "Requeued", "True", f"{reason}Restarted")
        w.evicted_as(name, **{f"{reason}Stopped": 1})
        w.finish(name)


def scene_checks(w):
    """An admission check by hand: who waits for it says so; Retry and Ready do what they say."""
    w.b.apply({"apiVersion": API, "kind": "AdmissionCheck", "metadata": {"name": "budget"},
               "spec": {"controllerName": "example.com/budget"}})
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())

    def status(kind, name, body):
        w.b.kubectl("patch", kind, name, "--subresource=status", "--type=merge", "-p", json.dumps({"status": body}))

    def decide(state):
        status("workload", w.workload("checked")["metadata"]["name"], {"admissionChecks": [
            {"name": "budget", "state": state, "message": "so it is", "lastTransitionTime": now}]})

    status("admissioncheck", "budget", {"conditions": [{
        "type": "Active", "status": "True", "reason": "Told", "message": "", "lastTransitionTime": now}]})
    w.b.kubectl("patch", "clusterqueue", "few", "--type=merge", "-p",
                json.dumps({"spec": {"admissionChecksStrategy": {"admissionChecks": [{"name": "budget"}]}}}))
    w.submit("checked", "sleep 1", "few")
    w.becomes("checked", "Admitted", "False", "UnsatisfiedAdmissionChecks")
    text = w.b.berth("queue", "why", "checked")
    check("Reserved" in text and "waits for admission checks: budget (Pending)" in text, text)
    decide("Retry")
    w.becomes("checked", "Evicted", "False", "QuotaReserved")
    decide("Ready")
    w.complete("checked")
    w.evicted_as("checked", AdmissionCheck=1)
    w.b.kubectl("patch", "clusterqueue", "few", "--type=json", "-p",
                '[{"op": "remove", "path": "/spec/admissionChecksStrategy"}]')
    w.finish("checked")


def scene_killed_amid_an_eviction(w):
    """Berth is killed while the victim ends slowly: after the restart the rest happens once."""
    w.submit("slow", "trap 'sleep 3; exit 0' TERM; echo ready; while :; do sleep 0.1; done", "one", slices=SLICE,
             grace=10)
    w.running("slow")
    time.sleep(0.5)
    w.submit("urgent", SHORT, "one", "high", slices=SLICE)
    w.becomes("slow", "Evicted", "True", "Preempted")
    check(re.search(r"^slow +one .*stopping .*Preempted$", w.b.berth("queue"), re.M), w.b.berth("queue"))
    w.b.stop(signal.SIGKILL)
    w.b.up()
    w.complete("urgent")
    w.running("slow")
    w.evicted_as("slow", Preempted=1)
    w.finish("slow", "urgent")


def scene_the_same_name_again(w):
    """A ClusterQueue and a flavor that were deleted come again, and say how they are."""
    flavor = {"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": "again"}}
    body = queue("again", 100, {})
    body[0]["spec"]["resourceGroups"][0]["flavors"][0]["name"] = "again"
    for turn in range(2):
        w.b.apply(flavor, *body)
        wait_for(f"a status, time {turn + 1}", lambda: w.b.get("clusterqueue", "again").get("status", {}).get(
            "conditions", [{}])[0].get("status") == "True", 5)
        w.submit(f"again-{turn}", "true", "again")
        w.complete(f"again-{turn}")
        w.finish(f"again-{turn}")
        wait_for("a count of none", lambda: w.b.get("clusterqueue", "again")["status"]["admittedWorkloads"] == 0, 5)
        w.b.kubectl("delete", "localqueue,clusterqueue,resourceflavor", "again", "--timeout=10s")


def scale(w, name, pods):
    w.b.kubectl("patch", "job", name, "--type=merge", "-p", json.dumps({"spec": {"parallelism": pods}}))


def slices_of(w, name):
    """The Workloads of a Job that have not ended, by how many pods they have: {pods: admitted}."""
    mine = [x for x in w.b.get("workloads")["items"] if [o["name"] for o in x["metadata"].get("ownerReferences", [])] == [name]]
    open_ = [x for x in mine if not any(c["type"] == "Finished" for c in x["status"].get("conditions", []))]
    return {x["spec"]["podSets"][0]["count"]: any(c["type"] == "Admitted" and c["status"] == "True"
                                                  for c in x["status"].get("conditions", [])) for x in open_}


def grows_to(w, name, pods):
    wait_for(f"one Workload of {name} for {pods} pods", lambda: slices_of(w, name) == {pods: True}, 10)
    w.running(name, pods)


def scene_elastic(w):
    """A Job that changes its size while it runs: a second Workload replaces the first, its pods stay where they are, and what it
    gives back is others'."""
    w.submit("grows", LONG, "places", slices=SMALL, parallelism=2, annotations={"kueue.x-k8s.io/elastic-job": "true"})
    w.running("grows", 2)
    first = {p["metadata"]["uid"] for p in w.pods("grows")}
    scale(w, "grows", 4)
    grows_to(w, "grows", 4)
    devices = [p["metadata"]["annotations"]["berth.dev/devices"] for p in w.pods("grows")]
    check(len(set(devices)) == 4, f"devices {devices}")
    check(first < {p["metadata"]["uid"] for p in w.pods("grows")}, "a pod was stopped")
    ended = [c for x in w.b.get("workloads")["items"] for c in x["status"]["conditions"]
             if c["type"] == "Finished" and c["reason"] == "WorkloadSliceReplaced"]
    check(len(ended) == 1, f"replaced: {ended}")
    total = {r["name"]: r["total"] for r in w.b.get("clusterqueue", "places")["status"]["flavorsReservation"][0]["resources"]}
    check(total[SMALL] == "4", f"reserved {total}")
    w.b.stop(signal.SIGKILL)
    w.b.up()
    grows_to(w, "grows", 4)
    scale(w, "grows", 8)  # quota for nine, and places for seven
    wait_for("one that waits", lambda: slices_of(w, "grows") == {4: True, 8: False}, 10)
    wait_for("eight pods", lambda: len(w.pods("grows")) == 8, 10)
    check(w.job("grows")["status"].get("ready") == 4, "more run than have quota")
    scale(w, "grows", 6)
    grows_to(w, "grows", 6)
    w.submit("other", LONG, "places", slices=SMALL, parallelism=3)
    w.becomes("other", "QuotaReserved", "False", "WaitingForPlacement")
    scale(w, "grows", 1)
    grows_to(w, "grows", 1)
    w.running("other", 3)
    check(w.job("grows")["spec"]["suspend"] is False, "the Job was stopped")
    w.evicted_as("other")
    w.finish("grows", "other")


def totals(status):
    return {r["name"]: r["total"] for f in status.get("flavorsReservation", []) + status.get("flavorsUsage", [])
            for r in f["resources"] if r["total"] != "0"}


def scene_nothing_is_left(w):
    """Counters, quota, slices and metrics, when all has ended."""
    def left():
        found = []
        for kind in ("clusterqueue", "localqueue"):
            for name in w.queues + ["default"]:
                s = w.b.get(kind, name)["status"]
                counts = [s.get(f"{k}Workloads", 0) for k in ("pending", "reserving", "admitted")]
                if any(counts) or totals(s):
                    found.append((kind, name, counts, totals(s)))
        text = w.b.kubectl("get", "--raw", "/metrics")
        gauges = r"(?:reserving_active|admitted_active|pending|unadmitted)_workloads|resource_(?:reservation|usage|pending)"
        found += re.findall(rf"^(kueue_(?:local_queue_|cluster_queue_)?(?:{gauges}){{.*}} (?!0$)\S+)$", text, re.M)
        found += re.findall(r"^.*(?:\dg\.\d+gb).*$", w.b.berth("top"), re.M)
        return found
    try:
        wait_for("", lambda: not left(), 10)
    except Fail:
        raise Fail(f"left: {left()}") from None
    check(not w.b.get("pods")["items"], "pods are left")
    check(not w.b.get("workloads")["items"], "Workloads are left")


def main():
    program, kubectl, only = sys.argv[1], sys.argv[2], sys.argv[3:]
    scenes = [(n[6:], f) for n, f in globals().items() if n.startswith("scene_") and (not only or n[6:] in only)]
    passed = failed = 0
    with Berth(program, kubectl, "sim:1xh200") as b:
        w = World(b)
        for name, scene in scenes:
            begin = time.monotonic()
            try:
                scene(w)
                passed += 1
                print(f"ok    {name} ({time.monotonic() - begin:.1f} s)", flush=True)
            except Exception as e:
                failed += 1
                print(f"FAIL  {name}: {e}" if isinstance(e, Fail) else traceback.format_exc(), flush=True)
                break  # what it left would fail the others
        if failed:
            print(b.kubectl("get", "events", "--sort-by=.metadata.creationTimestamp", ok=False).stdout[-6000:])
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
