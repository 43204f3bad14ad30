/*
 * reservation_window: what is not there to book: CapacityWindows, standing quotas of the pool's queues, and what the
 * policy keeps for those without a booking.
 *
 * A window that would break bookings does not count unless it is forced; one that counted goes on counting.
 */
#include "control/reservation_private.h"

#include "api/codec.h"
#include "control/translate.h"

enum { NODES_MAX = 20000, CONFLICTS_TOLD = 50, FLOOR_PIECES = 256 };

/* ---- windows ---- */

struct window {
    struct calendar_window w;
    bool force, was_applied;
    int64_t generation;
};

struct node_names {
    struct arena *a;
    struct str *v;
    size_t n;
};

static bool node_name(void *ctx, const struct object *o) {
    struct node_names *l = ctx;
    l->v[l->n++] = o->name;
    return l->n < NODES_MAX;
}

/* Every node: what a window without any other bound is about. */
static int all_nodes(struct reservation_controller *c, struct arena *a, struct calendar_window *w) {
    struct node_names l = {.a = a, .v = ARENA_ARRAY(a, struct str, NODES_MAX)};
    if (!l.v) {
        return ERR_NOMEM;
    }
    mirror_scan(c->base.env.mirror, c->nodes, STR(""), node_name, &l);
    w->nodes = l.v;
    w->n_nodes = l.n;
    return 0;
}

static int64_t all_units(struct reservation_controller *c, struct str flavor, struct str resource) {
    struct calendar_type t;
    int64_t n = 0;
    for (size_t pos = 0; calendar_type_next(c->calendar, &pos, &t);) {
        if ((flavor.n == 0 || str_eq(t.flavor, flavor)) && str_eq(t.resource, resource)) {
            n += t.total;
        }
    }
    return n;
}

/* 0, or an error; a window that says nothing has no nodes and no delta. */
static int window_read(struct reservation_controller *c, const struct object *o, struct arena *a,
                       struct window *ret) {
    struct capacity_window view = {0};
    yyjson_doc *d;
    int r = object_tree(o, a, &d, NULL);
    r = r ? r : codec_decode(&schema_capacity_window, yyjson_doc_get_root(d), a, &view, NULL);
    if (r != 0 || !view.spec) {
        return r;
    }
    const struct capacity_window_spec *s = view.spec;
    bool added = str_is(s->type, "Added");
    *ret = (struct window){
        .w = {.id = o->name,
              .start = s->start_ns / NS_PER_SEC,
              .end = s->end_ns ? s->end_ns / NS_PER_SEC : CALENDAR_FOREVER,
              .nodes = s->nodes.v,
              .n_nodes = s->nodes.n,
              .flavor = s->flavor,
              .resource = s->resource},
        .force = s->force,
        .was_applied = view.status && view.status->applied &&
                       view.status->observed_generation == o->generation,
        .generation = o->generation,
    };
    if (s->nodes.n > 0) {
        return 0;
    }
    if (s->resource.n == 0) {
        ret->w.resource = STR(CALENDAR_GPU);
    }
    if (!added && s->flavor.n == 0 && s->resource.n == 0) {
        ret->w.resource = (struct str){0};
        return all_nodes(c, a, &ret->w);
    }
    int64_t n = s->count.set ? s->count.v : all_units(c, s->flavor, ret->w.resource);
    ret->w.delta = added ? n : -n;
    return 0;
}

struct window_scan {
    struct reservation_controller *c;
    struct arena *a;
    int code;
};

/* Those of them that are bookings, first; standing quotas make room. */
static size_t bookings_of(struct reservation_controller *c, struct str *ids, size_t n) {
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        if (booking_by_uid(c, ids[i])) {
            ids[k++] = ids[i];
        }
    }
    return k;
}

static bool window_put(void *ctx, const struct object *o) {
    struct window_scan *x = ctx;
    struct reservation_controller *c = x->c;
    struct window w;
    struct str *ids;
    size_t n = 0;
    x->code = window_read(c, o, x->a, &w);
    bool in = map_get(&c->windows_in, o->name) != NULL;
    if (x->code != 0 || (!c->loaded && !w.was_applied)) {
        return x->code == 0;
    }
    if (!w.force && !w.was_applied && !in) {
        x->code = calendar_window_check(c->calendar, &w.w, x->a, &ids, &n, NULL);
        x->code = x->code == ERR_NOMEM ? x->code : 0;
        n = bookings_of(c, ids, n);
    }
    c->floors_short = c->floors_short || !in; /* they go around it */
    if (x->code == 0 && n == 0) {
        int r = calendar_window_put(c->calendar, &w.w, NULL);
        x->code = r == 0 ? plan_name_keep(&c->windows_in, o->name) : r == ERR_NOMEM ? r : 0;
    }
    char key[300];
    int len = snprintf(key, sizeof key, "window/%.*s", STR_ARG(o->name));
    workqueue_add(c->base.queue, STR(""), str_from(key, (size_t)len));
    return x->code == 0;
}

int plan_windows(struct reservation_controller *c, struct arena *a) {
    struct window_scan x = {.c = c, .a = a};
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(&c->windows_in, &i));) {
        if (!mirror_get(c->base.env.mirror, c->windows, STR(""), e->key)) {
            (void)calendar_window_del(c->calendar, e->key);
            plan_name_forget(&c->windows_in, e->key);
            c->floors_short = true;
        }
    }
    mirror_scan(c->base.env.mirror, c->windows, STR(""), window_put, &x);
    return x.code;
}

static void conflicts_json(struct reservation_controller *c, struct str *ids, size_t n,
                           struct buf *b) {
    size_t told = 0;
    buf_c(b, "\"conflicts\":[");
    for (size_t i = 0; i < n && told < CONFLICTS_TOLD; i++) {
        struct booking *k = booking_by_uid(c, ids[i]);
        if (k) {
            buf_c(b, told++ ? ",{\"namespace\":" : "{\"namespace\":");
            buf_json(b, k->ns);
            buf_c(b, ",\"name\":");
            buf_json(b, k->name);
            buf_ch(b, ',');
            plan_time_json(b, "start", k->start);
            buf_ch(b, ',');
            plan_time_json(b, "end", k->end);
            buf_f(b, ",\"text\":\"%lld units, %s\"}", (long long)k->units,
                  booking_phase_name(k->phase));
        }
    }
    buf_ch(b, ']');
}

/* Says what became of a window. */
enum work plan_window_work(struct reservation_controller *c, struct str name) {
    struct arena *a = &c->base.arena;
    const struct object *o = mirror_get(c->base.env.mirror, c->windows, STR(""), name);
    struct window w;
    struct str *ids = NULL;
    size_t n = 0;
    struct buf b;
    yyjson_doc *was, *now;
    if (!o || o->deleting_ns) {
        return WORK_OK;
    }
    bool in = map_get(&c->windows_in, name) != NULL;
    int r = window_read(c, o, a, &w);
    if (r == 0 && !in) {
        r = calendar_window_check(c->calendar, &w.w, a, &ids, &n, NULL) == ERR_NOMEM ? ERR_NOMEM
                                                                                     : 0;
        n = bookings_of(c, ids, n);
    }
    buf_init(&b, 0);
    buf_f(&b, "{\"applied\":%s,\"observedGeneration\":%lld,\"message\":", in ? "true" : "false",
          (long long)o->generation);
    buf_c(&b, in      ? "null,"
              : n > 0 ? "\"bookings are in the way; set force to take it from them\","
                      : "\"there is nothing like this to book\",");
    conflicts_json(c, ids, n, &b);
    buf_c(&b, "}");
    struct str status = arena_str(a, buf_view(&b));
    buf_release(&b);
    r = r ? r : object_tree(o, a, &was, NULL);
    r = r ? r : json_parse(a, status, &now, NULL);
    if (r != 0) {
        return WORK_RETRY;
    }
    yyjson_val *old = json_path(yyjson_doc_get_root(was), "status");
    yyjson_val *new = yyjson_doc_get_root(now);
    if (old && json_bool_at(old, "applied", false) == in &&
        json_i64_at(old, "observedGeneration", 0) == o->generation &&
        (in || json_equal(json_get(old, STR("conflicts")), json_get(new, STR("conflicts"))))) {
        return WORK_OK;
    }
    char key[300];
    int len = snprintf(key, sizeof key, "window/%.*s", STR_ARG(name));
    struct round *round = controller_round(&c->base, STR(""), str_from(key, (size_t)len));
    struct str body = arena_f(a, "{\"status\":%.*s}", STR_ARG(status));
    if (!round || !body.p) {
        return WORK_RETRY;
    }
    round_patch(round, c->windows, STR(""), name, "status", PATCH_MERGE, body);
    return round_end(round);
}

/* ---- standing quotas ---- */

struct floors {
    struct reservation_controller *c;
    struct arena *a;
    struct map now; /* ids */
    int code;
};

/* One piece of it; less where there is less. 0, ERR_CONFLICT with why, ERR_NOMEM. */
static int piece_put(struct floors *x, struct str id, int n, struct calendar_ask *ask,
                     struct calendar_why *why) {
    struct str piece = arena_f(x->a, "%.*s#%d", STR_ARG(id), n);
    ask->id = piece;
    *why = (struct calendar_why){0};
    int r = piece.p ? calendar_insert(x->c->calendar, ask, why) : ERR_NOMEM;
    return r == 0 ? plan_name_keep(&x->c->floors_in, piece) : r;
}

/* As much of it as there is room for at each time: bookings made before it and maintenance come first. */
static void floor_put(struct floors *x, struct str id, struct str flavor, struct str resource,
                      int64_t count, int32_t rank) {
    struct calendar_line line = {.resource = resource,
                                 .count = count,
                                 .flavors = flavor.n ? &flavor : NULL,
                                 .n_flavors = flavor.n ? 1 : 0};
    struct calendar_ask ask = {
        .end = CALENDAR_FOREVER, .lines = &line, .n_lines = 1, .rank = rank, .floating = true};
    struct calendar_why why;
    struct str first = arena_f(x->a, "%.*s#0", STR_ARG(id));
    if (!first.p || map_put(&x->now, id, x, NULL) != 0) {
        x->code = ERR_NOMEM;
        return;
    }
    if (map_get(&x->c->floors_in, first)) {
        return;
    }
    int64_t from = plan_now(x->c);
    for (int n = 0; n < FLOOR_PIECES && ask.start < CALENDAR_FOREVER; n++) {
        int r = piece_put(x, id, n, &ask, &why);
        if (r != ERR_CONFLICT) {
            x->code = r == ERR_NOMEM ? r : x->code;
            return;
        }
        x->c->floors_short = true;
        if (why.trouble == CALENDAR_SMALL && why.most < line.count) { /* more than there is */
            line.count = count = why.most;
            if (count <= 0) {
                return;
            }
            continue;
        }
        bool now = why.from <= ask.start || why.from <= from;
        if (why.trouble == CALENDAR_UNKNOWN || (now && why.to >= CALENDAR_FOREVER && !why.free)) {
            return;
        }
        if (!now && why.from < ask.end) { /* up to there it fits */
            ask.end = why.from;
        } else { /* less of it for that stretch, then on */
            int64_t less = why.free > 0 && why.free < line.count ? why.free : line.count - 1;
            int64_t to = why.to > ask.start ? why.to : ask.end;
            line.count = less;
            ask.end = to;
            while (line.count > 0 && piece_put(x, id, ++n, &ask, &why) == ERR_CONFLICT) {
                line.count /= 2; /* few looks: it is done anew when something changes */
            }
            ask.start = to;
            ask.end = CALENDAR_FOREVER;
            line.count = count;
            continue;
        }
        int64_t end = ask.end;
        r = piece_put(x, id, ++n, &ask, &why);
        x->code = r == ERR_NOMEM ? r : x->code;
        ask.start = r == 0 ? end : ask.start;
        ask.end = CALENDAR_FOREVER;
        if (r != 0) {
            return;
        }
    }
}

/* In whatever cohort it stands: it is the same hardware. */
static bool queue_floors(void *ctx, const struct object *o) {
    struct floors *x = ctx;
    struct cluster_queue q = {0};
    yyjson_doc *d;
    if (object_label(o, STR(RESERVATION_LABEL)).n > 0) {
        return true;
    }
    int r = object_tree(o, x->a, &d, NULL);
    r = r ? r : codec_decode(&schema_cluster_queue, yyjson_doc_get_root(d), x->a, &q, NULL);
    if (r != 0 || !q.spec) {
        x->code = r == ERR_NOMEM ? r : x->code;
        return x->code == 0;
    }
    for (size_t g = 0; g < q.spec->resource_groups.n; g++) {
        const struct resource_group *group = &q.spec->resource_groups.v[g];
        for (size_t f = 0; f < group->flavors.n; f++) {
            const struct flavor_quotas *fq = &group->flavors.v[f];
            for (size_t i = 0; i < fq->resources.n; i++) {
                const struct resource_quota *u = &fq->resources.v[i];
                int64_t n = translate_amount(u->name, u->nominal_quota);
                if (n > 0 && plan_is_device(u->name)) {
                    floor_put(x,
                              arena_f(x->a, "queue/%.*s/%.*s/%.*s/%lld", STR_ARG(o->name),
                                      STR_ARG(fq->name), STR_ARG(u->name), (long long)n),
                              fq->name, u->name, n, 4);
                }
            }
        }
    }
    return x->code == 0;
}

int plan_floors(struct reservation_controller *c, struct arena *a) {
    struct floors x = {.c = c, .a = a};
    const struct reservation_policy_spec *p = c->policy.spec;
    const struct map_entry *e;
    if (c->floors_short) { /* perhaps there is room for all of it now */
        for (size_t i = 0; (e = map_next(&c->floors_in, &i));) {
            (void)calendar_remove(c->calendar, e->key);
            plan_name_forget(&c->floors_in, e->key);
        }
        c->floors_short = false;
    }
    mirror_scan(c->base.env.mirror, c->queues, STR(""), queue_floors, &x);
    for (size_t i = 0; i < p->on_demand_floor.n && x.code == 0; i++) {
        const struct reservation_amount *v = &p->on_demand_floor.v[i];
        if (v->count > 0) {
            floor_put(&x, arena_f(a, "floor/%.*s/%d", STR_ARG(v->resource), (int)v->count),
                      (struct str){0}, v->resource, v->count, -1);
        }
    }
    for (size_t i = 0; x.code == 0 && (e = map_next(&c->floors_in, &i));) {
        struct str id = str_head(e->key, (size_t)str_find_last(e->key, '#'));
        if (!map_get(&x.now, id)) {
            (void)calendar_remove(c->calendar, e->key);
            plan_name_forget(&c->floors_in, e->key);
        }
    }
    map_release(&x.now);
    return x.code;
}
