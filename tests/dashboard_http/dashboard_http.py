#!/usr/bin/env python3
"""dashboard_http: what browsers and those who pretend to be one get from `berth up` and `berth operate`, over sockets.

    dashboard_http.py BERTH KUBECTL [NAME...]

Each test is a function test_*. Prints a line each, closes with "N passed, N failed".
"""
import calendar
import gzip
import http.client
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from harness import TOP, Berth, Fail, check, wait_for  # noqa: E402  pylint: disable=wrong-import-position

OURS = {"X-Berth-Dashboard": "1"}
JSON = {"Content-Type": "application/json"}


class Site:
    """One listener, and one browser's cookie on it."""

    def __init__(self, port, context=None):
        self.port, self.context, self.cookie = port, context, None

    def connect(self):
        if self.context:
            return http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context, timeout=20)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)

    def ask(self, method, path, body=None, headers=None, want=None):
        c = self.connect()
        h = dict(headers or {})
        if self.cookie:
            h["Cookie"] = self.cookie
        if isinstance(body, dict):
            body = json.dumps(body)
            h = {**JSON, **h}
        c.request(method, path, body, h)
        r = c.getresponse()
        r.data = r.read()
        c.close()
        if want is not None:
            check(r.status == want, f"{method} {path}: {r.status}, not {want}: {r.data[:300]!r}")
        return r

    def get(self, path, **more):
        return self.ask("GET", path, **more)

    def sign_in(self, want=201, **credential):
        r = self.ask("POST", "/dashboard/session", credential, OURS, want)
        if r.status == 201:
            self.cookie = r.getheader("Set-Cookie").split(";")[0]
        return r

    def json(self, path, want=200):
        return json.loads(self.get(path, want=want).data)

    def raw(self, data):
        """Bytes in, status line out; empty when the connection was closed."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as s:
            s.sendall(data)
            return s.makefile("rb").readline()

    def watch(self, path):
        c = self.connect()
        c.request("GET", path, headers={"Cookie": self.cookie} if self.cookie else {})
        r = c.getresponse()
        check(r.status == 200, f"watch {path}: {r.status} {r.status != 200 and r.read()[:200]}")
        return c, r


class World(Berth):
    """`berth up` with its dashboard on a free port."""

    def __init__(self, program, kubectl, *args, gpus="none"):
        super().__init__(program, kubectl, gpus=gpus, args=["--dashboard", "127.0.0.1:0", *args])
        self.ready = ""

    def up(self):
        self.process = subprocess.Popen(
            [self.program, "up", "--data", self.data, "--listen", f"127.0.0.1:{self.port}", "--gpus", self.gpus,
             "--runtime", "process", *self.args], stdout=subprocess.PIPE, stderr=self.log, env=self.env)
        self.ready = self.process.stdout.readline().decode()
        check(self.ready.startswith("berth: ready"), f"berth up said {self.ready!r}")
        self.port = int(re.search(r"https://127\.0\.0\.1:(\d+)", self.ready).group(1))

    def site(self):
        return Site(int(re.search(r"dashboard http://127\.0\.0\.1:(\d+)/dashboard/", self.ready).group(1)))

    def token(self, user, *groups, time_="1h"):
        options = [x for g in groups for x in ("--group", g)]
        return self.berth("token", user, *options, "--time", time_).strip()

    def team(self, name, user):
        """A project whose editor is `user`."""
        self.kubectl("create", "namespace", name)
        self.kubectl("-n", name, "create", "rolebinding", "team", "--clusterrole=edit", f"--user={user}")

    def link(self, *args):
        return self.berth("dashboard", "--data", self.data, *args).strip()


class Stream:
    """The events of a watch."""

    def __init__(self, site, path):
        self.connection, self.response = site.watch(path)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.connection.close()

    def next(self):
        line = self.response.readline()
        return json.loads(line) if line else None

    def until(self, what, test):
        """The first event that passes; those before it are returned as well."""
        seen = []
        while True:
            e = self.next()
            check(e, f"the watch ended before {what}: {seen[-1:]}")
            seen.append(e)
            if test(e):
                return e, seen


def names(listing):
    return {x["metadata"]["name"] for x in listing["items"]}


# ---- files ----

def test_files(b):
    site = b.site()
    page = site.get("/dashboard/", want=200)
    check(page.getheader("Content-Type").startswith("text/html"), "the page is not HTML")
    policy = page.getheader("Content-Security-Policy")
    check("script-src 'self'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy, policy)
    for name, value in (("X-Frame-Options", "DENY"), ("X-Content-Type-Options", "nosniff"),
                        ("Referrer-Policy", "no-referrer")):
        check(page.getheader(name) == value, f"{name}: {page.getheader(name)}")
    check(site.get("/", want=302).getheader("Location") == "/dashboard/", "/ does not lead to the dashboard")
    for path in ("/dashboard/calendar?zone=Europe%2FBerlin", "/dashboard/signin", "/dashboard/workloads/a/b.c"):
        check(site.get(path, want=200).data == page.data, f"{path} is another page")
    text = page.data.decode()
    check(not re.search(r"<script(?![^>]*\bsrc=)[^>]*>|<style|\son\w+=", text), "the page has inline script or style")
    check(not re.search(r"(?:src|href)=\"(?:https?:)?//", text), "the page takes something from elsewhere")
    found = re.findall(r"(?:src|href)=\"([^\"]+)\"", text)
    files = [x for x in found if "assets/" in x]
    without = "without the dashboard" in text
    check(not without or not os.path.isdir(os.path.join(TOP, "web", "node_modules")), "the pages did not build")
    if not without:
        terms = site.get("/dashboard/licenses.txt", want=200)
        check(b"react-core" in terms.data and b"Permission is hereby granted" in terms.data, "whose work it is")
        check(any(x.endswith(".js") for x in files) and any(x.endswith(".css") for x in files), f"files: {found}")
    for path in files:
        path = path if path.startswith("/") else "/dashboard/" + path.removeprefix("./")
        plain = site.get(path, want=200)
        packed = site.get(path, headers={"Accept-Encoding": "gzip, br"}, want=200)
        head = site.ask("HEAD", path, headers={"Accept-Encoding": "gzip"}, want=200)
        check("immutable" in plain.getheader("Cache-Control"), f"{path} may not be kept")
        check(head.data == b"" and head.getheader("Content-Length") == str(len(packed.data)), f"HEAD {path}")
        if packed.getheader("Content-Encoding") == "gzip":
            check(gzip.decompress(packed.data) == plain.data, f"{path}: the two forms differ")
            check(len(packed.data) < len(plain.data) and packed.getheader("ETag") != plain.getheader("ETag"), path)
        for r in (plain, packed):
            again = site.get(path, headers={"If-None-Match": r.getheader("ETag"),
                                            "Accept-Encoding": "gzip" if r is packed else "identity"})
            check(again.status == 304 and again.data == b"", f"{path}: {again.status} for its own tag")
    site.get("/dashboard/assets/nothing-12345678.js", want=404)
    site.ask("POST", "/dashboard/", {}, want=405)


def test_hostile_requests(b):
    site = b.site()
    for path in ("/dashboard/../../etc/passwd", "/dashboard/%2e%2e/%2e%2e/etc/passwd",
                 "/dashboard/assets/../index.html", "/dashboard/assets/%2e%2e/index.html", "/dashboard//etc/passwd",
                 "/dashboard/\\..\\x", "/calendar/../api", "/calendar/%2e%2e%2fapi.ics", "/dashboard/%00",
                 "//evil.example/dashboard/"):
        line = site.raw(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        check(re.match(rb"HTTP/1\.1 (200|40\d|503) ", line), f"{path}: {line!r}")
        r = site.get(path.replace("\\", "%5c"))
        check(b"root:" not in r.data, f"{path} shows a file of the machine")
    for data, want in (
            (b"GET /dashboard/ HTTP/1.1\r\n\r\n", b"400"),
            (b"GET /dashboard/ HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", b"400"),
            (b"GET /dashboard/ HTTP/1.1\r\nHost: evil.example\r\n\r\n", b"421"),
            (b"GET http://evil.example/api HTTP/1.1\r\nHost: localhost\r\n\r\n", b""),
            (b"GET /api HTTP/1.1\r\nHost: localhost\r\nCookie: " + b"a=b; " * 8000 + b"\r\n\r\n", b"431"),
            (b"GET /api HTTP/1.1\r\nHost: localhost\r\nCookie: " + b";=;\"=\";,;" * 300 + b"\r\n\r\n", b"403"),
            (b"POST /dashboard/session HTTP/1.1\r\nHost: localhost\r\nX-Berth-Dashboard: 1\r\n"
             b"Content-Type: application/json\r\nContent-Length: 4\r\n\r\n[[[[", b"400"),
            (b"POST /dashboard/session HTTP/1.1\r\nHost: localhost\r\nX-Berth-Dashboard: 1\r\n"
             b"Content-Type: application/json\r\nContent-Length: 99999999\r\n\r\n", b"413")):
        line = site.raw(data)
        check(want in line, f"{data[:60]!r}: {line!r}, not {want!r}")
    site.get("/dashboard/", want=200)


def test_rebinding(b):
    site = b.site()
    site.sign_in(token=b.token("ana"))
    for host in ("evil.example", f"evil.example:{site.port}", "localhost.evil.example", "10.0.0.1", "[::2]",
                 "127.0.0.1.x"):
        for path in ("/", "/dashboard/", "/dashboard/session", "/api/v1/namespaces", "/calendar/x.ics", "/metrics"):
            check(site.get(path, headers={"Host": host}).status == 421, f"{host}{path} was answered")
    for host in ("localhost", f"localhost:{site.port}", "127.0.0.1", "[::1]:1", "gpu.example:8443"):
        site.get("/dashboard/session", headers={"Host": host}, want=200)


# ---- signing in ----

def test_token(b):
    site = b.site()
    site.get("/dashboard/session", want=401)
    r = site.sign_in(token=b.token("ana", "vision"))
    cookie = r.getheader("Set-Cookie")
    check(re.fullmatch(r"berth-[0-9a-f]{8}=[\w-]{43}; Path=/; HttpOnly; SameSite=Strict; Max-Age=\d+", cookie), cookie)
    seen = json.loads(r.data)
    check(seen["user"] == "ana" and "vision" in seen["groups"] and seen["world"] == "up", f"{seen}")
    check(site.json("/dashboard/session") == seen, "another session than was opened")
    check(r.getheader("Cache-Control") == "no-store", "the answer may be kept")
    left = calendar.timegm(time.strptime(seen["expires"], "%Y-%m-%dT%H:%M:%SZ")) - time.time()
    check(3500 < left <= 3600, f"ends in {left} s: not with the token")
    other = b.site()
    other.cookie = site.cookie[:-2] + "xx"
    check(other.get("/api/v1/namespaces").status == 401, "a made-up session")
    site.ask("DELETE", "/dashboard/session", headers=OURS, want=204)
    site.get("/dashboard/session", want=401)
    site.get("/api/v1/namespaces", want=401)


def refused_at_last(site, **what):
    """Signs in wrongly until that is refused unheard. One guess comes back every 3 s, so that it may take more on a busy
    machine than the ten there are."""
    for _ in range(60):
        r = site.ask("POST", "/dashboard/session", what, OURS, None)
        if r.status == 429:
            return r
        check(r.status == 401, f"a wrong {list(what)} is answered with {r.status}")
    raise Fail(f"60 wrong {list(what)} are all heard")


def test_wrong_tokens(b):
    site = b.site()
    for _ in range(9):
        site.sign_in(want=401, token="berth_" + "x" * 43)
    site.sign_in(token=b.token("ana"))
    r = refused_at_last(site, token="berth_x")
    check(int(r.getheader("Retry-After")) > 0, "no Retry-After")
    site.sign_in(want=401, code="nothing")  # links are counted apart
    refused_at_last(site, code="nothing")
    time.sleep(3.2)
    site.sign_in(want=401, token="berth_x")
    site.sign_in(code=b.link("--as", "ana").split("code=")[1])  # a right link signs in whatever was guessed


def test_links(b):
    link = b.link()
    check(re.fullmatch(rf"http://127\.0\.0\.1:{b.site().port}/dashboard/signin#code=[\w-]{{43}}", link), link)
    code = link.split("code=")[1]
    site = b.site()
    seen = json.loads(site.sign_in(code=code).data)
    check(seen["user"] == "berth-admin" and "system:masters" in seen["groups"], f"{seen}")
    site.get("/api/v1/secrets", want=200)
    again = b.site()
    again.sign_in(want=401, code=code)
    ana = b.site()
    ana.sign_in(code=b.link("--as", "ana", "--group", "vision").split("code=")[1])
    seen = ana.json("/dashboard/session")
    check(seen["user"] == "ana" and seen["groups"] == ["vision"], f"{seen}")
    ana.get("/api/v1/secrets", want=403)
    check(b.berth("dashboard", "--data", b.data, "--group", "x", ok=False).returncode == 2, "--group without --as")
    check(b.berth("dashboard", "--data", b.root, ok=False).returncode == 1, "nobody to ask")
    won = []
    code = b.link().split("code=")[1]

    def redeem():
        won.append(b.site().ask("POST", "/dashboard/session", {"code": code}, OURS).status)

    threads = [threading.Thread(target=redeem) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    check(won.count(201) == 1, f"one link, at once: {won}")


# ---- who a request runs as ----

def test_runs_as_its_user(b):
    b.team("vision", "ana")
    b.team("language", "ben")
    sites = {}
    for user in ("ana", "ben"):
        sites[user] = b.site()
        sites[user].sign_in(token=b.token(user))
    ana, ben = sites["ana"], sites["ben"]
    cm = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
    ana.ask("POST", "/api/v1/namespaces/vision/configmaps", cm, OURS, 201)
    ana.ask("POST", "/api/v1/namespaces/language/configmaps", cm, OURS, 403)
    check("one" in names(ana.json("/api/v1/namespaces/vision/configmaps")), "her own")
    ben.get("/api/v1/namespaces/vision/configmaps", want=403)
    ben.get("/api/v1/namespaces", want=403)
    for headers in ({"Impersonate-User": "ana"}, {"Impersonate-User": "root", "Impersonate-Group": "system:masters"}):
        ben.get("/api/v1/namespaces/vision/configmaps", headers=headers, want=403)
    ben.cookie, mine = ben.cookie.replace("=", "x=", 1), ben.cookie
    check(ben.get("/api/v1/namespaces/language/configmaps").status == 403, "a cookie of another name")
    ben.cookie = mine
    r = ben.get("/api/v1/namespaces/vision/configmaps", headers={"Authorization": "Bearer " + b.token("ana")}, want=200)
    check("one" in names(json.loads(r.data)), "what is said outright goes before the cookie")


def test_other_sites(b):
    b.team("vision", "ana")
    site = b.site()
    token = b.token("ana")
    site.sign_in(token=token)
    cm = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "forged"}}
    path = "/api/v1/namespaces/vision/configmaps"
    own = f"http://127.0.0.1:{site.port}"
    site.ask("POST", path, cm, want=403)  # a form, or a fetch without our header
    site.ask("DELETE", path, want=403)
    site.ask("PATCH", path + "/x", cm, want=403)
    for origin in ("http://evil.example", "null", "http://127.0.0.1:1", own.replace("http", "https")):
        site.ask("POST", path, cm, {**OURS, "Origin": origin}, 403)
        site.get(path, headers={"Origin": origin}, want=403)
    for kind in ("cross-site", "same-site"):
        site.get(path, headers={"Sec-Fetch-Site": kind}, want=403)
    check("forged" not in names(site.json(path)), "a forged request got through")
    site.ask("POST", path, cm, {**OURS, "Origin": own, "Sec-Fetch-Site": "same-origin"}, 201)
    stranger = b.site()
    stranger.ask("POST", "/dashboard/session", {"token": token}, want=403)
    stranger.ask("POST", "/dashboard/session", {"token": token}, {**OURS, "Origin": "http://evil.example"}, 403)
    plain = {**OURS, "Content-Type": "text/plain"}
    stranger.ask("POST", "/dashboard/session", json.dumps({"token": token}), plain, 415)
    r = site.ask("OPTIONS", path, headers={"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"})
    check(not r.getheader("Access-Control-Allow-Origin"), "another origin is let in")


def test_ends_with_the_token(b):
    b.team("vision", "ana")
    site = b.site()
    site.sign_in(token=b.token("ana"))
    c, stream = site.watch("/api/v1/namespaces/vision/configmaps?watch=1")
    b.kubectl("-n", "vision", "create", "configmap", "seen")
    while b'"seen"' not in stream.readline():
        pass
    secrets = [x["metadata"]["name"] for x in b.get("secrets", "-n", "kube-system")["items"]
               if x["metadata"]["name"].startswith("berth-token-")]
    for name in secrets:
        b.kubectl("-n", "kube-system", "delete", "secret", name)
    while stream.readline():
        pass  # it ends
    c.close()
    site.get("/dashboard/session", want=401)
    site.get("/api/v1/namespaces/vision/configmaps", want=401)


def test_sign_out_ends_watches(b):
    b.team("vision", "ana")
    site = b.site()
    site.sign_in(token=b.token("ana"))
    other = b.site()
    other.sign_in(token=b.token("ana"))
    c, stream = site.watch("/api/v1/namespaces/vision/configmaps?watch=1")
    c2, stays = other.watch("/api/v1/namespaces/vision/configmaps?watch=1")
    site.ask("DELETE", "/dashboard/session", headers=OURS, want=204)
    while stream.readline():
        pass
    b.kubectl("-n", "vision", "create", "configmap", "later")
    while b'"later"' not in stays.readline():
        pass
    c.close()
    c2.close()


FLEETS = "/apis/berth.dev/v1alpha1/fleets"
CURRENT = FLEETS + "?watch=true&fieldSelector=metadata.name%3Dcurrent"
INITIAL = "&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"


def troubles(e):
    return [c.get("trouble", "") for c in e["object"]["cards"]] if e["object"]["kind"] == "Fleet" else []


def cordoned(e):
    return any("cordoned" in t for t in troubles(e))


def follow_fleet(b, site):
    """A Fleet that changes: told once, and what is the same is not told again."""
    node = wait_for("the node", lambda: b.get("nodes")["items"])[0]["metadata"]["name"]
    wait_for("its GPU", lambda: site.json(FLEETS + "/current")["cards"])
    with Stream(site, CURRENT + INITIAL) as s:
        first = s.next()
        check(first["type"] == "ADDED" and first["object"]["metadata"]["name"] == "current", f"{first}")
        _, seen = s.until("the initial events' end", lambda e: e["type"] == "BOOKMARK")
        check("k8s.io/initial-events-end" in seen[-1]["object"]["metadata"]["annotations"], f"{seen[-1]}")
        b.kubectl("cordon", node)
        e, seen = s.until("the cordoned node", cordoned)
        check(e["type"] == "MODIFIED", f"{e['type']}")
        b.kubectl("uncordon", node)
        _, more = s.until("the node that takes pods again", lambda e: not cordoned(e))
        told = [{k: v for k, v in e["object"].items() if k != "computed"} for e in seen + more]
        check(all(x != y for x, y in zip(told, told[1:])), "the same is told twice")
    return node


def kubectl_watches(b, node, *what):
    form = "-o=jsonpath={.kind}{.items[*].kind}: {.cards[*].trouble}{.items[*].cards[*].trouble}{\"\\n\"}"
    watch = subprocess.Popen([b.kubectl_program, "get", *what, "--watch", form], stdout=subprocess.PIPE, env=b.env, text=True)
    try:
        line = watch.stdout.readline()
        check(line.startswith("Fleet: "), f"kubectl said {line!r}")
        for verb in ("cordon", "uncordon"):
            b.kubectl(verb, node)
            while ("cordoned" in line) != (verb == "cordon"):
                line = watch.stdout.readline()
                check(line, "kubectl's watch ended")
    finally:
        watch.kill()
        watch.wait()


def test_computed_watch():
    """What is computed can be watched, by pages and by kubectl, as long as one may."""
    program, kubectl = sys.argv[1:3]
    with World(program, kubectl, gpus="sim:1xh200") as b:
        site, ana = b.site(), b.site()
        site.sign_in(token=b.token("root", "system:masters"))
        node = follow_fleet(b, site)
        for query, code in (("labelSelector=a%3Db", 400), ("fieldSelector=spec.a%3Db", 400), ("resourceVersion=x", 400),
                            ("sendInitialEvents=true", 422)):
            site.get(f"{FLEETS}?watch=1&{query}", want=code)
        site.get("/apis/berth.dev/v1alpha1/availabilities?watch=1&from=x", want=400)
        site.get("/apis/berth.dev/v1alpha1/queuepreviews?watch=1", want=405)
        with Stream(site, CURRENT.replace("current", "other") + INITIAL) as s:
            check(s.next()["type"] == "BOOKMARK", "something is there that is not")
        with Stream(site, FLEETS + "?watch=1&resourceVersion=1&timeoutSeconds=1") as s:
            check(s.next()["type"] == "ADDED", "a watch begins with what there is")
            while s.next():
                pass
        for what in (["fleets"], ["fleets", "current"]):
            kubectl_watches(b, node, *what)
        ana.sign_in(token=b.token("ana"))
        with Stream(ana, CURRENT) as s:
            check(s.next()["type"] == "ADDED", "ana's")
            b.kubectl("-n", "kube-system", "delete", "secrets", "--field-selector", "type=berth.dev/token")
            while s.next():
                pass  # it ends
        ana.get(CURRENT, want=401)


def test_https_too(b):
    context = ssl.create_default_context(cafile=os.path.join(b.data, "pki", "ca.crt"))
    site = Site(b.port, context)
    b.team("vision", "ana")
    check(site.get("/", headers={"Accept": "text/html"}, want=302).getheader("Location") == "/dashboard/", "no way in")
    check(site.get("/").status == 403, "what is not a page's request is the API's")
    site.get("/dashboard/", want=200)
    cookie = site.sign_in(token=b.token("ana")).getheader("Set-Cookie")
    check(cookie.startswith("__Host-berth-") and cookie.endswith("; Secure"), cookie)
    site.get("/api/v1/namespaces/vision/configmaps", want=200)
    site.get("/api/v1/namespaces/vision/configmaps", headers={"Origin": f"https://127.0.0.1:{b.port}"}, want=200)
    site.get("/api/v1/namespaces/vision/configmaps", headers={"Origin": f"http://127.0.0.1:{b.port}"}, want=403)
    plain = b.site()  # the same session, by the other listener's cookie
    plain.cookie = site.cookie.removeprefix("__Host-")
    check(plain.json("/dashboard/session")["user"] == "ana", "a session of one listener is not known on the other")
    plain.cookie = site.cookie
    plain.get("/dashboard/session", want=401)  # that cookie is for TLS alone


def test_certificate_of_a_browser(b):
    """A browser shows a client certificate to any site's page; kubectl's requests have nothing that tells of a page."""
    context = ssl.create_default_context(cafile=os.path.join(b.data, "pki", "ca.crt"))
    context.load_cert_chain(os.path.join(b.data, "pki", "admin.crt"), os.path.join(b.data, "pki", "admin.key"))
    site = Site(b.port, context)
    path, own = "/api/v1/namespaces/default/configmaps", {"Origin": f"https://127.0.0.1:{b.port}"}
    cm = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "forged"}}
    site.get(path, want=200)
    for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}, own):
        site.ask("POST", path, cm, headers, 403)
    site.get(path, headers={"Sec-Fetch-Site": "cross-site"}, want=403)
    check("forged" not in names(site.json(path)), "a forged request got through")
    site.get(path, headers=own, want=200)
    site.ask("POST", path, cm, {**OURS, **own}, 201)
    cm["metadata"]["name"] = "kubectl"
    site.ask("POST", path, cm, want=201)


def test_feeds(b):
    site = b.site()
    for name in ("x.ics", "x", "../x.ics", ".ics", "a/b.ics"):
        check(site.get("/calendar/" + name).status in (400, 404, 503), name)
    site.ask("POST", "/calendar/x.ics", {}, want=405)


def test_a_feed_by_its_address(b):
    b.team("vision", "ana")
    site = b.site()
    site.sign_in(token=b.token("ana"))
    feed = {"apiVersion": "berth.dev/v1alpha1", "kind": "CalendarFeed", "metadata": {"name": "mine"},
            "spec": {"scope": "own"}}
    path = "/apis/berth.dev/v1alpha1/namespaces/vision/calendarfeeds"
    site.ask("POST", path, feed, OURS, 201)
    where = wait_for("the feed's address", lambda: site.json(path + "/mine").get("status", {}).get("path"))
    check(re.fullmatch(r"/calendar/[\w-]{20,}\.ics", where), where)
    nobody = b.site()
    r = nobody.get(where, want=200)
    check(r.getheader("Content-Type") == "text/calendar; charset=utf-8", r.getheader("Content-Type"))
    check(r.data.startswith(b"BEGIN:VCALENDAR\r\n") and r.data.endswith(b"END:VCALENDAR\r\n"), f"{r.data[:200]!r}")
    for header in ({"If-None-Match": r.getheader("ETag")}, {"If-Modified-Since": r.getheader("Last-Modified")}):
        nobody.get(where, headers=header, want=304)
    head = nobody.ask("HEAD", where, want=200)
    check(head.data == b"" and head.getheader("Content-Length") == str(len(r.data)), "HEAD")
    nobody.get(where.replace(".ics", "x.ics"), want=404)
    nobody.get(where, headers={"Host": "evil.example"}, want=421)
    site.ask("DELETE", path + "/mine", headers=OURS, want=200)
    wait_for("its end", lambda: nobody.get(where).status == 404)


def test_addresses():
    """A port that is taken, none, and what is refused."""
    program, kubectl = sys.argv[1:3]
    with World(program, kubectl) as b:
        taken = b.site().port
        for args, code in ((["--dashboard", f"127.0.0.1:{taken}"], 1), (["--dashboard", "0.0.0.0:0"], 2),
                           (["--dashboard", "x"], 2), (["--dashboard-host", "a/b"], 2)):
            other = os.path.join(b.root, "other")
            done = b.run([program, "up", "--data", other, "--listen", "127.0.0.1:0", "--gpus", "none", "--no-node",
                          *args], ok=False, seconds=20)
            check(done.returncode == code and "--dashboard" in done.stderr, f"{args}: {done.returncode} {done.stderr}")
        for berth in (program, os.environ.get("BERTH_SANITIZED", program)):  # a start that fails holds on to nothing
            done = b.run([berth, "up", "--data", os.path.join(b.root, "third"), "--listen", f"127.0.0.1:{b.port}", "--gpus",
                          "none", "--no-node", "--dashboard", "none"], ok=False, seconds=30)
            check(done.returncode == 1 and "address already in use" in done.stderr and "Sanitizer" not in done.stderr,
                  f"{done.returncode} {done.stderr}")
    with World(program, kubectl, "--dashboard", "none") as b:
        check("dashboard" not in b.ready, b.ready)
        check("is off" in b.berth("dashboard", "--data", b.data, ok=False).stderr, "a link to nowhere")
        context = ssl.create_default_context(cafile=os.path.join(b.data, "pki", "ca.crt"))
        check(Site(b.port, context).get("/dashboard/").status == 403, "none is everywhere none")


# ---- a cluster ----

class Operate:
    def __init__(self, b, *args):
        self.log = open(os.path.join(b.root, "operate.log"), "ab")
        self.process = subprocess.Popen(
            [b.program, "operate", "--kubeconfig", os.path.join(b.data, "kubeconfig"), "--leader-elect=false",
             "--dashboard", "127.0.0.1:0", *args], stdout=subprocess.PIPE, stderr=self.log, env=b.env, text=True)
        line = self.process.stdout.readline()
        check(line.startswith("berth: ready"), f"berth operate said {line!r}")
        self.port = int(re.search(r"dashboard http://127\.0\.0\.1:(\d+)/", line).group(1))

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=20)
        self.log.close()
        check(kind or code == 0, f"berth operate ended with {code}")


def kinds(b):
    b.kubectl("create", "-f", "-", stdin=b.berth("manifests", "crds"), ok=False)
    wait_for("Kueue's kinds", lambda: b.kubectl("get", "clusterqueues", ok=False).returncode == 0)


def test_operate():
    program, kubectl = sys.argv[1:3]
    with World(program, kubectl, "--controllers", "kubernetes", "--dashboard", "none", gpus="sim:1xh200") as b:
        kinds(b)
        b.team("vision", "ana")
        with Operate(b) as o:
            site, ana, nobody = Site(o.port), Site(o.port), Site(o.port)
            nobody.sign_in(want=401, token="berth_nothing")
            for path in ("/api/v1/namespaces", "/metrics", "/healthz"):
                check(nobody.get(path).status in (401, 404), f"{path}: nobody is anonymous here")
            site.sign_in(token=b.token("root", "system:masters"))
            seen = json.loads(ana.sign_in(token=b.token("ana")).data)
            check(seen["user"] == "ana" and seen["world"] == "operate", f"{seen}")
            check("vision" in names(site.json("/api/v1/namespaces")), "what the administrator sees")
            ana.get("/api/v1/namespaces", want=403)
            cm = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
            path = "/api/v1/namespaces/vision/configmaps"
            ana.ask("POST", path, cm, want=403)
            ana.ask("POST", path, cm, {**OURS, "Origin": "http://evil.example"}, 403)
            ana.ask("POST", path, cm, OURS, 201)
            r = ana.ask("POST", path, cm, OURS, 409)
            check(json.loads(r.data)["reason"] == "AlreadyExists", r.data)
            ana.get("/api/v1/namespaces/vision/configmaps", headers={"Impersonate-User": "root"}, want=200)
            site.get("/api/v1/namespaces/vision/services/x/proxy/", want=403)
            site.get("/api/v1/namespaces", headers={"Host": "evil.example"}, want=421)
            c, stream = ana.watch(path + "?watch=1")
            b.kubectl("-n", "vision", "create", "configmap", "two")
            while b'"two"' not in stream.readline():
                pass
            ana.ask("DELETE", "/dashboard/session", headers=OURS, want=204)
            while stream.readline():
                pass
            c.close()
            computed(b, site, o)


def computed(b, site, o):
    """Kinds that the cluster does not have, with the rights that it grants."""
    fleet = site.json("/apis/berth.dev/v1alpha1/fleets/current")
    check(fleet["kind"] == "Fleet", f"{fleet}")
    stranger = Site(o.port)
    stranger.sign_in(token=b.token("zoe"))
    b.kubectl("delete", "clusterrolebinding", "berth:calendar", ok=False)
    stranger.get("/apis/berth.dev/v1alpha1/fleets/current", want=403)
    site.get("/apis/berth.dev/v1alpha1/fleets/current", want=200)
    stranger.get(CURRENT, want=403)
    follow_fleet(b, site)
    with Stream(site, CURRENT) as s:
        check(s.next()["type"] == "ADDED", "the first event")
        site.ask("DELETE", "/dashboard/session", headers=OURS, want=204)
        _, seen = s.until("the session's end", lambda e: e["type"] == "ERROR")
        check(seen[-1]["object"]["code"] == 401 and not s.next(), f"{seen[-1]}")
    site.get(CURRENT, want=401)
    site.sign_in(token=b.token("root", "system:masters"))
    site.ask("DELETE", "/apis/berth.dev/v1alpha1/fleets/current", headers=OURS, want=405)


# ---- the examples ----

def test_make_run():
    """A newcomer sees a living system within a minute; stopping it leaves nothing running."""
    program, kubectl = sys.argv[1:3]
    data = os.path.join(World(program, kubectl).root, "run")
    env = dict(os.environ, LISTEN="127.0.0.1:0", HOME=os.path.dirname(data))
    begin = time.monotonic()
    # A shell cannot trap what was ignored when it began, as in a job that somebody's script put into the background.
    p = subprocess.Popen([os.path.join(TOP, "examples", "sample", "run"), program, data], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, env=env, start_new_session=True,
                         preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    said = []
    try:
        for line in p.stdout:
            said.append(line)
            if "Ctrl-C" in line:
                break
        text = "".join(said)
        check("not every sample booking" not in text, text)
        m = re.search(r"Sign in\s+http://127\.0\.0\.1:(\d+)/dashboard/signin#code=(\S+)", text)
        check(m, text)
        site = Site(int(m.group(1)))
        site.sign_in(code=m.group(2))

        def alive():
            jobs = site.json("/apis/batch/v1/jobs")["items"]
            running = sum(1 for x in jobs if x.get("status", {}).get("active"))
            return running >= 5 and any(x["spec"].get("suspend") for x in jobs)

        wait_for("jobs that run, and one that waits", alive, 40)
        check(time.monotonic() - begin < 60, "a minute was not enough")
        check(len(site.json("/apis/berth.dev/v1alpha1/reservations")["items"]) >= 5, "there are no bookings")
    finally:
        p.send_signal(signal.SIGINT)
        try:
            p.wait(timeout=60)
        finally:
            subprocess.run([program, "down", "--data", data], capture_output=True, check=False)
    still = subprocess.run(["pgrep", "-a", "-f", data], capture_output=True, text=True, check=False)
    check(still.returncode != 0, f"still running:\n{still.stdout}")
    subprocess.run(["rm", "-rf", os.path.dirname(data)], check=False)


def test_make_demo():
    """The demo ends with a link that signs in, and Berth stays up until it is told to go, in the words of the demo."""
    program, kubectl = sys.argv[1:3]
    root = World(program, kubectl).root
    data = os.path.join(root, "demo")
    done = subprocess.run([os.path.join(TOP, "examples", "first-job", "demo"), f"--keep={data}", program], capture_output=True, text=True,
                          env=dict(os.environ, HOME=root), timeout=180, check=False)
    try:
        check(done.returncode == 0, done.stdout + done.stderr)
        end = done.stdout[done.stdout.index("It works."):]
        m = re.search(r"http://127\.0\.0\.1:(\d+)/dashboard/signin#code=(\S+)", end)
        check(m and f"http://127.0.0.1:{m.group(1)}/dashboard/\n" in end, end)
        site = Site(int(m.group(1)))
        site.sign_in(code=m.group(2))
        check({j["metadata"]["name"] for j in site.json("/apis/batch/v1/jobs")["items"]} >= {"train", "tune", "eval"}, "the jobs")
        check(f"  build/berth down --data {data} " in end, end)
    finally:
        subprocess.run([program, "down", "--data", data], capture_output=True, check=False)
    still = subprocess.run(["pgrep", "-a", "-f", data], capture_output=True, text=True, check=False)
    check(still.returncode != 0, f"still running:\n{still.stdout}")
    subprocess.run(["rm", "-rf", root], check=False)


def main():
    program, kubectl, only = sys.argv[1], sys.argv[2], sys.argv[3:]
    passed = failed = 0
    for name, test in list(globals().items()):
        if not name.startswith("test_") or (only and name not in only):
            continue
        begin = time.monotonic()
        try:
            if test.__code__.co_argcount:
                with World(program, kubectl, "--no-node", "--dashboard-host", "gpu.example") as b:
                    test(b)
            else:
                test()
            passed += 1
            print(f"ok      {name} ({time.monotonic() - begin:.1f} s)", flush=True)
        except (Fail, OSError, ValueError, KeyError, subprocess.SubprocessError, http.client.HTTPException):
            failed += 1
            print(f"FAILED  {name}", flush=True)
            traceback.print_exc()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


sys.exit(main())
