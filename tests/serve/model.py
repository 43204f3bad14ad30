"""A small model server that runs in a pod: OpenAI's chat, embeddings and models, as far as the tests ask.

What the last message says decides: "fail 500" is an error of that status, "slow" a stream with a pause between words, "tools" (with
tools in the request) a call of the first tool; else the answer repeats the message's words. It counts requests whose client went
away. The first argument is its port, the second for how many seconds it is not ready.
"""
import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BEGUN = time.monotonic()
GONE = []


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        if self.path == "/gone":
            return self.answer(200, {"gone": len(GONE)})
        ready = time.monotonic() - BEGUN >= float(sys.argv[2])
        return self.answer(200 if ready else 503, {"ready": ready})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/v1/embeddings":
            inputs = body["input"] if isinstance(body["input"], list) else [body["input"]]
            return self.answer(200, {"object": "list", "model": body["model"], "data": [
                {"object": "embedding", "index": i, "embedding": [float(len(t)), 1.0]} for i, t in enumerate(inputs)],
                "usage": {"prompt_tokens": 3, "total_tokens": 3}})
        text = body["messages"][-1]["content"]
        if text.startswith("fail "):
            return self.answer(int(text[5:]), {"error": {"message": "as told", "type": "server_error", "param": None,
                                                         "code": None}})
        if body.get("stream"):
            return self.stream(body, text)
        message = {"role": "assistant", "content": text}
        if body.get("tools"):
            name = body["tools"][0]["function"]["name"]
            message = {"role": "assistant", "content": None, "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": name, "arguments": "{\"city\":\"Oslo\"}"}}]}
        return self.answer(200, {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": body["model"],
                                 "traceparent": self.headers.get("traceparent"), "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                                 "usage": {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}})

    def chunk(self, value):
        data = f"data: {value if isinstance(value, str) else json.dumps(value)}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def stream(self, body, text):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
        try:
            for word in text.split() * (1000 if text.startswith("slow") else 1):
                self.chunk({**head, "choices": [{"index": 0, "delta": {"content": word + " "}, "finish_reason": None}]})
                time.sleep(0.05 if text.startswith("slow") else 0)
            self.chunk({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
            if (body.get("stream_options") or {}).get("include_usage"):
                self.chunk({**head, "choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}})
            self.chunk("[DONE]")
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            GONE.append(1)
            self.close_connection = True


ThreadingHTTPServer(("0.0.0.0", int(sys.argv[1])), Handler).serve_forever()
