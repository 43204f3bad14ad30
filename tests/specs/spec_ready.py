"""Specs of podsready: who is not ready holds others back, and is put off when it takes too long."""


def configuration(timeout, block=True, **strategy):
    return {"waitForPodsReady": {"timeout": timeout, "blockAdmission": block, "requeuingStrategy": {
        "timestamp": "Eviction", "backoffBaseSeconds": 1, **strategy}}}


SHORT = configuration("1s", backoffLimitCount=2)
FREE = configuration("300s", block=False)


def queues(s):
    s.flavor("f")
    for n in ("prod", "dev"):
        s.cq(n, {"f": {"cpu": 5}}, cohort="all")


def ready(s, name, reason):
    s.set_condition(name, "PodsReady", "True", reason)


# One at a time, also beside other specs: each has a Berth of its own, by a timeout of its own.


def spec_others_wait_until_it_is_ready(s):
    queues(s)
    s.wl("a", "prod", 2)
    s.admitted("a")
    s.wl("b", "dev", 2)
    s.waits("b", reason="WaitingForPodsReady")
    ready(s, "a", "PodsReady")
    s.admitted("b")


spec_others_wait_until_it_is_ready.configuration = configuration("301s")


def spec_others_wait_until_it_has_started(s):
    queues(s)
    s.wl("a", "prod", 2)
    s.admitted("a")
    s.wl("b", "dev", 2)
    s.waits("b", reason="WaitingForPodsReady")
    ready(s, "a", "Started")
    s.admitted("b")
    s.edit("workloads", "a", {"active": False})
    s.let_go("a")
    s.metric("kueue_pods_ready_to_evicted_time_seconds_count", 1, "prod", reason="Deactivated")
    s.delete("workloads", "b")


spec_others_wait_until_it_has_started.configuration = configuration("302s")


def spec_others_wait_until_it_is_deleted(s):
    queues(s)
    s.wl("a", "prod", 2)
    s.admitted("a")
    s.wl("b", "dev", 2)
    s.waits("b")
    s.delete("workloads", "a")
    s.admitted("b")


spec_others_wait_until_it_is_deleted.configuration = configuration("303s")


def spec_without_blocking_nobody_waits(s):
    queues(s)
    s.wl("a", "prod", 2)
    s.wl("b", "dev", 2)
    s.admitted("a", "b")


spec_without_blocking_nobody_waits.configuration = FREE


def requeue(s, name):
    return ((s.see("workloads", name) or {}).get("status") or {}).get("requeueState") or {}


def spec_put_off_and_deactivated(s):
    queues(s)
    s.wl("a", "prod", 2)
    for count in (1, 2):
        s.becomes("a", "Evicted", "True", "PodsReadyTimeout", f"^Exceeded the PodsReady timeout {s.ns}/a$")
        s.world.wait(lambda n=count: f"count {n}", lambda n=count: requeue(s, "a").get("count") == n)
        assert requeue(s, "a").get("requeueAt"), requeue(s, "a")
        s.stays("a", reserves=True)
        s.set_condition("a", "Requeued", "False", "PodsReadyTimeout", "by test")
        s.let_go("a")
        s.world.wait(lambda: "requeueAt is cleared", lambda: not requeue(s, "a").get("requeueAt"))
        assert requeue(s, "a").get("count") == count
        s.admitted("a")
    s.becomes("a", "Evicted", "True", "DeactivatedDueToRequeuingLimitExceeded")
    assert s.see("workloads", "a")["spec"]["active"] is False
    s.world.wait(lambda: "no requeueState", lambda: not requeue(s, "a"))
    s.let_go("a")
    s.metric("kueue_evicted_workloads_total", 1, "prod", reason="Deactivated", underlying_cause="RequeuingLimitExceeded")
    s.metric("kueue_evicted_workloads_total", 2, "prod", reason="PodsReadyTimeout", underlying_cause="WaitForStart")
    s.metric("kueue_evicted_workloads_once_total", 1, "prod", reason="PodsReadyTimeout", underlying_cause="WaitForStart")


spec_put_off_and_deactivated.configuration = SHORT


def spec_another_comes_in_meanwhile(s):
    queues(s)
    s.wl("a", "prod", 2)
    s.admitted("a")
    s.wl("b", "dev", 2)
    s.waits("b")
    s.becomes("a", "Evicted", "True", "PodsReadyTimeout")
    s.set_condition("a", "Requeued", "False", "PodsReadyTimeout", "by test")
    s.let_go("a")
    s.admitted("b")
    s.counts("prod", reserving=0, pending=1)


spec_another_comes_in_meanwhile.configuration = configuration("1100ms", backoffBaseSeconds=60)
