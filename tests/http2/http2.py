#!/usr/bin/env python3
"""http2: HTTP/2 and protobuf with clients that others wrote, and with none.   http2.py BERTH KUBECTL [TEST...]

Each test has its own `berth up`. Prints a line a test and closes with "N passed, N failed".
"""
import base64
import http.client
import json
import os
import re
import shutil
import ssl
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
sys.path.insert(0, HERE)
import protobuf as pb  # noqa: E402
from frames import (CALM, CONTINUATION, DATA, END_STREAM, GOAWAY, HEADERS, PING, RESET, SETTINGS, WINDOW,  # noqa: E402
                    Frames, field, frame, text)
from harness import Berth, Fail, check, run_tests, wait_for  # noqa: E402

PROTOBUF = "application/vnd.kubernetes.protobuf"


class Home:
    """The administrator's credentials as files, and ways to ask."""

    def __init__(self, b):
        self.b, self.url = b, f"https://127.0.0.1:{b.port}"
        with open(os.path.join(b.data, "kubeconfig"), encoding="utf-8") as f:
            config = f.read()
        self.files = {}
        for name, key in (("ca", "certificate-authority"), ("cert", "client-certificate"), ("key", "client-key")):
            self.files[name] = os.path.join(b.root, name + ".pem")
            found = re.search(key + r"-data: (\S+)", config)
            if found:
                with open(self.files[name], "wb") as f:
                    f.write(base64.b64decode(found.group(1)))
            else:
                self.files[name] = re.search(key + r": (\S+)", config).group(1).strip('"')

    def context(self, known=True):
        c = ssl.create_default_context(cafile=self.files["ca"])
        if known:
            c.load_cert_chain(self.files["cert"], self.files["key"])
        return c

    def frames(self, known=True, settings=b""):
        return Frames(self.b.port, self.context(known), settings)

    def ask(self, method, path, body=None, **headers):
        """Over HTTP/1.1: (status, content type, body)."""
        c = http.client.HTTPSConnection("127.0.0.1", self.b.port, context=self.context(), timeout=30)
        c.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
        r = c.getresponse()
        data = r.read()
        c.close()
        return r.status, r.headers.get("Content-Type"), data

    def curl(self, *args):
        return self.b.run(["curl", "-sS", "--cacert", self.files["ca"], "--cert", self.files["cert"], "--key",
                           self.files["key"], "--max-time", "30", *args]).stdout


def well(home, what):
    """Others are served as ever."""
    status, _, _ = home.ask("GET", "/api/v1/namespaces/default")
    check(status == 200, f"{what}: a request of somebody else: {status}")


# ---- clients


def test_kubectl(h):
    done = subprocess.run([h.b.kubectl_program, "get", "namespaces"], env=dict(h.b.env, GODEBUG="http2debug=1"),
                          capture_output=True, text=True, timeout=60, check=False)
    check(done.returncode == 0 and "default" in done.stdout, done.stderr[-500:])
    check("http2: Transport received SETTINGS" in done.stderr and "http2: Framer" not in done.stdout,
          f"kubectl did not speak HTTP/2: {done.stderr[:300]}")
    old = subprocess.run([h.b.kubectl_program, "get", "namespaces"], env=dict(h.b.env, GODEBUG="http2client=0"),
                         capture_output=True, text=True, timeout=60, check=False)
    check(old.returncode == 0 and old.stdout == done.stdout, f"over HTTP/1.1: {old.stdout}{old.stderr}")
    watch = subprocess.Popen([h.b.kubectl_program, "get", "configmaps", "-w", "-o", "name"], env=h.b.env,
                             stdout=subprocess.PIPE, text=True)
    try:
        h.b.kubectl("create", "configmap", "seen", "--from-literal=a=b")
        wait_for("the watch", lambda: "configmap/seen" in watch.stdout.readline())
    finally:
        watch.kill()
        watch.wait()
    h.b.kubectl("wait", "--for=jsonpath={.data.a}=b", "configmap/seen", "--timeout=20s")


def test_kubectl_sessions(h):
    """exec and port-forward take an upgrade, for which clients open HTTP/1.1 themselves."""
    h.b.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {
        "terminationGracePeriodSeconds": 1, "containers": [{"name": "c", "image": "none", "command": ["sleep", "600"]}]}})
    h.b.kubectl("wait", "--for=jsonpath={.status.phase}=Running", "pod/p", "--timeout=60s")
    got = h.b.kubectl("exec", "p", "--", "echo", "hello")
    check(got == "hello\n", got)
    check(h.b.kubectl("logs", "p") == "", "logs")
    c = h.frames()
    c.headers(1, c.get("/api/v1/namespaces/default/pods/p/exec?command=true&stdout=1"))
    check(c.until(lambda f: f.kind == DATA and f.stream == 1) is not None, "an exec without an upgrade is answered")
    check(b"400" in b"".join(f.payload for f in c.heard if f.kind == DATA), [f.payload for f in c.heard])
    c.close()


def test_curl(h):
    path = h.url + "/api/v1/namespaces"
    two = h.curl("--http2", "-w", "\n%{http_version} %{content_type}", path)
    check(two.endswith("\n2 application/json"), two[-60:])
    one = h.curl("--http1.1", "-w", "\n%{http_version} %{content_type}", path)
    check(one.endswith("\n1.1 application/json"), one[-60:])
    check(json.loads(one.rsplit("\n", 1)[0])["items"] == json.loads(two.rsplit("\n", 1)[0])["items"], "other items")
    body = os.path.join(h.b.root, "body")
    for size, want in ((1 << 20, "201"), (4 << 20, "413")):
        with open(body, "w", encoding="utf-8") as f:
            json.dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"b{size}"}, "data": {"a": "x" * size}}, f)
        got = h.curl("--http2", "-o", "/dev/null", "-w", "%{http_version} %{http_code}", "-H", "Content-Type: application/json",
                     "--data-binary", "@" + body, h.url + "/api/v1/namespaces/default/configmaps")
        check(got == "2 " + want, f"{size} bytes: {got}")
    head = h.curl("--http2", "-I", h.url + "/healthz")
    check(head.startswith("HTTP/2 "), head)
    page = next(w for w in h.b.berth("dashboard", "--data", h.b.data).split() if "#code=" in w).split("/dashboard")[0]
    plain = h.curl("--http2-prior-knowledge", "-w", "\n%{http_version} %{http_code}", page + "/dashboard/")
    check(plain.endswith("\n2 200"), plain[-60:])


def test_many_watches(h):
    """A hundred streams: 99 watches and a request; GOAWAY when the server ends."""
    if not shutil.which("node"):
        return
    p = subprocess.Popen(["node", os.path.join(HERE, "many.mjs"), h.url, h.files["ca"], h.files["cert"], h.files["key"],
                          "99"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        for want in ("alpn h2 streams 100", "made 201", "seen 99", "got 200 true"):
            line = p.stdout.readline().strip()
            check(line == want, f"{line!r}, not {want!r}")
        h.b.stop()
        rest = p.communicate(timeout=30)[0].split("\n")
        check("goaway 0" in rest and "ended 99" in rest and not [x for x in rest if x.startswith("error")], rest)
    finally:
        p.kill()
        p.wait()


def test_chromium(h):
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium or not os.path.isdir(os.path.join(HERE, "../../web/node_modules/playwright-core")):
        print("        skipped: no Chromium here")
        return
    link = next(w for w in h.b.berth("dashboard", "--data", h.b.data).split() if "#code=" in w)
    done = subprocess.run(["node", os.path.join(HERE, "page.mjs"), h.url, link.split("code=")[1]], capture_output=True,
                          text=True, timeout=120, check=False, env=dict(os.environ, CHROMIUM=chromium))
    check(done.stdout.split("\n")[:2] == ['["h2"]', "watch 200"], f"{done.stdout}{done.stderr[-800:]}")


# ---- who makes frames by hand


def test_rapid_resets(h):
    c = h.frames()
    c.until(lambda f: f.kind == SETTINGS and not f.flags)
    for i in range(1, 40000, 2):
        if not c.send(frame(HEADERS, 5, i, c.get("/api/v1/pods")) + frame(RESET, 0, i, struct.pack(">I", 8))):
            break
    check(c.goaway() in (CALM, -1), [f.kind for f in c.heard][-3:])
    answers = len([f for f in c.heard if f.kind == HEADERS])
    check(answers <= 300, f"{answers} of them were answered")
    well(h, "rapid resets")


def test_floods(h):
    floods = {
        "PING": frame(PING, 0, 0, b"\0" * 8),
        "SETTINGS": frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 65535)),
        "SETTINGS of nothing": frame(SETTINGS, 0, 0),
        "empty DATA": None,
        "frames that nobody knows": frame(77, 0, 0, b"?"),
        "WINDOW_UPDATE": frame(WINDOW, 0, 0, struct.pack(">I", 1)),
    }
    for name, one in floods.items():
        c = h.frames()
        if one is None:
            c.headers(1, c.post("/api/v1/namespaces/default/configmaps"), end=False)
            one = frame(DATA, 0, 1)
        for _ in range(200):
            if not c.send(one * 50):
                break
        check(c.goaway() in (CALM, -1), name)
        well(h, name)


def test_heads(h):
    c = h.frames()
    c.send(frame(HEADERS, 1, 1, c.get("/version")[:2]))
    for _ in range(5000):
        if not c.send(frame(CONTINUATION, 0, 1, b"")):
            break
    check(c.goaway() != 0, "CONTINUATION without end")
    well(h, "CONTINUATION")
    c = h.frames()  # a table entry of 4000 bytes, said 16000 times in 16 KB
    c.headers(1, c.get("/version") + b"\x40" + text("x") + text("v" * 4000))
    check(c.until(lambda f: f.kind == HEADERS and f.stream == 1), "one of them is fine")
    for i in range(3, 43, 2):
        c.headers(i, c.get("/version") + b"\xbe" * 16000)
    check(c.until(lambda f: f.kind == RESET and f.stream == 41), "heads that unpack to 64 MB")
    well(h, "heads that unpack")
    c = h.frames()
    c.headers(1, c.get("/version", field("x-long", "v" * 16000)))
    check(c.until(lambda f: f.kind == DATA), "16 KB is a head")
    c.send(frame(HEADERS, 1, 3, c.get("/version", field("x-a", "v" * 15000))) +
           frame(CONTINUATION, 0, 3, field("x-b", "v" * 15000)) + frame(CONTINUATION, 4, 3, field("x-c", "v" * 15000)))
    got = c.until(lambda f: f.kind == DATA and f.stream == 3)
    check(got and b"too large" in got.payload, "48 KB is none")


def test_zero_windows(h):
    """Who opens no window gets no bytes, and costs what waits; others are served, and after a while he is cut."""
    for i in range(30):
        h.b.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{i}"}, "data": {"a": "x" * 100000}})
    c = h.frames(settings=struct.pack(">HI", 4, 0))
    for i in range(1, 201, 2):
        c.headers(i, c.get("/api/v1/namespaces/default/configmaps"))
    check(c.until(lambda f: f.kind == HEADERS and f.stream == 199), "their heads come")
    check(not [f for f in c.heard if f.kind == DATA and f.payload], "no byte came")
    well(h, "zero windows")
    with open(f"/proc/{h.b.process.pid}/status", encoding="utf-8") as f:
        kb = int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))
    check(kb < 512 << 10, f"{kb} KiB for a hundred answers of 3 MB")
    c.headers(201, c.get("/version"))
    cut = c.until(lambda f: f.kind in (RESET, GOAWAY), seconds=60)
    check(cut is not None, "cut")


def test_streams_and_errors(h):
    c = h.frames()
    c.until(lambda f: f.kind == SETTINGS and f.flags & 1)
    for i in range(1, 301, 2):
        c.headers(i, c.get("/api/v1/namespaces/default/configmaps?watch=true"))
    check(c.until(lambda f: f.kind in (GOAWAY, RESET)), "more than a hundred")
    well(h, "streams")
    for name, bad in (("garbage", b"\xff" * 400), ("DATA on no stream", frame(DATA, 0, 7, b"x")),
                      ("an even stream", frame(HEADERS, 5, 2, b"\x82\x87\x84")),
                      ("HPACK's index beyond the table", frame(HEADERS, 5, 1, b"\xff\xff\x7f")),
                      ("a window that overflows", frame(WINDOW, 0, 0, struct.pack(">I", 0x7fffffff)) * 2),
                      ("a table of 4 GiB", frame(HEADERS, 5, 1, b"\x3f\xe1\xff\xff\xff\x0f\x82")),
                      ("SETTINGS of 7 bytes", frame(SETTINGS, 0, 0, b"1234567"))):
        c = h.frames()
        c.send(bad)
        check(c.goaway() != 0, name)
        well(h, name)
    c = h.frames(known=False)
    c.headers(1, c.post("/api/v1/namespaces/default/configmaps"), end=False)
    got = c.until(lambda f: f.kind == DATA and f.stream == 1)
    check(got and b"401" in got.payload or b"403" in got.payload, "who is a stranger is told before the body")


def test_smuggling(h):
    """What an HTTP/1.1 server would refuse is refused in a field as well."""
    c = h.frames()
    at = 1
    for more in (field("transfer-encoding", "chunked"), field("connection", "upgrade"), field("host", "elsewhere"),
                 field("content-length", "7"), field("x", "a\r\nb: c")):
        c.headers(at, c.get("/version", more))
        got = c.until(lambda f, i=at: f.stream == i and f.kind in (DATA, RESET))
        check(got and (got.kind == RESET or b"400" in got.payload), f"{more}: {got and got.payload}")
        at += 2
    for path in ("/api/../version", "//version", "/version\x00", "version", "/a b"):
        c.headers(at, b"\x82\x87" + field(":path", path) + field(":authority", "localhost"))
        got = c.until(lambda f, i=at: f.stream == i and f.kind in (DATA, RESET))
        check(got and (got.kind == RESET or b"400" in got.payload), f"{path!r}: {got and got.payload}")
        at += 2


# ---- protobuf: numbers stated here, after the public .proto files of k8s.io/api


def test_protobuf_objects(h):
    raw = pb.put(1, pb.put(1, "by-protobuf") + pb.put(11, pb.put(1, "l") + pb.put(2, "v"))) + pb.put(
        2, pb.put(1, "key") + pb.put(2, "value")) + pb.put(3, pb.put(1, "bin") + pb.put(2, b"\0\1\xff"))
    status, kind, data = h.ask("POST", "/api/v1/namespaces/default/configmaps", pb.envelope("v1", "ConfigMap", raw),
                               Content_Type=PROTOBUF, Accept=PROTOBUF)
    check((status, kind) == (201, PROTOBUF), f"{status} {kind} {data[:200]!r}")
    api, name, m = pb.opened(data)
    check((api, name) == ("v1", "ConfigMap"), f"{api} {name}")
    check(pb.one(m, 1, 1) == b"by-protobuf" and pb.one(m, 1, 3) == b"default", "metadata")
    check(pb.one(m, 2, 1) == b"key" and pb.one(m, 2, 2) == b"value", "data")
    check(pb.one(m, 3, 2) == b"\0\1\xff", "binaryData")
    check(abs(pb.one(m, 1, 8, 1) - time.time()) < 600, "creationTimestamp")
    uid = h.b.get("configmap", "by-protobuf")["metadata"]["uid"]
    check(pb.one(m, 1, 5) == uid.encode(), "uid")
    h.b.apply({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {
        "selector": {"app": "a"}, "ports": [{"name": "http", "port": 80, "targetPort": "web"},
                                            {"name": "n", "port": 81, "targetPort": 8081}]}})
    _, _, data = h.ask("GET", "/api/v1/namespaces/default/services/s", Accept=PROTOBUF)
    spec = pb.one(pb.opened(data)[2], 2)
    ports = pb.every(spec, 1)
    check([pb.one(p, 1) for p in ports] == [b"http", b"n"] and [pb.one(p, 3) for p in ports] == [80, 81], "ports")
    check([(pb.one(p, 4, 1), pb.one(p, 4, 2), pb.one(p, 4, 3)) for p in ports] == [(1, 0, b"web"), (0, 8081, b"")],
          "int or string")


def test_protobuf_lists(h):
    for i in range(5):
        h.b.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{i}"}, "data": {"a": "b"}})
    _, kind, data = h.ask("GET", "/api/v1/namespaces/default/configmaps?limit=2", Accept=PROTOBUF + ",application/json")
    api, name, m = pb.opened(data)
    check((kind, api, name) == (PROTOBUF, "v1", "ConfigMapList"), f"{kind} {api} {name}")
    check(len(pb.every(m, 2)) == 2 and pb.one(m, 1, 3) and pb.one(m, 1, 4) >= 3, "a page")
    _, _, data = h.ask("GET", "/api/v1/namespaces/default/configmaps", Accept=PROTOBUF)
    names = [pb.one(o, 1, 1).decode() for o in pb.every(pb.opened(data)[2], 2)]
    check({f"c{i}" for i in range(5)} <= set(names) and names == sorted(names), names)
    c = http.client.HTTPSConnection("127.0.0.1", h.b.port, context=h.context(), timeout=30)
    c.request("GET", "/api/v1/namespaces/default/configmaps?watch=true&timeoutSeconds=20&fieldSelector=metadata.name=c1"
              "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
              headers={"Accept": PROTOBUF + ";stream=watch"})
    r = c.getresponse()
    check(r.status == 200 and r.headers["Content-Type"] == PROTOBUF + ";stream=watch", r.headers)

    def event():
        n = struct.unpack(">I", r.read(4))[0]
        m = r.read(n)
        return pb.one(m, 1).decode(), pb.opened(pb.one(m, 2, 1))

    what, (_, name, m) = event()
    check((what, name, pb.one(m, 1, 1)) == ("ADDED", "ConfigMap", b"c1"), what)
    what, (_, name, m) = event()
    check((what, name) == ("BOOKMARK", "ConfigMap"), what)
    check(pb.one(m, 1, 12, 1) == b"k8s.io/initial-events-end", "the initial events' end")
    h.b.kubectl("patch", "configmap", "c1", "--type=merge", "-p", '{"data":{"a":"c"}}')
    what, (_, _, m) = event()
    check((what, pb.one(m, 2, 2)) == ("MODIFIED", b"c"), what)
    h.b.kubectl("delete", "configmap", "c1")
    check(event()[0] == "DELETED", "DELETED")
    c.close()


def test_protobuf_definitions(h):
    """CustomResourceDefinition, in and out; its objects are JSON."""
    props = pb.put(5, "object") + pb.put(29, pb.put(1, "spec") + pb.put(2, pb.put(5, "object") + pb.put(
        29, pb.put(1, "n") + pb.put(2, pb.put(5, "integer") + b"\x59" + struct.pack("<d", 1.0) + pb.put(
            8, pb.put(1, "3")))) + pb.put(
        29, pb.put(1, "list") + pb.put(2, pb.put(5, "array") + pb.put(24, pb.put(1, pb.put(5, "string"))))) + pb.put(
        29, pb.put(1, "map") + pb.put(2, pb.put(5, "object") + pb.put(30, pb.put(1, 1) + pb.put(2, pb.put(5, "string")))))))
    version = pb.put(1, "v1") + pb.put(2, 1) + pb.put(3, 1) + pb.put(4, pb.put(1, props)) + pb.put(5, pb.put(1, b""))
    spec = pb.put(1, "example.com") + pb.put(3, pb.put(1, "widgets") + pb.put(2, "widget") + pb.put(4, "Widget") + pb.put(
        5, "WidgetList")) + pb.put(4, "Namespaced") + pb.put(7, version) + pb.put(10, 0)
    raw = pb.put(1, pb.put(1, "widgets.example.com")) + pb.put(2, spec)
    status, kind, data = h.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", pb.envelope(
        "apiextensions.k8s.io/v1", "CustomResourceDefinition", raw), Content_Type=PROTOBUF, Accept=PROTOBUF)
    check(status == 201, data[:400])
    m = pb.opened(data)[2]
    check(pb.one(m, 2, 7, 4, 1, 5) == b"object" and pb.one(m, 2, 7, 5, 1) == b"", "the schema, and the status subresource")
    h.b.kubectl("wait", "--for=condition=Established", "crd/widgets.example.com", "--timeout=30s")
    schema = h.b.get("crd", "widgets.example.com")["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    check(schema["properties"] == {"n": {"type": "integer", "minimum": 1, "default": 3},
                                   "list": {"type": "array", "items": {"type": "string"}},
                                   "map": {"type": "object", "additionalProperties": {"type": "string"}}}, schema)
    h.b.apply({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {}})
    path = "/apis/example.com/v1/namespaces/default/widgets"
    check(h.ask("GET", path, Accept=PROTOBUF)[0] == 406, "no protobuf of custom kinds")
    check(h.ask("POST", path, b"k8s\0", Content_Type=PROTOBUF)[0] in (400, 415), "nor into them")
    status, kind, _ = h.ask("GET", path, Accept=PROTOBUF + ",application/json")
    check((status, kind) == (200, "application/json"), f"{status} {kind}")


def test_protobuf_of_what_has_none(h):
    for path in ("/apis/kueue.x-k8s.io/v1beta2/clusterqueues",):
        check(h.ask("GET", path, Accept=PROTOBUF)[0] == 406, path)
        check(h.ask("GET", path, Accept=PROTOBUF + ", application/json")[1] == "application/json", path)
    table = PROTOBUF + ";as=Table;v=v1;g=meta.k8s.io"
    check(h.ask("GET", "/api/v1/namespaces", Accept=table)[0] == 406, "tables")
    status, kind, data = h.ask("GET", "/api/v1/namespaces", Accept=table + ",application/json;as=Table;v=v1;g=meta.k8s.io")
    check((status, kind, json.loads(data)["kind"]) == (200, "application/json", "Table"), kind)
    status, kind, data = h.ask("GET", "/api/v1/namespaces/none", Accept=PROTOBUF)
    check((status, kind) == (404, "application/json") and json.loads(data)["kind"] == "Status", "an error is a Status")


def main(f, program, kubectl):
    with Berth(program, kubectl, gpus="none") as b:
        f(Home(b))


if __name__ == "__main__":
    _ = (END_STREAM, Fail)
    sys.exit(run_tests(globals(), main))
