"""pods: what hostile pods try against the machine, Berth and each other. Each project has a queue of its own."""
import json
import os
import subprocess

from harness import alive, check, wait_for

HERE = os.path.dirname(os.path.abspath(__file__))
QUEUE = "kueue.x-k8s.io/v1beta2"


def pod(name, ns, containers, **spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": ns},
            "spec": dict({"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": containers}, **spec)}


def container(*command, name="main", **more):
    return dict({"name": name, "image": "busybox", "command": list(command)}, **more)


def get(client, ns, name):
    code, answer = client.call("GET", f"/api/v1/namespaces/{ns}/pods/{name}")
    return answer if code == 200 else {}


def start(client, manifest):
    ns = manifest["metadata"]["namespace"]
    code, answer = client.call("POST", f"/api/v1/namespaces/{ns}/pods", manifest)
    check(code == 201, f"pod {manifest['metadata']['name']}: {code} {answer}")
    return answer["metadata"]["uid"]


def phase(client, ns, name, *wanted, seconds=60):
    return wait_for(f"pod {ns}/{name} to be {wanted}",
                    lambda: get(client, ns, name).get("status", {}).get("phase") in wanted and get(client, ns, name),
                    seconds)


def log_of(client, ns, name, which="main"):
    return client.call("GET", f"/api/v1/namespaces/{ns}/pods/{name}/log?container={which}")[1]


def pid_with(word):
    """The process that has the word as its last argument."""
    def look():
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    words = f.read().split(b"\0")
            except OSError:
                continue
            if word.encode() in words and alive(pid):
                return int(pid)
        return None
    return wait_for(f"a process {word}", look)


def parent_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        return int(f.read().rsplit(")", 1)[1].split()[1])


def from_inside(b, admin, root):
    """A pod of team-a tries what it can against one of team-b."""
    victim = start(admin, pod("victim", "team-b", [container(
        "sh", "-c", "echo secret > /dev/shm/own 2>/dev/null; umask 077; echo gem > $HOME/gem; exec sleep 31337.5",
        env=[{"name": "GEM", "value": "of team-b"}])]))
    phase(admin, "team-b", "victim", "Running")
    target = pid_with("31337.5")
    node = int(subprocess.run(["pgrep", "-P", str(b.process.pid)], capture_output=True, text=True,
                              check=True).stdout.split()[0])
    spec = {"data": b.data, "root": root, "other_pod": victim,
            "pids": {"victim": target, "its shim": parent_of(target), "node": node, "up": b.process.pid}}
    with open(os.path.join(HERE, "inside.py"), encoding="utf-8") as f:
        script = f.read()
    if not root:  # one user for all: signals to others are held by Landlock alone, where it can
        spec["pids"] = {"up": 1}
    start(admin, pod("attacker", "team-a", [container(
        "python3", "-c", script, json.dumps(spec),
        env=[{"name": "POD_UID", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}])]))
    phase(admin, "team-a", "attacker", "Succeeded", "Failed")
    text = log_of(admin, "team-a", "attacker")
    escaped = [line for line in text.splitlines() if line.startswith("ESCAPED")]
    check("tried everything" in text and not escaped, "a pod escaped:\n" + ("\n".join(escaped) or text[-3000:]))
    check(not os.path.exists("/tmp/berth-escape"), "a pod wrote to the machine's /tmp")
    check(alive(target) and alive(node) and b.process.poll() is None, "everybody lives")
    return sum(line.startswith("held") for line in text.splitlines())


def links(b, admin):
    """Links in volumes and at mount points lead nowhere."""
    bait = os.path.join(b.root, "bait")  # the machine's: 0700 above, readable below
    os.mkdir(bait, 0o755)
    with open(os.path.join(bait, "treasure"), "w", encoding="utf-8") as f:
        f.write("of the machine")
    volume = {"name": "v", "mountPath": "/v"}
    swap = "rmdir /v/sub 2>/dev/null || mv /v/sub /v/old; ln -s " + bait + " /v/sub; ls -ld /v/sub"
    start(admin, pod("swapper", "team-a", [container(
        "sh", "-c", "ls /data; cat /data/treasure; echo x > /data/mark",
        volumeMounts=[{"name": "v", "mountPath": "/data", "subPath": "sub"}])],
        initContainers=[container("sh", "-c", swap, name="swap", volumeMounts=[volume])],
        volumes=[{"name": "v", "emptyDir": {}}]))
    got = phase(admin, "team-a", "swapper", "Succeeded", "Failed")
    text = log_of(admin, "team-a", "swapper")
    check("of the machine" not in str(text), f"a link in a volume led out of it: {text}")
    check(os.listdir(bait) == ["treasure"], f"a pod wrote to the machine: {os.listdir(bait)}")
    link = "/dev/shm/berth-test-link"
    os.symlink(bait, link)
    try:
        start(admin, pod("reacher", "team-a", [container("true", volumeMounts=[
            {"name": "v", "mountPath": link + "/made"}])], volumes=[{"name": "v", "emptyDir": {}}]))
        phase(admin, "team-a", "reacher", "Succeeded", "Failed")
    finally:
        os.unlink(link)
    check(os.listdir(bait) == ["treasure"], f"a mount point was made on the machine: {os.listdir(bait)}")
    start(admin, pod("host", "team-a", [container("cat", "/h/shadow", volumeMounts=[{"name": "v", "mountPath": "/h"}])],
                     volumes=[{"name": "v", "hostPath": {"path": "/etc"}}]))
    wait_for("a hostPath without an allowed folder to be refused", lambda: "no folder is allowed on this node" in json.dumps(
        get(admin, "team-a", "host").get("status", {})), 60)
    check(get(admin, "team-a", "host")["status"]["phase"] in ("Pending", "Failed"), "hostPath needs a folder allowed")
    return got


def hogs(b, admin):
    """A fork bomb and a memory hog hurt nobody, where cgroups exist."""
    code, nodes = admin.call("GET", "/api/v1/nodes")
    if "no cgroups" in json.dumps(nodes) or not any(os.access(p, os.W_OK) for p in
                                                    ("/sys/fs/cgroup/memory", "/sys/fs/cgroup/cgroup.subtree_control")):
        return "no cgroups here: hogs not tried"
    start(admin, pod("hog", "team-a", [container(
        "python3", "-c", "x = []\nwhile len(x) < 64: x.append(bytearray(b'x') * (16 << 20))\nprint('ate it all')",
        resources={"requests": {"memory": "64Mi"}, "limits": {"memory": "64Mi"}})]))
    got = phase(admin, "team-a", "hog", "Succeeded", "Failed")
    check(got["status"]["phase"] == "Failed", f"a memory hog is ended: {log_of(admin, 'team-a', 'hog')}")
    bomb = ("import os, sys, time\nn = 0\nwhile n < 100000:\n  try:\n    p = os.fork()\n  except OSError:\n    print('held', n)\n"
            "    break\n  if p == 0:\n    time.sleep(60)\n    os._exit(0)\n  n += 1\nprint('forked', n)")
    start(admin, pod("bomb", "team-a", [container("python3", "-c", bomb)]))
    phase(admin, "team-a", "bomb", "Succeeded", "Failed")
    check("held" in log_of(admin, "team-a", "bomb"), "a fork bomb is held: " + log_of(admin, "team-a", "bomb"))
    return "a memory hog and a fork bomb held"


def run(b, admin, users):
    root = os.geteuid() == 0
    held = from_inside(b, admin, root)
    links(b, admin)
    print(f"sandbox: {held} attempts held; links held; {hogs(b, admin)}")
