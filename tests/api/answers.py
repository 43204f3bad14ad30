#!/usr/bin/env python3
"""answers: the API server alone, asked with requests as they stand on the wire: what kubectl does not send.

    answers.py APISERVER

Exit status 0 when every check held.
"""
import http.client
import json
import signal
import ssl
import subprocess
import sys
import tempfile

FULL = 45000  # the second step of a list, at 20,000 objects each, sends nothing, not even the head


class Server:
    def __init__(self, program, folder):
        self.failed = self.checks = 0
        self.process = subprocess.Popen([program, folder, "fill", str(FULL)], stdout=subprocess.PIPE, text=True)
        ready = self.process.stdout.readline()
        assert ready.startswith("ready "), ready
        self.port = int(ready.split()[1])
        self.tls = ssl.create_default_context(cafile=folder + "/ca.crt")
        self.tls.load_cert_chain(folder + "/admin.crt", folder + "/admin.key")
        self.kept = self.connect()

    def connect(self, timeout=120):
        return http.client.HTTPSConnection("127.0.0.1", self.port, context=self.tls, timeout=timeout)

    def ask(self, method, path, body=None, kind="application/json", **headers):
        if isinstance(body, dict):
            body = json.dumps(body)
        self.kept.request(method, path, body, {"Content-Type": kind, **headers})
        answer = self.kept.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text.startswith(b"{") else text

    def check(self, name, good, got):
        self.checks += 1
        if not good:
            self.failed += 1
            print(f"not ok: {name}\n  got: {str(got)[:2000]}")

    def wants(self, name, status, method, path, body=None, text="", **more):
        code, got = self.ask(method, path, body, **more)
        said = got.get("message", json.dumps(got)) if isinstance(got, dict) else str(got)
        self.check(name, code == status and text in said, (code, said))
        return got

    def stop(self):
        self.kept.close()
        self.process.send_signal(signal.SIGTERM)
        self.check("the server stops cleanly", self.process.wait(30) == 0, self.process.returncode)


CORE = "/api/v1/namespaces/default"
MAPS = CORE + "/configmaps"


def pod(name, **spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def config_map(name, labels=None, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels or {}}, "data": data}


def verbs_of_subresources(s):
    """A right to a subresource is none to the object: what the subresource does not serve is 405."""
    s.wants("a pod", 201, "POST", CORE + "/pods", pod("x"))
    x = CORE + "/pods/x/"
    served = {"status": {"GET", "PUT", "PATCH"}, "binding": {"POST"}, "eviction": {"POST"}, "log": {"GET"},
              "exec": {"GET", "POST"}, "attach": {"GET", "POST"}, "portforward": {"GET", "POST"}}
    for sub, verbs in served.items():
        for verb in {"GET", "POST", "PUT", "PATCH", "DELETE"} - verbs:
            s.wants(f"{verb} pods/{sub}", 405, verb, x + sub, {})
    for verb in ("GET", "POST", "PATCH", "DELETE"):
        s.wants(f"{verb} namespaces/finalize", 405, verb, "/api/v1/namespaces/default/finalize", {})
    for verb in ("POST", "DELETE"):
        s.wants(f"{verb} namespaces/status", 405, verb, "/api/v1/namespaces/default/status", {})
    for verb in ("GET", "PUT", "PATCH", "DELETE"):
        s.wants(f"{verb} serviceaccounts/token", 405, verb, CORE + "/serviceaccounts/default/token", {})
    s.wants("a watch of a subresource", 405, "GET", "/api/v1/watch/namespaces/default/pods/x/status")
    s.wants("a review with a name", 405, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews/x", {})
    s.wants("the pod is still there", 200, "GET", CORE + "/pods/x")
    s.wants("its status as well", 200, "GET", x + "status")


def protobuf_without_a_table(s):
    """Nothing is half-read: a kind without a protobuf form takes JSON or YAML."""
    def text(tag, value):
        value = value if isinstance(value, bytes) else value.encode()
        return bytes([tag << 3 | 2, len(value)]) + value

    def envelope(api, kind, raw):
        return b"k8s\0" + text(1, text(1, api) + text(2, kind)) + text(2, raw)

    kinds = (("kueue.x-k8s.io/v1beta2", "Cohort", "cohorts"),
             ("kueue.x-k8s.io/v1beta2", "ResourceFlavor", "resourceflavors"))
    for api, kind, plural in kinds:
        body = envelope(api, kind, text(1, text(1, "widgets.example.com")))
        s.wants(f"{kind} as protobuf", 415, "POST", f"/apis/{api}/{plural}", body, "has no protobuf form",
                kind="application/vnd.kubernetes.protobuf")
    body = envelope("apiextensions.k8s.io/v1", "CustomResourceDefinition", text(1, text(1, "widgets.example.com")))
    s.wants("a CustomResourceDefinition as protobuf", 422, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            body, "spec.group: Required value", kind="application/vnd.kubernetes.protobuf")
    body = envelope("v1", "Namespace", text(1, text(1, "by-protobuf")))
    s.wants("a Namespace as protobuf", 201, "POST", "/api/v1/namespaces", body,
            kind="application/vnd.kubernetes.protobuf")


def watch_that_is_left(s):
    """What leaves a selection is told as it last was in it, with the revision at which it left."""
    made = s.wants("in", 201, "POST", MAPS, config_map("leaves", {"is": "in"}, x="1"))
    line = s.connect(30)
    path = MAPS + "?watch=1&timeoutSeconds=5&labelSelector=is%3Din&resourceVersion="
    line.request("GET", path + made["metadata"]["resourceVersion"])
    stream = line.getresponse()
    out = s.wants("out", 200, "PUT", MAPS + "/leaves", config_map("leaves", {"is": "out"}, secret="2"))
    event = json.loads(stream.readline())
    what, meta = event["object"], event["object"]["metadata"]
    s.check("DELETED", event["type"] == "DELETED" and meta["labels"] == {"is": "in"} and what["data"] == {"x": "1"},
            event)
    s.check("its revision", meta["resourceVersion"] == out["metadata"]["resourceVersion"], (meta, out))
    line.close()
    line = s.connect(30)
    line.request("GET", path + made["metadata"]["resourceVersion"])  # the same from history
    again = json.loads(line.getresponse().readline())
    s.check("the same later", again == event, (again, event))
    line.close()


def lists_that_match_nothing(s):
    """A step of an unpaged list that selects nothing goes on to the next."""
    full = "/api/v1/namespaces/full/configmaps"
    got = s.wants("none of many", 200, "GET", full + "?labelSelector=no%3Dsuch")
    s.check("an empty list", got.get("items") == [], got)
    last = f"m{FULL - 1:06}"
    s.wants("a label for the last", 200, "PATCH", f"{full}/{last}", {"metadata": {"labels": {"the": "last"}}},
            kind="application/merge-patch+json")
    got = s.wants("the last of many", 200, "GET", full + "?labelSelector=the%3Dlast")
    s.check("one", [i["metadata"]["name"] for i in got.get("items", [])] == [last], got)
    got = s.wants("all", 200, "GET", full)
    s.check("all of them", len(got["items"]) == FULL, len(got["items"]))


def grace(s):
    huge = 9223372036854775807
    s.wants("a patient pod", 201, "POST", CORE + "/pods", pod("patient", terminationGracePeriodSeconds=huge))
    bind = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "patient"}, "target": {"name": "n"}}
    s.wants("bound", 201, "POST", CORE + "/pods/patient/binding", bind)
    field = 'gracePeriodSeconds: Invalid value: "9223372036854775807"'
    s.wants("too much in the query", 422, "DELETE", CORE + f"/pods/patient?gracePeriodSeconds={huge}", text=field)
    s.wants("too much in the body", 422, "DELETE", CORE + "/pods/patient", {"gracePeriodSeconds": huge}, field)
    got = s.wants("its own is much", 200, "DELETE", CORE + "/pods/patient")
    meta = got["metadata"]
    s.check("in the future", meta["deletionGracePeriodSeconds"] == 2147483647 and
            meta["deletionTimestamp"] > got["metadata"]["creationTimestamp"], meta)
    s.wants("at once", 200, "DELETE", CORE + "/pods/patient?gracePeriodSeconds=0")


def what_is_not_understood(s):
    """Options that nobody knows are refused with their names, not passed over."""
    s.wants("a map", 201, "POST", MAPS, config_map("opts"))
    one = MAPS + "/opts"
    for query, field in (("dryRun=Some", "dryRun"), ("propagationPolicy=Sometimes", "propagationPolicy"),
                         ("gracePeriodSeconds=soon", "gracePeriodSeconds"), ("orphanDependents=maybe", "orphanDependents")):
        code, got = s.ask("DELETE", one + "?" + query)
        s.check(query, code in (400, 422) and field in got["message"], (code, got))
    for body, field in (({"propagationpolicy": "Orphan"}, "propagationpolicy"), ({"propagationPolicy": 1}, "propagationPolicy"),
                        ({"gracePeriodSeconds": "1"}, "gracePeriodSeconds"), ({"orphanDependents": "true"}, "orphanDependents"),
                        ({"dryRun": "All"}, "dryRun"), ({"dryRun": ["Some"]}, "dryRun"), ({"kind": "Pod"}, "DeleteOptions"),
                        ({"preconditions": ["x"]}, "preconditions"), ({"propagationPolicy": "Never"}, "propagationPolicy")):
        code, got = s.ask("DELETE", one, body)
        s.check(f"DeleteOptions {body}", code in (400, 422) and field in got["message"], (code, got))
    for query, field in (("watch=perhaps", "watch"), ("limit=few", "limit"), ("timeoutSeconds=long", "timeoutSeconds"),
                         ("resourceVersion=1&resourceVersionMatch=Roughly", "resourceVersionMatch"),
                         ("resourceVersionMatch=Exact", "resourceVersionMatch"), ("includeObject=Some", "includeObject"),
                         ("sendInitialEvents=yes", "sendInitialEvents"), ("watch=1&allowWatchBookmarks=x", "allowWatchBookmarks"),
                         ("fieldSelector=no.such%3Dx", "no.such"), ("continue=x", "continue")):
        code, got = s.ask("GET", MAPS + "?" + query)
        s.check(query, code in (400, 422) and field in got["message"], (code, got))
    for query, field in (("fieldValidation=Loose", "fieldValidation"), ("dryRun=None", "dryRun"),
                         ("fieldManager=" + "m" * 129, "fieldManager")):
        code, got = s.ask("POST", MAPS + "?" + query, config_map("opts2"))
        s.check(query, code in (400, 422) and field in got["message"], (code, got))
    s.wants("force without apply", 422, "PATCH", one + "?force=true", {"data": {}}, "force",
            kind="application/merge-patch+json")
    s.wants("an unknown body", 415, "POST", MAPS, config_map("opts2"), kind="text/html")
    s.wants("an unknown answer", 406, "GET", one, Accept="text/html")
    s.wants("a binding to another kind", 422, "POST", CORE + "/pods/x/binding",
            {"metadata": {"name": "x"}, "target": {"kind": "Pod", "name": "n"}}, "target.kind")
    s.wants("it is all there still", 200, "GET", one)
    s.wants("and goes when asked rightly", 200, "DELETE", one, {"kind": "DeleteOptions", "apiVersion": "v1",
            "propagationPolicy": "Background", "gracePeriodSeconds": None, "preconditions": {}})


def large_collections(s):
    """Deleting a collection needs no more for many than for few, and ends whole."""
    filler = "x" * 40000
    for i in range(1000):
        code, got = s.ask("POST", "/api/v1/namespaces/by-protobuf/configmaps", config_map(f"big{i}", x=filler))
        if code != 201:
            s.check("filled", False, got)
            return
    s.wants("some", 200, "DELETE", "/api/v1/namespaces/by-protobuf/configmaps?fieldSelector=metadata.name%3Dbig7",
            text="big7")
    s.wants("all", 200, "DELETE", "/api/v1/namespaces/by-protobuf/configmaps", text="Success")
    got = s.wants("none left", 200, "GET", "/api/v1/namespaces/by-protobuf/configmaps")
    s.check("none", got["items"] == [], len(got["items"]))


def main():
    with tempfile.TemporaryDirectory(prefix="berth-answers-") as folder:
        s = Server(sys.argv[1], folder)
        try:
            for part in (verbs_of_subresources, protobuf_without_a_table, watch_that_is_left, lists_that_match_nothing,
                         grace, what_is_not_understood, large_collections):
                part(s)
        finally:
            s.stop()
        print(f"{s.checks} checks, {s.failed} failed")
        sys.exit(1 if s.failed else 0)


main()
