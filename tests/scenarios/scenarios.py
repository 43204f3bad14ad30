#!/usr/bin/env python3
"""scenarios: each scenario of this folder in three worlds, whose outcomes must be the same, and as its file says.

    scenarios.py BERTH [--kubeconfig FILE] [--world W]... [--write] [NAME...]

Worlds: simulate, up, operate. With --kubeconfig `operate` runs on that cluster, in namespaces and under names of its own
that are removed after. --write writes what the simulator says into the files, to be read against Kueue's rules before it is
committed. A scenario that comes out otherwise on a server is tried once more, twice as slow: a machine that is busy with
other things may be late by the second that the scenarios leave between what has an order. On a cluster everything is three
times slower from the start, and few scenarios run at once: kube-controller-manager makes at most 20 requests a second, and
waits a second before it counts the pods of a Job that ended."""
import argparse
import glob
import json
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "cluster"))
from client import KUEUE, Api, Fail, Kubelet, check, wait_for  # noqa: E402
from cluster import Server, install  # noqa: E402
from outcome import Watched, misplaced, of_queue  # noqa: E402
from scenario import WIDE, Scenario, renamed, seconds  # noqa: E402
from simulated import Refused, simulate  # noqa: E402

CORE = "/api/v1"
PLACES = {"Job": ("/apis/batch/v1", "jobs"), "Workload": (KUEUE, "workloads"), "LocalQueue": (KUEUE, "localqueues"),
          "ClusterQueue": (KUEUE, "clusterqueues"), "Cohort": (KUEUE, "cohorts"),
          "ResourceFlavor": (KUEUE, "resourceflavors"), "AdmissionCheck": (KUEUE, "admissionchecks"),
          "WorkloadPriorityClass": (KUEUE, "workloadpriorityclasses")}
LABEL = "berth.dev/scenarios"


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Pods(Kubelet):
    """Runs the pods of all scenarios: ready after berth.dev/startup, and done berth.dev/runtime later."""

    def __init__(self, api, run):
        self.run_id = run
        super().__init__(api, "")

    def turn(self):
        for pod in self.api.get(f"{CORE}/pods?labelSelector={LABEL}={self.run_id}")["items"]:
            meta, phase = pod["metadata"], pod.get("status", {}).get("phase")
            if meta.get("deletionTimestamp") or phase not in (None, "Pending", "Running"):
                continue
            if meta["uid"] not in self.since:
                self.since[meta["uid"]] = time.monotonic()
                self.set(pod, "Running", False)
            age = time.monotonic() - self.since[meta["uid"]]
            startup, runs = (seconds(meta["annotations"][f"berth.dev/{k}"]) for k in ("startup", "runtime"))
            ready = any(c["type"] == "Ready" and c["status"] == "True" for c in pod.get("status", {}).get("conditions", []))
            if age >= startup + runs:
                self.set(pod, "Succeeded", False)
            elif age >= startup and not ready:
                self.set(pod, "Running", True)

    def set(self, pod, phase, ready):
        path = f"{CORE}/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}/status"
        self.api.merge(path, {"status": {"phase": phase, "conditions": [
            {"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": now()}]}}, ok=False)


class Stage:
    """One scenario on a server: its names, what is heard of it."""

    def __init__(self, api, scenario, plan, run, more):
        self.api, self.scenario, self.run_id = api, scenario, run
        self.plan, self.plan_queues = plan
        self.prefix = f"{run}-{scenario.name}{more}-"
        self.ns = self.prefix[:-1]
        self.lives, self.names, self.made = {}, {}, []
        self.lock = threading.Lock()
        self.start = time.monotonic()

    def wide(self, name):
        return self.prefix + name

    def hear(self, kind, o):
        owners = o["metadata"].get("ownerReferences") or [{"name": o["metadata"]["name"]}]
        text = json.dumps(o.get("status", {})).replace(self.prefix, "")
        with self.lock:
            name = owners[0]["name"]
            self.names[name] = o["metadata"]["name"]
            self.lives.setdefault(name, Watched(self.scenario.startup > 0)).hear(time.monotonic() - self.start, kind, dict(o, status=json.loads(text)))

    def lines(self):
        with self.lock:
            return {n: list(life.lines) for n, life in self.lives.items()}

    def path(self, kind, name=None):
        place, plural = PLACES[kind]
        path = f"{place}/{plural}" if kind in WIDE else f"{place}/namespaces/{self.ns}/{plural}"
        if name and kind == "Workload":
            name = self.names[name]
        return f"{path}/{self.wide(name) if kind in WIDE else name}" if name else path

    def act(self, act):
        if act[0] == "apply":
            m = renamed(act[1], self.wide)
            kind = m["kind"]
            if kind == "Job":
                m["spec"]["template"]["metadata"]["labels"] = {LABEL: self.run_id}
            m["metadata"] = dict(m["metadata"], labels=dict(m["metadata"].get("labels", {}), **{LABEL: self.run_id}))
            self.api.request("POST", self.path(kind), m)
            if kind in WIDE:
                self.made.append(f"{self.path(kind)}/{m['metadata']['name']}")
            if "status" in m:
                self.api.merge(f"{self.path(kind)}/{m['metadata']['name']}/status", {"status": m["status"]})
        elif act[0] == "delete":
            code, text = self.api.delete(self.path(*act[1:3]))
            check(code < 300, f"delete {act[1:]}: {text}")
        else:
            path, body = self.path(*act[1:3]), renamed(act[3], self.wide)
            status = body.pop("status", None)
            if body:
                self.api.merge(path, body)
            for c in (status or {}).get("admissionChecks", []):
                c["lastTransitionTime"] = now()
            if status:
                self.api.merge(path + "/status", {"status": status})

    def heard(self, until):
        """Is everything heard that the simulator has before that (unstretched) time?"""
        got = self.lines()
        return all(len(got.get(n, [])) >= sum(1 for at, _ in life.lines if at < until)
                   for n, life in self.plan.items())

    def play(self):
        self.api.create("Namespace", f"{CORE}/namespaces", {"metadata": {"name": self.ns, "labels": {LABEL: self.run_id}}})
        self.start = time.monotonic()
        scale = self.scenario.scale
        for step in self.scenario.steps:
            time.sleep(max(0, self.start + step.at - time.monotonic()))
            self.wait(lambda s=step: self.heard(s.at / scale - 0.5), 20 * scale)
            for act in step.acts:
                self.act(act)
        end = max([at for life in self.plan.values() for at, _ in life.lines] + [0]) * scale
        self.wait(lambda: self.heard(1e9), max(0, end - (time.monotonic() - self.start)) + 20 * scale)
        self.wait(lambda: self.waits() == {n: life.waits() for n, life in self.plan.items()}, 5 * scale)
        self.wait(lambda: self.queues() == self.plan_queues, 5 * scale)
        time.sleep(0.5)
        return self

    def wait(self, test, most):
        end = time.monotonic() + most
        while not test() and time.monotonic() < end:
            time.sleep(0.1)

    def waits(self):
        with self.lock:
            return {n: life.waits() for n, life in self.lives.items()}

    def queues(self):
        return {n: of_queue(json.loads(json.dumps(self.api.get(self.path("ClusterQueue", n)).get("status", {})).replace(
            self.prefix, ""))) for n in self.plan_queues}

    def clean_up(self, wait):
        """wait: until all is gone, which the controller has to let go of."""
        for j in self.api.get(self.path("Job"))["items"]:
            self.api.delete(f"{self.path('Job')}/{j['metadata']['name']}")
        self.api.delete(f"{CORE}/namespaces/{self.ns}")
        for path in reversed(self.made): # queues before flavors
            self.api.delete(path)
        if wait:
            wait_for(f"the end of {self.made}",
                     lambda: all(self.api.request("GET", path, ok=False)[0] == 404 for path in self.made), 60)


def texts(lives):
    """Lives as the files have them."""
    got = {}
    for name, life in sorted(lives.items()):
        got[name] = [text for _, text in life.lines] + ([life.waits()] if life.waits() else [])
    return got


def compare(want, got, what):
    return [f"{what} {n}:\n      want {want.get(n)}\n      got  {got.get(n)}" for n in sorted(set(want) | set(got))
            if want.get(n) != got.get(n)]


class Servers:
    """The API servers of one world and one Configuration, and what hears them."""

    def __init__(self, world, berth, config, kubeconfig, run):
        self.folder = tempfile.TemporaryDirectory(prefix="berth-scenarios.")
        self.berth, self.world, self.stages, self.over = berth, world, {}, False
        self.log = open(os.path.join(self.folder.name, "log"), "w+b")
        self.server = self.process = self.pods = None
        more = []
        if config is not None:
            path = os.path.join(self.folder.name, "config.json")
            with open(path, "w", encoding="utf-8") as f:
                json.dump({"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", **config}, f)
            more = ["--config", path]
        try:
            self.begin(more, kubeconfig)
            self.api = Api(self.kubeconfig)
            self.pods = Pods(self.api, run)
            path = f"{KUEUE}/workloads"
            rv = self.api.get(path)["metadata"]["resourceVersion"]
            threading.Thread(target=self.api.watch, args=(path, rv, self.hear, lambda: self.over), daemon=True).start()
        except BaseException:
            self.end()
            raise

    def begin(self, more, kubeconfig):
        data = os.path.join(self.folder.name, "data")
        if self.world == "up":
            self.kubeconfig = os.path.join(data, "kubeconfig")
            self.process = subprocess.Popen([self.berth, "up", "--data", data, "--listen", "127.0.0.1:0", "--no-node", *more],
                                            stdout=subprocess.PIPE, stderr=self.log)
        else:
            if not kubeconfig:
                self.server = Server(self.berth)
                install(self.server.kubeconfig, self.berth)
            self.kubeconfig = kubeconfig or self.server.kubeconfig
            self.process = subprocess.Popen([self.berth, "operate", "--kubeconfig", self.kubeconfig, "--metrics-port", "0",
                                             "--lease-duration", "4s", "--lease-renew", "3s", "--lease-retry", "500ms", *more],
                                            stdout=subprocess.PIPE, stderr=self.log)
        line = self.process.stdout.readline().decode()
        check(re.match("berth: ready", line), f"{self.world} said {line!r}: {self.text()}")

    def hear(self, kind, o):
        stage = self.stages.get(o["metadata"]["namespace"])
        if stage:
            stage.hear(kind, o)

    def text(self):
        self.log.seek(0)
        return "".join(self.log.read().decode(errors="replace").splitlines(True)[-30:])

    def end(self):
        self.over = True
        if self.pods:
            self.pods.end()
        code = 0
        if self.process:
            if self.process.poll() is None:
                self.process.send_signal(signal.SIGTERM)
            code = self.process.wait(30)
        if self.server:
            code = self.server.end() or code
        if code:
            print(f"{self.world} ended with {code}: {self.text()}")
        self.log.close()
        self.folder.cleanup()
        return code


class Suite:
    def __init__(self, args):
        self.args, self.results, self.print_lock = args, queue.Queue(), threading.Lock()
        names = args.names or sorted(os.path.basename(p)[:-5] for p in glob.glob(os.path.join(HERE, "*.yaml")))
        self.scenarios = {n: Scenario(os.path.join(HERE, n + ".yaml")) for n in names}
        self.plans, self.faults = {}, 0
        self.scale = args.scale or (3 if args.kubeconfig else 1)
        self.at_once = threading.Semaphore(6 if args.kubeconfig else 100)
        self.run_id = f"s{os.getpid()}" if args.kubeconfig else "s"

    def say(self, text):
        with self.print_lock:
            print(text, flush=True)

    def simulated(self, name):
        s = self.scenarios[name]
        self.plans[name] = plan = simulate(self.args.berth, s)
        got, queues = texts(plan[0]), plan[1]
        if self.args.write:
            write(s, got, queues)
            return []
        return compare(s.expect, got, "Workload of") + compare(s.queues, queues, "ClusterQueue")

    def on_server(self, servers, name, more, scale):
        s = Scenario(self.scenarios[name].path, scale)
        stage = Stage(servers.api, s, self.plans[name], self.run_id, more)
        servers.stages[stage.ns] = stage
        try:
            stage.play()
            got = texts(stage.lives)
            faults = compare(s.expect, got, "Workload of") + compare(s.queues, stage.queues(), "ClusterQueue")
            if not faults:
                wrong = misplaced({n: l.lines for n, l in self.plans[name][0].items()}, stage.lines())
                faults = [wrong] if wrong else []
            return faults
        finally:
            stage.clean_up(self.args.kubeconfig)

    def one(self, servers, name):
        with self.at_once:
            self.one_alone(servers, name)

    def one_alone(self, servers, name):
        start = time.monotonic()
        try:
            faults = self.on_server(servers, name, "", self.scale)
            if faults and self.args.again:
                self.say(f"again   {servers.world}/{name}: " + "; ".join(faults))
                faults = self.on_server(servers, name, "-again", 2 * self.scale)
        except Exception: # pylint: disable=broad-except
            faults = [traceback.format_exc()]
        self.result(f"{servers.world}/{name}", faults, start)

    def result(self, what, faults, start):
        self.faults += bool(faults)
        self.say(f"{'FAILED ' if faults else 'ok     '} {what} ({time.monotonic() - start:.1f} s)" +
                 "".join(f"\n    {f}" for f in faults))

    def world(self, world, config, names):
        try:
            servers = Servers(world, self.args.berth, config, self.args.kubeconfig if world == "operate" else "",
                              self.run_id)
        except Exception: # pylint: disable=broad-except
            self.result(world, [traceback.format_exc()], time.monotonic())
            return
        threads = [threading.Thread(target=self.one, args=(servers, n)) for n in names]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        faults = servers.pods.faults[:3]
        if faults or servers.end():
            self.result(world, faults or ["it did not end well"], time.monotonic())

    def run(self):
        for name in self.scenarios:
            start = time.monotonic()
            try:
                self.result(f"simulate/{name}", self.simulated(name), start)
            except Refused as e:
                self.result(f"simulate/{name}", [str(e)], start)
        by_config = {}
        for n in self.plans:
            by_config.setdefault(json.dumps(self.scenarios[n].config), []).append(n)
        jobs = [threading.Thread(target=self.world, args=(w, json.loads(c), names))
                for w in self.args.world if w != "simulate" for c, names in by_config.items()]
        for j in jobs:
            j.start()
            if self.args.kubeconfig: # one controller at a time
                j.join()
        for j in jobs:
            j.join()
        total = len(self.scenarios) * (1 + sum(w != "simulate" for w in self.args.world))
        print(f"{total} runs, {self.faults} failed")
        return 1 if self.faults else 0


def write(scenario, lives, queues):
    """The file anew from `expect:` on."""
    with open(scenario.path, encoding="utf-8") as f:
        text = re.split(r"^expect:", f.read(), flags=re.M)[0]
    text += "expect:\n"
    for name, lines in lives.items():
        text += f"  {name}:\n" + "".join(f"  - {line}\n" for line in lines)
    text += "queues:\n" + "".join(f"  {n}: {line}\n" for n, line in sorted(queues.items()))
    with open(scenario.path, "w", encoding="utf-8") as f:
        f.write(text)


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("berth")
    a.add_argument("names", nargs="*")
    a.add_argument("--kubeconfig", default="")
    a.add_argument("--world", action="append", choices=["simulate", "up", "operate"])
    a.add_argument("--scale", type=int, default=0, help="how much slower than the files say; 1, on a cluster 3")
    a.add_argument("--write", action="store_true")
    a.add_argument("--once", dest="again", action="store_false", help="do not try again what came out otherwise")
    args = a.parse_intermixed_args()
    args.world = args.world or ["simulate", "up", "operate"]
    if args.write:
        args.world = ["simulate"]
    return Suite(args).run()


if __name__ == "__main__":
    sys.exit(main())
