/*
 * admission_job: what Kueue's webhooks of jobs do, for every kind of the table that can be held back. One with a queue
 * starts suspended, so that no pod exists before it is admitted; every one does where all are managed. What something
 * above it is queued for is that one's business, and so are jobs in namespaces where none are queued: nobody would ever
 * start them. Then the rules: what a queue cannot do anything with, and what may not change while pods run.
 */
#include "control/admit/admission.h"

#include "api/frameworks.h"
#include "api/kinds/queue_notes.h"
#include "api/schema/check.h"
#include "control/load/job_slices.h"
#include "control/load/workload_draft.h"

/* ---- what is asked about ---- */

static const struct integration *row_of(const struct admission_context *c,
                                        const struct admission_ask *q) {
    const struct integration *row = integration_of(q->kind);
    return row && row->suspend && integration_enabled(row, c->settings) ? row : NULL;
}

/* Its own controller reference; false: none. */
static bool controller_of(const struct admission_ask *q, struct owner_ref *ret) {
    size_t i, n;
    yyjson_mut_val *o;
    yyjson_mut_arr_foreach(json_mpath(q->obj, "metadata.ownerReferences"), i, n, o) {
        if (yyjson_mut_is_true(json_mget(o, STR("controller")))) {
            *ret = (struct owner_ref){.api_version = json_mstr(json_mget(o, STR("apiVersion"))),
                                      .kind = json_mstr(json_mget(o, STR("kind"))),
                                      .name = json_mstr(json_mget(o, STR("name"))),
                                      .uid = json_mstr(json_mget(o, STR("uid"))),
                                      .controller = true};
            return true;
        }
    }
    return false;
}

static bool is_suspended(const struct integration *row, yyjson_mut_val *root) {
    return yyjson_mut_is_true(json_mpath(root, row->suspend));
}

/* ---- elastic ones ---- */

static bool asks_elastic(const struct admission_context *c, struct str annotation) {
    return c->settings->gates.elastic_jobs && str_is(annotation, "true");
}

static bool is_elastic(const struct admission_context *c, const struct admission_ask *q) {
    return asks_elastic(c, admission_annotation(q, KUEUE_ELASTIC_ANNOTATION));
}

/* Its pods wait until there is quota for each. */
static int gate_template(struct admission_ask *q, struct err *err) {
    yyjson_mut_val *spec = json_mensure(q->doc, q->obj, "spec.template.spec");
    yyjson_mut_val *list = json_mget(spec, STR("schedulingGates"));
    yyjson_mut_val *gate = yyjson_mut_obj(q->doc);
    if (json_mfind(list, "name", STR(KUEUE_ELASTIC_GATE))) {
        return 0;
    }
    int r = spec && gate ? json_mset_str(q->doc, gate, "name", STR(KUEUE_ELASTIC_GATE)) : ERR_NOMEM;
    if (r == 0 && !yyjson_mut_is_arr(list)) {
        list = yyjson_mut_arr(q->doc);
        r = list ? json_mset(q->doc, spec, STR("schedulingGates"), list) : ERR_NOMEM;
    }
    r = r == 0 && !yyjson_mut_arr_append(list, gate) ? ERR_NOMEM : r;
    return r ? err_set(err, ERR_NOMEM, "out of memory") : 0;
}

/* One that is steered before it ever ran: the queue may be named now, the gate taken off. */
static int steer(const struct admission_context *c, const struct integration *row,
                 struct admission_ask *q, struct err *err) {
    bool begun = !is_suspended(row, q->obj) || json_path(q->old, "status.startTime") != NULL;
    bool queued =
        admission_label(q, KUEUE_QUEUE_LABEL).n > 0 || c->settings->manage_jobs_without_queue_name;
    return !begun && queued && (row->flags & INTEGRATION_ELASTIC) && is_elastic(c, q)
               ? gate_template(q, err)
               : 0;
}

/* ---- new ones ---- */

/* Is it queued by something above it, or owned by what is queued here? */
static bool is_below(const struct admission_context *c, const struct admission_ask *q) {
    struct owner_ref o;
    const struct object *above = NULL;
    if (!controller_of(q, &o)) {
        return false;
    }
    return integration_ancestor(c->mirror, c->settings, &o, q->ns, &above) != 0 || above != NULL;
}

static int mutate(const struct admission_context *c, struct admission_ask *q, struct err *err) {
    const struct integration *row = row_of(c, q);
    struct str queue = {0};
    if (q->op == ADMISSION_DELETE || q->subresource.n > 0 || row == NULL ||
        !admission_managed_namespace(c, q) || is_below(c, q)) {
        return 0;
    }
    if (q->op == ADMISSION_UPDATE) {
        return steer(c, row, q, err);
    }
    int r = admission_queue_name(c, q, &queue, err);
    if (r != 0 || (queue.n == 0 && !c->settings->manage_jobs_without_queue_name)) {
        return r;
    }
    r = admission_default_class(c, q, err);
    r = r ? r : admission_set_bool(q, row->suspend, true, err);
    if (r == 0 && row->prepare && row->prepare(q->doc, q->obj) != 0) {
        r = err_set(err, ERR_NOMEM, "out of memory");
    }
    return r == 0 && (row->flags & INTEGRATION_ELASTIC) && is_elastic(c, q) ? gate_template(q, err)
                                                                            : r;
}

/* ---- rules ---- */

#define LABEL(key_) "metadata.labels[" key_ "]"
#define NOTE(key_) "metadata.annotations[" key_ "]"

static void refuse(struct admission_ask *q, const char *at, struct str v, const char *why) {
    causes_add(&q->causes, CAUSE_INVALID, str_of(at), "Invalid value: \"%.*s\": %s", STR_ARG(v),
               why);
}

static void check_name(struct admission_ask *q, const char *at, struct str v) {
    const char *fault = v.n > 0 ? format_fault("dns1123-subdomain", v) : NULL;
    if (fault) {
        refuse(q, at, v, fault);
    }
}

static void check_limit(struct admission_ask *q) {
    struct str v = admission_label(q, KUEUE_MAX_TIME_LABEL);
    int64_t n;
    if (v.p == NULL || (str_to_i64(v, &n) && n > 0)) {
        return;
    }
    refuse(q, LABEL(KUEUE_MAX_TIME_LABEL), v,
           str_to_i64(v, &n) ? "should be greater than 0" : "expected a number");
}

static void check_unchanged(struct admission_ask *q, const char *at, struct str now,
                            struct str was) {
    if (!str_eq(now, was)) {
        refuse(q, at, now, "field is immutable");
    }
}

static struct str prebuilt(struct str note, struct str label) {
    return note.n > 0 ? note : label;
}

static void check_class(struct admission_ask *q, bool suspended) {
    struct str was = admission_old_label(q, KUEUE_PRIORITY_LABEL);
    struct str now = admission_label(q, KUEUE_PRIORITY_LABEL);
    if (!suspended && was.n == 0 && now.n > 0) {
        refuse(q, LABEL(KUEUE_PRIORITY_LABEL), now,
               "WorkloadPriorityClass cannot be added to a non-suspended workload");
    }
    if (was.n > 0 && now.n == 0) {
        refuse(q, LABEL(KUEUE_PRIORITY_LABEL), now,
               "WorkloadPriorityClass cannot be removed from a workload");
    }
}

/* How many pods at a time may not change under a partial admission. */
static void check_parallelism(const struct integration *row, struct admission_ask *q) {
    yyjson_mut_val *v = json_mpath(q->obj, "spec.parallelism");
    int64_t now = yyjson_mut_is_int(v) ? yyjson_mut_get_sint(v) : 1;
    if ((row->flags & INTEGRATION_PARTIAL) &&
        admission_old_annotation(q, KUEUE_MIN_PARALLELISM).p &&
        !json_bool_at(q->old, row->suspend, false) &&
        now != json_i64_at(q->old, "spec.parallelism", 1)) {
        causes_add(&q->causes, CAUSE_FORBIDDEN, STR("spec.parallelism"),
                   "Forbidden: cannot change when partial admission is enabled and the job is not "
                   "suspended");
    }
}

static void check_change(const struct admission_context *c, const struct integration *row,
                         struct admission_ask *q) {
    struct str now = admission_label(q, KUEUE_QUEUE_LABEL);
    struct str was = admission_old_label(q, KUEUE_QUEUE_LABEL);
    bool suspended = is_suspended(row, q->obj);
    if (!suspended) {
        check_unchanged(q, LABEL(KUEUE_QUEUE_LABEL), now, was);
        check_unchanged(
            q, LABEL(KUEUE_PREBUILT),
            prebuilt(admission_annotation(q, KUEUE_PREBUILT), admission_label(q, KUEUE_PREBUILT)),
            prebuilt(admission_old_annotation(q, KUEUE_PREBUILT),
                     admission_old_label(q, KUEUE_PREBUILT)));
    }
    if (now.n == 0 && was.n > 0 && admission_has_default_queue(c, q)) {
        refuse(q, LABEL(KUEUE_QUEUE_LABEL), now,
               "queue-name must not be empty in namespace with default queue");
    }
    if (!suspended || !json_bool_at(q->old, row->suspend, false)) {
        check_unchanged(q, LABEL(KUEUE_MAX_TIME_LABEL), admission_label(q, KUEUE_MAX_TIME_LABEL),
                        admission_old_label(q, KUEUE_MAX_TIME_LABEL));
    }
    if (!queue_gates_within(admission_annotation(q, KUEUE_GATED_ANNOTATION),
                            admission_old_annotation(q, KUEUE_GATED_ANNOTATION))) {
        refuse(q, NOTE(KUEUE_GATED_ANNOTATION), admission_annotation(q, KUEUE_GATED_ANNOTATION),
               "gates may be removed, not added");
    }
    check_class(q, suspended);
    check_parallelism(row, q);
}

#define TEMPLATE_NOTE "spec.template.metadata.annotations."

static void check_topology_note(struct admission_ask *q, const char *key, const char *mode) {
    char at[96];
    yyjson_mut_val *notes = json_mpath(q->obj, "spec.template.metadata.annotations");
    if (json_mget(notes, str_of(key))) {
        (void)snprintf(at, sizeof at, TEMPLATE_NOTE "%s", key);
        causes_add(&q->causes, CAUSE_FORBIDDEN, str_of(at),
                   "Forbidden: %s topology is not supported with elastic jobs", mode);
    }
}

/* Whether it is elastic is settled when it is made. */
static void check_elastic(const struct admission_context *c, const struct integration *row,
                          struct admission_ask *q) {
    struct str at = STR(NOTE(KUEUE_ELASTIC_ANNOTATION));
    struct str least = admission_annotation(q, KUEUE_MIN_PARALLELISM);
    bool now = is_elastic(c, q);
    if (q->old && now != asks_elastic(c, admission_old_annotation(q, KUEUE_ELASTIC_ANNOTATION))) {
        causes_add(&q->causes, CAUSE_INVALID, at, "Invalid value: %s: field is immutable",
                   now ? "true" : "false");
    }
    if (!now) {
        return;
    }
    if (str_is(str_of(row->is->group), "ray.io")) { /* Kueue resizes these, too */
        admission_warn(q, "%s: only Jobs of batch/v1 are resized; it is queued as a whole",
                       KUEUE_ELASTIC_ANNOTATION);
    } else if (!(row->flags & INTEGRATION_ELASTIC)) {
        causes_add(&q->causes, CAUSE_FORBIDDEN, at,
                   "Forbidden: elastic job is not supported for \"%s, Kind=%s\"",
                   kind_api_version(q->kind), row->is->kind);
    }
    if (least.p && (row->flags & INTEGRATION_PARTIAL)) {
        refuse(q, NOTE(KUEUE_MIN_PARALLELISM), least,
               "partial admission and elastic job cannot be used together");
    }
    if (row->flags & INTEGRATION_ELASTIC) {
        check_topology_note(q, "kueue.x-k8s.io/podset-required-topology", "required");
        check_topology_note(q, "kueue.x-k8s.io/podset-preferred-topology", "preferred");
    }
}

/* On a change of one that runs with fewer pods the least is not compared with how many it has now. */
static void check_kind(const struct integration *row, struct admission_ask *q) {
    bool same = q->old && str_eq(admission_annotation(q, KUEUE_MIN_PARALLELISM),
                                 admission_old_annotation(q, KUEUE_MIN_PARALLELISM));
    if (row->check && !(same && (row->flags & INTEGRATION_PARTIAL))) {
        row->check(q->obj, &q->causes);
    }
}

static int validate(const struct admission_context *c, struct admission_ask *q, struct err *err) {
    const struct integration *row = row_of(c, q);
    if (q->op == ADMISSION_DELETE || q->subresource.n > 0 || row == NULL || q->obj == NULL) {
        return 0;
    }
    struct str queue = admission_label(q, KUEUE_QUEUE_LABEL);
    check_name(q, LABEL(KUEUE_QUEUE_LABEL), queue);
    check_name(q, LABEL(KUEUE_PREBUILT), admission_label(q, KUEUE_PREBUILT));
    check_name(q, NOTE(KUEUE_PREBUILT), admission_annotation(q, KUEUE_PREBUILT));
    check_limit(q);
    check_elastic(c, row, q);
    if (queue.n > 0 || c->settings->manage_jobs_without_queue_name ||
        admission_old_label(q, KUEUE_QUEUE_LABEL).n > 0) {
        check_kind(row, q);
    }
    int r = admission_check_templates(q, queue.n > 0 || c->settings->manage_jobs_without_queue_name,
                                      err);
    if (q->old) {
        check_change(c, row, q);
        return r;
    }
    admission_warn_topology(q);
    return r;
}

#define ROW(id_, name_, group_, dashed_, kind_, ...) {group_, kind_, mutate, validate},

const struct admission_row admission_job_rows[] = {FRAMEWORKS_BATCH(ROW) FRAMEWORKS_JOBS(ROW){0}};
