#!/usr/bin/env python3
"""podman: pods in containers: command, variables, volumes, exit status, log, stop, restart.   podman.py BERTH KUBECTL

The image is made here out of this machine's own shell and the libraries it needs: no registry is asked.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from harness import Berth, Fail, check, job, wait_for  # noqa: E402

IMAGE = "localhost/berth-test:latest"
OTHERS = set()  # containers of this machine that were there before
PROGRAMS = ["sh", "sleep", "cat", "ls", "env", "id"]


def podman(*args, stdin=None, ok=True):
    done = subprocess.run(["podman", *args], input=stdin, capture_output=True, timeout=120, check=False)
    if ok and done.returncode != 0:
        raise Fail(f"podman {' '.join(args)}: {done.stderr.decode()}")
    return done


def make_image():
    """A folder with a few programs and their libraries, as an image."""
    root = tempfile.mkdtemp(prefix="berth-image.")
    try:
        for name in PROGRAMS:
            path = shutil.which(name)
            libraries = re.findall(r"(/\S+)", subprocess.run(["ldd", path], capture_output=True, text=True,
                                                             check=True).stdout)
            for source, target in [(path, f"/bin/{name}")] + [(x, x) for x in libraries if os.path.exists(x)]:
                os.makedirs(root + os.path.dirname(target), exist_ok=True)
                shutil.copy(os.path.realpath(source), root + target)
        os.makedirs(root + "/tmp", exist_ok=True)
        with open(root + "/made-for-the-test", "w", encoding="utf-8") as f:
            f.write("yes\n")
        tar = subprocess.run(["tar", "-C", root, "-c", "."], capture_output=True, check=True).stdout
        podman("import", "-", IMAGE, stdin=tar)
    finally:
        shutil.rmtree(root)


def container(name, script, limits=None, volumes=(), **pod):
    o = job(name, script, limits=limits, backoffLimit=0)
    spec = o["spec"]["template"]["spec"]
    spec["containers"][0]["image"] = IMAGE
    spec["containers"][0]["env"] = [{"name": "WORD", "value": "two words"}, {"name": "LD_PRELOAD", "value": ""}]
    spec["containers"][0]["volumeMounts"] = [{"name": f"v{i}", "mountPath": p} for i, (p, _) in enumerate(volumes)]
    spec["volumes"] = [dict(v, name=f"v{i}") for i, (_, v) in enumerate(volumes)]
    spec.update(pod)
    return o


def ended(b, name):
    conditions = b.get("job", name)["status"].get("conditions", [])
    return [c["type"] for c in conditions if c["status"] == "True" and c["type"] in ("Complete", "Failed")]


def ours():
    """Containers that Berth made since we began."""
    names = podman("ps", "-a", "--format", "{{.Names}}").stdout.decode().split()
    return [n for n in names if n.startswith("berth-") and n not in OTHERS]


def test_container(b):
    """In the image, with its variables, volumes and GPU slice; the log and the exit status come back."""
    b.kubectl("create", "configmap", "settings", "--from-literal=a=from the map")
    b.apply(container("one", "cat /made-for-the-test /etc/settings/a; echo; echo $WORD; echo x >/scratch/x; ls /scratch;"
                      "echo $CUDA_VISIBLE_DEVICES; echo to stderr >&2; exit 3",
                      limits={"nvidia.com/mig-1g.18gb": 1},
                      volumes=[("/etc/settings", {"configMap": {"name": "settings"}}), ("/scratch", {"emptyDir": {}})]))
    check(wait_for("the end of one", lambda: ended(b, "one"), 40) == ["Failed"], "exit 3 is a failure")
    pod = b.get("pod", "-l", "batch.kubernetes.io/job-name=one")["items"][0]
    state = pod["status"]["containerStatuses"][0]["state"]
    log = b.kubectl("logs", "job/one")
    check(state["terminated"]["exitCode"] == 3, f"{state} {log}")
    for word in ("yes", "from the map", "two words", "x\n", "MIG-", "to stderr"):
        check(word in log, f"{word!r} is not in the log: {log}")
    check("two words" not in subprocess.run(["ps", "axww"], capture_output=True, text=True, check=True).stdout,
          "variables on a command line")


def test_stop(b):
    """Deleting a pod lets it end by itself within its grace, and leaves no container."""
    b.apply(container("polite", "trap 'echo asked to go; exit 0' TERM; echo ready; while :; do sleep 0.1; done"))
    wait_for("it is ready", lambda: "ready" in b.kubectl("logs", "job/polite", ok=False).stdout, 30)
    name = b.get("pod", "-l", "batch.kubernetes.io/job-name=polite")["items"][0]["metadata"]["name"]
    follow = subprocess.Popen([b.kubectl_program, "logs", "-f", name], env=b.env, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
    follow.stdout.readline()
    b.kubectl("delete", "job", "polite", "--wait=false")
    said = follow.communicate(timeout=40)[0]
    check("asked to go" in said, f"no SIGTERM: {said}")
    b.apply(container("deaf", "trap '' TERM; echo ready; while :; do sleep 0.1; done", terminationGracePeriodSeconds=1))
    wait_for("it is ready", lambda: "ready" in b.kubectl("logs", "job/deaf", ok=False).stdout, 30)
    b.kubectl("delete", "job", "deaf", "--wait=false")
    wait_for("no container is left", lambda: not ours(), 40)


def test_restart(b):
    """A container outlives berth up, and its end is seen by the next one; berth down ends it."""
    b.apply(container("long", "echo before; sleep 5; echo after"))
    wait_for("it runs", lambda: "before" in b.kubectl("logs", "job/long", ok=False).stdout, 30)
    b.stop()
    check(ours(), "the container ended with berth up")
    b.up()
    check(wait_for("its end", lambda: ended(b, "long"), 40) == ["Complete"], "it completes")
    check(b.kubectl("logs", "job/long").split() == ["before", "after"], "its whole log")
    b.apply(container("left", "echo ready; sleep 600"))
    wait_for("it runs", lambda: "ready" in b.kubectl("logs", "job/left", ok=False).stdout, 30)
    b.berth("down", "--data", b.data)
    b.process.wait(timeout=30)
    wait_for("no container is left after berth down", lambda: not ours(), 20)


def test_no_image(b):
    """An image that is nowhere ends the job, and the log says why."""
    o = container("none", "echo never")
    o["spec"]["template"]["spec"]["containers"][0]["image"] = "localhost/berth-no-such-image"
    b.apply(o)
    check(wait_for("its end", lambda: ended(b, "none"), 60) == ["Failed"], "an image that is nowhere")
    check("berth-no-such-image" in b.kubectl("logs", "job/none"), "the log says why")


def main():
    program, kubectl, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    make_image()
    limit = subprocess.run(["sh", "-c", "ulimit -Hn"], capture_output=True, text=True, check=True).stdout.strip()
    first = podman("run", "--rm", "--network=host", f"--ulimit=nofile={limit}:{limit}", "--ulimit=nproc=1000:1000",
                   IMAGE, "/bin/sh", "-c", "echo hello", ok=False)
    if first.returncode != 0:
        podman("rmi", "-f", IMAGE)
        print(f"podman cannot run containers on this machine: {first.stderr.decode().strip()}")
        return 77
    OTHERS.update(ours())
    failed = 0
    tests = [(n, f) for n, f in globals().items() if n.startswith("test_") and (not names or n in names)]
    for name, f in tests:
        try:
            with Berth(program, kubectl, gpus="sim:1xh200", args=["--runtime", "podman"]) as b:
                f(b)
            print(f"ok      {name}", flush=True)
        except (Fail, subprocess.TimeoutExpired) as e:
            failed += 1
            print(f"FAILED  {name}: {e}", flush=True)
            for c in ours():
                podman("rm", "-f", "-t", "0", c, ok=False)
    podman("rmi", "-f", IMAGE)
    print(f"{len(tests) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
