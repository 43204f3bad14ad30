#!/usr/bin/python3
"""manifests: what `berth manifests` prints is whole, asks for little, and is what the Helm chart installs."""
import os
import shutil
import subprocess
import sys
import tempfile

import yaml

BERTH, HELM = sys.argv[1:3]
NS = "team-gpu"


class Fail(Exception):
    pass


def check(condition, text):
    if not condition:
        raise Fail(text)


def run(*command, ok=True):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    check(not ok or done.returncode == 0, f"{' '.join(command)}: {done.returncode}\n{done.stderr}")
    return done


def objects(text):
    found = {}
    for o in yaml.safe_load_all(text):
        key = (o["kind"], o["metadata"]["name"])
        check(key not in found, f"{key} is printed twice")
        found[key] = o
    return found


def printed(*args):
    return objects(run(BERTH, "manifests", *args).stdout)


def whole():
    """Nothing refers to what is not there."""
    every = printed("all", "-n", NS)
    for (kind, name), o in every.items():
        ns = o["metadata"].get("namespace")
        check(ns in (None, NS), f"{kind} {name} is in namespace {ns}")
        if kind in ("ClusterRoleBinding", "RoleBinding"):
            role, subject = o["roleRef"], o["subjects"][0]
            check((role["kind"], role["name"]) in every, f"{name} binds {role}")
            everybody = (subject["kind"], subject["name"]) == ("Group", "system:authenticated")
            check(name == "berth-calendar" and everybody or
                  (subject["kind"], subject["name"]) in every and subject["namespace"] == NS, f"{name} binds {subject}")
        for hook in o.get("webhooks", []):
            service = hook["clientConfig"]["service"]
            check(("Service", service["name"]) in every and service["namespace"] == NS, f"{hook['name']}: {service}")
            check(hook["sideEffects"] == "None" and hook["rules"], hook["name"])
        if kind == "CustomResourceDefinition" and o["spec"]["group"] == "kueue.x-k8s.io":
            service = o["spec"]["conversion"]["webhook"]["clientConfig"]["service"]
            check(("Service", service["name"]) in every, f"{name}: {service}")
    pod = every["Deployment", "berth-controller"]["spec"]["template"]
    labels = pod["metadata"]["labels"].items()
    for kind, name, at in (("Service", "berth-webhook", "selector"), ("Service", "berth-metrics", "selector")):
        check(set(every[kind, name]["spec"][at].items()) <= labels, f"{kind} {name} selects no pod of ours")
    ports = {p["name"] for p in pod["spec"]["containers"][0]["ports"]}
    check(every["Service", "berth-webhook"]["spec"]["ports"][0]["targetPort"] in ports, "the webhook's port")
    check(pod["spec"]["serviceAccountName"] == every["ServiceAccount", "berth-controller"]["metadata"]["name"], "account")
    parts = {}
    for part in ("crds", "rbac", "deploy"):
        parts.update(printed(part, "-n", NS, "--webhooks", "yes"))
    parts.update({k: v for k, v in every.items() if k[0] == "Namespace"})
    check(parts == every, "all is not the sum of its parts")


def little():
    """No wildcard, no secret of others, no object replaced; pods as Pod Security's restricted has them."""
    every = printed("all")
    for (kind, name), o in every.items():
        for rule in o.get("rules", []) if "Role" in kind else []:
            words = rule["apiGroups"] + rule["resources"] + rule["verbs"]
            check("*" not in words, f"{name} asks for everything: {rule}")
            check(kind == "Role" or "secrets" not in rule["resources"], f"{name} reads secrets everywhere")
            check(not {"escalate", "bind", "impersonate"} & set(rule["verbs"]), f"{name}: {rule}")
    check(every["Namespace", "berth-system"]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted",
          "the namespace")
    spec = every["Deployment", "berth-controller"]["spec"]
    pod, box = spec["template"]["spec"], spec["template"]["spec"]["containers"][0]["securityContext"]
    check(pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault",
          "pod security")
    check(not box["allowPrivilegeEscalation"] and box["readOnlyRootFilesystem"] and box["capabilities"] == {"drop": ["ALL"]},
          "container security")
    check(spec["replicas"] == 3 and pod["topologySpreadConstraints"][0]["topologyKey"] == "topology.kubernetes.io/zone",
          "replicas over zones")
    check(every["PodDisruptionBudget", "berth-controller"]["spec"]["maxUnavailable"] == 1, "disruption")


def bare():
    """Without webhooks nothing speaks of them."""
    text = run(BERTH, "manifests", "all", "--webhooks", "no").stdout
    check("webhook" not in text.lower(), "webhooks are mentioned")
    for o in printed("crds").values():
        check(o["spec"]["group"] != "kueue.x-k8s.io" or [v["name"] for v in o["spec"]["versions"]] == ["v1beta2"], "who converts v1beta1?")


def chart():
    """Helm's output is what `all` prints, with the values put in."""
    folder = tempfile.mkdtemp(prefix="berth-chart.")
    try:
        run(BERTH, "manifests", "chart", folder)
        run(HELM, "lint", folder)
        made = objects(run(HELM, "template", "berth", folder, "-n", NS, "--set", "replicas=2,image=here/berth:7").stdout)
        config = os.path.join(folder, "config.yaml")
        with open(config, "w", encoding="utf-8") as f:
            f.write(made["ConfigMap", "berth-config"]["data"]["config.yaml"])
        want = printed("all", "-n", NS, "--replicas", "2", "--image", "here/berth:7", "--config", config,
                       "--controllers", "all")
        del want["Namespace", NS]
        for key, o in made.items():
            if key[0] == "CustomResourceDefinition":
                check(o["metadata"].pop("annotations") == {"helm.sh/resource-policy": "keep"}, f"{key} goes with the chart")
            check(o == want.get(key), f"{key} differs:\n{o}\n{want.get(key)}")
        check(set(made) == set(want), f"{set(made) ^ set(want)}")
    finally:
        shutil.rmtree(folder)


def wrong():
    """Bad input names what is wrong."""
    for args, text in ((("nothing",), "nothing"), (("flavors", "more"), "more"), (("all", "--replicas", "0"), "--replicas"),
                       (("all", "--image", "a b"), "--image"), (("all", "--config", "/nonexistent"), "--config"),
                       (("chart",), "DIR"), (("crds", "more"), "more")):
        done = run(BERTH, "manifests", *args, ok=False)
        check(done.returncode != 0 and text in done.stderr and not done.stdout, f"{args}: {done}")


def main():
    if not os.access(HELM, os.X_OK):
        print("no helm here: scripts/setup check brings it on amd64")
        return 77
    for part in (whole, little, bare, chart, wrong):
        try:
            part()
        except Fail as e:
            print(f"{part.__name__}: {e}")
            return 1
        print(f"ok: {part.__doc__}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
