#!/usr/bin/env python3
"""Random cohort trees of one shape, answered by the model: five queues under a few cohorts, the flavors h200, a100 and a
tainted spot, and workloads of two pod sets whose scans over the flavors end at different ones.

    trees.py COUNT SEED    writes them, one a line; those in which preemption alternates without end are left out
"""
import json
import random
import sys

from cases import PRIORITIES, answer, other_queue

KUEUE = "kueue.x-k8s.io/v1beta2"
RESOURCES = ("nvidia.com/gpu", "cpu")
FLAVORS = ("h200", "a100", "spot")
TOLERATION = {"key": "spot", "operator": "Equal", "value": "true", "effect": "NoSchedule"}


def obj(kind, name, spec, **meta):
    return {"kind": kind, "apiVersion": KUEUE, "metadata": dict(name=name, **meta), "spec": spec}


def quota(r, child):
    q = {"nominalQuota": r.choice("001234468")}
    if child and r.random() < 0.25:
        q["borrowingLimit"] = r.choice("0246")
    if child and r.random() < 0.25:
        q["lendingLimit"] = str(min(int(r.choice("0124")), int(q["nominalQuota"])))
    return q


def groups(r, child, flavors):
    order = list(flavors)
    if r.random() < 0.3:
        r.shuffle(order)
    return [{"coveredResources": list(RESOURCES),
             "flavors": [{"name": f, "resources": [dict(name=x, **quota(r, child)) for x in RESOURCES]} for f in order]}]


def cohorts(r):
    made = [obj("Cohort", "org", {})]
    for name in ("dept-a", "dept-b", "lab")[:r.randint(0, 3)]:
        made.append(obj("Cohort", name, {"parentName": r.choice(made)["metadata"]["name"]}))
    for c in made:
        if r.random() < 0.4:
            c["spec"]["resourceGroups"] = groups(r, "parentName" in c["spec"], FLAVORS)
    return made


def queue(r, i, above):
    spec = {"cohortName": r.choice(above)["metadata"]["name"], "queueingStrategy": "BestEffortFIFO", "namespaceSelector": {},
            "resourceGroups": groups(r, True, FLAVORS if r.random() < 0.8 else r.sample(FLAVORS, 2)),
            "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
            "preemption": {"reclaimWithinCohort": "Any", "borrowWithinCohort": {"policy": "Never"},
                           "withinClusterQueue": "LowerPriority"},
            "stopPolicy": "None"}
    other_queue(spec, r)
    return obj("ClusterQueue", f"team-{'abcde'[i]}", spec, uid=f"cq-uid-{i}")


def pod_set(r, name):
    requests = {x: str(r.randint(1, 4)) for x in RESOURCES if r.random() < 0.7} or {"cpu": "1"}
    spec = {"containers": [{"name": "c", "resources": {"requests": requests}}], "restartPolicy": "Never"}
    if r.random() < 0.25:
        spec["nodeSelector"] = {"gpu.type": r.choice(FLAVORS)}
    if r.random() < 0.5:
        spec["tolerations"] = [TOLERATION]
    made = {"name": name, "template": {"spec": spec}, "count": r.randint(1, 3)}
    if name == "workers" and r.random() < 0.2:
        made["minCount"] = r.randint(1, made["count"])
    return made


def workload(r, n, queues):
    sets = [pod_set(r, "main")] + ([pod_set(r, "workers")] if r.random() < 0.6 else [])
    spec = {"podSets": sets, "queueName": f"lq-{r.choice(queues)['metadata']['name']}", "priority": r.choice(PRIORITIES),
            "active": True}
    return obj("Workload", f"w{n:02}", spec, namespace="default", uid=f"uid-{n:02}",
               creationTimestamp=f"2026-01-05T09:{n // 60:02}:{n % 60:02}Z")


def scenario(r, name):
    above = cohorts(r)
    queues = [queue(r, i, above) for i in range(5)]
    number, steps = 0, []
    for _ in range(r.randint(2, 4)):
        count = r.randint(2, 7)
        steps.append({"submit": [workload(r, number + i, queues) for i in range(count)]})
        number += count
    flavors = [obj("ResourceFlavor", f, {"nodeLabels": {"gpu.type": f}}) for f in FLAVORS]
    flavors[2]["spec"]["nodeTaints"] = [{"key": "spot", "value": "true", "effect": "NoSchedule"}]
    return {"name": name, "fairSharing": r.random() < 0.1, "resourceFlavors": flavors, "cohorts": above,
            "clusterQueues": queues, "steps": steps,
            "localQueues": [obj("LocalQueue", f"lq-{q['metadata']['name']}", {"clusterQueue": q["metadata"]["name"]},
                                namespace="default") for q in queues]}


def trees(count, seed):
    for i in range(count):
        r = random.Random(f"trees {seed} {i}")
        s = scenario(r, f"tree-{seed}-{i}")
        if answer(s, r):
            yield s


if __name__ == "__main__":
    for tree in trees(int(sys.argv[1]), sys.argv[2]):
        print(json.dumps(tree, separators=(",", ":")))
