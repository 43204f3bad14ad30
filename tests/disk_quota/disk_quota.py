#!/usr/bin/env python3
"""disk_quota: the file system holds the size of a claim, where it can.   disk_quota.py BERTH KUBECTL [TEST...]

The folder of volumes is an ext4 file system in a file, mounted for the test. Where that cannot be mounted the exit status is
77 and the last line says why.
"""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "volumes"))
from volumes import SNAPSHOT, bound, check, claim, gone, over, phase, pod, run_tests, start, wait_for


def mount(image, folder):
    """None, or what failed."""
    with open(image, "wb") as f:
        f.truncate(128 << 20)
    for command in (["mkfs.ext4", "-q", "-O", "quota,project", "-E", "quotatype=prjquota", image],
                    ["mount", "-o", "loop,prjquota", image, folder]):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        except OSError as e:
            return str(e)
        if done.returncode != 0:
            return done.stderr.strip().split("\n")[0]
    return None


def unmount(folder):
    subprocess.run(["umount", "-l", folder], capture_output=True, timeout=60, check=False)


def possible():
    """None, or why there is no such file system here."""
    folder = tempfile.mkdtemp(prefix="berth-quota.")
    try:
        os.mkdir(folder + "/mount")
        why = mount(folder + "/image", folder + "/mount")
        unmount(folder + "/mount")
        return why
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def on_quotas(f, program, kubectl):
    def with_disk(b):
        folder = b.data + "/volumes"
        b.stop()
        why = mount(b.root + "/image", folder)
        try:
            check(why is None, why)
            b.up()
            f(b)
            b.stop()
        finally:
            unmount(folder)
    start(with_disk, program, kubectl)


def limit(b, name):
    return b.get("pvc", name)["metadata"]["annotations"]["berth.dev/volume-limit"]


def fill(name, mib):
    return f"head -c {mib << 20} /dev/zero >> /mnt/{name}/file && sync /mnt/{name}/file"


def test_a_write_beyond_the_size_fails(b):
    b.apply({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "grows"},
             "provisioner": "berth.dev/local", "allowVolumeExpansion": True},
            claim("data", size="2Mi", storageClassName="grows"), claim("other", size="2Mi"))
    bound(b, "data")
    bound(b, "other")
    check(limit(b, "data") == "quota", f"held by {limit(b, 'data')}")
    b.apply(pod("fills", f"{fill('data', 1)} && ! {{ {fill('data', 2)}; }} && {fill('other', 1)}", ["data", "other"]))
    log = over(b, "fills")
    check("quota exceeded" in log, log)
    b.kubectl("patch", "pvc", "data", "-p", '{"spec":{"resources":{"requests":{"storage":"8Mi"}}}}')
    wait_for("it has grown", lambda: b.get("pvc", "data")["status"]["capacity"]["storage"] == "8Mi")
    b.apply(pod("goes-on", fill("data", 3), ["data"]))
    over(b, "goes-on")


def test_a_restored_volume_is_held(b):
    b.apply(claim("data", size="4Mi"), pod("writes", fill("data", 1), ["data"]))
    over(b, "writes")
    b.apply({"apiVersion": SNAPSHOT, "kind": "VolumeSnapshot", "metadata": {"name": "s"},
             "spec": {"source": {"persistentVolumeClaimName": "data"}}},
            claim("back", size="4Mi", dataSource={"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"}))
    bound(b, "back")
    check(limit(b, "back") == "quota", f"held by {limit(b, 'back')}")
    b.apply(pod("fills", f"test -s /mnt/back/file && ! {{ {fill('back', 4)}; }}", ["back"]))
    over(b, "fills")
    b.kubectl("delete", "pod", "fills")
    b.kubectl("delete", "pvc", "back")
    gone(b, "pvc", "back")


if __name__ == "__main__":
    reason = possible()
    if reason is not None:
        print(f"NOT RUN: no ext4 with project quotas can be mounted here: {reason}")
        sys.exit(77)
    sys.exit(run_tests(globals(), on_quotas))
