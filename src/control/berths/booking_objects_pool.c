/* booking_objects_pool: what the pool consists of, who has how much of it, and who asks for how much. */
#include "control/berths/booking_objects_private.h"

#include "base/mem.h"

enum { GROUPS_MAX = 16 };

/* A ResourceFlavor, as far as it selects nodes. */
struct flavor_labels {
    struct str name;
    struct str_map labels;
};

struct pool_reader {
    struct booking_objects_controller *c;
    struct booking_picture *p;
    struct flavor_labels *flavors;
    size_t n_flavors, cap_flavors;
    int failed;
};

/* ---- flavors and nodes ---- */

static bool labels_hold(const struct str_map *want, const struct str_map *has) {
    for (size_t i = 0; i < want->n; i++) {
        bool found = false;
        for (size_t k = 0; !found && k < has->n; k++) {
            found =
                str_eq(has->v[k].key, want->v[i].key) && str_eq(has->v[k].value, want->v[i].value);
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

static bool flavor_labels_of(struct booking_objects_controller *c, struct str flavor,
                             struct str_map *ret) {
    const struct object *o =
        mirror_get(c->base.env.mirror, c->base.kinds[BK_FLAVOR], STR(""), flavor);
    const struct resource_flavor *f =
        o != NULL ? booking_views_get(&c->views, o, &schema_resource_flavor) : NULL;
    if (f == NULL) {
        return false;
    }
    *ret = f->spec != NULL ? f->spec->node_labels : (struct str_map){0};
    return true;
}

/* ---- the layout ---- */

static bool is_device(struct str resource) {
    return str_starts(resource, STR(BOOKING_GPU_PREFIX));
}

static bool add_text(struct arena *a, struct str **v, size_t *n, struct str text) {
    for (size_t i = 0; i < *n; i++) {
        if (str_eq((*v)[i], text)) {
            return true;
        }
    }
    struct str *more = ARENA_ARRAY(a, struct str, *n + 1);
    if (more == NULL) {
        return false;
    }
    for (size_t i = 0; i < *n; i++) {
        more[i] = (*v)[i];
    }
    more[(*n)++] = text;
    *v = more;
    return true;
}

static void copy_groups(struct booking_objects_controller *c, struct booking_picture *p,
                        const struct resource_group_list *from) {
    struct arena *a = &c->base.arena;
    for (size_t i = 0; i < from->n && p->n_groups < GROUPS_MAX; i++) {
        struct booking_group *g = &p->groups[p->n_groups++];
        for (size_t k = 0; k < from->v[i].covered_resources.n; k++) {
            add_text(a, &g->resources, &g->n_resources, from->v[i].covered_resources.v[k]);
        }
        for (size_t k = 0; k < from->v[i].flavors.n; k++) {
            add_text(a, &g->flavors, &g->n_flavors, from->v[i].flavors.v[k].name);
        }
    }
}

/* Of the first ClusterQueue in the Cohort. */
static bool layout_of_queue(void *ctx, const struct object *o) {
    struct pool_reader *r = ctx;
    const struct cluster_queue *q =
        booking_is_ours(o) ? NULL : booking_views_get(&r->c->views, o, &schema_cluster_queue);
    if (q != NULL && q->spec != NULL && str_eq(q->spec->cohort_name, r->p->cohort_name)) {
        copy_groups(r->c, r->p, &q->spec->resource_groups);
    }
    return r->p->n_groups == 0;
}

static struct booking_group *device_group(struct booking_picture *p) {
    for (size_t i = 0; i < p->n_groups; i++) {
        for (size_t k = 0; k < p->groups[i].n_resources; k++) {
            if (is_device(p->groups[i].resources[k])) {
                return &p->groups[i];
            }
        }
    }
    return NULL;
}

static bool covered(const struct booking_picture *p, struct str resource) {
    for (size_t i = 0; i < p->n_groups; i++) {
        for (size_t k = 0; k < p->groups[i].n_resources; k++) {
            if (str_eq(p->groups[i].resources[k], resource)) {
                return true;
            }
        }
    }
    return false;
}

/* A flavor that selects nodes with GPUs. */
static bool note_flavor(void *ctx, const struct object *o) {
    struct pool_reader *r = ctx;
    struct booking_group *g = &r->p->groups[r->p->n_groups - 1];
    struct str_map labels;
    const struct booking_node *n;
    if (!flavor_labels_of(r->c, o->name, &labels) || labels.n == 0) {
        return true;
    }
    for (size_t i = 0; (n = booking_hardware_next(&r->c->hardware, &i)) != NULL;) {
        if (n->n_devices > 0 && labels_hold(&labels, &n->obj->labels)) {
            add_text(&r->c->base.arena, &g->flavors, &g->n_flavors, o->name);
            break;
        }
    }
    return true;
}

/* Resources of its flavors' nodes that the group does not have yet. */
static void widen(struct booking_objects_controller *c, struct booking_picture *p,
                  struct booking_group *g) {
    const struct booking_node *n;
    for (size_t f = 0; f < g->n_flavors; f++) {
        struct str_map labels;
        if (!flavor_labels_of(c, g->flavors[f], &labels)) {
            continue;
        }
        for (size_t i = 0; (n = booking_hardware_next(&c->hardware, &i)) != NULL;) {
            for (size_t k = 0; labels_hold(&labels, &n->obj->labels) && k < n->n_devices; k++) {
                struct str resource = n->devices[k].resource;
                if (!covered(p, resource)) {
                    add_text(&c->base.arena, &g->resources, &g->n_resources, resource);
                }
            }
        }
    }
}

static void read_layout(struct pool_reader *r) {
    struct booking_objects_controller *c = r->c;
    struct booking_picture *p = r->p;
    p->groups = ARENA_ARRAY(&c->base.arena, struct booking_group, GROUPS_MAX + 1);
    if (p->groups == NULL) {
        return;
    }
    if (p->cohort != NULL && p->cohort->spec != NULL) {
        copy_groups(c, p, &p->cohort->spec->resource_groups);
    }
    if (p->n_groups == 0) {
        mirror_scan(c->base.env.mirror, c->base.kinds[BK_CLUSTER_QUEUE], STR(""), layout_of_queue,
                    r);
    }
    struct booking_group *g = device_group(p);
    const struct str_list *named = p->policy->pool != NULL ? &p->policy->pool->flavors : NULL;
    bool fresh = g == NULL;
    if (fresh) {
        g = &p->groups[p->n_groups++];
        for (size_t i = 0; i < 2; i++) {
            struct str plain = i == 0 ? STR("cpu") : STR("memory");
            if (!covered(p, plain)) {
                add_text(&c->base.arena, &g->resources, &g->n_resources, plain);
            }
        }
    }
    for (size_t i = 0; named != NULL && i < named->n; i++) {
        add_text(&c->base.arena, &g->flavors, &g->n_flavors, named->v[i]);
    }
    if (fresh && g->n_flavors == 0) {
        mirror_scan(c->base.env.mirror, c->base.kinds[BK_FLAVOR], STR(""), note_flavor, r);
    }
    widen(c, p, g);
    if (fresh && g->n_flavors == 0) {
        p->n_groups--; /* no GPUs: nothing to book */
    }
}

/* ---- cells ---- */

size_t booking_cell_at(const struct booking_picture *p, struct str flavor, struct str resource) {
    for (size_t i = 0; i < p->n_cells; i++) {
        if (str_eq(p->cells[i].flavor, flavor) && str_eq(p->cells[i].resource, resource)) {
            return i;
        }
    }
    return SIZE_MAX;
}

static void add_cell(struct booking_picture *p, struct str flavor, struct str resource) {
    if (booking_cell_at(p, flavor, resource) == SIZE_MAX) {
        p->cells[p->n_cells++] = (struct booking_cell){
            .flavor = flavor, .resource = resource, .device = is_device(resource)};
    }
}

static size_t count_cells(const struct resource_group_list *l) {
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++) {
        n += l->v[i].covered_resources.n * l->v[i].flavors.n;
    }
    return n;
}

static const struct resource_group_list *groups_of(const struct berth_booking *b) {
    static const struct resource_group_list none;
    return b->queue != NULL && b->queue->spec != NULL ? &b->queue->spec->resource_groups : &none;
}

static int make_cells(struct booking_objects_controller *c, struct booking_picture *p) {
    size_t most = 1;
    for (size_t i = 0; i < p->n_groups; i++) {
        most += p->groups[i].n_resources * p->groups[i].n_flavors;
    }
    for (size_t i = 0; i < p->n; i++) {
        most += count_cells(groups_of(&p->v[i]));
    }
    p->cells = ARENA_ARRAY(&c->base.arena, struct booking_cell, most);
    if (p->cells == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < p->n_groups; i++) {
        const struct booking_group *g = &p->groups[i];
        for (size_t f = 0; f < g->n_flavors; f++) {
            for (size_t k = 0; k < g->n_resources; k++) {
                add_cell(p, g->flavors[f], g->resources[k]);
            }
        }
    }
    p->n_pool_cells = p->n_cells;
    for (size_t i = 0; i < p->n; i++) {
        const struct resource_group_list *l = groups_of(&p->v[i]);
        for (size_t k = 0; k < l->n; k++) {
            for (size_t f = 0; f < l->v[k].flavors.n; f++) {
                for (size_t m = 0; m < l->v[k].covered_resources.n; m++) {
                    add_cell(p, l->v[k].flavors.v[f].name, l->v[k].covered_resources.v[m]);
                }
            }
        }
    }
    return booking_ledger_init(&p->ledger, &c->base.arena, p->n_cells, p->n);
}

/* Adds what such groups have as their own. */
static void add_nominal(struct booking_picture *p, const struct resource_group_list *l,
                        int64_t *to) {
    for (size_t i = 0; i < l->n; i++) {
        for (size_t f = 0; f < l->v[i].flavors.n; f++) {
            const struct flavor_quotas *q = &l->v[i].flavors.v[f];
            for (size_t k = 0; k < q->resources.n; k++) {
                const struct resource_quota *r = &q->resources.v[k];
                size_t at = booking_cell_at(p, q->name, r->name);
                if (at != SIZE_MAX) {
                    to[at] += translate_amount(r->name, r->nominal_quota);
                }
            }
        }
    }
}

static bool add_standing_queue(void *ctx, const struct object *o) {
    struct pool_reader *r = ctx;
    const struct cluster_queue *q =
        booking_is_ours(o) ? NULL : booking_views_get(&r->c->views, o, &schema_cluster_queue);
    if (q != NULL && q->spec != NULL) {
        add_nominal(r->p, &q->spec->resource_groups, r->p->ledger.standing);
    }
    return true;
}

static bool add_standing_cohort(void *ctx, const struct object *o) {
    struct pool_reader *r = ctx;
    const struct cohort *h = str_eq(o->name, r->p->cohort_name)
                                 ? NULL
                                 : booking_views_get(&r->c->views, o, &schema_cohort);
    if (h != NULL && h->spec != NULL) {
        add_nominal(r->p, &h->spec->resource_groups, r->p->ledger.standing);
    }
    return true;
}

/* A node counts for one flavor of a group: the first with labels that selects it, else the first without. */
static struct str flavor_of_node(const struct pool_reader *r, const struct booking_group *g,
                                 const struct booking_node *n) {
    struct str plain = {0};
    for (size_t f = 0; f < g->n_flavors; f++) {
        for (size_t i = 0; i < r->n_flavors; i++) {
            const struct flavor_labels *l = &r->flavors[i];
            if (!str_eq(l->name, g->flavors[f]) || !labels_hold(&l->labels, &n->obj->labels)) {
                continue;
            }
            if (l->labels.n > 0) {
                return l->name;
            }
            plain = plain.n > 0 ? plain : l->name;
        }
    }
    return plain;
}

static int read_flavors(struct pool_reader *r) {
    size_t most = 1;
    for (size_t i = 0; i < r->p->n_groups; i++) {
        most += r->p->groups[i].n_flavors;
    }
    r->flavors = ARENA_ARRAY(&r->c->base.arena, struct flavor_labels, most);
    for (size_t i = 0; r->flavors != NULL && i < r->p->n_groups; i++) {
        const struct booking_group *g = &r->p->groups[i];
        for (size_t f = 0; f < g->n_flavors; f++) {
            struct flavor_labels *l = &r->flavors[r->n_flavors];
            if (flavor_labels_of(r->c, g->flavors[f], &l->labels)) {
                l->name = g->flavors[f];
                r->n_flavors++;
            }
        }
    }
    return arena_ok(&r->c->base.arena);
}

static uint64_t sums_key(const struct pool_reader *r) {
    const struct booking_picture *p = r->p;
    uint64_t key = hash_mix(r->c->hardware.version + 1, p->n_pool_cells);
    for (size_t i = 0; i < p->n_pool_cells; i++) {
        key = hash_guest(hash_guest(key, p->cells[i].flavor), p->cells[i].resource);
    }
    for (size_t i = 0; i < r->n_flavors; i++) {
        key = hash_guest(key, r->flavors[i].name);
        for (size_t k = 0; k < r->flavors[i].labels.n; k++) {
            key = hash_guest(hash_guest(key, r->flavors[i].labels.v[k].key),
                             r->flavors[i].labels.v[k].value);
        }
    }
    return key;
}

/* There are thousands of nodes, and most looks are for other reasons. */
static bool sums_known(struct pool_reader *r, uint64_t key) {
    struct booking_picture *p = r->p;
    bool known = r->c->sums.key == key && r->c->sums.n == p->n_pool_cells;
    for (size_t i = 0; known && i < p->n_pool_cells; i++) {
        p->ledger.hardware[i] = r->c->sums.v[i];
    }
    return known;
}

static void sums_keep(struct pool_reader *r, uint64_t key) {
    size_t n = r->p->n_pool_cells;
    mem_free(r->c->sums.v);
    r->c->sums.v = mem_array(n + 1, sizeof(int64_t));
    r->c->sums.n = r->c->sums.v != NULL ? n : SIZE_MAX;
    r->c->sums.key = key;
    for (size_t i = 0; r->c->sums.v != NULL && i < n; i++) {
        r->c->sums.v[i] = r->p->ledger.hardware[i];
    }
}

static void read_hardware(struct pool_reader *r) {
    struct booking_picture *p = r->p;
    uint64_t key = sums_key(r);
    if (sums_known(r, key)) {
        return;
    }
    const struct booking_node *n;
    for (size_t i = 0; (n = booking_hardware_next(&r->c->hardware, &i)) != NULL;) {
        for (size_t g = 0; g < p->n_groups; g++) {
            struct str flavor = flavor_of_node(r, &p->groups[g], n);
            for (size_t k = 0; flavor.n > 0 && k < p->groups[g].n_resources; k++) {
                size_t at = booking_cell_at(p, flavor, p->groups[g].resources[k]);
                p->ledger.hardware[at] += booking_node_amount(n, p->groups[g].resources[k]);
            }
        }
    }
    sums_keep(r, key);
}

int booking_pool_read(struct booking_objects_controller *c, struct booking_picture *p) {
    struct pool_reader r = {.c = c, .p = p};
    struct mirror *m = c->base.env.mirror;
    read_layout(&r);
    if (arena_ok(&c->base.arena) != 0 || make_cells(c, p) != 0 || read_flavors(&r) != 0) {
        return ERR_NOMEM;
    }
    read_hardware(&r);
    mirror_scan(m, c->base.kinds[BK_CLUSTER_QUEUE], STR(""), add_standing_queue, &r);
    mirror_scan(m, c->base.kinds[BK_COHORT], STR(""), add_standing_cohort, &r);
    for (size_t i = 0; i < p->n; i++) {
        p->v[i].row = i;
        add_nominal(p, groups_of(&p->v[i]), &p->ledger.seen[booking_ledger_at(&p->ledger, i, 0)]);
    }
    if (p->cohort != NULL && p->cohort->spec != NULL) {
        add_nominal(p, &p->cohort->spec->resource_groups,
                    &p->ledger.seen[booking_ledger_at(&p->ledger, p->n, 0)]);
    }
    return arena_ok(&c->base.arena);
}

/* ---- what bookings ask for ---- */

static struct booking_sum sum_of(struct booking_objects_controller *c, struct str flavor,
                                 struct str resource) {
    struct booking_sum s = {.known = true};
    struct str_map labels;
    const struct booking_node *n;
    if (!flavor_labels_of(c, flavor, &labels)) {
        return s;
    }
    for (size_t i = 0; (n = booking_hardware_next(&c->hardware, &i)) != NULL;) {
        if (n->n_devices > 0 && labels_hold(&labels, &n->obj->labels)) {
            int64_t share = booking_node_share(n, resource);
            s.cards += n->cards;
            s.share = share > s.share ? share : s.share;
            s.cpu += booking_node_amount(n, STR("cpu"));
            s.memory += booking_node_amount(n, STR("memory"));
        }
    }
    return s;
}

/* The cell of a plain resource that goes with a flavor's GPUs: of the same flavor, else the first that has it. */
static size_t plain_cell(const struct booking_picture *p, struct str flavor, struct str resource) {
    size_t at = booking_cell_at(p, flavor, resource);
    for (size_t i = 0; at == SIZE_MAX && i < p->n_pool_cells; i++) {
        at = str_eq(p->cells[i].resource, resource) ? i : at;
    }
    return at;
}

const struct booking_sum *booking_sum(struct booking_objects_controller *c,
                                      struct booking_picture *p, size_t cell) {
    struct booking_cell *x = &p->cells[cell];
    if (!x->sum.known) {
        x->sum = sum_of(c, x->flavor, x->resource);
    }
    return &x->sum;
}

int64_t booking_part(int64_t all, int64_t units, const struct booking_sum *s) {
    __extension__ typedef __int128 wide;
    return s->cards > 0 ? (int64_t)((wide)all * units * s->share / BOOKING_WHOLE / s->cards) : 0;
}

static void ask(struct booking_objects_controller *c, struct booking_picture *p,
                struct berth_booking *b, struct str flavor, struct str resource, int64_t units) {
    int64_t *asked = &p->ledger.asked[booking_ledger_at(&p->ledger, b->row, 0)];
    size_t at = booking_cell_at(p, flavor, resource), cpu = plain_cell(p, flavor, STR("cpu"));
    size_t memory = plain_cell(p, flavor, STR("memory"));
    if (at == SIZE_MAX || at >= p->n_pool_cells) {
        return;
    }
    const struct booking_sum *s = booking_sum(c, p, at);
    asked[at] += units;
    if (cpu != SIZE_MAX) {
        asked[cpu] += booking_part(s->cpu, units, s);
    }
    if (memory != SIZE_MAX) {
        asked[memory] += booking_part(s->memory, units, s) >> 20 << 20;
    }
}

/* A line that no place of the plan stands for. */
static struct str flavor_by_line(const struct booking_picture *p,
                                 const struct reservation_line *line) {
    if (line->flavor.n > 0 || line->any_of.n > 0) {
        return line->flavor.n > 0 ? line->flavor : line->any_of.v[0];
    }
    for (size_t i = 0; i < p->n_pool_cells; i++) {
        if (str_eq(p->cells[i].resource, line->resource) && p->ledger.hardware[i] > 0) {
            return p->cells[i].flavor;
        }
    }
    return (struct str){0};
}

static void ask_all(struct booking_objects_controller *c, struct booking_picture *p,
                    struct berth_booking *b) {
    const struct reservation_status *s = b->rsv->status;
    for (size_t i = 0; i < b->rsv->spec->lines.n; i++) {
        const struct reservation_line *line = &b->rsv->spec->lines.v[i];
        bool planned = false;
        for (size_t k = 0; s != NULL && k < s->plan.n; k++) {
            const struct reservation_place *place = &s->plan.v[k];
            if (place->line == (int32_t)i && place->flavor.n > 0) {
                ask(c, p, b, place->flavor, line->resource, place->count > 0 ? place->count : 1);
                planned = true;
            }
        }
        if (!planned) {
            ask(c, p, b, flavor_by_line(p, line), line->resource, line->count);
        }
    }
}

/* One that is drained keeps its quota until nothing holds it, so that nobody counts it twice. */
static void ask_seen(struct booking_picture *p, const struct berth_booking *b) {
    for (size_t i = 0; i < p->n_cells; i++) {
        size_t at = booking_ledger_at(&p->ledger, b->row, i);
        p->ledger.asked[at] = p->ledger.seen[at];
    }
}

int booking_pool_settle(struct booking_objects_controller *c, struct booking_picture *p) {
    for (size_t i = 0; i < p->n; i++) {
        struct berth_booking *b = &p->v[i];
        if (b->closing != 0) {
            if (b->stage == STAGE_DRAINED && b->holding > 0) {
                ask_seen(p, b);
            }
        } else if (b->rsv != NULL && !b->follows && b->stage != STAGE_HELD) {
            ask_all(c, p, b);
        }
    }
    booking_fence_read(c, p);
    booking_ledger_settle(&p->ledger);
    return arena_ok(&c->base.arena);
}
