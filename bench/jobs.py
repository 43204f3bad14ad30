#!/usr/bin/env python3
"""bench/jobs: many jobs of /bin/true through a real `berth up`, beside Slurm's.   jobs.py BERTH [JOBS [SLURM_JOBS]]

How fast jobs are submitted (keep-alive TLS connections, one a worker process) and completed, how long a job takes from its
submission to the exec of its process, and what processor time it costs: all at once, where a job waits behind the others, and one
at a time on an idle system. The time of the exec is the one that the pod's shim noted in nanoseconds right after it (state.json in
the pod's folder; startedAt in the API is whole seconds).

Two floors of the same run: what this machine does without anybody's help (posix_spawn + wait of /bin/true, one process on each
processor), and Slurm with as little of everything as it can have (bench/slurm.py), where it is installed. What each promises of a
job that it has taken is printed beside it: they do not promise the same.
"""
import base64
import concurrent.futures
import json
import multiprocessing
import os
import re
import resource
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time

import slurm
from meter import Meter

WORKERS, ALONE = 8, 50
# Not below /tmp, which pods have one of their own of.
FOLDER = os.environ.get("BERTH_BENCH_DIR", "/var/tmp")
DURABLE = "a job that was taken is on the disk (fdatasync, in groups) before the answer, as is each state of it"
SLURM_DURABLE = "state is written to files some seconds later, by a thread of its own; a job that was taken last may be lost"


class Api:
    """How to connect as administrator."""

    def __init__(self, kubeconfig, folder):
        with open(kubeconfig, encoding="utf-8") as f:
            text = f.read()
        field = lambda name: base64.b64decode(re.search(name + r": (\S+)", text).group(1))
        self.paths = {}
        for name, key in (("ca", "certificate-authority-data"), ("crt", "client-certificate-data"),
                          ("key", "client-key-data")):
            self.paths[name] = os.path.join(folder, f"bench.{name}")
            with open(self.paths[name], "wb", opener=lambda p, fl: os.open(p, fl, 0o600)) as f:
                f.write(field(key))
        self.host, self.port = re.search(r"server: https://([^:\s]+):(\d+)", text).groups()


class Connection:
    """HTTP/1.1 by hand: a load generator that costs as much as the server measures itself."""

    def __init__(self, api):
        context = ssl.create_default_context(cafile=api.paths["ca"])
        context.load_cert_chain(api.paths["crt"], api.paths["key"])
        plain = socket.create_connection((api.host, int(api.port)), timeout=120)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock = context.wrap_socket(plain, server_hostname=api.host)
        self.host = api.host

    def send(self, method, path, body=b""):
        self.sock.sendall(b"%s %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" %
                          (method.encode(), path.encode(), self.host.encode(), len(body), body))

    def call(self, method, path, body=b""):
        self.send(method, path, body)
        data = b""
        while b"\r\n\r\n" not in data:
            data += self.receive()
        head, data = data.split(b"\r\n\r\n", 1)
        length = re.search(rb"(?i)content-length: (\d+)", head)
        while length and len(data) < int(length.group(1)):
            data += self.receive()
        if not length or not head.startswith(b"HTTP/1.1 2"):
            raise RuntimeError(f"{method} {path}: {head[:200]} {data[:300]}")
        return data

    def receive(self):
        got = self.sock.recv(1 << 16)
        if not got:
            raise RuntimeError("the server hung up")
        return got

    def lines(self):
        """Of an answer in chunks: their sizes come as lines, too, and are nobody's JSON."""
        with self.sock.makefile("rb") as f:
            yield from f


def job(i):
    return json.dumps({"apiVersion": "batch/v1", "kind": "Job",
                       "metadata": {"name": f"true-{i}", "labels": {"kueue.x-k8s.io/queue-name": "default"}},
                       "spec": {"backoffLimit": 0, "template": {"spec": {
                           "restartPolicy": "Never", "terminationGracePeriodSeconds": 0,
                           "containers": [{"name": "main", "image": "none", "command": ["/bin/true"],
                                           "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}}}]}}}}).encode()


def spawn_for(seconds):
    """Processes started and waited for, and the processor time of one."""
    n, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
        n += 1
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return n, sum(u.ru_utime + u.ru_stime for u in used) / n


def floor(seconds=3.0):
    """A second's, one at a time on each processor; the processor time of one."""
    with multiprocessing.Pool(os.cpu_count()) as pool:
        each = pool.map(spawn_for, [seconds] * os.cpu_count())
    return sum(n for n, _ in each) / seconds, sum(used for _, used in each) / len(each)


def post(conn, i):
    sent = time.time()
    conn.call("POST", "/apis/batch/v1/namespaces/default/jobs", job(i))
    return sent


def submit(api, numbers):
    """Creates these jobs; returns when each was sent."""
    conn = Connection(api)
    return {f"true-{i}": post(conn, i) for i in numbers}


def wait_complete(api, count):
    """Follows jobs by watch until so many are complete; the time of the last."""
    conn, done = Connection(api), set()
    conn.send("GET", "/apis/batch/v1/namespaces/default/jobs?watch=true&timeoutSeconds=3000")
    for line in conn.lines():
        if b'"type":"Complete"' not in line and b'"type":"Failed"' not in line:
            continue
        obj = json.loads(line)["object"]
        states = {c["type"] for c in obj.get("status", {}).get("conditions", []) if c["status"] == "True"}
        if "Failed" in states:
            raise RuntimeError(f"{obj['metadata']['name']} failed")
        if "Complete" in states:
            done.add(obj["metadata"]["name"])
        if len(done) >= count:
            return time.time()
    raise RuntimeError("the watch ended early")


def exec_times(data):
    """Name of the job to the time its process was executed."""
    times = {}
    for uid in os.listdir(os.path.join(data, "pods")):
        folder = os.path.join(data, "pods", uid)
        with open(os.path.join(folder, "state.json"), encoding="utf-8") as f:
            state = json.load(f)
        with open(os.path.join(folder, "spec.json"), encoding="utf-8") as f:
            pod = json.load(f)["name"]
        times[pod.rsplit("-", 1)[0]] = state["containers"][0]["end"]["startedNs"] / 1e9
    return times


def child(parent, command):
    """The child of a process whose command line has this word."""
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{p}/stat", encoding="utf-8") as f:
                ppid = int(f.read().rsplit(")", 1)[1].split()[1])
            with open(f"/proc/{p}/cmdline", "rb") as f:
                words = f.read().split(b"\0")
        except OSError:
            continue
        if ppid == parent and command in words:
            return int(p)
    raise RuntimeError(f"process {parent} has no child {command}")


def processes(up):
    node = child(up, b"node")
    found = {"API": up, "node": node, "shims": child(node, b"shim")}
    try:
        found["router"] = child(child(node, b"router"), b"router")
    except RuntimeError:
        pass  # pods have the machine's network
    return found


def cpu(pid):
    """Seconds of processor time: its own and that of the children it has reaped."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return sum(int(x) for x in fields[11:15]) / os.sysconf("SC_CLK_TCK")


def rss(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1)) / 1024


def percentile(values, p):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * p))]


def show(name, value, unit, note=""):
    print(f"  {name:40} {value:10,.{1 if value < 100 else 0}f} {unit:8} {note}".rstrip(), flush=True)


def show_latency(name, values):
    show(f"{name}, p50", percentile(values, .5) * 1000, "ms")
    show(f"{name}, p99", percentile(values, .99) * 1000, "ms")


def show_cpu(used, count, bare):
    if used is None:
        print("  processor time of all of it: not measured here (no cgroup that can be written)")
        return
    each = used / count
    show("processor time a job, all of it", each * 1000, "ms", f"{(each - bare) * 1000:.2f} ms over bare fork and exec")


def alone(api, data, count, first):
    """Jobs one at a time: each is complete before the next is sent."""
    conn, sent = Connection(api), {}
    for i in range(first, first + count):
        sent[f"true-{i}"] = post(conn, i)
        path = f"/apis/batch/v1/namespaces/default/jobs/true-{i}"
        while b'"completionTime"' not in conn.call("GET", path):
            time.sleep(0.005)
    times = exec_times(data)
    return [times[name] - sent[name] for name in sent]


def measure(api, up, data, count, meter, base, bare):
    idle = alone(api, data, ALONE, count)
    pids = processes(up)
    before = {name: (cpu(pid), rss(pid)) for name, pid in pids.items()}
    all_before, begin = meter.seconds(), time.time()
    with concurrent.futures.ProcessPoolExecutor(WORKERS + 1) as pool:
        waiter = pool.submit(wait_complete, api, count + ALONE)
        sent = {}
        for some in pool.map(submit, [api] * WORKERS, [range(w, count, WORKERS) for w in range(WORKERS)]):
            sent.update(some)
        submitted = time.time()
        end = waiter.result()
    all_after = meter.seconds()
    times = exec_times(data)
    print(f"berth: {DURABLE}; every wall of docs/threats.md")
    show("submitted", count / (submitted - begin), "jobs/s")
    show("completed", count / (end - begin), "jobs/s", f"{count / (end - begin) / base:.3f} of the floor")
    show_latency("submit to exec, all at once", [times[name] - at for name, at in sent.items()])
    show_latency("submit to exec, one at a time", idle)
    show_cpu(None if all_after is None else all_after - all_before, count, bare)
    for name, pid in pids.items():
        used, memory = cpu(pid) - before[name][0], rss(pid)
        show(f"  {name}", used / count * 1000, "ms", f"{memory:,.0f} MiB resident, "
             f"{(memory - before[name][1]) * 1024 / count:.1f} KiB a finished job")


def run_berth(berth, count, base, bare):
    folder = tempfile.mkdtemp(prefix="berth-bench.", dir=FOLDER)
    data, meter = os.path.join(folder, "data"), Meter("berth")
    log = open(os.path.join(folder, "log"), "wb")
    up = subprocess.Popen([berth, "up", "--data", data, "--listen", "127.0.0.1:0", "--gpus", "none", "--runtime",
                           "process", "--dashboard", "none", "--keep-pods", "0"],
                          stdout=subprocess.PIPE, stderr=log, preexec_fn=meter.join)
    try:
        line = up.stdout.readline().decode()
        if not line.startswith("berth: ready"):
            raise RuntimeError(f"berth up said {line!r}")
        api = Api(os.path.join(data, "kubeconfig"), folder)
        conn = Connection(api)
        while not json.loads(conn.call("GET", "/apis/kueue.x-k8s.io/v1beta2/localqueues"))["items"]:
            time.sleep(0.1)
        time.sleep(1)  # the node is ready, and has made its networks ahead
        measure(api, up.pid, data, count, meter, base, bare)
    finally:
        subprocess.run([berth, "down", "--data", data], capture_output=True, check=False, timeout=120)
        up.wait(timeout=60)
        log.close()
        meter.close()
        shutil.rmtree(folder, ignore_errors=True)


def submit_slurm(s, numbers):
    return {i: s.submit(i) for i in numbers}


def run_slurm(count, base, bare):
    folder, meter = tempfile.mkdtemp(prefix="berth-bench-slurm.", dir=FOLDER), Meter("slurm")
    s = None
    try:
        s = slurm.Slurm(folder, meter)
        idle = []
        for i in range(count, count + ALONE // 2):
            sent = s.submit(i)
            while s.began(i) is None:
                time.sleep(0.005)
            idle.append(s.began(i) - sent)
        s.wait_empty()
        used, begin = meter.seconds(), time.time()
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            sent = {}
            for some in pool.map(submit_slurm, [s] * WORKERS, [range(w, count, WORKERS) for w in range(WORKERS)]):
                sent.update(some)
        submitted = time.time()
        s.wait_empty()
        end = time.time()
        print(f"slurm {s.ask('sinfo', '--version').split()[-1]}: {SLURM_DURABLE}; no walls")
        show("submitted", count / (submitted - begin), "jobs/s", "a process of sbatch each")
        show("completed", count / (end - begin), "jobs/s", f"{count / (end - begin) / base:.3f} of the floor")
        show_latency("submit to the job's shell, all at once", [s.began(i) - at for i, at in sent.items()])
        show_latency("submit to the job's shell, one at a time", idle)
        show_cpu(None if used is None else meter.seconds() - used, count, bare)
    finally:
        if s:
            s.close()
        meter.close()
        shutil.rmtree(folder, ignore_errors=True)


def main():
    berth = os.path.realpath(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 10000
    slurm_count = int(sys.argv[3]) if len(sys.argv) > 3 else 1000
    print(f"{count} jobs of /bin/true, {WORKERS} connections, {os.cpu_count()} processors")
    base, bare = floor()
    show("floor: spawn + wait of /bin/true", base, "/s", f"{bare * 1000:.2f} ms of processor each")
    run_berth(berth, count, base, bare)
    lacks = slurm.missing()
    if slurm_count == 0:
        return
    if lacks or os.geteuid() != 0:
        print("slurm: not measured, " + (f"{lacks} is not installed (apt-get install slurm-wlm)" if lacks else "it takes root"))
        return
    run_slurm(slurm_count, base, bare)


main()
