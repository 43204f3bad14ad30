"""hostile: bytes, connections and bodies meant to hurt. After each the server answers an ordinary request, and its memory
stays within bounds."""
import os
import socket
import ssl
import threading

from api import Client, new_token
from harness import check, wait_for

MEMORY_MAX = 700 << 20  # resident, sanitizers not included


def resident(pid):
    with open(f"/proc/{pid}/statm", encoding="utf-8") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Attacker:
    """Raw connections to the port."""

    def __init__(self, b):
        self.port, self.held = b.port, []
        self.context = ssl.create_default_context(cafile=os.path.join(b.data, "pki", "ca.crt"))

    def plain(self):
        s = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        self.held.append(s)
        return s

    def tls(self):
        s = self.context.wrap_socket(self.plain(), server_hostname="127.0.0.1")
        self.held.append(s)
        return s

    def release(self):
        for s in self.held:
            try:
                s.close()
            except OSError:
                pass
        self.held = []


def send(s, data):
    """As much as the server takes: it may well hang up before the end."""
    try:
        s.sendall(data)
    except OSError:
        pass


def answer(s):
    """The status of the answer, or 0 when the connection was cut."""
    try:
        head = s.recv(4096)
    except OSError:
        return 0
    return int(head.split(b" ")[1]) if head.startswith(b"HTTP/1.1 ") else 0


def request(line, *headers, body=b""):
    return "\r\n".join((line, "Host: berth") + headers + ("", "")).encode("latin-1") + body


def garbage(a):
    for data in (b"\0" * 4096, b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\xff\xff" + b"A" * 70000, b"SSH-2.0-x\r\n",
                 bytes(range(256)) * 64):
        send(a.plain(), data)


def half_closed(a):
    for _ in range(20):
        s = a.plain()
        s.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")  # a ClientHello that stops
        s.shutdown(socket.SHUT_WR)
        t = a.tls()
        t.send(b"GET /version HTTP/1.1\r\nHost: b\r\n")
        t.unwrap if False else socket.socket.shutdown(t, socket.SHUT_WR)


def slowloris(a):
    for i in range(150):
        s = a.tls()
        send(s, request("GET /version HTTP/1.1", f"X-{i}: y")[:-2])  # headers without an end


def slow_bodies(a):
    for _ in range(50):
        s = a.tls()
        send(s, request("POST /api/v1/namespaces HTTP/1.1", "Content-Length: 100000") + b"{")


def headers(a):
    many = [f"X-{i}: {'v' * 100}" for i in range(20000)]
    for extra in (many, ["X: " + "v" * (4 << 20)], ["X" * 100000 + ": v"], ["A:"] * 50000):
        s = a.tls()
        send(s, request("GET /version HTTP/1.1", *extra))
        check(answer(s) in (0, 400, 414, 431), "a flood of headers is refused")
    s = a.tls()
    send(s, b"GET /" + b"a" * (2 << 20) + b" HTTP/1.1\r\n")
    check(answer(s) in (0, 400, 414, 431), "an endless target is refused")


def smuggled(a):
    """Requests about whose end two readers could disagree."""
    for extra in (("Content-Length: 5", "Content-Length: 6"), ("Content-Length: 5", "Transfer-Encoding: chunked"),
                  ("Transfer-Encoding: chunked, chunked",), ("Transfer-Encoding: xchunked",), ("Content-Length: +5",),
                  ("Content-Length: 0x5",), ("Content-Length: -1",), ("Content-Length: 18446744073709551617",),
                  ("Content-Length : 5",), (" Content-Length: 5",), ("Content-Length: 5\n",)):
        s = a.tls()
        send(s, request("POST /api/v1/namespaces HTTP/1.1", *extra, body=b"0\r\n\r\nGET /version HTTP/1.1\r\n\r\n"))
        check(answer(s) in (0, 400, 401, 403, 501), f"{extra} is refused")


def bodies(client):
    """As a user who may write: nesting, bombs, size."""
    path = "/api/v1/namespaces/team-a/configmaps"
    deep = 100000
    anchors = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"a{i}: &a{i} [{','.join(['*a%d' % (i - 1)] * 9)}]\n" for i in range(1, 10))
    yaml, patch = "application/yaml", "application/json-patch+json"
    for what, method, body, kind in (
            ("brackets", "POST", b"[" * deep, "application/json"),
            ("braces", "POST", b'{"a":' * deep, "application/json"),
            ("closed brackets", "POST", b"[" * deep + b"]" * deep, "application/json"),
            ("a deep manifest", "POST", b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":' +
             b"[" * 5000 + b"]" * 5000 + b"}}", "application/json"),
            ("YAML brackets", "POST", b"[" * deep, yaml), ("YAML blocks", "POST", b"- " * deep, yaml),
            ("YAML indents", "POST", b"".join(b" " * i + b"a:\n" for i in range(1500)), yaml),
            ("YAML bomb", "POST", anchors.encode(), yaml),
            ("YAML merge", "POST", b"a: &a {b: 1}\n" + b"c: {<<: [" + b"*a," * 100000 + b"]}\n", yaml),
            ("a huge string", "POST", b'{"a":"' + b"x" * (8 << 20) + b'"}', "application/json"),
            ("many members", "POST", b"{" + b",".join(b'"%d":0' % i for i in range(200000)) + b"}", "application/json"),
            ("a copy bomb", "PATCH", b'[{"op":"add","path":"/data","value":{"a":"' + b"x" * 1000 + b'"}}' + b"".join(
                b',{"op":"copy","from":"/data","path":"/data/%d"}' % i for i in range(40)) + b"]", patch),
            ("many operations", "PATCH", b"[" + b",".join([b'{"op":"test","path":"/data","value":1}'] * 20000) + b"]",
             patch)):
        target = path + "/bait" if method == "PATCH" else path
        code, _ = client.call(method, target, body, kind)
        check(400 <= code < 500, f"{what}: {code}")
    code, _ = client.call("GET", path + "?labelSelector=" + "a%2C" * 30000)
    check(code in (400, 414, 431), f"a long selector: {code}")


def sizes(a, token):
    s = a.tls()
    send(s, request("POST /api/v1/namespaces/team-a/configmaps HTTP/1.1", "Authorization: Bearer " + token,
                    "Content-Type: application/json", "Content-Length: 99999999999"))
    check(answer(s) in (0, 400, 413), "a body of 100 GB is refused")
    s = a.tls()
    send(s, request("POST /api/v1/namespaces/team-a/configmaps HTTP/1.1", "Authorization: Bearer " + token,
                    "Content-Type: application/json", "Transfer-Encoding: chunked"))
    for _ in range(64):
        send(s, b"100000\r\n" + b" " * (1 << 20) + b"\r\n")
    check(answer(s) in (0, 400, 413), "chunks without an end are refused")


def connections(a):
    for _ in range(900):
        try:
            a.plain()
        except OSError:
            break


def deaf_watchers(a, admin, token):
    """Watches that nobody reads while megabytes change."""
    for _ in range(100):
        s = a.tls()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        send(s, request("GET /api/v1/namespaces/team-a/configmaps?watch=1 HTTP/1.1", "Authorization: Bearer " + token))
    path = "/api/v1/namespaces/team-a/configmaps/bait"
    for i in range(60):
        code, _ = admin.call("PATCH", path, {"data": {"k": str(i) * (200 << 10 if i < 10 else 100 << 10)}},
                             "application/merge-patch+json")
        check(code == 200, f"a write beside deaf watchers: {code}")


def wrong_tokens(b):
    """Guesses in parallel lock nobody out."""
    def guess():
        c = Client(b.port, b.data, "berth_" + "A" * 43)
        for _ in range(100):
            c.call("GET", "/api/v1/secrets")
        c.close()
    threads = [threading.Thread(target=guess) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def run(b, admin):
    token, _ = new_token(admin, "writer", ["system:masters"])
    writer = Client(b.port, b.data, token)
    writer.call("POST", "/api/v1/namespaces/team-a/configmaps", {"metadata": {"name": "bait"}, "data": {}})
    a, pid, peak = Attacker(b), b.process.pid, 0
    for name, attack in (("garbage", lambda: garbage(a)), ("half-closed TLS", lambda: half_closed(a)),
                         ("slow headers", lambda: slowloris(a)), ("slow bodies", lambda: slow_bodies(a)),
                         ("header floods", lambda: headers(a)), ("smuggling", lambda: smuggled(a)),
                         ("bodies", lambda: bodies(writer)), ("sizes", lambda: sizes(a, token)),
                         ("connections", lambda: connections(a)),
                         ("deaf watchers", lambda: deaf_watchers(a, writer, token)),
                         ("wrong tokens", lambda: wrong_tokens(b))):
        attack()
        fresh = Client(b.port, b.data, cert="admin")
        check(wait_for(f"an answer after {name}", lambda: fresh.call("GET", "/api/v1/namespaces/team-a")[0] == 200, 20),
              name)
        fresh.close()
        if os.environ.get("BERTH_TEST_VERBOSE"):
            print(f"  {name}: {resident(pid) >> 20} MiB")
        peak = max(peak, resident(pid))
        check(resident(pid) < MEMORY_MAX, f"{name}: {resident(pid) >> 20} MiB resident")
        a.release()
    check(b.process.poll() is None, "berth up lives")
    print(f"hostile requests: 11 kinds held, at most {peak >> 20} MiB resident")
