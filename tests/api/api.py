#!/usr/bin/env python3
"""api: the API server alone against the real kubectl.

    api.py APISERVER KUBECTL

Starts the test server over TLS in a folder of its own, runs commands as people do, and compares what they print.
Exit status 0 when every check held.
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading


class Session:
    def __init__(self, program, kubectl, folder):
        self.kubectl, self.folder, self.failed, self.checks = kubectl, folder, 0, 0
        self.env = dict(os.environ, KUBECONFIG=folder + "/kubeconfig", HOME=folder)
        self.env.pop("https_proxy", None)
        self.process = subprocess.Popen([program, folder], stdout=subprocess.PIPE, text=True)
        ready = self.process.stdout.readline()
        assert ready.startswith("ready "), ready

    def command(self, args):
        return [self.kubectl, "--cache-dir", self.folder + "/cache"] + args

    def run(self, args, stdin=None, timeout=60):
        return subprocess.run(self.command(args), env=self.env, input=stdin, text=True, timeout=timeout,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def check(self, line, want, code=0, stdin=None):
        """Runs `kubectl LINE`; its output must match the regular expression `want`."""
        done = self.run(line.split() if isinstance(line, str) else line, stdin)
        self.judge(line, re.search(want, done.stdout, re.S | re.M) and (done.returncode == 0) == (code == 0),
                   done.stdout, want)
        return done.stdout

    def judge(self, name, good, got, want):
        self.checks += 1
        if not good:
            self.failed += 1
            print(f"not ok: {name}\n  want: {want}\n  got:  {got}")

    def raw(self, path):
        return json.loads(self.run(["get", "--raw", path]).stdout)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(20)
        self.judge("the server stops cleanly", status == 0, status, 0)


def config_map(name, **data):
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})


def objects(s):
    s.check("create cm a --from-literal=x=1", "configmap/a created")
    s.check("create cm a --from-literal=x=1", r'\(AlreadyExists\): configmaps "a" already exists|already exists', 1)
    s.check("create namespace team", "namespace/team created")
    s.check("get cm a -o jsonpath={.data.x}", "^1$")
    s.check("get cm a -o yaml", "kind: ConfigMap.*resourceVersion:.*uid:")
    s.check("get cm a", r"NAME\s+DATA\s+AGE\na\s+1\s")
    s.check("get cm -A --show-labels", r"default\s+a\s")
    s.check("get cm nope", r'Error from server \(NotFound\): configmaps "nope" not found', 1)
    s.check("describe cm a", "Name: +a")
    s.check("-n nowhere create cm a", r'namespaces "nowhere" not found', 1)


def applying(s):
    s.check("apply -f -", "configmap/b created", stdin=config_map("b", k="v"))
    before = s.raw("/api/v1/namespaces/default/configmaps/b")["metadata"]["resourceVersion"]
    s.check("apply -f -", "configmap/b unchanged", stdin=config_map("b", k="v"))
    s.check("apply -f -", "configmap/b configured", stdin=config_map("b", k="w", l="m"))
    s.check("apply -f -", "configmap/b configured", stdin=config_map("b", l="m"))
    s.check("get cm b -o jsonpath={.data}", r'^{"l":"m"}$')
    s.check("apply --dry-run=server -f -", "server dry run", stdin=config_map("b", l="n"))
    s.check("get cm b -o jsonpath={.data.l}", "^m$")
    after = s.raw("/api/v1/namespaces/default/configmaps/b")["metadata"]["resourceVersion"]
    s.judge("revisions grow", int(after) > int(before), after, before)
    s.check("replace -f -", "configmap/b replaced", stdin=config_map("b", z="1"))
    s.check("label cm b tier=gold", "labeled")
    s.check("annotate cm b why=test", "annotated")
    s.check("get cm -l tier=gold -o name", "^configmap/b$")
    s.check("get cm -l tier!=gold -o name", "^configmap/a$")
    s.check("get cm --field-selector metadata.name=b -o name", r"^configmap/b\s*$")
    s.check("get cm --field-selector spec.x=b", "field label not supported", 1)
    s.check("apply --server-side -f -", "configmap/b serverside-applied", 0, config_map("b"))
    bogus = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "bogus": 1})
    s.check("create -f -", r'strict decoding error: unknown field "bogus"', 1, bogus)
    s.check("create --validate=warn -f -", r'Warning: unknown field "bogus".*configmap/c created', 0, bogus)
    wrong = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"d"},"immutable":"yes"}'
    s.check("create -f -", r'ConfigMap in version "v1" cannot be handled as a ConfigMap: immutable: ', 1, wrong)
    wrong = '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Cohort","metadata":{"name":"d"},"spec":{"parentName":1}}'
    s.check("create -f -", r'The Cohort "d" is invalid: spec.parentName', 1, wrong)


def patching(s):
    for kind, patch, want in (
        ("merge", '{"data":{"p":"1"}}', '"p":"1"'),
        ("json", '[{"op":"add","path":"/data/q","value":"2"}]', '"q":"2"'),
        ("strategic", '{"data":{"p":null}}', '^{(?!.*"p")'),
    ):
        s.check(["patch", "cm", "b", "--type", kind, "-p", patch], "configmap/b patched")
        s.check("get cm b -o jsonpath={.data}", want)
    s.check(["patch", "cm", "b", "--type=merge", "-p", '{"data":{"q":"2"}}'], r"patched \(no change\)")
    stale = '{"metadata":{"resourceVersion":"1"},"data":{"q":"3"}}'
    s.check(["patch", "cm", "b", "--type=merge", "-p", stale], r"\(Conflict\).*the object has been modified", 1)
    s.check(["patch", "cm", "b", "--type=json", "-p", '[{"op":"test","path":"/data/q","value":"9"}]'],
            "the server rejected our request", 1)


def watching(s):
    child = subprocess.Popen(s.command(["get", "cm", "-w", "--output-watch-events"]), env=s.env,
                             stdout=subprocess.PIPE, text=True)
    timer = threading.Timer(60, child.kill)
    timer.start()
    for line in child.stdout:
        if " b " in line:
            break
    s.check("create cm watched", "created")
    seen = []
    for line in child.stdout:
        seen.append(line.split())
        if " watched " in line:
            break
    s.check("delete cm watched", "deleted")
    for line in child.stdout:
        seen.append(line.split())
        if "DELETED" in line:
            break
    timer.cancel()
    child.kill()
    child.wait()
    child.stdout.close()
    text = json.dumps(seen)
    s.judge("get -w", "ADDED" in text and "DELETED" in text, text, "ADDED, DELETED")
    s.check(["get", "--raw", "/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=1&sendInitialEvents=true"
             "&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"], '"ADDED".*initial-events-end')
    s.check(["get", "--raw", "/api/v1/configmaps?watch=1&sendInitialEvents=true"],
            "resourceVersionMatch|invalid", 1)


def paging(s):
    for i in range(5):
        s.run(["-n", "team", "create", "cm", f"p{i}"])
    page = s.raw("/api/v1/namespaces/team/configmaps?limit=2")
    s.judge("remaining", page["metadata"].get("remainingItemCount") == 3, page["metadata"], 3)
    names = [i["metadata"]["name"] for i in page["items"]]
    while page["metadata"].get("continue"):
        page = s.raw("/api/v1/namespaces/team/configmaps?limit=2&continue=" + page["metadata"]["continue"])
        names += [i["metadata"]["name"] for i in page["items"]]
    s.judge("pages", names == [f"p{i}" for i in range(5)], names, "p0..p4")
    s.check(["get", "--raw", "/api/v1/configmaps?continue=zz"], "continue", 1)
    s.check("-n team delete cm --all", "deleted")
    s.judge("all gone", s.raw("/api/v1/namespaces/team/configmaps")["items"] == [], "", "[]")


def people(s):
    s.check("auth whoami", "Username +admin")
    s.check("auth can-i create pods", "yes")
    s.check("create token default", r"^ey[\w-]+\.[\w-]+\.[\w-]+")
    s.check("--as alice get pods", r'pods is forbidden: User "alice" cannot list resource "pods" in API group "" in '
            r'the namespace "default"', 1)
    s.check("explain pod.spec.containers", "FIELD: containers")
    s.check("explain clusterqueue.spec", "VERSION: +v1beta2")
    s.check("api-resources", r"workloads\s.*kueue.x-k8s.io/v1beta2\s+true\s+Workload")
    s.check("version", r"Server Version: v1\.35\.0\+berth")
    s.check("get pod nope", r'pods "nope" not found', 1)
    s.check("get nonsense", 'the server doesn\'t have a resource type "nonsense"', 1)


def kinds_of_others(s):
    """What people bring along that is kept but not acted on says so; what is not known is told of as kubectl tells it."""
    def manifest(api, kind):
        return json.dumps({"apiVersion": api, "kind": kind, "metadata": {"name": "x"}, "spec": {}})

    s.check("create ingress i --rule=a.example/x=s:80", "Warning: Ingress: Stored and checked, but nothing routes by it")
    s.check("get ing i", r"i\s+<none>\s+a\.example\s+80\s")
    s.check("get all", "(?!.*Berth has no)")
    s.check("create -f -", "ensure CRDs are installed first", 1, manifest("example.com/v1", "Widget"))


def pods_and_jobs(s):
    s.check("run p --image=busybox --restart=Never -- true", "pod/p created")
    s.check("get pod p -o wide", r"p\s+0/1\s+Pending")
    s.check("get pod p -o jsonpath={.spec.serviceAccountName},{.spec.priority}", "^default,0$")
    s.check("logs p", r"no pod logs", 1)
    s.check("delete pod p", 'pod "p" deleted')
    s.check("create job j --image=busybox -- true", "job.batch/j created")
    s.check("get jobs", r"j\s+Running\s+0/1")
    status = '{"status":{"conditions":[{"type":"Complete","status":"True"}]}}'
    waiter = subprocess.Popen(s.command(["wait", "--for=condition=complete", "--timeout=30s", "job/j"]), env=s.env,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    s.check(["patch", "job", "j", "--subresource=status", "--type=merge", "-p", status], "patched|invalid", 0)
    s.judge("wait", "condition met" in waiter.communicate(timeout=60)[0], "", "condition met")
    s.check("delete job j --wait", 'job.batch "j" deleted')
    queue = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "LocalQueue", "metadata": {"name": "default"},
             "spec": {"clusterQueue": "cq"}}
    s.check("apply -f -", "Warning: kueue.x-k8s.io/v1beta1 LocalQueue is deprecated; use v1beta2\n"
            "localqueue.kueue.x-k8s.io/default created", stdin=json.dumps(queue))
    s.check("create job k --image=busybox -- true", "created")
    s.check(["get", "job", "k", "-o", r"jsonpath={.spec.suspend},{.metadata.labels.kueue\.x-k8s\.io/queue-name}"],
            "^true,default$")
    s.check("delete namespace team --wait=false", "deleted")
    s.check("delete namespace default", "this namespace may not be deleted", 1)
    s.check("-n team create cm late", "because it is being terminated", 1)


def main():
    with tempfile.TemporaryDirectory(prefix="berth-api-") as folder:
        s = Session(sys.argv[1], sys.argv[2], folder)
        try:
            for part in (objects, applying, patching, watching, paging, people, kinds_of_others, pods_and_jobs):
                part(s)
        finally:
            s.stop()
        print(f"{s.checks} checks, {s.failed} failed")
        sys.exit(1 if s.failed else 0)


main()
