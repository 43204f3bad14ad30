#!/usr/bin/env python3
"""streams: exec, attach, run, cp and port-forward with real pods.   streams.py BERTH KUBECTL [TEST...]

Each test has its own `berth up` and talks to it with a real kubectl, over WebSockets and over SPDY, or as other clients do
(ws.py). Prints a line a test and closes with "N passed, N failed".
"""
import fcntl
import hashlib
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
from harness import check, run_tests, wait_for, with_default_queue  # noqa: E402
from ws import Closed, Ws  # noqa: E402

SPDY = {"KUBECTL_REMOTE_COMMAND_WEBSOCKETS": "false", "KUBECTL_PORT_FORWARD_WEBSOCKETS": "false"}
EXEC = "/api/v1/namespaces/default/pods/p/exec?"
PORT = 8000  # of the server inside the pod


def pod(name="p", command=("sleep", "1000"), **container):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
        "restartPolicy": "Never", "terminationGracePeriodSeconds": 1,
        "containers": [{"name": "main", "image": "none", "command": list(command), **container}]}}


def start(b, *pods):
    for p in pods or (pod(),):
        b.apply(p)
    for p in pods or (pod(),):
        b.kubectl("wait", "--for=jsonpath={.status.phase}=Running", f"pod/{p['metadata']['name']}", "--timeout=60s")


def run(b, *args, stdin=None, env=None, seconds=90):
    return subprocess.run([b.kubectl_program, *args], input=stdin, capture_output=True, timeout=seconds, check=False,
                          env=dict(b.env, **(env or {})))


def both_ways(test):
    """Runs the test over WebSockets and over SPDY."""
    def run_both(b):
        start(b)
        for env in ({}, SPDY):
            test(b, env)
    run_both.__name__ = test.__name__
    return run_both


@both_ways
def test_exec_codes(b, env):
    for script, code in (("true", 0), ("false", 1), ("exit 7", 7), ("kill -9 $$", 137)):
        got = run(b, "exec", "p", "--", "sh", "-c", script, env=env)
        check(got.returncode == code, f"{script}: {got}")
    got = run(b, "exec", "p", "--", "sh", "-c", "echo out; echo err >&2", env=env)
    check(got.stdout == b"out\n" and got.stderr == b"err\n", f"{got}")
    got = run(b, "exec", "p", "--", "no-such-command", env=env)
    check(got.returncode != 0 and b"no-such-command" in got.stderr, f"{got}")


@both_ways
def test_refused(b, env):
    got = run(b, "exec", "p", "-c", "nope", "--", "true", env=env)
    check(b"container nope is not valid for pod p" in got.stderr, f"{got}")
    got = run(b, "exec", "nobody", "--", "true", env=env)
    check(b'pods "nobody" not found' in got.stderr, f"{got}")


def test_exec_in_a_pod_that_has_ended(b):
    b.apply(pod("done", ("true",)))
    b.kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/done", "--timeout=60s")
    got = run(b, "exec", "done", "--", "true")
    check(got.returncode != 0 and b"completed pod" in got.stderr, f"{got}")
    w = Ws(b, EXEC.replace("/p/", "/done/") + "command=true&stdout=1", "v5.channel.k8s.io")
    check(w.status == 404, w.head)


@both_ways
def test_ten_megabytes(b, env):
    data = os.urandom(10_000_000)
    got = run(b, "exec", "-i", "p", "--", "cat", stdin=data, env=env)
    check(got.returncode == 0 and got.stdout == data, f"{got.returncode}, {len(got.stdout)} bytes, {got.stderr}")
    got = run(b, "exec", "-i", "p", "--", "sh", "-c", "head -c 5; exit 4", stdin=data, env=env)  # nobody reads the rest
    check(got.returncode == 4 and got.stdout == data[:5], f"{got.returncode}, {len(got.stdout)} bytes, {got.stderr}")


class Terminal:
    """kubectl in a terminal of a size."""

    def __init__(self, b, *args, env=None, size=(24, 80)):
        self.child, self.fd = pty.fork()
        if self.child == 0:
            os.execve(b.kubectl_program, [b.kubectl_program, *args], dict(b.env, TERM="dumb", **(env or {})))
        self.heard = b""
        self.resize(*size)

    def resize(self, rows, cols):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def type(self, text):
        os.write(self.fd, text.encode())

    def hear(self):
        while select.select([self.fd], [], [], 0)[0]:
            try:
                got = os.read(self.fd, 65536)
            except OSError:
                return
            if not got:
                return
            self.heard += got

    def wait(self, text, seconds=30):
        def there():
            self.hear()
            return re.search(text.encode(), self.heard)
        try:
            return wait_for(f"{text} on the terminal", there, seconds)
        except Exception:
            print(self.heard.decode(errors="replace"))
            raise

    def end(self):
        """Its exit code."""
        def over():
            self.hear()
            return os.waitpid(self.child, os.WNOHANG)
        done = wait_for("the end of kubectl", lambda: (lambda r: r if r[0] else None)(over()))
        os.close(self.fd)
        return os.waitstatus_to_exitcode(done[1])


@both_ways
def test_terminal(b, env):
    t = Terminal(b, "exec", "-it", "p", "--", "sh", env=env, size=(31, 101))
    t.type("tty && echo on-$((1+1))\n")
    t.wait("/dev/pts/")
    t.wait(r"\non-2")
    wait_for("the terminal's first size", lambda: (t.type("stty size\n"), time.sleep(0.2), t.hear(),
                                                   b"31 101" in t.heard)[-1])
    t.resize(42, 132)
    wait_for("its next size", lambda: (t.type("stty size\n"), time.sleep(0.2), t.hear(), b"42 132" in t.heard)[-1])
    t.type("sleep 100\n")
    time.sleep(0.5)
    t.type("\x03")  # interrupts what runs, not the shell
    t.type("echo still-$((2+2))\n")
    t.wait("still-4")
    t.type("exit 9\n")
    check(t.end() == 9, "the shell's exit code")


def test_cp(b):
    start(b)
    folder = os.path.join(b.root, "from")
    os.makedirs(os.path.join(folder, "deep"))
    for name in ("a", "deep/b"):
        with open(os.path.join(folder, name), "wb") as f:
            f.write(os.urandom(2_000_000))
    b.kubectl("cp", folder, "p:/tmp/there")
    got = run(b, "exec", "p", "--", "sh", "-c", "cat /tmp/there/a /tmp/there/deep/b | sha256sum")
    want = hashlib.sha256(b"".join(open(os.path.join(folder, n), "rb").read() for n in ("a", "deep/b"))).hexdigest()
    check(got.stdout.decode().split()[:1] == [want], f"{got}")
    back = os.path.join(b.root, "back")
    b.kubectl("cp", "p:/tmp/there", back)
    for name in ("a", "deep/b"):
        check(open(os.path.join(folder, name), "rb").read() == open(os.path.join(back, name), "rb").read(), name)


class Forward:
    """kubectl port-forward to a port of the pod; `port` is the local one."""

    def __init__(self, b, port, env=None):
        self.process = subprocess.Popen([b.kubectl_program, "port-forward", "pod/p", f":{port}"], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, env=dict(b.env, **(env or {})))
        line = self.process.stdout.readline().decode()
        check("Forwarding from" in line, line)
        self.port = int(re.search(r":(\d+) ->", line).group(1))

    def ask(self, request, half_close=False):
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as s:
            s.sendall(request)
            if half_close:
                s.shutdown(socket.SHUT_WR)
            got = b""
            while True:
                more = s.recv(65536)
                if not more:
                    return got
                got += more

    def end(self):
        self.process.terminate()
        return self.process.communicate(timeout=30)[0].decode()


SERVER = f"""
import http.server, socketserver, os, tempfile
os.chdir(tempfile.mkdtemp()); open('big', 'wb').write(bytes(range(256)) * 4096)
class S(socketserver.ThreadingMixIn, http.server.HTTPServer): request_queue_size = 128
class H(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *a): pass
S(('127.0.0.1', {PORT}), H).serve_forever()
"""


def test_port_forward(b):
    start(b, pod("p", ("python3", "-c", SERVER)))
    big = bytes(range(256)) * 4096
    for env in ({}, SPDY):
        f = Forward(b, PORT, env)
        wait_for("the server in the pod", lambda: run(
            b, "exec", "p", "--", "python3", "-c",
            f"import socket; socket.create_connection(('127.0.0.1', {PORT})).close()").returncode == 0)
        answers = [None] * 20

        def one(i, f=f, answers=answers):
            answers[i] = f.ask(b"GET /big HTTP/1.0\r\n\r\n", half_close=i % 2 == 1)
        threads = [threading.Thread(target=one, args=(i,)) for i in range(20)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        check(all(a and a.endswith(big) and b"200 OK" in a for a in answers),
              f"twenty at once: {[len(a or b'') for a in answers]}")
        f.end()
    f = Forward(b, PORT + 1)
    f.ask(b"hello")
    got = f.end()
    check("error forwarding port" in got, got)


def test_plain_port_forward(b):
    """As clients other than kubectl do it."""
    start(b, pod("p", ("python3", "-c", SERVER)))
    wait_for("the server in the pod", lambda: run(
        b, "exec", "p", "--", "python3", "-c",
        f"import socket; socket.create_connection(('127.0.0.1', {PORT})).close()").returncode == 0)
    w = Ws(b, f"/api/v1/namespaces/default/pods/p/portforward?ports={PORT}", "v4.channel.k8s.io")
    check(w.status == 101, w.head)
    w.send(b"\0GET /big HTTP/1.0\r\n\r\n")
    channels, code = w.until_close()
    check(code == 1000 and channels[0][:2] == struct.pack("<H", PORT) and channels[0].endswith(b"\xfe\xff"),
          f"{code} {list(channels)}")


def test_base64(b):
    """As browsers do it, and older clients: the exit code comes as a Status, stdin as text."""
    start(b)
    w = Ws(b, EXEC + "command=head&command=-c5&stdin=1&stdout=1", "v9.x, v4.base64.channel.k8s.io")
    check("Sec-WebSocket-Protocol: v4.base64.channel.k8s.io" in w.head, w.head)
    w.send(b"0aGVsbG8gdGhlcmU=", 1)
    channels, code = w.until_close()
    check(code == 1000 and channels[ord("1")] == b"aGVsbG8=", f"{code} {channels}")
    w = Ws(b, EXEC + "command=sh&command=-c&command=exit+3&stdout=1", "v4.channel.k8s.io")
    channels, code = w.until_close()
    status = json.loads(channels[3])
    check(status["reason"] == "NonZeroExitCode" and status["details"]["causes"][0]["message"] == "3", f"{status}")


def test_attach(b):
    start(b, pod("p", ("sh", "-c", "while read x; do echo got $x; done; sleep 1000"), stdin=True),
          pod("t", ("sh",), stdin=True, tty=True))
    p = subprocess.Popen([b.kubectl_program, "attach", "-i", "p"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         env=b.env)
    p.stdin.write(b"one\ntwo\n")
    p.stdin.flush()
    check(p.stdout.readline() == b"got one\n" and p.stdout.readline() == b"got two\n", "what was attached to")
    p.terminate()
    p.communicate(timeout=30)
    check("got two" in b.kubectl("logs", "p"), "the log has it, too")
    t = Terminal(b, "attach", "-it", "t")
    t.type("echo seen-$((3+3))\n")
    t.wait("seen-6")
    t.type("exit\n")
    t.end()
    b.kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/t", "--timeout=30s")


def test_run(b):
    got = run(b, "run", "r", "--rm", "-i", "--restart=Never", "--image=none", "--command", "--", "sh", "-c",
              "read x; echo got $x", stdin=b"hello\n")
    check(b"got hello" in got.stdout, f"{got}")
    wait_for("the pod to be gone", lambda: b.kubectl("get", "pod", "r", ok=False).returncode != 0)


def test_debug(b):
    """kubectl debug: a container is added to a pod that runs, sees its processes, has its network, and ends by itself."""
    p = pod("p", ("sh", "-c", "echo $$ > /tmp/pid; exec sleep 98765"))
    p["spec"]["volumes"] = [{"name": "v", "emptyDir": {}}]
    start(b, p)
    t = Terminal(b, "debug", "-it", "p", "--image=none", "--target=main", "-c", "look")
    t.type("ps -e -o args; echo address-$(hostname -I 2>/dev/null); id -u\n")
    t.wait("sleep 98765")
    t.wait("address-")
    t.type("exit 3\n")
    t.end()
    state = wait_for("its end", lambda: [s["state"].get("terminated") for s in b.get("pod", "p")["status"]["ephemeralContainerStatuses"]
                                         if s["name"] == "look" and "terminated" in s["state"]])
    check(state[0]["exitCode"] == 3, str(state))
    check(b.get("pod", "p")["status"]["phase"] == "Running", "the pod goes on")
    # With a command, a variable from a ConfigMap that comes late, and over a restart of Berth.
    add = {"spec": {"ephemeralContainers": [{"name": "late", "image": "none", "command": ["sh", "-c", "echo got $A; exec sleep 1000"],
           "env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "a"}}}],
           "volumeMounts": [{"name": "v", "mountPath": "/v"}]}]}}
    patch = ("patch", "pod", "p", "--subresource=ephemeralcontainers", "--type=strategic", "-p")
    b.kubectl(*patch, json.dumps(add))
    b.kubectl("create", "configmap", "m", "--from-literal=a=value")
    wait_for("what it says", lambda: b.kubectl("logs", "p", "-c", "late", ok=False).stdout == "got value\n", 60)
    b.stop()
    b.up()
    check(b.kubectl("exec", "p", "-c", "late", "--", "sh", "-c", "ls -d /v") == "/v\n", "it outlives Berth")
    # What it may not have, and who may not change it.
    for want, more in (("ports", {"ports": [{"containerPort": 80}]}), ("resources", {"resources": {"limits": {"nvidia.com/gpu": "1"}}}),
                       ("livenessProbe", {"livenessProbe": {"exec": {"command": ["true"]}}}), ("lifecycle", {"lifecycle": {"preStop": {"exec": {"command": ["true"]}}}}),
                       ("targetContainerName", {"targetContainerName": "nobody"}), ("subPath", {"volumeMounts": [{"name": "v", "mountPath": "/v", "subPath": "x"}]}),
                       ("securityContext.privileged", {"securityContext": {"privileged": True}})):
        done = b.kubectl(*patch, json.dumps({"spec": {"ephemeralContainers": [dict({"name": "x", "image": "none"}, **more)]}}), ok=False)
        check(want in done.stderr and done.returncode, f"{want}: {done.stderr}")
    done = b.kubectl("patch", "pod", "p", "--type=strategic", "-p", json.dumps({"spec": {"ephemeralContainers": [{"name": "y", "image": "none"}]}}), ok=False)
    check("pod updates may not change" in done.stderr, done.stderr)
    done = b.kubectl(*patch, json.dumps({"spec": {"ephemeralContainers": [{"name": "late", "image": "other"}]}}), ok=False)
    check("may not be changed or removed" in done.stderr, done.stderr)
    b.kubectl("create", "clusterrole", "reader", "--verb=get,list,patch", "--resource=pods")
    b.kubectl("create", "clusterrolebinding", "reader", "--clusterrole=reader", "--user=reader")
    done = b.kubectl("--as=reader", *patch, json.dumps({"spec": {"ephemeralContainers": [{"name": "z", "image": "none"}]}}), ok=False)
    check("pods/ephemeralcontainers" in done.stderr.replace('"', "") or "forbidden" in done.stderr, done.stderr)
    # A pod that ends does not wait for it.
    b.kubectl("delete", "pod", "p")
    wait_for("its end", lambda: b.kubectl("get", "pod", "p", ok=False).returncode)


def tenant(b, name):
    """A kubeconfig of a ServiceAccount that may only exec."""
    b.kubectl("create", "serviceaccount", name)
    b.apply({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": name}, "rules": [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["get", "create"]}]},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": name},
         "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}],
         "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}})
    token = b.kubectl("create", "token", name).strip()
    config = json.loads(b.kubectl("config", "view", "--raw", "-o", "json"))
    config["users"][0]["user"] = {"token": token}
    path = os.path.join(b.root, f"{name}.kubeconfig")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(config, f)
    return {"KUBECONFIG": path}


def test_session_ends_with_its_right(b):
    start(b)
    for name, kill in (("right", ("delete", "rolebinding", "right")), ("token", ("delete", "serviceaccount", "token"))):
        env = tenant(b, name)
        p = subprocess.Popen([b.kubectl_program, "exec", "p", "--", "sh", "-c", "echo begun; sleep 1000"],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(b.env, **env))
        check(p.stdout.readline() == b"begun\n", "the session begins")
        b.kubectl(*kill)
        err = p.communicate(timeout=30)[1]
        check(p.returncode != 0 and b"ended by the server" in err, f"{name}: {p.returncode} {err}")
    wait_for("the end of what they ran", lambda: b"sleep 1000\nsh" not in run(
        b, "exec", "p", "--", "sh", "-c", "ps -eo args | grep -c 'begun; sleep'").stdout)
    got = run(b, "exec", "p", "--", "true", env=tenant(b, "reader"))
    check(got.returncode == 0, f"{got}")
    b.kubectl("patch", "role", "reader", "--type=json", "-p",
              '[{"op":"replace","path":"/rules/1/verbs","value":["get"]}]')
    got = run(b, "exec", "p", "--", "true", env={"KUBECONFIG": os.path.join(b.root, "reader.kubeconfig")})
    check(b"cannot create resource" in got.stderr, f"get alone is not enough: {got}")


def test_hundred_sessions(b):
    start(b)
    all_ = [Ws(b, EXEC + "command=cat&stdin=1&stdout=1", "v5.channel.k8s.io", 120) for _ in range(100)]
    check(all(w.status == 101 for w in all_), "a hundred sessions begin")
    for i, w in enumerate(all_):
        w.send(b"\0hello %d\n" % i)
        w.send(b"\xff\0")
    for i, w in enumerate(all_):
        channels, code = w.until_close()
        check(code == 1000 and channels[1] == b"hello %d\n" % i and b"Success" in channels[3], f"{i}: {channels}")


def resident(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1)) << 10


def test_slow_reader(b):
    """Who does not read costs no memory, and stops nobody else; who comes back reads all of it."""
    start(b)
    before = resident(b.process.pid)
    slow = [Ws(b, EXEC + "command=head&command=-c20000000&command=/dev/zero&stdout=1", "v5.channel.k8s.io", 120)
            for _ in range(8)]
    check(all(w.status == 101 for w in slow), "eight sessions begin")
    time.sleep(3)
    grown = resident(b.process.pid) - before
    check(grown < 24 << 20, f"{grown >> 20} MiB more for eight readers that stand still")
    check(run(b, "exec", "p", "--", "echo", "fast").stdout == b"fast\n", "another session goes on")
    channels, code = slow[0].until_close()
    check(code == 1000 and len(channels[1]) == 20_000_000, f"{code}, {len(channels.get(1, b''))} bytes")
    for w in slow:
        w.close()


def test_slow_pod(b):
    """A command that does not read its stdin stops the client, and costs no memory."""
    start(b)
    before = resident(b.process.pid)
    w = Ws(b, EXEC + "command=sleep&command=1000&stdin=1&stdout=1", "v5.channel.k8s.io", 2)
    sent, block = 0, b"\0" + bytes(65535)
    try:
        while sent < 200 << 20:
            w.send(block)
            sent += len(block)
    except (TimeoutError, socket.timeout, OSError):
        pass
    grown = resident(b.process.pid) - before
    check(sent < 32 << 20 and grown < 16 << 20, f"{sent >> 20} MiB were taken, {grown >> 20} MiB grown")
    w.close()


def test_bad_frames(b):
    start(b)
    w = Ws(b, EXEC + "command=cat&stdin=1&stdout=1", "v5.channel.k8s.io")
    w.s.sendall(b"\x82\x01x")  # no mask
    channels, code = w.until_close()
    check(code == 1002, f"{code} {channels}")
    w = Ws(b, EXEC + "command=cat&stdin=1&stdout=1", "v5.channel.k8s.io")
    for _ in range(500):
        w.send(b"", 9)
    try:
        code = w.until_close()[1]
    except (Closed, OSError):
        code = 1008
    check(code == 1008, f"{code}")
    check(run(b, "exec", "p", "--", "true").returncode == 0, "others go on")


def test_end_of_berth(b):
    """A session does not hold up the end, and hears of it; the pod goes on."""
    start(b)
    w = Ws(b, EXEC + "command=cat&stdin=1&stdout=1", "v5.channel.k8s.io")
    check(w.status == 101, w.head)
    began = time.monotonic()
    b.process.send_signal(signal.SIGTERM)
    code = w.until_close()[1]
    check(code == 1001, f"{code}")
    check(b.process.wait(timeout=30) == 0 and time.monotonic() - began < 25, "it ends")


if __name__ == "__main__":
    sys.exit(run_tests(globals(), with_default_queue))
