"""places: GPUs past the queue, places of one's own choice, borrowed priority and other people's state, by tenants."""
import json

from api import Client, new_token
from escalation import MERGE, RBAC, binding, refused
from harness import check, wait_for

KUEUE = "kueue.x-k8s.io/v1beta2"
QUEUE = "kueue.x-k8s.io/queue-name"
GPU = {"limits": {"nvidia.com/gpu": "1"}}
PODS = "/api/v1/namespaces/team-a/pods"
JOBS = "/apis/batch/v1/namespaces/team-a/jobs"
WORKLOADS = f"/apis/{KUEUE}/namespaces/team-a/workloads"
JSON_PATCH = "application/json-patch+json"


def container(resources=None):
    return {"name": "c", "image": "i", "command": ["sleep", "60"], "resources": resources or {}}


def template(meta=None, resources=None, **spec):
    return {"metadata": meta or {}, "spec": dict({"restartPolicy": "Never", "containers": [container(resources)]}, **spec)}


def job(name, made, queue="q", **spec):
    meta = {"name": name, "labels": {QUEUE: queue} if queue else {}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": dict(spec, template=made)}


def pod(name, meta=None, resources=None, **spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": dict({"name": name}, **(meta or {})),
            "spec": template(None, resources, **spec)["spec"]}


def pods_of(client):
    return client.call("GET", PODS)[1]["items"]


def a_queue(admin):
    """Queue q of team-a has no GPU: whoever gets one did not get it there."""
    for path, kind, spec in (
            ("resourceflavors", "ResourceFlavor", {}),
            ("clusterqueues", "ClusterQueue", {"namespaceSelector": {}, "resourceGroups": [
                {"coveredResources": ["cpu", "nvidia.com/gpu"], "flavors": [{"name": "q", "resources": [
                    {"name": "cpu", "nominalQuota": "100"}, {"name": "nvidia.com/gpu", "nominalQuota": "0"}]}]}]}),
            ("namespaces/team-a/localqueues", "LocalQueue", {"clusterQueue": "q"})):
        code, answer = admin.call("POST", f"/apis/{KUEUE}/{path}",
                                  {"apiVersion": KUEUE, "kind": kind, "metadata": {"name": "q"}, "spec": spec})
        check(code == 201, f"{kind} q: {code} {answer}")


def by_template(b, admin, e):
    """What a template says of nodes and devices becomes no pod's, whoever wrote it."""
    node = admin.call("GET", "/api/v1/nodes")[1]["items"][0]
    uuid = json.loads(node["metadata"]["annotations"]["berth.dev/gpus"])["gpus"][0]["uuid"] \
        if "berth.dev/gpus" in node["metadata"].get("annotations", {}) else "GPU-0"
    name = node["metadata"]["name"]
    devices = {"annotations": {"berth.dev/devices": json.dumps([{"container": "c", "gpu": uuid}])}}
    refused(e.call("POST", JOBS, job("by-node", template(nodeName=name))), "a Job that names a node", (403, 422))
    refused(e.call("POST", JOBS, job("by-card", template(devices))), "a Job that names a card", (403, 422))
    refused(e.call("POST", JOBS, job("by-card", template(devices), queue=None)), "a card without a queue", (403, 422))
    refused(e.call("POST", JOBS, job("by-both", template(devices, GPU, nodeName=name))), "a Job that names both", (403, 422))
    refused(admin.call("POST", JOBS, job("by-node", template(nodeName=name))), "an administrator's in a queue", (403, 422))
    check(e.call("POST", JOBS, job("plain", template(), suspend=True))[0] == 201, "a plain Job")
    for patch, media in (
            ({"spec": {"template": {"spec": {"nodeName": name}}}}, MERGE),
            ({"spec": {"template": {"spec": {"nodeName": name}}}}, "application/strategic-merge-patch+json"),
            ({"spec": {"template": {"metadata": devices}}}, MERGE),
            ([{"op": "add", "path": "/spec/template/spec/nodeName", "value": name}], JSON_PATCH)):
        refused(e.call("PATCH", JOBS + "/plain", patch, media), f"a patch {patch}", (403, 422))
    work = {"apiVersion": KUEUE, "kind": "Workload", "metadata": {"name": "w"}, "spec": {
        "queueName": "q", "podSets": [{"name": "main", "count": 1, "template": template(nodeName=name)}]}}
    refused(e.call("POST", WORKLOADS, work), "a Workload whose template names a node", (403, 422))
    check(not [p for p in pods_of(admin) if p["spec"].get("nodeName") and "by-" in p["metadata"]["name"]], "nobody got in")


def by_custom_kind(admin, e):
    """A kind that nobody knew before describes pods as well as any other."""
    names = {"plural": "scaledjobs", "singular": "scaledjob", "kind": "ScaledJob"}
    admin.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "scaledjobs.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}})
    admin.call("POST", RBAC + "/clusterroles", {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "scaled", "labels": {"rbac.authorization.k8s.io/aggregate-to-edit": "true"}},
        "rules": [{"apiGroups": ["example.com"], "resources": ["*"], "verbs": ["*"]}]})
    path = "/apis/example.com/v1/namespaces/team-a/scaledjobs"

    def body(name, made):
        return {"apiVersion": "example.com/v1", "kind": "ScaledJob", "metadata": {"name": name},
                "spec": {"jobTargetRef": {"template": made}}}

    wait_for("the kind to be served", lambda: e.call("POST", path, body("plain", template()))[0] == 201)
    refused(e.call("POST", path, body("x", template(nodeName="n"))), "a custom resource that names a node")
    refused(e.call("POST", path, body("x", template({"annotations": {"berth.dev/devices": "[]"}}))), "one that names a card")
    refused(e.call("POST", path, body("x", template(priorityClassName="system-node-critical"))), "one that evicts all")
    refused(e.call("PATCH", path + "/plain", {"spec": {"jobTargetRef": {"template": {"spec": {"nodeName": "n"}}}}}, MERGE),
            "a patch of one")
    # An annotation that reads like the label of a class is no class: it gives no right to one of that name.
    noted = {"metadata": {"annotations": {"kueue.x-k8s.io/priority-class": "system-node-critical"}}}
    check(e.call("PATCH", path + "/plain", noted, MERGE)[0] == 200, "an annotation that nobody reads")
    refused(e.call("PATCH", path + "/plain", {"spec": {"jobTargetRef": {"template": {"spec": {
        "priorityClassName": "system-node-critical"}}}}}, MERGE), "the class that the annotation names")


def gpus_anywhere(admin, e):
    """Wherever a pod can ask for a GPU it needs a queue."""
    for what, spec in (("as a whole", {"resources": GPU}),
                       ("as a whole, by requests", {"resources": {"requests": {"nvidia.com/mig-1g.18gb": "1"}}}),
                       ("by overhead", {"overhead": {"nvidia.com/gpu": "1"}}),
                       ("in an init container", {"initContainers": [dict(container(GPU), name="i")]})):
        refused(e.call("POST", PODS, pod("own", **spec)), f"a pod that asks {what}", (403, 422))
        refused(e.call("POST", JOBS, job("own", template(**spec), queue=None)), f"a Job that asks {what}", (403, 422))
    # In a namespace where Jobs are not queued a label of a queue is none.
    admin.call("POST", RBAC + "/namespaces/kube-system/rolebindings",
               binding("RoleBinding", "edit", "kube-system", "edit", "edit-user"))
    jobs = "/apis/batch/v1/namespaces/kube-system/jobs"
    refused(e.call("POST", jobs, job("own", template(resources=GPU))), "a Job where none is queued")
    refused(e.call("POST", jobs, job("own", template(resources=GPU), suspend=False)), "one that says that it runs")
    if e.call("POST", jobs, job("own", template(resources=GPU), suspend=True))[0] == 201:
        refused(e.call("PATCH", jobs + "/own", {"spec": {"suspend": False}}, MERGE), "one that is let go")
    admin.call("DELETE", RBAC + "/namespaces/kube-system/rolebindings/edit")
    # A LimitRange gives a GPU to who did not ask.
    admin.call("POST", "/api/v1/namespaces/team-a/limitranges", {
        "apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "gift"},
        "spec": {"limits": [{"type": "Container", "default": {"nvidia.com/gpu": "1"},
                             "defaultRequest": {"nvidia.com/gpu": "1"}}]}})
    refused(e.call("POST", PODS, pod("gifted")), "a pod that a LimitRange gives a GPU")
    check(e.call("POST", JOBS, job("gifted", template(), queue=None))[0] == 201, "a Job that asks for nothing")
    wait_for("the Job's pods to be refused", lambda: "LimitRange" in str(admin.call(
        "GET", "/api/v1/namespaces/team-a/events")[1]))
    check(not [p for p in pods_of(admin) if p["metadata"]["name"].startswith("gifted")], "no pod was given a GPU")
    e.call("DELETE", JOBS + "/gifted?propagationPolicy=Background")
    admin.call("DELETE", "/api/v1/namespaces/team-a/limitranges/gift")


def started_by_hand(admin, e):
    """A queued Job runs when its queue says so: not when its owner does, or hides its Workload."""
    check(e.call("POST", JOBS, job("eager", template(resources=GPU)))[0] == 201, "a Job in a queue without GPUs")
    refused(e.call("PATCH", JOBS + "/eager", {"spec": {"suspend": False}}, MERGE), "started by hand")
    uid = admin.call("GET", JOBS + "/eager")[1]["metadata"]["uid"]
    owner = [{"apiVersion": "batch/v1", "kind": "Job", "name": "eager", "uid": uid, "controller": True}]
    refused(e.call("POST", PODS, pod("claims", {"ownerReferences": owner})), "a pod that says that it is the Job's")
    check(e.call("POST", JOBS, job("busy", template(), suspend=True))[0] == 201, "a Job without GPUs")
    deleted = set()
    for _ in range(20):  # its Workload is deleted while it is started: the pods wait for a new one
        e.call("PATCH", JOBS + "/busy", {"spec": {"suspend": False}}, MERGE)
        for w in e.call("GET", WORKLOADS)[1]["items"]:
            e.call("DELETE", WORKLOADS + "/" + w["metadata"]["name"])
            deleted.add(w["metadata"]["uid"])

    def judged(w):
        whose = [o["name"] for o in w["metadata"].get("ownerReferences", [])]
        said = [c for c in w.get("status", {}).get("conditions", []) if (c["type"], c["status"]) == ("QuotaReserved", "False")]
        return whose == ["eager"] and w["metadata"]["uid"] not in deleted and said

    # The controllers looked: the Job has a new Workload, which is judged, and one that came after it has its pod.
    wait_for("the new Workload to be judged", lambda: [w for w in e.call("GET", WORKLOADS)[1]["items"] if judged(w)])
    check(e.call("POST", JOBS, job("after", template()))[0] == 201, "a Job that comes later")
    wait_for("its pod", lambda: [p for p in pods_of(admin) if p["metadata"]["name"].startswith("after")])
    check(not [p for p in pods_of(admin) if p["metadata"]["name"].startswith("eager")], "no pod of a Job that waits")
    for name in ("eager", "busy", "after", "plain"):
        e.call("DELETE", f"{JOBS}/{name}?propagationPolicy=Background")


def borrowed_priority(admin, e):
    """A class that is somebody's, the machine's own classes, a number of one's own."""
    classes = f"/apis/{KUEUE}/workloadpriorityclasses"
    for name, value, note in (("open", 100, {}), ("closed", 100000, {"berth.dev/restricted": "true"})):
        admin.call("POST", classes, {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass",
                                     "metadata": {"name": name, "annotations": note}, "value": value})
    for name in ("system-node-critical", "system-cluster-critical"):
        refused(e.call("POST", PODS, pod("vip", priorityClassName=name)), f"a pod of {name}")
        refused(e.call("POST", JOBS, job("vip", template(priorityClassName=name))), f"a Job of {name}")

    def labelled(name, where):
        made = job("vip", template({"labels": {"kueue.x-k8s.io/priority-class": name}} if where == "template" else None),
                   suspend=True)
        if where == "job":
            made["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = name
        return made

    refused(e.call("POST", JOBS, labelled("closed", "job")), "a Job of a restricted class")
    refused(e.call("POST", JOBS, labelled("closed", "template")), "a template of a restricted class")
    check(e.call("POST", JOBS, labelled("open", "job"))[0] == 201, "a Job of a class for all")
    mine = wait_for("its Workload", lambda: [w for w in e.call("GET", WORKLOADS)[1]["items"]
                                             if w["spec"].get("priority") == 100])[0]["metadata"]["name"]
    for patch in ({"spec": {"priority": 2000000000}}, {"spec": {"priority": 101}},
                  {"spec": {"priority": 100000, "priorityClassRef": {
                      "group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "closed"}}}):
        refused(e.call("PATCH", WORKLOADS + "/" + mine, patch, MERGE), f"a Workload with {patch}", (403, 422))
    refused(e.call("PATCH", JOBS + "/vip", {"metadata": {"labels": {"kueue.x-k8s.io/priority-class": "closed"}}}, MERGE),
            "a Job that moves up")
    refused(e.call("PATCH", classes + "/open", {"value": 5}, MERGE), "the class itself")
    check(admin.call("PATCH", WORKLOADS + "/" + mine, {"spec": {"priority": 101}}, MERGE)[0] == 200, "an administrator may")
    e.call("DELETE", JOBS + "/vip?propagationPolicy=Background")


def status_of_others(b, admin):
    """Who has every right in one namespace writes no status that decides over all."""
    token, _ = new_token(admin, "chief")
    admin.call("POST", RBAC + "/namespaces/team-a/rolebindings",
               binding("RoleBinding", "chief", "team-a", "cluster-admin", "chief"))
    c = Client(b.port, b.data, token)
    feeds = "/apis/berth.dev/v1alpha1/namespaces/team-a/calendarfeeds"
    check(c.call("POST", feeds, {"apiVersion": "berth.dev/v1alpha1", "kind": "CalendarFeed", "metadata": {"name": "f"},
                                 "spec": {}})[0] == 201, "a feed of one's own")
    for path, status in ((feeds + "/f", {"user": "berth-admin"}),
                         ("/apis/berth.dev/v1alpha1/namespaces/team-a/reservations/r", {"phase": "Confirmed"}),
                         ("/apis/berth.dev/v1alpha1/namespaces/team-a/reservationseries/s", {}),
                         (JOBS + "/j", {"conditions": []}), (PODS + "/p", {"phase": "Succeeded"}),
                         (WORKLOADS + "/w", {}), (f"/apis/{KUEUE}/namespaces/team-a/localqueues/q", {})):
        refused(c.call("PATCH", path + "/status", {"status": status}, MERGE), "the status of " + path)
        group, plural = ("" if path.startswith("/api/") else path.split("/")[2]), path.split("/")[-2]
        code, answer = c.call("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"spec": {
            "resourceAttributes": {"group": group, "resource": plural, "subresource": "status", "verb": "patch",
                                   "namespace": "team-a", "name": path.split("/")[-1]}}})
        check(code == 201 and not answer["status"]["allowed"], f"and can-i says so: {plural} {code} {answer}")
    made = {"apiVersion": "berth.dev/v1alpha1", "kind": "CalendarFeed", "metadata": {"name": "g"}, "spec": {},
            "status": {"user": "berth-admin"}}
    code, answer = c.call("POST", feeds, made)
    check(code == 201 and answer.get("status", {}).get("user") != "berth-admin", f"a feed made for another: {answer}")
    for name in ("f", "g"):
        c.call("DELETE", f"{feeds}/{name}")
    return token


def no_tokens(b, admin):
    """Who runs the bookings makes no credentials."""
    token, _ = new_token(admin, "booker")
    admin.call("POST", RBAC + "/clusterrolebindings",
               binding("ClusterRoleBinding", "booker", None, "berth:booking-admin", "booker"))
    admin.call("POST", RBAC + "/namespaces/team-a/rolebindings", binding("RoleBinding", "booker", "team-a", "edit", "booker"))
    c = Client(b.port, b.data, token)
    base = "/apis/berth.dev/v1alpha1"
    check(c.call("GET", base + "/reservations")[0] == 200, "all bookings are theirs to see")
    refused(c.call("POST", "/api/v1/namespaces/team-a/secrets", {
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "berth-token-" + "0" * 40}, "type": "berth.dev/token",
        "data": {}}), "a token made by who runs the bookings")
    refused(c.call("PATCH", base + "/namespaces/team-b/calendarfeeds/x/status", {"status": {"user": "x"}}, MERGE),
            "whom a feed speaks for")
    for verb, resource, sub, want in (("create", "tokens", "", False), ("update", "reservations", "approve", True),
                                      ("update", "reservations", "status", False), ("patch", "reservations", "", True)):
        answer = c.call("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"spec": {"resourceAttributes": {
            "group": "berth.dev", "resource": resource, "subresource": sub, "verb": verb}}})[1]
        check(answer["status"]["allowed"] == want, f"{verb} {resource}/{sub}: {answer}")
    return token


def run(b, admin, users):
    """The tokens that were used."""
    e = users["edit"]
    a_queue(admin)
    by_template(b, admin, e)
    by_custom_kind(admin, e)
    gpus_anywhere(admin, e)
    started_by_hand(admin, e)
    borrowed_priority(admin, e)
    tokens = [status_of_others(b, admin), no_tokens(b, admin)]
    print("templates, custom kinds, GPUs anywhere, starts by hand, priority, status of others, tokens: held")
    return tokens
