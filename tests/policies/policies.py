#!/usr/bin/env python3
"""policies: admission policies and their bindings, as kubectl sees them.   policies.py BERTH KUBECTL [NAME...]"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from harness import Berth, Fail, check, wait_for  # noqa: E402

API = "admissionregistration.k8s.io/v1"


def rule(resource="deployments", group="apps", version="v1", operations=("CREATE", "UPDATE"), **more):
    return dict({"apiGroups": [group], "apiVersions": [version], "operations": list(operations),
                 "resources": [resource]}, **more)


def policy(name, *validations, rules=None, match=None, **spec):
    constraints = dict({"resourceRules": rules or [rule("configmaps", "")]}, **(match or {}))
    return {"apiVersion": API, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name},
            "spec": dict({"matchConstraints": constraints,
                          "validations": [v if isinstance(v, dict) else {"expression": v} for v in validations]},
                         **spec)}


def binding(name, of, *actions, ns="default", **spec):
    match = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": ns}}} if ns else {}
    return {"apiVersion": API, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name},
            "spec": dict({"policyName": of, "validationActions": list(actions or ["Deny"]),
                          "matchResources": match}, **spec)}


def mutation(text):
    kind = "JSONPatch" if text.lstrip().startswith("[") else "ApplyConfiguration"
    return {"patchType": kind, kind[:5].lower() + kind[5:] if kind[0] == "A" else "jsonPatch": {"expression": text}}


def mutating(name, *mutations, rules=None, again="Never", **spec):
    return {"apiVersion": API, "kind": "MutatingAdmissionPolicy", "metadata": {"name": name},
            "spec": dict({"matchConstraints": {"resourceRules": rules or [rule("configmaps", "", operations=["CREATE"])]},
                          "mutations": [mutation(m) for m in mutations], "reinvocationPolicy": again}, **spec)}


def mutating_binding(name, of, **spec):
    return {"apiVersion": API, "kind": "MutatingAdmissionPolicyBinding", "metadata": {"name": name},
            "spec": dict({"policyName": of}, **spec)}


def drop_mutating(b, *names):
    b.kubectl("delete", "mutatingadmissionpolicybinding", "--all")
    b.kubectl("delete", "mutatingadmissionpolicy", *names)


def config_map(name, ns="default", labels=None, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": ns, "labels": labels or {}}, "data": data}


def deployment(name, replicas):
    labels = {"app": name}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "default"},
            "spec": {"replicas": replicas, "selector": {"matchLabels": labels},
                     "template": {"metadata": {"labels": labels},
                                  "spec": {"containers": [{"name": "c", "image": "x"}]}}}}


def send(b, obj, verb="apply", *more):
    return b.kubectl(verb, "-f", "-", *more, stdin=json.dumps(obj), ok=False)


def refused(b, obj, *texts, verb="apply"):
    done = send(b, obj, verb)
    check(done.returncode != 0, f"taken: {obj}")
    for t in texts:
        check(t in done.stderr, f"{t!r} is not in {done.stderr!r}")
    return done.stderr


def bound(b, p, *bindings):
    b.apply(p)
    for x in bindings:
        b.apply(x)


def drop(b, name):
    b.kubectl("delete", "validatingadmissionpolicybinding", "--all")
    b.kubectl("delete", "validatingadmissionpolicy", name)


def test_a_deployment(b):
    """As upstream's own conformance test: a Deployment with too few replicas is refused, a ReplicaSet is not meant."""
    bound(b, policy("replicas.example.com",
                    {"expression": "object.spec.replicas > 1",
                     "messageExpression": "'wants replicas > 1, got ' + string(object.spec.replicas)"},
                    rules=[rule()]),
          binding("replicas.example.com", "replicas.example.com"))
    refused(b, deployment("few", 1), 'The deployments "few" is invalid: : ValidatingAdmissionPolicy '
            "'replicas.example.com' with binding 'replicas.example.com' denied request: wants replicas > 1, got 1")
    b.apply(deployment("many", 2))
    done = b.kubectl("scale", "deployment/many", "--replicas=1", ok=False)
    check(done.returncode == 0, "scale is another resource, and not in the rules")
    refused(b, dict(deployment("many", 1)), "denied request")
    done = send(b, deployment("few", 1), "create", "--dry-run=server")
    check("denied request" in done.stderr, done.stderr)
    drop(b, "replicas.example.com")
    b.apply(deployment("few", 1))


def test_expressions(b):
    """Variables, conditions, oldObject, request, namespaceObject, authorizer."""
    b.kubectl("label", "namespace", "default", "team=red", "--overwrite")
    bound(b, policy(
        "all.example.com",
        {"expression": "variables.size <= 2", "message": "too many keys", "reason": "Forbidden"},
        {"expression": "oldObject == null || !('fixed' in oldObject.data) || "
                       "object.data.?fixed == optional.of(oldObject.data.fixed)"},
        {"expression": "namespaceObject.metadata.labels['team'] == 'red'"},
        {"expression": "request.operation == 'CREATE' || request.operation == 'UPDATE'"},
        {"expression": "authorizer.group('').resource('secrets').namespace('default').check('get').allowed()",
         "message": "may not read secrets"},
        {"expression": "authorizer.requestResource.check('create').allowed()"},
        variables=[{"name": "keys", "expression": "has(object.data) ? object.data : {}"},
                   {"name": "size", "expression": "variables.keys.size()"}],
        matchConditions=[{"name": "named", "expression": "request.name.startsWith('x-')"},
                         {"name": "not-system", "expression": "!request.userInfo.username.startsWith('system:')"}]),
        binding("all.example.com", "all.example.com"))
    said = refused(b, config_map("x-1", a="1", b="2", c="3"), "denied request: too many keys")
    check("(Forbidden)" in said, said)
    b.apply(config_map("y-1", a="1", b="2", c="3"))
    b.apply(config_map("x-2", fixed="1"))
    refused(b, config_map("x-2", fixed="2"), "denied request: failed expression: oldObject == null ||")
    b.kubectl("create", "role", "maps", "--verb=*", "--resource=configmaps")
    b.kubectl("create", "rolebinding", "maps", "--role=maps", "--user=ann")
    done = b.kubectl("create", "configmap", "x-3", "--as=ann", ok=False)
    check("denied request: may not read secrets" in done.stderr, done.stderr)
    b.kubectl("label", "namespace", "default", "team=blue", "--overwrite")
    refused(b, config_map("x-4"), "failed expression: namespaceObject.metadata")
    drop(b, "all.example.com")


def test_errors_and_failure_policy(b):
    p = policy("errs.example.com", "object.data.missing == 'x'")
    bound(b, p, binding("errs.example.com", "errs.example.com"))
    refused(b, config_map("e", a="1"),
            "denied request: expression 'object.data.missing == 'x'' resulted in error: no such key: missing")
    p["spec"]["failurePolicy"] = "Ignore"
    b.apply(p)
    b.apply(config_map("e", a="1"))
    drop(b, "errs.example.com")


def test_actions(b):
    """Warn, Audit, audit annotations; a binding of another namespace does nothing."""
    bound(b, policy("acts.example.com", {"expression": "'ok' in object.data", "message": "no ok"},
                    auditAnnotations=[{"key": "size", "valueExpression": "string(object.data.size())"},
                                      {"key": "none", "valueExpression": "null"}]),
          binding("acts.example.com", "acts.example.com", "Warn", "Audit"),
          binding("elsewhere.example.com", "acts.example.com", "Deny", ns="kube-system"))
    done = send(b, config_map("warned", a="1"))
    check(done.returncode == 0 and "Warning: Validation failed for ValidatingAdmissionPolicy 'acts.example.com' with "
          "binding 'acts.example.com': no ok" in done.stderr, done.stderr)

    def line():
        found = [x for x in audit_lines(b) if x.get("name") == "warned" or "warned" in json.dumps(x.get("annotations", {}))
                 or x.get("annotations")]
        return found[-1] if found else None
    got = wait_for("the audit line", line)["annotations"]
    check(got["acts.example.com/size"] == "1" and "acts.example.com/none" not in got, got)
    failure = json.loads(got["validation.policy.admission.k8s.io/validation_failure"])
    check(failure == [{"message": "no ok", "policy": "acts.example.com", "binding": "acts.example.com",
                       "expressionIndex": 0, "validationActions": ["Warn", "Audit"]}], failure)
    refused(b, config_map("other", ns="kube-system", a="1"), "with binding 'elsewhere.example.com'")
    drop(b, "acts.example.com")


def audit_lines(b):
    with open(os.path.join(b.data, "audit.log"), encoding="utf-8") as f:
        return [json.loads(x) for x in f]


def test_parameters(b):
    """By name, by selector, in the object's own namespace; missing ones."""
    p = policy("params.example.com", "object.data.size() <= int(params.data.most)",
               paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
               matchConditions=[{"name": "no-param", "expression": "!has(object.metadata.labels) || "
                                                                   "!('param' in object.metadata.labels)"}])
    bound(b, p, binding("named", "params.example.com",
                        paramRef={"name": "limits", "parameterNotFoundAction": "Deny"}))
    refused(b, config_map("p", a="1"), "denied request: failed to configure binding: no params found for policy binding "
                                       "with `Deny` parameterNotFoundAction")
    b.kubectl("patch", "validatingadmissionpolicybinding", "named", "--type=merge", "-p",
              '{"spec":{"paramRef":{"parameterNotFoundAction":"Allow"}}}')
    b.apply(config_map("limits", labels={"param": "yes"}, most="1"))
    b.apply(config_map("p", a="1"))
    refused(b, config_map("p", a="1", b="2"), "failed expression: object.data.size()")
    b.apply(config_map("more", labels={"param": "yes"}, most="3"))
    b.kubectl("patch", "validatingadmissionpolicybinding", "named", "--type=merge", "-p",
              '{"spec":{"paramRef":{"name":null,"selector":{"matchLabels":{"param":"yes"}}}}}')
    refused(b, config_map("p", a="1", b="2"), "failed expression")
    b.kubectl("delete", "configmap", "limits")
    b.apply(config_map("p", a="1", b="2"))
    drop(b, "params.example.com")


def test_matching(b):
    """excludeResourceRules, resourceNames, objectSelector, DELETE, matchPolicy."""
    bound(b, policy("match.example.com", "request.operation != 'DELETE' || oldObject.data.keep != 'yes'",
                    {"expression": "request.operation == 'DELETE' || !('bad' in object.data)"},
                    rules=[rule("*", "", operations=["*"], resourceNames=["a", "b", "c"])],
                    match={"excludeResourceRules": [rule("configmaps", "", operations=["*"], resourceNames=["c"])],
                           "objectSelector": {"matchExpressions": [{"key": "free", "operator": "DoesNotExist"}]}}),
          binding("match.example.com", "match.example.com"))
    refused(b, config_map("a", bad="1"), "denied")
    b.apply(config_map("c", bad="1"))
    b.apply(config_map("d", bad="1"))
    b.apply(config_map("b", labels={"free": "yes"}, bad="1"))
    b.apply(config_map("a", keep="yes"))
    done = b.kubectl("delete", "configmap", "a", ok=False)
    check("failed expression: request.operation != 'DELETE' ||" in done.stderr, done.stderr)
    b.apply(config_map("a", keep="no"))
    b.kubectl("delete", "configmap", "a")
    drop(b, "match.example.com")


def test_refused(b):
    """What is wrong with a policy or binding is told when it is written."""
    refused(b, policy("bad.example.com", "object.x > "), "spec.validations[0].expression: Invalid value",
            "compilation failed: ERROR: <input>:1:")
    refused(b, policy("bad.example.com", "foo.x"), "undeclared reference to 'foo' (in container '')")
    refused(b, policy("bad.example.com", "1 + 1"), "must evaluate to bool but got int")
    refused(b, policy("bad.example.com", "params.x == 1"), "undeclared reference to 'params'")
    refused(b, policy("bad.example.com", {"expression": "true", "messageExpression": "1"}), "messageExpression: Invalid")
    refused(b, policy("bad.example.com", "variables.b", variables=[
        {"name": "a", "expression": "variables.b"}, {"name": "b", "expression": "true"}]), "undefined field 'b'")
    refused(b, policy("bad.example.com"), "validations or auditAnnotations must contain at least one item")
    refused(b, policy("bad.example.com", "true", rules=[rule("pods", "", operations=["*", "CREATE"])]),
            "if '*' is present, must not specify other operations")
    refused(b, binding("bad.example.com", "x", "Deny", "Warn"), "must not contain both Deny and Warn")
    refused(b, binding("bad.example.com", ""), "spec.policyName: Required value")
    refused(b, binding("bad.example.com", "x", paramRef={"parameterNotFoundAction": "Deny"}),
            "one of name or selector must be specified")


def test_type_checking(b):
    """status.typeChecking is there at once, with a warning for each expression whose types do not go together."""
    b.apply(policy("typed.example.com", "object.spec.replicas > 1", rules=[rule()]))
    status = b.get("validatingadmissionpolicy", "typed.example.com")["status"]
    check(status["typeChecking"] == {} and status["observedGeneration"] == 1, status)
    b.apply(policy("typed.example.com", {"expression": "object.spec.replicas > '1'",
                                         "messageExpression": "'wants ' + object.spec.replicas"}, rules=[rule()]))
    status = b.get("validatingadmissionpolicy", "typed.example.com")["status"]
    got = status["typeChecking"]["expressionWarnings"]
    check([w["fieldRef"] for w in got] == ["spec.validations[0].expression", "spec.validations[0].messageExpression"], got)
    check("found no matching overload for '_>_' applied to '(int, string)'" in got[0]["warning"], got)
    check(got[0]["warning"].startswith("apps/v1, Kind=Deployment: ERROR: <input>:1:22:"), got)
    check("'_+_' applied to '(string, int)'" in got[1]["warning"] and status["observedGeneration"] == 2, status)
    drop(b, "typed.example.com")


def test_apply_configuration(b):
    """Object{...} is merged as by an apply: lists by their keys; what is one value is refused."""
    bound(b, mutating("sidecar.example.com",
                      "Object{metadata: Object.metadata{labels: Object.metadata.labels{made: 'yes'}}, "
                      "spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: ["
                      "Object.spec.template.spec.containers{name: 'side', image: variables.image}]}}}}",
                      "object.spec.replicas == 1 ? Object{spec: Object.spec{replicas: 2}} : Object{}",
                      rules=[rule()], variables=[{"name": "image", "expression": "'side:' + object.metadata.name"}]),
          mutating_binding("sidecar.example.com", "sidecar.example.com"))
    b.apply(deployment("mutated", 1))
    got = b.get("deployment", "mutated")
    names = [(c["name"], c["image"]) for c in got["spec"]["template"]["spec"]["containers"]]
    check(sorted(names) == [("c", "x"), ("side", "side:mutated")], names)
    check(got["metadata"]["labels"]["made"] == "yes" and got["spec"]["replicas"] == 2, got["spec"]["replicas"])
    side = [c for c in got["spec"]["template"]["spec"]["containers"] if c["name"] == "side"][0]
    check(side["imagePullPolicy"] == "IfNotPresent", "not defaulted")
    b.apply(mutating("sidecar.example.com", "Object{spec: Object.spec{selector: Object.spec.selector{matchLabels: "
                     "Object.spec.selector.matchLabels{a: 'b'}}}}", rules=[rule()]))
    refused(b, deployment("atomic", 1), "policy 'sidecar.example.com' with binding 'sidecar.example.com' denied request: "
            "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.selector")
    b.apply(mutating("sidecar.example.com", "Object{spec: Object.spec{wrong: 1}}", rules=[rule()]))
    refused(b, deployment("atomic", 1), ".spec.wrong: field not declared in schema")
    b.apply(mutating("sidecar.example.com", "Object{spec: Object.wrong{replicas: 1}}", rules=[rule()]))
    refused(b, deployment("atomic", 1), "type mismatch")
    b.apply(mutating("sidecar.example.com", "Object{spec: Object.wrong{replicas: 1}}", rules=[rule()],
                     failurePolicy="Ignore"))
    b.apply(deployment("atomic", 1))
    drop_mutating(b, "sidecar.example.com")


def test_json_patch(b):
    """Operations in order, each policy on what those before it made, by name; IfNeeded comes again."""
    add = "[JSONPatch{{op: 'add', path: '/data/{0}', value: {1}}}]"
    bound(b, mutating("b.example.com", add.format("second", "string(object.data.size())")),
          mutating_binding("b", "b.example.com"))
    bound(b, mutating("a.example.com", add.format("first", "has(object.data.second) ? 'again' : 'once'"), again="IfNeeded"),
          mutating_binding("a", "a.example.com"))
    bound(b, mutating("c.example.com", "[JSONPatch{op: 'add', path: '/metadata/labels', value: {}}, JSONPatch{op: 'add', "
                      "path: '/metadata/labels/' + jsonpatch.escapeKey('x/y'), value: params.data.label}]",
                      paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
                      matchConditions=[{"name": "m", "expression": "request.name != 'param'"}]),
          mutating_binding("c", "c.example.com", paramRef={"name": "param", "parameterNotFoundAction": "Allow"}))
    b.apply(config_map("param", label="from-param"))
    b.kubectl("create", "-f", "-", stdin=json.dumps(config_map("patched", z="1")))
    got = b.get("configmap", "patched")
    check(got["data"] == {"z": "1", "first": "again", "second": "2"}, got["data"])
    check(got["metadata"]["labels"] == {"x/y": "from-param"}, got["metadata"])
    b.apply(mutating("b.example.com", "[JSONPatch{op: 'test', path: '/data/z', value: '2'}]"))
    refused(b, config_map("failing", z="1"), "policy 'b.example.com' with binding 'b' denied request:", verb="create")
    drop_mutating(b, "a.example.com", "b.example.com", "c.example.com")
    refused(b, mutating("bad.example.com", "Object{a: 1}.a == 1"), "must evaluate to Object but got bool")
    refused(b, mutating("bad.example.com", "[JSONPatch{opp: 'add'}]"), "undefined field 'opp'")
    refused(b, mutating("bad.example.com", "Objekt{}"), "undeclared reference to 'Objekt'")
    refused(b, mutating("bad.example.com", "Object{}", again=""), "spec.reinvocationPolicy: ")


def test_budget(b):
    """A policy has a budget for each write, and all of them together have the request's."""
    heavy = "object.data.all(a, object.data.all(b, object.data.all(c, a + b + c != 'x')))"
    big = config_map("big", **{f"k{i}": "v" for i in range(200)})
    names = [f"heavy-{i}.example.com" for i in range(8)]
    bound(b, policy(names[0], heavy), binding(names[0], names[0]))
    refused(b, big, "denied request: validation failed due to running out of cost budget, no further validation rules will "
            "be run", verb="create")
    for name in names:
        bound(b, policy(name, heavy, failurePolicy="Ignore"), binding(name, name))
    refused(b, big, "the request is too complex", verb="create")
    b.apply(config_map("small", k="v"))
    b.kubectl("delete", "validatingadmissionpolicybinding", "--all")
    b.kubectl("delete", "validatingadmissionpolicy", *names)


def test_rescue(b):
    """No policy judges the objects of admission itself, and whoever has no right to policies cannot write them."""
    bound(b, policy("all.example.com", "false", rules=[rule("*", "*", "*", operations=["*"])]),
          binding("all.example.com", "all.example.com", ns=None))
    refused(b, config_map("stuck"), "failed expression: false")
    b.kubectl("label", "validatingadmissionpolicy", "all.example.com", "touched=yes")
    drop(b, "all.example.com")
    b.apply(config_map("stuck"))
    b.kubectl("create", "rolebinding", "boss", "--clusterrole=admin", "--user=boss")
    for kind in ("validatingadmissionpolicies", "validatingadmissionpolicybindings", "mutatingadmissionpolicies",
                 "mutatingadmissionpolicybindings"):
        for verb in ("create", "get"):
            done = b.kubectl("auth", "can-i", verb, kind, "--as=boss", ok=False)
            check(done.stdout.strip() == "no", f"{verb} {kind}: {done.stdout}")


def main():
    names = sys.argv[3:]
    tests = {k[5:]: f for k, f in globals().items() if k.startswith("test_")}
    bad = 0
    with Berth(sys.argv[1], sys.argv[2], gpus="none") as b:
        for name, run in tests.items():
            if names and name not in names:
                continue
            try:
                run(b)
                print(f"ok   {name}")
            except (Fail, KeyError) as e:
                bad += 1
                print(f"FAIL {name}: {e!r}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
