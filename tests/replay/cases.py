#!/usr/bin/env python3
"""Further scenarios: the recorded ones with other policies, limits, weights, priorities and sizes, answered by the model.

    cases.py COUNT SEED    writes them, one a line; those in which preemption alternates without end are left out
"""
import copy
import json
import os
import random
import sys

from model import Model

HERE = os.path.dirname(os.path.abspath(__file__))
PRIORITIES = (0, 100, 200, 300)


def other_queue(spec, r):
    preemption = spec["preemption"]
    if r.random() < 0.3:
        spec["queueingStrategy"] = r.choice(["StrictFIFO", "BestEffortFIFO", "BestEffortFIFO"])
    if r.random() < 0.4:
        preemption["withinClusterQueue"] = r.choice(["Never", "LowerPriority", "LowerOrNewerEqualPriority"])
    if r.random() < 0.4:
        preemption["reclaimWithinCohort"] = r.choice(["Never", "LowerPriority", "Any"])
    if r.random() < 0.4:
        preemption["borrowWithinCohort"] = {"policy": r.choice(["Never", "LowerPriority"])}
        if preemption["borrowWithinCohort"]["policy"] != "Never" and r.random() < 0.5:
            preemption["borrowWithinCohort"]["maxPriorityThreshold"] = r.choice(PRIORITIES[:3])
    if preemption["reclaimWithinCohort"] == "Never":
        preemption["borrowWithinCohort"] = {"policy": "Never"}
    if r.random() < 0.4:
        policies = [r.choice(["MayStopSearch", "TryNextFlavor"]) for _ in range(2)]
        spec["flavorFungibility"] = dict(zip(("whenCanBorrow", "whenCanPreempt"), policies))
        if policies == ["TryNextFlavor"] * 2 and r.random() < 0.6:
            spec["flavorFungibility"]["preference"] = r.choice(["PreemptionOverBorrowing", "BorrowingOverPreemption"])
    if r.random() < 0.3:
        spec["fairSharing"] = {"weight": r.choice(["0", "500m", "1", "2", "3"])}


def other_quotas(spec, r):
    for group in spec["resourceGroups"]:
        for quota in (q for flavor in group["flavors"] for q in flavor["resources"]):
            if r.random() < 0.15:
                quota["nominalQuota"] = r.choice("0 1 2 4 6 8 12".split())
            if spec.get("cohortName"):
                if r.random() < 0.1:
                    quota["borrowingLimit"] = r.choice("0246")
                if r.random() < 0.1:
                    quota["lendingLimit"] = r.choice("0124")
            if "lendingLimit" in quota:
                quota["lendingLimit"] = str(min(int(quota["lendingLimit"]), int(quota["nominalQuota"])))


def other_workload(spec, r):
    if r.random() < 0.25:
        spec["priority"] = r.choice(PRIORITIES)
    if not any("minCount" in s for s in spec["podSets"]) and r.random() < 0.15:
        s = r.choice(spec["podSets"])
        s["minCount"] = r.randint(1, s["count"])
    for s in spec["podSets"]:
        if r.random() < 0.1:
            s["count"] = r.randint(s.get("minCount", 1), 6)


def other(scenario, r):
    s = copy.deepcopy(scenario)
    if r.random() < 0.3:
        s["fairSharing"] = not s["fairSharing"]
    for q in s["clusterQueues"]:
        other_queue(q["spec"], r)
        other_quotas(q["spec"], r)
    for c in s.get("cohorts") or []:
        if r.random() < 0.2:
            c.setdefault("spec", {})["fairSharing"] = {"weight": r.choice(["0", "500m", "1", "2"])}
    for w in (w for step in s["steps"] for w in step.get("submit") or []):
        other_workload(w["spec"], r)
    if r.random() < 0.3:
        stops(s, r)
    return s


def stops(s, r):
    """Queues are stopped on the way, and mostly go on later."""
    for step in s["steps"][1:]:
        if r.random() < 0.6:
            q = r.choice(s["clusterQueues"])
            spec = dict(q["spec"], stopPolicy=r.choice(["Hold", "HoldAndDrain", "None"]))
            step["clusterQueues"] = [dict(q, spec=spec)]


def admitted(name, queue, sets):
    return {"name": name, "clusterQueue": queue,
            "podSets": [{"name": s, "count": n, "flavors": dict(flavors)} for s, n, flavors in sets]}


def answer(s, r):
    """Fills in what the model decides; False when it does not come to an end."""
    m = Model(s)
    for step in s["steps"]:
        held = m.names(True)
        for obj in step.get("clusterQueues") or []:
            m.edit(obj)
        if "finish" in step or r.random() < 0.3:
            step["finish"] = sorted(r.sample(held, min(len(held), len(step.get("finish") or []) or r.randint(0, 3))))
        for name in step.get("finish") or []:
            m.finish(name)
        for obj in step.get("submit") or []:
            m.submit(obj)
        decisions, ends = m.run_step()
        if not ends:
            return False
        step["cycles"] = [{"admitted": [admitted(*a) for a in won], "preempted": [dict(name=n, reason=why) for n, why in lost]}
                          for won, lost in decisions]
        step["admittedAfter"], step["pendingAfter"] = m.names(True), m.names(False)
    return True


def cases(count, seed):
    with open(os.path.join(HERE, "cycles.jsonl"), encoding="utf-8") as f:
        recorded = [json.loads(line) for line in f]
    for i in range(count):
        r = random.Random(f"{seed} {i}")
        s = other(r.choice(recorded), r)
        s["name"] = f"case-{seed}-{i}"
        if answer(s, r):
            yield s


if __name__ == "__main__":
    for case in cases(int(sys.argv[1]), sys.argv[2]):
        print(json.dumps(case, separators=(",", ":")))
