/*
 * admission: what Kueue's webhooks do, as a table of rows by kind: suspend and gate what names a queue, give it the
 * default queue and class, refuse what would break queueing. port/admission.h is the interface; the embedded server
 * asks in its pipeline, site/webhook on a cluster.
 *
 * A row sees objects in their storage version where Berth has tables of the kind, else in the version the row is for.
 * Rows read what is newest (mirror_pending), so that the objects of one manifest see each other, and write nothing:
 * a question may be asked twice, or for an object that is never stored. Rows of Kueue's own kinds say only what their
 * tables (defaults, checks, immutability) do not: whoever asks runs those first.
 *
 *     static int mutate(const struct admission_context *c, struct admission_ask *q, struct err *err) {
 *         if (q->op != ADMISSION_CREATE || !admission_managed_namespace(c, q)) { return 0; }
 *         ...
 *     }
 *     const struct admission_row admission_job_rows[] = {{"batch", "Job", mutate, validate}, ...};
 */
#ifndef BERTH_CONTROL_ADMISSION_H
#define BERTH_CONTROL_ADMISSION_H

#include "control/load/queue_settings.h"
#include "mirror/mirror.h"
#include "port/admission.h"

struct virtual_registry;
struct zones;

#define ADMISSION_QUEUE_LABEL "kueue.x-k8s.io/queue-name"
#define ADMISSION_CLASS_LABEL "kueue.x-k8s.io/priority-class"

struct admission_options {
    struct mirror *mirror;
    const struct queue_settings *settings; /* NULL: the defaults; borrowed */
    /* Whether the mirror holds everything that is there; NULL: it always does. While it does not, every answer is
     * ERR_UNAVAILABLE, and on a cluster the webhook's failurePolicy decides. */
    bool (*ready)(void *ctx);
    void *ready_ctx;
    /* Where the planner of bookings answers; NULL: not in this process */
    struct virtual_registry *virtuals;
    struct zones *zones; /* NULL: UTC alone */
};

/* What a row may look at; settings is never NULL. */
struct admission_context {
    struct mirror *mirror;
    const struct queue_settings *settings;
    struct virtual_registry *virtuals; /* may be NULL */
    struct zones *zones;               /* may be NULL */
};

/* Either function may be NULL. Both return 0 or ERR_NOMEM (err filled); what is refused goes into q. */
struct admission_row {
    const char *group, *kind;
    int (*mutate)(const struct admission_context *c, struct admission_ask *q, struct err *err);
    int (*validate)(const struct admission_context *c, struct admission_ask *q, struct err *err);
};

/* The tables; each ends with a row without a kind. */
extern const struct admission_row admission_job_rows[];         /* admission_job.c */
extern const struct admission_row admission_cron_rows[];        /* admission_cron.c */
extern const struct admission_row admission_pod_rows[];         /* admission_pod.c */
extern const struct admission_row admission_key_rows[];         /* admission_key.c */
extern const struct admission_row admission_kueue_rows[];       /* admission_kueue.c */
extern const struct admission_row admission_reservation_rows[]; /* admission_reservation.c */

/* NULL when out of memory. */
struct admission *admission_new(const struct admission_options *o);
void admission_free(struct admission *a); /* NULL is a no-op */
/* NULL: nobody has a say about objects of this kind. */
const struct admission_row *admission_find(const struct kind *k);

/* ---- what rows share (admission_queue.c) ---- */

/* A label or annotation of q->obj; empty when absent. */
struct str admission_label(const struct admission_ask *q, const char *key);
struct str admission_annotation(const struct admission_ask *q, const char *key);
/* Of what is stored (q->old). */
struct str admission_old_label(const struct admission_ask *q, const char *key);
struct str admission_old_annotation(const struct admission_ask *q, const char *key);
/* 0 or ERR_NOMEM with err. */
int admission_set_label(struct admission_ask *q, const char *key, struct str v, struct err *err);
int admission_set_annotation(struct admission_ask *q, const char *key, struct str v,
                             struct err *err);
/* spec.suspend and the like: a dotted path from the root; made where its parents are missing. */
int admission_set_bool(struct admission_ask *q, const char *dotted, bool v, struct err *err);

/* Is anything of the asked namespace queued: managedJobsNamespaceSelector, else all but kube-system and our own. */
bool admission_managed_namespace(const struct admission_context *c, const struct admission_ask *q);
/* Does the namespace have a LocalQueue "default"? */
bool admission_has_default_queue(const struct admission_context *c, const struct admission_ask *q);
/* The queue that the object names. One that names none gets the namespace's LocalQueue "default", where there is one,
 * on its label. *ret is empty when it has none afterwards. */
int admission_queue_name(const struct admission_context *c, struct admission_ask *q,
                         struct str *ret, struct err *err);
/* The WorkloadPriorityClass "default", where there is one and the gate is on, for an object that names none. */
int admission_default_class(const struct admission_context *c, struct admission_ask *q,
                            struct err *err);

/* Causes for what only the scheduler says (pod_fields.h) in the templates of the object: the two annotations always,
 * nodeName where it is `queued`, administrators included. What was there before, and queued before, stays. */
int admission_check_templates(struct admission_ask *q, bool queued, struct err *err);

/* A warning that clients show; beyond ADMISSION_WARNINGS they are dropped. */
void admission_warn(struct admission_ask *q, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Warns of notes for topology-aware scheduling (kueue.x-k8s.io/podset-...), which nothing here acts on. */
void admission_warn_topology(struct admission_ask *q);

#endif
