/*
 * gpu_inventory: see gpu_inventory.h. One record for each node, pod and Workload that has to do with GPUs; others leave
 * none, so that the cost is that of the GPUs and not of the cluster.
 */
#include "control/load/gpu_inventory.h"

#include "api/conditions.h"
#include "api/inventory.h"
#include "api/schema/codec.h"
#include "base/map.h"
#include "base/mem.h"
#include "control/load/translate.h"

#define PREFIX "nvidia.com/"
enum { ASKS_MAX = 16, RESOURCE_BYTES = 64, NAME_MAX_BYTES = 256, ARENA_MAX = 64 << 20 };

/* So many of a resource. */
struct ask {
    char resource[RESOURCE_BYTES];
    int64_t n, more; /* of nodes: capacity, allocatable */
    int64_t held;    /* of nodes, while sums are made */
};

struct record {
    const char *place;          /* node: product; pod: node; Workload: "namespace/queue" */
    bool ready, cordoned, bare; /* of nodes */
    size_t n;
    struct ask *asks; /* ASKS_MAX while it is being read */
    const char *key;  /* node: name; else uid */
};

/* Where a record is read into, before it is kept at its size. */
struct draft {
    struct record r;
    char place[2 * NAME_MAX_BYTES];
    struct ask asks[ASKS_MAX];
};

enum { NODES, PODS, WAITING, RECORDS };

struct type {
    struct gpu_sum sum;
    char key[];
};

struct gpu_inventory {
    struct mirror *mirror;
    struct prom *prom;
    struct prom_family *inventory, *nodes, *depth;
    const struct kind *kinds[RECORDS], *local_queues, *cluster_queues, *flavors;
    struct feed *feeds[RECORDS];
    struct map records[RECORDS], types;
    struct arena arena;
};

static bool is_gpu(struct str resource) {
    struct str name = str_skip(resource, strlen(PREFIX));
    return str_starts(resource, STR(PREFIX)) &&
           (str_starts(name, STR("gpu")) || str_starts(name, STR("mig-")));
}

/* ---- records ---- */

static struct ask *ask_of(struct record *r, struct str resource) {
    for (size_t i = 0; i < r->n; i++) {
        if (str_is(resource, r->asks[i].resource)) {
            return &r->asks[i];
        }
    }
    if (r->n == ASKS_MAX || !str_copy(resource, r->asks[r->n].resource, RESOURCE_BYTES)) {
        return NULL;
    }
    return &r->asks[r->n++];
}

static void add_pods(struct gpu_inventory *g, struct record *r, const struct pod_spec *spec,
                     int64_t count) {
    struct amounts m;
    if (spec == NULL || translate_requests(spec, &g->arena, &m) != 0) {
        return;
    }
    for (size_t i = 0; i < m.n; i++) {
        struct ask *a = is_gpu(m.v[i].resource) && m.v[i].v ? ask_of(r, m.v[i].resource) : NULL;
        if (a) {
            a->n += m.v[i].v * count;
        }
    }
}

static void read_node(struct gpu_inventory *g, const struct object *o, yyjson_val *tree,
                      struct draft *d) {
    struct node *n = ARENA_NEW(&g->arena, struct node);
    if (n == NULL || codec_decode(&schema_node, tree, &g->arena, n, NULL) != 0 ||
        n->status == NULL) {
        return;
    }
    str_copy(object_label(o, STR(PREFIX "gpu.product")), d->place, sizeof d->place);
    d->r.ready = conditions_true(&n->status->conditions, "Ready");
    d->r.cordoned = n->spec && n->spec->unschedulable;
    d->r.bare = !str_contains(o->json, STR("\"" INVENTORY_ANNOTATION "\""));
    const struct quantity_map *maps[] = {&n->status->capacity, &n->status->allocatable};
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < maps[k]->n; i++) {
            int64_t v = quantity_value(maps[k]->v[i].value);
            struct ask *a =
                is_gpu(maps[k]->v[i].key) && v > 0 ? ask_of(&d->r, maps[k]->v[i].key) : NULL;
            if (a && k == 0) {
                a->n = v;
            } else if (a) {
                a->more = v;
            }
        }
    }
}

static void read_pod(struct gpu_inventory *g, yyjson_val *tree, struct draft *d) {
    struct pod *p = ARENA_NEW(&g->arena, struct pod);
    if (p == NULL || codec_decode(&schema_pod, tree, &g->arena, p, NULL) != 0 || p->spec == NULL) {
        return;
    }
    bool ended =
        p->status && (str_is(p->status->phase, "Succeeded") || str_is(p->status->phase, "Failed"));
    if (!ended && p->spec->node_name.n && str_copy(p->spec->node_name, d->place, sizeof d->place)) {
        add_pods(g, &d->r, p->spec, 1);
    }
}

static void read_workload(struct gpu_inventory *g, const struct object *o, yyjson_val *tree,
                          struct draft *d) {
    struct workload *w = ARENA_NEW(&g->arena, struct workload);
    if (w == NULL || codec_decode(&schema_workload, tree, &g->arena, w, NULL) != 0 ||
        w->spec == NULL) {
        return;
    }
    const struct condition_list *c = w->status ? &w->status->conditions : NULL;
    bool waits =
        c == NULL || !(conditions_true(c, "QuotaReserved") || conditions_true(c, "Finished"));
    bool active = !w->spec->active.set || w->spec->active.v;
    if (!waits || !active) {
        return;
    }
    snprintf(d->place, sizeof d->place, "%.*s/%.*s", STR_ARG(o->ns), STR_ARG(w->spec->queue_name));
    for (size_t i = 0; i < w->spec->pod_sets.n; i++) {
        const struct pod_set *s = &w->spec->pod_sets.v[i];
        add_pods(g, &d->r, s->template ? s->template->spec : NULL, s->count);
    }
}

static void forget(struct gpu_inventory *g, size_t which, struct str key) {
    mem_free(map_del(&g->records[which], key));
}

/* One block: the record, its asks, its texts. */
static void keep(struct gpu_inventory *g, size_t which, struct str key, const struct draft *d) {
    size_t asks = d->r.n * sizeof(struct ask), place = strlen(d->place) + 1;
    struct record *r = d->r.n ? mem_alloc(sizeof *r + asks + place + key.n + 1) : NULL;
    if (r == NULL) {
        return;
    }
    *r = d->r;
    r->asks = (struct ask *)(r + 1);
    memcpy(r->asks, d->asks, asks);
    char *text = (char *)r->asks + asks;
    r->place = memcpy(text, d->place, place);
    r->key = memcpy(text + place, key.p, key.n);
    text[place + key.n] = 0;
    if (map_put(&g->records[which], str_from(r->key, key.n), r, NULL) != 0) {
        mem_free(r);
    }
}

static void on_change(void *ctx, const struct change *c) {
    struct gpu_inventory *g = ctx;
    const struct object *o = c->obj;
    size_t which = o->kind == g->kinds[NODES] ? NODES : o->kind == g->kinds[PODS] ? PODS : WAITING;
    struct str key = which == NODES ? o->name : o->uid;
    yyjson_doc *doc = NULL;
    struct draft d = {0};
    d.r.asks = d.asks;
    forget(g, which, key);
    arena_reset(&g->arena);
    if (c->type == CHANGE_DELETED || object_tree(o, &g->arena, &doc, NULL) != 0) {
        return;
    }
    yyjson_val *tree = yyjson_doc_get_root(doc);
    if (which == NODES) {
        read_node(g, o, tree, &d);
    } else if (which == PODS) {
        read_pod(g, tree, &d);
    } else {
        read_workload(g, o, tree, &d);
    }
    keep(g, which, key, &d);
}

static bool on_scan(void *ctx, const struct object *o) {
    struct change c = {.type = CHANGE_ADDED, .obj = o};
    on_change(ctx, &c);
    return true;
}

/* ---- sums ---- */

static struct type *type_of(struct gpu_inventory *g, struct str product, struct str resource) {
    char key[NAME_MAX_BYTES + RESOURCE_BYTES];
    int n = snprintf(key, sizeof key, "%.*s %.*s", STR_ARG(resource), STR_ARG(product));
    struct str k = str_from(key, (size_t)n < sizeof key ? (size_t)n : sizeof key - 1);
    struct type *t = map_get(&g->types, k);
    if (t) {
        return t;
    }
    t = mem_zalloc(sizeof *t + k.n + 1);
    if (t == NULL) {
        return NULL;
    }
    memcpy(t->key, k.p, k.n);
    t->sum.resource = str_from(t->key, resource.n);
    t->sum.product = str_skip(str_from(t->key, k.n), resource.n + 1);
    if (map_put(&g->types, str_from(t->key, k.n), t, NULL) != 0) {
        mem_free(t);
        return NULL;
    }
    return t;
}

static void add_bare(struct type *t, const struct record *r, const struct ask *a, int64_t rest) {
    if (r->bare) {
        t->sum.bare.total += a->n;
        t->sum.bare.allocated += a->held;
        t->sum.bare.unhealthy += a->n - (a->more < a->n ? a->more : a->n) + (r->ready ? 0 : rest);
        t->sum.bare.cordoned += r->ready && r->cordoned ? rest : 0;
        t->sum.bare.idle += r->ready && !r->cordoned ? rest : 0;
    }
}

static void add_node(struct gpu_inventory *g, const struct record *r) {
    for (size_t i = 0; i < r->n; i++) {
        const struct ask *a = &r->asks[i];
        struct type *t = type_of(g, str_of(r->place), str_of(a->resource));
        if (t == NULL) {
            continue;
        }
        int64_t allocatable = a->more < a->n ? a->more : a->n;
        int64_t rest = allocatable > a->held ? allocatable - a->held : 0;
        t->sum.nodes++;
        t->sum.total += a->n;
        t->sum.allocated += a->held;
        t->sum.unhealthy += a->n - allocatable + (r->ready ? 0 : rest);
        t->sum.cordoned += r->ready && r->cordoned ? rest : 0;
        t->sum.idle += r->ready && !r->cordoned ? rest : 0;
        add_bare(t, r, a, rest);
    }
}

static void count_held(struct gpu_inventory *g) {
    size_t at = 0;
    for (const struct map_entry *e; (e = map_next(&g->records[NODES], &at));) {
        struct record *r = e->value;
        for (size_t i = 0; i < r->n; i++) {
            r->asks[i].held = 0;
        }
    }
    at = 0;
    for (const struct map_entry *e; (e = map_next(&g->records[PODS], &at));) {
        const struct record *p = e->value;
        struct record *node = map_get(&g->records[NODES], str_of(p->place));
        for (size_t i = 0; node && i < p->n; i++) {
            for (size_t k = 0; k < node->n; k++) {
                bool same = strcmp(node->asks[k].resource, p->asks[i].resource) == 0;
                node->asks[k].held += same ? p->asks[i].n : 0;
            }
        }
    }
}

/* ---- who waits for what ---- */

static yyjson_val *tree_of(struct gpu_inventory *g, const struct object *o) {
    yyjson_doc *doc = NULL;
    return o && object_tree(o, &g->arena, &doc, NULL) == 0 ? yyjson_doc_get_root(doc) : NULL;
}

static void wait_in_flavor(struct gpu_inventory *g, struct str flavor, const struct ask *a) {
    yyjson_val *f = tree_of(g, mirror_get(g->mirror, g->flavors, (struct str){0}, flavor));
    struct str product =
        json_str(json_get(json_path(f, "spec.nodeLabels"), STR(PREFIX "gpu.product")));
    size_t at = 0;
    struct type *own = product.n ? type_of(g, product, str_of(a->resource)) : NULL;
    if (own) {
        own->sum.waiting += a->n;
    }
    for (const struct map_entry *e; !product.n && (e = map_next(&g->types, &at));) {
        struct type *t = e->value;
        t->sum.waiting += str_is(t->sum.resource, a->resource) ? a->n : 0;
    }
}

static void wait_in_queue(struct gpu_inventory *g, struct str place, const struct ask *a) {
    struct str ns, name, covered;
    str_cut(place, '/', &ns, &name);
    yyjson_val *local = tree_of(g, mirror_get(g->mirror, g->local_queues, ns, name));
    struct str queue = json_str_at(local, "spec.clusterQueue");
    yyjson_val *cq = tree_of(g, mirror_get(g->mirror, g->cluster_queues, (struct str){0}, queue));
    size_t i, n, k, m;
    yyjson_val *group, *v;
    yyjson_arr_foreach(json_path(cq, "spec.resourceGroups"), i, n, group) {
        bool covers = false;
        yyjson_arr_foreach(json_get(group, STR("coveredResources")), k, m, v) {
            covered = json_str(v);
            covers = covers || str_is(covered, a->resource);
        }
        yyjson_val *flavors = covers ? json_get(group, STR("flavors")) : NULL;
        yyjson_arr_foreach(flavors, k, m, v) {
            wait_in_flavor(g, json_str(json_get(v, STR("name"))), a);
        }
    }
}

/* Workloads of one queue first become one. */
static void count_waiting(struct gpu_inventory *g) {
    struct map queues = {0};
    size_t at = 0;
    for (const struct map_entry *e; (e = map_next(&g->records[WAITING], &at));) {
        const struct record *w = e->value;
        struct record *q = map_get(&queues, str_of(w->place));
        if (q == NULL) {
            q = ARENA_NEW(&g->arena, struct record);
            if (q == NULL || (q->asks = ARENA_ARRAY(&g->arena, struct ask, ASKS_MAX)) == NULL ||
                map_put(&queues, str_of(w->place), q, NULL) != 0) {
                break;
            }
        }
        for (size_t i = 0; i < w->n; i++) {
            struct ask *a = ask_of(q, str_of(w->asks[i].resource));
            if (a) {
                a->n += w->asks[i].n;
            }
        }
    }
    at = 0;
    for (const struct map_entry *e; (e = map_next(&queues, &at));) {
        const struct record *q = e->value;
        for (size_t i = 0; i < q->n; i++) {
            wait_in_queue(g, e->key, &q->asks[i]);
        }
    }
    map_release(&queues);
}

void gpu_inventory_each(struct gpu_inventory *g, void (*each)(void *ctx, const struct gpu_sum *s),
                        void *ctx) {
    size_t at = 0;
    arena_reset(&g->arena);
    count_held(g);
    for (const struct map_entry *e; (e = map_next(&g->records[NODES], &at));) {
        add_node(g, e->value);
    }
    count_waiting(g);
    at = 0;
    for (const struct map_entry *e; (e = map_next(&g->types, &at));) {
        struct type *t = e->value;
        each(ctx, &t->sum);
        map_del(&g->types, e->key);
        mem_free(t);
    }
    arena_reset(&g->arena);
}

/* ---- metrics ---- */

static void set(struct prom_family *f, const struct gpu_sum *s, const char *state, int64_t v) {
    struct str values[] = {s->product, s->resource, str_of(state)};
    prom_set(prom_series(f, values), (double)v);
}

static void show(void *ctx, const struct gpu_sum *s) {
    struct gpu_inventory *g = ctx;
    set(g->inventory, s, "total", s->total);
    set(g->inventory, s, "allocated", s->allocated);
    set(g->inventory, s, "idle", s->idle);
    set(g->inventory, s, "unhealthy", s->unhealthy);
    set(g->inventory, s, "cordoned", s->cordoned);
    set(g->nodes, s, NULL, s->nodes);
    set(g->depth, s, NULL, s->waiting);
}

static void collect(void *ctx) {
    struct gpu_inventory *g = ctx;
    prom_clear(g->inventory);
    prom_clear(g->nodes);
    prom_clear(g->depth);
    gpu_inventory_each(g, show, g);
}

static void add_metrics(struct gpu_inventory *g) {
    static const char *const labels[] = {"product", "resource", "state"};
    g->inventory = prom_family(g->prom, PROM_GAUGE, "berth_gpu_inventory",
                               "GPUs and MIG slices by type and state.", labels, 3);
    g->nodes =
        prom_family(g->prom, PROM_GAUGE, "berth_gpu_nodes", "Nodes that have a type.", labels, 2);
    g->depth = prom_family(g->prom, PROM_GAUGE, "berth_gpu_queue_depth",
                           "GPUs and slices that Workloads without quota wait for.", labels, 2);
}

/* ---- life ---- */

struct gpu_inventory *gpu_inventory_new(struct mirror *m, struct prom *prom, struct err *err) {
    static const char *const names[RECORDS][2] = {
        {"", "Node"}, {"", "Pod"}, {"kueue.x-k8s.io", "Workload"}};
    struct gpu_inventory *g = mem_zalloc(sizeof *g);
    bool ok = g != NULL;
    if (ok) {
        *g = (struct gpu_inventory){.mirror = m, .prom = prom};
        arena_init(&g->arena, ARENA_MAX);
        g->local_queues = kind_by_name(STR("kueue.x-k8s.io"), STR("LocalQueue"));
        g->cluster_queues = kind_by_name(STR("kueue.x-k8s.io"), STR("ClusterQueue"));
        g->flavors = kind_by_name(STR("kueue.x-k8s.io"), STR("ResourceFlavor"));
    }
    for (size_t i = 0; ok && i < RECORDS; i++) {
        g->kinds[i] = kind_by_name(str_of(names[i][0]), str_of(names[i][1]));
        g->feeds[i] = mirror_feed(m, g->kinds[i], on_change, g);
        ok = g->feeds[i] != NULL;
        if (ok) {
            mirror_scan(m, g->kinds[i], (struct str){0}, on_scan, g);
        }
    }
    if (ok && prom) {
        add_metrics(g);
        ok = prom_collector(prom, collect, g) == 0;
    }
    if (!ok) {
        gpu_inventory_free(g);
        err_set(err, ERR_NOMEM, "no memory");
        return NULL;
    }
    return g;
}

void gpu_inventory_free(struct gpu_inventory *g) {
    if (g == NULL) {
        return;
    }
    if (g->prom) {
        prom_collector_del(g->prom, g);
    }
    for (size_t i = 0; i < RECORDS; i++) {
        size_t at = 0;
        if (g->feeds[i]) {
            feed_free(g->feeds[i]);
        }
        for (const struct map_entry *e; (e = map_next(&g->records[i], &at));) {
            mem_free(e->value);
        }
        map_release(&g->records[i]);
    }
    map_release(&g->types);
    arena_release(&g->arena);
    mem_free(g);
}
