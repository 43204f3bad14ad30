"""A model server that does as it is told, over raw sockets: its answers can be wrong in any way.

What it does is said by the request's header X-Stub, a list of words with commas between:

  events=N       so many events of a stream, then the usage when asked for, then [DONE]
  every=SECONDS  between events (and 0 before the first)
  pad=N          so many bytes more in each event
  forever        a stream that never ends after its events
  first=SECONDS  before the head of the answer
  status=N       another status, with a JSON error
  reset=N        the connection ends after N events (0: before the head)
  half           an answer whose connection ends in the middle of its Content-Length
  raw=HEX        these bytes, and the end
  size=N         a JSON answer of about N bytes

Without it: a short JSON answer that tells what the server was asked, or a stream of three events where "stream" is true. It
counts requests, those whose client went away, and those under way.
"""
import asyncio
import json
import threading
import time


class Stub:
    def __init__(self, name="stub"):
        self.name, self.port = name, 0
        self.requests = self.gone = self.open = 0
        self.default = {}  # words for requests without any
        self.seen = []  # the last requests: (line, headers, body)
        self.server = None
        self.writers = set()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.call(self.listen())

    def call(self, what):
        return asyncio.run_coroutine_threadsafe(what, self.loop).result(60)

    async def listen(self):
        self.server = await asyncio.start_server(self.connection, "127.0.0.1", self.port, backlog=2048)
        self.port = self.server.sockets[0].getsockname()[1]

    async def kill_now(self):
        self.server.close()
        for w in list(self.writers):
            w.transport.abort()

    def kill(self):
        """As a zone that fails: nobody listens, and every connection is reset."""
        self.call(self.kill_now())

    def start(self):
        self.call(self.listen())

    async def connection(self, reader, writer):
        self.writers.add(writer)
        try:
            while await self.one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            self.writers.discard(writer)
            writer.close()

    async def one(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, *rows = head[:-4].split("\r\n")
        headers = {}
        for row in rows:
            name, value = row.split(":", 1)
            headers[name.lower()] = value.strip()
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        self.requests += 1
        self.open += 1
        self.seen = self.seen[-99:] + [(line, headers, body)]
        words = dict(self.default)
        if "x-stub" in headers:
            words = dict((w.split("=", 1) + [""])[:2] for w in headers["x-stub"].split(","))
        try:
            return await self.answer(line, headers, body, words, reader, writer)
        finally:
            self.open -= 1

    async def answer(self, line, headers, body, words, reader, writer):
        asked = {}
        if body[:1] == b"{":
            asked = json.loads(body)
        if not await self.wait(float(words.get("first", 0)), reader):
            return False
        if "raw" in words:
            writer.write(bytes.fromhex(words["raw"]))
            await writer.drain()
            return False
        if words.get("reset") == "0":
            writer.transport.abort()
            return False
        if "events" in words or asked.get("stream"):
            return await self.stream(asked, words, reader, writer)
        status = int(words.get("status", 200))
        answer = {"server": self.name, "line": line, "asked": asked,
                  "usage": {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}}
        if status != 200:
            answer = {"error": {"message": "as told", "type": "x", "param": None, "code": None}}
        answer["filler"] = "x" * int(words.get("size", 0))
        text = json.dumps(answer).encode()
        half = "half" in words
        writer.write(b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\nX-Server: %s\r\n\r\n"
                     % (status, len(text) * (2 if half else 1), self.name.encode()) + text)
        await writer.drain()
        return not half

    async def wait(self, seconds, reader):
        """False: the client went away meanwhile."""
        if seconds <= 0:
            return True
        try:
            await asyncio.wait_for(reader.read(1), seconds)
        except asyncio.TimeoutError:
            return True
        except ConnectionError:
            pass
        self.gone += 1
        return False

    async def stream(self, asked, words, reader, writer):
        n = int(words.get("events", 3))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")

        def event(text):
            data = ("data: %s\n\n" % text).encode()
            writer.write(b"%x\r\n%s\r\n" % (len(data), data))

        for i in range(n):
            if words.get("reset") == str(i):
                await writer.drain()
                writer.transport.abort()
                return False
            event(json.dumps({"i": i, "server": self.name, "at": time.monotonic(), "pad": "x" * int(words.get("pad", 0)),
                              "choices": [{"delta": {"content": "word "}}]}))
            await writer.drain()
            if not await self.wait(float(words.get("every", 0)), reader):
                return False
        while "forever" in words:
            if not await self.wait(3600, reader):
                return False
        if (asked.get("stream_options") or {}).get("include_usage"):
            event(json.dumps({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": n, "total_tokens": 5 + n}}))
        event("[DONE]")
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True
