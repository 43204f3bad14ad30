/* booking_hardware: see booking_hardware.h. */
#include "control/book/booking_hardware.h"

#include "api/meta.h"
#include "api/schema/codec.h"
#include "base/mem.h"

void booking_hardware_init(struct booking_hardware *h) {
    *h = (struct booking_hardware){0};
    map_init(&h->nodes);
}

static void node_free(struct booking_node *n) {
    if (n != NULL) {
        object_unref(n->obj);
        mem_free(n);
    }
}

void booking_hardware_release(struct booking_hardware *h) {
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(&h->nodes, &i)) != NULL;) {
        node_free(e->value);
    }
    map_release(&h->nodes);
}

/* ---- one node ---- */

struct reading { /* in the arena */
    struct node_input in;
    struct inventory inv;
    struct node_amount *amounts;
    size_t n_amounts;
    struct booking_device *devices;
    size_t n_devices;
    int64_t cards;
};

static struct str label(const struct node_input *in, const char *key) {
    for (size_t i = 0; i < in->labels.n; i++) {
        if (str_is(in->labels.v[i].key, key)) {
            return in->labels.v[i].value;
        }
    }
    return (struct str){0};
}

static void amount_put(struct reading *r, struct str resource, int64_t v) {
    for (size_t i = 0; i < r->n_amounts; i++) {
        if (str_eq(r->amounts[i].resource, resource)) {
            r->amounts[i].v = v;
            return;
        }
    }
    r->amounts[r->n_amounts++] = (struct node_amount){resource, v};
}

static void device_put(struct reading *r, struct str resource, int64_t share) {
    for (size_t i = 0; i < r->n_devices; i++) {
        if (str_eq(r->devices[i].resource, resource)) {
            return;
        }
    }
    r->devices[r->n_devices++] = (struct booking_device){resource, share};
}

/* What its GPUs could be sliced into. */
static int read_cards(struct reading *r) {
    struct names names;
    names_init(&names);
    struct pool *p = pool_new(&names);
    struct node_input in = r->in;
    in.managed = true;
    int rc = p != NULL ? pool_node_put(p, &in, NULL) : ERR_NOMEM;
    for (size_t i = 0; rc == 0 && i < r->inv.n; i++) {
        const struct gpu_card *g = &r->inv.gpus[i];
        device_put(r, STR(POOL_GPU_RESOURCE), BOOKING_WHOLE);
        for (size_t k = 0; k < g->n_profiles; k++) {
            device_put(r, g->profiles[k].resource,
                       g->slices > 0 ? (int64_t)BOOKING_WHOLE * g->profiles[k].size / g->slices
                                     : 0);
        }
    }
    for (size_t i = 0; rc == 0 && i < r->n_devices; i++) {
        uint32_t id = names_find(&names, r->devices[i].resource);
        amount_put(r, r->devices[i].resource, id != NAME_ABSENT ? pool_most(p, id) : 0);
    }
    r->cards = (int64_t)r->inv.n;
    pool_free(p);
    names_release(&names);
    return rc;
}

/* "nvidia.com/mig-2g.35gb" of a GPU with `mib` of memory: 35 GiB of that, else 2 of 7. */
static int64_t share_of(struct str resource, int64_t mib) {
    struct str prefix = STR(BOOKING_GPU_PREFIX "mig-"), rest, compute, memory, tail;
    int64_t g, gb;
    if (!str_starts(resource, prefix)) {
        return BOOKING_WHOLE;
    }
    rest = str_skip(resource, prefix.n);
    if (!str_cut(rest, 'g', &compute, &rest) || !str_to_i64(compute, &g)) {
        return 0;
    }
    rest = str_skip(rest, 1); /* the dot */
    if (mib > 0 && str_cut(rest, 'g', &memory, &tail) && str_to_i64(memory, &gb)) {
        int64_t share = BOOKING_WHOLE * (gb << 10) / mib;
        return share < BOOKING_WHOLE ? share : BOOKING_WHOLE;
    }
    return g < 7 ? BOOKING_WHOLE * g / 7 : BOOKING_WHOLE;
}

static void read_plain(struct reading *r) {
    int64_t mib = 0, cards = 0;
    bool says = str_to_i64(label(&r->in, "nvidia.com/gpu.count"), &cards);
    (void)str_to_i64(label(&r->in, "nvidia.com/gpu.memory"), &mib);
    for (size_t i = 0; i < r->n_amounts; i++) {
        struct str resource = r->amounts[i].resource;
        if (str_starts(resource, STR(BOOKING_GPU_PREFIX))) {
            device_put(r, resource, share_of(resource, mib));
        }
        if (!says && str_is(resource, POOL_GPU_RESOURCE)) {
            cards = r->amounts[i].v;
        }
    }
    r->cards = cards;
}

static int read_node(const struct object *o, struct arena *a, struct reading *r) {
    yyjson_doc *doc;
    struct node *n = ARENA_NEW(a, struct node);
    *r = (struct reading){0};
    int rc = n != NULL ? object_tree(o, a, &doc, NULL) : ERR_NOMEM;
    rc = rc == 0 ? codec_decode(&schema_node, yyjson_doc_get_root(doc), a, n, NULL) : rc;
    struct str gpus = rc == 0 ? meta_annotation(n->metadata, INVENTORY_ANNOTATION) : STR("");
    if (gpus.n > 0) {
        rc = inventory_decode(gpus, a, &r->inv, NULL);
    }
    rc = rc == 0 ? translate_node(n, &r->inv, a, &r->in) : rc;
    if (rc != 0) {
        return rc;
    }
    size_t most = r->in.n_amounts + 1;
    for (size_t i = 0; i < r->inv.n; i++) {
        most += 1 + r->inv.gpus[i].n_profiles;
    }
    r->amounts = ARENA_ARRAY(a, struct node_amount, most);
    r->devices = ARENA_ARRAY(a, struct booking_device, most);
    if (arena_ok(a) != 0) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < r->in.n_amounts; i++) {
        amount_put(r, r->in.amounts[i].resource, r->in.amounts[i].v);
    }
    if (r->inv.n > 0) {
        return read_cards(r);
    }
    read_plain(r);
    return 0;
}

/* ---- all of them ---- */

static bool same_labels(const struct str_map *a, const struct str_map *b) {
    bool same = a->n == b->n;
    for (size_t i = 0; same && i < a->n; i++) {
        same = str_eq(a->v[i].key, b->v[i].key) && str_eq(a->v[i].value, b->v[i].value);
    }
    return same;
}

static bool same(const struct booking_node *n, const struct reading *r, const struct object *o) {
    bool same = n->managed == r->in.managed && n->cards == r->cards &&
                n->n_amounts == r->n_amounts && n->n_devices == r->n_devices &&
                same_labels(&n->obj->labels, &o->labels);
    for (size_t i = 0; same && i < n->n_amounts; i++) {
        same = n->amounts[i].v == r->amounts[i].v &&
               str_eq(n->amounts[i].resource, r->amounts[i].resource);
    }
    for (size_t i = 0; same && i < n->n_devices; i++) {
        same = n->devices[i].share == r->devices[i].share &&
               str_eq(n->devices[i].resource, r->devices[i].resource);
    }
    return same;
}

static struct str put_text(char **at, struct str s) {
    struct str copy = {*at, s.n};
    memcpy(*at, s.p, s.n);
    *at += s.n;
    return copy;
}

/* One allocation: the node, its amounts, its devices, their names. */
static struct booking_node *keep(const struct reading *r, const struct object *o) {
    size_t bytes = sizeof(struct booking_node) + r->n_amounts * sizeof(*r->amounts) +
                   r->n_devices * sizeof(*r->devices);
    for (size_t i = 0; i < r->n_amounts; i++) {
        bytes += r->amounts[i].resource.n;
    }
    for (size_t i = 0; i < r->n_devices; i++) {
        bytes += r->devices[i].resource.n;
    }
    struct booking_node *n = mem_alloc(bytes);
    if (n == NULL) {
        return NULL;
    }
    *n = (struct booking_node){.obj = object_ref(o), .managed = r->in.managed, .cards = r->cards};
    n->amounts = (struct node_amount *)(n + 1);
    n->n_amounts = r->n_amounts;
    n->devices = (struct booking_device *)(n->amounts + r->n_amounts);
    n->n_devices = r->n_devices;
    char *text = (char *)(n->devices + r->n_devices);
    for (size_t i = 0; i < r->n_amounts; i++) {
        n->amounts[i] =
            (struct node_amount){put_text(&text, r->amounts[i].resource), r->amounts[i].v};
    }
    for (size_t i = 0; i < r->n_devices; i++) {
        n->devices[i] =
            (struct booking_device){put_text(&text, r->devices[i].resource), r->devices[i].share};
    }
    return n;
}

int booking_hardware_put(struct booking_hardware *h, const struct object *o, struct arena *a,
                         bool *ret_changed) {
    struct reading r;
    void *before;
    int rc = read_node(o, a, &r);
    if (rc != 0) {
        return rc;
    }
    struct booking_node *was = map_get(&h->nodes, o->name);
    bool changed = was == NULL || !same(was, &r, o);
    struct booking_node *n = keep(&r, o);
    if (n == NULL || map_put(&h->nodes, n->obj->name, n, &before) != 0) {
        node_free(n);
        return ERR_NOMEM;
    }
    h->version += changed;
    h->n_managed += n->managed;
    h->n_managed -= was != NULL && was->managed;
    node_free(was);
    *ret_changed = changed;
    return 0;
}

bool booking_hardware_del(struct booking_hardware *h, struct str name) {
    struct booking_node *n = map_del(&h->nodes, name);
    if (n == NULL) {
        return false;
    }
    h->version++;
    h->n_managed -= n->managed;
    node_free(n);
    return true;
}

const struct booking_node *booking_hardware_next(const struct booking_hardware *h, size_t *pos) {
    const struct map_entry *e;
    while ((e = map_next(&h->nodes, pos)) != NULL) {
        const struct booking_node *n = e->value;
        if (n->managed || h->n_managed == 0) {
            return n;
        }
    }
    return NULL;
}

int64_t booking_node_amount(const struct booking_node *n, struct str resource) {
    for (size_t i = 0; i < n->n_amounts; i++) {
        if (str_eq(n->amounts[i].resource, resource)) {
            return n->amounts[i].v;
        }
    }
    return 0;
}

int64_t booking_node_share(const struct booking_node *n, struct str resource) {
    for (size_t i = 0; i < n->n_devices; i++) {
        if (str_eq(n->devices[i].resource, resource)) {
            return n->devices[i].share;
        }
    }
    return 0;
}
