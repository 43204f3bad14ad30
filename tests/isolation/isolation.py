#!/usr/bin/env python3
"""isolation: every crossing of crossings.py, tried from inside a pod, is refused.   isolation.py BERTH KUBECTL [NAME...]

As root and as an unprivileged user. What is tried can succeed: `without_walls` runs the same table beside the pods on the bare
machine, where each row must cross.
"""
import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "e2e"), os.path.join(HERE, "..", "podman")]
import images  # noqa: E402
from harness import Berth, Fail, check, job, run_tests, wait_for  # noqa: E402

with open(os.path.join(HERE, "crossings.py"), encoding="utf-8") as f:
    CROSSINGS = f.read()
USER = 64999  # nobody's number
PYTHON = shutil.which("python3", path="/usr/local/bin:/usr/bin:/bin") or sys.executable  # where any user may run it
# What a neighbour has: each can be reached from the machine, and by it from a pod without walls.
VICTIM = r"""
import ctypes, os, socket, sys, time
libc, mark = ctypes.CDLL(None), os.environ["MARK"]
open("secret", "w").write("secret"); os.chmod("secret", 0o666)
os.chmod(".", 0o777)
for d in (os.environ["VOLUME"], "/dev/shm/" + mark, "/tmp/" + mark):
    try:
        f = open(d + "/secret" if os.path.isdir(d) else d, "w"); f.write("secret"); f.close()
    except OSError as e:
        print("victim:", d, e, flush=True)
for key, f in ((0x0BE27, lambda k: libc.shmget(k, 4096, 0o1666)), (0x0BE28, lambda k: libc.msgget(k, 0o1666))):
    f(key)
try:
    libc.syscall(240 if os.uname().machine != "aarch64" else 180, mark.encode(), os.O_CREAT | os.O_RDWR, 0o666, None)
except OSError:
    pass
s = socket.socket(socket.AF_UNIX); s.bind("\0" + mark); s.listen()
t = socket.socket(socket.AF_UNIX); t.bind("s"); os.chmod("s", 0o777); t.listen()
u = socket.socket(); u.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
u.bind(("127.0.0.1", int(os.environ["VICTIM_PORT"]))); u.listen()
print("victim is ready", flush=True)
time.sleep(600)
"""

def pod_of(b, name, ns="default"):
    return b.get("pod", "-n", ns, "-l", f"batch.kubernetes.io/job-name={name}")["items"][0]


def folder(b, uid):
    return os.path.join(b.data, "pods", uid)


def python_job(name, text, env, ns="default", **pod):
    o = job(name, "true", backoffLimit=0)
    o["metadata"]["namespace"] = ns
    c = o["spec"]["template"]["spec"]["containers"][0]
    c["command"] = [PYTHON, "-c", text]
    c["env"] = [{"name": k, "value": v} for k, v in env.items()]
    c["env"].append({"name": "OWN_DIR", "value": "$(BERTH_ROOT)/.."})
    o["spec"]["template"]["spec"].update(pod)
    return o


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def shared_network(b):
    """What crosses where pods have no networks of their own, which the node tells."""
    c = next((c for c in b.get("nodes")["items"][0]["status"]["conditions"] if c["type"] == "PodNetwork"), {})
    return () if c.get("status") == "True" else ("connects_loopback", "connects_to_the_machine")


def start_victim(b, mark, name="victim", ns="default", change=lambda o: o):
    """A neighbour with a bit of everything. Returns what an attacker is told of it."""
    port = free_port()
    o = python_job(name, VICTIM + f"# {mark}\n",
                   {"MARK": mark, "VOLUME": "$(BERTH_ROOT)/volumes/v", "VICTIM_PORT": str(port)}, ns,
                   volumes=[{"name": "v", "emptyDir": {}}])
    o["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": "/mnt"}]
    b.apply(change(o))
    wait_for("the neighbour is ready", lambda: "victim is ready" in b.kubectl("logs", "-n", ns, f"job/{name}", ok=False).stdout, 30)
    uid = pod_of(b, name, ns)["metadata"]["uid"]
    with open(os.path.join(folder(b, uid), "state.json"), encoding="utf-8") as f:
        import json
        pid = json.load(f)["containers"][0]["pid"]
    return {"VICTIM_PID": str(pid), "VICTIM_DIR": folder(b, uid), "DATA": b.data, "MARK": mark, "VICTIM_PORT": str(port),
            "API_PORT": str(b.port)}


def results(text):
    rows = {}
    for line in text.split("\n"):
        w = line.split(" ", 1)
        if len(w) == 2 and (w[1] == "CROSSED" or w[1].startswith("refused")):
            rows[w[0]] = w[1]
    return rows


def table_size():
    return CROSSINGS.count("\n@crossing\n")


def attack(b, env, name="attacker", ns="default", change=lambda o: o):
    b.apply(change(python_job(name, CROSSINGS, env, ns)))
    b.kubectl("wait", "-n", ns, "--for=condition=complete", f"job/{name}", "--timeout=60s")
    rows = results(b.kubectl("logs", "-n", ns, f"job/{name}"))
    check(len(rows) == table_size(), f"{len(rows)} of {table_size()} rows were tried: {rows}")
    return rows


def none_crossed(rows, allowed=()):
    crossed = [x for x, r in rows.items() if r == "CROSSED" and x not in allowed]
    check(not crossed, f"crossed: {crossed}; all: {rows}")


class Machine:
    """What lies about on the machine: a device file that looks like a neighbour's GPU, and a socket."""

    def __init__(self, mark):
        self.device, self.socket = f"/dev/nvidia-{mark}", f"/run/{mark}.sock"

    def __enter__(self):
        os.mknod(self.device, 0o20666, os.makedev(1, 3))
        os.chmod(self.device, 0o666)
        self.s = socket.socket(socket.AF_UNIX)
        self.s.bind(self.socket)
        os.chmod(self.socket, 0o777)
        return self

    def __exit__(self, *_):
        os.unlink(self.device)
        os.unlink(self.socket)


def need_root():
    if os.geteuid() != 0:
        raise Fail("this test makes device files and other users: it needs root")


def test_as_root(program, kubectl):
    """A neighbour in the same project and one in another: nothing of either is reached."""
    need_root()
    mark = f"berth-victim-{os.getpid()}"
    with Machine(mark), Berth(program, kubectl, gpus="none") as b:
        b.kubectl("create", "namespace", "other")
        b.apply({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue",
                 "metadata": {"name": "default", "namespace": "other"}, "spec": {"clusterQueue": "default"}})
        env = start_victim(b, mark)
        check(not shared_network(b), "pods have no networks of their own")
        none_crossed(attack(b, env))
        none_crossed(attack(b, env, ns="other"))


def unlink_queue(mark):
    ctypes.CDLL(None).syscall(241 if os.uname().machine != "aarch64" else 181, mark.encode())


def test_without_walls(program, kubectl):
    """The same table on the bare machine, as root beside the pods: each row crosses, so each can tell."""
    need_root()
    mark = f"berth-victim-{os.getpid()}"
    with Machine(mark), Berth(program, kubectl, gpus="none") as b:
        victim = tempfile.mkdtemp(prefix="berth-victim.")
        for d in ("root/work", "root/volumes/v", "log"):
            os.makedirs(os.path.join(victim, d))
        for d in ("spec.json", "lock"):
            open(os.path.join(victim, d), "w", encoding="utf-8").close()
        env = dict(os.environ, MARK=mark, VOLUME=victim + "/root/volumes/v", VICTIM_PORT=str(free_port()), API_PORT=str(b.port))
        bare = subprocess.Popen([PYTHON, "-c", VICTIM + f"# {mark}\n"], cwd=victim + "/root/work", env=env,
                                stdout=subprocess.PIPE, text=True)
        try:
            check("ready" in bare.stdout.readline(), "the neighbour did not start")
            start_victim(b, mark + "-pod")
            os.makedirs(b.data + "/pods/another", exist_ok=True)
            env.update(VICTIM_PID=str(bare.pid), VICTIM_DIR=victim, DATA=b.data, OWN_DIR=victim)
            done = subprocess.run(["unshare", "--mount", "--uts", PYTHON, "-c", CROSSINGS], env=env, cwd=victim,
                                  capture_output=True, text=True, timeout=60, check=False)
            rows = results(done.stdout)
            refused = {x: r for x, r in rows.items() if r != "CROSSED"}
            check(len(rows) == table_size() and not refused, f"did not cross on the bare machine: {refused}\n{done.stderr}")
        finally:
            bare.kill()
            bare.wait()
            libc = ctypes.CDLL(None)
            libc.shmctl(libc.shmget(0x0BE27, 0, 0), 0, None)
            libc.msgctl(libc.msgget(0x0BE28, 0), 0, None)
            unlink_queue(mark)
            shutil.rmtree(victim)
            for x in ("/tmp/" + mark, "/dev/shm/" + mark, "/usr/" + mark, "/etc/" + mark, "/" + mark, "/dev/" + mark):
                if os.path.exists(x):
                    os.unlink(x)


# Becomes a user of a user namespace in which nobody may make another: what many containers are. Then runs argv.
NOTHING_ALLOWED = r"""
import ctypes, os, sys
user, go, done = int(sys.argv[1]), os.pipe(), os.pipe()
if os.fork() == 0:
    os.read(go[0], 1)
    for name in ("uid_map", "gid_map"):
        with open(f"/proc/{os.getppid()}/{name}", "w") as f:
            f.write("0 0 70000")
    os.write(done[1], b"x")
    os._exit(0)
assert ctypes.CDLL(None).unshare(0x10000000) == 0
os.write(go[1], b"x"); os.read(done[0], 1); os.wait()
with open("/proc/sys/user/max_user_namespaces", "w") as f:
    f.write("0")
os.setgroups([]); os.setresgid(user, user, user); os.setresuid(user, user, user)
os.execv(sys.argv[2], sys.argv[2:])
"""


class UserBerth(Berth):
    """`berth up` of a user without rights; `nothing`: who may not even make a user namespace."""

    def __init__(self, program, kubectl, args=(), nothing=False):
        self.become = [PYTHON, "-c", NOTHING_ALLOWED, str(USER)] if nothing else [
            "setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
        super().__init__(program, kubectl, gpus="none", args=args)
        self.program = os.path.join(self.root, "berth")  # where the user may pass
        shutil.copy(program, self.program)
        os.chown(self.root, USER, USER)
        os.chmod(self.root, 0o755)

    def up(self):
        real = subprocess.Popen

        def popen(command, **k):
            return real([*self.become, *command], **k)
        subprocess.Popen = popen
        try:
            super().up()
        finally:
            subprocess.Popen = real


def test_as_a_user(program, kubectl):
    """Without root, in a user namespace: the same is refused."""
    need_root()
    mark = f"berth-victim-{os.getpid()}"
    with Machine(mark), UserBerth(program, kubectl) as b:
        env = start_victim(b, mark)
        none_crossed(attack(b, env), shared_network(b))


def test_probes_as_a_user(program, kubectl):
    """Without root, in a user namespace: a probe reaches the pod in its own network, and the pod becomes ready."""
    need_root()
    serve = "exec python3 -m http.server 8080"
    with UserBerth(program, kubectl) as b:
        b.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probed"}, "spec": {
            "terminationGracePeriodSeconds": 1, "containers": [{
                "name": "main", "image": "none", "command": ["sh", "-c", serve],
                "readinessProbe": {"httpGet": {"path": "/", "port": 8080}, "periodSeconds": 1}}]}})
        wait_for("a ready pod", lambda: any(c["type"] == "Ready" and c["status"] == "True" for c in
                                            b.get("pod", "probed")["status"].get("conditions", [])), 30)


def test_where_nothing_is_allowed(program, kubectl):
    """Neither root nor user namespaces: pods run, Landlock keeps them from Berth's files and each other's, and what is missing
    is told."""
    need_root()
    mark = f"berth-victim-{os.getpid()}"
    with UserBerth(program, kubectl, nothing=True) as b:
        c = next(c for c in b.get("nodes")["items"][0]["status"]["conditions"] if c["type"] == "SandboxComplete")
        check(c["status"] == "False" and "missing: namespaces" in c["message"], str(c))
        check("missing: namespaces" in b.kubectl("get", "--raw", "/readyz?verbose"), "readyz")
        try:
            rows = attack(b, start_victim(b, mark))
        finally: # its queue is the machine's, and some ten fill what a user may have
            unlink_queue(mark)
        if "Landlock" in c["message"] and "no Landlock" not in c["message"]:
            held = [x for x in rows if x.startswith(("reads_", "writes_", "lists_")) and x not in (
                "reads_environment", "reads_shared_memory", "reads_temporary_files", "reads_own_spec")]
            check(len(held) > 12, f"{held}")
            none_crossed({x: rows[x] for x in held})
        done = subprocess.run([*b.become, b.program, "up", "--data", b.root + "/other", "--listen", "127.0.0.1:0", "--gpus", "none",
                               "--runtime", "process", "--require-isolation"], capture_output=True, text=True, timeout=30,
                              env=b.env, check=False)
        check(done.returncode != 0 and "this machine lacks namespaces" in done.stderr, f"{done.returncode} {done.stderr}")


def test_what_can_be_enforced_is_told(program, kubectl):
    """The node's condition, /readyz?verbose and the log say what keeps pods apart."""
    need_root()
    with Berth(program, kubectl, gpus="none", args=["--require-isolation"]) as b:
        node = b.get("nodes")["items"][0]
        c = next(c for c in node["status"]["conditions"] if c["type"] == "SandboxComplete")
        check(c["status"] == "True" and "namespaces" in c["message"] and "Landlock" in c["message"], str(c))
        ready = b.kubectl("get", "--raw", "/readyz?verbose")
        check("[+]isolation ok: namespaces" in ready, ready)
        check("kept apart by namespaces" in open(b.log.name, encoding="utf-8").read(), "nothing in the log")
    # Where a user may not make namespaces there is less, and --require-isolation does not start.
    with UserBerth(program, kubectl) as b:
        node = b.get("nodes")["items"][0]
        c = next(c for c in node["status"]["conditions"] if c["type"] == "SandboxComplete")
        check(c["status"] == "False" and "cgroups" in c["message"], str(c))
        check("[+]isolation in part" in b.kubectl("get", "--raw", "/readyz?verbose"), "readyz")
        done = subprocess.run([*b.become, b.program, "up", "--data",
                               b.root + "/other", "--listen", "127.0.0.1:0", "--gpus", "none", "--runtime", "process",
                               "--require-isolation"], capture_output=True, text=True, timeout=30, env=b.env, check=False)
        check(done.returncode != 0 and "this machine lacks cgroups" in done.stderr, f"{done.returncode} {done.stderr}")


def test_one_project_shares_its_folders(program, kubectl):
    """Pods of one project have users of their own, and may change what another wrote into a folder they share."""
    need_root()
    shared = tempfile.mkdtemp(prefix="berth-shared.")
    os.chmod(shared, 0o755)
    try:
        with Berth(program, kubectl, gpus="none", args=["--host-path", shared]) as b:
            volume = [{"name": "v", "hostPath": {"path": shared + "/team", "type": "DirectoryOrCreate"}}]

            def pod(name, script):
                o = job(name, script, backoffLimit=0)
                spec = o["spec"]["template"]["spec"]
                spec["volumes"] = volume
                spec["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": "/team"}]
                return o
            b.apply(pod("writes", "id -u; mkdir /team/d && echo one > /team/d/f"))
            b.kubectl("wait", "--for=condition=complete", "job/writes", "--timeout=30s")
            b.apply(pod("changes", "id -u; echo two >> /team/d/f && rm -f /team/d/g && cat /team/d/f && touch /team/d/g"))
            b.kubectl("wait", "--for=condition=complete", "job/changes", "--timeout=30s")
            first, second = b.kubectl("logs", "job/writes").split(), b.kubectl("logs", "job/changes").split()
            check(first[0] != second[0] and second[1:] == ["one", "two"], f"{first} {second}")
            b.kubectl("create", "namespace", "other")
            b.apply({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue",
                     "metadata": {"name": "default", "namespace": "other"}, "spec": {"clusterQueue": "default"}})
            o = pod("strange", "touch /team/x && echo written || echo refused")
            o["metadata"]["namespace"] = "other"
            b.apply(o)
            b.kubectl("wait", "-n", "other", "--for=condition=complete", "job/strange", "--timeout=30s")
            check("refused" in b.kubectl("logs", "-n", "other", "job/strange"), "another project wrote there")
    finally:
        shutil.rmtree(shared, ignore_errors=True)


def test_sizes_hold(program, kubectl):
    """A volume in memory is full at its size; who writes more to a folder, or to /tmp, than it may is evicted."""
    need_root()
    with Berth(program, kubectl, gpus="none") as b:
        def pod(name, script, volume, **container):
            o = job(name, script, backoffLimit=0)
            spec = o["spec"]["template"]["spec"]
            spec["volumes"] = [{"name": "v", "emptyDir": volume}]
            spec["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": "/v"}]
            spec["containers"][0]["resources"].update(container)
            return o
        much = "head -c 3000000 /dev/zero > "
        # Where no queue is: the default one has no quota of ephemeral-storage.
        b.kubectl("create", "namespace", "free")
        tmp = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "tmp", "namespace": "free"}, "spec": {
            "restartPolicy": "Never", "containers": [{
                "name": "main", "image": "busybox", "command": ["sh", "-c", much + "/tmp/f; sleep 300"],
                "resources": {"limits": {"ephemeral-storage": "1Mi"}}}]}}
        b.apply(pod("memory", much + "/v/f 2>/dev/null; wc -c < /v/f; grep -c ' /v tmpfs' /proc/mounts",
                    {"medium": "Memory", "sizeLimit": "1Mi"}),
                pod("folder", much + "/v/f; sleep 300", {"sizeLimit": "1Mi"}),
                tmp,
                pod("little", "head -c 300000 /dev/zero > /v/f; sleep 4; echo lived", {"sizeLimit": "1Mi"}))
        b.kubectl("wait", "--for=condition=complete", "job/memory", "job/little", "--timeout=30s")
        check(b.kubectl("logs", "job/memory").split()[-2:] == ["1048576", "1"], b.kubectl("logs", "job/memory"))
        for name, words in (("folder", 'EmptyDir volume "v" exceeds'), ("tmp", "ephemeral local storage usage exceeds")):
            wait_for(f"{name} is evicted", lambda n=name, w=words: [
                e for e in b.get("events", "-A")["items"] if e["reason"] == "Evicted" and w in e["message"] and
                e["involvedObject"]["name"].startswith(n)], 30)


IMAGE = "localhost/berth-isolation:latest"
OWN_LAYER = ("writes_etc", "writes_root")  # files of the container's own, which nobody else sees


def in_image(o):
    return images.in_image(o, IMAGE)


def need_podman():
    if not shutil.which("podman"):
        raise Fail("podman is not installed; scripts/setup check installs it")


def image_attacks(b, mark, spaces=("default",)):
    """Pods in images against a process and against one in an image; a process against one in an image."""
    process, other = start_victim(b, mark), start_victim(b, mark + "-image", "victim-image", change=in_image)
    for ns in spaces:
        for name, env in (("image-process", process), ("image-image", other)):
            rows = attack(b, env, name, ns, in_image)
            check(all(rows[x] == "CROSSED" for x in OWN_LAYER), f"it did not run in the image: {rows}")
            none_crossed(rows, OWN_LAYER + shared_network(b))
        none_crossed(attack(b, other, "process-image", ns), shared_network(b))
    left = [x for x in ("/etc/" + mark, "/" + mark) if os.path.exists(x)]
    check(not left, f"written on the machine: {left}")


def test_in_images_as_root(program, kubectl):
    """The table from inside of images: the same is refused, in the project and from another."""
    need_root()
    need_podman()
    mark = f"berth-victim-{os.getpid()}"
    images.make(IMAGE, "isolation")
    try:
        with Machine(mark), Berth(program, kubectl, gpus="none", args=["--runtime", "auto", "--host-path", "/usr"]) as b:
            b.kubectl("create", "namespace", "other")
            b.apply({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue",
                     "metadata": {"name": "default", "namespace": "other"}, "spec": {"clusterQueue": "default"}})
            check(not shared_network(b), "pods have no networks of their own")
            image_attacks(b, mark, ("default", "other"))
    finally:
        images.forget(IMAGE)


def test_in_images_as_a_user(program, kubectl):
    """Without root: the image is brought here by root and given to the user, whom the machine lets have no podman of its own."""
    need_root()
    need_podman()
    mark = f"berth-victim-{os.getpid()}"
    images.make(IMAGE, "isolation")
    try:
        with Machine(mark), UserBerth(program, kubectl, args=["--runtime", "auto", "--host-path", "/usr"]) as b:
            store = b.data + "/images"
            subprocess.run([program, "image-get", store, "default", IMAGE, "IfNotPresent", "-", "may-pull"], check=True,
                           capture_output=True)
            subprocess.run(["chown", "-R", f"{USER}:{USER}", store], check=True)
            image_attacks(b, mark)
    finally:
        images.forget(IMAGE)


def test_a_limit_that_does_not_hold(program, kubectl):
    """Cgroups that do not take a limit: an event says so; with --require-isolation the pod does not start."""
    need_root()
    fake = tempfile.mkdtemp(prefix="berth-cgroup.")
    try:
        with open(fake + "/cgroup.controllers", "w", encoding="utf-8") as f:
            f.write("cpu memory pids\n")
        os.environ["BERTH_CGROUP_ROOT"] = fake  # folders without the kernel's files
        limits = {"limits": {"memory": "64Mi"}, "requests": {"memory": "64Mi"}}
        with Berth(program, kubectl, gpus="none") as b:
            o = job("told", "sleep 1", backoffLimit=0)
            o["spec"]["template"]["spec"]["containers"][0]["resources"] = limits
            b.apply(o)
            event = wait_for("an event", lambda: next((e for e in b.get("events")["items"]
                                                       if e["reason"] == "LimitNotEnforced"), None), 20)
            check("memory.max" in event["message"], str(event))
        with Berth(program, kubectl, gpus="none", args=["--require-isolation"]) as b:
            b.apply(o)
            wait_for("it fails", lambda: b.get("job", "told").get("status", {}).get("failed"), 20)
            status = pod_of(b, "told")["status"]["containerStatuses"][0]["state"]["terminated"]
            check(status["reason"] == "StartError" and "memory.max" in status["message"], str(status))
    finally:
        os.environ.pop("BERTH_CGROUP_ROOT", None)
        shutil.rmtree(fake, ignore_errors=True)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    sys.exit(run_tests(globals(), lambda f, program, kubectl: f(program, kubectl)))
