"""helm: the commands of a release's life, with a chart after public habits."""
import json
import os
import re
import subprocess
import tempfile


from parts import TOP, Client, Fail, check

PROGRAM = os.path.join(TOP, ".tools", "helm")
HELM = Client("Helm", ["Helm 4, which applies on the server's side; a chart with a Deployment, a Service, an Ingress, a "
                       "ServiceAccount, a ConfigMap, a Secret, a hook and a test."],
              lambda: None if os.path.exists(PROGRAM) else "it is not in .tools (scripts/setup unpacks it)")
part = HELM.part

CHART = {"Chart.yaml": "apiVersion: v2\nname: web\nversion: 0.1.0\nappVersion: '1'\n",
         "values.yaml": "replicas: 1\nmessage: one\n",
         "templates/all.yaml": """
apiVersion: v1
kind: ServiceAccount
metadata: {name: "{{ .Release.Name }}"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}", labels: {app.kubernetes.io/managed-by: "{{ .Release.Service }}"}}
data: {message: "{{ .Values.message }}", version: "{{ .Capabilities.KubeVersion.Version }}"}
---
apiVersion: v1
kind: Secret
metadata: {name: "{{ .Release.Name }}"}
stringData: {password: abc}
---
apiVersion: v1
kind: Service
metadata: {name: "{{ .Release.Name }}"}
spec: {selector: {app: "{{ .Release.Name }}"}, ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{ .Release.Name }}"}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: "{{ .Release.Name }}"}}
  template:
    metadata: {labels: {app: "{{ .Release.Name }}"}}
    spec:
      serviceAccountName: "{{ .Release.Name }}"
      terminationGracePeriodSeconds: 1
      containers: [{name: c, image: busybox, command: [sleep, "1000"], env: [{name: M, value: "{{ .Values.message }}"}]}]
---
{{- if .Capabilities.APIVersions.Has "networking.k8s.io/v1/Ingress" }}
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: "{{ .Release.Name }}"}
spec:
  rules: [{host: a.example, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: "{{ .Release.Name }}",
    port: {name: http}}}}]}}]
{{- end }}
""",
         "templates/hook.yaml": """
apiVersion: batch/v1
kind: Job
metadata:
  name: "{{ .Release.Name }}-before"
  annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-delete-policy: "before-hook-creation,hook-succeeded"}
spec:
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox, command: ["true"]}]}}
""",
         "templates/test.yaml": """
apiVersion: v1
kind: Pod
metadata: {name: "{{ .Release.Name }}-test", annotations: {helm.sh/hook: test}}
spec: {restartPolicy: Never, containers: [{name: c, image: busybox, command: [sh, -c, "echo tested"]}]}
"""}


def chart():
    folder = tempfile.TemporaryDirectory()
    for name, text in CHART.items():
        path = os.path.join(folder.name, "web", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text.lstrip("\n"))
    return folder


WEB = chart()
PATH = os.path.join(WEB.name, "web")


def helm(b, line, expect="", code=0):
    done = subprocess.run([PROGRAM, *line.split()], capture_output=True, text=True, env=b.env, timeout=120, check=False)
    out = done.stdout + done.stderr
    if done.returncode != code or not re.search(expect, out, re.S):
        raise Fail(f"helm {line}: exit {done.returncode}, expected {code} and /{expect}/\n{out}")
    return out


def message(b):
    return b.kubectl("get", "configmap", "r", "-o", "jsonpath={.data.message}")


@part("helm install", "with hooks, and waiting for what it made")
def _(b):
    helm(b, f"install r {PATH} --wait --timeout 90s", "STATUS: deployed")
    check(message(b) == "one", "the chart's value")
    b.kubectl("get", "ingress", "r")


@part("helm upgrade", "with other values, and the same again")
def _(b):
    helm(b, f"upgrade --install r {PATH} --set message=two,replicas=2 --wait --timeout 90s", "STATUS: deployed")
    check(message(b) == "two", "the new value")
    before = b.get("deployment", "r")["metadata"]["generation"]
    helm(b, f"upgrade --install r {PATH} --set message=two,replicas=2", "STATUS: deployed")
    check(b.get("deployment", "r")["metadata"]["generation"] == before, "the same values change nothing")


@part("helm upgrade", "a dry run on the server")
def _(b):
    helm(b, f"upgrade r {PATH} --set message=three --dry-run=server", "three")
    check(message(b) == "two", "a dry run changes nothing")


@part("helm rollback", "to an earlier revision")
def _(b):
    helm(b, "rollback r 1 --wait --timeout 90s", "success")
    check(message(b) == "one", "the value of revision 1")


@part("helm test", "with the pod's log")
def _(b):
    helm(b, "test r --logs", "Succeeded.*tested")


@part("helm list, status, history, get", "what is there")
def _(b):
    check(json.loads(helm(b, "list -o json"))[0]["name"] == "r", "one release")
    helm(b, "status r", "STATUS: deployed")
    helm(b, "history r", "superseded")
    helm(b, "get manifest r", "kind: Deployment")


@part("helm template, lint", "charts; without the server")
def _(b):
    helm(b, f"lint {PATH}", "0 chart\\(s\\) failed")
    helm(b, f"template r {PATH} --validate", "kind: Deployment")


@part("helm uninstall", "and nothing is left")
def _(b):
    helm(b, "uninstall r --wait --timeout 90s", "uninstalled")
    left = b.kubectl("get", "deployments,services,ingresses,secrets,jobs,serviceaccounts", "-o", "name", "--ignore-not-found")
    check(not re.search("/r$|/r-|helm.release", left, re.M), f"nothing is left, but there is:\n{left}")
