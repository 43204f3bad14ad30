"""loop: what a GitOps controller after Flux does: dry run on the server, difference, apply, prune; until nothing differs."""
import json

from parts import Client, check

LOOP = Client("A GitOps loop", [
    "Each round applies every manifest with `dryRun=All`, compares what comes back with what is there, without managedFields,",
    "applies what differs, and deletes what an earlier round had and this one has not."])
part = LOOP.part

LABELS = {"labels": {"toolkit": "loop"}}
POD = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [
    {"name": "c", "image": "busybox", "command": ["sleep", "1000"], "ports": [{"containerPort": 80}],
     "resources": {"requests": {"cpu": "0.01", "memory": "16Mi"}}}]}}
MANIFESTS = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": dict(LABELS, name="looped")},
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": dict(LABELS, name="c", namespace="looped"), "data": {"a": "1"}},
    {"apiVersion": "v1", "kind": "Secret", "metadata": dict(LABELS, name="s", namespace="looped"), "stringData": {"p": "x"}},
    {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": dict(LABELS, name="a", namespace="looped")},
    {"apiVersion": "v1", "kind": "Service", "metadata": dict(LABELS, name="w", namespace="looped"),
     "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}},
    {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": dict(LABELS, name="w", namespace="looped"),
     "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": POD}},
    {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": dict(LABELS, name="s", namespace="looped"),
     "spec": {"replicas": 0, "serviceName": "w", "selector": {"matchLabels": {"app": "web"}}, "template": POD}},
    {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": dict(LABELS, name="j", namespace="looped"),
     "spec": {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": {"spec": dict(
         POD["spec"], restartPolicy="Never")}}}}},
    {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": dict(LABELS, name="i", namespace="looped"),
     "spec": {"rules": [{"http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": {
         "service": {"name": "w", "port": {"number": 80}}}}]}}]}},
    {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": dict(LABELS, name="n", namespace="looped"),
     "spec": {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{"ports": [{"port": 80}]}]}},
    {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": dict(LABELS, name="b", namespace="looped"),
     "spec": {"maxUnavailable": "50%", "selector": {"matchLabels": {"app": "web"}}}},
    {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": dict(LABELS, name="r", namespace="looped"),
     "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]},
    {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": dict(LABELS, name="r", namespace="looped"),
     "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
     "subjects": [{"kind": "ServiceAccount", "name": "a", "namespace": "looped"}]},
    {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": dict(LABELS, name="q", namespace="looped"),
     "spec": {"hard": {"pods": "10", "requests.cpu": "2"}}},
]
APPLY = ["apply", "--server-side", "--field-manager=loop", "--force-conflicts", "-o", "json", "-f", "-"]


def bare(o):
    """What is compared: status, managedFields and versions are others'."""
    meta = {k: v for k, v in o["metadata"].items() if k not in ("managedFields", "resourceVersion", "generation")}
    return {**{k: v for k, v in o.items() if k != "status"}, "metadata": meta}


def live(b, o):
    done = b.kubectl("get", f"{o['kind']}.v1.{o['apiVersion'].rpartition('/')[0]}", o["metadata"]["name"], "-n",
                     o["metadata"].get("namespace", "default"), "-o", "json", "--ignore-not-found")
    return json.loads(done) if done else None


def drift(b, o):
    """Whether an apply would change the object: None, or what differs."""
    there = live(b, o)
    if there is None:
        return "it is not there"
    would = json.loads(b.kubectl(*APPLY[:-2], "--dry-run=server", "-f", "-", stdin=json.dumps(o)))
    return None if bare(there) == bare(would) else json.dumps([bare(there), bare(would)])


def settle(b, manifests):
    """One round; the names of what it applied."""
    changed = [o for o in manifests if drift(b, o)]
    for o in changed:
        b.kubectl(*APPLY, stdin=json.dumps(o))
    return [f"{o['kind']}/{o['metadata']['name']}" for o in changed]


@part("first round", "everything is applied")
def _(b):
    check(len(settle(b, MANIFESTS)) == len(MANIFESTS), "everything was new")


@part("second round", "nothing differs, nor ever again")
def _(b):
    again = settle(b, MANIFESTS)
    check(again == [], f"applied again: {again}: {[drift(b, o) for o in MANIFESTS]}")


@part("a change by hand", "is put back")
def _(b):
    b.kubectl("patch", "configmap", "c", "-n", "looped", "--type=merge", "-p", '{"data":{"a":"2"}}')
    check(settle(b, MANIFESTS) == ["ConfigMap/c"], "the one that was changed")
    check(settle(b, MANIFESTS) == [], "and then nothing")


@part("fields of others", "are left alone")
def _(b):
    b.kubectl("annotate", "deployment", "w", "-n", "looped", "others=yes")
    check(settle(b, MANIFESTS) == [], "an annotation of somebody else is no difference")


@part("prune", "what is no longer there is deleted")
def _(b):
    b.kubectl("delete", "ingress", "i", "-n", "looped")
    rest = [o for o in MANIFESTS if o["kind"] != "Ingress"]
    check(settle(b, rest) == [], "the others stay as they are")
    b.kubectl("delete", "namespace", "looped", "--timeout=60s")
