#!/usr/bin/env python3
"""faulty: an API server that misbehaves: a proxy before a real one, which does to requests and watches what networks,
overload and restarts do. What it does is drawn from a seed.

    before a request   late; 409, 429 (with Retry-After), 500, 503; the connection cut: nothing happened
    after a write      the connection cut without an answer: it happened
    in a watch         events late and repeated, the stream cut between events or in the middle of one, 410 at once
    at times           down: every connection is cut and none is taken for a while

    faulty.py --kubeconfig FILE --write FILE [--seed N] [--rate R] [--down SECONDS]

--write gets a kubeconfig that leads here. Requests go on with the credentials of --kubeconfig. Ends on SIGTERM."""
import argparse
import base64
import http.client
import json
import os
import random
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

STATUS = {409: ("Conflict", "the object has been modified; please apply your changes to the latest version"),
          410: ("Expired", "too old resource version"),
          429: ("TooManyRequests", "too many requests, please try again later"),
          500: ("InternalError", "an error on the server"),
          503: ("ServiceUnavailable", "the server is shutting down")}


class Upstream:
    """The server behind: its address, and how to speak to it."""

    def __init__(self, kubeconfig, folder):
        view = subprocess.run([os.environ.get("KUBECTL", "kubectl"), "--kubeconfig", kubeconfig, "config", "view", "--raw",
                               "--minify", "--flatten", "-o", "json"], capture_output=True, check=True).stdout
        view = json.loads(view)
        cluster, user = view["clusters"][0]["cluster"], view["users"][0]["user"]
        at = urlsplit(cluster["server"])
        self.host, self.port = at.hostname, at.port or 443
        self.context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
        self.headers = {}
        if "token" in user:
            self.headers["Authorization"] = f"Bearer {user['token']}"
        if "client-certificate-data" in user:
            for name in ("certificate", "key"):
                with open(os.path.join(folder, name), "wb") as f:
                    f.write(base64.b64decode(user[f"client-{name}-data"]))
            self.context.load_cert_chain(os.path.join(folder, "certificate"), os.path.join(folder, "key"))

    def connect(self):
        return http.client.HTTPSConnection(self.host, self.port, context=self.context, timeout=60)


class Cut(Exception):
    """The connection ends here."""


class Faults:
    """What is done, and how often: probabilities are per request at --rate 1."""

    def __init__(self, seed, rate):
        self.random, self.rate, self.lock = random.Random(seed), rate, threading.Lock()
        self.down = False
        self.done = {}
        self.answers = 0

    def chance(self, p):
        with self.lock:
            return self.random.random() < p * self.rate

    def between(self, a, b):
        with self.lock:
            return self.random.uniform(a, b)

    def count(self, what):
        with self.lock:
            self.done[what] = self.done.get(what, 0) + 1


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    faults = upstream = None
    behind = None

    def log_message(self, *args):
        pass

    # ---- one request ----

    def handle_one_request(self):
        try:
            super().handle_one_request()
        except (Cut, OSError, http.client.HTTPException):
            self.close_connection = True
            try:
                self.connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def refuse(self, code, more=()):
        reason, message = STATUS[code]
        body = json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code,
                           "message": message}).encode()
        self.faults.count(str(code))
        self.send_response(code)
        for name, value in (("Content-Type", "application/json"), ("Content-Length", str(len(body))), *more):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def misfortune(self, write, watch):
        """True when the request was answered here."""
        f = self.faults
        if f.down:
            raise Cut
        if f.chance(0.10):
            f.count("late")
            time.sleep(f.between(0.01, 0.5))
        if f.chance(0.02):
            f.count("cut before")
            raise Cut
        if write and f.chance(0.04):
            self.refuse(409)
        elif watch and f.chance(0.05):
            self.refuse(410)
        elif f.chance(0.03):
            self.refuse(429, [("Retry-After", "1")])
        elif f.chance(0.03):
            self.refuse(500)
        elif f.chance(0.01):
            self.refuse(503)
        else:
            return False
        return True

    def ask(self, body):
        """Sends the request on; a connection that the server closed meanwhile is made anew."""
        headers = {k: v for k, v in self.headers.items() if k.lower() not in
                   ("host", "connection", "authorization", "accept-encoding", "content-length")}
        headers.update(self.upstream.headers)
        for fresh in (False, True):
            if self.behind is None or fresh:
                self.behind = self.upstream.connect()
            try:
                self.behind.request(self.command, self.path, body, headers)
                return self.behind.getresponse()
            except (OSError, http.client.HTTPException):
                self.behind.close()
                if fresh or self.command not in ("GET", "HEAD"):
                    raise Cut from None
        raise Cut

    def serve(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        write, watch = self.command != "GET", "watch=true" in self.path or "watch=1" in self.path
        if self.misfortune(write, watch):
            return
        answer = self.ask(body or None)
        if watch and answer.status == 200:
            self.stream(answer)
            return
        text = answer.read()
        if write and self.faults.chance(0.05):
            self.faults.count("answer lost")
            raise Cut
        self.send_response(answer.status)
        for name in ("Content-Type", "Retry-After", "Warning"):
            if answer.getheader(name):
                self.send_header(name, answer.getheader(name))
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = serve

    # ---- watches ----

    def send(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def stream(self, answer):
        f = self.faults
        sock = self.behind.sock
        self.behind = None # its connection is this watch's
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            sock.settimeout(1)
            line = b""
            while True:
                if f.down:
                    raise Cut
                try:
                    got = answer.readline()
                except TimeoutError:
                    continue
                if not got:
                    break
                line += got
                if not line.endswith(b"\n"):
                    continue
                self.event(line)
                line = b""
            self.send(b"")
        finally:
            answer.close()

    def event(self, line):
        f = self.faults
        if f.chance(0.03):
            f.count("event late")
            time.sleep(f.between(0.05, 1))
        if f.chance(0.004):
            f.count("watch cut")
            raise Cut
        if f.chance(0.003):
            f.count("event cut")
            self.send(line[:len(line) // 2])
            raise Cut
        self.send(line)
        if b'"BOOKMARK"' not in line[:40] and f.chance(0.03):
            f.count("event repeated")
            self.send(line)


def certificates(folder):
    """A CA of our own and a certificate for 127.0.0.1."""
    def openssl(*args):
        subprocess.run(["openssl", *args], cwd=folder, check=True, capture_output=True)
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-keyout", "ca.key",
            "-out", "ca.crt", "-subj", "/CN=faulty", "-addext", "keyUsage=critical,keyCertSign")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "tls.key", "-out", "tls.csr",
            "-subj", "/CN=127.0.0.1")
    with open(os.path.join(folder, "ext"), "w", encoding="utf-8") as f:
        f.write("subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth\n")
    openssl("x509", "-req", "-in", "tls.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-out",
            "tls.crt", "-extfile", "ext")


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    context = faults = None

    def finish_request(self, request, client_address):
        if self.faults.down:
            return
        request.settimeout(120)
        try:
            request = self.context.wrap_socket(request, server_side=True)
        except (OSError, ssl.SSLError):
            return
        request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.RequestHandlerClass(request, client_address, self)

    def handle_error(self, request, client_address):
        pass


def write_kubeconfig(path, port, folder):
    with open(os.path.join(folder, "ca.crt"), "rb") as f:
        ca = base64.b64encode(f.read()).decode()
    with open(path + ".new", "w", encoding="utf-8") as f:
        json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "faulty",
                   "clusters": [{"name": "faulty", "cluster": {"server": f"https://127.0.0.1:{port}",
                                                               "certificate-authority-data": ca}}],
                   "users": [{"name": "faulty", "user": {"token": "checked-behind"}}],
                   "contexts": [{"name": "faulty", "context": {"cluster": "faulty", "user": "faulty"}}]}, f)
    os.rename(path + ".new", path)


def start(kubeconfig, write, seed=1, rate=1.0, base=Handler):
    """Serves in threads of this process; returns (server, faults). faults.down cuts everything while it is true. `base`:
    a Handler that does more."""
    with tempfile.TemporaryDirectory(prefix="berth-faulty.") as folder:
        upstream = Upstream(kubeconfig, folder)
        certificates(folder)
        faults = Faults(seed, rate)
        handler = type("Handler", (base,), {"faults": faults, "upstream": upstream})
        server = Server(("127.0.0.1", 0), handler)
        server.faults = faults
        server.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.context.load_cert_chain(os.path.join(folder, "tls.crt"), os.path.join(folder, "tls.key"))
        write_kubeconfig(write, server.server_address[1], folder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, faults


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--kubeconfig", required=True)
    args.add_argument("--write", required=True)
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--rate", type=float, default=1.0)
    args.add_argument("--down", type=float, default=0, help="be away for 2 s, this often (seconds); 0: never")
    args = args.parse_args()
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    server, faults = start(args.kubeconfig, args.write, args.seed, args.rate)
    print(f"faulty: https://127.0.0.1:{server.server_address[1]}", flush=True)
    while not ended.wait(args.down or 3600):
        if args.down:
            faults.down = True
            ended.wait(2)
            faults.down = False
    print(json.dumps(faults.done))
    return 0


if __name__ == "__main__":
    sys.exit(main())
