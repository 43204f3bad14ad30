/* flow: whose request is next. See flow.h. */
#include "server/flow/flow.h"

#include "base/limits.h"
#include "base/map.h"
#include "base/mem.h"
#include "server/flow/flow_rules.h"
#include "server/kit/handlers.h"

/* The thread has time to spare while it owes no more than BUSY_NS: it owes what requests took, and half of the time
 * that passes is paid back, so that it does once they take more than half of it. */
#define BUSY_NS (1 * NS_PER_MS)
#define OWED_MAX_NS (10 * NS_PER_MS)
#define DRAIN_NS (1 * NS_PER_MS) /* of those that waited, before the loop looks at others */

struct flow_level {
    struct str name; /* its own memory, behind it */
    struct flow_level_rule rule;
    bool served;    /* a rule of now */
    double v;       /* its virtual time: ns by share */
    double flows_v; /* the virtual time in it: where a flow that was idle begins */
    size_t nominal; /* seats */
    size_t seats, waiting, flows;
    struct flow *first; /* that wait */
};

struct flow {
    struct flow_level *level;
    struct str key; /* its own memory, behind it */
    double v;       /* when its next request begins, in virtual time */
    size_t seats, waiting, refs;
    struct call *first, **last; /* that wait */
    struct flow *next;          /* of the level's flows that wait */
};

struct flows {
    struct server *s;
    struct flow_rules rules;
    struct flow_level *of_rule[FLOW_LEVELS_MAX];
    struct flow_level *levels[2 * FLOW_LEVELS_MAX];
    size_t n_levels;
    struct map flows; /* by key */
    struct feed *feeds[2];
    struct timer *timer;
    bool stale; /* the rules are to be made anew */
    bool armed;
    size_t waiting;
    double v;              /* virtual time of the levels */
    int64_t owed, owed_at; /* ns, and when that was so */
    struct prom_family *dispatched, *rejected, *queued, *running, *nominal, *waits;
};

/* ---- rules ---- */

static struct flow_level *level_named(struct flows *x, struct str name) {
    for (size_t i = 0; i < x->n_levels; i++) {
        if (str_eq(name, x->levels[i]->name)) {
            return x->levels[i];
        }
    }
    if (x->n_levels == sizeof(x->levels) / sizeof(x->levels[0])) {
        return NULL;
    }
    struct flow_level *l = mem_zalloc(sizeof(*l) + name.n + 1);
    if (l != NULL) {
        memcpy(l + 1, name.p, name.n);
        l->name = str_from((char *)(l + 1), name.n);
        x->levels[x->n_levels++] = l;
    }
    return l;
}

/* Levels that are not served and that nobody is at. */
static void drop_levels(struct flows *x) {
    size_t n = 0;
    for (size_t i = 0; i < x->n_levels; i++) {
        struct flow_level *l = x->levels[i];
        if (l->served || l->flows > 0) {
            x->levels[n++] = l;
        } else {
            mem_free(l);
        }
    }
    x->n_levels = n;
}

static void share_seats(struct flows *x) {
    int64_t sum = 0;
    for (size_t i = 0; i < x->rules.n_levels; i++) {
        sum += x->rules.levels[i].exempt ? 0 : x->rules.levels[i].shares;
    }
    for (size_t i = 0; i < x->rules.n_levels; i++) {
        int64_t shares = x->rules.levels[i].shares;
        int64_t seats = sum > 0 ? (LIMIT_FLOW_SEATS * shares + sum - 1) / sum : LIMIT_FLOW_SEATS;
        x->of_rule[i]->nominal = seats > 1 ? (size_t)seats : 1;
    }
}

/* The old rules stay when there is no memory for new ones. */
static void renew_rules(struct flows *x) {
    struct flow_rules fresh;
    struct flow_level *of[FLOW_LEVELS_MAX];
    if (flow_rules_make(x->s->o.mirror, &fresh) != 0) {
        return;
    }
    drop_levels(x);
    for (size_t i = 0; i < fresh.n_levels; i++) {
        of[i] = level_named(x, fresh.levels[i].name);
        if (of[i] == NULL) {
            flow_rules_release(&fresh);
            return;
        }
    }
    for (size_t i = 0; i < x->n_levels; i++) {
        x->levels[i]->served = false;
    }
    for (size_t i = 0; i < fresh.n_levels; i++) {
        of[i]->rule = fresh.levels[i];
        of[i]->served = true;
        x->of_rule[i] = of[i];
    }
    flow_rules_release(&x->rules);
    x->rules = fresh;
    x->stale = false;
    share_seats(x);
}

static void changed(void *ctx, const struct change *c) {
    struct flows *x = ctx;
    x->stale = true;
}

/* ---- flows ---- */

static void flow_drop(struct flows *x, struct flow *f) {
    f->level->flows--;
    (void)map_del(&x->flows, f->key);
    mem_free(f);
}

/* Those that had no more than others are the same when they come again. */
static void forget_idle(struct flows *x, bool all) {
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(&x->flows, &i)) != NULL;) {
        struct flow *f = e->value;
        if (f->refs == 0 && (all || f->v <= f->level->flows_v)) {
            flow_drop(x, f);
        }
    }
}

static struct flow *flow_of(struct flows *x, struct flow_level *l, struct str key,
                            struct arena *a) {
    struct str whole = arena_f(a, "%.*s/%.*s", STR_ARG(l->name), STR_ARG(key));
    struct flow *f = whole.p ? map_get(&x->flows, whole) : NULL;
    if (f != NULL || whole.p == NULL) {
        return f;
    }
    if (map_count(&x->flows) >= LIMIT_FLOWS) {
        forget_idle(x, false);
    }
    if (map_count(&x->flows) >= LIMIT_FLOWS) {
        forget_idle(x, true);
    }
    f = mem_zalloc(sizeof(*f) + whole.n);
    if (f == NULL) {
        return NULL;
    }
    memcpy(f + 1, whole.p, whole.n);
    f->key = str_from((char *)(f + 1), whole.n);
    f->level = l;
    f->last = &f->first;
    if (map_put(&x->flows, f->key, f, NULL) != 0) {
        mem_free(f);
        return NULL;
    }
    l->flows++;
    return f;
}

static void owe(struct flows *x, int64_t ns) {
    int64_t now = clock_mono(x->s->clock), owed = x->owed + ns - (now - x->owed_at) / 2;
    x->owed = owed < 0 ? 0 : owed < OWED_MAX_NS ? owed : OWED_MAX_NS;
    x->owed_at = now;
}

static void charge(struct flows *x, struct flow *f, int64_t ns) {
    int64_t shares = f->level->rule.shares > 0 ? f->level->rule.shares : 1;
    f->v += (double)ns;
    f->level->v += (double)ns / (double)shares;
    owe(x, ns);
}

/* ---- seats ---- */

/* Seats that levels lend and nobody has borrowed yet. */
static bool may_borrow(const struct flows *x, const struct flow_level *l) {
    int64_t free_seats = 0, most = l->rule.borrows;
    for (size_t i = 0; i < x->n_levels; i++) {
        const struct flow_level *o = x->levels[i];
        int64_t left = (int64_t)o->nominal - (int64_t)o->seats;
        int64_t lends =
            o->served && !o->rule.exempt ? (int64_t)o->nominal * o->rule.lends / 100 : 0;
        free_seats += left < 0 ? left : left < lends ? left : lends;
    }
    return free_seats > 0 &&
           (most < 0 || (int64_t)(l->seats - l->nominal) < (int64_t)l->nominal * most / 100);
}

static bool level_has_seat(const struct flows *x, const struct flow_level *l) {
    return l->seats < l->nominal || may_borrow(x, l);
}

static bool flow_has_seat(const struct flow *f) {
    return f->seats < (f->level->nominal + 1) / 2;
}

static bool has_time(struct flows *x) {
    owe(x, 0);
    return x->owed < BUSY_NS;
}

static void arm(struct flows *x) {
    if (!x->armed && x->waiting > 0) {
        x->armed = true;
        x->s->clock->timer_start(x->timer, 0);
    }
}

/* ---- running and waiting ---- */

static void run(struct flows *x, struct flow *f, struct call *c, const char *waited) {
    int64_t began = clock_mono(x->s->clock);
    struct str labels[] = {f->level->name, c->seat.schema};
    prom_add(prom_series(x->dispatched, labels), 1);
    if (waited) {
        prom_observe(prom_series(x->waits, labels), (double)(began - c->seat.since) / 1e9);
    }
    x->v = f->level->v > x->v ? f->level->v : x->v;
    f->level->flows_v = f->v > f->level->flows_v ? f->v : f->level->flows_v;
    f->refs++; /* the call may be over when it returns */
    f->seats++;
    f->level->seats++;
    c->seat.go(c);
    charge(x, f, clock_mono(x->s->clock) - began);
    f->refs--;
}

/* A flow that was idle has saved nothing up. */
static void wake(struct flows *x, struct flow *f) {
    struct flow_level *l = f->level;
    if (f->refs == 0) {
        f->v = f->v > l->flows_v ? f->v : l->flows_v;
    }
    if (l->seats == 0 && l->waiting == 0) {
        l->v = l->v > x->v ? l->v : x->v;
    }
}

static void wait_in(struct flows *x, struct flow *f, struct call *c) {
    c->seat.waits = true;
    c->seat.next = NULL;
    *f->last = c;
    f->last = &c->seat.next;
    if (f->waiting++ == 0) {
        f->next = f->level->first;
        f->level->first = f;
    }
    f->level->waiting++;
    x->waiting++;
    arm(x);
}

static void take_out(struct flows *x, struct flow *f, struct call *c) {
    struct call **at = &f->first;
    while (*at != c) {
        at = &(*at)->seat.next;
    }
    *at = c->seat.next;
    f->last = *at == NULL ? at : f->last;
    c->seat.waits = false;
    f->level->waiting--;
    x->waiting--;
    if (--f->waiting == 0) {
        struct flow **link = &f->level->first;
        while (*link != f) {
            link = &(*link)->next;
        }
        *link = f->next;
    }
}

static struct flow *next_of(const struct flow_level *l) {
    struct flow *best = NULL;
    for (struct flow *f = l->first; f != NULL; f = f->next) {
        if (flow_has_seat(f) && (best == NULL || f->v < best->v)) {
            best = f;
        }
    }
    return best;
}

/* The flow whose turn it is; NULL: none that waits has a seat. */
static struct flow *next_flow(const struct flows *x) {
    struct flow *best = NULL;
    for (size_t i = 0; i < x->n_levels; i++) {
        struct flow_level *l = x->levels[i];
        if (l->waiting > 0 && (best == NULL || l->v < best->level->v) && level_has_seat(x, l)) {
            struct flow *f = next_of(l);
            best = f != NULL ? f : best;
        }
    }
    return best;
}

static void drain(void *ctx) {
    struct flows *x = ctx;
    struct clock *clock = x->s->clock;
    int64_t end = clock_mono(clock) + DRAIN_NS;
    struct flow *f;
    x->armed = false;
    while ((f = next_flow(x)) != NULL) {
        struct call *c = f->first;
        take_out(x, f, c);
        run(x, f, c, "true");
        if (clock_mono(clock) >= end) {
            break;
        }
    }
    if (f != NULL) {
        arm(x);
    }
}

/* ---- calls ---- */

static void refuse(struct flows *x, struct flow *f, struct call *c, const char *why) {
    struct str labels[] = {f->level->name, c->seat.schema, str_of(why)};
    prom_add(prom_series(x->rejected, labels), 1);
    c->seat.flow = NULL;
    f->refs--;
    (void)failure_too_many(&c->failure);
    call_fail(c);
}

static void run_exempt(struct flows *x, struct call *c, struct str level) {
    int64_t began = clock_mono(x->s->clock);
    struct str labels[] = {level, c->seat.schema};
    prom_add(prom_series(x->dispatched, labels), 1);
    c->seat.go(c);
    owe(x, clock_mono(x->s->clock) - began);
}

void flow_admit(struct call *c, void (*go)(struct call *c)) {
    struct flows *x = c->s->flows;
    if (x->stale) {
        renew_rules(x);
    }
    const struct flow_schema_rule *s = flow_rules_match(&x->rules, &c->req);
    struct flow_level *l = x->of_rule[s->level];
    c->seat = (struct flow_seat){.go = go,
                                 .schema = arena_str(c->arena, s->name),
                                 .schema_uid = arena_str(c->arena, s->uid),
                                 .level_uid = arena_str(c->arena, l->rule.uid)};
    if (l->rule.exempt) {
        run_exempt(x, c, l->name);
        return;
    }
    struct str key = flow_rules_key(s, &c->req, c->arena);
    struct flow *f = key.p ? flow_of(x, l, key, c->arena) : NULL;
    if (f == NULL) {
        (void)failure_set(&c->failure, c->arena, ERR_NOMEM, "out of memory");
        call_fail(c);
        return;
    }
    wake(x, f);
    f->refs++;
    c->seat.flow = f;
    c->seat.since = clock_mono(c->s->clock);
    bool seat = level_has_seat(x, l) && flow_has_seat(f);
    if (seat && x->waiting == 0 && has_time(x)) {
        run(x, f, c, NULL);
    } else if (!seat && l->rule.rejects) {
        refuse(x, f, c, "concurrency-limit");
    } else if (f->waiting >= l->rule.flow_waits || l->waiting >= l->rule.level_waits) {
        refuse(x, f, c, "queue-full");
    } else {
        wait_in(x, f, c);
    }
}

void flow_leave(struct call *c) {
    struct flow *f = c->seat.flow;
    struct flows *x = c->s->flows;
    if (f == NULL) {
        return;
    }
    if (c->seat.waits) {
        take_out(x, f, c);
    } else {
        f->seats--;
        f->level->seats--;
    }
    c->seat.flow = NULL;
    f->refs--;
    arm(x);
}

bool flow_before(const struct call *a, const struct call *b) {
    const struct flow *f = a->seat.flow, *g = b->seat.flow;
    if (f == NULL || g == NULL) {
        return f == NULL && g != NULL;
    }
    return f->level != g->level ? f->level->v < g->level->v : f->v < g->v;
}

struct flow *flow_hold(struct call *c) {
    if (c->seat.flow != NULL) {
        c->seat.flow->refs++;
    }
    return c->seat.flow;
}

void flow_charge(struct server *s, struct flow *f, int64_t ns) {
    if (f != NULL) {
        charge(s->flows, f, ns);
        f->refs--;
    }
}

void flow_headers(struct call *c) {
    if (c->seat.schema_uid.n) {
        (void)http_add_header(c->http, "X-Kubernetes-PF-FlowSchema-UID", c->seat.schema_uid);
    }
    if (c->seat.level_uid.n) {
        (void)http_add_header(c->http, "X-Kubernetes-PF-PriorityLevel-UID", c->seat.level_uid);
    }
}

/* ---- the whole ---- */

void flows_gauges(struct server *s) {
    struct flows *x = s->flows;
    if (x->stale) {
        renew_rules(x);
    }
    for (size_t i = 0; i < x->n_levels; i++) {
        const struct flow_level *l = x->levels[i];
        struct str labels[] = {l->name};
        if (!l->rule.exempt) {
            prom_set(prom_series(x->nominal, labels), l->served ? (double)l->nominal : 0);
            prom_set(prom_series(x->running, labels), (double)l->seats);
            prom_set(prom_series(x->queued, labels), (double)l->waiting);
        }
    }
}

static void make_metrics(struct flows *x) {
    static const char *const labels[] = {"priority_level", "flow_schema", "reason"};
    struct prom *p = health_prom(x->s);
    x->dispatched = prom_family(p, PROM_COUNTER, "apiserver_flowcontrol_dispatched_requests_total",
                                "Requests that were handled, by level and schema.", labels, 2);
    x->rejected = prom_family(p, PROM_COUNTER, "apiserver_flowcontrol_rejected_requests_total",
                              "Requests that were answered 429, and why.", labels, 3);
    x->waits = prom_family(p, PROM_HISTOGRAM, "apiserver_flowcontrol_request_wait_duration_seconds",
                           "How long those that waited did.", labels, 2);
    x->queued = prom_family(p, PROM_GAUGE, "apiserver_flowcontrol_current_inqueue_requests",
                            "Requests that wait.", labels, 1);
    x->running = prom_family(p, PROM_GAUGE, "apiserver_flowcontrol_current_executing_seats",
                             "Seats that are taken.", labels, 1);
    x->nominal = prom_family(p, PROM_GAUGE, "apiserver_flowcontrol_nominal_limit_seats",
                             "Seats of the level by its share.", labels, 1);
}

int flows_init(struct server *s, struct err *err) {
    static const char *const kinds[] = {"FlowSchema", "PriorityLevelConfiguration"};
    struct flows *x = mem_zalloc(sizeof(*x));
    if (x == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    s->flows = x;
    x->s = s;
    x->timer = s->clock->timer_new(s->clock, drain, x);
    bool ok = x->timer != NULL;
    for (size_t i = 0; ok && i < 2; i++) {
        const struct kind *k = kind_by_name(STR("flowcontrol.apiserver.k8s.io"), str_of(kinds[i]));
        x->feeds[i] = mirror_feed(s->o.mirror, k, changed, x);
        ok = x->feeds[i] != NULL;
    }
    x->stale = true;
    renew_rules(x);
    if (!ok || x->stale) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    make_metrics(x);
    return 0;
}

void flows_release(struct server *s) {
    struct flows *x = s->flows;
    const struct map_entry *e;
    if (x == NULL) {
        return;
    }
    for (size_t i = 0; (e = map_next(&x->flows, &i)) != NULL;) {
        flow_drop(x, e->value);
    }
    map_release(&x->flows);
    for (size_t i = 0; i < x->n_levels; i++) {
        mem_free(x->levels[i]);
    }
    flow_rules_release(&x->rules);
    feed_free(x->feeds[0]);
    feed_free(x->feeds[1]);
    s->clock->timer_free(x->timer);
    mem_free(x);
    s->flows = NULL;
}

static int make_default(void *ctx, struct str json, struct err *err) {
    return server_bootstrap(ctx, json, err);
}

int server_bootstrap_flows(struct server *s, struct err *err) {
    return flow_rules_defaults(make_default, s, err);
}
