/* pool_copy (core): see pool_copy.h. */
#include "core/place/pool_copy.h"

#include "core/place/pool_private.h"

struct taking {
    const struct pool *p;
    struct arena *a;
    struct pool_copy *c;
    struct str *resources; /* in the arena, by number */
    /* The last board: most GPUs are of one model, and share their profiles */
    const struct mig_board *board;
    struct gpu_profile *profiles;
    const struct flavor_input *flavors;
    size_t n_flavors;
    bool *taken; /* by number of the pool's node */
    bool all;    /* they all are */
};

static struct str keep(struct taking *t, struct str s) {
    return str_empty(s) ? (struct str){0} : arena_str(t->a, s);
}

/* Many nodes name the same few: each is copied once. */
static struct str resource_name(struct taking *t, uint32_t id) {
    if (id >= t->p->names->v.n) {
        return (struct str){0};
    }
    if (str_empty(t->resources[id])) {
        t->resources[id] = keep(t, names_text(t->p->names, id));
    }
    return t->resources[id];
}

static struct bump room(struct taking *t, size_t size) {
    return (struct bump){.p = arena_alloc(t->a, size ? size : 1), .cap = size};
}

static bool board_is(const struct mig_board *a, const struct mig_board *b) {
    bool same = a->n == b->n && a->slices == b->slices;
    for (size_t i = 0; same && i < a->n; i++) {
        const struct mig_profile *x = &a->profiles[i], *y = &b->profiles[i];
        same = x->id == y->id && x->size == y->size && x->max == y->max && x->starts == y->starts &&
               x->media == y->media && x->resource == y->resource && str_eq(x->name, y->name);
    }
    return same;
}

static struct gpu_profile *profiles_take(struct taking *t, const struct mig_board *from) {
    if (t->board != NULL && board_is(t->board, from)) {
        return t->profiles;
    }
    struct gpu_profile *v = ARENA_ARRAY(t->a, struct gpu_profile, from->n + 1);
    for (size_t i = 0; v != NULL && i < from->n; i++) {
        const struct mig_profile *p = &from->profiles[i];
        v[i] = (struct gpu_profile){.name = keep(t, p->name),
                                    .resource = resource_name(t, p->resource),
                                    .id = p->id,
                                    .size = p->size,
                                    .max_instances = p->max,
                                    .starts = p->starts,
                                    .media = p->media};
    }
    t->board = v != NULL ? from : NULL;
    t->profiles = v;
    return v;
}

/* Those that no seat explains. */
static int instances_take(struct taking *t, const struct pool_gpu *from, struct gpu_card *to) {
    struct gpu_instance live[INVENTORY_SLICES_MAX];
    uint32_t held = mig_mask(&from->board, &from->held);
    size_t n = 0;
    for (int32_t i = 0; i < from->board.slices; i++) {
        if (from->live.at[i] > 0 && (held & 1u << i) == 0) {
            const struct mig_profile *p = &from->board.profiles[from->live.at[i] - 1];
            live[n++] = (struct gpu_instance){
                .profile_id = p->id, .start = i, .size = p->size, .pod_uid = STR("?")};
        }
    }
    to->instances = n > 0 ? ARENA_ARRAY(t->a, struct gpu_instance, n) : NULL;
    if (n > 0 && to->instances == NULL) {
        return ERR_NOMEM;
    }
    if (n > 0) {
        memcpy(to->instances, live, n * sizeof(*live));
    }
    to->n_instances = n;
    return 0;
}

static int gpu_take(struct taking *t, const struct pool_gpu *from, struct gpu_card *to) {
    bool stranger = from->live_whole && !from->held_whole;
    *to = (struct gpu_card){.uuid = keep(t, from->uuid),
                            .index = from->index,
                            .slices = from->board.slices,
                            .mig_enabled = from->mig_on,
                            .mig_managed = from->may_switch,
                            .healthy = from->in_service,
                            .pod_uid = stranger ? STR("?") : (struct str){0},
                            .profiles = profiles_take(t, &from->board),
                            .n_profiles = from->board.n};
    return to->profiles != NULL ? instances_take(t, from, to) : ERR_NOMEM;
}

static int node_take(struct taking *t, const struct pool_node *from, struct node_input *to) {
    struct arena *a = t->a;
    struct inventory *inv = ARENA_NEW(a, struct inventory);
    struct node_amount *amounts = ARENA_ARRAY(a, struct node_amount, from->n_rooms + 1);
    struct bump b = room(t, str_map_size(from->labels) + taints_size(from->taints));
    if (inv == NULL || amounts == NULL || b.p == NULL) {
        return ERR_NOMEM;
    }
    inv->gpus = ARENA_ARRAY(a, struct gpu_card, from->n_gpus + 1);
    int r = inv->gpus != NULL ? 0 : ERR_NOMEM;
    for (; r == 0 && inv->n < from->n_gpus; inv->n++) {
        r = gpu_take(t, &from->gpus[inv->n], &inv->gpus[inv->n]);
    }
    for (size_t i = 0; i < from->n_rooms; i++) {
        amounts[i] =
            (struct node_amount){resource_name(t, from->rooms[i].resource), from->rooms[i].total};
    }
    *to = (struct node_input){.name = keep(t, from->name),
                              .managed = from->managed,
                              .ready = from->ready,
                              .labels = str_map_copy(&b, from->labels),
                              .taints = taints_copy(&b, from->taints),
                              .amounts = amounts,
                              .n_amounts = from->n_rooms,
                              .inventory = from->n_gpus > 0 ? inv : NULL};
    return r;
}

static int seat_take(struct taking *t, const struct seat *from, struct seat *to) {
    struct pool_amount *amounts = ARENA_ARRAY(t->a, struct pool_amount, from->n_amounts + 1);
    struct seat_device *devices = ARENA_ARRAY(t->a, struct seat_device, from->n_devices + 1);
    if (amounts == NULL || devices == NULL) {
        return ERR_NOMEM;
    }
    memcpy(amounts, from->amounts, from->n_amounts * sizeof(*amounts));
    for (size_t i = 0; i < from->n_devices; i++) {
        devices[i] = from->devices[i];
        devices[i].gpu = keep(t, from->devices[i].gpu);
        devices[i].profile = keep(t, from->devices[i].profile);
    }
    *to = (struct seat){.workload = keep(t, from->workload),
                        .loose = from->loose,
                        .pod = str_empty(from->workload) ? keep(t, from->pod) : (struct str){0},
                        .set = keep(t, from->set),
                        .node = keep(t, from->node),
                        .ordinal = from->ordinal,
                        .amounts = amounts,
                        .n_amounts = from->n_amounts,
                        .devices = devices,
                        .n_devices = from->n_devices};
    return 0;
}

static int pins_take(struct taking *t) {
    const struct pool *p = t->p;
    struct pool_copy *c = t->c;
    const struct map_entry *e;
    c->pins = ARENA_ARRAY(t->a, struct pool_copy_pins, map_count(&p->pins) + 1);
    for (size_t i = 0; c->pins != NULL && (e = map_next(&p->pins, &i)) != NULL;) {
        const struct pool_pins *from = e->value;
        struct pool_copy_pins *to = &c->pins[c->n_pins++];
        to->queue = keep(t, from->queue);
        to->pins = ARENA_ARRAY(t->a, struct pool_pin, from->n + 1);
        for (; to->pins != NULL && to->n < from->n; to->n++) {
            to->pins[to->n] = from->v[to->n].pin;
            to->pins[to->n].node = keep(t, from->v[to->n].pin.node);
            to->pins[to->n].gpu = keep(t, from->v[to->n].pin.gpu);
            to->pins[to->n].resource = resource_name(t, from->v[to->n].resource);
        }
    }
    return arena_ok(t->a);
}

/* May a pod of some of the flavors run there at all? */
static bool wanted(const struct taking *t, const struct pool_node *n) {
    static const struct shape any;
    bool is = false;
    for (size_t i = 0; i < t->n_flavors && !is; i++) {
        is = shape_matches_node(&any, &t->flavors[i], n->name, n->labels);
    }
    return is;
}

static size_t nodes_choose(struct taking *t) {
    size_t n = 0;
    for (size_t i = 0; i < t->p->nodes.n; i++) {
        t->taken[i] = wanted(t, t->p->nodes.v[i]);
        n += t->taken[i];
    }
    t->all = n == t->p->nodes.n;
    return n;
}

static int nodes_take(struct taking *t) {
    for (size_t i = 0; i < t->p->nodes.n; i++) {
        const struct pool_node *n = t->p->nodes.v[i];
        if (t->taken[i] && node_take(t, n, &t->c->nodes[t->c->n_nodes++]) != 0) {
            return ERR_NOMEM;
        }
    }
    return 0;
}

/* Where all nodes are, so are all seats, also those of a node that has gone. */
static bool seat_is_taken(const struct taking *t, const struct seat *s) {
    bool there;
    return t->all || (t->taken[pool_node_place(t->p, s->node, &there)] && there);
}

/* Of nodes that were taken. Seats are counted before they are copied: too many are none. */
static int seats_take(struct taking *t, size_t max) {
    size_t n = 0;
    for (const struct seat *s = t->p->seats; s != NULL && n <= max; s = s->next) {
        n += seat_is_taken(t, s);
    }
    if (n > max) {
        *t->c = (struct pool_copy){.left_out = true};
        return 0;
    }
    t->c->seats = ARENA_ARRAY(t->a, struct seat, n + 1);
    if (t->c->seats == NULL) {
        return ERR_NOMEM;
    }
    for (const struct seat *s = t->p->seats; s != NULL; s = s->next) {
        if (seat_is_taken(t, s) && seat_take(t, s, &t->c->seats[t->c->n_seats++]) != 0) {
            return ERR_NOMEM;
        }
    }
    return 0;
}

int pool_copy_take(const struct pool *p, const struct flavor_input *flavors, size_t n,
                   const struct pool_copy_limits *max, struct arena *a, struct pool_copy *ret) {
    struct taking t = {.p = p, .a = a, .c = ret, .flavors = flavors, .n_flavors = n};
    *ret = (struct pool_copy){0};
    if (!pool_has_managed(p)) {
        return 0;
    }
    t.taken = ARENA_ARRAY(a, bool, p->nodes.n + 1);
    t.resources = ARENA_ARRAY(a, struct str, p->names->v.n + 1);
    if (t.taken == NULL || t.resources == NULL) {
        return ERR_NOMEM;
    }
    size_t nodes = nodes_choose(&t);
    if (nodes > max->nodes) {
        ret->left_out = true;
        return 0;
    }
    ret->nodes = ARENA_ARRAY(a, struct node_input, nodes + 1);
    if (ret->nodes == NULL || nodes_take(&t) != 0 || seats_take(&t, max->seats) != 0) {
        return ERR_NOMEM;
    }
    return ret->left_out ? 0 : pins_take(&t);
}

int pool_copy_build(const struct pool_copy *c, struct pool *p) {
    int r = 0;
    struct seat *s;
    for (size_t i = 0; i < c->n_nodes && r == 0; i++) {
        r = pool_node_put(p, &c->nodes[i], NULL);
    }
    for (size_t i = 0; i < c->n_seats && r == 0; i++) {
        r = pool_seat_restore(p, &c->seats[i], &s);
    }
    for (size_t i = 0; i < c->n_pins && r == 0; i++) {
        r = pool_pins_set(p, c->pins[i].queue, c->pins[i].pins, c->pins[i].n);
    }
    return r;
}
