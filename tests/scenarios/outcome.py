"""outcome: what happened, in words that are the same in every world."""
ORDER = ["Created", "Finished", "Evicted", "QuotaReserved", "Admitted", "PodsReady", "Requeued", "Deleted"]


def held(admission):
    """q, 2 pods on spot"""
    sets = admission["podSetAssignments"]
    pods = sum(s.get("count", 0) for s in sets)
    flavors = sorted({f for s in sets for f in s.get("flavors", {}).values()})
    return f"{admission['clusterQueue']}, {pods} {'pod' if pods == 1 else 'pods'} on {' and '.join(flavors) or 'nothing'}"


class Life:
    """Of one Workload. tell() takes what changed at once; lines is what it came to: (time, text). ready: pods take their
    time, so that their being ready is worth a line."""

    def __init__(self, ready):
        self.lines, self.now, self.deleted, self.ready = [], {}, False, ready

    def tell(self, at, events):
        """events: of one revision: {type, status, reason, admission}; Preempted says why a Workload is evicted."""
        before = dict(self.now)
        for e in events:
            self.now[e["type"]] = (e.get("status"), e.get("reason"))
        types = {e["type"]: e for e in events}
        for kind in ORDER:
            text = self.text(kind, types[kind], types, before) if kind in types else None
            if text:
                self.lines.append((at, text))
        self.deleted = self.deleted or "Deleted" in types

    def text(self, kind, event, types, before):
        status, reason = event.get("status"), event.get("reason")
        if kind == "Deleted":
            return None if self.is_true("Finished") else "Deleted"
        if kind == "Finished" and reason == "OwnerNotFound": # to be deleted: whether this is seen before is chance
            return "Deleted"
        if kind == "Finished" and status == "True":
            return f"Finished, {reason}"
        if kind == "Evicted" and status == "True":
            cause = self.now.get("Preempted", ("", ""))
            more = f", {cause[1]}" if reason == "Preempted" and cause[0] == "True" else ""
            return f"Evicted, {reason}{more}"
        if kind == "QuotaReserved" and status == "True":
            whole = types.get("Admitted", {}).get("status") == "True"
            return f"{'Admitted' if whole else 'Reserved'} in {held(event['admission'])}"
        if kind == "Admitted" and status == "True" and "QuotaReserved" not in types:
            return "Admitted"
        if kind == "PodsReady" and status == "True" and self.ready:
            return "Ready"
        if kind == "Requeued" and (status, reason) != before.get("Requeued"):
            return f"{'Requeued' if status == 'True' else 'Held back'}, {reason}"
        return None

    def is_true(self, kind):
        return self.now.get(kind, ("", ""))[0] == "True"

    def waits(self):
        """Why it waits, in the end; None when it does not."""
        if self.deleted or self.is_true("Finished") or self.is_true("QuotaReserved"):
            return None
        return f"Waits, {self.now.get('QuotaReserved', ('', 'unseen'))[1]}"


class Watched(Life):
    """A Life told by revisions of the Workload."""

    def __init__(self, ready):
        super().__init__(ready)
        self.seen = {}

    def hear(self, at, kind, o):
        events = []
        for c in o.get("status", {}).get("conditions", []):
            if self.seen.get(c["type"]) != (c["status"], c["reason"]) and kind != "DELETED":
                self.seen[c["type"]] = (c["status"], c["reason"])
                events.append({"type": c["type"], "status": c["status"], "reason": c["reason"],
                               "admission": o["status"].get("admission")})
        if kind == "DELETED":
            events.append({"type": "Deleted"})
        self.tell(at, events)


def of_queue(status):
    """What a ClusterQueue counts: one line."""
    used = {}
    for f in status.get("flavorsReservation", []):
        for r in f["resources"]:
            if r["total"] != "0":
                used[f["name"]] = f"{r['total']} of {f['name']}"
    counts = [f"{status.get(k + 'Workloads', 0)} {k}" for k in ("pending", "reserving", "admitted")]
    return ", ".join(counts + [used[k] for k in sorted(used)])


def misplaced(plan, got):
    """plan, got: name -> [(time, text)]. The first two lines that the plan has at least 1 s apart and got has the other
    way round; None when there are none. Lines must be the same."""
    lines = [(at, name, i) for name, life in plan.items() for i, (at, _) in enumerate(life)]
    for at, name, i in lines:
        for later, other, k in lines:
            if later >= at + 1 and name != other and got[name][i][0] > got[other][k][0]:
                return f"{name}: {plan[name][i][1]} came after {other}: {plan[other][k][1]}"
    return None
