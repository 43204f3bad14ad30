#!/usr/bin/env python3
"""scaling: HorizontalPodAutoscalers by kubectl against `berth up`: by what pods use, in both versions, and what is refused.

scaling.py BERTH KUBECTL [TEST...]
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from harness import check, run_tests, wait_for, with_default_queue


def deployment(name, script, replicas=1, cpu="100m"):
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": {
        "replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": {
            "metadata": {"labels": {"app": name}}, "spec": {"terminationGracePeriodSeconds": 0, "containers": [
                {"name": "main", "image": "busybox", "command": ["sh", "-c", script],
                 "resources": {"requests": {"cpu": cpu, "memory": "16Mi"}}}]}}}}


def autoscaler(name, metrics=None, **spec):
    return {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": name}, "spec": dict(
        {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}, "maxReplicas": 3},
        **({"metrics": metrics} if metrics else {}), **spec)}


def create(b, *objects):
    for o in objects:
        b.kubectl("create", "-f", "-", stdin=json.dumps(o))


def condition(b, name, kind):
    for c in b.get("hpa", name).get("status", {}).get("conditions", []):
        if c["type"] == kind:
            return c
    return None


def replicas(b, name):
    return b.get("deployment", name)["spec"]["replicas"]


def test_by_use(b):
    """A busy loop takes more CPU than it asks for: the replicas grow to the most; idle ones go."""
    create(b, deployment("busy", "while :; do :; done", cpu="20m"))
    b.kubectl("autoscale", "deployment", "busy", "--min=1", "--max=3", "--cpu-percent=50")
    wait_for("three replicas", lambda: replicas(b, "busy") == 3, 180)
    status = wait_for("the metric in the status", lambda: b.get("hpa", "busy")["status"].get("currentMetrics") and
                      b.get("hpa", "busy")["status"], 60)
    check(status["currentMetrics"][0]["resource"]["current"]["averageUtilization"] > 50, status)
    check(condition(b, "busy", "ScalingActive")["reason"] == "ValidMetricFound", status)
    events = b.kubectl("get", "events")
    check("SuccessfulRescale" in events and "cpu resource utilization (percentage of request) above target" in events, events)
    line = b.kubectl("get", "hpa", "busy").split("\n")
    check(line[0].split() == "NAME REFERENCE TARGETS MINPODS MAXPODS REPLICAS AGE".split(), line)
    check("Deployment/busy" in line[1] and "%/50%" in line[1], line)
    check("ScalingActive" in b.kubectl("describe", "hpa", "busy"), "describe tells the conditions")
    old = json.loads(b.kubectl("get", "horizontalpodautoscalers.v1.autoscaling", "busy", "-o", "json"))
    check(old["spec"]["targetCPUUtilizationPercentage"] == 50, old["spec"])
    check("conditions" in "".join(old["metadata"]["annotations"]), old["metadata"])


def test_bounds(b):
    """Replicas outside the bounds are set at once, whatever metrics say; at zero nothing is done."""
    create(b, deployment("idle", "sleep 1000", replicas=5), autoscaler("idle", minReplicas=2))
    wait_for("the most", lambda: replicas(b, "idle") == 3, 60)
    check("Current number of replicas above Spec.MaxReplicas" in b.kubectl("get", "events"), "told why")
    b.kubectl("scale", "deployment", "idle", "--replicas=0")
    b.kubectl("annotate", "hpa", "idle", "look=now")
    wait_for("it is off", lambda: (condition(b, "idle", "ScalingActive") or {}).get("reason") == "ScalingDisabled", 60)
    check(replicas(b, "idle") == 0, "it stays at zero")
    b.kubectl("scale", "deployment", "idle", "--replicas=1")
    wait_for("the fewest", lambda: replicas(b, "idle") == 2, 60)


def test_failures(b):
    """What cannot be read stands in the status."""
    external = [{"type": "External", "external": {"metric": {"name": "queue"}, "target": {
        "type": "AverageValue", "averageValue": "5"}}}]
    create(b, autoscaler("none"), deployment("far", "sleep 1000"), autoscaler("far", external))
    wait_for("no target", lambda: (condition(b, "none", "AbleToScale") or {}).get("reason") == "FailedGetScale", 60)
    check('deployments.apps "none" not found' in condition(b, "none", "AbleToScale")["message"], "what is missing")
    wait_for("no metric", lambda: (condition(b, "far", "ScalingActive") or {}).get("reason") == "FailedGetExternalMetric", 60)
    check(replicas(b, "far") == 1, "nothing changes")


def refused(b, o, part):
    done = b.kubectl("create", "-f", "-", stdin=json.dumps(o), ok=False)
    check(done.returncode != 0 and part in done.stderr, f"{part!r} is not in {done.stderr!r}")


def test_refused(b):
    """In Kubernetes' words."""
    refused(b, autoscaler("a", minReplicas=0), "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1")
    refused(b, autoscaler("a", minReplicas=5), "must be greater than or equal to `minReplicas`")
    refused(b, autoscaler("a", [{"type": "Resource"}]), "must populate information for the given metric source")
    refused(b, autoscaler("a", [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization"}}}]),
            "must set either a target raw value or a target utilization")
    refused(b, autoscaler("a", behavior={"scaleDown": {"policies": [{"type": "Pods", "value": 0, "periodSeconds": 2000}]}}),
            "spec.behavior.scaleDown.policies[0].value: Invalid value: 0: must be greater than zero")


def test_whose_scale(b):
    """An autoscaler scales what its author may scale."""
    b.kubectl("create", "role", "hpas", "--verb=*", "--resource=horizontalpodautoscalers.autoscaling")
    b.kubectl("create", "rolebinding", "ann", "--role=hpas", "--user=ann")
    b.kubectl("create", "rolebinding", "bob", "--clusterrole=edit", "--user=bob")
    o = json.dumps(autoscaler("whose"))
    done = b.kubectl("create", "-f", "-", "--as=ann", stdin=o, ok=False)
    check(done.returncode != 0 and 'user "ann" cannot update resource "deployments/scale"' in done.stderr, done.stderr)
    b.kubectl("create", "-f", "-", "--as=bob", stdin=o)
    for patch in ('{"spec":{"maxReplicas":9}}', '{"spec":{"scaleTargetRef":{"name":"other"}}}'):
        done = b.kubectl("patch", "hpa", "whose", "--type=merge", "-p", patch, "--as=ann", ok=False)
        check(done.returncode != 0 and "spec.scaleTargetRef" in done.stderr, done.stderr)
    b.kubectl("label", "hpa", "whose", "of=ann", "--as=ann")


def test_old_version(b):
    """What v1 cannot say comes through it and back unharmed."""
    o = autoscaler("both", [
        {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}},
        {"type": "Pods", "pods": {"metric": {"name": "hits"}, "target": {"type": "AverageValue", "averageValue": "10"}}}],
        behavior={"scaleUp": {"stabilizationWindowSeconds": 30}})
    create(b, o)
    old = json.loads(b.kubectl("get", "horizontalpodautoscalers.v1.autoscaling", "both", "-o", "json"))
    check(old["apiVersion"] == "autoscaling/v1" and old["spec"]["targetCPUUtilizationPercentage"] == 70, old)
    old["spec"]["maxReplicas"] = 7
    b.kubectl("replace", "-f", "-", stdin=json.dumps(old))
    new = b.get("horizontalpodautoscalers.v2.autoscaling", "both")["spec"]
    check(new["maxReplicas"] == 7 and new["behavior"]["scaleUp"]["stabilizationWindowSeconds"] == 30, new)
    check(sorted(m["type"] for m in new["metrics"]) == ["Pods", "Resource"], new)


if __name__ == "__main__":
    sys.exit(run_tests(globals(), with_default_queue))
