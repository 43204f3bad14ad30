"""simulated: a scenario in the world of `berth simulate`."""
import json
import os
import subprocess
import tempfile

from outcome import Life, of_queue
from scenario import KUEUE, NEVER, WIDE, kueue, merged


class Refused(Exception):
    pass


def dated(body):
    """With times where a check's state has none."""
    checks = body.get("status", {}).get("admissionChecks", [])
    return merged(body, {"status": {"admissionChecks": [dict(c, lastTransitionTime=NEVER) for c in checks]}}) if checks else body


class Simulation:
    def __init__(self, berth, scenario, folder):
        self.berth, self.scenario, self.folder = berth, scenario, folder
        self.n = 0

    def write(self, manifest):
        self.n += 1
        path = os.path.join(self.folder, f"{self.n}.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(manifest, f)
        return path

    def run(self, args, until=None):
        command = [self.berth, "simulate", "--story", "-o", "json", "--startup", f"{self.scenario.startup:g}s", *args]
        if self.scenario.config is not None:
            command += ["--config", self.write({"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration",
                                                **self.scenario.config})]
        if until is not None:
            command += ["--until", f"{until:g}s"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode:
            raise Refused(done.stderr.strip())
        return json.loads(done.stdout)

    def workload_of(self, args, at, job):
        """Names count up in the same way each time, so a run up to that moment knows them."""
        for w in self.run(args, until=at)["workloads"]:
            if w["owner"] == f"Job/{job}":
                return w["name"]
        raise Refused(f"no Workload of {job} at {at:g} s")

    def identity(self, kind, name, args, at):
        meta = {"name": self.workload_of(args, at, name) if kind == "Workload" else name}
        return meta if kind in WIDE else dict(meta, namespace="default")

    def act(self, act, args, at):
        if act[0] == "apply":
            path = self.write(act[1])
            # Status does not come with the object.
            return ["-f", path, "--patch", path] if "status" in act[1] else ["-f", path]
        kind, name = act[1:3]
        m = {"apiVersion": "batch/v1" if kind == "Job" else KUEUE, "kind": kind,
             "metadata": self.identity(kind, name, args, at)}
        if act[0] == "delete":
            return ["--delete", self.write(m)]
        return ["--patch", self.write(merged(dated(act[3]), m))]


def lives_of(report, ready):
    lives = {}
    for w in report["workloads"]:
        life = lives.setdefault(w["owner"].split("/")[-1] or w["name"], Life(ready))
        events = w["events"]
        for revision in dict.fromkeys(e["revision"] for e in events):
            at_once = [e for e in events if e["revision"] == revision]
            life.tell(at_once[0]["at"], at_once)
    return lives


def simulate(berth, scenario):
    """(lives by name, lines of queues by name)"""
    with tempfile.TemporaryDirectory(prefix="berth-scenario.") as folder:
        s = Simulation(berth, scenario, folder)
        args = []
        for step in scenario.steps:
            args += ["--at", f"{step.at:g}s"]
            for act in step.acts:
                args += s.act(act, args, step.at)
        # Something to wait for: a run is over with its last Workload, and queues count a moment later.
        report = s.run(args + ["--at", "3600s", "-f", s.write(kueue("ResourceFlavor", "default", spec={}))])
    return lives_of(report, scenario.startup > 0), {q["name"]: of_queue(q["status"]) for q in report["clusterQueues"]}
