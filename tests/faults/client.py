"""client: plain HTTPS to a running `berth up`, for tests that count every answer; a Berth that can be killed and come back."""
import http.client
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from harness import Berth, Fail, check, wait_for  # noqa: E402  (found through the path above)

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"
WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads"
CLUSTERQUEUES = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues"
MERGE = "application/merge-patch+json"


class Lost(Exception):
    """The connection ended before an answer: the request may have happened or not."""


class Half(Exception):
    """An answer began and did not end."""


def context(data):
    ctx = ssl.create_default_context(cafile=os.path.join(data, "pki", "ca.crt"))
    ctx.load_cert_chain(os.path.join(data, "pki", "admin.crt"), os.path.join(data, "pki", "admin.key"))
    return ctx


class Api:
    """One connection, made again when it breaks. Not for two threads."""

    def __init__(self, ctx, port, seconds=20):
        self.ctx, self.port, self.seconds, self.conn = ctx, port, seconds, None

    def close(self):
        if self.conn:
            self.conn.close()
            self.conn = None

    def __call__(self, method, path, body=None, kind="application/json", accept="application/json"):
        """(status, value); raises Lost or Half."""
        answered = False
        try:
            if not self.conn:
                self.conn = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=self.seconds, context=self.ctx)
                self.conn.connect()
                self.conn.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            data = json.dumps(body) if isinstance(body, (dict, list)) else body
            self.conn.request(method, path, data, {"Content-Type": kind, "Accept": accept})
            r = self.conn.getresponse()
            answered = True
            text = r.read()
            if r.getheader("Connection", "").lower() == "close":
                self.close()
            is_json = r.getheader("Content-Type", "").startswith("application/json")
            return r.status, json.loads(text) if is_json else text.decode()
        except (OSError, http.client.HTTPException, ValueError) as e:
            self.close()
            raise (Half if answered else Lost)(f"{method} {path}: {e!r}") from e

    def ok(self, method, path, body=None, kind="application/json", want=(200, 201)):
        code, value = self(method, path, body, kind)
        check(code in want, f"{method} {path}: {code} {str(value)[:600]}")
        return value


class Watch:
    """A watch on a connection of its own; next() gives an event, or None at the end or after `seconds`."""

    def __init__(self, ctx, port, path, seconds=10, accept="application/json", small=False):
        self.conn = http.client.HTTPSConnection("127.0.0.1", port, timeout=seconds, context=ctx)
        self.conn.connect()
        if small:
            self.conn.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.conn.request("GET", path, headers={"Accept": accept})
        self.response = self.conn.getresponse()
        self.status = self.response.status

    def next(self):
        try:
            line = self.response.readline()
        except (OSError, http.client.HTTPException):
            return None
        return json.loads(line) if line.endswith(b"\n") else None

    def close(self):
        self.response.close()
        self.conn.close()


class Mortal(Berth):
    """A Berth whose restarts cost no kubectl."""

    def __init__(self, program, kubectl, gpus="sim:8xh200", args=(), data=None):
        super().__init__(program, kubectl, gpus, args)
        if data:
            self.data = data
            self.env["KUBECONFIG"] = os.path.join(data, "kubeconfig")

    def spawn(self):
        self.process = subprocess.Popen(
            [self.program, "up", "--data", self.data, "--listen", f"127.0.0.1:{self.port}", "--gpus", self.gpus,
             "--runtime", "process"] +
            self.args, stdout=subprocess.PIPE, stderr=self.log, env=self.env)

    def ready(self):
        self.said_ready(self.process.stdout.readline().decode())

    def said_ready(self, line):
        check(line.startswith("berth: ready"), f"berth up said {line!r}, exit {self.process.poll()}")
        self.port = int(re.search(r"https://127\.0\.0\.1:(\d+)", line).group(1))

    def up(self):
        self.spawn()
        self.ready()

    def kill(self):
        check(self.process.poll() is None, f"berth up has ended by itself with {self.process.returncode}")
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()

    def api(self, **more):
        return Api(context(self.data), self.port, **more)

    def log_text(self):
        with open(self.log.name, encoding="utf-8", errors="replace") as f:
            return f.read()


def run_tests(tests, names):
    """Prints a line for each; the exit status."""
    failed = 0
    for name, f in tests:
        if names and name not in names:
            continue
        start = time.monotonic()
        try:
            text = f() or ""
            print(f"ok      {name} ({time.monotonic() - start:.1f} s) {text}", flush=True)
        except Exception as e:  # a test's failure is printed, the others go on
            failed += 1
            print(f"FAILED  {name}: {e}", flush=True)
            if not isinstance(e, Fail):
                import traceback
                traceback.print_exc()
    print(f"{'FAILED' if failed else 'ok'}: {failed} failed", flush=True)
    return 1 if failed else 0


__all__ = ["Api", "Berth", "CLUSTERQUEUES", "CONFIGMAPS", "Fail", "Half", "JOBS", "Lost", "MERGE", "Mortal", "PODS", "WORKLOADS",
           "Watch", "check", "context", "run_tests", "wait_for"]
