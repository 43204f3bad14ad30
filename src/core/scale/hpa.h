/*
 * hpa: one look of the HorizontalPodAutoscaler's controller at one object, as arithmetic: what is there and now in, how
 * many replicas, status and events out. The numbers, the texts and their order are those of Kubernetes 1.36
 * (pkg/controller/podautoscaler), which the recorded answers in tests/replay compare it with.
 *
 * The caller reads the scale, the pods, and every metric of the spec; asks hpa_decide; writes the scale where the
 * answer says so, and then tells hpa_written how that went; and writes the status where it changed. Memory outlives
 * the looks: past recommendations and changes, by which rates are limited and numbers steadied. It is lost with the
 * process, as upstream's is.
 *
 * Amounts are in thousandths, times in nanoseconds since 1970. All that an answer points to is in the arena or is the
 * input's own.
 */
#ifndef BERTH_CORE_HPA_H
#define BERTH_CORE_HPA_H

#include "api/scaling/view_scaling.h"
#include "base/arena.h"
#include "base/vec.h"

/* The flags of the controller and the feature gates that it knows. */
struct hpa_config {
    double tolerance;            /* 0.1: a ratio of 0.9 to 1.1 changes nothing */
    int64_t downscale_window_ns; /* 300 s */
    int64_t
        cpu_initialization_ns; /* 300 s: since its start a pod's use of CPU counts only once it is ready */
    int64_t initial_readiness_ns; /* 30 s: until then a pod that is not ready was never ready */
    bool scale_to_zero;           /* HPAScaleToZero */
    bool configurable_tolerance;  /* HPAConfigurableTolerance */
};
extern const struct hpa_config hpa_config_default;

/* ---- what is there ---- */

struct hpa_container {
    struct str name;
    struct quantity_map requests;
    bool init, sidecar; /* an init container; one that goes on (restartPolicy Always) */
};
enum hpa_ready { HPA_READY_UNSET, HPA_READY_TRUE, HPA_READY_FALSE, HPA_READY_UNKNOWN };
struct hpa_pod {
    struct str name, phase;
    const struct str_map *labels;
    bool deleted; /* has a deletionTimestamp */
    bool started; /* has a startTime */
    int64_t start_ns;
    enum hpa_ready ready;
    int64_t ready_since_ns;                 /* last transition of the condition Ready */
    const struct hpa_container *containers; /* init containers in their order */
    size_t n_containers;
    const struct quantity_map *requests; /* of the pod as a whole (spec.resources); NULL: none */
};

struct hpa_container_use {
    struct str name;
    struct quantity_map usage;
};
struct hpa_pod_use {
    struct str pod;
    int64_t at_ns, window_ns;
    const struct hpa_container_use *containers;
    size_t n;
};
/* An answer of metrics.k8s.io for the selector. */
struct hpa_use {
    struct str error; /* not empty: the request failed with it */
    const struct hpa_pod_use *v;
    size_t n;
};

struct hpa_sample {
    struct str pod;
    int64_t milli, at_ns, window_ns;
};
/* An answer for a metric of the types Pods (samples), Object (one value) and External (values). */
struct hpa_reading {
    struct str error;
    const struct hpa_sample *samples;
    const int64_t *values;
    size_t n;
};

/* Another HorizontalPodAutoscaler of the namespace, and the selector that its target had last. */
struct hpa_rival {
    struct str name, selector;
};

struct hpa_input {
    struct str namespace, name;
    const struct hpa_spec *spec;     /* with its defaults */
    const struct hpa_status *status; /* NULL: none yet */
    int64_t now_ns;
    /* The scale of the target. Not empty: it could not be read, and why. */
    struct str scale_error;
    struct str target_kind; /* for failures, "Deployment/ns/name" */
    int32_t spec_replicas, status_replicas;
    struct str selector;
    const struct hpa_pod *pods; /* of the namespace; the selector picks */
    size_t n_pods;
    const struct hpa_rival *rivals;
    size_t n_rivals;
    const struct hpa_use *use; /* for Resource and ContainerResource; NULL: not served */
    const struct hpa_reading
        *readings; /* one for each metric of the spec; others are not looked at */
};

/* ---- memory ---- */

struct hpa_recommendation {
    int32_t replicas;
    int64_t at_ns;
};
struct hpa_change {
    int32_t by; /* above 0 */
    int64_t at_ns;
    bool outdated;
};
/* Of each sort so many are kept: an hour, the longest window, has 240 looks of 15 seconds, and further ones where the
 * spec is changed. Beyond that the oldest makes room. */
enum { HPA_PAST_MAX = 1000 };
VEC(hpa_recommendations, struct hpa_recommendation);
VEC(hpa_changes, struct hpa_change);
struct hpa_memory {
    bool known; /* recommendations were begun */
    struct hpa_recommendations recommendations;
    struct hpa_changes ups, downs;
};
void hpa_memory_release(struct hpa_memory *m); /* empty again, as all zero */

/* ---- the answer ---- */

struct hpa_event {
    bool warning;
    const char *reason;
    struct str message;
};
enum { HPA_EVENTS_MAX = 256 }; /* further ones of one look are left out */

struct hpa_answer {
    bool write; /* the scale should be written, and hpa_written be told */
    int32_t replicas;
    struct str failure; /* not empty: something failed, in upstream's words; what worked was done */
    struct hpa_status status;
    bool status_changed;
    struct hpa_event *events;
    size_t n_events, cap_events;
    struct str reason; /* of the change, for hpa_written */
};

/* 0 or ERR_NOMEM. Unless answer->write, all is said. */
int hpa_decide(const struct hpa_config *c, const struct hpa_input *in, struct hpa_memory *m,
               struct arena *a, struct hpa_answer *answer);
/* After the scale was written; an error that is not empty: it was not, and why. `answer` is the one of hpa_decide for
 * the same input. 0 or ERR_NOMEM. */
int hpa_written(const struct hpa_config *c, const struct hpa_input *in, struct hpa_memory *m,
                struct arena *a, struct str error, struct hpa_answer *answer);

/* Do they say the same? Amounts by value. */
bool hpa_metric_same(const struct hpa_metric *a, const struct hpa_metric *b);
bool hpa_status_same(const struct hpa_status *a, const struct hpa_status *b);
/* What is wrong with the apiVersion of a target, in upstream's words; empty: nothing. */
struct str hpa_version_error(struct arena *a, struct str api_version);

#endif
