/*
 * event_ttl: one key, "sweep", due every minute. Only Events created longer ago than the time to live are opened:
 * most of a sweep reads heads.
 */
#include "control/kube/event_ttl.h"

#include "base/mem.h"
#include "control/kit/controller.h"
#include "wire/text/time.h"

enum { TTL_S = 3600, SWEEP_S = 60, BURST = 2000, MORE_MS = 200 };

struct event_ttl_controller {
    struct controller base;
    const struct kind *events;
    struct arena scratch;
};

struct sweep {
    struct event_ttl_controller *c;
    struct round *round;
    int64_t limit; /* last seen before this: too old */
    size_t n;
};

static int64_t last_seen(struct event_ttl_controller *c, const struct object *o) {
    yyjson_doc *d;
    int64_t last = o->created_ns, ns;
    arena_reset(&c->scratch);
    if (object_tree(o, &c->scratch, &d, NULL) != 0) {
        return INT64_MAX;
    }
    yyjson_val *root = yyjson_doc_get_root(d);
    if (time_parse(json_str_at(root, "lastTimestamp"), &ns, NULL) == 0 && ns > last) {
        last = ns;
    }
    if (time_parse(json_str_at(root, "series.lastObservedTime"), &ns, NULL) == 0 && ns > last) {
        last = ns;
    }
    return last;
}

static bool sweep_one(void *ctx, const struct object *o) {
    struct sweep *s = ctx;
    if (o->created_ns < s->limit && !o->deleting_ns && last_seen(s->c, o) < s->limit) {
        struct delete_options opts = {.uid = o->uid, .rv = o->rv, .grace_seconds = -1};
        round_remove(s->round, o->kind, o->ns, o->name, &opts);
        s->n++;
    }
    return s->n < BURST;
}

static enum work work(void *ctx, struct str ns, struct str name) {
    struct event_ttl_controller *c = ctx;
    struct sweep s = {.c = c,
                      .round = controller_round(&c->base, ns, name),
                      .limit = clock_wall(c->base.env.clock) - TTL_S * NS_PER_SEC};
    if (!s.round) {
        return WORK_RETRY;
    }
    mirror_scan(c->base.env.mirror, c->events, STR(""), sweep_one, &s);
    workqueue_add_after(c->base.queue, ns, name,
                        s.n == BURST ? MORE_MS * NS_PER_MS : SWEEP_S * NS_PER_SEC);
    return controller_done(&c->base, round_end(s.round));
}

static void start(void *ctx) {
    struct event_ttl_controller *c = ctx;
    workqueue_add_after(c->base.queue, STR(""), STR("sweep"), SWEEP_S * NS_PER_SEC);
}

struct event_ttl_controller *event_ttl_controller_new(const struct control_env *env,
                                                      struct err *err) {
    struct event_ttl_controller *c = mem_zalloc(sizeof *c);
    if (!c) {
        err_set(err, ERR_NOMEM, "out of memory");
        return NULL;
    }
    c->events = kind_by_name(STR(""), STR("Event"));
    arena_init(&c->scratch, 16 << 20);
    if (controller_init(&c->base, env, "event-ttl-controller", work, start, c, err) != 0) {
        event_ttl_controller_free(c);
        return NULL;
    }
    start(c);
    return c;
}

void event_ttl_controller_free(struct event_ttl_controller *c) {
    if (c) {
        controller_release(&c->base);
        arena_release(&c->scratch);
        mem_free(c);
    }
}
