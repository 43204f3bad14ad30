#!/usr/bin/env python3
"""life: what happens to pods while they run: probes, hooks, restarts, sidecars, termination messages, and what no pod gets.

life.py BERTH KUBECTL [TEST...]   Each test has a Berth of its own. Prints a line a test and closes with "N passed, N failed".
"""
import glob
import json
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from harness import check, run_tests, wait_for, with_default_queue

WAIT = "while :; do sleep 0.05; done"


def pod(name, script=WAIT, restart="Always", grace=30, spec=None, **container):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
        "restartPolicy": restart, "terminationGracePeriodSeconds": grace, **(spec or {}),
        "containers": [{"name": "main", "image": "none", "command": ["sh", "-c", script], **container}]}}


def sh(script, **more):
    return {"exec": {"command": ["sh", "-c", script]}, "periodSeconds": 1, **more}


def status(b, name):
    return b.get("pod", name).get("status", {})


def one(b, name, kind="containerStatuses", i=0):
    found = status(b, name).get(kind, [])
    return found[i] if len(found) > i else {}


def condition(b, name, type_):
    found = [c for c in status(b, name).get("conditions", []) if c["type"] == type_]
    return (found[0]["status"], found[0].get("reason", ""), found[0].get("message", "")) if found else ("", "", "")


def events(b, name, reason):
    return [e for e in b.get("events")["items"] if e["involvedObject"]["name"] == name and e["reason"] == reason]


def told(b, name, reason, text):
    return any(text in e["message"] for e in events(b, name, reason))


def root(b, name):
    return os.path.join(b.data, "pods", b.get("pod", name)["metadata"]["uid"], "root")


def touch(b, name, file):
    with open(os.path.join(root(b, name), "work", file), "w"):
        pass


def is_ready(b, name):
    return condition(b, name, "Ready")[0] == "True"


def test_readiness_by_file(b):
    """Ready comes and goes with a file, also after Berth was away; the texts are Kubernetes'."""
    b.apply(pod("r", readinessProbe=sh("test -e $HOME/ok || { echo not yet; exit 1; }", failureThreshold=1)))
    wait_for("it runs", lambda: "running" in one(b, "r").get("state", {}))
    check(one(b, "r")["ready"] is False and one(b, "r")["started"] is True, f"{one(b, 'r')}")
    for type_ in ("Ready", "ContainersReady"):
        check(condition(b, "r", type_) == ("False", "ContainersNotReady", "containers with unready status: [main]"),
              f"{type_}: {condition(b, 'r', type_)}")
    wait_for("an event", lambda: told(b, "r", "Unhealthy", "Readiness probe failed: not yet"))
    touch(b, "r", "ok")
    wait_for("ready", lambda: is_ready(b, "r"))
    check(one(b, "r")["ready"] is True, "the container is ready")
    file = os.path.join(root(b, "r"), "work", "ok")
    b.stop()
    os.unlink(file)
    b.up()
    wait_for("not ready", lambda: not is_ready(b, "r"))
    check(one(b, "r")["restartCount"] == 0, "the probe did not restart it")


def test_liveness_restarts(b):
    """Startup holds liveness back; a liveness probe that fails ends the container, which begins anew."""
    b.apply(pod("l", "rm -f $HOME/up; sleep 1; touch $HOME/up; " + WAIT, grace=0,
                startupProbe=sh("test -e $HOME/up", failureThreshold=60),
                livenessProbe=sh("echo asked >> $HOME/asked; test -e $HOME/up && ! test -e $HOME/sick",
                                 failureThreshold=1)))
    wait_for("started", lambda: one(b, "l").get("started"))
    check(one(b, "l")["restartCount"] == 0, "liveness was not asked before startup had passed")
    touch(b, "l", "sick")
    wait_for("restarted", lambda: one(b, "l").get("restartCount", 0) >= 1)
    check(told(b, "l", "Killing", "Container main failed liveness probe, will be restarted"), "Killing is told")
    wait_for("Unhealthy", lambda: told(b, "l", "Unhealthy", "Liveness probe failed"))
    check(one(b, "l")["lastState"]["terminated"]["exitCode"] == 137, f"{one(b, 'l')}")


def test_network_probes(b):
    """httpGet, tcpSocket by a port's name, and what they say of a server that answers 503 or nothing."""
    server = ("import http.server,os\n"
              "class H(http.server.BaseHTTPRequestHandler):\n"
              " def do_GET(s):\n"
              "  s.send_response(200 if os.path.exists(os.environ['HOME']+'/ok') else 503); s.end_headers()\n"
              "http.server.HTTPServer(('',int(os.environ['PORT'])),H).serve_forever()\n")
    port = b.port + 1
    b.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "n"}, "spec": {"containers": [
        {"name": "main", "image": "none", "command": ["python3", "-c", server],
         "env": [{"name": "PORT", "value": str(port)}], "ports": [{"name": "web", "containerPort": port}],
         "startupProbe": {"tcpSocket": {"port": "web"}, "periodSeconds": 1, "failureThreshold": 60},
         "readinessProbe": {"httpGet": {"port": "web", "path": "/x"}, "periodSeconds": 1, "failureThreshold": 1}}]}})
    wait_for("started", lambda: one(b, "n").get("started"), 60)
    wait_for("503 is told", lambda: told(b, "n", "Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503"))
    touch(b, "n", "ok")
    wait_for("ready", lambda: is_ready(b, "n"))


def test_hooks(b):
    """postStart is over before the container counts as started; preStop before the signal."""
    b.apply(pod("h", f"trap 'echo term; exit 0' TERM; echo up; {WAIT}",
                lifecycle={"postStart": {"exec": {"command": ["sh", "-c", "echo post > $HOME/post"]}},
                           "preStop": {"exec": {"command": ["sh", "-c", "sleep 0.3; echo pre >> $HOME/order"]}}}))
    wait_for("started", lambda: one(b, "h").get("started"))
    check(os.path.exists(os.path.join(root(b, "h"), "work", "post")), "postStart ran")
    home = os.path.join(root(b, "h"), "work")
    wait_for("the trap stands", lambda: "up" in b.kubectl("logs", "h"))
    b.kubectl("delete", "pod", "h", "--wait=false")
    wait_for("preStop ran", lambda: os.path.exists(os.path.join(home, "order")) or not os.path.exists(home))
    wait_for("gone", lambda: "h" not in [p["metadata"]["name"] for p in b.get("pods")["items"]])
    check(told(b, "h", "Killing", "Stopping container main"), "Killing is told")
    b.apply(pod("f", restart="Never", lifecycle={"postStart": {"exec": {"command": ["sh", "-c", "echo why; exit 3"]}}},
                grace=1))
    wait_for("it failed", lambda: status(b, "f").get("phase") == "Failed")
    wait_for("it says why", lambda: told(b, "f", "FailedPostStartHook", "why"))


def test_back_off_and_messages(b):
    b.apply(pod("c", "echo from the log; echo from the file > $BERTH_TERMINATION_LOG; exit 5"),
            pod("d", "echo from the log; exit 6", restart="Never", terminationMessagePolicy="FallbackToLogsOnError"))
    wait_for("back-off", lambda: one(b, "c").get("state", {}).get("waiting", {}).get("reason") == "CrashLoopBackOff")
    c, uid = one(b, "c"), b.get("pod", "c")["metadata"]["uid"]
    check(c["state"]["waiting"]["message"] == f"back-off 10s restarting failed container=main pod=c_default({uid})",
          f"{c}")
    check(c["lastState"]["terminated"]["exitCode"] == 5, f"{c}")
    check(c["lastState"]["terminated"]["message"] == "from the file\n", f"{c}")
    check(c["restartCount"] == 1, f"{c}")
    wait_for("BackOff is told", lambda: told(
        b, "c", "BackOff", f"Back-off restarting failed container main in pod c_default({uid})"))
    wait_for("d failed", lambda: status(b, "d").get("phase") == "Failed")
    check(one(b, "d")["state"]["terminated"]["message"] == "from the log\n", f"{one(b, 'd')}")


def test_sidecars(b):
    """A sidecar starts first, and ends when the pod's work is done."""
    side = {"name": "side", "image": "none", "restartPolicy": "Always",
            "command": ["sh", "-c", f"trap 'exit 0' TERM; sleep 0.3; touch $HOME/side; {WAIT}"],
            "startupProbe": sh("test -e $HOME/side", failureThreshold=60)}
    b.apply(pod("s", "test -e $HOME/side", restart="Never", spec={"initContainers": [side]}))
    wait_for("it succeeded", lambda: status(b, "s").get("phase") == "Succeeded")
    check("terminated" in one(b, "s", "initContainerStatuses")["state"], "the sidecar has ended")


def test_readiness_gates(b):
    b.apply(pod("g", spec={"readinessGates": [{"conditionType": "example.com/in"}]}))
    wait_for("containers are ready", lambda: condition(b, "g", "ContainersReady")[0] == "True")
    check(condition(b, "g", "Ready") == ("False", "ReadinessGatesNotReady",
          'corresponding condition of pod readiness gate "example.com/in" does not exist.'), condition(b, "g", "Ready"))
    b.kubectl("patch", "pod", "g", "--subresource=status", "--type=strategic", "-p",
              '{"status":{"conditions":[{"type":"example.com/in","status":"True"}]}}')
    wait_for("ready", lambda: is_ready(b, "g"))


def test_deadline(b):
    b.apply(pod("t", spec={"activeDeadlineSeconds": 1}, grace=1))
    wait_for("failed", lambda: status(b, "t").get("phase") == "Failed")
    check(status(b, "t")["reason"] == "DeadlineExceeded", f"{status(b, 't')}")


def test_refused(b):
    for want, p in (
            ("spec.hostPID", pod("x", spec={"hostPID": True})),
            ("spec.hostIPC", pod("x", spec={"hostIPC": True})),
            ("spec.securityContext.runAsUser", pod("x", spec={"securityContext": {"runAsUser": 0}})),
            ("spec.containers[0].securityContext.privileged", pod("x", securityContext={"privileged": True})),
            ("spec.containers[0].securityContext.capabilities.add",
             pod("x", securityContext={"capabilities": {"add": ["SYS_ADMIN"]}})),
            ("spec.containers[0].livenessProbe.successThreshold", pod("x", livenessProbe=sh("true", successThreshold=2))),
            ("spec.containers[0].lifecycle.preStop", pod("x", lifecycle={"preStop": {}}))):
        done = b.kubectl("create", "-f", "-", stdin=json.dumps(p), ok=False)
        check(done.returncode != 0 and want in done.stderr, f"{want}: {done.stderr}")
    b.apply(pod("fine", "exit 0", restart="Never", spec={"securityContext": {"runAsNonRoot": True, "seccompProfile": {
        "type": "RuntimeDefault"}}}, securityContext={"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                                                       "capabilities": {"drop": ["ALL"]}}))
    wait_for("it ran", lambda: status(b, "fine").get("phase") == "Succeeded")


def test_users_of_the_namespace(b):
    """runAsUser and its like: from the range of the namespace, and nothing else."""
    b.kubectl("create", "namespace", "team")
    b.kubectl("create", "namespace", "other")

    def range_of(ns):
        return [int(x) for x in b.get("namespace", ns)["metadata"]["annotations"]["openshift.io/sa.scc.uid-range"].split("/")]

    (first, size), (theirs, _) = range_of("team"), range_of("other")
    check(size == 10000 and first >= 1902000000 and abs(first - theirs) >= size, f"{first} {theirs}")

    def make(name, pod=None, own=None, ok=True):
        p = pod_in(name, pod or {}, own or {})
        return b.kubectl("create", "-f", "-", stdin=json.dumps(p), ok=ok)

    def pod_in(name, context, own):
        p = globals()["pod"](name, "id -u; id -g; id -G; stat -c %u:%g:%a /v /v/..; touch /v/x && stat -c %g /v/x", "Never",
                             spec={"securityContext": context, "volumes": [{"name": "v", "emptyDir": {}}]},
                             securityContext=own, volumeMounts=[{"name": "v", "mountPath": "/v"}])
        p["metadata"]["namespace"] = "team"
        return p

    make("own", {"runAsUser": first + 7, "runAsGroup": first + 8, "fsGroup": first + 9, "supplementalGroups": [first + 10]},
         {"runAsUser": first + 7})
    done = wait_for("its end", lambda: b.get("pod", "own", "-n", "team")["status"].get("phase") in ("Succeeded", "Failed"))
    lines = b.kubectl("logs", "own", "-n", "team").split("\n")
    check(done and lines[0] == str(first + 7) and lines[1] == str(first + 8), str(lines))
    check({str(first + 8), str(first + 9), str(first + 10)} <= set(lines[2].split()) and len(lines[2].split()) == 4, lines[2])
    check(lines[3].startswith(f"{first + 7}:{first + 9}:2775") and lines[5] == str(first + 9), str(lines))
    for field, context, own in (
            ("spec.securityContext.runAsUser", {"runAsUser": 0}, {}), ("spec.securityContext.runAsUser", {"runAsUser": 1000}, {}),
            ("spec.securityContext.runAsUser", {"runAsUser": theirs}, {}), ("spec.securityContext.runAsGroup", {"runAsGroup": 1900000000}, {}),
            ("spec.securityContext.supplementalGroups[1]", {"supplementalGroups": [first, 27]}, {}),
            ("spec.securityContext.fsGroup", {"fsGroup": 1900000001}, {}),
            ("spec.containers[0].securityContext.runAsUser", {}, {"runAsUser": first + size}),
            ("spec.containers[0].securityContext.runAsUser", {"runAsUser": first}, {"runAsUser": first + 1})):
        refused = make("x", context, own, ok=False)
        check(refused.returncode and field in refused.stderr, f"{field}: {refused.stderr}")
    warned = b.kubectl("create", "-f", "-", stdin=json.dumps(pod_in("warned", {"fsGroup": 1001}, {})), ok=False)
    check(warned.returncode == 0 and "fsGroup has no effect" in warned.stderr, warned.stderr)
    # An administrator's own range.
    b.kubectl("annotate", "namespace", "team", "openshift.io/sa.scc.uid-range=1000680000/100", "--overwrite")
    make("theirs", {"runAsUser": 1000680042})
    wait_for("its end", lambda: b.get("pod", "theirs", "-n", "team")["status"].get("phase") in ("Succeeded", "Failed"))
    check(b.kubectl("logs", "theirs", "-n", "team").startswith("1000680042\n"), "the range of the annotation")
    b.kubectl("annotate", "namespace", "team", "openshift.io/sa.scc.uid-range=0/65536", "--overwrite")
    refused = make("x", {"runAsUser": 1}, ok=False)
    check("is no range" in refused.stderr, refused.stderr)


def test_volumes_follow_what_they_are_made_of(b):
    def sources(value):
        b.apply(*[{"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, text: {"key": f"{name} {value}\n"}, **more}
                  for kind, name, text, more in (("ConfigMap", "map", "data", {}), ("Secret", "hush", "stringData", {}))])

    def says(path):
        return b.kubectl("exec", "p", "--", "sh", "-c", f"cat {path} 2>/dev/null; true")

    sources("one")
    b.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "still"}, "data": {"key": "still"}, "immutable": True})
    p = pod("p", grace=0, spec={"volumes": [
        {"name": "map", "configMap": {"name": "map"}}, {"name": "hush", "secret": {"secretName": "hush"}},
        {"name": "me", "downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels['colour']"}}]}},
        {"name": "all", "projected": {"sources": [{"configMap": {"name": "map", "items": [{"key": "key", "path": "a/b"}]}},
                                                  {"configMap": {"name": "still"}},
                                                  {"configMap": {"name": "late", "optional": True}}]}}]},
        volumeMounts=[{"name": n, "mountPath": f"/{n}"} for n in ("map", "hush", "me", "all")] +
                     [{"name": "map", "mountPath": "/part", "subPath": "key"}])
    p["metadata"]["labels"] = {"colour": "red"}
    b.apply(p)
    b.kubectl("wait", "pod/p", "--for=condition=Ready", "--timeout=30s")
    check(says("/map/key /hush/key /all/a/b /part") == "map one\nhush one\nmap one\nmap one\n", says("/map/key"))
    check(says("/me/labels") == "red", says("/me/labels"))
    b.kubectl("label", "pod", "p", "colour=blue", "--overwrite")
    wait_for("labels", lambda: says("/me/labels") == "blue")
    # Whoever reads sees one version of the whole, at any time.
    watch = b.kubectl("exec", "p", "--", "sh", "-c",
                      "cat > /tmp/w; sh /tmp/w >/tmp/seen 2>&1 & true", stdin="while cat /all/a/b; do :; done")
    check(watch == "", watch)
    sources("two")
    b.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late"}, "data": {"late": "here"}})
    wait_for("a new version", lambda: says("/map/key /hush/key /all/a/b /all/late") == "map two\nhush two\nmap two\nhere", 60)
    check(says("/part") == "map one\n", "a part that is mounted does not follow")
    check(set(says("/tmp/seen").split("\n")) <= {"map one", "map two", ""}, says("sort -u /tmp/seen"))
    check(b.kubectl("exec", "p", "--", "sh", "-c", "echo x > /map/key", ok=False).returncode != 0, "volumes are read-only")
    # Over a restart of Berth, and with its source gone.
    b.stop()
    b.up()
    sources("three")
    b.kubectl("delete", "secret", "hush")
    wait_for("one more", lambda: says("/map/key") == "map three\n", 60)
    check(says("/hush/key") in ("hush two\n", "hush three\n"), "what lost its source stays")
    check(says("/part") == "map one\n", "the part after a restart")


def shim_servers(program):
    """The programs that the shim servers of this berth are."""
    found = set()
    for folder in glob.glob("/proc/[0-9]*"):
        try:
            with open(f"{folder}/cmdline", encoding="utf-8") as f:
                if f.read().split("\0")[:3] == [program, "shim", "--serve"]:
                    found.add(os.readlink(f"{folder}/exe"))
        except OSError:
            pass  # it ended
    return found


def test_without_the_program_of_shims(b):
    """Where berth-shim-VERSION is not installed, or cannot run, `berth shim` starts pods; pods of before live on."""
    name = os.path.basename(next(f for f in glob.glob(f"{os.path.dirname(b.program)}/src/node/berth-shim-*")
                                 if os.path.isfile(f)))
    check(name in map(os.path.basename, shim_servers(b.program)), f"it is used: {shim_servers(b.program)}")
    b.apply(pod("before", grace=1))
    wait_for("a pod", lambda: is_ready(b, "before"))
    own, folder = b.program, tempfile.mkdtemp(prefix="berth-life-test.", dir="/tmp")
    try:
        os.chmod(folder, 0o755)
        b.stop()
        b.program = shutil.copy(own, folder)
        shutil.copy(next(glob.iglob(f"{os.path.dirname(own)}/**/libnvidia-ml.so.1", recursive=True)), folder)
        b.up()
        b.apply(pod("absent", grace=1))
        wait_for("a pod without it", lambda: is_ready(b, "absent"))
        check(shim_servers(b.program) == {b.program}, f"absent: {shim_servers(b.program)}")
        b.stop()
        with open(f"{folder}/{name}", "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\nexit 1\n")
        os.chmod(f.name, 0o755)
        b.up()
        b.apply(pod("broken", grace=1))
        wait_for("a pod beside one that ends", lambda: is_ready(b, "broken"))
        check(shim_servers(b.program) == {b.program}, f"broken: {shim_servers(b.program)}")
        for name in ("before", "absent", "broken"):
            check(is_ready(b, name) and one(b, name)["restartCount"] == 0, f"{name} lives on: {status(b, name)}")
    finally:
        b.program = own
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(run_tests(globals(), with_default_queue))
