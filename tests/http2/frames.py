"""frames: HTTP/2 by hand, over TLS: what a client library would not send.

    c = Frames(b); c.headers(1, c.get("/version")); c.until(lambda f: f.kind == DATA)
"""
import socket
import ssl
import struct
import time

DATA, HEADERS, PRIORITY, RESET, SETTINGS, PING, GOAWAY, WINDOW, CONTINUATION = 0, 1, 2, 3, 4, 6, 7, 8, 9
END_STREAM, END_HEADERS, ACK = 1, 4, 1
CALM = 11


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def text(s):
    s = s.encode()
    return number(len(s), 7, 0) + s


def number(v, bits, first):
    most = (1 << bits) - 1
    if v < most:
        return bytes([first | v])
    out, v = bytes([first | most]), v - most
    while v >= 128:
        out, v = out + bytes([v & 127 | 128]), v >> 7
    return out + bytes([v])


def field(name, value):
    return b"\0" + text(name) + text(value)


class Frame:
    def __init__(self, kind, flags, stream, payload):
        self.kind, self.flags, self.stream, self.payload = kind, flags, stream, payload

    def code(self):
        return struct.unpack(">I", self.payload[4:8] if self.kind == GOAWAY else self.payload[:4])[0]


class Frames:
    def __init__(self, port, context, settings=b""):
        context.set_alpn_protocols(["h2"])
        self.s = context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=20), server_hostname="127.0.0.1")
        self.buf, self.ended, self.heard = b"", False, []
        self.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0, settings))

    def close(self):
        self.s.close()

    def send(self, data):
        """False: the server has had enough."""
        try:
            self.s.sendall(data)
            return True
        except (ssl.SSLError, OSError):
            self.ended = True
            return False

    def get(self, path, *more):
        return b"\x82\x87" + field(":path", path) + field(":authority", "localhost") + b"".join(more)

    def post(self, path, *more):
        return b"\x83\x87" + field(":path", path) + field(":authority", "localhost") + b"".join(more)

    def headers(self, stream, block, end=True):
        return self.send(frame(HEADERS, END_HEADERS | (END_STREAM if end else 0), stream, block))

    def read(self):
        """The next frame; None at the end."""
        while not self.ended:
            if len(self.buf) >= 9:
                n = int.from_bytes(self.buf[:3], "big")
                if len(self.buf) >= 9 + n:
                    f = Frame(self.buf[3], self.buf[4], int.from_bytes(self.buf[5:9], "big"), self.buf[9:9 + n])
                    self.buf = self.buf[9 + n:]
                    self.heard.append(f)
                    if f.kind == SETTINGS and not f.flags & ACK:
                        self.send(frame(SETTINGS, ACK, 0))
                    return f
            try:
                got = self.s.recv(65536)
            except (ssl.SSLError, OSError):
                got = b""
            if not got:
                self.ended = True
            self.buf += got
        return None

    def until(self, test, seconds=20):
        """The first frame for which test is true, of those heard already as well; None when the connection ended."""
        for f in self.heard:
            if test(f):
                return f
        end = time.monotonic() + seconds
        self.s.settimeout(seconds)
        while time.monotonic() < end:
            f = self.read()
            if f is None or test(f):
                return f
        return None

    def goaway(self):
        """The code of GOAWAY, or -1 when the connection ended without."""
        f = self.until(lambda x: x.kind == GOAWAY)
        return f.code() if f else -1
