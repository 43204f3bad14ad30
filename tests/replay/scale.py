#!/usr/bin/env python3
"""Recorded answers of autoscalers must be what scale_replay answers, and a case with one answer changed must not be.

    scale.py SCALE_REPLAY     prints "N passed, N failed"; the exit status says the same

autoscaling/ holds a sample of the recorded cases; all of them are run where the folder shared/vectors/autoscaling lies
beside the project or beside its parent, or in the folder that BERTH_SHARED names.
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SAMPLE = os.path.join(HERE, "autoscaling")
EACH = 12  # cases of each file that are changed in every way


def shared():
    for folder in (os.environ.get("BERTH_SHARED"), os.path.join(ROOT, "..", "shared"),
                   os.path.join(ROOT, "..", "..", "shared")):
        path = os.path.join(folder or "/nonexistent", "vectors", "autoscaling")
        if os.path.isdir(path):
            return path
    return None


def replay(tool, *paths):
    p = subprocess.run([tool, *paths], capture_output=True, text=True, timeout=600, check=False)
    return p.returncode, p.stdout + p.stderr


def whole(tool, folder):
    """[(passed, failed)] of each file of a folder."""
    results = []
    for name in sorted(os.listdir(folder)):
        if name in ANSWERS:
            code, out = replay(tool, os.path.join(folder, name))
            print(f"{name}: {out}", end="")
            words = out.split()
            results.append((int(words[-4]), int(words[-2]) + (code not in (0, 1))))
    return results


# Where the answers stand in the cases of a file: a name at any depth below which everything is an answer.
ANSWERS = {
    "ca_scaleup.jsonl": {"options", "expanders"},
    "hpa.jsonl": {"expect"},
    "keda_admission.jsonl": {"valid"},
    "keda_cron.jsonl": {"metricName", "nextStart", "nextEnd", "active", "value"},
    "keda_decision.jsonl": {"expect"},
    "keda_formula.jsonl": {"valid", "composite", "error"},
    "keda_hpa.jsonl": {"hpa"},
    "keda_loop.jsonl": {"scaleWrites", "events", "items", "readError", "statusAfter"},
    "keda_metricsapi.jsonl": {"value", "metricValue", "error"},
    "keda_prometheus.jsonl": {"expectRequest", "expectHeaders", "value", "active", "error"},
    "keda_trigger.jsonl": {"errors", "parsed", "metricSpec"},
}
# Answers that may be anything: amounts that upstream leaves undefined, and texts that are not compared.
FREE = {"hpa.jsonl": {"message"}, "keda_hpa.jsonl": {"app.kubernetes.io/version", "creationTimestamp"}}


def leaves(value, path, inside, names, free):
    """Paths to the texts, numbers and truths of the answers."""
    if isinstance(value, dict):
        for key, v in value.items():
            if key not in free:
                yield from leaves(v, path + [key], inside or key in names, names, free)
    elif isinstance(value, list):
        for i, v in enumerate(value):
            yield from leaves(v, path + [i], inside, names, free)
    elif inside and value is not None and value != "*":
        yield path


def changed(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    # a quantity changes its value, any other text its letters
    return value + "9" if value[-1:].isdigit() else "1" + value if value[:1].isdigit() else value + "x"


def put(case, path, value):
    for step in path[:-1]:
        case = case[step]
    case[path[-1]] = value


def get(case, path):
    for step in path:
        case = case[step]
    return case


def changes(tool, name, folder):
    """(noticed, missed) of single changed answers; one case a run is too slow, so a file holds many."""
    with open(os.path.join(SAMPLE, name), encoding="utf-8") as f:
        cases = [json.loads(line) for line in f]
    step = max(1, len(cases) // EACH)
    made = []
    for case in cases[::step]:
        paths = list(leaves(case, [], False, ANSWERS[name], FREE.get(name, set())))
        for path in paths[::max(1, len(paths) // 40)]:
            other = json.loads(json.dumps(case))
            put(other, path, changed(get(case, path)))
            other["name"] = f"{case['name']}:{'/'.join(map(str, path))}"
            made.append(other)
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(json.dumps(c) + "\n" for c in made)
    code, out = replay(tool, path)
    noticed = {line[:-len(" differs")] for line in out.split("\n") if line.endswith(" differs")}
    missed = [c["name"] for c in made if c["name"] not in noticed]
    for case in missed[:20]:
        print(f"{name}: a changed answer was not noticed: {case}")
    print(f"{name}: {len(made) - len(missed)} of {len(made)} changed answers noticed")
    return len(made) - len(missed), len(missed) + (code != 1)


def main():
    tool = sys.argv[1]
    results = whole(tool, SAMPLE)
    with tempfile.TemporaryDirectory() as folder:
        results += [changes(tool, name, folder) for name in sorted(ANSWERS)]
    if shared() is not None:
        results += whole(tool, shared())
    passed, failed = (sum(column) for column in zip(*results))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
