/* workload_draft: see workload_draft.h. */
#include "control/load/workload_draft.h"

#include "api/kinds/queue_notes.h"
#include "api/meta.h"
#include "api/schema/codec.h"
#include "api/schema/codec_encode.h"
#include "base/limits.h"
#include "control/kit/edit.h"
#include "control/load/integration.h"

/* ---- priority ---- */

struct default_class {
    const struct object *obj;
    int32_t value;
    int code;
};

static int class_value(const struct object *o, int32_t *ret, bool *ret_default) {
    struct arena a;
    yyjson_doc *d;
    arena_init(&a, LIMIT_OBJECT_BYTES * 8);
    int r = object_tree(o, &a, &d, NULL);
    if (r == 0) {
        int64_t v = json_i64_at(yyjson_doc_get_root(d), "value", 0);
        *ret = v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v;
        *ret_default = json_bool_at(yyjson_doc_get_root(d), "globalDefault", false);
    }
    arena_release(&a);
    return r;
}

static bool lowest_default(void *ctx, const struct object *o) {
    struct default_class *best = ctx;
    bool is_default = false;
    int32_t value = 0;
    best->code = class_value(o, &value, &is_default);
    if (is_default && (best->obj == NULL || value < best->value)) {
        *best = (struct default_class){o, value, 0};
    }
    return best->code == 0;
}

int workload_priority_resolve(const struct mirror *m, struct str label, struct str pod_class,
                              struct workload_priority *ret, struct str *ret_missing) {
    bool own = !str_empty(label), unused;
    const char *group = own ? "kueue.x-k8s.io" : "scheduling.k8s.io";
    const char *kind = own ? "WorkloadPriorityClass" : "PriorityClass";
    const struct kind *k = kind_by_name(str_of(group), str_of(kind));
    struct str name = own ? label : pod_class;
    const struct object *o;
    int32_t value = 0;
    int r = 0;
    if (!str_empty(name)) {
        o = k ? mirror_get(m, k, STR(""), name) : NULL;
        if (o == NULL) {
            *ret_missing = name;
            return ERR_NOT_FOUND;
        }
        r = class_value(o, &value, &unused);
    } else {
        struct default_class best = {0};
        if (k) {
            mirror_scan(m, k, STR(""), lowest_default, &best);
        }
        o = best.obj;
        value = best.value;
        r = best.code;
    }
    if (r == 0) {
        *ret = o ? (struct workload_priority){value, group, kind, o->name}
                 : (struct workload_priority){0};
    }
    return r;
}

struct priority_class_ref *workload_class_ref(const struct workload_priority *p, struct arena *a) {
    struct priority_class_ref *ref = ARENA_NEW(a, struct priority_class_ref);
    if (ref) {
        *ref = (struct priority_class_ref){str_of(p->group), str_of(p->kind), p->name};
    }
    return ref;
}

/* ---- annotations ---- */

static bool shared(struct str key) {
    return str_is(key, "berth.dev/protected-until") || str_is(key, "berth.dev/minimum-runtime") ||
           str_is(key, KUEUE_GATED_ANNOTATION) || str_starts(key, STR("provreq.kueue.x-k8s.io/"));
}

/* A gate that was opened on the Workload alone stays open: nobody may close one. */
static bool closes(struct str key, struct str was, struct str now) {
    return str_is(key, KUEUE_GATED_ANNOTATION) && !str_eq(was, now) &&
           !queue_gates_within(now, was);
}

int workload_annotations_follow(const struct str_map *now, bool first, struct arena *a,
                                struct str_map *m) {
    struct str_pair *v = ARENA_ARRAY(a, struct str_pair, m->n + now->n + 1);
    size_t n = 0;
    if (v == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < m->n; i++) {
        const struct str_pair *x = &m->v[i];
        struct str value = shared(x->key) ? meta_value(now, x->key) : x->value;
        if (value.p) {
            bool stays = !first && closes(x->key, x->value, value);
            v[n++] = (struct str_pair){x->key, stays ? x->value : value};
        }
    }
    for (size_t i = 0; i < now->n; i++) {
        const struct str_pair *x = &now->v[i];
        if (shared(x->key) && meta_value(m, x->key).p == NULL &&
            (first || !closes(x->key, (struct str){0}, x->value))) {
            v[n++] = *x;
        }
    }
    *m = (struct str_map){v, n};
    return 0;
}

/* ---- drafts ---- */

int32_t workload_time_limit(struct str label) {
    int64_t n = 0;
    return str_to_i64(label, &n) && n > 0 && n <= INT32_MAX ? (int32_t)n : 0;
}

int workload_draft_init(struct workload_draft *d, struct arena *a, const struct meta *about,
                        const struct workload_priority *p) {
    struct meta *m = ARENA_NEW(a, struct meta);
    struct workload_draft_spec *s = ARENA_NEW(a, struct workload_draft_spec);
    int32_t limit = workload_time_limit(meta_label(about, KUEUE_MAX_TIME_LABEL));
    if (m == NULL || s == NULL) {
        return ERR_NOMEM;
    }
    s->queue_name = meta_label(about, KUEUE_QUEUE_LABEL);
    s->priority = (struct opt_i32){true, p->value};
    s->priority_class_ref = p->kind ? workload_class_ref(p, a) : NULL;
    s->maximum_execution_time_seconds = (struct opt_i32){limit > 0, limit};
    s->active = (struct opt_bool){true, true};
    *d = (struct workload_draft){m, s};
    int r = workload_annotations_follow(&about->annotations, true, a, &m->annotations);
    return r ? r : meta_add_finalizer(m, a, KUEUE_FINALIZER);
}

int workload_draft_read(yyjson_val *tree, struct arena *a, struct workload_draft *ret) {
    int r = codec_decode(&schema_workload_draft, tree, a, ret, NULL);
    return r == 0 && (ret->metadata == NULL || ret->spec == NULL) ? ERR_SYNTAX : r;
}

int workload_draft_encode(const struct workload_draft *d, struct buf *out) {
    codec_encode_object_as(kind_by_name(STR("kueue.x-k8s.io"), STR("Workload")),
                           &schema_workload_draft, d, out);
    return buf_ok(out);
}

int workload_draft_patch(const struct object *wl, unsigned on, const struct workload_draft *was,
                         const struct workload_draft *want, struct buf *out) {
    return edit_write_as(&schema_workload_draft, wl, on, was, want, out);
}
