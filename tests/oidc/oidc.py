#!/usr/bin/env python3
"""oidc: tokens of a real OpenID Connect provider at `berth up`.   oidc.py BERTH KUBECTL [TEST...]"""
import base64
import hashlib
import html
import http.cookiejar
import json
import os
import re
import secrets
import shutil
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
import certificates  # noqa: E402  pylint: disable=wrong-import-position
from harness import Berth, Fail, check, run_tests, wait_for  # noqa: E402  pylint: disable=wrong-import-position

REDIRECT = "http://127.0.0.1/callback"


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class Provider:
    """The provider's process, and what a browser would do with it."""

    def __init__(self, folder):
        self.ca = os.path.join(folder, "idp.crt")
        key = os.path.join(folder, "idp.key")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-keyout", key, "-out", self.ca, "-days", "2", "-subj", "/CN=idp", "-addext",
                        "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        self.process = subprocess.Popen(["node", os.path.join(HERE, "provider.mjs"), self.ca, key],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=open(os.path.join(folder, "idp.log"), "ab"))
        self.issuer = self.process.stdout.readline().decode().strip()
        if not self.issuer.startswith("https://"):
            with open(os.path.join(folder, "idp.log"), encoding="utf-8") as f:
                raise Fail(f"the provider does not start: {f.read()}")
        self.context = ssl.create_default_context(cafile=self.ca)

    def stop(self):
        self.process.stdin.close()
        self.process.wait(timeout=20)

    def test(self, what, **body):
        request = urllib.request.Request(f"{self.issuer}/test/{what}", json.dumps(body).encode(), method="POST")
        with urllib.request.urlopen(request, context=self.context) as answer:
            got = json.load(answer)
        check("error" not in got, f"{what}: {got}")
        return got

    def mint(self, how="", alg="RS256", header=None, generation=0, **claims):
        return self.test("mint", how=how, alg=alg, header=header or {}, generation=generation, claims=claims)["token"]

    def sign_in(self, user):
        """The authorization code flow as a browser and a native client go through it; the ID token."""
        opener = urllib.request.build_opener(
            urllib.request.HTTPSHandler(context=self.context), NoRedirect,
            urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar(
                http.cookiejar.DefaultCookiePolicy(strict_ns_domain=0))))

        def go(url, form=None):
            data = urllib.parse.urlencode(form).encode() if form is not None else None
            try:
                with opener.open(urllib.parse.urljoin(self.issuer, url), data) as answer:
                    return answer.status, answer.headers, answer.read().decode()
            except urllib.error.HTTPError as e:
                return e.code, e.headers, e.read().decode()

        verifier = secrets.token_urlsafe(48)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        url = "/auth?" + urllib.parse.urlencode({
            "client_id": "berth", "response_type": "code", "redirect_uri": REDIRECT, "scope": "openid groups email",
            "state": "s", "nonce": "n", "code_challenge": challenge, "code_challenge_method": "S256"})
        for _ in range(12):
            status, headers, text = go(url)
            if status in (302, 303):
                url = headers["Location"]
                if url.startswith(REDIRECT):
                    break
                continue
            action = html.unescape(re.search(r'action="([^"]+)"', text).group(1))
            prompt = re.search(r'name="prompt" value="([^"]+)"', text).group(1)
            status, headers, text = go(action, {"prompt": prompt, "login": user, "password": "x"})
            url = headers["Location"]
        code = urllib.parse.parse_qs(urllib.parse.urlparse(url).query)["code"][0]
        status, _, text = go("/token", {"grant_type": "authorization_code", "code": code, "redirect_uri": REDIRECT,
                                        "client_id": "berth", "code_verifier": verifier})
        check(status == 200, f"{status} {text}")
        return json.loads(text)["id_token"]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class World:
    """A provider, and a `berth up` that takes its tokens."""

    def __init__(self, program, kubectl):
        self.berth = Berth(program, kubectl, gpus="none")
        self.site = f"http://127.0.0.1:{free_port()}"
        self.provider = Provider(self.berth.root)
        self.berth.args += ["--no-node", "--oidc-issuer-url", self.provider.issuer, "--oidc-client-id", "berth",
                            "--oidc-ca-file", self.provider.ca, "--oidc-username-prefix", "idp:", "--oidc-groups-claim",
                            "groups", "--oidc-groups-prefix", "idp:", "--oidc-sign-in", "Example", "--oidc-scopes",
                            "openid groups", "--dashboard", self.site[7:], "--oidc-signing-algs", "RS256,PS256,ES256"]

    def __enter__(self):
        original = self.berth.kubectl
        self.berth.kubectl = lambda *a, **k: "" if a[:2] == ("wait", "--for=condition=Ready") else original(*a, **k)
        self.berth.__enter__()
        return self

    def __exit__(self, *why):
        self.berth.__exit__(*why)
        self.provider.stop()

    def ask(self, token, path="/apis/authentication.k8s.io/v1/selfsubjectreviews", body=None, method=None):
        """(status, JSON) of a request with this token; who it is by default."""
        if path.endswith("selfsubjectreviews"):
            body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        context = ssl.create_default_context(cafile=os.path.join(self.berth.data, "pki", "ca.crt"))
        request = urllib.request.Request(
            f"https://127.0.0.1:{self.berth.port}{path}", json.dumps(body).encode() if body is not None else None,
            {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, context=context, timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as e:
            return e.code, json.loads(e.read())

    def who(self, token):
        """The name, or the status of a refusal."""
        code, got = self.ask(token)
        return got["status"]["userInfo"]["username"] if code == 201 else code

    def kubectl(self, token, *args, ok=True):
        b = self.berth
        return b.kubectl("--kubeconfig", os.devnull, "--server", f"https://127.0.0.1:{b.port}",
                         "--certificate-authority", os.path.join(b.data, "pki", "ca.crt"), "--token", token, *args, ok=ok)

    def audit(self):
        with open(os.path.join(self.berth.data, "audit.log"), encoding="utf-8") as f:
            return f.read()


def test_kubectl(w):
    """Somebody signs in at the provider and works with kubectl, by the rights of a group of theirs."""
    token = w.provider.sign_in("ann")
    got = json.loads(w.kubectl(token, "auth", "whoami", "-o", "json"))["status"]["userInfo"]
    check(got["username"] == "idp:ann" and set(got["groups"]) == {"idp:dev", "idp:ops", "system:authenticated"}, got)
    check("authentication.kubernetes.io/credential-id" not in got.get("extra", {}), "its tokens have no jti")
    done = w.kubectl(token, "get", "configmaps", ok=False)
    check(done.returncode != 0 and 'User "idp:ann" cannot list resource "configmaps"' in done.stderr, done.stderr)
    w.berth.kubectl("create", "rolebinding", "ops", "--clusterrole=edit", "--group=idp:ops")
    wait_for("the right", lambda: w.kubectl(token, "auth", "can-i", "list", "configmaps", ok=False).returncode == 0)
    w.kubectl(token, "create", "configmap", "mine", "--from-literal=a=b")
    check("mine" in w.kubectl(token, "get", "configmaps"), "made")
    bob = w.provider.sign_in("bob")
    check(w.kubectl(bob, "get", "configmaps", ok=False).returncode != 0, "bob is not of ops")
    lines = [json.loads(line) for line in w.audit().splitlines()]
    check(any(line.get("user") == "idp:ann" for line in lines), "the audit log names her")
    check(token.split(".")[2] not in w.audit() + open(w.berth.log.name, encoding="utf-8").read(), "no token in a log")


def test_refused(w):
    """What is not right is 401, whatever else is right with it."""
    mint = w.provider.mint
    now = int(time.time())
    check(w.who(mint()) == "idp:ann" and w.who(mint(alg="ES256")) == "idp:ann", "good ones are taken")
    check(w.who(mint(alg="PS256")) == "idp:ann", "RSA-PSS too")
    bad = {
        "expired": mint(exp=now - 60),
        "not yet": mint(nbf=now + 60),
        "without an end": mint(exp=None),
        "audience": mint(aud="someone-else"),
        "audiences": mint(aud=["a", "b"]),
        "issuer": mint(iss="https://127.0.0.1:1"),
        "issuer with a slash": mint(iss=w.provider.issuer + "/"),
        "alg none": mint(how="none"),
        "alg None": mint(how="none", header={"alg": "None"}),
        "HMAC with the public key": mint(how="hmac"),
        "another's key": mint(how="stranger"),
        "an algorithm that is not configured": mint(alg="RS384"),
        "an extension": mint(header={"crit": ["x"], "x": 1}),
        "a name too long": mint(sub="x" * 2000),
        "no name": mint(sub=""),
    }
    for what, token in bad.items():
        check(w.who(token) == 401, f"{what}: {w.who(token)}")
    good = mint()
    head, claims, signature = good.split(".")
    other = base64.urlsafe_b64encode(json.dumps({"iss": w.provider.issuer, "aud": "berth", "sub": "root",
                                                 "exp": now + 600}).encode()).rstrip(b"=").decode()
    for what, token in {"other claims": f"{head}.{other}.{signature}", "no signature": f"{head}.{claims}.",
                        "two parts": f"{head}.{claims}", "four parts": good + ".x", "cut": good[:-3]}.items():
        check(w.who(token) == 401, f"{what}: {w.who(token)}")
    masters = mint(groups=["system:masters"])  # with the prefix it is nobody's group
    check(w.who(masters) == "idp:ann", "as anybody")
    check(w.ask(masters, "/api/v1/namespaces/kube-system/secrets")[0] == 403, "without rights")
    text = w.audit()
    check("eyJ" not in text, "the audit log has no part of a token")
    for why in ("it is for another audience", "it has expired", "its algorithm is not taken"):
        check(why in text, f"the audit log says why: {why}")


def test_token_review(w):
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
              "spec": {"token": w.provider.mint(groups=["dev"], jti="id-7")}}
    got = json.loads(w.berth.kubectl("create", "-f", "-", "-o", "json", stdin=json.dumps(review)))["status"]
    check(got["authenticated"] and got["user"]["username"] == "idp:ann" and "idp:dev" in got["user"]["groups"], got)
    check(got["user"]["extra"] == {"authentication.kubernetes.io/credential-id": ["JTI=id-7"]}, got)
    review["spec"]["audiences"] = ["https://elsewhere"]
    got = json.loads(w.berth.kubectl("create", "-f", "-", "-o", "json", stdin=json.dumps(review)))["status"]
    check(not got.get("authenticated"), got)


def test_rotation(w):
    """New keys are fetched when a token names one, and the request waits for them; strangers cannot make us ask often."""
    check(w.who(w.provider.mint()) == "idp:ann", "at first")
    old = w.provider.mint()
    check(w.who(old) == "idp:ann", "a token of the first keys")
    time.sleep(10.5)  # OIDC_REFETCH_S after the fetch at the start
    w.provider.test("rotate")
    fetched = w.provider.test("count")["fetched"]
    check(w.who(w.provider.mint()) == "idp:ann", "the first request with the new key is not refused")
    check(w.provider.test("count")["fetched"] == fetched + 1, "by one fetch")
    check(w.who(old) == 401, "the old keys are gone, and what they signed with them, though it was known")
    for _ in range(20):
        check(w.who(w.provider.mint(how="unknown")) == 401, "unknown keys are refused")
    check(w.provider.test("count")["fetched"] <= fetched + 2, "they make nobody ask again at once")


def test_away(w):
    """An issuer that is away locks nobody out; one that was never there lets nobody in, until it is."""
    token = w.provider.mint()
    check(w.who(token) == "idp:ann", "at first")
    w.provider.test("broken", status=503)
    time.sleep(10.5)
    check(w.who(w.provider.mint(how="unknown")) == 401, "that asks, in vain")
    check(w.who(w.provider.mint()) == "idp:ann", "the keys stay")
    w.berth.stop()
    w.berth.up()
    check(w.who(token) == 401, "nothing is known after a restart")
    check(w.berth.kubectl("get", "namespaces"), "and the others are served")
    w.provider.test("broken", status=0)
    wait_for("the issuer", lambda: w.who(token) == "idp:ann", 60, 0.5)


def test_rights_end(w):
    """A watch ends with its token."""
    w.berth.kubectl("create", "clusterrolebinding", "ann", "--clusterrole=view", "--user=idp:ann")
    token = w.provider.mint(exp=int(time.time()) + 4)  # and ten seconds of grace
    wait_for("the right", lambda: w.kubectl(token, "auth", "can-i", "list", "pods", ok=False).returncode == 0)
    watch = subprocess.Popen([w.berth.kubectl_program, "--kubeconfig", os.devnull, "--server",
                              f"https://127.0.0.1:{w.berth.port}", "--certificate-authority",
                              os.path.join(w.berth.data, "pki", "ca.crt"), "--token", token, "get", "configmaps", "-w"],
                             env=w.berth.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        watch.wait(timeout=60)
    finally:
        if watch.poll() is None:
            watch.kill()
    check(w.who(token) == 401, "it is over")


def test_certificates(w):
    """Who has no token gets a certificate: asked for by one, approved by another."""
    certificates.run(w)


def visit(w, path, cookie=""):
    """(status, headers) of a GET at the dashboard's own listener."""
    opener = urllib.request.build_opener(NoRedirect)
    try:
        with opener.open(urllib.request.Request(w.site + path, headers={"Cookie": cookie} if cookie else {})) as answer:
            return answer.status, answer.headers
    except urllib.error.HTTPError as e:
        return e.code, e.headers


def test_way_back(w):
    """The way to the issuer says what it must; only the browser that went comes back."""
    wait_for("the issuer", lambda: "/auth?" in visit(w, "/dashboard/session/start")[1]["Location"])
    status, headers = visit(w, "/dashboard/session/start")
    to = urllib.parse.urlparse(headers["Location"])
    query = {k: v[0] for k, v in urllib.parse.parse_qs(to.query).items()}
    check(status == 302 and f"https://{to.netloc}" == w.provider.issuer, headers)
    check(query["redirect_uri"] == w.site + "/dashboard/session/callback" and query["code_challenge_method"] == "S256" and
          query["response_type"] == "code" and query["scope"] == "openid groups" and query["client_id"] == "berth", query)
    check(len({query["state"], query["nonce"], query["code_challenge"]}) == 3 and len(query["state"]) == 43, query)
    cookie = headers["Set-Cookie"]
    check(re.fullmatch(r"berth-login=[\w-]{59}; Path=/dashboard/session; HttpOnly; SameSite=Lax; Max-Age=600", cookie), cookie)
    mine = cookie.split(";")[0]
    other = visit(w, "/dashboard/session/start")[1]
    theirs = urllib.parse.parse_qs(urllib.parse.urlparse(other["Location"]).query)["state"][0]
    back = "/dashboard/session/callback?code=c&state="
    aged = "berth-login=" + "0" * 15 + mine[len("berth-login=") + 15:]
    for what, path, sent in (("no cookie", back + query["state"], ""), ("another's state", back + theirs, mine),
                             ("no state", back, mine), ("no code", "/dashboard/session/callback?state=" + query["state"], mine),
                             ("an old cookie", back + query["state"], aged),
                             ("another issuer", back + query["state"] + "&iss=https%3A%2F%2Fevil", mine)):
        status, headers = visit(w, path, sent)
        check(status == 302 and headers["Location"] == "/dashboard/?signin=old", f"{what}: {status} {headers}")
        check("berth-login=; " in headers["Set-Cookie"] and len(headers.get_all("Set-Cookie")) == 1, f"{what}: no session")
    status, headers = visit(w, back + query["state"], mine)
    check(headers["Location"] == "/dashboard/?signin=failed", f"a code that the issuer did not give: {headers}")
    check(visit(w, "/dashboard/session/callback?error=access_denied&state=x", mine)[1]["Location"] ==
          "/dashboard/?signin=refused", "the issuer's no")


def test_browser(w):
    """Somebody signs in with Chromium, and out."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    web = os.path.join(HERE, "..", "..", "web", "node_modules", "playwright-core")
    if not chromium or not os.path.isdir(web):
        print("        test_browser: skipped: no chromium, or no playwright-core in web/node_modules")
        return
    w.berth.kubectl("create", "clusterrolebinding", "view", "--clusterrole=view", "--group=idp:dev")
    wait_for("the issuer", lambda: "/auth?" in visit(w, "/dashboard/session/start")[1]["Location"])
    done = subprocess.run(["node", os.path.join(HERE, "signin.mjs"), w.site, chromium, os.environ.get("SHOTS", "")],
                          capture_output=True, text=True, timeout=180, check=False)
    check(done.returncode == 0, done.stdout + done.stderr)
    with open(w.berth.log.name, encoding="utf-8") as f:
        log = f.read()
    check("idp:ann signed in from" in log and "eyJ" not in log and "code=" not in log, log)


def start(f, program, kubectl):
    with World(program, kubectl) as w:
        f(w)


if __name__ == "__main__":
    sys.exit(run_tests(globals(), start))
