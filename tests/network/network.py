#!/usr/bin/env python3
"""network: pods with a network of their own, with kubectl and processes.   network.py BERTH KUBECTL [NAME...]

Each test is a function test_*, and starts its own Berth. Prints a line each, closes with "N passed, N failed". Exit status
77, when this machine can make no network namespaces.
"""
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from harness import Berth, alive, check, run_tests, wait_for  # noqa: E402

SERVER = """
import http.server, os
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        text = (os.environ["HOSTNAME"] + " " + self.client_address[0]).encode()
        self.send_response(200); self.send_header("Content-Length", str(len(text))); self.end_headers(); self.wfile.write(text)
    def log_message(self, *a): pass
http.server.ThreadingHTTPServer(("", PORT), H).serve_forever()
"""


def pod(name, command, labels=None, ports=(), **spec):
    container = {"name": "main", "image": "none", "command": command, "ports": list(ports)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels or {}},
            "spec": dict({"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [container]}, **spec)}


def server(name, labels=None, port=8000, **spec):
    return pod(name, ["python3", "-c", SERVER.replace("PORT", str(port))], labels or {"app": "web"},
               [{"name": "http", "containerPort": port}], **spec)


def service(name, selector=None, port=80, target="http", **spec):
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
            "spec": dict({"selector": selector or {"app": "web"}, "ports": [{"port": port, "targetPort": target}]}, **spec)}


def policy(name, selector, types, **spec):
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": name},
            "spec": dict({"podSelector": selector, "policyTypes": types}, **spec)}


def phase(b, name, ns="default"):
    return b.kubectl("get", "pod", name, "-n", ns, "-o", "jsonpath={.status.phase}")


def ip(b, name, ns="default"):
    return wait_for(f"address of {name}",
                    lambda: b.kubectl("get", "pod", name, "-n", ns, "-o", "jsonpath={.status.podIP}"))


def inside(b, script, ns="default", labels=None, name=None, **spec):
    """What a script prints that runs in a pod of its own."""
    inside.n += 1
    name = name or f"ask-{inside.n}"
    p = pod(name, ["sh", "-c", script], labels, **spec)
    p["metadata"]["namespace"] = ns
    b.apply(p)
    wait_for(f"the end of {name}", lambda: phase(b, name, ns) in ("Succeeded", "Failed"), 60)
    return b.kubectl("logs", name, "-n", ns)


inside.n = 0


def get(url, seconds=3):
    return f"curl -s -m {seconds} {url} || echo refused-$?;"


def answers(b, name, port=8000, ns="default"):
    """The server of a pod listens: waited for inside, since the machine itself has no way there."""
    address = ip(b, name, ns)
    got = inside(b, f"for i in $(seq 100); do curl -s -m 1 http://{address}:{port}/ && exit; sleep 0.1; done", ns)
    check(got.startswith(name), f"{name} answers {got!r}")
    return address


def old_endpoints(b, name):
    """Of the core kind, which Kubernetes has deprecated."""
    subsets = b.get("endpoints", name).get("subsets") or []
    return sorted(a["ip"] for s in subsets for a in s.get("addresses") or [])


def endpoints(b, name):
    slices = b.get("endpointslices", "-l", f"kubernetes.io/service-name={name}")["items"]
    return sorted(e["addresses"][0] for s in slices for e in s.get("endpoints") or [] if e["conditions"].get("ready"))


def routers():
    """Processes of routers: (pid, data folder)."""
    found = []
    for p in os.listdir("/proc"):
        try:
            with open(f"/proc/{p}/cmdline", "rb") as f:
                words = f.read().split(b"\0")
        except OSError:
            continue
        if len(words) > 3 and words[1] == b"router":
            found.append((int(p), words[3].decode()))
    return found


def test_two_pods_listen_on_the_same_port(b):
    b.apply(server("a"), server("b"))
    one, two = answers(b, "a"), answers(b, "b")
    check(one != two and one.startswith("10.42.") and two.startswith("10.42."), f"addresses {one}, {two}")
    got = inside(b, "cat /etc/hosts /etc/resolv.conf; hostname >/dev/null; " + get(f"http://127.0.0.1:{b.port}/version"))
    check("nameserver 10.42.0.1" in got and "search default.svc.cluster.local" in got, got)
    check("refused-7" in got, f"a pod reaches the machine's loopback: {got}")
    status = b.get("pod", "a")["status"]
    check(status["podIPs"] == [{"ip": one}], str(status))


def test_a_service_spreads_over_ready_pods(b):
    b.apply(server("a"), server("b"), service("web"))
    answers(b, "a")
    answers(b, "b")
    wait_for("both endpoints", lambda: len(endpoints(b, "web")) == 2)
    wait_for("core Endpoints", lambda: old_endpoints(b, "web") == endpoints(b, "web"))
    told = b.kubectl("get", "endpoints", "web", ok=False)
    check("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice" in told.stderr, told.stderr)
    check(f"{endpoints(b, 'web')[0]}:8000," in told.stdout, told.stdout)
    cluster = b.get("service", "web")["spec"]["clusterIP"]
    check(cluster.startswith("10.43."), cluster)
    got = inside(b, "".join(get("http://web/") + "echo;" for _ in range(20)) + get("http://web.default.svc.cluster.local/"))
    check({line.split()[0] for line in got.split("\n") if line} == {"a", "b"}, got)
    # Not ready, whoever says so: out of the Service.
    b.kubectl("patch", "pod", "b", "--subresource=status", "--type=strategic", "-p",
              '{"status":{"conditions":[{"type":"Ready","status":"False"}]}}')
    wait_for("one endpoint", lambda: endpoints(b, "web") == [ip(b, "a")])
    wait_for("core Endpoints", lambda: old_endpoints(b, "web") == [ip(b, "a")])
    wait_for("answers of one alone", lambda: "b" not in inside(b, "".join(get("http://web/") for _ in range(10))))
    # Gone: refused, at once.
    b.kubectl("delete", "pod", "a", "b", "--wait=true")
    wait_for("no endpoint", lambda: endpoints(b, "web") == [])
    got = inside(b, get("http://web/", 10))
    check("refused-7" in got, got)


def test_node_ports_are_on_loopback(b):
    b.apply(server("a"))
    answers(b, "a")
    b.kubectl("expose", "pod", "a", "--port=80", "--target-port=8000", "--type=NodePort", "--name=out")
    port = b.get("service", "out")["spec"]["ports"][0]["nodePort"]
    check(30000 <= port <= 32767, str(port))

    def ask():
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=3) as r:
                return r.read().decode()
        except OSError:
            return ""
    check(wait_for("an answer of the node port", ask).startswith("a "), "another pod answered")
    table = b.kubectl("get", "svc", "out")
    check(f"80:{port}/TCP" in table and "NodePort" in table, table)
    b.kubectl("delete", "service", "out")
    wait_for("the node port to close", lambda: not ask())


def test_headless_names_of_pods(b):
    for i in range(2):
        b.apply(server(f"db-{i}", {"app": "db"}, hostname=f"db-{i}", subdomain="db"))
    b.apply(service("db", {"app": "db"}, clusterIP="None"),
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "alias"},
             "spec": {"type": "ExternalName", "externalName": "db.default.svc.cluster.local"}})
    want = [answers(b, f"db-{i}") for i in range(2)]
    wait_for("both endpoints", lambda: endpoints(b, "db") == sorted(want))
    got = wait_for("the names", lambda: (lambda t: t if "db-1" in t else "")(
        inside(b, get("http://db-1.db:8000/") + "echo; getent ahostsv4 db | cut -d' ' -f1 | sort -u; "
               "getent ahostsv4 db-0.db.default.svc.cluster.local | cut -d' ' -f1 | sort -u | sed 's/^/zero /'; "
               "getent ahostsv4 alias | cut -d' ' -f1 | sort -u | sed 's/^/alias /'; getent hosts db-7.db || echo none")))
    for line in want + [f"zero {want[0]}", f"alias {want[0]}", "none"]:
        check(line in got.split("\n"), f"{line!r} is not in {got!r}")


def test_policies_close_and_open(b):
    b.kubectl("create", "namespace", "other")
    b.kubectl("label", "namespace", "other", "team=blue")
    b.apply(server("a"))
    address = answers(b, "a")
    ask = get(f"http://{address}:8000/", 2)
    check(inside(b, ask).startswith("a "), "a pod without policies is open")
    b.apply(policy("deny", {}, ["Ingress"]))
    wait_for("deny all", lambda: "refused" in inside(b, ask))
    b.apply(policy("same", {"matchLabels": {"app": "web"}}, ["Ingress"], ingress=[{"from": [{"podSelector": {}}]}]))
    wait_for("the same namespace", lambda: inside(b, ask).startswith("a "))
    check("refused" in inside(b, ask, "other"), "another namespace came in")
    b.apply(policy("blue", {"matchLabels": {"app": "web"}}, ["Ingress"], ingress=[
        {"from": [{"namespaceSelector": {"matchLabels": {"team": "blue"}},
                   "podSelector": {"matchLabels": {"may": "in"}}}], "ports": [{"port": 8000}]}]))
    wait_for("labels", lambda: inside(b, ask, "other", {"may": "in"}).startswith("a "))
    check("refused" in inside(b, ask, "other"), "a pod without the label came in")
    b.apply(policy("blue", {"matchLabels": {"app": "web"}}, ["Ingress"], ingress=[
        {"from": [{"namespaceSelector": {"matchLabels": {"team": "blue"}}}], "ports": [{"port": 8001, "endPort": 8010}]}]))
    wait_for("other ports alone", lambda: "refused" in inside(b, ask, "other", {"may": "in"}))
    b.kubectl("delete", "networkpolicy", "--all")
    wait_for("all open", lambda: inside(b, ask, "other").startswith("a "))


def test_egress_is_closed(b):
    b.apply(server("a"), server("b", {"app": "db"}), service("web"))
    one, two = answers(b, "a"), answers(b, "b")
    b.apply(policy("out", {"matchLabels": {"shut": "yes"}}, ["Egress"],
                   egress=[{"to": [{"ipBlock": {"cidr": "10.42.0.0/16", "except": [f"{two}/32"]}}]}]))
    ask = get(f"http://{one}:8000/", 2) + "echo;" + get(f"http://{two}:8000/", 2) + "echo;" + get("http://web/", 2)
    wait_for("what is let out", lambda: [x.split(" ")[0] for x in inside(
        b, ask, labels={"shut": "yes"}).split("\n") if x] == ["a", "refused-7", "a"])
    b.apply(policy("out", {"matchLabels": {"shut": "yes"}}, ["Egress"]))
    wait_for("nothing out", lambda: inside(b, ask, labels={"shut": "yes"}).count("refused") == 3)
    check(inside(b, ask).count("refused") == 0, "a pod that no policy selects is closed")


def test_what_cannot_be_is_refused(b):
    def refused(obj, *texts):
        done = b.run([b.kubectl_program, "apply", "-f", "-"], json.dumps(obj), ok=False)
        for text in texts:
            check(done.returncode != 0 and text in done.stderr, f"{text!r} is not in {done.stderr!r}")
    refused(service("x", externalIPs=["192.0.2.9"]), "spec.externalIPs", "use a NodePort")
    refused(service("x", clusterIP="192.0.2.9"), "spec.clusterIPs", "not in the valid range")
    refused(service("x", ipFamilies=["IPv6"]), "spec.ipFamilies")
    refused(dict(service("x"), spec={"ports": [{"port": 80}, {"port": 81}]}), "spec.ports[0].name: Required value")
    refused(dict(service("x"), spec={"type": "ExternalName"}), "spec.externalName: Required value")
    refused(dict(service("x"), spec={"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]}), "30000-32767")
    refused(policy("x", {}, ["Ingress"], ingress=[{"ports": [{"port": "http"}]}]), "must be a number")
    refused(policy("x", {}, ["Ingress"], ingress=[{"from": [{"ipBlock": {"cidr": "fe80::/10"}}]}]), "IPv4 CIDR")
    refused(pod("x", ["true"], hostNetwork=True), "spec.hostNetwork", "berth.dev/host-network")
    b.apply(service("one", clusterIP="10.43.0.5"))
    refused(service("two", clusterIP="10.43.0.5"), "already allocated")
    b.kubectl("label", "namespace", "default", "berth.dev/host-network=allowed")
    got = inside(b, get(f"http://127.0.0.1:{b.port}/version"), hostNetwork=True)
    check("refused-7" not in got, got)


def test_networks_outlive_a_restart(b):
    b.apply(server("a"), service("web"))
    address = answers(b, "a")
    wait_for("the endpoint", lambda: endpoints(b, "web") == [address])
    before = [p for p, d in routers() if d == b.data]
    check(before, "there is no router")
    b.stop(signal.SIGKILL)
    b.up()
    check([p for p, d in routers() if d == b.data] == before, "the router is another one")
    check(ip(b, "a") == address, "the pod has another address")
    check(inside(b, get("http://web/")).startswith("a "), "the Service is gone")
    b.apply(server("b"))
    check(answers(b, "b") != address, "an address was given twice")
    b.run([b.program, "down", "--data", b.data])
    wait_for("routers to end", lambda: not [p for p in before if alive(p)])


def test_a_killed_router_is_followed_by_another(b):
    b.apply(server("a"), service("web"))
    address = answers(b, "a")
    wait_for("the endpoint", lambda: endpoints(b, "web") == [address])
    pids = [p for p, d in routers() if d == b.data]
    worker = max(pids)  # the keeper came first
    os.kill(worker, signal.SIGKILL)
    wait_for("another worker", lambda: len([p for p, d in routers() if d == b.data and p != worker]) == 2)
    wait_for("the Service", lambda: inside(b, get("http://web/")).startswith("a "))
    check(ip(b, "a") == address, "the pod has another address")


def test_networks_are_given_again_unused_alone(b):
    which = "readlink /proc/self/ns/net"
    b.kubectl("create", "namespace", "other")
    first = inside(b, which)
    check(first.startswith("net:["), first)
    check(inside(b, which) == first, "a network that nobody used is not given again")
    check(inside(b, which, "other") != first, "a pod has the network of a pod of another namespace")
    counts = inside(b, "cat /proc/net/dev; " + which + "; " + get("http://10.42.0.1:1/"))
    check(first in counts, counts)
    check(all(set(line.split()[1:]) == {"0"} for line in counts.split("\n")[2:4]), f"traffic of others: {counts}")
    check(inside(b, which) != first, "a network that was used is given again")
    # The address is another one each time, and the right one.
    kept = inside(b, which)
    b.apply(server("a"))
    answers(b, "a")
    inside.n += 1
    check(inside(b, which) != kept, "two pods have one network")


def test_no_answer_of_the_router_is_lost(b):
    """Who asks much and reads late: as a node does that starts thousands of pods."""
    b.apply(server("a"))
    ip(b, "a")
    line = socket.socket(socket.AF_UNIX)
    line.settimeout(30)
    here = os.open(os.path.join(b.data, "node"), os.O_PATH)
    line.connect(f"/proc/self/fd/{here}/router.sock")
    os.close(here)
    line.sendall(b'{"op":"hello"}\n' * 5000)
    answers, text = 0, b""
    while answers < 5000:
        text = line.recv(1 << 20)
        check(text, f"{answers} answers, then the end")
        answers += text.count(b"\n")
    line.close()


def test_variables_of_services(b):
    b.apply(service("web-one", clusterIP="10.43.0.77"))
    wait_for("the variables", lambda: "10.43.0.77 80 tcp://10.43.0.77:80" in inside(
        b, "echo $WEB_ONE_SERVICE_HOST $WEB_ONE_SERVICE_PORT $WEB_ONE_PORT_80_TCP"))
    got = inside(b, "echo x$WEB_ONE_SERVICE_HOST", enableServiceLinks=False)
    check(got == "x\n", got)


ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
# As clients in pods do it: where the API is by variables or name, who answers by the authority, who asks by the token.
ASK = f"curl -s -m 5 --cacert {ACCOUNT}/ca.crt -H \"Authorization: Bearer $(cat {ACCOUNT}/token)\" "


def may_read_pods(b, account, ns="default"):
    b.kubectl("create", "role", "reader", "-n", ns, "--verb=get,list", "--resource=pods")
    b.kubectl("create", "rolebinding", "reader", "-n", ns, "--role=reader", f"--serviceaccount={ns}:{account}")


def test_pods_reach_the_api(b):
    api = b.get("service", "kubernetes")["spec"]
    check(api["clusterIP"] == "10.43.0.1" and api["ports"][0]["port"] == 443, str(api))
    taken = b.kubectl("create", "service", "clusterip", "mine", "--tcp=80", "--clusterip=10.43.0.1", ok=False)
    check("already allocated" in taken.stderr, taken.stderr)
    kubectl = os.path.realpath(b.kubectl_program)
    script = f"HOME=/tmp {kubectl} get pods -o name 2>&1; HOME=/tmp {kubectl} auth whoami -o jsonpath='{{.status.userInfo}}'"
    got = inside(b, script)
    check("cannot list resource" in got and '"username":"system:serviceaccount:default:default"' in got, got)
    may_read_pods(b, "default")
    got = inside(b, script, name="reader")
    check("pod/reader" in got and '"authentication.kubernetes.io/pod-name":["reader"]' in got, got)
    got = inside(b, "echo $KUBERNETES_SERVICE_HOST $KUBERNETES_SERVICE_PORT $KUBERNETES_PORT_443_TCP; "
                 f"cat {ACCOUNT}/namespace; echo; stat -Lc %a {ACCOUNT}/token; "
                 "for name in kubernetes kubernetes.default kubernetes.default.svc kubernetes.default.svc.cluster.local; do "
                 + ASK + "https://$name/version | grep -c gitVersion; done", enableServiceLinks=False)
    check(got.split() == ["10.43.0.1", "443", "tcp://10.43.0.1:443", "default", "600", "1", "1", "1", "1"], got)
    # Without credentials they are nobody, as anyone is.
    got = inside(b, "curl -sk -m 5 -w %{http_code} https://kubernetes.default.svc/api/v1/pods")
    check(got.split()[-1] in ("401", "403"), got)
    # Over a restart on the same port, and of the router's worker.
    b.stop()
    b.up()
    os.kill(max(p for p, d in routers() if d == b.data), signal.SIGKILL)
    wait_for("the API again", lambda: "pod/" in inside(b, script), 60)


def test_pods_without_a_token(b):
    got = inside(b, f"ls {ACCOUNT}", automountServiceAccountToken=False)
    check(got == "", got)
    b.kubectl("create", "serviceaccount", "quiet")
    b.kubectl("patch", "serviceaccount", "quiet", "-p", '{"automountServiceAccountToken":false}')
    check(inside(b, f"ls {ACCOUNT}", serviceAccountName="quiet") == "", "an account that says no")
    got = inside(b, f"ls {ACCOUNT}", serviceAccountName="quiet", automountServiceAccountToken=True)
    check(got.split() == ["ca.crt", "namespace", "token"], got)
    there = pod("told", ["sh", "-c", "sleep 1000"])
    b.kubectl("apply", "-f", "-", stdin=json.dumps(there))
    spec = b.get("pod", "told")["spec"]
    volumes = [v for v in spec["volumes"] if v["name"].startswith("kube-api-access-")]
    check(len(volumes) == 1 and len(volumes[0]["projected"]["sources"]) == 3, str(spec))
    mounts = [m["name"] for m in spec["containers"][0]["volumeMounts"] if m["mountPath"] == ACCOUNT]
    check(mounts == [volumes[0]["name"]], str(spec))
    p = pod("tokens", ["sh", "-c", "sleep 1000"], serviceAccountName="quiet",
            volumes=[{"name": "t", "projected": {"sources": [{"serviceAccountToken": {
                "path": "vault/token", "audience": "vault", "expirationSeconds": 600}}]}}])
    p["spec"]["containers"][0]["volumeMounts"] = [{"name": "t", "mountPath": "/tokens"}]
    b.apply(p)
    b.kubectl("wait", "pod/tokens", "--for=condition=Ready", "--timeout=30s")
    token = b.kubectl("exec", "tokens", "--", "cat", "/tokens/vault/token")
    said = json.loads(b.kubectl("create", "-f", "-", "-o", "json", stdin=json.dumps(
        {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token, "audiences": ["vault"]}})))
    check(said["status"]["authenticated"] and said["status"]["user"]["username"].endswith(":quiet"), str(said))
    # It is for others than the API, and ends with its pod.
    got = inside(b, f"curl -sk -m 5 -H 'Authorization: Bearer {token}' https://kubernetes/api/v1/pods -w %{{http_code}}")
    check(got.split()[-1] == "401", got)
    b.kubectl("delete", "pod", "tokens")
    said = json.loads(b.kubectl("create", "-f", "-", "-o", "json", stdin=json.dumps(
        {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token, "audiences": ["vault"]}})))
    check(not said["status"].get("authenticated"), str(said))


def test_policies_hold_for_the_api(b):
    ask = ASK + "https://10.43.0.1/version || echo refused-$?"
    b.apply(policy("closed", {}, ["Egress"]))
    wait_for("the API is closed", lambda: "refused-7" in inside(b, ask))
    b.apply(policy("api", {"matchLabels": {"may": "ask"}}, ["Egress"], egress=[
        {"to": [{"ipBlock": {"cidr": "10.43.0.1/32"}}], "ports": [{"port": 443}]}]))
    wait_for("the API is open", lambda: "gitVersion" in inside(b, ask, labels={"may": "ask"}))
    check("refused-7" in inside(b, ask), "a pod that no policy lets out")


def test_a_pod_counts_for_itself(b):
    """Wrong tokens of a pod keep nobody else from the API, and its connections are bounded."""
    got = inside(b, "for i in $(seq 40); do curl -sk -m 5 -o /dev/null -w '%{http_code} ' -H 'Authorization: Bearer x' "
                 "https://10.43.0.1/api; done")
    check(set(got.split()) <= {"401", "429"}, got)
    check("gitVersion" in inside(b, ASK + "https://10.43.0.1/version"), "another pod")
    b.kubectl("get", "pods")
    got = inside(b, """python3 - <<'E'
import socket, time
all = [socket.create_connection(("10.43.0.1", 443), 5) for _ in range(40)]
time.sleep(1)
ended = 0
for s in all:
    s.settimeout(0.01)
    try:
        ended += s.recv(1) == b""
    except TimeoutError:
        pass
    except OSError:
        ended += 1
print("ended", ended)
E""")
    check(got.split() == ["ended", "8"], got)


def start(f, program, kubectl):
    with Berth(program, kubectl, gpus="none", args=["--pod-network", "own", "--pod-uplink", "none"]) as b:
        f(b)


if __name__ == "__main__":
    if subprocess.run(["unshare", "-Urn", "true"], capture_output=True, check=False).returncode != 0:
        print("this machine makes no network namespaces")
        sys.exit(77)
    sys.exit(run_tests(globals(), start))
