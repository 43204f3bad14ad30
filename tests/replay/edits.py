#!/usr/bin/env python3
"""edits: recorded lives of queues that are edited while work waits and runs, replayed through the controllers.

    edits.py BERTH [NAME]     prints the lives that differ, and "N passed, N failed"; the exit status says the same

edits.jsonl holds one life a line, answered by Kueue's own scheduler, queues and controllers (main of August 2026) in virtual
time. What is evicted is stopped at once, as a job's owner would; what was parked is tried again at once:

    name            its sort first: stop (ClusterQueues and LocalQueues), quota (also cohorts, flavors, policies), delete,
                    work (priorities, active), checks, afs (admission fair sharing), resources (transformed, excluded), fair,
                    misc (namespaces, reclaimable pods, flavors that are missing, checks that are inactive)
    configuration   members of a Kueue Configuration, where they matter
    steps[]         at: seconds; apply: objects, created or put in place of what is there; patch: merge patches, status too;
                    delete: objects. All of it comes at one moment; then cycles run until nothing moves, and time goes on.
    steps[].then    events: what happened to Workloads until the next step, in no order; holding, waiting: who has quota then,
                    and who has not; at the last step also queues: what each ClusterQueue says of itself

`berth simulate` lives the same lives, by the same controllers as in `berth up`; every answer must be the same, and a life in
which an answer was changed must differ.

Left out are lives that Kueue itself does not answer in the same way when its controllers are faster or slower than its
scheduler, and those that show where Berth differs on purpose:
- Kueue's queues forget a LocalQueue that is stopped. So HoldAndDrain of the ClusterQueue evicts nothing that was submitted
  through it, states of checks that are not required stay and can evict, and what its Workloads give back wakes nobody. In
  Berth HoldAndDrain drains all, and quota that came back is tried.
- Under admission fair sharing Kueue puts its queues in order when usage is sampled or a penalty is open; in between it may
  admit by an older order, and even evict the same Workload again and again. Berth orders by the usage of the moment.
- A head whose scan over the flavors went past one that is free by now is parked by Kueue; in Berth it begins anew.
"""
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
KUEUE = "kueue.x-k8s.io/v1beta2"
END = 5  # seconds after the last step


def flavors(admission):
    text = "in " + admission["clusterQueue"]
    for s in admission["podSetAssignments"]:
        use, names = s.get("resourceUsage", {}), s.get("flavors", {})
        text += f"; {s['name']} x{s['count']}" + "".join(f" {r}={use.get(r, '0')}/{f}" for r, f in sorted(names.items()))
    return text


def told(events):
    """What a Workload's events of one revision say, as the record has it."""
    by_type = {e["type"]: e for e in events}
    for e in events:
        kind, true = e["type"], e.get("status") == "True"
        if kind == "QuotaReserved" and true:
            yield "reserves " + flavors(e["admission"])
        elif kind == "Admitted" and true:
            yield "is admitted"
        elif kind == "Evicted" and true:
            preempted = by_type.get("Preempted", {}) if e["reason"] == "Preempted" else {}
            yield f"is evicted: {e['reason']}" + (f", {preempted['reason']}" if preempted.get("reason") else "")
        elif kind == "Requeued":
            yield f"requeued {e['status']}: {e['reason']}"


def counts(status):
    """What a ClusterQueue says of itself."""
    active = next((c for c in status.get("conditions", []) if c["type"] == "Active"), {"status": "", "reason": ""})
    use = sorted(f"; {f['name']}/{r['name']} {r['total']} ({r.get('borrowed', '0')})" for f in status.get("flavorsReservation", [])
                 for r in f["resources"] if r["total"] != "0")
    return (f"active {active['status']} {active['reason']}; {status.get('pendingWorkloads', 0)} pending, "
            f"{status.get('reservingWorkloads', 0)} reserving, {status.get('admittedWorkloads', 0)} admitted" + "".join(use))


def outcome(report, steps):
    """What `then` says, for each step."""
    starts = [s["at"] for s in steps] + [float("inf")]
    then = [{"events": [], "holding": [], "waiting": []} for _ in steps]
    for w in report["workloads"]:
        holds, there = False, False
        events = sorted(w["events"], key=lambda e: e["at"])
        at = 0
        for i, step in enumerate(then):
            mine = []
            while at < len(events) and events[at]["at"] < starts[i + 1] - 0.0005:
                mine.append(events[at])
                at += 1
            for e in mine:
                there = e["type"] != "Deleted"
                if e["type"] == "QuotaReserved":
                    holds = e["status"] == "True"
            for revision in dict.fromkeys(e["revision"] for e in mine):
                at_once = [e for e in mine if e["revision"] == revision]
                step["events"] += [f"{w['name']} {text}" for text in told(at_once)]
            if there:
                step["holding" if holds else "waiting"].append(w["name"])
    for step in then:
        for names in step.values():
            names.sort()
    then[-1]["queues"] = sorted(f"{q['name']}: {counts(q['status'])}" for q in report["clusterQueues"])
    return [{k: v for k, v in step.items() if v} for step in then]


class Folder:
    """The manifests of one life."""

    def __init__(self, path):
        self.path, self.n = path, 0

    def write(self, body):
        self.n += 1
        path = os.path.join(self.path, f"{self.n}.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(body, f)
        return path

    def objects(self, items):
        return self.write({"apiVersion": "v1", "kind": "List", "items": items})


def simulate(berth, life):
    """What `then` of each step should be, by Berth."""
    with tempfile.TemporaryDirectory(prefix="berth-edits.") as path:
        folder = Folder(path)
        command = [berth, "simulate", "--story", "-o", "json", "--runtime", "87600h"]
        if "configuration" in life:
            command += ["--config", folder.write({"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration",
                                                  **life["configuration"]})]
        for s in life["steps"]:
            command += ["--at", f"{s['at']}s"]
            for option, key in (("-f", "apply"), ("--patch", "patch"), ("--delete", "delete")):
                if s.get(key):
                    command += [option, folder.objects(s[key])]
        # Something to wait for: a run would be over with its last Workload, and queues count a moment later.
        end = life["steps"][-1]["at"] + END
        later = {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "later"}}
        command += ["--at", f"{end + 1}s", "-f", folder.objects([later]), "--until", f"{end}s"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr.strip())
        return outcome(json.loads(done.stdout), life["steps"])


def compare(steps, got):
    """Lines that say how the answers differ, of the first step in which they do: what comes after follows from it."""
    for i, (step, mine) in enumerate(zip(steps, got)):
        lines = []
        for key in ("events", "holding", "waiting", "queues"):
            want, have = list(step["then"].get(key, [])), list(mine.get(key, []))
            for text in list(want):
                if text in have:
                    want.remove(text)
                    have.remove(text)
            lines += [f"  step {i + 1}, at {step['at']} s: {key}: expected {t}" for t in want]
            lines += [f"  step {i + 1}, at {step['at']} s: {key}: got      {t}" for t in have]
        if lines:
            return lines
    return []


def changes(life):
    """Copies of a life in each of which one answer is another."""
    for key in ("events", "holding", "waiting", "queues"):
        for change in (lambda t: t.pop(), lambda t: t.append(t[0] + "x"), lambda t: t.__setitem__(0, t[0][:-1])):
            copy = json.loads(json.dumps(life))
            told = [s["then"][key] for s in copy["steps"] if s["then"].get(key)]
            if told:
                change(told[len(told) // 2])
                yield copy


def one(berth, life):
    """Lines that say how a life differs from the record, or what was not noticed."""
    try:
        got = simulate(berth, life)
    except (RuntimeError, subprocess.TimeoutExpired, ValueError) as e:
        return [f"  {e}"]
    lines = compare(life["steps"], got)
    if not lines and not all(compare(c["steps"], got) for c in changes(life)):
        lines = ["  a changed answer was not noticed"]
    return lines


def main():
    berth, only = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    with open(os.path.join(HERE, "edits.jsonl"), encoding="utf-8") as f:
        lives = [s for s in map(json.loads, f) if only in (None, s["name"])]
    failed = 0
    with ThreadPoolExecutor(2) as pool:
        for life, lines in zip(lives, pool.map(lambda s: one(berth, s), lives)):
            if lines:
                failed += 1
                print(f"{life['name']}: differs\n" + "\n".join(lines))
    print(f"{len(lives) - failed} passed, {failed} failed")
    return 1 if failed or not lives else 0


if __name__ == "__main__":
    sys.exit(main())
