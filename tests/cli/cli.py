#!/usr/bin/env python3
"""cli: berth's command line against a real `berth up`.   cli.py BERTH KUBECTL [NAME...]"""
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from harness import check, job, run_tests, wait_for, with_default_queue  # noqa: E402

VERBS = ["submit", "queue", "logs", "cancel", "book", "bookings", "availability", "top", "models", "deploy", "services", "chat", "key",
          "up", "down", "node", "gateway", "backup", "restore", "simulate", "version", "completion", "user", "project", "whoami"]


def test_overview_and_completion(b):
    """Every verb is in the overview; each has a help; completion offers every option that the help has."""
    text = b.berth("--help")
    for verb in VERBS:
        check(f"\n  {verb} " in text, f"{verb} is not in the overview")
        check(b.berth("help", verb) == b.berth(verb, "--help"), f"help of {verb}")
        offered = complete(b, f"berth {verb} --")
        options = {line.strip().split("--")[1].split()[0] for line in b.berth("help", verb).split("\n")
                   if line.strip().startswith("--") or line.startswith("  -") and ", --" in line}
        check(options and all(f"--{o}" in offered for o in options), f"{verb}: {options} and {offered}")
    check(set(VERBS + ["help"]) <= set(complete(b, "berth ")), "verbs")
    check("8xh200" in complete(b, "berth up --gpus sim:"), "after a colon")
    check(complete(b, "berth queue --output=y") == ["yaml"], "after an equals sign")
    check(complete(b, "berth book ex") == ["extend"], "a word of a verb")
    check(complete(b, "berth book --class pro") == ["production"], "a choice")
    check(complete(b, "berth submit -- ls --") == [], "the command's own words")


def complete(b, line):
    script = ('source <("$1" completion bash); COMP_LINE=$2; COMP_POINT=${#2}; _berth 2>/dev/null; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    out = b.run(["bash", "-c", script, "bash", b.program, line]).stdout
    return sorted(w for w in out.split("\n") if w)


def refused(b, code, text, *args):
    done = b.berth(*args, ok=False)
    check(done.returncode == code and text in done.stderr, f"{args}: {done.returncode} {done.stderr}")


def test_refused(b):
    """What cannot work is told, with what there is, and with the documented exit status."""
    refused(b, 3, "there is no project \"nope\"", "submit", "-n", "nope", "--", "true")
    refused(b, 3, "choose one of: default", "submit", "-q", "nope", "--", "true")
    refused(b, 3, "there are 1g.18gb", "submit", "--slice", "1g.10gb", "--", "true")
    refused(b, 2, "--time: expected", "submit", "--time", "1w", "--", "true")
    b.berth("submit", "--name", "a", "--", "sleep", "60")
    refused(b, 1, "berth cancel a", "submit", "--name", "a", "--", "true")
    refused(b, 3, "there is no job \"nope\"", "cancel", "nope", "a")
    refused(b, 3, "there is no job or pod", "logs", "nope")
    for verb in (["queue"], ["queue", "-o", "json"], ["queue", "q"], ["queue", "why", "j"], ["logs", "j"], ["cancel", "j"],
                 ["bookings"], ["bookings", "-o", "json"]):
        refused(b, 3, "there is no project \"nope\"", *verb, "-n", "nope")
    refused(b, 3, "has no queue \"defalt\"; did you mean default?", "queue", "defalt")
    refused(b, 3, "no project has a queue \"defalt\", and there is no ClusterQueue of that name; did you mean default?",
            "queue", "-A", "defalt")
    refused(b, 3, "nothing like that to book", "availability", "--flavor", "nope", "-o", "json")
    for name, content, text in (("missing", None, "No such file"), ("empty", b"", "there is no object in it"),
                                ("comment", b"# nothing\n---\n", "there is no object in it"),
                                ("list", b"kind: List\nitems: []\n", "there is no object in it"),
                                ("text", b"hello\n", "document 1: expected an object with a kind"),
                                ("item", b"kind: List\nitems: [3]\n", "document 1: expected an object with a kind"),
                                ("bytes", bytes(range(256)), "line 1"), ("open", b"a: [1\nb: 2\n", "line 2"),
                                ("large", b"# x\n" * 1000000, "is larger than 3145728 bytes")):
        path = os.path.join(b.root, name)
        if content is not None:
            with open(path, "wb") as f:
                f.write(content)
        done = b.berth("queue", "preview", "-f", path, ok=False)
        check(done.returncode in (1, 3) and not done.stdout and text in done.stderr, f"{name}: {done}")
        check(done.stderr.count(path) <= 1, f"{name}: {done.stderr}")
    with open(path, "w", encoding="utf-8") as f:
        f.write("kind: ResourceFlavor\nmetadata: {name: x, annotations: {a: '" + 2000000 * "x" + "'}}\n")
    refused(b, 1, "all of it is larger than 3145728 bytes", "queue", "preview", "-f", path, "-f", path)
    refused(b, 2, "there is no verb", "nonsense")
    refused(b, 2, "--gpus: expected", "up", "--gpus", "sim:9xh200")
    check(b.get("jobs")["items"] == [] or wait_for("a is gone", lambda: b.get("jobs")["items"] == [], 20), "cancelled")


def test_fit(b):
    """fit: the slices of the fleet, by what nodes say of them; -o json is JSON; a model that is none is refused."""
    path = os.path.join(b.root, "config.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
                   "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
                   "max_position_embeddings": 131072, "tie_word_embeddings": False}, f)
    told = json.loads(b.berth("fit", path, "--context-length", "8192", "-o", "json"))
    rows = {x.get("slice", "whole"): x["verdict"] for x in told["items"]}
    check(not told["catalog"] and told["model"]["parameters"] == 8030261248, str(told["model"]))
    check((rows["1g.18gb"], rows["2g.35gb"], rows["3g.71gb"]) == ("no", "fits", "fits"), str(rows))
    check("--quantization fp8" in b.berth("fit", path, "--context-length", "8192", "--slice", "1g.18gb"), "what helps")
    refused(b, 3, "no such file or folder", "fit", os.path.join(b.root, "none"))
    with open(path, "w", encoding="utf-8") as f:
        f.write("{}")
    refused(b, 1, "num_hidden_layers: expected how many layers it has", "fit", path)


def test_wait(b):
    """submit --wait: the log alone on standard output; the end of a job that failed is told; Ctrl-C leaves the job."""
    done = b.berth("submit", "--wait", "--gpus", "0", "--", "sh", "-c", 'printf "%s|" "$0" "$1"', "a b", "$HOME  'q'",
                   ok=False)
    check((done.returncode, done.stdout.strip()) == (0, "a b|$HOME  'q'|"), str(done))
    done = b.berth("submit", "--wait", "--", "sh", "-c", "exit 3", ok=False)
    check(done.returncode == 6 and "exit status 3" in done.stderr, str(done))
    p = subprocess.Popen([b.program, "submit", "--name", "goes-on", "--wait", "--", "sh", "-c", "echo on; sleep 60"],
                         env=b.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    p.stdout.readline()
    p.send_signal(signal.SIGINT)
    _, said = p.communicate(timeout=20)
    check(p.returncode == 130 and "job/goes-on goes on" in said, f"{p.returncode} {said}")
    check(b.get("job", "goes-on")["status"].get("active") == 1, "it goes on")
    b.berth("cancel", "goes-on")


def seen(b, *args):
    return json.loads(b.berth(*args, "-o", "json"))


def test_projects(b):
    """Projects and their members: made, changed, shown and deleted; what is refused leaves nothing behind."""
    b.berth("project", "create", "vision", "--quota", "nvidia.com/gpu=1", "--quota", "cpu=2", "--member", "ana:admin",
            "--member", "ben", "--group", "interns:view")
    there = seen(b, "project", "show", "vision")
    check(there["queues"] == [{"name": "default", "clusterQueue": "vision"}], str(there))
    who = {(m["name"], m["kind"], m["role"]) for m in there["members"]}
    check(who == {("ana", "User", "admin"), ("ben", "User", "edit"), ("interns", "Group", "view")}, str(who))
    spec = b.get("clusterqueue", "vision")["spec"]
    limits = {r["name"]: (r["nominalQuota"], r.get("borrowingLimit")) for g in spec["resourceGroups"]
              for f in g["flavors"] for r in f["resources"]}
    check((limits["nvidia.com/gpu"], limits["cpu"]) == (("0", "1"), ("0", "2")), str(limits))
    check(limits["memory"] == ("0", None) and spec["cohortName"] == "pool", str(limits))
    check(spec["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "vision"}, str(spec))
    b.berth("submit", "-n", "vision", "--wait", "--gpus", "1", "--", "true")
    b.berth("project", "add", "vision", "--member", "ben:view")
    b.berth("project", "remove", "vision", "--group", "interns")
    who = {(m["name"], m["role"]) for m in seen(b, "project", "show", "vision")["members"]}
    check(who == {("ana", "admin"), ("ben", "view")}, str(who))
    listed = {p["name"]: p for p in seen(b, "project", "list")["items"]}
    check({"default", "vision"} <= set(listed) and "kube-system" not in listed, str(listed))
    check("vision" in b.berth("project", "list") and "ana" in b.berth("project", "show", "vision"), "tables")
    refused(b, 2, "say --yes", "project", "delete", "vision")
    refused(b, 2, "does not take --quota", "project", "list", "--quota", "cpu=1")
    refused(b, 2, "view, edit or admin behind the last colon, not \"boss\"", "project", "create", "x", "--member", "a:boss")
    refused(b, 2, "expected RESOURCE=AMOUNT", "project", "create", "x", "--quota", "cpu=-1")
    refused(b, 3, "gives out no \"nvidia.com/gpus\"; did you mean nvidia.com/gpu?", "project", "create", "x", "--quota",
            "nvidia.com/gpus=1")
    refused(b, 3, "there is no ClusterQueue \"nope\"", "project", "create", "x", "--queue", "nope")
    b.berth("project", "delete", "vision", "--yes")
    wait_for("vision is gone", lambda: b.kubectl("get", "ns", "vision", ok=False).returncode != 0)
    wait_for("its queue is gone", lambda: b.kubectl("get", "clusterqueue", "vision", ok=False).returncode != 0)
    refused(b, 3, "there is no project \"vision\"", "project", "show", "vision")


def test_users(b):
    """People: a token is shown once and counts; whoami; judged as the caller; disabled and removed."""
    b.berth("project", "create", "speech", "--member", "root:admin")
    made = seen(b, "user", "add", "eva", "--in", "speech:view", "--group", "leads", "--time", "2h")
    check(made["user"] == "eva" and made["token"].startswith("berth_"), str(made))
    listed = [t for t in seen(b, "user", "list")["items"] if t["user"] == "eva"]
    check(len(listed) == 1 and listed[0]["groups"] == ["leads"] and made["token"] not in str(listed), str(listed))
    eva = as_user(b, made["token"])
    said = seen(b, "whoami", "--kubeconfig", eva)
    check(said["username"] == "eva" and "leads" in said["groups"], str(said))
    check(b.berth("whoami", "-o", "name", "--kubeconfig", eva).strip() == "eva", "by name")
    check("eva" in b.berth("whoami", "--kubeconfig", eva), "as a table")
    refused(b, 4, "cannot", "user", "list", "--kubeconfig", eva)
    refused(b, 4, "cannot", "user", "add", "joe", "--kubeconfig", eva)
    refused(b, 4, "cannot", "project", "create", "mine", "--kubeconfig", eva)
    refused(b, 4, "cannot", "project", "add", "speech", "--member", "eva:admin", "--kubeconfig", eva)
    check("joe" not in str(seen(b, "user", "list")), "joe has a token")
    b.kubectl("create", "clusterrole", "namespaces", "--verb=create,delete,get", "--resource=namespaces")
    b.kubectl("create", "clusterrolebinding", "namespaces", "--clusterrole=namespaces", "--user=eva")
    refused(b, 4, "cannot create resource \"localqueues\"", "project", "create", "half", "--kubeconfig", eva)
    wait_for("what was half made is gone", lambda: b.kubectl("get", "ns", "half", ok=False).returncode != 0)
    second = b.berth("user", "token", "eva").strip()
    check("eva" in b.berth("whoami", "--kubeconfig", as_user(b, second)), "a second token")
    check("2 tokens revoked" in b.berth("user", "disable", "eva"), "disable")
    refused(b, 4, "", "whoami", "--kubeconfig", eva)
    check("eva" in b.berth("project", "show", "speech"), "still a member")
    check("out of 1 project\n" in b.berth("user", "remove", "eva"), "remove")
    check("eva" not in b.berth("project", "show", "speech"), "no member any more")
    refused(b, 3, "has no token and is in no project", "user", "remove", "eva")
    refused(b, 2, "does not begin with system:", "user", "add", "system:admin")
    refused(b, 2, "does not take --in", "user", "token", "eva", "--in", "speech")
    refused(b, 2, "expected a duration", "user", "token", "eva", "--time", "1w")
    refused(b, 3, "there is no project \"nope\"", "user", "add", "joe", "--in", "nope")
    check("joe" not in str(seen(b, "user", "list")), "joe has a token")


def as_user(b, token):
    """A kubeconfig like the administrator's, but with this token."""
    path = os.path.join(b.root, "kubeconfig-of-a-user")
    config = json.loads(b.kubectl("config", "view", "--raw", "-o", "json"))
    config["users"][0]["user"] = {"token": token}
    with open(path, "w", encoding="utf-8") as f:
        json.dump(config, f)
    return path


def test_streams(b):
    """-o json is JSON, nothing is coloured in a pipe, logs -f follows a job that tries again."""
    check(json.loads(b.berth("submit", "-o", "json", "--", "true"))["kind"] == "Job", "-o json")
    check("\x1b" not in b.berth("top") + b.berth("queue", "-A", "--finished"), "colours in a pipe")
    check(json.loads(b.berth("top", "-o", "json"))["items"][0]["gpus"]["simulated"], "top -o json")
    b.apply(job("again", "echo try; exit 1", backoffLimit=1))
    check(b.berth("logs", "-f", "again").split() == ["try", "try"], "both tries")


if __name__ == "__main__":
    sys.exit(run_tests(globals(), lambda f, *programs: with_default_queue(f, *programs, gpus="sim:1xh200")))
