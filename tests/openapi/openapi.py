#!/usr/bin/env python3
"""openapi: what is served, as OpenAPI and discovery, to kubectl, Helm and plain clients.

openapi.py BERTH KUBECTL HELM [NAME...]"""
import base64
import copy
import http.client
import json
import os
import ssl
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from harness import Berth, Fail, check, wait_for  # noqa: E402

PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
FOO = {
    "type": "object", "description": "Foo, for tests.", "properties": {
        "spec": {"type": "object", "description": "What is wanted of Foo", "required": ["bars"], "properties": {
            "bars": {"type": "array", "description": "Bars of it.", "x-kubernetes-list-type": "map",
                     "x-kubernetes-list-map-keys": ["name"], "items": {
                         "type": "object", "required": ["name"], "properties": {
                             "name": {"type": "string", "description": "Name of a bar."},
                             "age": {"type": "integer", "minimum": 1, "nullable": True}}}},
            "port": {"x-kubernetes-int-or-string": True, "description": "A port."},
            "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            "kind": {"type": "string", "enum": ["a", "b"], "default": "a"},
            "template": {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {
                "spec": {"type": "object"}}}}},
        "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}}}}


def definition(group="foo.example.com", plural="foos", kind="Foo", versions=("v1",), schema=None):
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{group}"},
            "spec": {"group": group, "scope": "Namespaced",
                     "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": kind + "List"},
                     "versions": [{"name": v, "served": True, "storage": i == 0, "subresources": {"status": {}},
                                   "selectableFields": [{"jsonPath": ".spec.kind"}],
                                   "schema": {"openAPIV3Schema": copy.deepcopy(schema or FOO)}}
                                  for i, v in enumerate(versions)]}}


class Http:
    """Requests as the administrator of one Berth."""

    def __init__(self, b):
        config = json.loads(b.kubectl("config", "view", "--raw", "-o", "json"))
        user, cluster = config["users"][0]["user"], config["clusters"][0]["cluster"]
        self.context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
        self.headers = {}
        if "client-certificate-data" in user:
            path = os.path.join(b.root, "client.pem")
            with open(path, "wb") as f:
                f.write(base64.b64decode(user["client-certificate-data"]) + b"\n" + base64.b64decode(user["client-key-data"]))
            self.context.load_cert_chain(path)
        else:
            self.headers["Authorization"] = "Bearer " + user["token"]
        self.port = b.port

    def __call__(self, path, method="GET", body=None, **headers):
        c = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context, timeout=60)
        named = {k.replace("_", "-"): v for k, v in headers.items()}
        c.request(method, path, body=body, headers=dict(self.headers, **named))
        r = c.getresponse()
        data = r.read()
        c.close()
        return r.status, r, data

    def json(self, path, **headers):
        status, _, data = self(path, **headers)
        check(status == 200, f"{path}: {status} {data[:200]!r}")
        return json.loads(data)


def established(b, *crds):
    for c in crds:
        b.apply(c)
        b.kubectl("wait", "--for=condition=Established", f"crd/{c['metadata']['name']}", "--timeout=10s")


# ---- a small reader of protobuf, to look at what kubectl is given ----

def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    at, found = 0, []
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 2:
            n, at = varint(data, at)
            found.append((key >> 3, data[at:at + n]))
            at += n
        elif key & 7 == 1:
            found.append((key >> 3, data[at:at + 8]))
            at += 8
        else:
            value, at = varint(data, at)
            found.append((key >> 3, value))
    check(at == len(data), "protobuf that is cut off")
    return found


def definitions_of(data):
    """Names of gnostic's Document.definitions, which comes in parts."""
    names = []
    for number, part in fields(data):
        if number == 9:
            for _, named in fields(part):
                names.append(dict((k, v) for k, v in fields(named) if k == 1)[1].decode())
    return names


# ---- tests ----

def test_explain(b):
    """kubectl explain of built-in and custom kinds, from both versions of OpenAPI."""
    established(b, definition())
    for how in ((), ("--output=plaintext-openapiv2",)):
        text = b.kubectl("explain", "pods.spec.containers.resources", *how)
        check("limits" in text and "requests" in text, text)
        text = b.kubectl("explain", "foos", *how)
        for want in ("Foo, for tests.", "APIVersion defines", "<string>", "spec", "What is wanted of Foo"):
            check(want in text, f"{want!r} is not in {text}")
        text = b.kubectl("explain", "foos.metadata", *how)
        check("Standard object's metadata" in text and "CreationTimestamp is a timestamp" in text, text)
        text = b.kubectl("explain", "foos.spec.bars", *how)
        check("Bars of it." in text and "Name of a bar." in text and "<[]Object>" in text, text)
        done = b.kubectl("explain", "foos.spec.bars2", *how, ok=False)
        check(done.returncode != 0 and 'field "bars2" does not exist' in done.stderr, done.stderr)
        text = b.kubectl("explain", "deployments", "--recursive", *how)
        check("topologySpreadConstraints" in text and "maxSurge" in text, "recursive")
        text = b.kubectl("explain", "foos", "--recursive", *how)
        check("template" in text and "bars" in text, text)


def test_publication(b):
    """A definition shows in both versions at once, changes with it, and goes with it."""
    get = Http(b)
    status, r, first = get("/openapi/v2")
    check(status == 200 and r.getheader("Content-Type").startswith("application/json"), status)
    tag = r.getheader("ETag")
    check(get("/openapi/v2", If_None_Match=tag)[0] == 304, "not known by its tag")
    index = get.json("/openapi/v3")["paths"]
    check("apis/foo.example.com/v1" not in index, "there already")
    established(b, definition(versions=("v1", "v2")))
    status, r, _ = get("/openapi/v2", If_None_Match=tag)
    check(status == 200 and r.getheader("ETag") != tag, "the tag is as before")
    document = get.json("/openapi/v2")
    for version in ("v1", "v2"):
        foo = copy.deepcopy(document["definitions"][f"com.example.foo.{version}.Foo"])
        check(foo.pop("x-kubernetes-group-version-kind") == [{"group": "foo.example.com", "version": version, "kind": "Foo"}],
              foo)
        check(foo.pop("x-kubernetes-selectable-fields") == [{"fieldPath": "spec.kind"}], foo)
        for name in ("apiVersion", "kind", "metadata"):
            foo["properties"].pop(name)
        want = copy.deepcopy(FOO)  # as upstream makes version 2 of it
        spec = want["properties"]["spec"]["properties"]
        spec["bars"]["items"]["properties"]["age"] = {"minimum": 1}
        spec["open"].pop("type")
        template = foo["properties"]["spec"]["properties"]["template"]
        check(sorted(template.pop("required")) == ["apiVersion", "kind"], template)
        for name in ("apiVersion", "kind", "metadata"):
            template["properties"].pop(name)
        check(foo == want, f"{json.dumps(foo, sort_keys=True)}\n is not\n{json.dumps(want, sort_keys=True)}")
        paths = document["paths"]
        patch = paths[f"/apis/foo.example.com/{version}/namespaces/{{namespace}}/foos/{{name}}"]["patch"]
        check("application/strategic-merge-patch+json" not in patch["consumes"], patch)
        check(f"/apis/foo.example.com/{version}/namespaces/{{namespace}}/foos/{{name}}/status" in paths, "no status")
    check("com.example.foo.v1.FooList" in document["definitions"], "no list")
    index = get.json("/openapi/v3")["paths"]
    url = index["apis/foo.example.com/v1"]["serverRelativeURL"]
    status, r, data = get(url)
    check(status == 200 and "immutable" in r.getheader("Cache-Control"), url)
    foo = json.loads(data)["components"]["schemas"]["com.example.foo.v1.Foo"]["properties"]["spec"]["properties"]
    check(foo["bars"]["x-kubernetes-list-map-keys"] == ["name"], foo)
    check(foo["bars"]["items"]["properties"]["age"]["nullable"] is True, foo)
    check(foo["port"]["anyOf"] == [{"type": "integer"}, {"type": "string"}], foo)
    check(foo["template"]["properties"]["metadata"]["allOf"], foo)
    status, r, _ = get(url.split("?")[0] + "?hash=0")
    check(status == 301 and r.getheader("Location") == url, "a wrong hash is not sent on")
    changed = definition(versions=("v1", "v2"))
    changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["more"] = {"type": "string"}
    b.apply(changed)
    wait_for("the change", lambda: get.json("/openapi/v3")["paths"]["apis/foo.example.com/v1"]["serverRelativeURL"] != url)
    check("more" in get.json("/openapi/v2")["definitions"]["com.example.foo.v1.Foo"]["properties"], "not in version 2")
    b.kubectl("delete", "crd", "foos.foo.example.com")
    check("com.example.foo.v1.Foo" not in get.json("/openapi/v2")["definitions"], "still in version 2")
    check("apis/foo.example.com/v1" not in get.json("/openapi/v3")["paths"], "still in version 3")


def test_same_tag_after_restart(b):
    """What kubectl kept is still good after a restart, and is not when a definition changed."""
    established(b, definition())
    get = Http(b)
    tags = [get(p)[1].getheader("ETag") for p in ("/openapi/v2", "/openapi/v3", "/openapi/v3/apis/foo.example.com/v1")]
    b.stop()
    b.up()
    for path, tag in zip(("/openapi/v2", "/openapi/v3", "/openapi/v3/apis/foo.example.com/v1"), tags):
        check(get(path, If_None_Match=tag)[0] == 304, f"{path} has another tag")


def test_protobuf(b):
    """Version 2 in protobuf says what it says in JSON."""
    established(b, definition())
    get = Http(b)
    status, r, data = get("/openapi/v2", Accept=PROTOBUF)
    check(status == 200 and "protobuf" in r.getheader("Content-Type"), r.getheader("Content-Type"))
    check(definitions_of(data) == list(get.json("/openapi/v2")["definitions"]), "other definitions")
    tag = r.getheader("ETag")
    check(tag != get("/openapi/v2")[1].getheader("ETag"), "one tag for two forms")
    check(get("/openapi/v2", Accept=PROTOBUF, If_None_Match=tag)[0] == 304, "not known by its tag")
    check(get("/openapi/v2", Accept="text/html")[0] == 406, "text/html")


def test_validation(b):
    """kubectl --validate with what the server says, and with its own."""
    established(b, definition())
    good = {"apiVersion": "foo.example.com/v1", "kind": "Foo", "metadata": {"name": "a"},
            "spec": {"bars": [{"name": "x"}], "port": "http", "open": {"any": {"thing": 1}}}}
    bad = copy.deepcopy(good)
    bad["spec"]["bogus"] = 1
    for verb in ("create", "apply"):
        for how in ("strict", "warn", "ignore"):
            done = b.kubectl(verb, f"--validate={how}", "-f", "-", stdin=json.dumps(bad), ok=False)
            check((done.returncode != 0) == (how == "strict"), f"{verb} {how}: {done.stderr}")
            check(('unknown field "spec.bogus"' in done.stderr) == (how != "ignore"), f"{verb} {how}: {done.stderr}")
            b.kubectl("delete", "foo", "a", "--ignore-not-found")
        b.kubectl(verb, "--validate=strict", "-f", "-", stdin=json.dumps(good))
        b.kubectl("delete", "foo", "a")
    missing = copy.deepcopy(good)
    missing["spec"]["bars"] = [{"age": 3}]
    done = b.kubectl("create", "-f", "-", stdin=json.dumps(missing), ok=False)
    check("spec.bars[0].name: Required value" in done.stderr, done.stderr)


def test_helm(b):
    """A chart with a definition and an object of it, installed and upgraded twice; nothing stays behind."""
    chart = os.path.join(b.root, "chart")
    os.makedirs(os.path.join(chart, "templates"))
    os.makedirs(os.path.join(chart, "crds"))
    files = {
        "Chart.yaml": "apiVersion: v2\nname: foo\nversion: 0.1.0\n",
        "crds/foo.yaml": json.dumps(definition()),
        "templates/foo.yaml": "apiVersion: foo.example.com/v1\nkind: Foo\nmetadata:\n  name: {{ .Release.Name }}\n"
                              "spec:\n  bars:\n  - name: {{ .Values.bar | default \"x\" }}\n",
        "templates/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\n"
                                 "data:\n  a: {{ .Values.bar | default \"x\" }}\n"}
    for name, text in files.items():
        with open(os.path.join(chart, name), "w", encoding="utf-8") as f:
            f.write(text)
    for bar in ("one", "two"):
        b.run([HELM, "upgrade", "--install", "one", chart, "--set", f"bar={bar}"])
        check(b.get("foo", "one")["spec"]["bars"][0]["name"] == bar, bar)
    b.run([HELM, "uninstall", "one"])
    check(b.kubectl("get", "foo,cm", "-o", "name").split() in ([], ["configmap/kube-root-ca.crt"]), "something stays behind")


def test_discovery(b):
    """Aggregated discovery in both versions, with definitions in it; APIServices; what has no tables says so."""
    get = Http(b)
    accept = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"
    established(b, definition())
    for version in ("v2", "v2beta1"):
        status, r, data = get("/apis", Accept=accept.format(version))
        check(status == 200 and r.getheader("Content-Type") == accept.format(version), r.getheader("Content-Type"))
        found = json.loads(data)
        check(found["apiVersion"] == "apidiscovery.k8s.io/" + version, found["apiVersion"])
        groups = {g["metadata"]["name"]: g for g in found["items"]}
        foo = groups["foo.example.com"]["versions"][0]["resources"][0]
        check(foo["responseKind"] == {"group": "foo.example.com", "version": "v1", "kind": "Foo"}, foo)
        check([r["resource"] for r in groups["apiregistration.k8s.io"]["versions"][0]["resources"]] == ["apiservices"],
              "no apiservices")
    status, r, _ = get("/apis/apps/v1", Accept=accept.format("v2"))
    check(status == 406, f"one group: {status}")
    rows = b.kubectl("get", "apiservices").splitlines()
    check(rows[0].split() == ["NAME", "SERVICE", "AVAILABLE", "AGE"], rows[0])
    names = [r.split()[0] for r in rows[1:]]
    for name in ("v1.", "v1.apps", "v1beta1.metrics.k8s.io", "v1.foo.example.com"):
        check(name in names, f"{name} is not among {names}")
    one = b.get("apiservice", "v1beta1.metrics.k8s.io")
    check(one["status"]["conditions"][0]["status"] == "True" and "service" not in one["spec"], one)
    check(b.kubectl("get", "apiservice", "v9.apps", ok=False).returncode != 0, "one of nothing")
    b.kubectl("wait", "--for=condition=Available", "apiservice/v1beta1.metrics.k8s.io", "--timeout=5s")
    body = json.dumps({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
                       "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}})
    status, _, data = get("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "POST", body,
                          Accept="application/json;as=Table;v=v1;g=meta.k8s.io", Content_Type="application/json")
    check(status == 406 and json.loads(data)["reason"] == "NotAcceptable", data)


def test_field_validation(b):
    """Unknown and duplicate fields, by fieldValidation, in the order and with the texts of a kube-apiserver."""
    get = Http(b)
    established(b, definition())
    deployment = """{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "unknownMeta": 1,
        "labels": {"app": "n", "app": "n"}}, "spec": {"unknownField": "foo", "replicas": 2, "replicas": 3,
        "selector": {"matchLabels": {"app": "n"}}, "template": {"metadata": {"labels": {"app": "n"}}, "spec": {
        "containers": [{"name": "n", "image": "i", "bogus": 1, "image": "j"}]}}}}"""
    faults = ['unknown field "metadata.unknownMeta"', 'duplicate field "metadata.labels.app"',
              'unknown field "spec.unknownField"', 'duplicate field "spec.replicas"',
              'unknown field "spec.template.spec.containers[0].bogus"',
              'duplicate field "spec.template.spec.containers[0].image"']
    path = "/apis/apps/v1/namespaces/default/deployments?fieldManager=m&dryRun=All&fieldValidation="
    status, _, data = get(path + "Strict", "POST", deployment, Content_Type="application/json")
    message = json.loads(data)["message"]
    check(status == 400 and message == 'Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: '
          + ", ".join(faults), message)
    status, r, data = get(path + "Warn", "POST", deployment, Content_Type="application/json")
    check(status == 201 and json.loads(data)["spec"]["replicas"] == 3, data)
    check([w[7:-1].replace('\\"', '"') for w in r.headers.get_all("Warning")] == faults, r.headers.get_all("Warning"))
    status, r, _ = get(path + "Ignore", "POST", deployment, Content_Type="application/json")
    check(status == 201 and r.getheader("Warning") is None, status)
    check(get(path + "Maybe", "POST", deployment, Content_Type="application/json")[0] == 422, "an unknown word")
    foo = """{"apiVersion": "foo.example.com/v1", "kind": "Foo", "metadata": {"name": "a", "odd": 1}, "top": 1,
        "spec": {"bars": [{"name": "x", "nope": 1}], "open": {"x": 1, "x": 2}, "template": {"apiVersion": "v1",
        "kind": "Pod", "metadata": {"name": "p", "strange": 1}, "spec": {}}}}"""
    path = "/apis/foo.example.com/v1/namespaces/default/foos?fieldManager=m&dryRun=All&fieldValidation="
    status, _, data = get(path + "Strict", "POST", foo, Content_Type="application/json")
    message = json.loads(data)["message"]
    for fault in ('duplicate field "spec.open.x"', 'unknown field "metadata.odd"', 'unknown field "spec.bars[0].nope"',
                  'unknown field "spec.template.metadata.strange"', 'unknown field "top"'):
        check(fault in message, f"{fault} is not in {message}")
    check('"spec.open.x"' in message and status == 400, message)
    status, _, data = get(path + "Warn", "POST", foo, Content_Type="application/json")
    made = json.loads(data)
    check(status == 201 and made["spec"]["open"] == {"x": 2} and "top" not in made, made)
    check("strange" not in made["spec"]["template"]["metadata"], made)
    yaml = "\napiVersion: foo.example.com/v1\nkind: Foo\nmetadata:\n  name: a\n  finalizers:\n  - a/b\nspec:\n" \
           "  bars: []\n  kind: a\n  kind: b\n"
    line = 'line 11: key "kind" already set in map'
    one = "/apis/foo.example.com/v1/namespaces/default/foos/a?fieldManager=m&dryRun=All&fieldValidation="
    status, _, data = get(one + "Strict", "PATCH", yaml, Content_Type="application/apply-patch+yaml")
    check(status == 400 and json.loads(data)["message"] == "error strict decoding YAML: error converting YAML to JSON: yaml: "
          "unmarshal errors:\n  " + line, data)
    status, r, data = get(one + "Warn", "PATCH", yaml, Content_Type="application/apply-patch+yaml")
    check(status == 201 and json.loads(data)["spec"]["kind"] == "b", data)
    check(line in r.getheader("Warning").replace("\\", ""), r.getheader("Warning"))
    status, r, data = get(path + "Strict", "POST", yaml + "  more: 1\n", Content_Type="application/yaml")
    check(status == 400 and json.loads(data)["message"].endswith("strict decoding error: yaml: unmarshal errors:\n  " + line +
                                                                 ', unknown field "spec.more"'), data)
    yaml = yaml.replace("  kind: a\n", "  nope: 1\n")
    status, _, data = get(one + "Strict", "PATCH", yaml, Content_Type="application/apply-patch+yaml")
    check(b".spec.nope: field not declared in schema" in data, data)


HELM = None


def main():
    global HELM
    program, kubectl, HELM, names = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    tests = {k[5:]: f for k, f in globals().items() if k.startswith("test_")}
    failed = 0
    for name in names or tests:
        try:
            with Berth(program, kubectl, gpus="none") as b:
                tests[name](b)
            print(f"ok   {name}")
        except (Fail, subprocess.TimeoutExpired, KeyError) as e:
            failed += 1
            print(f"FAIL {name}: {e!r}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
