#!/usr/bin/env python3
"""conditions: every row of Kueue's tables of conditions, as the real kubectl shows it.   conditions.py BERTH KUBECTL

Three `kubectl get -w` write down all that they see, so that what holds for an instant counts too. Scenarios bring each
row about and name its message; at the end every row of rows.py must have been seen, but for those that cannot occur
here, each with its reason. Prints a line a scenario and closes with "N passed, N failed".
"""
import json
import os
import re
import subprocess
import sys
import threading
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import rows
from harness import Berth, Fail, check, job, wait_for

API = "kueue.x-k8s.io/v1beta2"


class Watch:
    """All conditions that kubectl ever showed: (kind, name, type, status, reason) -> messages."""

    def __init__(self):
        self.seen, self.threads, self.processes = {}, [], []

    def start(self, b):
        for kind in rows.OBSERVED:
            command = [b.kubectl_program, "get", kind.lower() + "s.kueue.x-k8s.io", "-A", "-w", "-o", "json"]
            p = subprocess.Popen(command, env=b.env, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            t = threading.Thread(target=self.read, args=(p,), daemon=True)
            t.start()
            self.processes.append(p)
            self.threads.append(t)

    def read(self, p):
        decoder, text = json.JSONDecoder(), ""
        while True:
            piece = os.read(p.stdout.fileno(), 1 << 16)
            if not piece:
                return
            text += piece.decode()
            while text.strip():
                try:
                    o, end = decoder.raw_decode(text.lstrip())
                except json.JSONDecodeError:
                    break
                text = text.lstrip()[end:]
                self.note(o)

    def note(self, o):
        for c in o.get("status", {}).get("conditions", []):
            key = (o["kind"], o["metadata"]["name"], c["type"], c["status"], c["reason"])
            self.seen.setdefault(key, set()).add(c["message"])

    def stop(self):
        for p in self.processes:
            p.kill()
            p.wait()
        for t in self.threads:
            t.join(5)
        self.threads, self.processes = [], []

    def messages(self, kind, name, type_, status, reason):
        found = set()
        for key, m in list(self.seen.items()):
            if key[0] == kind and key[1].startswith(name) and key[2:] == (type_, status, reason):
                found |= m
        return found

    def rows(self):
        return {(k[0], *k[2:]) for k in self.seen}


class World:
    """A Berth, what kubectl showed of it, and short words for objects."""

    def __init__(self, b, watch):
        self.b, self.watch = b, watch

    def see(self, kind, name, type_, status, reason, message=None, seconds=30):
        """Waits until kubectl has shown this; message is a regular expression of the whole text."""
        def shown():
            m = self.watch.messages(kind, name, type_, status, reason)
            return m if m and (message is None or any(re.fullmatch(message, x, re.S) for x in m)) else None
        try:
            return wait_for("", shown, seconds)
        except Fail:
            got = sorted((k[2:], v) for k, v in self.watch.seen.items() if k[0] == kind and k[1].startswith(name))
            raise Fail(f"{kind} {name}: never {type_}={status}/{reason} {message!r}; seen: " +
                       "\n  ".join(map(str, got))) from None

    def wl(self, name, *row, **more):
        return self.see("Workload", name, *row, **more)

    def cq(self, name, *row, **more):
        return self.see("ClusterQueue", name, "Active", *row, **more)

    def lq(self, name, *row, **more):
        return self.see("LocalQueue", name, "Active", *row, **more)

    def full(self, prefix):
        """The whole name of a Job's Workload."""
        def name():
            return [w["metadata"]["name"] for w in self.b.get("workloads")["items"]
                    if w["metadata"]["name"].startswith(prefix)]
        return wait_for(f"a Workload {prefix}", name)[0]

    def patch(self, kind, name, body, sub=None):
        more = [f"--subresource={sub}"] if sub else []
        return self.b.kubectl("patch", kind, name, "--type=merge", "-p", json.dumps(body), *more)

    def annotate(self, kind, name, *pairs):
        return self.b.kubectl("annotate", "--overwrite", kind, name, *pairs)

    def queue(self, name, milli, flavors=("plain",), local=True, annotations=None, **spec):
        """A ClusterQueue with cpu of each flavor, and its LocalQueue of the same name."""
        quota = milli if isinstance(milli, dict) else {"nominalQuota": f"{milli}m"}
        body = {"namespaceSelector": {}, "resourceGroups": [{
            "coveredResources": ["cpu", "memory"],
            "flavors": [{"name": f, "resources": [{"name": "cpu", **quota}, {"name": "memory", "nominalQuota": "4Gi"}]}
                        for f in flavors]}]}
        body.update(spec)
        objects = [{"apiVersion": API, "kind": "ClusterQueue",
                    "metadata": {"name": name, "annotations": annotations or {}}, "spec": body}]
        if local:
            objects.append({"apiVersion": API, "kind": "LocalQueue", "metadata": {"name": name, "namespace": "default"},
                            "spec": {"clusterQueue": name}})
        self.b.apply(*objects)

    def workload(self, name, queue, milli, annotations=None, **spec):
        """A Workload that nobody owns: it runs nothing."""
        limits = spec.pop("limits", None)
        resources = {"requests": {"cpu": f"{milli}m"}, "limits": {"cpu": limits} if limits else {}}
        template = {"spec": {"restartPolicy": "Never", "nodeSelector": spec.pop("selector", {}), "containers": [
            {"name": "c", "image": "busybox", "resources": resources}]}}
        self.b.apply({"apiVersion": API, "kind": "Workload",
                      "metadata": {"name": name, "namespace": "default", "annotations": annotations or {}},
                      "spec": {"queueName": queue, "podSets": [{"name": "main", "count": 1, "template": template}],
                               **spec}})

    def let_go(self, prefix):
        """One that nobody owns was evicted: who runs it says, as a job's controller would, that nothing of it runs."""
        def evicted():
            return [(o, found["Evicted"]["message"]) for o in self.b.get("workloads")["items"]
                    for found in [{c["type"]: c for c in o.get("status", {}).get("conditions", [])}]
                    if o["metadata"]["name"].startswith(prefix) and found.get("Evicted", {}).get("status") == "True"]
        o, message = wait_for(f"{prefix} evicted", evicted)[0]
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        said = {"QuotaReserved": ("False", "PendingEvaluation"), "Admitted": ("False", "NoReservation"),
                "Requeued": ("True", "Preempted")}
        o["status"]["conditions"] = [c for c in o["status"]["conditions"] if c["type"] not in said] + [
            {"type": t, "status": status, "reason": reason, "lastTransitionTime": now,
             "message": "The workload has no reservation" if t == "Admitted" else message}
            for t, (status, reason) in said.items()]
        self.patch("workload", o["metadata"]["name"], {"status": {"conditions": o["status"]["conditions"],
                                                                  "admission": None}}, "status")

    def job(self, name, script, queue, **more):
        self.b.apply(job(name, script, queue=queue, **more))

    def check(self, name, active=True, controller="example.com/checks"):
        self.b.apply({"apiVersion": API, "kind": "AdmissionCheck", "metadata": {"name": name},
                      "spec": {"controllerName": controller}})
        self.patch("admissioncheck", name, {"status": {"conditions": [
            {"type": "Active", "status": "True" if active else "False", "reason": "Told", "message": "",
             "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}, "status")

    def decide(self, wl, check_name, state, **more):
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.patch("workload", wl, {"status": {"admissionChecks": [
            {"name": check_name, "state": state, "message": "so it is", "lastTransitionTime": now, **more}]}}, "status")


def strategy(*names, **on):
    return {"admissionChecks": [{"name": n, **({"onFlavors": on[n]} if n in on else {})} for n in names]}


SLOW = {"initContainers": [{"name": "first", "image": "busybox", "command": ["sleep", "300"]}]}
WITHIN = {"preemption": {"withinClusterQueue": "LowerPriority"}}
NO = "The workload has no reservation"

# ---- ClusterQueues and LocalQueues ----


def test_cluster_queue_reasons(w):
    w.queue("cq-ready", 100)
    w.cq("cq-ready", "True", "Ready", "Can admit new workloads")
    w.lq("cq-ready", "True", "Ready", "Can submit new workloads to localQueue")
    w.queue("cq-flavors", 100, flavors=("plain", "none-a", "none-b"))
    w.cq("cq-flavors", "False", "FlavorNotFound",
         r"Can't admit new workloads: references missing ResourceFlavor\(s\): none-a,none-b\.")
    w.lq("cq-flavors", "False", "ClusterQueueIsInactive", "Can't submit new workloads to clusterQueue")
    w.queue("cq-stopped", 100, stopPolicy="Hold")
    w.cq("cq-stopped", "False", "Stopped", r"Can't admit new workloads: is stopped\.")
    w.queue("cq-checks", 100, admissionChecksStrategy=strategy("later-a", "later-b"))
    w.cq("cq-checks", "False", "AdmissionCheckNotFound",
         r"Can't admit new workloads: references missing AdmissionCheck\(s\): later-a,later-b\.")
    w.check("later-a")
    w.check("later-b", active=False)
    w.cq("cq-checks", "False", "AdmissionCheckInactive",
         r"Can't admit new workloads: references inactive AdmissionCheck\(s\): later-b\.")
    w.check("later-b")
    w.cq("cq-checks", "True", "Ready", "Can admit new workloads")


def test_cluster_queue_many_reasons_at_once(w):
    w.check("idle", active=False)
    w.queue("cq-many", 100, flavors=("none-a",), stopPolicy="HoldAndDrain",
            admissionChecksStrategy=strategy("idle", "nowhere"))
    w.cq("cq-many", "False", "Stopped",
         r"Can't admit new workloads: is stopped, references missing ResourceFlavor\(s\): none-a, references missing "
         r"AdmissionCheck\(s\): nowhere, references inactive AdmissionCheck\(s\): idle\.")


def test_cluster_queue_checks_of_other_clusters(w):
    w.check("mk-a", controller="kueue.x-k8s.io/multikueue")
    w.check("mk-b", controller="kueue.x-k8s.io/multikueue")
    w.check("prov", controller="kueue.x-k8s.io/provisioning-request")
    w.queue("cq-mk-two", 100, admissionChecksStrategy=strategy("mk-a", "mk-b"))
    w.cq("cq-mk-two", "False", "MultipleMultiKueueAdmissionChecks",
         r"Can't admit new workloads: Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found: "
         r"mk-a,mk-b\.")
    w.queue("cq-mk-part", 100, flavors=("plain", "marked"), admissionChecksStrategy=strategy("mk-a", **{"mk-a": ["plain"]}))
    w.cq("cq-mk-part", "False", "MultiKueueAdmissionCheckAppliedPerFlavor",
         r"Can't admit new workloads: Cannot specify MultiKueue AdmissionCheck per flavor, found: mk-a\.")
    w.queue("cq-mk-prov", 100, admissionChecksStrategy=strategy("mk-a", "prov"))
    w.cq("cq-mk-prov", "False", "MultiKueueWithProvisioningRequest",
         r"Can't admit new workloads: Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, "
         r"found: mk-a, prov\.")


def test_cluster_queue_without_its_topology(w):
    w.b.apply({"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": "racked"},
               "spec": {"nodeLabels": {"disk": "fast"}, "topologyName": "racks"}})
    w.queue("cq-racks", 100, flavors=("racked",))
    w.cq("cq-racks", "False", "TopologyNotFound",
         r"Can't admit new workloads: there is no Topology \"racks\" for TAS flavor \"racked\"\.")


def test_a_cycle_of_cohorts(w):
    """It is no condition: the queue is told to be ready, and nothing in it moves until the cycle is gone."""
    cohorts = [{"apiVersion": API, "kind": "Cohort", "metadata": {"name": a}, "spec": {"parentName": b}}
               for a, b in (("ring-a", "ring-b"), ("ring-b", "ring-a"))]
    w.b.apply(*cohorts)
    w.queue("rings", 100, cohortName="ring-a")
    w.cq("rings", "True", "Ready", "Can admit new workloads")
    w.workload("rings-a", "rings", 10)
    time.sleep(1)
    check(not w.watch.messages("Workload", "rings-a", "QuotaReserved", "True", "QuotaReserved"), "it was admitted")
    w.patch("cohort", "ring-b", {"spec": {"parentName": ""}})
    w.wl("rings-a", "Admitted", "True", "Admitted")
    check(not w.watch.messages("ClusterQueue", "rings", "Active", "False", "Unknown"), "a cycle is no condition")


def test_cluster_queue_terminating(w):
    w.queue("cq-going", 100)
    w.workload("holds-going", "cq-going", 50)
    w.wl("holds-going", "Admitted", "True", "Admitted", "The workload is admitted")
    w.b.kubectl("delete", "clusterqueue", "cq-going", "--wait=false")
    w.cq("cq-going", "False", "Terminating", "Can't admit new workloads; clusterQueue is terminating")
    w.b.kubectl("delete", "workload", "holds-going")
    wait_for("cq-going to be gone", lambda: w.b.kubectl("get", "clusterqueue", "cq-going", ok=False).returncode)


def test_local_queue_reasons(w):
    w.b.apply({"apiVersion": API, "kind": "LocalQueue", "metadata": {"name": "lq-lost", "namespace": "default"},
               "spec": {"clusterQueue": "cq-nowhere"}})
    w.lq("lq-lost", "False", "ClusterQueueDoesNotExist", "Can't submit new workloads to clusterQueue")
    w.queue("lq-halts", 100)
    w.patch("localqueue", "lq-halts", {"spec": {"stopPolicy": "Hold"}})
    w.lq("lq-halts", "False", "Stopped", "LocalQueue is stopped")

# ---- why a Workload waits ----


def test_waits_for_quota(w):
    w.queue("waits", 100)
    w.workload("waits-holder", "waits", 60)
    w.wl("waits-holder", "QuotaReserved", "True", "QuotaReserved", "Quota reserved in ClusterQueue waits")
    w.workload("waits-some", "waits", 60)
    w.wl("waits-some", "QuotaReserved", "False", "WaitingForQuota",
         "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor plain, 20m more needed")
    w.workload("waits-ever", "waits", 150)
    w.wl("waits-ever", "QuotaReserved", "False", "ExceedsMaxQuota",
         r"couldn't assign flavors to pod set main: insufficient quota for cpu in flavor plain, previously considered "
         r"podsets requests \(0\) \+ current podset request \(150m\) > maximum capacity \(100m\)")


def test_many_pods(w):
    """A few thousand are written in a line; more than may be hold nothing, and are told what to do."""
    def workload(name, memory, count):
        template = {"spec": {"restartPolicy": "Never", "containers": [
            {"name": "c", "image": "busybox", "resources": {"requests": {"memory": memory}}}]}}
        w.b.apply({"apiVersion": API, "kind": "Workload", "metadata": {"name": name, "namespace": "default"},
                   "spec": {"queueName": "many", "podSets": [{"name": "main", "count": count, "template": template}]}})

    w.queue("many", 100)
    workload("many-beyond", "10Ki", 20001)
    w.wl("many-beyond", "QuotaReserved", "False", "WaitingForPlacement",
         r"quota is available, but it has 20001 pods without devices, and one workload may have at most 20000 on nodes "
         r"of Berth: let it ask for fewer at once, or make several of it \(pod set main\)")
    workload("many-good", "10Ki", 6000)
    w.wl("many-good", "Admitted", "True", "Admitted", "The workload is admitted")
    plan = json.loads(w.b.get("workload", "many-good")["metadata"]["annotations"]["berth.dev/placement"])
    check([(p["podSet"], p["index"], p["count"]) for p in plan] == [("main", 0, 6000)], f"placement {plan}")
    used = w.b.get("clusterqueue", "many")["status"]["flavorsUsage"]
    check('"60000Ki"' in json.dumps(used), f"held {used}")
    w.b.kubectl("delete", "workload", "many-good", "many-beyond")


def test_long_plan(w):
    """A plan for which the annotations have no room is in a ControllerRevision, which goes with the Workload."""
    room = 60
    note = "x" * (256 * 1024 - len("note") - len("berth.dev/placement") - room)
    template = {"spec": {"restartPolicy": "Never", "containers": [
        {"name": "c", "image": "busybox", "resources": {"requests": {"memory": "10Ki"}}}]}}
    sets = [{"name": f"set-{i}", "count": 1, "template": template} for i in range(2)]
    w.queue("long", 100)
    w.b.kubectl("create", "-f", "-", stdin=json.dumps(
        {"apiVersion": API, "kind": "Workload", "metadata": {"name": "long", "namespace": "default", "annotations": {"note": note}},
         "spec": {"queueName": "long", "podSets": sets}}))
    w.wl("long", "Admitted", "True", "Admitted", "The workload is admitted")
    plan = json.loads(w.b.get("workload", "long")["metadata"]["annotations"]["berth.dev/placement"])
    check(len(plan["revisions"]) == 1, f"plan {plan}")
    part = w.b.get("controllerrevision", plan["revisions"][0])
    check([p["podSet"] for p in part["data"]["places"]] == ["set-0", "set-1"], f"places {part['data']}")
    check(part["metadata"]["ownerReferences"][0]["name"] == "long", f"owner {part['metadata']}")
    w.b.kubectl("delete", "workload", "long")
    wait_for("the plan is gone", lambda: not w.b.get("controllerrevision")["items"])


def test_no_flavor_matches(w):
    w.queue("marks", 100, flavors=("marked",))
    w.workload("marks-other", "marks", 10, selector={"disk": "slow"})
    w.wl("marks-other", "QuotaReserved", "False", "NoMatchingFlavor",
         "couldn't assign flavors to pod set main: flavor marked doesn't match node affinity")


def test_misconfigured(w):
    w.workload("lost", "nowhere", 10)
    w.wl("lost", "QuotaReserved", "False", "Misconfigured", "LocalQueue nowhere doesn't exist")
    w.b.apply({"apiVersion": API, "kind": "LocalQueue", "metadata": {"name": "half", "namespace": "default"},
               "spec": {"clusterQueue": "none"}})
    w.workload("half", "half", 10)
    w.wl("half", "QuotaReserved", "False", "Misconfigured", "ClusterQueue none doesn't exist")
    w.queue("closed", 100, namespaceSelector={"matchLabels": {"team": "other"}})
    w.workload("closed", "closed", 10)
    w.wl("closed", "QuotaReserved", "False", "Misconfigured", "workload namespace doesn't match ClusterQueue selector")


def test_limit_ranges(w):
    w.b.apply({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "bounds", "namespace": "default"},
               "spec": {"limits": [{"type": "Container", "max": {"cpu": "30"}, "default": {"cpu": "20"}}]}})
    w.queue("bounds", 100)
    w.workload("bounds-odd", "bounds", 25000)
    w.wl("bounds-odd", "QuotaReserved", "False", "Misconfigured",
         r"resources validation failed: .*requests must not exceed its limits")
    w.queue("wide", 100)
    w.workload("wide-above", "wide", 40000, limits="40000m")
    w.wl("wide-above", "QuotaReserved", "False", "Misconfigured",
         r"resources didn't satisfy LimitRange constraints: .*requests must not be above the limitRange max")
    w.b.kubectl("delete", "limitrange", "bounds")


def test_suspended_and_gated(w):
    w.queue("halts", 100, stopPolicy="Hold")
    w.workload("halts-a", "halts", 10)
    w.wl("halts-a", "QuotaReserved", "False", "Suspended", "ClusterQueue halts is inactive")
    w.patch("clusterqueue", "halts", {"spec": {"stopPolicy": "None"}})
    w.wl("halts-a", "Admitted", "True", "Admitted")
    w.patch("localqueue", "halts", {"spec": {"stopPolicy": "Hold"}})
    w.workload("halts-b", "halts", 10)
    w.wl("halts-b", "QuotaReserved", "False", "Suspended", "LocalQueue halts is inactive")
    w.queue("gates", 100)
    w.workload("gates-a", "gates", 10, {"kueue.x-k8s.io/admission-gated-by": "example.com/paid"})
    w.wl("gates-a", "QuotaReserved", "False", "AdmissionGated", "Admission is gated by: example.com/paid")
    w.annotate("workload", "gates-a", "kueue.x-k8s.io/admission-gated-by-")
    w.wl("gates-a", "Admitted", "True", "Admitted")


def test_outdated_reasons_are_taken_back(w):
    """Behind a head that blocks a StrictFIFO queue nobody looks: what was said before is not true any more."""
    w.queue("strict", 100, queueingStrategy="StrictFIFO")
    w.workload("strict-holder", "strict", 80)
    w.wl("strict-holder", "Admitted", "True", "Admitted")
    w.workload("strict-head", "strict", 50, priority=5)
    w.wl("strict-head", "QuotaReserved", "False", "WaitingForQuota")
    w.workload("strict-next", "strict", 10, {"kueue.x-k8s.io/admission-gated-by": "example.com/paid"})
    w.wl("strict-next", "QuotaReserved", "False", "AdmissionGated")
    w.annotate("workload", "strict-next", "kueue.x-k8s.io/admission-gated-by-")
    w.wl("strict-next", "QuotaReserved", "False", "PendingEvaluation",
         "Workload is pending evaluation in the scheduling queue")

# ---- preemption ----


def preempted(w, victim, reason, human, by_path, of_path):
    text = (rf"Preempted to accommodate a workload \(UID: [0-9a-f-]+, JobUID: (UNKNOWN|[0-9a-f-]+)\) due to {human}; "
            rf"preemptor path: {by_path}; preemptee path: {of_path}")
    w.wl(victim, "Evicted", "True", "Preempted", text)
    w.wl(victim, "Preempted", "True", reason, text)
    w.wl(victim, "Requeued", "True", "Preempted", text)
    w.wl(victim, "QuotaReserved", "False", "PendingEvaluation", text)
    w.wl(victim, "Admitted", "False", "NoReservation", NO)


def test_preempted_in_the_queue(w):
    w.queue("ranks", 100, **WITHIN)
    w.job("ranks-low", "sleep 300", "ranks", parallelism=2, completions=2)
    w.wl("job-ranks-low-", "PodsReady", "True", "Started", "All pods reached readiness and the workload is running")
    w.workload("ranks-high", "ranks", 60, priority=5)
    w.wl("ranks-high", "QuotaReserved", "False", "WaitingForPreemptedWorkloads",
         r"couldn't assign flavors to pod set main: .*\. Pending the preemption of 1 workload\(s\)")
    preempted(w, "job-ranks-low-", "InClusterQueue", "prioritization in the ClusterQueue", "/ranks", "/ranks")
    w.wl("ranks-high", "Admitted", "True", "Admitted")
    w.b.kubectl("delete", "workload", "ranks-high")
    w.wl("job-ranks-low-", "Evicted", "False", "QuotaReserved", "Previously: Preempted to accommodate .*")
    w.wl("job-ranks-low-", "Preempted", "False", "QuotaReserved", "Previously: Preempted to accommodate .*")
    w.b.kubectl("delete", "job", "ranks-low")


def test_preempted_in_the_cohort(w):
    w.queue("owner", 100, cohortName="house", preemption={"reclaimWithinCohort": "Any"})
    w.queue("guest", 0, cohortName="house")
    w.workload("guest-a", "guest", 80)
    w.wl("guest-a", "Admitted", "True", "Admitted")
    w.workload("owner-a", "owner", 80)
    w.let_go("guest-a")
    preempted(w, "guest-a", "InCohortReclamation", "reclamation within the cohort", "/house/owner", "/house/guest")
    w.wl("owner-a", "Admitted", "True", "Admitted")


def test_preempted_by_a_borrower(w):
    w.queue("lends", 100, cohortName="yard", preemption={"reclaimWithinCohort": "Never"})
    w.queue("takes", 50, cohortName="yard", preemption={
        "reclaimWithinCohort": "LowerPriority", "borrowWithinCohort": {"policy": "LowerPriority"}})
    w.queue("stays", 0, cohortName="yard")
    w.workload("stays-a", "stays", 100, priority=1)
    w.wl("stays-a", "Admitted", "True", "Admitted")
    w.workload("takes-a", "takes", 100, priority=5)
    w.let_go("stays-a")
    preempted(w, "stays-a", "InCohortReclaimWhileBorrowing", "reclamation within the cohort while borrowing",
              "/yard/takes", "/yard/stays")


def test_preemption_gates(w):
    w.queue("doors", 100, **WITHIN)
    w.workload("doors-low", "doors", 80)
    w.wl("doors-low", "Admitted", "True", "Admitted")
    w.workload("doors-high", "doors", 80, priority=5, preemptionGates=[{"name": "example.com/door"}])
    w.wl("doors-high", "BlockedOnPreemptionGates", "True", "PreemptionGated",
         "Workload requires preemption, but it's gated")
    w.wl("doors-high", "QuotaReserved", "False", "AdmissionGated")
    w.patch("workload", "doors-high", {"status": {"preemptionGates": [
        {"name": "example.com/door", "position": "Open", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}, "status")
    w.let_go("doors-low")
    w.wl("doors-high", "Admitted", "True", "Admitted")
    w.wl("doors-high", "BlockedOnPreemptionGates", "False", "QuotaReserved",
         "Previously: Workload requires preemption, but it's gated")

# ---- admission checks ----


def test_checks(w):
    w.check("ask")
    w.queue("asks", 200, admissionChecksStrategy=strategy("ask"))
    w.job("asks-a", "sleep 300", "asks")
    w.wl("job-asks-a-", "Admitted", "False", "UnsatisfiedAdmissionChecks", "The workload has not all checks ready")
    name = w.full("job-asks-a-")
    w.decide(name, "ask", "Ready")
    w.wl("job-asks-a-", "Admitted", "True", "Admitted", "The workload is admitted")
    w.wl("job-asks-a-", "PodsReady", "True", "Started")
    w.decide(name, "ask", "Retry", requeueAfterSeconds=3)
    w.wl("job-asks-a-", "Evicted", "True", "AdmissionCheck",
         r'Evicted due to AdmissionCheck in Retry state: "ask" \(so it is\)')
    w.wl("job-asks-a-", "Requeued", "False", "AdmissionCheck")
    w.wl("job-asks-a-", "PodsReady", "False", "WaitForStart", "Not all pods are ready or succeeded")
    w.wl("job-asks-a-", "Requeued", "True", "BackoffFinished", "The workload backoff was finished")
    status = w.b.get("workload", name)["status"]["admissionChecks"][0]
    check(status["retryCount"] == 1 and status["message"] == "Reset to Pending after eviction. Previously: Retry",
          str(status))
    w.wl("job-asks-a-", "Evicted", "False", "QuotaReserved")
    w.decide(name, "ask", "Rejected")
    listed = r'AdmissionCheck in Rejected state: "ask" \(so it is\)'
    w.wl("job-asks-a-", "DeactivationTarget", "True", "AdmissionCheck", listed)
    w.wl("job-asks-a-", "Evicted", "True", "DeactivatedDueToAdmissionCheck",
         f"The workload is deactivated due to {listed}")
    w.wl("job-asks-a-", "Requeued", "False", "DeactivatedDueToAdmissionCheck")
    w.wl("job-asks-a-", "QuotaReserved", "False", "Deactivated", "The workload is deactivated")
    w.b.kubectl("delete", "job", "asks-a")


def test_stopped_while_it_reserves(w):
    w.check("hold")
    w.queue("keeps", 200, admissionChecksStrategy=strategy("hold"))
    w.workload("keeps-a", "keeps", 10)
    w.wl("keeps-a", "QuotaReserved", "True", "QuotaReserved")
    w.patch("localqueue", "keeps", {"spec": {"stopPolicy": "Hold"}})
    w.wl("keeps-a", "QuotaReserved", "False", "Suspended", "LocalQueue keeps is stopped")
    w.patch("localqueue", "keeps", {"spec": {"stopPolicy": "None"}})
    wait_for("quota again", lambda: w.b.get("workload", "keeps-a")["status"].get("admission"))
    w.patch("clusterqueue", "keeps", {"spec": {"stopPolicy": "Hold"}})
    w.wl("keeps-a", "QuotaReserved", "False", "Suspended", "ClusterQueue keeps is stopped")
    check(not w.watch.messages("Workload", "keeps-a", "Evicted", "True", "LocalQueueStopped"), "that is no eviction")


def test_cannot_start(w):
    w.check("steer")
    w.b.kubectl("label", "node", "--all", "disk=slow")
    w.queue("steers", 200, admissionChecksStrategy=strategy("steer"))
    w.job("steers-a", "true", "steers", pod={"nodeSelector": {"disk": "slow"}})
    w.wl("job-steers-a-", "Admitted", "False", "UnsatisfiedAdmissionChecks")
    w.decide(w.full("job-steers-a-"), "steer", "Ready",
             podSetUpdates=[{"name": "main", "nodeSelector": {"disk": "fast"}}])
    w.wl("job-steers-a-", "Finished", "True", "FailedToStart",
         "invalid admission check PodSetUpdate: conflict for nodeSelector: .*")

# ---- stop and go ----


def test_drained(w):
    w.queue("drains", 200)
    w.job("drains-a", "sleep 300", "drains")
    for kind, reason, back, what in (("clusterqueue", "ClusterQueueStopped", "ClusterQueueRestarted", "ClusterQueue"),
                                     ("localqueue", "LocalQueueStopped", "LocalQueueRestarted", "LocalQueue")):
        wait_for("its pod", lambda: w.b.get("job", "drains-a")["status"].get("ready") == 1)
        w.patch(kind, "drains", {"spec": {"stopPolicy": "HoldAndDrain"}})
        w.wl("job-drains-a-", "Evicted", "True", reason, f"The {what} is stopped")
        w.wl("job-drains-a-", "Requeued", "False", reason, f"The {what} is stopped")
        w.wl("job-drains-a-", "QuotaReserved", "False", "Suspended", f"{what} drains is inactive")
        w.patch(kind, "drains", {"spec": {"stopPolicy": "None"}})
        w.wl("job-drains-a-", "Requeued", "True", back, f"The {what} was restarted after being stopped")
    w.b.kubectl("delete", "job", "drains-a")


def test_deactivated(w):
    w.queue("turns", 200)
    w.job("turns-a", "sleep 300", "turns")
    w.wl("job-turns-a-", "PodsReady", "True", "Started")
    name = w.full("job-turns-a-")
    w.patch("workload", name, {"spec": {"active": False}})
    w.wl("job-turns-a-", "Evicted", "True", "Deactivated", "The workload is deactivated")
    w.wl("job-turns-a-", "Requeued", "False", "Deactivated", "The workload is deactivated")
    w.wl("job-turns-a-", "QuotaReserved", "False", "Deactivated", "The workload is deactivated")
    w.patch("workload", name, {"spec": {"active": True}})
    w.wl("job-turns-a-", "Requeued", "True", "Reactivated", "The workload was reactivated")
    w.b.kubectl("delete", "job", "turns-a")


def test_too_long(w):
    w.queue("clock", 200)
    w.job("clock-a", "sleep 300", "clock", labels={"kueue.x-k8s.io/max-exec-time-seconds": "2"})
    w.wl("job-clock-a-", "DeactivationTarget", "True", "MaximumExecutionTimeExceeded",
         "exceeding the maximum execution time")
    w.wl("job-clock-a-", "Evicted", "True", "DeactivatedDueToMaximumExecutionTimeExceeded",
         "The workload is deactivated due to exceeding the maximum execution time")
    w.wl("job-clock-a-", "Requeued", "False", "DeactivatedDueToMaximumExecutionTimeExceeded")
    w.b.kubectl("delete", "job", "clock-a")

# ---- the end ----


def test_finished(w):
    w.queue("ends", 200)
    w.job("ends-good", "true", "ends")
    w.wl("job-ends-good-", "Finished", "True", "Succeeded", "Reached expected number of succeeded pods")
    w.job("ends-bad", "false", "ends", backoffLimit=0)
    w.wl("job-ends-bad-", "Finished", "True", "Failed", "Job has reached the specified backoff limit")
    w.job("ends-alone", "sleep 300", "ends")
    w.wl("job-ends-alone-", "Admitted", "True", "Admitted")
    w.b.kubectl("delete", "job", "ends-alone", "--cascade=orphan")
    w.wl("job-ends-alone-", "Finished", "True", "OwnerNotFound", "The workload's owner does not exist")

def test_made_beforehand(w):
    w.queue("before", 200)
    w.workload("before-made", "before", 10)
    w.job("before-a", "sleep 300", "before", labels={"kueue.x-k8s.io/prebuilt-workload-name": "before-made"},
          parallelism=3, completions=3)
    w.wl("before-made", "Finished", "True", "OutOfSync", "The prebuilt workload is out of sync with its user job")
    w.b.kubectl("delete", "job", "before-a")


def test_elastic(w):
    """A Job that wants more pods than its Workload has gets another one in its place."""
    w.queue("grows", 100)
    body = job("grows-b", "sleep 300", queue="grows", parallelism=1)
    body["metadata"]["annotations"] = {"kueue.x-k8s.io/elastic-job": "true"}
    w.b.apply(body)
    w.wl("job-grows-b-", "Admitted", "True", "Admitted")
    w.patch("job", "grows-b", {"spec": {"parallelism": 2}})
    w.wl("job-grows-b-", "Finished", "True", "WorkloadSliceReplaced",
         r"Replaced to accommodate a workload \(UID: \S+, JobUID: \S+\) due to workload slice aggregation")
    w.patch("job", "grows-b", {"spec": {"parallelism": 99}})
    wait_for("two Workloads", lambda: sum("WorkloadSliceReplaced" not in json.dumps(x) for x in w.b.get("workloads")["items"]
                                          if x["metadata"]["name"].startswith("job-grows-b-")) == 2)
    w.patch("job", "grows-b", {"spec": {"parallelism": 2}})
    w.wl("job-grows-b-", "Finished", "True", "OutOfSync", "The workload slice is out of sync with its parent job")
    w.b.kubectl("delete", "job", "grows-b")


def test_on_hold(w):
    """A RayJob that its operator finds invalid is on hold; what the operator would write is written here."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    w.b.apply({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
               "metadata": {"name": "rayjobs.ray.io"}, "spec": {
                   "group": "ray.io", "scope": "Namespaced", "names": {"kind": "RayJob", "plural": "rayjobs"},
                   "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
                                 "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                                     "spec": anything, "status": anything}}}}]}})
    w.b.kubectl("wait", "--for=condition=Established", "crd/rayjobs.ray.io", "--timeout=10s")
    w.queue("holds", 2000)
    pod = {"spec": {"containers": [{"name": "c", "image": "busybox", "resources": {"requests": {"cpu": "10m"}}}]}}
    ray = {"apiVersion": "ray.io/v1", "kind": "RayJob",
           "metadata": {"name": "holds-a", "labels": {"kueue.x-k8s.io/queue-name": "holds"}},
           "spec": {"shutdownAfterJobFinishes": True, "rayClusterSpec": {
               "headGroupSpec": {"template": pod}, "workerGroupSpecs": []}}}
    wait_for("RayJobs", lambda: w.b.kubectl("apply", "-f", "-", stdin=json.dumps(ray), ok=False).returncode == 0)
    w.wl("rayjob-holds-a-", "QuotaReserved", "True", "QuotaReserved")
    for status, row in (({"jobDeploymentStatus": "ValidationFailed"}, ("OnHold", "Job is on hold")),
                        ({"jobDeploymentStatus": "Initializing"},
                         ("PendingEvaluation", "Workload no longer on hold; waiting for quota reservation"))):
        w.patch("rayjobs.ray.io", "holds-a", {"status": status}, "status")
        w.wl("rayjob-holds-a-", "QuotaReserved", "False", *row)
    w.b.kubectl("delete", "rayjobs.ray.io", "holds-a")


def group_pod(name, group, script, to, **labels):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {
        "name": name, "labels": {"kueue.x-k8s.io/queue-name": to, "kueue.x-k8s.io/pod-group-name": group, **labels},
        "annotations": {"kueue.x-k8s.io/pod-group-total-count": "2"}},
        "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [
            {"name": "c", "image": "busybox", "command": ["sh", "-c", script],
             "resources": {"requests": {"cpu": "40m"}}}]}}


def test_pods_are_replaced(w):
    w.b.apply({"apiVersion": API, "kind": "WorkloadPriorityClass", "metadata": {"name": "above"}, "value": 9})
    w.queue("groups", 100, **WITHIN)
    w.b.apply(group_pod("pair-a", "pair", "sleep 300", "groups"), group_pod("pair-b", "pair", "exit 1", "groups"))
    w.wl("pair", "WaitingForReplacementPods", "True", "PodsFailed", "Some Failed pods need replacement")
    w.b.apply(group_pod("pair-c", "pair", "sleep 300", "groups"))
    w.wl("pair", "WaitingForReplacementPods", "False", "PodsReady", "No pods need replacement")
    w.workload("groups-high", "groups", 90, priority=5)
    w.wl("pair", "WaitingForReplacementPods", "True", "Preempted", "Preempted to accommodate a workload .*")
    w.b.kubectl("delete", "workload", "groups-high", "pair", "--wait=false")


def test_no_place(w):
    """The node has less than the queue: Berth's own reason, where Kueue has one for topologies."""
    w.queue("places", 10 ** 9)
    w.workload("places-a", "places", 10 ** 8, selector={"kubernetes.io/os": "linux"})
    w.wl("places-a", "QuotaReserved", "False", "WaitingForPlacement",
         "quota is available, but no node has enough cpu free: 100k needed for one pod, at most .* free on one node "
         r"\(pod set main\)")
    w.b.kubectl("delete", "workload", "places-a")

# ---- with a Configuration: short time for readiness ----


def test_never_ready(w):
    w.queue("slow", 200)
    w.job("slow-a", "sleep 300", "slow", pod=SLOW)
    name = w.full("job-slow-a-")
    text = f"Exceeded the PodsReady timeout default/{name}"
    w.wl("job-slow-a-", "Evicted", "True", "PodsReadyTimeout", text)
    w.wl("job-slow-a-", "Requeued", "False", "PodsReadyTimeout", text)
    w.wl("job-slow-a-", "Requeued", "True", "BackoffFinished", "The workload backoff was finished")
    w.wl("job-slow-a-", "DeactivationTarget", "True", "RequeuingLimitExceeded",
         "exceeding the maximum number of re-queuing retries")
    w.wl("job-slow-a-", "Evicted", "True", "DeactivatedDueToRequeuingLimitExceeded",
         "The workload is deactivated due to exceeding the maximum number of re-queuing retries")
    w.wl("job-slow-a-", "Requeued", "False", "DeactivatedDueToRequeuingLimitExceeded")


def test_ready_again(w):
    w.queue("again", 200)
    mark = os.path.join(w.b.root, "failed-once")
    w.job("again-a", f"test -e {mark} && sleep 300; sleep 2; touch {mark}; exit 1", "again", backoffLimit=5)
    w.wl("job-again-a-", "PodsReady", "True", "Started")
    w.wl("job-again-a-", "PodsReady", "False", "WaitForRecovery", "At least one pod has failed, waiting for recovery")
    w.wl("job-again-a-", "PodsReady", "True", "Recovered", "All pods reached readiness and the workload is running")
    w.b.kubectl("delete", "job", "again-a")

# ---- with a Configuration: one admission at a time ----


def test_one_at_a_time(w):
    w.queue("single", 200)
    w.job("single-a", "sleep 300", "single", pod=SLOW)
    w.wl("job-single-a-", "Admitted", "True", "Admitted")
    w.job("single-b", "sleep 300", "single")
    w.wl("job-single-b-", "QuotaReserved", "False", "WaitingForPodsReady",
         "waiting for all admitted workloads to be in PodsReady condition")
    w.b.kubectl("delete", "job", "single-a", "single-b")

# ---- with a Configuration: fair sharing ----


def test_preempted_for_a_fair_share(w):
    w.queue("fair-lends", 100, cohortName="fair")
    for name in ("fair-a", "fair-b"):
        w.queue(name, 0, cohortName="fair", preemption={"reclaimWithinCohort": "Any"})
    for i in range(4):
        w.workload(f"fair-a-{i}", "fair-a", 25)
    wait_for("all four", lambda: all(
        w.watch.messages("Workload", f"fair-a-{i}", "Admitted", "True", "Admitted") for i in range(4)))
    w.workload("fair-b-0", "fair-b", 25)
    w.wl("fair-a-", "Preempted", "True", "InCohortFairSharing",
         r"Preempted to accommodate a workload \(UID: [0-9a-f-]+, JobUID: UNKNOWN\) due to Fair Sharing within the cohort; "
         r"preemptor path: /fair/fair-b; preemptee path: /fair/fair-a")
    w.let_go("fair-a-")
    w.wl("fair-b-0", "Admitted", "True", "Admitted")


# ---- with a Configuration: the words of old ----


def test_of_old(w):
    w.check("asked")
    w.queue("old", 100, admissionChecksStrategy=strategy("asked"))
    w.job("old-a", "sleep 300", "old", pod=SLOW)
    w.wl("job-old-a-", "Admitted", "False", "UnsatisfiedChecks", "The workload has not all checks ready")
    w.decide(w.full("job-old-a-"), "asked", "Ready")
    w.wl("job-old-a-", "Admitted", "True", "Admitted")
    w.workload("old-b", "old", 10)
    w.wl("old-b", "QuotaReserved", "False", "Waiting",
         "waiting for all admitted workloads to be in PodsReady condition")
    w.decide(w.full("job-old-a-"), "asked", "Retry", requeueAfterSeconds=300)
    w.wl("job-old-a-", "Admitted", "False", "NoReservationUnsatisfiedChecks",
         "The workload has no reservation and not all checks ready")
    w.workload("old-c", "old", 200)
    w.wl("old-c", "QuotaReserved", "False", "Pending", "couldn't assign flavors to pod set main: insufficient quota .*")
    w.workload("old-d", "nowhere", 10)
    w.wl("old-d", "QuotaReserved", "False", "Inadmissible", "LocalQueue nowhere doesn't exist")


CONFIGURED = [
    (None, None),
    ("readiness", {"waitForPodsReady": {"timeout": "3s", "recoveryTimeout": "60s", "requeuingStrategy": {
        "backoffLimitCount": 1, "backoffBaseSeconds": 1, "backoffMaxSeconds": 2}}}),
    ("one at a time", {"waitForPodsReady": {"timeout": "5m", "blockAdmission": True}}),
    ("fair sharing", {"fairSharing": {"preemptionStrategies": ["LessThanOrEqualToFinalShare",
                                                               "LessThanInitialShare"]}}),
    ("of old", {"featureGates": {"UnadmittedWorkloadsObservability": False},
                "waitForPodsReady": {"timeout": "5m", "blockAdmission": True}}),
]
TESTS = {
    None: [v for k, v in list(globals().items()) if k.startswith("test_") and k not in (
        "test_never_ready", "test_ready_again", "test_one_at_a_time", "test_preempted_for_a_fair_share",
        "test_of_old")],
    "readiness": [test_never_ready, test_ready_again],
    "one at a time": [test_one_at_a_time],
    "fair sharing": [test_preempted_for_a_fair_share],
    "of old": [test_of_old],
}


def flavors(w):
    w.b.apply({"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": "plain"}, "spec": {}},
              {"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": "marked"},
               "spec": {"nodeLabels": {"disk": "fast"}}})


def run(program, kubectl, part, config, watch, only):
    """The tests of one Configuration, each in turn; (passed, failed)."""
    passed = failed = 0
    b = Berth(program, kubectl, gpus="none")
    if config:
        path = os.path.join(b.root, "configuration.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", **config}, f)
        b.args += ["--config", path]
    with b:
        watch.start(b)
        w = World(b, watch)
        flavors(w)
        for test in TESTS[part]:
            if only and test.__name__ not in only:
                continue
            start = time.monotonic()
            try:
                test(w)
                passed += 1
                print(f"ok      {test.__name__} ({time.monotonic() - start:.1f} s)", flush=True)
            except Exception as e:  # pylint: disable=broad-except
                failed += 1
                print(f"FAILED  {test.__name__}: {e}", flush=True)
                if not isinstance(e, Fail):
                    traceback.print_exc()
        watch.stop()
    return passed, failed


def coverage(watch):
    """Rows that nobody saw, and exceptions that are none."""
    seen = watch.rows()
    missing = [r for r in rows.ALL if r not in seen and r not in rows.CANNOT]
    wrong = [r for r in rows.CANNOT if r in seen or r not in rows.ALL]
    for r in missing:
        print("never seen:", *r)
    for r in wrong:
        print("is said to be impossible:", *r)
    print(f"rows: {len(rows.ALL)}, seen {len([r for r in rows.ALL if r in seen])}, cannot occur {len(rows.CANNOT)}")
    return not missing and not wrong


def main():
    program, kubectl, *only = sys.argv[1:]
    watch, passed, failed = Watch(), 0, 0
    for part, config in CONFIGURED:
        if only and not any(t.__name__ in only for t in TESTS[part]):
            continue
        p, f = run(program, kubectl, part, config, watch, only)
        passed, failed = passed + p, failed + f
    if not only:
        good = coverage(watch)
        passed, failed = passed + good, failed + (not good)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
