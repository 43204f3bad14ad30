"""Specs of preemption_test.go."""
WITHIN = {"withinClusterQueue": "LowerPriority"}
ANY = {"reclaimWithinCohort": "Any"}
BOTH = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}


def spec_lower_priority_goes(s):
    s.flavor("f")
    s.cq("q", {"f": {"cpu": 4}}, preemption=WITHIN)
    s.wl("low-1", "q", 2, priority=-1)
    s.wl("low-2", "q", 2, priority=-1)
    s.admitted("low-1", "low-2")
    s.wl("mid", "q", 2, priority=0)
    s.world.wait(lambda: "a victim", lambda: [n for n in ("low-1", "low-2") if s.condition(n, "Evicted")["status"] == "True"])
    victim = [n for n in ("low-1", "low-2") if s.condition(n, "Evicted")["status"] == "True"]
    assert len(victim) == 1, victim
    s.stays(victim[0], reserves=True)
    s.stays("mid", reserves=False)
    s.let_go(victim[0])
    s.admitted("mid")
    s.wl("high", "q", 4, priority=10)
    other = {"low-1": "low-2", "low-2": "low-1"}[victim[0]]
    s.preempted("mid", other)
    s.let_go("mid", other)
    s.admitted("high")


def spec_nobody_newer_makes_room_for_a_borrower(s):
    s.flavor("f")
    s.cq("q", {"f": {"cpu": 4}}, cohort="co", preemption={"withinClusterQueue": "LowerOrNewerEqualPriority"})
    s.cq("lends", {"f": {"cpu": 4}}, cohort="co", local=False)
    s.wl("old", "q", 3)
    s.admitted("old")
    s.wl("borrows", "q", 6)
    s.waits("borrows")
    s.stays("old", reserves=True)
    s.finish("old")
    s.admitted("borrows")


def spec_each_is_preempted_once(s):
    s.flavor("f")
    s.cq("q", {"f": {"cpu": 4}}, preemption=WITHIN)
    for i in range(4):
        s.wl(f"low-{i}", "q", 1)
    lows = [f"low-{i}" for i in range(4)]
    s.admitted(*lows)
    s.wl("high", "q", 4, priority=10)
    s.preempted(*lows)
    s.metric("kueue_preempted_workloads_total", 4, preempting_cluster_queue=s.full("q"), reason="InClusterQueue")
    s.let_go(*lows[:2])
    s.stays("high", reserves=False)
    s.let_go(*lows[2:])
    s.admitted("high")
    s.metric("kueue_preempted_workloads_total", 4, preempting_cluster_queue=s.full("q"), reason="InClusterQueue")
    s.counts("q", pending=4, reserving=1)


def spec_reclaims_what_is_borrowed(s):
    s.flavor("f")
    s.cq("a", {"f": {"cpu": 4}}, cohort="co", preemption=BOTH)
    s.cq("b", {"f": {"cpu": 4}}, cohort="co", preemption=BOTH)
    s.wl("b-low", "b", 5, priority=-1)
    s.admitted("b-low")
    s.wl("b-mid", "b", 1)
    s.admitted("b-mid")
    s.wl("a-mid", "a", 4)
    s.preempted("b-low")
    s.stays("b-mid", reserves=True)
    s.stays("a-mid", reserves=False)
    s.becomes("b-low", "Preempted", "True", "InCohortReclamation")
    s.let_go("b-low")
    s.admitted("a-mid")
    s.waits("b-low")


def spec_does_not_preempt_to_borrow(s):
    s.flavor("f")
    s.cq("a", {"f": {"cpu": 4}}, cohort="co", preemption=BOTH)
    s.cq("b", {"f": {"cpu": 4}}, cohort="co", preemption=BOTH)
    s.wl("low", "b", 5, priority=-1)
    s.admitted("low")
    s.wl("high", "a", 5, priority=10)
    s.waits("high")
    s.wl("probe", "a", 99)
    s.waits("probe", reason="ExceedsMaxQuota")
    s.stays("low", reserves=True)


def spec_preempts_while_borrowing(s):
    s.flavor("f")
    s.cq("shared", {"f": {"cpu": 10}}, cohort="co", local=False)
    s.cq("std", {"f": {"cpu": (1, 10)}}, cohort="co", preemption={
        **BOTH, "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 0}})
    s.cq("be", {"f": {"cpu": (0, 10)}}, cohort="co")
    s.wl("low", "be", 9, priority=-1)
    s.admitted("low")
    s.wl("high", "std", 9, priority=5)
    s.preempted("low")
    s.becomes("low", "Preempted", "True", "InCohortReclaimWhileBorrowing")
    s.let_go("low")
    s.admitted("high")


def spec_not_above_the_threshold(s):
    s.flavor("f")
    s.cq("shared", {"f": {"cpu": 10}}, cohort="co", local=False)
    s.cq("std", {"f": {"cpu": (1, 10)}}, cohort="co", preemption={
        **BOTH, "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 0}})
    s.cq("be", {"f": {"cpu": (0, 10)}}, cohort="co")
    s.wl("mid", "be", 9, priority=3)
    s.admitted("mid")
    s.wl("high", "std", 9, priority=5)
    s.waits("high")
    s.wl("probe", "std", 99)
    s.waits("probe")
    s.stays("mid", reserves=True)


def spec_with_a_lending_limit(s):
    s.flavor("f")
    s.cq("a", {"f": {"cpu": (5, None, 4)}}, cohort="co", preemption=BOTH)
    s.cq("b", {"f": {"cpu": (5, None, 4)}}, cohort="co", preemption=BOTH)
    s.wl("a-1", "a", 5, priority=1)
    s.wl("b-1", "b", 1)
    s.admitted("a-1", "b-1")
    s.wl("a-2", "a", 4)
    s.admitted("a-2")
    s.wl("b-2", "b", 4)
    s.preempted("a-2")
    s.let_go("a-2")
    s.admitted("b-2")


def spec_guaranteed_before_best_effort(s):
    s.flavor("f")
    s.cohort("root", {"f": {"cpu": 10}})
    s.cohort("guaranteed", {"f": {"cpu": 10}}, parent="root")
    s.cq("g", {"f": {"cpu": 0}}, cohort="guaranteed", preemption=BOTH)
    s.cq("be", {"f": {"cpu": 0}}, cohort="root", preemption=BOTH)
    s.wl("takes", "be", 15)
    s.admitted("takes")
    s.wl("wants", "g", 10)
    s.preempted("takes")
    s.let_go("takes")
    s.admitted("wants")


def strict_reclaims(s):
    s.flavor("f")
    for n in ("a", "b"):
        s.cq(n, {"f": {"cpu": 4}}, cohort="co", preemption=BOTH, queueingStrategy="StrictFIFO")
    s.wl("b-1", "b", 6)
    s.admitted("b-1")
    s.wl("b-2", "b", 9)
    s.waits("b-2")
    s.wl("a-1", "a", 4)
    s.preempted("b-1")
    s.let_go("b-1")
    s.admitted("a-1")


def spec_strict_reclaims_though_another_waits(s):
    strict_reclaims(s)


def concurrent(s, priorities):
    """Two that need the victims of one another at once: both come in."""
    s.flavor("f")
    for n in ("a", "b"):
        s.cq(n, {"f": {"cpu": 4}}, cohort="co", preemption=ANY)
    s.cq("c", {"f": {"cpu": 0}}, cohort="co")
    for i in range(8):
        s.wl(f"low-{i}", "c", 1, priority=-1)
    s.admitted(*[f"low-{i}" for i in range(8)])
    s.wl("a-1", "a", 4, priority=priorities[0])
    s.wl("b-1", "b", 4, priority=priorities[1])
    lows = [f"low-{i}" for i in range(8)]
    s.preempted(*lows)
    s.let_go(*lows)
    s.admitted("a-1", "b-1")


def spec_all_necessary_of_different_priorities(s):
    concurrent(s, (5, 10))


def spec_all_necessary_of_the_same_priority(s):
    concurrent(s, (5, 5))


def spec_all_necessary_without_recomputing(s):
    concurrent(s, (5, 5))


spec_all_necessary_without_recomputing.configuration = {
    "featureGates": {"RecomputeAssignmentUponPreemptionTargetsOverlap": False}}


def spec_a_gated_head_does_not_block(s):
    s.flavor("f")
    s.cq("q", {"f": {"cpu": 4}}, preemption=WITHIN)
    s.wl("low", "q", 3)
    s.admitted("low")
    s.make("workloads", "gated", {"spec": {"queueName": "q", "priority": 10, "preemptionGates": [{"name": "example.com/g"}],
                                           "podSets": [{"name": "main", "count": 1, "template": {"spec": {
                                               "restartPolicy": "Never", "containers": [
                                                   {"name": "c", "image": "i", "resources": {"requests": {"cpu": "3"}}}]}}}]}})
    s.becomes("gated", "BlockedOnPreemptionGates", "True", "PreemptionGated")
    s.wl("small", "q", 1)
    s.admitted("small")

    def door(o):
        o["status"]["preemptionGates"] = [{"name": "example.com/g", "position": "Open",
                                           "lastTransitionTime": "2026-01-01T00:00:00Z"}]
    s.change_status("gated", door)
    s.preempted("low")
    s.let_go("low")
    s.admitted("gated")


def spec_boosted(s):
    s.flavor("f")
    s.cq("q", {"f": {"cpu": 3}}, preemption=WITHIN)
    s.wl("mid-1", "q", 2, priority=10)
    s.admitted("mid-1")
    s.wl("mid-2", "q", 2, priority=10)
    s.wl("low", "q", 2, priority=0)
    s.waits("mid-2", "low")
    s.api.merge(s.path("workloads", "low"), {"metadata": {"annotations": {"kueue.x-k8s.io/priority-boost": "100"}}})
    s.preempted("mid-1")
    s.let_go("mid-1")
    s.admitted("low")
    s.stays("mid-2", reserves=False)


spec_boosted.configuration = {"featureGates": {"PriorityBoost": True}}
