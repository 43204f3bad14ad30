/*
 * deployment_decide: which sets there are, and how many pods each should have. Counts and conditions are
 * deployment_status's.
 */
#include "control/apps/deployment_decide.h"

#include <stdlib.h>

#include "api/conditions.h"
#include "api/meta.h"
#include "control/apps/deployment_sight.h"

enum { HISTORY_MAX = 2000 }; /* bytes of a set's earlier revisions */

int64_t deployment_revision(const struct meta *m) {
    int64_t n;
    return str_to_i64(meta_annotation(m, DEPLOYMENT_REVISION), &n) && n > 0 ? n : 0;
}

/* ---- what a set is to be ---- */

static void annotate(struct deployment_sight *s, struct deployment_set *x, const char *key,
                     struct str v) {
    if (!str_eq(meta_annotation(&x->meta, key), v)) {
        s->failed |= v.p == NULL || meta_set(&x->meta.annotations, s->a, key, v) != 0;
        x->write = true;
    }
}

static struct str number(struct deployment_sight *s, int64_t n) {
    return arena_f(s->a, "%lld", (long long)n);
}

/* Its size, and what sizes the Deployment had then, by which a rollout that is resized is shared out. */
static void resize(struct deployment_sight *s, struct deployment_set *x, int32_t to) {
    if (x->spec.replicas.v != to || !x->spec.replicas.set) {
        x->spec.replicas = (struct opt_i32){true, to};
        x->write = true;
    }
    annotate(s, x, DEPLOYMENT_DESIRED, number(s, s->bounds.wanted));
    annotate(s, x, DEPLOYMENT_MAX, number(s, (int64_t)s->bounds.wanted + s->bounds.surge));
}

static bool resize_if(struct deployment_sight *s, struct deployment_set *x, int32_t to) {
    bool differs = deployment_set_replicas(x) != to;
    if (differs) {
        resize(s, x, to);
    }
    return differs;
}

/* What a Deployment's annotations do not give to its sets. */
static bool is_own(struct str key) {
    static const char *const own[] = {"kubectl.kubernetes.io/last-applied-configuration",
                                      DEPLOYMENT_REVISION,
                                      DEPLOYMENT_HISTORY,
                                      DEPLOYMENT_DESIRED,
                                      DEPLOYMENT_MAX,
                                      "deprecated.deployment.rollback.to"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        if (str_is(key, own[i])) {
            return true;
        }
    }
    return false;
}

static void copy_annotations(struct deployment_sight *s, struct deployment_set *x) {
    const struct str_map *from = &s->f->deployment->metadata->annotations;
    for (size_t i = 0; i < from->n; i++) {
        struct str key = arena_f(s->a, "%.*s", STR_ARG(from->v[i].key));
        if (key.p == NULL) {
            s->failed = true;
        } else if (!is_own(key)) {
            annotate(s, x, key.p, from->v[i].value);
        }
    }
}

static int64_t newest_old(const struct deployment_sight *s) {
    int64_t most = 0;
    for (size_t i = 0; i < s->f->n; i++) {
        const struct deployment_set *x = &s->f->sets[i];
        most = x != s->new && x->revision > most ? x->revision : most;
    }
    return most;
}

/* A set whose template is the current one again gets a new revision; those it had are remembered. */
static void revise(struct deployment_sight *s, struct deployment_set *x) {
    int64_t revision = newest_old(s) + 1;
    if (x->revision >= revision) {
        return;
    }
    struct str had = meta_annotation(&x->meta, DEPLOYMENT_HISTORY);
    if (x->revision > 0 && had.n < HISTORY_MAX) {
        annotate(
            s, x, DEPLOYMENT_HISTORY,
            arena_f(s->a, "%.*s%s%lld", STR_ARG(had), had.n ? "," : "", (long long)x->revision));
    }
    annotate(s, x, DEPLOYMENT_REVISION, number(s, revision));
    x->revision = revision;
}

static void set_revision(struct deployment_sight *s, int64_t revision) {
    struct str text = number(s, revision);
    if (!str_eq(meta_annotation(&s->plan->meta, DEPLOYMENT_REVISION), text)) {
        s->failed |= text.p == NULL ||
                     meta_set(&s->plan->meta.annotations, s->a, DEPLOYMENT_REVISION, text) != 0;
        s->plan->write_meta = true;
    }
}

/* ---- the new set ---- */

static int64_t total(const struct deployment_sight *s) {
    int64_t n = 0;
    for (size_t i = 0; i < s->f->n; i++) {
        n += deployment_set_replicas(&s->f->sets[i]);
    }
    return n;
}

static void create(struct deployment_sight *s) {
    struct deployment_set x = {0};
    struct deployment_plan *p = s->plan;
    if (s->f->taken) {
        p->status.collision_count = (struct opt_i32){true, s->was->collision_count.v + 1};
        return;
    }
    p->create = true;
    p->create_replicas = rollout_new_replicas(&s->bounds, total(s), 0);
    copy_annotations(s, &x);
    revise(s, &x);
    annotate(s, &x, DEPLOYMENT_DESIRED, number(s, s->bounds.wanted));
    annotate(s, &x, DEPLOYMENT_MAX, number(s, (int64_t)s->bounds.wanted + s->bounds.surge));
    p->annotations = x.meta.annotations;
    if (deployment_has_deadline(s) && !str_empty(s->f->fault)) {
        deployment_condition(s, "Progressing", "False", "ReplicaSetCreateError",
                             arena_f(s->a, "Failed to create new replica set \"%.*s\": %.*s",
                                     STR_ARG(s->f->name), STR_ARG(s->f->fault)));
    } else if (deployment_has_deadline(s)) {
        deployment_condition(
            s, "Progressing", "True", "NewReplicaSetCreated",
            arena_f(s->a, "Created new replica set \"%.*s\"", STR_ARG(s->f->name)));
    }
    set_revision(s, x.revision);
}

/* Keeps the new set in step with the Deployment; `make`: makes it where there is none. */
static void sync_new(struct deployment_sight *s, bool make) {
    struct deployment_set *x = s->new;
    if (x == NULL) {
        if (make) {
            create(s);
        }
        return;
    }
    copy_annotations(s, x);
    revise(s, x);
    if (x->spec.min_ready_seconds != s->spec->min_ready_seconds) {
        x->spec.min_ready_seconds = s->spec->min_ready_seconds;
        x->write = true;
    }
    if (x->revision > 0) {
        set_revision(s, x->revision);
    }
    if (deployment_has_deadline(s) && conditions_find(&s->conditions, "Progressing") == NULL) {
        deployment_condition(
            s, "Progressing", "True", "FoundNewReplicaSet",
            arena_f(s->a, "Found new replica set \"%.*s\"", STR_ARG(x->obj->name)));
    }
}

/* ---- sizes ---- */

static struct rollout_set numbers_of(const struct deployment_set *x) {
    int64_t max;
    bool known = str_to_i64(meta_annotation(x->set.metadata, DEPLOYMENT_MAX), &max) && max >= 0 &&
                 max <= INT32_MAX;
    return (struct rollout_set){.replicas = deployment_set_replicas(x),
                                .available = x->set.status ? x->set.status->available_replicas : 0,
                                .max_before = known ? (int32_t)max : -1,
                                .created_ns = x->obj->created_ns,
                                .name = x->obj->name,
                                .to = x->spec.replicas.v};
}

static struct deployment_set *named(struct deployment_sight *s, struct str name) {
    struct deployment_set *x = s->f->sets;
    while (!str_eq(x->obj->name, name)) {
        x++;
    }
    return x;
}

/* The sets with pods, without `but`. */
static struct rollout_set *active_sets(struct deployment_sight *s, const struct deployment_set *but,
                                       size_t *ret_n) {
    struct rollout_set *v = ARENA_ARRAY(s->a, struct rollout_set, s->f->n + 1);
    *ret_n = 0;
    for (size_t i = 0; v && i < s->f->n; i++) {
        if (&s->f->sets[i] != but && deployment_set_replicas(&s->f->sets[i]) > 0) {
            v[(*ret_n)++] = numbers_of(&s->f->sets[i]);
        }
    }
    s->failed |= v == NULL;
    return v;
}

/* All that is there to be resized: the only active one, or where none is, the new or the newest one. */
static struct deployment_set *single(struct deployment_sight *s) {
    struct deployment_set *active = NULL;
    for (size_t i = 0; i < s->f->n; i++) {
        if (deployment_set_replicas(&s->f->sets[i]) > 0) {
            if (active) {
                return NULL;
            }
            active = &s->f->sets[i];
        }
    }
    return active ? active : s->new ? s->new : s->f->n ? &s->f->sets[s->f->n - 1] : NULL;
}

static bool is_saturated(const struct deployment_sight *s) {
    struct str desired =
        s->new ? meta_annotation(s->new->set.metadata, DEPLOYMENT_DESIRED) : (struct str){0};
    int64_t n;
    return s->new &&str_to_i64(desired, &n) &&
           n == s->bounds.wanted &&deployment_set_replicas(s->new) == s->bounds.wanted &&
           s->new->set.status && s->new->set.status->available_replicas == s->bounds.wanted;
}

static void scale(struct deployment_sight *s) {
    struct deployment_set *one = single(s);
    size_t n;
    if (one) {
        if (deployment_set_replicas(one) != s->bounds.wanted) {
            resize(s, one, s->bounds.wanted);
        }
        annotate(s, one, DEPLOYMENT_DESIRED, number(s, s->bounds.wanted));
        return;
    }
    struct rollout_set *v = active_sets(s, is_saturated(s) ? s->new : NULL, &n);
    if (is_saturated(s)) {
        for (size_t i = 0; v && i < n; i++) {
            resize(s, named(s, v[i].name), 0);
        }
    } else if (s->bounds.rolling && v) {
        rollout_share(&s->bounds, s->was->replicas, v, n);
        for (size_t i = 0; i < n; i++) {
            resize(s, named(s, v[i].name), v[i].to);
        }
    }
}

/* Was the Deployment given another size since its sets were sized? */
static bool is_resized(const struct deployment_sight *s) {
    for (size_t i = 0; i < s->f->n; i++) {
        const struct deployment_set *x = &s->f->sets[i];
        int64_t n;
        if (deployment_set_replicas(x) > 0 &&
            str_to_i64(meta_annotation(x->set.metadata, DEPLOYMENT_DESIRED), &n) &&
            n != s->bounds.wanted) {
            return true;
        }
    }
    return false;
}

/* ---- old sets that nobody goes back to ---- */

static int by_age(const void *va, const void *vb) {
    const struct deployment_set *a = va, *b = vb;
    return a->obj->created_ns != b->obj->created_ns
               ? (a->obj->created_ns > b->obj->created_ns) * 2 - 1
               : str_cmp(a->obj->name, b->obj->name);
}

static int by_revision(const void *va, const void *vb) {
    const struct deployment_set *a = *(struct deployment_set *const *)va;
    const struct deployment_set *b = *(struct deployment_set *const *)vb;
    return a->revision != b->revision ? (a->revision > b->revision) * 2 - 1 : by_age(a, b);
}

static void clean_up(struct deployment_sight *s) {
    struct opt_i32 limit = s->spec->revision_history_limit;
    struct deployment_set **v = ARENA_ARRAY(s->a, struct deployment_set *, s->f->n + 1);
    size_t n = 0;
    s->failed |= v == NULL;
    for (size_t i = 0; v && i < s->f->n; i++) {
        if (&s->f->sets[i] != s->new && !s->f->sets[i].obj->deleting_ns) {
            v[n++] = &s->f->sets[i];
        }
    }
    if (v == NULL || !limit.set || limit.v == INT32_MAX || n <= (size_t)limit.v) {
        return;
    }
    qsort(v, n, sizeof(struct deployment_set *), by_revision);
    for (size_t i = 0; i < n - (size_t)limit.v; i++) {
        const struct replica_set_status *x = v[i]->set.status;
        v[i]->remove = deployment_set_replicas(v[i]) == 0 && x && x->replicas == 0 &&
                       x->observed_generation >= v[i]->obj->generation;
    }
}

/* ---- the two ways ---- */

/* Old ones go where new ones came, or need not be there. */
static bool shrink_old(struct deployment_sight *s) {
    struct rollout_set new = s->new ? numbers_of(s->new) : (struct rollout_set){0};
    size_t n;
    struct rollout_set *old = active_sets(s, s->new, &n);
    bool any = old && rollout_old_replicas(&s->bounds, old, n, s->new ? &new : NULL);
    for (size_t i = 0; any && i < n; i++) {
        (void)resize_if(s, named(s, old[i].name), old[i].to);
    }
    return any;
}

static void roll(struct deployment_sight *s) {
    int32_t now = s->new ? deployment_set_replicas(s->new) : 0;
    sync_new(s, true);
    if (s->new == NULL) {
        return; /* it comes first */
    }
    int32_t to =
        now > s->bounds.wanted ? s->bounds.wanted : rollout_new_replicas(&s->bounds, total(s), now);
    if (!resize_if(s, s->new, to) && !shrink_old(s) && deployment_complete(s, s->was)) {
        clean_up(s);
    }
}

static void recreate(struct deployment_sight *s) {
    bool waits = false;
    sync_new(s, false);
    for (size_t i = 0; i < s->f->n; i++) {
        struct deployment_set *x = &s->f->sets[i];
        if (x != s->new) {
            bool shrinks = resize_if(s, x, 0);
            waits = waits || shrinks || x->has_pods;
        }
    }
    if (waits) {
        return;
    }
    if (s->new == NULL) {
        sync_new(s, true);
    } else if (!resize_if(s, s->new, s->bounds.wanted) && deployment_complete(s, s->was)) {
        clean_up(s);
    }
}

static void go(struct deployment_sight *s) {
    if (s->f->obj->deleting_ns) {
        deployment_status_fill(s, false);
        return;
    }
    deployment_tell_paused(s);
    if (s->spec->paused || is_resized(s)) {
        sync_new(s, false);
        scale(s);
        if (s->spec->paused) {
            clean_up(s);
        }
        deployment_status_fill(s, false);
        return;
    }
    if (s->bounds.rolling) {
        roll(s);
    } else {
        recreate(s);
    }
    deployment_status_fill(s, true);
}

int deployment_decide(struct deployment_facts *f, struct arena *a, struct deployment_plan *ret) {
    static const struct deployment_status none;
    const struct deployment_strategy *way = f->deployment->spec->strategy;
    bool rolling = way == NULL || !str_is(way->type, "Recreate");
    const struct deployment_rolling *r = way ? way->rolling_update : NULL;
    struct deployment_sight s = {.f = f, .a = a, .plan = ret, .spec = f->deployment->spec};
    s.was = f->deployment->status ? f->deployment->status : &none;
    s.bounds = rollout_bounds(s.spec->replicas.set ? s.spec->replicas.v : 1, rolling,
                              r ? r->max_surge : STR("25%"), r ? r->max_unavailable : STR("25%"));
    *ret = (struct deployment_plan){.meta = *f->deployment->metadata};
    ret->status.collision_count = s.was->collision_count;
    if (f->n) {
        qsort(f->sets, f->n, sizeof *f->sets, by_age);
    }
    for (size_t i = 0; i < f->n; i++) {
        struct deployment_set *x = &f->sets[i];
        x->spec = *x->set.spec;
        x->meta = *x->set.metadata;
        x->revision = deployment_revision(&x->meta);
        if (s.new == NULL && str_eq(x->text, f->text)) {
            s.new = x;
        }
    }
    for (size_t i = 0; s.new == NULL &&i < f->n; i++) { /* made of it, and changed on its way */
        s.new = str_eq(f->sets[i].obj->name, f->name) ? &f->sets[i] : NULL;
    }
    deployment_conditions_init(&s);
    if (!s.failed) {
        go(&s);
    }
    return s.failed || arena_ok(a) != 0 ? ERR_NOMEM : 0;
}
