/*
 * trigger: the settings of a KEDA trigger: metadata and credentials, read by a table of parameters for each type
 * (pkg/scalers/scalersconfig/typed_config.go), all faults at once; and the metric of the HPA that follows.
 *
 * Known here: cpu, memory, cron, prometheus, metrics-api, kubernetes-workload. A value is trimmed, and an empty one is
 * absent; unknown metadata is ignored, as in KEDA.
 */
#ifndef BERTH_CORE_TRIGGER_H
#define BERTH_CORE_TRIGGER_H

#include "api/scaling/view_scaling.h"
#include "base/arena.h"

enum trigger_fault {
    TRIGGER_MISSING,
    TRIGGER_INVALID, /* does not parse */
    TRIGGER_NOT_IN_ENUM,
    TRIGGER_EXCLUSIVE,
    TRIGGER_AUTH_INCOMPLETE, /* param: the first credential that is missing */
    TRIGGER_DEPRECATED,
    TRIGGER_BAD_SCHEDULE,
    TRIGGER_SAME_SCHEDULE,
    TRIGGER_ZERO,
    TRIGGER_NOT_POSITIVE,
    TRIGGER_NO_UTILIZATION,
    TRIGGER_BAD_METRIC_TYPE,
    TRIGGER_INVALID_NUMBER,
    TRIGGER_INVALID_SELECTOR,
    TRIGGER_UNKNOWN_TYPE,
};
/* "missing", "notInEnum", ... */
const char *trigger_fault_name(enum trigger_fault f);
/* What is wrong, as a sentence for people. In the arena. */
struct str trigger_fault_text(struct arena *a, enum trigger_fault f, struct str param);

enum trigger_type {
    TRIGGER_TEXT,
    TRIGGER_FLOAT,
    TRIGGER_INT,
    TRIGGER_BOOL,
    TRIGGER_DURATION,
    TRIGGER_MAP,
    TRIGGER_LIST,
    TRIGGER_QUERY
};

/* One parameter's value: by its type. Names of alternatives are joined by a comma. */
struct trigger_value {
    const char *param;
    enum trigger_type type;
    bool credential; /* of the common parameters of HTTP authentication */
    bool set;        /* given, or by its default */
    struct str text;
    double number;
    int64_t integer; /* milliseconds of a duration */
    bool truth;
    struct str_list list;
    struct str_map map; /* of a query: a key more than once where it has more values */
};

struct trigger_input {
    struct str type;
    const struct str_map *metadata, *auth; /* auth: NULL: none */
    struct str metric_type;                /* of the trigger; empty: AverageValue */
    bool in_formula;                       /* its value goes into scalingModifiers */
    int64_t index;
    struct str namespace;
};

enum { TRIGGER_VALUES_MAX = 40, TRIGGER_FAULTS_MAX = 48 };
struct trigger {
    struct trigger_value values[TRIGGER_VALUES_MAX];
    size_t n;
    struct {
        enum trigger_fault fault;
        struct str param;
    } faults[TRIGGER_FAULTS_MAX];
    size_t n_faults; /* 0: metric is set */
    struct hpa_metric metric;
    struct str metric_name; /* "s0-prometheus"; empty: of cpu and memory */
    int64_t target_milli;   /* of an external metric */
};

/* 0 or ERR_NOMEM; faults are in *ret. */
int trigger_parse(const struct trigger_input *in, struct arena *a, struct trigger *ret);
/* NULL: there is no such parameter. */
const struct trigger_value *trigger_get(const struct trigger *t, const char *param);
struct str trigger_text(const struct trigger *t, const char *param);
double trigger_number(const struct trigger *t, const char *param);
bool trigger_truth(const struct trigger *t, const char *param);
/* Is this mode of authentication on ("bearer")? */
bool trigger_mode(const struct trigger *t, const char *mode);

#endif
