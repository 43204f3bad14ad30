#!/usr/bin/env python3
"""The gateway against stub servers.   gateway.py BERTH [BUILD SANITIZED_BUILD] [TEST...]"""
import json
import os
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from client import Connection, Gateway, ask, events, request, wait_for  # noqa: E402
from smuggling import SMUGGLED_ANSWERS, SMUGGLED_REQUESTS  # noqa: E402
from stub import Stub  # noqa: E402

BERTH = sys.argv[1]
M = {"model": "m"}
S = {"model": "m", "stream": True}


def model(*stubs, name="m", zones=(), limit=0, **more):
    endpoints = [{"address": "127.0.0.1:%d" % s.port, "name": s.name, "limit": limit} for s in stubs]
    for e, z in zip(endpoints, zones):
        e["zone"] = z
    return {"name": name, "backends": [{"name": "all", "endpoints": endpoints}], **more}


def told(words):
    return ["X-Stub: " + words]


def error(answer):
    status, headers, body = answer
    e = json.loads(body)["error"]
    assert set(e) == {"message", "type", "param", "code"}, e
    return status, e["code"]


# ---- what is passed on ----

def test_passes_on():
    s = Stub()
    g = Gateway(BERTH, [model(s)])
    c = Connection(g.port)
    for _ in range(3):  # on one connection
        status, headers, body = c.ask(M, headers=["Authorization: Bearer secret", "X-Api-Key: k", "Cookie: c", "X-Mine: 1",
                                                  "Accept-Encoding: gzip", "Connection: X-Hop", "X-Hop: 1"])
        assert status == 200 and json.loads(body)["asked"] == M, body
        assert headers["x-server"] == "stub"
    sent = s.seen[-1][1]
    assert sent["x-mine"] == "1" and not {"authorization", "x-api-key", "cookie", "x-hop", "accept-encoding"} & set(sent), sent
    for path, onward in (("/v1/embeddings", None), ("/anthropic/v1/messages?beta=1", "/v1/messages?beta=1"),
                         ("/v1/models/m:predict", None), ("/v2/models/m/versions/1/infer", None), ("/rerank", None)):
        status, _, body = c.ask(M, path=path)
        assert (status, json.loads(body)["line"]) == (200, "POST %s HTTP/1.1" % (onward or path)), body
    status, _, body = c.ask({"model": "m", "x": "y" * 3_000_000}, headers=told("size=2000000"))  # longer than any buffer
    assert status == 200 and len(json.loads(body)["asked"]["x"]) == 3_000_000 and len(body) > 5_000_000
    form = (b"--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nRIFF\r\n"
            b"--B\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nm\r\n--B--\r\n")
    status, _, _ = c.ask(form, path="/v1/audio/transcriptions", headers=["Content-Type: multipart/form-data; boundary=B"])
    assert status == 200 and s.seen[-1][2] == form
    assert g.stop() == 0


def test_names():
    s = Stub()
    routes = [model(s, aliases=[{"name": "lora", "served": "lora-7"}])]
    routes[0]["backends"][0]["served"] = "org/m\"1"
    g = Gateway(BERTH, routes)
    assert json.loads(ask(g.port, M)[2])["asked"] == {"model": "org/m\"1"}
    assert json.loads(ask(g.port, {"x": [1], "model": "lora"})[2])["asked"] == {"x": [1], "model": "lora-7"}
    line = json.loads(ask(g.port, {}, path="/v1/models/m:predict")[2])["line"]
    assert line == "POST /v1/models/org/m%221:predict HTTP/1.1", line
    listed = [m["id"] for m in json.loads(ask(g.port, path="/v1/models")[2])["data"]]
    assert listed == ["m", "lora"], listed
    assert json.loads(ask(g.port, path="/v1/models/lora")[2])["id"] == "lora"
    g.stop()


def test_errors():
    s = Stub()
    g = Gateway(BERTH, [model(s, protocols=["OpenAI"])])
    for body, path, want in ((b"{", "/v1/chat/completions", (400, "invalid_request")),
                             (b'{"model":"m","model":"n"}', "/v1/chat/completions", (400, "invalid_request")),
                             ({}, "/v1/chat/completions", (400, "missing_model")),
                             ({"model": "no"}, "/v1/chat/completions", (404, "model_not_found")),
                             (M, "/v2/models/m/infer", (404, "model_not_found")),
                             (M, "/sleep", (404, "unknown_path")),
                             (None, "/v1/chat/completions", (405, "method_not_allowed"))):
        got = error(ask(g.port, body, path=path))
        assert got == want, (body, path, got)
    for types in (["application/json", "multipart/form-data; boundary=b"], ["multipart/form-data; boundary=a; boundary=b"]):
        got = error(ask(g.port, M, headers=["Content-Type: " + t for t in types]))  # servers differ in which one counts
        assert got == (400, "invalid_request"), (types, got)
    status, _, body = ask(g.port, {"model": "no"}, path="/v1/messages")
    assert status == 404 and json.loads(body)["type"] == "error" and json.loads(body)["error"]["type"] == "not_found_error"
    assert error(ask(g.port, b"x", headers=["Transfer-Encoding: gzip"]))[0] == 400  # refused by the parser: the same shape
    status, _, body = ask(g.port, M, headers=told("status=400"))  # the server's own pass as they are
    assert status == 400 and json.loads(body)["error"]["message"] == "as told"
    assert s.requests == 1
    g.stop()


# ---- browsers ----

def test_pages_of_other_sites():
    s = Stub()
    g = Gateway(BERTH, [model(s)], "--allow-origin", "https://dash.example")
    asked = b'{"model":"m"}'
    for origin in ("https://evil.example", "null", "http://gateway"):  # the last: its name was made to point here
        answer = ask(g.port, asked, headers=["Origin: " + origin, "Content-Type: text/plain"])  # browsers ask nothing before
        assert error(answer) == (403, "origin_not_allowed"), answer
    assert s.requests == 0
    status, headers, _ = ask(g.port, asked, headers=["Origin: https://dash.example"])
    assert (status, headers["access-control-allow-origin"]) == (200, "https://dash.example"), headers
    assert ask(g.port, asked)[0] == 200
    g.stop()


def test_servers_do_not_speak_to_browsers_for_the_gateway():
    s = Stub()
    g = Gateway(BERTH, [model(s)], "--allow-origin", "https://dash.example")
    raw = (b"HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\naccess-control-allow-credentials: true\r\n"
           b"Set-Cookie: berth_session=1\r\nStrict-Transport-Security: max-age=9\r\nAlt-Svc: h2=\"evil:1\"\r\n"
           b"Clear-Site-Data: \"*\"\r\nX-Mine: 1\r\nContent-Length: 2\r\n\r\n{}")
    c = Connection(g.port)
    c.send(request(M, headers=told("raw=" + raw.hex()) + ["Origin: https://dash.example"]))
    head = c.until(b"\r\n\r\n").lower()
    assert head.count(b"access-control-") == 1 and b"access-control-allow-origin: https://dash.example\r\n" in head, head
    assert b"x-mine: 1" in head, head
    for name in (b"set-cookie", b"strict-transport", b"alt-svc", b"clear-site"):
        assert name not in head, head
    g.stop()


# ---- streams ----

def test_streams_as_they_come():
    s = Stub()
    g = Gateway(BERTH, [model(s)])
    c = Connection(g.port)
    c.send(request(S, headers=told("events=3,every=0.3")))
    status, headers = c.head()
    assert status == 200 and headers["content-type"] == "text/event-stream" and headers["x-accel-buffering"] == "no"
    for i in range(3):
        event = json.loads(events(c.chunk())[0])
        assert event["i"] == i
        assert s.open == 1  # the server has not ended: nothing was kept until it had
    assert events(c.chunk()) == [b"[DONE]"]
    assert c.chunk() == b""
    assert json.loads(s.seen[-1][2])["stream_options"] == {"include_usage": True}
    body = c.ask({**S, "stream_options": {"include_usage": True}})[2]
    assert json.loads(events(body)[-2])["usage"]["prompt_tokens"] == 5  # asked for by the client: it stays
    assert c.ask(S)[2].count(b"usage") == 0
    g.stop()


def test_broken_streams():
    s = Stub()
    g = Gateway(BERTH, [model(s, timeouts={"idle": "300ms", "firstByte": "300ms"})])
    body = ask(g.port, S, headers=told("events=5,reset=2"))[2]
    assert b"event: error\n" in body and json.loads(events(body)[-1])["error"]["code"] == "upstream_broke_off", body
    body = ask(g.port, S, headers=told("events=1,forever"))[2]
    assert json.loads(events(body)[-1])["error"]["code"] == "upstream_silent", body
    assert error(ask(g.port, S, headers=told("first=5"))) == (504, "upstream_timeout")
    assert error(ask(g.port, M, headers=told("half"))) == (502, "upstream_failed")
    assert error(ask(g.port, M, headers=told("reset=0"))) == (502, "upstream_failed")
    wait_for(lambda: s.open == 0)
    g.stop()


def test_client_gone():
    s = Stub()
    g = Gateway(BERTH, [model(s)])
    for words, body in (("events=1,forever", S), ("first=30", M)):
        before = s.gone
        c = Connection(g.port)
        c.send(request(body, headers=told(words)))
        if body is S:
            c.head()
        wait_for(lambda: s.open == 1)
        c.close()
        wait_for(lambda: s.gone == before + 1 and s.open == 0)
    g.stop()


def test_disconnect_storm():
    """500 clients go away at once: each of their servers hears of it, and the others' answers go on."""
    s = Stub()
    g = Gateway(BERTH, [model(s)])
    stays = Connection(g.port)
    stays.send(request(S, headers=told("events=1,forever")))
    stays.head()
    cs = [Connection(g.port) for _ in range(500)]
    for c in cs:
        c.send(request(S, headers=told("events=1,forever")))
    wait_for(lambda: s.open == 501)
    for c in cs:
        c.close()
    wait_for(lambda: s.gone == 500)
    assert s.open == 1 and ask(g.port, M)[0] == 200
    stays.close()
    g.stop()


def test_slow_client():
    """A client that takes nothing: its server is not read further than the buffers, and the gateway does not grow."""
    s = Stub()
    g = Gateway(BERTH, [model(s)], workers=1)
    ask(g.port, M)
    before = g.rss_kib()
    c = Connection(g.port)
    c.s.setsockopt(__import__("socket").SOL_SOCKET, __import__("socket").SO_RCVBUF, 65536)
    c.send(request(S, headers=told("events=10000,pad=4000")))
    c.head()
    time.sleep(2)
    assert s.open == 1, "the server wrote 40 MB to a client that took none"
    assert g.rss_kib() - before < 8192, g.rss_kib() - before
    taken, last = c.kept.count(b"data: {"), b""
    while not last.endswith(b"0\r\n\r\n"):  # and it goes on when the client does
        data = c.s.recv(1 << 20)
        assert data, taken
        taken += (last[-6:] + data).count(b"data: {")
        last = last[-6:] + data
    assert taken == 10000, taken
    g.stop()


# ---- faults of servers ----

def test_retries():
    bad, good = Stub("bad"), Stub("good")
    for words in ({"status": "503"}, {"reset": "0"}, {"status": "429"}):
        bad.default, asked = words, bad.requests
        g = Gateway(BERTH, [model(bad, good)], workers=1)  # one that has no opinion of the servers yet
        for _ in range(64):  # either may come first, as the dice fall
            status, headers, _ = ask(g.port, M)
            assert (status, headers["x-server"]) == (200, "good"), words
            if bad.requests > asked:
                break
        assert bad.requests > asked, words
        g.stop()
    g = Gateway(BERTH, [model(bad, good)], workers=1)
    bad.default = {"status": "500"}  # the model's own failure: it would fail again
    seen = set()
    for _ in range(64):
        seen.add(ask(g.port, M)[0])
        if len(seen) == 2:
            break
    assert seen == {200, 500}, seen
    bad.kill()
    for _ in range(8):
        assert ask(g.port, S)[0] == 200
    good.kill()
    assert error(ask(g.port, M))[0] in (502, 503)
    g.stop()


def test_half_answers_are_forgotten():
    s, t = Stub(), Stub()
    g = Gateway(BERTH, [model(s, t)], workers=1)
    half = told("half,size=120000")  # short enough to be kept until it is whole, which it never is

    def fill(n):
        retried = s.requests + t.requests
        for _ in range(n):
            ask(g.port, M, headers=half)
            for _ in range(7):  # each pays for a part of another try, and keeps the servers in health
                ask(g.port, M)
        return s.requests + t.requests - retried - 8 * n
    fill(20)
    before = g.rss_kib()
    assert fill(100) > 60
    assert g.rss_kib() - before < 6 << 10, g.rss_kib() - before
    g.stop()


def test_kept_connection_closed():
    """A server closes connections that the gateway keeps: no request fails by it."""
    s = Stub()
    g = Gateway(BERTH, [model(s)], workers=1)
    for _ in range(20):
        assert ask(g.port, M)[0] == 200
        s.kill()
        s.start()
    g.stop()


def test_smuggling():
    s = Stub()
    g = Gateway(BERTH, [model(s)], workers=1)
    for what, data in SMUGGLED_REQUESTS:
        before = s.requests
        c = Connection(g.port, 5)
        c.send(data)
        try:
            status = c.head()[0]
        except EOFError:
            status = 400  # closed without a word
        assert status >= 400, (what, status)
        c.close()
        assert s.requests == before, what
    for what, data in SMUGGLED_ANSWERS:
        c = Connection(g.port)
        c.send(request(M, headers=told("raw=" + data.hex())))
        c.send(request({"model": "none"}))  # its answer must be its own
        try:
            first = c.answer()
            assert first[0] in (502, 200), (what, first)
            assert b"smuggled" not in first[2], (what, first)
            assert c.answer()[0] == 404, what
        except EOFError:
            pass  # cut: the client knows that it is not whole
        c.close()
    assert ask(g.port, M)[0] == 200
    g.stop()


# ---- changes under way ----

def test_rolling_reload():
    """A new table for a hundred times, while requests come and streams go on: none fails, and old servers end theirs."""
    old, new = Stub("old"), Stub("new")
    g = Gateway(BERTH, [model(old)])
    stream = Connection(g.port)
    stream.send(request(S, headers=told("events=40,every=0.1")))
    stream.head()
    failed, done = [], threading.Event()

    def load():
        c = Connection(g.port)
        while not done.is_set():
            status = c.ask(M)[0]
            if status != 200:
                failed.append(status)

    threads = [threading.Thread(target=load) for _ in range(4)]
    for t in threads:
        t.start()
    for i in range(100):
        g.reload([model(new if i % 2 else old), model(old, name="other%d" % i)])
    g.write([{"name": "m", "what": 1}])
    g.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "unknown member what" in g.text())  # and it stays as it was
    done.set()
    for t in threads:
        t.join()
    assert not failed, failed
    body, c = b"", stream.chunk()
    while c:
        body, c = body + c, stream.chunk()
    assert len(events(body)) == 41 and b"error" not in body
    assert new.requests > 0
    g.stop()


def test_zone_loss():
    """Two zones, one is killed under load: no request that may be repeated fails; streams under way are told."""
    a, b = Stub("a"), Stub("b")
    g = Gateway(BERTH, [model(a, b, zones=("za", "zb"))], "--zone", "za")
    streams = [Connection(g.port) for _ in range(20)]
    for c in streams:
        c.send(request(S, headers=told("events=1,forever")))
        c.head()
    failed, done, served = [], threading.Event(), {"a": 0, "b": 0}

    def load():
        c = Connection(g.port)
        while not done.is_set():
            status, headers, body = c.ask(M)
            if status == 200:
                served[headers["x-server"]] += 1
            else:
                failed.append((status, body))

    threads = [threading.Thread(target=load) for _ in range(4)]
    for t in threads:
        t.start()
    wait_for(lambda: served["a"] > 50)
    a.kill()
    after = served["b"]
    wait_for(lambda: served["b"] > after + 200)
    done.set()
    for t in threads:
        t.join()
    assert not failed, failed[:3]
    went_on = b.open

    def broke_off(c):
        try:
            while c.more():
                if b"upstream_broke_off" in c.kept:
                    return True
        except TimeoutError:
            pass
        return False

    for c in streams:
        c.s.settimeout(0.3)
    told_of = sum(broke_off(c) for c in streams)
    assert told_of + went_on == 20 and told_of > 0, (told_of, went_on)
    for c in streams:
        c.close()
    g.stop()


def test_drain():
    """SIGTERM: the stream under way ends as it would, new connections are refused, and the process ends."""
    s = Stub()
    g = Gateway(BERTH, [model(s)])
    c = Connection(g.port)
    c.send(request(S, headers=told("events=10,every=0.1")))
    c.head()
    g.process.send_signal(signal.SIGTERM)
    wait_for(lambda: "stopping" in g.text())
    body, part = b"", c.chunk()
    while part:
        body, part = body + part, c.chunk()
    assert len(events(body)) == 11
    wait_for(lambda: g.process.poll() is not None)
    assert g.process.returncode == 0


# ---- waiting ----

def test_held():
    s = Stub()
    g = Gateway(BERTH, [model(state="AtZero", timeouts={"hold": "60s"})])
    answers = []

    def wait():
        answers.append(ask(g.port, M))

    threads = [threading.Thread(target=wait) for _ in range(50)]
    for t in threads:
        t.start()
    time.sleep(0.3)
    assert not answers
    leaves = Connection(g.port)
    leaves.send(request(M))
    leaves.close()
    g.reload([model(s)])
    for t in threads:
        t.join()
    assert [a[0] for a in answers] == [200] * 50
    g.reload([model(state="Queued", reason="quota of team-a", position=3, etaSeconds=90)])
    status, headers, body = ask(g.port, M)
    assert status == 503 and headers["retry-after"] == "90" and b"position 3" in body and b"quota of team-a" in body, body
    g.reload([model(state="Stopped")])
    assert error(ask(g.port, M)) == (503, "model_stopped")
    g.reload([model(state="AtZero", timeouts={"hold": "200ms"})])
    assert error(ask(g.port, M)) == (503, "model_starting")
    g.stop()


def test_held_until_stopped():
    """Who waits when the model is deleted or stopped is told, and does not wait in vain."""
    g = Gateway(BERTH, [model(state="AtZero")])
    c = Connection(g.port)
    c.send(request(M))
    time.sleep(0.2)
    g.reload([model(state="Stopped")])
    assert error(c.answer()) == (503, "model_stopped")
    g.reload([model(state="AtZero")])
    c.send(request(M))
    time.sleep(0.2)
    g.reload([])
    assert error(c.answer()) == (404, "model_not_found")
    g.stop()


def test_full_servers():
    """Servers at their limit: requests wait for each other, and none is sent beyond it."""
    s = Stub()
    g = Gateway(BERTH, [model(s, limit=2)], workers=1)
    most, answers = [0], []

    def one():
        answers.append(ask(g.port, M, headers=told("first=0.1"))[0])

    threads = [threading.Thread(target=one) for _ in range(12)]
    for t in threads:
        t.start()
    while any(t.is_alive() for t in threads):
        most[0] = max(most[0], s.open)
        time.sleep(0.005)
    assert answers == [200] * 12 and most[0] <= 2, (answers, most)
    g.stop()


def test_retry_waits_for_room():
    """A request that one server refused waits for the other, which is busy; requests behind it get the first."""
    refuses, busy = Stub("refuses"), Stub("busy")
    g = Gateway(BERTH, [model(busy, limit=1)], workers=1)
    stream, waits = Connection(g.port), Connection(g.port)
    stream.send(request(S, headers=told("events=1,forever")))
    stream.head()
    routes = model(refuses, busy, timeouts={"hold": "60s"})
    routes["backends"][0]["endpoints"][1]["limit"] = 1
    g.reload([routes])
    refuses.default = {"status": "503"}
    waits.send(request(M))
    wait_for(lambda: refuses.requests == 1 and refuses.open == 0)
    refuses.default = {}
    for _ in range(100):
        status, headers, _ = ask(g.port, M)
        assert (status, headers["x-server"]) == (200, "refuses"), headers
    assert refuses.requests == 101 and busy.requests == 1
    stream.close()
    status, headers, _ = waits.answer()
    assert (status, headers["x-server"]) == (200, "busy"), headers
    g.stop()


def test_queued():
    """A start that waits for quota: told after some seconds, as every start waits for a moment, and to those who wait already."""
    s = Stub()
    hold = {"timeouts": {"hold": "60s"}}
    queued = model(state="Queued", reason="quota of team-a", position=3, etaSeconds=90, **hold)

    def is_told(answer):
        status, headers, body = answer
        assert error(answer) == (503, "model_queued") and headers["retry-after"] == "90", answer
        assert b"position 3" in body and b"quota of team-a" in body and b"about 90 s" in body, body

    g = Gateway(BERTH, [queued])
    start = time.monotonic()
    is_told(ask(g.port, M))
    assert time.monotonic() - start >= 2.9
    for _ in range(10):  # once within the seconds, however busy the machine is
        g.reload([queued])
        c = Connection(g.port)
        c.send(request(M))
        time.sleep(0.2)
        g.reload([model(s)])
        answer = c.answer()
        if answer[0] == 200:
            break
        is_told(answer)
    assert answer[0] == 200, "an admitted start was never waited for"
    g.reload([model(state="AtZero", **hold)])
    c, stream = Connection(g.port), Connection(g.port)
    c.send(request(M))
    stream.send(request(S))
    time.sleep(0.2)
    g.reload([queued])
    is_told(c.answer())
    is_told(stream.answer())
    g.stop()


def test_limits():
    s = Stub()
    g = Gateway(BERTH, [model(s, limits={"requests": 30})])
    answers = [ask(g.port, M) for _ in range(40)]
    passed = [a for a in answers if a[0] == 200]
    refused = [a for a in answers if a[0] == 429]
    assert 30 <= len(passed) <= 31 and len(passed) + len(refused) == 40, len(passed)  # of both workers together
    assert passed[0][1]["x-ratelimit-limit-requests"] == "30" and passed[0][1]["x-ratelimit-remaining-requests"] == "29"
    assert error(refused[0]) == (429, "rate_limit_exceeded") and 1 <= int(refused[0][1]["retry-after"]) <= 2
    g.reload([model(s, limits={"streams": 1})])
    c = Connection(g.port)
    c.send(request(S, headers=told("events=1,forever")))
    c.head()
    assert error(ask(g.port, M))[0] == 429
    c.close()
    wait_for(lambda: ask(g.port, M)[0] == 200)
    g.stop()


def main():
    names = [a for a in sys.argv[2:] if a.startswith("test_")]
    for name, test in list(globals().items()):
        if name.startswith("test_") and (not names or name in names):
            start = time.monotonic()
            test()
            print("ok %s (%.1f s)" % (name, time.monotonic() - start), flush=True)


main()
