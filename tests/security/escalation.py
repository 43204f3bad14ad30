"""escalation: rights that grow, users that pretend, tokens that live too long, members that are not the user's."""
import base64
import json
import time

from api import Client, new_token
from harness import check, wait_for

RBAC = "/apis/rbac.authorization.k8s.io/v1"
MERGE = "application/merge-patch+json"


def refused(answer, what, codes=(403,)):
    check(answer[0] in codes, f"{what}: {answer[0]} {answer[1]}")


def role(kind, name, ns, rules):
    meta = {"name": name, "namespace": ns} if ns else {"name": name}
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": meta, "rules": rules}


def binding(kind, name, ns, ref, user):
    meta = {"name": name, "namespace": ns} if ns else {"name": name}
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": meta,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": ref},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]}


def more_rights(admin, users):
    """The admin of team-a gives nobody what they do not hold themselves."""
    a = users["admin"]
    roles, bindings = RBAC + "/namespaces/team-a/roles", RBAC + "/namespaces/team-a/rolebindings"
    every = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    some = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    refused(a.call("POST", roles, role("Role", "all", "team-a", [every])), "a role of everything")
    refused(a.call("POST", roles, role("Role", "bind", "team-a", [
        {"apiGroups": [""], "resources": ["pods/binding"], "verbs": ["create"]}])), "a role that binds pods")
    check(a.call("POST", roles, role("Role", "some", "team-a", [some]))[0] == 201, "a role of what the admin holds")
    refused(a.call("PATCH", roles + "/some", {"rules": [every]}, MERGE), "a role that grows by patch")
    refused(a.call("PUT", roles + "/some", role("Role", "some", "team-a", [every])), "a role that grows by update")
    refused(a.call("POST", bindings, binding("RoleBinding", "up", "team-a", "cluster-admin", "admin-user")),
            "a binding to cluster-admin")
    refused(a.call("POST", RBAC + "/clusterrolebindings",
                   binding("ClusterRoleBinding", "up", None, "cluster-admin", "admin-user")), "a cluster-wide binding")
    refused(users["edit"].call("POST", bindings, binding("RoleBinding", "up", "team-a", "admin", "edit-user")),
            "a binding by an editor")


def all_of_one_namespace(b, admin):
    """Every right in one namespace is none outside of it, nor over what frees slices."""
    token, _ = new_token(admin, "owner")
    admin.call("POST", RBAC + "/namespaces/team-a/rolebindings",
               binding("RoleBinding", "owner", "team-a", "cluster-admin", "owner"))
    c = Client(b.port, b.data, token)
    check(c.call("GET", "/api/v1/namespaces/team-a/secrets")[0] == 200, "the owner owns the namespace")
    for path in ("/api/v1/nodes", "/api/v1/namespaces/team-b/secrets", "/api/v1/secrets", "/api/v1/namespaces/team-b",
                 "/api/v1/namespaces/team-a/nodes", "/api/v1/namespaces/team-a/namespaces/team-b",
                 RBAC + "/namespaces/team-a/clusterroles", RBAC + "/namespaces/team-a/clusterrolebindings",
                 "/api/v1/watch/namespaces/team-a/nodes"):
        refused(c.call("GET", path), path, (403, 404))
    refused(c.call("POST", RBAC + "/namespaces/team-a/clusterrolebindings",
                   binding("ClusterRoleBinding", "up", None, "cluster-admin", "owner")),
            "a cluster-wide binding below a namespace", (403, 404))
    check(admin.call("GET", RBAC + "/clusterrolebindings/up")[0] == 404, "no such binding was made")
    refused(c.call("POST", "/api/v1/namespaces/team-a/namespaces", {"metadata": {"name": "mine"}}),
            "a namespace below a namespace", (403, 404))
    refused(c.call("PATCH", "/api/v1/namespaces/team-a/pods/x/status", {"status": {"phase": "Succeeded"}}, MERGE),
            "the status of a pod")
    refused(c.call("PATCH", "/apis/kueue.x-k8s.io/v1beta2/namespaces/team-a/workloads/x/status", {"status": {}}, MERGE),
            "the status of a Workload")
    refused(c.call("POST", "/api/v1/namespaces/team-a/pods/x/binding", {"target": {"name": "n"}}), "a binding of a pod")
    return token


def one_name(b, admin):
    """resourceNames hold for lists and watches, in both spellings of a watch."""
    for name, ns in (("shown", "team-a"), ("hidden", "team-a")):
        admin.call("POST", f"/api/v1/namespaces/{ns}/configmaps", {"metadata": {"name": name}, "data": {"k": name}})
    admin.call("POST", RBAC + "/namespaces/team-a/roles", role("Role", "one", "team-a", [
        {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["shown"], "verbs": ["get", "list", "watch"]}]))
    bind = binding("RoleBinding", "one", "team-a", "one", "one")
    bind["roleRef"]["kind"] = "Role"
    admin.call("POST", RBAC + "/namespaces/team-a/rolebindings", bind)
    token, _ = new_token(admin, "one")
    c = Client(b.port, b.data, token)
    base = "/api/v1/namespaces/team-a/configmaps"
    refused(c.call("GET", base), "a list of all")
    refused(c.call("GET", base + "/hidden"), "the other name")
    for path in (base + "?fieldSelector=metadata.name=shown", base + "/shown",
                 base + "?watch=1&timeoutSeconds=1&fieldSelector=metadata.name=shown",
                 "/api/v1/watch/namespaces/team-a/configmaps/shown?timeoutSeconds=1",
                 "/api/v1/watch/namespaces/team-a/configmaps/shown?timeoutSeconds=1&fieldSelector=metadata.name!=x"):
        code, answer = c.call("GET", path)
        check(code == 200 and "shown" in str(answer) and "hidden" not in str(answer), f"{path}: {code} {answer}")
    return token


def pretend(admin, users):
    """Acting as somebody else takes the right to."""
    def as_(client, user, group=None):
        headers = {"Impersonate-User": user}
        if group:
            headers["Impersonate-Group"] = group
        return client.call("GET", "/api/v1/secrets", headers=headers)

    for who in ("nobody", "edit", "admin", "node"):
        refused(as_(users[who], "berth-admin", "system:masters"), f"{who} as an administrator")
        refused(as_(users[who], "system:serviceaccount:kube-system:default"), f"{who} as another's service account")
    refused(as_(users["edit"], "system:serviceaccount:team-a:default", "system:masters"), "a group on top")
    refused(users["edit"].call("GET", "/api/v1/secrets", headers={"Impersonate-Group": "system:masters"}),
            "a group without a user", (400, 403))
    refused(as_(users["anonymous"], "berth-admin", "system:masters"), "nobody known as an administrator")
    check(as_(admin, "nobody")[0] == 403, "an administrator as nobody has no rights")


def token_life(b, admin):
    """Expired, revoked, changed, of a gone account: 401 at the next request."""
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    token, secret = new_token(admin, "brief", ["system:masters"])
    c = Client(b.port, b.data, token)
    check(c.call("POST", path, {})[1]["status"]["userInfo"]["username"] == "brief", "a token is a user")
    check(Client(b.port, b.data, new_token(admin, "old", expires="2001-01-01T00:00:00Z")[0]).call("POST", path, {})[0] == 401,
          "an expired token is refused")
    for wrong in (token[:-1] + ("A" if token[-1] != "A" else "B"), token + "A", token[:-1], "berth_", "x" * 20000,
                  token.upper()):
        check(Client(b.port, b.data, wrong).call("POST", path, {})[0] in (400, 401, 431), f"token {wrong[:20]}... is refused")
    text = str(admin.call("GET", "/api/v1/namespaces/kube-system/secrets")[1])
    check(token not in text and base64.b64encode(token.encode()).decode() not in text, "hashes alone are stored")
    stream = Client(b.port, b.data, token)
    watch = stream.open("GET", "/api/v1/secrets?watch=1")
    check(watch.status == 200, "a watch starts")
    admin.call("DELETE", "/api/v1/namespaces/kube-system/secrets/" + secret)
    check(c.call("POST", path, {})[0] == 401, "a revoked token is refused at once")
    watch.read()  # ends by itself: its user is gone
    stream.close()
    return token


def account_tokens(b, admin):
    """Tokens of service accounts: forged, for others, of an account that was made anew."""
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    accounts = "/api/v1/namespaces/team-a/serviceaccounts"
    check(admin.call("POST", accounts, {"metadata": {"name": "robot"}})[0] == 201, "an account is made")
    code, answer = admin.call("POST", accounts + "/robot/token", {"spec": {}})
    check(code == 201, f"a token for an account: {code} {answer}")
    token = answer["status"]["token"]
    head, claims, sig = token.split(".")

    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    def code_of(text):
        return Client(b.port, b.data, text).call("POST", path, {})[0]

    body = json.loads(base64.urlsafe_b64decode(claims + "=="))
    check(code_of(token) == 201, "the token is good")
    for what, forged in {
            "none": part({"alg": "none"}) + "." + claims + ".", "no signature": head + "." + claims + ".",
            "HS256": part({"alg": "HS256", "kid": body["iss"]}) + "." + claims + "." + sig,
            "another account": head + "." + part(dict(body, sub="system:serviceaccount:kube-system:default")) + "." + sig,
            "later": head + "." + part(dict(body, exp=body["exp"] + 10 ** 6)) + "." + sig,
            "kid that is a path": part({"alg": "ES256", "kid": "../../../dev/null"}) + "." + claims + "." + sig}.items():
        check(code_of(forged) == 401, f"a forged token ({what}) is refused")
    _, other = admin.call("POST", accounts + "/robot/token", {"spec": {"audiences": ["somebody-else"]}})
    check(code_of(other["status"]["token"]) == 401, "a token for somebody else's ears is refused")
    admin.call("DELETE", accounts + "/robot")
    admin.call("POST", accounts, {"metadata": {"name": "robot"}})
    check(code_of(token) == 401, "the token of a deleted account does not fit one of the same name")
    return token


def rights_end(b, admin):
    """A watch ends when the right to it does."""
    token, _ = new_token(admin, "fleeting")
    path = RBAC + "/namespaces/team-a/rolebindings"
    admin.call("POST", path, binding("RoleBinding", "fleeting", "team-a", "view", "fleeting"))
    c = Client(b.port, b.data, token)
    watch = c.open("GET", "/api/v1/namespaces/team-a/configmaps?watch=1")
    check(watch.status == 200, "a watch starts")
    admin.call("DELETE", path + "/fleeting")
    watch.read()
    c.close()
    check(c.call("GET", "/api/v1/namespaces/team-a/configmaps")[0] == 403, "the right is gone")
    return token


def controllers_members(users):
    """What the scheduler writes is refused from others: nobody places themselves."""
    e = users["edit"]
    path = "/api/v1/namespaces/team-a/pods"
    gpu = {"limits": {"nvidia.com/mig-1g.18gb": "1"}}

    def pod(meta=None, **spec):
        container = {"name": "c", "image": "i", "command": ["sleep", "60"], "resources": spec.pop("resources", {})}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": dict({"name": "own"}, **(meta or {})),
                "spec": dict({"containers": [container]}, **spec)}

    refused(e.call("POST", path, pod(nodeName="n")), "a pod that names its node")
    refused(e.call("POST", path, pod({"annotations": {"berth.dev/devices": "[]"}})), "a pod that names its slice")
    refused(e.call("POST", path, pod({"generateName": "x-", "name": ""}, nodeName="n")), "by generateName, too")
    refused(e.call("POST", path, pod(resources=gpu)), "a GPU without a queue")
    check(e.call("POST", path, pod({"name": "gated"}, schedulingGates=[{"name": "x"}]))[0] == 201, "a plain pod")
    for patch, media in (({"metadata": {"annotations": {"berth.dev/devices": "[]"}}}, MERGE),
                         ([{"op": "add", "path": "/spec/nodeName", "value": "n"}], "application/json-patch+json"),
                         ({"spec": {"nodeName": "n"}}, "application/strategic-merge-patch+json")):
        refused(e.call("PATCH", path + "/gated", patch, media), f"a patch {patch}", (403, 422))
    template = {"template": {"spec": {"restartPolicy": "Never", "containers": [
        {"name": "c", "image": "i", "command": ["true"], "resources": gpu}]}}}
    jobs = "/apis/batch/v1/namespaces/team-a/jobs"
    refused(e.call("POST", jobs, {"metadata": {"name": "j"}, "spec": template}), "a Job with a GPU and no queue")
    refused(e.call("POST", jobs, {"metadata": {"name": "j", "labels": {"kueue.x-k8s.io/queue-name": "q"},
                                               "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "x",
                                                                    "uid": "u", "controller": True}]},
                                  "spec": template}), "a Job with a GPU under a controller of its own")
    work = "/apis/kueue.x-k8s.io/v1beta2/namespaces/team-a/workloads"
    refused(e.call("POST", work, {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": "w", "annotations": {"berth.dev/placement": "[]"}},
                                  "spec": {"queueName": "q", "podSets": [dict(template, name="main", count=1)]}}),
            "a Workload that names its place")
    e.call("DELETE", path + "/gated?gracePeriodSeconds=0")


def node_limits(admin, users):
    """A node's credential reads no Secret of no pod of its own, and writes no other's Node, Lease or pod."""
    n = users["node"]
    admin.call("POST", "/api/v1/namespaces/team-b/secrets", {"metadata": {"name": "gem"}, "data": {"k": "eA=="}})
    for path in ("/api/v1/secrets", "/api/v1/namespaces/team-b/secrets", "/api/v1/namespaces/team-b/secrets/gem",
                 "/api/v1/namespaces/kube-system/secrets", "/api/v1/pods", "/api/v1/namespaces/team-b/pods?watch=1",
                 "/api/v1/pods?fieldSelector=spec.nodeName=other"):
        refused(n.call("GET", path), "a node reads " + path)
    refused(n.call("PATCH", "/api/v1/nodes/other", {"metadata": {"labels": {"a": "b"}}}, MERGE), "another's Node")
    refused(n.call("POST", "/api/v1/nodes", {"metadata": {"name": "other"}}), "a further Node")
    refused(n.call("POST", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
                   {"metadata": {"name": "other"}, "spec": {}}), "another's Lease")
    admin.call("POST", "/api/v1/namespaces/team-b/pods", {
        "metadata": {"name": "theirs"}, "spec": {"nodeName": "other", "containers": [{"name": "c", "image": "i"}]}})
    refused(n.call("PATCH", "/api/v1/namespaces/team-b/pods/theirs/status", {"status": {"phase": "Failed"}}, MERGE),
            "the status of another node's pod")
    refused(n.call("DELETE", "/api/v1/namespaces/team-b/pods/theirs"), "another node's pod")
    admin.call("DELETE", "/api/v1/namespaces/team-b/pods/theirs?gracePeriodSeconds=0")


def run(b, admin, users):
    """The tokens that were used."""
    more_rights(admin, users)
    tokens = [all_of_one_namespace(b, admin), one_name(b, admin)]
    pretend(admin, users)
    controllers_members(users)
    node_limits(admin, users)
    tokens += [account_tokens(b, admin), rights_end(b, admin), token_life(b, admin)]
    print("escalation, impersonation, tokens, controllers' members, node: held")
    return tokens
