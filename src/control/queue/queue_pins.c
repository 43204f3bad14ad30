/*
 * queue_pins: places that are promised: those of a ClusterQueue by its annotation berth.dev/placements, and those of a
 * booking that is confirmed and has not begun, by status.plan of the Reservation.
 *
 * A booking is known to placement from its confirmation on: pods that may still run when it begins leave its places
 * while there are others (core/place/pool.h). When it is being prepared it has a ClusterQueue with that annotation, and
 * its pins are the queue's from then on.
 *
 *     [{"node":"n1","gpu":"GPU-...","resource":"nvidia.com/mig-2g.35gb","profile":"2g.35gb","start":4,"size":2}]
 *
 * `resource` may be missing: it is told from the profile then, which is empty for a whole GPU. Who may write
 * ClusterQueues may promise places; what cannot be read promises nothing.
 */
#include "api/tables/view_reservation.h"
#include "control/queue/queue_private.h"

static bool has_pins(const struct object *o) {
    return o != NULL && str_contains(o->json, STR("\"" QUEUE_PLACEMENTS "\""));
}

static struct str profile_resource(struct arena *a, struct str profile) {
    struct str name = arena_f(a, "nvidia.com/mig-%.*s", STR_ARG(profile));
    for (size_t i = 0; i < name.n; i++) { /* "1g.18gb+me" */
        if (name.p[i] == '+') {
            ((char *)name.p)[i] = '.';
        }
    }
    return name;
}

static struct str resource_of(struct arena *a, yyjson_val *v) {
    struct str said = json_str_at(v, "resource"), profile = json_str_at(v, "profile");
    if (said.n > 0 || profile.n == 0) {
        return said.n > 0 ? said : STR(POOL_GPU_RESOURCE);
    }
    return profile_resource(a, profile);
}

static int decode(struct arena *a, struct str text, struct pool_pin **ret, size_t *ret_n) {
    yyjson_doc *doc;
    yyjson_arr_iter it;
    yyjson_val *v;
    int r = json_parse(a, text, &doc, NULL);
    if (r != 0) {
        return r;
    }
    yyjson_val *root = yyjson_doc_get_root(doc);
    size_t most = yyjson_arr_size(root), n = 0;
    most = most < LIMIT_QUEUE_PINS ? most : LIMIT_QUEUE_PINS;
    struct pool_pin *pins = ARENA_ARRAY(a, struct pool_pin, most + 1);
    yyjson_arr_iter_init(root, &it);
    while (pins != NULL && n < most && (v = yyjson_arr_iter_next(&it)) != NULL) {
        int64_t start = json_i64_at(v, "start", 0), size = json_i64_at(v, "size", 0);
        pins[n] = (struct pool_pin){.node = json_str_at(v, "node"),
                                    .gpu = json_str_at(v, "gpu"),
                                    .resource = resource_of(a, v),
                                    .start = (int32_t)(start & 0x7f),
                                    .size = (int32_t)(size & 0x7f)};
        n += pins[n].gpu.n > 0 && start >= 0 && start < INVENTORY_SLICES_MAX && size >= 0 &&
             size <= INVENTORY_SLICES_MAX;
    }
    *ret = pins;
    *ret_n = n;
    return arena_ok(a);
}

void queue_pins_read(struct queue_controller *c, struct str name, const struct object *o) {
    struct pool *pool = engine_pool(c->engine);
    struct pool_pin *pins = NULL;
    struct str text = {0};
    yyjson_doc *doc;
    size_t n = 0;
    int r = 0;
    if (has_pins(o)) {
        arena_reset(&c->base.arena);
        r = object_tree(o, &c->base.arena, &doc, NULL);
        text = r == 0
                   ? json_str(json_get(json_path(yyjson_doc_get_root(doc), "metadata.annotations"),
                                       STR(QUEUE_PLACEMENTS)))
                   : text;
    }
    if (text.n > 0) {
        r = decode(&c->base.arena, text, &pins, &n);
    }
    if (r != 0 && r != ERR_NOMEM) {
        log_warn(c->env->log, "clusterqueue %.*s: annotation " QUEUE_PLACEMENTS " is not read",
                 STR_ARG(name));
        n = 0;
    }
    uint64_t before = pool_generation(pool);
    if (r != ERR_NOMEM && pool_pins_set(pool, name, pins, n) != 0) {
        r = ERR_NOMEM;
    }
    if (r == ERR_NOMEM && o != NULL) {
        queue_lost(c, o);
    }
    if (pool_generation(pool) != before) {
        queue_kick(c);
    }
}

/* ---- bookings that have not begun ---- */

/* Where Berth does not place, no node and no GPU are named: nothing is promised. */
static size_t booked(const struct reservation_status *s, struct pool_pin *pins, struct arena *a) {
    size_t n = 0;
    for (size_t i = 0; i < s->plan.n && n < LIMIT_QUEUE_PINS; i++) {
        const struct reservation_place *x = &s->plan.v[i];
        pins[n] =
            (struct pool_pin){.node = x->node,
                              .gpu = x->gpu,
                              .resource = str_empty(x->profile) ? STR(POOL_GPU_RESOURCE)
                                                                : profile_resource(a, x->profile),
                              .start = x->start.set ? x->start.v : 0,
                              .size = x->size,
                              .from_ns = s->start_ns};
        n += !str_empty(x->gpu) && pins[n].start >= 0 && pins[n].start < INVENTORY_SLICES_MAX &&
             x->size >= 0 && x->size <= INVENTORY_SLICES_MAX;
    }
    return n;
}

void queue_booking_read(struct queue_controller *c, const struct object *o, bool gone) {
    struct pool *pool = engine_pool(c->engine);
    struct pool_pin *pins = NULL;
    size_t n = 0;
    arena_reset(&c->base.arena);
    const struct reservation *v = gone ? NULL : queue_decode(c, o);
    if (v != NULL && v->status != NULL && str_is(v->status->phase, "Confirmed") &&
        v->status->start_ns > 0) {
        pins = ARENA_ARRAY(&c->base.arena, struct pool_pin, v->status->plan.n + 1);
        n = pins != NULL ? booked(v->status, pins, &c->base.arena) : 0;
    }
    if (n > 0 && pool_pins(pool) + n > LIMIT_PINS) {
        log_warn(c->env->log,
                 "reservation %.*s/%.*s: placement does not know of it yet: more than %d "
                 "places are booked",
                 STR_ARG(o->ns), STR_ARG(o->name), LIMIT_PINS);
        n = 0;
    }
    uint64_t before = pool_generation(pool);
    if (arena_ok(&c->base.arena) != 0 || pool_pins_set(pool, o->uid, pins, n) != 0) {
        log_warn(c->env->log, "reservation %.*s/%.*s: no memory to keep its places", STR_ARG(o->ns),
                 STR_ARG(o->name));
    }
    if (pool_generation(pool) != before) {
        queue_kick(c);
    }
}
