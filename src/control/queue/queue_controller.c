/* queue_controller: feeds in, the engine's runs, and who is told of what. */
#include "control/queue/queue_private.h"

#include "api/meta.h"
#include "api/schema/codec.h"
#include "wire/text/time.h"

#define MAX_PROTECTION_ANNOTATION "berth.dev/max-protection" /* on ClusterQueues */

enum { RUN_BUDGET = 512, SETTLED_MANY = 1000 };
static const int64_t SETTLE_PAUSE_NS = 10000; /* some twenty times what settling one takes */

/* ---- records ---- */

bool queue_cluster_active(struct queue_controller *c, struct str name) {
    const struct cluster_state *s = map_get(&c->clusters, name);
    return s != NULL && s->exists && !s->checks_bad && engine_queue_active(c->engine, name);
}

void *queue_decode(struct queue_controller *c, const struct object *o) {
    const struct schema *s = kind_storage(o->kind)->schema;
    yyjson_doc *doc;
    void *view = arena_zalloc(&c->base.arena, s->size);
    if (view == NULL || object_tree(o, &c->base.arena, &doc, NULL) != 0 ||
        codec_decode(s, yyjson_doc_get_root(doc), &c->base.arena, view, NULL) != 0) {
        return NULL;
    }
    return view;
}

void *queue_view(struct queue_controller *c, enum queue_kind k, struct str ns, struct str name,
                 const struct object **ret_obj) {
    const struct object *o = mirror_get(c->env->mirror, c->base.kinds[k], ns, name);
    arena_reset(&c->base.arena);
    if (ret_obj != NULL) {
        *ret_obj = o;
    }
    return o != NULL ? queue_decode(c, o) : NULL;
}

/* ---- the engine's runs ---- */

void queue_look(struct queue_controller *c, enum queue_sort sort, struct str ns, struct str name,
                int64_t delay_ns) {
    struct workqueue *lane = sort == QS_WORKLOAD ? c->base.queue
                             : sort == QS_POD    ? c->pods
                                                 : c->states;
    workqueue_look(lane, (struct work_key){sort, ns, name}, delay_ns);
}

void queue_kick(struct queue_controller *c) {
    if (!c->timer_on) {
        c->timer_on = true;
        c->env->clock->timer_start(c->timer, 0);
    }
}

/* Out of memory it stays unsaid: the write goes on without. */
static void note_admission(struct queue_controller *c, struct queue_work *q,
                           const struct engine_action *a) {
    size_t n = 0;
    struct buf b;
    for (size_t i = 0; i < a->n_held; i++) {
        n = a->held[i].set + 1 > n ? a->held[i].set + 1 : n;
    }
    mem_free(q->counts);
    q->counts = a->counts != NULL && n > 0 ? mem_alloc(n * sizeof(*q->counts)) : NULL;
    q->n_counts = q->counts != NULL ? n : 0;
    if (q->counts != NULL) {
        memcpy(q->counts, a->counts, n * sizeof(*q->counts));
    }
    mem_free(q->considered);
    q->considered = NULL;
    if (a->considered != NULL) {
        buf_init(&b, LIMIT_EVENT_MESSAGE);
        considered_text(a->considered, engine_flavors(c->engine), engine_resources(c->engine),
                        &c->base.arena, &b);
        q->considered = mem_cstr(buf_view(&b));
        buf_release(&b);
    }
}

static void note_verdict(struct queue_controller *c, struct queue_work *q,
                         const struct verdict *v) {
    struct buf b;
    buf_init(&b, (size_t)16 * LIMIT_CONDITION_MESSAGE); /* cut where it is written */
    verdict_text(v, engine_flavors(c->engine), engine_resources(c->engine), &c->base.arena, &b);
    q->reason = pend_reason_text(v->reason);
    q->gated = v->reason == PEND_GATED;
    q->message = buf_take(&b, &q->message_n);
    buf_release(&b);
}

static void note(struct queue_controller *c, const struct engine_action *a) {
    struct queue_work *q = map_get(&c->by_uid, a->uid);
    if (a->type == ACTION_PREEMPT) {
        queue_victim_note(c, a);
        return;
    }
    if (q == NULL) {
        return;
    }
    mem_free(q->message);
    q->message = NULL;
    q->reason = NULL;
    q->gated = q->bypassed = false;
    arena_reset(&c->base.arena);
    if (a->type == ACTION_PEND) {
        note_verdict(c, q, a->verdict);
        q->bypassed = a->alike && c->settings->gates.unadmitted_explicit_status;
        queue_told(c, q);
    } else {
        q->edits = c->edits;
        note_admission(c, q, a);
    }
    queue_look(c, QS_WORKLOAD, q->ns, q->name, 0);
}

/* Everything that waits in a LocalQueue is looked at again. */
static void local_again(struct queue_controller *c, struct local_state *l) {
    for (const struct queue_work *q = l->works; q != NULL; q = q->next) {
        queue_look(c, QS_WORKLOAD, q->ns, q->name, 0);
    }
    queue_state_soon(c, l);
}

static void cluster_again(struct queue_controller *c, struct cluster_state *s) {
    for (struct local_state *l = s->locals; l != NULL; l = l->of_next) {
        local_again(c, l);
    }
    queue_cluster_soon(c, s->name);
}

/* ClusterQueues whose activity, or share, may have changed by what happened to flavors, cohorts and queues. */
static void activity_scan(struct queue_controller *c) {
    bool is_queue;
    struct str name;
    uint64_t before = engine_settled(c->engine);
    c->activity_due = false;
    while (engine_fresh(c->engine, &is_queue, &name)) {
        struct cluster_state *s = is_queue ? map_get(&c->clusters, name) : NULL;
        bool active = s != NULL && queue_cluster_active(c, name);
        if (s != NULL) {
            s->metrics.clean = false; /* its place in the tree is told, too */
        }
        if (!is_queue) {
            queue_cohort_soon(c, name);
        } else if (s != NULL && active != s->was_active) {
            s->was_active = active;
            cluster_again(c, s);
        } else if (s != NULL && (!active || c->settings->fair_sharing)) {
            queue_cluster_soon(c, name); /* the reason may be another one now */
        }
    }
    uint64_t settled = engine_settled(c->engine) - before;
    c->settle_ns =
        settled < SETTLED_MANY ? 0 : clock_mono(c->env->clock) + (int64_t)settled * SETTLE_PAUSE_NS;
}

static void run(void *ctx) {
    struct queue_controller *c = ctx;
    const struct engine_action *a;
    size_t n = 0;
    int64_t wake = INT64_MAX, now = clock_wall(c->env->clock);
    int64_t started = clock_mono(c->env->clock);
    bool more = false;
    c->timer_on = false;
    queue_clusters_sweep(c);
    if (c->activity_due &&
        started < c->settle_ns) { /* many edits of a large tree share one settling */
        c->timer_on = true;
        c->env->clock->timer_start(c->timer, c->settle_ns - started);
        return;
    }
    if (c->activity_due) {
        activity_scan(c);
    }
    size_t budget = c->env->turn > RUN_BUDGET ? c->env->turn : RUN_BUDGET;
    int r = engine_run(c->engine, now, budget, &a, &n, &more, &wake);
    queue_metrics_run(c, a, r == 0 ? n : 0, started);
    for (size_t i = 0; r == 0 && i < n; i++) {
        note(c, &a[i]);
    }
    if (r != 0) {
        log_error(c->env->log, "queues: no memory for a scheduling cycle; trying again");
        c->timer_on = true;
        c->env->clock->timer_start(c->timer, NS_PER_SEC);
        return;
    }
    queue_pods_retry(c);
    if (more) {
        queue_kick(c);
    } else if (wake < INT64_MAX) { /* a protection ends then */
        c->env->clock->timer_start(c->wake, wake > now ? wake - now : NS_PER_MS);
    }
}

static void woken(void *ctx) {
    queue_kick(ctx);
}

/* ---- feeds ---- */

void queue_lost(struct queue_controller *c, const struct object *o) {
    log_error(c->env->log, "%s %.*s: no memory for it; it is read again", o->kind->singular,
              STR_ARG(o->name));
    queue_look(c, QS_READ, STR(""), STR(""), NS_PER_SEC);
}

/* Flavors, cohorts or queues changed: who is active is asked once, before the engine's next run. */
static void activity_again(struct queue_controller *c) {
    c->activity_due = true;
    c->edits++;
    queue_kick(c);
}

static bool reread(void *ctx, struct cluster_state *s);

/* A change of the status, most likely our own, or of metadata: no word of it to the engine, where an edit costs. */
static bool spec_same(const struct change *ch) {
    return ch->type == CHANGE_MODIFIED && ch->old != NULL &&
           ch->old->generation == ch->obj->generation &&
           ch->old->deleting_ns == ch->obj->deleting_ns;
}

static void on_flavor(void *self, const struct change *ch) {
    struct queue_controller *c = self;
    struct flavor_input in;
    struct str topology = {0};
    arena_reset(&c->base.arena);
    if (spec_same(ch)) {
        queue_look(c, QS_FLAVOR, STR(""), ch->obj->name, 0); /* our finalizer may have gone */
        return;
    }
    if (ch->type == CHANGE_DELETED) {
        engine_flavor_del(c->engine, ch->obj->name);
    } else {
        struct resource_flavor *f = queue_decode(c, ch->obj);
        if (f == NULL || translate_flavor(f, &c->base.arena, &in) != 0 ||
            engine_flavor_put(c->engine, &in) != 0) {
            queue_lost(c, ch->obj);
        }
        topology = f != NULL && f->spec != NULL ? f->spec->topology_name : topology;
        queue_look(c, QS_FLAVOR, STR(""), ch->obj->name, 0);
    }
    if (queue_topology_flavor(c, ch->obj->name, topology, reread, c) != 0) {
        queue_lost(c, ch->obj);
    }
    activity_again(c);
}

static bool covers(const struct cluster_queue *q, struct str resource) {
    for (size_t i = 0; q->spec != NULL && i < q->spec->resource_groups.n; i++) {
        const struct str_list *l = &q->spec->resource_groups.v[i].covered_resources;
        for (size_t k = 0; k < l->n; k++) {
            if (str_eq(l->v[k], resource)) {
                return true;
            }
        }
    }
    return false;
}

/* How long its workloads may ask not to be victims. */
static int64_t max_protection(struct queue_controller *c, const struct cluster_queue *q) {
    struct str text = meta_annotation(q->metadata, MAX_PROTECTION_ANNOTATION);
    struct err err = {0};
    int64_t ns = 0;
    if (!str_empty(text) && duration_parse(text, &ns, &err) != 0) {
        log_warn(c->env->log, "clusterqueue %.*s: %s: %s", STR_ARG(q->metadata->name),
                 MAX_PROTECTION_ANNOTATION, err.text);
        ns = 0;
    }
    return ns > 0 ? ns : 0;
}

static bool protection_same(struct queue_controller *c, const struct change *ch) {
    struct str key = STR(MAX_PROTECTION_ANNOTATION);
    if (!str_contains(ch->obj->json, key) && !str_contains(ch->old->json, key)) {
        return true;
    }
    arena_reset(&c->base.arena);
    const struct cluster_queue *a = queue_decode(c, ch->old), *b = queue_decode(c, ch->obj);
    return a != NULL && b != NULL &&
           str_eq(meta_annotation(a->metadata, key.p), meta_annotation(b->metadata, key.p));
}

/* What of a ClusterQueue is in its record's arena; on failure that is as it was. */
static int cluster_keep(struct queue_controller *c, const struct object *o,
                        const struct cluster_queue *q, struct cluster_state *s) {
    struct cluster_state was = *s;
    yyjson_doc *doc;
    arena_init(&s->arena, was.arena.max);
    s->shape = NULL;
    s->rules = NULL;
    s->n_rules = 0;
    int r = object_tree(o, &s->arena, &doc, NULL);
    if (r == 0) {
        yyjson_val *sel = json_path(yyjson_doc_get_root(doc), "spec.namespaceSelector");
        r = selector_from_json(&s->arena, sel, &s->namespaces, NULL);
    }
    if (r == 0) {
        r = queue_shape_read(s, q);
    }
    if (r == 0) {
        r = queue_checks_read(c, s, q);
    }
    if (r == 0) {
        arena_release(&was.arena);
        return 0;
    }
    arena_release(&s->arena);
    s->arena = was.arena;
    s->namespaces = was.namespaces;
    s->shape = was.shape;
    s->rules = was.rules;
    s->n_rules = was.n_rules;
    s->checks_bad = was.checks_bad;
    return r;
}

static int cluster_read(struct queue_controller *c, const struct object *o,
                        struct cluster_state *s) {
    struct queue_input in;
    struct cluster_queue *q = queue_decode(c, o);
    int r = q != NULL ? translate_queue(q, &c->base.arena, &in) : ERR_NOMEM;
    if (r == 0) {
        r = cluster_keep(c, o, q, s);
    }
    if (r != 0) {
        return r;
    }
    s->exists = true;
    s->stopped = in.held;
    s->drains = q->spec != NULL && str_is(q->spec->stop_policy, "HoldAndDrain");
    s->terminating = o->deleting_ns != 0;
    s->covers_pods = covers(q, STR("pods"));
    s->max_protection_ns = max_protection(c, q);
    in.held =
        in.held || s->checks_bad || s->terminating || queue_topologies_missing(c, s, NULL, NULL);
    return engine_queue_put(c->engine, &in);
}

/* Its places, until it is being prepared. */
static void on_reservation(void *self, const struct change *ch) {
    queue_booking_read(self, ch->obj, ch->type == CHANGE_DELETED);
}

static void on_cluster_queue(void *self, const struct change *ch) {
    struct queue_controller *c = self;
    struct cluster_state *s = queue_cluster(c, ch->obj->name);
    queue_pins_read(c, ch->obj->name, ch->type != CHANGE_DELETED ? ch->obj : NULL);
    if (spec_same(ch) && protection_same(c, ch)) {
        return;
    }
    arena_reset(&c->base.arena);
    if (s != NULL && ch->type == CHANGE_DELETED) {
        queue_cluster_gone(c, s);
        engine_queue_del(c->engine, s->name);
    } else if (s == NULL || cluster_read(c, ch->obj, s) != 0) {
        queue_lost(c, ch->obj);
        return;
    }
    queue_metrics_cluster(c, s);
    cluster_again(c, s);
    activity_again(c);
}

static void on_cohort(void *self, const struct change *ch) {
    struct queue_controller *c = self;
    struct cohort_input in;
    if (spec_same(ch)) {
        return;
    }
    arena_reset(&c->base.arena);
    if (ch->type == CHANGE_DELETED) {
        engine_cohort_del(c->engine, ch->obj->name);
    } else {
        struct cohort *h = queue_decode(c, ch->obj);
        if (h == NULL || translate_cohort(h, &c->base.arena, &in) != 0 ||
            engine_cohort_put(c->engine, &in) != 0) {
            queue_lost(c, ch->obj);
        }
    }
    activity_again(c);
}

static void on_local_queue(void *self, const struct change *ch) {
    struct queue_controller *c = self;
    struct local_state *l = queue_local(c, ch->obj->ns, ch->obj->name);
    static const struct local_queue_spec nothing;
    struct local_queue gone = {.spec = (struct local_queue_spec *)&nothing};
    arena_reset(&c->base.arena);
    if (l == NULL) {
        queue_lost(c, ch->obj);
        return;
    }
    bool status_only = ch->type == CHANGE_MODIFIED && ch->old != NULL && l->exists &&
                       ch->old->generation == ch->obj->generation;
    struct local_queue *q = status_only ? NULL : queue_decode(c, ch->obj);
    if (ch->type == CHANGE_DELETED && (q == NULL || q->spec == NULL)) {
        q = &gone;
    }
    if (q == NULL || q->spec == NULL) {
        queue_metrics_local(c, l, ch->obj, false); /* its labels, perhaps */
        if (!status_only) {
            queue_lost(c, ch->obj);
        }
        return;
    }
    bool fresh = !l->exists;
    l->exists = ch->type != CHANGE_DELETED;
    l->stopped = !str_empty(q->spec->stop_policy) && !str_is(q->spec->stop_policy, "None");
    l->drains = str_is(q->spec->stop_policy, "HoldAndDrain");
    if (queue_local_point(c, l, q->spec->cluster_queue) != 0) {
        queue_lost(c, ch->obj);
    }
    queue_metrics_local(c, l, ch->obj, true);
    queue_usage_local(c, l, q, fresh);
    local_again(c, l);
    queue_local_forget(c, l);
}

static void on_workload(void *self, const struct change *ch) {
    struct queue_controller *c = self;
    if (ch->type == CHANGE_DELETED) {
        queue_workload_gone(c, ch->obj);
        return;
    }
    queue_workload_adopt(c, ch->obj); /* before the engine decides anything, also after a restart */
    queue_look(c, QS_WORKLOAD, ch->obj->ns, ch->obj->name, 0);
}

static bool again(void *ctx, const struct object *o) {
    struct queue_controller *c = ctx;
    struct local_state *l = queue_local(c, o->ns, o->name);
    if (l != NULL) {
        local_again(c, l);
    }
    return true;
}

/* Its labels, or what it gives to pods. Where the LocalQueue is missing that does not count. */
static void namespace_again(struct queue_controller *c, struct str ns) {
    mirror_scan(c->env->mirror, c->base.kinds[QK_LOCAL_QUEUE], ns, again, c);
}

static void on_namespace(void *self, const struct change *ch) {
    struct queue_controller *c = self;
    namespace_again(c, ch->obj->name);
}

static void on_limit_range(void *self, const struct change *ch) {
    struct queue_controller *c = self;
    namespace_again(c, ch->obj->ns);
}

static void on_node(void *self, const struct change *ch) {
    struct queue_controller *c = self;
    struct inventory inv;
    struct node_input in;
    bool changed = true;
    arena_reset(&c->base.arena);
    if (ch->type == CHANGE_DELETED) {
        changed = pool_node_del(engine_pool(c->engine), ch->obj->name);
    } else {
        struct node *n = queue_decode(c, ch->obj);
        struct str text = {0};
        for (size_t i = 0; n != NULL && i < n->metadata->annotations.n; i++) {
            if (str_is(n->metadata->annotations.v[i].key, INVENTORY_ANNOTATION)) {
                text = n->metadata->annotations.v[i].value;
            }
        }
        struct err err = {0};
        bool has = !str_empty(text);
        int r = has ? inventory_decode(text, &c->base.arena, &inv, &err) : 0;
        if (r != 0 && r != ERR_NOMEM) {
            log_warn(c->env->log, "node %.*s: %s: %s", STR_ARG(ch->obj->name), INVENTORY_ANNOTATION,
                     err.text);
            has = false;
        }
        if (n == NULL || r == ERR_NOMEM ||
            translate_node(n, has ? &inv : NULL, &c->base.arena, &in) != 0 ||
            pool_node_put(engine_pool(c->engine), &in, &changed) != 0) {
            queue_lost(c, ch->obj);
        }
    }
    if (changed) {
        queue_kick(c);
    }
}

static void on_pod(void *self, const struct change *ch) {
    struct queue_controller *c = self;
    if (ch->type == CHANGE_DELETED) {
        queue_slice_pod_gone(c, ch->obj->uid);
        queue_kick(c);
        return;
    }
    if (!queue_pod_adopt(c, ch->obj)) {
        queue_look(c, QS_POD, ch->obj->ns, ch->obj->name, 0);
    }
}

static bool reread(void *ctx, struct cluster_state *s) {
    struct queue_controller *c = ctx;
    const struct object *o =
        mirror_get(c->env->mirror, c->base.kinds[QK_CLUSTER_QUEUE], (struct str){0}, s->name);
    if (o != NULL && cluster_read(c, o, s) != 0) {
        queue_lost(c, o);
    }
    cluster_again(c, s);
    return true;
}

/* Only whether all of its checks are there and active is news to the engine. */
static bool recheck(void *ctx, struct cluster_state *s) {
    struct queue_controller *c = ctx;
    if (queue_checks_bad(c, s) != s->checks_bad) {
        return reread(c, s);
    }
    queue_cluster_soon(c, s->name); /* the reason may be another one */
    return true;
}

static void on_check(void *self, const struct change *ch) {
    struct queue_controller *c = self;
    arena_reset(&c->base.arena);
    queue_look(c, QS_CHECK, STR(""), ch->obj->name, 0);
    if (queue_checks_named(c, ch->obj->name, recheck, c)) {
        activity_again(c);
    }
}

static void on_topology(void *self, const struct change *ch) {
    struct queue_controller *c = self;
    arena_reset(&c->base.arena);
    if (ch->type != CHANGE_MODIFIED && queue_topology_named(c, ch->obj->name, reread, c)) {
        activity_again(c);
    }
}

/* Its overhead is part of what pods ask for. */
static void on_runtime_class(void *self, const struct change *ch) {
    struct queue_controller *c = self;
    uint64_t bit = queue_class_bit(ch->obj->name);
    for (const struct queue_work *q = c->classed; q != NULL; q = q->class_next) {
        if ((q->classes & bit) != 0) {
            queue_look(c, QS_WORKLOAD, q->ns, q->name, 0);
        }
    }
}

void queue_read_all(struct queue_controller *c) {
    static const enum queue_kind kinds[] = {QK_FLAVOR, QK_COHORT, QK_CLUSTER_QUEUE, QK_LOCAL_QUEUE,
                                            QK_NODE};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        controller_first_look(&c->base, kinds[i]);
    }
}

/* ---- life ---- */

static struct engine *engine_of(struct queue_controller *c) {
    const struct queue_settings *s = c->settings;
    struct engine_options o = {
        .fair_sharing = s->fair_sharing,
        .fair_strategies = s->fair_strategies,
        .prioritize_preemptors = s->gates.prioritize_preemptors,
        .no_priority_in_cohort = !s->gates.priority_sorting_within_cohort,
        .break_alternation = s->break_alternation,
        .block_until_ready = s->ready.on && s->ready.block_admission,
        .ignore_undeclared = s->gates.quota_check_strategy && s->resources.ignore_undeclared,
    };
    return queue_fair_init(c, &o) == 0 ? engine_new(&o) : NULL;
}

static int init(void *self, struct err *err) {
    struct queue_controller *c = self;
    c->env = &c->base.env;
    c->settings = c->env->settings != NULL ? c->env->settings : queue_settings_defaults();
    c->watch = (struct clock_watch){.stepped = woken, .ctx = c};
    clock_watch_add(c->env->clock, &c->watch);
    c->engine = engine_of(c);
    c->states = controller_lane_new(&c->base);
    c->pods = controller_lane_new(&c->base);
    c->timer = c->env->clock->timer_new(c->env->clock, run, c);
    c->wake = c->env->clock->timer_new(c->env->clock, woken, c);
    bool ok = c->engine && c->states && c->pods && c->timer && c->wake &&
              queue_metrics_init(c) == 0 && queue_news_init(c) == 0 &&
              (c->visibility = queue_visibility_new(c)) != NULL;
    return ok ? 0 : ERR_NOMEM;
}

static void records_free(struct queue_controller *c) {
    size_t i = 0;
    for (const struct map_entry *e; (e = map_next(&c->by_uid, &i)) != NULL;) {
        struct queue_work *q = e->value;
        queue_work_clear(q);
        mem_free(q->share.held);
        mem_free(q);
    }
    i = 0;
    for (const struct map_entry *e; (e = map_next(&c->locals, &i)) != NULL;) {
        struct local_state *l = e->value;
        mem_free(l->cluster);
        metric_owner_release(&l->metrics);
        tally_release(&l->tally);
        mem_free(l);
    }
    i = 0;
    for (const struct map_entry *e; (e = map_next(&c->clusters, &i)) != NULL;) {
        queue_cluster_free(c, e->value);
    }
    i = 0;
    for (const struct map_entry *e; (e = map_next(&c->waiting, &i)) != NULL;) {
        mem_free(e->value);
    }
    map_release(&c->by_uid);
    map_release(&c->locals);
    map_release(&c->clusters);
    map_release(&c->waiting);
}

static void release(void *self) {
    struct queue_controller *c = self;
    if (c->env == NULL) {
        return; /* init did not begin */
    }
    clock_watch_remove(c->env->clock, &c->watch);
    queue_visibility_free(c->visibility);
    queue_metrics_release(c);
    c->env->clock->timer_free(c->timer);
    c->env->clock->timer_free(c->wake);
    queue_news_release(c);
    engine_free(c->engine);
    queue_fair_release(c);
    queue_topology_release(c);
    records_free(c);
}

struct engine *queue_controller_engine(struct queue_controller *c) {
    return c->engine;
}

static enum work step(void *self, struct work_key key) {
    switch ((enum queue_sort)key.what) {
    case QS_WORKLOAD:
        return queue_workload_work(self, key.ns, key.name);
    case QS_POD:
        return queue_pod_work(self, key.ns, key.name);
    default:
        return queue_state_work(self, key);
    }
}

#define QUEUES "kueue.x-k8s.io"
#define CORE(kind_, changed_)                                                                      \
    { "", kind_, changed_, .first = true }
#define WRITTEN(kind_, changed_, may_)                                                             \
    { QUEUES, kind_, changed_, .first = true, .may = may_ }
/* One that not every Kueue has. */
#define NEWER(kind_, changed_, may_)                                                               \
    { QUEUES, kind_, changed_, .first = true, .optional = true, .may = may_ }

/* In the order of enum queue_kind. */
const struct controller_row queue_controller = {
    .name = "queues",
    .set = CONTROL_QUEUES,
    .who = QUEUE_WHO,
    CONTROLLER_KINDS(
        WRITTEN("ResourceFlavor", on_flavor, MAY_PATCH),
        WRITTEN("ClusterQueue", on_cluster_queue, MAY_PATCH | MAY_STATUS),
        NEWER("Cohort", on_cohort, MAY_STATUS), WRITTEN("LocalQueue", on_local_queue, MAY_STATUS),
        WRITTEN("Workload", on_workload, MAY_PATCH | MAY_STATUS), CORE("Namespace", on_namespace),
        CORE("LimitRange", on_limit_range), CORE("Node", on_node),
        {"", "Pod", on_pod, .first = true, .may = MAY_PATCH | MAY_STATUS},
        NEWER("AdmissionCheck", on_check, MAY_PATCH),
        {"node.k8s.io", "RuntimeClass", on_runtime_class, .first = true, .optional = true},
        NEWER("Topology", on_topology, 0),
        {"", "PersistentVolumeClaim", queue_pods_claim, .first = true, .embedded = true},
        {"apps", "ControllerRevision", .optional = true, .may = MAY_CREATE | MAY_DELETE},
        {"berth.dev", "Reservation", on_reservation, .first = true, .optional = true},
        {"batch", "Job"}),
    .step = step,
    .budget = CONTROLLER_TURN,
    .size = sizeof(struct queue_controller),
    .init = init,
    .release = release,
};
