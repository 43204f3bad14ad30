"""rows: what Kueue's tables of conditions list, as (kind, type, status, reason); and which rows cannot occur here."""

OBSERVED = "ClusterQueue", "LocalQueue", "Workload"

CLUSTER_QUEUE = [("ClusterQueue", "Active", status, reason) for status, reason in [
    ("True", "Ready"), ("False", "Terminating"), ("False", "Stopped"), ("False", "FlavorNotFound"),
    ("False", "AdmissionCheckNotFound"), ("False", "AdmissionCheckInactive"),
    ("False", "MultipleMultiKueueAdmissionChecks"), ("False", "MultiKueueAdmissionCheckAppliedPerFlavor"),
    ("False", "MultiKueueWithProvisioningRequest"), ("False", "TopologyNotFound"), ("False", "Unknown"),
    ("False", "NotFound")]]

LOCAL_QUEUE = [("LocalQueue", "Active", status, reason) for status, reason in [
    ("False", "Stopped"), ("False", "ClusterQueueDoesNotExist"), ("False", "ClusterQueueIsInactive"),
    ("True", "Ready")]]

EVICTED = ["Preempted", "PodsReadyTimeout", "AdmissionCheck", "ClusterQueueStopped", "LocalQueueStopped",
           "NodeFailures", "FlavorMigration", "Deactivated", "DeactivatedDueToRequeuingLimitExceeded",
           "DeactivatedDueToMaximumExecutionTimeExceeded", "DeactivatedDueToAdmissionCheck",
           "DeactivatedDueToEvictedOnManagerCluster"]

# Requeued is False with the reason of the eviction, but for the two that are queued again at once.
KEPT_OUT = [r for r in EVICTED if r not in ("Preempted", "NodeFailures", "FlavorMigration",
                                            "DeactivatedDueToEvictedOnManagerCluster")]

WORKLOAD = [("Workload", *row) for row in [
    ("QuotaReserved", "True", "QuotaReserved"),
    *[("QuotaReserved", "False", r) for r in (
        "WaitingForPlacement", "PendingEvaluation", "WaitingForQuota", "ExceedsMaxQuota", "NoMatchingFlavor", "TopologyPlacementFailed",
        "WaitingForPreemptedWorkloads", "WaitingForPodsReady", "Misconfigured", "Suspended", "AdmissionGated",
        "OnHold", "Deactivated")],
    ("Admitted", "True", "Admitted"),
    *[("Admitted", "False", r) for r in (
        "NoReservation", "UnsatisfiedAdmissionChecks", "PendingDelayedTopologyRequests",
        "NoReservationUnsatisfiedChecks", "UnsatisfiedChecks")],
    # The words of old: without the gate UnadmittedWorkloadsObservability.
    *[("QuotaReserved", "False", r) for r in ("Pending", "Waiting", "Inadmissible")],
    *[("Evicted", "True", r) for r in EVICTED],
    ("Evicted", "False", "QuotaReserved"), ("Preempted", "False", "QuotaReserved"),
    ("BlockedOnPreemptionGates", "False", "QuotaReserved"),
    *[("Preempted", "True", r) for r in (
        "InClusterQueue", "InCohortReclamation", "InCohortFairSharing", "InCohortReclaimWhileBorrowing")],
    ("PodsReady", "False", "WaitForStart"), ("PodsReady", "False", "WaitForRecovery"),
    ("PodsReady", "True", "Started"), ("PodsReady", "True", "Recovered"),
    *[("Requeued", "False", r) for r in KEPT_OUT],
    *[("Requeued", "True", r) for r in (
        "Preempted", "NodeFailures", "Reactivated", "BackoffFinished", "ClusterQueueRestarted",
        "LocalQueueRestarted")],
    ("Requeued", "False", "Inadmissible"),
    *[("DeactivationTarget", "True", r) for r in (
        "RequeuingLimitExceeded", "MaximumExecutionTimeExceeded", "AdmissionCheck", "EvictedOnManagerCluster")],
    *[("Finished", "True", r) for r in (
        "Succeeded", "Failed", "OutOfSync", "OwnerNotFound", "WorkloadSliceReplaced", "FailedToStart")],
    ("WaitingForReplacementPods", "True", "PodsFailed"), ("WaitingForReplacementPods", "True", "Preempted"),
    ("WaitingForReplacementPods", "False", "PodsReady"),
    ("BlockedOnPreemptionGates", "True", "PreemptionGated")]]

TAS = "topology-aware scheduling is not offered yet"
MULTIKUEUE = "no remote clusters yet"
CANNOT = {
    ("ClusterQueue", "Active", "False", "Unknown"): "every cause of inactivity has a reason of its own",
    ("ClusterQueue", "Active", "False", "NotFound"): "there is no cache that could lag behind the objects",
    ("Workload", "QuotaReserved", "False", "TopologyPlacementFailed"): TAS + "; places say WaitingForPlacement",
    ("Workload", "Admitted", "False", "PendingDelayedTopologyRequests"): TAS,
    ("Workload", "Evicted", "True", "NodeFailures"): TAS,
    ("Workload", "Evicted", "True", "FlavorMigration"): "concurrent admission is not offered",
    ("Workload", "Evicted", "True", "DeactivatedDueToEvictedOnManagerCluster"): MULTIKUEUE,
    ("Workload", "DeactivationTarget", "True", "EvictedOnManagerCluster"): MULTIKUEUE,
    ("Workload", "Requeued", "True", "NodeFailures"): TAS,
    ("Workload", "Requeued", "False", "Inadmissible"): "a claim that cannot be counted is looked at again by itself",
}

ALL = CLUSTER_QUEUE + LOCAL_QUEUE + WORKLOAD
