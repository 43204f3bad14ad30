/*
 * queue_notes: labels and annotations by which people steer queueing. A value that means nothing is refused when it is
 * written, by name, so that nobody waits for what was never understood; what was there before stays as it is.
 */
#include "api/kinds/queue_notes.h"

#include "api/kinds/kinds.h"
#include "base/limits.h"
#include "wire/text/time.h"

#define QUEUE_LABEL "kueue.x-k8s.io/queue-name"

struct queue_note {
    const char *map, *key;              /* "annotations" or "labels" of metadata */
    const char *(*fault)(struct str v); /* NULL: the value is fine */
};

static const char *instant_fault(struct str v) {
    int64_t ns;
    return time_parse(v, &ns, NULL) == 0
               ? NULL
               : "must be a time as in RFC 3339, like 2026-03-01T12:00:00Z";
}

static const char *duration_fault(struct str v) {
    int64_t ns;
    return duration_parse(v, &ns, NULL) == 0 && ns >= 0 ? NULL
                                                        : "must be a duration, like 90m or 1h30m";
}

static const char *runtime_fault(struct str v) {
    int64_t n;
    bool fine = str_to_i64(v, &n) ? n > 0 && n < INT64_MAX / 1000000000
                                  : duration_parse(v, &n, NULL) == 0 && n > 0;
    return fine ? NULL : "must be a duration, like 1h30m, or whole seconds";
}

static const char *integer_fault(struct str v) {
    int64_t n;
    return str_to_i64(v, &n) ? NULL : "must be an integer";
}

static const char *seconds_fault(struct str v) {
    int64_t n;
    return str_to_i64(v, &n) && n > 0 && n <= INT32_MAX ? NULL : "should be greater than 0";
}

static const char *bool_fault(struct str v) {
    return str_is(v, "true") || str_is(v, "false") ? NULL : "must be true or false";
}

/* Cuts the first name off a list. */
static struct str gate_next(struct str *list) {
    size_t end = 0;
    while (end < list->n && list->p[end] != ',') {
        end++;
    }
    struct str one = str_from(list->p, end);
    *list = end < list->n ? str_from(list->p + end + 1, list->n - end - 1) : (struct str){0};
    return one;
}

bool queue_gates_within(struct str now, struct str was) {
    while (now.n > 0) {
        struct str one = gate_next(&now), rest = was;
        bool found = false;
        while (rest.n > 0 && !found) {
            found = str_eq(gate_next(&rest), one);
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

/* Names of gates, each with a domain: "example.com/ready,example.com/paid". */
static const char *gates_fault(struct str v) {
    for (int n = 0; v.n > 0; n++) {
        struct str one = gate_next(&v);
        if (n >= LIMIT_ADMISSION_GATES) {
            return "must be at most 64 names";
        }
        if (one.n > 63 || !str_contains(one, STR("/")) || format_fault("label-key", one) != NULL) {
            return "must be names with a domain prefix, of at most 63 characters, joined by commas";
        }
    }
    return NULL;
}

static const struct queue_note for_all[] = {
    {"annotations", "berth.dev/protected-until", instant_fault},
    {"annotations", "berth.dev/minimum-runtime", duration_fault},
    {"annotations", "berth.dev/expected-runtime", runtime_fault},
    {"annotations", "kueue.x-k8s.io/admission-gated-by", gates_fault},
};
static const struct queue_note for_workloads[] = {
    {"annotations", "kueue.x-k8s.io/priority-boost", integer_fault},
};
static const struct queue_note for_jobs[] = {
    {"labels", "kueue.x-k8s.io/max-exec-time-seconds", seconds_fault},
    {"annotations", "kueue.x-k8s.io/job-min-parallelism", integer_fault},
    {"annotations", "kueue.x-k8s.io/job-completions-equal-parallelism", bool_fault},
};
static const struct queue_note for_queues[] = {
    {"annotations", "berth.dev/max-protection", duration_fault},
};

static struct str now_of(yyjson_mut_val *obj, const struct queue_note *n) {
    return json_mstr(
        json_mget(json_mget(json_mget(obj, STR("metadata")), str_of(n->map)), str_of(n->key)));
}

static bool present(yyjson_mut_val *obj, const struct queue_note *n) {
    return json_mget(json_mget(json_mget(obj, STR("metadata")), str_of(n->map)), str_of(n->key)) !=
           NULL;
}

static void check(yyjson_mut_val *obj, yyjson_val *old, const struct queue_note *v, size_t n,
                  struct causes *c) {
    struct path meta = path_member(NULL, "metadata");
    for (size_t i = 0; i < n; i++) {
        struct path map = path_member(&meta, v[i].map), at = path_key(&map, str_of(v[i].key));
        yyjson_val *was =
            json_get(json_get(json_get(old, STR("metadata")), str_of(v[i].map)), str_of(v[i].key));
        struct str now = now_of(obj, &v[i]);
        const char *fault = present(obj, &v[i]) ? v[i].fault(now) : NULL;
        if (fault != NULL && !(was != NULL && str_eq(json_str(was), now))) {
            cause_invalid(c, &at, now, "%s", fault);
        }
    }
}

/* What opened a gate may rely on it: none is closed later. */
static void check_gates(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    static const struct queue_note gates = {"annotations", "kueue.x-k8s.io/admission-gated-by",
                                            NULL};
    struct path meta = path_member(NULL, "metadata"), map = path_member(&meta, gates.map);
    struct path at = path_key(&map, str_of(gates.key));
    struct str now = now_of(obj, &gates);
    struct str was = json_str(
        json_get(json_get(json_get(old, STR("metadata")), str_of(gates.map)), str_of(gates.key)));
    if (old != NULL && gates_fault(now) == NULL && !queue_gates_within(now, was)) {
        cause_forbidden(c, &at, "%s",
                        was.n == 0 ? "cannot add admission gate after creation"
                                   : "can only remove gates, not add new ones");
    }
}

/* With fewer pods than asked for only if it says so before it runs. */
static void check_least(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    const struct queue_note *least = &for_jobs[1];
    struct path meta = path_member(NULL, "metadata"), map = path_member(&meta, least->map);
    struct path at = path_key(&map, str_of(least->key)), spec = path_member(NULL, "spec");
    struct path parallelism = path_member(&spec, "parallelism");
    yyjson_mut_val *s = json_mget(obj, STR("spec"));
    int64_t n, count = yyjson_mut_get_sint(json_mget(s, STR("parallelism")));
    if (!str_to_i64(now_of(obj, least), &n)) {
        return;
    }
    if (old == NULL && (n < 1 || n >= count)) {
        cause_invalid(c, &at, now_of(obj, least), "should be between 1 and %lld",
                      (long long)count - 1);
    }
    if (old != NULL && !json_bool_at(old, "spec.suspend", false) &&
        !yyjson_mut_get_bool(json_mget(s, STR("suspend"))) &&
        json_i64_at(old, "spec.parallelism", 1) != count) {
        cause_forbidden(c, &parallelism,
                        "cannot change when partial admission is enabled and the job is not "
                        "suspended");
    }
}

/* A Job that runs stays in its queue: what it holds is held there. */
static void check_queue(yyjson_mut_val *obj, yyjson_val *old, const struct queue_note *queue,
                        struct causes *c) {
    struct path meta = path_member(NULL, "metadata"), map = path_member(&meta, queue->map);
    struct path at = path_key(&map, str_of(queue->key));
    yyjson_val *labels = json_get(json_get(old, STR("metadata")), str_of(queue->map));
    if (old != NULL &&
        !yyjson_mut_get_bool(json_mget(json_mget(obj, STR("spec")), STR("suspend"))) &&
        !str_eq(json_str(json_get(labels, str_of(queue->key))), now_of(obj, queue))) {
        cause_invalid(c, &at, now_of(obj, queue), "field is immutable");
    }
}

void job_notes_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    const struct queue_note queue = {"labels", QUEUE_LABEL, NULL};
    check_queue(obj, old, &queue, c);
    check(obj, old, for_all, COUNT(for_all), c);
    check_gates(obj, old, c);
    if (now_of(obj, &queue).n > 0) {
        check(obj, old, for_jobs, COUNT(for_jobs), c);
        check_least(obj, old, c);
    }
}

void workload_notes_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    check(obj, old, for_all, COUNT(for_all), c);
    check_gates(obj, old, c);
    check(obj, old, for_workloads, COUNT(for_workloads), c);
}

void cluster_queue_notes_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    check(obj, old, for_queues, COUNT(for_queues), c);
}
