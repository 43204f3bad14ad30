"""harness: starts a real `berth up` in a folder of its own and runs kubectl and berth against it."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Fail(Exception):
    pass


def check(condition, text):
    if not condition:
        raise Fail(text)


def wait_for(what, test, seconds=30, pause=0.1):
    """Calls test() until it is true; its last value is returned."""
    end = time.monotonic() + seconds
    while True:
        value = test()
        if value:
            return value
        if time.monotonic() > end:
            raise Fail(f"waited {seconds} s for: {what}")
        time.sleep(pause)


def alive(pid):
    """A process that exists and is no zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class Berth:
    """One data folder; up() and stop() may come several times."""

    def __init__(self, program, kubectl, gpus="sim:8xh200", args=()):
        self.program, self.kubectl_program, self.gpus, self.args = program, kubectl, gpus, list(args)
        self.root = tempfile.mkdtemp(prefix="berth-e2e.")
        os.chmod(self.root, 0o711)  # where there are no private mounts, pods must be able to pass through
        self.data = os.path.join(self.root, "data")
        self.process = None
        self.env = dict(os.environ, KUBECONFIG=os.path.join(self.data, "kubeconfig"), HOME=self.root)
        self.log = open(os.path.join(self.root, "log"), "ab")
        self.port = 0

    def __enter__(self):
        try:
            self.up()
        except BaseException:
            self.__exit__(Fail, None, None)
            raise
        return self

    def __exit__(self, kind, value, trace):
        subprocess.run([self.program, "down", "--data", self.data], env=self.env, capture_output=True, timeout=60,
                       check=False)
        if self.process and self.process.poll() is None:
            self.process.kill()
        if self.process:
            self.process.wait()
        self.log.close()
        if kind:
            with open(self.log.name, encoding="utf-8", errors="replace") as f:
                print("---- the end of berth's log\n" + "".join(f.readlines()[-60:]))
        shutil.rmtree(self.root, ignore_errors=True)

    def up(self):
        """Starts and waits for the line `berth: ready`; the same port again after a stop."""
        self.process = subprocess.Popen(
            [self.program, "up", "--data", self.data, "--listen", f"127.0.0.1:{self.port}", "--gpus", self.gpus,
             "--runtime", "process"] +
            self.args, stdout=subprocess.PIPE, stderr=self.log, env=self.env)
        line = self.process.stdout.readline().decode()
        check(line.startswith("berth: ready"), f"berth up said {line!r}")
        self.port = int(re.search(r"https://127\.0\.0\.1:(\d+)", line).group(1))
        gateway = re.search(r" gateway (http\S+)", line)
        self.gateway = gateway.group(1) if gateway else None
        self.kubectl("wait", "--for=condition=Ready", "node", "--all", "--timeout=20s", retry=20)

    def stop(self, sig=signal.SIGTERM):
        self.process.send_signal(sig)
        code = self.process.wait(timeout=30)
        check(sig != signal.SIGTERM or code == 0, f"berth up ended with {code} on SIGTERM")

    def run(self, command, stdin=None, ok=True, seconds=90):
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, env=self.env, timeout=seconds,
                              check=False)
        if ok and done.returncode != 0:
            raise Fail(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def kubectl(self, *args, stdin=None, ok=True, retry=0):
        for _ in range(retry):
            done = self.run([self.kubectl_program, *args], stdin, ok=False)
            if done.returncode == 0:
                return done.stdout
            time.sleep(0.3)
        done = self.run([self.kubectl_program, *args], stdin, ok)
        return done.stdout if ok else done

    def berth(self, *args, ok=True, seconds=90):
        done = self.run([self.program, *args], None, ok, seconds)
        return done.stdout if ok else done

    def get(self, *args):
        got = json.loads(self.kubectl("get", *args, "-o", "json"))
        if got.get("kind") == "Job":
            got.setdefault("status", {}) # a Job has none until its controller has looked at it
        return got

    def apply(self, *objects):
        return self.kubectl("apply", "-f", "-", stdin="\n---\n".join(json.dumps(o) for o in objects))


def job(name, script, queue="default", limits=None, labels=None, **spec):
    """A batch/v1 Job of one container that runs a shell script."""
    pod = {"restartPolicy": "Never",
           "containers": [{"name": "main", "image": "busybox", "command": ["sh", "-c", script],
                           "resources": {"requests": {"cpu": "50m", "memory": "32Mi"}, "limits": limits or {}}}]}
    pod.update(spec.pop("pod", {}))
    meta = {"name": name, "labels": dict(labels or {})}
    if queue:
        meta["labels"]["kueue.x-k8s.io/queue-name"] = queue
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": dict(spec, template={"spec": pod})}


def run_tests(module, start):
    """The main of a file of tests, called as PROGRAM KUBECTL [NAME...]: start(f, program, kubectl) runs each function
    test_* of the module. Prints a line each, closes with "N passed, N failed"; the exit status."""
    program, kubectl, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    tests = [(n, f) for n, f in module.items() if n.startswith("test_") and (not names or n in names)]
    if {n for n, _ in tests} < set(names):
        print(f"no test of that name among {', '.join(names)}")
        return 1
    failed = 0
    for name, f in tests:
        began = time.monotonic()
        try:
            start(f, program, kubectl)
            print(f"ok      {name} ({time.monotonic() - began:.1f} s)", flush=True)
        except Exception as e:  # a test's failure is printed, the others go on
            failed += 1
            print(f"FAILED  {name}: {e}", flush=True)
            if not isinstance(e, (Fail, subprocess.TimeoutExpired)):
                traceback.print_exc()
    print(f"{len(tests) - failed} passed, {failed} failed")
    return 1 if failed else 0


def with_default_queue(f, program, kubectl, **berth):
    """Runs one with a Berth of its own, once its default queue is there."""
    with Berth(program, kubectl, **berth) as b:
        wait_for("the default queue", lambda: b.kubectl("get", "localqueue", "default", ok=False).returncode == 0)
        f(b)
