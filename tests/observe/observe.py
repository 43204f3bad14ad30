"""observe: what a real `berth up` tells those who watch: Configuration, metrics, the visibility API."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from harness import Berth, Fail, check, wait_for  # noqa: E402

V2 = "kueue.x-k8s.io/v1beta2"
CONFIG = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
leaderElection: {leaderElect: true}
fairSharing: {preemptionStrategies: [LessThanOrEqualToFinalShare, LessThanInitialShare]}
metrics: {bindAddress: ':8443', enableClusterQueueResources: true}
"""
MANY = 1500

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
VALUE = r'"(?:[^"\\\n]|\\[\\"n])*"'
LINE = re.compile(rf"^({NAME})(?:\{{((?:{NAME}={VALUE})(?:,{NAME}={VALUE})*)\}})? "
                  r"(NaN|[+-]Inf|[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$")
PAIR = re.compile(rf"({NAME})=({VALUE})")


def parse(text):
    """The text format, strictly: {(name, sorted labels): value}; a family's lines stand together, under its head."""
    check(text.endswith("\n"), "the last line does not end")
    series, types, family, closed = {}, {}, None, set()
    for line in text.splitlines():
        head = re.match(rf"^# (HELP|TYPE) ({NAME}) (.*)$", line)
        if head:
            kind, name, rest = head.groups()
            if name != family:
                check(name not in closed, f"{name} stands in two places")
                closed.add(name)
                family = name
            if kind == "TYPE":
                check(rest in ("counter", "gauge", "histogram") and name not in types, line)
                types[name] = rest
            continue
        got = LINE.match(line)
        check(got, f"not a sample: {line!r}")
        name, labels, value = got.groups()
        base = name
        if types.get(family) == "histogram":
            base = re.sub(r"_(bucket|sum|count)$", "", name)
        check(base == family and family in types, f"under the head of {family}: {line}")
        pairs = tuple(sorted((k, json.loads(v)) for k, v in PAIR.findall(labels or "")))
        check(len({k for k, _ in pairs}) == len(pairs), f"a label twice: {line}")
        check((name, pairs) not in series, f"twice: {line}")
        series[(name, pairs)] = float(value)
    histograms(series, types)
    return series


def histograms(series, types):
    """Buckets grow, and the last is the count."""
    last = {}
    for (name, pairs), value in series.items():
        if name.endswith("_bucket") and types.get(name[:-7]) == "histogram":
            key = (name[:-7], tuple(p for p in pairs if p[0] != "le"))
            check(value >= last.get(key, 0), f"{key} shrinks")
            last[key] = value
    for (name, pairs), value in last.items():
        check(series[(name + "_count", pairs)] == value, f"{name}_count is not its last bucket")


def scrape(berth):
    return parse(berth.kubectl("get", "--raw", "/metrics"))


def value(series, metric, /, **labels):
    labels.setdefault("replica_role", "standalone")
    return series.get((metric, tuple(sorted(labels.items()))))


def expect(series, want, metric, /, **labels):
    got = value(series, metric, **labels)
    check(got == want, f"{metric}{labels}: {got}, not {want}")


def cluster_queue(name, cpu="2"):
    return {"apiVersion": V2, "kind": "ClusterQueue", "metadata": {"name": name},
            "spec": {"cohortName": "team", "namespaceSelector": {}, "resourceGroups": [
                {"coveredResources": ["cpu"], "flavors": [
                    {"name": "f", "resources": [{"name": "cpu", "nominalQuota": cpu}]}]}]}}


def local_queue(name, cq):
    return {"apiVersion": V2, "kind": "LocalQueue", "metadata": {"name": name, "namespace": "default"},
            "spec": {"clusterQueue": cq}}


def workload(name, cpu, priority=0):
    return {"apiVersion": V2, "kind": "Workload", "metadata": {"name": name, "namespace": "default"},
            "spec": {"queueName": "lq", "priority": priority, "podSets": [
                {"name": "main", "count": 1, "template": {"spec": {"restartPolicy": "Never", "containers": [
                    {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]}}}]}}


def condition(berth, kind, name, of):
    for c in berth.get(kind, name).get("status", {}).get("conditions", []):
        if c["type"] == of:
            return c["status"]
    return ""


def refused(program, root):
    path = os.path.join(root, "wrong.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(CONFIG + "resources: {quotaCheckStrategy: Maybe}\n")
    data = os.path.join(root, "never")
    done = subprocess.run([program, "up", "--data", data, "--config", path], capture_output=True, text=True,
                          timeout=30, check=False)
    check(done.returncode == 1, f"a wrong file: exit {done.returncode}")
    check('resources.quotaCheckStrategy: Unsupported value: "Maybe": supported values: "BlockUndeclared", "IgnoreUndeclared"' in done.stderr,
          done.stderr)
    check(not os.path.exists(data), "a wrong file left a data folder behind")


def warned(berth):
    with open(berth.log.name, encoding="utf-8") as f:
        text = f.read()
    for field in ("leaderElection", "metrics.bindAddress"):
        check(text.count(f"{field} has no effect") == 1, f"{field} is not warned of once")


def visibility(berth):
    base = "/apis/visibility.kueue.x-k8s.io/"
    resources = {r["name"]: r["verbs"] for r in json.loads(berth.kubectl("get", "--raw", base + "v1beta2"))["resources"]}
    check(resources == {"clusterqueues": [], "clusterqueues/pendingworkloads": ["get"], "localqueues": [],
                        "localqueues/pendingworkloads": ["get"]}, resources)

    def ask(path):
        return json.loads(berth.kubectl("get", "--raw", base + path))

    got = ask("v1beta2/clusterqueues/cq/pendingworkloads?offset=1&limit=1")
    check(got["kind"] == "PendingWorkloadsSummary" and got["apiVersion"] == "visibility.kueue.x-k8s.io/v1beta2", got)
    item, = got["items"]
    check((item["metadata"]["name"], item["positionInClusterQueue"], item["positionInLocalQueue"], item["priority"],
           item["localQueueName"]) == ("waits", 1, 1, 0, "lq"), item)
    got = ask("v1beta1/namespaces/default/localqueues/lq/pendingworkloads")
    check([i["metadata"]["name"] for i in got["items"]] == ["urgent", "waits"], got)
    for path in ("v1beta2/clusterqueues/none/pendingworkloads", "v1beta2/clusterqueues/cq", "v1beta2/clusterqueues"):
        done = berth.kubectl("get", "--raw", base + path, ok=False)
        check(done.returncode != 0 and "NotFound" in done.stderr, f"{path}: {done.stderr}")
    done = berth.kubectl("get", "--raw", base + "v1beta2/clusterqueues/cq/pendingworkloads", "--as", "joe", ok=False)
    check("Forbidden" in done.stderr, done.stderr)


def metrics(berth):
    s = scrape(berth)
    cq, lq, no_class = {"cluster_queue": "cq"}, {"name": "lq", "namespace": "default"}, {"priority_class": ""}
    cell = dict(cq, cohort="team", flavor="f", resource="cpu")
    expect(s, 0, "kueue_pending_workloads", status="active", **cq)
    expect(s, 2, "kueue_pending_workloads", status="inadmissible", **cq)
    expect(s, 2, "kueue_local_queue_pending_workloads", status="inadmissible", **lq)
    for family in ("quota_reserved_workloads_total", "admitted_workloads_total"):
        expect(s, 1, f"kueue_{family}", **cq, **no_class)
        expect(s, 1, f"kueue_local_queue_{family}", **lq, **no_class)
    expect(s, 1, "kueue_admission_wait_time_seconds_count", **cq, **no_class)
    expect(s, 1, "kueue_admitted_active_workloads", **cq)
    expect(s, 2, "kueue_unadmitted_workloads", reason="NoReservation", underlying_cause="ExceedsMaxQuota", **cq)
    expect(s, 1.5, "kueue_cluster_queue_resource_usage", **cell)
    expect(s, 2, "kueue_cluster_queue_nominal_quota", **cell)
    expect(s, float("inf"), "kueue_cluster_queue_borrowing_limit", **cell)
    expect(s, 14, "kueue_cluster_queue_resource_pending", resource="cpu", **cq)
    expect(s, 0, "kueue_cluster_queue_weighted_share", cohort="team", **cq)
    expect(s, 1, "kueue_cohort_info", cohort="team", parent_cohort="", root_cohort="team")
    expect(s, 2, "kueue_cohort_subtree_quota", cohort="team", flavor="f", resource="cpu")
    berth.kubectl("delete", "workload", "runs", "waits", "urgent")
    berth.kubectl("delete", "localqueue", "lq")
    berth.kubectl("delete", "clusterqueue", "cq")
    s = scrape(berth)
    left = [k for k in s if ("cluster_queue", "cq") in k[1] or ("name", "lq") in k[1]]
    check(not left, f"left behind: {left[:3]}")


def shares(berth):
    """Fair sharing is on: queues and cohorts say their share."""
    berth.apply({"apiVersion": V2, "kind": "Cohort", "metadata": {"name": "team"}}, cluster_queue("lends", "4"))

    def share(kind, name):
        return berth.get(kind, name).get("status", {}).get("fairSharing", {}).get("weightedShare")

    wait_for("the share of a ClusterQueue", lambda: share("clusterqueue", "lends") == 0)
    wait_for("the share of a Cohort", lambda: share("cohort", "team") == 0)
    berth.kubectl("delete", "clusterqueue", "lends")
    berth.kubectl("delete", "cohort", "team")


def many(berth):
    """So many queues that the answer is streamed."""
    items = [cluster_queue(f"q{i}") for i in range(MANY)]
    berth.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    text = berth.kubectl("get", "--raw", "/metrics")
    s = parse(text)
    check(len(text) > 1 << 20, "one piece was enough")
    for i in range(MANY):
        expect(s, 2, "kueue_cluster_queue_nominal_quota", cluster_queue=f"q{i}", cohort="team", flavor="f",
               resource="cpu")
    expect(s, 2 * MANY, "kueue_cohort_subtree_quota", cohort="team", flavor="f", resource="cpu")


def main(program, kubectl):
    berth = Berth(program, kubectl, gpus="none")
    path = os.path.join(berth.root, "config.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(CONFIG)
    berth.args += ["--config", path]
    with berth:
        refused(program, berth.root)
        warned(berth)
        berth.apply({"apiVersion": V2, "kind": "ResourceFlavor", "metadata": {"name": "f"}}, cluster_queue("cq"),
                    local_queue("lq", "cq"))
        berth.apply(workload("runs", "1500m"))
        wait_for("an admission", lambda: condition(berth, "workload", "runs", "Admitted") == "True")
        berth.apply(workload("waits", "5"), workload("urgent", "9", 7))
        for name in ("waits", "urgent"):
            wait_for("a reason", lambda n=name: condition(berth, "workload", n, "QuotaReserved") == "False")
        visibility(berth)
        metrics(berth)
        shares(berth)
        many(berth)
    print("observe: ok")


if __name__ == "__main__":
    try:
        main(os.path.abspath(sys.argv[1]), sys.argv[2])
    except Fail as e:
        sys.exit(f"observe: {e}")
