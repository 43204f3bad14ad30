"""matrix: every verb on every resource as every kind of user, over HTTP, against the table in matrix.txt.

A line of the table: verb, resource, scope (own: namespace team-a, other: team-b, all: no namespace, path), then one letter
a user: y (the request gets through to the object: any status but 401 and 403; for a path: 200) or - (it does not).
"""
import os

from api import Client, new_token

USERS = ["anonymous", "nobody", "view", "edit", "admin", "node"]
HERE = os.path.dirname(os.path.abspath(__file__))
VERBS = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]

CORE = "/api/v1"
NAMESPACED = {  # resource: (prefix, apiVersion, kind, subresources with the method they take)
    "pods": (CORE, "v1", "Pod", {"status": "update", "log": "get", "binding": "create", "eviction": "create"}),
    "secrets": (CORE, "v1", "Secret", {}),
    "configmaps": (CORE, "v1", "ConfigMap", {}),
    "serviceaccounts": (CORE, "v1", "ServiceAccount", {"token": "create"}),
    "events": (CORE, "v1", "Event", {}),
    "limitranges": (CORE, "v1", "LimitRange", {}),
    "jobs": ("/apis/batch/v1", "batch/v1", "Job", {"status": "patch"}),
    "leases": ("/apis/coordination.k8s.io/v1", "coordination.k8s.io/v1", "Lease", {}),
    "workloads": ("/apis/kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta2", "Workload", {"status": "patch"}),
    "localqueues": ("/apis/kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta2", "LocalQueue", {"status": "patch"}),
    "roles": ("/apis/rbac.authorization.k8s.io/v1", "rbac.authorization.k8s.io/v1", "Role", {}),
    "rolebindings": ("/apis/rbac.authorization.k8s.io/v1", "rbac.authorization.k8s.io/v1", "RoleBinding", {}),
    "localsubjectaccessreviews": ("/apis/authorization.k8s.io/v1", "authorization.k8s.io/v1",
                                  "LocalSubjectAccessReview", None),
}
CLUSTER = {
    "namespaces": (CORE, "v1", "Namespace", {"status": "update", "finalize": "update"}),
    "nodes": (CORE, "v1", "Node", {"status": "patch"}),
    "clusterqueues": ("/apis/kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta2", "ClusterQueue", {"status": "patch"}),
    "resourceflavors": ("/apis/kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta2", "ResourceFlavor", {}),
    "workloadpriorityclasses": ("/apis/kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta2", "WorkloadPriorityClass", {}),
    "priorityclasses": ("/apis/scheduling.k8s.io/v1", "scheduling.k8s.io/v1", "PriorityClass", {}),
    "clusterroles": ("/apis/rbac.authorization.k8s.io/v1", "rbac.authorization.k8s.io/v1", "ClusterRole", {}),
    "clusterrolebindings": ("/apis/rbac.authorization.k8s.io/v1", "rbac.authorization.k8s.io/v1",
                            "ClusterRoleBinding", {}),
    "subjectaccessreviews": ("/apis/authorization.k8s.io/v1", "authorization.k8s.io/v1", "SubjectAccessReview", None),
    "selfsubjectaccessreviews": ("/apis/authorization.k8s.io/v1", "authorization.k8s.io/v1",
                                 "SelfSubjectAccessReview", None),
    "selfsubjectrulesreviews": ("/apis/authorization.k8s.io/v1", "authorization.k8s.io/v1",
                                "SelfSubjectRulesReview", None),
    "selfsubjectreviews": ("/apis/authentication.k8s.io/v1", "authentication.k8s.io/v1", "SelfSubjectReview", None),
    "tokenreviews": ("/apis/authentication.k8s.io/v1", "authentication.k8s.io/v1", "TokenReview", None),
}
PATHS = ["/version", "/healthz", "/livez", "/readyz", "/metrics", "/api", "/apis", "/api/v1", "/apis/batch/v1",
         "/openapi/v2", "/openapi/v3", "/openid/v1/jwks", "/.well-known/openid-configuration", "/debug", "/nothing"]
# What only looks like a namespace's own: nobody gets the right for it by a binding in that namespace.
CROOKED = ["/api/v1/namespaces/team-a/nodes", "/api/v1/namespaces/team-a/namespaces/team-b",
           "/api/v1/watch/namespaces/team-b/secrets", "/api/v1/watch/secrets", "/api//v1///secrets",
           "/api/v1/namespaces/team-b/secrets/", "/api/v1/namespaces/team%2Db/secrets",
           "/api/v1/namespaces/team-b/pods/x/log", "/api/v1/namespaces/team-b/secrets?fieldSelector=metadata.namespace=team-a",
           "/api/v1/secrets?fieldSelector=metadata.namespace=team-a",
           "/apis/rbac.authorization.k8s.io/v1/namespaces/team-a/clusterrolebindings"]


def body_of(version, kind, ns):
    meta = {"name": "nope"}
    if ns:
        meta["namespace"] = ns
    body = {"apiVersion": version, "kind": kind, "metadata": meta}
    if kind == "Pod":
        body["spec"] = {"containers": [{"name": "c", "image": "i"}]}
    if kind.endswith("RoleBinding"):
        body["roleRef"] = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
    return body


def request_of(verb, prefix, version, kind, plural, ns, sub=None):
    """Method, path, body, content type. What changes is a dry run, and names an object that is not there."""
    path = prefix + (f"/namespaces/{ns}" if ns else "") + "/" + plural
    body = body_of(version, kind, ns)
    media = "application/json"
    if verb in ("get", "update", "patch", "delete") or sub:
        path += "/nope"
    if sub:
        path += "/" + sub
    method = {"get": "GET", "list": "GET", "watch": "GET", "create": "POST", "update": "PUT", "patch": "PATCH",
              "delete": "DELETE", "deletecollection": "DELETE"}[verb]
    if verb == "watch":
        path += "?watch=1&timeoutSeconds=1"
    elif method != "GET":
        path += "?dryRun=All"
    if verb == "patch":
        body, media = {"metadata": {"labels": {"a": "b"}}}, "application/merge-patch+json"
    return method, path, None if method in ("GET", "DELETE") else body, media


def cells():
    """(words of the line, method, path, body, media)"""
    for table, scopes in ((NAMESPACED, {"own": "team-a", "other": "team-b"}), (CLUSTER, {"all": None})):
        for plural, (prefix, version, kind, subs) in table.items():
            for scope, ns in scopes.items():
                if subs is None:
                    yield (("create", plural, scope),) + request_of("create", prefix, version, kind, plural, ns)
                    continue
                for verb in VERBS:
                    yield ((verb, plural, scope),) + request_of(verb, prefix, version, kind, plural, ns)
                for sub, verb in subs.items():
                    yield ((verb, f"{plural}/{sub}", scope),) + request_of(verb, prefix, version, kind, plural, ns, sub)
            if table is NAMESPACED and subs is not None:
                for verb in ("list", "watch"):
                    yield ((verb, plural, "all"),) + request_of(verb, prefix, version, kind, plural, None)
    for path in PATHS + CROOKED:
        yield ("get", path, "path"), "GET", path, None, None


def make_users(b, admin):
    """A client each; view, edit and admin have their role in team-a only."""
    for ns in ("team-a", "team-b"):
        admin.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ns}})
    users = {"anonymous": Client(b.port, b.data), "node": Client(b.port, b.data, cert="node"),
             "nobody": Client(b.port, b.data, new_token(admin, "nobody")[0])}
    for role in ("view", "edit", "admin"):
        users[role] = Client(b.port, b.data, new_token(admin, role + "-user")[0])
        code, answer = admin.call(
            "POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/team-a/rolebindings",
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": role},
             "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
             "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": role + "-user"}]})
        assert code == 201, answer
    return users


def run(users):
    """The table as it is."""
    lines = []
    for words, method, path, body, media in cells():
        letters = ""
        for name in USERS:
            code = users[name].status(method, path, body, media or "application/json")
            through = code == 200 if words[2] == "path" else code not in (401, 403)
            letters += "!" if code >= 500 else "y" if through else "-"
        lines.append(" ".join(words) + " " + letters)
    return lines


def expected():
    with open(os.path.join(HERE, "matrix.txt"), encoding="utf-8") as f:
        return [line.rstrip("\n") for line in f if not line.startswith("#") and line.strip()]


def reviews(admin):
    """Each cell again, asked for in a SubjectAccessReview: the same answer. What is in no namespace that exists, or only
    looks like a resource, cannot be asked for."""
    who = {"anonymous": ("system:anonymous", ["system:unauthenticated"]), "nobody": ("nobody", []),
           "view": ("view-user", []), "edit": ("edit-user", []), "admin": ("admin-user", [])}
    node = admin.call("GET", "/api/v1/nodes")[1]["items"][0]["metadata"]["name"]
    who["node"] = ("system:node:" + node, ["system:nodes"])
    lines = {tuple(line.split()[:-1]): line.split()[-1] for line in expected()}
    n = 0
    for words, _, path, _, _ in cells():
        verb, plural, scope = words
        if scope == "path":
            continue
        resource, _, sub = plural.partition("/")
        prefix, _, kind, subs = {**NAMESPACED, **CLUSTER}[resource]
        attributes = {"group": "" if prefix == CORE else prefix.split("/")[2], "version": prefix.split("/")[-1],
                      "resource": resource, "subresource": sub, "verb": verb}
        if scope in ("own", "other"):
            attributes["namespace"] = {"own": "team-a", "other": "team-b"}[scope]
        if verb in ("get", "update", "patch", "delete") or sub or (verb == "create" and resource in ("nodes", "leases")):
            attributes["name"] = "nope"
        for i, user in enumerate(USERS):
            name, groups = who[user]
            spec = {"user": name, "groups": groups + ([] if user == "anonymous" else ["system:authenticated"]),
                    "resourceAttributes": attributes}
            code, answer = admin.call("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                                      {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec})
            got = "y" if answer["status"]["allowed"] else "-"
            assert code == 201 and got == lines[words][i], f"{user} {words}: {got}, the request: {lines[words][i]}"
            n += 1
    return n
