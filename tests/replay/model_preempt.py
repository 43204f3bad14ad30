"""The model's search for victims: Kueue's classical rules, its fair sharing, and the tournament among heads."""

REASONS = {"within": "InClusterQueue", "hierarchy": "InCohortReclamation", "reclaim": "InCohortReclamation",
           "borrow": "InCohortReclaimWhileBorrowing"}


def allowed(w, c, policy):
    if policy == "Any" or (policy != "Never" and w.priority > c.priority):
        return True
    return policy == "LowerOrNewerEqualPriority" and w.priority == c.priority and w.time < c.time


def candidates(w, q, policy, short):
    return [c for c in q.holders if allowed(w, c, policy) and any(c.held.usage.get(p, 0) > 0 for p in short)]


def order(w):
    return lambda c: (c.queue is w.queue, c.priority, -c.reserved, c.uid)


def fits(w, wants, borrowing):
    q = w.queue
    return all(v <= q.available(p) and (borrowing or q.quota[p][0] >= q.used(p) + v) for p, v in wants.items())


def fill_back(m, w, wants, victims, borrowing):
    """Who may stay after all: from the last but one to the first."""
    for i in range(len(victims) - 2, -1, -1):
        m.put_back(victims[i][0])
        if fits(w, wants, borrowing):
            victims[i] = victims[-1]
            victims.pop()
        else:
            m.take_out(victims[i][0])
    return victims


# ---- classical ----

def reach(node, wants):
    """Do the wants fit in what is the node's own? And what of them goes further up."""
    inside = not any(node.borrows_with(p, v) for p, v in wants.items())
    return inside, {p: max(0, v - node.local_free(p)) for p, v in wants.items()}


def kind_of(w, c, advantage):
    q = w.queue
    if advantage:
        return "hierarchy"
    if not q.may_borrow or c.priority >= w.priority or (q.threshold is not None and c.priority > q.threshold):
        return "reclaim"
    return "borrow"


def below(node, skip, short):
    for n in node.children:
        if n is skip or not n.borrows(short):
            continue
        if n.queue:
            if not n.stopped:
                yield n
        else:
            yield from below(n, None, short)


def classical_candidates(w, wants, short):
    q, hierarchy, priority = w.queue, [], []
    if q.reclaim != "Never":
        advantage, rest = reach(q, wants)
        last = q
        for node in q.above():
            for x in below(node, last, short):
                for c in candidates(w, x, q.reclaim, short):
                    (hierarchy if advantage else priority).append((c, kind_of(w, c, advantage), node))
            inside, rest = reach(node, rest)
            advantage, last = advantage or inside, node
    same = [(c, "within", q) for c in candidates(w, q, q.within, short)]
    key = order(w)
    for part in (hierarchy, priority, same):
        part.sort(key=lambda x: key(x[0]))
    return hierarchy, priority, same


def still(w, c, kind, top, short, borrowing):
    if c.queue is w.queue:
        return True
    if borrowing and kind == "reclaim":
        return False
    node = c.queue
    while node is not top:
        if not node.borrows(short):
            return False
        node = node.parent
    return True


def classical(m, w, wants, short):
    q = w.queue
    hierarchy, priority, same = classical_candidates(w, wants, short)
    under = all(q.used(p) < q.quota[p][0] for p in short)
    if not (hierarchy or priority) or (not q.may_borrow and not under):
        attempts = [True]
    elif not q.may_borrow and not hierarchy:
        attempts = [False, True]
    else:
        attempts = [True, False]
    for borrowing in attempts:
        victims, enough = [], False
        for c, kind, top in hierarchy + priority + same:
            if still(w, c, kind, top, short, borrowing):
                m.take_out(c)
                victims.append((c, REASONS[kind]))
                enough = fits(w, wants, borrowing)
            if enough:
                break
        victims = fill_back(m, w, wants, victims, borrowing) if enough else victims
        for c, _ in victims:
            m.put_back(c)
        if enough:
            return victims
    return []


# ---- shares ----

def share(node):
    """(class, value): borrowers of weight zero come above all others, and are compared by what they borrow."""
    borrowed = {}
    for pair in set(node.subtree) | set(node.usage):
        over = node.used(pair) - node.has(pair)
        if over > 0:
            borrowed[pair[1]] = borrowed.get(pair[1], 0) + over
    ratio = 0.0
    for resource, v in borrowed.items():
        lendable = sum(node.parent.potential(p) for p in node.root().subtree if p[1] == resource)
        ratio = max(ratio, v * 1000 / lendable) if lendable > 0 else ratio
    if ratio == 0:
        return 0, 0.0
    return (1, ratio) if node.weight == 0 else (0, ratio / node.weight)


def borrows_at_all(node):
    return node.borrows(node.usage)


# ---- fair sharing ----

class Targets:
    """Queues to take from, the greatest share first, and their candidates."""

    def __init__(self, w, found):
        self.w, self.by_queue, self.pruned = w, {}, set()
        self.path = [w.queue, *w.queue.above()]
        for c in found:
            self.by_queue.setdefault(c.queue, []).append(c)

    def live(self, n):
        if n in self.pruned:
            return False
        if n.queue:
            good = bool(self.by_queue.get(n)) and (borrows_at_all(n) or n is self.w.queue)
        else:
            good = borrows_at_all(n) or n in self.path
        if not good:
            self.pruned.add(n)
        return good

    def pick(self, node):
        key = order(self.w)
        queues = [n for n in node.children if n.queue and self.live(n)]
        cohorts = [n for n in node.children if not n.queue and self.live(n)]
        best = top = None
        for n in queues:
            if best is None or share(n) > share(best) or (
                    share(n) == share(best) and key(self.by_queue[n][0]) < key(self.by_queue[best][0])):
                best = n
        for n in cohorts:
            if top is None or share(n) >= share(top):
                top = n
        if best is None and top is None:
            self.pruned.add(node)
            return None
        return top if top is not None and (best is None or share(top) >= share(best)) else best

    def __iter__(self):
        root = self.w.queue.root()
        while root.queue and self.by_queue.get(root):
            yield root
        while not root.queue and root not in self.pruned:
            n = root
            while n is not None and not n.queue:
                n = self.pick(n)
            if n is not None:
                yield n

    def sides(self, target):
        """The nodes below the lowest common ancestor, on the side of the asker and of the target."""
        there = [target, *target.above()]
        i = next(i for i, n in enumerate(self.path) if n in there)
        return self.path[i - 1], there[there.index(self.path[i]) - 1]


class FairSearch:
    def __init__(self, m, w, wants):
        self.m, self.w, self.wants, self.victims = m, w, wants, []

    def take(self, c, reason):
        """True when that is enough."""
        self.m.take_out(c)
        self.victims.append((c, reason))
        for p, v in self.wants.items():
            self.w.queue.remove(p, v)
        enough = fits(self.w, self.wants, True)
        for p, v in self.wants.items():
            self.w.queue.add(p, v)
        return enough

    def share_without(self, c, node):
        self.m.take_out(c)
        s = share(node)
        self.m.put_back(c)
        return s

    def first(self, targets, within_nominal, retry):
        for t in targets:
            mine = targets.by_queue[t]
            if t is self.w.queue or within_nominal:
                if self.take(mine.pop(0), "InClusterQueue" if t is self.w.queue else "InCohortReclamation"):
                    return True
                continue
            near, far = targets.sides(t)
            ours = share(near)
            if ours[0] > share(far)[0]:
                retry += mine
                mine.clear()
            while mine:
                c = mine.pop(0)
                if ours <= self.share_without(c, far):
                    if self.take(c, "InCohortFairSharing"):
                        return True
                    break
                retry.append(c)
        return False

    def second(self, targets):
        for t in targets:
            near, far = targets.sides(t)
            if share(near) < share(far) and self.take(targets.by_queue[t][0], "InCohortFairSharing"):
                return True
            targets.pruned.add(t)
        return False


def fair_sharing(m, w, wants, short):
    q, found, retry = w.queue, [], []
    found += candidates(w, q, q.within, short)
    for x in m.tree(q):
        if x is not q and not x.stopped and x.borrows(short):
            found += candidates(w, x, q.reclaim, short)
    if not found:
        return []
    found.sort(key=order(w))
    for p, v in wants.items():
        q.add(p, v)
    search = FairSearch(m, w, wants)
    enough = search.first(Targets(w, found), not q.borrows(short), retry) or search.second(Targets(w, retry))
    for p, v in wants.items():
        q.remove(p, v)
    victims = fill_back(m, w, wants, search.victims, True) if enough else search.victims
    for c, _ in victims:
        m.put_back(c)
    return victims if enough else []


def tournament(entries):
    """The entries of a cycle, each the winner among those that are left; shares count what was admitted before."""
    left = list(entries)
    while left:
        e = left[0]
        if e.w.queue.parent is not None:
            e = winner(e.w.queue.root(), [x for x in left if x.w.queue.root() is e.w.queue.root()])
        left.remove(e)
        yield e


def ranks(e):
    """At each cohort above: (does the side of the entry borrow, its share), with what the entry would take."""
    q, found = e.w.queue, {}
    for p, v in e.a.usage.items():
        q.add(p, v)
    node = q
    while node.parent:
        found[node.parent] = (node.borrows(e.a.usage), share(node))
        node = node.parent
    for p, v in e.a.usage.items():
        q.remove(p, v)
    return found


def winner(root, entries):
    known = {e: ranks(e) for e in entries}

    def best(node):
        if node.queue:
            return next((e for e in entries if e.w.queue is node), None)
        some = [e for e in map(best, node.children) if e is not None]
        return min(some, key=lambda e: (*known[e][node], -e.w.priority, e.w.time), default=None)
    return best(root)
