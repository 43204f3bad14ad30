/*
 * reservation_window: what is not there to book: CapacityWindows, standing quotas of the pool's queues, and what the
 * policy keeps for those without a booking.
 *
 * A window that would break bookings does not count unless it is forced; one that counted goes on counting.
 */
#include "control/book/reservation_private.h"

#include "control/kit/edit.h"

#include "api/schema/codec.h"
#include "control/load/translate.h"

enum { NODES_MAX = 20000, PARTS_MAX = 256, CONFLICTS_TOLD = 50, FLOOR_PIECES = 256 };

/* ---- windows ---- */

/* One object, as the calendar takes it: a part for the cards of its nodes, and one for each number that is less or
 * more. The first has the object's name, the others the name and a number. */
struct window_term {
    struct calendar_window *v;
    size_t n;
    struct str name;
    int64_t start, end;
    bool force, was_applied, added;
    int code;
};

struct node_names {
    struct str *v;
    size_t n;
};

static bool node_name(void *ctx, const struct object *o) {
    struct node_names *l = ctx;
    l->v[l->n++] = o->name;
    return l->n < NODES_MAX;
}

/* Every node: what a window without any other bound is about. */
static int all_nodes(struct reservation_controller *c, struct arena *a, struct node_names *ret) {
    *ret = (struct node_names){.v = ARENA_ARRAY(a, struct str, NODES_MAX)};
    if (ret->v == NULL) {
        return ERR_NOMEM;
    }
    mirror_scan(c->base.env.mirror, c->nodes, STR(""), node_name, ret);
    return 0;
}

static void part(struct window_term *w, struct arena *a, struct calendar_window x) {
    x.id = w->n == 0 ? w->name : arena_f(a, "%.*s/%zu", STR_ARG(w->name), w->n);
    if (w->n == PARTS_MAX || x.id.p == NULL) {
        w->code = w->n == PARTS_MAX ? w->code : ERR_NOMEM;
        return;
    }
    w->v[w->n++] = x;
}

static bool is_named(const struct node_names *l, struct str node) {
    for (size_t i = 0; i < l->n; i++) {
        if (str_eq(l->v[i], node)) {
            return true;
        }
    }
    return false;
}

/* Nodes are away: their cards, and what they add to plain numbers. */
static void away(struct reservation_controller *c, struct window_term *w, struct arena *a,
                 const struct node_names *l, int64_t start, int64_t end) {
    size_t first = w->n + 1;
    part(w, a,
         (struct calendar_window){.start = start, .end = end, .nodes = l->v, .n_nodes = l->n});
    for (size_t i = 0; i < c->amounts.n; i++) {
        const struct plan_amount *x = &c->amounts.v[i];
        size_t k = first;
        if (!is_named(l, x->node)) {
            continue;
        }
        while (k < w->n &&
               !(str_eq(w->v[k].flavor, x->flavor) && str_eq(w->v[k].resource, x->resource))) {
            k++;
        }
        if (k < w->n) {
            w->v[k].delta -= x->n;
        } else {
            part(w, a,
                 (struct calendar_window){.start = start,
                                          .end = end,
                                          .flavor = x->flavor,
                                          .resource = x->resource,
                                          .delta = -x->n});
        }
    }
}

/* Nodes that come are away before, and after. */
static void nodes_parts(struct reservation_controller *c, struct window_term *w, struct arena *a,
                        const struct node_names *l) {
    if (!w->added) {
        away(c, w, a, l, w->start, w->end);
        return;
    }
    away(c, w, a, l, 0, w->start > plan_now(c) ? w->start : 1);
    if (w->end < CALENDAR_FOREVER) {
        away(c, w, a, l, w->end, CALENDAR_FOREVER);
    }
}

/* Units of a resource: of one flavor, or of those that have it, one after the other. */
static void units_parts(struct reservation_controller *c, struct window_term *w, struct arena *a,
                        struct str flavor, struct str resource, int64_t count) {
    struct calendar_type t;
    int64_t left = count;
    if (w->added) {
        part(w, a,
             (struct calendar_window){.start = w->start,
                                      .end = w->end,
                                      .flavor = flavor,
                                      .resource = resource,
                                      .delta = count});
        return;
    }
    for (size_t pos = 0; left > 0 && calendar_type_next(c->calendar, &pos, &t);) {
        int64_t n = t.total < left ? t.total : left;
        if (n > 0 && str_eq(t.resource, resource) && (flavor.n == 0 || str_eq(t.flavor, flavor))) {
            part(w, a,
                 (struct calendar_window){.start = w->start,
                                          .end = w->end,
                                          .flavor = arena_str(a, t.flavor),
                                          .resource = resource,
                                          .delta = -n});
            left -= n;
        }
    }
}

/* 0, or an error; of a window about nothing that there is, no parts. */
static int window_read(struct reservation_controller *c, const struct object *o, struct arena *a,
                       struct window_term *ret) {
    struct capacity_window view = {0};
    struct node_names nodes;
    yyjson_doc *d;
    *ret = (struct window_term){.name = o->name};
    int r = object_tree(o, a, &d, NULL);
    r = r ? r : codec_decode(&schema_capacity_window, yyjson_doc_get_root(d), a, &view, NULL);
    if (r != 0 || view.spec == NULL) {
        return r;
    }
    const struct capacity_window_spec *s = view.spec;
    ret->v = ARENA_ARRAY(a, struct calendar_window, PARTS_MAX);
    if (ret->v == NULL) {
        return ERR_NOMEM;
    }
    ret->start = s->start_ns / NS_PER_SEC;
    ret->end = s->end_ns ? s->end_ns / NS_PER_SEC : CALENDAR_FOREVER;
    ret->force = s->force;
    ret->added = str_is(s->type, "Added");
    ret->was_applied =
        view.status && view.status->applied && view.status->observed_generation == o->generation;
    if (s->nodes.n > 0) {
        nodes = (struct node_names){s->nodes.v, s->nodes.n};
        nodes_parts(c, ret, a, &nodes);
    } else if (!ret->added && s->flavor.n == 0 && s->resource.n == 0) {
        r = all_nodes(c, a, &nodes);
        if (r == 0 && nodes.n > 0) {
            nodes_parts(c, ret, a, &nodes);
        }
    } else {
        units_parts(c, ret, a, s->flavor, s->resource.n ? s->resource : STR(CALENDAR_GPU),
                    s->count.set ? s->count.v : INT64_MAX);
    }
    return r ? r : ret->code;
}

/* The bookings that a part would break; standing quotas make room. */
static int part_conflicts(struct reservation_controller *c, const struct calendar_window *part,
                          struct arena *a, struct map *found) {
    struct str *ids = NULL;
    size_t n = 0;
    int r = calendar_window_check(c->calendar, part, a, &ids, &n, NULL);
    r = r == ERR_NOMEM ? r : 0;
    for (size_t i = 0; r == 0 && i < n; i++) {
        struct booking *b = booking_by_uid(c, ids[i]);
        r = b ? map_put(found, b->uid, b, NULL) : 0;
    }
    return r;
}

/* The bookings that it would break, each once. What could go on beside each part alone may not beside all of them: a
 * part that breaks nothing is closed while the next are looked at. */
static int window_conflicts(struct reservation_controller *c, const struct window_term *w,
                            struct arena *a, struct str **ret, size_t *ret_n) {
    struct map found = {0};
    const struct map_entry *e;
    bool *closed = ARENA_ARRAY(a, bool, w->n + 1);
    int r = closed ? 0 : ERR_NOMEM;
    for (size_t i = 0; r == 0 && i < w->n; i++) {
        r = part_conflicts(c, &w->v[i], a, &found);
        if (r == 0 && i + 1 < w->n && map_count(&found) == 0 &&
            map_get(&c->windows_in, w->v[i].id) == NULL) {
            closed[i] = calendar_window_put(c->calendar, &w->v[i], NULL) == 0;
        }
    }
    for (size_t i = 0; closed && i < w->n; i++) {
        if (closed[i]) {
            (void)calendar_window_del(c->calendar, w->v[i].id);
        }
    }
    struct str *v = r == 0 ? ARENA_ARRAY(a, struct str, map_count(&found) + 1) : NULL;
    size_t n = 0;
    for (size_t i = 0; v && (e = map_next(&found, &i));) {
        v[n++] = e->key;
    }
    map_release(&found);
    if (v == NULL) {
        return ERR_NOMEM;
    }
    *ret = v;
    *ret_n = n;
    return 0;
}

struct window_scan {
    struct reservation_controller *c;
    struct arena *a;
    struct map now; /* ids of parts that were put */
    int code;
};

static int parts_put(struct window_scan *x, const struct window_term *w) {
    int code = 0;
    for (size_t i = 0; i < w->n && code == 0; i++) {
        int r = calendar_window_put(x->c->calendar, &w->v[i], NULL);
        if (r == 0) {
            code = plan_name_keep(&x->c->windows_in, w->v[i].id);
            code = code ? code : map_put(&x->now, w->v[i].id, x, NULL);
        } else {
            code = r == ERR_NOMEM ? r : 0;
        }
    }
    return code;
}

static bool window_put(void *ctx, const struct object *o) {
    struct window_scan *x = ctx;
    struct reservation_controller *c = x->c;
    struct window_term w;
    struct str *ids;
    size_t n = 0;
    x->code = window_read(c, o, x->a, &w);
    bool in = map_get(&c->windows_in, o->name) != NULL;
    if (x->code != 0 || (!c->loaded && !w.was_applied)) {
        return x->code == 0;
    }
    if (!w.force && !w.was_applied && !in) {
        x->code = window_conflicts(c, &w, x->a, &ids, &n);
    }
    c->floors_short = c->floors_short || !in; /* they go around it */
    if (w.added && w.start > plan_now(c) && (c->windows_at == 0 || w.start < c->windows_at)) {
        c->windows_at = w.start;
    }
    if (x->code == 0 && n == 0) {
        x->code = parts_put(x, &w);
    }
    workqueue_look(c->base.queue, (struct work_key){PLAN_WINDOW, .name = o->name}, 0);
    return x->code == 0;
}

static struct str object_of(struct str part_id) {
    struct str name, number;
    return str_cut(part_id, '/', &name, &number) ? name : part_id;
}

void plan_window_drop(struct reservation_controller *c, struct str name) {
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(&c->windows_in, &i));) {
        if (str_eq(object_of(e->key), name)) {
            (void)calendar_window_del(c->calendar, e->key);
            plan_name_forget(&c->windows_in, e->key);
        }
    }
}

int plan_windows(struct reservation_controller *c, struct arena *a) {
    struct window_scan x = {.c = c, .a = a};
    const struct map_entry *e;
    c->windows_at = 0;
    mirror_scan(c->base.env.mirror, c->windows, STR(""), window_put, &x);
    for (size_t i = 0; x.code == 0 && (e = map_next(&c->windows_in, &i));) {
        if (map_get(&x.now, e->key) == NULL) {
            (void)calendar_window_del(c->calendar, e->key);
            plan_name_forget(&c->windows_in, e->key);
            c->floors_short = true;
        }
    }
    map_release(&x.now);
    return x.code;
}

static void set_conflicts(struct reservation_controller *c, const struct str *ids, size_t n,
                          struct arena *a, struct capacity_window_status *s) {
    struct capacity_conflict *v = ARENA_ARRAY(a, struct capacity_conflict, CONFLICTS_TOLD);
    size_t told = 0;
    for (size_t i = 0; v && i < n && told < CONFLICTS_TOLD; i++) {
        const struct booking *k = booking_by_uid(c, ids[i]);
        if (k) {
            v[told++] =
                (struct capacity_conflict){.namespace = k->ns,
                                           .name = k->name,
                                           .start_ns = plan_ns(k->start),
                                           .end_ns = plan_ns(k->end),
                                           .text = arena_f(a, "%lld units, %s", (long long)k->units,
                                                           booking_phase_name(k->phase))};
        }
    }
    s->conflicts.v = v;
    s->conflicts.n = told;
}

/* Why it does not count. */
static const char *window_message(struct reservation_controller *c, const struct window_term *w,
                                  size_t conflicts) {
    struct calendar_type t;
    if (conflicts > 0) {
        return "bookings are in the way; set force to take it from them";
    }
    for (size_t pos = 0; w->added && w->n > 0 && calendar_type_next(c->calendar, &pos, &t);) {
        if (t.cards && str_eq(t.flavor, w->v[0].flavor) && str_eq(t.resource, w->v[0].resource)) {
            return "these come with the GPUs of a node: name the node";
        }
    }
    return "there is nothing like this to book";
}

/* Says what became of a window. */
enum work plan_window_work(struct reservation_controller *c, struct str name) {
    struct arena *a = &c->base.arena;
    const struct object *o = mirror_get(c->base.env.mirror, c->windows, STR(""), name);
    struct window_term w;
    struct str *ids = NULL;
    size_t n = 0;
    struct capacity_window was, want;
    struct capacity_window_status status = {0};
    yyjson_doc *d;
    if (o == NULL || o->deleting_ns) {
        return WORK_OK;
    }
    bool in = map_get(&c->windows_in, name) != NULL;
    int r = window_read(c, o, a, &w);
    if (r == 0 && !in) {
        r = window_conflicts(c, &w, a, &ids, &n);
    }
    r = r ? r : object_tree(o, a, &d, NULL);
    r = r ? r : codec_decode(&schema_capacity_window, yyjson_doc_get_root(d), a, &was, NULL);
    if (r != 0) {
        return WORK_RETRY;
    }
    status.applied = in;
    status.observed_generation = o->generation;
    status.message = str_of(in ? "" : window_message(c, &w, n));
    set_conflicts(c, ids, n, a, &status);
    want = was;
    want.status = &status;
    struct round *round = arena_ok(a) == 0 ? controller_begin(&c->base) : NULL;
    (void)edit_send(round, o, "status", EDIT_VERSION, &was, &want);
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
    if (r != 0) {
        return r;
    }
    return plan_name_keep(&x->c->floors_in, piece);
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
    if (first.p == NULL || map_put(&x->now, id, x, NULL) != 0) {
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
    if (r != 0 || q.spec == NULL) {
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
        if (map_get(&x.now, id) == NULL) {
            (void)calendar_remove(c->calendar, e->key);
            plan_name_forget(&c->floors_in, e->key);
        }
    }
    map_release(&x.now);
    return x.code;
}
