#!/usr/bin/env python3
"""e2e: what the README promises, through the real program and the real kubectl.   e2e.py BERTH KUBECTL [NAME...]

Each test is a function test_*; it gets a running Berth. Prints a line each, closes with "N passed, N failed".
"""
import os
import re
import signal
import subprocess
import sys
import time

from harness import TOP, Berth, Fail, alive, check, job, run_tests, wait_for

UUID = re.compile(r"MIG-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def test_first_job(b):
    """examples/first-job: applied, completed, logs show a MIG UUID, two at once never the same."""
    b.kubectl("apply", "-f", os.path.join(TOP, "examples/first-job/"))
    wait_for("eval suspended while train runs",
             lambda: b.get("job", "train")["status"].get("ready") == 1
             and b.get("job", "eval")["spec"]["suspend"], 20)
    queue = b.berth("queue")
    check("eval" in queue and "waiting" in queue, f"berth queue does not show eval waiting:\n{queue}")
    b.kubectl("wait", "--for=condition=complete", "job/train", "job/tune", "job/eval", "--timeout=60s")
    seen = {}
    for name in ("train", "tune", "eval"):
        log = b.kubectl("logs", f"job/{name}")
        found = UUID.findall(log)
        check(found, f"the log of {name} has no MIG UUID: {log!r}")
        seen[name] = found[0]
    check(seen["train"] != seen["tune"], f"two jobs at once saw one slice: {seen}")
    wide = b.kubectl("get", "clusterqueues,localqueues,workloads", "-o", "wide")
    check("team-a" in wide and "job-train-" in wide, wide)
    wl = [w for w in b.get("workloads")["items"] if w["metadata"]["name"].startswith("job-eval-")][0]
    conditions = {c["type"]: c for c in wl["status"]["conditions"]}
    check(conditions["Finished"]["status"] == "True" and conditions["Finished"]["reason"] == "Succeeded",
          f"the Workload of eval: {conditions}")
    check(conditions["Admitted"]["message"] == "The workload is admitted", str(conditions["Admitted"]))
    described = b.kubectl("describe", "workload", wl["metadata"]["name"])
    check("Admitted by ClusterQueue team-a" in described, described)
    events = b.kubectl("events", "--for", "job/eval")
    check("CreatedWorkload" in events and "Started" in events, events)


def test_kubectl_verbs(b):
    """explain, get -w, delete --wait, describe and errors as against a real API server."""
    text = b.kubectl("explain", "clusterqueue.spec.resourceGroups")
    check("coveredResources" in text and "flavors" in text, text)
    text = b.kubectl("explain", "job.spec.template.spec.containers.resources")
    check("limits" in text and "requests" in text, text)
    watch = subprocess.Popen([b.kubectl_program, "get", "configmaps", "-w", "--no-headers"], env=b.env, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        time.sleep(0.7)
        b.kubectl("create", "configmap", "seen", "--from-literal=a=b")
        b.kubectl("delete", "configmap", "seen", "--wait")
        time.sleep(0.5)
    finally:
        watch.terminate()
    lines = [x for x in watch.communicate()[0].splitlines() if x.startswith("seen ")]
    check(len(lines) >= 2, f"get -w saw {lines}")
    b.kubectl("create", "namespace", "gone")
    b.kubectl("-n", "gone", "create", "configmap", "x")
    b.kubectl("delete", "namespace", "gone", "--wait", "--timeout=20s")
    missing = b.kubectl("get", "pod", "nope", ok=False)
    check('Error from server (NotFound): pods "nope" not found' in missing.stderr, missing.stderr)
    bad = b.kubectl("apply", "-f", "-", stdin="""
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: bad, namespace: default}
spec: {clusterQueue: x, bogus: 1}
""", ok=False)
    check('unknown field "spec.bogus"' in bad.stderr, bad.stderr)
    old = b.kubectl("apply", "-f", "-", stdin="""
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: old}
spec: {cohort: c, namespaceSelector: {}}
""", ok=True)
    check("created" in old, old)
    check(b.get("clusterqueue", "old")["spec"]["cohortName"] == "c", "v1beta1 cohort was not converted")
    check("yes" in b.kubectl("auth", "can-i", "create", "jobs"), "auth can-i")
    check("berth" in b.kubectl("auth", "whoami"), "auth whoami")


def test_concurrent_slices(b):
    """Many jobs at once on one machine: nobody's slice is anybody else's, and all finish."""
    script = 'echo "$CUDA_VISIBLE_DEVICES start $(date +%s%N)"; sleep 1; echo "$CUDA_VISIBLE_DEVICES end $(date +%s%N)"'
    profiles = ["1g.18gb", "2g.35gb", "3g.71gb", "1g.18gb"]
    b.apply(*[job(f"many-{i}", script, limits={f"nvidia.com/mig-{profiles[i % 4]}": 1}) for i in range(24)])
    for i in range(24):
        b.kubectl("wait", "--for=condition=complete", f"job/many-{i}", "--timeout=60s")
    spans = {}
    for i in range(24):
        log = b.kubectl("logs", f"job/many-{i}").split()
        check(len(log) == 6 and log[0] == log[3] and UUID.fullmatch(log[0]), str(log))
        for start, end in spans.get(log[0], []):
            check(int(log[2]) >= end or int(log[5]) <= start, f"slice {log[0]} was held twice")
        spans.setdefault(log[0], []).append((int(log[2]), int(log[5])))
    wait_for("idle slices are removed", lambda: "MIG-" not in b.berth("top", "-o", "json"), 30)


def test_quota_without_a_place_waits(b):
    """Quota alone would admit what no GPU can hold: it waits and says why, and runs when there is room."""
    b.apply(job("whole", "sleep 4", limits={"nvidia.com/gpu": 8}))
    b.kubectl("wait", "--for=condition=Admitted", "workload", "--all", "--timeout=20s")
    b.apply(job("slice", "echo ran on $CUDA_VISIBLE_DEVICES", limits={"nvidia.com/mig-1g.18gb": 1}))
    text = wait_for("a reason in plain words", lambda: next(
        (c["message"] for w in b.get("workloads")["items"] if w["metadata"]["name"].startswith("job-slice-")
         for c in w.get("status", {}).get("conditions", []) if c["type"] == "QuotaReserved" and c["status"] == "False"),
        None), 10)
    check("1g.18gb" in text and "GPU" in text, f"not plain: {text}")
    b.kubectl("wait", "--for=condition=complete", "job/slice", "--timeout=60s")


def test_job_controls(b):
    """Indexed jobs, back-off, deadlines, cancel, and a failing job's exit."""
    b.apply(job("indexed", "echo index $JOB_COMPLETION_INDEX; test $JOB_COMPLETION_INDEX != 7", completions=3, parallelism=3,
                completionMode="Indexed"),
            job("fails", "exit 3", backoffLimit=0),
            job("late", "sleep 60", activeDeadlineSeconds=2),
            job("no-queue", "echo free", queue=None))
    b.kubectl("wait", "--for=condition=complete", "job/indexed", "job/no-queue", "--timeout=30s")
    check(b.get("job", "indexed")["status"]["completedIndexes"] == "0-2", "completedIndexes")
    b.kubectl("wait", "--for=condition=failed", "job/fails", "job/late", "--timeout=40s")
    reasons = {n: [c["reason"] for c in b.get("job", n)["status"]["conditions"] if c["type"] == "Failed"][0]
               for n in ("fails", "late")}
    check(reasons == {"fails": "BackoffLimitExceeded", "late": "DeadlineExceeded"}, str(reasons))
    done = b.berth("submit", "--name", "six", "--wait", "--", "sh", "-c", "echo hi; exit 4", ok=False)
    check(done.returncode == 6 and "hi" in done.stdout, f"submit --wait of a failing job: {done}")
    b.berth("submit", "--name", "long", "--", "sleep", "300")
    pid = wait_for("long runs", lambda: b.get("job", "long")["status"].get("ready"), 20) and pids_of("sleep 300")
    check(pid, "no process of job long")
    b.berth("cancel", "long")
    wait_for("the process of a cancelled job ends", lambda: not pids_of("sleep 300"), 40)


def pids_of(command):
    """Processes with exactly this command line."""
    out = []
    for p in os.listdir("/proc"):
        if p.isdigit():
            try:
                with open(f"/proc/{p}/cmdline", "rb") as f:
                    line = f.read().replace(b"\0", b" ").decode(errors="replace").strip()
            except OSError:
                continue
            if line == command and alive(p):
                out.append(int(p))
    return out


def test_pods_survive_restart(b):
    """A pod of days survives a restart of berth up, and kill -9 of it; its log and result are found again."""
    b.apply(job("survivor", "echo before; sleep 7; echo after", limits={"nvidia.com/mig-1g.18gb": 1}))
    wait_for("it runs", lambda: b.get("job", "survivor")["status"].get("ready"), 20)
    uid = b.get("pod", "-l", "batch.kubernetes.io/job-name=survivor")["items"][0]["metadata"]["uid"]
    b.stop()
    b.up()
    b.stop(signal.SIGKILL)
    b.up()
    b.kubectl("wait", "--for=condition=complete", "job/survivor", "--timeout=30s")
    pods = b.get("pod", "-l", "batch.kubernetes.io/job-name=survivor")["items"]
    check([p["metadata"]["uid"] for p in pods] == [uid], "the pod was started again")
    check(b.kubectl("logs", "job/survivor").split() == ["before", "after"], "its log")


def test_backup_and_restore(b):
    """A backup of a running Berth, restored into an empty folder, has the same objects; a full one is refused."""
    b.kubectl("create", "configmap", "precious", "--from-literal=k=v")
    path = os.path.join(b.root, "backup.db")
    b.berth("backup", "--data", b.data, path)
    fresh = os.path.join(b.root, "restored")
    check(b.berth("restore", "--data", b.data, path, ok=False).returncode != 0, "restore over a full folder")
    b.berth("restore", "--data", fresh, path)
    b.kubectl("delete", "configmap", "precious")
    b.stop()
    old, b.data = b.data, fresh
    b.env["KUBECONFIG"] = os.path.join(fresh, "kubeconfig")
    b.up()
    check(b.get("configmap", "precious")["data"] == {"k": "v"}, "the restored object")
    b.stop()
    b.data = old
    b.env["KUBECONFIG"] = os.path.join(old, "kubeconfig")
    b.up()


def test_second_up_is_refused(b):
    """The data folder is locked, and the error names the holder."""
    second = b.run([b.program, "up", "--data", b.data, "--listen", "127.0.0.1:0", "--gpus", "none"], ok=False)
    check(second.returncode != 0 and str(b.process.pid) in second.stderr, second.stderr)


def test_strangers(b):
    """No credential: 401 or 403, and files that only the owner reads."""
    import ssl
    import urllib.error
    import urllib.request
    ctx = ssl.create_default_context()
    ctx.check_hostname = False
    ctx.verify_mode = ssl.CERT_NONE
    for path, token in (("/api/v1/secrets", None), ("/api/v1/secrets", "wrong")):
        req = urllib.request.Request(f"https://127.0.0.1:{b.port}{path}")
        if token:
            req.add_header("Authorization", f"Bearer {token}")
        try:
            urllib.request.urlopen(req, context=ctx)
            raise Fail("a stranger read secrets")
        except urllib.error.HTTPError as e:
            check(e.code == (401 if token else 403), f"{token}: {e.code}")
    for folder, _, names in os.walk(b.data):
        if "pods" in folder.split(os.sep):
            continue
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith((".key", "kubeconfig", ".db")):
                check(os.stat(path).st_mode & 0o077 == 0, f"{path} is open to others")


def test_roles(b):
    """A ServiceAccount with the role view reads and does not write, and sees no Secret."""
    b.kubectl("create", "serviceaccount", "reader")
    b.kubectl("create", "rolebinding", "reader", "--clusterrole=view", "--serviceaccount=default:reader")
    token = b.kubectl("create", "token", "reader").strip()
    as_reader = ("--token", token, "--kubeconfig", tokenless(b))
    check("kube-root-ca.crt" in b.kubectl(*as_reader, "get", "configmaps"), "view reads configmaps")
    for args in (("get", "secrets"), ("create", "configmap", "no"), ("get", "nodes")):
        done = b.kubectl(*as_reader, *args, ok=False)
        check(done.returncode != 0 and "Forbidden" in done.stderr + done.stdout or "forbidden" in done.stderr,
              f"{args}: {done.stderr}")


def test_tokens(b):
    """berth token: counts for what roles grant, is kept as a hash alone, and ends when its Secret goes."""
    b.kubectl("create", "rolebinding", "crew", "--clusterrole=edit", "--group=crew")
    done = b.run([b.program, "token", "alice", "--group", "crew", "--time", "1h"])
    token, secret = done.stdout.strip(), done.stderr.split()[-1]
    as_alice = ("--token", token, "--kubeconfig", tokenless(b))
    b.kubectl(*as_alice, "create", "configmap", "hers")
    check("alice" in b.kubectl(*as_alice, "auth", "whoami"), "whoami")
    check(b.kubectl(*as_alice, "-n", "kube-system", "get", "secrets", ok=False).returncode != 0, "secrets of others")
    stored = b.kubectl("-n", "kube-system", "get", "secret", secret, "-o", "yaml")
    check(token not in stored and token[6:] not in stored, "the token itself is stored")
    with open(os.path.join(b.data, "audit.log"), encoding="utf-8") as f:
        check(token[6:] not in f.read(), "the token is in the audit log")
    b.kubectl("-n", "kube-system", "delete", "secret", secret)
    gone = b.kubectl(*as_alice, "get", "configmaps", ok=False)
    check("Unauthorized" in gone.stderr or "logged in" in gone.stderr, gone.stderr)
    bad = b.run([b.program, "token", "bob", "--time", "3s"], ok=False)
    check(bad.returncode == 2 and "--time" in bad.stderr, bad.stderr)


def tokenless(b):
    """The kubeconfig without its client certificate."""
    path = os.path.join(b.root, "tokenless")
    with open(b.env["KUBECONFIG"], encoding="utf-8") as f:
        lines = [x for x in f if "client-certificate-data" not in x and "client-key-data" not in x]
    lines = ["  user: {}\n" if x.strip() == "user:" else x for x in lines]
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(lines)
    os.chmod(path, 0o600)
    return path


def test_down_leaves_nothing(b):
    """berth down ends every pod and process; nothing is left as zombie or stray."""
    b.apply(job("stray", "(setsid sleep 301 &) ; sleep 301", queue=None))
    wait_for("the stray runs", lambda: len(pids_of("sleep 301")) == 2, 20)
    b.berth("down", "--data", b.data)
    b.process.wait(timeout=20)
    check(not pids_of("sleep 301"), f"strays: {pids_of('sleep 301')}")
    left = subprocess.run(["pgrep", "-af", b.data], capture_output=True, text=True, check=False).stdout
    check(not left, f"processes left:\n{left}")


def start(f, program, kubectl):
    with Berth(program, kubectl) as b:
        f(b)


sys.exit(run_tests(globals(), start))
