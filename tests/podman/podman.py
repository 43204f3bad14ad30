#!/usr/bin/env python3
"""podman: pods whose files are those of an image: what they see and are, their life, and how images come here.

    podman.py BERTH KUBECTL [NAME...]

The images are made here (images.py), and served by a registry on loopback.
"""
import base64
import hashlib
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "e2e"), HERE]
from harness import Berth, Fail, alive, check, job, run_tests, wait_for  # noqa: E402
import images  # noqa: E402

IMAGE = "localhost/berth-test:latest"
ARGS = ["--runtime", "podman", "--host-path", "/usr"]


def container(name, script, image=IMAGE, policy=None, limits=None, volumes=(), **pod):
    o = job(name, script, limits=limits, backoffLimit=0)
    spec = o["spec"]["template"]["spec"]
    c = spec["containers"][0]
    c["env"] = [{"name": "WORD", "value": "two words"}, {"name": "LD_PRELOAD", "value": ""}]
    c["volumeMounts"] = [{"name": f"v{i}", "mountPath": p} for i, (p, _) in enumerate(volumes)]
    spec["volumes"] = [dict(v, name=f"v{i}") for i, (_, v) in enumerate(volumes)]
    spec.update(pod)
    return images.in_image(o, image, policy)


def bare(name, command, image=IMAGE, policy=None, **spec):
    """A pod of its own, with /usr."""
    c = dict(spec.pop("container", {}), name="main")
    if command:
        c["command"] = command
    return images.in_image({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}},
                     "spec": dict({"restartPolicy": "Never", "containers": [c]}, **spec)}, image, policy)


def ended(b, name):
    conditions = b.get("job", name)["status"].get("conditions", [])
    return [c["type"] for c in conditions if c["status"] == "True" and c["type"] in ("Complete", "Failed")]


def pod_of(b, name):
    return b.get("pod", "-l", f"batch.kubernetes.io/job-name={name}")["items"][0]


def state(b, pod):
    with open(os.path.join(b.data, "pods", pod["metadata"]["uid"], "state.json"), encoding="utf-8") as f:
        return json.load(f)


def events(b, name):
    return [(e["reason"], e["message"]) for e in b.get("events")["items"] if e["involvedObject"]["name"].startswith(name)]


def waiting(b, name):
    s = b.get("pod", name)["status"].get("containerStatuses", [{}])[0]
    return s.get("state", {}).get("waiting", {})


def log_has(b, what, word, seconds=30):
    wait_for(f"{word!r} in the log of {what}", lambda: word in b.kubectl("logs", what, ok=False).stdout, seconds)


def test_container(b):
    """The image's files, variables and user; its volumes and GPU slice; the log and the exit status come back."""
    b.kubectl("create", "configmap", "settings", "--from-literal=a=from the map")
    b.apply(container("one", "cat /mark /etc/settings/a /private/root /srv/dev/kept; echo; echo $WORD $FROM_IMAGE; echo x >/scratch/x;"
                      "echo changed >/private/root; ls /scratch / | tr '\\n' ' '; id -u; pwd; echo $HOME;"
                      "echo $CUDA_VISIBLE_DEVICES; echo to stderr >&2; exit 3",
                      limits={"nvidia.com/mig-1g.18gb": 1},
                      volumes=[("/etc/settings", {"configMap": {"name": "settings"}}), ("/scratch", {"emptyDir": {}})]))
    check(wait_for("the end of one", lambda: ended(b, "one"), 40) == ["Failed"], "exit 3 is a failure")
    status = pod_of(b, "one")["status"]["containerStatuses"][0]
    log = b.kubectl("logs", "job/one")
    check(status["state"]["terminated"]["exitCode"] == 3, f"{status} {log}")
    check(status["imageID"].startswith("sha256:") and len(status["imageID"]) == 71, f"{status}")
    for word in ("first\n", "from the map", "of root\n", "two words yes\n", "x", " 0\n/\n/root\n", "MIG-", "to stderr"):
        check(word in log, f"{word!r} is not in the log: {log}")
    check("kept" in log, log)
    modes = [os.lstat(os.path.join(d, f)).st_mode for d, _, files in os.walk(b.data + "/images") for f in files]
    check(len(modes) > 5 and not any(m & 0o6000 for m in modes), "set-user-id programs of an image")
    check(os.stat(b.data + "/images").st_mode & 0o077 == 0, "others may reach the image's files")
    listed = log.split("/scratch:")[1].split()
    check("work" not in listed and "var" not in listed and "home" not in listed, f"files of the machine: {listed}")


def test_who(b):
    """Root inside is nobody's number outside; the image's own user, a read-only root, limits, the pod's name and address."""
    b.apply(bare("root", ["sh", "-c", "id -u; hostname; echo up; sleep 600"]),
            bare("app", ["sh", "-c", "id -u; cat /srv/app; cat /private/root; echo up; sleep 600"], image="localhost/berth-app:latest"),
            bare("fixed", ["sh", "-c", "touch /x || echo refused; touch /out/x && echo written; echo up; sleep 600"],
                 container={"securityContext": {"readOnlyRootFilesystem": True},
                            "resources": {"limits": {"memory": "64Mi", "cpu": "1"}},
                            "volumeMounts": [{"name": "out", "mountPath": "/out"}]},
                 volumes=[{"name": "out", "emptyDir": {}}]))
    for name in ("root", "app", "fixed"):
        log_has(b, name, "up\n")
    check(b.kubectl("logs", "root").split()[:2] == ["0", "root"], b.kubectl("logs", "root"))
    log = b.kubectl("logs", "app")
    check(log.startswith("1000\nof app\n") and "of root" not in log, log)
    log = b.kubectl("logs", "fixed")
    check("refused" in log and "written" in log, log)
    users = set()
    for name in ("root", "app", "fixed"):
        pod = b.get("pod", name)
        with open(f"/proc/{state(b, pod)['containers'][0]['pid']}/status", encoding="utf-8") as f:
            fields = dict(line.split(":", 1) for line in f.read().split("\n") if ":" in line)
        users.add(fields["Uid"].split()[0])
        check(int(fields["Uid"].split()[0]) >= 1900100000, f"{name} is user {fields['Uid']} of the machine")
        check(int(fields["CapBnd"], 16) == 0 and int(fields["CapPrm"], 16) == 0, f"{name} has capabilities")
        check(fields["NoNewPrivs"].strip() == "1" and fields["Seccomp"].strip() == "2", f"{name}: {fields}")
        check(pod["status"]["podIP"].startswith("10."), f"{name} has no address: {pod['status']}")
    check(len(users) == 3, f"pods share a user: {users}")


def test_exec(b):
    """exec, cp, attach, hooks, probes by command and port, a Service's name, port-forward."""
    server = bare("web", ["python3", "-m", "http.server", "8000", "--directory", "/srv/www"],
                  container={"ports": [{"containerPort": 8000, "name": "http"}],
                             "lifecycle": {"postStart": {"exec": {"command": ["sh", "-c", "mkdir -p /srv/www; id -u >/srv/www/hook"]}}},
                             "readinessProbe": {"httpGet": {"port": "http", "path": "/hook"}, "periodSeconds": 1},
                             "livenessProbe": {"exec": {"command": ["test", "-e", "/mark"]}, "periodSeconds": 1}})
    b.apply(server, {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
                     "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": "http"}]}})
    b.kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=40s")
    check(b.kubectl("exec", "web", "--", "sh", "-c", "id -u; cat /mark; echo $FROM_IMAGE").split() == ["0", "first", "yes"], "exec")
    source = os.path.join(b.root, "copied")
    with open(source, "w", encoding="utf-8") as f:
        f.write("copied\n")
    b.kubectl("cp", source, "web:/srv/www/copied")
    check(b.kubectl("exec", "web", "--", "cat", "/srv/www/copied") == "copied\n", "cp")
    b.apply(bare("client", ["python3", "-c", "import urllib.request as u; print(u.urlopen('http://web.default.svc.cluster.local/copied')"
                            ".read())"]))
    log_has(b, "client", "copied")
    forward = subprocess.Popen([b.kubectl_program, "port-forward", "pod/web", ":8000"], env=b.env, stdout=subprocess.PIPE, text=True)
    try:
        port = forward.stdout.readline().split("->")[0].rsplit(":", 1)[1].strip()
        got = subprocess.run(["curl", "-s", f"http://127.0.0.1:{port}/hook"], capture_output=True, text=True, check=False)
        check(got.stdout == "0\n", f"port-forward: {got}")
    finally:
        forward.terminate()
        forward.wait()
    check(b.get("pod", "web")["status"]["containerStatuses"][0]["restartCount"] == 0, "it was restarted")
    b.apply(bare("deaf", ["cat"], container={"stdin": True, "stdinOnce": True}))
    b.kubectl("wait", "--for=condition=Ready", "pod/deaf", "--timeout=30s")
    check("said" in b.kubectl("attach", "-i", "deaf", stdin="said\n"), "attach")


def test_life(b):
    """A grace period, a restart with an empty layer, a termination message; what the image says of command and signal."""
    b.apply(bare("polite", ["sh", "-c", "trap 'echo asked to go; exit 0' TERM; echo ready; while :; do sleep 0.1; done"]),
            bare("again", ["sh", "-c", "test -e /left && exit 9; touch /left; echo told >/dev/termination-log; sleep 1; exit 1"],
                 restartPolicy="OnFailure"),
            bare("own", None, image="localhost/berth-own:latest"))
    log_has(b, "polite", "ready")
    follow = subprocess.Popen([b.kubectl_program, "logs", "-f", "polite"], env=b.env, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
    follow.stdout.readline()
    b.kubectl("delete", "pod", "polite", "--wait=false")
    check("asked to go" in follow.communicate(timeout=40)[0], "no SIGTERM")
    s = wait_for("a second start", lambda: (lambda s: s["restartCount"] >= 1 and s["lastState"] and s)(
        b.get("pod", "again")["status"]["containerStatuses"][0]), 30)
    check(s["lastState"]["terminated"]["exitCode"] == 1 and s["lastState"]["terminated"]["message"] == "told\n", f"{s}")
    wait_for("a third", lambda: b.get("pod", "again")["status"]["containerStatuses"][0]["restartCount"] >= 2, 60)
    s = b.get("pod", "again")["status"]["containerStatuses"][0]
    check(s["lastState"]["terminated"]["exitCode"] == 1, f"the layer was not emptied: {s}")
    log_has(b, "own", "entry argument")
    check(b.kubectl("logs", "own").split() == ["entry", "argument", "/srv"], b.kubectl("logs", "own"))


def test_restart(b):
    """A container outlives berth up, and its end is seen by the next one; berth down ends it."""
    b.apply(container("long", "echo before; sleep 5; echo after"))
    log_has(b, "job/long", "before")
    b.stop()
    b.up()
    check(wait_for("its end", lambda: ended(b, "long"), 40) == ["Complete"], "it completes")
    check(b.kubectl("logs", "job/long").split() == ["before", "after"], "its whole log")
    b.apply(container("left", "echo ready; sleep 600"))
    log_has(b, "job/left", "ready")
    pid = state(b, pod_of(b, "left"))["containers"][0]["pid"]
    b.berth("down", "--data", b.data)
    b.process.wait(timeout=30)
    wait_for("nothing is left after berth down", lambda: not alive(pid), 20)


def secret(name, host, user, password):
    text = json.dumps({"auths": {host: {"auth": base64.b64encode(f"{user}:{password}".encode()).decode()}}})
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "type": "kubernetes.io/dockerconfigjson",
            "data": {".dockerconfigjson": base64.b64encode(text.encode()).decode()}}


def test_pull(b):
    """From a registry: events, credentials, whose an image is, refusals and their back-off; no credentials are left."""
    with images.Registry() as r:
        opened, closed = r.put("open/app", "open"), r.put("closed/app", "closed")
        b.apply(bare("public", ["cat", "/mark"], image=opened))
        log_has(b, "public", "open")
        told = [reason for reason, _ in events(b, "public")]
        check(told.index("Pulling") < told.index("Pulled"), f"{told}")
        check(any(f'Successfully pulled image "{opened}"' in m for _, m in events(b, "public")), f"{events(b, 'public')}")
        b.apply(bare("refused", ["cat", "/mark"], image=closed))
        wait_for("it is refused", lambda: waiting(b, "refused").get("reason") == "ErrImagePull", 30)
        wait_for("it waits longer", lambda: waiting(b, "refused").get("reason") == "ImagePullBackOff", 30)
        told = events(b, "refused")
        for word in (("Failed", "unauthorized"), ("Failed", "Error: ErrImagePull"), ("BackOff", "Back-off pulling image")):
            check(any(reason == word[0] and word[1] in m for reason, m in told), f"{word}: {told}")
        b.kubectl("delete", "pod", "refused", "--wait=false")
        b.kubectl("create", "namespace", "other")
        b.apply(secret("wrong", r.host, images.USER, "no"), secret("right", r.host, images.USER, images.PASSWORD))
        b.apply(bare("secret", ["cat", "/mark"], image=closed, imagePullSecrets=[{"name": "right"}]))
        wait_for("it runs", lambda: "closed" in b.kubectl("logs", "secret", ok=False).stdout, 40)
        left = [f for f in os.listdir(os.path.join(b.data, "images")) if f.startswith("auth-")]
        check(not left, f"credentials were left: {left}")
        asked = len(r.asked)
        b.apply(bare("again", ["cat", "/mark"], image=closed, policy="IfNotPresent"))
        log_has(b, "again", "closed")
        check(len(r.asked) == asked, "an image that was here was asked for")
        stranger = bare("stranger", ["cat", "/mark"], image=closed, policy="IfNotPresent")
        stranger["metadata"]["namespace"] = "other"
        never = bare("never", ["cat", "/mark"], image=closed, policy="Never")
        never["metadata"]["namespace"] = "other"
        b.apply(stranger, never)
        for name, reason in (("stranger", "ErrImagePull"), ("never", "ErrImageNeverPull")):
            wait_for(f"{name} gets nothing", lambda: b.kubectl("get", "pod", name, "-n", "other", "-o",
                     "jsonpath={.status.containerStatuses[0].state.waiting.reason}") == reason, 30)
        b.apply(bare("bad", ["true"], image="Not An Image"))
        wait_for("its name is refused", lambda: waiting(b, "bad").get("reason") == "InvalidImageName", 30)
        check("is no name of an image" in waiting(b, "bad")["message"], f"{waiting(b, 'bad')}")


def test_other_names(b):
    """Another's private image is not had by a name of podman's store, nor by its digest."""
    with images.Registry() as r:
        closed = r.put("closed/app", "closed")
        b.kubectl("create", "namespace", "other")
        b.apply(secret("right", r.host, images.USER, images.PASSWORD))
        b.apply(bare("secret", ["cat", "/mark"], image=closed, imagePullSecrets=[{"name": "right"}]))
        wait_for("it runs", lambda: "closed" in b.kubectl("logs", "secret", ok=False).stdout, 40)
        with open(os.path.join(r.folder.name, "0", "manifest.json"), "rb") as f:
            digest = hashlib.sha256(f.read()).hexdigest()
        names = {"stored": f"containers-storage:{closed}", "digest": f"{closed.rsplit(':', 1)[0]}@sha256:{digest}"}
        for name, image in names.items():
            pod = bare(name, ["cat", "/mark"], image=image, policy="IfNotPresent")
            pod["metadata"]["namespace"] = "other"
            b.apply(pod)
        for name in names:
            wait_for(f"{name} gets nothing", lambda: b.kubectl("get", "pod", name, "-n", "other", "-o",
                     "jsonpath={.status.containerStatuses[0].state.waiting.reason}") in
                     ("ErrImagePull", "ImagePullBackOff", "InvalidImageName"), 30)


def test_volume(b):
    """A volume that is an image: read-only, of a container in an image, under a subPath too."""
    volume = {"name": "data", "image": {"reference": "localhost/berth-app:latest", "pullPolicy": "IfNotPresent"}}
    mounts = [{"name": "data", "mountPath": "/data"}, {"name": "data", "mountPath": "/group", "subPath": "etc/group"}]
    b.apply(bare("reads", ["sh", "-c", "cat /mark /data/mark; tail -1 /group; touch /data/x || echo refused"],
                 container={"volumeMounts": mounts}, volumes=[volume]),
            bare("none", ["true"], volumes=[{"name": "data", "image": {"reference": "localhost/berth-no-such-image"}}]))
    log_has(b, "reads", "refused")
    check(b.kubectl("logs", "reads").split()[:3] == ["first", "app", "app:x:1000:"], b.kubectl("logs", "reads"))
    wait_for("it is not here", lambda: waiting(b, "none").get("reason") == "ErrImageNeverPull", 30)


def test_archives(b):
    """berth image load, list, prune: what a pod runs in stays."""
    file, name = os.path.join(b.root, "archive.tar"), "localhost/berth-archived:latest"
    images.make(name, "archived")
    images.podman("save", "-o", file, name)
    images.forget(name)
    b.apply(bare("before", ["cat", "/mark"], image=name))
    wait_for("it is not here", lambda: waiting(b, "before").get("reason") == "ErrImageNeverPull", 30)
    check("berth image load" in waiting(b, "before")["message"], f"{waiting(b, 'before')}")
    left = os.path.join(b.data, "images", ".part-1", "root")
    os.makedirs(left)
    images.podman("create", "--name", "berth-unpack-4194303-left", IMAGE, "x")
    check(name in b.berth("image", "load", file, "--data", b.data), "load names what it loaded")
    check(not os.path.exists(left), "what a killed process was unpacking was left")
    check("berth-unpack" not in images.podman("ps", "-a").stdout.decode(), "and its container")
    log_has(b, "before", "archived")
    rows = [x for x in b.berth("image", "list", "--data", b.data).split("\n") if x.startswith(name)]
    check(len(rows) == 1 and "everyone" in rows[0], f"{rows}")
    b.apply(bare("runs", ["sh", "-c", "echo up; sleep 600"], image=name))
    log_has(b, "runs", "up")
    check(name not in b.berth("image", "prune", "--unused", "0s", "--data", b.data), "an image that is used was removed")
    b.kubectl("delete", "pod", "runs", "before", "--grace-period=0")
    wait_for("it is removed when nobody uses it", lambda: name in b.berth("image", "prune", "--unused", "0s", "--data", b.data))
    check(name not in b.berth("image", "list", "--data", b.data), "it is listed still")
    check(images.podman("image", "exists", name, ok=False).returncode == 1, "podman keeps what Berth brought")
    bad = b.berth("image", "load", "/nowhere.tar", "--data", b.data, ok=False)
    check(bad.returncode == 1 and "/nowhere.tar" in bad.stderr, f"{bad}")


def test_auto(program, kubectl):
    """With auto a pod runs in its image where that can be had; otherwise as a process, and is told so."""
    with Berth(program, kubectl, gpus="none", args=["--runtime", "auto", "--host-path", "/usr"]) as b:
        b.apply(bare("has", ["sh", "-c", "cat /mark; test -e /home || echo alone"]),
                bare("has-not", ["sh", "-c", "test -e /var/lib/dpkg && echo process"], image="localhost/berth-no-such-image"),
                bare("far", ["sh", "-c", "test -e /var/lib/dpkg && echo process"], image="127.0.0.1:1/app"),
                bare("must", None, image="127.0.0.1:1/app"),
                bare("volume", ["sh", "-c", "test -e /var/lib/dpkg && cat /data/mark"], image="localhost/berth-no-such-image",
                     container={"volumeMounts": [{"name": "data", "mountPath": "/data"}]},
                     volumes=[{"name": "data", "image": {"reference": IMAGE}}]),
                dict(bare("machine", ["sh", "-c", "test -e /var/lib/dpkg && echo process"]),
                     metadata={"name": "machine", "annotations": {"berth.dev/files": "machine"}}))
        log_has(b, "has", "alone")
        log_has(b, "volume", "first")
        log_has(b, "machine", "process")
        for name in ("has-not", "far"):
            log_has(b, name, "process")
            check(any(r == "ImageUnavailable" for r, _ in events(b, name)), f"{name}: {events(b, name)}")
        wait_for("one without a command waits", lambda: waiting(b, "must").get("reason") in ("ErrImagePull", "ImagePullBackOff"), 30)


def test_registries(program, kubectl):
    """--image-registries: from others nothing is pulled, and the pod says why; what is here already runs."""
    args = ["--runtime", "podman", "--host-path", "/usr", "--image-registries", "127.0.0.1,!127.0.0.1:1"]
    with Berth(program, kubectl, gpus="none", args=args) as b, images.Registry() as r:
        b.apply(bare("named", ["cat", "/mark"], image=r.put("open/app", "open")),
                bare("here", ["cat", "/mark"], policy="IfNotPresent"),
                bare("refused", ["cat", "/mark"], image="127.0.0.1:1/app"),
                bare("unnamed", ["cat", "/mark"], image="registry.example.org/app"))
        log_has(b, "named", "open")
        log_has(b, "here", "first")
        for name, why in (("refused", "127.0.0.1:1 here: the node's --image-registries refuses it"),
                          ("unnamed", "registry.example.org here: the node's --image-registries does not name it")):
            wait_for(f"{name} is refused", lambda: any(
                "images may not be pulled from " + why in m for _, m in events(b, name)), 30)
    done = subprocess.run([program, "up", "--image-registries", "https://docker.io"], capture_output=True, text=True, timeout=30,
                          check=False)
    check(done.returncode == 2 and "--image-registries" in done.stderr and "expected a host" in done.stderr, f"{done}")


def start(f, program, kubectl):
    if f in (test_auto, test_registries):
        f(program, kubectl)
        return
    with Berth(program, kubectl, gpus="sim:1xh200", args=ARGS) as b:
        f(b)


def main():
    made = {IMAGE: ("first",), "localhost/berth-app:latest": ("app", "USER app"),
            "localhost/berth-own:latest": ("own", 'ENTRYPOINT ["sh", "-c", "echo $0 $1; pwd", "entry"]', 'CMD ["argument"]',
                                           "WORKDIR /srv")}
    for name, (mark, *changes) in made.items():
        images.make(name, mark, *changes)
    try:
        return run_tests(globals(), start)
    finally:
        images.forget(*made)


if __name__ == "__main__":
    sys.exit(main())
