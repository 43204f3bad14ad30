/* job_slices: see job_slices.h. */
#include "control/load/job_slices.h"

#include "api/conditions.h"
#include "api/schema/codec.h"
#include "base/limits.h"

bool job_kind_resizes(const struct kind *k) {
    const struct integration *row = integration_of(k);
    return row && (row->flags & INTEGRATION_ELASTIC);
}

/* Its pods are made behind the gate: without it nothing would keep those that there is no quota for. The template of a
 * Job that was started does not change. */
static bool has_gate(const struct job_look *l) {
    yyjson_val *gate;
    size_t i, n;
    yyjson_arr_foreach(json_path(l->tree, "spec.template.spec.schedulingGates"), i, n, gate) {
        if (str_is(json_str_at(gate, "name"), KUEUE_ELASTIC_GATE)) {
            return true;
        }
    }
    return false;
}

bool job_is_elastic(const struct job_look *l) {
    return l->settings->gates.elastic_jobs && (l->row->flags & INTEGRATION_ELASTIC) &&
           has_gate(l) && str_is(job_look_annotation(l, KUEUE_ELASTIC_ANNOTATION), "true") &&
           str_empty(job_workload_prebuilt(l)) &&
           str_empty(job_look_annotation(l, KUEUE_MIN_PARALLELISM));
}

/* ---- who is who ---- */

struct slice_list {
    const struct job_look *look;
    const struct kind *workloads;
    struct job_slice *v; /* those that have not ended, oldest first */
    size_t n, seen, n_ended;
    const struct object *ended, *oldest;
    struct job_slice last; /* of those that have ended */
    int error;
};

static bool older(const struct object *a, const struct object *b) {
    return a->created_ns != b->created_ns ? a->created_ns < b->created_ns
                                          : str_cmp(a->uid, b->uid) < 0;
}

static bool is_true(const struct job_slice *s, const char *type) {
    return s->wl.status && conditions_true(&s->wl.status->conditions, type);
}

static void note_ended(struct slice_list *l, const struct job_slice *s) {
    const struct object *o = s->obj;
    l->last = l->last.obj == NULL || older(l->last.obj, o) ? *s : l->last;
    l->n_ended++;
    l->ended = o->n_finalizers ? o : l->ended;
    l->oldest = !o->deleting_ns && (l->oldest == NULL || older(o, l->oldest)) ? o : l->oldest;
}

static void insert(struct slice_list *l, const struct job_slice *s) {
    size_t at = l->n++;
    for (; at > 0 && older(s->obj, l->v[at - 1].obj); at--) {
        l->v[at] = l->v[at - 1];
    }
    l->v[at] = *s;
}

static bool look_at(void *ctx, const struct object *o) {
    struct slice_list *l = ctx;
    const struct owner_ref *owner = o->kind == l->workloads ? object_controller(o) : NULL;
    struct job_slice s = {.obj = o};
    yyjson_doc *d;
    if (owner == NULL || !str_eq(owner->uid, l->look->obj->uid) ||
        !str_eq(object_label(o, STR(KUEUE_JOB_UID_LABEL)), l->look->obj->uid)) {
        return true;
    }
    l->error = object_tree(o, l->look->arena, &d, NULL);
    s.tree = l->error ? NULL : yyjson_doc_get_root(d);
    l->error =
        l->error ? l->error : codec_decode(&schema_workload, s.tree, l->look->arena, &s.wl, NULL);
    if (l->error == 0 && is_true(&s, "Finished")) {
        note_ended(l, &s);
    } else if (l->error == 0) {
        s.reserved = is_true(&s, "QuotaReserved");
        s.evicted = is_true(&s, "Evicted");
        insert(l, &s);
    }
    return l->error == 0 && ++l->seen < JOB_SLICES_MAX;
}

static struct str annotation(const struct job_slice *s, const char *key) {
    return json_str(json_get(json_path(s->tree, "metadata.annotations"), str_of(key)));
}

static bool replaces(const struct job_slice *s, const struct job_slice *prior) {
    struct str ns, name;
    return str_cut(annotation(s, KUEUE_SLICE_REPLACES), '/', &ns, &name) &&
           str_eq(ns, prior->obj->ns) && str_eq(name, prior->obj->name);
}

/* Another holds quota in its place: the queue is about to end it. */
static bool is_replaced(const struct slice_list *l, const struct job_slice *s) {
    for (size_t i = 0; i < l->n; i++) {
        if (&l->v[i] != s && l->v[i].reserved && s->reserved && replaces(&l->v[i], s)) {
            return true;
        }
    }
    return false;
}

/* The newest that holds quota, else the newest. */
static struct job_slice *holder_of(const struct slice_list *l) {
    struct job_slice *best = NULL;
    for (size_t i = 0; i < l->n; i++) {
        struct job_slice *s = &l->v[i];
        if ((s->reserved || best == NULL || !best->reserved) && !is_replaced(l, s)) {
            best = s;
        }
    }
    return best;
}

int job_slices_look(const struct job_look *l, struct job_slices *ret, struct err *err) {
    struct slice_list list = {.look = l,
                              .workloads = kind_by_name(STR("kueue.x-k8s.io"), STR("Workload"))};
    *ret = (struct job_slices){0};
    list.v = arena_alloc(l->arena, JOB_SLICES_MAX * sizeof *list.v);
    if (list.v == NULL) {
        return ERR_NOMEM;
    }
    mirror_owned(l->mirror, l->obj, look_at, &list);
    if (list.error != 0) {
        return err_set(err, list.error, "a Workload of the Job cannot be read");
    }
    const struct job_slice *holder = holder_of(&list);
    for (size_t i = 0; holder && i < list.n; i++) {
        const struct job_slice *s = &list.v[i];
        if (s == holder) {
            ret->holder = *s;
        } else if (!s->reserved && holder->reserved && ret->next.obj == NULL &&
                   replaces(s, holder)) {
            ret->next = *s;
        } else if (!is_replaced(&list, s)) {
            ret->odd = s->obj;
            ret->odd_wl = s->wl;
        }
    }
    if (holder == NULL) {
        ret->holder = list.last;
    }
    ret->ended = list.ended;
    ret->oldest = list.n_ended > JOB_SLICES_KEPT ? list.oldest : NULL;
    ret->n = list.seen;
    return 0;
}

/* ---- sizes ---- */

bool job_slice_alike(const struct job_look *l, const struct job_slice *s) {
    return job_workload_resized(l, s->tree, &s->wl, s->reserved);
}

enum job_slice_size job_slice_size(const struct job_look *l, const struct job_slice *s) {
    enum job_slice_size size = SLICE_SAME;
    for (size_t i = 0; i < l->n_parts && i < s->wl.spec->pod_sets.n; i++) {
        int32_t had = s->wl.spec->pod_sets.v[i].count;
        if (l->parts[i].count > had) {
            return SLICE_MORE;
        }
        size = l->parts[i].count < had ? SLICE_LESS : size;
    }
    return size;
}

int job_slice_draft(const struct job_look *l, const struct job_slice *s, struct workload_draft *was,
                    struct pod_set_draft_list *ret) {
    int r = workload_draft_read(s->tree, l->arena, was);
    size_t n = r == 0 ? was->spec->pod_sets.n : 0;
    struct pod_set_draft *v = r == 0 ? ARENA_ARRAY(l->arena, struct pod_set_draft, n + 1) : NULL;
    for (size_t i = 0; v && i < n; i++) {
        v[i] = was->spec->pod_sets.v[i];
        v[i].count = i < l->n_parts ? l->parts[i].count : 0;
    }
    *ret = (struct pod_set_draft_list){v, v ? n : 0};
    return r ? r : v ? 0 : ERR_NOMEM;
}

/* ---- a new one ---- */

struct str job_slice_name(const struct job_look *l) {
    struct str extra = arena_f(l->arena, "%lld", (long long)l->obj->generation);
    return workload_name_extra(l->row->is->kind, l->row->is->group, l->obj->name, l->obj->uid,
                               extra, l->arena);
}

int job_slice_write(const struct job_look *l, const struct job_slice *prior,
                    const struct workload_priority *p, struct buf *out) {
    struct str name = job_slice_name(l);
    struct str first = prior ? annotation(prior, KUEUE_SLICE_NAME) : name;
    struct job_workload_slice as = {.name = name};
    struct pod_set_draft_list sets;
    struct workload_draft was;
    int r = 0;
    as.chain = prior && str_empty(first) ? prior->obj->name : first;
    if (prior) {
        as.replaces =
            arena_f(l->arena, "%.*s/%.*s", STR_ARG(prior->obj->ns), STR_ARG(prior->obj->name));
        r = job_slice_draft(l, prior, &was, &sets);
        as.pod_sets = &sets;
    }
    return r ? r : job_workload_write(l, p, &as, out);
}
