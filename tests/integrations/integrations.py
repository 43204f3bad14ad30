#!/usr/bin/env python3
"""integrations: the kinds of other projects in a queue.   integrations.py BERTH KUBECTL [KIND...]

Their CustomResourceDefinitions come at run time and allow every field; what an operator would write into a status is
written here. Each kind is held back at its creation, gets a Workload with the right pod sets, starts with what its flavor
gives, is evicted and as it was before, starts again and ends. Prints a line a kind and closes with "N passed, N failed".
"""
import json
import os
import sys
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from harness import Berth, Fail, check, wait_for

API = "kueue.x-k8s.io/v1beta2"
LABELS = {"kueue.x-k8s.io/queue-name": "jobs"}
MARK = '"berth.test/pool": "a"'


def pod(name):
    return {"metadata": {"labels": {"app": "x"}},
            "spec": {"containers": [{"name": name, "image": "busybox", "command": ["true"],
                                     "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}}}]}}


def condition(kind, status="True"):
    return {"conditions": [{"type": kind, "status": status, "reason": "Told", "message": f"{kind}.",
                            "lastTransitionTime": "2026-01-01T00:00:00Z"}]}


def replicas(**counts):
    return {k: {**({"replicas": n} if n else {}), "template": pod("c")} for k, n in counts.items()}


def ray():
    return {"headGroupSpec": {"template": pod("ray-head")},
            "workerGroupSpecs": [{"groupName": "w", "replicas": 2, "numOfHosts": 2, "template": pod("ray-worker")}]}


def kubeflow(member, expected, **counts):
    return {"spec": {"runPolicy": {}, member: replicas(**counts)}, "suspend": "runPolicy.suspend", "sets": expected,
            "active": {"replicaStatuses": {"Worker": {"active": 1}}}, "idle": {"replicaStatuses": {"Worker": {"active": 0}}},
            "ready": condition("Running"), "end": condition("Succeeded")}


STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
RUNTIME = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "ClusterTrainingRuntime", "metadata": {"name": "torch"},
           "spec": {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": [
               {"name": "node", "template": {"metadata": {"labels": {STEP: "trainer"}},
                                             "spec": {"template": pod("node")}}}]}}}}

KINDS = {
    "JobSet": {"api": "jobset.x-k8s.io/v1alpha2", "spec": {"replicatedJobs": [
        {"name": "a", "replicas": 2, "template": {"spec": {"parallelism": 2, "completions": 2, "template": pod("c")}}},
        {"name": "b", "replicas": 1, "template": {
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
            "spec": {"template": pod("c")}}}]},
        "sets": "a:4 b:1", "active": {"replicatedJobsStatus": [{"name": "a", "active": 2}]},
        "idle": {"replicatedJobsStatus": [{"name": "a", "active": 0}]},
        "ready": {"replicatedJobsStatus": [{"name": "a", "ready": 1, "succeeded": 1}, {"name": "b", "ready": 1}]},
        "reclaimed": [{"name": "a", "count": 2}], "end": condition("Completed")},
    "PyTorchJob": {"api": "kubeflow.org/v1",
                   **kubeflow("pytorchReplicaSpecs", "master:1 worker:2", Worker=2, Master=None)},
    "TFJob": {"api": "kubeflow.org/v1", **kubeflow("tfReplicaSpecs", "chief:1 ps:2 worker:2", Worker=2, PS=2, Chief=1)},
    "XGBoostJob": {"api": "kubeflow.org/v1", **kubeflow("xgbReplicaSpecs", "master:1 worker:2", Worker=2, Master=1)},
    "PaddleJob": {"api": "kubeflow.org/v1", **kubeflow("paddleReplicaSpecs", "master:1 worker:2", Worker=2, Master=1)},
    "JAXJob": {"api": "kubeflow.org/v1", **kubeflow("jaxReplicaSpecs", "worker:3", Worker=3)},
    "MPIJob": {"api": "kubeflow.org/v2beta1",
               **kubeflow("mpiReplicaSpecs", "launcher:1 worker:2", Worker=2, Launcher=1)},
    "TrainJob": {"api": "trainer.kubeflow.org/v1alpha1", "before": RUNTIME,
                 "spec": {"runtimeRef": {"name": "torch"}, "trainer": {"numNodes": 2}}, "sets": "node:2",
                 "active": {"jobsStatus": [{"name": "node", "active": 1}]},
                 "idle": {"jobsStatus": [{"name": "node", "active": 0}]},
                 "ready": {"jobsStatus": [{"name": "node", "ready": 1}]}, "end": condition("Complete")},
    "RayCluster": {"api": "ray.io/v1", "spec": ray(), "sets": "head:1 w:4", "active": {"state": "ready"},
                   "idle": {"state": "suspended"}, "ready": {"state": "ready"}},
    "RayJob": {"api": "ray.io/v1", "spec": {"shutdownAfterJobFinishes": True, "rayClusterSpec": ray()},
               "sets": "head:1 w:4 submitter:1", "active": {"jobDeploymentStatus": "Running"},
               "idle": {"jobDeploymentStatus": "Suspended"},
               "ready": {"jobDeploymentStatus": "Running", "rayClusterStatus": {"state": "ready"}},
               "end": {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED", "message": "Done."}},
    "RayService": {"api": "ray.io/v1", "spec": {"rayClusterConfig": ray()}, "suspend": "rayClusterConfig.suspend",
                   "sets": "head:1 w:4", "active": condition("Ready"), "idle": condition("Ready", "False"),
                   "ready": condition("Ready")},
    "AppWrapper": {"api": "workload.codeflare.dev/v1beta2", "spec": {"components": [
        {"podSets": [{"replicas": 2, "path": "template.spec.template"}], "template": {
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
            "spec": {"template": pod("c")}}}]},
        "sets": "one-0:2", "active": condition("QuotaReserved"), "idle": condition("QuotaReserved", "False"),
        "ready": condition("PodsReady"), "end": {"phase": "Succeeded"}},
}


def definition(api, kind, namespaced=True):
    group, version = api.split("/")
    plural = kind.lower() + "s"
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{group}"},
            "spec": {"group": group, "scope": "Namespaced" if namespaced else "Cluster",
                     "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": kind + "List"},
                     "versions": [{"name": version, "served": True, "storage": True, "subresources": {"status": {}},
                                   "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                                       "spec": anything, "status": anything}}}}]}}


def queues():
    quotas = {"cpu": "10", "memory": "10Gi"}
    return [{"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": "pool"},
             "spec": {"nodeLabels": {"berth.test/pool": "a"}}},
            {"apiVersion": API, "kind": "ClusterQueue", "metadata": {"name": "jobs"},
             "spec": {"namespaceSelector": {}, "resourceGroups": [{
                 "coveredResources": list(quotas), "flavors": [{"name": "pool", "resources": [
                     {"name": r, "nominalQuota": q} for r, q in quotas.items()]}]}]}},
            {"apiVersion": API, "kind": "LocalQueue", "metadata": {"name": "jobs", "namespace": "default"},
             "spec": {"clusterQueue": "jobs"}}]


class Life:
    """One object from its creation to its end."""

    def __init__(self, b, kind):
        self.b, self.kind, self.row = b, kind, KINDS[kind]
        self.resource = f"{kind.lower()}s.{self.row['api'].split('/')[0]}/one"

    def object(self):
        return self.b.get(self.resource)

    def workload(self):
        found = self.b.get("workloads")["items"]
        return found[0] if found else None

    def status(self, status):
        body = json.dumps({"status": status})
        self.b.kubectl("patch", self.resource, "--subresource=status", "--type=merge", "-p", body)

    def suspended(self):
        value = self.object()["spec"]
        for member in self.row.get("suspend", "suspend").split("."):
            value = value.get(member, {})
        return value is True

    def marked(self):
        return MARK in json.dumps(self.object()["spec"])

    def condition(self, kind):
        found = [c for c in (self.workload() or {}).get("status", {}).get("conditions", []) if c["type"] == kind]
        return found[0] if found else {"status": "", "reason": "", "message": ""}

    def runs(self):
        wait_for("admission and start", lambda: not self.suspended(), 20)
        check(self.marked(), "started without the flavor's node selector")

    def create(self):
        if "before" in self.row:
            self.b.apply(self.row["before"])
        self.b.kubectl("patch", "clusterqueue", "jobs", "--type=merge", "-p", '{"spec":{"stopPolicy":"Hold"}}')
        self.b.apply({"apiVersion": self.row["api"], "kind": self.kind, "metadata": {"name": "one", "labels": LABELS},
                      "spec": self.row["spec"]})
        check(self.suspended(), "not held back when it was created")
        wait_for("Workload", self.workload, 20)
        w = self.workload()
        sets = " ".join(f"{s['name']}:{s['count']}" for s in w["spec"]["podSets"])
        check(sets == self.row["sets"], f"pod sets {sets}")
        check(w["metadata"]["name"].startswith(f"{self.kind.lower()}-one-"), w["metadata"]["name"])
        self.b.kubectl("patch", "clusterqueue", "jobs", "--type=merge", "-p", '{"spec":{"stopPolicy":"None"}}')

    def evict(self):
        self.status(self.row["active"])
        before = self.object()["metadata"]["generation"]
        self.active(False)
        wait_for("suspension", self.suspended, 20)
        self.status(self.row["idle"])
        wait_for("quota to be free", lambda: self.condition("QuotaReserved")["status"] == "False", 20)
        wait_for("restoration", lambda: not self.marked(), 20)
        check("kueue.x-k8s.io/podset" not in json.dumps(self.object()["spec"]), "the pod set's label is left")
        check(self.object()["metadata"]["generation"] - before <= 2, "more than two writes to stop it")
        self.active(True)

    def active(self, truth):
        self.b.kubectl("patch", "workload", self.workload()["metadata"]["name"], "--type=merge", "-p",
                       json.dumps({"spec": {"active": truth}}))

    def end(self):
        self.status(self.row["ready"])
        wait_for("PodsReady", lambda: self.condition("PodsReady")["status"] == "True", 20)
        if "reclaimed" in self.row:
            wait_for("reclaimable pods",
                     lambda: self.workload()["status"].get("reclaimablePods") == self.row["reclaimed"], 20)
        if "end" in self.row:
            self.status(self.row["end"])
            wait_for("Finished", lambda: self.condition("Finished")["status"] == "True", 20)
            check(self.condition("Finished")["reason"] == "Succeeded", self.condition("Finished"))
        self.b.kubectl("delete", self.resource, "--wait=false")
        wait_for("nothing left", lambda: self.workload() is None, 20)

    def live(self):
        self.create()
        self.runs()
        self.evict()
        self.runs()
        self.end()


def main():
    program, kubectl, only = sys.argv[1], sys.argv[2], sys.argv[3:]
    passed = failed = 0
    with Berth(program, kubectl, "sim:1xh200") as b:
        b.kubectl("label", "node", "--all", "berth.test/pool=a")
        b.apply(*queues())
        for kind in only or KINDS:
            begin = time.monotonic()
            try:
                b.apply(definition(KINDS[kind]["api"], kind))
                if kind == "TrainJob":
                    b.apply(definition(KINDS[kind]["api"], "ClusterTrainingRuntime", False))
                    b.apply(definition(KINDS[kind]["api"], "TrainingRuntime"))
                b.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=20s")
                Life(b, kind).live()
                passed += 1
                print(f"ok    {kind} ({time.monotonic() - begin:.1f} s)", flush=True)
            except Exception as e:
                failed += 1
                print(f"FAIL  {kind}: {e}" if isinstance(e, Fail) else traceback.format_exc(), flush=True)
                print(b.kubectl("get", "events", ok=False).stdout[-3000:])
                break
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
