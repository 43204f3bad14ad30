"""servers: `berth up` and a kube-apiserver with its etcd, each in a folder of its own, and requests to them."""
import base64
import http.client
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import tempfile
import time


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """One connection, kept; answers are (code, parsed body). Whatever is not JSON is its text."""

    def __init__(self, port, context, headers):
        self.port, self.context, self.headers, self.connection = port, context, headers, None

    def ask(self, method, path, body=None, kind="application/json"):
        for attempt in range(3):
            try:
                if self.connection is None:
                    self.connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context, timeout=60)
                headers = dict(self.headers, **({"Content-Type": kind} if body is not None else {}))
                self.connection.request(method, path, body, headers)
                answer = self.connection.getresponse()
                data = answer.read()
                try:
                    return answer.status, json.loads(data)
                except ValueError:
                    return answer.status, data.decode(errors="replace")
            except (OSError, http.client.HTTPException):
                self.connection = None
                if attempt == 2:
                    raise
        return None


class World:
    """Both servers; leaves nothing behind."""

    def __init__(self, berth, apiserver, etcd):
        self.root = tempfile.mkdtemp(prefix="berth-beside.")
        self.processes, self.programs = [], (berth, apiserver, etcd)

    def __enter__(self):
        try:
            return self.start_berth(), self.start_kubernetes()
        except BaseException:
            self.__exit__(None, None, None)
            raise

    def __exit__(self, *_):
        for p in reversed(self.processes):
            p.terminate()
            try:
                p.wait(20)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()
        shutil.rmtree(self.root, ignore_errors=True)

    def path(self, *names):
        return os.path.join(self.root, *names)

    def spawn(self, name, *args, **more):
        with open(self.path(name + ".log"), "ab") as log:
            p = subprocess.Popen(args, stderr=log, stdin=subprocess.DEVNULL, **{"stdout": log, **more})
        self.processes.append(p)
        return p

    def start_berth(self):
        p = self.spawn("berth", self.programs[0], "up", "--data", self.path("data"), "--listen", "127.0.0.1:0", "--dashboard",
                       "none", "--gpus", "none", "--no-node", "--controllers", "none", stdout=subprocess.PIPE)
        line = p.stdout.readline().decode()
        found = re.search(r"https://127\.0\.0\.1:(\d+)", line)
        if not found:
            raise RuntimeError(f"berth up said {line!r}")
        with open(self.path("data", "kubeconfig"), encoding="utf-8") as f:
            config = dict(re.findall(r"\"?(client-certificate-data|client-key-data)\"?: *\"?([A-Za-z0-9+/=]+)", f.read()))
        context = ssl._create_unverified_context()
        with open(self.path("admin.pem"), "wb") as f:
            for key in ("client-key-data", "client-certificate-data"):
                f.write(base64.b64decode(config[key]))
        context.load_cert_chain(self.path("admin.pem"))
        return Server(int(found.group(1)), context, {})

    def start_kubernetes(self):
        _, apiserver, etcd = self.programs
        client, peer, port = free_port(), free_port(), free_port()
        at, ours = f"http://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"
        self.spawn("etcd", etcd, "--data-dir", self.path("etcd"), "--listen-client-urls", at, "--advertise-client-urls", at,
                   "--listen-peer-urls", ours, "--initial-advertise-peer-urls", ours, "--initial-cluster", f"default={ours}",
                   "--unsafe-no-fsync")
        key = self.path("sa.key")
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
        with open(self.path("tokens.csv"), "w", encoding="utf-8") as f:
            f.write('beside,admin,1,"system:masters"\n')
        self.spawn("kube-apiserver", apiserver, f"--etcd-servers={at}", "--bind-address=127.0.0.1", f"--secure-port={port}",
                   f"--cert-dir={self.path('serving')}", "--service-account-issuer=https://kubernetes.default.svc",
                   f"--service-account-key-file={key}", f"--service-account-signing-key-file={key}",
                   f"--token-auth-file={self.path('tokens.csv')}", "--authorization-mode=RBAC",
                   "--service-cluster-ip-range=10.43.0.0/16", "--disable-admission-plugins=DefaultTolerationSeconds")
        server = Server(port, ssl._create_unverified_context(), {"Authorization": "Bearer beside"})
        end = time.monotonic() + 120
        while True:
            try:
                if server.ask("GET", "/readyz")[0] == 200 and server.ask("GET", "/api/v1/namespaces/default")[0] == 200:
                    return server
            except (OSError, http.client.HTTPException):
                pass
            if time.monotonic() > end:
                with open(self.path("kube-apiserver.log"), encoding="utf-8") as f:
                    raise RuntimeError("kube-apiserver does not become ready:\n" + f.read()[-2000:])
            time.sleep(0.3)
