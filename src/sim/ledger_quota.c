/*
 * ledger_quota: what there is, and how evenly it is used.
 *
 * Queues and cohorts are read anew, all of them, when one of them was edited and before the next Workload is looked at:
 * edits are rare. A queue that is stopped lends and is charged as any other, as in the engine.
 */
#include <stdlib.h>

#include "api/schema/codec.h"
#include "control/kit/views.h"
#include "core/quota/amount.h"
#include "sim/ledger_private.h"

enum { COHORTS_MAX = 64 }; /* above one queue; more is a cycle */

static double seconds(int64_t from, int64_t to) {
    return (double)(to - from) / NS_PER_SEC;
}

unsigned ledger_pair(struct ledger *l, struct str flavor, struct str resource) {
    for (size_t i = 0; i < l->n_pairs; i++) {
        if (str_eq(l->flavors[i], flavor) && str_eq(l->resources[i], resource)) {
            return (unsigned)i;
        }
    }
    if (l->n_pairs == LEDGER_PAIRS) {
        if (l->err.code == 0) { /* a part of the truth is not told for the whole */
            err_set(&l->err, ERR_TOO_MANY,
                    "resource %.*s of flavor %.*s: the simulator counts at most %d pairs of flavor "
                    "and resource",
                    STR_ARG(resource), STR_ARG(flavor), LEDGER_PAIRS);
        }
        return LEDGER_PAIRS;
    }
    l->flavors[l->n_pairs] = arena_str(&l->arena, flavor);
    l->resources[l->n_pairs] = arena_str(&l->arena, resource);
    return (unsigned)l->n_pairs++;
}

/* ---- sums over time ---- */

static void use_sum(struct ledger *l, struct ledger_use *u) {
    double dt = seconds(u->since, ledger_now(l));
    u->area += dt * (double)u->usage;
    u->room += dt * (double)u->nominal;
    u->since = ledger_now(l);
}

void ledger_use_add(struct ledger *l, struct ledger_use *u, int64_t v) {
    use_sum(l, u);
    u->usage += v;
    u->peak = u->usage > u->peak ? u->usage : u->peak;
}

static void tree_sum(struct ledger *l, struct ledger_tree *t) {
    double dt = seconds(t->since, ledger_now(l));
    if (t->n > 1 && t->squares > 1e-12) {
        t->area += dt * (t->sum * t->sum / ((double)t->n * t->squares));
        t->time_s += dt;
    }
    t->since = ledger_now(l);
}

/* One that has something to run, and may. */
static bool is_sharing(const struct ledger_queue *q) {
    return q->tree && q->open > 0 && !q->stopped;
}

static void share_leave(struct ledger *l, struct ledger_queue *q) {
    q->share_area += seconds(q->share_since, ledger_now(l)) * q->share;
    q->share_since = ledger_now(l);
    if (is_sharing(q)) {
        tree_sum(l, q->tree);
        q->tree->n--;
        q->tree->sum -= q->share;
        q->tree->squares -= q->share * q->share;
    }
}

static void share_join(struct ledger *l, struct ledger_queue *q) {
    if (is_sharing(q)) {
        tree_sum(l, q->tree);
        q->tree->n++;
        q->tree->sum += q->share;
        q->tree->squares += q->share * q->share;
    }
}

/* Over resources, of what all flavors of the tree have of each; the greatest. */
static double dominant(const struct ledger *l, const struct ledger_queue *q) {
    double most = 0;
    for (size_t i = 0; i < l->n_pairs && q->tree; i++) {
        double used = 0, there = 0;
        for (size_t k = 0; k < l->n_pairs; k++) {
            if (str_eq(l->resources[k], l->resources[i])) {
                used += (double)q->use[k].usage;
                there += (double)q->tree->nominal[k];
            }
        }
        double share = there > 0 ? used / there : 0;
        most = share > most ? share : most;
    }
    return q->weight > 0 ? most / q->weight : 0;
}

void ledger_share(struct ledger *l, struct ledger_queue *q) {
    share_leave(l, q);
    q->share = dominant(l, q);
    share_join(l, q);
}

void ledger_open(struct ledger *l, struct ledger_queue *q, int64_t more) {
    if (q) {
        share_leave(l, q);
        q->open += more;
        share_join(l, q);
    }
}

/* ---- what is written ---- */

struct ledger_queue *ledger_queue_of(struct ledger *l, struct str name) {
    struct ledger_queue *q = map_get(&l->queues, name);
    if (q || str_empty(name)) {
        return q;
    }
    q = ARENA_NEW(&l->arena, struct ledger_queue);
    if (q) {
        q->group.name = arena_str(&l->arena, name);
        q->weight = 1;
        for (size_t i = 0; i < LEDGER_PAIRS; i++) {
            q->use[i].borrowing = AMOUNT_NONE;
            q->use[i].since = ledger_now(l);
        }
    }
    if (q == NULL || arena_ok(&l->arena) != 0 || map_put(&l->queues, q->group.name, q, NULL) != 0) {
        ledger_no_memory(l);
        return NULL;
    }
    l->edited = true; /* it needs a tree */
    return q;
}

static struct ledger_tree *tree_of(struct ledger *l, struct str name) {
    struct ledger_tree *t = map_get(&l->trees, name);
    if (t == NULL && (t = ARENA_NEW(&l->arena, struct ledger_tree))) {
        t->name = arena_str(&l->arena, name);
        t->since = ledger_now(l);
        t = map_put(&l->trees, t->name, t, NULL) == 0 ? t : NULL;
    }
    if (t == NULL) {
        ledger_no_memory(l);
    }
    return t;
}

static void *decode(struct ledger *l, const struct object *o, const struct schema *s) {
    yyjson_doc *d;
    void *view = arena_zalloc(&l->scratch, s->size);
    if (view == NULL || object_tree(o, &l->scratch, &d, NULL) != 0 ||
        codec_decode(s, yyjson_doc_get_root(d), &l->scratch, view, NULL) != 0) {
        ledger_no_memory(l);
        return NULL;
    }
    return view;
}

/* The root above a cohort. */
static struct str root_of(struct ledger *l, struct str name) {
    for (int i = 0; i < COHORTS_MAX; i++) {
        const struct object *o = mirror_get(l->o.mirror, l->cohorts, STR(""), name);
        const struct cohort *h = o ? decode(l, o, &schema_cohort) : NULL;
        if (h == NULL || h->spec == NULL || str_empty(h->spec->parent_name)) {
            break;
        }
        name = h->spec->parent_name;
    }
    return name;
}

static int64_t amount_of(struct str resource, struct quantity q) {
    return str_is(resource, "cpu") ? quantity_milli(q) : quantity_value(q);
}

/* Adds the quotas of a queue (q) or a cohort (NULL) to the tree and to all. */
static void groups_read(struct ledger *l, const struct resource_group_list *groups,
                        struct ledger_tree *t, struct ledger_queue *q) {
    for (size_t g = 0; g < groups->n; g++) {
        for (size_t f = 0; f < groups->v[g].flavors.n; f++) {
            const struct flavor_quotas *fq = &groups->v[g].flavors.v[f];
            for (size_t r = 0; r < fq->resources.n; r++) {
                const struct resource_quota *x = &fq->resources.v[r];
                unsigned p = ledger_pair(l, fq->name, x->name);
                int64_t v = amount_of(x->name, x->nominal_quota);
                if (p == LEDGER_PAIRS) {
                    continue;
                }
                t->nominal[p] += v;
                l->use[p].nominal += v;
                if (q) {
                    q->use[p].nominal = v;
                    q->use[p].borrowing = x->borrowing_limit.set
                                              ? amount_of(x->name, x->borrowing_limit.v)
                                              : AMOUNT_NONE;
                }
            }
        }
    }
}

static bool queue_read(void *ctx, const struct object *o) {
    struct ledger *l = ctx;
    struct ledger_queue *q = ledger_queue_of(l, o->name);
    const struct cluster_queue *v = q ? decode(l, o, &schema_cluster_queue) : NULL;
    if (v == NULL || v->spec == NULL) {
        return q != NULL;
    }
    const struct cluster_queue_spec *s = v->spec;
    bool cohort = !str_empty(s->cohort_name);
    q->exists = true;
    q->stopped = !str_empty(s->stop_policy) && !str_is(s->stop_policy, "None");
    q->weight = s->fair_sharing && s->fair_sharing->weight.set
                    ? (double)quantity_milli(s->fair_sharing->weight.v) / 1000
                    : 1;
    q->tree = tree_of(l, cohort ? root_of(l, s->cohort_name) : q->group.name);
    if (q->tree) {
        q->tree->cohort = q->tree->cohort || cohort;
        groups_read(l, &s->resource_groups, q->tree, q);
    }
    return true;
}

static bool cohort_read(void *ctx, const struct object *o) {
    struct ledger *l = ctx;
    const struct cohort *v = decode(l, o, &schema_cohort);
    struct ledger_tree *t = tree_of(l, root_of(l, o->name));
    if (v && v->spec && t) {
        t->cohort = true;
        groups_read(l, &v->spec->resource_groups, t, NULL);
    }
    return true;
}

static void forget(struct ledger *l) {
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(&l->queues, &i));) {
        struct ledger_queue *q = e->value;
        share_leave(l, q);
        q->exists = q->stopped = false;
        q->tree = NULL;
        for (size_t p = 0; p < l->n_pairs; p++) {
            use_sum(l, &q->use[p]);
            q->use[p].nominal = 0;
            q->use[p].borrowing = AMOUNT_NONE;
        }
    }
    for (size_t i = 0; (e = map_next(&l->trees, &i));) {
        struct ledger_tree *t = e->value;
        tree_sum(l, t);
        t->cohort = false;
        t->n = 0;
        t->sum = t->squares = 0;
        memset(t->nominal, 0, sizeof t->nominal);
        memset(t->used, 0, sizeof t->used);
    }
    for (size_t p = 0; p < l->n_pairs; p++) {
        use_sum(l, &l->use[p]);
        l->use[p].nominal = 0;
    }
}

void ledger_settle(struct ledger *l) {
    const struct map_entry *e;
    if (!l->edited) {
        return;
    }
    forget(l);
    mirror_scan(l->o.mirror, l->queues_kind, STR(""), queue_read, l);
    mirror_scan(l->o.mirror, l->cohorts, STR(""), cohort_read, l);
    for (size_t i = 0; (e = map_next(&l->queues, &i));) {
        struct ledger_queue *q = e->value;
        q->tree = q->tree ? q->tree : tree_of(l, q->group.name);
        for (size_t p = 0; p < l->n_pairs && q->tree; p++) {
            q->tree->used[p] += q->use[p].usage;
        }
    }
    for (size_t i = 0; (e = map_next(&l->queues, &i));) { /* the trees are whole now */
        struct ledger_queue *q = e->value;
        q->share = dominant(l, q);
        share_join(l, q);
    }
    for (size_t i = 0; (e = map_next(&l->trees, &i));) {
        struct ledger_tree *t = e->value;
        for (size_t p = 0; p < l->n_pairs; p++) {
            t->most[p] = t->nominal[p] > t->most[p] ? t->nominal[p] : t->most[p];
        }
    }
    l->edited = false;
}

void ledger_on_quota(void *ctx, const struct change *ch) {
    struct ledger *l = ctx;
    if (ch->type == CHANGE_MODIFIED && ch->old && ch->old->generation == ch->obj->generation) {
        return; /* its status */
    }
    if (!l->edited) {
        ledger_close(l); /* up to now by what was there */
    }
    l->edited = true;
    l->edited_ns = ledger_now(l);
    l->edits += l->in_order.n > 0;
}

void ledger_close(struct ledger *l) {
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(&l->queues, &i));) {
        struct ledger_queue *q = e->value;
        share_leave(l, q);
        share_join(l, q);
        for (size_t p = 0; p < l->n_pairs; p++) {
            use_sum(l, &q->use[p]);
        }
    }
    for (size_t i = 0; (e = map_next(&l->trees, &i));) {
        tree_sum(l, e->value);
    }
    for (size_t p = 0; p < l->n_pairs; p++) {
        use_sum(l, &l->use[p]);
    }
}

/* ---- the least ---- */

static int latest_first(const void *a, const void *b) {
    const struct ledger_work *x = *(struct ledger_work *const *)a,
                             *y = *(struct ledger_work *const *)b;
    return (x->created < y->created) - (x->created > y->created);
}

/* Adds a Workload to what its tree must do from its arrival on; the earliest end of that, in seconds. */
static double least_with(const struct ledger *l, const struct ledger_work *w, int64_t also_ns) {
    struct ledger_tree *t = w->queue->tree;
    double least = 0, arrival = (double)w->created / NS_PER_SEC;
    double runs = (double)(also_ns + w->runtime) / NS_PER_SEC;
    for (size_t k = 0; k < w->n_amounts; k++) {
        size_t first = 0;
        double there = 0;
        for (size_t p = l->n_pairs; p-- > 0;) {
            if (str_eq(l->resources[p], l->resources[w->amounts[k].pair])) {
                there += (double)t->most[p];
                first = p;
            }
        }
        t->work[first] += (double)w->amounts[k].v * runs;
        double end = there > 0 ? arrival + t->work[first] / there : 0;
        least = end > least ? end : least;
    }
    return arrival + runs > least ? arrival + runs : least;
}

int64_t ledger_floor(struct ledger *l, int64_t startup_ns, bool lost) {
    const struct map_entry *e;
    double least = 0;
    struct ledger_work **v = mem_array(l->in_order.n + 1, sizeof *v);
    if (v == NULL) {
        ledger_no_memory(l);
        return 0;
    }
    for (size_t i = 0; (e = map_next(&l->trees, &i));) {
        memset(((struct ledger_tree *)e->value)->work, 0, sizeof(double[LEDGER_PAIRS]));
    }
    if (l->in_order.n) {
        memcpy(v, l->in_order.v, l->in_order.n * sizeof *v);
    }
    qsort(v, l->in_order.n, sizeof *v, latest_first);
    for (size_t i = 0; i < l->in_order.n; i++) {
        if (v[i]->first_started >= 0 && v[i]->queue && v[i]->queue->tree) {
            double end = least_with(l, v[i], startup_ns + (lost ? v[i]->lost_ns : 0));
            least = end > least ? end : least;
        }
    }
    mem_free(v);
    return (int64_t)(least * NS_PER_SEC);
}
