#!/usr/bin/env python3
"""kill9: `berth up` is killed at random moments under load, and nothing that it acknowledged is lost.   kill9.py BERTH KILLS

Eight connections write ConfigMaps; a witness outside keeps what was acknowledged. Jobs on MIG slices go through the queue at
the same time. After every restart: each object is what the witness says, or what an unanswered request asked for; deleted
ones stay deleted; no revision goes back; a watch from before gets 410. In the end every Job has run exactly as specified.
"""
import random
import re
import sys
import threading
import time

from client import (CLUSTERQUEUES, CONFIGMAPS, JOBS, MERGE, PODS, WORKLOADS, Lost, Mortal, Watch, check,
                    context, run_tests, wait_for)
from harness import job

WRITERS, NAMES, ACTIVE_JOBS = 8, 12, 8
PROFILES = ["1g.18gb", "2g.35gb", "3g.71gb", "1g.18gb"]
SCRIPT = 'echo "$CUDA_VISIBLE_DEVICES start $(date +%s%N)"; sleep 0.2; echo "$CUDA_VISIBLE_DEVICES end $(date +%s%N)"'
MIG = re.compile(r"MIG-[0-9a-f-]{36}")


class Gate:
    """The writers pass while Berth is up; close() returns when all of them stand before it."""

    def __init__(self, n):
        self.lock, self.n, self.waiting, self.open, self.over = threading.Condition(), n, 0, False, False

    def stand(self):
        """After a lost connection, or at any time; False: the test is over."""
        with self.lock:
            if not self.open or self.over:
                self.waiting += 1
                self.lock.notify_all()
                while not self.open and not self.over:
                    self.lock.wait()
                self.waiting -= 1
            return not self.over

    def let(self):
        with self.lock:
            self.open = True
            self.lock.notify_all()

    def close(self):
        with self.lock:
            self.open = False
            while self.waiting < self.n:
                self.lock.wait(30)

    def end(self):
        with self.lock:
            self.over = True
            self.lock.notify_all()


class Writer(threading.Thread):
    """Writes its own names, one request at a time; `known` is name -> (value, revision) or None when deleted."""

    def __init__(self, b, index, gate):
        super().__init__(daemon=True)
        self.b, self.gate, self.random = b, gate, random.Random(index)
        self.names = [f"w{index}-{i}" for i in range(NAMES)]
        self.known = {n: None for n in self.names}
        self.unsure = None  # (name, value) of the request without answer; value None: a delete
        self.counter, self.acknowledged, self.top, self.error = 0, 0, 0, None

    def run(self):
        try:
            while self.gate.stand():
                api = self.b.api()
                try:
                    while self.gate.open:
                        self.write(api)
                except Lost:
                    with self.gate.lock:
                        self.gate.open = False
                api.close()
        except BaseException as e:  # told to the main thread, which fails the test
            self.error = e
            with self.gate.lock:
                self.gate.waiting += 1
                self.gate.lock.notify_all()

    def write(self, api):
        name = self.random.choice(self.names)
        now = self.known[name]
        self.counter += 1
        value = f"{self.counter}"
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"v": value}}
        if now is None:
            self.unsure = (name, value)
            code, got = api("POST", CONFIGMAPS, body)
            check(code == 201, f"create {name}: {code} {got}")
        else:
            kind = self.random.choice(["update", "patch", "patch", "delete"])
            self.unsure = (name, None if kind == "delete" else value)
            if kind == "delete":
                code, got = api("DELETE", f"{CONFIGMAPS}/{name}")
            elif kind == "update":
                body["metadata"]["resourceVersion"] = now[1]
                code, got = api("PUT", f"{CONFIGMAPS}/{name}", body)
            else:
                code, got = api("PATCH", f"{CONFIGMAPS}/{name}", {"data": {"v": value}}, MERGE)
            check(code == 200, f"{kind} {name}: {code} {got}")
        name, value = self.unsure
        self.known[name] = None if value is None else (value, got["metadata"]["resourceVersion"])
        self.unsure = None
        self.acknowledged += 1
        if value is not None:
            self.top = max(self.top, int(got["metadata"]["resourceVersion"]))


class Submitter(threading.Thread):
    """Keeps a few Jobs in the queue until `total` were accepted."""

    def __init__(self, b, gate, total):
        super().__init__(daemon=True)
        self.b, self.gate, self.total, self.accepted, self.error = b, gate, total, 0, None

    def run(self):
        try:
            while self.gate.stand():
                try:
                    self.submit(self.b.api())
                except Lost:
                    time.sleep(0.02)
        except BaseException as e:  # told to the main thread
            self.error = e

    def submit(self, api):
        while self.gate.open and self.accepted < self.total:
            jobs = api.ok("GET", JOBS)["items"]
            if len([j for j in jobs if not finished(j)]) < ACTIVE_JOBS:
                i = self.accepted
                code, got = api("POST", JOBS, job(f"k{i}", SCRIPT, limits={f"nvidia.com/mig-{PROFILES[i % 4]}": 1},
                                                  completions=1 + i % 3, parallelism=2, completionMode="Indexed"))
                check(code in (201, 409), f"job k{i}: {code} {got}")
                self.accepted += 1
            time.sleep(0.05)
        time.sleep(0.05)


def finished(j):
    return [c["type"] for c in j.get("status", {}).get("conditions", [])
            if c["type"] in ("Complete", "Failed") and c["status"] == "True"]


def verify(b, writers, before):
    """The list after a restart against the witnesses; `before` is the revision of the last one."""
    api = b.api()
    got = api.ok("GET", CONFIGMAPS)
    revision = int(got["metadata"]["resourceVersion"])
    check(revision >= max([before] + [w.top for w in writers]), f"the revision went back to {revision} from {before}")
    here = {i["metadata"]["name"]: i for i in got["items"]}
    for w in writers:
        if w.error:
            raise w.error
        for name in w.names:
            item = here.get(name)
            now = item and (item["data"]["v"], item["metadata"]["resourceVersion"])
            if now == w.known[name]:
                continue
            check(w.unsure and w.unsure[0] == name, f"{name}: acknowledged {w.known[name]}, found {now}")
            check((now and now[0]) == w.unsure[1], f"{name}: {w.known[name]} or {w.unsure[1]}, found {now}")
            w.known[name] = now
        w.unsure = None
    again = api.ok("GET", CONFIGMAPS)
    check(again["items"] == got["items"], "two lists after a restart differ")
    check_old_watch(b, before, revision)
    api.close()
    return revision


def check_old_watch(b, before, revision):
    """From a revision before the restart: 410, unless nothing has happened since."""
    if before == 0 or before == revision:
        return
    w = Watch(context(b.data), b.port, f"{CONFIGMAPS}?watch=1&resourceVersion={before}&timeoutSeconds=5")
    event = w.next()
    w.close()
    check(event and event["type"] == "ERROR" and event["object"]["code"] == 410,
          f"a watch from {before}, before the restart at {revision}: {event}")


def kill_loop(b, writers, submitter, gate, kills, seed):
    """Kills at random moments, a few of them before `berth: ready`."""
    rnd, revision = random.Random(seed), 0
    for i in range(kills):
        gate.let()
        time.sleep(rnd.uniform(0, 0.45) if i % 25 else 3)
        b.kill()
        gate.close()
        while rnd.random() < 0.15:
            b.spawn()
            time.sleep(rnd.uniform(0, 0.2))
            b.kill()
        b.up()
        revision = verify(b, writers, revision)
        if submitter.error:
            raise submitter.error
        if i % 20 == 19:
            usage_is_right(b)


def used(queue):
    return {(f["name"], r["name"]): r["total"] for f in queue.get("status", {}).get("flavorsUsage", [])
            for r in f["resources"] if r["total"] != "0"}


def held(api):
    """What the admitted and unfinished Workloads hold, as the queue shows usage."""
    total = {}
    for w in api.ok("GET", WORKLOADS)["items"]:
        types = {c["type"]: c["status"] for c in w.get("status", {}).get("conditions", [])}
        if types.get("QuotaReserved") != "True" or types.get("Finished") == "True":
            continue
        for a in w["status"]["admission"]["podSetAssignments"]:
            for r, flavor in a["flavors"].items():
                total.setdefault((flavor, r), []).append(a["resourceUsage"][r])
    return total


UNITS = {"m": 1, "": 1000, "Ki": 1000 << 10, "Mi": 1000 << 20, "Gi": 1000 << 30, "k": 10**6, "M": 10**9, "G": 10**12}


def milli(text):
    number = re.match(r"\d+", text).group()
    return int(number) * UNITS[text[len(number):]]


def usage_is_right(b):
    """ClusterQueue usage is the sum of its Workloads, as soon as the controllers have said so."""
    api = b.api()

    def same():
        queues = api.ok("GET", CLUSTERQUEUES)["items"]
        shown = {}
        for q in queues:
            for k, v in used(q).items():
                shown[k] = shown.get(k, 0) + milli(v)
        return shown == {k: sum(milli(v) for v in vs) for k, vs in held(api).items()}

    wait_for("usage equals the sum of the admitted Workloads", same, 20)
    api.close()


def check_jobs(b, total):
    """Every Job complete, each index once to success, no slice with two at once."""
    api = b.api()
    wait_for("every Job is finished", lambda: all(finished(j) for j in api.ok("GET", JOBS)["items"]), 90, 0.3)
    jobs, pods = api.ok("GET", JOBS)["items"], api.ok("GET", PODS)["items"]
    check(len(jobs) == total, f"{len(jobs)} Jobs, {total} were accepted")
    spans, runs, failures = {}, 0, 0
    for j in jobs:
        name, want = j["metadata"]["name"], j["spec"]["completions"]
        check(finished(j) == ["Complete"] and j["status"].get("succeeded") == want, f"{name}: {j['status']}")
        mine = [p for p in pods if p["metadata"]["labels"].get("batch.kubernetes.io/job-name") == name]
        done = sorted(int(p["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"]) for p in mine
                      if p["status"]["phase"] == "Succeeded")
        check(done == list(range(want)), f"{name}: indexes that succeeded: {done}")
        for p in mine:
            runs += 1
            failures += p["status"]["phase"] != "Succeeded"
            code, log = api("GET", f"{PODS}/{p['metadata']['name']}/log", accept="*/*")
            words = str(log).split()
            if p["status"]["phase"] == "Succeeded":
                check(code == 200 and len(words) == 6 and words[0] == words[3] and MIG.fullmatch(words[0]),
                      f"{p['metadata']['name']}: {code} {log}")
                spans.setdefault(words[0], []).append((int(words[2]), int(words[5])))
    for uuid, times in spans.items():
        times.sort()
        for (_, end), (start, _) in zip(times, times[1:]):
            check(start >= end, f"{uuid} was held by two at once")
    api.close()
    return runs, failures


def scenario(program, kills):
    gate = Gate(WRITERS)
    with Mortal(program, None) as b:
        writers = [Writer(b, i, gate) for i in range(WRITERS)]
        submitter = Submitter(b, gate, max(12, kills * 2 // 3))
        seed = random.randrange(1 << 30)
        print(f"        seed {seed}", flush=True)
        start = time.monotonic()
        for t in writers:
            t.start()
        submit_gate = submitter.gate = Gate(1)  # stays open: Jobs are submitted at any moment
        submitter.start()
        submit_gate.let()
        kill_loop(b, writers, submitter, gate, kills, seed)
        took = time.monotonic() - start
        gate.end()
        wait_for("all Jobs are accepted", lambda: submitter.accepted == submitter.total or submitter.error, 60)
        submit_gate.end()
        if submitter.error:
            raise submitter.error
        usage_is_right(b)
        runs, failures = check_jobs(b, submitter.total)
        usage_is_right(b)
        n = sum(w.acknowledged for w in writers)
        return f"{kills} kills in {took:.0f} s, {n} acknowledged writes, {runs} pods ({failures} failed)"


if __name__ == "__main__":
    sys.exit(run_tests([("kill9", lambda: scenario(sys.argv[1], int(sys.argv[2])))], []))
