"""python_client: Debian's python3-kubernetes."""
import importlib.util
import threading

from parts import Client, check, wait_for

PYTHON = Client("Python client", ["`python3-kubernetes` of Debian 12 (22.6)."],
                lambda: None if importlib.util.find_spec("kubernetes") else "python3-kubernetes is not installed")
part = PYTHON.part


def api(b):
    from kubernetes import client, config  # pylint: disable=import-outside-toplevel  (it may not be installed)
    config.load_kube_config(b.env["KUBECONFIG"])
    return client


def config_map(client, name, **data):
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels={"of": "python"}), data=data)


@part("objects", "create, read, replace, patch, delete, and what is refused")
def _(b):
    client = api(b)
    core = client.CoreV1Api()
    core.create_namespaced_config_map("default", config_map(client, "a", x="1"))
    core.patch_namespaced_config_map("a", "default", {"data": {"y": "2"}})
    o = core.read_namespaced_config_map("a", "default")
    check(o.data == {"x": "1", "y": "2"}, f"data is {o.data}")
    core.replace_namespaced_config_map("a", "default", o)
    try:
        core.create_namespaced_config_map("default", config_map(client, "a"))
    except client.ApiException as e:
        check(e.status == 409, f"answered {e.status}")
    core.delete_namespaced_config_map("a", "default")


@part("lists and watches", "pages, and a watch that hears of what comes")
def _(b):
    from kubernetes import watch  # pylint: disable=import-outside-toplevel
    client = api(b)
    core = client.CoreV1Api()
    for i in range(5):
        core.create_namespaced_config_map("default", config_map(client, f"l{i}"))
    page = core.list_namespaced_config_map("default", label_selector="of=python", limit=3)
    rest = core.list_namespaced_config_map("default", label_selector="of=python", limit=3, _continue=page.metadata._continue)
    check(len(page.items) == 3 and len(rest.items) == 2, "two pages")
    threading.Timer(0.5, lambda: core.create_namespaced_config_map("default", config_map(client, "late"))).start()
    names = set()
    for event in watch.Watch().stream(core.list_namespaced_config_map, "default", timeout_seconds=20):
        names.add(event["object"].metadata.name)
        if "late" in names:
            break
    check("late" in names, f"watched {names}")


@part("custom kinds and dynamic clients", "by discovery")
def _(b):
    from kubernetes import dynamic  # pylint: disable=import-outside-toplevel
    client = api(b)
    kinds = dynamic.DynamicClient(client.ApiClient())
    maps = kinds.resources.get(api_version="v1", kind="ConfigMap")
    maps.create(body={"metadata": {"name": "dyn"}, "data": {"a": "b"}}, namespace="default")
    maps.patch(body={"metadata": {"name": "dyn"}, "data": {"c": "d"}}, namespace="default")
    check(maps.get(name="dyn", namespace="default").to_dict()["data"] == {"a": "b", "c": "d"}, "both members")
    check(kinds.resources.get(api_version="apps/v1", kind="Deployment").namespaced, "discovery")


@part("pods", "logs")
def _(b):
    client = api(b)
    core = client.CoreV1Api()
    core.create_namespaced_pod("default", {"metadata": {"name": "p"}, "spec": {"containers": [
        {"name": "c", "image": "busybox", "command": ["sh", "-c", "echo hello; exec sleep 1000"]}]}})
    wait_for("the pod", lambda: core.read_namespaced_pod("p", "default").status.phase == "Running", 60)
    wait_for("its log", lambda: core.read_namespaced_pod_log("p", "default").startswith("hello"), 30)


@part("pods", "exec", "its WebSocket library names an Origin of http, as a page of another site would")
def _(b):
    from kubernetes.stream import stream  # pylint: disable=import-outside-toplevel
    core = api(b).CoreV1Api()
    said = stream(core.connect_get_namespaced_pod_exec, "p", "default", command=["echo", "inside"], stderr=True, stdin=False,
                  stdout=True, tty=False)
    check(said.strip() == "inside", f"exec said {said!r}")


@part("jobs", "created, and seen to end")
def _(b):
    client = api(b)
    batch = client.BatchV1Api()
    batch.create_namespaced_job("default", {"metadata": {"name": "j"}, "spec": {"template": {"spec": {
        "restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox", "command": ["true"]}]}}}})

    def ended():
        status = batch.read_namespaced_job_status("j", "default").status
        return status and status.succeeded == 1
    wait_for("the job", ended, 60)
