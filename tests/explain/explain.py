#!/usr/bin/env python3
"""explain: why workloads wait, when they start, what an edit would do.   explain.py BERTH KUBECTL [NAME...]"""
import datetime
import json
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from harness import Berth, check, job, run_tests, wait_for  # noqa: E402

SLICE = "nvidia.com/mig-3g.71gb"  # two of them fit on one H200
KUEUE = "kueue.x-k8s.io/v1beta2"


def flavor(name):
    return {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": {}}


def cluster_queue(name, tenths, **spec):
    """Quota in tenths of a CPU: the machine that runs this may be small."""
    group = {"coveredResources": ["cpu", "memory"], "flavors": [{"name": "plain", "resources": [
        {"name": "cpu", "nominalQuota": f"{tenths}00m"}, {"name": "memory", "nominalQuota": "64Gi"}]}]}
    return {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": name},
            "spec": dict({"namespaceSelector": {}, "resourceGroups": [group]}, **spec)}


def local_queue(ns, cluster):
    return {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": {"name": "lq", "namespace": ns},
            "spec": {"clusterQueue": cluster}}


def namespace(name):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def timed(name, seconds, runtime, **kw):
    j = job(name, f"sleep {seconds}", **kw)
    if runtime:
        j["metadata"]["annotations"] = {"berth.dev/expected-runtime": runtime}
    return j


def cpus(name, ns, tenths, runtime=None, seconds=300):
    j = timed(name, seconds, runtime, queue="lq")
    j["metadata"]["namespace"] = ns
    j["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": f"{tenths}00m", "memory": "1Mi"}}
    return j


def workload(b, name, ns="default"):
    """The Workload of a job, once it is there."""
    def find():
        for w in b.get("workloads", "-n", ns)["items"]:
            if w["metadata"]["ownerReferences"][0]["name"] == name:
                return w
        return None
    return wait_for(f"the workload of {name}", find)


def condition(w, kind):
    return next((c for c in w.get("status", {}).get("conditions", []) if c["type"] == kind), None)


def admitted(b, name, ns="default", seconds=60):
    def look():
        c = condition(workload(b, name, ns), "Admitted")
        return when(c["lastTransitionTime"]) if c and c["status"] == "True" else None
    return wait_for(f"{name} is admitted", look, seconds)


def waits(b, name, ns="default"):
    wait_for(f"{name} waits", lambda: (condition(workload(b, name, ns), "QuotaReserved") or {}).get("status") == "False")


def why(b, name, ns="default"):
    return b.get("why", workload(b, name, ns)["metadata"]["name"], "-n", ns)["status"]


def when(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def test_numbers(b):
    """A full GPU: what is missing, who holds it, the position. The holders stay until the test has looked."""
    wait_for("the default queue", lambda: b.kubectl("get", "localqueue", "default", ok=False).returncode == 0)
    for i in (1, 2):
        b.apply(timed(f"hold-{i}", 600, "600s", limits={SLICE: "1"}))
        admitted(b, f"hold-{i}")
    b.apply(timed("next", 3, "3s", limits={SLICE: "1"}))
    waits(b, "next")
    time.sleep(1.1)  # times of creation are whole seconds, and order the queue
    b.apply(timed("last", 1, "1s", limits={SLICE: "1"}))
    waits(b, "last")
    e = why(b, "last")
    lack = e["lacks"][0]
    check((lack["resource"], lack["needed"], lack["available"], lack["missing"], lack["capacity"]) ==
          (SLICE, "1", "0", "1", "2"), f"amounts: {lack}")
    check(lack["flavor"] == "nvidia-h200" and lack["holderCount"] == 2, f"{lack}")
    held = {h["name"]: h for h in lack["holders"]}
    names = {workload(b, f"hold-{i}")["metadata"]["name"] for i in (1, 2)}
    check(set(held) == names and all(h["amount"] == "1" and h["basis"] == "declared" for h in held.values()), f"{held}")
    check(e["position"]["clusterQueue"] == 2 and e["position"]["localQueue"] == 2, f"{e['position']}")
    check(e["position"]["next"][0]["name"] == workload(b, "next")["metadata"]["name"], f"{e['position']}")
    check([r["rule"] for r in e["preemption"]] == ["WithinClusterQueueNever"], f"{e['preemption']}")
    check(e["estimate"]["basis"] == "declared", f"{e['estimate']}")
    table = b.berth("queue")
    check("STARTS" in table and " in " in table and f"1 {SLICE} missing" in table, table)
    text = b.berth("queue", "why", "last")
    check("Estimated start: in " in text and "Position: 2 in ClusterQueue default" in text, text)
    check(json.loads(b.berth("queue", "why", "last", "-o", "json"))["status"]["job"] == "last", "-o json")
    b.kubectl("delete", "job", "hold-1", "hold-2")
    admitted(b, "last")
    check(why(b, "last")["state"] in ("Admitted", "Finished"), "it runs")
    check(b.kubectl("get", "why", "nope", ok=False).returncode == 1, "there is no such workload")
    code = b.berth("queue", "why", "nope", ok=False)
    check(code.returncode == 3 and 'no job or workload "nope"' in code.stderr, code.stderr)


def test_estimate(b):
    """A start that comes true: said of a full GPU while its holder, of 25 seconds, runs."""
    wait_for("the default queue", lambda: b.kubectl("get", "localqueue", "default", ok=False).returncode == 0)
    b.apply(timed("hold", 25, "25s", limits={"nvidia.com/mig-7g.141gb": "1"}))
    admitted(b, "hold")
    b.apply(timed("next", 3, "3s", limits={"nvidia.com/mig-7g.141gb": "1"}))
    waits(b, "next")
    time.sleep(1.1)
    b.apply(timed("last", 1, "1s", limits={"nvidia.com/mig-7g.141gb": "1"}))
    waits(b, "last")
    guess = {n: when(why(b, n)["estimate"]["start"]) for n in ("next", "last")}
    for name, start in guess.items():
        real = admitted(b, name)
        check(abs(real - start) <= 10, f"{name}: said {start}, was {real}")


def test_place(b):
    """Quota is there, a slice is not: the estimate knows about places as well."""
    wait_for("the default queue", lambda: b.kubectl("get", "localqueue", "default", ok=False).returncode == 0)
    b.apply(timed("whole", 25, "25s", limits={"nvidia.com/mig-7g.141gb": "1"}))
    admitted(b, "whole")
    b.apply(timed("slice", 1, "1s", limits={"nvidia.com/mig-1g.18gb": "1"}))
    waits(b, "slice")
    e = why(b, "slice")
    check(e["reason"] == "WaitingForPlacement" and "no GPU has room for 1g.18gb" in e["summary"], f"{e}")
    check(e["lacks"] == [] and e["estimate"]["basis"] == "declared", f"{e}")
    real = admitted(b, "slice")
    check(abs(real - when(e["estimate"]["start"])) <= 10, f"said {e['estimate']}, was {real}")


def test_observed(b):
    """Without a declaration the run times of jobs like it count; before there are any, nothing is promised."""
    b.apply(flavor("plain"), cluster_queue("one", 1), local_queue("default", "one"))
    b.apply(cpus("run-1", "default", 1, seconds=10))
    admitted(b, "run-1")
    b.apply(cpus("run-2", "default", 1, seconds=10))
    waits(b, "run-2")
    e = why(b, "run-2")["estimate"]
    check(e["basis"] == "unknown" and "start" not in e, f"{e}")
    admitted(b, "run-2")  # run-1 is over
    b.apply(cpus("run-3", "default", 1))
    waits(b, "run-3")
    e = why(b, "run-3")["estimate"]
    check(e["basis"] == "observed" and "observed run times" in e["text"], f"{e}")
    check(when(e["earliest"]) <= when(e["latest"]), f"{e}")
    real = admitted(b, "run-3")  # one run is known: a wide range, and about ten seconds
    check(when(e["earliest"]) - 10 <= real <= when(e["latest"]) + 10, f"said {e}, was {real}")


def two_teams(b):
    b.apply(flavor("plain"), namespace("team-a"), namespace("team-b"))
    b.apply(cluster_queue("qa", 4, cohortName="c"), cluster_queue("qb", 4, cohortName="c"))
    b.apply(local_queue("team-a", "qa"), local_queue("team-b", "qb"))
    b.apply(cpus("secret", "team-b", 6, "1h"))
    admitted(b, "secret", "team-b")
    b.apply(cpus("first", "team-a", 1, "10m"))
    admitted(b, "first", "team-a")
    b.apply(cpus("second", "team-a", 4, "10m"))
    waits(b, "second", "team-a")
    time.sleep(1.1)  # times of creation are whole seconds, and order the queue
    b.apply(cpus("third", "team-a", 5, "10m"))
    waits(b, "third", "team-a")


def states(b, ns):
    out = {}
    for w in b.get("workloads", "-n", ns)["items"]:
        c = condition(w, "QuotaReserved")
        out[w["metadata"]["ownerReferences"][0]["name"]] = bool(c) and c["status"] == "True"
    return out


def preview(b, *objects, args=(), ok=True):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", dir=b.root) as f:
        f.write("\n---\n".join(json.dumps(o) for o in objects))
        f.flush()
        return b.berth("queue", "preview", "-f", f.name, *args, ok=ok)


def names_in(p, what):
    return sorted(w["name"].rsplit("-", 1)[0].removeprefix("job-") for w in p["status"][what])


def test_preview(b):
    """What the preview says is what then happens, and it writes nothing."""
    two_teams(b)
    more = cluster_queue("qa", 8, cohortName="c")
    before = b.get("clusterqueue", "qa")["metadata"]["resourceVersion"], states(b, "team-a")
    p = json.loads(preview(b, more, args=("-o", "json")))
    check((names_in(p, "admitted"), names_in(p, "evicted"), names_in(p, "waiting")) == (["second"], [], ["third"]),
          f"{p['status']}")
    check(before == (b.get("clusterqueue", "qa")["metadata"]["resourceVersion"], states(b, "team-a")), "nothing is written")
    table = preview(b, more)
    check("WOULD BE" in table and "admitted" in table and "job-second" in table, table)
    b.apply(more)
    admitted(b, "second", "team-a")
    check(states(b, "team-a") == {"first": True, "second": True, "third": False}, f"{states(b, 'team-a')}")
    drain = cluster_queue("qa", 8, cohortName="c", stopPolicy="HoldAndDrain")
    p = json.loads(preview(b, drain, args=("-o", "json")))
    check(names_in(p, "evicted") == ["first", "second"] and p["status"]["admittedCount"] == 0, f"{p['status']}")
    b.apply(drain)
    wait_for("all are evicted", lambda: not any(states(b, "team-a").values()))
    p = json.loads(b.berth("queue", "preview", "--delete", "resourceflavor/plain", "-o", "json"))
    check("in use" in p["status"]["notes"][0], f"{p['status']}")


def test_reclaim_preview(b):
    """A policy that lets a queue reclaim its quota: who would be evicted for whom; then it is so."""
    two_teams(b)
    reclaim = cluster_queue("qa", 4, cohortName="c",
                            preemption={"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"})
    b.apply(cpus("own", "team-a", 3, "10m"))
    waits(b, "own", "team-a")
    check("ReclaimWithinCohortNever" in [r["rule"] for r in why(b, "own", "team-a")["preemption"]], "Never")
    p = json.loads(preview(b, reclaim, args=("-o", "json")))
    check(names_in(p, "evicted") == ["secret"] and "own" in names_in(p, "admitted"), f"{p['status']}")
    check("InCohortReclamation" in p["status"]["evicted"][0]["reason"], f"{p['status']}")
    b.apply(reclaim)
    admitted(b, "own", "team-a")
    wait_for("it was preempted", lambda: not states(b, "team-b")["secret"])


def test_barred(b):
    """Quota of its own, taken by another, is not reclaimed for a job that also asks for what its queue has none of: said,
    with what to raise; raised, it comes."""
    def queue(name, memory):
        q = cluster_queue(name, 4, cohortName="c", preemption={"reclaimWithinCohort": "Any"})
        q["spec"]["resourceGroups"][0]["flavors"][0]["resources"][1]["nominalQuota"] = memory
        return q
    spare = cluster_queue("spare", 0, cohortName="c")  # whose memory all may borrow
    b.apply(flavor("plain"), namespace("team-a"), namespace("team-b"), queue("qa", "0"), queue("qb", "1Gi"), spare)
    b.apply(local_queue("team-a", "qa"), local_queue("team-b", "qb"))
    b.apply(cpus("borrower", "team-b", 8, "1h"))
    admitted(b, "borrower", "team-b")
    b.apply(cpus("owner", "team-a", 4, "10m"))
    waits(b, "owner", "team-a")
    e = why(b, "owner", "team-a")
    check([r["rule"] for r in e["preemption"]] == ["BorrowWithinCohortNever"], f"{e}")
    field = "spec.resourceGroups[0].flavors[0].resources[1].nominalQuota"
    remedy = f"raise {field} (memory in flavor plain) of ClusterQueue qa from 0 to 1Mi"
    check(e["borrowing"] == [{"resource": "memory", "flavor": "plain", "requested": "1Mi", "nominalQuota": "0", "used": "0",
                              "missing": "1Mi", "remedy": remedy}], f"{e}")
    text = b.berth("queue", "why", "owner", "--project", "team-a")
    check("kept by BorrowWithinCohortNever" in text and f"Remedy: {remedy}" in text, text)
    p = json.loads(preview(b, queue("qb", "2Gi"), args=("-o", "json")))
    check([s["field"] for s in p["status"]["suggestions"]] == [field], f"{p['status']}")
    enough = queue("qa", p["status"]["suggestions"][0]["nominalQuota"])
    p = json.loads(preview(b, enough, args=("-o", "json")))
    check(names_in(p, "evicted") == ["borrower"] and not p["status"]["suggestions"], f"{p['status']}")
    b.apply(enough)
    admitted(b, "owner", "team-a")


def test_sample(b):
    """The sample's teams take back their own GPUs with jobs as the sample's."""
    sample = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "sample", "10-teams.yaml")
    wait_for("the default queue", lambda: b.kubectl("get", "localqueue", "default", ok=False).returncode == 0)
    b.kubectl("apply", "-f", sample)

    def whole(name, team, gpus):
        j = timed(name, 600, "10m", queue=team)
        j["metadata"]["namespace"] = team
        j["spec"]["template"]["spec"]["containers"][0]["resources"] = {
            "requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"nvidia.com/gpu": str(gpus)}}
        b.apply(j)
    whole("finetune", "language", 7)
    admitted(b, "finetune", "language")
    whole("detector", "vision", 2)
    admitted(b, "detector", "vision")
    check(not states(b, "language")["finetune"], "it gave back what it borrowed")


test_sample.gpus = "sim:8xh200"


def test_tenants(b):
    """A tenant sees amounts, not names of others; and no previews without the right to edit."""
    two_teams(b)
    b.apply({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
             "metadata": {"name": "alice", "namespace": "team-a"},
             "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
             "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}]})
    name = workload(b, "third", "team-a")["metadata"]["name"]
    one = ["get", "why", name, "-n", "team-a", "-o", "json"]
    wait_for("alice may read", lambda: b.kubectl(*one, "--as=alice", ok=False).returncode == 0)
    seen = b.kubectl(*one, "--as=alice")
    lack = json.loads(seen)["status"]["lacks"][0]
    check(lack["holders"][0]["amount"] == "600m" and "name" not in lack["holders"][0], seen)
    check(not [w for w in ("secret", "team-b", "qb") if w in seen] and "another team's workload" in seen, seen)
    check("job-first" in seen, "her own are named")
    whole = b.kubectl(*one)
    check("job-secret" in whole and "team-b" in whole and "qb" in whole, whole)
    listed = b.kubectl("get", "why", "-n", "team-a", "-o", "json", "--as=alice")
    check(len(json.loads(listed)["items"]) == 2 and "secret" not in listed, listed)
    for args in (["-n", "team-b"], ["-A"]):
        done = b.kubectl("get", "why", *args, "--as=alice", ok=False)
        check(done.returncode == 1 and "forbidden" in done.stderr, f"{done}")
    body = json.dumps({"apiVersion": "berth.dev/v1alpha1", "kind": "QueuePreview", "metadata": {},
                       "spec": {"objects": [cluster_queue("qa", 8)]}})
    done = b.kubectl("create", "-f", "-", "--as=alice", stdin=body, ok=False)
    check(done.returncode == 1 and "forbidden" in done.stderr.lower(), f"{done}")
    b.apply({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "previews"},
             "rules": [{"apiGroups": ["berth.dev"], "resources": ["queuepreviews"], "verbs": ["create"]}]},
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "previews"},
             "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "previews"},
             "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}]})
    wait_for("she may ask", lambda: "you may not update clusterqueues" in
             b.kubectl("create", "-f", "-", "--as=alice", stdin=body, ok=False).stderr)


def test_discovery(b):
    """kubectl finds, describes and explains the kinds; tables have their columns."""
    text = b.kubectl("api-resources", "--api-group=berth.dev")
    check("workloadexplanations" in text and "why" in text and "queuepreviews" in text, text)
    check("hold the resource" in b.kubectl("explain", "why.status.lacks.holders"), "explain")
    check(b.kubectl("get", "why", ok=False).stderr.startswith("No resources found"), "an empty list")
    done = b.kubectl("delete", "why", "x", ok=False)
    check(done.returncode == 1, f"{done}")
    done = b.kubectl("create", "-f", "-", stdin=json.dumps(
        {"apiVersion": "berth.dev/v1alpha1", "kind": "QueuePreview", "metadata": {}, "spec": {}}), ok=False)
    check("nothing to preview" in done.stderr, f"{done}")


def start(f, program, kubectl):
    with Berth(program, kubectl, gpus=getattr(f, "gpus", "sim:1xh200")) as b:
        f(b)


if __name__ == "__main__":
    sys.exit(run_tests(globals(), start))
