#!/usr/bin/env python3
"""booking: what becomes of a Reservation: its objects, who may use them, what runs where, and its end.

    booking.py BERTH KUBECTL [NAME...]

Each test is a function test_*; prints a line each, closes with "N passed, N failed". Windows are seconds long, which the
policy allows here. All revisions of ClusterQueues and Cohorts are watched: their quota is never more than the hardware.
"""
import base64
import datetime
import http.client
import json
import os
import random
import signal
import ssl
import subprocess
import sys
import threading
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "operate"))
from harness import Berth, Fail, check, job, wait_for  # noqa: E402  pylint: disable=wrong-import-position
from operate import Operate  # noqa: E402  pylint: disable=wrong-import-position

SLICE = "nvidia.com/mig-2g.35gb"
KUEUE = "/apis/kueue.x-k8s.io/v1beta2/"
POLICY = {"granularity": "1m", "minDuration": "1m", "prepLead": "4s", "warnings": ["15s", "8s", "4s"],
          "overstay": "10s"}


def stamp(t):
    return datetime.datetime.fromtimestamp(t, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def minute(seconds):
    """The first full minute, as bookings begin and end, at least so far ahead."""
    return -(-int(time.time() + seconds) // 60) * 60


def now():
    """The minute that is: a booking that begins at once."""
    return int(time.time()) // 60 * 60


def reservation(name, start, end, count=1, resource=SLICE, ns="team", **spec):
    return {"apiVersion": "berth.dev/v1alpha1", "kind": "Reservation", "metadata": {"name": name, "namespace": ns},
            "spec": dict({"start": stamp(start), "end": stamp(end), "lines": [{"resource": resource, "count": count}]},
                         **spec)}


def nominal(o, resource):
    groups = o.get("spec", {}).get("resourceGroups", [])
    return sum(int(r["nominalQuota"]) for g in groups for f in g["flavors"] for r in f["resources"]
               if r["name"] == resource)


class Sums:
    """Watches quota from now to done(); every revision is summed up."""

    def __init__(self, b, resource, most):
        self.b, self.resource, self.most = b, resource, most
        self.events, self.streams, self.threads = [], [], []
        for kind in ("clusterqueues", "cohorts"):
            listed = json.loads(b.kubectl("get", "--raw", KUEUE + kind))
            rv = int(listed["metadata"]["resourceVersion"])
            for o in listed["items"]:
                self.events.append((0, kind, o["metadata"]["name"], nominal(o, resource)))
            stream = subprocess.Popen(
                [b.kubectl_program, "get", "--raw", f"{KUEUE}{kind}?watch=true&resourceVersion={rv}"],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=b.env)
            thread = threading.Thread(target=self.read, args=(kind, stream.stdout), daemon=True)
            thread.start()
            self.streams.append(stream)
            self.threads.append(thread)

    def read(self, kind, stream):
        for line in stream:
            try:
                e = json.loads(line)
            except ValueError:
                return
            o = e["object"]
            if e["type"] in ("ADDED", "MODIFIED", "DELETED"):
                amount = 0 if e["type"] == "DELETED" else nominal(o, self.resource)
                self.events.append((int(o["metadata"]["resourceVersion"]), kind, o["metadata"]["name"], amount))

    def done(self, killed=False):
        time.sleep(0.2)
        for s in self.streams:
            if s.poll() is None:
                s.kill()
            s.wait()
        for t in self.threads:
            t.join(10)
        # A server that is killed may have told of a later change on one stream, and not of an earlier one on the other:
        # what is there afterwards says so, and in between nothing is known.
        lost = {}
        if killed:
            there = {(kind, o["metadata"]["name"]): o for kind in ("clusterqueues", "cohorts")
                     for o in json.loads(self.b.kubectl("get", "--raw", KUEUE + kind))["items"]}
            for key in {e[1:3] for e in self.events} | set(there):
                last = max([e[0] for e in self.events if e[1:3] == key], default=0)
                rv = int(there[key]["metadata"]["resourceVersion"]) if key in there else 1 << 62
                if rv > last:
                    lost[key] = (last, rv)
                    if key in there:
                        self.events.append((rv, *key, nominal(there[key], self.resource)))
        now, seen = {}, 0
        for rv, kind, name, amount in sorted(self.events, key=lambda e: e[0]):
            now[kind, name] = amount
            total = sum(now.values())
            seen += rv > 0
            known = all(not last < rv < then for last, then in lost.values())
            check(rv == 0 or not known or total <= self.most,
                  f"{total} of {self.most} {self.resource} at revision {rv}: {now}")
        return seen


class World(Berth):
    """One GPU of simulated H200 unless told otherwise, a project `team` with a queue, short windows."""

    def __init__(self, program, kubectl, gpus="sim:1xh200"):
        super().__init__(program, kubectl, gpus)

    def __enter__(self):
        super().__enter__()
        wait_for("the pool", lambda: self.has("cohort", "pool") and self.has("localqueue", "default"))
        wait_for("the policy", lambda: self.has("reservationpolicy", "default"))
        self.policy()
        self.kubectl("create", "namespace", "team")
        self.apply({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue",
                    "metadata": {"name": "default", "namespace": "team"}, "spec": {"clusterQueue": "default"}})
        return self

    def policy(self, **more):
        self.kubectl("patch", "reservationpolicy", "default", "--type=merge", "-p",
                     json.dumps({"spec": dict(POLICY, **more)}))

    def has(self, kind, name, ns="default"):
        return self.kubectl("get", kind, name, "-n", ns, ok=False).returncode == 0

    def reservation(self, name, ns="team"):
        return self.get("reservation", name, "-n", ns)

    def phase(self, name, *phases, seconds=30):
        def there():
            r = self.reservation(name)
            return r if r.get("status", {}).get("phase") in phases else None
        try:
            return wait_for(f"{name} is {phases}", there, seconds)
        except Fail as e:
            raise Fail(f"{e}; it is {json.dumps(self.reservation(name).get('status', {}))[:900]}") from e

    def ready(self, name, seconds=30):
        r = self.phase(name, "Active", seconds=seconds)
        wait_for(f"objects of {name}", lambda: self.objects(name).get("ready"), 10)
        return r

    def objects(self, name):
        return self.reservation(name).get("status", {}).get("objects", {})

    def quota(self, queue):
        return nominal(self.get("clusterqueue", queue), SLICE)

    def pool(self):
        return nominal(self.get("cohort", "pool"), SLICE)

    def workload(self, name, ns="team"):
        for w in self.get("workloads", "-n", ns)["items"]:
            if w["metadata"]["name"].startswith(f"job-{name}-"):
                return w
        return None

    def condition(self, name, kind, ns="team"):
        for c in (self.workload(name, ns) or {}).get("status", {}).get("conditions", []):
            if c["type"] == kind:
                return c
        return {}

    def admitted(self, name, ns="team"):
        return self.condition(name, "Admitted", ns).get("status") == "True"

    def gone(self, name, seconds=40):
        wait_for(f"nothing is left of {name}", lambda: not self.named(name), seconds)

    def named(self, name):
        return [o["metadata"]["name"] for kind in ("clusterqueues", "localqueues", "hardwareprofiles")
                for o in self.get(kind, "-A")["items"]
                if o["metadata"].get("labels", {}).get("berth.dev/reservation") == name]

    def place(self, name, ns="team"):
        w = self.workload(name, ns)
        return [(d["gpu"], d["start"]) for seat in
                json.loads(w["metadata"]["annotations"].get("berth.dev/placement", "[]"))
                for d in seat.get("devices", [])]


def sleeper(name, queue, ns="team", seconds=300, limits=None, **more):
    o = job(name, f"sleep {seconds}", queue, limits or {SLICE: 1}, **more)
    o["metadata"]["namespace"] = ns
    o["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 2
    return o


def plan(r):
    return [(p["gpu"], p.get("start", 0)) for p in r["status"]["plan"]]


def test_life(program, kubectl):
    """Book, see the objects, run in it, preempt a borrower, be refused from elsewhere, extend, cancel."""
    with World(program, kubectl) as b:
        sums = Sums(b, SLICE, b.pool())
        b.apply(*[sleeper(f"borrow{i}", "default", "default") for i in range(3)])
        for i in range(3):
            wait_for("borrowers", lambda i=i: b.admitted(f"borrow{i}", "default"))
        start = minute(8)
        b.apply(reservation("demo", start, start + 120))
        b.phase("demo", "Confirmed", "Preparing")
        b.phase("demo", "Preparing", seconds=90)
        queue = wait_for("a queue", lambda: b.objects("demo").get("clusterQueue"), 10)
        check(b.get("clusterqueue", queue)["spec"]["stopPolicy"] == "Hold" and b.quota(queue) == 0, "held until then")
        r = b.ready("demo")
        check(b.quota(queue) == 1 and b.pool() == 2, f"{b.quota(queue)} of it, {b.pool()} in the pool")
        check(b.has("localqueue", "rsv-demo", "team") and b.has("hardwareprofile", "rsv-demo-mig-2g.35gb", "team"),
              "LocalQueue and profile")
        check(all(b.admitted(f"borrow{i}", "default") for i in range(3)), "borrowers stay until somebody comes")
        b.apply(sleeper("sly", "rsv-demo", "default"))
        b.apply({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue",
                 "metadata": {"name": "sly", "namespace": "default"}, "spec": {"clusterQueue": queue}},
                sleeper("slyer", "sly", "default"))
        b.apply(sleeper("mine", "rsv-demo"))
        wait_for("the owner's job", lambda: b.admitted("mine"))
        check(b.place("mine") == plan(r), f"{b.place('mine')} instead of {plan(r)}")
        wait_for("its pod", lambda: [p for p in b.get("pods", "-n", "team")["items"]
                                     if p["status"].get("phase") == "Running"])
        evicted = [i for i in range(3) if b.condition(f"borrow{i}", "Preempted", "default").get("status") == "True"]
        check(len(evicted) == 1, f"{evicted} had to go")
        check(not b.admitted("sly", "default") and not b.admitted("slyer", "default"), "no other project may")
        message = b.condition("slyer", "QuotaReserved", "default").get("message", "")
        check("namespace" in message.lower(), f"it is told: {message!r}")
        b.kubectl("patch", "reservation", "demo", "-n", "team", "--type=merge", "-p",
                  json.dumps({"spec": {"end": stamp(start + 300)}}))
        wait_for("the extension", lambda: b.reservation("demo")["status"]["end"] == b.reservation("demo")["spec"]["end"])
        check(plan(b.reservation("demo")) == plan(r) and b.admitted("mine"), "it keeps its place")
        b.kubectl("delete", "job", "mine", "-n", "team")
        b.kubectl("patch", "reservation", "demo", "-n", "team", "--type=merge", "-p",
                  json.dumps({"spec": {"cancel": {"reason": "done"}}}))
        b.gone("demo")
        check(b.pool() == 3, "all is the pool's again")
        check(sums.done() > 5, "revisions were seen")


def test_edits(program, kubectl):
    """What people delete comes back, what they edit is reverted with an Event, what they add stays."""
    with World(program, kubectl) as b:
        b.apply(reservation("demo", now(), minute(300)))
        b.ready("demo")
        queue = b.objects("demo")["clusterQueue"]
        b.kubectl("patch", "clusterqueue", queue, "--type=merge", "-p", json.dumps(
            {"metadata": {"labels": {"mine": "yes"}},
             "spec": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}}))
        wait_for("the selector", lambda: b.get("clusterqueue", queue)["spec"]["namespaceSelector"] == {
            "matchLabels": {"kubernetes.io/metadata.name": "team"}})
        check(b.get("clusterqueue", queue)["metadata"]["labels"]["mine"] == "yes", "what was added stays")
        wait_for("the Event", lambda: "Reverted" in b.kubectl("get", "events", "-n", "default"))
        for kind, name, *where in (("localqueue", "rsv-demo", "-n", "team"),
                                   ("hardwareprofile", "rsv-demo-mig-2g.35gb", "-n", "team"),
                                   ("clusterqueue", queue)):
            uid = b.get(kind, name, *where)["metadata"]["uid"]
            # kubectl would wait for an object of that name to go, and this one is there again within milliseconds.
            b.kubectl("delete", kind, name, *where, "--wait=false")
            wait_for(f"{kind} {name} again", lambda: any(
                o["metadata"]["name"] == name and o["metadata"]["uid"] != uid for o in b.get(kind, *where)["items"]))
        wait_for("the quota", lambda: b.quota(queue) == 1)
        b.kubectl("delete", "namespace", "team")
        b.gone("demo")
        wait_for("the pool", lambda: b.pool() == 3)


def test_demote(program, kubectl):
    """Work is warned, stays by borrowing, gives way, and leaves when it stayed too long; what waits goes home."""
    with World(program, kubectl) as b:
        sums = Sums(b, SLICE, b.pool())
        b.apply(reservation("demo", now(), minute(25), count=2))
        b.ready("demo")
        b.apply(sleeper("one", "rsv-demo"), sleeper("two", "rsv-demo"), sleeper("waits", "rsv-demo"))
        wait_for("both", lambda: b.admitted("one") and b.admitted("two"))
        wait_for("a warning", lambda: "berth.dev/reservation-warning" in
                 b.workload("one")["metadata"].get("annotations", {}), 100)
        check("ReservationEnding" in b.kubectl("get", "events", "-n", "team"), "and an Event")
        b.phase("demo", "Ending", seconds=120)
        wait_for("quota goes back", lambda: b.pool() == 3)
        check(b.admitted("one") and b.admitted("two"), "they borrow")
        wait_for("it goes home", lambda: b.get("job", "waits", "-n", "team")["metadata"]["labels"][
            "kueue.x-k8s.io/queue-name"] == "default")
        wait_for("it runs there", lambda: b.admitted("waits"))
        check("reservation demo ended" in b.get("job", "waits", "-n", "team")["metadata"]["annotations"][
            "berth.dev/moved"], "it is told why")
        b.gone("demo")
        check(b.reservation("demo")["status"]["phase"] == "Ended", "ended")
        sums.done()


def test_drain_and_hard(program, kubectl):
    with World(program, kubectl) as b:
        end = minute(30)
        b.apply(reservation("drain", now(), end, endPolicy="drain"),
                reservation("hard", now(), end, endPolicy="hard"))
        b.ready("drain")
        b.ready("hard")
        b.apply(sleeper("d", "rsv-drain"), sleeper("h", "rsv-hard"))
        wait_for("both", lambda: b.admitted("d") and b.admitted("h"))
        queue = b.objects("drain")["clusterQueue"]
        wait_for("no new work", lambda: b.get("clusterqueue", queue)["spec"]["stopPolicy"] == "Hold", 100)
        check(b.admitted("d"), "what runs, runs on")
        wait_for("hard goes", lambda: not b.admitted("h"), 40)
        check(b.reservation("hard")["status"]["phase"] == "Active", "before the end")
        b.phase("drain", "Ending", "Ended", seconds=40)
        wait_for("drain goes", lambda: b.workload("d")["spec"]["queueName"] == "default")
        check(b.condition("d", "Evicted"), "it was stopped")
        b.gone("drain")
        b.gone("hard")
        wait_for("the pool", lambda: b.pool() == 3)


def tls(b):
    """What a client needs to come as the administrator."""
    config = json.loads(b.kubectl("config", "view", "--raw", "-o", "json"))
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
    files = [os.path.join(b.root, name) for name in ("client-certificate-data", "client-key-data")]
    for path in files:
        with open(path, "wb") as f:
            f.write(base64.b64decode(user[os.path.basename(path)]))
    context.load_cert_chain(*files)
    return context


def test_race(program, kubectl):
    """Of 200 clients who want the last slice in one moment one has it; all others are told, with what there is instead."""
    clients = 200
    with World(program, kubectl) as b:
        start = minute(3600)
        b.apply(reservation("most", start, start + 3600, count=2))
        b.phase("most", "Confirmed")
        context, gate, answers = tls(b), threading.Barrier(clients, timeout=60), [None] * clients

        def race(i):
            http_ = http.client.HTTPSConnection("127.0.0.1", b.port, context=context, timeout=60)
            http_.connect()
            gate.wait()
            http_.request("POST", "/apis/berth.dev/v1alpha1/namespaces/team/reservations",
                          json.dumps(reservation(f"race{i}", start, start + 3600)), {"Content-Type": "application/json"})
            answer = http_.getresponse()
            answers[i] = answer.status, json.loads(answer.read())
            http_.close()
        threads = [threading.Thread(target=race, args=(i,), daemon=True) for i in range(clients)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(60)
        check(all(answers), "all are answered")
        won = [i for i in range(clients) if answers[i][0] == 201]
        check(len(won) == 1, f"{len(won)} have it: {[answers[i][1] for i in won][:2]}")
        for i, (code, answer) in enumerate(answers):
            if i in won:
                continue
            causes = [c for c in answer["details"]["causes"] if c["field"].startswith("alternatives[")]
            check(code == 409 and "instead there is: 1 x nvidia.com/mig-2g.35gb" in answer["message"], f"{code} {answer}")
            check(causes and any(c["message"].startswith(("Earlier", "Later")) for c in causes), f"{causes}")
        b.phase(f"race{won[0]}", "Confirmed")
        there = [o["metadata"]["name"] for o in b.get("reservations", "-n", "team")["items"]]
        check(sorted(there) == sorted(["most", f"race{won[0]}"]), f"and nothing else is there: {there}")


def test_back_to_back(program, kubectl):
    """The next booking of the same person goes on with the same objects; what runs notices nothing."""
    with World(program, kubectl) as b:
        end = minute(25)
        first = reservation("first", now(), end, endPolicy="hard")
        second = reservation("second", end, end + 60, endPolicy="hard")
        b.apply(first)
        b.ready("first")
        queue = b.objects("first")["clusterQueue"]
        b.apply(sleeper("j", "rsv-first"))
        wait_for("it", lambda: b.admitted("j"))
        b.apply(second)
        b.ready("second", seconds=120)
        check(plan(b.reservation("second")) == plan(b.reservation("first")), "the same place")
        check(b.objects("second")["clusterQueue"] == queue, "the same queue")
        check(b.admitted("j") and not b.condition("j", "Evicted"), "it runs on")


def test_kill9(program, kubectl):
    """kill -9 at any moment: what is there afterwards is what would have been, and quota was never oversold."""
    seed = int(os.environ.get("BERTH_BOOKING_SEED", "0")) or random.randrange(1 << 30)
    dice = random.Random(seed)
    rounds = int(os.environ.get("BERTH_BOOKING_ROUNDS", "12"))
    print(f"  seed {seed}, {rounds} rounds")
    with World(program, kubectl) as b:
        live, number, seen = {}, 0, 0
        for _ in range(rounds):
            sums = Sums(b, SLICE, 3)
            if live and (dice.random() < 0.5 or sum(live.values()) == 3):
                name = dice.choice(sorted(live))
                del live[name]
                b.kubectl("delete", "reservation", name, "-n", "team", "--wait=false")
            else:
                number += 1
                count = dice.randint(1, 3 - sum(live.values()))
                live[f"r{number}"] = count
                b.apply(reservation(f"r{number}", now(), minute(3600), count=count))
            time.sleep(dice.random() * dice.choice([0.02, 0.1, 0.6]))
            b.stop(signal.SIGKILL)
            b.up()
            seen += sums.done(killed=True)
        sums = Sums(b, SLICE, 3)

        def settled():
            queues = {o["metadata"]["labels"]["berth.dev/reservation"]: nominal(o, SLICE)
                      for o in b.get("clusterqueues")["items"]
                      if "berth.dev/reservation" in o["metadata"].get("labels", {})}
            locals_ = {o["metadata"]["name"] for o in b.get("localqueues", "-n", "team")["items"]}
            profiles = {o["metadata"]["name"] for o in b.get("hardwareprofiles", "-n", "team")["items"]}
            return (queues == live and locals_ == {"default"} | {f"rsv-{n}" for n in live} and
                    profiles == {f"rsv-{n}-mig-2g.35gb" for n in live} and
                    b.pool() == 3 - sum(live.values()))
        try:
            wait_for("all as booked", settled, 40)
        except Fail as e:
            raise Fail(f"{e}: {live}, seed {seed}\n" + b.kubectl("get", "rsv,clusterqueues,localqueues,hwp", "-A")) from e
        check(sums.done() + seen > 0, "revisions were seen")


class Elsewhere(World):
    """`berth up` as an API server alone, `berth operate` beside it: nodes say what is allocatable, and Berth places
    nothing."""

    def __init__(self, program, kubectl):
        super().__init__(program, kubectl, gpus="none")
        self.args, self.operates = ["--controllers", "none", "--no-node"], []

    def kubectl(self, *args, **more):
        return "" if args[:2] == ("wait", "--for=condition=Ready") else super().kubectl(*args, **more)

    def __enter__(self):
        Berth.__enter__(self)
        self.kubectl("create", "-f", "-", stdin=self.berth("manifests", "crds"))
        self.kubectl("create", "namespace", "team", retry=10)
        self.kubectl("create", "namespace", "kube-system", ok=False)
        for i in range(2):
            self.kubectl("create", "-f", "-", stdin=json.dumps({
                "apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{i}", "labels": {
                    "nvidia.com/gpu.product": "NVIDIA-H200", "nvidia.com/gpu.count": "4",
                    "nvidia.com/gpu.memory": "143771"}}}))
            self.kubectl("patch", "node", f"n{i}", "--subresource=status", "--type=merge", "-p", json.dumps(
                {"status": {"allocatable": {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": "2", SLICE: "6"},
                            "capacity": {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": "2", SLICE: "6"},
                            "conditions": [{"type": "Ready", "status": "True"}]}}))
        group = {"coveredResources": ["cpu", "memory", "nvidia.com/gpu", SLICE], "flavors": [
            {"name": "h200", "resources": [{"name": r, "nominalQuota": 0} for r in
                                           ("cpu", "memory", "nvidia.com/gpu", SLICE)]}]}
        self.apply({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "h200"},
                    "spec": {"nodeLabels": {"nvidia.com/gpu.product": "NVIDIA-H200"}}},
                   {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "everybody"},
                    "spec": {"cohortName": "pool", "namespaceSelector": {}, "resourceGroups": [group]}},
                   {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue",
                    "metadata": {"name": "default", "namespace": "team"}, "spec": {"clusterQueue": "everybody"}})
        return self

    def operate(self):
        o = Operate(self, f"operate{len(self.operates)}", "--lease-duration", "3s", "--lease-renew", "2s",
                    "--lease-retry", "400ms").ready()
        self.apply({"apiVersion": "berth.dev/v1alpha1", "kind": "ReservationPolicy", "metadata": {"name": "default"},
                    "spec": POLICY})
        return o

    def __exit__(self, kind, value, trace):
        for o in self.operates:
            if o.process.poll() is None:
                o.process.kill()
            o.process.wait()
            if kind:
                print("---- the end of operate's log\n" + "".join(o.log().splitlines(keepends=True)[-30:]))
        super().__exit__(kind, value, trace)


def test_cluster(program, kubectl):
    """On a cluster: the Cohort is made with the first booking; kill -9 of berth operate changes nothing."""
    with Elsewhere(program, kubectl) as b:
        o = b.operate()
        time.sleep(1)
        check(not b.has("cohort", "pool"), "nothing is touched before there is a booking")
        b.apply(reservation("demo", now(), minute(300), count=5))
        r = b.ready("demo", seconds=60)
        queue = b.objects("demo")["clusterQueue"]
        check(b.quota(queue) == 5 and b.pool() == 7, f"{b.quota(queue)} of it, {b.pool()} in the pool")
        check(all(p["flavor"] == "h200" and not p.get("gpu") for p in r["status"]["plan"]), "places are not ours")
        cpu = [q["nominalQuota"] for g in b.get("clusterqueue", queue)["spec"]["resourceGroups"]
               for f in g["flavors"] for q in f["resources"] if q["name"] == "cpu"]
        check(0 < float(cpu[0].rstrip("m")) / (1000 if cpu[0].endswith("m") else 1) < 128 / 8 * 1.3, f"cpu {cpu}")
        b.apply(sleeper("mine", "rsv-demo"))
        wait_for("it", lambda: b.admitted("mine"))
        for _ in range(3):
            sums = Sums(b, SLICE, 12)
            b.apply(reservation("more", now(), minute(300), count=3))
            time.sleep(random.random() * 0.3)
            o.end(signal.SIGKILL)
            o = b.operate()
            b.ready("more", seconds=60)
            check(b.pool() == 4, f"{b.pool()} in the pool")
            b.kubectl("delete", "reservation", "more", "-n", "team")
            wait_for("the pool", lambda: b.pool() == 7 and not b.named("more"), 60)
            sums.done()
        check(b.admitted("mine"), "it never noticed")


def main():
    program, kubectl, *names = sys.argv[1:]
    passed = failed = 0
    for name, test in list(globals().items()):
        if name.startswith("test_") and callable(test) and (not names or name in names or name[5:] in names):
            begun = time.monotonic()
            try:
                test(program, kubectl)
                passed += 1
                print(f"ok      {name} ({time.monotonic() - begun:.0f} s)", flush=True)
            except Exception as e:  # pylint: disable=broad-except
                failed += 1
                print(f"FAILED  {name}: {e if isinstance(e, Fail) else traceback.format_exc()}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
