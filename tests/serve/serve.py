#!/usr/bin/env python3
"""serve: models of `berth up` through its gateway, as OpenAI's client and berth's own verbs use them.

    serve.py BERTH KUBECTL [TEST...]

One Berth for all. A model is a Deployment of model.py, a Service with annotation berth.dev/model, and no queue.
"""
import http.server
import json
import os
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
from harness import Berth, Fail, check, run_tests, wait_for

with open(os.path.join(HERE, "model.py"), encoding="utf-8") as source:
    MODEL = source.read()


def model(name, ns="team", replicas=1, starts=0, deployment=None, notes=None, port=8000):
    meta = {"namespace": ns, "name": name}
    pod = {"terminationGracePeriodSeconds": 1, "containers": [{
        "name": "main", "image": "none", "command": ["python3", "-u", "-c", MODEL, str(port), str(starts)],
        "ports": [{"name": "http", "containerPort": port}],
        "readinessProbe": {"httpGet": {"path": "/health", "port": port}, "periodSeconds": 1},
        "resources": {"requests": {"cpu": "5m", "memory": "32Mi"}}}]}
    return [
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": dict(meta, annotations=deployment or {}),
         "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
                  "template": {"metadata": {"labels": {"app": name}}, "spec": pod}}},
        {"apiVersion": "v1", "kind": "Service",
         "metadata": dict(meta, annotations=dict({"berth.dev/model": name}, **(notes or {}))),
         "spec": {"selector": {"app": name}, "ports": [{"name": "http", "port": 80, "targetPort": "http"}]}}]


class World:
    """A Berth with projects team and other, and the model tiny of team."""

    def __init__(self, program, kubectl):
        self.b = Berth(program, kubectl, gpus="none")
        self.b.__enter__()
        for ns in ("team", "other"):
            self.b.kubectl("create", "namespace", ns)
        self.b.apply(*model("tiny"))
        self.b.kubectl("-n", "team", "rollout", "status", "deployment/tiny", "--timeout=60s")
        self.key = self.make_key("first")
        wait_for("the model to answer", lambda: self.ask(self.key)[0] == 200, 60)

    def make_key(self, *args, ns="team"):
        return self.b.berth("key", "create", "-n", ns, *args).strip()

    def ask(self, key, name="tiny", traceparent=None):
        """Status, headers, body of one request."""
        body = {"model": name, "messages": [{"role": "user", "content": "secret words"}]}
        headers = {"Content-Type": "application/json"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        if traceparent:
            headers["traceparent"] = traceparent
        request = urllib.request.Request(self.b.gateway + "/v1/chat/completions", json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=90) as r:
                return r.status, r.headers, r.read().decode()
        except urllib.error.HTTPError as e:
            return e.code, e.headers, e.read().decode()

    def page(self, path, key=None):
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        with urllib.request.urlopen(urllib.request.Request(self.b.gateway + path, headers=headers), timeout=30) as r:
            return r.read().decode()

    def listed(self, key):
        """The models that a key may use; None: it is refused."""
        try:
            return [m["id"] for m in json.loads(self.page("/v1/models", key))["data"]]
        except urllib.error.HTTPError:
            return None

    def client(self, case, key, *args):
        done = subprocess.run(["node", os.path.join(HERE, "client.mjs"), self.b.gateway, key, case, *args],
                              capture_output=True, text=True, timeout=120, check=False)
        check(done.returncode == 0 and done.stdout.strip() == "ok", f"{case}: {done.stdout}{done.stderr}")

    def code(self, *args, **more):
        status, _, body = self.ask(*args, **more)
        return status, (json.loads(body).get("error") or {}).get("code")


def test_openai_client(w):
    """What programs do: each call behaves as against OpenAI's API."""
    for case in ("models", "chat", "stream", "tools", "embeddings", "errors"):
        w.client(case, w.key)
    w.client("refused", "sk-berth-" + "A" * 43)


def test_abort_reaches_the_model(w):
    pod = w.b.kubectl("-n", "team", "get", "pods", "-l", "app=tiny", "-o", "name").split()[0]

    def gone():
        script = "import urllib.request;print(urllib.request.urlopen('http://127.0.0.1:8000/gone').read().decode())"
        return json.loads(w.b.kubectl("-n", "team", "exec", pod, "--", "python3", "-c", script))["gone"]

    before = gone()
    w.client("abort", w.key)
    wait_for("the model to hear of it", lambda: gone() > before)


def test_secrets_are_kept_nowhere(w):
    secret = w.make_key("quiet", "--purpose", "a test")
    stored = w.b.get("-n", "team", "modelkey", "quiet")
    check(secret not in json.dumps(stored), "the object has the secret")
    check(stored["spec"]["prefix"] == secret[:16], "the beginning is kept")
    check(stored["spec"]["user"] == "berth-admin", f"whose it is: {stored['spec']}")
    check(w.ask(secret)[0] == 200, "it works")
    for folder, _, files in os.walk(w.b.data):
        for name in files:
            try:
                with open(os.path.join(folder, name), "rb") as f:
                    check(secret.encode() not in f.read(), f"{folder}/{name} has the secret")
            except OSError:
                pass
    listed = w.b.berth("key", "list", "-n", "team")
    check(secret[:16] in listed and secret not in listed, "the list shows the beginning")


def test_revoked_at_once(w):
    secret = w.make_key("leaked")
    check(wait_for("the key to count", lambda: w.ask(secret)[0] == 200), "it works")
    w.b.berth("key", "revoke", "-n", "team", secret[:20])
    wait_for("the key to be refused", lambda: w.code(secret) == (401, "invalid_api_key"), 30, 0.02)
    undo = w.b.kubectl("-n", "team", "patch", "modelkey", "leaked", "--type=merge", "-p", '{"spec":{"revoked":false}}', ok=False)
    check("a revoked key stays revoked" in undo.stderr, f"undone: {undo.stderr}")


def test_expired(w):
    secret = w.make_key("short")
    wait_for("the key to count", lambda: w.ask(secret)[0] == 200)
    w.b.kubectl("-n", "team", "patch", "modelkey", "short", "--type=merge", "-p", '{"spec":{"expiresAt":"2020-01-01T00:00:00Z"}}')
    wait_for("the key to have expired", lambda: w.code(secret) == (401, "expired_api_key"))


def test_a_key_has_its_models_and_its_project(w):
    narrow, foreign = w.make_key("narrow", "-m", "llama-*"), w.make_key("foreign", ns="other")
    for secret in (narrow, foreign):
        wait_for("the key to count", lambda s=secret: w.ask(s)[0] != 401)
        check(w.code(secret) == (404, "model_not_found"), f"tiny is none of its models: {w.code(secret)}")
        check(w.listed(secret) == [], "nor in its list")
    check(w.code(None)[0] == 401, "without a key")


def test_limits(w):
    one, two = w.make_key("one", "--rpm", "1"), w.make_key("two", "--rpm", "60")
    for key in (one, two):  # a list of models is no request for one
        wait_for("the key to count", lambda k=key: w.listed(k) is not None)
    w.client("limited", one)
    w.client("retried", two)
    w.b.kubectl("annotate", "namespace", "team", "berth.dev/model-requests-per-minute=2")
    try:
        key = w.make_key("member")
        wait_for("the project's limit", lambda: w.code(key) == (429, "rate_limit_exceeded"))
        check(w.code(w.make_key("another"))[0] in (401, 429), "it is the project's, not the key's")
    finally:
        w.b.kubectl("annotate", "namespace", "team", "berth.dev/model-requests-per-minute-")
    wait_for("no limit again", lambda: w.ask(w.key)[0] == 200)


def test_priority_is_the_projects(w):
    done = w.b.berth("key", "create", "-n", "team", "vip", "--priority", "5", ok=False)
    check(done.returncode == 1 and "must be at most 0" in done.stderr, f"{done.returncode} {done.stderr}")
    w.b.kubectl("annotate", "namespace", "team", "berth.dev/model-priority-max=5")
    w.make_key("vip", "--priority", "5")


def test_tokens_of_accounts_and_people(w):
    w.b.kubectl("-n", "team", "create", "serviceaccount", "robot")
    token = w.b.kubectl("-n", "team", "create", "token", "robot").strip()
    check(w.code(token) == (404, "model_not_found"), f"an account without rights: {w.code(token)}")
    w.b.kubectl("-n", "team", "create", "rolebinding", "robot", "--clusterrole=edit", "--serviceaccount=team:robot")
    fresh = w.b.kubectl("-n", "team", "create", "token", "robot").strip()
    wait_for("the account's right", lambda: w.ask(fresh)[0] == 200)
    person = w.b.berth("token", "ann").strip()
    check(w.code(person)[0] == 404, "a person without rights")
    check(w.code("aaaa.bbbb.cccc")[0] == 401, "a token of nobody's")


def test_from_zero_and_back(w):
    w.b.apply(*model("sleepy", replicas=0, starts=1, deployment={"berth.dev/model-idle": "4s"}))

    def replicas():
        return w.b.get("-n", "team", "deployment", "sleepy")["spec"]["replicas"]

    wait_for("the model to be known", lambda: "sleepy" in w.listed(w.key))
    check(replicas() == 0, "nobody asked yet")
    # Many ask at once; it is started once, and all are answered.
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(w.ask(w.key, "sleepy")[0])) for _ in range(20)]
    for t in threads:
        t.start()
    w.client("zero", w.key, "sleepy")
    for t in threads:
        t.join(90)
    check(answers == [200] * 20, f"answers: {answers}")
    check(replicas() == 1, "it runs")
    wait_for("idle again", lambda: replicas() == 0, 60)
    wait_for("its pod to go", lambda: not w.b.get("-n", "team", "pods", "-l", "app=sleepy")["items"], 60)
    check(w.ask(w.key, "sleepy")[0] == 200, "and from zero once more")
    w.b.kubectl("-n", "team", "delete", "deployment,service", "sleepy")


def test_only_who_agreed_is_scaled(w):
    w.b.apply(*model("still", replicas=0))
    wait_for("the model to be known", lambda: "still" in w.listed(w.key))
    status, _, body = w.ask(w.key, "still")
    check(status == 503 and "has no replicas" in body, f"{status} {body}")
    check(w.b.get("-n", "team", "deployment", "still")["spec"]["replicas"] == 0, "it stays at zero")
    w.b.kubectl("-n", "team", "delete", "deployment,service", "still")


def test_inference_services(w):
    """An InferenceService at zero: asked by its name, started, answered; stopped: told so."""
    if "inferenceservices" not in w.b.kubectl("api-resources", "--api-group=serving.kserve.io", "-o", "name", ok=False).stdout:
        return
    container = {"name": "kserve-container", "image": "none", "command": ["sh", "-c", "exec python3 -u -c \"$0\" $PORT 0", MODEL],
                 "ports": [{"containerPort": 8000}], "resources": {"requests": {"cpu": "5m", "memory": "32Mi"}},
                 "readinessProbe": {"httpGet": {"path": "/health", "port": 8000}, "periodSeconds": 1}}
    w.b.apply({"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService",
               "metadata": {"name": "isvc", "namespace": "team", "annotations": {"berth.dev/model-idle": "3s"}},
               "spec": {"predictor": {"minReplicas": 0, "maxReplicas": 2, "containers": [container]}}})
    wait_for("the model to be known", lambda: "isvc" in w.listed(w.key))
    wait_for("its Deployment", lambda: w.b.kubectl("-n", "team", "get", "deployment", "isvc-predictor", ok=False).returncode == 0)
    w.client("zero", w.key, "isvc")
    wait_for("idle again", lambda: w.b.get("-n", "team", "deployment", "isvc-predictor")["spec"]["replicas"] == 0, 60)
    w.b.kubectl("-n", "team", "annotate", "inferenceservice", "isvc", "serving.kserve.io/stop=true")
    wait_for("to be told that it is stopped", lambda: w.code(w.key, "isvc") == (503, "model_stopped"))
    w.b.kubectl("-n", "team", "delete", "inferenceservice", "isvc")


def test_a_broken_annotation_is_told(w):
    w.b.kubectl("-n", "team", "annotate", "service", "tiny", "berth.dev/model-port=nosuch")
    try:
        wait_for("the fault", lambda: "berth.dev/model-port: nosuch: expected name or number" in w.ask(w.key)[2])
    finally:
        w.b.kubectl("-n", "team", "annotate", "service", "tiny", "berth.dev/model-port-")
    wait_for("the model again", lambda: w.ask(w.key)[0] == 200)


def test_the_role_is_narrow(w):
    """What the gateway's own identity may not."""
    env = dict(w.b.env, KUBECONFIG=os.path.join(w.b.data, "gateway.kubeconfig"))
    for words in (["get", "secrets", "-A"], ["-n", "team", "delete", "modelkey", "first"],
                  ["-n", "team", "annotate", "deployment", "tiny", "x=y"], ["get", "pods", "-A"]):
        done = subprocess.run([w.b.kubectl_program, *words], env=env, capture_output=True, text=True, timeout=60, check=False)
        check("forbidden" in done.stderr.lower(), f"{words}: {done.stdout}{done.stderr}")


def test_the_manifest_for_clusters(w):
    """It is taken as it is, and its role writes no more than the one of berth up."""
    w.b.kubectl("apply", "--dry-run=server", "-f", os.path.join(HERE, "..", "..", "deploy", "gateway", "gateway.yaml"))
    made = w.b.kubectl("create", "--dry-run=client", "-o", "json", "-f",
                       os.path.join(HERE, "..", "..", "deploy", "gateway", "gateway.yaml"))
    documents = json.loads("[" + made.replace("}\n{", "},{") + "]")
    items = [i for d in documents for i in (d["items"] if d["kind"] == "List" else [d])]
    role = next(i for i in items if i["kind"] == "ClusterRole")
    own = w.b.get("clusterrole", "system:berth-gateway")

    def writes(r):
        return {(g, x, v) for rule in r["rules"] for g in rule["apiGroups"] for x in rule["resources"] for v in rule["verbs"]
                if v not in ("get", "list", "watch")}

    check(writes(role) == writes(own), f"{writes(role) ^ writes(own)}")


def test_use_is_counted(w):
    w.ask(w.key)
    text = w.page("/metrics")
    line = next((x for x in text.splitlines() if x.startswith("inference_objective_request_total{project=\"team\",model_name=\"tiny\"")), "")
    check(line and float(line.split()[-1]) > 0, f"no count of requests:\n{text[:2000]}")
    check("gen_ai_server_time_to_first_token_seconds_bucket" in text, "no time to first token")
    wait_for("when it was last used", lambda: w.b.get("-n", "team", "modelkey", "first").get("status", {}).get("lastUsed"), 60)


class Collector(http.server.ThreadingHTTPServer):
    """A collector of spans: what it was sent."""

    def __init__(self):
        self.spans = []
        super().__init__(("127.0.0.1", 0), CollectorHandler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class CollectorHandler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        check(self.path == "/v1/traces", self.path)
        for resource in body["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                self.server.spans += scope["spans"]
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def test_a_second_gateway_tells_spans_and_lines(w):
    """With the same keys and models; the trace of a client goes through to the model's server and to the collector."""
    collector, port, log = Collector(), free_port(), os.path.join(w.b.root, "access")
    process = subprocess.Popen(
        [w.b.program, "gateway", "--kubeconfig", os.path.join(w.b.data, "gateway.kubeconfig"), "--pods-of", w.b.data,
         "--listen", f"127.0.0.1:{port}", "--no-sleep", "--access-log", log, "--sample", "0",
         "--otlp", f"http://127.0.0.1:{collector.server_port}"], stderr=w.b.log)
    first, w.b.gateway = w.b.gateway, f"http://127.0.0.1:{port}"
    try:
        wait_for("the second gateway", lambda: try_ask(w) == 200)
        trace = "0af7651916cd43dd8448eb211c80319c"
        _, _, body = w.ask(w.key, traceparent=f"00-{trace}-b7ad6b7169203331-01")
        onward = json.loads(body)["traceparent"]
        check(onward.startswith(f"00-{trace}-") and onward.endswith("-01") and "b7ad6b7169203331" not in onward, onward)
        span = wait_for("a span", lambda: collector.spans)[0]
        check(len(collector.spans) == 1, "only what was sampled")
        check((span["traceId"], span["parentSpanId"], span["name"]) == (trace, "b7ad6b7169203331", "chat"), str(span))
        check(span["spanId"] == onward.split("-")[2], "the server's parent is the gateway's span")
        lines = wait_for("the lines", lambda: [x for x in map(json.loads, open(log, encoding="utf-8")) if x.get("trace") == trace])
        line = lines[0]
        check((line["status"], line["key"], line["model"], line["tokensIn"], line["tokensOut"]) == (200, "first", "tiny", 5, 7),
              str(line))
        with open(log, encoding="utf-8") as f:
            check("secret words" not in f.read(), "the log has a prompt")
    finally:
        w.b.gateway = first
        process.terminate()
        check(process.wait(30) == 0, "it ends well")
        collector.shutdown()


def test_stops_and_comes_back(w):
    """After a restart of berth up the same keys open the same models."""
    w.b.stop()
    w.b.up()
    wait_for("the model to answer", lambda: try_ask(w) == 200, 60)


def try_ask(w):
    try:
        return w.ask(w.key)[0]
    except OSError:
        return 0


WORLD = []


def start(f, program, kubectl):
    if not WORLD:
        WORLD.append(World(program, kubectl))
    f(WORLD[0])


if __name__ == "__main__":
    CODE = run_tests(globals(), start)
    if WORLD:
        WORLD[0].b.__exit__(Fail if CODE else None, None, None)
    sys.exit(CODE)
