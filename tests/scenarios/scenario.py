"""scenario: reads a scenario's file. What it may say is in CONTRIBUTING.md."""
import copy
import os

import yaml

KUEUE = "kueue.x-k8s.io/v1beta2"
QUEUE_LABEL, PRIORITY_LABEL = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"
LIMIT_LABEL = "kueue.x-k8s.io/max-exec-time-seconds"
WIDE = ["ClusterQueue", "Cohort", "ResourceFlavor", "WorkloadPriorityClass", "AdmissionCheck"]
NEVER = "2026-01-01T00:00:00Z"


def seconds(text):
    return float(str(text).rstrip("s"))


def merged(a, b):
    """A JSON merge patch."""
    if not isinstance(b, dict):
        return copy.deepcopy(b)
    a = dict(a) if isinstance(a, dict) else {}
    for k, v in b.items():
        if v is None:
            a.pop(k, None)
        else:
            a[k] = merged(a.get(k), v)
    return a


def kueue(kind, name, **members):
    return {"apiVersion": KUEUE, "kind": kind, "metadata": {"name": name}, **members}


def groups(quotas):
    """{flavor: 4} or {flavor: {nominalQuota: 4, ...}} of cpus; a number: of flavor default."""
    if not isinstance(quotas, dict):
        quotas = {"default": quotas}
    return [{"coveredResources": ["cpu"], "flavors": [{"name": f, "resources": [
        {"name": "cpu", **(q if isinstance(q, dict) else {"nominalQuota": q})}]} for f, q in quotas.items()]}]


def queue(x):
    spec = {"namespaceSelector": {}, "resourceGroups": groups(x["cpu"]), **x.get("spec", {})}
    if "cohort" in x:
        spec["cohortName"] = x["cohort"]
    return [kueue("ClusterQueue", x["queue"], spec=spec),
            kueue("LocalQueue", x["queue"], spec={"clusterQueue": x["queue"]})]


def cohort(x):
    spec = dict(x.get("spec", {}), **({"parentName": x["parent"]} if "parent" in x else {}))
    if "cpu" in x:
        spec["resourceGroups"] = groups(x["cpu"])
    return [kueue("Cohort", x["cohort"], spec=spec)]


def job(x, scale, startup):
    labels = {QUEUE_LABEL: x["to"]}
    if "priority" in x:
        labels[PRIORITY_LABEL] = x["priority"]
    if "limit" in x:
        labels[LIMIT_LABEL] = str(int(seconds(x["limit"]) * scale))
    notes = {"berth.dev/runtime": f"{seconds(x.get('runs', '60s')) * scale:g}s"}
    pods = x.get("pods", 1)
    return [{"apiVersion": "batch/v1", "kind": "Job", "metadata": {
        "name": x["job"], "labels": labels,
        "annotations": dict(notes, **({"kueue.x-k8s.io/job-min-parallelism": str(x["least"])} if "least" in x else {}))},
             "spec": {"suspend": True, "parallelism": pods, "completions": pods, "backoffLimit": 100, "template": {
                 "metadata": {"annotations": dict(notes, **{"berth.dev/startup": f"{startup * scale:g}s"})},
                 "spec": {"restartPolicy": "Never", "tolerations": x.get("tolerations", []), "containers": [
                     {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": str(x.get("cpu", 1))}}}]}}}}]


def check(x):
    """An AdmissionCheck that somebody outside answers: the steps do."""
    return [kueue("AdmissionCheck", x["check"], spec={"controllerName": "example.com/by-hand"}, status={"conditions": [
        {"type": "Active", "status": "True", "reason": "ByHand", "message": "", "lastTransitionTime": NEVER}]})]


def manifests(x, scale, startup):
    """An item of `apply`: a manifest as it is, or one of the short forms."""
    if "kind" in x:
        return [x]
    if "job" in x:
        return job(x, scale, startup)
    if "queue" in x:
        return queue(x)
    if "cohort" in x:
        return cohort(x)
    if "flavor" in x:
        return [kueue("ResourceFlavor", x["flavor"], spec=x.get("spec", {}))]
    if "priority" in x:
        return [kueue("WorkloadPriorityClass", x["priority"], value=x["value"])]
    return check(x)


class Step:
    """at, and acts: ("apply", manifest), ("patch", kind, name, body), ("delete", kind, name); of kind Workload: the name
    of its Job."""

    def __init__(self, at, acts):
        self.at, self.acts = at, acts


def step(x, scale, startup):
    acts = [("apply", m) for item in x.get("apply", []) for m in manifests(item, scale, startup)]
    acts += [("patch", *target.split("/"), body) for target, body in x.get("patch", {}).items()]
    acts += [("patch", "Workload", name, {"status": {"admissionChecks": [
        {"name": c, "state": state, "message": "by hand", "lastTransitionTime": None} for c, state in states.items()]}})
             for name, states in x.get("checks", {}).items()]
    acts += [("delete", *target.split("/")) for target in x.get("delete", [])]
    return Step(seconds(x["at"]) * scale, acts)


class Scenario:
    def __init__(self, path, scale=1):
        with open(path, encoding="utf-8") as f:
            text = yaml.safe_load(f)
        known = {"shows", "config", "startup", "steps", "expect", "queues"}
        if set(text) - known:
            raise SystemExit(f"{path}: {sorted(set(text) - known)} are not known")
        self.path, self.name = path, os.path.splitext(os.path.basename(path))[0]
        self.shows, self.config = text["shows"], text.get("config")
        self.startup = seconds(text.get("startup", "0s"))
        self.expect, self.queues = text.get("expect", {}), text.get("queues", {})
        # Times of a Configuration cannot be stretched: they are of all scenarios that share it.
        self.scale = 1 if "waitForPodsReady" in (self.config or {}) else scale
        self.steps = [step(x, self.scale, self.startup) for x in text["steps"]]
        self.steps[0].acts.insert(0, ("apply", kueue("ResourceFlavor", "default", spec={})))

    def manifest_of(self, kind, name):
        for s in self.steps:
            for act in s.acts:
                if act[0] == "apply" and act[1]["kind"] == kind and act[1]["metadata"]["name"] == name:
                    return act[1]
        raise SystemExit(f"{self.path}: no {kind} {name}")


def renamed(o, f):
    """A copy of a manifest or patch in which every name of a cluster-scoped object n is f(n)."""
    if isinstance(o, list):
        return [renamed(x, f) for x in o]
    if not isinstance(o, dict):
        return o
    o = {k: renamed(v, f) for k, v in o.items()}
    for key in ("clusterQueue", "cohortName", "parentName", PRIORITY_LABEL):
        if o.get(key):
            o[key] = f(o[key])
    for key in ("flavors", "admissionChecks", "onFlavors"):
        if isinstance(o.get(key), list):
            o[key] = [dict(x, name=f(x["name"])) if isinstance(x, dict) else f(x) for x in o[key]]
    if o.get("kind") in WIDE and "metadata" in o:
        o["metadata"] = dict(o["metadata"], name=f(o["metadata"]["name"]))
    return o
