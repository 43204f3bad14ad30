#!/usr/bin/env python3
"""bench/jobs: many jobs of /bin/true through a real `berth up`.   jobs.py BERTH [JOBS]

Measures how fast jobs are submitted (keep-alive TLS connections, one a worker process), how fast they complete, and how
long a job takes from its submission to the exec of its process: the time before its POST is sent, to the time in
nanoseconds that its shim noted right before the exec (state.json in the pod's folder; startedAt in the API is whole
seconds). Two ways: all at once, where a job waits behind the others, and one at a time on an idle system. The floor is
what this machine does without Berth: posix_spawn + wait of /bin/true, one process on each processor, in the same run.
Processor time and memory are the processes' own, from /proc.
"""
import base64
import concurrent.futures
import http.client
import json
import multiprocessing
import os
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import time

WORKERS, ALONE = 8, 50


class Api:
    """A keep-alive connection as administrator."""

    def __init__(self, kubeconfig, folder):
        with open(kubeconfig, encoding="utf-8") as f:
            text = f.read()
        field = lambda name: base64.b64decode(re.search(name + r": (\S+)", text).group(1))
        paths = {}
        for name, key in (("ca", "certificate-authority-data"), ("crt", "client-certificate-data"),
                          ("key", "client-key-data")):
            paths[name] = os.path.join(folder, f"bench.{name}")
            with open(paths[name], "wb", opener=lambda p, fl: os.open(p, fl, 0o600)) as f:
                f.write(field(key))
        self.paths = paths
        self.host, self.port = re.search(r"server: https://([^:\s]+):(\d+)", text).groups()

    def connect(self):
        context = ssl.create_default_context(cafile=self.paths["ca"])
        context.load_cert_chain(self.paths["crt"], self.paths["key"])
        return http.client.HTTPSConnection(self.host, int(self.port), context=context, timeout=120)


def call(conn, method, path, body=None):
    conn.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": "application/json"})
    answer = conn.getresponse()
    data = answer.read()
    if answer.status >= 300:
        raise RuntimeError(f"{method} {path}: {answer.status} {data[:300]}")
    return json.loads(data)


def job(i):
    return {"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": f"true-{i}", "labels": {"kueue.x-k8s.io/queue-name": "default"}},
            "spec": {"backoffLimit": 0, "template": {"spec": {
                "restartPolicy": "Never", "terminationGracePeriodSeconds": 0,
                "containers": [{"name": "main", "image": "none", "command": ["/bin/true"],
                                "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}}}]}}}}


def spawn_for(seconds):
    n, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
        n += 1
    return n


def floor(seconds=3.0):
    """Processes started and waited for in a second, one at a time on each processor."""
    with multiprocessing.Pool(os.cpu_count()) as pool:
        return sum(pool.map(spawn_for, [seconds] * os.cpu_count())) / seconds


def submit(api, numbers):
    """Creates these jobs; returns when each was sent."""
    conn, sent = api.connect(), {}
    for i in numbers:
        sent[f"true-{i}"] = time.time()
        call(conn, "POST", "/apis/batch/v1/namespaces/default/jobs", job(i))
    return sent


def wait_complete(api, count):
    """Follows jobs by watch until so many are complete; the time of the last."""
    conn = api.connect()
    conn.request("GET", "/apis/batch/v1/namespaces/default/jobs?watch=true&timeoutSeconds=3000")
    answer = conn.getresponse()
    done = set()
    while len(done) < count:
        line = answer.readline()
        if not line:
            raise RuntimeError("the watch ended early")
        if b'"type":"Complete"' not in line and b'"type":"Failed"' not in line:
            continue
        obj = json.loads(line)["object"]
        for c in obj.get("status", {}).get("conditions", []):
            if c["type"] == "Failed" and c["status"] == "True":
                raise RuntimeError(f"{obj['metadata']['name']} failed: {c}")
            if c["type"] == "Complete" and c["status"] == "True":
                done.add(obj["metadata"]["name"])
    return time.time()


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
    return {"API": up, "node": node, "shims": child(node, b"shim")}


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
    print(f"  {name:36} {value:10,.0f} {unit:8} {note}".rstrip(), flush=True)


def alone(api, data, count, first):
    """Jobs one at a time: each is complete before the next is sent."""
    sent = {}
    for i in range(first, first + count):
        sent.update(submit(api, [i]))
        conn = api.connect()
        path = f"/apis/batch/v1/namespaces/default/jobs/true-{i}"
        while not call(conn, "GET", path).get("status", {}).get("completionTime"):
            time.sleep(0.005)
    times = exec_times(data)
    return [(times[name] - sent[name]) * 1000 for name in sent]


def measure(api, up, data, count):
    print(f"{count} jobs of /bin/true, {WORKERS} connections, {os.cpu_count()} processors")
    base = floor()
    show("floor: spawn + wait of /bin/true", base, "/s")
    idle = alone(api, data, ALONE, count)
    pids = processes(up)
    before = {name: (cpu(pid), rss(pid)) for name, pid in pids.items()}
    begin = time.time()
    with concurrent.futures.ProcessPoolExecutor(WORKERS + 1) as pool:
        waiter = pool.submit(wait_complete, api, count + ALONE)
        sent = {}
        for some in pool.map(submit, [api] * WORKERS, [range(w, count, WORKERS) for w in range(WORKERS)]):
            sent.update(some)
        submitted = time.time()
        end = waiter.result()
    times = exec_times(data)
    lat = [(times[name] - at) * 1000 for name, at in sent.items()]
    show("submitted", count / (submitted - begin), "jobs/s")
    show("completed", count / (end - begin), "jobs/s", f"{count / (end - begin) / base:.3f} of the floor")
    show("submit to exec, all at once, p50", percentile(lat, .5), "ms")
    show("submit to exec, all at once, p99", percentile(lat, .99), "ms")
    show("submit to exec, one at a time, p50", percentile(idle, .5), "ms")
    show("submit to exec, one at a time, p99", percentile(idle, .99), "ms")
    for name, pid in pids.items():
        used, memory = cpu(pid) - before[name][0], rss(pid)
        show(f"{name}: processor time a job", used / count * 1e6, "us", f"{memory:,.0f} MiB resident, "
             f"{(memory - before[name][1]) * 1024 / count:.1f} KiB a finished job")


def main():
    berth, count = os.path.realpath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10000
    folder = tempfile.mkdtemp(prefix="berth-bench.", dir="/var/tmp")
    data = os.path.join(folder, "data")
    log = open(os.path.join(folder, "log"), "wb")
    up = subprocess.Popen([berth, "up", "--data", data, "--listen", "127.0.0.1:0", "--gpus", "none", "--runtime",
                           "process"],
                          stdout=subprocess.PIPE, stderr=log)
    try:
        line = up.stdout.readline().decode()
        if not line.startswith("berth: ready"):
            raise RuntimeError(f"berth up said {line!r}")
        api = Api(os.path.join(data, "kubeconfig"), folder)
        conn = api.connect()
        while "items" not in (r := call(conn, "GET", "/apis/kueue.x-k8s.io/v1beta2/localqueues")) or not r["items"]:
            time.sleep(0.1)
        measure(api, up.pid, data, count)
    finally:
        subprocess.run([berth, "down", "--data", data], capture_output=True, check=False, timeout=120)
        up.wait(timeout=60)
        log.close()
        shutil.rmtree(folder, ignore_errors=True)


main()
