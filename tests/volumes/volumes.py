#!/usr/bin/env python3
"""volumes: claims that outlive pods and restarts, snapshots, and what protects them.   volumes.py BERTH KUBECTL [TEST...]

Each test starts a Berth of its own. Pods are processes; what one writes into its claim another reads.
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from harness import Berth, check, run_tests, wait_for

SNAPSHOT = "snapshot.storage.k8s.io/v1"


def start(f, program, kubectl):
    with Berth(program, kubectl, gpus="none", args=getattr(f, "args", lambda: [])()) as b:
        f(b)


def claim(name, size="1Gi", modes=("ReadWriteOnce",), **spec):
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": {
        "accessModes": list(modes), "resources": {"requests": {"storage": size}}, **spec}}


def pod(name, script, claims=(), mounts=None, **spec):
    """Claims are mounted at /mnt/NAME, unless `mounts` says more."""
    volumes = [{"name": c, "persistentVolumeClaim": {"claimName": c}} for c in claims]
    at = mounts or [{"name": c, "mountPath": f"/mnt/{c}"} for c in claims]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
        "restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "volumes": volumes,
        "containers": [{"name": "main", "image": "none", "command": ["sh", "-c", script], "volumeMounts": at}], **spec}}


def phase(b, kind, name, *more):
    done = b.kubectl("get", kind, name, "-o", "jsonpath={.status.phase}", *more, ok=False)
    return done.stdout


def bound(b, name, *more):
    wait_for(f"claim {name} is bound", lambda: phase(b, "pvc", name, *more) == "Bound")
    return b.get("pvc", name, *more)


def over(b, name, want="Succeeded", *more):
    wait_for(f"pod {name} is over", lambda: phase(b, "pod", name, *more) in ("Succeeded", "Failed"), 60)
    got = phase(b, "pod", name, *more)
    log = b.kubectl("logs", name, *more)
    check(got == want, f"pod {name}: {got}, not {want}: {log}")
    return log


def gone(b, kind, name):
    wait_for(f"{kind} {name} is gone", lambda: b.kubectl("get", kind, name, ok=False).returncode != 0, 60)


def events(b, name):
    return [f"{e['reason']}: {e['message']}" for e in b.get("events")["items"] if e["involvedObject"]["name"] == name]


def test_the_class_is_there(b):
    text = wait_for("the class", lambda: b.kubectl("get", "sc", ok=False).stdout)
    check("local (default)" in text and "berth.dev/local" in text, text)
    check("local.berth.dev" in b.kubectl("get", "volumesnapshotclass"), "no class of snapshots")
    b.kubectl("describe", "sc", "local")


def test_what_one_pod_writes_the_next_reads_after_a_restart(b):
    b.apply(claim("data"))
    c = bound(b, "data")
    check(c["spec"]["storageClassName"] == "local" and c["status"]["capacity"]["storage"] == "1Gi", c)
    name = c["spec"]["volumeName"]
    check(name == f"pvc-{c['metadata']['uid']}", name)
    row = b.kubectl("get", "pvc", "data", "--no-headers").split()
    check(row[:5] == ["data", "Bound", name, "1Gi", "RWO"] and row[5] == "local", row)
    row = b.kubectl("get", "pv", name, "--no-headers").split()
    check(row[1:6] == ["1Gi", "RWO", "Delete", "Bound", "default/data"], row)
    check("ProvisioningSucceeded" in b.kubectl("describe", "pvc", "data"), "no event")
    b.apply(pod("writer", "echo kept > /mnt/data/file", ["data"]))
    over(b, "writer")
    b.kubectl("delete", "pod", "writer")
    b.stop()
    b.up()
    b.apply(pod("reader", "cat /mnt/data/file", ["data"]))
    check(over(b, "reader") == "kept\n", "another text")


def test_two_pods_share_and_another_namespace_does_not(b):
    b.apply(claim("shared", modes=["ReadWriteMany"]))
    bound(b, "shared")
    b.apply(pod("one", "echo a > /mnt/shared/a; until [ -e /mnt/shared/b ]; do sleep 0.1; done", ["shared"]),
            pod("two", "until [ -e /mnt/shared/a ]; do sleep 0.1; done; cat /mnt/shared/a; echo b > /mnt/shared/b", ["shared"]))
    over(b, "one")
    check(over(b, "two") == "a\n", "two did not read what one wrote")
    b.kubectl("create", "ns", "other")
    b.apply({**pod("thief", "true", ["shared"]), "metadata": {"name": "thief", "namespace": "other"}})
    wait_for("the pod waits for a claim of its own namespace", lambda: any(
        'persistentvolumeclaim "shared" not found' in e["message"] for e in b.get("events", "-n", "other")["items"]))
    folder = os.path.join(b.data, "volumes", b.get("pvc", "shared")["metadata"]["uid"])
    b.apply({**pod("peek", f"cat {folder}/a", []), "metadata": {"name": "peek", "namespace": "other"}})
    over(b, "peek", "Failed", "-n", "other")


def test_sub_paths_and_read_only(b):
    b.apply(claim("data"))
    bound(b, "data")
    b.apply(pod("makes", "echo x > /sub/file; ln -s /etc /all/link; ln -s .. /all/up", ["data"], [
        {"name": "data", "mountPath": "/sub", "subPath": "a/b"}, {"name": "data", "mountPath": "/all"}]))
    over(b, "makes")
    b.apply(pod("reads", "cat /all/a/b/file; echo y > /ro/file && echo wrote; exit 0", ["data"], [
        {"name": "data", "mountPath": "/all"}, {"name": "data", "mountPath": "/ro", "readOnly": True}]))
    log = over(b, "reads")
    check(log.startswith("x\n") and "wrote" not in log, log)
    for name, sub in (("link", "link"), ("up", "up"), ("below", "link/ssl")):
        b.apply(pod(name, "ls /out", ["data"], [{"name": "data", "mountPath": "/out", "subPath": sub}]))
        wait_for(f"{name} does not start", lambda n=name: phase(b, "pod", n) == "Failed" or any(
            "subPath" in e for e in events(b, n)))
        check("passwd" not in b.kubectl("logs", name, ok=False).stdout, "the link was followed")
    done = b.kubectl("apply", "-f", "-", ok=False, stdin=json.dumps(pod("dots", "ls", ["data"], [
        {"name": "data", "mountPath": "/out", "subPath": "../x"}])))
    check(done.returncode != 0 or wait_for("it fails", lambda: phase(b, "pod", "dots") == "Failed"), done.stdout)


def test_a_claim_in_use_stays_and_its_volume_goes_with_it(b):
    b.apply(claim("data"), pod("uses", "echo x > /mnt/data/file; sleep 300", ["data"]))
    c = bound(b, "data")
    folder = os.path.join(b.data, "volumes", c["metadata"]["uid"])
    wait_for("the pod runs", lambda: phase(b, "pod", "uses") == "Running")
    b.kubectl("delete", "pvc", "data", "--wait=false")
    check("Terminating" in b.kubectl("get", "pvc", "data"), "it is not Terminating")
    check(os.path.isdir(folder), "the folder is gone while a pod uses it")
    b.kubectl("delete", "pod", "uses")
    gone(b, "pvc", "data")
    gone(b, "pv", c["spec"]["volumeName"])
    wait_for("the folder is gone", lambda: not os.path.exists(folder) and not os.listdir(
        os.path.join(b.data, "volumes", ".gone")))


def test_retain_keeps_the_folder_and_a_stray_is_kept(b):
    b.apply({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "keep"},
             "provisioner": "berth.dev/local", "reclaimPolicy": "Retain"}, claim("data", storageClassName="keep"))
    c = bound(b, "data")
    folder = os.path.join(b.data, "volumes", c["metadata"]["uid"])
    b.kubectl("delete", "pvc", "data")
    wait_for("released", lambda: phase(b, "pv", c["spec"]["volumeName"]) == "Released")
    b.kubectl("delete", "pv", c["spec"]["volumeName"])
    check(os.path.isdir(folder), "the folder is gone")
    b.stop()
    b.up()
    wait_for("the log names it", lambda: f"no object knows {b.data}/volumes/./{c['metadata']['uid']}" in open(
        b.log.name, encoding="utf-8").read())
    check(os.path.isdir(folder), "the folder is gone")


def test_a_claim_grows_but_does_not_shrink(b):
    b.apply(claim("data"))
    bound(b, "data")
    size = lambda: b.get("pvc", "data")["status"]["capacity"]["storage"]
    b.kubectl("patch", "pvc", "data", "-p", '{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}')
    wait_for("it has grown", lambda: size() == "2Gi")
    check("conditions" not in b.get("pvc", "data")["status"], "Resizing is left")
    check(any(e.startswith("VolumeResizeSuccessful") for e in events(b, "data")), events(b, "data"))
    done = b.kubectl("patch", "pvc", "data", "-p", '{"spec":{"resources":{"requests":{"storage":"1Gi"}}}}', ok=False)
    check("field can not be less than status.capacity" in done.stderr, done.stderr)
    b.kubectl("patch", "sc", "local", "-p", '{"allowVolumeExpansion":false}')
    done = b.kubectl("patch", "pvc", "data", "-p", '{"spec":{"resources":{"requests":{"storage":"3Gi"}}}}', ok=False)
    check("must support resize" in done.stderr, done.stderr)


def test_snapshot_restore_and_clone(b):
    b.apply(claim("data"), pod("writes", "echo one > /mnt/data/file", ["data"]))
    over(b, "writes")
    b.apply({"apiVersion": SNAPSHOT, "kind": "VolumeSnapshot", "metadata": {"name": "snap"},
             "spec": {"source": {"persistentVolumeClaimName": "data"}}})
    wait_for("the snapshot is ready", lambda: b.get("volumesnapshot", "snap").get("status", {}).get("readyToUse"))
    row = b.kubectl("get", "volumesnapshot", "snap", "--no-headers").split()
    check(row[:5] == ["snap", "true", "data", "1Gi", "local"], row)
    b.kubectl("describe", "volumesnapshot", "snap")
    b.apply(pod("changes", "echo two > /mnt/data/file", ["data"]))
    over(b, "changes")
    source = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "snap"}
    b.apply(claim("old", dataSource=source), claim("same", dataSource={"kind": "PersistentVolumeClaim", "name": "data"}),
            claim("small", size="1Mi", dataSource=source),
            pod("reads", "cat /mnt/old/file /mnt/same/file", ["old", "same"]))
    check(over(b, "reads") == "one\ntwo\n", "other texts")
    check(any("is less than the size 1Gi for the source snapshot snap" in e for e in events(b, "small")), events(b, "small"))
    b.kubectl("delete", "volumesnapshot", "snap")
    wait_for("its files are gone", lambda: not os.listdir(os.path.join(b.data, "volumes", ".snapshots")))
    check(b.kubectl("get", "volumesnapshotcontent") == "", "its content is left")


def test_the_first_consumer_is_waited_for(b):
    b.apply({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "late"},
             "provisioner": "berth.dev/local", "volumeBindingMode": "WaitForFirstConsumer"},
            claim("data", storageClassName="late"))
    wait_for("it says so", lambda: any(e.startswith("WaitForFirstConsumer: waiting for first consumer") for e in events(
        b, "data")))
    check(phase(b, "pvc", "data") == "Pending", "it is bound")
    b.apply(pod("first", "echo x > /mnt/data/file", ["data"]))
    over(b, "first")
    bound(b, "data")


def test_a_volume_is_held_to_its_size(b):
    b.apply(claim("data", size="1Mi"))
    check(bound(b, "data")["metadata"]["annotations"]["berth.dev/volume-limit"] == "measured", "what holds it is not said")
    b.apply(pod("fills", "head -c 3000000 /dev/zero > /mnt/data/file; sleep 300", ["data"]))
    wait_for("it is evicted", lambda: phase(b, "pod", "fills") == "Failed", 60)
    status = b.get("pod", "fills")["status"]
    check(status["reason"] == "Evicted" and 'claim "data" exceeds its size 1Mi' in status["message"], status)


def test_one_pod_alone(b):
    b.apply(claim("data", modes=["ReadWriteOncePod"]))
    bound(b, "data")
    b.apply(pod("one", "sleep 300", ["data"]))
    wait_for("it runs", lambda: phase(b, "pod", "one") == "Running")
    b.apply(pod("two", "true", ["data"]))
    wait_for("the other waits", lambda: any("ReadWriteOncePod access mode" in e for e in events(b, "two")))
    b.kubectl("delete", "pod", "one")
    over(b, "two")


def test_of_pods_at_once_one_has_the_claim(b):
    """ReadWriteOncePod and ten pods in one breath: one at a time has it, also when several wait for the same end."""
    b.apply(claim("data", modes=["ReadWriteOncePod"]))
    bound(b, "data")
    names = [f"p{i}" for i in range(10)]
    b.apply(*[pod(n, "mkdir /mnt/data/mine || { echo two; exit 1; }; sleep 1; rmdir /mnt/data/mine", ["data"]) for n in names])
    wait_for("all of them, one after the other",
             lambda: [phase(b, "pod", n) for n in names].count("Succeeded") == len(names), 120)


def test_a_pod_waits_for_its_claim(b):
    b.apply(pod("early", "echo x > /mnt/data/file", ["data"]))
    wait_for("it says so", lambda: any('persistentvolumeclaim "data" not found' in e for e in events(b, "early")))
    row = b.get("pod", "early")["status"]["conditions"]
    check([c["reason"] for c in row if c["type"] == "PodScheduled"] == ["Unschedulable"], row)
    b.apply(claim("data"))
    over(b, "early")


def host_folder():
    host_folder.path = f"/tmp/berth-volumes-test.{os.getpid()}"
    os.makedirs(host_folder.path + "/disk", exist_ok=True)
    os.chmod(host_folder.path, 0o755)
    os.chmod(host_folder.path + "/disk", 0o777)
    return ["--host-path", host_folder.path]


def static(name, path, **spec):
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": {
        "capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": path},
        "storageClassName": "", **spec}}


def test_volumes_that_somebody_made(b):
    b.apply(static("disk", host_folder.path + "/disk"), static("etc", "/etc", storageClassName="etc"),
            claim("data", size="2Gi", storageClassName=""), claim("all", storageClassName="etc"),
            pod("writes", "echo x > /mnt/data/file", ["data"]), pod("peeks", "cat /mnt/all/passwd", ["all"]))
    c = bound(b, "data")
    check(c["spec"]["volumeName"] == "disk" and c["status"]["capacity"]["storage"] == "5Gi", c)
    over(b, "writes")
    check(os.path.exists(host_folder.path + "/disk/file"), "nothing was written")
    wait_for("/etc is refused", lambda: phase(b, "pod", "peeks") == "Failed")
    check("lies outside of" in json.dumps(b.get("pod", "peeks")["status"]), b.get("pod", "peeks")["status"])
    b.kubectl("delete", "pod", "writes")
    b.kubectl("delete", "pvc", "data")
    wait_for("released", lambda: phase(b, "pv", "disk") == "Released")
    check(os.path.exists(host_folder.path + "/disk/file"), "a static volume was emptied")


test_volumes_that_somebody_made.args = host_folder


def test_what_cannot_be_is_refused(b):
    for change, text in (({"volumeMode": "Block"}, "Block is not supported"),
                         ({"accessModes": []}, "at least 1 access mode is required"),
                         ({"accessModes": ["ReadWriteOncePod", "ReadWriteOnce"]}, "may not use ReadWriteOncePod with other"),
                         ({"resources": {}}, "spec.resources[storage]: Required value")):
        o = claim("x")
        o["spec"].update(change)
        done = b.kubectl("create", "-f", "-", stdin=json.dumps(o), ok=False)
        check(done.returncode != 0 and text in done.stderr, f"{change}: {done.stdout}{done.stderr}")
    done = b.kubectl("create", "-f", "-", ok=False, stdin=json.dumps({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "x"},
        "provisioner": "berth.dev/local", "parameters": {"fast": "yes"}}))
    check("has no parameters" in done.stderr, done.stderr)
    b.apply(claim("none", storageClassName="missing"))
    wait_for("it says so", lambda: any('storageclass.storage.k8s.io "missing" not found' in e for e in events(b, "none")))


if __name__ == "__main__":
    sys.exit(run_tests(globals(), start))
