#!/usr/bin/env python3
"""serving: models as people serve them, with berth's verbs and kubectl.   serving.py BERTH KUBECTL [TEST...]

The model server is a few lines of Python that answer with $VERSION; pods are processes.
"""
import json
import os
import re
import subprocess
import sys
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from harness import TOP, check, run_tests, wait_for, with_default_queue

QUEUE = "kueue.x-k8s.io/queue-name"
SERVER = ("import http.server, os\n"
          "class H(http.server.BaseHTTPRequestHandler):\n"
          "    def do_GET(self):\n"
          "        self.send_response(200); self.end_headers(); self.wfile.write(os.environ['VERSION'].encode())\n"
          "http.server.ThreadingHTTPServer(('', int(os.environ['PORT'])), H).serve_forever()\n")


def runtime(name="stub", limits=None):
    return {"apiVersion": "serving.kserve.io/v1alpha1", "kind": "ServingRuntime", "metadata": {"name": name},
            "spec": {"supportedModelFormats": [{"name": name, "autoSelect": True}], "containers": [{
                "name": "kserve-container", "image": "none", "command": ["python3", "-c", SERVER],
                "resources": {"requests": {"cpu": "5m", "memory": "16Mi"}, "limits": limits or {}}}]}}


def service(name, version="1", limits=None, labels=None, form="stub", **predictor):
    model = {"modelFormat": {"name": form}, "env": [{"name": "VERSION", "value": version}]}
    if limits:
        model["resources"] = {"limits": limits}
    return {"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService",
            "metadata": {"name": name, "labels": {QUEUE: "default"} if labels is None else labels},
            "spec": {"predictor": dict(predictor, model=model, terminationGracePeriodSeconds=1)}}


def condition(b, name, kind="Ready", ns="default"):
    o = b.get("-n", ns, "isvc", name)
    return next((c for c in o.get("status", {}).get("conditions", []) if c["type"] == kind), {"status": ""})


def is_ready(b, name):
    o = b.get("isvc", name)
    return condition(b, name)["status"] == "True" and o["status"]["observedGeneration"] == o["metadata"]["generation"]


def deployment(b, name):
    done = b.kubectl("get", "deployment", name, "-o", "json", ok=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def version_of(d):
    return next(e["value"] for e in d["spec"]["template"]["spec"]["containers"][0]["env"] if e["name"] == "VERSION")


def rolled_out(b, name, version, replicas):
    d = deployment(b, name)
    s = d.get("status", {})
    return version_of(d) == version and s.get("observedGeneration") == d["metadata"]["generation"] \
        and s.get("updatedReplicas") == s.get("replicas") == s.get("readyReplicas") == replicas


def ask(b, name):
    """What the Service answers."""
    forward = subprocess.Popen([b.kubectl_program, "port-forward", f"svc/{name}", ":80"], env=b.env,
                               stdout=subprocess.PIPE, text=True)
    try:
        port = re.search(r":(\d+) ->", forward.stdout.readline()).group(1)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30) as page:
            return page.read().decode()
    finally:
        forward.terminate()
        forward.wait(30)


def test_a_model_is_served_and_leaves_nothing(b):
    told = b.berth("deploy", "hello", "--command", "exec python3 -m http.server $PORT", "--slice", "1g.18gb")
    check("inferenceservice/hello created" in told, told)
    wait_for("it serves", lambda: is_ready(b, "hello"))
    check("Directory listing" in ask(b, "hello-predictor"), "the Service leads to it")
    row = b.kubectl("get", "isvc", "hello").splitlines()[1].split()
    check(row[1:4] == ["http://hello-predictor.default.svc.cluster.local", "True", "100"], f"kubectl shows {row}")
    line = b.berth("services").splitlines()[1].split()
    check(line[:3] == ["hello", "ready", "1/1"], f"berth services shows {line}")
    status = b.get("isvc", "hello")["status"]
    check(status["modelStatus"]["states"]["activeModelState"] == "Loaded", f"the status is {status}")
    check(status["clusterServingRuntimeName"] == "command", f"the status is {status}")
    w = b.get("workloads")["items"]
    check(len(w) == 1 and w[0]["spec"]["queueName"] == "default", "its pod went through the queue")
    check("configured" in b.berth("deploy", "hello", "--command", "exec python3 -m http.server $PORT", "--slice",
                                  "1g.18gb", "--max", "2"), "the same again changes it")

    b.kubectl("delete", "isvc", "hello")
    kinds = ("deployments", "replicasets", "pods", "workloads")
    wait_for("nothing is left", lambda: not any(b.get(kind)["items"] for kind in kinds) and
             [s["metadata"]["name"] for s in b.get("services")["items"]] == ["kubernetes"])


def test_an_update_never_drops_below(b):
    b.apply(runtime(), service("m", minReplicas=2))
    wait_for("two replicas", lambda: rolled_out(b, "m-predictor", "1", 2))
    b.apply(service("m", "2", minReplicas=2))
    least = [2]

    def done():
        least.append(deployment(b, "m-predictor")["status"].get("readyReplicas", 0))
        return rolled_out(b, "m-predictor", "2", 2)
    wait_for("the second version", done, 60)
    check(min(least) == 2, f"there were {min(least)} that served")
    check(ask(b, "m-predictor") == "2", "and it answers")
    b.apply(service("m", "2", minReplicas=3))
    wait_for("three replicas", lambda: rolled_out(b, "m-predictor", "2", 3))


def test_a_canary(b):
    b.apply(runtime(), service("m", minReplicas=2))
    wait_for("the first version", lambda: rolled_out(b, "m-predictor", "1", 2))
    b.apply(service("m", "2", minReplicas=2, canaryTrafficPercent=20))
    wait_for("the canary", lambda: deployment(b, "m-predictor-canary")
             and rolled_out(b, "m-predictor-canary", "2", 1))
    check(ask(b, "m-predictor") == "1" and ask(b, "m-predictor-canary") == "2", "each revision has its Service")
    traffic = b.get("isvc", "m")["status"]["components"]["predictor"]["traffic"]
    check([(t["revisionName"], t["percent"]) for t in traffic] ==
          [("m-predictor-canary", 20), ("m-predictor", 80)], f"the traffic is {traffic}")
    row = b.kubectl("get", "isvc", "m").splitlines()[1].split()
    check(row[3:5] == ["80", "20"], f"kubectl shows {row}")
    b.apply(service("m", "2", minReplicas=2, canaryTrafficPercent=0))  # back
    wait_for("no replicas of it", lambda: deployment(b, "m-predictor-canary")["spec"]["replicas"] == 0)
    check(version_of(deployment(b, "m-predictor")) == "1", "the first version serves on")
    b.apply(service("m", "2", minReplicas=2))
    wait_for("it is rolled out", lambda: rolled_out(b, "m-predictor", "2", 2), 60)
    wait_for("the canary is gone", lambda: deployment(b, "m-predictor-canary") is None)
    wait_for("it serves", lambda: is_ready(b, "m"))


def test_stopped(b):
    b.apply(runtime(), service("m"))
    wait_for("it serves", lambda: is_ready(b, "m"))
    b.kubectl("annotate", "isvc", "m", "serving.kserve.io/stop=true")
    wait_for("it is stopped", lambda: condition(b, "m", "Stopped")["status"] == "True")
    wait_for("nothing runs", lambda: not b.get("pods")["items"] and deployment(b, "m-predictor") is None)
    check(b.berth("services").splitlines()[1].split()[1] == "stopped", "berth services says so")
    b.kubectl("annotate", "--overwrite", "isvc", "m", "serving.kserve.io/stop=false")
    wait_for("it serves again", lambda: is_ready(b, "m"))


def test_from_zero(b):
    b.apply(runtime(), service("m", minReplicas=0, maxReplicas=2))
    wait_for("at zero", lambda: condition(b, "m", "PredictorReady").get("reason") == "ScaledToZero")
    check(not b.get("pods")["items"], "nothing runs")
    check(b.berth("services").splitlines()[1].split()[1:3] == ["at", "zero"], "berth services says so")
    b.kubectl("scale", "deployment", "m-predictor", "--replicas=1")
    wait_for("it serves", lambda: rolled_out(b, "m-predictor", "1", 1) and is_ready(b, "m"))
    b.kubectl("scale", "deployment", "m-predictor", "--replicas=5")
    wait_for("at most two", lambda: rolled_out(b, "m-predictor", "1", 2))


def test_waiting_for_quota(b):
    whole = {"nvidia.com/mig-7g.141gb": "1"}
    b.apply(runtime(), service("first", limits=whole))
    wait_for("the first serves", lambda: is_ready(b, "first"))
    b.apply(service("second", limits=whole))
    wait_for("the second says that it is queued",
             lambda: condition(b, "second", "PredictorReady").get("reason") == "Queued")
    text = wait_for("its place in the line", lambda: re.search(
        r"^LocalQueue default: position 1, starts .*mig-7g.141gb", condition(b, "second", "PredictorReady")["message"]))
    check(text, "it says so")
    status = b.get("isvc", "second")["status"]["modelStatus"]
    check(status["states"]["targetModelState"] == "Pending", f"the status is {status}")
    line = next(x for x in b.berth("services").splitlines() if x.startswith("second"))
    check("queued" in line and "position 1, starts" in line, f"berth services shows {line}")
    b.kubectl("delete", "isvc", "first")
    wait_for("the second serves", lambda: is_ready(b, "second"), 60)


def test_no_gpu_without_a_queue(b):
    gpu = {"nvidia.com/mig-1g.18gb": "1"}
    b.kubectl("create", "namespace", "free")
    on = ("-n", "free", "apply", "-f", "-")
    b.kubectl(*on, stdin=json.dumps(runtime("gpu", gpu)))
    b.kubectl(*on, stdin=json.dumps(service("m", form="gpu", labels={})))
    wait_for("the Deployment is refused",
             lambda: condition(b, "m", "PredictorReady", "free").get("reason") == "Refused")
    text = condition(b, "m", "PredictorReady", "free")["message"]
    check("GPUs are given through a queue" in text, f"it says {text}")
    check(not b.get("-n", "free", "pods")["items"], "nothing runs")
    b.kubectl("-n", "free", "delete", "servingruntime", "gpu")
    b.kubectl(*on, stdin=json.dumps(runtime("gpu")))
    wait_for("without the GPU it serves", lambda: condition(b, "m", ns="free")["status"] == "True")
    b.kubectl(*on, stdin=json.dumps(runtime("gpu", gpu)))  # and a change of the runtime is judged as well
    wait_for("the change is refused",
             lambda: condition(b, "m", "PredictorReady", "free").get("reason") == "Refused")


def test_what_fails_is_told(b):
    b.apply(service("m", form="nothing"))
    wait_for("no runtime", lambda: condition(b, "m", "PredictorReady").get("reason") == "NoSupportingRuntime")
    bad = service("bad", form="command")
    bad["spec"]["predictor"]["model"]["command"] = ["sh", "-c", "exit 3"]
    b.apply(bad)
    wait_for("the failure", lambda: b.get("isvc", "bad").get("status", {}).get("modelStatus", {})
             .get("lastFailureInfo", {}).get("exitCode") == 3)
    check(b.get("isvc", "bad")["status"]["modelStatus"]["transitionStatus"] == "BlockedByFailedLoad", "the transition")
    line = next(x for x in b.berth("services").splitlines() if x.startswith("bad"))
    check("failed" in line and "exit code 3" in line, f"berth services shows {line}")
    far = service("far", form="command")
    far["spec"]["predictor"]["model"].update(storageUri="hf://org/model", command=["sh", "-c", "true"])
    b.apply(far)
    wait_for("what its pod waits for", lambda: condition(b, "far", "PredictorReady").get("reason") == "CreateContainerError")
    line = next(x for x in b.berth("services").splitlines() if x.startswith("far"))
    check("starting" in line and "downloads nothing" in line, f"berth services shows {line}")
    done = b.kubectl("apply", "-f", "-", stdin=json.dumps(service("t", workerSpec={})), ok=False)
    check("spec.predictor.workerSpec: Forbidden" in done.stderr, f"it says {done.stderr}")


def test_an_llm_service(b):
    b.apply({
        "apiVersion": "serving.kserve.io/v1alpha2", "kind": "LLMInferenceService",
        "metadata": {"name": "l", "labels": {QUEUE: "default"}},
        "spec": {"model": {"uri": "pvc://none/x"}, "replicas": 0, "router": {}}})
    status = wait_for("its status", lambda: b.get("llmisvc", "l").get("status"))
    d = wait_for("its Deployment", lambda: deployment(b, "l-kserve"))
    check(d["metadata"]["labels"][QUEUE] == "default" and d["spec"]["replicas"] == 0, "the Deployment")
    honored = [c for c in status["conditions"] if c["type"] == "FieldsHonored"]
    check(honored and "spec.router" in honored[0]["message"], f"the conditions are {status['conditions']}")


def models_of(*path):
    """What a file of a catalog names: models and where they are."""
    with open(os.path.join(TOP, *path), encoding="utf-8") as f:
        text = f.read()
    return sorted(re.findall(r"(?m)^ *- name: (\S+)$", text)), sorted(re.findall(r"hf://[\w./-]+", text))


def test_examples(b):
    folder = os.path.join(TOP, "examples", "serve")
    built_in, example = models_of("deploy", "serving", "catalog.yaml"), models_of("examples", "serve", "catalog.yaml")
    check(built_in[0] and built_in == example, f"the catalogs name {built_in} and {example}")
    for name in sorted(os.listdir(folder)):
        b.kubectl("apply", "--dry-run=server", "-f", os.path.join(folder, name))


def test_restart(b):
    b.apply(runtime(), service("m"))
    wait_for("it serves", lambda: is_ready(b, "m"))
    before = b.get("isvc", "m")["metadata"]["resourceVersion"]
    pod = b.get("pods")["items"][0]["metadata"]["name"]
    b.stop()
    b.up()
    wait_for("it serves again", lambda: is_ready(b, "m"))
    check([p["metadata"]["name"] for p in b.get("pods")["items"]] == [pod], "the same pod serves")
    check(version_of(deployment(b, "m-predictor")) == "1" and before, "and nothing was rolled out")


if __name__ == "__main__":
    sys.exit(run_tests(globals(), lambda f, program, kubectl: with_default_queue(f, program, kubectl, gpus="sim:1xh200",
                                                                                 args=["--runtime", "process"])))
