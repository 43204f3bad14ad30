#!/usr/bin/env python3
"""fair: FlowSchemas and priority levels at `berth up`; who asks much and who asks little.   fair.py BERTH KUBECTL [TEST...]"""
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
sys.path.insert(0, os.path.join(HERE, "..", "security"))
from api import Client, new_token  # noqa: E402  pylint: disable=wrong-import-position
from harness import Berth, check, run_tests, wait_for  # noqa: E402  pylint: disable=wrong-import-position

MAPS = "/api/v1/namespaces/default/configmaps"
FLOW = "/apis/flowcontrol.apiserver.k8s.io/v1"
GREEDY = 24  # connections that list without a pause

# Lists with a selector of many terms that matches nothing: much for the server, little for whoever asks. Prints how many are done.
LOAD = """
import http.client, ssl, sys, threading
port, ca, token, n = int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
context = ssl.create_default_context(cafile=ca)
done, ready = [0] * n, threading.Barrier(n + 1)
def lists(i):
    c = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=60)
    first = True
    while True:
        c.request("GET", "MAPS?labelSelector=LABELS", headers={"Authorization": "Bearer " + token})
        r = c.getresponse()
        r.read()
        if r.status != 200:
            print("status", r.status, flush=True)
        done[i] += 1
        if first:
            ready.wait()
            first = False
for i in range(n):
    threading.Thread(target=lists, args=(i,), daemon=True).start()
ready.wait()
print("ready", flush=True)
for line in sys.stdin:
    print(sum(done), flush=True)
""".replace("MAPS", MAPS).replace("LABELS", "%2C".join(f"label-{i}%3D" + "x" * 20 for i in range(20)) + "%2Cz%3Dy")


class Load:
    def __init__(self, b, token):
        self.process = subprocess.Popen(
            [sys.executable, "-c", LOAD, str(b.port), os.path.join(b.data, "pki", "ca.crt"), token, str(GREEDY)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        check(self.process.stdout.readline() == "ready\n", "the lists begin")

    def done(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def stop(self):
        self.process.kill()
        self.process.wait()


def fill(admin):
    """Objects of many labels, so that looking at them all takes a while."""
    labels = {f"label-{i}": "x" * 20 for i in range(20)}
    for i in range(6000):
        code, got = admin.call("POST", MAPS, {"apiVersion": "v1", "kind": "ConfigMap",
                                              "metadata": {"name": f"m{i:05}", "labels": labels}})
        check(code == 201, got)


def metric(admin, name, **labels):
    text = admin.call("GET", "/metrics")[1]
    total = 0.0
    for line in text.splitlines():
        if line.startswith(name) and all(f'{k}="{v}"' in line for k, v in labels.items()):
            total += float(line.rsplit(" ", 1)[1])
    return total


def test_two_users(b):
    """Whoever sends one request at a time is served about as often as whoever keeps 24 waiting, not a 24th as often."""
    admin = Client(b.port, b.data, cert="admin")
    fill(admin)
    b.kubectl("create", "clusterrolebinding", "view", "--clusterrole=view", "--user=greedy", "--user=modest")
    greedy, modest = new_token(admin, "greedy")[0], new_token(admin, "modest")[0]
    one = Client(b.port, b.data, token=modest)
    wait_for("the right", lambda: one.call("GET", MAPS + "/m00000")[0] == 200)
    load = Load(b, greedy)
    try:
        before, n = load.done(), 40
        for _ in range(n):
            check(one.call("GET", MAPS + "/m00000")[0] == 200, "a get")
        between = (load.done() - before) / n
        print(f"between two requests of the one, {between:.1f} lists of the other")
        check(between < GREEDY / 4, f"{between} lists went before each get; {GREEDY} wait at a time")
    finally:
        load.stop()
    level = {"priority_level": "global-default", "flow_schema": "global-default"}
    check(metric(admin, "apiserver_flowcontrol_dispatched_requests_total", **level) > n, "requests are counted")
    check(metric(admin, "apiserver_flowcontrol_request_wait_duration_seconds_count", **level) > 0, "some waited")
    wait_for("no seat is left taken",
             lambda: metric(admin, "apiserver_flowcontrol_current_executing_seats") == 0 and
             metric(admin, "apiserver_flowcontrol_current_inqueue_requests") == 0)


def test_objects(b):
    """The objects of Kubernetes are there, told in answers' headers, and acted on when they change."""
    admin = Client(b.port, b.data, cert="admin")

    def named(plural, *names):
        """All of a kind, once these are there: the server is ready before its controllers have made them."""
        def look():
            found = {o["metadata"]["name"]: o for o in admin.call("GET", f"{FLOW}/{plural}")[1]["items"]}
            return found if set(names) <= set(found) else None
        return wait_for(f"{plural} {names}", look, 20)

    schemas = named("flowschemas", "exempt", "global-default", "catch-all", "service-accounts")
    levels = named("prioritylevelconfigurations", "exempt", "global-default", "catch-all", "workload-low")
    check("global-default" in b.kubectl("get", "flowschemas"), "kubectl shows them")
    check("Limited" in b.kubectl("get", "prioritylevelconfigurations"), "kubectl shows them")

    def uids(client, path="/api/v1/namespaces/default/pods"):
        response = client.open("GET", path)
        response.read()
        return (response.getheader("X-Kubernetes-PF-FlowSchema-UID"),
                response.getheader("X-Kubernetes-PF-PriorityLevel-UID"))

    def of(schema, level):
        return schemas[schema]["metadata"]["uid"], levels[level]["metadata"]["uid"]

    ann = Client(b.port, b.data, token=new_token(admin, "ann")[0])
    check(uids(admin) == of("exempt", "exempt"), uids(admin))
    b.kubectl("create", "clusterrolebinding", "ann", "--clusterrole=view", "--user=ann")
    wait_for("the right", lambda: uids(ann) == of("global-default", "global-default"))
    made = {"apiVersion": FLOW[6:], "kind": "FlowSchema", "metadata": {"name": "ann"}, "spec": {
        "priorityLevelConfiguration": {"name": "narrow"}, "matchingPrecedence": 50, "rules": [{
            "subjects": [{"kind": "User", "user": {"name": "ann"}}],
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["pods"], "namespaces": ["default"]}]}]}}
    code, got = admin.call("POST", FLOW + "/flowschemas", made)
    check(code == 201 and got["spec"]["matchingPrecedence"] == 50, got)
    check(uids(ann) == of("global-default", "global-default"), "its level is missing")
    code, level = admin.call("POST", FLOW + "/prioritylevelconfigurations", {
        "apiVersion": FLOW[6:], "kind": "PriorityLevelConfiguration", "metadata": {"name": "narrow"},
        "spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Queue"}}}})
    check(code == 201 and level["spec"]["limited"]["limitResponse"]["queuing"] ==
          {"queues": 64, "handSize": 8, "queueLengthLimit": 50}, level)
    want = got["metadata"]["uid"], level["metadata"]["uid"]
    check(uids(ann) == want, f"{uids(ann)} {want}")
    check(uids(ann, "/api/v1/namespaces/default/services") == of("global-default", "global-default"), "others are as before")
    for path, change in ((FLOW + "/flowschemas/ann", {"spec": {"matchingPrecedence": 10001}}),
                         (FLOW + "/prioritylevelconfigurations/narrow", {"spec": {"type": "Exempt"}}),
                         (FLOW + "/prioritylevelconfigurations/narrow",
                          {"spec": {"limited": {"nominalConcurrencyShares": -1}}})):
        code, got = admin.call("PATCH", path, change, "application/merge-patch+json")
        check(code == 422, f"{change}: {code} {got}")
    b.stop()
    b.up()
    admin.close()
    admin = Client(b.port, b.data, cert="admin")
    check(admin.call("GET", FLOW + "/flowschemas/ann")[0] == 200, "they are kept")


def test_stuck_readers(b):
    """Whoever opens lists and reads none of them holds half of a level's seats at most."""
    admin = Client(b.port, b.data, cert="admin")
    data = {"k": "x" * 250000}
    for i in range(60):
        check(admin.call("POST", MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"m{i}"},
                                        "data": data})[0] == 201, "made")
    code, level = admin.call("POST", FLOW + "/prioritylevelconfigurations", {
        "apiVersion": FLOW[6:], "kind": "PriorityLevelConfiguration", "metadata": {"name": "tiny"},
        "spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 0, "limitResponse": {"type": "Reject"},
                                                "borrowingLimitPercent": 0}}})
    check(code == 201, level)
    rules = [{"subjects": [{"kind": "User", "user": {"name": n}} for n in ("stuck", "other")],
              "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"]}]}]
    check(admin.call("POST", FLOW + "/flowschemas", {
        "apiVersion": FLOW[6:], "kind": "FlowSchema", "metadata": {"name": "tiny"}, "spec": {
            "priorityLevelConfiguration": {"name": "tiny"}, "matchingPrecedence": 50, "rules": rules,
            "distinguisherMethod": {"type": "ByUser"}}})[0] == 201, "made")
    b.kubectl("create", "clusterrolebinding", "view", "--clusterrole=view", "--user=stuck", "--user=other")
    token = new_token(admin, "stuck")[0]
    wait_for("the right", lambda: Client(b.port, b.data, token=token).call("GET", MAPS + "/m0")[0] == 200)
    reader = Client(b.port, b.data, token=token)
    held = reader.open("GET", MAPS)  # 15 MB, more than the sockets take
    check(held.status == 200, held.status)
    code, got = Client(b.port, b.data, token=token).call("GET", MAPS + "/m0")
    check(code == 429 and got["reason"] == "TooManyRequests", f"its level has one seat: {code}")
    check(metric(admin, "apiserver_flowcontrol_rejected_requests_total", priority_level="tiny",
                 reason="concurrency-limit") >= 1, "that is counted")
    check(admin.call("GET", MAPS + "/m0")[0] == 200, "the administrator is exempt")
    held.read()
    check(Client(b.port, b.data, token=token).call("GET", MAPS + "/m0")[0] == 200, "the seat is free again")


def start(f, program, kubectl):
    b = Berth(program, kubectl, gpus="none", args=["--no-node"])
    original = b.kubectl
    b.kubectl = lambda *a, **k: "" if a[:2] == ("wait", "--for=condition=Ready") else original(*a, **k)
    with b:
        f(b)


if __name__ == "__main__":
    sys.exit(run_tests(globals(), start))
