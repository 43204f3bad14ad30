/*
 * fleet_records: the Nodes with GPUs and the Reservations that hold some. A node changes with every look at its
 * thermometers, so it is only marked then, and read when somebody asks; bookings change seldom and are read at once.
 */
#include "control/see/fleet_private.h"

#include "base/mem.h"
#include "core/place/pool.h"

enum { NODE_MAX = 16 << 20, BOOKING_MAX = 4 << 20 };

#define PREFIX "nvidia.com/"

static bool is_gpu(struct str resource) {
    struct str name = str_skip(resource, strlen(PREFIX));
    return str_starts(resource, STR(PREFIX)) &&
           (str_starts(name, STR("gpu")) || str_starts(name, STR("mig-")));
}

/* ---- nodes ---- */

static void node_free(struct fleet_node *n) {
    if (n) {
        arena_release(&n->arena);
        mem_free(n);
    }
}

static struct fleet_node *node_new(struct str name) {
    struct fleet_node *n = mem_zalloc(sizeof *n + name.n + 1);
    if (n) {
        arena_init(&n->arena, NODE_MAX);
        memcpy(n->text, name.p, name.n);
        n->name = str_from(n->text, name.n);
        n->dirty = true;
    }
    return n;
}

static void on_node(void *ctx, const struct change *ch) {
    struct fleet *f = ctx;
    struct fleet_node *n = map_get(&f->nodes, ch->obj->name);
    if (ch->type == CHANGE_DELETED) {
        node_free(map_del(&f->nodes, ch->obj->name));
    } else if (n) {
        n->dirty = true;
    } else if ((n = node_new(ch->obj->name)) && map_put(&f->nodes, n->name, n, NULL) != 0) {
        node_free(n);
    }
}

/* "nvidia.com/gpu": "8" of status.capacity or status.allocatable. */
static void read_amounts(struct fleet_node *n, yyjson_val *map, bool capacity) {
    size_t i, max;
    yyjson_val *key, *v;
    yyjson_obj_foreach(yyjson_is_obj(map) ? map : NULL, i, max, key, v) {
        struct str resource = json_str(key);
        int64_t count;
        if (!is_gpu(resource) || !str_to_i64(json_str(v), &count) || count < 0) {
            continue;
        }
        size_t k = 0;
        while (k < n->n_amounts && !str_eq(n->amounts[k].resource, resource)) {
            k++;
        }
        if (k == FLEET_AMOUNTS_MAX) {
            return;
        }
        if (k == n->n_amounts) {
            n->amounts[n->n_amounts++] =
                (struct fleet_amount){.resource = arena_str(&n->arena, resource)};
        }
        *(capacity ? &n->amounts[k].capacity : &n->amounts[k].allocatable) = count;
    }
}

static bool is_ready(yyjson_val *tree) {
    yyjson_val *list = json_path(tree, "status.conditions"), *c;
    size_t i, n;
    yyjson_arr_foreach(list, i, n, c) {
        if (str_is(json_str_at(c, "type"), "Ready")) {
            return str_is(json_str_at(c, "status"), "True");
        }
    }
    return false;
}

static int read_node(struct fleet *f, struct fleet_node *n, const struct object *o) {
    yyjson_doc *doc;
    arena_reset(&n->arena);
    n->inv = (struct inventory){0};
    n->n_amounts = 0;
    n->product = (struct str){0};
    n->told = str_contains(o->json, STR("\"" INVENTORY_ANNOTATION "\""));
    if (!n->told && !str_contains(o->json, STR("\"" PREFIX))) {
        n->dirty = false;
        return 0;
    }
    arena_reset(&f->scratch);
    int r = object_tree(o, &f->scratch, &doc, NULL);
    if (r != 0) {
        return r;
    }
    yyjson_val *tree = yyjson_doc_get_root(doc);
    struct str text =
        json_str(json_get(json_path(tree, "metadata.annotations"), STR(INVENTORY_ANNOTATION)));
    n->told = text.n > 0 && inventory_decode(text, &n->arena, &n->inv, NULL) == 0;
    n->ready = is_ready(tree);
    n->cordoned = json_bool_at(tree, "spec.unschedulable", false);
    n->product = arena_str(&n->arena, object_label(o, STR(PREFIX "gpu.product")));
    n->memory_mib = 0;
    (void)str_to_i64(object_label(o, STR(PREFIX "gpu.memory")), &n->memory_mib);
    n->amounts = n->told ? NULL : ARENA_ARRAY(&n->arena, struct fleet_amount, FLEET_AMOUNTS_MAX);
    if (n->amounts) {
        read_amounts(n, json_path(tree, "status.capacity"), true);
        read_amounts(n, json_path(tree, "status.allocatable"), false);
    }
    r = arena_ok(&n->arena);
    n->dirty = r != 0;
    return r;
}

/* ---- their flavors ---- */

struct fleet_flavor {
    struct str name;
    yyjson_val *labels;
    size_t n;
    struct fleet_flavor *next;
};

struct flavors {
    struct arena *a;
    struct fleet_flavor *first;
};

static bool add_flavor(void *ctx, const struct object *o) {
    struct flavors *l = ctx;
    struct fleet_flavor *v = ARENA_NEW(l->a, struct fleet_flavor);
    yyjson_doc *doc;
    if (v && object_tree(o, l->a, &doc, NULL) == 0) {
        v->labels = json_path(yyjson_doc_get_root(doc), "spec.nodeLabels");
        v->n = yyjson_obj_size(v->labels);
        v->name = arena_str(l->a, o->name);
        v->next = l->first;
        l->first = v->n ? v : l->first;
    }
    return v != NULL;
}

static bool leads_to(const struct fleet_flavor *v, const struct object *node) {
    size_t i, n;
    yyjson_val *key, *value;
    yyjson_obj_foreach(v->labels, i, n, key, value) {
        if (!str_eq(object_label(node, json_str(key)), json_str(value))) {
            return false;
        }
    }
    return true;
}

/* The flavor that asks for most of the node's labels; of equals the first by name. Without one, its boards' name. */
static struct str flavor_of(const struct flavors *l, const struct fleet_node *n,
                            const struct object *node) {
    const struct fleet_flavor *best = NULL;
    for (const struct fleet_flavor *v = l->first; v; v = v->next) {
        bool more =
            best == NULL || v->n > best->n || (v->n == best->n && str_cmp(v->name, best->name) < 0);
        best = more && leads_to(v, node) ? v : best;
    }
    return best ? best->name
                : gpu_flavor_name(l->a, n->product.n ? n->product
                                        : n->inv.n   ? n->inv.gpus[0].model
                                                     : STR("gpu"));
}

int fleet_nodes_refresh(struct fleet *f, struct arena *a) {
    struct flavors l = {.a = a};
    size_t at = 0;
    mirror_scan(f->c->env->mirror, f->flavors, (struct str){0}, add_flavor, &l);
    for (const struct map_entry *e; (e = map_next(&f->nodes, &at));) {
        struct fleet_node *n = e->value;
        const struct object *o =
            mirror_get(f->c->env->mirror, f->kinds[FLEET_NODES], (struct str){0}, n->name);
        int r = o && n->dirty ? read_node(f, n, o) : 0;
        if (r != 0) {
            return r;
        }
        n->flavor = o && (n->inv.n || n->n_amounts) ? flavor_of(&l, n, o) : (struct str){0};
    }
    return arena_ok(a);
}

bool fleet_node_serves(const struct fleet_node *n) {
    return n->ready && !n->cordoned;
}

/* ---- bookings ---- */

static enum fleet_phase phase_of(struct str phase) {
    return str_is(phase, "Degraded")                               ? FLEET_DEGRADED
           : str_is(phase, "Active") || str_is(phase, "Preparing") ? FLEET_HOLDS
           : str_is(phase, "PendingApproval")                      ? FLEET_ASKS
                                                                   : FLEET_OTHER;
}

static void booking_free(struct fleet_booking *b) {
    if (b) {
        arena_release(&b->arena);
        mem_free(b);
    }
}

static void read_places(struct fleet_booking *b, yyjson_val *tree) {
    yyjson_val *plan = json_path(tree, "status.plan"), *lines = json_path(tree, "spec.lines"), *p;
    size_t i, n;
    b->places = ARENA_ARRAY(&b->arena, struct fleet_place, yyjson_arr_size(plan));
    if (b->places == NULL) {
        return;
    }
    yyjson_arr_foreach(plan, i, n, p) {
        int64_t line = json_i64_at(p, "line", 0), count = json_i64_at(p, "count", 1);
        int64_t start = json_i64_at(p, "start", 0), size = json_i64_at(p, "size", 0);
        yyjson_val *l = line >= 0 ? yyjson_arr_get(lines, (size_t)line) : NULL;
        struct str given = json_str_at(p, "resource"), asked = json_str_at(l, "resource");
        struct fleet_place *v = &b->places[b->n_places];
        if ((!given.n && !asked.n) || start < 0 || size < 0 ||
            start + size > INVENTORY_SLICES_MAX) {
            continue;
        }
        *v = (struct fleet_place){
            .resource = arena_str(&b->arena, given.n ? given : asked),
            .flavor = arena_str(&b->arena, json_str_at(p, "flavor")),
            .gpu = arena_str(&b->arena, json_str_at(p, "gpu")),
            .profile = arena_str(&b->arena, json_str_at(p, "profile")),
            .start = (int32_t)start,
            .size = (int32_t)size,
            .count = count > 0 ? count : 1,
        };
        b->n_places++;
    }
}

static struct fleet_booking *booking_read(const struct object *o, yyjson_val *tree,
                                          enum fleet_phase phase) {
    struct fleet_booking *b = mem_zalloc(sizeof *b);
    if (b == NULL) {
        return NULL;
    }
    arena_init(&b->arena, BOOKING_MAX);
    b->phase = phase;
    b->uid = arena_str(&b->arena, o->uid);
    b->ns = arena_str(&b->arena, o->ns);
    b->name = arena_str(&b->arena, o->name);
    b->message = arena_str(&b->arena, json_str_at(tree, "status.message"));
    b->by = arena_str(&b->arena, json_str(json_get(json_path(tree, "metadata.annotations"),
                                                   STR("berth.dev/requested-by"))));
    struct str queue = json_str_at(tree, "status.objects.clusterQueue");
    b->queue = queue.n ? arena_str(&b->arena, queue)
                       : arena_f(&b->arena, "rsv-%.*s", STR_ARG(str_head(o->uid, 8)));
    if (phase != FLEET_ASKS) {
        read_places(b, tree);
    }
    if (arena_ok(&b->arena) != 0) {
        booking_free(b);
        return NULL;
    }
    return b;
}

static void on_reservation(void *ctx, const struct change *ch) {
    struct fleet *f = ctx;
    const struct object *o = ch->obj;
    yyjson_doc *doc;
    booking_free(map_del(&f->bookings, o->uid));
    if (ch->type == CHANGE_DELETED || o->uid.n == 0) {
        return;
    }
    arena_reset(&f->scratch);
    if (object_tree(o, &f->scratch, &doc, NULL) != 0) {
        return;
    }
    yyjson_val *tree = yyjson_doc_get_root(doc);
    enum fleet_phase phase = phase_of(json_str_at(tree, "status.phase"));
    struct fleet_booking *b = phase != FLEET_OTHER ? booking_read(o, tree, phase) : NULL;
    if (b && map_put(&f->bookings, b->uid, b, NULL) != 0) {
        booking_free(b);
    }
}

/* ---- life ---- */

static bool scan_node(void *ctx, const struct object *o) {
    on_node(ctx, &(struct change){.type = CHANGE_ADDED, .obj = o});
    return true;
}

static bool scan_reservation(void *ctx, const struct object *o) {
    on_reservation(ctx, &(struct change){.type = CHANGE_ADDED, .obj = o});
    return true;
}

int fleet_records_init(struct fleet *f) {
    struct mirror *m = f->c->env->mirror;
    f->kinds[FLEET_NODES] = kind_by_name(STR(""), STR("Node"));
    f->kinds[FLEET_RESERVATIONS] = kind_by_name(STR("berth.dev"), STR("Reservation"));
    f->flavors = kind_by_name(STR("kueue.x-k8s.io"), STR("ResourceFlavor"));
    f->feeds[FLEET_NODES] = mirror_feed(m, f->kinds[FLEET_NODES], on_node, f);
    if (f->feeds[FLEET_NODES] == NULL) {
        return ERR_NOMEM;
    }
    mirror_scan(m, f->kinds[FLEET_NODES], (struct str){0}, scan_node, f);
    if (f->kinds[FLEET_RESERVATIONS] == NULL) {
        return 0;
    }
    f->feeds[FLEET_RESERVATIONS] = mirror_feed(m, f->kinds[FLEET_RESERVATIONS], on_reservation, f);
    if (f->feeds[FLEET_RESERVATIONS] == NULL) {
        return ERR_NOMEM;
    }
    mirror_scan(m, f->kinds[FLEET_RESERVATIONS], (struct str){0}, scan_reservation, f);
    return 0;
}

void fleet_records_release(struct fleet *f) {
    size_t at = 0;
    for (size_t i = 0; i < FLEET_FEEDS; i++) {
        if (f->feeds[i]) {
            feed_free(f->feeds[i]);
        }
    }
    for (const struct map_entry *e; (e = map_next(&f->nodes, &at));) {
        node_free(e->value);
    }
    at = 0;
    for (const struct map_entry *e; (e = map_next(&f->bookings, &at));) {
        booking_free(e->value);
    }
    map_release(&f->nodes);
    map_release(&f->bookings);
}
