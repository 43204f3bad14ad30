#!/usr/bin/env python3
"""hardware: what no simulated GPU can show: Berth on real ones.   hardware.py BERTH KUBECTL [NAME...]

Each test is a function test_*. What cannot be tried here raises Missing with what it takes. Exit status 0: all was run and
passed; 1: something failed; 77: something was not run, named with the reason in the last line, so that nobody takes a machine
without GPUs for one that was tested. MIG instances are made and removed on GPUs whose MIG mode is on already; no mode is changed.
"""
import ctypes
import glob
import json
import os
import shutil
import subprocess
import sys
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from harness import Berth, check, job, wait_for  # noqa: E402

CUDA = r'''
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
def do(name, *args):
    r = getattr(cuda, name)(*args)
    if r != 0:
        sys.exit(f"{name}: CUDA error {r}")
do("cuInit", 0)
n = ctypes.c_int()
do("cuDeviceGetCount", ctypes.byref(n))
device, context, memory = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
do("cuDeviceGet", ctypes.byref(device), 0)
do("cuCtxCreate_v2", ctypes.byref(context), 0, device)
do("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(1 << 20))
do("cuMemsetD32_v2", memory, ctypes.c_uint(0xBE47), ctypes.c_size_t(1 << 18))
back = (ctypes.c_uint * (1 << 18))()
do("cuMemcpyDtoH_v2", back, memory, ctypes.c_size_t(1 << 20))
print("devices", n.value, "memory", "right" if all(x == 0xBE47 for x in back) else "wrong")
'''


class Missing(Exception):
    """What this machine lacks for a test."""


def missing_here():
    """What there is not, in words; empty where real GPUs and their driver are."""
    lacks = [path for path in ("/proc/driver/nvidia/version", "/dev/nvidiactl") if not os.path.exists(path)]
    try:
        ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        lacks.append("libnvidia-ml.so.1")
    if not shutil.which("nvidia-smi"):
        lacks.append("nvidia-smi")
    return lacks


def on_the_bus():
    """NVIDIA's display and 3D controllers, driver or not."""
    found = []
    for path in glob.glob("/sys/bus/pci/devices/*"):
        try:
            with open(path + "/vendor", encoding="ascii") as v, open(path + "/class", encoding="ascii") as c:
                if v.read().strip() == "0x10de" and c.read().startswith("0x03"):
                    found.append(os.path.basename(path))
        except OSError:
            pass
    return found


def smi(*fields):
    """nvidia-smi's own words: a dictionary a GPU."""
    out = subprocess.run(["nvidia-smi", "--query-gpu=" + ",".join(fields), "--format=csv,noheader,nounits"],
                         capture_output=True, text=True, check=True, timeout=60).stdout
    return [dict(zip(fields, (x.strip() for x in line.split(",")))) for line in out.strip().splitlines()]


def helper(program, *requests):
    """The answers of the process that talks to the driver, greeting first."""
    lines = "".join(f"{i + 1} {r}\n" for i, r in enumerate(requests))
    done = subprocess.run([program, "nvml-helper", *filter(None, [os.environ.get("BERTH_HARDWARE_LIBRARY")])],
                          input=lines, capture_output=True, text=True, timeout=120, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def known(value):
    """A number that the driver told; nvidia-smi writes [N/A] for what there is not."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


# ---- without pods ----

def test_library(program, _):
    """The real library opens, and is no simulated one; identity and geometry are complete."""
    hello, scan = helper(program, "scan")
    check(hello["code"] == 0 and not hello["simulated"], f"the library: {hello}")
    check(scan["result"] == 0 and scan.get("driver") and scan.get("cudaMajor"), f"no versions: {scan}")
    with open("/proc/driver/nvidia/version", encoding="utf-8") as f:
        check(scan["driver"] in f.read(), f"driver {scan['driver']} is not that of /proc")
    for g in scan["gpus"]:
        for name in ("uuid", "name", "board", "pci", "computeMajor", "minor", "memoryMiB", "memoryUsedMiB"):
            check(name in g, f"GPU {g['index']} does not say {name}: {g}")


def test_telemetry(program, _):
    """Numbers are those of nvidia-smi: names, UUIDs, PCI ids, memory, and, nearly, temperature and power."""
    fields = ("uuid", "name", "index", "pci.device_id", "memory.total", "temperature.gpu", "power.draw")
    theirs = {g["uuid"]: g for g in smi(*fields)}
    _, _, poll = helper(program, "scan", "poll")
    _, scan = helper(program, "scan")
    check({g["uuid"] for g in scan["gpus"]} == set(theirs), f"other GPUs: {scan['gpus']}, {theirs}")
    for g in scan["gpus"]:
        t = theirs[g["uuid"]]
        check((g["name"], g["index"]) == (t["name"], int(t["index"])), f"{g}, {t}")
        check(g["board"].lower() == t["pci.device_id"].lower(), f"board {g['board']}, nvidia-smi {t['pci.device_id']}")
        check(abs(g["memoryMiB"] - float(t["memory.total"])) <= 1, f"memory {g['memoryMiB']}, {t['memory.total']}")
        for ours, name, near in (("temperature", "temperature.gpu", 15), ("power", "power.draw", 150000)):
            told = known(t[name])
            if told is not None:
                told *= 1000 if ours == "power" else 1
                check(ours in g and abs(g[ours] - told) <= near, f"{ours} {g.get(ours)}, nvidia-smi {told}")
    check(all("utilization" in g or g["mig"] for g in poll["gpus"]), f"no utilization: {poll['gpus']}")


def test_xids_are_listened_to(program, _):
    """Events are registered on every GPU; reading them works, and none is made up."""
    _, scan, poll = helper(program, "scan", "poll")
    check(scan["listening"] == len(scan["gpus"]), f"listening to {scan['listening']} of {len(scan['gpus'])} GPUs")
    check(poll["result"] == 0 and poll["xids"] == [], f"events: {poll.get('xids')}")


# ---- in pods ----

def logs_of(b, name, script, limits, seconds=60):
    """What a pod printed."""
    b.apply(job(name, script, limits=limits, backoffLimit=0))
    wait_for(f"{name} is over", lambda: {c["type"] for c in b.get("job", name).get("status", {}).get("conditions", [])
                                         if c["status"] == "True"} & {"Complete", "Failed"}, seconds)
    return b.kubectl("logs", f"job/{name}")


def whole_gpu():
    """A GPU that can be given out as a whole."""
    if all(g["mig.mode.current"] == "Enabled" for g in smi("mig.mode.current")):
        raise Missing("every GPU has its MIG mode on: whole GPUs are tried where one has it off")
    return {"nvidia.com/gpu": 1}


def minors(program):
    return {g["uuid"]: g["minor"] for g in helper(program, "scan")[1]["gpus"]}


LIST = "cd /dev; ls -d nvidia* nvidia-caps/* 2>/dev/null; echo GPU $CUDA_VISIBLE_DEVICES"


def test_device_files(program, kubectl):
    """A pod's /dev has the control files and its own GPU's, and no other."""
    limits = whole_gpu()
    with Berth(program, kubectl, gpus="auto") as b:
        words = logs_of(b, "list", LIST, limits).split()
        uuid, files = words[words.index("GPU") + 1], set(words[:words.index("GPU")])
        own = f"nvidia{minors(program)[uuid]}"
        check({"nvidiactl", "nvidia-uvm", own} <= files, f"missing of {own}, nvidiactl, nvidia-uvm: {files}")
        cards = {f for f in files if f[6:].isdigit()}
        check(cards == {own}, f"files of other GPUs: {cards}")


def test_programs(program, kubectl):
    """nvidia-smi and a CUDA program in a pod see one GPU, which computes."""
    limits = whole_gpu()
    with Berth(program, kubectl, gpus="auto") as b:
        out = logs_of(b, "smi", "nvidia-smi -L; echo GPU $CUDA_VISIBLE_DEVICES", limits)
        uuid = out.split("GPU ")[-1].strip()
        check(out.count("GPU-") == 2 and out.count(uuid) == 2, f"nvidia-smi sees otherwise: {out}")
        out = logs_of(b, "cuda", f"python3 -c '{CUDA}' 2>&1", limits)
        check("devices 1 memory right" in out, f"CUDA: {out}")


def test_another_is_refused(program, kubectl):
    """Without a GPU, or with another, a pod reaches none: no file, no CUDA device, and mknod does not help."""
    with Berth(program, kubectl, gpus="auto") as b:
        out = logs_of(b, "none", "echo files $(ls -d /dev/nvidia[0-9]* /dev/nvidiactl 2>/dev/null | wc -l); "
                      f"python3 -c '{CUDA}' 2>&1; mknod /tmp/n c 195 255 2>&1 && head -c 1 /tmp/n 2>&1; true", {})
        check("files 0" in out and "devices" not in out, f"a pod without a GPU has one: {out}")
        if len(smi("uuid")) < 2:
            raise Missing("one GPU alone: a neighbour's is tried where there are two")
        limits = whole_gpu()
        out = logs_of(b, "other", "echo files $(ls -d /dev/nvidia[0-9]* | wc -l); unset CUDA_VISIBLE_DEVICES; "
                      f"python3 -c '{CUDA}' 2>&1", limits)
        check("files 1" in out and "devices 1 memory right" in out, f"more than its own: {out}")


def test_telemetry_under_load(program, kubectl):
    """A pod that computes shows in power or utilization of its GPU."""
    limits = whole_gpu()
    busy = CUDA + "\nimport time\nend = time.time() + 12\nwhile time.time() < end:\n" \
        "    do('cuMemsetD32_v2', memory, ctypes.c_uint(1), ctypes.c_size_t(1 << 18))\n"
    with Berth(program, kubectl, gpus="auto") as b:
        b.apply(job("busy", f"python3 -c \"{busy.replace(chr(34), chr(39))}\"", limits=limits, backoffLimit=0))
        wait_for("it runs", lambda: b.get("job", "busy").get("status", {}).get("ready"), 30)
        wait_for("use of memory or utilization", lambda: any(
            g.get("memoryUsedMiB", 0) > 100 or g.get("utilizationPct", 0) > 0
            for g in json.loads(b.berth("top", "-o", "json"))["items"][0]["gpus"]["gpus"]), 30)


# ---- MIG ----

def mig_profile(program):
    """The smallest profile of a GPU whose MIG mode is on and that has no instances."""
    for g in helper(program, "scan")[1]["gpus"]:
        if g["mig"] and not g["instances"] and g["profiles"]:
            return min(g["profiles"], key=lambda p: (p["compute"], p["size"], p["media"]))
    raise Missing("no GPU has its MIG mode on (nvidia-smi -mig 1) and no instances")


def instances(program):
    return [i for g in helper(program, "scan")[1]["gpus"] for i in g.get("instances", [])]


def test_mig(program, kubectl):
    """A slice is made for a pod, with its capability files; CUDA sees it alone; it is gone afterwards; names of profiles are
    those that nvidia-smi prints."""
    profile = mig_profile(program)
    printed = subprocess.run(["nvidia-smi", "mig", "-lgip"], capture_output=True, text=True, check=True, timeout=60).stdout
    check("MIG " + profile["name"] in printed, f"no profile {profile['name']} in: {printed}")
    resource = "nvidia.com/mig-" + profile["name"].replace("+", ".")
    with Berth(program, kubectl, gpus="auto") as b:
        words = logs_of(b, "slice", LIST, {resource: 1}).split()
        uuid, files = words[words.index("GPU") + 1], words[:words.index("GPU")]
        check(uuid.startswith("MIG-"), f"no MIG device: {words}")
        check(sum(f.startswith("nvidia-caps/") for f in files) == 2, f"not two capabilities: {files}")
        out = logs_of(b, "cuda", f"python3 -c '{CUDA}' 2>&1", {resource: 1})
        check("devices 1 memory right" in out, f"CUDA: {out}")
        wait_for("the instances are removed", lambda: not instances(program), 30)


def test_mig_survives_kill_9(program, kubectl):
    """kill -9 of everything while a slice is made and held: nothing leaks."""
    profile = mig_profile(program)
    resource = "nvidia.com/mig-" + profile["name"].replace("+", ".")
    with Berth(program, kubectl, gpus="auto") as b:
        for i in range(3):
            b.apply(job(f"k-{i}", "sleep 1", limits={resource: 1}))
            time.sleep(0.2 + i * 0.3)
            b.stop(9)
            b.up()
            b.kubectl("wait", "--for=condition=complete", f"job/k-{i}", "--timeout=90s")
        wait_for("the instances are removed", lambda: not instances(program), 30)


def main():
    program, kubectl, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    lacks = missing_here()
    if lacks:
        bus = on_the_bus()
        where = f"{', '.join(bus)} on the PCI bus without a driver" if bus else "no NVIDIA GPU on the PCI bus"
        print(f"NOT RUN on a real GPU: {where}; missing: {', '.join(lacks)}")
        return 77
    tests = [(n, f) for n, f in globals().items() if n.startswith("test_") and (not names or n in names)]
    print(f"driver and GPUs: {smi('driver_version', 'name', 'mig.mode.current')}", flush=True)
    failed, not_run = 0, []
    for name, f in tests:
        try:
            f(program, kubectl)
            print(f"ok      {name}", flush=True)
        except Missing as e:
            not_run.append(f"{name} ({e})")
        except Exception as e:  # a test's failure is printed, the others go on
            failed += 1
            traceback.print_exc()
            print(f"FAILED  {name}: {e}", flush=True)
    print(f"{len(tests) - failed - len(not_run)} passed, {failed} failed, {len(not_run)} NOT RUN"
          + (": " + "; ".join(not_run) if not_run else ""))
    return 1 if failed else 77 if not_run else 0


if __name__ == "__main__":
    sys.exit(main())
