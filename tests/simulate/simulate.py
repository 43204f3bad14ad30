#!/usr/bin/env python3
"""simulate: `berth simulate` on the examples and on bad input.   simulate.py BERTH [--write]

Each run of RUNS must print exactly what want/NAME.txt holds; --write writes those files anew, to be read before they are
committed. With BERTH_TRACES naming a folder that has philly_jobs.csv, that trace is run as well.
"""
import difflib
import json
import os
import subprocess
import sys
import tempfile

import yaml

import loads

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
EXAMPLES = os.path.join(ROOT, "examples", "simulate")
RUNS = {
    "jobs": "-f queues.yaml -f jobs.yaml",
    "startup": "-f queues.yaml -f jobs.yaml --startup 90s --output json",
    "trace": "-f queues.yaml --trace arrivals.csv",
    "checkpoint": "-f queues.yaml --trace arrivals.csv --checkpoint",
    "edit": "-f queues.yaml --trace arrivals.csv --at 10m -f less.yaml",
    "until": "-f queues.yaml --trace arrivals.csv --until 30m",
    "delete": "-f queues.yaml -f jobs.yaml --at 15m --delete jobs.yaml",
    "made": "--trace arrivals.csv --gpus 16 --each-queue",
    "load": "--load load.yaml",
    "story": "-f queues.yaml -f jobs.yaml --story",
    "fair": "--load load.yaml --config fair.yaml",
    "bookings": "-f bookings.yaml --story",
}
# (arguments, exit status, standard error); files named here are made in the folder where it runs.
FILES = {
    "bad.yaml": "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: q}\nspec: {cohort: a}\n",
    "load.yaml": "cohorts:\n- {className: c, count: 1, queuesSets: [{className: q, count: 0}]}\n",
    "trace.csv": "submit_s,duration_s,gpus,queue\n0,1,many,q\n",
    "short.csv": "submit_s,duration_s,gpus,queue\n0,1,1,q\n",
    "gone.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: gone}\n",
    "config.yaml": "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nfairShare: {}\n",
}
MORE = "berth simulate --help says more.\n"
REFUSED = [
    ("", 2, "nothing to simulate: --filename, --load or --trace\n" + MORE),
    ("-f nope.yaml", 1, "nope.yaml: No such file or directory\n"),
    ("-f bad.yaml", 1, "bad.yaml: ClusterQueue q: spec.cohort: unknown field\n"),
    ("--load load.yaml", 1, "load.yaml: cohorts[0].queuesSets[0].count: expected an integer from 1 to 20000\n"),
    ("--trace trace.csv", 1, "trace.csv: line 2: gpus: expected a number of GPUs\n"),
    ("--trace philly:short.csv", 1, 'short.csv: line 1: column "submit_s" is not known\n'),
    ("-f gone.yaml --at soon -f gone.yaml", 2, "--at: expected a time such as 90s, 5m or 1h30m\n" + MORE),
    ("-f gone.yaml --until -1s", 2, "--until: expected a time such as 90s, 5m or 1h30m\n" + MORE),
    ("-f gone.yaml --seed many", 2, "--seed: expected a number\n" + MORE),
    ("-f gone.yaml --gpus 8", 2, "--gpus is for the queues of a --trace\n" + MORE),
    ("--at 5s --delete gone.yaml", 2, "nothing to simulate: --filename, --load or --trace\n" + MORE),
    ("--trace short.csv --at 5s --patch gone.yaml", 1,
     'at 5.000 s: Namespace gone: namespaces "gone" not found\n'),
    ("--trace short.csv --at 5s --delete gone.yaml", 1,
     'at 5.000 s: Namespace gone: namespaces "gone" not found\n'),
]


def run(berth, folder, arguments):
    return subprocess.run([berth, "simulate"] + arguments.split(), cwd=folder, text=True, capture_output=True,
                          timeout=300, stdin=subprocess.DEVNULL)


def test_examples(berth, write):
    bad = 0
    for name, arguments in RUNS.items():
        done = run(berth, EXAMPLES, arguments)
        path = os.path.join(HERE, "want", name + ".txt")
        if done.returncode != 0 or done.stderr:
            print(f"{name}: {done.returncode} {done.stderr}")
            bad += 1
            continue
        if write:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as f:
                f.write(done.stdout)
        with open(path, encoding="utf-8") as f:
            want = f.read()
        if done.stdout != want:
            print("".join(difflib.unified_diff(want.splitlines(True), done.stdout.splitlines(True), name, "got")))
            bad += 1
    return bad


def test_refused(berth):
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                f.write(text)
        for arguments, code, text in REFUSED:
            done = run(berth, folder, arguments)
            if (done.returncode, done.stderr, done.stdout) != (code, "berth simulate: " + text, ""):
                print(f"{arguments}: {done.returncode} {done.stderr!r} {done.stdout[:200]!r}")
                bad += 1
        done = run(berth, folder, "-f gone.yaml --config config.yaml")
        if done.returncode != 1 or "fairShare" not in done.stderr:
            print(f"--config: {done.returncode} {done.stderr!r}")
            bad += 1
    return bad


def test_loads(berth):
    """Kueue's standard loads: every admission, eviction and end as Kueue itself decided them, so the end too; which is
    within 5 % of the least that its rules leave (loads.py). Where what is evicted goes on where it was, the baseline ends
    within 5 % of the arithmetic least of its work."""
    bad = 0
    for name, want in loads.recorded().items():
        path = os.path.join(ROOT, "bench", "loads", name + ".yaml")
        with open(path, encoding="utf-8") as f:
            floor = loads.rules_floor(yaml.safe_load(f))
        done = run(berth, EXAMPLES, f"--load {path} --story --output json")
        if done.returncode != 0:
            print(f"{name}: {done.returncode} {done.stderr}")
            bad += 1
            continue
        report = json.loads(done.stdout)
        wrong = list(loads.differences(report, want))
        if not floor <= report["makespanSeconds"] <= 1.05 * floor or report["floorSeconds"] > floor:
            wrong.append(f"end {report['makespanSeconds']}, least by the rules {floor}, of the work {report['floorSeconds']}")
        for line in wrong:
            print(f"{name}: {line}")
        bad += bool(wrong)
    load = os.path.join(ROOT, "bench", "loads", "baseline.yaml")
    done = run(berth, EXAMPLES, f"--load {load} --output json --checkpoint")
    report = json.loads(done.stdout) if done.returncode == 0 else {"all": {}}
    if not (report["all"].get("finished") == 15000 and 66 < report["floorSeconds"] < 67 and
            report["floorSeconds"] <= report["makespanSeconds"] <= 1.05 * report["floorSeconds"]):
        print(f"baseline --checkpoint: {done.returncode} {done.stderr} {done.stdout[:300]}")
        bad += 1
    return bad


def test_philly(berth):
    path = os.path.join(os.environ.get("BERTH_TRACES", "/nonexistent"), "philly_jobs.csv")
    if not os.path.exists(path):
        return 0
    done = run(berth, EXAMPLES, f"--trace philly:{path} --gpus 2000 --output json")
    report = json.loads(done.stdout) if done.returncode == 0 else {}
    fine = report.get("end") == "Done" and report["all"]["finished"] == report["all"]["submitted"] > 80000
    if not fine:
        print(f"philly: {done.returncode} {done.stderr} {done.stdout[:300]}")
    return 0 if fine else 1


def main():
    berth, write = sys.argv[1], "--write" in sys.argv
    bad = test_examples(berth, write) + test_refused(berth) + test_loads(berth) + test_philly(berth)
    print(f"simulate: {bad} failed")
    return 1 if bad else 0


sys.exit(main())
