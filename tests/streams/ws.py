"""ws: a WebSocket client of pods' subresources, for what kubectl does not do: old protocols, many sessions, bad frames."""
import base64
import json
import os
import socket
import ssl
import struct
import tempfile


class Closed(Exception):
    pass


def context_of(b):
    """TLS as whoever Berth's kubeconfig is for."""
    if not hasattr(b, "ws_context"):
        view = json.loads(b.kubectl("config", "view", "--raw", "--minify", "-o", "json"))
        user, cluster = view["users"][0]["user"], view["clusters"][0]["cluster"]
        context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
        with tempfile.NamedTemporaryFile() as pem:
            pem.write(base64.b64decode(user["client-certificate-data"]) + b"\n" +
                      base64.b64decode(user["client-key-data"]))
            pem.flush()
            context.load_cert_chain(pem.name)
        b.ws_context = context
    return b.ws_context


class Ws:
    """One upgraded connection; messages as bytes. `status` is the answer's code, `text` its body when it is not 101."""

    def __init__(self, b, path, protocol, timeout=30):
        self.s = context_of(b).wrap_socket(socket.create_connection(("127.0.0.1", b.port), timeout=timeout),
                                     server_hostname="127.0.0.1")
        key = base64.b64encode(os.urandom(16)).decode()
        self.s.sendall((f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
                        f"Sec-WebSocket-Protocol: {protocol}\r\n\r\n").encode())
        self.rest = bytearray()
        while b"\r\n\r\n" not in self.rest:
            self.more()
        head = bytes(self.take(self.rest.index(b"\r\n\r\n") + 4))
        self.status = int(head.split()[1])
        self.head = head.decode()

    def more(self):
        got = self.s.recv(65536)
        if not got:
            raise Closed()
        self.rest += got

    def take(self, n):
        while len(self.rest) < n:
            self.more()
        got = bytes(self.rest[:n])
        del self.rest[:n]
        return got

    def send(self, payload, op=2):
        n, mask = len(payload), os.urandom(4)
        size = bytes([0x80 | n]) if n < 126 else b"\xfe" + struct.pack(">H", n) if n < 65536 else \
            b"\xff" + struct.pack(">Q", n)
        pad = (mask * (n // 4 + 1))[:n]
        body = (int.from_bytes(payload, "big") ^ int.from_bytes(pad, "big")).to_bytes(n, "big")
        self.s.sendall(bytes([0x80 | op]) + size + mask + body)

    def receive(self):
        """The next message (its op and bytes)."""
        first, n = self.take(2)
        if n >= 126:
            n = int.from_bytes(self.take(2 if n == 126 else 8), "big")
        return first & 15, self.take(n)

    def until_close(self):
        """All channels' bytes up to the close, as a dict, and the close's code."""
        channels = {}
        while True:
            op, m = self.receive()
            if op == 8:
                return {c: b"".join(parts) for c, parts in channels.items()}, int.from_bytes(m[:2], "big")
            if op in (1, 2):
                channels.setdefault(m[0], []).append(m[1:])

    def close(self):
        self.s.close()
