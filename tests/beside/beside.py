#!/usr/bin/env python3
"""beside: random documents for Berth and a kube-apiserver, and where their answers differ.

  beside.py --berth BERTH --kube-apiserver PROGRAM --etcd PROGRAM [--seed N] [--count N] [--kinds A,B] [--show N]

Each document is created (dryRun=All, fieldValidation=Strict, every second one Warn) and applied (server-side, dryRun=All)
on an object that is there already. Compared are the code, the reason, the first cause (field and type) and, where both
accept, the object that would be stored, but for what no two servers can have in common: uid, resourceVersion and times.
Differences are counted by what they look like, with a document of each that can be made again: --seed N --only KIND/NUMBER.
Those that docs/beside.md explains are listed in explained.txt; any other makes the exit status 1.
"""
import argparse
import json
import os
import re
import sys
from collections import Counter

from documents import KINDS, NAMESPACE, collection, name_of, random_document, valid
from servers import World

HERE = os.path.dirname(os.path.abspath(__file__))
TIMES = {"uid", "resourceVersion", "creationTimestamp", "time"}
# What Kubernetes' own deprecated annotation counts, and what controllers write, who do not run here.
NOT_COMPARED = {"deprecated.daemonset.template.generation", "f:deprecated.daemonset.template.generation", "observedGeneration",
                "batch.kubernetes.io/controller-uid", "controller-uid"}




def blank(value):
    """A zero of some type, or what has nothing else inside."""
    if isinstance(value, dict):
        return all(blank(v) for v in value.values())
    return value is None or value in (False, 0, "", [])


def clean(value, path=()):
    """Without what differs between any two servers."""
    if isinstance(value, dict):
        return {k: clean(v, path + (k,)) for k, v in value.items()
                if not (k in TIMES and path[:1] == ("metadata",) and path[1:2] != ("labels",)) and k not in NOT_COMPARED}
    if isinstance(value, list):
        return [clean(v, path + (i,)) for i, v in enumerate(value)]
    return re.sub("^kube-api-access-.....$", "kube-api-access-x", value) if isinstance(value, str) else value


def first_difference(ours, theirs, path=""):
    """(path, in words) of the first difference, or None."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted(set(ours) | set(theirs)):
            if blank(ours.get(key)) and blank(theirs.get(key)) and not path.startswith(".metadata.managedFields"):
                continue  # Kubernetes' types write some empty values and leave out others
            if key not in ours or key not in theirs:
                has = "only Kubernetes has" if key not in ours else "only Berth has"
                return f"{path}.{key}", f"{has} {json.dumps(theirs.get(key, ours.get(key)))[:60]}"
            found = first_difference(ours[key], theirs[key], f"{path}.{key}")
            if found:
                return found
        return None
    if isinstance(ours, list) and isinstance(theirs, list):
        for i, (a, b) in enumerate(zip(ours, theirs)):
            found = first_difference(a, b, f"{path}[{i}]")
            if found:
                return found
        return None if len(ours) == len(theirs) else (path, f"{len(ours)} elements, {len(theirs)} in Kubernetes")
    same = ours == theirs and isinstance(ours, bool) == isinstance(theirs, bool)
    return None if same else (path, f"{json.dumps(ours)[:40]}, {json.dumps(theirs)[:40]} in Kubernetes")


def pattern(path):
    """A path without its numbers and keys."""
    path = re.sub(r"\[[^\]]*\]", "[]", str(path))
    return re.sub(r"(f|k|v):[^.]*", r"\1:", path)


def outcome(answer):
    """(code, reason, field of the first cause, its type); what is created has only its code."""
    code, body = answer
    if not isinstance(body, dict):
        return code, "", "", ""
    if code < 300:
        return 200 if code == 201 else code, "", "", ""
    causes = (body.get("details") or {}).get("causes") or [{}]
    return code, body.get("reason", ""), causes[0].get("field", ""), causes[0].get("reason", "")


def causes(answer):
    """(field, type) of every cause."""
    found = (answer[1].get("details") or {}).get("causes") or []
    return {(c.get("field", ""), c.get("reason", "")) for c in found}


def message(answer):
    return answer[1].get("message", "") if isinstance(answer[1], dict) else str(answer[1])


def compare(ours, theirs):
    """None, or (what kind of difference, in words)."""
    a, b = outcome(ours), outcome(theirs)
    if b[0] == 500 and a[0] in (400, 422):
        return "a document that does not fit its schema: 400 or 422, 500 in Kubernetes", f"{message(ours)[:300]!r}\n      {message(theirs)[:300]!r}"
    if a[0] != b[0]:
        where = pattern(a[2] or b[2]) if a[0] == 422 or b[0] == 422 else shape(ours if a[0] > b[0] else theirs)
        return f"code {a[0]}, {b[0]} in Kubernetes: {where}", f"{message(ours)[:300]!r}\n      {message(theirs)[:300]!r}"
    if a[:2] == b[:2] and a != b and a[2:] in causes(theirs):
        return "another of the causes that Kubernetes tells is the first", f"{message(ours)[:300]!r}\n      {message(theirs)[:300]!r}"
    if a != b:
        for i, what in ((1, "reason"), (3, "type of the first cause"), (2, "field of the first cause")):
            if a[i] != b[i]:
                of = f" ({pattern(b[2])})" if i == 3 else ""
                return (f"{what} {pattern(a[i])}, {pattern(b[i])} in Kubernetes{of}",
                        f"{message(ours)[:300]!r}\n      {message(theirs)[:300]!r}")
    if a[0] != 200:
        return None
    found = first_difference(clean(ours[1]), clean(theirs[1]))
    if found is None:
        return None
    what = re.sub(r"[\d.]+|\"[^\"]*\"", "x", found[1])
    return f"object: {pattern(found[0])}: {what[:60]}", f"{found[0]}: {found[1]}"


def shape(answer):
    """A message without what is in quotes, for errors that name no field."""
    return re.sub(r"\"[^\"]*\"|\d+|\[[^\]]*\]", "x", message(answer))[:90]


class Run:
    def __init__(self, berth, kubernetes, seed):
        self.both, self.seed = (berth, kubernetes), seed
        self.counts, self.examples, self.kinds, self.asked = Counter(), {}, {}, 0

    def prepare(self, kinds):
        """A namespace with an account, and an object of each kind to apply on."""
        for s in self.both:
            s.ask("POST", "/api/v1/namespaces", json.dumps({"metadata": {"name": NAMESPACE, "annotations": {
                "openshift.io/sa.scc.uid-range": "1000000000/10000"}}}))
            s.ask("POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", json.dumps({"metadata": {"name": "default"}}))
        for kind in kinds:
            made = [s.ask("PATCH", f"{collection(kind)}/{self.applied(kind)}?fieldManager=beside", self.base(kind),
                          "application/apply-patch+yaml") for s in self.both]
            for who, (code, body) in zip(("Berth", "Kubernetes"), made):
                if code not in (200, 201):
                    raise SystemExit(f"{kind}: {who} does not take the valid document: {code} {body}")
            self.tell(kind, "base", "apply", compare(*made))

    def applied(self, kind):
        return name_of(kind) if kind == "CustomResourceDefinition" else "applied"

    def base(self, kind):
        document = valid(kind)
        document["metadata"]["name"] = self.applied(kind)
        return json.dumps(document)

    def tell(self, kind, number, verb, difference):
        if difference:
            key = f"{verb}: {difference[0]}"
            self.counts[key] += 1
            self.kinds.setdefault(key, Counter())[kind] += 1
            self.examples.setdefault(key, (f"{kind}/{number}", difference[1]))

    def one(self, kind, number):
        text = random_document(kind, self.seed, number)
        how = "Strict" if number % 2 == 0 else "Warn"
        path = f"{collection(kind)}?dryRun=All&fieldManager=m&fieldValidation={how}"
        if kind == "CustomResourceDefinition":
            text = text.replace("things", "items")
        answers = [s.ask("POST", path, text) for s in self.both]
        self.tell(kind, number, "create", compare(*answers))
        if kind == "CustomResourceDefinition":
            text = text.replace("items", "things")
        name = self.applied(kind)
        text = text.replace(f'"name": "{name_of(kind)}"', f'"name": "{name}"', 1)
        path = f"{collection(kind)}/{name}?dryRun=All&fieldManager=beside&force=true&fieldValidation={how}"
        answers = [s.ask("PATCH", path, text, "application/apply-patch+yaml") for s in self.both]
        self.tell(kind, number, "apply", compare(*answers))
        self.asked += 2


def explained():
    path = os.path.join(HERE, "explained.txt")
    with open(path, encoding="utf-8") as f:
        return [re.compile(line.rstrip("\n")) for line in f if line.strip() and not line.startswith("#")]


def report(run, show):
    known = explained()
    new = 0
    for key, count in run.counts.most_common():
        told = any(p.search(key) for p in known)
        new += not told
        if not told and new <= show:
            number, text = run.examples[key]
            print(f"{count:6} {key}\n      {' '.join(f'{k} {n}' for k, n in run.kinds[key].most_common(5))}\n      {number}: {text}")
    differ = sum(run.counts.values())
    unexplained = sum(n for k, n in run.counts.items() if not any(p.search(k) for p in known))
    print(f"{run.asked} answers, {differ} differ, {unexplained} of them ({new} kinds of difference) are not explained")
    return new


def main():
    p = argparse.ArgumentParser()
    for option in ("berth", "kube-apiserver", "etcd"):
        p.add_argument(f"--{option}", required=True)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--count", type=int, default=1000)
    p.add_argument("--kinds", default=",".join(KINDS))
    p.add_argument("--show", type=int, default=40)
    p.add_argument("--only", help="KIND/NUMBER: this document, and what both answer")
    a = p.parse_args()
    kinds = [a.only.split("/")[0]] if a.only else a.kinds.split(",")
    with World(a.berth, a.kube_apiserver, a.etcd) as both:
        run = Run(*both, a.seed)
        run.prepare(kinds)
        if a.only:
            print(random_document(kinds[0], a.seed, int(a.only.split("/")[1])))
            run.one(kinds[0], int(a.only.split("/")[1]))
        for kind in kinds if not a.only else []:
            for number in range(a.count):
                run.one(kind, number)
        sys.exit(1 if report(run, a.show) else 0)


if __name__ == "__main__":
    main()
