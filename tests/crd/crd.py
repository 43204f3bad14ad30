#!/usr/bin/env python3
"""crd: kinds that CustomResourceDefinitions describe, as kubectl sees them.   crd.py BERTH KUBECTL [NAME...]"""
import base64
import copy
import http.server
import json
import os
import ssl
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
sys.path.insert(0, os.path.join(HERE, "..", "security"))
from api import Client  # noqa: E402
from harness import Berth, Fail, check, wait_for  # noqa: E402

SPEC = {
    "type": "object", "required": ["image"],
    "properties": {
        "image": {"type": "string", "maxLength": 20, "description": "What runs."},
        "replicas": {"type": "integer", "minimum": 0, "maximum": 9, "default": 1},
        "color": {"type": "string", "enum": ["red", "green"]},
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "fixed": {"type": "string", "maxLength": 20,
                  "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "it is fixed"}]},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
    "x-kubernetes-validations": [
        {"rule": "!has(self.color) || self.color != 'green' || self.replicas > 2", "message": "green needs more"}],
}
SCHEMA = {"type": "object", "properties": {
    "spec": SPEC, "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}
COLUMNS = [
    {"name": "Image", "type": "string", "jsonPath": ".spec.image"},
    {"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}]


def definition(plural="gizmos", kind="Gizmo", group="demo.example.com", schema=None, **spec):
    version = {"name": "v1", "served": True, "storage": True, "additionalPrinterColumns": COLUMNS,
               "selectableFields": [{"jsonPath": ".spec.image"}],
               "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas",
                                                        "statusReplicasPath": ".status.replicas"}},
               "schema": {"openAPIV3Schema": copy.deepcopy(schema or SCHEMA)}}
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "shortNames": [kind[:2].lower()],
             "categories": ["all"]}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{group}"},
            "spec": dict({"group": group, "names": names, "scope": "Namespaced", "versions": [version]}, **spec)}


def gizmo(name, version="v1", **spec):
    return {"apiVersion": f"demo.example.com/{version}", "kind": "Gizmo", "metadata": {"name": name},
            "spec": dict({"image": "x"}, **spec)}


def established(b, *crds):
    for c in crds:
        b.apply(c)
        b.kubectl("wait", "--for=condition=Established", f"crd/{c['metadata']['name']}", "--timeout=10s")


def refused(b, obj, *texts):
    done = b.kubectl("apply", "-f", "-", stdin=json.dumps(obj), ok=False)
    check(done.returncode != 0, f"taken: {obj}")
    for text in texts:
        check(text in done.stderr, f"{text!r} is not in {done.stderr!r}")


def test_life(b):
    """Definition, objects, columns, selectors, explain, scale, status, restart, deletion."""
    established(b, definition())
    check("gizmos" in b.kubectl("api-resources", "--api-group=demo.example.com"), "not discovered")
    b.apply(gizmo("a"))
    b.apply(gizmo("b", image="y"))
    rows = b.kubectl("get", "gi").splitlines()
    check(rows[0].split() == ["NAME", "IMAGE", "READY", "AGE"] and rows[1].split()[:2] == ["a", "x"], rows)
    check(b.kubectl("get", "gizmos", "--field-selector=spec.image=y", "-o", "name").strip().endswith("/b"), "selector")
    check("What runs." in b.kubectl("explain", "gizmo.spec.image"), "explain")
    check(b.get("gizmo", "a")["spec"]["replicas"] == 1, "no default")
    b.kubectl("scale", "gizmo", "a", "--replicas=3")
    one = b.get("gizmo", "a")
    check(one["spec"]["replicas"] == 3 and one["metadata"]["generation"] == 2, one)
    b.kubectl("patch", "gizmo", "a", "--subresource=status", "--type=merge", "-p",
              json.dumps({"status": {"conditions": [{"type": "Ready", "status": "True"}]}, "spec": {"image": "no"}}))
    one = b.get("gizmo", "a")
    check(one["spec"]["image"] == "x" and one["metadata"]["generation"] == 2, one)
    check("True" in b.kubectl("get", "gizmo", "a"), "no Ready column")
    check("unchanged" not in b.apply(gizmo("a", color="red")), "apply")
    check("unchanged" in b.apply(gizmo("a", color="red")), "apply again")
    b.stop()
    b.up()
    check(len(b.get("gizmos")["items"]) == 2, "objects are lost")
    b.kubectl("delete", "crd", "gizmos.demo.example.com", "--timeout=20s")
    check(b.kubectl("get", "gizmos", ok=False).returncode != 0, "still served")
    established(b, definition())
    check(b.get("gizmos")["items"] == [], "old objects came back")


def test_rules(b):
    """What a schema refuses, prunes and tells."""
    established(b, definition())
    refused(b, gizmo("r", replicas=10), "spec.replicas: Invalid value: 10: spec.replicas in body should be less than "
            "or equal to 9")
    refused(b, gizmo("r", color="blue"), 'spec.color: Unsupported value: "blue": supported values: "red", "green"')
    refused(b, gizmo("r", tags=["a", "a"]), 'spec.tags[1]: Duplicate value: "a"')
    refused(b, gizmo("r", color="green"), "spec: Invalid value: green needs more")
    refused(b, gizmo("r", junk=1), 'unknown field "spec.junk"')
    b.apply(gizmo("f", fixed="one", free={"any": [1, {"x": 2}]}))
    check(b.get("gizmo", "f")["spec"]["free"] == {"any": [1, {"x": 2}]}, "free is not free")
    refused(b, gizmo("f", fixed="two"), 'spec.fixed: Invalid value: "two": it is fixed')
    b.kubectl("create", "--validate=ignore", "-f", "-", stdin=json.dumps(gizmo("p", junk=1)))
    check("junk" not in b.get("gizmo", "p")["spec"], "not pruned")
    # The schema becomes stricter: what is stored stays, what changes must fit, what is added gets a default.
    tight = copy.deepcopy(SCHEMA)
    tight["properties"]["spec"]["properties"]["image"]["maxLength"] = 0
    tight["properties"]["spec"]["properties"]["size"] = {"type": "integer", "default": 5}
    b.apply(definition(schema=tight))
    b.apply(gizmo("p", color="red"))
    check(b.get("gizmo", "p")["spec"]["size"] == 5, "no default from the new schema")
    refused(b, gizmo("p", image="z"), "spec.image: Too long")


def test_definitions(b):
    """Definitions that are refused, conflict, or stand beside a kind of our own."""
    bad = definition()
    bad["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["x"] = {}
    refused(b, bad, "must not be empty for specified object fields")
    refused(b, definition(group="x.k8s.io"), "api-approved.kubernetes.io")
    rule = definition()
    rule["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["x-kubernetes-validations"] = [
        {"rule": "isNothing(self.spec.image)", "message": "no"}]
    refused(b, rule, "x-kubernetes-validations[0].rule: Invalid value")
    refused(b, rule, "compilation failed: ERROR: <input>:1:10: undeclared reference to 'isNothing'")
    rule["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["x-kubernetes-validations"] = [
        {"rule": "self.spec.replicas > '1'", "message": "no"}]
    refused(b, rule, "found no matching overload for '_>_' applied to '(int, string)'")
    dear = definition()
    spec = dear["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    spec["tags"] = {"type": "array", "items": {"type": "string"}, "x-kubernetes-validations": [
        {"rule": "self.all(x, self.all(y, x == y))", "message": "no"}]}
    refused(b, dear, "spec.validation.openAPIV3Schema.properties[spec].properties[tags].x-kubernetes-validations[0].rule: "
            "Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule(s), or "
            "adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)")
    spec["tags"].update(maxItems=20, items={"type": "string", "maxLength": 20})
    send = b.kubectl("apply", "--dry-run=server", "-f", "-", stdin=json.dumps(dear), ok=False)
    check(send.returncode == 0, send.stderr)
    established(b, definition())
    b.apply(definition(plural="gizmoids", kind="Gizmo"))
    other = wait_for("conditions", lambda: b.get("crd", "gizmoids.demo.example.com")["status"].get("conditions"))
    states = {c["type"]: (c["status"], c["reason"]) for c in other}
    check(states["NamesAccepted"][0] == "False" and states["Established"] == ("False", "NotAccepted"), states)
    b.kubectl("delete", "crd", "gizmos.demo.example.com")
    b.kubectl("wait", "--for=condition=Established", "crd/gizmoids.demo.example.com", "--timeout=10s")
    own = definition(plural="workloads", kind="Workload", group="kueue.x-k8s.io")
    own["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved, a test"}
    done = b.kubectl("apply", "-f", "-", stdin=json.dumps(own), ok=False)
    check("built in" in done.stderr, done.stderr)
    b.kubectl("wait", "--for=condition=Established", "crd/workloads.kueue.x-k8s.io", "--timeout=10s")
    check("podSets" in b.kubectl("explain", "workload.spec"), "our own kind is gone")
    b.kubectl("delete", "crd", "workloads.kueue.x-k8s.io", "gizmoids.demo.example.com", "--timeout=20s")
    check("podSets" in b.kubectl("explain", "workload.spec"), "our own kind is gone")


class Converter(http.server.BaseHTTPRequestHandler):
    """Version v1 has spec.image, v1beta1 spec.picture."""

    def log_message(self, *args):
        pass

    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        want, server = review["request"]["desiredAPIVersion"], self.server
        server.reviews.append(copy.deepcopy(review))
        answer = {"kind": review["kind"], "apiVersion": review["apiVersion"],
                  "response": {"uid": review["request"]["uid"], "result": {"status": "Success"}, "convertedObjects": []}}
        for o in review["request"]["objects"]:
            old, new = ("image", "picture") if want.endswith("v1beta1") else ("picture", "image")
            o["apiVersion"] = want
            if old in o.get("spec", {}):
                o["spec"][new] = o["spec"].pop(old)
            o["metadata"].setdefault("labels", {})["converted"] = want.rsplit("/", 1)[1]
            o["metadata"]["generation"] = 99  # is not its to say
            answer["response"]["convertedObjects"].append(o)
        if server.spoil:
            server.spoil(answer)
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class Webhook:
    """A conversion webhook at url, whose certificate ca (PEM) vouches for."""

    def __init__(self, folder):
        cert, key = os.path.join(folder, "hook.crt"), os.path.join(folder, "hook.key")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-days", "2", "-keyout", key, "-out", cert, "-subj", "/CN=127.0.0.1",
                        "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Converter)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.server.reviews, self.server.spoil, self.server.daemon_threads = [], None, True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"https://127.0.0.1:{self.server.server_port}/convert"
        with open(cert, "rb") as f:
            self.ca = base64.b64encode(f.read()).decode()

    def definition(self, versions=("v1",)):
        crd = definition()
        version = crd["spec"]["versions"][0]
        for key in ("selectableFields", "additionalPrinterColumns"):
            version.pop(key)
        spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
        spec.pop("x-kubernetes-validations")
        beta = copy.deepcopy(version)
        beta.update(name="v1beta1", storage=False)
        beta["additionalPrinterColumns"] = [{"name": "Picture", "type": "string", "jsonPath": ".spec.picture"}]
        spec = beta["schema"]["openAPIV3Schema"]["properties"]["spec"]
        spec["properties"]["picture"] = spec["properties"].pop("image")
        spec["required"] = ["picture"]
        crd["spec"]["versions"].append(beta)
        crd["spec"]["conversion"] = {"strategy": "Webhook", "webhook": {
            "conversionReviewVersions": list(versions), "clientConfig": {"url": self.url, "caBundle": self.ca}}}
        return crd

    def close(self):
        self.server.shutdown()
        self.server.server_close()


GIZMOS = "/apis/demo.example.com/{}/namespaces/default/gizmos{}"


def raw(b, version, rest="", ok=True):
    done = b.kubectl("get", "--raw", GIZMOS.format(version, rest), ok=False)
    check((done.returncode == 0) == ok, f"{version} {rest}: {done.stderr}{done.stdout}")
    return json.loads(done.stdout) if ok else done.stderr + done.stdout


def test_conversion_by_a_webhook(b):
    """Read, listed, watched, written, patched and applied in another version than that of storage."""
    hook = Webhook(b.root)
    established(b, hook.definition())
    b.apply(gizmo("v"), gizmo("w", image="y"))
    check(not hook.server.reviews, "asked about what is stored in the version asked for")
    one = raw(b, "v1beta1", "/v")
    check(one["apiVersion"] == "demo.example.com/v1beta1" and one["spec"]["picture"] == "x", one)
    check(one["metadata"]["labels"] == {"converted": "v1beta1"} and one["metadata"]["generation"] == 1, one["metadata"])
    review = hook.server.reviews[0]
    check(review["apiVersion"] == "apiextensions.k8s.io/v1" and review["kind"] == "ConversionReview", review)
    check(review["request"]["objects"][0]["apiVersion"] == "demo.example.com/v1", review)
    hook.server.reviews.clear()
    items = raw(b, "v1beta1")["items"]
    check([i["spec"]["picture"] for i in items] == ["x", "y"], items)
    check([len(r["request"]["objects"]) for r in hook.server.reviews] == [1], "what is known is asked about again")
    page = raw(b, "v1beta1", "?limit=1")
    check(len(page["items"]) == 1 and page["metadata"]["continue"], page)
    rows = b.kubectl("get", "gizmos.v1beta1.demo.example.com").splitlines()
    check(rows[0].split() == ["NAME", "PICTURE"] and rows[1].split() == ["v", "x"], rows)
    # writes
    beta = gizmo("n", "v1beta1")
    beta["spec"] = {"picture": "z"}
    created = json.loads(b.kubectl("create", "-o", "json", "-f", "-", stdin=json.dumps(beta)))
    check(created["spec"]["picture"] == "z" and created["spec"]["replicas"] == 1, created)
    check(raw(b, "v1", "/n")["spec"]["image"] == "z", "stored otherwise")
    b.kubectl("patch", "gizmos.v1beta1.demo.example.com", "n", "--type=merge", "-p", '{"spec":{"picture":"zz"}}')
    check(raw(b, "v1", "/n")["spec"]["image"] == "zz", "patch")
    for image in ("one", "two"):
        beta["spec"]["picture"] = image
        b.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=json.dumps(beta))
        check(raw(b, "v1", "/n")["spec"]["image"] == image, "apply")
    beta["spec"]["picture"] = "x" * 21
    done = b.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(beta), ok=False)
    check("spec.picture: Too long" in done.stderr, done.stderr)
    beta["spec"] = {"picture": "x", "image": "x"}
    done = b.kubectl("create", "-f", "-", stdin=json.dumps(dict(beta, metadata={"name": "m"})), ok=False)
    check('unknown field "spec.image"' in done.stderr, done.stderr)
    # a watch: what is there, then what changes, in order
    watch = subprocess.Popen([b.kubectl_program, "get", "gizmos.v1beta1.demo.example.com", "-o", "json", "-w"], env=b.env,
                             stdout=subprocess.PIPE, text=True)
    try:
        seen = []

        def read():
            decoder, text = json.JSONDecoder(), ""
            for line in watch.stdout:
                text += line
                if line == "}\n":
                    seen.append(decoder.decode(text))
                    text = ""
        threading.Thread(target=read, daemon=True).start()
        wait_for("what is there", lambda: len(seen) >= 3)
        for i in range(5):
            b.kubectl("patch", "gizmo", "v", "--type=merge", "-p", json.dumps({"spec": {"image": f"i{i}"}}))
        wait_for("the changes", lambda: seen[-1]["spec"].get("picture") == "i4")
        got = [s["spec"]["picture"] for s in seen[3:]]
        check(got == [f"i{i}" for i in range(5)], got)
    finally:
        watch.kill()
        watch.wait()
    b.kubectl("delete", "gizmos.v1beta1.demo.example.com", "n")
    hook.close()


def test_conversion_in_line(b):
    """A webhook that is slow is asked sixteen times at once; more that is wanted of its kind waits in line."""
    hook, go, codes, lock = Webhook(b.root), threading.Event(), [], threading.Lock()
    inside = []
    established(b, hook.definition())

    def slow(answer):
        with lock:
            inside.append(inside[-1] + 1 if inside else 1)
        go.wait(20)
        with lock:
            inside.append(inside[-1] - 1)
    hook.server.spoil = slow

    def create(name):
        beta = gizmo(name, "v1beta1")
        beta["spec"] = {"picture": "z"}
        codes.append(Client(b.port, b.data, cert="admin").call("POST", GIZMOS.format("v1beta1", ""), beta)[0])
    threads = [threading.Thread(target=create, args=(f"line-{i}",)) for i in range(40)]
    for t in threads:  # one after the other, or one review has them all
        t.start()
        time.sleep(0.05)
    go.set()
    for t in threads:
        t.join()
    check(max(inside) <= 16, f"{max(inside)} reviews at once")
    check(codes == [201] * 40, codes)
    check(len(raw(b, "v1")["items"]) == 40, "all of them are there")
    hook.close()


def test_conversion_failures(b):
    """A webhook that is away, says no, or says something else than it was asked."""
    hook = Webhook(b.root)
    established(b, hook.definition(("v3", "v1beta1")))
    b.apply(gizmo("v"))
    raw(b, "v1beta1", "/v")
    check(hook.server.reviews[0]["apiVersion"] == "apiextensions.k8s.io/v1beta1", hook.server.reviews)
    b.apply(hook.definition(("v1",)))

    def no(answer):
        answer["response"]["result"] = {"status": "Failure", "message": "not today"}

    def other_name(answer):
        answer["response"]["convertedObjects"][0]["metadata"]["name"] = "other"

    def none(answer):
        answer["response"]["convertedObjects"] = []

    def other_uid(answer):
        answer["response"]["uid"] = "1"

    def other_version(answer):
        answer["response"]["convertedObjects"][0]["apiVersion"] = "demo.example.com/v7"
    prefix = "conversion webhook for demo.example.com/v1, Kind=Gizmo "
    for i, (spoil, text) in enumerate((
            (no, "failed: not today"), (none, "returned 0 objects, expected 1"),
            (other_name, "returned invalid object: must have the same name: v != other"),
            (other_uid, "failed: expected response.uid="),
            (other_version, "invalid groupVersion (expected demo.example.com/v1beta1, received demo.example.com/v7)"))):
        hook.server.spoil = spoil
        b.kubectl("annotate", "--overwrite", "gizmo", "v", f"round={i}")
        for rest in ("/v", ""):
            said = raw(b, "v1beta1", rest, ok=False)
            check(prefix in said and text in said, f"{text!r} is not in {said!r}")
    hook.server.spoil = no
    beta = gizmo("n", "v1beta1")
    beta["spec"] = {"picture": "z"}
    done = b.kubectl("create", "-f", "-", stdin=json.dumps(beta), ok=False)
    check("not today" in done.stderr and "cannot be handled as a Gizmo" in done.stderr, done.stderr)
    hook.server.spoil = None
    wait_for("another try", lambda: b.kubectl("create", "-f", "-", stdin=json.dumps(beta), ok=False).returncode == 0)
    hook.close()
    b.kubectl("annotate", "--overwrite", "gizmo", "v", "round=away")
    check(prefix + "failed: Post " in raw(b, "v1beta1", "/v", ok=False), "away")
    check(raw(b, "v1", "/v")["spec"]["image"] == "x", "what is stored is read without it")


def test_storage_moves_with_a_webhook(b):
    """Objects that lie in the old version of storage are converted when they are read, and stored anew when written."""
    hook = Webhook(b.root)
    crd = hook.definition()
    established(b, crd)
    b.apply(gizmo("v"))
    for v in crd["spec"]["versions"]:
        v["storage"] = not v["storage"]
    b.apply(crd)
    wait_for("storedVersions", lambda: b.get("crd", crd["metadata"]["name"])["status"]["storedVersions"] == ["v1", "v1beta1"])
    b.stop()
    b.up()
    check(raw(b, "v1beta1", "/v")["spec"]["picture"] == "x", "read")
    check(raw(b, "v1", "/v")["spec"]["image"] == "x", "read in the old version")
    b.kubectl("label", "gizmos.v1.demo.example.com", "v", "a=b")
    check(raw(b, "v1beta1", "/v")["spec"]["picture"] == "x", "read after a write")
    hook.close()


def test_defaults_of_later(b):
    """A default that a definition gets shows in what was stored before: read, listed, in tables, and when it is written."""
    crd = definition()
    crd["spec"]["names"]["listKind"] = "GizmoSheet"
    established(b, crd)
    b.apply(gizmo("a"), gizmo("b", color="green", replicas=3))
    version = crd["spec"]["versions"][0]
    version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["color"]["default"] = "red"
    version["additionalPrinterColumns"] = COLUMNS + [{"name": "Color", "type": "string", "jsonPath": ".spec.color"}]
    b.apply(crd)
    wait_for("the default", lambda: raw(b, "v1", "/a")["spec"].get("color") == "red")
    sheet = raw(b, "v1")
    check(sheet["kind"] == "GizmoSheet" and [i["spec"]["color"] for i in sheet["items"]] == ["red", "green"], sheet)
    rows = b.kubectl("get", "gizmos").splitlines()
    check([r.split()[-1] for r in rows] == ["COLOR", "red", "green"], rows)
    generation = raw(b, "v1", "/a")["metadata"]["generation"]
    b.kubectl("label", "gizmo", "a", "x=y")
    one = raw(b, "v1", "/a")
    check(one["spec"]["color"] == "red" and one["metadata"]["generation"] == generation, one)
    b.stop()
    b.up()
    check([i["spec"]["color"] for i in raw(b, "v1")["items"]] == ["red", "green"], "after a restart")


def test_status_of_a_definition(b):
    """Anybody with the right writes it; what the server says of it comes back."""
    established(b, definition())
    name = "gizmos.demo.example.com"
    out = b.kubectl("patch", "crd", name, "--subresource=status", "--type=json", "-o", "json", "-p",
                    '[{"op": "add", "path": "/status/conditions", "value": [{"message": "patched"}]}]')
    check([c["message"] for c in json.loads(out)["status"]["conditions"]] == ["patched"], out)
    b.kubectl("wait", "--for=condition=Established", f"crd/{name}", "--timeout=10s")
    b.apply(gizmo("a"))


def test_selectors(b):
    """Selectable fields in lists, watches and deletecollection; definitions by their name."""
    established(b, definition())
    b.apply(gizmo("a"), gizmo("b", image="y"), gizmo("c", image="y"))
    check(len(raw(b, "v1", "?fieldSelector=spec.image%3Dy")["items"]) == 2, "list")
    check("field label not supported" in raw(b, "v1", "?fieldSelector=spec.replicas%3D1", ok=False), "an unknown field")
    b.kubectl("delete", "gizmos", "--field-selector=spec.image=y")
    check([i["metadata"]["name"] for i in raw(b, "v1")["items"]] == ["a"], "deletecollection")
    names = b.kubectl("get", "crd", "--field-selector=metadata.name=gizmos.demo.example.com", "-o", "name").split()
    check(len(names) == 1, names)


def test_versions(b):
    """Two versions, one storage; the storage moves."""
    crd = definition()
    old = copy.deepcopy(crd["spec"]["versions"][0])
    old.update(name="v1beta1", storage=False, deprecated=True, deprecationWarning="use v1")
    crd["spec"]["versions"].append(old)
    established(b, crd)
    b.apply(gizmo("v"))
    path = "/apis/demo.example.com/{}/namespaces/default/gizmos/v"
    beta = json.loads(b.kubectl("get", "--raw", path.format("v1beta1")))
    check(beta["apiVersion"] == "demo.example.com/v1beta1" and beta["spec"]["image"] == "x", beta)
    done = b.kubectl("apply", "-f", "-", stdin=json.dumps(gizmo("w", "v1beta1")), ok=False)
    check("use v1" in done.stderr, done.stderr)
    for v in crd["spec"]["versions"]:
        v["storage"] = not v["storage"]
    b.apply(crd)
    wait_for("storedVersions", lambda: b.get("crd", crd["metadata"]["name"])["status"]["storedVersions"] ==
             ["v1", "v1beta1"])
    b.stop()
    b.up()
    one = json.loads(b.kubectl("get", "--raw", path.format("v1")))
    check(one["apiVersion"] == "demo.example.com/v1", one)
    gone = copy.deepcopy(crd)
    gone["spec"]["versions"] = [v for v in crd["spec"]["versions"] if v["name"] != "v1"]
    refused(b, gone, "previously a storage version")
    b.kubectl("delete", "crd", crd["metadata"]["name"], "--timeout=20s")


def test_owners(b):
    """Custom objects own, are owned, and go with their namespace."""
    established(b, definition())
    b.kubectl("create", "namespace", "crd-ns")
    b.kubectl("-n", "crd-ns", "create", "-f", "-", stdin=json.dumps(gizmo("o")))
    owner = b.get("-n", "crd-ns", "gizmo", "o")["metadata"]["uid"]
    owned = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owned", "ownerReferences": [
        {"apiVersion": "demo.example.com/v1", "kind": "Gizmo", "name": "o", "uid": owner}]}}
    b.kubectl("-n", "crd-ns", "create", "-f", "-", stdin=json.dumps(owned))
    b.kubectl("-n", "crd-ns", "delete", "gizmo", "o")
    wait_for("the owned to go", lambda: b.kubectl("-n", "crd-ns", "get", "cm", "owned", ok=False).returncode != 0)
    b.kubectl("-n", "crd-ns", "create", "-f", "-", stdin=json.dumps(gizmo("o2")))
    b.kubectl("delete", "namespace", "crd-ns", "--timeout=30s")
    held = gizmo("held")
    held["metadata"]["finalizers"] = ["demo.example.com/hold"]
    b.apply(held)
    b.kubectl("delete", "crd", "gizmos.demo.example.com", "--wait=false")
    wait_for("the object to be marked", lambda: b.get("gizmo", "held")["metadata"].get("deletionTimestamp"))
    refused(b, gizmo("late"), "create not allowed while custom resource definition is terminating")
    b.kubectl("patch", "gizmo", "held", "--type=json", "-p", '[{"op":"remove","path":"/metadata/finalizers"}]')
    wait_for("the definition to go",
             lambda: b.kubectl("get", "crd", "gizmos.demo.example.com", ok=False).returncode != 0)


def test_keda(b):
    """KEDA's authentications are built in: stored and checked, and whoever writes one is told that nothing uses it yet."""
    spec = {"secretTargetRef": [{"parameter": "password", "name": "redis", "key": "p"}, {"parameter": "u", "name": "x", "key": "u"}],
            "podIdentity": {"provider": "none"}}
    one = {"apiVersion": "keda.sh/v1alpha1", "kind": "TriggerAuthentication", "metadata": {"name": "a"}, "spec": spec}
    done = b.kubectl("create", "-f", "-", stdin=json.dumps(one), ok=False)
    check(done.returncode == 0 and "Warning: TriggerAuthentication: Stored and checked, but nothing scales by it yet."
          in done.stderr, done.stderr)
    done = b.kubectl("label", "ta", "a", "x=y", ok=False)
    check(done.returncode == 0 and "nothing scales" in done.stderr, done.stderr)
    check(b.get("triggerauth", "a")["spec"] == spec, "not stored as written")
    rows = b.kubectl("get", "ta").splitlines()
    check(rows[0].split() == ["NAME", "PODIDENTITY", "SECRET", "ENV", "VAULTADDRESS"] and "redis" in rows[1], rows)
    check("nothing scales by it yet" in b.kubectl("explain", "triggerauthentication"), "explain")
    check("Key that has the value." in b.kubectl("explain", "ta.spec.secretTargetRef.key"), "explain of a field")
    refused(b, dict(one, spec={"secretTargetRef": [{"name": "n", "kay": "k"}]}), 'unknown field "spec.secretTargetRef[0].kay"')
    refused(b, dict(one, spec={"env": [{"name": "n"}]}), "spec.env[0].parameter: Required value")
    b.apply(dict(one, kind="ClusterTriggerAuthentication"))
    check(b.kubectl("get", "cta", "-o", "name").strip().endswith("/a"), "of the cluster")
    b.kubectl("create", "serviceaccount", "reader")
    b.kubectl("create", "rolebinding", "reader", "--clusterrole=view", "--serviceaccount=default:reader")
    reader = "--as=system:serviceaccount:default:reader"
    check(b.kubectl("auth", "can-i", "get", "ta", reader, ok=False).stdout.strip() == "yes", "view cannot read")
    check(b.kubectl("auth", "can-i", "create", "ta", reader, ok=False).stdout.strip() == "no", "view can write")
    b.kubectl("create", "rolebinding", "writer", "--clusterrole=edit", "--serviceaccount=default:reader")
    check(b.kubectl("auth", "can-i", "create", "ta", reader, ok=False).stdout.strip() == "yes", "edit cannot write")
    b.stop()
    b.up()
    check(b.get("ta", "a")["spec"] == spec, "lost")


def main():
    program, kubectl, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    tests = {k[5:]: f for k, f in globals().items() if k.startswith("test_")}
    failed = 0
    for name in names or tests:
        try:
            with Berth(program, kubectl, gpus="none") as b:
                tests[name](b)
            print(f"ok   {name}")
        except (Fail, subprocess.TimeoutExpired, KeyError) as e:
            failed += 1
            print(f"FAIL {name}: {e}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
