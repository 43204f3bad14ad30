"""scene: short words for what a spec makes and waits for, on a running Berth.

A Scene has names of its own for all that is shared by a cluster, so that many run beside one another. Objects are made by the
API, and what comes of them is heard by watches: a wait ends with the change that it waits for. Nobody runs anything: Workloads
have no owner, and the spec says itself that one ended (finish) or that nothing of it runs any more (let_go).
"""
import json
import math
import os
import re
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cluster"))
from client import KUEUE, Api, Fail, check  # noqa: E402

WAIT_S = 30
NAMESPACED = {"workloads": "Workload", "localqueues": "LocalQueue"}
CLUSTER = {"clusterqueues": "ClusterQueue", "cohorts": "Cohort", "resourceflavors": "ResourceFlavor",
           "admissionchecks": "AdmissionCheck"}


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class World:
    """A Berth: its API, and every Workload and queue as the watches tell."""

    def __init__(self, kubeconfig):
        self.api, self.news, self.seen, self.over = Api(kubeconfig), threading.Condition(), {}, False
        for kind in ("workloads", "clusterqueues", "localqueues"):
            got = self.api.get(f"{KUEUE}/{kind}")
            for o in got["items"]:
                self.note(kind, "ADDED", o)
            threading.Thread(target=self.api.watch, daemon=True, args=(
                f"{KUEUE}/{kind}", got["metadata"]["resourceVersion"],
                lambda event, o, kind=kind: self.note(kind, event, o), lambda: self.over)).start()

    def note(self, kind, event, o):
        key = (kind, o["metadata"].get("namespace"), o["metadata"]["name"])
        with self.news:
            self.seen[key] = None if event == "DELETED" else o
            self.news.notify_all()

    def wait(self, what, test):
        """Until test() is true; it is asked at each change. Its value is returned."""
        end = time.monotonic() + WAIT_S
        with self.news:
            while True:
                value = test()
                if value:
                    return value
                left = end - time.monotonic()
                if left <= 0:
                    raise Fail(f"waited {WAIT_S} s: {what()}")
                self.news.wait(left)

    def metric(self, name, **labels):
        """The value of one line; None: there is none. Without all labels: the sum of those that match."""
        text = self.raw("/metrics")
        found = []
        for line in re.findall(rf"^{name}(?:\{{(.*)\}})? (\S+)$", text, re.M):
            have = dict(re.findall(r'(\w+)="([^"]*)"', line[0]))
            if all(have.get(k) == v for k, v in labels.items()):
                found.append(float(line[1].replace("Inf", "inf")))
        return sum(found) if found else None

    def raw(self, path):
        c = self.api.upstream.connect()
        try:
            c.request("GET", path, headers=self.api.upstream.headers)
            return c.getresponse().read().decode()
        finally:
            c.close()


def conditions(o):
    return {c["type"]: c for c in (o or {}).get("status", {}).get("conditions", [])}


class Scene:
    def __init__(self, world, name):
        self.world, self.api, self.name, self.made = world, world.api, name, []
        self.ns = name
        self.api.create("Namespace", "/api/v1/namespaces", {"metadata": {"name": self.ns, "labels": {"spec": name}}})

    # ---- objects ----

    def full(self, name):
        return f"{self.name}-{name}"

    def make(self, plural, name, body):
        body.setdefault("metadata", {})["name"] = name
        if plural in NAMESPACED:
            path = f"{KUEUE}/namespaces/{self.ns}/{plural}"
        else:
            path = f"{KUEUE}/{plural}"
            self.made.append(f"{path}/{name}")
        return self.api.create(NAMESPACED.get(plural) or CLUSTER[plural], path, body)

    def flavor(self, name, labels=None, taints=(), tolerations=()):
        self.make("resourceflavors", self.full(name), {"spec": {
            "nodeLabels": labels or {}, "nodeTaints": list(taints), "tolerations": list(tolerations)}})

    def groups(self, quotas):
        """{flavor: {resource: nominal or (nominal, borrowing[, lending])}}: one group."""
        flavors = []
        for flavor, resources in quotas.items():
            rows = []
            for r, q in resources.items():
                q = q if isinstance(q, tuple) else (q,)
                rows.append({"name": r, **{k: str(v) for k, v in zip(("nominalQuota", "borrowingLimit", "lendingLimit"), q)
                                           if v is not None}})
            flavors.append({"name": self.full(flavor), "resources": rows})
        return [{"coveredResources": list(next(iter(quotas.values()))), "flavors": flavors}] if quotas else []

    def cq(self, name, quotas, cohort=None, local=True, weight=None, **spec):
        """A ClusterQueue and its LocalQueue of the same short name."""
        body = {"namespaceSelector": {}, "resourceGroups": self.groups(quotas), **spec}
        if cohort:
            body["cohortName"] = self.full(cohort)
        if weight is not None:
            body["fairSharing"] = {"weight": str(weight)}
        self.make("clusterqueues", self.full(name), {"spec": body})
        if local:
            self.lq(name, name)

    def lq(self, name, cq, **spec):
        self.make("localqueues", name, {"spec": {"clusterQueue": self.full(cq), **spec}})

    def cohort(self, name, quotas=None, parent=None, **spec):
        body = {"resourceGroups": self.groups(quotas or {}), **spec}
        if parent:
            body["parentName"] = self.full(parent)
        self.make("cohorts", self.full(name), {"spec": body})

    def check(self, name, active=True):
        full = self.full(name)
        self.make("admissionchecks", full, {"spec": {"controllerName": "example.com/checks"}})
        self.api.merge(f"{KUEUE}/admissionchecks/{full}/status", {"status": {"conditions": [
            {"type": "Active", "status": "True" if active else "False", "reason": "ByTest", "message": "by test",
             "lastTransitionTime": now()}]}})
        return full

    def wl(self, name, queue, cpu=None, count=1, priority=None, sets=None, annotations=None, limits=None, pod=None, **requests):
        """sets: {pod set: (count, requests)}; else one pod set "main"."""
        if cpu is not None:
            requests["cpu"] = cpu
        requests = {k.replace("_", "/"): str(v) for k, v in requests.items()}
        pod_sets = []
        for s, (n, req) in (sets or {"main": (count, requests)}).items():
            req = {k: str(v) for k, v in req.items()}
            both = {k: v for k, v in req.items() if "/" in k}  # what cannot be overcommitted needs both
            container = {"name": "c", "image": "i", "resources": {"requests": req, "limits": {**both, **(limits or {})}}}
            pod_sets.append({"name": s, "count": n, "template": {"spec": {
                "restartPolicy": "Never", "containers": [container], **(pod or {})}}})
        spec = {"queueName": queue, "podSets": pod_sets}
        if priority is not None:
            spec["priority"] = priority
        self.make("workloads", name, {"metadata": {"annotations": annotations or {}}, "spec": spec})
        return name

    def path(self, plural, name):
        return f"{KUEUE}/namespaces/{self.ns}/{plural}/{name}" if plural in NAMESPACED else f"{KUEUE}/{plural}/{self.full(name)}"

    def edit(self, plural, name, spec):
        return self.api.merge(self.path(plural, name), {"spec": spec})

    def delete(self, plural, name):
        self.api.delete(self.path(plural, name))

    def see(self, plural, name):
        return self.world.seen.get((plural, self.ns if plural in NAMESPACED else None,
                                    name if plural in NAMESPACED else self.full(name)))

    def gone(self, plural, name):
        """Waits until it is; what was not seen to come yet is not seen either, so the server is asked."""
        self.world.wait(lambda: f"{name} goes", lambda: self.api.request("GET", self.path(plural, name), ok=False)[0] == 404)

    def change_status(self, name, change):
        """change(object) edits the Workload's status in place; again where somebody was faster."""
        while True:
            o = self.api.get(self.path("workloads", name))
            if change(o) is False:
                return
            status, got = self.api.request("PUT", self.path("workloads", name) + "/status", o, ok=False)
            if status != 409:
                check(status < 300, f"status of {name}: {status} {got}")
                return

    def set_condition(self, name, kind, status, reason, message=""):
        def change(o):
            have = o.setdefault("status", {}).setdefault("conditions", [])
            old = conditions(o).get(kind, {})
            since = old.get("lastTransitionTime") if old.get("status") == status else now()
            have[:] = [c for c in have if c["type"] != kind] + [
                {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": since}]
        self.change_status(name, change)

    def finish(self, *names):
        for n in names:
            self.set_condition(n, "Finished", "True", "Succeeded", "by test")

    def let_go(self, *names):
        """What whoever runs it says once nothing of it runs any more."""
        for n in names:
            self.becomes(n, "Evicted", "True")

            def change(o):
                have = conditions(o)
                if have["QuotaReserved"]["status"] == "False":
                    return False
                o["status"].pop("admission", None)
                for kind, reason in (("QuotaReserved", "PendingEvaluation"), ("Admitted", "NoReservation")):
                    if kind in have:
                        have[kind].update(status="False", reason=reason, message="By test", lastTransitionTime=now())
                return True
            self.change_status(n, change)

    def reclaim(self, name, **counts):
        def change(o):
            o["status"]["reclaimablePods"] = [{"name": k, "count": v} for k, v in counts.items()]
        self.change_status(name, change)

    def check_state(self, name, check_name, state):
        def change(o):
            rows = o["status"].setdefault("admissionChecks", [])
            rows[:] = [c for c in rows if c["name"] != check_name] + [
                {"name": check_name, "state": state, "message": "", "lastTransitionTime": now()}]
        self.change_status(name, change)

    # ---- what comes of it ----

    def condition(self, name, kind):
        return conditions(self.see("workloads", name)).get(kind, {"status": "", "reason": "", "message": ""})

    def becomes(self, name, kind, status, reason=None, message=None):
        def test():
            c = self.condition(name, kind)
            return c["status"] == status and reason in (None, c["reason"]) and (
                message is None or re.search(message, c["message"]))
        self.world.wait(lambda: f"{name}: {kind}={status}/{reason} {message!r}; it is "
                                f"{json.dumps((self.see('workloads', name) or {}).get('status'))}", test)

    def admitted(self, *names):
        for n in names:
            self.becomes(n, "Admitted", "True")

    def reserves(self, *names):
        for n in names:
            self.becomes(n, "QuotaReserved", "True")

    def waits(self, *names, reason=None, message=None):
        for n in names:
            self.becomes(n, "QuotaReserved", "False", reason, message)

    def preempted(self, *names):
        for n in names:
            self.becomes(n, "Evicted", "True", "Preempted")

    def stays(self, *names, reserves):
        """What it is now, after everybody had a look: a probe through the same queues was decided meanwhile."""
        for n in names:
            is_so = self.condition(n, "QuotaReserved")["status"] == "True"
            check(is_so == reserves, f"{n}: QuotaReserved is {is_so}: {json.dumps((self.see('workloads', n) or {}).get('status'))}")

    def flavors(self, name):
        return {s["name"]: {r: f[len(self.name) + 1:] for r, f in s.get("flavors", {}).items()}
                for s in self.see("workloads", name)["status"]["admission"]["podSetAssignments"]}

    def usage(self, name):
        return self.see("workloads", name)["status"]["admission"]["podSetAssignments"][0]["resourceUsage"]

    def status(self, plural, name, test, what):
        """Until test(status) holds."""
        self.world.wait(lambda: f"{plural} {name}: {what}; it is {json.dumps((self.see(plural, name) or {}).get('status'))}",
                        lambda: test((self.see(plural, name) or {}).get("status") or {}))

    def counts(self, cq, pending=None, reserving=None, admitted=None):
        want = {"pendingWorkloads": pending, "reservingWorkloads": reserving, "admittedWorkloads": admitted}
        want = {k: v for k, v in want.items() if v is not None}
        self.status("clusterqueues", cq, lambda s: all(s.get(k, 0) == v for k, v in want.items()), f"{want}")

    def active(self, cq, status="True", reason=None, message=None):
        def test(s):
            c = conditions({"status": s}).get("Active", {})
            return c.get("status") == status and reason in (None, c.get("reason")) and (
                message is None or re.search(message, c.get("message", "")))
        self.status("clusterqueues", cq, test, f"Active={status}/{reason}")

    def metric(self, name, want, queue=None, **labels):
        """A metric of a ClusterQueue; NaN equals NaN."""
        if queue:
            labels["cluster_queue"] = self.full(queue)
        end, got = time.monotonic() + WAIT_S, None
        while True:
            got = self.world.metric(name, **labels)
            same = got is not None and (abs(got - want) < 1e-6 or (math.isnan(got) and math.isnan(want)))
            if same or (want == 0 and got is None):
                return
            if time.monotonic() > end:
                lines = [x for x in self.world.raw("/metrics").splitlines() if x.startswith(name) and self.name in x]
                raise Fail(f"{name}{labels} is {got}, not {want}: {lines}")
            time.sleep(0.1)

    def close(self):
        for name in [k[2] for k, o in list(self.world.seen.items()) if k[0] == "workloads" and k[1] == self.ns and o]:
            self.delete("workloads", name)
        self.api.delete(f"/api/v1/namespaces/{self.ns}")
        for path in reversed(self.made):
            self.api.delete(path)
