/*
 * admission_pod: what Kueue's webhook of pods does. A pod with a queue (its own, its namespace's default one, or where
 * all are managed) is created behind the gate of admission, is marked as managed and held by a finalizer, so that
 * nothing that it did is lost before it was counted. One whose controller is queued is left alone. A pod whose template
 * names a parent waits too, but has no finalizer: its parent counts.
 */
#include "control/admit/admission_pod.h"

#include "api/inventory.h"
#include "api/schema/check.h"
#include "control/load/integration.h"
#include "control/load/job_workload.h"
#include "control/load/pod_gate.h"
#include "control/load/pod_role.h"

#define IMMUTABLE "field is immutable"

static int no_memory(struct err *err) {
    return err_set(err, ERR_NOMEM, "out of memory");
}

/* ---- who is queued ---- */

static int ancestor_of(const struct admission_context *c, const struct admission_ask *q, bool *ret,
                       struct err *err) {
    size_t i, n;
    yyjson_mut_val *o;
    *ret = false;
    yyjson_mut_arr_foreach(json_mpath(q->obj, "metadata.ownerReferences"), i, n, o) {
        struct owner_ref ref = {.api_version = json_mstr_at(o, "apiVersion"),
                                .kind = json_mstr_at(o, "kind"),
                                .name = json_mstr_at(o, "name"),
                                .uid = json_mstr_at(o, "uid"),
                                .controller = true};
        const struct object *above = NULL;
        if (!yyjson_mut_is_true(json_mget(o, STR("controller")))) {
            continue;
        }
        int r = integration_ancestor(c->mirror, c->settings, &ref, q->ns, &above);
        if (r == ERR_NOT_FOUND) {
            return err_set(err, ERR_UNAVAILABLE, "owner %.*s is not known here yet",
                           STR_ARG(ref.name));
        }
        *ret = r == 0 && above;
        return r == ERR_TOO_LARGE ? 0 : r;
    }
    return 0;
}

int admission_queued(const struct admission_context *c, struct admission_ask *q, bool *ret,
                     struct err *err) {
    struct str queue = admission_label(q, ADMISSION_QUEUE_LABEL);
    bool all = c->settings->manage_jobs_without_queue_name, above;
    *ret = false;
    if (!admission_managed_namespace(c, q) ||
        (str_empty(queue) && !all && !admission_has_default_queue(c, q))) {
        return 0;
    }
    int r = ancestor_of(c, q, &above, err);
    if (r != 0 || above) {
        return r;
    }
    r = admission_queue_name(c, q, &queue, err);
    r = r ? r : admission_default_class(c, q, err);
    *ret = r == 0 && (!str_empty(queue) || all);
    return r;
}

/* ---- the gate ---- */

static yyjson_mut_val *list_at(struct admission_ask *q, const char *parent, const char *name) {
    yyjson_mut_val *o = json_mensure(q->doc, q->obj, parent);
    yyjson_mut_val *l = json_mget(o, str_of(name));
    if (o && !yyjson_mut_is_arr(l)) {
        l = yyjson_mut_arr(q->doc);
        l = l && json_mset(q->doc, o, str_of(name), l) == 0 ? l : NULL;
    }
    return l;
}

static int add_gate(struct admission_ask *q) {
    yyjson_mut_val *l = list_at(q, "spec", "schedulingGates");
    if (json_mfind(l, "name", STR(POD_GATE)) != NULL) {
        return 0;
    }
    yyjson_mut_val *g = l ? yyjson_mut_arr_add_obj(q->doc, l) : NULL;
    return g ? json_mset_str(q->doc, g, "name", STR(POD_GATE)) : ERR_NOMEM;
}

static int add_finalizer(struct admission_ask *q) {
    yyjson_mut_val *l = list_at(q, "metadata", "finalizers");
    if (json_mfind(l, NULL, STR(POD_MANAGED)) != NULL) {
        return 0;
    }
    return l && yyjson_mut_arr_add_str(q->doc, l, POD_MANAGED) ? 0 : ERR_NOMEM;
}

/* A part of what is asked about, to be read. NULL: absent, or out of memory. */
static yyjson_val *readable(struct admission_ask *q, const char *path) {
    yyjson_mut_val *v = json_mpath(q->obj, path);
    yyjson_doc *d = NULL;
    struct buf b;
    buf_init(&b, 0);
    if (v) {
        json_write_mut(&b, v);
    }
    int r = v && buf_ok(&b) == 0 ? json_parse(q->arena, buf_view(&b), &d, NULL) : ERR_NOMEM;
    buf_release(&b);
    return r == 0 ? yyjson_doc_get_root(d) : NULL;
}

/* Whatever it says of itself: by its role a pod is counted as one of those that its Workload asked for. */
static int add_role(struct admission_ask *q, struct err *err) {
    struct str hash = pod_role_hash(readable(q, "spec"), q->arena);
    return str_empty(hash) ? no_memory(err) : admission_set_annotation(q, POD_ROLE_HASH, hash, err);
}

static bool enabled(const struct admission_context *c, const char *name) {
    const struct integration *i = integration_by_name(str_of(name));
    return i && integration_enabled(i, c->settings);
}

static int mutate_pod(const struct admission_context *c, struct admission_ask *q, struct err *err) {
    bool by_parent = admission_annotation(q, POD_PARENT).p != NULL, queued = by_parent;
    if (q->op != ADMISSION_CREATE || !str_empty(q->subresource)) {
        return 0;
    }
    if (!by_parent) {
        if (!enabled(c, "pod")) {
            return 0;
        }
        int r = admission_queued(c, q, &queued, err);
        if (r != 0 || !queued) {
            return r;
        }
        r = admission_set_label(q, POD_MANAGED, STR("true"), err);
        if (r != 0 || add_finalizer(q) != 0) {
            return r ? r : no_memory(err);
        }
    }
    return add_gate(q) != 0 ? no_memory(err) : add_role(q, err);
}

/* ---- rules ---- */

static void refuse(struct admission_ask *q, enum cause_type type, const char *map, const char *key,
                   const char *word, struct str value, const char *text) {
    struct str field = key ? arena_f(q->arena, "metadata.%s[%s]", map, key) : str_of(map);
    if (type == CAUSE_INVALID) {
        causes_add(&q->causes, type, field, "%s: \"%.*s\": %s", word, STR_ARG(value), text);
    } else {
        causes_add(&q->causes, type, field, "%s: %s", word, text);
    }
}

static void invalid(struct admission_ask *q, const char *map, const char *key, struct str value,
                    const char *text) {
    refuse(q, CAUSE_INVALID, map, key, "Invalid value", value, text);
}

static void forbidden(struct admission_ask *q, const char *map, const char *key, const char *text) {
    refuse(q, CAUSE_FORBIDDEN, map, key, "Forbidden", STR(""), text);
}

static void required(struct admission_ask *q, const char *map, const char *key, const char *text) {
    refuse(q, CAUSE_REQUIRED, map, key, "Required value", STR(""), text);
}

static struct str now_of(const struct admission_ask *q, const char *map, const char *key) {
    return map[0] == 'l' ? admission_label(q, key) : admission_annotation(q, key);
}

static struct str was_of(const struct admission_ask *q, const char *map, const char *key) {
    return map[0] == 'l' ? admission_old_label(q, key) : admission_old_annotation(q, key);
}

static void immutable(struct admission_ask *q, const char *map, const char *key) {
    struct str now = now_of(q, map, key);
    if (!str_eq(now, was_of(q, map, key))) {
        invalid(q, map, key, now, IMMUTABLE);
    }
}

void admission_check_name(struct admission_ask *q, const char *map, const char *key) {
    struct str v = now_of(q, map, key);
    const char *fault = v.p ? format_fault("dns1123-subdomain", v) : NULL;
    if (fault) {
        invalid(q, map, key, v, fault);
    }
}

void admission_check_queue(struct admission_ask *q, const struct admission_context *c, bool held) {
    struct str now = admission_label(q, ADMISSION_QUEUE_LABEL);
    admission_check_name(q, "labels", ADMISSION_QUEUE_LABEL);
    if (q->op == ADMISSION_UPDATE && !held) {
        immutable(q, "labels", ADMISSION_QUEUE_LABEL);
    } else if (q->op == ADMISSION_UPDATE && str_empty(now) &&
               !str_empty(admission_old_label(q, ADMISSION_QUEUE_LABEL)) &&
               admission_has_default_queue(c, q)) {
        invalid(q, "labels", ADMISSION_QUEUE_LABEL, now,
                "queue-name must not be empty in namespace with default queue");
    }
}

void admission_check_class(struct admission_ask *q, bool held) {
    struct str now = admission_label(q, ADMISSION_CLASS_LABEL);
    struct str was = admission_old_label(q, ADMISSION_CLASS_LABEL);
    if (q->op != ADMISSION_UPDATE) {
        return;
    }
    if (!held && str_empty(was) && !str_empty(now)) {
        invalid(q, "labels", ADMISSION_CLASS_LABEL, now,
                "WorkloadPriorityClass cannot be added to a non-suspended workload");
    }
    if (str_empty(now) && !str_empty(was)) {
        invalid(q, "labels", ADMISSION_CLASS_LABEL, now,
                "WorkloadPriorityClass cannot be removed from a workload");
    }
}

/* The name of the group, and where it says so. */
static struct str group_of(const struct admission_ask *q, bool old, const char **ret_map) {
    struct str note =
        old ? admission_old_annotation(q, POD_GROUP_NAME) : admission_annotation(q, POD_GROUP_NAME);
    *ret_map = str_empty(note) ? "labels" : "annotations";
    return !str_empty(note) ? note
           : old            ? admission_old_label(q, POD_GROUP_NAME)
                            : admission_label(q, POD_GROUP_NAME);
}

static void check_group(struct admission_ask *q) {
    const char *map;
    int64_t n;
    struct str group = group_of(q, false, &map), total = admission_annotation(q, POD_GROUP_TOTAL);
    const char *both = map[0] == 'l' ? "both the '" POD_GROUP_TOTAL "' annotation and the "
                                       "'" POD_GROUP_NAME "' label should be set"
                                     : "both the '" POD_GROUP_TOTAL "' annotation and the "
                                       "'" POD_GROUP_NAME "' annotation should be set";
    if (!str_empty(group)) {
        admission_check_name(q, map, POD_GROUP_NAME);
    }
    if (str_empty(group) && total.p) {
        required(q, map, POD_GROUP_NAME, both);
    } else if (!str_empty(group) && total.p == NULL) {
        required(q, "annotations", POD_GROUP_TOTAL, both);
    } else if (total.p && (!str_to_i64(total, &n) || n < 1 || n > INT32_MAX)) {
        invalid(q, "annotations", POD_GROUP_TOTAL, total,
                "group total count should be a number greater than zero");
    }
    struct str prebuilt = admission_annotation(q, POD_PREBUILT);
    prebuilt = str_empty(prebuilt) ? admission_label(q, POD_PREBUILT) : prebuilt;
    if (!str_empty(group) && !str_empty(prebuilt) && !str_eq(group, prebuilt)) {
        invalid(q, "annotations", POD_PREBUILT, prebuilt,
                "prebuilt workload and pod group should be equal");
    }
}

static bool pod_held(yyjson_mut_val *pod) {
    struct str phase = json_mstr_at(pod, "status.phase");
    return str_is(phase, "Failed") || str_is(phase, "Succeeded") ||
           json_mfind(json_mpath(pod, "spec.schedulingGates"), "name", STR(POD_GATE)) != NULL;
}

static void check_pod_change(struct admission_ask *q, bool held) {
    const char *map;
    struct str was = group_of(q, true, &map), now = group_of(q, false, &map);
    if (!str_empty(was) && !str_eq(was, now)) {
        invalid(q, map, POD_GROUP_NAME, now, IMMUTABLE);
    }
    if (!str_empty(now) && str_is(admission_old_annotation(q, POD_RETRIABLE), "false") &&
        !str_is(admission_annotation(q, POD_RETRIABLE), "false")) {
        forbidden(q, "annotations", POD_RETRIABLE,
                  "unretriable pod group can't be converted to retriable");
    }
    if (!held) {
        immutable(q, "annotations", POD_PREBUILT);
        immutable(q, "labels", POD_PREBUILT);
        immutable(q, "labels", KUEUE_MAX_TIME_LABEL);
    }
}

static void check_limit(struct admission_ask *q) {
    struct str v = admission_label(q, KUEUE_MAX_TIME_LABEL);
    int64_t n;
    if (v.p && (!str_to_i64(v, &n) || n <= 0)) {
        invalid(q, "labels", KUEUE_MAX_TIME_LABEL, v, "should be a number greater than 0");
    }
}

static void check_managed(const struct admission_context *c, struct admission_ask *q) {
    struct str managed = admission_label(q, POD_MANAGED);
    bool above = false;
    if (managed.p && !str_is(managed, "true")) {
        forbidden(q, "labels", POD_MANAGED, "managed label value can only be 'true'");
    } else if (managed.p && admission_annotation(q, POD_PARENT).p == NULL &&
               ancestor_of(c, q, &above, NULL) == 0 && above) {
        admission_warn(q, "pod owner is managed by kueue, label '" POD_MANAGED
                          "=true' might lead to unexpected behaviour");
    }
}

/* Where a guard of our own judges pods it does so by the right to bind them; a webhook has none to ask for. */
static void check_devices(struct admission_ask *q) {
    struct str now = admission_annotation(q, DEVICES_ANNOTATION);
    if (!q->internal && q->may == NULL && q->op == ADMISSION_CREATE && now.p) {
        forbidden(q, "annotations", DEVICES_ANNOTATION, "it is written by the scheduler alone");
    }
}

static int validate_pod(const struct admission_context *c, struct admission_ask *q,
                        struct err *err) {
    if (q->op == ADMISSION_DELETE || !str_empty(q->subresource)) {
        return 0;
    }
    bool held = pod_held(q->obj);
    admission_check_queue(q, c, held);
    admission_check_class(q, held);
    admission_check_name(q, "annotations", POD_PREBUILT);
    admission_check_name(q, "labels", POD_PREBUILT);
    check_managed(c, q);
    check_devices(q);
    check_group(q);
    if (q->op == ADMISSION_CREATE) {
        check_limit(q);
        if (admission_label(q, ADMISSION_QUEUE_LABEL).n > 0) {
            admission_warn_topology(q);
        }
    } else {
        check_pod_change(q, held);
    }
    return 0;
}

const struct admission_row admission_pod_rows[] = {
    {"", "Pod", mutate_pod, validate_pod},
    {"apps", "Deployment", admission_deployment_mutate, admission_deployment_validate},
    {"apps", "StatefulSet", admission_statefulset_mutate, admission_statefulset_validate},
    {"leaderworkerset.x-k8s.io", "LeaderWorkerSet", admission_lws_mutate, admission_lws_validate},
    {0},
};
