/* property_run (core): a case is lived through, and held against what must be true. See property.h. */
#include <inttypes.h>
#include <stdarg.h>

#include "base/prng.h"
#include "core/test/property_world.h"

enum { ROUNDS_MAX = 120, CALLS_MAX = 200000 };

FILE *property_trace;

static void failed(struct world *w, const char *format, ...) {
    va_list args;
    if (w->out->failure[0] != '\0') {
        return; /* the first one says most */
    }
    va_start(args, format);
    vsnprintf(w->out->failure, sizeof(w->out->failure), format, args);
    va_end(args);
}

static bool ok(const struct world *w) {
    return w->out->failure[0] == '\0';
}

static void told(struct world *w, uint64_t what, struct str uid, uint64_t more) {
    w->out->decisions = hash_mix(hash_str(hash_mix(w->out->decisions, what), uid), more);
}

/* ---- capacity ---- */

/* What is free for each queue's cells, in the order of the forest. */
static void free_now(struct world *w, int64_t *v, size_t *ret_n, size_t max) {
    size_t n = 0;
    struct quota_nodes nodes = {0};
    if (engine_settle(w->e) != 0 || quota_nodes_of(&w->e->forest, NULL, &nodes) != 0) {
        failed(w, "no memory");
        quota_nodes_release(&nodes);
        return;
    }
    for (size_t i = 0; i < nodes.n; i++) {
        const struct quota_node *node = nodes.v[i];
        for (size_t k = 0; node->queue && k < node->n_cells && n < max; k++) {
            v[n++] = quota_available(&node->cells[k]);
        }
    }
    *ret_n = n;
    quota_nodes_release(&nodes);
}

static void check_free(struct world *w, const int64_t *before, size_t n, const int64_t *after,
                       size_t m) {
    for (size_t i = 0; i < n && n == m; i++) {
        if (after[i] < before[i] && after[i] < 0) {
            failed(w, "cell %zu: %" PRId64 " free before, %" PRId64 " after", i, before[i],
                   after[i]);
        }
    }
    if (n != m) {
        failed(w, "cells came or went while nothing was edited");
    }
}

/* What the queues below a root cohort hold of each pair, and what there is for them; by what was put and given. */
struct totals {
    struct {
        int64_t held, there;
    } v[W_COHORTS][W_FLAVORS << 2];
};

static const struct quota_node *highest(const struct quota_node *n) {
    unsigned depth = 0;
    for (; n->above != NULL && depth <= W_COHORTS + 1; n = n->above) {
        depth++;
    }
    return depth > W_COHORTS + 1 || n->queue ? NULL : n; /* a cycle; alone */
}

/* What is its own. The resources are told apart by their first letters: c, m, e. */
static void totals_add(const struct world *w, struct totals *t, const struct quota_node *n,
                       uint32_t pair, int64_t held) {
    const struct quota_node *root = highest(n);
    struct str f = names_text(engine_flavors(w->e), pair >> 16);
    struct str r = names_text(engine_resources(w->e), pair & 0xffff);
    int64_t own = 0;
    if (root == NULL || str_empty(f) || str_empty(r)) {
        return; /* the engine of fits_alone may not know the flavor that somebody holds still */
    }
    size_t flavor = (size_t)(f.p[2] - '0'), place = flavor << 2 | ((unsigned)r.p[0] >> 2 & 3);
    for (size_t i = 0; i < n->n_own; i++) {
        own = n->own[i].pair == pair ? n->own[i].nominal : own;
    }
    size_t id = (size_t)(root->name.p[1] - '0') * 10 + (size_t)(root->name.p[2] - '0');
    t->v[id][place].there += own;
    t->v[id][place].held += held;
}

static int64_t given(const struct world *w, uint8_t queue, uint32_t pair) {
    int64_t sum = 0;
    for (size_t i = 0; i < W_LOADS; i++) {
        const struct load *l = &w->loads[i];
        for (size_t h = 0; l->state == LOAD_HOLDING && l->queue == queue && h < l->n_held; h++) {
            bool same = quota_pair(l->held[h].flavor, l->held[h].resource) == pair;
            sum += same ? l->held[h].v : 0;
        }
    }
    return sum;
}

static void totals_now(struct world *w, struct totals *t) {
    *t = (struct totals){0};
    if (engine_settle(w->e) != 0) {
        failed(w, "no memory");
        return;
    }
    for (uint8_t id = 0; id < W_COHORTS; id++) {
        const struct quota_node *n = quota_find(&w->e->forest, false, world_name('c', id));
        for (size_t k = 0; n != NULL && k < n->n_cells; k++) {
            totals_add(w, t, n, n->cells[k].q.pair, 0);
        }
    }
    for (uint8_t id = 0; id < W_QUEUES; id++) {
        const struct quota_node *n = quota_find(&w->e->forest, true, world_name('q', id));
        for (size_t k = 0; n != NULL && k < n->n_cells; k++) {
            totals_add(w, t, n, n->cells[k].q.pair, given(w, id, n->cells[k].q.pair));
        }
    }
}

/* More than there is may be held after an edit; not more and more. */
static void check_totals(struct world *w, const struct totals *before, const struct totals *after) {
    for (size_t c = 0; c < W_COHORTS; c++) {
        for (size_t k = 0; k < W_FLAVORS << 2; k++) {
            int64_t held = after->v[c][k].held;
            if (held > before->v[c][k].held && held > after->v[c][k].there) {
                failed(w, "below c%02zu: %" PRId64 " held of %" PRId64 ", pair %zu", c, held,
                       after->v[c][k].there, k);
            }
        }
    }
}

/* ---- actions ---- */

static struct load *load_of(struct world *w, struct str uid) {
    unsigned id =
        uid.n == 3 && uid.p[0] == 'w' ? (unsigned)(uid.p[1] - '0') * 10 + uid.p[2] - '0' : W_LOADS;
    if (id >= W_LOADS) {
        failed(w, "%.*s: nobody is called so", STR_ARG(uid));
        return NULL;
    }
    return &w->loads[id];
}

static void check_amounts(struct world *w, const struct engine_action *a, const struct load *l) {
    unsigned offered = queue_flavors(w->queues[l->queue].seed);
    for (size_t i = 0; i < a->n_held; i++) {
        const struct held_amount *h = &a->held[i];
        struct str f = names_text(engine_flavors(w->e), h->flavor);
        int32_t min, most = load_count(l, h->set, &min);
        int64_t one = load_request(l, h->set, names_text(engine_resources(w->e), h->resource));
        int32_t count = a->counts != NULL ? a->counts[h->set] : most;
        if (!engine_flavor_exists(w->e, f) || (offered >> (f.p[2] - '0') & 1) == 0) {
            failed(w, "%.*s: flavor %.*s is not there", STR_ARG(a->uid), STR_ARG(f));
        }
        if (count > most || count < (min > 0 ? min : most) || h->v != one * count) {
            failed(w, "%.*s: %" PRId64 " for %d pods", STR_ARG(a->uid), h->v, count);
        }
    }
}

static void admitted(struct world *w, const struct engine_action *a) {
    struct load *l = load_of(w, a->uid);
    if (l == NULL) {
        return;
    }
    if (l->state != LOAD_PENDING) {
        failed(w, "%.*s: admitted while it %s", STR_ARG(a->uid),
               l->state == LOAD_HOLDING ? "holds quota" : "is gone");
        return;
    }
    if (a->n_held > W_HELD || !w->queues[l->queue].is || w->queues[l->queue].stopped) {
        failed(w, "%.*s: admitted where nothing is", STR_ARG(a->uid));
        return;
    }
    check_amounts(w, a, l);
    l->state = LOAD_HOLDING;
    l->evicting = false;
    l->reserved_ns = w->now_ns;
    l->n_held = a->n_held;
    for (size_t i = 0; i < a->n_held; i++) {
        l->held[i] = a->held[i];
        told(w, 1, a->uid, hash_mix(a->held[i].flavor, (uint64_t)a->held[i].v));
    }
    w->out->admitted++;
}

static void preempted(struct world *w, const struct engine_action *a) {
    struct load *l = load_of(w, a->uid), *by = load_of(w, a->by);
    if (l == NULL || by == NULL) {
        return;
    }
    uint32_t asker = w->queues[by->queue].seed;
    bool own = l->queue == by->queue;
    if (l->state != LOAD_HOLDING || l->evicting || by->state != LOAD_PENDING) {
        failed(w, "%.*s: evicted, but it holds nothing or is on its way out", STR_ARG(a->uid));
    }
    if (l->protected_until_ns > w->now_ns) {
        failed(w, "%.*s: evicted in spite of its protection", STR_ARG(a->uid));
    }
    enum preempt_policy p = queue_policy(asker, own ? 0 : 1);
    bool lower = l->priority < by->priority;
    bool newer = l->priority == by->priority && by->queued_ns < l->queued_ns;
    if (!(p == PREEMPT_ANY || (p != PREEMPT_NEVER && lower) ||
          (p == PREEMPT_LOWER_OR_NEWER && newer))) {
        failed(w, "%.*s: evicted by %.*s against its policy", STR_ARG(a->uid), STR_ARG(a->by));
    }
    if (own != (a->reason == PREEMPT_IN_QUEUE) ||
        (a->reason == PREEMPT_RECLAIM_BORROWING && queue_policy(asker, 2) == PREEMPT_NEVER) ||
        (a->reason == PREEMPT_FAIR_SHARING && !w->o.fair_sharing)) {
        failed(w, "%.*s: evicted for reason %d", STR_ARG(a->uid), (int)a->reason);
    }
    l->evicting = true;
    told(w, 2 + (uint64_t)a->reason, a->uid, hash_str(7, a->by));
    w->out->preempted++;
}

static void trace(const struct world *w, const struct engine_action *a) {
    static const char *const words[] = {"admitted", "waits", "evicted"};
    fprintf(property_trace, "  %s %.*s in %.*s", words[a->type], STR_ARG(a->uid),
            STR_ARG(a->queue));
    for (size_t i = 0; a->type == ACTION_ADMIT && i < a->n_held; i++) {
        struct str f = names_text(engine_flavors(w->e), a->held[i].flavor);
        struct str r = names_text(engine_resources(w->e), a->held[i].resource);
        fprintf(property_trace, " %.*s/%.*s=%" PRId64, STR_ARG(f), STR_ARG(r), a->held[i].v);
    }
    if (a->type == ACTION_PREEMPT) {
        fprintf(property_trace, " by %.*s, reason %d", STR_ARG(a->by), (int)a->reason);
    } else if (a->type == ACTION_PEND) {
        fprintf(property_trace, ": %s %d", pend_reason_text(a->verdict->reason),
                (int)a->verdict->turn);
    }
    fputc('\n', property_trace);
}

static void action(struct world *w, const struct engine_action *a) {
    if (property_trace != NULL) {
        trace(w, a);
    }
    const struct load *l = load_of(w, a->uid);
    switch (a->type) {
    case ACTION_ADMIT:
        admitted(w, a);
        break;
    case ACTION_PREEMPT:
        preempted(w, a);
        break;
    case ACTION_PEND:
        if (l != NULL && a->verdict->turn != TURN_NONE) {
            load_of(w, a->uid)->outrun = true;
        }
        if (l != NULL && l->state != LOAD_PENDING) {
            failed(w, "%.*s: told to wait, but it %s", STR_ARG(a->uid),
                   l->state == LOAD_HOLDING ? "holds quota" : "is gone");
        }
        break;
    }
}

/* ---- after a run ---- */

static void check_usage(struct world *w) {
    for (uint8_t q = 0; q < W_QUEUES; q++) {
        const struct quota_node *n = quota_find(&w->e->forest, true, world_name('q', q));
        for (size_t k = 0; n != NULL && k < n->n_cells; k++) {
            int64_t sum = given(w, q, n->cells[k].q.pair);
            if (sum != n->cells[k].usage) {
                failed(w, "q%02u: %" PRId64 " used, but %" PRId64 " given", q, n->cells[k].usage,
                       sum);
            }
        }
    }
}

static void check_states(struct world *w) {
    for (uint8_t i = 0; i < W_LOADS; i++) {
        bool holds = false, known = engine_workload_known(w->e, world_name('w', i), &holds);
        if (known != (w->loads[i].state != LOAD_ABSENT) ||
            (known && holds != (w->loads[i].state == LOAD_HOLDING))) {
            failed(w, "w%02u: %s, but the engine %s", i,
                   w->loads[i].state == LOAD_ABSENT    ? "gone"
                   : w->loads[i].state == LOAD_PENDING ? "waits"
                                                       : "holds quota",
                   !known  ? "does not know it"
                   : holds ? "says it holds quota"
                           : "says it waits");
        }
    }
    if (!engine_consistent(w->e)) {
        failed(w, "the engine is not consistent");
    }
    check_usage(w);
}

/* Until nothing is left to decide (limit 0), or for so many calls. */
static void run(struct world *w, size_t budget, size_t limit) {
    enum { CELLS_MAX = 256 };
    int64_t before[CELLS_MAX], after[CELLS_MAX];
    size_t n = 0, m = 0, calls = 0;
    struct totals had, has;
    bool more = true;
    free_now(w, before, &n, CELLS_MAX);
    totals_now(w, &had);
    while (more && ok(w) && (limit == 0 || calls < limit)) {
        const struct engine_action *a;
        size_t n_actions;
        if (engine_run(w->e, w->now_ns, budget, &a, &n_actions, &more, NULL) != 0) {
            failed(w, "engine_run: no memory");
            return;
        }
        for (size_t i = 0; i < n_actions && ok(w); i++) {
            action(w, &a[i]);
        }
        if (++calls > CALLS_MAX) {
            failed(w, "the engine always wants more");
        }
    }
    if (ok(w)) {
        totals_now(w, &has);
        check_totals(w, &had, &has);
    }
    if (ok(w) && !more) { /* under way, heads keep quota for themselves */
        free_now(w, after, &m, CELLS_MAX);
        check_free(w, before, n, after, m);
    }
}

/* ---- events ---- */

static void forget_queue(struct world *w, uint8_t id) {
    engine_queue_del(w->e, world_name('q', id));
    w->queues[id].is = false;
    for (size_t i = 0; i < W_LOADS; i++) {
        if (w->loads[i].queue == id) {
            w->loads[i].state = LOAD_ABSENT;
        }
    }
}

static void submit(struct world *w, uint8_t id, uint32_t seed) {
    struct load *l = &w->loads[id];
    if (l->state != LOAD_ABSENT) {
        return;
    }
    load_draw(l, seed, w->now_ns);
    int r = world_put_load(w, id);
    if ((r == 0) != w->queues[l->queue].is) {
        failed(w, "w%02u: put gave %d", id, r);
    }
    l->state = r == 0 ? LOAD_PENDING : LOAD_ABSENT;
}

static bool load_is(const struct load *l, enum property_kind kind) {
    switch (kind) {
    case EV_FINISH:
    case EV_UNDO:
        return l->state == LOAD_HOLDING && !(kind == EV_UNDO && l->evicting);
    case EV_EVICTED:
    case EV_KEEP:
        return l->state == LOAD_HOLDING && l->evicting;
    default:
        return l->state != LOAD_ABSENT;
    }
}

static void evicted(struct world *w, uint8_t id) {
    struct load *l = &w->loads[id];
    l->state = LOAD_PENDING;
    l->evicting = l->outrun = false;
    l->reserved_ns = 0;
    l->n_held = 0;
    if (world_put_load(w, id) != 0) {
        failed(w, "w%02u: it cannot come back", id);
    }
}

static void reprioritize(struct world *w, uint8_t id, uint32_t seed) {
    struct load *l = &w->loads[id];
    l->priority = seed % 4;
    int r = l->state == LOAD_PENDING ? world_put_load(w, id) : world_hold_load(w, id);
    if (r != 0) {
        failed(w, "w%02u: a new priority gave %d", id, r);
    }
}

/* Events about a workload in some state find the next one that is. */
static void load_event(struct world *w, const struct property_event *v) {
    uint8_t id = v->id;
    for (size_t i = 0; i < W_LOADS && !load_is(&w->loads[id], v->kind); i++) {
        id = (uint8_t)((id + 1) % W_LOADS);
    }
    struct load *l = &w->loads[id];
    if (!load_is(l, v->kind)) {
        return;
    }
    switch ((enum property_kind)v->kind) {
    case EV_FINISH:
    case EV_DELETE:
        engine_workload_del(w->e, world_name('w', id));
        l->state = LOAD_ABSENT;
        break;
    case EV_EVICTED:
        evicted(w, id);
        break;
    case EV_KEEP:
        engine_workload_keep(w->e, world_name('w', id));
        l->evicting = false;
        break;
    case EV_UNDO:
        engine_workload_undo(w->e, world_name('w', id));
        l->state = LOAD_PENDING;
        l->n_held = 0;
        break;
    case EV_PRIORITY:
        reprioritize(w, id, v->seed);
        break;
    default:
        break;
    }
}

static void tree_event(struct world *w, const struct property_event *v) {
    int r = 0;
    switch ((enum property_kind)v->kind) {
    case EV_COHORT:
        w->cohorts[v->id] = (struct put){.is = true, .seed = v->seed};
        r = world_put_cohort(w, v->id);
        break;
    case EV_COHORT_DEL:
        w->cohorts[v->id].is = false;
        engine_cohort_del(w->e, world_name('c', v->id));
        break;
    case EV_QUEUE:
        w->queues[v->id] = (struct put){.is = true, .seed = v->seed};
        r = world_put_queue(w, v->id);
        break;
    case EV_QUEUE_DEL:
        forget_queue(w, v->id);
        break;
    case EV_QUEUE_STOP:
        w->queues[v->id].stopped = !w->queues[v->id].stopped;
        r = w->queues[v->id].is ? world_put_queue(w, v->id) : 0;
        break;
    case EV_FLAVOR_PUT:
        w->flavors[v->id].is = true;
        r = world_put_flavor(w, v->id);
        break;
    case EV_FLAVOR_DEL:
        w->flavors[v->id].is = false;
        engine_flavor_del(w->e, world_name('f', v->id));
        break;
    default:
        break;
    }
    if (r != 0) {
        failed(w, "%u: put gave %d", v->kind, r);
    }
}

static void event(struct world *w, const struct property_event *v, size_t budget) {
    int64_t next;
    if (property_trace != NULL) {
        fprintf(property_trace, "%s %u\n", property_name(v->kind), v->id);
    }
    switch ((enum property_kind)v->kind) {
    case EV_SUBMIT:
        submit(w, v->id, v->seed);
        break;
    case EV_TICK:
        w->now_ns += 1 + v->seed % 10;
        engine_local_sample(w->e, w->now_ns, &next);
        break;
    case EV_RUN:
        run(w, budget, 0);
        check_states(w);
        break;
    case EV_RUN_PART:
        run(w, 1, 1 + v->seed % 12);
        break;
    default:
        if (v->kind < EV_SUBMIT) {
            tree_event(w, v);
        } else {
            load_event(w, v);
        }
    }
}

/* ---- coming to rest ---- */

/* Every eviction is carried out and everything decided, again and again: false when that does not end. */
static bool rest(struct world *w, size_t budget) {
    for (size_t i = 0; i < ROUNDS_MAX && ok(w); i++) {
        bool any = false;
        size_t before = w->out->admitted + w->out->preempted;
        run(w, budget, 0);
        w->now_ns++;
        for (uint8_t id = 0; id < W_LOADS; id++) {
            if (w->loads[id].state == LOAD_HOLDING && w->loads[id].evicting) {
                evicted(w, id);
                any = true;
            }
        }
        w->out->rounds++;
        if (!any && w->out->admitted + w->out->preempted == before) {
            return true;
        }
    }
    return false;
}

/* Evictions by strictly lower priority alone cannot go round: no fair sharing, nothing but LowerPriority. */
static bool must_rest(const struct world *w) {
    bool must = !w->o.fair_sharing && !w->o.local_usage; /* both order by other things, too */
    for (size_t i = 0; i < W_QUEUES; i++) {
        for (int k = 0; k < 2 && w->queues[i].is; k++) {
            enum preempt_policy p = queue_policy(w->queues[i].seed, k);
            must = must && (p == PREEMPT_NEVER || p == PREEMPT_LOWER);
        }
    }
    return w->o.break_alternation || must;
}

/* Would it be admitted by an engine that is new to everything, if it were the only one that waits? */
static bool fits_alone(struct world *w, uint8_t id) {
    struct world other;
    struct property_result ignored = {0};
    world_init(&other, &w->o);
    memcpy(other.cohorts, w->cohorts, sizeof(w->cohorts));
    memcpy(other.queues, w->queues, sizeof(w->queues));
    memcpy(other.loads, w->loads, sizeof(w->loads));
    other.now_ns = w->now_ns;
    other.out = &ignored;
    for (uint8_t i = 0; i < W_FLAVORS; i++) {
        if (w->flavors[i].is) {
            world_put_flavor(&other, i);
        }
    }
    for (uint8_t i = 0; i < W_COHORTS; i++) {
        if (w->cohorts[i].is) {
            world_put_cohort(&other, i);
        }
    }
    for (uint8_t i = 0; i < W_QUEUES; i++) {
        if (w->queues[i].is) {
            world_put_queue(&other, i);
        }
    }
    for (uint8_t i = 0; i < W_LOADS; i++) {
        struct load *l = &other.loads[i];
        for (size_t h = 0; h < l->n_held; h++) { /* numbers of names differ between engines */
            l->held[h].flavor = names_find(engine_flavors(other.e),
                                           names_text(engine_flavors(w->e), l->held[h].flavor));
            l->held[h].resource = names_find(
                engine_resources(other.e), names_text(engine_resources(w->e), l->held[h].resource));
        }
        if (l->state == LOAD_HOLDING) {
            world_hold_load(&other, i);
        } else if (i != id) {
            l->state = LOAD_ABSENT;
        }
    }
    world_put_load(&other, id);
    run(&other, 1000, 0);
    bool fits = other.loads[id].state == LOAD_HOLDING; /* traced last, when it does */
    engine_free(other.e);
    return fits;
}

/* Parked work is never forgotten. Heads that are active still may keep quota from the others: then nothing is
 * asked, unless there is but one. Nor of one that was outrun: it goes on with its next flavor, as Kueue has it,
 * and when that does not fit it is parked, though an earlier one may do by then. */
static void check_forgotten(struct world *w) {
    size_t waiting = 0, active = 0;
    for (uint8_t q = 0; q < W_QUEUES; q++) {
        struct engine_counts n = {0};
        engine_queue_counts(w->e, world_name('q', q), &n);
        waiting += n.pending;
        active += n.pending - n.parked;
    }
    for (uint8_t i = 0; i < W_LOADS && ok(w) && (active == 0 || waiting == 1); i++) {
        if (w->loads[i].state == LOAD_PENDING && !w->loads[i].outrun && fits_alone(w, i)) {
            failed(w, "w%02u: it waits in q%02u, and would fit", i, w->loads[i].queue);
        }
    }
    w->out->asked = active == 0;
}

static struct engine_options options_of(uint32_t seed, int break_alternation) {
    struct engine_options o = {.check_undo = true};
    o.fair_sharing = (seed & 3) == 0;
    o.fair_strategies = (seed >> 2) % 4;
    o.break_alternation =
        break_alternation == BREAK_AS_DRAWN ? (seed & 16) != 0 : break_alternation != 0;
    o.local_usage = (seed & 96) == 0;
    o.usage_half_life_ns = 7;
    o.usage_interval_ns = 3;
    o.no_priority_in_cohort = (seed & 896) == 0;
    o.prioritize_preemptors = (seed & 7168) == 0;
    return o;
}

void property_run(const struct property_case *c, size_t budget, int break_alternation,
                  struct property_result *ret) {
    struct world w;
    struct engine_options o = options_of(c->options, break_alternation);
    *ret = (struct property_result){0};
    world_init(&w, &o);
    w.out = ret;
    budget = budget > 0 ? budget : SIZE_MAX;
    for (size_t i = 0; i < c->n && ok(&w); i++) {
        event(&w, &c->v[i], budget);
    }
    if (ok(&w)) {
        ret->endless = !rest(&w, budget);
        if (ok(&w) && ret->endless && must_rest(&w)) {
            failed(&w, "evictions do not end");
        }
        check_states(&w);
        if (ok(&w) && !ret->endless) {
            check_forgotten(&w);
        }
    }
    engine_free(w.e);
}
