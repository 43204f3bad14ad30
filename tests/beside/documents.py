"""documents: for each kind a path, valid documents, and random ones: valid ones with a few faults, by a seed."""
import copy
import json
import random

LABELS = {"app": "a"}
CONTAINER = {"name": "c", "image": "example.org/i:1", "command": ["run"], "args": ["a"],
             "env": [{"name": "A", "value": "1"},
                     {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k", "optional": True}}},
                     {"name": "D", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
             "envFrom": [{"prefix": "P_", "secretRef": {"name": "s"}}],
             "ports": [{"name": "http", "containerPort": 8080}, {"containerPort": 53, "protocol": "UDP"}],
             "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "1", "memory": "128Mi"}},
             "volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": True}, {"name": "e", "mountPath": "/e"}],
             "livenessProbe": {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 5},
             "readinessProbe": {"exec": {"command": ["true"]}, "initialDelaySeconds": 1},
             "lifecycle": {"preStop": {"exec": {"command": ["true"]}}},
             "securityContext": {"allowPrivilegeEscalation": False, "runAsNonRoot": True}}
POD = {"containers": [CONTAINER, {"name": "d", "image": "i"}], "initContainers": [{"name": "i", "image": "i"}],
       "volumes": [{"name": "v", "configMap": {"name": "m", "items": [{"key": "a", "path": "b"}]}},
                   {"name": "e", "emptyDir": {"sizeLimit": "1Gi"}}, {"name": "s", "secret": {"secretName": "s", "defaultMode": 420}},
                   {"name": "p", "projected": {"sources": [{"downwardAPI": {"items": [
                       {"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}}]}}],
       "nodeSelector": {"a": "b"}, "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}],
       "restartPolicy": "Always", "terminationGracePeriodSeconds": 5, "serviceAccountName": "default",
       "automountServiceAccountToken": False, "imagePullSecrets": [{"name": "r"}], "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["h"]}],
       "securityContext": {"runAsUser": 1000000001, "fsGroup": 1000000001, "sysctls": []},
       "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
           {"matchExpressions": [{"key": "z", "operator": "In", "values": ["a"]}]}]}},
           "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
               {"weight": 10, "podAffinityTerm": {"topologyKey": "t", "labelSelector": {"matchLabels": {"a": "b"}}}}]}},
       "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule",
                                      "labelSelector": {"matchLabels": {"a": "b"}}}]}
JOB_POD = dict(copy.deepcopy({k: v for k, v in POD.items() if k in ("containers", "volumes")}), restartPolicy="Never")


def template(spec=None):
    return {"metadata": {"labels": dict(LABELS), "annotations": {"n": "x"}}, "spec": copy.deepcopy(spec or POD)}


SELECTOR = {"matchLabels": {"app": "a"}, "matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b"]}]}
JOB = {"parallelism": 2, "completions": 3, "backoffLimit": 4, "activeDeadlineSeconds": 100, "ttlSecondsAfterFinished": 10,
       "completionMode": "Indexed", "suspend": True, "template": template(JOB_POD),
       "podFailurePolicy": {"rules": [{"action": "FailJob", "onExitCodes": {"containerName": "c", "operator": "In", "values": [3]}},
                                      {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}}
RULES = [{"apiGroups": [""], "resources": ["pods", "pods/log"], "verbs": ["get", "list"], "resourceNames": ["a"]},
         {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["*"]}]
SUBJECTS = [{"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"},
            {"kind": "ServiceAccount", "name": "default", "namespace": "beside"},
            {"kind": "Group", "name": "g", "apiGroup": "rbac.authorization.k8s.io"}]
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "s", "volumeMode": "Filesystem"}
CRD = {"group": "b.example.org", "names": {"plural": "things", "singular": "thing", "kind": "Thing", "shortNames": ["th"]},
       "scope": "Namespaced",
       "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
                     "additionalPrinterColumns": [{"name": "A", "type": "string", "jsonPath": ".spec.a"}],
                     "schema": {"openAPIV3Schema": {"type": "object", "required": ["spec"], "properties": {"spec": {
                         "type": "object", "properties": {
                             "a": {"type": "string", "maxLength": 10, "pattern": "^a", "default": "a"},
                             "n": {"type": "integer", "minimum": 1, "maximum": 5},
                             "l": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                                   "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}}}},
                         "x-kubernetes-validations": [{"rule": "!has(self.n) || self.n > 1", "message": "too small"}]}}}}}]}
POLICY = {"failurePolicy": "Fail", "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
          "matchConstraints": {"resourceRules": [{"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"],
                                                  "resources": ["deployments"]}]},
          "matchConditions": [{"name": "m", "expression": "request.userInfo.username != 'x'"}],
          "variables": [{"name": "r", "expression": "object.spec.replicas"}],
          "validations": [{"expression": "variables.r < 5", "message": "too many", "reason": "Invalid"}],
          "auditAnnotations": [{"key": "k", "valueExpression": "'a'"}]}

CORE, APPS, RBAC = "/api/v1", "/apis/apps/v1", "/apis/rbac.authorization.k8s.io/v1"
# kind: (path of the group version, plural, namespaced, members beside metadata)
KINDS = {
    "ConfigMap": (CORE, "configmaps", True, {"data": {"a": "1", "b.c": "x"}, "binaryData": {"d": "AAEC"}, "immutable": False}),
    "Secret": (CORE, "secrets", True, {"type": "Opaque", "data": {"a": "AAEC"}, "stringData": {"b": "x"}}),
    "ServiceAccount": (CORE, "serviceaccounts", True, {"secrets": [{"name": "s"}], "imagePullSecrets": [{"name": "r"}],
                                                      "automountServiceAccountToken": True}),
    "Service": (CORE, "services", True, {"spec": {
        "type": "ClusterIP", "clusterIP": "None", "selector": {"app": "a"}, "sessionAffinity": "None", "publishNotReadyAddresses": True,
        "ports": [{"name": "http", "port": 80, "targetPort": "http"}, {"name": "u", "port": 53, "protocol": "UDP", "targetPort": 5353}]}}),
    "Pod": (CORE, "pods", True, {"spec": POD}),
    "ReplicationController": (CORE, "replicationcontrollers", True, {"spec": {"replicas": 2, "selector": LABELS, "template": template()}}),
    "ResourceQuota": (CORE, "resourcequotas", True, {"spec": {
        "hard": {"pods": "10", "requests.cpu": "4", "limits.memory": "1Gi", "count/jobs.batch": "5"},
        "scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]}}}),
    "PersistentVolumeClaim": (CORE, "persistentvolumeclaims", True, {"spec": CLAIM}),
    "Deployment": (APPS, "deployments", True, {"spec": {
        "replicas": 2, "selector": SELECTOR, "template": template(), "minReadySeconds": 3, "revisionHistoryLimit": 2,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}}, "progressDeadlineSeconds": 60}}),
    "ReplicaSet": (APPS, "replicasets", True, {"spec": {"replicas": 2, "selector": SELECTOR, "template": template()}}),
    "StatefulSet": (APPS, "statefulsets", True, {"spec": {
        "serviceName": "s", "replicas": 2, "selector": SELECTOR, "template": template(), "podManagementPolicy": "Parallel",
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}},
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": CLAIM}],
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"}}}),
    "DaemonSet": (APPS, "daemonsets", True, {"spec": {
        "selector": SELECTOR, "template": template(), "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}}}}),
    "Job": ("/apis/batch/v1", "jobs", True, {"spec": JOB}),
    "CronJob": ("/apis/batch/v1", "cronjobs", True, {"spec": {
        "schedule": "*/5 * * * *", "timeZone": "Europe/Berlin", "concurrencyPolicy": "Forbid", "startingDeadlineSeconds": 100,
        "successfulJobsHistoryLimit": 1, "jobTemplate": {"metadata": {"labels": LABELS}, "spec": JOB}}}),
    "Ingress": ("/apis/networking.k8s.io/v1", "ingresses", True, {"spec": {
        "ingressClassName": "c", "defaultBackend": {"service": {"name": "s", "port": {"number": 80}}},
        "tls": [{"hosts": ["a.example.org"], "secretName": "t"}],
        "rules": [{"host": "a.example.org", "http": {"paths": [{"path": "/a", "pathType": "Prefix",
                                                               "backend": {"service": {"name": "s", "port": {"name": "http"}}}}]}}]}}),
    "PodDisruptionBudget": ("/apis/policy/v1", "poddisruptionbudgets", True, {"spec": {
        "minAvailable": "50%", "selector": SELECTOR, "unhealthyPodEvictionPolicy": "AlwaysAllow"}}),
    "Role": (RBAC, "roles", True, {"rules": RULES}),
    "RoleBinding": (RBAC, "rolebindings", True, {"subjects": SUBJECTS, "roleRef": {
        "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}}),
    "PriorityClass": ("/apis/scheduling.k8s.io/v1", "priorityclasses", False, {
        "value": 10, "description": "d", "preemptionPolicy": "Never", "globalDefault": False}),
    "StorageClass": ("/apis/storage.k8s.io/v1", "storageclasses", False, {
        "provisioner": "example.org/p", "parameters": {"a": "b"}, "reclaimPolicy": "Retain", "volumeBindingMode": "WaitForFirstConsumer",
        "mountOptions": ["ro"], "allowVolumeExpansion": True}),
    "Lease": ("/apis/coordination.k8s.io/v1", "leases", True, {"spec": {
        "holderIdentity": "h", "leaseDurationSeconds": 10, "leaseTransitions": 1, "renewTime": "2026-01-01T00:00:00.000000Z"}}),
    "CustomResourceDefinition": ("/apis/apiextensions.k8s.io/v1", "customresourcedefinitions", False, {"spec": CRD}),
    "ValidatingAdmissionPolicy": ("/apis/admissionregistration.k8s.io/v1", "validatingadmissionpolicies", False, {"spec": POLICY}),
}
NAMESPACE = "beside"


def collection(kind):
    version, plural, namespaced, _ = KINDS[kind]
    return f"{version}/namespaces/{NAMESPACE}/{plural}" if namespaced else f"{version}/{plural}"


def name_of(kind):
    return "things.b.example.org" if kind == "CustomResourceDefinition" else "b"


def valid(kind):
    version, _, namespaced, members = KINDS[kind]
    metadata = {"name": name_of(kind), "labels": {"l": "1"}, "annotations": {"a": "x"}}
    if namespaced:
        metadata["namespace"] = NAMESPACE
    api = version.removeprefix("/apis/").removeprefix("/api/")
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **copy.deepcopy(members)}


# ---- faults ----

TYPES = [None, True, False, 0, 1, -1, 7, 1.5, "", "x", "1", "true", [], {}, [None], ["x"], [1], {"a": "b"}, [{}], {"a": None}]
NUMBERS = [-1, 0, 1, 2, 10, 100, 65535, 65536, 2147483647, 2147483648, -2147483649, 9223372036854775807, 9223372036854775808, 1.0, 1e30]
STRINGS = ["", " ", "Bad_Name", "-a", "a-", "a.b", "a..b", "A", "a/b", "/a", "../a", "é", "a\nb", "a" * 63, "a" * 64, "a" * 253, "a" * 254,
           "1", "0", "*", "a:b", "a b", "$(A)", "example.org/x", "example.org/", "/x", "kubernetes.io/x", "Always", "Never", "TCP", "None",
           "10.0.0.1", "::1", "10.0.0", "a.example.org", "*.example.org", "http"]
QUANTITIES = ["0", "1", "-1", "1.5", "100m", "1Gi", "1e3", "0.0001", "1n", "1.0000000001", "abc", "", "1gi", "1 ", "9223372036854775808",
              "1E", "05", "+1", "1000m", "1024Mi", 1, 1.5, "0.1Ki", "50%", "101%", "-5%"]
NAMES = ["extra", "Name", "spec", "status", "metadata", "kind", "kubernetes.io/x", "a_b", "-", "", "Replicas", "0"]


def places(value, path=()):
    """Every member and element: (its parent, its key, how deep)."""
    found = []
    if isinstance(value, dict):
        for key, inner in value.items():
            found.append((value, key, path + (key,)))
            found += places(inner, path + (key,))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            found.append((value, i, path + (i,)))
            found += places(inner, path + (i,))
    return found


def other_value(r, old):
    """Something else for this value: mostly of its type."""
    if r.random() < 0.25:
        return r.choice(TYPES)
    if isinstance(old, bool):
        return not old
    if isinstance(old, (int, float)):
        return r.choice(NUMBERS)
    if isinstance(old, str):
        return r.choice(QUANTITIES if old[:1].isdigit() and r.random() < 0.7 else STRINGS)
    return copy.deepcopy(r.choice(TYPES))


def fault(r, document):
    all_places = [p for p in places(document) if p[2] not in (("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace"))
                  or r.random() < 0.1]
    parent, key, _ = r.choice(all_places)
    what = r.random()
    if what < 0.2:
        del parent[key]
    elif what < 0.65:
        parent[key] = other_value(r, parent[key])
    elif what < 0.72:
        parent[key] = None
    elif isinstance(parent, list):
        add_element(r, parent, key)
    elif what < 0.85:
        parent[r.choice(NAMES + STRINGS)] = copy.deepcopy(r.choice(TYPES + [parent[key]]))
    else:
        donor, at, _ = r.choice(all_places)  # a value from elsewhere in the document
        inner = donor[at] if (isinstance(donor, dict) and at in donor) or (isinstance(donor, list) and at < len(donor)) else "x"
        parent[key] = copy.deepcopy(inner)


def add_element(r, parent, key):
    """An element twice, or as another."""
    element = copy.deepcopy(parent[key])
    if isinstance(element, dict) and r.random() < 0.5:
        member = r.choice(list(element) or ["name"])
        element[member] = other_value(r, element.get(member))
    parent.insert(r.randrange(len(parent) + 1), element)


def random_document(kind, seed, number):
    """The text of a document: the same for the same kind, seed and number."""
    r = random.Random(f"{kind} {seed} {number}")
    document = valid(kind)
    for _ in range(r.choice([1, 1, 1, 1, 2, 2, 3])):
        fault(r, document)
    text = json.dumps(document)
    if r.random() < 0.02 and text.count('"spec": {') == 1:
        text = text.replace('"spec": {', '"spec": {"paused": true, "paused": false, ')
    return text
