/* story: see story.h. */
#include "sim/story.h"

#include "base/arena.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "wire/json/json.h"

enum { CONDITIONS_MAX = 16, SCRATCH_MAX = 64 << 20 };
#define ARENA_MAX ((size_t)16 << 30)

struct story_told { /* of a condition */
    struct str type, status, reason;
};

struct tale { /* of a Workload */
    struct str ns, name, owner, queue;
    struct story_told now[CONDITIONS_MAX];
    size_t n;
    size_t first, last; /* of its events, from 1; 0: none */
};
VEC(tales, struct tale *);

struct story_event {
    int64_t at;
    uint64_t revision;
    const struct tale *tale;
    size_t next; /* of this tale, from 1 */
    struct story_told told;
    struct str admission;
};
VEC(events, struct story_event);

struct story {
    struct clock *clock;
    int64_t zero;
    struct arena arena, scratch;
    const struct kind *workloads;
    struct feed *feed;
    struct map by_uid; /* tale */
    struct tales tales;
    struct events events;
    int failed;
};

static struct str keep(struct story *y, struct str s) {
    return arena_str(&y->arena, s);
}

static void add(struct story *y, struct tale *t, const struct object *o, struct story_told told,
                yyjson_val *admission) {
    struct story_event e = {
        .at = clock_mono(y->clock) - y->zero, .revision = o->rv, .tale = t, .told = told};
    struct buf b;
    if (admission) {
        buf_init(&b, 0);
        json_write(&b, admission);
        e.admission = keep(y, buf_view(&b));
        y->failed = buf_ok(&b) ? ERR_NOMEM : y->failed;
        buf_release(&b);
    }
    if (arena_ok(&y->arena) != 0 || events_push(&y->events, e) != 0) {
        y->failed = ERR_NOMEM;
        return;
    }
    *(t->last ? &y->events.v[t->last - 1].next : &t->first) = y->events.n;
    t->last = y->events.n;
}

static struct tale *begin(struct story *y, const struct object *o, yyjson_val *root) {
    const struct owner_ref *owner = object_controller(o);
    struct tale *t = ARENA_NEW(&y->arena, struct tale);
    if (t == NULL) {
        y->failed = ERR_NOMEM;
        return NULL;
    }
    *t = (struct tale){.ns = keep(y, o->ns),
                       .name = keep(y, o->name),
                       .queue = keep(y, json_str_at(root, "spec.queueName"))};
    if (owner) {
        t->owner = arena_f(&y->arena, "%.*s/%.*s", STR_ARG(owner->kind), STR_ARG(owner->name));
    }
    if (map_put(&y->by_uid, keep(y, o->uid), t, NULL) != 0 || tales_push(&y->tales, t) != 0) {
        y->failed = ERR_NOMEM;
        return NULL;
    }
    add(y, t, o, (struct story_told){.type = STR("Created")}, NULL);
    return t;
}

static struct story_told *told_of(struct tale *t, struct str type) {
    for (size_t i = 0; i < t->n; i++) {
        if (str_eq(t->now[i].type, type)) {
            return &t->now[i];
        }
    }
    return t->n < CONDITIONS_MAX ? &t->now[t->n++] : NULL;
}

static void look(struct story *y, const struct object *o, yyjson_val *root) {
    size_t i, n;
    yyjson_val *c, *status = json_get(root, STR("status"));
    struct tale *t = map_get(&y->by_uid, o->uid);
    t = t ? t : begin(y, o, root);
    if (t == NULL) {
        return;
    }
    yyjson_arr_foreach(json_get(status, STR("conditions")), i, n, c) {
        struct story_told new = {.type = json_str(json_get(c, STR("type"))),
                                 .status = json_str(json_get(c, STR("status"))),
                                 .reason = json_str(json_get(c, STR("reason")))};
        struct story_told *old = told_of(t, new.type);
        if (old == NULL || (str_eq(old->status, new.status) && str_eq(old->reason, new.reason))) {
            continue;
        }
        *old = (struct story_told){keep(y, new.type), keep(y, new.status), keep(y, new.reason)};
        bool reserved = str_is(new.type, "QuotaReserved") && str_is(new.status, "True");
        add(y, t, o, *old, reserved ? json_get(status, STR("admission")) : NULL);
    }
}

static void changed(void *ctx, const struct change *ch) {
    struct story *y = ctx;
    struct tale *t = map_get(&y->by_uid, ch->obj->uid);
    yyjson_doc *d;
    if (ch->type == CHANGE_DELETED) {
        if (t) {
            add(y, t, ch->obj, (struct story_told){.type = STR("Deleted")}, NULL);
        }
        return;
    }
    if (json_parse(&y->scratch, ch->obj->json, &d, NULL) == 0) {
        look(y, ch->obj, yyjson_doc_get_root(d));
    } else {
        y->failed = ERR_NOMEM;
    }
    arena_reset(&y->scratch);
}

struct story *story_new(struct mirror *m, struct clock *clock, struct err *err) {
    struct story *y = mem_zalloc(sizeof *y);
    if (y == NULL) {
        err_set(err, ERR_NOMEM, "out of memory");
        return NULL;
    }
    arena_init(&y->arena, ARENA_MAX);
    arena_init(&y->scratch, SCRATCH_MAX);
    y->clock = clock;
    y->zero = clock_mono(clock);
    y->workloads = kind_by_name(STR("kueue.x-k8s.io"), STR("Workload"));
    y->feed = mirror_feed(m, y->workloads, changed, y);
    if (y->feed == NULL) {
        story_free(y);
        err_set(err, ERR_NOMEM, "out of memory");
        return NULL;
    }
    return y;
}

void story_free(struct story *y) {
    if (y == NULL) {
        return;
    }
    if (y->feed) {
        feed_free(y->feed);
    }
    map_release(&y->by_uid);
    tales_release(&y->tales);
    events_release(&y->events);
    arena_release(&y->arena);
    arena_release(&y->scratch);
    mem_free(y);
}

int story_error(const struct story *y) {
    return y->failed;
}

/* ---- telling it ---- */

static double seconds(int64_t ns) {
    return (double)ns / NS_PER_SEC;
}

static void member(struct buf *out, const char *name, struct str value) {
    buf_f(out, "\"%s\":", name);
    buf_json(out, value);
}

static void event_json(const struct story_event *e, struct buf *out) {
    buf_f(out, "{\"at\":%.3f,\"revision\":%llu,", seconds(e->at), (unsigned long long)e->revision);
    member(out, "type", e->told.type);
    if (e->told.status.n) {
        buf_ch(out, ',');
        member(out, "status", e->told.status);
        buf_ch(out, ',');
        member(out, "reason", e->told.reason);
    }
    if (e->admission.n) {
        buf_c(out, ",\"admission\":");
        buf_str(out, e->admission);
    }
    buf_ch(out, '}');
}

struct queues_json {
    struct story *y;
    struct buf *out;
    const char *comma;
};

static bool queue_json(void *ctx, const struct object *o) {
    struct queues_json *q = ctx;
    yyjson_doc *d;
    buf_c(q->out, q->comma);
    q->comma = ",";
    buf_ch(q->out, '{');
    member(q->out, "name", o->name);
    if (json_parse(&q->y->scratch, o->json, &d, NULL) == 0) {
        yyjson_val *status = json_path(yyjson_doc_get_root(d), "status");
        buf_c(q->out, ",\"status\":");
        if (status) {
            json_write(q->out, status);
        } else {
            buf_c(q->out, "{}");
        }
    }
    buf_ch(q->out, '}');
    arena_reset(&q->y->scratch);
    return true;
}

static void tale_json(const struct story *y, const struct tale *t, struct buf *out) {
    buf_ch(out, '{');
    member(out, "namespace", t->ns);
    buf_ch(out, ',');
    member(out, "name", t->name);
    buf_ch(out, ',');
    member(out, "owner", t->owner);
    buf_ch(out, ',');
    member(out, "queue", t->queue);
    buf_c(out, ",\"events\":[");
    for (size_t i = t->first; i; i = y->events.v[i - 1].next) {
        buf_c(out, i == t->first ? "" : ",");
        event_json(&y->events.v[i - 1], out);
    }
    buf_c(out, "]}");
}

void story_json(struct story *y, const struct mirror *m, struct buf *out) {
    const struct kind *queues = kind_by_name(STR("kueue.x-k8s.io"), STR("ClusterQueue"));
    struct queues_json q = {.y = y, .out = out, .comma = ""};
    buf_c(out, ",\"workloads\":[");
    for (size_t i = 0; i < y->tales.n; i++) {
        buf_c(out, i ? "," : "");
        tale_json(y, y->tales.v[i], out);
    }
    buf_c(out, "],\"clusterQueues\":[");
    mirror_scan(m, queues, STR(""), queue_json, &q);
    buf_ch(out, ']');
}

void story_lines(const struct story *y, struct buf *out) {
    for (size_t i = 0; i < y->events.n; i++) {
        const struct story_event *e = &y->events.v[i];
        const struct tale *t = e->tale;
        struct str who = t->owner.n ? t->owner : t->name;
        buf_f(out, "%12.3f s  %.*s %.*s: ", seconds(e->at), STR_ARG(t->ns), STR_ARG(who));
        if (e->told.status.n) {
            buf_f(out, "%s%.*s (%.*s)\n", str_is(e->told.status, "True") ? "" : "not ",
                  STR_ARG(e->told.type), STR_ARG(e->told.reason));
        } else {
            buf_f(out, "%.*s\n", STR_ARG(e->told.type));
        }
    }
}
