#!/usr/bin/env python3
"""disk: a full disk, backups under load, damaged files, and SIGTERM under load.   disk.py BERTH SMALL-FOLDER|- [NAME...]

SMALL-FOLDER is a mounted file system of a few MiB that may be filled; "-" leaves that test out.
"""
import os
import queue
import random
import shutil
import signal
import sys
import threading
import time

from client import CLUSTERQUEUES, CONFIGMAPS, JOBS, MERGE, PODS, WORKLOADS, Lost, Mortal, Watch, check, context, run_tests, \
    wait_for
from harness import job

PROGRAM, SMALL = sys.argv[1], sys.argv[2]
FILES = ("berth.db", "berth.db-wal", "berth.mark", "audit.log")
POLICIES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"


def config(name, value):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"v": value}}


def values(api):
    return {i["metadata"]["name"]: i["data"]["v"] for i in api.ok("GET", CONFIGMAPS)["items"] if "v" in i.get("data", {})}


def fill(path):
    """Takes the rest of the file system, to the last byte."""
    with open(path, "ab", buffering=0) as f:
        for size in (1 << 20, 4096, 1):
            try:
                while f.write(b"x" * size) == size:
                    pass
            except OSError:
                pass


def refusals(api, known):
    """Writes until the disk is full, and a few more: the first refusal of each verb."""
    seen = {}
    for i in range(4000):
        name = f"f{i % 40}"
        verb = "DELETE" if name in known and i % 7 == 0 else "PATCH" if name in known else "POST"
        path = CONFIGMAPS if verb == "POST" else f"{CONFIGMAPS}/{name}"
        value = str(i) + "y" * 2000
        body = {"DELETE": None, "PATCH": {"data": {"v": value}}, "POST": config(name, value)}[verb]
        code, got = api(verb, path, body, MERGE if verb == "PATCH" else "application/json")
        if code >= 400:
            check(code == 503 and got["reason"] == "ServiceUnavailable" and "disk is full" in got["message"],
                  f"{verb} on a full disk: {code} {got}")
            seen.setdefault(verb, got["message"])
            if len(seen) == 3:
                return seen
        elif verb == "DELETE":
            del known[name]
        else:
            known[name] = value
    return seen


def test_full_disk():
    """Writes fail with a clear error but deletions and starts work, reads and watches go on, nothing is half-done, and space
    heals it."""
    if SMALL == "-":
        return "(left out: no small file system)"
    with Mortal(PROGRAM, None, gpus="none", data=os.path.join(SMALL, "data")) as b:
        api, known, filler = b.api(), {}, os.path.join(SMALL, "filler")
        watch = Watch(context(b.data), b.port, f"{CONFIGMAPS}?watch=1&labelSelector=seen%3Dyes")
        for i in range(20):
            api.ok("POST", CONFIGMAPS, config(f"f{i}", "old"))
            known[f"f{i}"] = "old"
        for i in range(6):
            api.ok("POST", CONFIGMAPS, config(f"kept{i}", "old"))
            known[f"kept{i}"] = "old"
        api.ok("POST", PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "filler"}, "spec": {
            "restartPolicy": "Never", "terminationGracePeriodSeconds": 1,
            "containers": [{"name": "c", "image": "i", "command": ["sleep", "900"]}]}})
        wait_for("the pod runs", lambda: api.ok("GET", f"{PODS}/filler")["status"].get("phase") == "Running", 30)
        dying = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "dying", "finalizers": ["example.com/mine"]}}
        api.ok("POST", CONFIGMAPS, dying)
        api.ok("DELETE", f"{CONFIGMAPS}/dying")
        fill(filler)
        seen = refusals(api, known)
        code, got = api("PATCH", f"{CONFIGMAPS}/dying", {"data": {"more": "z" * 3000}}, MERGE)
        check(code == 503 and "disk is full" in got["message"], f"what is being deleted grows on a full disk: {code} {got}")
        check(seen.keys() == {"POST", "PATCH"}, f"refused on a full disk: {seen}")
        check(values(api) == known, "after refusals the list is not what was acknowledged")
        for name in ("kept0", "kept1"):  # who frees is let in, and who fills is taken off
            api.ok("DELETE", f"{CONFIGMAPS}/{name}")
            del known[name]
        api.ok("DELETE", f"{PODS}/filler")
        wait_for("the pod is gone", lambda: api("GET", f"{PODS}/filler")[0] == 404, 30)
        fill(filler)
        check(values(api) == known, "after refusals the list is not what was acknowledged")
        code, got = api("DELETE", f"{CONFIGMAPS}?fieldSelector=metadata.name%3Df1")
        check(code == 503 or "f1" not in values(api), f"deletecollection: {code} {got}")
        known = values(api)
        check(b.process.poll() is None, "the process has ended")
        code, said = api("GET", "/readyz", accept="*/*")
        check(code == 503 and "disk is full" in said, f"readyz on a full disk: {code} {said}")
        check("berth_store_refuses_writes 1" in api("GET", "/metrics", accept="*/*")[1], "the metric does not say so")
        os.unlink(filler)
        wait_for("readyz, which nobody's write tells", lambda: api("GET", "/readyz", accept="*/*")[0] == 200, 10)
        made = config("after", "1")
        made["metadata"]["labels"] = {"seen": "yes"}
        wait_for("writes work again", lambda: api("POST", CONFIGMAPS, made)[0] in (201, 409), 10)
        event = watch.next()
        check(event and event["type"] == "ADDED" and event["object"]["metadata"]["name"] == "after", f"watch: {event}")
        known["after"] = "1"
        check(values(api) == known, "after space came back")
        b.kill()
        b.up()
        check(values(b.api()) == known, "after kill -9")
        watch.close()
        fill(filler)
        refusals(b.api(), known)
        b.kill()
        b.spawn()
        b.ready()
        check(values(b.api()) == known, "after a start on the full disk")
        refusals(b.api(), known)
        for name in ("kept2", "kept3"):
            b.api().ok("DELETE", f"{CONFIGMAPS}/{name}")
            del known[name]
        b.stop()
        fill(filler)
        b.up()
        check(values(b.api()) == known, "after an orderly end and a start on the full disk")
        refusals(b.api(), known)
        b.api().ok("DELETE", f"{CONFIGMAPS}/kept4")
        del known["kept4"]
        os.unlink(filler)
        b.stop()
        b.up()
        check(values(b.api()) == known, "with room again")
        b.stop()
        shutil.rmtree(b.data)  # the next test has the whole of the small disk
        return f"({seen['POST']})"


def test_a_pod_that_fills_the_disk():
    """It is evicted, and says why, and what it wrote goes; one that writes little stays; writes work again."""
    if SMALL == "-":
        return "(left out: no small file system)"
    with Mortal(PROGRAM, None, gpus="none", data=os.path.join(SMALL, "filled")) as b:
        api = b.api()
        status = lambda name: api.ok("GET", f"{PODS}/{name}")["status"]  # noqa: E731
        for name, script in (("small", "sleep 900"), ("large", "echo kept; yes > x; sleep 900")):
            api.ok("POST", PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
                "restartPolicy": "Never", "terminationGracePeriodSeconds": 1,
                "containers": [{"name": "c", "image": "i", "command": ["sh", "-c", script]}]}})
            if name == "small":  # before the disk is full: what starts on a full disk may wait
                wait_for("it runs", lambda: status("small").get("phase") == "Running", 30)
        wait_for("it is evicted", lambda: status("large").get("reason") == "Evicted", 60)
        check(status("large")["phase"] == "Failed" and "low on disk" in status("large")["message"], f"{status('large')}")
        check(status("small")["phase"] == "Running", f"{status('small')}")
        # What it wrote goes though its object stays, and nobody else has to.
        wait_for("writes work again", lambda: api("POST", CONFIGMAPS, config("after", "1"))[0] in (201, 409), 30)
        check(status("small")["phase"] == "Running", f"{status('small')}")
        check("kept" in api("GET", f"{PODS}/large/log", accept="*/*")[1], "the log of the evicted pod is gone")
        api.ok("DELETE", f"{PODS}/small")  # it would outlive the test
        wait_for("it is gone", lambda: api("GET", f"{PODS}/small")[0] == 404, 60)
        b.stop()
        shutil.rmtree(b.data)
    return ""


QUOTA = 1
SPEC = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}


def queue_objects(api):
    kueue, group = "/apis/kueue.x-k8s.io/v1beta2", {"apiVersion": "kueue.x-k8s.io/v1beta2"}
    flavors = [{"name": "f", "resources": [{"name": "cpu", "nominalQuota": QUOTA}]}]
    api.ok("POST", f"{kueue}/resourceflavors", {**group, "kind": "ResourceFlavor", "metadata": {"name": "f"}})
    api.ok("POST", CLUSTERQUEUES, {
        **group, "kind": "ClusterQueue", "metadata": {"name": "q"},
        "spec": {"namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}]}})
    api.ok("POST", f"{kueue}/namespaces/default/localqueues",
           {**group, "kind": "LocalQueue", "metadata": {"name": "q"}, "spec": {"clusterQueue": "q"}})


def workload(name):
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": name},
            "spec": {"queueName": "q", "podSets": [{"name": "main", "count": 1, "template": {"spec": SPEC}}]}}


class Load:
    """Creates Workloads, ends each that it sees admitted, and adds up from the watch how many hold quota."""

    def __init__(self, b):
        self.b, self.made, self.done, self.held, self.most, self.refused = b, set(), set(), set(), 0, 0
        self.to_end, self.stop, self.error = queue.Queue(), False, None
        threads = [threading.Thread(target=self.run, args=(f,), daemon=True) for f in (self.create, self.watch, self.end)]
        for t in threads:
            t.start()
        self.creator = threads[0]

    def run(self, f):
        try:
            f()
        except Exception as e:  # told to the main thread
            self.error = self.error or e

    def create(self):
        api = self.b.api()
        for i in range(100000):
            while not self.stop:
                code, got = api("POST", WORKLOADS, workload(f"w{i}"))
                if code == 201:
                    self.made.add(f"w{i}")
                    break
                check(code == 503 and "disk is full" in got["message"], f"a create: {code} {got}")
                self.refused += 1
                time.sleep(0.05)
            if self.stop:
                return
            time.sleep(0.005)

    def watch(self):
        watch = Watch(context(self.b.data), self.b.port, f"{WORKLOADS}?watch=1", seconds=60)
        while (event := watch.next()) is not None:
            name, status = event["object"]["metadata"]["name"], event["object"].get("status", {})
            true = {c["type"] for c in status.get("conditions", []) if c["status"] == "True"}
            if "Finished" in true:
                self.held.discard(name)
                self.done.add(name)
            elif "QuotaReserved" in true and name not in self.held:
                self.held.add(name)
                self.most = max(self.most, len(self.held))
            if "Admitted" in true and "Finished" not in true:
                self.to_end.put((name, status["conditions"]))
        watch.close()

    def end(self):
        api = self.b.api()
        while True:
            name, conditions = self.to_end.get()
            ended = {"type": "Finished", "status": "True", "reason": "ByTest", "message": "-",
                     "lastTransitionTime": "2026-01-01T00:00:00Z"}
            while api("PATCH", f"{WORKLOADS}/{name}/status", {"status": {"conditions": conditions + [ended]}}, MERGE)[0] != 200:
                time.sleep(0.05)


def test_full_disk_under_load():
    """The disk is full in the middle of a load: admissions stop, nothing is lost or given twice, all goes on with room."""
    if SMALL == "-":
        return "(left out: no small file system)"
    with Mortal(PROGRAM, None, gpus="none", data=os.path.join(SMALL, "loaded"), args=["--no-node"]) as b:
        api, filler = b.api(), os.path.join(SMALL, "filler")
        queue_objects(api)
        load = Load(b)
        wait_for("some have ended", lambda: len(load.done) >= 40 or load.error, 30)
        fill(filler)
        wait_for("writes are refused", lambda: load.refused >= 5 or load.error, 30)
        code, said = api("GET", "/readyz", accept="*/*")
        check(code == 503 and "disk is full" in said, f"readyz on a full disk: {code} {said}")
        ended, refused = len(load.done), load.refused
        time.sleep(2)
        admitted = len(load.done) - ended
        check(load.refused > refused and admitted < 20, f"{admitted} ended on a full disk, {load.refused - refused} were refused")
        check(b.log_text().count("writes are refused") == 1, f"the log: {b.log_text()[-900:]}")
        os.unlink(filler)
        made = len(load.made)
        wait_for("the load goes on", lambda: len(load.made) >= made + 40 or load.error, 30)
        load.stop = True
        load.creator.join(30)
        wait_for("all have ended", lambda: load.done >= load.made or load.error, 60)
        check(not load.error, f"{load.error!r}")
        check(load.most == QUOTA, f"{load.most} held quota for {QUOTA}")
        have = {o["metadata"]["name"] for o in api.ok("GET", WORKLOADS)["items"]}
        check(have == load.made, f"not what was acknowledged: {have ^ load.made}")
        wait_for("the counters", lambda: api.ok("GET", f"{CLUSTERQUEUES}/q")["status"]["reservingWorkloads"] == 0, 20)
        wait_for("it is ready", lambda: api("GET", "/readyz", accept="*/*")[0] == 200, 10)
        said = b.log_text()
        check(said.count("writes are refused") == 1 and said.count("writes are taken again") == 1, f"the log: {said[-900:]}")
        b.stop()
        shutil.rmtree(b.data)
        return f"({len(load.made)} Workloads, {load.refused} refusals)"


def test_logs_rotate():
    """A pod that writes 80 MiB of log keeps at most its five files of 10 MiB."""
    with Mortal(PROGRAM, None, gpus="none") as b:
        api = b.api()
        api.ok("POST", JOBS, job("loud", "head -c 83886080 /dev/zero | tr '\\0' 'a' | fold -w 1000; echo; echo the end",
                                 queue=None))
        wait_for("it has ended", lambda: api.ok("GET", f"{JOBS}/loud").get("status", {}).get("succeeded"), 60)
        pod = [p for p in api.ok("GET", PODS)["items"]][0]["metadata"]["name"]
        sizes = [os.path.getsize(os.path.join(d, n)) for d, _, names in os.walk(os.path.join(b.data, "pods"))
                 for n in names]
        check(sum(sizes) < 62 << 20 and max(sizes) < 11 << 20, f"the log's files: {sizes}")
        code, text = api("GET", f"{PODS}/{pod}/log?tailLines=1", accept="*/*")
        check(code == 200 and text == "the end\n", f"the end of the log: {code} {text[-80:]!r}")
        b.stop()
        return f"({sum(sizes) >> 20} MiB kept)"


class Chain(threading.Thread):
    """Writes 1, 2, 3, ... to one object, then the same to a second: a prefix never shows the second ahead."""

    def __init__(self, b, index):
        super().__init__(daemon=True)
        self.b, self.index, self.n, self.stop, self.error, self.ended = b, index, 0, False, None, None

    def run(self):
        api = self.b.api()
        try:
            for side in "ab":
                api.ok("POST", CONFIGMAPS, config(f"{side}{self.index}", "0"))
            while not self.stop:
                for side in "ab":
                    api.ok("PATCH", f"{CONFIGMAPS}/{side}{self.index}", {"data": {"v": str(self.n + 1)}}, MERGE)
                self.n += 1
        except Lost as e:
            self.ended = str(e)
        except Exception as e:  # told to the main thread
            self.error = e


def chains(b, n=4):
    out = [Chain(b, i) for i in range(n)]
    for c in out:
        c.start()
    wait_for("every chain writes", lambda: all(c.n > 5 or c.error for c in out))
    return out


def check_prefix(api, floors, ceilings):
    got = values(api)
    for i, (low, high) in enumerate(zip(floors, ceilings)):
        a, b = int(got[f"a{i}"]), int(got[f"b{i}"])
        check(low <= b <= a <= b + 1 and a <= high + 1, f"chain {i}: a {a}, b {b}, acknowledged between {low} and {high}")


def test_backup_under_load():
    """A backup made while it writes at full speed is a state that was, no older than when it was asked for."""
    with Mortal(PROGRAM, None, gpus="none") as b:
        writers = chains(b)
        took = []
        for i in range(4):
            path = os.path.join(b.root, f"backup{i}.db")
            floors = [c.n for c in writers]
            b.berth("backup", "--data", b.data, path)
            took.append((path, floors, [c.n + 1 for c in writers]))
        for c in writers:
            c.stop = True
            c.join(30)
            if c.error:
                raise c.error
        b.stop()
        for i, (path, floors, ceilings) in enumerate(took):
            old, b.data = b.data, os.path.join(b.root, f"restored{i}")
            b.berth("restore", "--data", b.data, path)
            b.up()
            check_prefix(b.api(), floors, ceilings)
            b.stop()
            b.data = old
        return f"({sum(c.n for c in writers) * 2} writes meanwhile)"


def refused(b, what):
    """`berth up` serves, or says why not in one line and exits with 1; it never crashes. True when it refused."""
    size = os.path.getsize(b.log.name)
    b.spawn()
    line = b.process.stdout.readline().decode()
    if line.startswith("berth: ready"):
        b.said_ready(line)
        return False
    code = b.process.wait(30)
    b.process.stdout.close()
    with open(b.log.name, encoding="utf-8", errors="replace") as f:
        f.seek(size)
        said = f.read()
    check(code == 1 and "berth up: " in said and len(said) < 1000 and "Sanitizer" not in said,
          f"{what}: exit {code}: {said[:900]!r}")
    return True


def damage(path, kind, rnd):
    size = os.path.getsize(path)
    with open(path, "r+b") as f:
        if kind == "truncated":
            f.truncate(rnd.randrange(size))
        elif kind == "zeroed":
            f.seek(rnd.randrange(size // 4096) * 4096)
            f.write(bytes(4096))
        else:
            for _ in range(1 if kind == "a bit" else 200):
                at = rnd.randrange(size)
                f.seek(at)
                byte = f.read(1)[0]
                f.seek(at)
                f.write(bytes([byte ^ (1 << rnd.randrange(8))]))


def keep_files(b, name):
    """A copy of the database as it is now: the files that are there."""
    folder = os.path.join(b.root, name)
    os.mkdir(folder)
    for n in FILES:
        if os.path.exists(os.path.join(b.data, n)):
            shutil.copyfile(os.path.join(b.data, n), os.path.join(folder, n))
    return folder


def put_files(b, folder):
    for n in FILES:
        if os.path.exists(os.path.join(folder, n)):
            shutil.copyfile(os.path.join(folder, n), os.path.join(b.data, n))
        elif os.path.exists(os.path.join(b.data, n)):
            os.unlink(os.path.join(b.data, n))


def test_damaged_files():
    """Flipped bits, zeroed pages and cut files: refused with a clear text, or served; never a crash, never a made-up value."""
    seed = random.randrange(1 << 30)
    rnd, counts = random.Random(seed), {}
    with Mortal(PROGRAM, None, gpus="none") as b:
        api = b.api()
        for i in range(150):
            api.ok("POST", CONFIGMAPS, config(f"c{i}", "v" * 500))
        b.kill()
        killed = keep_files(b, "killed")
        b.up()
        b.stop()
        stopped = keep_files(b, "stopped")
        for i in range(36):
            kind = ("a bit", "many bits", "zeroed", "truncated")[i % 4]
            folder, name = (killed, FILES[1]) if i % 3 == 0 else (stopped, FILES[0])
            put_files(b, folder)
            damage(os.path.join(b.data, name), kind, rnd)
            what = f"{name} {kind}, seed {seed}, round {i}"
            no = refused(b, what)
            key = f"{name} {kind} {'refused' if no else 'served'}"
            counts[key] = counts.get(key, 0) + 1
            if not no:
                have = values(b.api())
                wrong, count = {k: v for k, v in have.items() if v != "v" * 500}, len(have)
                b.kill()
                check(not wrong, f"{what}: values that nobody wrote: {str(wrong)[:900]}")
                check(count == 150, f"{what}: served with {count} of 150 objects, in silence")
        put_files(b, stopped)
        with open(os.path.join(b.data, FILES[0]), "wb") as f:
            f.write(b"not a database at all" * 1000)
        check(refused(b, "no database"), "a file that is no database was taken")
    return str(counts)


def test_lost_database():
    """A database that was deleted, emptied or put back from earlier is refused with what to do, by the mark or by the audit log
    alone; accepted, it serves what is there and gives no revision twice."""
    with Mortal(PROGRAM, None, gpus="none") as b:
        b.api().ok("POST", CONFIGMAPS, config("first", "1"))
        b.stop()
        older = keep_files(b, "older")
        b.up()
        last = int(b.api().ok("POST", CONFIGMAPS, config("second", "1"))["metadata"]["resourceVersion"])
        b.stop()
        newest = keep_files(b, "newest")
        for what in ("deleted", "emptied", "older"):
            for known_by in ("berth.mark", "audit.log"):
                put_files(b, newest)
                other = {"berth.mark": "audit.log", "audit.log": "berth.mark"}[known_by]
                os.unlink(os.path.join(b.data, other))
                path = os.path.join(b.data, FILES[0])
                os.unlink(path)
                if what == "emptied":
                    open(path, "wb").close()
                elif what == "older":
                    shutil.copyfile(os.path.join(older, FILES[0]), path)
                check(refused(b, what), f"{what}, known by {known_by}: served in silence")
                with open(b.log.name, encoding="utf-8", errors="replace") as f:
                    check("--accept-loss" in f.read()[-900:], "the refusal does not say what to do")
        put_files(b, newest)
        shutil.copyfile(os.path.join(older, FILES[0]), os.path.join(b.data, FILES[0]))
        b.args.append("--accept-loss")
        b.up()
        b.args.remove("--accept-loss")
        have = values(b.api())
        check("first" in have and "second" not in have, f"after the loss was accepted: {sorted(have)}")
        again = int(b.api().ok("POST", CONFIGMAPS, config("third", "1"))["metadata"]["resourceVersion"])
        check(again > last, f"revision {again} was given out before ({last})")
        b.stop()
        b.up()
        check("third" in values(b.api()), "a start after the loss was accepted")
        b.stop()
    return ""


def test_sigterm_under_load():
    """Four times: exit 0, no answer cut in half, nothing acknowledged lost."""
    total = 0
    with Mortal(PROGRAM, None, gpus="none") as b:
        for _ in range(4):
            api = b.api()
            api.ok("DELETE", CONFIGMAPS)
            writers = chains(b, 8)
            lists = Lister(b)
            lists.start()
            time.sleep(random.uniform(0.05, 0.4))
            b.process.send_signal(signal.SIGTERM)
            code = b.process.wait(30)
            check(code == 0, f"exit {code}")
            b.process.stdout.close()
            for t in writers + [lists]:
                t.join(30)
                if t.error:
                    raise t.error
            b.up()
            check_prefix(b.api(), [c.n for c in writers], [c.n + 1 for c in writers])
            total += sum(c.n for c in writers) * 2
    return f"({total} acknowledged writes)"


class Lister(threading.Thread):
    """Whole lists until the connection ends."""

    def __init__(self, b):
        super().__init__(daemon=True)
        self.b, self.error = b, None

    def run(self):
        api = self.b.api()
        try:
            while True:
                api.ok("GET", POLICIES)
        except Lost:
            pass
        except Exception as e:  # told to the main thread
            self.error = e


if __name__ == "__main__":
    sys.exit(run_tests([(n, f) for n, f in list(globals().items()) if n.startswith("test_")], sys.argv[3:]))
