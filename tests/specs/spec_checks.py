"""Specs of delayed_admission_test.go and workload_controller_test.go: admission checks, requests as they are counted."""
from scene import conditions

CPU5 = {"f": {"cpu": 5}}


def spec_checks_are_listed_and_waited_for(s):
    checks = [s.check("one"), s.check("two")]
    s.flavor("f")
    s.cq("q", CPU5, admissionChecksStrategy={"admissionChecks": [{"name": c} for c in checks]})
    s.wl("a", "q", 2)
    s.reserves("a")
    s.metric("kueue_quota_reserved_workloads_total", 1, "q")
    s.metric("kueue_admitted_workloads_total", 0, "q")
    s.world.wait(lambda: "both checks", lambda: {c["name"]: c["state"] for c in s.see("workloads", "a")["status"].get(
        "admissionChecks", [])} == {c: "Pending" for c in checks})
    s.check_state("a", checks[0], "Ready")
    s.becomes("a", "Admitted", "False")
    s.check_state("a", checks[1], "Ready")
    s.admitted("a")


def spec_checks_of_one_flavor(s):
    all_, one = s.check("all"), s.check("one")
    s.flavor("f")
    s.flavor("g", taints=[{"key": "t", "value": "v", "effect": "NoSchedule"}])
    s.cq("q", {"f": {"cpu": 5}, "g": {"cpu": 5}}, admissionChecksStrategy={"admissionChecks": [
        {"name": all_}, {"name": one, "onFlavors": [s.full("g")]}]})
    s.wl("a", "q", 2)
    s.world.wait(lambda: "one check", lambda: [c["name"] for c in ((s.see("workloads", "a") or {}).get("status") or {}).get(
        "admissionChecks", [])] == [all_] and conditions(s.see("workloads", "a")).get("QuotaReserved", {}).get("status") == "True")


def spec_retry_gives_quota_back_and_comes_again(s):
    check = s.check("one")
    s.flavor("f")
    s.cq("q", CPU5, admissionChecksStrategy={"admissionChecks": [{"name": check}]})
    s.wl("a", "q", 5)
    s.reserves("a")
    s.wl("b", "q", 5)
    s.waits("b")
    s.check_state("a", check, "Retry")
    s.becomes("a", "Evicted", "True", "AdmissionCheck")
    s.stays("b", reserves=False)
    s.let_go("a")
    s.world.wait(lambda: "one of them reserves", lambda: any(
        s.condition(n, "QuotaReserved")["status"] == "True" for n in ("a", "b")))


def spec_limits_are_requests_where_there_are_none(s):
    s.wl("a", "q", limits={"cpu": "1"})
    s.flavor("f")
    s.cq("q", CPU5)
    s.admitted("a")
    assert s.usage("a")["cpu"] == "1"


def spec_pod_level_limits_are_requests(s):
    s.wl("a", "q", pod={"resources": {"limits": {"cpu": "2"}}})
    s.flavor("f")
    s.cq("q", CPU5)
    s.admitted("a")
    assert s.usage("a")["cpu"] == "2"


def limit_range(s, defaults):
    s.api.create("LimitRange", f"/api/v1/namespaces/{s.ns}/limitranges", {
        "metadata": {"name": "l"}, "spec": {"limits": [{"type": "Container", "defaultRequest": defaults}]}})


def spec_default_requests_of_a_limit_range(s):
    limit_range(s, {"cpu": "3"})
    s.flavor("f")
    s.cq("q", CPU5)
    s.wl("a", "q")
    s.admitted("a")
    assert s.usage("a")["cpu"] == "3"
    s.wl("b", "q", 1)
    s.admitted("b")
    assert s.usage("b")["cpu"] == "1"


def spec_a_changed_limit_range_counts_for_what_waits(s):
    limit_range(s, {"cpu": "6"})
    s.flavor("f")
    s.cq("q", CPU5)
    s.wl("a", "q")
    s.waits("a")
    s.api.merge(f"/api/v1/namespaces/{s.ns}/limitranges/l", {"spec": {"limits": [
        {"type": "Container", "defaultRequest": {"cpu": "4"}}]}})
    s.admitted("a")
    assert s.usage("a")["cpu"] == "4"


def spec_overhead_of_a_runtime_class(s):
    path = "/apis/node.k8s.io/v1/runtimeclasses"
    s.api.create("RuntimeClass", path, {"metadata": {"name": s.full("kata")}, "handler": "h",
                                        "overhead": {"podFixed": {"cpu": "1"}}})
    s.made.append(f"{path}/{s.full('kata')}")
    s.flavor("f")
    s.cq("q", CPU5)
    s.wl("a", "q", 1, pod={"runtimeClassName": s.full("kata")})
    s.admitted("a")
    assert s.usage("a")["cpu"] == "2"


def spec_a_runtime_class_that_is_not_there(s):
    s.flavor("f")
    s.cq("q", CPU5)
    s.wl("a", "q", 1, pod={"runtimeClassName": s.full("none")})
    s.admitted("a")
    assert s.usage("a")["cpu"] == "1"


TRANSFORMED = {"resources": {"transformations": [
    {"input": "example.com/mig-1g", "strategy": "Replace", "outputs": {"example.com/memory": "5", "example.com/credits": "10"}},
    {"input": "example.com/mig-2g", "strategy": "Replace", "outputs": {"example.com/memory": "10", "example.com/credits": "15"}},
    {"input": "example.com/keep", "strategy": "Retain", "outputs": {"example.com/credits": "100"}}]}}


def spec_transformed_resources(s):
    s.flavor("f")
    s.cq("q", {"f": {"cpu": 5, "example.com/memory": 100, "example.com/credits": 1000, "example.com/keep": 5}})
    s.wl("a", "q", sets={"main": (1, {"example.com/mig-1g": 2, "example.com/mig-2g": 1, "example.com/keep": 1, "cpu": 1})})
    s.admitted("a")
    assert s.usage("a") == {"cpu": "1", "example.com/memory": "20", "example.com/credits": "135", "example.com/keep": "1"}, \
        s.usage("a")


spec_transformed_resources.configuration = TRANSFORMED


def spec_excluded_prefixes(s):
    s.flavor("f")
    s.cq("q", CPU5)
    s.wl("a", "q", sets={"main": (1, {"cpu": 1, "net.example.com/vf": 1})})
    s.admitted("a")
    s.wl("b", "q", sets={"main": (1, {"cpu": 1, "other.example.com/vf": 1})})
    s.waits("b")


spec_excluded_prefixes.configuration = {"resources": {"excludeResourcePrefixes": ["net.example.com/"]}}


def spec_bypassed_beside_its_like(s):
    s.flavor("f")
    s.cq("q", {"f": {"cpu": 1}})
    s.wl("a", "q", 1)
    s.admitted("a")
    s.wl("b", "q", 1)
    s.waits("b", reason="WaitingForQuota", message="couldn't assign flavors to pod set main: insufficient unused quota")
    s.wl("c", "q", 1)
    s.waits("c", reason="WaitingForQuota",
            message="^Bypassed scheduling evaluation because an equivalent workload recently failed$")
    s.waits("b", message="insufficient unused quota")
    s.finish("a")
    s.counts("q", pending=1, reserving=1)


spec_bypassed_beside_its_like.configuration = {"featureGates": {"UnadmittedWorkloadsExplicitStatus": True}}
