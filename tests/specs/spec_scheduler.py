"""Specs of scheduler_test.go: quota, flavors, cohorts, queues that stop, what is read again."""

CPU5 = {"f": {"cpu": 5}}


def spec_admits_what_fits(s):
    s.flavor("spot", taints=[{"key": "t", "value": "spot", "effect": "NoSchedule"}])
    s.flavor("on-demand")
    s.cq("prod", {"spot": {"cpu": (5, 5)}, "on-demand": {"cpu": 5}}, cohort="prod")
    s.wl("a", "prod", 2)
    s.admitted("a")
    assert s.flavors("a") == {"main": {"cpu": "on-demand"}}, s.flavors("a")
    s.metric("kueue_quota_reserved_workloads_total", 1, "prod")
    s.wl("b", "prod", 5)
    s.waits("b", reason="WaitingForQuota")
    s.metric("kueue_pending_workloads", 1, "prod", status="inadmissible")
    s.metric("kueue_cluster_queue_resource_pending", 5, "prod", resource="cpu")
    s.wl("empty", "prod", 1, count=0)
    s.admitted("empty")
    assert s.usage("empty")["cpu"] == "0"
    s.metric("kueue_reserving_active_workloads", 2, "prod")
    s.finish("empty", "a")
    s.admitted("b")
    s.metric("kueue_admitted_workloads_total", 3, "prod")
    s.metric("kueue_cluster_queue_resource_pending", 0, "prod", resource="cpu")


def pods_as_quota(s, quotas, cpu):
    s.flavor("f")
    s.cq("q", {"f": quotas})
    s.wl("a", "q", sets={"main": (3, {"cpu": cpu})})
    s.admitted("a")
    assert s.usage("a")["pods"] == "3"
    s.wl("b", "q", sets={"main": (3, {"cpu": cpu})})
    s.waits("b")
    s.wl("c", "q", sets={"main": (2, {"cpu": cpu})})
    s.admitted("c")
    s.counts("q", pending=1, reserving=2)
    s.finish("a")
    s.admitted("b")
    s.finish("b", "c")
    s.counts("q", pending=0, reserving=0)


def spec_admits_as_many_pods_as_quota_allows(s):
    pods_as_quota(s, {"cpu": 100, "pods": 5}, 2)


def spec_admits_as_many_pods_where_only_they_count(s):
    pods_as_quota(s, {"cpu": 100, "pods": 5}, "1m")


THREE = {"first": (1, {"cpu": 1}), "second": (1, {"cpu": 1}), "third": (1, {"cpu": 1})}


def spec_reclaimed_pods_make_room(s):
    s.flavor("f")
    s.cq("q", {"f": {"cpu": 3}}, preemption={"withinClusterQueue": "LowerPriority"})
    s.wl("a", "q", sets=THREE)
    s.admitted("a")
    s.reclaim("a", third=1)
    s.wl("b", "q", sets=THREE, priority=100)
    s.let_go("a")
    s.admitted("b")
    s.counts("q", pending=1, reserving=1)
    s.reclaim("b", first=1, second=1)
    s.admitted("a")
    s.counts("q", pending=0, reserving=2)


def spec_gradually_released(s):
    s.flavor("f")
    s.cq("q", {"f": {"cpu": 3}})
    s.wl("a", "q", sets=THREE)
    s.admitted("a")
    s.wl("b", "q", 1)
    s.waits("b")
    s.reclaim("a", third=1)
    s.admitted("b")
    s.counts("q", pending=0, admitted=2)


def spec_reclaimable_pods_off(s):
    s.flavor("f")
    s.cq("q", {"f": {"cpu": 3}})
    s.wl("a", "q", sets=THREE)
    s.admitted("a")
    s.wl("b", "q", 1)
    s.waits("b")
    s.reclaim("a", third=1)
    s.wl("probe", "q", 9)
    s.waits("probe", reason="ExceedsMaxQuota")
    s.stays("b", reserves=False)
    s.counts("q", pending=2, reserving=1)


spec_reclaimable_pods_off.configuration = {"featureGates": {"ReclaimablePods": False}}


def by_priority_after_hold(s, kind, name):
    for n, p in (("low", 0), ("mid-1", 10), ("mid-2", 10), ("high-1", 100), ("high-2", 100)):
        s.wl(n, "q", 2, priority=p)
    s.waits("low", "mid-1", "mid-2", "high-1", "high-2")
    s.edit(kind, name, {"stopPolicy": "None"})
    s.admitted("high-1", "high-2")
    s.counts("q", pending=3, reserving=2)
    s.finish("high-1", "high-2")
    s.admitted("mid-1", "mid-2")
    s.counts("q", pending=1, reserving=2)
    s.metric("kueue_admitted_workloads_total", 4, "q")


def spec_held_cluster_queue_then_by_priority(s):
    s.flavor("f")
    s.cq("q", CPU5, stopPolicy="Hold")
    by_priority_after_hold(s, "clusterqueues", "q")


def spec_held_local_queue_then_by_priority(s):
    s.flavor("f")
    s.cq("q", CPU5, local=False)
    s.lq("q", "q", stopPolicy="Hold")
    by_priority_after_hold(s, "localqueues", "q")


def spec_two_small_after_a_big_one(s):
    s.flavor("f")
    s.cq("q", CPU5)
    s.wl("big", "q", 5)
    s.admitted("big")
    s.wl("a", "q", 2)
    s.wl("b", "q", 2)
    s.waits("a", "b")
    s.finish("big")
    s.admitted("a", "b")


def spec_reclaimed_before_admission_counts(s):
    s.flavor("f")
    s.cq("q", CPU5)
    s.wl("big", "q", 5)
    s.admitted("big")
    s.wl("b", "q", sets={"main": (5, {"cpu": 1})})
    s.waits("b")
    s.reclaim("b", main=2)
    s.finish("big")
    s.admitted("b")
    assert s.usage("b")["cpu"] == "3", s.usage("b")


def spec_zero_of_a_resource_that_is_not_covered(s):
    s.flavor("f")
    s.cq("q", CPU5)
    s.wl("a", "q", 1, **{"example.com_gpu": 0})
    s.admitted("a")


def spec_deleted_in_the_queue_and_the_cohort(s):
    s.flavor("f")
    s.cq("a", CPU5, cohort="co")
    s.cq("b", CPU5, cohort="co")
    s.wl("one", "a", 5)
    s.wl("two", "b", 5)
    s.admitted("one", "two")
    s.wl("three", "a", 5)
    s.waits("three")
    s.delete("workloads", "one")
    s.admitted("three")
    s.wl("four", "a", 5)
    s.waits("four")
    s.delete("workloads", "two")
    s.admitted("four")


def spec_quota_is_raised(s):
    s.flavor("f")
    s.cq("q", {"f": {"cpu": 5}})
    s.wl("a", "q", 6)
    s.waits("a", reason="ExceedsMaxQuota")
    s.edit("clusterqueues", "q", {"resourceGroups": s.groups({"f": {"cpu": 6}})})
    s.admitted("a")


def spec_namespaces_are_selected(s):
    s.flavor("f")
    s.cq("q", CPU5, namespaceSelector={"matchLabels": {"dept": "eng"}})
    s.wl("a", "q", 1)
    s.waits("a", reason="Misconfigured", message="doesn't match ClusterQueue selector")
    s.api.merge(f"/api/v1/namespaces/{s.ns}", {"metadata": {"labels": {"dept": "eng"}}})
    s.admitted("a")


def spec_inactive_until_its_flavor_comes(s):
    s.cq("q", CPU5)
    s.active("q", "False", "FlavorNotFound")
    s.wl("a", "q", 1)
    s.waits("a", message=f"ClusterQueue {s.full('q')} is inactive")
    s.flavor("f")
    s.active("q")
    s.admitted("a")


TAINT = {"key": "t", "value": "spot", "effect": "NoSchedule"}
TOLERATES = {"tolerations": [{"key": "t", "operator": "Equal", "value": "spot", "effect": "NoSchedule"}]}


def spec_tolerated_flavors(s):
    s.flavor("on-demand")
    s.flavor("spot", taints=[TAINT])
    s.cq("q", {"on-demand": {"cpu": 5}, "spot": {"cpu": 5}})
    s.wl("a", "q", 5)
    s.admitted("a")
    s.wl("b", "q", 5)
    s.waits("b")
    s.wl("c", "q", 5, pod=TOLERATES)
    s.admitted("c")
    assert s.flavors("c") == {"main": {"cpu": "spot"}}
    s.stays("b", reserves=False)


def spec_affinity_to_a_flavor(s):
    s.flavor("a", labels={"type": s.full("a")})
    s.flavor("b", labels={"type": s.full("b")})
    s.cq("q", {"a": {"cpu": 5}, "b": {"cpu": 5}})
    s.wl("w", "q", 1, pod={"nodeSelector": {"type": s.full("b")}})
    s.admitted("w")
    assert s.flavors("w") == {"main": {"cpu": "b"}}


def out_of_order(s, order):
    steps = {"f": lambda: s.flavor("f"), "c": lambda: s.cq("q", CPU5, local=False), "l": lambda: s.lq("q", "q"),
             "w": lambda: s.wl("a", "q", 1)}
    for x in order:
        steps[x]()
    s.admitted("a")


def spec_flavor_local_workload_cluster(s):
    out_of_order(s, "flwc")


def spec_workload_flavor_local_cluster(s):
    out_of_order(s, "wflc")


def spec_workload_flavor_cluster_local(s):
    out_of_order(s, "wfcl")


def spec_workload_cluster_local_flavor(s):
    out_of_order(s, "wclf")


def spec_borrows_from_another(s):
    s.flavor("f")
    s.cq("a", CPU5, cohort="co")
    s.wl("w", "a", 10)
    s.waits("w")
    s.cq("b", CPU5, cohort="co")
    s.admitted("w")
    s.wl("v", "b", 1)
    s.waits("v")


def spec_within_its_own_before_borrowing(s):
    s.flavor("f")
    s.cq("a", CPU5, cohort="co")
    s.cq("b", CPU5, cohort="co")
    s.wl("hold", "b", 10)
    s.admitted("hold")
    s.wl("borrows", "a", 6)
    s.waits("borrows")
    s.wl("own", "b", 5)
    s.waits("own")
    s.finish("hold")
    s.admitted("own")
    s.stays("borrows", reserves=False)


def spec_tries_the_next_flavor_rather_than_borrow(s):
    s.flavor("one")
    s.flavor("two")
    s.cq("q", {"one": {"cpu": 5}, "two": {"cpu": 5}}, cohort="co", flavorFungibility={"whenCanBorrow": "TryNextFlavor"})
    s.cq("lends", {"one": {"cpu": 5}}, cohort="co", local=False)
    s.wl("a", "q", 4)
    s.admitted("a")
    s.wl("b", "q", 4)
    s.admitted("b")
    assert s.flavors("b") == {"main": {"cpu": "two"}}


def spec_tries_the_next_flavor_where_it_cannot_preempt(s):
    s.flavor("one")
    s.flavor("two")
    s.cq("q", {"one": {"cpu": 5}, "two": {"cpu": 5}}, preemption={"withinClusterQueue": "LowerPriority"})
    s.wl("a", "q", 4, priority=10)
    s.admitted("a")
    s.wl("b", "q", 4)
    s.admitted("b")
    assert s.flavors("b") == {"main": {"cpu": "two"}}


def spec_preempts_before_the_next_flavor(s):
    s.flavor("one")
    s.flavor("two")
    s.cq("q", {"one": {"cpu": 5}, "two": {"cpu": 5}}, preemption={"withinClusterQueue": "LowerPriority"},
         flavorFungibility={"whenCanPreempt": "MayStopSearch"})
    s.wl("a", "q", 4)
    s.admitted("a")
    s.wl("b", "q", 4, priority=10)
    s.preempted("a")
    s.let_go("a")
    s.admitted("b")
    assert s.flavors("b") == {"main": {"cpu": "one"}}
    s.admitted("a")
    assert s.flavors("a") == {"main": {"cpu": "two"}}


def spec_cohort_with_quota_of_its_own(s):
    s.flavor("f")
    s.cq("q", {"f": {"cpu": 0}}, cohort="co")
    s.wl("a", "q", 5)
    s.waits("a")
    s.cohort("co", CPU5)
    s.admitted("a")


def spec_moves_into_a_cohort_with_capacity(s):
    s.flavor("f")
    s.cohort("poor", {"f": {"cpu": 1}})
    s.cohort("rich", {"f": {"cpu": 5}})
    s.cq("q", {"f": {"cpu": 0}}, cohort="poor")
    s.wl("a", "q", 5)
    s.waits("a")
    s.edit("clusterqueues", "q", {"cohortName": s.full("rich")})
    s.admitted("a")


def spec_long_distance_resource(s):
    s.flavor("f")
    s.cohort("root")
    s.cohort("left", parent="root")
    s.cohort("left-left", parent="left")
    s.cohort("right", parent="root")
    s.cohort("right-right", {"f": {"cpu": 10}}, parent="right")
    s.cq("q", {"f": {"cpu": 0}}, cohort="left-left")
    s.wl("a", "q", 10)
    s.admitted("a")


def spec_lending_limit(s):
    s.flavor("f")
    s.cq("a", CPU5, cohort="co")
    s.cq("b", {"f": {"cpu": (5, None, 1)}}, cohort="co", local=False)
    s.wl("w", "a", 7)
    s.waits("w")
    s.wl("v", "a", 6)
    s.admitted("v")
    s.finish("v")
    s.edit("clusterqueues", "b", {"resourceGroups": s.groups({"f": {"cpu": (5, None, 2)}})})
    s.admitted("w")


def spec_strict_fifo_by_priority(s):
    s.flavor("f")
    s.cq("q", CPU5, queueingStrategy="StrictFIFO")
    s.wl("first", "q", 2, priority=100)
    s.admitted("first")
    s.wl("blocks", "q", 5, priority=10)
    s.waits("blocks")
    s.wl("small", "q", 1, priority=1)
    s.counts("q", pending=2)
    s.stays("small", reserves=False)
    s.finish("first")
    s.admitted("blocks")
    s.finish("blocks")
    s.admitted("small")


def spec_strict_fifo_does_not_block_others(s):
    s.flavor("f")
    s.cq("strict", {"f": {"cpu": (5, 0)}}, cohort="co", queueingStrategy="StrictFIFO")
    s.cq("team", CPU5, cohort="co")
    s.cq("shared", CPU5, cohort="co", local=False)
    s.wl("big", "strict", 6)
    s.waits("big")
    s.wl("borrows", "team", 10)
    s.admitted("borrows")


def spec_not_into_a_queue_that_goes(s):
    s.flavor("f")
    s.cq("q", CPU5)
    s.wl("a", "q", 5)
    s.admitted("a")
    s.delete("clusterqueues", "q")
    s.active("q", "False", "Terminating")
    s.wl("b", "q", 1)
    s.waits("b", message="is inactive")
    s.finish("a")
    s.gone("clusterqueues", "q")


def drained(s, kind, name, reason, text):
    s.flavor("f")
    s.cq("q", CPU5)
    s.wl("a", "q", 2)
    s.wl("b", "q", 2)
    s.admitted("a", "b")
    s.wl("c", "q", 2)
    s.waits("c")
    s.edit(kind, name, {"stopPolicy": "HoldAndDrain"})
    for n in ("a", "b"):
        s.becomes(n, "Evicted", "True", reason, text)
    s.let_go("a", "b")
    s.counts("q", reserving=0)
    s.waits("a", "b", "c")
    s.edit(kind, name, {"stopPolicy": "None"})
    s.counts("q", pending=1, reserving=2)
    s.metric("kueue_evicted_workloads_total", 2, "q", reason=reason)


def spec_cluster_queue_drains(s):
    drained(s, "clusterqueues", "q", "ClusterQueueStopped", "The ClusterQueue is stopped")


def spec_local_queue_drains(s):
    drained(s, "localqueues", "q", "LocalQueueStopped", "The LocalQueue is stopped")


def spec_no_second_on_over_admission(s):
    s.flavor("f")
    s.cq("a", {"f": {"cpu": 2}}, cohort="co")
    s.cq("b", {"f": {"cpu": 1}}, cohort="co")
    s.wl("one", "a", 2)
    s.admitted("one")
    s.edit("clusterqueues", "a", {"resourceGroups": s.groups({"f": {"cpu": 1}})})
    s.wl("two", "b", 1)
    s.waits("two")


def spec_quota_goes_with_its_queue(s):
    s.flavor("f")
    s.cq("a", {"f": {"cpu": 0}}, cohort="co")
    s.cq("b", CPU5, cohort="co", local=False)
    s.delete("clusterqueues", "b")
    s.gone("clusterqueues", "b")
    s.wl("w", "a", 1)
    s.waits("w")


def spec_cohort_lending_limit_caps_siblings(s):
    s.flavor("f")
    s.cohort("root")
    s.cohort("left", parent="root")
    s.cohort("right", {"f": {"cpu": (10, None, 4)}}, parent="root")
    s.cq("q", {"f": {"cpu": 0}}, cohort="left")
    s.wl("big", "q", 5)
    s.waits("big")
    s.wl("fits", "q", 4)
    s.admitted("fits")


def spec_cohort_borrowing_limit(s):
    s.flavor("f")
    s.cohort("root", {"f": {"cpu": 10}})
    s.cohort("tight", {"f": {"cpu": (0, 2)}}, parent="root")
    s.cohort("free", {"f": {"cpu": 0}}, parent="root")
    s.cq("a", {"f": {"cpu": 0}}, cohort="tight")
    s.cq("b", {"f": {"cpu": 0}}, cohort="free")
    s.wl("no", "a", 3)
    s.waits("no")
    s.wl("yes", "b", 3)
    s.admitted("yes")
    s.wl("two", "a", 2)
    s.admitted("two")


def spec_gated_by_annotation(s):
    s.flavor("f")
    s.cq("q", CPU5)
    s.wl("a", "q", 1, annotations={"kueue.x-k8s.io/admission-gated-by": "example.com/gate"})
    s.waits("a", reason="AdmissionGated")
    s.api.merge(s.path("workloads", "a"), {"metadata": {"annotations": {"kueue.x-k8s.io/admission-gated-by": None}}})
    s.admitted("a")


spec_gated_by_annotation.configuration = {"featureGates": {"AdmissionGatedBy": True}}


def refused(s, message, requests, limits, ranges):
    s.flavor("f")
    s.cq("q", CPU5)
    if ranges:
        s.api.create("LimitRange", f"/api/v1/namespaces/{s.ns}/limitranges",
                     {"metadata": {"name": "l"}, "spec": {"limits": [{"type": "Container", **ranges}]}})
    s.wl("a", "q", requests, limits={"cpu": limits})
    if message:
        s.waits("a", message=message)
    else:
        s.admitted("a")


def spec_requests_above_the_limit_range(s):
    refused(s, "^resources didn't satisfy LimitRange constraints:", 2, "3", {"max": {"cpu": "1"}})


def spec_requests_below_the_limit_range(s):
    refused(s, "^resources didn't satisfy LimitRange constraints:", 2, "3", {"min": {"cpu": "3"}})


def spec_requests_within_the_limit_range(s):
    refused(s, None, 2, "3", {"min": {"cpu": "1"}, "max": {"cpu": "4"}})


def pod_level(s, requests, limits, ranges, message):
    s.flavor("f")
    s.cq("q", CPU5)
    if ranges:
        s.api.create("LimitRange", f"/api/v1/namespaces/{s.ns}/limitranges",
                     {"metadata": {"name": "l"}, "spec": {"limits": [{"type": "Pod", **ranges}]}})
    s.wl("a", "q", pod={"resources": {"requests": {"cpu": requests}, "limits": {"cpu": limits}}})
    if message:
        s.waits("a", message=message)
    else:
        s.admitted("a")
        assert s.usage("a")["cpu"] == requests


def spec_pod_level_requests_above_limits(s):
    pod_level(s, "3", "2", None, "^resources validation failed:")


def spec_pod_level_above_the_limit_range(s):
    pod_level(s, "2", "2", {"max": {"cpu": "1"}}, "^resources didn't satisfy LimitRange constraints:")


def spec_pod_level_below_the_limit_range(s):
    pod_level(s, "1", "1", {"min": {"cpu": "2"}}, "^resources didn't satisfy LimitRange constraints:")


def spec_pod_level_within_the_limit_range(s):
    pod_level(s, "2", "2", {"min": {"cpu": "1"}, "max": {"cpu": "4"}}, None)


def spec_pod_level_counts_against_quota(s):
    s.flavor("f")
    s.cq("q", CPU5)
    s.wl("a", "q", pod={"resources": {"requests": {"cpu": "5"}}})
    s.admitted("a")
    s.wl("b", "q", pod={"resources": {"requests": {"cpu": "5"}}})
    s.waits("b", reason="WaitingForQuota")
    s.finish("a")
    s.admitted("b")


def spec_read_again_when_taints_go(s):
    s.flavor("f", taints=[TAINT])
    s.cq("q", CPU5)
    s.wl("a", "q", 1)
    s.waits("a", reason="NoMatchingFlavor")
    s.edit("resourceflavors", "f", {"nodeTaints": []})
    s.admitted("a")


def spec_read_again_when_the_flavor_tolerates(s):
    s.flavor("f", taints=[TAINT])
    s.cq("q", CPU5)
    s.wl("a", "q", 1)
    s.waits("a", reason="NoMatchingFlavor")
    s.edit("resourceflavors", "f", TOLERATES)
    s.admitted("a")


def spec_read_again_when_labels_match(s):
    s.flavor("f", labels={"disk": "slow"})
    s.cq("q", CPU5)
    s.wl("a", "q", 1, pod={"nodeSelector": {"disk": "fast"}})
    s.waits("a", reason="NoMatchingFlavor")
    s.edit("resourceflavors", "f", {"nodeLabels": {"disk": "fast"}})
    s.admitted("a")


def spec_one_that_fits_behind_likes_that_do_not(s):
    s.flavor("f")
    s.cq("q", CPU5)
    s.wl("hold", "q", 3)
    s.admitted("hold")
    for i in range(4):
        s.wl(f"no-{i}", "q", 3)
    s.wl("fits", "q", 2)
    s.admitted("fits")
    s.counts("q", pending=4, reserving=2)


def spec_wording_when_one_flavor_is_short_and_one_does_not_match(s):
    s.flavor("a")
    s.flavor("b", taints=[TAINT])
    s.cq("q", {"a": {"cpu": 5}, "b": {"cpu": 5}})
    s.wl("hold", "q", 3)
    s.admitted("hold")
    s.wl("w", "q", 3)
    s.waits("w", reason="WaitingForQuota", message="untolerated taint")
    s.wl("x", "q", 9)
    s.waits("x", reason="ExceedsMaxQuota")
