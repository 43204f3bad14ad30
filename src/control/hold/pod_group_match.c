/* pod_group_match: see pod_group_match.h. */
#include "control/hold/pod_group_match.h"

#include <stdlib.h>

#define QUEUE_LABEL "kueue.x-k8s.io/queue-name"

/* ---- orders ---- */

static int by_truth(bool x, bool y) { /* those with it first */
    return (int)y - (int)x;
}

static int by_time(int64_t x, int64_t y) {
    return (x > y) - (x < y);
}

static int age_cmp(const void *vx, const void *vy) {
    const struct gated_pod *x = *(const struct gated_pod *const *)vx;
    const struct gated_pod *y = *(const struct gated_pod *const *)vy;
    int c = by_time(x->obj->created_ns, y->obj->created_ns);
    return c ? c : str_cmp(x->obj->name, y->obj->name);
}

static int active_cmp(const void *vx, const void *vy) {
    const struct gated_pod *x = *(const struct gated_pod *const *)vx;
    const struct gated_pod *y = *(const struct gated_pod *const *)vy;
    int c = by_truth(x->finalizer, y->finalizer);
    c = c ? c : by_truth(!x->gated, !y->gated);
    return c ? c : age_cmp(vx, vy);
}

/* Until when it counted. */
static int64_t last_active(const struct gated_pod *p) {
    int64_t failed = p->failed_ns ? p->failed_ns : INT64_MAX;
    int64_t deleted = p->obj->deleting_ns ? p->obj->deleting_ns : INT64_MAX;
    return failed < deleted ? failed : deleted;
}

static int inactive_cmp(const void *vx, const void *vy) {
    const struct gated_pod *x = *(const struct gated_pod *const *)vx;
    const struct gated_pod *y = *(const struct gated_pod *const *)vy;
    int c = by_truth(x->finalizer, y->finalizer);
    c = c ? c : by_time(last_active(y), last_active(x));
    return c ? c : age_cmp(vx, vy);
}

static void sort(struct pod_list *l, int (*cmp)(const void *, const void *)) {
    if (l->n) {
        qsort(l->v, l->n, sizeof *l->v, cmp);
    }
}

void pod_list_by_age(struct pod_list *l) {
    sort(l, age_cmp);
}

/* ---- lists ---- */

static int room(struct pod_list *l, size_t n, struct arena *a) {
    *l = (struct pod_list){.v = ARENA_ARRAY(a, const struct gated_pod *, n + 1)};
    return l->v ? 0 : ERR_NOMEM;
}

static void add(struct pod_list *l, const struct gated_pod *p) {
    l->v[l->n++] = p;
}

/* The last `cut` of `from` go to `tail`, the others to `stay`. */
static void split(const struct pod_list *from, size_t cut, struct pod_list *stay,
                  struct pod_list *tail) {
    for (size_t i = 0; i < from->n; i++) {
        add(i + cut < from->n ? stay : tail, from->v[i]);
    }
}

static bool never_ran(const struct gated_pod *p) {
    return p->obj->deleting_ns && !p->placed && !gated_pod_over(p);
}

struct scratch {
    struct pod_list active, inactive;
};

static int scratch_init(struct scratch *s, size_t n, struct arena *a) {
    return room(&s->active, n, a) || room(&s->inactive, n, a) ? ERR_NOMEM : 0;
}

static int match_init(struct group_match *m, size_t n, struct arena *a) {
    *m = (struct group_match){0};
    return room(&m->kept, n, a) || room(&m->excess, n, a) || room(&m->loose, n, a) ? ERR_NOMEM : 0;
}

/* ---- against a Workload ---- */

static void match_role(const struct pod_list *pods, struct str role, int32_t count, bool fast,
                       struct scratch *s, struct group_match *m) {
    s->active.n = s->inactive.n = 0;
    for (size_t i = 0; i < pods->n; i++) {
        const struct gated_pod *p = pods->v[i];
        if (str_eq(p->role, role) && !never_ran(p)) {
            add(gated_pod_runnable(p) ? &s->active : &s->inactive, p);
        }
    }
    size_t want = count > 0 ? (size_t)count : 0, have = s->active.n, all = have + s->inactive.n;
    m->absent += fast ? want > 0 && have == 0 : have < want ? (int32_t)(want - have) : 0;
    size_t surplus = have > want ? have - want : 0, spare = all > want ? all - want : 0;
    sort(&s->active, active_cmp);
    split(&s->active, surplus, &m->kept, &m->excess);
    sort(&s->inactive, inactive_cmp);
    split(&s->inactive, spare < s->inactive.n ? spare : s->inactive.n, &m->kept, &m->loose);
}

int pod_group_match(const struct pod_list *pods, const struct workload *wl, bool fast,
                    struct arena *a, struct group_match *ret) {
    struct scratch s;
    if (match_init(ret, pods->n, a) != 0 || scratch_init(&s, pods->n, a) != 0) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < pods->n; i++) {
        if (never_ran(pods->v[i])) {
            add(&ret->loose, pods->v[i]);
        }
    }
    for (size_t i = 0; wl->spec && i < wl->spec->pod_sets.n; i++) {
        const struct pod_set *ps = &wl->spec->pod_sets.v[i];
        match_role(pods, ps->name, ps->count, fast, &s, ret);
    }
    return 0;
}

/* ---- of itself ---- */

static int role_cmp(const void *vx, const void *vy) {
    const struct pod_role *x = vx, *y = vy;
    return str_cmp(x->name, y->name);
}

int pod_group_roles(const struct pod_list *pods, bool fast, int32_t total, struct arena *a,
                    struct pod_role **ret, size_t *ret_n) {
    struct pod_role *v = ARENA_ARRAY(a, struct pod_role, POD_GROUP_ROLES + 1);
    size_t n = 0;
    for (size_t i = 0; v && i < pods->n; i++) {
        const struct gated_pod *p = pods->v[i];
        size_t k = 0;
        if (!gated_pod_runnable(p)) {
            continue;
        }
        while (k < n && !str_eq(v[k].name, p->role)) {
            k++;
        }
        if (k <= POD_GROUP_ROLES && k == n) {
            v[n++] = (struct pod_role){.name = p->role, .sample = p};
        }
        if (k < n) {
            v[k].count++;
        }
        if (fast) {
            v[0].count = total;
            break;
        }
    }
    if (v == NULL) {
        return ERR_NOMEM;
    }
    qsort(v, n, sizeof *v, role_cmp);
    *ret = v;
    *ret_n = n;
    return 0;
}

static struct str different_queue(const struct gated_pod *x, const struct gated_pod *y,
                                  struct arena *a) {
    struct str p = object_label(x->obj, STR(QUEUE_LABEL));
    struct str q = object_label(y->obj, STR(QUEUE_LABEL));
    return str_eq(p, q)
               ? (struct str){0}
               : arena_f(a, "pods '%.*s' and '%.*s' have different queue names: %.*s!=%.*s",
                         STR_ARG(x->obj->name), STR_ARG(y->obj->name), STR_ARG(p), STR_ARG(q));
}

struct str pod_group_fault(const struct pod_list *pods, const struct gated_pod *first,
                           struct arena *a) {
    size_t runnable = 0;
    if (first->total <= 0) {
        return arena_f(a, "pod '%.*s' has no annotation '" POD_GROUP_TOTAL "' with a number",
                       STR_ARG(first->obj->name));
    }
    for (size_t i = 0; i < pods->n; i++) {
        const struct gated_pod *p = pods->v[i];
        runnable += gated_pod_runnable(p);
        if (p->failed) {
            continue;
        }
        struct str text = different_queue(first, p, a);
        if (!str_empty(text)) {
            return text;
        }
        if (p->total != first->total) {
            return arena_f(
                a, "pods '%.*s' and '%.*s' have different '" POD_GROUP_TOTAL "' values: %d!=%d",
                STR_ARG(first->obj->name), STR_ARG(p->obj->name), first->total, p->total);
        }
    }
    if (!first->fast && runnable < (size_t)first->total) {
        return arena_f(a, "'%.*s' group has fewer runnable pods than expected",
                       STR_ARG(first->group));
    }
    return (struct str){0};
}

int pod_group_surplus(const struct pod_list *pods, int32_t total, struct arena *a,
                      struct group_match *ret) {
    struct scratch s;
    if (match_init(ret, pods->n, a) != 0 || scratch_init(&s, pods->n, a) != 0) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < pods->n; i++) {
        add(gated_pod_runnable(pods->v[i]) ? &s.active : &ret->loose, pods->v[i]);
    }
    size_t want = total > 0 ? (size_t)total : 0;
    sort(&s.active, active_cmp);
    split(&s.active, s.active.n > want ? s.active.n - want : 0, &ret->kept, &ret->excess);
    return 0;
}
