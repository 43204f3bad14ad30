"""client: an API server as a test sees it: requests, watches, a kubelet that only pretends, and a judge of quota."""
import json
import os
import re
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from faulty import Upstream  # noqa: E402

KUEUE = "/apis/kueue.x-k8s.io/v1beta2"


class Fail(Exception):
    pass


def check(condition, text):
    if not condition:
        raise Fail(text)


def wait_for(what, test, seconds=60, pause=0.2):
    end = time.monotonic() + seconds
    while True:
        value = test()
        if value:
            return value
        if time.monotonic() > end:
            raise Fail(f"waited {seconds} s for: {what() if callable(what) else what}")
        time.sleep(pause)


class Api:
    """JSON requests with the credentials of a kubeconfig; one connection a thread."""

    def __init__(self, kubeconfig):
        with tempfile.TemporaryDirectory(prefix="berth-client.") as folder:
            self.upstream = Upstream(kubeconfig, folder)
        self.local = threading.local()

    def request(self, method, path, body=None, kind="application/json", ok=True):
        """Asked again where the server says that it cannot yet, as of a kind that was defined just now."""
        for left in range(20, -1, -1):
            status, got = self.ask(method, path, body, kind)
            if status != 429 or not left:
                break
            time.sleep(0.5)
        if ok and status >= 300:
            raise Fail(f"{method} {path}: {status} {got.get('message')}")
        return got if ok else (status, got)

    def ask(self, method, path, body, kind):
        text = json.dumps(body) if body is not None else None
        headers = dict(self.upstream.headers, **{"Content-Type": kind, "Accept": "application/json"})
        for again in (True, False):
            c = getattr(self.local, "connection", None)
            try:
                if c is None:
                    c = self.local.connection = self.upstream.connect()
                c.request(method, path, text, headers)
                answer = c.getresponse()
                got = json.loads(answer.read() or b"null")
                break
            except OSError:
                self.local.connection = None
                if not again:
                    raise
        return answer.status, got

    def get(self, path):
        return self.request("GET", path)

    def create(self, kind, path, body):
        """path as for a list: its version is the object's."""
        parts = path.split("/")
        version = parts[2] if parts[1] == "api" else f"{parts[2]}/{parts[3]}"
        return self.request("POST", path, dict(body, apiVersion=version, kind=kind))

    def merge(self, path, body, ok=True):
        return self.request("PATCH", path, body, "application/merge-patch+json", ok)

    def delete(self, path):
        return self.request("DELETE", path, {"kind": "DeleteOptions", "apiVersion": "v1",
                                             "propagationPolicy": "Background"}, ok=False)

    def watch(self, path, rv, each, ended):
        """Calls each(type, object) for what comes after rv until ended() says so; no event is missed."""
        while not ended():
            c = self.upstream.connect()
            try:
                c.request("GET", f"{path}?watch=true&allowWatchBookmarks=true&timeoutSeconds=300&resourceVersion={rv}",
                          headers=self.upstream.headers)
                answer = c.getresponse()
                check(answer.status == 200, f"watch {path}: {answer.status}")
                sock = c.sock
                line = b""
                while not ended():
                    sock.settimeout(1)
                    try:
                        got = answer.readline()
                    except TimeoutError:
                        c = None # a reader that timed out reads no more: another one from rv
                        break
                    if not got:
                        break
                    line += got
                    if line.endswith(b"\n"):
                        event = json.loads(line)
                        line = b""
                        check(event["type"] != "ERROR", f"watch {path}: {event}")
                        rv = event["object"]["metadata"]["resourceVersion"]
                        if event["type"] != "BOOKMARK":
                            each(event["type"], event["object"])
            finally:
                if c:
                    c.close()


def condition(o, kind):
    for c in o.get("status", {}).get("conditions", []):
        if c["type"] == kind:
            return c
    return {"status": "", "reason": ""}


def amount(text):
    """A quantity of cpu, in milli-units."""
    text = str(text)
    return int(text[:-1]) if text.endswith("m") else int(text) * 1000


class Judge:
    """Hears every revision of the Workloads of a namespace, and says when quota is held beyond what there is."""

    def __init__(self, api, ns, most):
        """most: what all of them may hold together, cpu in milli-units."""
        self.api, self.ns, self.most = api, ns, most
        self.path = f"{KUEUE}/namespaces/{ns}/workloads"
        self.held, self.faults, self.revisions, self.evictions = {}, [], 0, 0
        self.peak = 0
        self.over = False
        rv = api.get(self.path)["metadata"]["resourceVersion"]
        self.thread = threading.Thread(target=self.run, args=(rv,), daemon=True)
        self.thread.start()

    def run(self, rv):
        try:
            self.api.watch(self.path, rv, self.hear, lambda: self.over)
        except Exception as e: # the test ends with it, not this thread
            self.faults.append(f"the judge: {e!r}")

    def hear(self, kind, o):
        self.revisions += 1
        uid = o["metadata"]["uid"]
        before = self.held.pop(uid, None)
        reserved = condition(o, "QuotaReserved")["status"] == "True" and condition(o, "Finished")["status"] != "True"
        if kind != "DELETED" and reserved:
            done = {r["name"]: r["count"] for r in o["status"].get("reclaimablePods", [])}
            self.held[uid] = sum(amount(p["resourceUsage"]["cpu"]) * (p["count"] - done.get(p["name"], 0)) // p["count"]
                                 for p in o["status"]["admission"]["podSetAssignments"])
        elif before and kind != "DELETED" and condition(o, "Evicted")["status"] == "True":
            self.evictions += 1
        total = sum(self.held.values())
        self.peak = max(self.peak, total)
        if total > self.most:
            self.faults.append(f"{total} of {self.most} held at revision {o['metadata']['resourceVersion']}, by "
                               f"{kind} of {o['metadata']['name']}: {json.dumps(o.get('status'))}")

    def end(self):
        self.over = True
        self.thread.join(10)
        check(not self.faults, f"quota: {self.faults[:5]}")


class Kubelet:
    """Makes pods of Jobs run and succeed: after `berth.dev/runtime` of their template, in seconds."""

    def __init__(self, api, ns):
        self.api, self.ns, self.over, self.faults = api, ns, False, []
        self.since = {}
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.over:
            try:
                self.turn()
            except (OSError, Fail) as e:
                self.faults.append(repr(e))
            time.sleep(0.1)

    def turn(self):
        path = f"/api/v1/namespaces/{self.ns}/pods"
        for pod in self.api.get(path)["items"]:
            meta, status = pod["metadata"], pod.get("status", {})
            if meta.get("deletionTimestamp") or pod["spec"].get("schedulingGates"):
                continue
            at = f"{path}/{meta['name']}/status"
            if status.get("phase") in (None, "Pending"):
                self.since[meta["uid"]] = time.monotonic()
                self.api.merge(at, {"status": {"phase": "Running", "conditions": [
                    {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}, ok=False)
            elif status["phase"] == "Running":
                runs = float(re.sub("s$", "", meta.get("annotations", {}).get("berth.dev/runtime", "1s")))
                if time.monotonic() - self.since.setdefault(meta["uid"], time.monotonic()) >= runs:
                    self.api.merge(at, {"status": {"phase": "Succeeded", "conditions": [
                        {"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}, ok=False)

    def end(self):
        self.over = True
        self.thread.join(10)
