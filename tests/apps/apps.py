#!/usr/bin/env python3
"""apps: what runs as long as it is wanted, as people drive it with kubectl.   apps.py BERTH KUBECTL [TEST...]

Pods are processes. Namespace `free` has no queue: there pods start as soon as they fit.
"""
import json
import os
import re
import subprocess
import sys
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from harness import check, run_tests, wait_for, with_default_queue
from story import the_story

QUEUE = "kueue.x-k8s.io/queue-name"


def deployment(name, replicas, labels=None, limits=None, **spec):
    pod = {"terminationGracePeriodSeconds": 1, "containers": [{
        "name": "main", "image": "none", "command": ["sleep", "100000"],
        "resources": {"requests": {"cpu": "5m", "memory": "8Mi"}, "limits": limits or {}}}]}
    pod.update(spec.pop("pod", {}))
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "labels": labels or {}},
            "spec": dict(spec, replicas=replicas, selector={"matchLabels": {"app": name}},
                         template={"metadata": {"labels": {"app": name}}, "spec": pod})}


class Free:
    """The namespace without a queue."""

    def __init__(self, b):
        self.b = b
        b.kubectl("create", "namespace", "free")

    def kubectl(self, *args, **how):
        return self.b.kubectl("-n", "free", *args, **how)

    def apply(self, *objects):
        self.kubectl("apply", "-f", "-", stdin="\n---\n".join(json.dumps(o) for o in objects))

    def get(self, *args):
        return json.loads(self.kubectl("get", *args, "-o", "json"))

    def items(self, *args):
        return self.get(*args)["items"]

    def rolled(self, name="web"):
        return self.kubectl("rollout", "status", f"deployment/{name}", "--timeout=60s")

    def sizes(self):
        return sorted(s["spec"]["replicas"] for s in self.items("rs"))

    def events(self, reason):
        return [e["message"] for e in self.items("events") if e["reason"] == reason]


def ready(pod):
    return not pod["metadata"].get("deletionTimestamp") and any(
        c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions", []))


def test_a_deployment_lives(b):
    w = Free(b)
    w.kubectl("create", "deployment", "web", "--image=none", "--replicas=3", "--", "sleep", "100000")
    check("successfully rolled out" in w.rolled(), "it is rolled out")
    row = w.kubectl("get", "deployment", "web").splitlines()[1].split()
    check(row[1:4] == ["3/3", "3", "3"], f"kubectl shows {row}")
    set_ = w.items("rs")[0]
    hash_ = set_["metadata"]["labels"]["pod-template-hash"]
    check(set_["metadata"]["name"] == f"web-{hash_}", "the set is named by its template")
    check(all(p["metadata"]["labels"]["pod-template-hash"] == hash_ for p in w.items("pods")), "and its pods as well")
    check(w.events("ScalingReplicaSet") == [f"Scaled up replica set web-{hash_} from 0 to 3"], "it is told")
    check(len(w.events("SuccessfulCreate")) == 3, "each pod is told of")

    gone = w.items("pods")[0]["metadata"]["name"]
    w.kubectl("delete", "pod", gone)
    wait_for("another pod", lambda: sum(map(ready, w.items("pods"))) == 3)

    scale = json.loads(w.kubectl("get", "--raw", "/apis/apps/v1/namespaces/free/deployments/web/scale"))
    check(scale["status"] == {"replicas": 3, "selector": "app=web"}, f"scale says {scale['status']}")
    w.kubectl("scale", "deployment", "web", "--replicas=5", "--current-replicas=3")
    wait_for("five pods", lambda: sum(map(ready, w.items("pods"))) == 5)
    w.kubectl("scale", "deployment", "web", "--replicas=0")
    wait_for("no pods", lambda: not w.items("pods"))
    check("web" in w.kubectl("get", "all"), "kubectl get all shows it")


def test_a_rolling_update_keeps_its_promise(b):
    w = Free(b)
    w.apply(deployment("web", 4, strategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}))
    w.rolled()
    for n in range(2):
        w.kubectl("set", "env", "deployment/web", f"ROUND={n}")
        while True:
            pods = [p for p in w.items("pods") if not p["metadata"].get("deletionTimestamp")]
            check(sum(map(ready, pods)) >= 4, "never fewer than wanted are ready")
            check(len(pods) <= 5, "never more than one too many")
            d = w.get("deployment", "web")
            if d["status"].get("updatedReplicas") == 4 == d["status"]["replicas"] and \
                    d["status"]["observedGeneration"] == d["metadata"]["generation"]:
                break
        w.rolled()
    check(w.sizes() == [0, 0, 4], f"old sets are kept without pods: {w.sizes()}")


def test_back_and_forth(b):
    w = Free(b)
    w.apply(deployment("web", 2))
    w.rolled()
    first = w.items("rs")[0]["metadata"]["name"]
    w.kubectl("annotate", "deployment/web", "kubernetes.io/change-cause=the second")
    w.kubectl("set", "image", "deployment/web", "main=other")
    w.rolled()
    check("the second" in w.kubectl("rollout", "history", "deployment/web"), "the cause is in the history")
    w.kubectl("rollout", "undo", "deployment/web")
    w.rolled()
    sets = {s["metadata"]["name"]: s for s in w.items("rs")}
    check(len(sets) == 2 and sets[first]["spec"]["replicas"] == 2, "undo goes back to the first set, and makes none")
    check(sets[first]["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "3", "which has revision 3")
    w.kubectl("rollout", "restart", "deployment/web")
    w.rolled()
    check(w.sizes() == [0, 0, 2], "a restart is a template of its own")
    w.kubectl("rollout", "undo", "deployment/web", "--to-revision=2")
    w.rolled()
    check(w.items("pods")[0]["spec"]["containers"][0]["image"] == "other", "undo goes to the revision that is named")


def test_a_pause(b):
    w = Free(b)
    w.apply(deployment("web", 2))
    w.rolled()
    w.kubectl("rollout", "pause", "deployment/web")
    w.kubectl("set", "env", "deployment/web", "A=1")
    w.kubectl("scale", "deployment/web", "--replicas=3")
    wait_for("three pods", lambda: sum(map(ready, w.items("pods"))) == 3)
    check(w.sizes() == [3], "a change waits, a size does not")
    w.kubectl("rollout", "resume", "deployment/web")
    w.rolled()
    check(w.sizes() == [0, 3], "it goes on")


def test_recreation(b):
    w = Free(b)
    w.apply(deployment("web", 2, strategy={"type": "Recreate"}))
    w.rolled()
    w.kubectl("set", "env", "deployment/web", "A=1")
    while w.get("deployment", "web")["status"].get("updatedReplicas", 0) != 2:
        hashes = {p["metadata"]["labels"]["pod-template-hash"] for p in w.items("pods")}
        check(len(hashes) < 2, "old and new pods are never there at once")
    w.rolled()


def test_deletion(b):
    w = Free(b)
    w.apply(deployment("web", 2))
    w.rolled()
    w.kubectl("delete", "deployment", "web", "--cascade=orphan")
    wait_for("orphans", lambda: [s for s in w.items("rs") if not s["metadata"].get("ownerReferences")])
    check(sum(map(ready, w.items("pods"))) == 2, "its pods run on")
    w.apply(deployment("web", 2))
    w.rolled()
    check(len(w.items("rs")) == 1 and w.items("rs")[0]["metadata"]["ownerReferences"], "the set is adopted again")
    w.kubectl("delete", "deployment", "web", "--cascade=foreground")
    check(not w.items("rs") and not w.items("pods"), "foreground: it goes last")
    w.apply(deployment("web", 2))
    w.rolled()
    w.kubectl("delete", "deployment", "web")
    wait_for("nothing left", lambda: not w.items("rs") and not w.items("pods"))


def test_pods_are_adopted_and_let_go(b):
    w = Free(b)
    w.kubectl("run", "lone", "--image=none", "--labels=app=set", "--command", "--", "sleep", "100000")
    d = deployment("set", 2)
    w.apply({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "set"}, "spec": {
        k: d["spec"][k] for k in ("replicas", "selector", "template")}})
    wait_for("two pods", lambda: w.get("rs", "set").get("status", {}).get("readyReplicas") == 2)
    check(w.get("pod", "lone")["metadata"]["ownerReferences"][0]["name"] == "set", "the lone pod is one of them")
    w.kubectl("label", "pod", "lone", "app=mine", "--overwrite")
    wait_for("it is let go", lambda: not w.get("pod", "lone")["metadata"].get("ownerReferences"))
    wait_for("another in its place", lambda: w.get("rs", "set")["status"].get("readyReplicas") == 2)
    check(ready(w.get("pod", "lone")), "it runs on")


def test_berth_is_killed_in_a_rollout(b):
    w = Free(b)
    w.apply(deployment("web", 3))
    w.rolled()
    before = {p["metadata"]["uid"] for p in w.items("pods")}
    w.kubectl("set", "env", "deployment/web", "A=1")
    b.stop(9)
    b.up()
    w.rolled()
    wait_for("three new pods", lambda: len(w.items("pods")) == 3 and sum(map(ready, w.items("pods"))) == 3)
    check(not before & {p["metadata"]["uid"] for p in w.items("pods")}, "all pods are new")
    check(w.sizes() == [0, 3], "and there is one new set")


def test_what_is_refused(b):
    w = Free(b)
    bad = deployment("web", 1)
    bad["spec"]["template"]["metadata"]["labels"] = {"app": "other"}
    said = w.kubectl("apply", "-f", "-", stdin=json.dumps(bad), ok=False).stderr
    check("`selector` does not match template `labels`" in said, said)
    said = w.kubectl("apply", "-f", "-", stdin=json.dumps(deployment("web", 1, pod={"restartPolicy": "Never"})),
                     ok=False).stderr
    check('Unsupported value: "Never": supported values: "Always"' in said, said)
    w.apply(deployment("web", 1))
    said = w.kubectl("patch", "deployment", "web", "--type=merge", "-p",
                     '{"spec":{"selector":{"matchLabels":{"app":"x"}},"template":{"metadata":{"labels":{"app":"x"}}}}}',
                     ok=False).stderr
    check("spec.selector" in said and "field is immutable" in said, said)

    w.kubectl("create", "rolebinding", "ann", "--clusterrole=edit", "--user=ann")
    def ann(o, *args):
        return w.kubectl("--as=ann", "apply", "-f", "-", *args, stdin=json.dumps(o), ok=False)
    check(ann(deployment("hers", 1)).returncode == 0, "who edits a namespace makes Deployments")
    said = ann(deployment("gpus", 1, limits={"nvidia.com/gpu": 1})).stderr
    check("GPUs are given through a queue" in said, said)
    said = ann(deployment("place", 1, pod={"nodeName": "here"})).stderr
    check("spec.template.spec.nodeName is written by the scheduler" in said, said)
    scaled = w.kubectl("--as=ann", "scale", "deployment/hers", "--replicas=2", ok=False)
    check(scaled.returncode == 0, f"and scales them: {scaled.stderr}")


def test_gpus_come_from_the_queue(b):
    """Two pods of one GPU each, where there is one: the second waits, and gets it when the first goes."""
    b.apply(deployment("serve", 2, labels={QUEUE: "default"}, limits={"nvidia.com/gpu": 1}))
    wait_for("one that runs", lambda: sum(map(ready, b.get("pods")["items"])) == 1, seconds=60)
    waits = [p for p in b.get("pods")["items"] if p["spec"].get("schedulingGates")]
    check(len(waits) == 1, "the other one waits behind its gate")
    d = b.get("deployment", "serve")
    check(d["status"]["unavailableReplicas"] == 1, "the Deployment says that one is missing")
    one = [p for p in b.get("pods")["items"] if ready(p)][0]["metadata"]
    b.kubectl("scale", "deployment", "serve", "--replicas=1")
    wait_for("the waiting one goes first", lambda: [p["metadata"]["uid"] for p in b.get("pods")["items"]] == [one["uid"]])
    b.kubectl("delete", "deployment", "serve")
    wait_for("no Workload is left", lambda: not b.get("workloads")["items"])


def test_a_stateful_set(b):
    """Pods come in order, have names that stay, are updated from the last one on, and go backwards."""
    w = Free(b)
    d = deployment("db", 3)
    w.apply({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"},
             "spec": dict(d["spec"], serviceName="db")})
    seen = []
    def rolled():
        all_ready = w.get("sts", "db").get("status", {}).get("readyReplicas") == 3 # before the pods, which come meanwhile
        for p in w.items("pods"):
            if p["metadata"]["name"] not in seen:
                check(all(ready(q) for q in w.items("pods") if q["metadata"]["name"] in seen), "one after the other")
                seen.append(p["metadata"]["name"])
        return all_ready
    wait_for("three pods", rolled)
    check(seen == ["db-0", "db-1", "db-2"], f"in order: {seen}")
    was = {p["metadata"]["name"]: p["metadata"]["uid"] for p in w.items("pods")}
    w.kubectl("patch", "sts", "db", "--type=merge", "-p", '{"spec":{"updateStrategy":{"rollingUpdate":{"partition":1}}}}')
    w.kubectl("set", "env", "sts/db", "A=1")
    w.kubectl("rollout", "status", "sts/db", "--timeout=60s")
    now = {p["metadata"]["name"]: p["metadata"]["uid"] for p in w.items("pods")}
    check(now["db-0"] == was["db-0"] and now["db-1"] != was["db-1"] and now["db-2"] != was["db-2"],
          "those from the partition on are new")
    w.kubectl("rollout", "undo", "sts/db")
    w.kubectl("rollout", "status", "sts/db", "--timeout=60s")
    check(len(w.items("controllerrevisions")) == 2, "undo goes back to a revision, and makes none")
    check("3" in w.kubectl("rollout", "history", "sts/db"), "the history has it as the third")
    b.stop(9)
    b.up()
    w.kubectl("scale", "sts/db", "--replicas=1")
    wait_for("one pod", lambda: [p["metadata"]["name"] for p in w.items("pods")] == ["db-0"])
    w.kubectl("delete", "sts", "db")
    wait_for("none", lambda: not w.items("pods") and not w.items("controllerrevisions"))


def test_claims_go_with_their_pods(b):
    """persistentVolumeClaimRetentionPolicy: Delete, when scaled and when deleted."""
    w = Free(b)
    d = deployment("db", 2, pod={"containers": [{"name": "main", "image": "none", "command": ["sleep", "100000"],
                                                 "volumeMounts": [{"name": "data", "mountPath": "/data"}]}]})
    w.apply({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}, "spec": dict(
        d["spec"], serviceName="db", persistentVolumeClaimRetentionPolicy={"whenDeleted": "Delete", "whenScaled": "Delete"},
        volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "8Mi"}}}}])})
    w.kubectl("rollout", "status", "sts/db", "--timeout=60s")

    def claims():
        return sorted(c["metadata"]["name"] for c in w.items("pvc"))
    check(claims() == ["data-db-0", "data-db-1"], str(claims()))
    w.kubectl("scale", "sts/db", "--replicas=1")
    wait_for("the claim of the pod that went to go", lambda: claims() == ["data-db-0"])
    b.stop(9)
    b.up()
    w.kubectl("delete", "sts", "db")
    wait_for("no claim", lambda: not claims(), 60)


def test_a_thousand_replicas(b):
    """They fit nowhere; the API answers others meanwhile."""
    w = Free(b)
    w.apply(deployment("many", 1000, pod={"nodeSelector": {"no": "where"}}))
    def all_there():
        w.kubectl("create", "configmap", "beside", "--from-literal=a=b")
        w.kubectl("delete", "configmap", "beside")
        return w.get("deployment", "many").get("status", {}).get("replicas") == 1000
    wait_for("a thousand pods", all_there, seconds=120)
    w.kubectl("scale", "deployment", "many", "--replicas=0")
    wait_for("none", lambda: not w.get("deployment", "many")["status"].get("replicas"), seconds=120)


def readme_lines(section):
    """What a section of the README has people type: without remarks behind two blanks and #."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "README.md"), encoding="utf-8") as f:
        block = f.read().split(f"\n## {section}\n")[1].split("\n## ")[0].split("```")[1]
    return [line.split("  #")[0].strip() for line in block.splitlines() if line.strip()]


def test_readme(b):
    """The section "Keep it running", line by line; the forwarded port is one that is free."""
    tools = os.path.join(b.root, "words")
    os.mkdir(tools)
    os.symlink(os.path.abspath(b.kubectl_program), os.path.join(tools, "kubectl"))
    env = dict(b.env, PATH=tools + os.pathsep + os.environ["PATH"])
    lines, seen = readme_lines("Keep it running"), set()
    for line in lines:
        seen.add(line.split()[1])
        if " port-forward " not in line:
            done = subprocess.run(line, shell=True, env=env, capture_output=True, text=True, timeout=120, check=False)
            check(done.returncode == 0, f"{line}: {done.stderr}")
            check(" exec " not in line or "nameserver" in done.stdout, f"{line} says {done.stdout}")
            continue
        forward = subprocess.Popen(line.replace(" 8080:", " :").split(), env=env, stdout=subprocess.PIPE, text=True)
        port = re.search(r":(\d+) ->", forward.stdout.readline()).group(1)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60) as page:
            check(b"Directory listing" in page.read(), "the page of the pod")
        forward.terminate()
        forward.wait(30)
    check(seen == {"create", "rollout", "expose", "port-forward", "exec"}, f"the section types {seen}")
    check("successfully rolled out" in b.kubectl("rollout", "status", "deployment/web", "--timeout=60s"), "and again")


def test_a_day_of_what_stays(b):
    """Everything that is promised to somebody who keeps things running, typed one after another (story.py)."""
    the_story(b)


if __name__ == "__main__":
    sys.exit(run_tests(globals(), lambda f, program, kubectl: with_default_queue(f, program, kubectl, gpus="sim:1xh200")))
