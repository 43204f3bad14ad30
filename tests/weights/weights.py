#!/usr/bin/env python3
"""weights: a pod finds the files of the model that its annotation names.   weights.py BERTH KUBECTL [TEST...]

Each test starts a Berth of its own. Pods are processes.
"""
import json
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from harness import Berth, check, run_tests, wait_for

URI = "internal.serving.kserve.io/storage-initializer-sourceuri"


def start(f, program, kubectl):
    folder = tempfile.mkdtemp(prefix="berth-weights-test.", dir="/tmp")
    try:
        os.makedirs(f"{folder}/models/llama")
        with open(f"{folder}/models/llama/config.json", "w", encoding="utf-8") as file:
            file.write('{"model_type": "llama"}\n')
        shutil.copy(os.environ["MODEL_SERVER"], folder)
        os.symlink("/etc", f"{folder}/models/out")
        os.chmod(folder, 0o755)
        args = ["--weights", f"{folder}/models", "--host-path", folder] if getattr(f, "allowed", True) else []
        with Berth(program, kubectl, gpus="none", args=args) as b:
            f(b, folder)
    finally:
        shutil.rmtree(folder)


def pod(name, uri, script, mounts=(), volumes=(), more=()):
    main = {"name": "main", "image": "none", "command": ["sh", "-c", script], "volumeMounts": list(mounts)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": {URI: uri}}, "spec": {
        "restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "volumes": list(volumes),
        "containers": [main, *more]}}


def phase(b, name):
    return b.kubectl("get", "pod", name, "-o", "jsonpath={.status.phase}", ok=False).stdout


def over(b, name, want="Succeeded"):
    wait_for(f"pod {name} is over", lambda: phase(b, name) in ("Succeeded", "Failed"), 60)
    check(phase(b, name) == want, f"pod {name}: {phase(b, name)}: {b.get('pod', name)['status']}")


def test_every_container_reads_them(b, folder):
    second = {"name": "second", "image": "none", "command": ["sh", "-c", "cat /mnt/models/config.json"]}
    b.apply(pod("reads", f"file://{folder}/models/llama",
                "cat /mnt/models/config.json; touch /mnt/models/x || echo may not write", more=[second]))
    over(b, "reads")
    log = b.kubectl("logs", "reads", "-c", "main")
    check("llama" in log and "may not write" in log, log)
    check("llama" in b.kubectl("logs", "reads", "-c", "second"), "the second container has none")
    check(os.listdir(f"{folder}/models/llama") == ["config.json"], "something was written")


def test_a_model_server_starts_with_them(b, folder):
    mount = {"name": "programs", "mountPath": "/opt/stub", "readOnly": True}
    b.apply(pod("serves", f"file://{folder}/models/llama",
                "exec /opt/stub/model-server --model /mnt/models --model-must-exist --port 0 --exit-after-ms 200",
                [mount], [{"name": "programs", "hostPath": {"path": folder}}]))
    over(b, "serves")
    check("listening on" in b.kubectl("logs", "serves"), b.kubectl("logs", "serves"))


def test_what_is_not_there_yet_is_waited_for(b, folder):
    b.apply(pod("waits", f"file://{folder}/models/later", "cat /mnt/models/config.json"))
    wait_for("it says what it waits for", lambda: "models/later" in json.dumps(b.get("pod", "waits")["status"]))
    check(phase(b, "waits") == "Pending", phase(b, "waits"))
    shutil.copytree(f"{folder}/models/llama", f"{folder}/models/later")
    over(b, "waits")


def test_what_is_refused(b, folder):
    for name, uri, text in (("outside", "file:///etc", "lies outside"), ("link", f"file://{folder}/models/out", "leads out"),
                            ("dots", f"file://{folder}/models/../x", "whole path"),
                            ("hub", "hf://owner/model", "downloads nothing"),
                            ("claim", "pvc://claim/path", "volume of the pod"), ("word", "llama", "must be a file://")):
        b.apply(pod(name, uri, "true"))
        over(b, name, "Failed")
        check(text in json.dumps(b.get("pod", name)["status"]), b.get("pod", name)["status"])


def test_no_folder_is_allowed_unless_said(b, folder):
    b.apply(pod("none", f"file://{folder}/models/llama", "true"))
    over(b, "none", "Failed")
    check("--weights DIR" in json.dumps(b.get("pod", "none")["status"]), b.get("pod", "none")["status"])


test_no_folder_is_allowed_unless_said.allowed = False


if __name__ == "__main__":
    sys.exit(run_tests(globals(), start))
