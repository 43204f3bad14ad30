/*
 * integration: the kinds that are queued, as a table.
 *
 * A row says how a kind describes its pods, what holds it back, and how its status tells what became of it; all by
 * paths into its JSON, so that a kind of another project needs no field table, and what Berth does not know of it is
 * kept. What paths cannot say is a hook. job_queue drives all rows that can be suspended; the others are here for what
 * they own: pods, and the controllers whose pods are queued one by one (their rows have no `suspend`).
 *
 *     paths    dotted member names: "spec.template". "[]" after a list stands for each of its elements, "*" for each
 *              member of an object: "status.replicaStatuses.*.active"
 *
 * Rows are static; kinds come and go at run time (integration_kind).
 */
#ifndef BERTH_CONTROL_INTEGRATION_H
#define BERTH_CONTROL_INTEGRATION_H

#include "api/frameworks.h"
#include "control/load/podset_info.h"
#include "control/load/queue_settings.h"
#include "mirror/mirror.h"

#define KUEUE_QUEUE_LABEL "kueue.x-k8s.io/queue-name"

enum { INTEGRATION_PARTS = 8, INTEGRATION_COUNTS = 2 };

enum integration_flag {
    /* The templates of one that was started may not change: its status.startTime goes first (batch/v1 Job). */
    INTEGRATION_TEMPLATE_FIXED = 1 << 0,
    INTEGRATION_PARTIAL = 1 << 1, /* may run with fewer pods (annotation job-min-parallelism) */
    INTEGRATION_HOP = 1 << 2, /* never queued, only passed on the way to an ancestor (ReplicaSet) */
    /* What an admission gives is written while it is suspended and taken back once nothing runs, each by a write of
     * its own. */
    INTEGRATION_APART = 1 << 3,
    INTEGRATION_ELASTIC = 1 << 4, /* may change its size while it runs (job_slices.h) */
};

/* Where an object describes pods that are alike. */
struct integration_part {
    const char *at;       /* what describes them: "spec", "spec.workerGroupSpecs" */
    bool each;            /* it is a list, of one pod set per element */
    const char *name;     /* of the pod set; NULL: what stands at name_at */
    const char *name_at;  /* below `at` */
    const char *template; /* below `at`; "" is `at` itself */
    const char *counts[INTEGRATION_COUNTS]; /* below `at`: multiplied; an absent one is 1 */
    const char *
        job; /* below `at`, a Job's spec: times the smaller of parallelism and completions. "" is `at` itself */
};

/* One pod set of an object. */
struct job_part {
    struct str name;
    int32_t count, least;               /* least: how few would do; 0: not fewer */
    const char *index_label;            /* on its pods, of their rank; NULL: none */
    yyjson_val *template;               /* as the Workload has it */
    const struct integration_part *row; /* where the object has it; NULL: nowhere */
    size_t index;                       /* in the row's list */
};

/* One look at one object of an integrated kind. */
struct integration;
struct job_look {
    const struct integration *row;
    const struct object *obj;
    yyjson_val *tree;
    const struct mirror *mirror;
    const struct queue_settings *settings;
    struct arena *arena;
    struct job_part *parts;
    size_t n_parts;
};

struct job_end {
    bool good;
    struct str message;
};

struct integration {
    const struct framework *is;
    unsigned flags;
    const char *suspend; /* true holds it back; NULL: it has nothing of the kind */
    struct integration_part parts[INTEGRATION_PARTS]; /* ends with at == NULL */
    const char *index_label;
    const char *running;    /* numbers of pods, added up: more than 0 is active */
    const char *state;      /* a word in the status ... */
    const char *state_runs; /* ... that when it is this says that it is active and all pods run */
    const char *ready_type; /* of the condition that says that all pods run */
    const char *done_type, *failed_type; /* of the conditions that end it */

    /* What differs; each may be NULL. */
    bool (*active)(const struct job_look *l);
    bool (*ready)(const struct job_look *l);
    bool (*finished)(const struct job_look *l, struct job_end *ret);
    bool (*on_hold)(const struct job_look *l); /* cannot run as it is: gives its quota back */
    bool (*skipped)(const struct job_look *l); /* is nobody's to queue */
    /* How many pods of pod set i will not be needed any more. */
    int64_t (*reclaimable)(const struct job_look *l, size_t i);
    /* Changes the parts that the table found, or finds others. 0, ERR_NOMEM, ERR_NOT_FOUND (with a text: cannot be
     * said yet), ERR_INVALID (with a text: never). */
    int (*adapt)(struct job_look *l, struct err *err);
    /* What an admission changes beside the templates, which are changed already; `root` is the object with its spec
     * alone. */
    int (*inject)(const struct job_look *l, const struct podset_info *infos, size_t n,
                  yyjson_mut_doc *d, yyjson_mut_val *root, struct err *err);
    /* Takes it out; was: the Workload's pod sets. */
    int (*restore)(const struct job_look *l, yyjson_val *was, yyjson_mut_doc *d,
                   yyjson_mut_val *root);
    struct str (*priority_class)(const struct job_look *l);
    /* Defaults and rules for new and changed ones that name a queue, beside those that all share (admission_job.c). */
    int (*prepare)(yyjson_mut_doc *d, yyjson_mut_val *root);
    void (*check)(yyjson_mut_val *root, struct causes *causes);
};

const struct integration *integration_rows(size_t *ret_n);
const struct integration *integration_by_name(struct str framework); /* NULL: not known */
const struct integration *integration_of(const struct kind *k);      /* NULL: not integrated */
/* By what an ownerReference says; the version does not matter. NULL: not integrated. */
const struct integration *integration_of_owner(const struct owner_ref *o);
/* The row's kind as it is served now; NULL while nobody serves it. */
const struct kind *integration_kind(const struct integration *i);
/* Does the Configuration want it queued? Without a list, all are. */
bool integration_enabled(const struct integration *i, const struct queue_settings *s);

/* ---- who is queued ---- */

/* Are jobs in this namespace queued at all? */
bool integration_in_namespace(const struct mirror *m, const struct queue_settings *s,
                              struct str ns);
/* May what that says have changed with this Namespace? */
bool integration_namespace_moved(const struct queue_settings *s, const struct change *ch);
/* The topmost object above one (by controller references, UIDs must match) that is queued itself: of an enabled kind,
 * and with a queue or where all jobs are managed. *ret is NULL when there is none. ERR_TOO_LARGE: more than ten levels.
 * ERR_NOT_FOUND: one on the way is of a kind that is served, and not there (yet). `controller` is its own reference, or
 * NULL; it need not be stored itself. */
int integration_ancestor(const struct mirror *m, const struct queue_settings *s,
                         const struct owner_ref *controller, struct str ns,
                         const struct object **ret);
/* The Workload of an object, not finished, the newest; NULL when none. */
const struct object *integration_workload(const struct mirror *m, const struct object *o);

/* ---- one look ---- */

/* Fills look->tree and the parts. look->row, obj, mirror, settings and arena are set. As `adapt`. */
int job_look_init(struct job_look *l, struct err *err);
bool job_look_suspended(const struct job_look *l);
bool job_look_active(const struct job_look *l); /* pods of it may run */
bool job_look_ready(const struct job_look *l);
bool job_look_finished(const struct job_look *l, struct job_end *ret);
int64_t job_look_reclaimable(const struct job_look *l, size_t i); /* at most its count */
struct str job_look_priority_class(const struct job_look *l);
yyjson_val *job_look_condition(const struct job_look *l, const char *type); /* NULL when absent */
struct str job_look_annotation(const struct job_look *l, const char *key);

/* A merge patch, conditional on the object's version, that unsuspends it with what each pod set is given. ERR_CONFLICT
 * with a text: can never start. */
int job_look_start(const struct job_look *l, const struct podset_info *infos, size_t n,
                   struct buf *out, struct err *err);
/* A merge patch that suspends it; was: the Workload's pod sets, whose templates come back, or NULL. ERR_NOT_FOUND: it
 * is so already. */
int job_look_stop(const struct job_look *l, yyjson_val *was, struct buf *out);
/* Do templates hold what an admission put there? */
bool job_look_injected(const struct job_look *l, yyjson_val *was);

#endif
