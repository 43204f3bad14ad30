#!/usr/bin/env python3
"""apply: server-side apply as people and GitOps tools use it.   apply.py BERTH KUBECTL [TEST...]"""
import json
import os
import ssl
import sys
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from harness import check, run_tests, wait_for, with_default_queue

MAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


def config_map(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def deployment(name="web", replicas=1, **container):
    spec = {"selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}},
                         "spec": {"containers": [dict({"name": "main", "image": "none",
                                                       "command": ["sleep", "100000"]}, **container)]}}}
    if replicas is not None:
        spec["replicas"] = replicas
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def ssa(b, obj, *args, ok=True):
    return b.kubectl("apply", "--server-side", *args, "-f", "-", stdin=json.dumps(obj), ok=ok)


def managers(b, *what):
    """Who manages what: {(name, operation, subresource): fields}."""
    got = json.loads(b.kubectl("get", *what, "-o", "json", "--show-managed-fields"))
    return {(e["manager"], e["operation"], e.get("subresource", "")): e["fieldsV1"]
            for e in got["metadata"].get("managedFields", [])}


class Raw:
    """Requests as no kubectl sends them, with the administrator's certificate."""

    def __init__(self, b):
        view = json.loads(b.kubectl("config", "view", "--raw", "-o", "json"))
        user, cluster = view["users"][0]["user"], view["clusters"][0]["cluster"]
        self.server = cluster["server"]
        self.context = ssl.create_default_context(cadata=self.pem(cluster["certificate-authority-data"]))
        self.headers = {}
        if "token" in user:
            self.headers["Authorization"] = f"Bearer {user['token']}"
        else:
            pair = os.path.join(b.root, "pair.pem")
            with open(pair, "w", encoding="ascii") as f:
                f.write(self.pem(user["client-certificate-data"]) + self.pem(user["client-key-data"]))
            self.context.load_cert_chain(pair)

    @staticmethod
    def pem(text):
        import base64
        return base64.b64decode(text).decode()

    def __call__(self, method, path, body=None, kind="application/json", agent="test/1", **headers):
        data = body if isinstance(body, (bytes, type(None))) else \
            body.encode() if isinstance(body, str) else json.dumps(body).encode()
        request = urllib.request.Request(self.server + path, data=data, method=method, headers=dict(
            self.headers, **{"Content-Type": kind, "User-Agent": agent}, **headers))
        try:
            with urllib.request.urlopen(request, context=self.context) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as e:
            return e.code, json.load(e)

    def apply(self, path, body, manager="m", force=False, more=""):
        return self("PATCH", f"{path}?fieldManager={manager}&force={str(force).lower()}{more}", body,
                    "application/apply-patch+yaml")


def test_two_managers(b):
    ssa(b, config_map("x", a="1", b="1"), "--field-manager=one")
    done = ssa(b, config_map("x", a="2"), "--field-manager=two", ok=False)
    check(done.returncode != 0 and 'Apply failed with 1 conflict: conflict with "one": .data.a' in done.stderr,
          f"the conflict is told: {done.stderr}")
    done = ssa(b, config_map("x", a="2", b="2"), "--field-manager=two", ok=False)
    check('Apply failed with 2 conflicts: conflicts with "one":\n- .data.a\n- .data.b' in done.stderr,
          f"and all of them: {done.stderr}")
    ssa(b, config_map("x", a="1"), "--field-manager=two")
    check(managers(b, "cm", "x") == {("one", "Apply", ""): {"f:data": {"f:a": {}, "f:b": {}}},
                                     ("two", "Apply", ""): {"f:data": {"f:a": {}}}}, "an equal value is shared")
    ssa(b, config_map("x", a="2"), "--field-manager=two", "--force-conflicts")
    check(b.get("cm", "x")["data"] == {"a": "2", "b": "1"}, "force takes it")
    check(managers(b, "cm", "x")[("one", "Apply", "")] == {"f:data": {"f:b": {}}}, "from its manager")
    ssa(b, config_map("x", b="1"), "--field-manager=one")
    check(b.get("cm", "x")["data"] == {"a": "2", "b": "1"}, "what another has stays")
    ssa(b, {k: v for k, v in config_map("x").items() if k != "data"}, "--field-manager=two")
    check(b.get("cm", "x")["data"] == {"b": "1"}, "what nobody has goes")
    check("managedFields" not in b.kubectl("get", "cm", "x", "-o", "yaml"), "kubectl does not show managers unasked")


def test_from_client_side(b):
    b.apply(config_map("x", a="1", b="1"))
    check(("kubectl-client-side-apply", "Update", "") in managers(b, "cm", "x"), "client-side apply is tracked")
    out = ssa(b, config_map("x", a="2"))
    check("serverside-applied" in out, f"kubectl goes over: {out}")
    got = b.get("cm", "x")
    check(got["data"] == {"a": "2"}, f"what it left out goes: {got['data']}")
    who = managers(b, "cm", "x")
    check(("kubectl", "Apply", "") in who and ("kubectl-client-side-apply", "Update", "") not in who,
          f"and is a manager of its own: {who}")
    last = json.loads(got["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"])
    check(last["data"] == {"a": "2"}, f"the annotation is kept: {last}")
    rv = got["metadata"]["resourceVersion"]
    ssa(b, config_map("x", a="2"))
    check(b.get("cm", "x")["metadata"]["resourceVersion"] == rv, "applying the same again writes nothing")
    b.apply(config_map("x", a="3"))
    check(b.get("cm", "x")["data"] == {"a": "3"}, "and back to client-side apply")


def test_diff(b):
    ssa(b, deployment())
    same = b.kubectl("diff", "--server-side", "-f", "-", stdin=json.dumps(deployment()), ok=False)
    check(same.returncode == 0, f"no difference: {same.stdout}{same.stderr}")
    other = b.kubectl("diff", "--server-side", "-f", "-", stdin=json.dumps(deployment(replicas=2)), ok=False)
    check(other.returncode == 1 and "+  replicas: 2" in other.stdout, f"one line: {other.stdout}{other.stderr}")


def test_prune(b):
    b.env["KUBECTL_APPLYSET"] = "true"
    both = "\n---\n".join(json.dumps(config_map(n, a="1")) for n in ("p", "q"))
    prune = ("apply", "--server-side", "-n", "default", "--prune", "--applyset=configmap/parts", "-f", "-")
    b.kubectl(*prune, stdin=both)
    out = b.kubectl(*prune, stdin=json.dumps(config_map("p", a="2")))
    check("configmap/q pruned" in out, f"what is left out goes: {out}")
    check(b.kubectl("get", "cm", "q", ok=False).returncode != 0, "it is gone")
    check(b.get("cm", "p")["data"] == {"a": "2"}, "what stays is applied")


def test_a_loop_settles(b):
    """As Flux: a dry run, compared without managed fields, then the apply; the second round finds nothing to do."""
    raw = Raw(b)
    objects = [
        (MAPS + "/x", config_map("x", a="1")),
        (DEPLOYMENTS + "/web", deployment(ports=[{"containerPort": 80}], resources={
            "requests": {"cpu": "1000m", "memory": "1Gi"}, "limits": {"cpu": "2"}}, env=[{"name": "A", "value": "1"}])),
        ("/api/v1/namespaces/default/services/web", {
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
            "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}}),
        ("/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles/r", {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r"},
            "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}),
    ]
    for path, obj in objects:
        code, dry = raw.apply(path, obj, "flux", True, "&dryRun=All")
        check(code == 201 and dry["metadata"]["managedFields"], f"{path}: {code} {dry}")
        check(raw("GET", path)[0] == 404, "a dry run makes nothing")
        check(raw.apply(path, obj, "flux", True)[0] == 201, "it is created")

    def round_():
        changed = 0
        for path, obj in objects:
            live = raw("GET", path)[1]
            code, dry = raw.apply(path, obj, "flux", True, "&dryRun=All")
            check(code == 200, f"{code} {dry}")
            changed += [without(live) != without(dry)].count(True)
            rv = live["metadata"]["resourceVersion"]
            after = raw.apply(path, obj, "flux", True)[1]
            if without(live) == without(after) and after["metadata"]["resourceVersion"] != rv and "status" not in live:
                changed += 1
        return changed

    def without(o):
        return {k: v for k, v in dict(o, metadata={k: v for k, v in o["metadata"].items() if k not in (
            "managedFields", "resourceVersion")}).items() if k != "status"}

    wait_for("the controllers to be done", lambda: round_() == 0, 15)
    check(round_() == 0, "the loop has nothing to do")


CRD = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
       "metadata": {"name": "things.example.com"},
       "spec": {"group": "example.com", "scope": "Namespaced",
                "names": {"plural": "things", "kind": "Thing", "singular": "thing"},
                "versions": [{"name": v, "served": True, "storage": v == "v1", "subresources": {"status": {}},
                              "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                                  "status": {"type": "object", "properties": {"n": {"type": "integer"}}},
                                  "spec": {"type": "object", "properties": {
                                      "n": {"type": "integer", "default": 5},
                                      "list": {"type": "array", "x-kubernetes-list-type": "map",
                                               "x-kubernetes-list-map-keys": ["name", "kind"],
                                               "items": {"type": "object", "required": ["name"], "properties": {
                                                   "name": {"type": "string"}, "v": {"type": "string"},
                                                   "kind": {"type": "string", "default": "K"}}}},
                                      "set": {"type": "array", "x-kubernetes-list-type": "set",
                                              "items": {"type": "string"}},
                                      "plain": {"type": "array", "items": {"type": "string"}},
                                      "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}}}}}
                             for v in ("v1", "v2")]}}


def thing(version="v1", **spec):
    return {"apiVersion": f"example.com/{version}", "kind": "Thing", "metadata": {"name": "t"}, "spec": spec}


def test_custom_kinds(b):
    b.apply(CRD)
    b.kubectl("wait", "--for=condition=Established", "crd/things.example.com", "--timeout=10s")
    ssa(b, thing(list=[{"name": "a", "v": "1"}], set=["x"], plain=["p"], free={"m": {"n": 1}}), "--field-manager=one")
    ssa(b, thing(list=[{"name": "b", "v": "2"}, {"name": "a", "kind": "L"}], set=["y"]), "--field-manager=two")
    spec = b.get("thing", "t")["spec"]
    check(spec["list"] == [{"name": "a", "v": "1", "kind": "K"}, {"name": "b", "v": "2", "kind": "K"},
                           {"name": "a", "kind": "L"}], f"elements are told by their keys: {spec['list']}")
    check(spec["set"] == ["x", "y"] and spec["n"] == 5, f"{spec}")
    done = ssa(b, thing(plain=["q"], list=[{"name": "a", "v": "9"}]), "--field-manager=two", ok=False)
    check('- .spec.list[kind="K",name="a"].v' in done.stderr and "- .spec.plain" in done.stderr, done.stderr)
    ssa(b, thing("v2", set=["x"]), "--field-manager=one")
    spec = b.get("thing", "t")["spec"]
    check([e["name"] for e in spec["list"]] == ["b", "a"] and "free" not in spec and "plain" not in spec,
          f"in another version what was left out goes as well: {spec}")
    raw = Raw(b)
    code, got = raw.apply("/apis/example.com/v1/namespaces/default/things/t/status",
                          dict(thing(), status={"n": 1}), "status")
    check(code == 200 and got["status"] == {"n": 1}, f"{code} {got}")
    who = managers(b, "thing", "t")
    check(who[("status", "Apply", "status")] == {"f:status": {"f:n": {}}}, f"{who}")
    code, got = raw.apply("/apis/example.com/v1/namespaces/default/things/t/status",
                          dict(thing(), status={"n": 2}), "other")
    check(code == 409 and got["message"] == 'Apply failed with 1 conflict: conflict with "status" with subresource '
          '"status": .status.n', f"{code} {got}")
    code, got = raw.apply("/apis/example.com/v1/namespaces/default/things/t", thing(nope=1), "one")
    check(code == 422 and got["message"] == "failed to create typed patch object (default/t; example.com/v1, "
          "Kind=Thing): .spec.nope: field not declared in schema", f"{code} {got}")


def test_writes_between(b):
    ssa(b, deployment(replicas=2))
    b.kubectl("scale", "deployment/web", "--replicas=3")
    who = managers(b, "deployment", "web")
    check(who[("kubectl", "Update", "scale")] == {"f:spec": {"f:replicas": {}}}, f"scale is a manager: {who.keys()}")
    done = ssa(b, deployment(replicas=2), ok=False)
    check('conflict with "kubectl" with subresource "scale" using apps/v1: .spec.replicas' in done.stderr, done.stderr)
    ssa(b, deployment(replicas=None))
    check(b.get("deployment", "web")["spec"]["replicas"] == 3, "left to the scaler it stays")
    raw = Raw(b)
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web"}, "spec": {"replicas": 4}}
    code, got = raw.apply(DEPLOYMENTS + "/web/scale", scale, "scaler")
    check(code == 409 and got["details"]["causes"][0]["field"] == ".spec.replicas", f"{code} {got}")
    code, got = raw.apply(DEPLOYMENTS + "/web/scale", scale, "scaler", True)
    check(code == 200 and got["spec"]["replicas"] == 4, f"a Scale is applied as well: {code} {got}")
    check(managers(b, "deployment", "web")[("scaler", "Apply", "scale")] == {"f:spec": {"f:replicas": {}}}, "by its manager")
    b.kubectl("label", "deployment/web", "a=b")
    ssa(b, deployment(replicas=None))
    got = b.get("deployment", "web")
    check(got["metadata"]["labels"]["a"] == "b", "so does a label that another set")
    who = managers(b, "deployment", "web")[("kubectl-label", "Update", "")]
    check(who == {"f:metadata": {"f:labels": {"f:a": {}}}}, f"who is its manager: {who}")
    b.env["KUBE_EDITOR"] = "sed -i s/none$/other/"
    b.kubectl("edit", "deployment/web")
    done = ssa(b, deployment(replicas=None), ok=False)
    check('conflict with "kubectl-edit" using apps/v1: .spec.template.spec.containers[name="main"].image' in
          done.stderr, done.stderr)
    wait_for("the status of a controller", lambda: any(s == "status" and o == "Update" for _, o, s in managers(
        b, "deployment", "web")))


def test_helm(b):
    """Helm 4 applies on the server's side."""
    chart = os.path.join(b.root, "chart")
    os.makedirs(os.path.join(chart, "templates"))
    for name, text in {"Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n", "values.yaml": "count: 1\n",
                       "templates/a.yaml": json.dumps(config_map("c", n="{{ .Values.count }}")),
                       "templates/b.yaml": json.dumps(deployment()).replace('"replicas": 1',
                                                                            '"replicas": {{ .Values.count }}')}.items():
        with open(os.path.join(chart, name), "w", encoding="utf-8") as f:
            f.write(text)

    def helm(*args, ok=True):
        return b.run([os.path.join(os.path.dirname(b.kubectl_program), "helm"), *args], ok=ok)

    helm("upgrade", "--install", "r", chart)
    helm("upgrade", "--install", "r", chart, "--set", "count=2")
    rv = b.get("cm", "c")["metadata"]["resourceVersion"]
    helm("upgrade", "--install", "r", chart, "--set", "count=2")
    check(b.get("cm", "c")["metadata"]["resourceVersion"] == rv, "the same again changes nothing")
    check(set(managers(b, "cm", "c")) == {("helm", "Apply", "")}, "helm manages what it applied")
    check(b.get("deployment", "web")["spec"]["replicas"] == 2, "the value is there")
    helm("rollback", "r", "1")
    got = b.get("cm", "c")["data"], b.get("deployment", "web")["spec"]["replicas"]
    check(got == ({"n": "1"}, 1), f"and back: {got}")
    b.kubectl("scale", "deployment/web", "--replicas=3")
    done = helm("upgrade", "r", chart, "--set", "count=2", ok=False)
    check('conflict with "kubectl" with subresource "scale"' in done.stderr, f"a conflict is told: {done.stderr}")
    helm("upgrade", "r", chart, "--set", "count=2", "--force-conflicts")
    check(b.get("deployment", "web")["spec"]["replicas"] == 2, "and forced")
    helm("uninstall", "r")
    check("configmap/c" not in b.kubectl("get", "cm,deploy", "-o", "name"), "uninstalled, all is gone")


def test_what_is_refused(b):
    raw = Raw(b)
    x = config_map("x", a="1")
    rows = [
        (("PATCH", MAPS + "/x", x, "application/apply-patch+yaml"), 422, "fieldManager: Required value: is required "
         "for apply patch"),
        (("PATCH", MAPS + "/x?fieldManager=m", x, "application/apply-patch+cbor"), 415, "unknown format"),
        (("PATCH", MAPS + "/x?fieldManager=m&force=true", x, "application/merge-patch+json"), 422,
         "may not be specified for non-apply patch"),
        (("PATCH", MAPS + "/x?fieldManager=m", dict(x, kind="Secret"), "application/apply-patch+yaml"), 400,
         "invalid object type: v1, Kind=Secret"),
        (("PATCH", MAPS + "/x?fieldManager=m", {"metadata": {"name": "x"}}, "application/apply-patch+yaml"), 400,
         "invalid object type"),
        (("PATCH", MAPS + "/x?fieldManager=m", "[]", "application/apply-patch+yaml"), 400, "not an object"),
        (("PATCH", MAPS + "/x?fieldManager=m", "a: [", "application/apply-patch+yaml"), 400, "error decoding YAML"),
        (("PATCH", MAPS + "/x?fieldManager=m", dict(x, metadata={"name": "x", "managedFields": []}),
          "application/apply-patch+yaml"), 400, "metadata.managedFields must be nil"),
        (("PATCH", MAPS + "/y?fieldManager=m", x, "application/apply-patch+yaml"), 400, "does not match the name"),
        (("PATCH", MAPS + "/x?fieldManager=m", dict(x, metadata={"generateName": "x"}),
          "application/apply-patch+yaml"), 400, "(x based on URL) was undeterminable: name must be provided"),
        (("PATCH", MAPS + "/x?fieldManager=m", {"apiVersion": "v1", "kind": "ConfigMap"},
          "application/apply-patch+yaml"), 400, "(x based on URL) was undeterminable: name must be provided"),
        (("PATCH", MAPS + "/x?fieldManager=m", dict(x, metadata={"name": "x", "uid": "u"}),
          "application/apply-patch+yaml"), 409, "Precondition failed: UID in precondition: u"),
        (("PATCH", MAPS + "/x?fieldManager=m", dict(x, data={"a": 1}), "application/apply-patch+yaml"), 400,
         "cannot be handled as a ConfigMap"),
        (("PATCH", MAPS + "/x?fieldManager=m", dict(x, data=[]), "application/apply-patch+yaml"), 422,
         ".data: expected map, got a list"),
        (("PATCH", MAPS + "/x?fieldManager=m", dict(x, nope=1), "application/apply-patch+yaml"), 422,
         ".nope: field not declared in schema"),
        (("PATCH", MAPS + "/x/status?fieldManager=m", x, "application/apply-patch+yaml"), 404, ""),
        (("PATCH", MAPS + "/x?fieldManager=m&fieldValidation=Strict", '{"apiVersion":"v1","kind":"ConfigMap",'
          '"metadata":{"name":"x"},"data":{"a":"1","a":"2"}}', "application/apply-patch+yaml"), 400,
         "strict decoding"),
        (("PATCH", DEPLOYMENTS + "/web?fieldManager=m", deployment(env=[{"name": "A"}, {"name": "A"}]),
          "application/apply-patch+yaml"), 422, 'duplicate entries for key [name="A"]'),
        (("PATCH", DEPLOYMENTS + "/web?fieldManager=m", deployment(replicas=-1), "application/apply-patch+yaml"), 422,
         "spec.replicas"),
    ]
    for request, code, text in rows:
        got = raw(*request)
        check(got[0] == code and text in got[1]["message"], f"{request}: {got}")
    check(raw.apply(MAPS + "/x", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: '1'}\n")[0] == 201,
          "YAML is read")
    nameless = {k: v for k, v in x.items() if k != "metadata"}
    check(raw.apply(MAPS + "/x", nameless)[0] == 200, "what is there has its name")
    rv = raw("GET", MAPS + "/x")[1]["metadata"]["resourceVersion"]
    stale = dict(x, metadata={"name": "x", "resourceVersion": str(int(rv) - 1)})
    check(raw.apply(MAPS + "/x", stale)[0] == 409, "a stale resourceVersion is a conflict")
    check(raw.apply(MAPS + "/x", dict(x, metadata={"name": "x", "resourceVersion": rv}))[0] == 200, "the newest is not")


def test_rights(b):
    b.kubectl("create", "sa", "guest")
    b.kubectl("create", "role", "guest", "--verb=patch,get", "--resource=configmaps")
    b.kubectl("create", "rolebinding", "guest", "--role=guest", "--serviceaccount=default:guest")
    who = "--as=system:serviceaccount:default:guest"
    done = ssa(b, config_map("x", a="1"), who, "--validate=false", ok=False)
    check('cannot create resource "configmaps"' in done.stderr, f"making takes the right to: {done.stderr}")
    b.kubectl("create", "cm", "x", "--from-literal=a=1")
    ssa(b, config_map("x", b="1"), who, "--validate=false")
    check(b.get("cm", "x")["data"] == {"a": "1", "b": "1"}, "changing only that to patch")
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "guest"},
            "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]}
    b.kubectl("create", "role", "roles", "--verb=patch,get,create", "--resource=roles")
    b.kubectl("create", "rolebinding", "roles", "--role=roles", "--serviceaccount=default:guest")
    done = ssa(b, role, who, "--validate=false", "--force-conflicts", ok=False)
    check(done.returncode != 0 and "attempting to grant" in done.stderr, f"nobody applies more rights: {done.stderr}")


def test_entries(b):
    raw = Raw(b)
    check("managedFields" not in raw("POST", MAPS, config_map("x", a="1"))[1]["metadata"],
          "who names no manager does not begin to keep account")
    code, got = raw.apply(MAPS + "/x", config_map("x", a="2"))
    check(code == 409 and got["details"]["causes"] == [{
        "reason": "FieldManagerConflict", "message": 'conflict with "before-first-apply" using v1', "field": ".data.a"}],
        f"{got}")
    got = raw.apply(MAPS + "/x", config_map("x", a="1", b="1"))[1]
    who = [(e["manager"], e["operation"], e["apiVersion"], e["fieldsType"]) for e in got["metadata"]["managedFields"]]
    check(who == [("m", "Apply", "v1", "FieldsV1"), ("before-first-apply", "Update", "v1", "FieldsV1")], f"{who}")
    got = raw("PUT", MAPS + "/x", config_map("x", a="1", b="1", c="1"), agent="curl/8.0")[1]
    who = {e["manager"]: e["fieldsV1"] for e in got["metadata"]["managedFields"]}
    check(who["curl"] == {"f:data": {"f:c": {}}}, f"a User-Agent is a manager: {who}")
    patch = [{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]
    got = raw("PATCH", MAPS + "/x", patch, "application/json-patch+json")[1]
    check("managedFields" not in got["metadata"], "an empty entry resets them")
    entry = {"manager": "k", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
             "fieldsV1": {"f:data": {"f:a": {}}}}
    patch = {"metadata": {"managedFields": [entry]}}
    got = raw("PATCH", MAPS + "/x", patch, "application/merge-patch+json")[1]
    check(got["metadata"]["managedFields"] == [entry], f"they may be set: {got['metadata']}")
    for n in range(12):
        raw("PATCH", MAPS + f"/x?fieldManager=u{n}", {"data": {f"d{n}": "1"}}, "application/merge-patch+json")
    got = raw("GET", MAPS + "/x")[1]["metadata"]["managedFields"]
    check(len(got) == 11 and "ancient-changes" in [e["manager"] for e in got], f"updates are joined: {len(got)}")


def test_too_much(b):
    """What is kept account of costs no write: entries that are too long go, whoever wrote them."""
    raw, job = Raw(b), "/apis/batch/v1/namespaces/default/jobs"
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "full"},
            "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [
                {"name": "main", "image": "none", "command": ["sleep", "100000"]}]}}}}
    check(raw("POST", job, body)[0] == 201, "made")

    def fill(fields):
        entry = {"manager": "x", "operation": "Apply", "apiVersion": "batch/v1", "fieldsType": "FieldsV1", "fieldsV1": fields}
        code, got = raw("PATCH", job + "/full", {"metadata": {"managedFields": [entry]}}, "application/merge-patch+json")
        check(code == 200, f"{got}")
        return "managedFields" in got["metadata"]

    names = {f"f:{n:05}": {} for n in range(70000)}
    check(not fill({"f:spec": names}), "70000 names are not kept")
    check(not fill({"f:spec": {f"v:{n}": {} for n in range(10000)}}), "nor are keys that take longer to read")
    check(fill({"f:spec": dict(list(names.items())[:35000])}), "35000 names are")
    code, got = raw("PATCH", job + "/full", {"spec": {"suspend": True}}, "application/merge-patch+json")
    check(code == 200, f"a Job is suspended whatever it has of them: {got}")
    data = {f"k{n:05}": "" for n in range(40000)}
    code, got = raw("POST", MAPS + "?fieldManager=m", config_map("large", **data))
    check(code == 201 and "managedFields" not in got["metadata"], f"{code} {str(got)[:200]}")


def test_many_conflicts(b):
    """Names as long as may be cost an answer neither its length nor its being one."""
    b.apply(CRD)
    b.kubectl("wait", "--for=condition=Established", "crd/things.example.com", "--timeout=10s")
    raw, path, name = Raw(b), "/apis/example.com/v1/namespaces/default/things/t", "n" * 100000
    fields = [{name: {f"k{i:04}": v for i in range(600)}} for v in (1, 2)]
    check(raw.apply(path, thing(free=fields[0]))[0] == 201, "made")
    code, got = raw.apply(path, thing(free=fields[1]), "other")
    check(code == 409 and len(got["details"]["causes"]) == 500, f"{code} {str(got)[:500]}")
    lines = got["message"].split("\n")
    check(lines[0] == 'Apply failed with 600 conflicts: conflicts with "m":' and lines[-1] == "- and 100 more" and
          lines[1] == f"- .spec.free.{name[:256]}....k0000" and len(lines) == 502, got["message"][:500])
    who = raw("GET", path)[1]["metadata"]["managedFields"]
    check(name in str(who), "what is stored is whole")


if __name__ == "__main__":
    sys.exit(run_tests(globals(), lambda f, program, kubectl: with_default_queue(f, program, kubectl,
                                                                                gpus="sim:1xh200")))
