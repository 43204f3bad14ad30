#!/usr/bin/env python3
"""webhooks: what a cluster asks `berth operate`, with the manifests that `berth manifests` prints. The API server is
`berth up --controllers none`: the Service of the webhooks is there with the Endpoints of the replicas.

webhooks.py BERTH KUBECTL [NAME...]      each test is a function test_* with a cluster of its own
"""
import base64
import json
import os
import re
import socket
import sys
import tempfile
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
sys.path.insert(0, os.path.join(HERE, "..", "operate"))
from harness import Berth, Fail, check, job, wait_for  # noqa: E402  pylint: disable=wrong-import-position
from operate import QUICK, Operate  # noqa: E402  pylint: disable=wrong-import-position

NS = "berth-system"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Webhooks(Berth):
    def __init__(self, program, kubectl):
        super().__init__(program, kubectl, gpus="none", args=["--controllers", "none"])
        self.operates, self.port_of = [], {}

    def __exit__(self, kind, value, trace):
        for o in self.operates:
            if o.process.poll() is None:
                o.process.kill()
            o.process.wait()
            if kind:
                print(f"---- the end of {o.name}'s log\n{o.log()[-3000:]}")
        super().__exit__(kind, value, trace)

    def kubectl(self, *args, **how):
        if args[:3] == ("wait", "--for=condition=Ready", "node"):
            return ""  # nobody runs nodes here, so none is waited for
        return super().kubectl(*args, **how)

    def install(self):
        self.kubectl("create", "-f", "-", stdin=self.berth("manifests", "crds"))
        self.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=20s")
        for ns in ("default", "kube-system", NS):  # no controller makes them here
            self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ns}})
        self.apply({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "berth-webhook", "namespace": NS},
                    "spec": {"ports": [{"name": "webhook", "port": 443, "targetPort": 9443}]}})

    def configure(self):
        """The configurations among what `berth manifests deploy` prints; then until their caBundle is there."""
        text = self.berth("manifests", "deploy")
        mine = [d for d in text.split("---\n") if "WebhookConfiguration\n" in d]
        check(len(mine) == 2, "two configurations are printed")
        self.kubectl("apply", "-f", "-", stdin="---\n".join(mine))
        wait_for("every webhook has its caBundle", lambda: None not in self.bundles())

    def bundles(self):
        return [w["clientConfig"].get("caBundle") for k in ("mutating", "validating")
                for w in self.get(f"{k}webhookconfigurations", "berth-webhook")["webhooks"]]

    def replica(self, name, *flags):
        port = free_port()
        o = Operate(self, name, "--namespace", NS, "--webhook", f"127.0.0.1:{port}", *QUICK, *flags).ready()
        self.port_of[name] = port
        return o

    def point_to(self, name):
        self.apply({"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "berth-webhook", "namespace": NS},
                    "subsets": [{"addresses": [{"ip": "127.0.0.1"}],
                                 "ports": [{"name": "webhook", "port": self.port_of[name]}]}]})

    def secret(self):
        data = self.get("secret", "berth-webhook-cert", "-n", NS)["data"]
        return {k: base64.b64decode(v).decode() for k, v in data.items()}

    def refused(self, *objects):
        done = self.run([self.kubectl_program, "create", "-f", "-"],
                        "\n---\n".join(json.dumps(o) for o in objects), ok=False)
        check(done.returncode != 0, f"it was not refused: {done.stdout}")
        return done.stderr


def cluster_queue(name, flavors, covered=("cpu",)):
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": name},
            "spec": {"resourceGroups": [{"coveredResources": list(covered), "flavors": [
                {"name": "any", "resources": [{"name": r, "nominalQuota": 1} for r in flavors]}]}]}}


def test_admission(c):
    c.install()
    one = c.replica("one").says("webhooks are served")
    c.point_to("one")
    c.configure()
    # A Job that names a queue starts suspended, another does not; nothing of them is lost.
    c.apply(job("queued", "true", queue="team", completions=3), job("plain", "true", queue=None))
    check(c.get("job", "queued")["spec"]["suspend"] is True, "a Job with a queue is suspended")
    check(c.get("job", "queued")["spec"]["completions"] == 3, "its other fields are there")
    check(c.get("job", "plain")["spec"].get("suspend") is False, "a Job without a queue is not")
    generated = job("x", "true", queue="team")
    generated["metadata"] = {"generateName": "made-", "namespace": "default", "labels": generated["metadata"]["labels"]}
    made = json.loads(c.kubectl("create", "-o", "json", "-f", "-", stdin=json.dumps(generated)))
    check(made["spec"]["suspend"] is True and made["metadata"]["name"] != "made-", "a Job with a made name is suspended")
    # The LocalQueue "default" is the queue of those that name none.
    c.apply(cluster_queue("cq", ["cpu"]),
            {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue",
             "metadata": {"name": "default", "namespace": "default"}, "spec": {"clusterQueue": "cq"}})

    def defaulted():
        c.kubectl("delete", "job", "later", "--ignore-not-found")
        c.apply(job("later", "true", queue=None))
        return c.get("job", "later")["metadata"].get("labels", {}).get("kueue.x-k8s.io/queue-name") == "default"
    wait_for("the default queue is known", defaulted)
    check(c.get("job", "later")["spec"]["suspend"] is True, "its Job is suspended")
    # Kueue's kinds: defaults that no schema has, rules over several fields, rules over changes.
    got = c.get("clusterqueue", "cq")
    check(got["metadata"]["finalizers"] == ["kueue.x-k8s.io/resource-in-use"], "a finalizer holds it")
    error = c.refused(cluster_queue("bad", ["memory"]))
    check('The ClusterQueue "bad" is invalid: spec.resourceGroups[0].flavors[0].resources[0].name' in error, error)
    denied = [line for line in one.get("/metrics")[1].splitlines() if 'result="denied"' in line]
    check(len(denied) == 1 and "/validate-kueue-x-k8s-io-v1beta2-clusterqueue" in denied[0], str(denied))
    # In kube-system and in Berth's own namespace nobody is asked.
    for ns in ("kube-system", NS):
        there = job("queued", "true", queue="team")
        there["metadata"]["namespace"] = ns
        out = c.kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", stdin=json.dumps(there))
        check(json.loads(out)["spec"].get("suspend") is False, f"{ns} is left alone")
    # A dry run is asked, too, and stores nothing.
    out = c.kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", stdin=json.dumps(job("dry", "true")))
    check(json.loads(out)["spec"]["suspend"] is True, "a dry run shows it")
    check("dry" not in [j["metadata"]["name"] for j in c.get("jobs")["items"]], "a dry run stores nothing")


def test_nobody_answers(c):
    c.install()
    one = c.replica("one").says("webhooks are served")
    c.point_to("one")
    c.configure()
    one.end()
    error = c.refused(job("queued", "true", queue="team"))
    check('failed calling webhook "mjob.berth.dev"' in error, error)
    own = job("queued", "true", queue="team")
    own["metadata"]["namespace"] = "kube-system"
    c.apply(own)  # the cluster itself lives on
    generated = job("x", "true", queue="team")
    generated["metadata"] = {"generateName": "made-", "namespace": "default", "labels": generated["metadata"]["labels"]}
    error = c.refused(generated)
    check('failed calling webhook "mjob.berth.dev"' in error, error)
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "plain", "namespace": "default"},
           "spec": {"containers": [{"name": "c", "image": "busybox"}]}}
    c.apply(pod)
    waiting = dict(pod, metadata={"name": "waiting", "namespace": "default",
                                  "annotations": {"kueue.x-k8s.io/pod-suspending-parent": "statefulset"}})
    error = c.refused(waiting)
    check('failed calling webhook "mpod-parent.berth.dev"' in error, error)
    c.apply(job("plain", "true", queue=None, suspend=True))  # and so does what names no queue
    c.kubectl("patch", "job", "plain", "--type=merge", "-p", '{"metadata":{"annotations":{"a":"b"}}}')
    error = c.run([c.kubectl_program, "label", "job", "plain", "kueue.x-k8s.io/queue-name=team"], ok=False).stderr
    check('failed calling webhook "vjob.berth.dev"' in error, error)
    c.kubectl("patch", "mutatingwebhookconfiguration", "berth-webhook", "--type=json", "-p", json.dumps([
        {"op": "replace", "path": f"/webhooks/{i}/failurePolicy", "value": "Ignore"}
        for i in range(len(c.get("mutatingwebhookconfiguration", "berth-webhook")["webhooks"]))]))
    c.kubectl("delete", "validatingwebhookconfiguration", "berth-webhook")
    c.apply(job("queued", "true", queue="team"))
    check(c.get("job", "queued")["spec"].get("suspend") is False, "Ignore lets it through as it is")


def test_replicas_share_a_certificate(c):
    c.install()
    one = c.replica("one").says("webhooks are served")
    c.replica("two").says("webhooks are served")
    c.point_to("two")
    c.configure()
    first = c.secret()
    check(set(first) == {"ca.crt", "ca.key", "tls.crt", "tls.key"}, str(set(first)))
    c.apply(job("by-two", "true", queue="team"))  # by the one that does not lead
    check(c.get("job", "by-two")["spec"]["suspend"] is True, "the follower answers")
    # The Secret goes: the leader makes another, API servers are told, both serve it.
    c.kubectl("delete", "secret", "berth-webhook-cert", "-n", NS)
    wait_for("a new Secret", lambda: c.kubectl("get", "secret", "berth-webhook-cert", "-n", NS, ok=False).returncode == 0)
    bundle = base64.b64encode(c.secret()["ca.crt"].encode()).decode()
    check(c.secret()["ca.crt"] != first["ca.crt"], "it is another")
    wait_for("every caBundle is the new one", lambda: set(c.bundles()) == {bundle})

    def admitted(name):
        done = c.run([c.kubectl_program, "create", "-f", "-"], json.dumps(job(name, "true", queue="team")), ok=False)
        return done.returncode == 0 and c.get("job", name)["spec"]["suspend"] is True
    wait_for("two serves it", lambda: admitted("again-two"))
    c.point_to("one")
    wait_for("one serves it", lambda: admitted("again-one"))
    one.end()  # the leader goes; the other keeps the certificate it has
    c.point_to("two")
    kept = c.secret()
    wait_for("two still answers", lambda: admitted("after-one"))
    wait_for("two leads", lambda: c.get("lease", "berth-controller", "-n", NS)["spec"]["holderIdentity"])
    check(c.secret() == kept, "the certificate is not made anew")


def test_certificate_of_ones_own(c):
    """Files instead of the Secret: whoever has the right caBundle is answered."""
    c.install()
    one = c.replica("one").says("webhooks are served")
    c.configure()
    with tempfile.TemporaryDirectory() as folder:
        for name, text in c.secret().items():
            with open(f"{folder}/{name}", "w", encoding="utf-8") as f:
                f.write(text)
        one.end()
        c.kubectl("delete", "secret", "berth-webhook-cert", "-n", NS)
        c.replica("files", "--webhook-cert", f"{folder}/tls.crt", "--webhook-key", f"{folder}/tls.key")
        c.point_to("files")
        c.apply(job("queued", "true", queue="team"))
        check(c.get("job", "queued")["spec"]["suspend"] is True, "it answers with the certificate that it was given")
        done = c.run([c.kubectl_program, "get", "secret", "berth-webhook-cert", "-n", NS], ok=False)
        check(done.returncode != 0, "no certificate of Berth's own is made")
        # A Service that is a name elsewhere: the port is the webhook's, the certificate still that of the Service.
        c.kubectl("delete", "endpoints,service", "berth-webhook", "-n", NS)
        c.apply({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "berth-webhook", "namespace": NS},
                 "spec": {"type": "ExternalName", "externalName": "localhost"}})
        check("failed calling webhook" in c.refused(job("elsewhere", "true", queue="team")), "nobody is at port 443")
        for kind in ("mutatingwebhookconfiguration", "validatingwebhookconfiguration"):
            hooks = c.get(kind, "berth-webhook")["webhooks"]
            c.kubectl("patch", kind, "berth-webhook", "--type=json", "-p", json.dumps([
                {"op": "replace", "path": f"/webhooks/{i}/clientConfig/service/port", "value": c.port_of["files"]}
                for i in range(len(hooks))]))
        c.apply(job("elsewhere", "true", queue="team"))
        check(c.get("job", "elsewhere")["spec"]["suspend"] is True, "it is asked there")


def main():
    program, kubectl, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    tests = [(n, f) for n, f in list(globals().items()) if re.match("test_", n) and (not names or n in names)]
    failed = 0
    for name, test in tests:
        try:
            with Webhooks(program, kubectl) as c:
                test(c)
            print(f"ok      {name}", flush=True)
        except Exception as e:  # pylint: disable=broad-except
            failed += 1
            print(f"FAILED  {name}: {e}", flush=True)
            if not isinstance(e, Fail):
                traceback.print_exc()
    print(f"{len(tests) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
