/*
 * event_ttl: one key, the sweep. Beyond a number the oldest go before their time. Only Events created longer ago than
 * the limit are opened: most is read from heads.
 */
#include "control/kube/event_ttl.h"

#include "control/kube/oldest.h"
#include "wire/text/time.h"

enum { TTL_S = 3600, SWEEP_S = 60, COUNT_S = 5, BURST = 2000, MORE_MS = 200 };

struct event_sweep {
    struct controller *c;
    struct round *round;
    int64_t limit; /* last seen before this: too old */
    size_t n;
};

static int64_t last_seen(struct arena *a, const struct object *o) {
    int64_t told = 0, series = 0;
    yyjson_doc *d;
    arena_reset(a);
    if (object_tree(o, a, &d, NULL) != 0) {
        return INT64_MAX;
    }
    time_parse(json_str_at(yyjson_doc_get_root(d), "lastTimestamp"), &told, NULL);
    time_parse(json_str_at(yyjson_doc_get_root(d), "series.lastObservedTime"), &series, NULL);
    return told > series ? told : series; /* 0 when it says neither: it is as old as it is */
}

static bool sweep_one(void *ctx, const struct object *o) {
    struct event_sweep *s = ctx;
    if (o->created_ns < s->limit && !o->deleting_ns && last_seen(&s->c->arena, o) < s->limit) {
        round_remove(s->round, o->kind, o->ns, o->name,
                     &(struct delete_options){.uid = o->uid, .rv = o->rv, .grace_seconds = -1});
        s->n++;
    }
    return s->n < BURST;
}

static enum work step(void *self, struct work_key key) {
    struct controller *c = self;
    struct event_sweep s = {c, controller_begin(c), clock_wall(c->env.clock) - TTL_S * NS_PER_SEC,
                            0};
    const struct oldest beyond = {
        .kind = c->kinds[0], .keep = c->env.kept.events, .most = BURST, .grace_seconds = -1};
    int64_t every = (beyond.keep ? COUNT_S : SWEEP_S) * NS_PER_SEC;
    bool more = oldest_remove(c, s.round, &beyond);
    if (!more) {
        mirror_scan(c->env.mirror, c->kinds[0], STR(""), sweep_one, &s);
    }
    workqueue_look(c->queue, key, more || s.n == BURST ? MORE_MS * NS_PER_MS : every);
    return round_end(s.round);
}

const struct controller_row event_ttl_controller = {
    "event-ttl",
    CONTROL_EVENT_TTL,
    "event-ttl-controller",
    CONTROLLER_KINDS({"", "Event", .may = MAY_DELETE}),
    .every_ns = COUNT_S * NS_PER_SEC,
    .step = step};
