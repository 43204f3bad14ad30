/*
 * serve_status (core): the status of an InferenceService by what is seen of its Deployment, its pods and its queue.
 *
 * Conditions (KServe, inference_service_status.go): PredictorReady by the Deployment's conditions; IngressReady when
 * the gateway has its route; Ready when both are true, unknown when one is and none is false; Stopped by the
 * annotation serving.kserve.io/stop. modelStatus by the newest pod: the storage container, then the server.
 *
 *     seen                                        PredictorReady          target state    transition
 *     no runtime                                  False, its reason       FailedToLoad    InvalidSpec
 *     stopped                                     False, Stopped          -               UpToDate
 *     scaled to zero by wish                      True, ScaledToZero      Standby         UpToDate
 *     waits for quota                             False, Queued           Pending         InProgress
 *     some wait for quota, others serve           as the Deployment says, Pending         InProgress
 *                                                 but Queued
 *     no pod, or pod not started                  as the Deployment says  Pending         InProgress
 *     a container that cannot start               as the Deployment says, Pending         InProgress
 *                                                 but the container's reason
 *     weights on their way, server loading them   as the Deployment says  Loading         InProgress
 *     fetching failed, server ended               as the Deployment says  FailedToLoad    BlockedByFailedLoad
 *     ready                                       True                    Loaded          UpToDate
 *
 * A new revision that fails leaves `active` Loaded while the old one serves.
 */
#ifndef BERTH_CORE_SERVE_STATUS_H
#define BERTH_CORE_SERVE_STATUS_H

#include "base/str.h"

enum serve_truth { SERVE_UNKNOWN, SERVE_FALSE, SERVE_TRUE };

/* A condition of the Deployment. */
struct serve_seen {
    bool there;
    enum serve_truth truth;
    struct str reason, message;
};

enum serve_pod {
    SERVE_POD_NONE,
    SERVE_POD_WAITING,
    SERVE_POD_FETCHING,
    SERVE_POD_LOADING,
    SERVE_POD_READY,
    SERVE_POD_FETCH_FAILED,
    SERVE_POD_ENDED
};

struct serve_observed {
    const char *no_runtime; /* runtime_choice_reason; NULL: there is one */
    struct str no_runtime_text;
    bool stopped;
    int32_t wanted, pods, ready, failed; /* replicas: asked for, there, ready, ended */
    struct str queued; /* why it waits: "position 3, about 40 s"; empty: it does not */
    struct serve_seen available, progressing, replica_failure;
    enum serve_pod pod; /* the newest */
    struct str pod_name, pod_text;
    int32_t exit_code;
    struct str fetching; /* "Loading 62 %, about 40 s"; empty: not known */
    /* Of a container that cannot start: "CreateContainerError", and what is wrong; empty: none waits so. */
    struct str waiting, waiting_text;
    bool routed;     /* the gateway has it */
    bool was_loaded; /* active was Loaded before, and still serves */
};

struct serve_condition {
    const char *type;
    enum serve_truth truth;
    struct str reason, message;
};

enum { SERVE_CONDITIONS = 4 };

struct serve_status {
    struct serve_condition
        conditions[SERVE_CONDITIONS];         /* PredictorReady, IngressReady, Ready, Stopped */
    const char *transition, *active, *target; /* active, target NULL: absent */
    const char *failure;                      /* lastFailureInfo.reason; NULL: none */
    struct str failure_text, failure_location;
    int32_t exit_code, copies, failed_copies;
};

/* Views of what was observed. */
struct serve_status serve_status_of(const struct serve_observed *o);

#endif
