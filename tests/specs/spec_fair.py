"""Specs of fairsharing: shares decide who comes in and who goes; LocalQueues that used less go first."""
import math

FAIR = {"metrics": {"enableClusterQueueResources": True},
        "fairSharing": {"preemptionStrategies": ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]}}
BOTH = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}


def many(s, queue, n, cpu=1, **more):
    names = [f"{queue}-{i}" for i in range(n)]
    for name in names:
        s.wl(name, queue, cpu, **more)
    return names


def holders(s, names):
    return [n for n in names if s.condition(n, "QuotaReserved")["status"] == "True" and
            s.condition(n, "Finished")["status"] != "True"]


def share(s, queue, want):
    s.metric("kueue_cluster_queue_weighted_share", want, queue)


def spec_fair_without_preemption(s):
    s.flavor("f")
    for n, cpu in (("a", 3), ("b", 1), ("shared", 4)):
        s.cq(n, {"f": {"cpu": cpu}}, cohort="co")
    a = many(s, "a", 10)
    s.counts("a", pending=2, reserving=8)
    share(s, "a", 625)
    share(s, "b", 0)
    b = many(s, "b", 5)
    s.counts("b", pending=5)
    for i in range(1, 4):
        s.finish(holders(s, a)[0])
        s.counts("b", reserving=i)
        s.counts("a", reserving=8 - i)
    s.finish(holders(s, a)[0])
    s.counts("a", pending=1, reserving=5)
    s.counts("b", pending=2, reserving=3)
    share(s, "a", 250)
    share(s, "b", 250)
    s.status("clusterqueues", "a", lambda x: x.get("fairSharing", {}).get("weightedShare") == 250, "share 250")
    assert len(holders(s, b)) == 3


def spec_fair_beyond_what_there_is(s):
    s.flavor("f")
    s.cq("a", {"f": {"cpu": 8}}, cohort="co")
    s.wl("w", "a", 10)
    s.waits("w", reason="ExceedsMaxQuota", message=r"current podset request \(10\) > maximum capacity \(8\)")


def spec_fair_with_preemption(s):
    s.flavor("f")
    for n in "abc":
        s.cq(n, {"f": {"cpu": 3}}, cohort="co", preemption=BOTH)
    a = many(s, "a", 10)
    s.counts("a", pending=1, reserving=9)
    share(s, "a", 6000 / 9)
    many(s, "b", 5)

    def let_go(n):
        for _ in range(n):
            victim = s.world.wait(lambda: "a victim", lambda: victims())[0]
            s.let_go(victim)
            s.world.wait(lambda: f"{victim} is gone", lambda: victim not in victims())

    def victims():
        return [n for n in holders(s, a) if s.condition(n, "Evicted")["status"] == "True"]

    let_go(4)
    s.counts("b", reserving=4)
    share(s, "a", 2000 / 9)
    share(s, "b", 1000 / 9)
    s.wl("c-0", "c", 1)
    let_go(1)
    s.admitted("c-0")
    share(s, "a", 1000 / 9)
    s.status("clusterqueues", "a", lambda x: x.get("fairSharing", {}).get("weightedShare") == 112, "share 112")


def weightless(s):
    s.flavor("f")
    s.cohort("top", {"f": {"cpu": 8}})
    for n in "ab":
        s.cq(n, {"f": {"cpu": 0}}, cohort="top", weight=0, preemption={"reclaimWithinCohort": "Any"})


def spec_weight_zero_does_not_preempt_for_ever(s):
    weightless(s)
    s.wl("a-1", "a", 4, priority=9001)
    s.wl("a-2", "a", 4, priority=100)
    s.admitted("a-1", "a-2")
    s.wl("b-1", "b", 4, priority=100)
    s.preempted("a-2")
    s.let_go("a-2")
    s.admitted("b-1")
    s.counts("a", pending=1, reserving=1)
    s.counts("b", reserving=1)
    s.metric("kueue_evicted_workloads_total", 1, "a", reason="Preempted")
    s.metric("kueue_evicted_workloads_total", 0, "b", reason="Preempted")


def spec_weight_zero_has_no_number(s):
    weightless(s)
    s.wl("a-1", "a", 4)
    s.admitted("a-1")
    share(s, "a", math.nan)


def spec_nobody_takes_what_a_preemptor_waits_for(s):
    s.flavor("f")
    reclaim = {"reclaimWithinCohort": "Any"}
    s.cq("one", {"f": {"cpu": 10, "memory": 0}}, cohort="co", preemption=reclaim)
    s.cq("two", {"f": {"cpu": 0, "memory": 10}}, cohort="co", preemption=reclaim)
    s.wl("a", "two", 1, priority=100, memory=0)
    s.wl("b", "two", 1, priority=100, memory=0)
    s.admitted("a", "b")
    s.wl("preemptor", "one", 10, priority=0, memory=10)
    s.preempted("a", "b")
    s.let_go("a")
    s.waits("a", reason="WaitingForQuota")
    s.let_go("b")
    s.admitted("preemptor")
    s.waits("a", "b", reason="WaitingForQuota")


spec_nobody_takes_what_a_preemptor_waits_for.configuration = {
    **FAIR, "featureGates": {"PrioritizePreemptorWorkloads": True}}


def spec_fair_among_cohorts(s):
    s.flavor("f")
    s.cohort("root", {"f": {"cpu": 10}})
    for n in ("left", "right"):
        s.cohort(n, parent="root")
    s.cq("a", {"f": {"cpu": 0}}, cohort="left", preemption=BOTH)
    s.cq("b", {"f": {"cpu": 0}}, cohort="right", preemption=BOTH)
    a = many(s, "a", 10)
    s.counts("a", reserving=10)
    many(s, "b", 10)

    def victims():
        return [n for n in holders(s, a) if s.condition(n, "Evicted")["status"] == "True"]

    def even():
        return all((s.see("clusterqueues", q) or {}).get("status", {}).get("reservingWorkloads") == 5 for q in "ab")

    while not s.world.wait(lambda: "a victim, or as many of each", lambda: victims() or even()) is True:
        s.let_go(victims()[0])


def spec_hero_keeps_to_the_preferred_flavor(s):
    for f in ("one", "two"):
        s.flavor(f)
    for n, cpu in (("hero", 100), ("tiny", 50), ("rest", 0)):
        s.cq(n, {"one": {"cpu": cpu}, "two": {"cpu": cpu}}, cohort="co", preemption=BOTH)
    s.wl("a", "rest", 150, priority=10)
    s.admitted("a")
    s.wl("b", "rest", 150, priority=10)
    s.admitted("b")
    s.wl("hero", "hero", 100, priority=100)
    s.wl("tiny", "tiny", 50, priority=50)
    s.preempted("a")
    s.let_go("a")
    s.admitted("hero", "tiny")
    assert s.flavors("hero") == {"main": {"cpu": "one"}} and s.flavors("tiny") == {"main": {"cpu": "one"}}
    s.stays("b", reserves=True)


def spec_a_head_that_cannot_come_in_blocks_nobody(s):
    s.flavor("f")
    s.cq("q", {"f": {"cpu": 5}}, cohort="co", preemption=BOTH)
    s.cq("other", {"f": {"cpu": 5}}, cohort="co", preemption=BOTH)
    s.wl("hold", "other", 5)
    s.admitted("hold")
    s.wl("big", "q", 6, priority=10)
    s.waits("big")
    s.wl("fits", "q", 5)
    s.admitted("fits")


def spec_large_quota_and_weights(s):
    s.flavor("f")
    for n in "ab":
        s.cq(n, {"f": {"cpu": "300000"}}, cohort="co", weight=300000, preemption=BOTH)
    s.wl("a", "a", 600000)
    s.admitted("a")
    s.wl("b", "b", 300000)
    s.preempted("a")
    s.let_go("a")
    s.admitted("b")


for name, f in list(globals().items()):
    if name.startswith("spec_") and not hasattr(f, "configuration"):
        f.configuration = FAIR

USAGE = {"admissionFairSharing": {"usageHalfLifeTime": "300s", "usageSamplingInterval": "1s"}}


def spec_consumed_resources_are_listed(s):
    s.flavor("f")
    s.cq("q", {"f": {"cpu": 5, "memory": "5Gi"}}, admissionScope={"admissionMode": "UsageBasedAdmissionFairSharing"})

    def consumed(x):
        return x.get("fairSharing", {}).get("admissionFairSharingStatus", {}).get("consumedResources", {})
    s.status("localqueues", "q", lambda x: consumed(x) == {"cpu": "0", "memory": "0"}, "covered resources at 0")
    s.wl("a", "q", 4)
    s.admitted("a")
    s.status("localqueues", "q", lambda x: consumed(x).get("cpu", "0") != "0", "cpu is used")


spec_consumed_resources_are_listed.configuration = USAGE


def spec_who_used_less_goes_first(s):
    s.flavor("f")
    s.cq("q", {"f": {"cpu": 8}}, local=False, admissionScope={"admissionMode": "UsageBasedAdmissionFairSharing"})
    s.lq("much", "q")
    s.lq("little", "q")
    s.wl("first", "much", 8)
    s.admitted("first")
    s.status("localqueues", "much", lambda x: x.get("fairSharing", {}).get("admissionFairSharingStatus", {}).get(
        "consumedResources", {}).get("cpu", "0") != "0", "cpu is used")
    s.wl("again", "much", 8)
    s.wl("other", "little", 8)
    s.waits("again", "other")
    s.finish("first")
    s.admitted("other")
    s.stays("again", reserves=False)


spec_who_used_less_goes_first.configuration = USAGE

CLAIMS = {"admissionFairSharing": {"usageHalfLifeTime": "300s", "usageSamplingInterval": "1s", "resourceWeights": {"whole-gpus": 5}},
          "resources": {"deviceClassMappings": [{"name": "whole-gpus", "deviceClassNames": ["gpu.example.com"]}]}}


def spec_devices_are_used_by_their_weight(s):
    """Of two LocalQueues one used a core and a device that weighs five, the other three cores: that one comes first."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    s.api.create("CustomResourceDefinition", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
        "metadata": {"name": "resourceclaimtemplates.resource.k8s.io",
                     "annotations": {"api-approved.kubernetes.io": "https://example.com/1"}},
        "spec": {"group": "resource.k8s.io", "scope": "Namespaced",
                 "names": {"kind": "ResourceClaimTemplate", "plural": "resourceclaimtemplates"},
                 "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                     "type": "object", "properties": {"spec": anything}}}}]}})
    s.flavor("f")
    s.cq("q", {"f": {"cpu": 4, "whole-gpus": 4}}, local=False, admissionScope={"admissionMode": "UsageBasedAdmissionFairSharing"})
    s.lq("devices", "q")
    s.lq("cores", "q")
    claims = {"resourceClaims": [{"name": "c", "resourceClaimTemplateName": "one"}]}
    s.wl("a", "devices", 1, pod=claims)
    s.waits("a", reason="Misconfigured")
    s.api.create("ResourceClaimTemplate", f"/apis/resource.k8s.io/v1/namespaces/{s.ns}/resourceclaimtemplates", {
        "metadata": {"name": "one"}, "spec": {"spec": {"devices": {"requests": [
            {"name": "r", "exactly": {"deviceClassName": "gpu.example.com", "allocationMode": "ExactCount", "count": 1}}]}}}})
    s.admitted("a")
    s.wl("b", "cores", 3)
    s.admitted("b")
    s.status("localqueues", "devices", lambda x: x.get("fairSharing", {}).get("admissionFairSharingStatus", {}).get(
        "consumedResources", {}).get("whole-gpus", "0") != "0", "devices are used")
    s.wl("later", "devices", 4)
    s.wl("first", "cores", 4)
    s.waits("later", "first")
    s.finish("a", "b")
    s.admitted("first")
    s.stays("later", reserves=False)


spec_devices_are_used_by_their_weight.configuration = CLAIMS
