#!/usr/bin/env python3
"""book: the verbs of booking against a real `berth up` with one simulated H200.   book.py BERTH KUBECTL [NAME...]"""
import importlib.util
import json
import os
import re
import shlex
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
from harness import check, run_tests, wait_for, with_default_queue  # noqa: E402

FLEET = "/apis/berth.dev/v1alpha1/fleets/current"


def phase(b, name):
    return b.get("reservation", name).get("status", {}).get("phase", "")


def made(text):
    """The name of the booking that `berth book` tells of."""
    found = re.search(r"^reservation/(\S+) (\w+)$", text, re.M)
    check(found, f"no booking in {text!r}")
    return found.group(1)


def refused(b, *args):
    done = b.berth(*args, ok=False)
    check(done.returncode == 1, f"{args}: {done.returncode} {done.stdout} {done.stderr}")
    return done.stderr


def test_fleet(b):
    """Fleet counts what runs; who may not see a project's pods sees that its slice is used, not by whom."""
    b.berth("submit", "--slice", "2g.35gb", "--name", "busy", "--", "sleep", "60")

    def used():
        fleet = json.loads(b.kubectl("get", "--raw", FLEET))
        rows = {r["resource"]: r for t in fleet["types"] for r in t["resources"]}
        return fleet if rows["nvidia.com/mig-2g.35gb"]["used"] == 1 else None

    fleet = wait_for("the slice in Fleet", used)
    rows = {r["resource"]: r for r in fleet["types"][0]["resources"]}
    check(fleet["types"][0]["flavor"] == "nvidia-h200", str(fleet["types"][0]["flavor"]))
    check((rows["nvidia.com/gpu"]["total"], rows["nvidia.com/gpu"]["free"]) == (1, 0), str(rows["nvidia.com/gpu"]))
    check((rows["nvidia.com/mig-2g.35gb"]["total"], rows["nvidia.com/mig-2g.35gb"]["free"]) == (3, 2), str(rows))
    held = [i for i in fleet["cards"][0]["instances"] if i["used"]]
    check(len(held) == 1 and held[0]["namespace"] == "default" and held[0]["pod"].startswith("busy-"), str(held))
    b.kubectl("create", "clusterrole", "looks", "--verb=get,list",
              "--resource=fleets.berth.dev,fleethistories.berth.dev")
    b.kubectl("create", "clusterrolebinding", "looks", "--clusterrole=looks", "--user=ann")
    hers = json.loads(b.kubectl("get", "--raw", FLEET, "--as=ann"))
    held = [i for i in hers["cards"][0]["instances"] if i["used"]]
    check(len(held) == 1 and not {"namespace", "pod", "workload"} & set(held[0]), str(held))
    check("reservation" not in b.berth("top"), "top")
    check("2g.35gb      3       1" in b.berth("top", "-o", "wide"), b.berth("top", "-o", "wide"))
    day = json.loads(wait_for("a sample", lambda: (lambda t: t if "samples\":[{" in t else "")(
        b.kubectl("get", "--raw", "/apis/berth.dev/v1alpha1/fleethistories"))))
    check(day["items"][0]["samples"][-1]["total"] == 1, str(day))


def test_book_now(b):
    """A booking for now: Confirmed or further at once, listed, extended, cancelled."""
    said = b.berth("book", "--slice", "2g.35gb", "--for", "2h", "--purpose", "a try")
    name = made(said)
    check("1 x 2g.35gb in project default: a try" in said and "slice" in said and "GPU hours" in said, said)
    check(phase(b, name) in ("Confirmed", "Preparing", "Active"), phase(b, name))
    use = next(line for line in said.split("\n") if "to use it: berth " in line).split("berth ", 1)[1]
    done = b.berth(*shlex.split(use.replace("-- COMMAND", "--wait -- echo in my berth")), ok=False)
    check(done.returncode == 0 and "in my berth" in done.stdout, f"{use}: {done}")
    check(name in b.berth("bookings") and "left" in b.berth("bookings"), b.berth("bookings"))
    before = b.get("reservation", name)["spec"]["end"]
    check(made(b.berth("book", "extend", name, "--by", "1h")) == name, "extend")
    after = b.get("reservation", name)["spec"]["end"]
    check(int(after[11:13]) == (int(before[11:13]) + 1) % 24 and after[13:] == before[13:], f"{before} {after}")
    check("is given back" in b.berth("book", "cancel", name), "cancel")
    wait_for("it is cancelled", lambda: phase(b, name) == "Cancelled")
    check(name not in b.berth("bookings") and name in b.berth("bookings", "--all"), "over")
    check(json.loads(b.berth("bookings", "--all", "-o", "json"))["items"][0]["kind"] == "Reservation", "-o json")


def test_full(b):
    """What does not fit is refused with commands that do; one of them, as it stands, books."""
    b.berth("book", "all", "--gpu", "1", "--date", "tomorrow", "--from", "9:00", "--to", "17:00")
    said = refused(b, "book", "--slice", "2g.35gb", "--date", "tomorrow", "--from", "10:00", "--for", "2h")
    check("What would fit:" in said, said)
    command = next(line for line in said.split("\n") if line.startswith("    berth book "))
    check(made(b.berth(*shlex.split(command)[1:])), command)
    items = {r["metadata"]["name"] for r in b.get("reservations")["items"] if r["status"]["phase"] == "Confirmed"}
    check(len(items) == 2, f"a refusal leaves nothing behind: {items}")
    said = refused(b, "book", "check", "--gpu", "1", "--date", "tomorrow", "--from", "16:00", "--for", "2h")
    check("it does not fit" in said, said)
    said = b.berth("book", "check", "--gpu", "1", "--date", "+2d", "--from", "9:00", "--for", "2h")
    check(said.startswith("it fits: it would be Confirmed"), said)
    check(refused(b, "book", "extend", "all", "--by", "400h").startswith("berth book: not extended: "), "too long")
    waits = b.berth("book", "later", "--gpu", "1", "--date", "tomorrow", "--from", "9:00", "--for", "2h", "--waitlist")
    check("later Waitlisted" in waits and phase(b, "later") == "Waitlisted", waits)


def test_limits(b):
    """What a limit refuses is told by its name, with commands that keep to it; one of them, as it stands, books."""
    wait_for("the policy", lambda: b.kubectl("get", "reservationpolicy", "default", ok=False).returncode == 0)
    b.kubectl("patch", "reservationpolicy", "default", "--type=merge", "-p",
              '{"spec":{"limits":{"user":{"concurrentUnits":1,"gpuHoursPerWeek":2}}}}')
    b.berth("book", "first", "--slice", "2g.35gb", "--date", "tomorrow", "--from", "10:00", "--for", "2h")
    for limit, words in (("concurrentUnits", ("--slice", "2g.35gb", "--from", "11:00", "--for", "2h")),
                         ("gpuHoursPerWeek", ("--gpu", "1", "--from", "14:00", "--for", "2h"))):
        said = refused(b, "book", *words, "--date", "tomorrow")
        check(f"limit {limit} (user): " in said and "What would fit:" in said, said)
        command = next(line for line in said.split("\n") if line.startswith("    berth book "))
        check(made(b.berth(*shlex.split(command)[1:])), command)
    first = b.get("reservation", "first")
    lines, key = [{"resource": "nvidia.com/gpu", "count": 1}], "berth.dev/requested-by"
    asked = {"apiVersion": "berth.dev/v1alpha1", "kind": "ReservationCheck",
             "metadata": {"name": "x", "annotations": {key: first["metadata"]["annotations"][key]}},
             "spec": {"start": first["spec"]["start"], "end": first["spec"]["end"], "lines": lines}}
    b.kubectl("create", "rolebinding", "eve", "--clusterrole=edit", "--user=eve")
    for who, name, want in ((), None, "LimitReached"), (("--as=eve",), None, "NoCapacity"), (("--as=eve",), "first", ""):
        asked["spec"]["name"] = name
        said = b.kubectl("create", "-f", "-", "-o", "jsonpath={.status.reason}", *who, stdin=json.dumps(asked), ok=False)
        check(want == said.stdout and (want or "somebody else's booking" in said.stderr), f"{who} {name}: {said}")


def test_two_at_once(b):
    """Two people and the last place: one has it, the other hears what would fit."""
    words = [b.program, "book", "--gpu", "1", "--date", "tomorrow", "--from", "9:00", "--for", "8h"]
    both = [subprocess.Popen(words, env=b.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in "ab"]
    ended = [(p.communicate(timeout=60), p.returncode) for p in both]
    check(sorted(code for _, code in ended) == [0, 1], str(ended))
    lost = next(said for said, code in ended if code == 1)
    check("What would fit:" in lost[1], str(lost))


def test_zones_and_days(b):
    """Times are those of TZ; what clocks skip is told; UTC is what is stored."""
    b.env = dict(b.env, TZ="Asia/Kathmandu")
    b.berth("book", "east", "--slice", "1g.18gb", "--date", "+3d", "--from", "9:00", "--for", "1h")
    spec = b.get("reservation", "east")["spec"]
    check(spec["start"].endswith("T03:15:00Z") and spec["timeZone"] == "Asia/Kathmandu", str(spec))
    check("09:00-10:00 UTC+05:45 (1h)" in b.berth("bookings"), b.berth("bookings"))
    check("04:15-05:15 CET" in b.berth("bookings", "--zone", "Europe/Warsaw"), "--zone")
    b.env = dict(b.env, TZ="Europe/Warsaw")
    done = b.berth("book", "check", "--slice", "1g.18gb", "--from", "2027-03-28 2:30", "--for", "1h", ok=False)
    check("clocks skip that time on that day; Sun 28 Mar 2027 03:30 CEST is meant" in done.stderr, done.stderr)


def test_memory_and_availability(b):
    """An amount of memory is the smallest slice that has it; availability shows what is left."""
    done = b.berth("book", "--memory", "30Gi", "--date", "tomorrow", "--from", "9:00", "--for", "4h", ok=False)
    check(done.returncode == 0 and re.search(r"1 x [12]g\.35gb", done.stdout), str(done))
    done = b.berth("book", "--memory", "500Gi", "--for", "1h", ok=False)
    check(done.returncode == 3 and "nothing has 500.0 GiB" in done.stderr, done.stderr)
    text = b.berth("availability", "--slice", "7g.141gb", "--slice", "3g.71gb", "--date", "tomorrow", "--from", "9:00",
                   "--for", "6h", "--step", "1h")
    check(re.search(r"^7g\.141gb .* 000011$", text, re.M), text)
    check(re.search(r"^3g\.71gb .* 1111?.?22$", text, re.M), text)
    check(json.loads(b.berth("availability", "-o", "json"))["items"], "-o json")
    for query, field in (("step=2000000h", "step"), ("from=2200-01-01T00:00:00Z", "to")):
        done = b.kubectl("get", "--raw", f"/apis/berth.dev/v1alpha1/availabilities?{query}", ok=False)
        check(done.returncode != 0 and f"{field}: expected" in done.stderr, f"{query}: {done.stderr}")


def test_dry_run(b):
    """--dry-run writes nothing, and prints what would be made."""
    text = b.berth("book", "--gpu", "1", "--date", "tomorrow", "--from", "9:00", "--for", "4h", "--dry-run",
                   "-o", "yaml")
    check("kind: Reservation" in text and "start: " in text, text)
    check(b.get("reservations")["items"] == [], "nothing is written")


def test_series(b):
    """--repeat makes a series whose bookings are there."""
    said = b.berth("book", "lab", "--slice", "1g.18gb", "--date", "+2d", "--from", "9:00", "--for", "2h", "--repeat",
                   "FREQ=DAILY;COUNT=3")
    check("reservationseries/lab: 3 bookings" in said, said)
    mine = wait_for("three bookings", lambda: [r for r in b.get("reservations")["items"]
                                               if r["spec"].get("seriesName") == "lab"] or None)
    check(len(mine) == 3, str(len(mine)))


def test_feed(b):
    """The address of a calendar: read without credentials, the same when asked again, gone when renewed."""
    b.berth("book", "--slice", "1g.18gb", "--date", "tomorrow", "--from", "9:00", "--for", "2h", "--purpose", "feed me")
    address = b.berth("book", "feed").strip()
    check(b.berth("book", "feed").strip() == address, "the same")
    trust = ssl.create_default_context(cafile=os.path.join(b.data, "pki", "ca.crt"))

    def read(url):
        try:
            with urllib.request.urlopen(url, context=trust, timeout=20) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as e:
            return e.code, ""

    code, text = read(address)
    check(code == 200 and "BEGIN:VEVENT" in text and "feed me" in text, f"{code} {text}")
    other = b.berth("book", "feed", "--new").strip()
    check(other != address and read(other)[0] == 200, "a new address")
    wait_for("the old one is gone", lambda: read(address)[0] == 404)


def cluster(program, kubectl):
    """A cluster with a node of four GPUs that somebody else runs, and `berth operate`."""
    spec = importlib.util.spec_from_file_location("operate", os.path.join(HERE, "..", "operate", "operate.py"))
    operate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(operate)
    b = operate.Cluster(program, kubectl, node=False)
    b.begin = lambda: operate.Operate(b, "one").ready()
    return b


def test_on_a_cluster(b):
    """The same verbs on a cluster: booked, refused with what would fit, extended, given back; top without our nodes."""
    b.kinds()
    gpus = {"name": "h200", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": "0"}]}
    b.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "g1", "labels": {
                "nvidia.com/gpu.product": "NVIDIA-H200", "nvidia.com/gpu.memory": "143771"}}},
            {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "h200"},
             "spec": {"nodeLabels": {"nvidia.com/gpu.product": "NVIDIA-H200"}}},
            {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "all"},
             "spec": {"cohortName": "pool", "namespaceSelector": {}, "resourceGroups": [
                 {"coveredResources": ["nvidia.com/gpu"], "flavors": [gpus]}]}})
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "", "lastHeartbeatTime": now,
             "lastTransitionTime": now}
    b.kubectl("patch", "node", "g1", "--subresource=status", "--type=merge", "-p", json.dumps({"status": {
        "capacity": {"nvidia.com/gpu": "4"}, "allocatable": {"nvidia.com/gpu": "4"}, "conditions": [ready]}}))
    b.begin()
    check("NVIDIA-H200   GPU    4       0" in b.berth("top"), b.berth("top"))

    def booked():
        done = b.berth("book", "a", "--gpu", "2", "--date", "tomorrow", "--from", "9:00", "--for", "2h", ok=False)
        return done.stdout if done.returncode == 0 else ""

    said = wait_for("the cluster's GPUs are known", booked)
    check("a Confirmed" in said and "of h200" in said, said)
    said = refused(b, "book", "--memory", "100Gi", "--count", "3", "--date", "tomorrow", "--from", "9:00", "--to", "11")
    check("Fewer: 2 x GPU" in said, said)
    check(len(b.get("reservations")["items"]) == 1, "a refusal leaves nothing behind")
    check("(3h)" in b.berth("book", "extend", "a", "--by", "1h"), "extend")
    check("Cancelled" in b.berth("book", "cancel", "a"), "cancel")
    done = b.berth("book", "check", "--gpu", "1", "--for", "1h", ok=False)
    check(done.returncode == 3 and "does not say beforehand" in done.stderr, done.stderr)


def start(f, program, kubectl):
    if f is test_on_a_cluster:
        with cluster(program, kubectl) as b:
            f(b)
    else:
        with_default_queue(f, program, kubectl, gpus="sim:1xh200")


if __name__ == "__main__":
    sys.exit(run_tests(globals(), start))
