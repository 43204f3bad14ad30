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
    """Dead processes of Berth that their parent has not reaped, and that were not there before. Those of process 1 are the
    machine's to reap: other suites leave it theirs, and some of these machines take their time."""
    return {p: s for p in pids()
            if (s := stat_of(p)) and s[1] == "Z" and s[0].startswith("berth") and s[2] != 1 and p not in before}


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


def condition(b, kind):
    return next(c for c in b.get("nodes")["items"][0]["status"]["conditions"] if c["type"] == kind)


def test_fault_of_one_card_of_eight(program, kubectl):
    """Xid 48: out of service, its pod told why, work goes to other cards, over restarts, until it is cleared."""
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
        node = b.get("nodes")["items"][0]["metadata"]["name"]
        wait_for("a condition of the node", lambda: condition(b, "GpusInService")["status"] == "False", 10)
        check("Xid 48" in condition(b, "GpusInService")["message"], str(condition(b, "GpusInService")))
        os.kill(node_pid(b), signal.SIGKILL)
        wait_for("a node process", lambda: node_pid(b), 20)
        b.stop()
        b.up()
        rows = b.berth("gpu", "list").splitlines()
        check(sum("out of service" in r for r in rows) == 1 and any(bad in r and "Xid 48" in r for r in rows), str(rows))
        denied = b.kubectl("annotate", "node", node, f"berth.dev/clear-gpus={bad}", "--as=somebody", ok=False)
        check(denied.returncode != 0 and "forbidden" in denied.stderr, f"anybody may clear: {denied.stdout}{denied.stderr}")
        wrong = b.berth("gpu", "clear", f"{node}/{(index + 1) % 8}", ok=False)
        check(wrong.returncode == 1 and "is in service" in wrong.stderr, wrong.stderr)
        check(bad in b.berth("gpu", "clear", f"{node}/{index}"), "not told what was cleared")
        wait_for("in service again", lambda: gpus_of(b)[index]["healthy"], 20)
        wait_for("the condition is over", lambda: condition(b, "GpusInService")["status"] == "True", 10)
        wait_for("an event", lambda: [e for e in b.get("events")["items"] if e["reason"] == "GpuCleared"], 10)


def test_fault_of_the_only_card(program, kubectl):
    """A machine of one GPU: queued work waits and says why; when the GPU is back and cleared it runs."""
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
        time.sleep(3)  # it answers again, which is not enough
        check(not gpus_of(b)[0]["healthy"], "a GPU that fell off the bus came back by itself")
        b.berth("gpu", "clear", gpus_of(b)[0]["uuid"])
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


CREATE = "nvmlDeviceCreateGpuInstanceWithPlacement"


def foreign(b):
    """MIG instances of the node that it takes for somebody else's."""
    return [i for g in gpus_of(b).values() for i in g["instances"] if i.get("pod") == "foreign"]


def taken(b):
    return not os.path.exists(os.path.join(b.data, "node", "sim.state.faults"))


def test_node_dies_in_a_create(program, kubectl):
    """kill -9 of the node, and of everything, while the driver makes or unmakes an instance: it stays ours, and the whole
    GPU can be had again."""
    with Berth(program, kubectl, gpus="sim:1xh200") as b:
        for i, (line, sig) in enumerate(((f"late {CREATE} 6000", "node"), (f"late {CREATE} 6000", "up"),
                                         ("astray 6000", "node"), ("late nvmlComputeInstanceDestroy 6000", "node"))):
            script = "echo $CUDA_VISIBLE_DEVICES; sleep 1"
            if "Destroy" not in line:
                fault(b, line)
            b.apply(job(f"d-{i}", script, limits={"nvidia.com/mig-2g.35gb": 1}))
            if "Destroy" in line:
                wait_for("it runs", lambda: b.get("job", f"d-{i}").get("status", {}).get("ready"), 20)
                fault(b, line)
            wait_for("the driver is at it", lambda: taken(b), 20)
            time.sleep(0.5)
            if sig == "up":
                b.stop(signal.SIGKILL)
                b.up()
            else:
                os.kill(wait_for("a node process", lambda: node_pid(b), 20), signal.SIGKILL)
            b.kubectl("wait", "--for=condition=complete", f"job/d-{i}", "--timeout=60s")
            check(not foreign(b), f"{line}: leaked: {foreign(b)}")
        b.apply(job("whole", "echo $CUDA_VISIBLE_DEVICES", limits={"nvidia.com/mig-7g.141gb": 1}))
        b.kubectl("wait", "--for=condition=complete", "job/whole", "--timeout=60s")
        check(not foreign(b), f"leaked: {foreign(b)}")


def test_card_is_added_and_taken_out(program, kubectl):
    """A card that comes while the node runs is used; one that goes takes what ran on it along, and its capacity."""
    def capacity(name):
        return b.get("nodes")["items"][0]["status"]["capacity"].get(name)

    with Berth(program, kubectl, gpus="sim:1xh200") as b:
        b.apply(job("first", "sleep 60", limits={"nvidia.com/mig-7g.141gb": 1}, backoffLimit=0))
        wait_for("it runs", lambda: b.get("job", "first").get("status", {}).get("ready"), 20)
        b.apply(job("second", "echo $CUDA_VISIBLE_DEVICES; sleep 60", limits={"nvidia.com/mig-7g.141gb": 1},
                    backoffLimit=0))
        fault(b, "come 1")
        wait_for("capacity of two", lambda: capacity("nvidia.com/gpu") == "2", 20)
        wait_for("the second runs", lambda: b.get("job", "second").get("status", {}).get("ready"), 30)
        fault(b, "gone 0", "gone 1")
        b.kubectl("wait", "--for=condition=failed", "job/first", "job/second", "--timeout=40s")
        wait_for("no GPU is left", lambda: not gpus_of(b), 20)
        wait_for("no capacity is left", lambda: capacity("nvidia.com/gpu") is None and
                 capacity("nvidia.com/mig-1g.18gb") is None, 20)
        labels = b.get("nodes")["items"][0]["metadata"]["labels"]
        check(not any(k.startswith("nvidia.com/") for k in labels), f"labels of no GPU: {labels}")


def test_driver_that_comes_later(program, kubectl):
    """`berth up --gpus auto` on a machine without a driver: when there is one, its GPUs are used, and `default` covers
    them."""
    b = Berth(program, kubectl, gpus="auto")
    library = os.path.join(b.root, "driver", "libnvidia-ml.so.1")
    b.args = ["--nvml", library]
    b.env.update(BERTH_SIM_GPUS="1xh200", BERTH_SIM_STATE=os.path.join(b.root, "sim.state"))
    with b:
        b.apply(job("plain", "echo no GPU"))
        b.kubectl("wait", "--for=condition=complete", "job/plain", "--timeout=30s")
        check(condition(b, "GpusInService")["reason"] == "NoGpus", str(condition(b, "GpusInService")))
        os.mkdir(os.path.dirname(library))
        stub = os.path.join(os.path.dirname(program), "src", "node", "libnvidia-ml.so.1")
        os.symlink(stub, library)
        b.apply(job("slice", "echo $CUDA_VISIBLE_DEVICES", limits={"nvidia.com/mig-1g.18gb": 1}))
        b.kubectl("wait", "--for=condition=complete", "job/slice", "--timeout=60s")
        check(UUID.search(b.kubectl("logs", "job/slice")), "no slice")
        groups = b.get("cohort", "pool")["spec"]["resourceGroups"]
        check("nvidia-h200" in json.dumps(groups), f"pool: {groups}")


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
