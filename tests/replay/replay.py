#!/usr/bin/env python3
"""Every recorded scenario must be decided as it is written, by the engine and by the model, and so must further ones that
the model answers (cases.py, trees.py); a scenario in which one answer was changed must not.

    replay.py QUEUE_REPLAY [CASES [SEED]]     prints "N passed, N failed"; the exit status says the same
"""
import json
import os
import subprocess
import sys
import tempfile

from cases import cases
from model import agrees
from trees import trees

HERE = os.path.dirname(os.path.abspath(__file__))
UNKNOWN = {"cohort-cycle", "cohort-its-own-parent", "limits-stand-in"}  # to the model
FILES = [os.path.join(HERE, name) for name in ("cycles.jsonl", "recorded.jsonl", "hand.jsonl")]


def cycles(scenario):
    return [c for step in scenario["steps"] for c in step.get("cycles") or []]


def first(scenario, what):
    for c in cycles(scenario):
        for decision in c.get(what) or []:
            return decision
    raise KeyError(what)


def other_name(s):
    first(s, "admitted")["name"] += "x"


def other_queue(s):
    first(s, "admitted")["clusterQueue"] += "x"


def other_count(s):
    first(s, "admitted")["podSets"][0]["count"] += 1


def other_flavor(s):
    flavors = first(s, "admitted")["podSets"][0]["flavors"]
    flavors[next(iter(flavors))] += "x"


def lost_flavor(s):
    flavors = first(s, "admitted")["podSets"][0]["flavors"]
    del flavors[next(iter(flavors))]


def lost_admission(s):
    for c in cycles(s):
        if c.get("admitted"):
            c["admitted"].pop()
            return
    raise KeyError("admitted")


def other_victim(s):
    first(s, "preempted")["name"] += "x"


def other_reason(s):
    p = first(s, "preempted")
    p["reason"] = "InClusterQueue" if p["reason"] != "InClusterQueue" else "InCohortReclamation"


def lost_victim(s):
    for c in cycles(s):
        if c.get("preempted"):
            c["preempted"].pop()
            return
    raise KeyError("preempted")


def later(s):
    """The last cycle of a step that decided something, put off to the next step."""
    for a, b in zip(s["steps"], s["steps"][1:]):
        if any(c for c in a.get("cycles") or []):
            b["cycles"] = [a["cycles"].pop()] + (b.get("cycles") or [])
            return
    raise KeyError("cycles")


def merged(s):
    """Two cycles that decided something, told as one."""
    for step in s["steps"]:
        told = [c for c in step.get("cycles") or [] if c]
        if len(told) > 1:
            for what in ("admitted", "preempted"):
                told[0][what] = (told[0].get(what) or []) + (told[1].pop(what, None) or [])
            return
    raise KeyError("cycles")


def lost_pending(s):
    names = next(step["pendingAfter"] for step in s["steps"] if step.get("pendingAfter"))
    names.pop()


def more_pending(s):
    s["steps"][-1].setdefault("pendingAfter", []).append("nobody")


def lost_holder(s):
    names = next(step["admittedAfter"] for step in s["steps"] if step.get("admittedAfter"))
    names.pop()


CHANGES = [other_name, other_queue, other_count, other_flavor, lost_flavor, lost_admission, other_victim, other_reason,
           lost_victim, later, merged, lost_pending, more_pending, lost_holder]
EACH = 5  # scenarios for each sort of change


def replay(tool, path):
    p = subprocess.run([tool, path], capture_output=True, text=True, timeout=600, check=False)
    return p.returncode, p.stdout


def changed(tool, scenarios, change, folder):
    """How many of EACH scenarios with one answer changed were taken for right."""
    done = missed = 0
    for text in scenarios:
        s = json.loads(text)
        try:
            change(s)
        except (KeyError, StopIteration):
            continue
        path = os.path.join(folder, "changed.jsonl")
        with open(path, "w", encoding="utf-8") as f:
            f.write(json.dumps(s) + "\n")
        code, out = replay(tool, path)
        if code != 1 or not out.endswith("0 passed, 1 failed\n"):
            print(f"{change.__name__} in {s['name']} was not noticed: {code} {out.strip()}")
            missed += 1
        done += 1
        if done == EACH:
            break
    return missed if done > 0 else 1


def lines(path):
    with open(path, encoding="utf-8") as f:
        return f.readlines()


def whole(tool, path):
    """(passed, failed) of a file."""
    code, out = replay(tool, path)
    words = out.split()
    print(f"{os.path.basename(path)}: {out}", end="")
    return int(words[-4]), int(words[-2]) + (code not in (0, 1))


def main():
    tool, count, seed = sys.argv[1], int((sys.argv + [400])[2]), (sys.argv + [0, "1"])[3]
    scenarios, *others = (lines(path) for path in FILES)
    with tempfile.TemporaryDirectory() as folder:
        made = os.path.join(folder, "cases.jsonl")
        with open(made, "w", encoding="utf-8") as f:
            f.writelines(json.dumps(s) + "\n" for s in cases(count, seed))
        grown = os.path.join(folder, "trees.jsonl")
        with open(grown, "w", encoding="utf-8") as f:
            f.writelines(json.dumps(s) + "\n" for s in trees(count // 4, seed))
        results = [whole(tool, path) for path in FILES + [made, grown]]
        for some in (scenarios, others[0]):
            results += [(1, 0) if changed(tool, some, change, folder) == 0 else (0, 1) for change in CHANGES]
    told = [json.loads(s) for some in [scenarios] + others for s in some]
    model = [agrees(s) for s in told if s["name"] not in UNKNOWN]
    print(f"the model: {sum(model)} of {len(model)}")
    results.append((int(all(model)), int(not all(model))))
    passed, failed = (sum(column) for column in zip(*results))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
