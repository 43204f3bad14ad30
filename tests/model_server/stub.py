"""stub: starts the stub model server, for tests."""
import http.client
import json
import subprocess


class Stub:
    """`with Stub(program, "--load-ms=100") as s:`  s.port is where it listens."""

    def __init__(self, program, *args, host="127.0.0.1"):
        self.host = host
        self.child = subprocess.Popen([program, "--port=0", f"--host={host}", *args], stdout=subprocess.PIPE, text=True)
        self.lines = []
        for line in self.child.stdout:
            self.lines.append(line)
            if line.startswith("listening on "):
                self.port = int(line.rsplit(":", 1)[1])
                break
        else:
            raise AssertionError(f"model-server ended with status {self.child.wait()}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.kill()
        self.child.wait()
        self.child.stdout.close()

    def open(self, method, path, body=None, timeout=30):
        """The answer, not read yet."""
        c = http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        c.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": "application/json"})
        return c.getresponse()

    def ask(self, method, path, body=None, timeout=30):
        """(status, what its JSON says, or its text)."""
        r = self.open(method, path, body, timeout)
        data = r.read().decode()
        return r.status, json.loads(data) if "json" in r.headers.get("Content-Type", "") else data

    def chat(self, **more):
        return self.ask("POST", "/v1/chat/completions", {"messages": [{"role": "user", "content": "hello"}], **more})

    def fault(self, kind, **more):
        status, said = self.ask("POST", "/stub/faults", {"kind": kind, **more})
        assert status == 200, said

    def state(self):
        return self.ask("GET", "/stub/state")[1]
