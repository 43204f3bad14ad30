#!/usr/bin/env python3
"""model_server: the stub keeps what its README says.   model_server.py MODEL_SERVER KUBECTL [TEST...]"""
import base64
import http.client
import json
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "e2e")]
from harness import check, run_tests, wait_for
from stub import Stub

SAID = "The quick brown fox jumps over the lazy dog."


def events(r):
    """The JSON of each event of a stream; the last is the text [DONE]."""
    text = r.read().decode()
    parts = [e.removeprefix("data: ") for e in text.split("\n\n") if e]
    return [json.loads(p) if p.startswith("{") else p for p in parts]


def chat(content="hello", **more):
    return {"messages": [{"role": "user", "content": content}], **more}


def test_answers(program):
    with Stub(program, "--served-model-name=m") as s:
        check(s.ask("GET", "/v1/models")[1]["data"][0]["id"] == "m", "models")
        status, a = s.chat(model="m")
        check(status == 200 and a["choices"][0]["message"]["content"] == SAID, a)
        check(a["choices"][0]["finish_reason"] == "stop" and a["usage"]["completion_tokens"] == 9, a)
        a = s.chat(max_tokens=2)[1]
        check(a["choices"][0]["message"]["content"] == "The quick" and a["choices"][0]["finish_reason"] == "length", a)
        a = s.chat(stop=["fox"])[1]
        check(a["choices"][0]["message"]["content"] == "The quick brown ", a)
        a = s.chat(max_tokens=12, ignore_eos=True)[1]
        check(a["usage"]["completion_tokens"] == 12, a)
        a = s.ask("POST", "/v1/completions", {"prompt": "x" * 40, "max_tokens": 1})[1]
        check(a["choices"][0]["text"] == "The" and a["usage"]["prompt_tokens"] == 10, a)


def test_streams(program):
    with Stub(program) as s:
        all_of_it = events(s.open("POST", "/v1/chat/completions", chat(stream=True, stop="dog",
                                                                     stream_options={"include_usage": True})))
        check(all_of_it[-1] == "[DONE]" and all_of_it[-2]["usage"]["completion_tokens"] == 9, all_of_it)
        said = "".join(e["choices"][0]["delta"]["content"] for e in all_of_it[:-2])
        check(said == "The quick brown fox jumps over the lazy ", said)
        check(all_of_it[0]["choices"][0]["delta"]["role"] == "assistant", all_of_it[0])
        check(all_of_it[-3]["choices"][0]["finish_reason"] == "stop", all_of_it[-3])


def test_tools_and_embeddings(program):
    tool = {"type": "function", "function": {"name": "weather", "parameters": {
        "type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city", "days"]}}}
    with Stub(program) as s:
        c = s.chat(tools=[tool])[1]["choices"][0]
        called = c["message"]["tool_calls"][0]["function"]
        check(c["finish_reason"] == "tool_calls" and called["name"] == "weather", c)
        check(json.loads(called["arguments"]) == {"city": "stub", "days": 1}, called)
        check(s.chat(tools=[tool], tool_choice="none")[1]["choices"][0]["finish_reason"] == "stop", "none")
        a = s.ask("POST", "/v1/embeddings", {"input": ["a", "b"]})[1]["data"]
        b = s.ask("POST", "/v1/embeddings", {"input": ["a", "b"], "encoding_format": "base64"})[1]["data"]
        check(len(a) == 2 and a[0]["embedding"] != a[1]["embedding"], a)
        got = struct.unpack("<8f", base64.b64decode(b[1]["embedding"]))
        check(all(abs(x - y) < 1e-6 for x, y in zip(got, a[1]["embedding"])), got)


def test_errors(program):
    with Stub(program, "--max-model-len=64") as s:
        for body, status, param in (({"model": "other", **chat()}, 404, "model"), ({"messages": []}, 400, "messages"),
                                    (chat(n=2), 400, "n"), (chat(max_tokens=0), 400, "max_tokens"),
                                    (chat(temperature=-1), 400, "temperature"), (chat("x" * 400), 400, None),
                                    ([], 400, None)):
            got, said = s.ask("POST", "/v1/chat/completions", body)
            check(got == status and said["error"]["param"] == param and said["error"]["code"] == status, (body, said))
        check(s.ask("GET", "/nothing")[0] == 404 and s.ask("GET", "/v1/completions")[0] == 405, "paths")


def test_faults(program):
    with Stub(program) as s:
        s.fault("status", status=429, count=1)
        r = s.open("POST", "/v1/chat/completions", chat())
        check(r.status == 429 and r.headers["Retry-After"] == "1", r.status)
        check(s.chat()[0] == 200, "it failed twice")
        s.fault("cut", after=2, count=1)
        r = s.open("POST", "/v1/chat/completions", chat(stream=True))
        try:
            check(False, r.read())
        except http.client.IncompleteRead as e:
            check(b"quick" in e.partial and b"DONE" not in e.partial, e.partial)
        s.fault("bad-json", count=1)
        try:
            check(False, s.chat())
        except json.JSONDecodeError:
            pass
        s.fault("hang", count=1)
        try:
            check(False, s.ask("POST", "/v1/chat/completions", chat(), 0.2))
        except TimeoutError:
            pass
        wait_for("the client that left is noticed", lambda: s.state()["aborted"] == 2)  # the one that was cut, too
        s.fault("refuse", ms=300)
        wait_for("it refuses", lambda: refused(s))
        wait_for("it listens again", lambda: not refused(s))


def refused(s):
    try:
        s.ask("GET", "/health")
        return False
    except OSError:
        return True


def test_a_client_that_leaves_frees_its_memory(program):
    with Stub(program, "--decode-tps=20") as s:
        r = s.open("POST", "/v1/chat/completions", chat(stream=True, ignore_eos=True))
        r.read(10)
        check(s.state()["running"] == 1, s.state())
        r.close()
        wait_for("it is not running", lambda: s.state()["running"] == 0 and s.state()["usage"] == 0)


def test_metrics_and_memory(program):
    with Stub(program, "--num-gpu-blocks-override=8", "--decode-tps=50", "--served-model-name=m") as s:
        long = chat("x" * 200, ignore_eos=True, max_tokens=60, stream=True)
        both = [s.open("POST", "/v1/chat/completions", long) for _ in range(2)]
        text = s.ask("GET", "/metrics")[1]
        check('vllm:num_requests_running{engine="0",model_name="m"}' in text, text)
        check("vllm:kv_cache_usage_perc" in text and "vllm:time_to_first_token_seconds_bucket" in text, text)
        for r in both:
            check(events(r)[-1] == "[DONE]", "a stream ended early")
        state = s.state()
        check(state["preemptions"] > 0 and state["stopped"] == 2 and state["usage"] == 0, state)
        s.ask("POST", "/v1/completions", {"prompt": "y" * 256, "max_tokens": 1})
        a = s.ask("POST", "/v1/completions", {"prompt": "y" * 256, "max_tokens": 1})[1]
        check(a["usage"]["prompt_tokens_details"]["cached_tokens"] == 63, a)


def test_loading(program):
    with Stub(program, "--load-ms=700") as s:
        check(s.ask("GET", "/health")[0] == 503 and s.chat()[0] == 503, "ready at once")
        wait_for("it has loaded", lambda: s.ask("GET", "/health")[0] == 200)
        check(s.chat()[0] == 200, "not ready")


def test_what_came_last(program):
    with Stub(program) as s:
        s.chat(user="me")
        last = s.ask("GET", "/stub/last")[1]
        check(json.loads(last["body"])["user"] == "me" and ["Content-Type", "application/json"] in last["headers"], last)


if __name__ == "__main__":
    sys.exit(run_tests(globals(), lambda f, program, kubectl: f(program)))
