#!/usr/bin/env python3
"""housekeep: CronJobs, PodDisruptionBudgets with evictions and drains, ResourceQuotas, by kubectl against `berth up`.

housekeep.py BERTH KUBECTL [TEST...]
"""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from harness import check, run_tests, wait_for, with_default_queue

QUEUE = "kueue.x-k8s.io/queue-name"
GPU = "nvidia.com/mig-1g.18gb"


def refused(b, *args, stdin=None):
    """What kubectl says when it fails."""
    done = b.kubectl(*args, stdin=stdin, ok=False)
    check(done.returncode != 0, f"kubectl {' '.join(args)} was accepted: {done.stdout}")
    return done.stderr


def expect(text, part):
    check(part in text, f"{text!r} does not say {part!r}")


def cron(name, script="true", schedule="@every 1s", labels=None, limits=None, **spec):
    pod = {"restartPolicy": "Never",
           "containers": [{"name": "main", "image": "busybox", "command": ["sh", "-c", script],
                           "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": limits or {}}}]}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": name}, "spec": dict(
        {"schedule": schedule, "jobTemplate": {"metadata": {"labels": labels or {}}, "spec": {
            "template": {"spec": pod}}}}, **spec)}


def jobs_of(b, name):
    return [j for j in b.get("jobs")["items"]
            if any(o["name"] == name for o in j["metadata"].get("ownerReferences", []))]


def done(job):
    return any(c["type"] == "Complete" and c["status"] == "True" for c in job.get("status", {}).get("conditions", []))


def test_schedule(b):
    b.kubectl("create", "cronjob", "tick", "--image=busybox", "--schedule=@every 1s", "--", "true")
    wait_for("a job of the schedule", lambda: any(done(j) for j in jobs_of(b, "tick")), 60)
    job = jobs_of(b, "tick")[0]
    due = job["metadata"]["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"]
    minute = int(job["metadata"]["name"].removeprefix("tick-"))
    check(abs(minute * 60 - time.time()) < 180, f"{job['metadata']['name']} is not of now")
    status = wait_for("the end in the status",
                      lambda: b.get("cronjob", "tick").get("status", {}).get("lastSuccessfulTime") and
                      b.get("cronjob", "tick")["status"])
    check(status["lastScheduleTime"] >= due, status)
    check(not status.get("active"), status)
    expect(b.kubectl("get", "cj"), "@every 1s")
    header = b.kubectl("get", "cj", "-o", "wide").split("\n")[0].split()
    check(header == "NAME SCHEDULE TIMEZONE SUSPEND ACTIVE LAST SCHEDULE AGE CONTAINERS IMAGES SELECTOR".split(), header)
    for reason in ("SuccessfulCreate", "SawCompletedJob"):
        wait_for(f"event {reason}", lambda r=reason: r in b.kubectl("get", "events"))

    b.kubectl("create", "job", "by-hand", "--from=cronjob/tick")
    b.kubectl("wait", "--for=condition=complete", "job/by-hand", "--timeout=60s")
    b.kubectl("patch", "cronjob", "tick", "-p", '{"spec":{"suspend":true}}')
    check(b.get("cj", "tick")["spec"]["suspend"] is True, "it is suspended")
    b.kubectl("delete", "cronjob", "tick")
    wait_for("its jobs go with it", lambda: not jobs_of(b, "tick"))


def test_schedules_that_are_refused(b):
    def why(**spec):
        return refused(b, "apply", "-f", "-", stdin=json.dumps(cron("x", **spec)))

    expect(why(schedule="* * * *"), "spec.schedule: Invalid value: \"* * * *\": expected exactly 5 fields, found 4")
    expect(why(timeZone="Mars/Base"), "spec.timeZone: Invalid value: \"Mars/Base\": unknown time zone Mars/Base")
    expect(why(schedule="TZ=UTC * * * * *"), "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")
    b.apply(cron("zoned", schedule="0 9 * * 1-5", timeZone="Europe/Warsaw"))
    expect(b.kubectl("get", "cj", "zoned"), "Europe/Warsaw")


def test_replace(b):
    """The one that runs is ended by the next; a restart in between makes none twice."""
    b.apply(cron("long", "exec sleep 600", "* * * * *", concurrencyPolicy="Replace"))
    first = wait_for("the first", lambda: jobs_of(b, "long"), 90)[0]["metadata"]["name"]
    b.stop()
    b.up()
    wait_for("the second alone", lambda: [j["metadata"]["name"] for j in jobs_of(b, "long")] != [first] and
             len(jobs_of(b, "long")) == 1, 90)
    status = b.get("cj", "long")["status"]
    check([a["name"] for a in status["active"]] == [jobs_of(b, "long")[0]["metadata"]["name"]], status)


def test_a_schedule_of_a_queue(b):
    """The queue label of the template queues the jobs; no GPU comes about without one."""
    b.apply(cron("gpu", labels={QUEUE: "default"}, limits={GPU: 1}))
    wait_for("a job", lambda: jobs_of(b, "gpu"), 60)
    wait_for("its workload is admitted", lambda: any(
        c["type"] == "Admitted" and c["status"] == "True" for w in b.get("workloads")["items"]
        for c in w.get("status", {}).get("conditions", [])), 60)
    b.kubectl("create", "namespace", "bare")
    b.kubectl("create", "rolebinding", "tenant", "--clusterrole=edit", "--user=tenant", "-n", "bare")
    text = refused(b, "--as=tenant", "-n", "bare", "apply", "-f", "-", stdin=json.dumps(cron("g", limits={GPU: 1})))
    expect(text, "spec.jobTemplate.metadata.labels: GPUs are given through a queue")


# ---- evictions ----

def pod(name, app="web", **spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": app}}, "spec": dict(
        {"terminationGracePeriodSeconds": 1, "containers": [
            {"name": "main", "image": "busybox", "command": ["sleep", "600"],
             "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}}}]}, **spec)}


def budget(name, app="web", **spec):
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name},
            "spec": dict({"selector": {"matchLabels": {"app": app}}}, **spec)}


def allowed(b, name, n):
    return lambda: b.get("pdb", name).get("status", {}).get("disruptionsAllowed") == n


def evict(b, name, dry=False):
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "spare"}}
    if dry:
        body["deleteOptions"] = {"dryRun": ["All"]}
    return b.kubectl("create", "--raw", f"/api/v1/namespaces/spare/pods/{name}/eviction", "-f", "-",
                     stdin=json.dumps(body), ok=False)


def spare(b, *objects):
    """In a namespace without queues, so that pods run at once."""
    b.kubectl("create", "namespace", "spare")
    b.kubectl("config", "set-context", "--current", "--namespace=spare")
    if objects:
        b.apply(*objects)


def test_evictions(b):
    spare(b, pod("w1"), pod("w2"), budget("web", minAvailable=1))
    wait_for("one may go", allowed(b, "web", 1), 60)
    expect(b.kubectl("get", "pdb"), "N/A")
    check(evict(b, "w1", dry=True).returncode == 0, "a dry run is allowed")
    check(allowed(b, "web", 1)(), "and takes nothing")
    check(evict(b, "w1").returncode == 0, "the first goes")
    no = evict(b, "w2")
    check(no.returncode != 0, "the second stays")
    expect(no.stderr, "Cannot evict pod as it would violate the pod's disruption budget.")
    wait_for("it is gone", lambda: b.kubectl("get", "pod", "w1", ok=False).returncode != 0, 60)
    status = wait_for("the budget counts one", lambda: b.get("pdb", "web")["status"].get("currentHealthy") == 1 and
                      b.get("pdb", "web")["status"])
    check((status["expectedPods"], status["desiredHealthy"], status["disruptionsAllowed"]) == (1, 1, 0), status)
    b.apply(budget("more", minAvailable=0))
    expect(evict(b, "w2").stderr, "more than one PodDisruptionBudget")


def test_drain(b):
    spare(b, pod("w1"), pod("w2"), budget("web", minAvailable=1))
    wait_for("one may go", allowed(b, "web", 1), 60)
    node = b.get("nodes")["items"][0]["metadata"]["name"]
    text = refused(b, "drain", node, "--force", "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=15s")
    expect(text, "Cannot evict pod as it would violate the pod's disruption budget.")
    check(len(b.get("pods")["items"]) == 1, "one is left")
    check(b.get("nodes")["items"][0]["spec"].get("unschedulable"), "the node takes no more")
    b.kubectl("delete", "pdb", "web")
    expect(b.kubectl("drain", node, "--force", "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=60s"), "drained")
    check(not b.get("pods")["items"], "none is left")
    b.kubectl("uncordon", node)


# ---- quotas ----

def test_quota(b):
    b.kubectl("create", "namespace", "spare")
    b.kubectl("config", "set-context", "--current", "--namespace=spare")
    b.kubectl("create", "quota", "small", "--hard=pods=2,requests.cpu=100m,count/configmaps=3,count/jobs.batch=1")
    used = lambda: b.get("quota", "small").get("status", {}).get("used", {})
    wait_for("it is counted", lambda: used().get("pods") == "0" and used())
    b.apply(pod("w1"))
    check(used()["pods"] == "1" and used()["requests.cpu"] == "10m", f"charged at once: {used()}")
    silent = pod("silent")
    silent["spec"]["containers"][0]["resources"] = {}
    expect(refused(b, "apply", "-f", "-", stdin=json.dumps(silent)),
           'pods "silent" is forbidden: failed quota: small: must specify requests.cpu for: main')
    large = pod("large")
    large["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "95m"
    expect(refused(b, "apply", "-f", "-", stdin=json.dumps(large)),
           "exceeded quota: small, requested: requests.cpu=95m, used: requests.cpu=10m, limited: requests.cpu=100m")

    # A Job's pods are charged as a user's own; room that is given back is taken by those that wait.
    b.apply({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {
        "parallelism": 3, "completions": 3, "template": {"spec": dict(
            pod("x")["spec"], restartPolicy="Never", containers=[dict(
                pod("x")["spec"]["containers"][0], command=["sh", "-c", "sleep 1"])])}}})
    wait_for("what the Job says", lambda: "exceeded quota: small, requested: pods=1, used: pods=2, limited: pods=2" in
             b.kubectl("get", "events"), 60)
    expect(refused(b, "create", "job", "k", "--image=busybox", "--", "true"),
           "requested: count/jobs.batch=1, used: count/jobs.batch=1, limited: count/jobs.batch=1")
    b.kubectl("wait", "--for=condition=complete", "job/j", "--timeout=120s")
    wait_for("the room is back", lambda: used()["pods"] == "1", 30)
    b.kubectl("delete", "pod", "w1")
    wait_for("all of it", lambda: used()["pods"] == "0" and used()["requests.cpu"] == "0", 30)
    expect(b.kubectl("get", "quota"), "pods: 0/2, requests.cpu: 0/100m")


def test_quota_holds_in_a_crowd(b):
    """Many at once: as many as there is room for."""
    b.kubectl("create", "namespace", "spare")
    b.kubectl("create", "quota", "small", "--hard=count/secrets=25", "-n", "spare")
    wait_for("it is counted", lambda: b.get("quota", "small", "-n", "spare").get("status", {}).get("used"))
    crowd = []
    for n in range(3):
        p = subprocess.Popen([b.kubectl_program, "create", "-f", "-"], stdin=subprocess.PIPE, env=b.env,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        p.stdin.write("\n---\n".join(json.dumps({"apiVersion": "v1", "kind": "Secret", "metadata": {
            "name": f"s{n}-{i}", "namespace": "spare"}}) for i in range(20)).encode())
        p.stdin.close()
        crowd.append(p)
    for p in crowd:
        p.wait(timeout=120)
    check(len(b.get("secrets", "-n", "spare")["items"]) == 25, "as many as there may be")


# ---- a pod on every node ----

def test_daemon_set(b):
    spare(b)
    template = {"metadata": {"labels": {"app": "agent"}}, "spec": pod("x")["spec"]}
    agent = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"}, "spec": {
        "selector": {"matchLabels": {"app": "agent"}}, "template": template}}
    b.apply(agent)
    b.kubectl("rollout", "status", "daemonset/agent", "--timeout=60s")
    first = b.get("pods")["items"]
    check(len(first) == 1 and first[0]["spec"]["nodeName"], first)
    b.kubectl("set", "env", "daemonset/agent", "A=b")
    b.kubectl("rollout", "status", "daemonset/agent", "--timeout=90s")
    pods = wait_for("the old one is gone", lambda: len(b.get("pods")["items"]) == 1 and b.get("pods")["items"], 60)
    check(pods[0]["metadata"]["uid"] != first[0]["metadata"]["uid"], "a new pod")
    check(pods[0]["spec"]["containers"][0].get("env") == [{"name": "A", "value": "b"}], pods[0]["spec"])
    expect(b.kubectl("rollout", "history", "daemonset/agent"), "2 ")
    b.kubectl("rollout", "undo", "daemonset/agent")
    b.kubectl("rollout", "status", "daemonset/agent", "--timeout=90s")
    check("env" not in b.get("ds", "agent")["spec"]["template"]["spec"]["containers"][0], "the template is as it was")
    header = b.kubectl("get", "ds").split("\n")[0].split()
    check(header == "NAME DESIRED CURRENT READY UP-TO-DATE AVAILABLE NODE SELECTOR AGE".split(), header)
    node = b.get("nodes")["items"][0]["metadata"]["name"]
    expect(b.kubectl("drain", node, "--ignore-daemonsets", "--timeout=60s", ok=False).stdout, "drained")
    check(len(b.get("pods")["items"]) == 1, "it stays through a drain")
    b.kubectl("uncordon", node)
    b.kubectl("patch", "ds", "agent", "-p", '{"spec":{"template":{"spec":{"nodeSelector":{"no":"where"}}}}}')
    wait_for("no node fits", lambda: not b.get("pods")["items"], 60)
    check(b.get("ds", "agent")["status"]["desiredNumberScheduled"] == 0, "none is wanted")


if __name__ == "__main__":
    sys.exit(run_tests(globals(), with_default_queue))
