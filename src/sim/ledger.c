/* ledger: one change at a time. See ledger.h; quota is read in ledger_quota.c. */
#include "sim/ledger.h"

#include "core/quota/amount.h"
#include "sim/ledger_private.h"
#include "wire/json/json.h"
#include "wire/text/quantity.h"

enum { SCRATCH_MAX = 64 << 20, GRACE_MS = 1000, EVICTIONS_MAX = 1000 };
#define ARENA_MAX ((size_t)16 << 30)

int64_t ledger_now(const struct ledger *l) {
    return clock_mono(l->o.clock) - l->zero;
}

__attribute__((format(printf, 2, 3))) static void broken(struct ledger *l, const char *fmt, ...) {
    va_list ap;
    if (l->err.code == 0) {
        va_start(ap, fmt);
        err_setv(&l->err, ERR_INTERNAL, fmt, ap);
        va_end(ap);
        err_wrap(&l->err, "at %.3f s", (double)ledger_now(l) / NS_PER_SEC);
    }
}

void ledger_no_memory(struct ledger *l) {
    if (l->err.code == 0) {
        err_set(&l->err, ERR_NOMEM, "out of memory");
    }
}

/* ---- groups ---- */

static struct ledger_group *class_of(struct ledger *l, struct str name) {
    struct ledger_group *g = map_get(&l->classes, name);
    if (g == NULL && (g = ARENA_NEW(&l->arena, struct ledger_group))) {
        g->name = arena_str(&l->arena, name);
        if (map_put(&l->classes, g->name, g, NULL) != 0) {
            g = NULL;
        }
    }
    return g;
}

static unsigned reason_of(struct ledger *l, struct str why, struct str detail) {
    char text[128];
    int n = detail.n ? snprintf(text, sizeof text, "%.*s: %.*s", STR_ARG(why), STR_ARG(detail))
                     : snprintf(text, sizeof text, "%.*s", STR_ARG(why));
    struct str name = str_from(text, n < 0                     ? 0
                                     : (size_t)n < sizeof text ? (size_t)n
                                                               : sizeof text - 1);
    for (size_t i = 0; i < l->n_reasons; i++) {
        if (str_eq(l->reasons[i], name)) {
            return (unsigned)i;
        }
    }
    if (l->n_reasons == LEDGER_REASONS - 1) {
        name = STR("other");
    } else if (l->n_reasons == LEDGER_REASONS) {
        return LEDGER_REASONS - 1;
    }
    l->reasons[l->n_reasons] = arena_str(&l->arena, name);
    return (unsigned)l->n_reasons++;
}

/* The groups that a Workload counts in. */
static size_t groups_of(struct ledger *l, struct ledger_work *w, struct ledger_group *out[3]) {
    size_t n = 0;
    out[n++] = &l->all;
    if (w->class) {
        out[n++] = w->class;
    }
    if (w->queue) {
        out[n++] = &w->queue->group;
    }
    return n;
}

#define FOR_GROUPS(l, w, g, body)                                                                  \
    do {                                                                                           \
        struct ledger_group *gs_[3];                                                               \
        size_t n_ = groups_of((l), (w), gs_);                                                      \
        for (size_t i_ = 0; i_ < n_; i_++) {                                                       \
            struct ledger_group *g = gs_[i_];                                                      \
            body                                                                                   \
        }                                                                                          \
    } while (0)

/* ---- quota ---- */

static void judge(struct ledger *l, const struct ledger_work *w, unsigned pair) {
    const struct ledger_queue *q = w->queue;
    const struct ledger_use *u = &q->use[pair];
    int64_t most = u->nominal;
    if (q->tree->cohort) {
        most = u->borrowing == AMOUNT_NONE ? AMOUNT_UNLIMITED : amount_add(most, u->borrowing);
    }
    if (ledger_now(l) - l->edited_ns < GRACE_MS * NS_PER_MS && l->edited_ns > 0) {
        return;
    }
    if (u->usage > most) {
        broken(l,
               "workload %.*s/%.*s: ClusterQueue %.*s holds %lld of %.*s in %.*s, more than %lld",
               STR_ARG(w->ns), STR_ARG(w->name), STR_ARG(q->group.name), (long long)u->usage,
               STR_ARG(l->resources[pair]), STR_ARG(l->flavors[pair]), (long long)most);
    }
    if (q->tree->used[pair] > q->tree->nominal[pair]) {
        broken(l,
               "workload %.*s/%.*s: the queues of %.*s hold %lld of %.*s in %.*s, more than %lld",
               STR_ARG(w->ns), STR_ARG(w->name), STR_ARG(q->tree->name),
               (long long)q->tree->used[pair], STR_ARG(l->resources[pair]),
               STR_ARG(l->flavors[pair]), (long long)q->tree->nominal[pair]);
    }
}

/* fresh: it reserves anew, and has to fit; what is held already may be beyond a quota that was edited. */
static void move(struct ledger *l, struct ledger_work *w, int64_t sign, bool fresh) {
    if (w->queue == NULL || w->queue->tree == NULL) {
        return;
    }
    for (size_t i = 0; i < w->n_amounts; i++) {
        unsigned p = w->amounts[i].pair;
        int64_t v = sign * w->amounts[i].v;
        ledger_use_add(l, &w->queue->use[p], v);
        ledger_use_add(l, &l->use[p], v);
        w->queue->tree->used[p] += v;
        if (v > 0 && fresh) {
            judge(l, w, p);
        }
    }
    ledger_share(l, w->queue);
}

struct seen { /* what a change says */
    struct str reserved, admitted, evicted, finished, why, detail;
    yyjson_val *admission, *sets, *reclaimable;
};

static int64_t count_of(yyjson_val *list, struct str name, int64_t none) {
    size_t i, n;
    yyjson_val *x;
    yyjson_arr_foreach(list, i, n, x) {
        if (str_eq(json_str_at(x, "name"), name)) {
            return json_i64_at(x, "count", 1);
        }
    }
    return none;
}

/* What a set of pods holds of v, the usage of its admission: nothing for those that are reclaimable by now. */
static int64_t left_of(const struct seen *s, yyjson_val *set, int64_t v) {
    struct str name = json_str_at(set, "name");
    int64_t count = json_i64_at(set, "count", 1), gone = count_of(s->reclaimable, name, 0);
    int64_t left = amount_max(0, count_of(s->sets, name, count) - gone);
    return gone > 0 && left < count ? v / count * left : v;
}

static int64_t reclaimed(const struct seen *s) {
    size_t i, n;
    int64_t sum = 0;
    yyjson_val *x;
    yyjson_arr_foreach(s->reclaimable, i, n, x) {
        sum += json_i64_at(x, "count", 0);
    }
    return sum;
}

/* status.admission: which queue, and what is held. */
static void take(struct ledger *l, struct ledger_work *w, const struct seen *s) {
    size_t i, n, k, m, most = 0;
    yyjson_val *set, *flavor, *key;
    yyjson_val *sets = json_get(s->admission, STR("podSetAssignments"));
    yyjson_arr_foreach(sets, i, n, set) {
        most += yyjson_obj_size(json_get(set, STR("flavors")));
    }
    w->n_amounts = 0;
    w->amounts = ARENA_ARRAY(&l->arena, struct ledger_amount, most + 1);
    if (w->amounts == NULL) {
        ledger_no_memory(l);
        return;
    }
    yyjson_arr_foreach(sets, i, n, set) {
        yyjson_val *flavors = json_get(set, STR("flavors")),
                   *usage = json_get(set, STR("resourceUsage"));
        if (flavors == NULL) {
            continue;
        }
        yyjson_obj_foreach(flavors, k, m, key, flavor) {
            struct quantity q;
            unsigned p = ledger_pair(l, json_str(flavor), json_str(key));
            if (p < LEDGER_PAIRS &&
                quantity_parse(json_str(json_get(usage, json_str(key))), &q, NULL) == 0) {
                int64_t v = str_is(json_str(key), "cpu") ? quantity_milli(q) : quantity_value(q);
                w->amounts[w->n_amounts++] = (struct ledger_amount){p, left_of(s, set, v)};
            }
        }
    }
    w->reclaimed = reclaimed(s);
}

/* ---- one Workload ---- */

static void see(yyjson_val *root, struct seen *s) {
    size_t i, n;
    yyjson_val *c, *status = json_get(root, STR("status"));
    *s = (struct seen){.admission = json_get(status, STR("admission")),
                       .sets = json_path(root, "spec.podSets"),
                       .reclaimable = json_get(status, STR("reclaimablePods"))};
    yyjson_arr_foreach(json_get(status, STR("conditions")), i, n, c) {
        struct str type = json_str(json_get(c, STR("type"))),
                   is = json_str(json_get(c, STR("status")));
        if (str_is(type, "QuotaReserved")) {
            s->reserved = is;
        } else if (str_is(type, "Admitted")) {
            s->admitted = is;
        } else if (str_is(type, "Finished")) {
            s->finished = is;
        } else if (str_is(type, "Evicted")) {
            s->evicted = is;
            s->why = json_str(json_get(c, STR("reason")));
        } else if (str_is(type, "Preempted") && str_is(is, "True")) {
            s->detail = json_str(json_get(c, STR("reason")));
        }
    }
}

static struct ledger_queue *queue_of(struct ledger *l, const struct object *o, yyjson_val *root) {
    const struct object *local =
        mirror_get(l->o.mirror, l->locals, o->ns, json_str_at(root, "spec.queueName"));
    yyjson_doc *d;
    if (local == NULL || object_tree(local, &l->scratch, &d, NULL) != 0) {
        return NULL;
    }
    return ledger_queue_of(l, json_str_at(yyjson_doc_get_root(d), "spec.clusterQueue"));
}

static struct ledger_work *add(struct ledger *l, const struct object *o, yyjson_val *root) {
    struct ledger_work *w = ARENA_NEW(&l->arena, struct ledger_work);
    struct str class = object_label(o, STR(LEDGER_CLASS_LABEL));
    if (str_empty(class)) {
        class = json_str_at(root, "spec.priorityClassRef.name");
    }
    if (w == NULL) {
        ledger_no_memory(l);
        return NULL;
    }
    *w = (struct ledger_work){.uid = arena_str(&l->arena, o->uid),
                              .ns = arena_str(&l->arena, o->ns),
                              .name = arena_str(&l->arena, o->name),
                              .queue = queue_of(l, o, root),
                              .class = class_of(l, str_empty(class) ? STR("-") : class),
                              .created = ledger_now(l),
                              .started = -1,
                              .first_started = -1,
                              .runtime = l->o.runtime(l->o.ctx, o)};
    if (arena_ok(&l->arena) != 0 || map_put(&l->works, w->uid, w, NULL) != 0 ||
        ledger_works_push(&l->in_order, w) != 0) {
        ledger_no_memory(l);
        return NULL;
    }
    FOR_GROUPS(l, w, g, g->submitted++;);
    l->open++;
    ledger_open(l, w->queue, 1);
    return w;
}

static void give_back(struct ledger *l, struct ledger_work *w) {
    if (w->state == LEDGER_HOLDS || w->state == LEDGER_RUNS) {
        move(l, w, -1, false);
    }
}

static void stop(struct ledger *l, struct ledger_work *w, const struct object *o, bool finished) {
    if (w->state != LEDGER_RUNS) {
        return;
    }
    int64_t ran = ledger_now(l) - w->started, lost = l->o.stopped(l->o.ctx, w, o, ran);
    w->started = -1;
    w->lost_ns += finished ? 0 : lost;
    FOR_GROUPS(l, w, g, {
        g->lost_s += finished ? 0 : (double)lost / NS_PER_SEC;
        if (finished && ns_vec_push(&g->runs, ran) != 0) {
            ledger_no_memory(l);
        }
    });
}

static void reserve(struct ledger *l, struct ledger_work *w, const struct seen *s) {
    struct ledger_queue *q = ledger_queue_of(l, json_str_at(s->admission, "clusterQueue"));
    if (q != w->queue) { /* its LocalQueue leads elsewhere than when it came */
        ledger_open(l, w->queue, -1);
        ledger_open(l, q, 1);
        if (w->queue) {
            w->queue->group.submitted--;
        }
        if (q) {
            q->group.submitted++; /* it ends there */
        }
        w->queue = q;
        ledger_settle(l);
    }
    take(l, w, s);
    w->state = LEDGER_HOLDS;
    move(l, w, 1, true);
}

static void start(struct ledger *l, struct ledger_work *w, const struct object *o) {
    w->state = LEDGER_RUNS;
    w->started = ledger_now(l);
    if (w->first_started < 0) {
        w->first_started = w->started;
        FOR_GROUPS(l, w, g, {
            g->started++;
            if (ns_vec_push(&g->waits, w->started - w->created) != 0) {
                ledger_no_memory(l);
            }
        });
    }
    l->o.started(l->o.ctx, w, o);
}

static uint64_t admission_hash(struct ledger *l, yyjson_val *admission) {
    struct buf b;
    uint64_t h;
    buf_init(&b, 0);
    json_write(&b, admission);
    h = buf_ok(&b) == 0 ? str_hash(buf_view(&b)) : 0;
    buf_release(&b);
    return h;
}

static void over(struct ledger *l, struct ledger_work *w, const struct object *o, bool finished) {
    give_back(l, w);
    stop(l, w, o, finished);
    FOR_GROUPS(l, w, g, {
        g->finished += finished;
        g->deleted += !finished;
    });
    w->state = LEDGER_OVER;
    l->open--;
    l->last_end = ledger_now(l);
    ledger_open(l, w->queue, -1);
}

static void evict(struct ledger *l, struct ledger_work *w, const struct seen *s) {
    unsigned why = reason_of(l, s->why, str_is(s->why, "Preempted") ? s->detail : STR(""));
    FOR_GROUPS(l, w, g, g->evictions[why]++;);
    if (++w->evictions > EVICTIONS_MAX) {
        broken(l,
               "workload %.*s/%.*s was evicted %d times: preemption does not end (a Configuration "
               "with berth.dev/break-alternation breaks such rounds)",
               STR_ARG(w->ns), STR_ARG(w->name), EVICTIONS_MAX);
    }
}

static void look(struct ledger *l, const struct object *o, yyjson_val *root) {
    struct seen s;
    struct ledger_work *w = map_get(&l->works, o->uid);
    w = w ? w : add(l, o, root);
    if (w == NULL) {
        return;
    }
    see(root, &s);
    bool holds = str_is(s.reserved, "True") && s.admission,
         runs = holds && str_is(s.admitted, "True");
    bool evicted = str_is(s.evicted, "True");
    if (w->state == LEDGER_OVER) {
        if (!str_is(s.finished, "True")) {
            broken(l, "workload %.*s/%.*s was finished and is not any more", STR_ARG(w->ns),
                   STR_ARG(w->name));
        }
        return;
    }
    if (evicted && !w->evicted) {
        evict(l, w, &s);
    }
    w->evicted = evicted;
    if (str_is(s.finished, "True")) {
        over(l, w, o, true);
        return;
    }
    uint64_t hash = holds ? admission_hash(l, s.admission) : 0;
    if (holds && w->state != LEDGER_WAITS && hash != w->admission) {
        broken(l, "workload %.*s/%.*s was admitted anew while it held quota", STR_ARG(w->ns),
               STR_ARG(w->name));
    }
    if (holds && w->state == LEDGER_WAITS) {
        reserve(l, w, &s);
    } else if (holds && reclaimed(&s) != w->reclaimed) {
        move(l, w, -1, false);
        take(l, w, &s);
        move(l, w, 1, false);
    }
    w->admission = hash;
    if (runs && !evicted && w->state == LEDGER_HOLDS) {
        start(l, w, o);
    } else if (w->state == LEDGER_RUNS && (!runs || evicted)) {
        stop(l, w, o, false);
        w->state = LEDGER_HOLDS;
    }
    if (!holds && w->state == LEDGER_HOLDS) {
        give_back(l, w);
        w->state = LEDGER_WAITS;
    }
}

static void on_workload(void *ctx, const struct change *ch) {
    struct ledger *l = ctx;
    struct ledger_work *w = ch->type == CHANGE_DELETED ? map_get(&l->works, ch->obj->uid) : NULL;
    yyjson_doc *d;
    l->changed_ns = ledger_now(l);
    ledger_settle(l);
    if (ch->type != CHANGE_DELETED) {
        if (json_parse(&l->scratch, ch->obj->json, &d, NULL) == 0) {
            look(l, ch->obj, yyjson_doc_get_root(d));
        } else {
            ledger_no_memory(l);
        }
    } else if (w && w->state != LEDGER_OVER) {
        over(l, w, ch->obj, false);
    }
    arena_reset(&l->scratch);
}

/* ---- life ---- */

int ledger_init(struct ledger *l, const struct ledger_options *o, struct err *err) {
    *l = (struct ledger){.o = *o, .edited = true, .all.name = STR("all")};
    struct mirror *m = (struct mirror *)o->mirror;
    l->zero = clock_mono(o->clock);
    arena_init(&l->arena, ARENA_MAX);
    arena_init(&l->scratch, SCRATCH_MAX);
    l->workloads = kind_by_name(STR("kueue.x-k8s.io"), STR("Workload"));
    l->queues_kind = kind_by_name(STR("kueue.x-k8s.io"), STR("ClusterQueue"));
    l->cohorts = kind_by_name(STR("kueue.x-k8s.io"), STR("Cohort"));
    l->locals = kind_by_name(STR("kueue.x-k8s.io"), STR("LocalQueue"));
    l->feeds[0] = mirror_feed(m, l->workloads, on_workload, l);
    l->feeds[1] = mirror_feed(m, l->queues_kind, ledger_on_quota, l);
    l->feeds[2] = mirror_feed(m, l->cohorts, ledger_on_quota, l);
    if (l->feeds[0] == NULL || l->feeds[1] == NULL || l->feeds[2] == NULL) {
        ledger_release(l);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    return 0;
}

static void group_release(struct ledger_group *g) {
    ns_vec_release(&g->waits);
    ns_vec_release(&g->runs);
}

void ledger_release(struct ledger *l) {
    const struct map_entry *e;
    for (size_t i = 0; i < sizeof l->feeds / sizeof *l->feeds; i++) {
        if (l->feeds[i]) {
            feed_free(l->feeds[i]);
        }
    }
    for (size_t i = 0; (e = map_next(&l->queues, &i));) {
        group_release(&((struct ledger_queue *)e->value)->group);
    }
    for (size_t i = 0; (e = map_next(&l->classes, &i));) {
        group_release(e->value);
    }
    group_release(&l->all);
    map_release(&l->queues);
    map_release(&l->classes);
    map_release(&l->trees);
    map_release(&l->works);
    ledger_works_release(&l->in_order);
    arena_release(&l->arena);
    arena_release(&l->scratch);
    *l = (struct ledger){0};
}
