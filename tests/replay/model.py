"""Kueue's rules written the plain way, as a model to hold the engine against: no index, no cleverness, everything is
looked at anew. It agrees with Kueue in every recorded scenario (model.py FILE... says so); cases.py makes further
scenarios and lets it answer them.

Nodes, flavors and queues are here; the search for victims is in model_preempt.py.
"""
import json
import math
import re
import sys
from fractions import Fraction

NOFIT, NO_CANDIDATES, PREEMPT, RECLAIM, FIT = range(5)
CYCLES_MAX = 40


UNITS = {"m": Fraction(1, 1000), "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12,
         "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


def amount(resource, text):
    number, unit = re.fullmatch(r"([0-9.]+)([A-Za-z]*)", str(text)).groups()
    return math.ceil(Fraction(number) * UNITS.get(unit, 1) * (1000 if resource == "cpu" else 1))


def weight(spec):
    text = str((spec.get("fairSharing") or {}).get("weight", 1))
    return int(text[:-1]) / 1000 if text.endswith("m") else float(text)


class Node:
    """A ClusterQueue or a Cohort: quotas by (flavor, resource)."""

    def __init__(self, name, spec=None):
        self.name, self.spec, self.queue = name, spec or {}, False
        self.parent, self.children, self.height = None, [], 0
        self.quota, self.usage, self.subtree, self.weight = {}, {}, {}, 1.0
        self.stopped = False  # a queue that admits nothing and from which nothing is taken; it lends and counts as before

    def read(self, spec):
        self.spec, self.weight = spec, weight(spec)
        for group in spec.get("resourceGroups") or []:
            for flavor in group["flavors"]:
                for r in flavor["resources"]:
                    limits = [amount(r["name"], r[k]) if k in r else None for k in ("borrowingLimit", "lendingLimit")]
                    self.quota[(flavor["name"], r["name"])] = (amount(r["name"], r["nominalQuota"]), *limits)

    def settle(self):
        for c in self.children:
            c.settle()
        there = [c for c in self.children if not c.stopped]
        self.height = 1 + max((c.height for c in there if not c.queue), default=0) if there else 0
        self.subtree = {pair: q[0] for pair, q in self.quota.items()}
        self.usage = self.usage if self.queue else {}
        for c in self.children:
            for pair, v in c.subtree.items():
                self.subtree[pair] = self.subtree.get(pair, 0) + v - c.local(pair)
            for pair, v in c.usage.items():
                self.usage[pair] = self.used(pair) + max(0, v - c.local(pair))

    def used(self, pair):
        return self.usage.get(pair, 0)

    def has(self, pair):
        return self.subtree.get(pair, 0)

    def limits(self, pair):
        return self.quota.get(pair, (0, None, None))

    def local(self, pair):
        lending = self.limits(pair)[2]
        return 0 if lending is None else max(0, self.has(pair) - lending)

    def local_free(self, pair):
        return max(0, self.local(pair) - self.used(pair))

    def free(self, pair):
        if self.parent is None:
            return self.has(pair) - self.used(pair)
        above, borrowing = self.parent.free(pair), self.limits(pair)[1]
        if borrowing is not None:
            stored = self.has(pair) - self.local(pair)
            above = min(above, stored - max(0, self.used(pair) - self.local(pair)) + borrowing)
        return self.local_free(pair) + above

    def available(self, pair):
        return max(0, self.free(pair))

    def potential(self, pair):
        if self.parent is None:
            return self.has(pair)
        most, borrowing = self.local(pair) + self.parent.potential(pair), self.limits(pair)[1]
        return most if borrowing is None else min(self.has(pair) + borrowing, most)

    def add(self, pair, v):
        up = v - self.local_free(pair)
        self.usage[pair] = self.used(pair) + v
        if self.parent and up > 0:
            self.parent.add(pair, up)

    def remove(self, pair, v):
        stored = self.used(pair) - self.local(pair)
        self.usage[pair] = self.used(pair) - v
        if stored > 0 and self.parent:
            self.parent.remove(pair, min(v, stored))

    def borrows_with(self, pair, v):
        return self.has(pair) < self.used(pair) + v

    def borrows(self, pairs):
        return any(self.has(p) < self.used(p) for p in pairs)

    def lowest(self, pair, v):
        """The height of the lowest subtree that holds v more, and whether it is less than the whole tree."""
        if not self.borrows_with(pair, v) or self.parent is None:
            return 0, self.parent is not None
        v -= self.local_free(pair)
        for c in self.above():
            if not c.borrows_with(pair, v) or c.parent is None:
                return c.height, c.parent is not None and not c.borrows_with(pair, v)
            v -= c.local_free(pair)
        return 0, False

    def above(self):
        n = self.parent
        while n:
            yield n
            n = n.parent

    def root(self):
        return self.parent.root() if self.parent else self


class Queue(Node):
    def __init__(self, spec, name):
        super().__init__(name)
        self.queue = True
        self.read(spec)
        self.strict = spec.get("queueingStrategy") == "StrictFIFO"
        self.heap, self.parked, self.holders = [], [], []
        self.sticky, self.failed, self.generation = None, set(), 0
        p, f = spec.get("preemption") or {}, spec.get("flavorFungibility") or {}
        b = p.get("borrowWithinCohort") or {}
        self.within, self.reclaim = p.get("withinClusterQueue", "Never"), p.get("reclaimWithinCohort", "Never")
        self.may_borrow, self.threshold = b.get("policy", "Never") != "Never", b.get("maxPriorityThreshold")
        self.counts_pods = any("pods" in g["coveredResources"] for g in spec.get("resourceGroups") or [])
        self.next_for_borrow = f.get("whenCanBorrow", "MayStopSearch") == "TryNextFlavor"
        self.next_for_preempt = f.get("whenCanPreempt", "TryNextFlavor") == "TryNextFlavor"
        self.borrow_costs_more = f.get("preference") == "PreemptionOverBorrowing"

    def head(self):
        return min(self.heap, key=lambda w: (w is not self.sticky, -w.priority, w.time, w.uid))


def requests_of(pod):
    """What one pod needs: its containers together with sidecars, or at most any one of those that come first."""
    most, always, asked = {}, {}, lambda c: (c.get("resources") or {}).get("requests") or {}

    def take(c, to):
        for r, v in asked(c).items():
            to[r] = to.get(r, 0) + amount(r, v)

    def least(so_far):
        for r, v in so_far.items():
            most[r] = max(most.get(r, 0), v)
    for c in pod.get("initContainers") or []:
        if c.get("restartPolicy") == "Always":
            take(c, always)
            least(always)
        else:
            once = dict(always)
            take(c, once)
            least(once)
    for c in pod["containers"]:
        take(c, always)
    least(always)
    return most


class Workload:
    def __init__(self, obj, queue):
        meta, spec = obj["metadata"], obj["spec"]
        self.name, self.uid, self.time, self.queue = meta["name"], meta["uid"], meta["creationTimestamp"], queue
        self.priority = spec.get("priority") or 0
        self.sets = []  # name, count, least count, requests of a pod, pod
        for s in spec["podSets"]:
            pod = s["template"]["spec"]
            requests = requests_of(pod)
            if queue.counts_pods:
                requests["pods"] = 1
            self.sets.append((s["name"], s["count"], s.get("minCount") or s["count"], requests, pod))
        self.alike = json.dumps([self.sets, self.priority], sort_keys=True)
        self.scan = None  # the memory of the flavor scan
        self.held = self.reserved = None
        self.gone = False


class Assignment:
    def __init__(self, counts):
        self.counts, self.sets, self.usage, self.borrow, self.mode = counts, [], {}, 0, FIT

    def short(self):
        return {(f, r) for s in self.sets for r, (f, mode, _, _) in s.items() if mode != FIT}

    def tried(self):
        return [{r: v[3] for r, v in s.items()} for s in self.sets]


class Entry:
    def __init__(self, w, a, victims):
        self.w, self.a, self.victims = w, a, victims
        self.why = None  # it was refused: NoFit, NoCandidates, Skipped, Preempting


def better(a, b, borrow_costs_more):
    """Of two (mode, borrow level): is a to be preferred?"""
    if NOFIT in (a[0], b[0]):
        return a[0] != NOFIT and b[0] == NOFIT
    if (a[0] == NO_CANDIDATES) != (b[0] == NO_CANDIDATES):
        return b[0] == NO_CANDIDATES
    if borrow_costs_more:
        return (a[1], -a[0]) < (b[1], -b[0])
    return (-a[0], a[1]) < (-b[0], b[1])


def matches(flavor, pod):
    for t in flavor.get("nodeTaints", []):
        if t["effect"] in ("NoSchedule", "NoExecute") and not any(
                x.get("key", "") in ("", t["key"]) and x.get("effect", "") in ("", t["effect"]) and
                (x.get("operator") == "Exists" or x.get("value", "") == t.get("value", ""))
                for x in pod.get("tolerations", []) + flavor.get("tolerations", [])):
            return False
    labels = flavor.get("nodeLabels") or {}
    return all(labels.get(k, v) == v for k, v in pod.get("nodeSelector", {}).items()) and near(labels, pod)


def holds(e, value):
    """Does a label's value satisfy an expression about it?"""
    op, values = e["operator"], e.get("values") or []
    if op in ("Gt", "Lt"):
        try:
            return int(value) > int(values[0]) if op == "Gt" else int(value) < int(values[0])
        except ValueError:
            return False
    return {"In": value in values, "NotIn": value not in values, "Exists": True, "DoesNotExist": False}[op]


def near(labels, pod):
    """Node affinity, of which only labels that the flavor has are looked at: a term without any matches."""
    must = ((pod.get("affinity") or {}).get("nodeAffinity") or {}).get("requiredDuringSchedulingIgnoredDuringExecution")
    terms = [[e for e in t.get("matchExpressions") or [] if e["key"] in labels]
             for t in (must or {}).get("nodeSelectorTerms") or []]
    return not terms or any(all(holds(e, labels[e["key"]]) for e in t) for t in terms)


class Model:
    def __init__(self, scenario):
        self.fair, self.seen = scenario["fairSharing"], scenario.get("admissionsSeen", False)
        self.flavors = {f["metadata"]["name"]: f.get("spec", {}) for f in scenario["resourceFlavors"]}
        cohorts, self.cycle, self.now, self.kept = {}, 0, 0, []

        def cohort(name):
            return cohorts.setdefault(name, Node(name)) if name else None
        for c in scenario.get("cohorts") or []:
            node, spec = cohort(c["metadata"]["name"]), c.get("spec") or {}
            node.read(spec)
            node.parent = cohort(spec.get("parentName"))
        self.declared, self.queues = set(cohorts), {}
        for c in scenario["clusterQueues"]:
            name = c["metadata"]["name"]
            self.queues[name] = Queue(c["spec"], name)
            self.queues[name].parent = cohort(c["spec"].get("cohortName"))
            self.stop(self.queues[name], c["spec"])
        nodes = list(cohorts.values()) + list(self.queues.values())
        for n in nodes:
            if n.parent:
                n.parent.children.append(n)
        for n in nodes:
            if n.parent is None:
                n.settle()
        self.local = {q["metadata"]["name"]: q["spec"]["clusterQueue"] for q in scenario["localQueues"]}
        self.workloads = {}

    # ---- queues ----

    def stop(self, q, spec):
        names = {f["name"] for group in spec.get("resourceGroups") or [] for f in group["flavors"]}
        q.stopped = spec.get("stopPolicy", "None") != "None" or not names <= set(self.flavors)

    def edit(self, obj):
        """A ClusterQueue, put again: it may be stopped, or go on; nothing else changes. Alone in a cohort that is only named,
        it leaves and joins another of that name."""
        q = self.queues[obj["metadata"]["name"]]
        self.stop(q, obj["spec"])
        q.root().settle()
        if q.parent and q.parent.name not in self.declared and q.parent.children == [q]:
            for x in self.tree(q):
                x.generation += 1
        self.retry(q)

    def submit(self, obj):
        w = Workload(obj, self.queues[self.local[obj["spec"]["queueName"]]])
        self.workloads[w.name] = w
        self.enter(w)

    @staticmethod
    def enter(w):
        q = w.queue
        (q.parked if w.alike in q.failed else q.heap).append(w)

    def tree(self, q):
        return [x for x in self.queues.values() if x.root() is q.root()]

    def release(self, w):
        self.take_out(w)
        w.queue.holders.remove(w)
        w.held = None
        w.queue.generation += 1

    def retry(self, q):
        for x in self.tree(q):
            x.failed = set()
            x.heap += x.parked
            x.parked = []

    def finish(self, name):
        w = self.workloads[name]
        self.release(w)
        w.gone = True
        self.retry(w.queue)

    @staticmethod
    def take_out(w):
        for pair, v in w.held.usage.items():
            w.queue.remove(pair, v)

    @staticmethod
    def put_back(w):
        for pair, v in w.held.usage.items():
            w.queue.add(pair, v)

    # ---- flavors ----

    def quota_fit(self, w, pair, v):
        """(mode, borrow level) of v of one pair."""
        q = w.queue
        if v > q.potential(pair):
            return NOFIT, 0
        borrow, smaller = q.lowest(pair, v)
        if v <= q.available(pair):
            return FIT, borrow
        while_borrowing = q.may_borrow or (self.fair and q.reclaim != "Never")
        if not (q.quota[pair][0] >= v or smaller or while_borrowing):
            return NOFIT, borrow
        victims = self.victims(w, {pair: v}, {pair})
        if not victims:
            return NO_CANDIDATES, borrow
        for x, _ in victims:
            self.take_out(x)
        borrow = q.lowest(pair, v)[0]
        for x, _ in reversed(victims):
            self.put_back(x)
        return (PREEMPT if any(x.queue is q for x, _ in victims) else RECLAIM), borrow

    def group_flavor(self, w, group, wanted, pod, usage, first, pinned):
        """The flavor of one resource group for the resources in `wanted`: {resource: (flavor, mode, borrow, tried)}, and
        the mode of all: that of the least preferred. It can be a fit though one of them is not, where borrowing costs more."""
        q, best, best_mode, tried, last = w.queue, None, (NOFIT, 0), -1, len(group["flavors"]) - 1
        for i in range(first, last + 1):
            flavor, tried = group["flavors"][i]["name"], i
            if (pinned and flavor not in pinned) or not matches(self.flavors[flavor], pod):
                continue
            fits, worst = {}, None
            for r, v in wanted.items():
                mode = self.quota_fit(w, (flavor, r), usage.get((flavor, r), 0) + v)
                worst = mode if worst is None or better(worst, mode, q.borrow_costs_more) else worst
                fits[r] = (flavor, *mode)
                if worst[0] == NOFIT:
                    break
            go_on = (worst[0] in (NOFIT, NO_CANDIDATES) or (worst[0] in (PREEMPT, RECLAIM) and q.next_for_preempt) or
                     (worst[1] > 0 and q.next_for_borrow))
            if not go_on or better(worst, best_mode, q.borrow_costs_more):
                best, best_mode = fits, worst
            if not go_on:
                break
        tried = -1 if tried == last else tried
        return ({r: (*v, tried) for r, v in best.items()} if best else None), best_mode[0]

    def assign(self, w, counts=None, pins=None):
        if w.scan and w.scan[1] < self.cycle - 1 and w.scan[2] < w.queue.generation:
            w.scan = None
        a = Assignment(counts or [s[1] for s in w.sets])
        for i, (_, _, _, requests, pod) in enumerate(w.sets):
            chosen, wants = {}, {r: v * a.counts[i] for r, v in requests.items()}
            for r in sorted(wants):
                if r in chosen:
                    continue
                group = next((g for g in w.queue.spec["resourceGroups"] if r in g["coveredResources"]), None)
                if group is None and wants[r] == 0:
                    continue
                found, mode = None, NOFIT
                if group:
                    first = (w.scan[0][i].get(r, -1) + 1) if w.scan and i < len(w.scan[0]) else 0
                    some = {x: v for x, v in wants.items() if x in group["coveredResources"]}
                    pinned = {pins[i][x][0] for x in some if x in pins[i]} if pins else None
                    found, mode = self.group_flavor(w, group, some, pod, a.usage, first, pinned)
                if not found:
                    a.mode = NOFIT
                    return a
                chosen.update(found)
                a.mode = a.mode if mode == FIT else PREEMPT
            a.sets.append(chosen)
            for r, (flavor, _, borrow, _) in chosen.items():
                a.usage[(flavor, r)] = a.usage.get((flavor, r), 0) + wants[r]
                a.borrow = max(a.borrow, borrow)
        return a

    def victims(self, w, wants, short):
        from model_preempt import classical, fair_sharing
        return (fair_sharing if self.fair else classical)(self, w, wants, short)

    def attempt(self, w, counts=None, pins=None):
        a = self.assign(w, counts, pins)
        counted = {p: v for p, v in a.usage.items() if p[1] != "pods"}  # Kueue's search leaves those out
        victims = self.victims(w, counted, a.short()) if a.mode == PREEMPT else []
        return a, victims, a.mode == FIT or bool(victims)

    def nominate(self, w, pins=None):
        a, victims, good = self.attempt(w, None, pins)
        deltas = [count - least for _, count, least, _, _ in w.sets]
        low, high, found = 0, sum(deltas) + 1, None
        while not good and sum(deltas) > 0 and low < high:  # partial admission: the smallest reduction that does
            mid = (low + high) // 2
            b = self.attempt(w, [s[1] - d * mid // sum(deltas) for s, d in zip(w.sets, deltas)], pins)
            low, high, found = (low, mid, b) if b[2] else (mid + 1, high, found)
        if found:
            a, victims, _ = found
        w.scan = (a.tried(), self.cycle, w.queue.generation)
        return a, victims

    # ---- a cycle ----

    def order(self, entries):
        if self.fair:
            from model_preempt import tournament
            return tournament(entries)
        return iter(sorted(entries, key=lambda e: (e.a.borrow, -e.w.priority, e.w.time)))

    def recompute(self, e, gone):
        """Some of its victims are others' already: once more, as if those were gone, in the same flavors."""
        for v in gone.values():
            self.take_out(v)
            v.queue.holders.remove(v)
        e.w.scan = None
        a, victims = self.nominate(e.w, e.a.sets)
        for v in reversed(gone.values()):
            v.queue.holders.append(v)
            self.put_back(v)
        e.a, e.victims = a, victims
        return a.mode == FIT

    def reserve(self, e, use):
        q = e.w.queue
        for pair, v in e.a.usage.items():
            nominal, borrowing, _ = q.quota[pair]
            if e.a.borrow > 0:
                v = v if borrowing is None else min(v, nominal + borrowing - q.used(pair))
            else:
                v = max(0, min(v, nominal - q.used(pair)))
            use(q, pair, v)
            self.kept.append((q, pair, v))

    def fits_beside(self, e):
        """Here Kueue is not followed: it would admit on what the victims of the cycle still hold."""
        for q, pair, v in reversed(self.kept):
            q.remove(pair, v)
        fits = all(v <= e.w.queue.available(pair) for pair, v in e.a.usage.items())
        for q, pair, v in self.kept:
            q.add(pair, v)
        return fits

    def process(self, e, gone, use):
        """True when it is admitted; else e.why says why not. gone: the victims of this cycle, by name."""
        w, q, deferred = e.w, e.w.queue, False
        if e.a.mode != NOFIT and any(v.name in gone for v, _ in e.victims):
            deferred = self.recompute(e, gone)
        if e.a.mode == NOFIT:
            e.why = "NoFit"
            return False
        if e.a.mode == PREEMPT and not e.victims:
            e.why = "NoCandidates"
            if q.reclaim != "Any":
                self.reserve(e, use)
            return False
        without = {**gone, **{v.name: v for v, _ in e.victims}}
        for v in without.values():
            self.take_out(v)
        fits = all(v <= q.available(pair) for pair, v in e.a.usage.items())
        for v in reversed(without.values()):
            self.put_back(v)
        if e.a.mode == FIT and not deferred:
            fits = fits and self.fits_beside(e)
        if not fits and not deferred:
            e.why = "Skipped"
            return False
        for pair, v in e.a.usage.items():
            use(q, pair, v)
            self.kept += [(q, pair, v)] if e.a.mode == PREEMPT or deferred else []
        if e.a.mode == PREEMPT or deferred:
            w.scan, e.why = None, "Preempting"
            gone.update({v.name: v for v, _ in e.victims})
            return False
        return True

    def requeue(self, e):
        w, q = e.w, e.w.queue
        if e.why == "Preempting":
            q.sticky = q.sticky if q.strict else w
        left = w.scan and any(i != -1 for s in w.scan[0] for i in s.values())
        if q.strict or e.why in ("Skipped", "Preempting") or left:
            q.heap.append(w)
            return
        q.failed.add(w.alike)
        q.parked += [w] + [x for x in q.heap if x.alike == w.alike]
        q.heap = [x for x in q.heap if x.alike != w.alike]

    def run_cycle(self):
        """(admitted, preempted), sorted."""
        self.cycle += 1
        self.kept = []  # what heads of the cycle keep from others, though they are not admitted
        heads = [q.head() for q in self.queues.values() if q.heap and not q.stopped]
        for w in heads:
            w.queue.heap.remove(w)
        entries, gone, used, admitted, preempted = [Entry(w, *self.nominate(w)) for w in heads], {}, [], [], []

        def use(q, pair, v):
            q.add(pair, v)
            used.append((q, pair, v))
        for e in self.order(entries):
            before = set(gone)
            if self.process(e, gone, use):
                admitted.append(e)
            preempted += [(v, reason) for v, reason in e.victims if v.name in gone and v.name not in before]
        for q, pair, v in reversed(used):
            q.remove(pair, v)
        for e in admitted:
            e.w.held, e.w.reserved, e.w.scan = e.a, self.now, None
            self.put_back(e.w)
            e.w.queue.holders.append(e.w)
            e.w.queue.generation += 1
            if self.seen and e.w.queue.sticky is e.w:
                e.w.queue.sticky = None
        for e in entries:
            if e not in admitted:
                self.requeue(e)
        self.now += 1
        for v, _ in sorted(preempted, key=lambda p: p[0].name):
            self.release(v)
            self.enter(v)
        for v, _ in preempted:
            self.retry(v.queue)
        return sorted(map(told, admitted)), sorted((v.name, reason) for v, reason in preempted)

    def is_active(self):
        return any(q.heap and not q.stopped for q in self.queues.values())

    def active(self):
        return [sorted(w.name for w in q.heap if not q.stopped) for q in self.queues.values()]

    def names(self, holding):
        return sorted(w.name for w in self.workloads.values() if not w.gone and (w.held is not None) == holding)

    def run_step(self, goes_on=lambda decisions: False):
        """The decisions of each cycle, and whether they came to an end; goes_on: although nothing changes any more."""
        decisions, before = [], None
        while self.is_active():
            if len(decisions) == CYCLES_MAX:
                return decisions, False
            decisions.append(self.run_cycle())
            now = self.active()
            if not any(decisions[-1]) and now == before and not goes_on(decisions):
                break
            before = now
        return decisions, True


def told(e):
    sets = tuple((s[0], n, tuple(sorted((r, v[0]) for r, v in chosen.items())))
                 for s, n, chosen in zip(e.w.sets, e.a.counts, e.a.sets))
    return e.w.name, e.w.queue.name, sets


def written(cycle):
    return (sorted((a["name"], a["clusterQueue"],
                    tuple((s["name"], s["count"], tuple(sorted(s.get("flavors", {}).items()))) for s in a["podSets"]))
                   for a in cycle.get("admitted") or []),
            sorted((p["name"], p["reason"]) for p in cycle.get("preempted") or []))


def agrees(scenario):
    m = Model(scenario)
    for step in scenario["steps"]:
        for obj in step.get("clusterQueues") or []:
            m.edit(obj)
        for name in step.get("finish") or []:
            m.finish(name)
        for obj in step.get("submit") or []:
            m.submit(obj)
        want = [w for w in map(written, step.get("cycles") or []) if any(w)]
        got = [d for d in m.run_step(lambda done: len([d for d in done if any(d)]) < len(want))[0] if any(d)]
        if got != want or m.names(True) != sorted(step.get("admittedAfter") or []):
            return False
    return True


def main():
    passed = failed = 0
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as f:
            for line in f:
                scenario = json.loads(line)
                if agrees(scenario):
                    passed += 1
                else:
                    failed += 1
                    print(scenario["name"])
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
