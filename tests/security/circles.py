"""circles: objects that own one another go when one is deleted in the foreground, and with their namespace."""
from harness import check, wait_for

NS = "circles"
CIRCLE = 3


def make(admin, kind, name, spec):
    """Three of a kind, each owned by the next, so that none may go before another has."""
    uids = []
    for i in range(CIRCLE):
        body = dict(spec, metadata={"name": f"{name}-{i}"})
        code, answer = admin.call("POST", f"/api/v1/namespaces/{NS}/{kind}", body)
        check(code == 201, f"{kind} {name}-{i}: {code} {answer}")
        uids.append(answer["metadata"]["uid"])
    for i in range(CIRCLE):
        after = (i + 1) % CIRCLE
        owner = {"apiVersion": "v1", "kind": {"pods": "Pod", "configmaps": "ConfigMap"}[kind], "name": f"{name}-{after}",
                 "uid": uids[after], "blockOwnerDeletion": True}
        code, answer = admin.call("PATCH", f"/api/v1/namespaces/{NS}/{kind}/{name}-{i}",
                                  {"metadata": {"ownerReferences": [owner]}}, kind="application/merge-patch+json")
        check(code == 200, f"the owner of {kind} {name}-{i}: {code} {answer}")


def count(admin, kind):
    code, answer = admin.call("GET", f"/api/v1/namespaces/{NS}/{kind}")
    check(code == 200, f"{kind}: {code}")
    return sum(not x["metadata"]["name"].startswith("kube-root-ca") for x in answer["items"])


def run(admin):
    gated = {"spec": {"schedulingGates": [{"name": "example.com/never"}],
                      "containers": [{"name": "c", "image": "none", "command": ["true"]}]}}
    code, answer = admin.call("POST", "/api/v1/namespaces", {"metadata": {"name": NS}})
    check(code == 201, f"namespace {NS}: {code} {answer}")
    make(admin, "pods", "p", gated)
    code, answer = admin.call("DELETE", f"/api/v1/namespaces/{NS}/pods/p-0?propagationPolicy=Foreground")
    check(code == 200, f"the deletion of p-0: {code} {answer}")
    wait_for("a circle of pods to go", lambda: count(admin, "pods") == 0, 60)
    make(admin, "pods", "q", gated)
    make(admin, "configmaps", "m", {"data": {}})
    code, answer = admin.call("DELETE", f"/api/v1/namespaces/{NS}")
    check(code == 200, f"the deletion of namespace {NS}: {code} {answer}")
    wait_for("a namespace with circles to go", lambda: admin.call("GET", f"/api/v1/namespaces/{NS}")[0] == 404, 60)
    print("circles of owners: three of three went")
