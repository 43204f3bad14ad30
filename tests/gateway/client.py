"""A client over raw sockets, and a gateway to speak to."""
import atexit
import json
import os
import signal
import socket
import subprocess
import tempfile
import time


def wait_for(what, seconds=30):
    """Until what() is true: tests have no times of their own."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        got = what()
        if got:
            return got
        time.sleep(0.01)
    raise AssertionError("not within %d s: %s" % (seconds, what))


class Gateway:
    """routes: the list of models as the file of routes has it."""

    def __init__(self, berth, routes, *options, workers=2):
        self.dir = tempfile.mkdtemp(prefix="berth-gateway-")
        self.file = os.path.join(self.dir, "routes.yaml")
        self.log = os.path.join(self.dir, "log")
        self.write(routes)
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [berth, "gateway", "--routes", self.file, "--listen", "127.0.0.1:0", "--workers", str(workers),
                 *options], stderr=log)
        atexit.register(self.process.kill)
        self.port = wait_for(self.listening)

    def listening(self):
        if self.process.poll() is not None:
            raise AssertionError(self.text())
        line = [x for x in self.text().splitlines() if "listening on" in x]
        return line and int(line[0].split("127.0.0.1:")[1].split()[0])

    def text(self):
        with open(self.log) as f:
            return f.read()

    def write(self, routes):
        with open(self.file + ".new", "w") as f:
            json.dump({"models": routes}, f)  # JSON is YAML
        os.rename(self.file + ".new", self.file)

    def reload(self, routes):
        before = self.text().count("routes of") + self.text().count("routes stay")
        self.write(routes)
        self.process.send_signal(signal.SIGHUP)
        wait_for(lambda: self.text().count("routes of") + self.text().count("routes stay") > before)

    def rss_kib(self):
        with open("/proc/%d/status" % self.process.pid) as f:
            return int([x for x in f if x.startswith("VmRSS")][0].split()[1])

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        return self.process.returncode


def request(body=None, path="/v1/chat/completions", method=None, headers=()):
    if isinstance(body, dict):
        body = json.dumps(body).encode()
    method = method or ("GET" if body is None else "POST")
    lines = ["%s %s HTTP/1.1" % (method, path), "Host: gateway"] + list(headers)
    if body is not None:
        lines += ["Content-Type: application/json"] if not any(h.lower().startswith("content-type") for h in headers) else []
        lines += ["Content-Length: %d" % len(body)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + (body or b"")


class Connection:
    def __init__(self, port, timeout=30):
        self.s = socket.create_connection(("127.0.0.1", port), timeout)
        self.s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.kept = b""

    def send(self, data):
        self.s.sendall(data)

    def close(self):
        self.s.close()

    def more(self):
        data = self.s.recv(1 << 16)
        self.kept += data
        return data

    def until(self, mark):
        while mark not in self.kept:
            if not self.more():
                raise EOFError(self.kept)
        got, self.kept = self.kept.split(mark, 1)
        return got + mark

    def exactly(self, n):
        while len(self.kept) < n:
            if not self.more():
                raise EOFError(self.kept)
        got, self.kept = self.kept[:n], self.kept[n:]
        return got

    def head(self):
        """(status, headers)"""
        line, *rows = self.until(b"\r\n\r\n").decode("latin-1")[:-4].split("\r\n")
        return int(line.split()[1]), {k.lower(): v.strip() for k, v in (r.split(":", 1) for r in rows)}

    def chunk(self):
        """The next chunk of a body; b"": the last one."""
        n = int(self.until(b"\r\n"), 16)
        return self.exactly(n + 2)[:-2]

    def answer(self):
        """(status, headers, body); EOFError when it is cut."""
        status, headers = self.head()
        if headers.get("transfer-encoding") == "chunked":
            body, c = b"", self.chunk()
            while c:
                body, c = body + c, self.chunk()
            return status, headers, body
        return status, headers, self.exactly(int(headers.get("content-length", 0)))

    def ask(self, *a, **k):
        self.send(request(*a, **k))
        return self.answer()


def ask(port, *a, **k):
    c = Connection(port)
    try:
        return c.ask(*a, **k)
    finally:
        c.close()


def events(body):
    """The data of the events; comments are left out."""
    return [e.split(b"data: ", 1)[1] for e in body.split(b"\n\n") if b"data: " in e]
