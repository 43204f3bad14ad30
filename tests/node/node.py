#!/usr/bin/env python3
"""node: the node's process with simulated GPUs: kill -9, faults of GPUs, a driver that hangs.   node.py BERTH KUBECTL [NAME...]

Each test is a function test_*, and starts its own Berth. Prints a line each, closes with "N passed, N failed".
"""
import json
import os
import random
import re
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from harness import Berth, check, job, run_tests, wait_for  # noqa: E402

UUID = re.compile(r"MIG-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
KILLED_JOBS, KILLS, SLICES = 50, 6, ("1g.18gb", "2g.35gb", "1g.18gb", "3g.71gb", "1g.18gb")


def stat_of(pid):
    """(name, state, parent) of a process, or None."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            name, rest = f.read().split("(", 1)[1].rsplit(")", 1)
    except OSError:
        return None
    return (name, rest.split()[0], int(rest.split()[1]))


def pids():
    return [int(p) for p in os.listdir("/proc") if p.isdigit()]


def node_pid(b):
    """The node's process: the child of `berth up` that is `berth node`."""
    for p in pids():
        stat = stat_of(p)
        try:
            with open(f"/proc/{p}/cmdline", "rb") as f:
                words = f.read().split(b"\0")
        except OSError:
            continue
        if stat and stat[2] == b.process.pid and b"node" in words and stat[1] != "Z":
            return p
    return None


def berth_zombies(before):
    """Dead processes of Berth that nobody has reaped, and that were not there before."""
    return {p: s for p in pids() if (s := stat_of(p)) and s[1] == "Z" and s[0].startswith("berth") and p not in before}


def left_of(b):
    """Processes of this data folder, by their command line or by their pod's mark in the environment."""
    left = []
    for p in pids():
        for name in ("cmdline", "environ"):
            try:
                with open(f"/proc/{p}/{name}", "rb") as f:
                    if b.data.encode() in f.read() and p != os.getpid() and stat_of(p)[1] != "Z":
                        left.append((p, stat_of(p)))
            except (OSError, TypeError):
                pass
    return left


def top(b):
    return json.loads(b.berth("top", "-o", "json"))


def fault(b, *lines):
    """Injected at the driver's next call."""
    path = os.path.join(b.data, "node", "sim.state.faults")
    with open(path + ".new", "w", encoding="utf-8") as f:
        f.write("".join(x + "\n" for x in lines))
    os.rename(path + ".new", path)


def pod_of(b, name):
    return b.get("pod", "-l", f"batch.kubernetes.io/job-name={name}")["items"][0]


def test_kill_9_of_node_and_up(program, kubectl):
    """50 jobs with slices through kill -9 of node and up: each ran once, no slice twice, nothing is left."""
    before = set(berth_zombies(()))
    with Berth(program, kubectl) as b:
        script = ('echo "$CUDA_VISIBLE_DEVICES start $(date +%s%N)"; sleep 1.5; '
                  'echo "$CUDA_VISIBLE_DEVICES end $(date +%s%N)"')
        b.apply(*[job(f"k-{i}", script, limits={f"nvidia.com/mig-{SLICES[i % len(SLICES)]}": 1}, backoffLimit=0)
                  for i in range(KILLED_JOBS)])
        dice = random.Random(os.environ.get("SEED") or None)
        for i in range(KILLS):
            time.sleep(dice.uniform(0.05, 1.5))
            if i % 3 == 2:
                b.stop(signal.SIGKILL)
                b.up()
            else:
                os.kill(wait_for("a node process", lambda: node_pid(b), 20), signal.SIGKILL)
        b.kubectl("wait", "--for=condition=complete", "--timeout=80s",
                  *[f"job/k-{i}" for i in range(KILLED_JOBS)])
        spans = {}
        for pod in b.get("pods")["items"]:
            name = pod["metadata"]["name"]
            words = b.kubectl("logs", name).split()
            check(len(words) == 6 and words[0] == words[3] and UUID.fullmatch(words[0]), f"{name} ran otherwise: {words}")
            spans.setdefault(words[0], []).append((int(words[2]), int(words[5]), name))
        check(sum(map(len, spans.values())) == KILLED_JOBS, "a pod was started again, or is missing")
        for uuid, held in spans.items():
            held.sort()
            for a, c in zip(held, held[1:]):
                check(a[1] <= c[0], f"slice {uuid} was held twice: {a} {c}")
        wait_for("idle slices are removed", lambda: not UUID.search(json.dumps(top(b))), 30)
        b.berth("down", "--data", b.data)
        b.process.wait(timeout=20)
        wait_for("no process is left", lambda: not left_of(b), 5)
    wait_for("no zombie is left", lambda: not set(berth_zombies(before)), 5)


def gpus_of(b):
    """GPUs of the one node, as it tells them, by index."""
    return {g["index"]: g for g in top(b)["items"][0]["gpus"]["gpus"]}


def fail_by_xid(b, name, xid):
    """Injects an Xid into the GPU of a running job; its pod fails and says why. Returns the card's index."""
    wait_for(f"{name} runs", lambda: b.get("job", name)["status"].get("ready"), 20)
    uid = pod_of(b, name)["metadata"]["uid"]
    devices = json.dumps(pod_of(b, name)["metadata"]["annotations"])
    found = re.search(r"GPU-[0-9a-f-]{36}", devices)
    check(found, devices)
    uuid = found.group(0)
    index = next(i for i, g in gpus_of(b).items() if g["uuid"] == uuid)
    fault(b, f"xid {index} {xid}")
    pod = wait_for("the pod fails", lambda: next(
        (p for p in b.get("pods")["items"] if p["metadata"]["uid"] == uid and p["status"]["phase"] == "Failed"), None), 30)
    check(pod["status"]["reason"] == "GpuUnhealthy" and str(xid) in pod["status"]["message"] or
          "lost" in pod["status"]["message"], f"not plain: {pod['status']}")
    return index


def test_fault_of_one_card_of_eight(program, kubectl):
    """Xid 48: out of service, its pod told why, work goes to other cards, until the node starts again."""
    with Berth(program, kubectl) as b:
        b.apply(job("victim", "sleep 60", limits={"nvidia.com/mig-1g.18gb": 1}, backoffLimit=0))
        index = fail_by_xid(b, "victim", 48)
        wait_for("berth top shows the trouble", lambda: "Xid 48" in str(gpus_of(b)[index]), 10)
        events = wait_for("the node's event", lambda: [e for e in b.get("events")["items"]
                          if e["involvedObject"]["kind"] == "Node" and e["reason"] in ("GpuXid", "GpuUnhealthy")], 10)
        check("out of service" in str(events) or "Xid 48" in str(events), str(events))
        b.apply(*[job(f"w-{i}", "echo ran on $CUDA_VISIBLE_DEVICES", limits={"nvidia.com/gpu": 1}) for i in range(7)])
        b.kubectl("wait", "--for=condition=complete", "--timeout=40s", *[f"job/w-{i}" for i in range(7)])
        bad = gpus_of(b)[index]["uuid"]
        for i in range(7):
            check(bad not in b.kubectl("logs", f"job/w-{i}"), "a job ran on the GPU that is out of service")
        check(not gpus_of(b)[index]["healthy"], "in service again by itself")
        os.kill(node_pid(b), signal.SIGTERM)  # an operator has looked at it
        wait_for("in service again", lambda: gpus_of(b)[index]["healthy"], 20)


def test_fault_of_the_only_card(program, kubectl):
    """A machine of one GPU: queued work waits and says why; when the GPU is found healthy again it runs."""
    with Berth(program, kubectl, gpus="sim:1xh200") as b:
        b.apply(job("victim", "sleep 60", limits={"nvidia.com/mig-1g.18gb": 1}, backoffLimit=0))
        fail_by_xid(b, "victim", 79)
        b.apply(job("next", "echo ran", limits={"nvidia.com/mig-1g.18gb": 1}))
        text = wait_for("a reason in plain words", lambda: next(
            (c["message"] for w in b.get("workloads")["items"] if w["metadata"]["name"].startswith("job-next-")
             for c in w.get("status", {}).get("conditions", [])
             if c["type"] == "QuotaReserved" and c["status"] == "False"), None), 15)
        check("GPU" in text or "1g.18gb" in text, f"not plain: {text}")
        fault(b, "found 0")
        os.kill(node_pid(b), signal.SIGTERM)  # an operator has looked at it
        b.kubectl("wait", "--for=condition=complete", "job/next", "--timeout=40s")


def test_hung_driver(program, kubectl):
    """A driver call that hangs stops neither the API nor the node; it is back when the driver is."""
    with Berth(program, kubectl) as b:
        b.apply(job("before", "sleep 3; echo done", limits={"nvidia.com/mig-1g.18gb": 1}))
        wait_for("it runs", lambda: b.get("job", "before")["status"].get("ready"), 20)
        fault(b, "slow 3600000")
        wait_for("the driver hangs", lambda: not os.path.exists(os.path.join(b.data, "node", "sim.state.faults")), 20)
        b.apply(job("plain", "echo no GPU"))
        b.kubectl("wait", "--for=condition=complete", "job/plain", "job/before", "--timeout=30s")
        b.kubectl("wait", "--for=condition=Ready", "node", "--all", "--timeout=5s")
        fault(b, "slow 0")
        b.apply(job("after", "echo done", limits={"nvidia.com/mig-1g.18gb": 1}))
        b.kubectl("wait", "--for=condition=complete", "job/after", "--timeout=80s")


def test_a100(program, kubectl):
    """Slices of the A100; where the driver knows no utilization, it is unknown and not 0."""
    with Berth(program, kubectl, gpus="sim:4xa100-80gb") as b:
        b.apply(*[job(f"a-{i}", "echo $CUDA_VISIBLE_DEVICES; sleep 3", limits={"nvidia.com/mig-1g.10gb": 1}) for i in range(3)])
        wait_for("they run", lambda: all(b.get("job", f"a-{i}").get("status", {}).get("ready") for i in range(3)), 20)
        shown = b.berth("top")
        check("utilisation unknown" in shown and "0 %" not in shown, shown)
        told = [x.get("utilization") for g in gpus_of(b).values() for x in [g, *g.get("instances", [])]
                if g.get("instances")]
        check(told and all(x in (None, -1) for x in told), f"unknown was told as a number: {told}")
        b.kubectl("wait", "--for=condition=complete", *[f"job/a-{i}" for i in range(3)], "--timeout=30s")
        seen = {UUID.search(b.kubectl("logs", f"job/a-{i}")).group(0) for i in range(3)}
        check(len(seen) == 3, f"three slices: {seen}")


def test_gpus_that_come_later(program, kubectl):
    """A machine gets its GPUs after the first start, and then others: the queue `default` covers them, unless somebody
    edited it; then he is told what to do, and that does it."""
    with Berth(program, kubectl, gpus="none") as b:
        b.apply(job("plain", "echo no GPU"))
        b.kubectl("wait", "--for=condition=complete", "job/plain", "--timeout=30s")
        b.stop()
        b.gpus = "sim:1xh200"
        b.up()
        b.apply(job("slice", "echo $CUDA_VISIBLE_DEVICES", limits={"nvidia.com/mig-1g.18gb": 1}))
        b.kubectl("wait", "--for=condition=complete", "job/slice", "--timeout=30s")
        groups = b.get("cohort", "pool")["spec"]["resourceGroups"]
        check([[f["name"] for f in g["flavors"]] for g in groups] == [["default"], ["nvidia-h200"]], f"pool: {groups}")
        b.kubectl("patch", "clusterqueue", "default", "--type=merge", "-p", '{"spec":{"queueingStrategy":"StrictFIFO"}}')
        b.stop()
        b.gpus = "sim:4xa100-80gb"
        b.up()
        told = wait_for("what to do", lambda: [e["message"] for e in b.get("events")["items"]
                                               if e["reason"] == "GpusNotCovered"])
        check(len(told) == 1 and "nvidia-a100" in told[0], f"told: {told}")
        check("a100" not in json.dumps(b.get("clusterqueue", "default")["spec"]), "an edited queue was changed")
        b.apply(job("other", "echo $CUDA_VISIBLE_DEVICES", limits={"nvidia.com/mig-1g.10gb": 1}))
        b.kubectl(*told[0].partition(": kubectl ")[2].split())
        b.kubectl("wait", "--for=condition=complete", "job/other", "--timeout=30s")
        spec = b.get("clusterqueue", "default")["spec"]
        check(spec["queueingStrategy"] == "StrictFIFO", "the edit is gone")


if __name__ == "__main__":
    sys.exit(run_tests(globals(), lambda f, program, kubectl: f(program, kubectl)))
