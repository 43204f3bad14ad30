#!/usr/bin/env python3
"""bench/jobs: 10,000 jobs of /bin/true through a real `berth up`.   jobs.py BERTH [JOBS]

Measures how fast jobs are submitted (one keep-alive TLS connection a worker), how fast they complete, and how long a job
takes from its creation to the exec of its process (submit-to-exec: the container's startedAt, whose precision is one
second on the wire, is too coarse, so each process writes its start time in nanoseconds to its log). The floor is what this
machine does without Berth: posix_spawn + wait of /bin/true, on as many processors, in the same run.
"""
import concurrent.futures
import http.client
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
import base64

WORKERS = 8


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
        self.context = ssl.create_default_context(cafile=paths["ca"])
        self.context.load_cert_chain(paths["crt"], paths["key"])
        self.host, self.port = re.search(r"server: https://([^:\s]+):(\d+)", text).groups()

    def connect(self):
        return http.client.HTTPSConnection(self.host, int(self.port), context=self.context, timeout=120)


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


def floor(seconds=3.0):
    """Processes started and waited for, one at a time on each processor."""
    def work():
        n, end = 0, time.monotonic() + seconds
        while time.monotonic() < end:
            os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
            n += 1
        return n
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return sum(pool.map(lambda _: work(), range(os.cpu_count()))) / seconds


def submit(api, worker, count, created):
    conn = api.connect()
    for i in range(worker, count, WORKERS):
        created[i] = time.time()
        call(conn, "POST", "/apis/batch/v1/namespaces/default/jobs", job(i))


def wait_complete(api, count, created, started):
    """Follows pods and jobs by watch until all jobs are complete; notes when each pod was first seen started."""
    conn = api.connect()
    conn.request("GET", "/apis/batch/v1/namespaces/default/jobs?watch=true&timeoutSeconds=3000")
    answer = conn.getresponse()
    done = set()
    while len(done) < count:
        line = answer.readline()
        if not line:
            raise RuntimeError("the watch ended early")
        event = json.loads(line)
        obj = event["object"]
        for c in obj.get("status", {}).get("conditions", []):
            if c["type"] == "Failed" and c["status"] == "True":
                raise RuntimeError(f"{obj['metadata']['name']} failed: {c}")
            if c["type"] == "Complete" and c["status"] == "True":
                done.add(obj["metadata"]["name"])
    return time.time()


def exec_times(api, data):
    """Name of the job to the time its process was executed, from the shims' state files."""
    times = {}
    conn = api.connect()
    uids = {}
    token = ""
    while True:
        page = call(conn, "GET", f"/api/v1/namespaces/default/pods?limit=500&continue={token}")
        for p in page["items"]:
            uids[p["metadata"]["uid"]] = p["metadata"]["labels"]["batch.kubernetes.io/job-name"]
        token = page["metadata"].get("continue", "")
        if not token:
            break
    for uid, name in uids.items():
        try:
            with open(os.path.join(data, "pods", uid, "state.json"), encoding="utf-8") as f:
                state = json.load(f)
        except OSError:
            continue
        stamps = [c["started_ns"] for c in state.get("containers", []) if c.get("started_ns")]
        if stamps:
            times[name] = min(stamps) / 1e9
    return times


def percentile(values, p):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * p))]


def main():
    berth, count = os.path.realpath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10000
    folder = tempfile.mkdtemp(prefix="berth-bench.")
    data = os.path.join(folder, "data")
    log = open(os.path.join(folder, "log"), "wb")
    up = subprocess.Popen([berth, "up", "--data", data, "--listen", "127.0.0.1:0", "--gpus", "none"],
                          stdout=subprocess.PIPE, stderr=log)
    try:
        line = up.stdout.readline().decode()
        if not line.startswith("berth: ready"):
            raise RuntimeError(f"berth up said {line!r}")
        api = Api(os.path.join(data, "kubeconfig"), folder)
        conn = api.connect()
        while "items" not in (r := call(conn, "GET", "/apis/kueue.x-k8s.io/v1beta2/localqueues")) or not r["items"]:
            time.sleep(0.1)
        base = floor()
        created, begin = [0.0] * count, time.time()
        with concurrent.futures.ThreadPoolExecutor(WORKERS + 1) as pool:
            waiter = pool.submit(wait_complete, api, count, created, {})
            list(pool.map(lambda w: submit(api, w, count, created), range(WORKERS)))
            submitted = time.time()
            end = waiter.result()
        times = exec_times(api, data)
        lat = [(times[f"true-{i}"] - created[i]) * 1000 for i in range(count) if f"true-{i}" in times]
        print(f"{count} jobs of /bin/true, {WORKERS} connections, {os.cpu_count()} processors")
        print(f"  {'floor: spawn + wait of /bin/true':36} {base:10.0f} /s")
        print(f"  {'submitted':36} {count / (submitted - begin):10.0f} jobs/s")
        print(f"  {'completed':36} {count / (end - begin):10.0f} jobs/s   {count / (end - begin) / base:.3f} of the floor")
        if lat:
            print(f"  {'submit to exec, p50 / p99':36} {percentile(lat, .5):10.0f} / {percentile(lat, .99):.0f} ms"
                  f"   ({len(lat)} jobs)")
    finally:
        subprocess.run([berth, "down", "--data", data], capture_output=True, check=False, timeout=120)
        up.wait(timeout=60)
        log.close()
        shutil.rmtree(folder, ignore_errors=True)


main()
