"""loads: Kueue's standard loads in virtual time, beside what Kueue itself decided.

kueue.json has, for each load, what came of it when Kueue's own scheduler, queues and controllers (main of August 2026) were
driven through it in virtual time: what is evicted gives quota back at once and starts anew, and what was parked is tried
again at once. `events` counts what happened at each millisecond, by class; `sha256` is of the sorted lines "millisecond
event namespace/name" of all of it. The two must agree in every event; only which of two equal queues is called the one that
reclaims is not said (Kueue asks its queues in random order).
"""
import collections
import hashlib
import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))
WORDS = {"Admitted": "admitted", "Preempted": "evicted", "Finished": "finished"}


def events_of(report):
    """(millisecond, event, namespace/name) of all that happened."""
    for work in report["workloads"]:
        for event in work["events"]:
            if event["type"] in WORDS and event.get("status") == "True":
                yield round(event["at"] * 1000), WORDS[event["type"]], work["namespace"] + "/" + work["name"]


def differences(report, want):
    """How a run differs from Kueue's, in a few lines."""
    got = sorted(events_of(report))
    counts = collections.Counter((at, what, name.split("/")[1].split("-")[0]) for at, what, name in got)
    wanted = collections.Counter({(at, what, cls): n for at, what, cls, n in want["events"]})
    for sign, c in (("not by Kueue", counts - wanted), ("only by Kueue", wanted - counts)):
        for (at, what, cls), n in sorted(c.items())[:5]:
            yield f"at {at} ms {what} {n} x {cls}: {sign}"
    lines = sorted(f"{at} {what} {name}" for at, what, name in got)
    if hashlib.sha256("\n".join(lines).encode()).hexdigest() != want["sha256"]:
        yield "not the same workloads at the same times"
    why = {k.split(": ")[1]: n for k, n in report["all"]["evictions"].items()}
    if why != want["evictions"] or report["makespanSeconds"] != want["end"]:
        yield f"evictions {why}, end {report['makespanSeconds']}; Kueue: {want['evictions']}, {want['end']}"


def least_of_queue(classes, quota):
    """The earliest end that the rules leave one of many equal queues, in ms: (interval, count, run, request) of classes
    by falling priority. The first asks for the whole quota and comes to all queues at once, so nobody has quota to lend
    while it runs. What is lower starts anew when it is evicted: before the last of the first class ends, it gets on only
    where it has time to end. Between two of the first class who waits by then is admitted in the order of classes, and
    keeps his quota until the next; what is left over is for who is lower."""
    interval, count, run, request = classes[0]
    assert request == quota and run <= interval
    starts = [interval * (k + 1) for k in range(count)]
    free = [(0, starts[0])] + [(s + run, s + interval) for s in starts[:-1]]
    done = [0] * len(classes)
    for begin, end in free:
        room = quota
        for i, (every, n, length, amount) in enumerate(classes[1:], 1):
            able = min(max((end - length) // every, 0), n)  # came early enough to end in time
            if begin == 0:
                done[i] = able  # whatever room there is
                continue
            waiting = min(begin // every, n) - done[i]
            holding = min(waiting, room // amount)
            ends = (room // amount) * ((end - begin) // length)
            done[i] += max(min(able - done[i], ends), 0)
            room -= holding * amount
    left = sum((n - done[i]) * length * amount for i, (_, n, length, amount) in enumerate(classes) if i > 0)
    return starts[-1] + run + left / quota


def rules_floor(load):
    """The least of a load of equal queues, in seconds."""
    queues = load["cohorts"][0]["queuesSets"][0]
    classes = []
    for s in queues["workloadsSets"]:
        w = s["workloads"][0]
        classes.append((w["priority"], (s["creationIntervalMs"], s["count"], w["runtimeMs"], w["request"])))
    ordered = [c for _, c in sorted(classes, reverse=True)]
    return least_of_queue(ordered, queues["nominalQuota"]) / 1000


def recorded():
    with open(os.path.join(HERE, "kueue.json"), encoding="utf-8") as f:
        return json.load(f)
