"""kubectl: each command of `kubectl --help`, in the order in which people meet them."""
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import urllib.request

from parts import Client, Fail, check, wait_for

KUBECTL = Client("kubectl", [
    "Every command of `kubectl --help`, as `kubectl` 1.35 sends it, against `berth up --runtime process`."])
part = KUBECTL.part

CONTAINER = {"name": "c", "image": "busybox", "command": ["sh", "-c", "echo hello; exec sleep 1000"]}
DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "labels": {"app": "web"}},
              "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}},
                       "template": {"metadata": {"labels": {"app": "web"}},
                                    "spec": {"terminationGracePeriodSeconds": 1, "containers": [CONTAINER]}}}}


def run(b, line, expect="", stdin=None, code=0, env=None, args=()):
    """kubectl with the words of `line`; its output must match."""
    done = subprocess.run([b.kubectl_program, *line.split(), *args], input=stdin, capture_output=True, text=True,
                          env=dict(b.env, **(env or {})), timeout=90, check=False)
    out = done.stdout + done.stderr
    if done.returncode != code or not re.search(expect, out, re.S):
        raise Fail(f"kubectl {line}: exit {done.returncode}, expected {code} and /{expect}/\n{out}")
    return out


def manifest(*objects):
    return "\n---\n".join(json.dumps(o) for o in objects)


def ready_pod(b):
    """The name of a pod of the Deployment `web` that is ready."""
    def find():
        pods = json.loads(run(b, "get pods -l app=web -o json"))["items"]
        good = [p["metadata"]["name"] for p in pods if not p["metadata"].get("deletionTimestamp") and any(
            c["type"] == "Ready" and c["status"] == "True" for c in p.get("status", {}).get("conditions", []))]
        return good and good[0]
    return wait_for("a ready pod of web", find, 60)


class Background:
    """A command that runs until the block ends; `first` matches a line that it prints."""

    def __init__(self, b, line, first):
        self.b, self.line, self.first = b, line, first

    def __enter__(self):
        self.process = subprocess.Popen([self.b.kubectl_program, *self.line.split()], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, env=self.b.env)
        found = None
        while not found:
            text = self.process.stdout.readline()
            if not text:
                raise Fail(f"kubectl {self.line} ended with {self.process.wait()}")
            found = re.search(self.first, text)
        return found

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=20)
        self.process.stdout.close()


# ---- create ----

CREATED = [
    ("namespaces", "namespace made", ""),
    ("configmaps", "configmap made", "--from-literal=a=b"),
    ("generic Secrets", "secret generic made", "--from-literal=a=b"),
    ("Secrets for registries", "secret docker-registry pull", "--docker-username=u --docker-password=p"),
    ("service accounts", "serviceaccount made", ""),
    ("deployments", "deployment made", "--image=busybox --replicas=0"),
    ("jobs", "job made", "--image=busybox -- true"),
    ("cron jobs", "cronjob made", "--image=busybox --schedule=0_0_1_1_* -- true"),
    ("quotas", "quota made", "--hard=secrets=1000"),
    ("disruption budgets", "poddisruptionbudget made", "--selector=app=made --min-available=0"),
    ("priority classes", "priorityclass made", "--value=10"),
    ("roles", "role made", "--verb=get --resource=pods"),
    ("role bindings", "rolebinding made", "--role=made --user=u"),
    ("cluster roles", "clusterrole made", "--verb=get --resource=pods"),
    ("cluster role bindings", "clusterrolebinding made", "--clusterrole=made --user=u"),
    ("services", "service clusterip made", "--tcp=80:80"),
    ("services on nodes", "service nodeport made-node", "--tcp=80:80"),
    ("services of other names", "service externalname made-name --external-name=a.example", ""),
    ("ingresses", "ingress made", "--rule=a.example/x=made:80"),
]


def declare_created(what, line, more):
    @part("create", what)
    def _(b):
        words = [w.replace("_", " ") for w in more.split()]
        run(b, f"create {line}", " created", args=words)


@part("create", "files")
def _(b):
    run(b, "create -f -", "deployment.apps/web created", manifest(DEPLOYMENT))
    ready_pod(b)


for row in CREATED:
    declare_created(*row)


@part("create", "TLS Secrets")
def _(b):
    with tempfile.TemporaryDirectory() as d:
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                        f"{d}/k", "-out", f"{d}/c", "-days", "1", "-subj", "/CN=a.example"], check=True, capture_output=True)
        run(b, f"create secret tls cert --cert={d}/c --key={d}/k", "created")


@part("create", "load balancers")
def _(b):
    run(b, "create service loadbalancer made-balancer --tcp=80:80", "created")


@part("create", "tokens")
def _(b):
    run(b, "create token made", r"^[\w-]+\.[\w-]+\.[\w-]+\s*$")


@part("create", "jobs of cron jobs")
def _(b):
    run(b, "create job by-hand --from=cronjob/made", "created")


# ---- basic commands ----

@part("expose", "a deployment")
def _(b):
    run(b, "expose deployment web --port=80", "exposed")
    run(b, "get service web", r"web\s+ClusterIP\s+\d")


@part("run", "a pod in the background")
def _(b):
    run(b, "run alone --image=busybox --restart=Never -- sleep 1000", "pod/alone created")


@part("run", "and its output until it ends")
def _(b):
    run(b, "run once --image=busybox --restart=Never --rm -i --quiet --command -- echo from-inside", "from-inside")


@part("set", "image, resources, env, selector, subject, serviceaccount")
def _(b):
    run(b, "set image deployment/made busybox=busybox:2", "image updated")
    run(b, "set resources deployment/made --requests=cpu=10m", "resource requirements updated")
    run(b, "set env deployment/made A=B", "env updated")
    run(b, "set selector service/made app=web", "selector updated")
    run(b, "set subject rolebinding/made --user=other", "subjects updated")
    run(b, "set serviceaccount deployment/made made", "serviceaccount updated")


@part("explain", "fields of built-in kinds")
def _(b):
    run(b, "explain deployment.spec.strategy", "KIND: +Deployment.*FIELD: strategy")
    run(b, "explain pods --recursive", "ephemeralContainers.*hostIP")


@part("explain", "the older form, from OpenAPI v2", "OpenAPI v2 has no kinds")
def _(b):
    run(b, "explain pods.spec --output=plaintext-openapiv2", "KIND: +Pod.*containers")


@part("get", "tables, wide, by label and field, watching")
def _(b):
    run(b, "get pods -o wide -A", "NAMESPACE.*READY.*NODE")
    run(b, "get all", "deployment.apps/web")
    run(b, "get pods -l app=web --field-selector=metadata.namespace=default", "web-")
    run(b, "get deployment web -o jsonpath={.spec.replicas}", "^1$")
    run(b, "get pods --sort-by=.metadata.name --chunk-size=1", "alone")
    run(b, "get deployments,services --show-labels", "service/web")
    run(b, "get --raw /apis/apps/v1", "APIResourceList")
    with Background(b, "get deployments -w", "web"):
        pass


@part("edit", "in an editor")
def _(b):
    run(b, "edit configmap made", "edited", env={"KUBE_EDITOR": "sed -i /^..a:/s/b/c/"})
    run(b, "get configmap made -o jsonpath={.data.a}", "^c$")


# ---- deployments ----

@part("rollout", "status, history, restart, pause, resume, undo")
def _(b):
    run(b, "set env deployment/web ROUND=2", "env updated")
    run(b, "rollout status deployment/web --timeout=60s", "successfully rolled out")
    run(b, "rollout history deployment/web", "REVISION.*2")
    run(b, "rollout pause deployment/web", "paused")
    run(b, "rollout resume deployment/web", "resumed")
    run(b, "rollout undo deployment/web", "rolled back")
    run(b, "rollout restart deployment/web", "restarted")
    run(b, "rollout status deployment/web --timeout=60s", "successfully rolled out")


@part("scale", "deployments, sets and controllers")
def _(b):
    run(b, "scale deployment web --replicas=2", "scaled")
    run(b, "scale deployment web --current-replicas=2 --replicas=1", "scaled")
    run(b, "create -f -", "created", manifest(
        {"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": "old"},
         "spec": {"replicas": 0, "template": {"metadata": {"labels": {"app": "old"}}, "spec": {"containers": [CONTAINER]}}}}))
    run(b, "scale rc old --replicas=1", "scaled")
    run(b, "delete rc old", "deleted")


@part("autoscale", "a deployment")
def _(b):
    run(b, "autoscale deployment web --min=1 --max=2", "autoscaled")


# ---- the cluster ----

@part("certificate", "approve and deny", "CertificateSigningRequest is not served")
def _(b):
    with tempfile.TemporaryDirectory() as d:
        subprocess.run(["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{d}/k",
                        "-out", f"{d}/r", "-subj", "/CN=someone"], check=True, capture_output=True)
        text = subprocess.run(["base64", "-w0", f"{d}/r"], check=True, capture_output=True, text=True).stdout
    request = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": "r"},
               "spec": {"request": text, "signerName": "kubernetes.io/kube-apiserver-client", "usages": ["client auth"]}}
    run(b, "create -f -", "created", manifest(request))
    run(b, "certificate approve r", "approved")


@part("cluster-info", "where things are")
def _(b):
    run(b, "cluster-info", "control plane.* is running at")


@part("cluster-info", "dump")
def _(b):
    run(b, "cluster-info dump --namespaces default -o json", '"kind": "NodeList"')


@part("top", "pods and nodes")
def _(b):
    def there():
        done = b.run([b.kubectl_program, "top", "pods"], ok=False)
        return done.returncode == 0 and "web-" in done.stdout
    wait_for("usage of pods", there, 90, 1)
    run(b, "top nodes", "CPU.*MEMORY")


def node(b):
    return run(b, "get nodes -o jsonpath={.items[0].metadata.name}").strip()


@part("cordon", "a node")
def _(b):
    run(b, f"cordon {node(b)}", "cordoned")
    run(b, "get nodes", "SchedulingDisabled")


@part("uncordon", "a node")
def _(b):
    run(b, f"uncordon {node(b)}", "uncordoned")


@part("drain", "pods are evicted")
def _(b):
    run(b, f"drain {node(b)} --pod-selector=app=web --timeout=60s", "evicting pod.*drained")
    run(b, f"uncordon {node(b)}", "uncordoned")


@part("taint", "set and remove")
def _(b):
    run(b, f"taint node {node(b)} example.com/a=b:PreferNoSchedule", "tainted")
    run(b, f"taint node {node(b)} example.com/a-", "untainted")


# ---- troubleshooting ----

@part("describe", "pods, nodes and what has events")
def _(b):
    run(b, f"describe pod {ready_pod(b)}", "Containers:.*Conditions:")
    run(b, f"describe node {node(b)}", "Allocated resources:")
    run(b, "describe deployment web", "NewReplicaSet:.*ScalingReplicaSet")
    run(b, "describe quota,ingress,pdb,job,cronjob,service", "Name: +made")


@part("logs", "of a pod, by label, followed")
def _(b):
    run(b, f"logs {ready_pod(b)} --tail=1 --timestamps", r"^\d{4}-\S+Z hello")
    run(b, "logs -l app=web --prefix", "hello")
    run(b, "logs deployment/web", "hello")


@part("exec", "a command with input, and its exit code")
def _(b):
    run(b, f"exec -i {ready_pod(b)} -- cat", "^from outside$", "from outside")
    run(b, f"exec {ready_pod(b)} --", "exit code 3", code=3, args=["sh", "-c", "exit 3"])


@part("attach", "to what runs")
def _(b):
    run(b, "run talker --image=busybox --restart=Never --command --", "created", args=[
        "sh", "-c", "while :; do echo tick; sleep 0.2; done"])
    run(b, "wait pod/talker --for=condition=Ready --timeout=60s", "met")
    with Background(b, "attach talker", "tick"):
        pass
    run(b, "delete pod talker --now", "deleted")


@part("cp", "to and from a container")
def _(b):
    with tempfile.TemporaryDirectory() as d:
        with open(f"{d}/f", "w", encoding="utf-8") as f:
            f.write("carried")
        pod = ready_pod(b)
        run(b, f"cp {d}/f {pod}:/tmp/there")
        run(b, f"cp {pod}:/tmp/there {d}/back")
        with open(f"{d}/back", encoding="utf-8") as f:
            check(f.read() == "carried", "the file came back")


@part("port-forward", "a port of a pod")
def _(b):
    server = ("import http.server as h\nclass H(h.BaseHTTPRequestHandler):\n def do_GET(s):\n  s.send_response(200)\n"
              "  s.end_headers()\n  s.wfile.write(b'served')\nh.HTTPServer(('127.0.0.1', 8080), H).serve_forever()")
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "server"}, "spec": {
        "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "c", "image": "python", "command": ["python3", "-c", server],
                        "ports": [{"containerPort": 8080}]}]}}
    run(b, "create -f -", "created", manifest(pod))
    run(b, "wait pod/server --for=condition=Ready --timeout=60s", "met")

    def asked():
        with Background(b, "port-forward pod/server :8080", r"127\.0\.0\.1:(\d+)") as found:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{found.group(1)}/", timeout=10) as answer:
                    return answer.read() == b"served"
            except OSError:
                return False
    wait_for("an answer through port-forward", asked, 30)
    run(b, "delete pod server --now", "deleted")


@part("proxy", "to the API, on a port and a socket")
def _(b):
    with Background(b, "proxy --port=0", r"127\.0\.0\.1:(\d+)") as found:
        with urllib.request.urlopen(f"http://127.0.0.1:{found.group(1)}/api", timeout=10) as answer:
            check(b"APIVersions" in answer.read(), "the API answers through the proxy")
    with tempfile.TemporaryDirectory() as d:
        with Background(b, f"proxy --unix-socket={d}/s", "Starting to serve"):
            with socket.socket(socket.AF_UNIX) as s:
                s.connect(f"{d}/s")
                s.sendall(b"GET /api HTTP/1.0\r\nHost: localhost\r\n\r\n")
                check(b"200" in s.recv(100), "the API answers through the socket")


@part("auth", "can-i, whoami")
def _(b):
    run(b, "auth can-i create pods", "^yes")
    run(b, "auth can-i --list --as=system:serviceaccount:default:made", "selfsubjectreviews")
    run(b, "auth can-i get secrets --as=nobody", "^no", code=1)
    run(b, "auth whoami", "Username")


@part("auth", "reconcile")
def _(b):
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
            "metadata": {"name": "made", "namespace": "default"},
            "rules": [{"apiGroups": [""], "resources": ["services"], "verbs": ["get"]}]}
    run(b, "auth reconcile -f -", "reconciled", manifest(role))


CAPABILITY = "no pod gets a capability"


@part("debug", "a pod, with the profile general", CAPABILITY)
def _(b):
    run(b, f"debug {ready_pod(b)} --image=busybox --profile=general -c general -- true")


@part("debug", "a pod, by another container in it")
def _(b):
    pod = ready_pod(b)
    run(b, f"debug {pod} --image=busybox --profile=baseline -c look --", args=["sh", "-c", "echo seen; sleep 100"])
    wait_for("the container's output", lambda: "seen" in b.kubectl("logs", pod, "-c", "look", ok=False).stdout, 60)


@part("debug", "a copy of a pod")
def _(b):
    run(b, f"debug {ready_pod(b)} --image=busybox --profile=baseline --copy-to=copied -c look -- sleep 100")
    run(b, "get pod copied -o jsonpath={.spec.containers[*].name}", "look")
    run(b, "delete pod copied --now", "deleted")


@part("debug", "a node", "pods are not given the machine's namespaces or its root folder")
def _(b):
    run(b, f"debug node/{node(b)} --image=busybox --profile=general -- sleep 100", "Creating debugging pod")


@part("events", "of all, of an object, of a type")
def _(b):
    run(b, "events", "LAST SEEN")
    run(b, "events --for deployment/web", "ScalingReplicaSet")
    run(b, "events --types=Normal", "Normal")


# ---- advanced ----

@part("diff", "client-side and server-side")
def _(b):
    changed = json.loads(json.dumps(DEPLOYMENT))
    changed["spec"]["minReadySeconds"] = 7
    run(b, "diff -f -", r"\+ *minReadySeconds: 7", manifest(changed), code=1)
    run(b, "diff --server-side --force-conflicts -f -", r"\+ *minReadySeconds: 7", manifest(changed), code=1)


CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied", "labels": {"set": "a"}},
          "data": {"a": "1"}}


@part("apply", "client-side: again, changed, view, edit and set what was applied, prune")
def _(b):
    run(b, "apply -f -", "created", manifest(CONFIG))
    run(b, "apply -f -", "unchanged", manifest(CONFIG))
    run(b, "apply -f -", "configured", manifest(dict(CONFIG, data={"b": "1"})))
    run(b, "apply view-last-applied configmap applied", "b: \"1\"")
    run(b, "apply edit-last-applied configmap applied", "edited", env={"KUBE_EDITOR": "sed -i s/b:/c:/"})
    run(b, "apply view-last-applied configmap applied", "c: \"1\"")
    run(b, "apply --prune -l set=a -f -", "pruned", manifest(dict(CONFIG, metadata={"name": "other", "labels": {"set": "a"}})))


@part("apply", "server-side: dry run, conflicts, force")
def _(b):
    run(b, "apply --server-side --dry-run=server -f -", "server dry run", manifest(CONFIG))
    run(b, "apply --server-side -f -", "serverside-applied", manifest(CONFIG))
    other = manifest(dict(CONFIG, data={"a": "2"}))
    run(b, "apply --server-side --field-manager=x -f -", 'conflict with "kubectl"', other, code=1)
    run(b, "apply --server-side --field-manager=x --force-conflicts -f -", "serverside-applied", other)


@part("apply", "sets, which are pruned")
def _(b):
    line = "apply --prune --applyset=configmaps/myset -n default -f -"
    alpha = {"KUBECTL_APPLYSET": "true"}
    one, two = dict(CONFIG, metadata={"name": "one"}), dict(CONFIG, metadata={"name": "two"})
    run(b, line, "two created", manifest(one, two), env=alpha)
    run(b, line, "two pruned", manifest(one), env=alpha)


@part("patch", "strategic, merge, JSON, of a subresource")
def _(b):
    patch = '{"spec":{"template":{"spec":{"containers":[{"name":"c","imagePullPolicy":"IfNotPresent"}]}}}}'
    run(b, "patch deployment web -p", "patched", args=[patch])
    run(b, "patch configmap applied --type=merge -p", "patched", args=['{"data":{"z":"1"}}'])
    run(b, "patch configmap applied --type=json -p", "patched", args=['[{"op":"remove","path":"/data/z"}]'])
    run(b, "patch deployment web --subresource=scale --type=merge -p", "patched", args=['{"spec":{"replicas":1}}'])


@part("replace", "an object, and by force")
def _(b):
    run(b, "replace -f -", "replaced", manifest(dict(CONFIG, data={"r": "1"})))
    run(b, "replace --force -f -", "replaced", manifest(dict(CONFIG, data={"r": "2"})))


@part("wait", "for conditions, fields, creation and deletion")
def _(b):
    run(b, "wait deployment/web --for=condition=Available --timeout=60s", "condition met")
    run(b, "wait deployment/web --for=jsonpath={.status.replicas}=1 --timeout=60s", "condition met")
    run(b, "wait configmap/applied --for=create --timeout=10s", "condition met")
    run(b, "wait configmap/never --for=delete --timeout=10s")


@part("kustomize", "a folder; without the server")
def _(b):
    with tempfile.TemporaryDirectory() as d:
        with open(f"{d}/kustomization.yaml", "w", encoding="utf-8") as f:
            f.write("namePrefix: k-\nconfigMapGenerator: [{name: c, literals: [a=b]}]\n")
        run(b, f"kustomize {d}", "name: k-c-")
        run(b, f"apply -k {d}", "configmap/k-c-.* created")


@part("label", "set and remove")
def _(b):
    run(b, "label configmap applied k=v", "labeled")
    run(b, "label configmap applied k-", "unlabeled")


@part("annotate", "set and remove")
def _(b):
    run(b, "annotate configmap applied k=v", "annotated")
    run(b, "annotate configmap applied k-", "annotated")


@part("delete", "by name, label and file; cascading, orphaning, in the foreground")
def _(b):
    run(b, "delete configmap made", "deleted")
    run(b, "delete configmaps -l set=a", "deleted")
    run(b, "delete pod alone --now", "deleted")
    run(b, "delete deployment made --cascade=orphan", "deleted")
    run(b, "delete deployment web --cascade=foreground --timeout=60s", "deleted")
    check(run(b, "get replicasets -l app=web -o name") == "", "foreground: the sets went first")
    run(b, "delete quota,pdb,cronjob,job --all", "deleted")


# ---- the rest ----

@part("completion", "of shells; without the server")
def _(b):
    run(b, "completion bash", "__start_kubectl")
    run(b, "__complete get namespaces", "made", args=[""])


@part("alpha", "commands of kubectl's own; without the server")
def _(b):
    run(b, "alpha --help", "alpha features")


@part("api-resources", "kinds, by verb and category")
def _(b):
    run(b, "api-resources --verbs=list --namespaced -o name", "deployments.apps")
    run(b, "api-resources --categories=all", "cronjobs")


@part("api-versions", "groups and versions")
def _(b):
    run(b, "api-versions", "apps/v1")


@part("config", "views and contexts; without the server")
def _(b):
    run(b, "config view --minify", "current-context")
    run(b, "config current-context", "berth")


@part("plugin", "of kubectl; without the server")
def _(b):
    run(b, "plugin list", "plugin", code=1)


@part("version", "of client and server")
def _(b):
    run(b, "version", r"Server Version: v1\.\d+")


def commands(b):
    """Those that `kubectl --help` lists."""
    return re.findall(r"^  ([a-z][a-z-]*)  +[A-Z]", run(b, "--help"), re.M)


def missing(b):
    return [c for c in commands(b) if c not in KUBECTL.rows]
