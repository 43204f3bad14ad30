/* admission_queue: what the rows of admission share: default queue and class, suspension, answers. */
#include <stdarg.h>

#include "api/pod_fields.h"
#include "base/buf.h"
#include "control/admit/admission.h"

static int no_memory(struct err *err) {
    return err_set(err, ERR_NOMEM, "out of memory");
}

static struct str note(const struct admission_ask *q, const char *map, const char *key) {
    return json_mstr(
        json_mget(json_mget(json_mget(q->obj, STR("metadata")), str_of(map)), str_of(key)));
}

static struct str old_note(const struct admission_ask *q, const char *map, const char *key) {
    return json_str(
        json_get(json_get(json_get(q->old, STR("metadata")), str_of(map)), str_of(key)));
}

struct str admission_label(const struct admission_ask *q, const char *key) {
    return note(q, "labels", key);
}

struct str admission_annotation(const struct admission_ask *q, const char *key) {
    return note(q, "annotations", key);
}

struct str admission_old_label(const struct admission_ask *q, const char *key) {
    return old_note(q, "labels", key);
}

struct str admission_old_annotation(const struct admission_ask *q, const char *key) {
    return old_note(q, "annotations", key);
}

static int set_note(struct admission_ask *q, const char *path, const char *key, struct str v,
                    struct err *err) {
    yyjson_mut_val *map = json_mensure(q->doc, q->obj, path);
    return map == NULL || json_mset_str(q->doc, map, key, v) != 0 ? no_memory(err) : 0;
}

int admission_set_label(struct admission_ask *q, const char *key, struct str v, struct err *err) {
    return set_note(q, "metadata.labels", key, v, err);
}

int admission_set_annotation(struct admission_ask *q, const char *key, struct str v,
                             struct err *err) {
    return set_note(q, "metadata.annotations", key, v, err);
}

int admission_set_bool(struct admission_ask *q, const char *dotted, bool v, struct err *err) {
    char parent[128];
    struct str path = str_of(dotted);
    size_t at = path.n;
    while (at > 0 && path.p[at - 1] != '.') {
        at--;
    }
    yyjson_mut_val *obj = q->obj;
    if (at > 0) {
        if (!str_copy(str_from(path.p, at - 1), parent, sizeof(parent))) {
            return err_set(err, ERR_INTERNAL, "a path too long: %s", dotted);
        }
        obj = json_mensure(q->doc, q->obj, parent);
    }
    return obj == NULL || json_mset_bool(q->doc, obj, dotted + at, v) != 0 ? no_memory(err) : 0;
}

bool admission_managed_namespace(const struct admission_context *c, const struct admission_ask *q) {
    const struct selector *s = c->settings->managed_namespaces;
    const struct kind *k = kind_by_name(STR(""), STR("Namespace"));
    const struct str_map none = {0};
    if (s == NULL) {
        return !str_is(q->ns, "kube-system") && (str_empty(c->settings->own_namespace) ||
                                                 !str_eq(q->ns, c->settings->own_namespace));
    }
    const struct object *o = mirror_pending(c->mirror, k, (struct str){0}, q->ns);
    return selector_matches(s, o != NULL ? &o->labels : &none);
}

bool admission_has_default_queue(const struct admission_context *c, const struct admission_ask *q) {
    const struct kind *k = kind_by_name(STR("kueue.x-k8s.io"), STR("LocalQueue"));
    return k != NULL && mirror_pending(c->mirror, k, q->ns, STR("default")) != NULL;
}

int admission_queue_name(const struct admission_context *c, struct admission_ask *q,
                         struct str *ret, struct err *err) {
    struct str queue = admission_label(q, ADMISSION_QUEUE_LABEL);
    if (queue.n == 0 && admission_has_default_queue(c, q)) {
        int r = admission_set_label(q, ADMISSION_QUEUE_LABEL, STR("default"), err);
        if (r != 0) {
            return r;
        }
        queue = STR("default");
    }
    *ret = queue;
    return 0;
}

int admission_default_class(const struct admission_context *c, struct admission_ask *q,
                            struct err *err) {
    const struct kind *k = kind_by_name(STR("kueue.x-k8s.io"), STR("WorkloadPriorityClass"));
    yyjson_mut_val *labels = json_mpath(q->obj, "metadata.labels");
    if (!c->settings->gates.priority_class_defaulting || k == NULL ||
        json_mget(labels, STR(ADMISSION_CLASS_LABEL)) != NULL ||
        mirror_pending(c->mirror, k, (struct str){0}, STR("default")) == NULL) {
        return 0;
    }
    return admission_set_label(q, ADMISSION_CLASS_LABEL, STR("default"), err);
}

/* The lines of pod_scheduler_fields, each as a cause. */
static void blame_fields(struct admission_ask *q, struct str lines, bool queued) {
    struct str line, field, rest;
    while (str_next(&lines, '\n', &line)) {
        bool node = str_cut(line, ':', &field, &rest) && str_ends(field, STR(".nodeName"));
        if (field.n > 0 && (queued || !node)) {
            causes_add(&q->causes, CAUSE_FORBIDDEN, arena_str(q->arena, field),
                       node ? "Forbidden: pods of a queue get their node from the scheduler"
                            : "Forbidden: it is written by the scheduler alone");
        }
    }
}

int admission_check_templates(struct admission_ask *q, bool queued, struct err *err) {
    struct buf now, was;
    buf_init(&now, 0);
    buf_init(&was, 0);
    int r = q->internal ? 0 : pod_scheduler_fields(q->obj, q->arena, &now, err);
    if (r == 0 && now.n > 0) {
        yyjson_mut_doc *old = q->old ? json_mut_copy(q->arena, q->old) : NULL;
        bool before = old && admission_old_label(q, ADMISSION_QUEUE_LABEL).n > 0;
        r = pod_scheduler_fields(old ? yyjson_mut_doc_get_root(old) : NULL, q->arena, &was, err);
        if (r == 0 && !(str_eq(buf_view(&now), buf_view(&was)) && (before || !queued))) {
            blame_fields(q, buf_view(&now), queued);
        }
    }
    buf_release(&now);
    buf_release(&was);
    return r;
}

static struct str text_of(struct arena *a, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));
static struct str text_of(struct arena *a, const char *fmt, va_list ap) {
    struct buf b;
    buf_init(&b, 0);
    buf_vf(&b, fmt, ap);
    struct str s = arena_str(a, buf_view(&b));
    buf_release(&b);
    return s;
}

void admission_warn(struct admission_ask *q, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    if (q->n_warnings < ADMISSION_WARNINGS) {
        q->warnings[q->n_warnings++] = text_of(q->arena, fmt, ap);
    }
    va_end(ap);
}

/* A note about topologies on the object or on one of its pod templates; empty: none. */
static struct str topology_note(yyjson_mut_val *v) {
    const struct str prefix = STR("kueue.x-k8s.io/podset-");
    struct str found = {0};
    yyjson_mut_val *k, *x;
    size_t i, n;
    if (yyjson_mut_is_arr(v)) {
        yyjson_mut_arr_foreach(v, i, n, x) {
            found = found.n > 0 ? found : topology_note(x);
        }
        return found;
    }
    yyjson_mut_val *notes = json_mget(json_mget(v, STR("metadata")), STR("annotations"));
    yyjson_mut_obj_foreach(notes, i, n, k, x) {
        found = found.n == 0 && str_starts(json_mstr(k), prefix) ? json_mstr(k) : found;
    }
    yyjson_mut_obj_foreach(v, i, n, k, x) {
        found = found.n > 0 ? found : topology_note(x);
    }
    return found;
}

void admission_warn_topology(struct admission_ask *q) {
    struct str note = topology_note(q->obj);
    if (note.n > 0) {
        admission_warn(q, "%.*s: topologies are not looked at; its pods may be anywhere",
                       STR_ARG(note));
    }
}
