/*
 * defaults: what a fresh data folder needs so that a first job can run at once. See queue_controller.h.
 *
 * Made in this order, each only when missing, the marker last, so that an interrupted start goes on where it was:
 * ResourceFlavor `default` (cpu and memory), one per GPU type, Cohort `pool`, ClusterQueue `default`, LocalQueue
 * `default`, the marker. Made once, over the nodes there are then: what people change or delete afterwards stays as
 * they left it.
 *
 * GPUs that come later, of a type or with resources that ClusterQueue `default` does not cover, are added to the
 * Cohort and, last, to that queue, if nobody edited its spec: its generation is still the one that annotation
 * berth.dev/default-generation says (none: 1), which changes by the same write. If somebody did, nothing is touched,
 * and a line of the log and an Event say what to do. How much there is of what the Cohort has is not this controller's
 * to keep up with (booking_objects.h).
 *
 * The machine's quota is the Cohort's. The ClusterQueue in it has none of its own, so that everybody without a
 * reservation borrows, and whoever has one takes back what is his.
 *
 * A GPU type is what a node's label nvidia.com/gpu.product says, since that is all that a flavor can select by. A node
 * with different boards is a type of its own, named after all of them.
 */
#include "control/load/translate.h"

#include "api/meta.h"
#include "api/schema/codec.h"
#include "base/limits.h"
#include "control/kit/controller.h"
#include "control/kit/edit.h"
#include "control/queue/queue_controller.h"

#define DEFAULT_LABEL "berth.dev/default"
#define DEFAULT_GENERATION "berth.dev/default-generation"
#define PRODUCT_LABEL "nvidia.com/gpu.product"

enum { ARENA_MAX = 512 << 20 }; /* every node is read */
enum { D_FLAVOR, D_COHORT, D_CLUSTER_QUEUE, D_LOCAL_QUEUE, D_CONFIG_MAP, D_NODE };

VEC(shape_vec, uint64_t);

struct defaults_controller {
    struct controller base;
    /* The GPUs of a node, as a number: what there is of these is covered, or was told */
    struct shape_vec known;
    bool settled;  /* a node with known GPUs is no news */
    uint64_t told; /* the text that was told last, as a number; 0: all is covered */
};

/* Nodes with the same GPUs. */
struct gpu_type {
    struct str flavor;  /* "nvidia-h200" */
    struct str product; /* label value, or empty */
    struct pool *pool;  /* those nodes alone */
};

/* What the machine has: all nodes on which Berth places pods. */
struct machine {
    struct names names;
    int64_t cpu, memory;
    struct gpu_type *types;
    size_t n_types, n_nodes;
    struct str *gpu_resources; /* nvidia.com/gpu, nvidia.com/mig-*: of all types */
    size_t n_gpu_resources;
    struct shape_vec shapes; /* of nodes that are described */
};

struct nodes_found {
    const struct object **v;
    size_t n, cap;
};

static bool add_managed(void *ctx, const struct object *o) {
    struct nodes_found *found = ctx;
    if (str_is(object_label(o, STR(MANAGED_LABEL)), "true") && found->n < found->cap) {
        found->v[found->n++] = o;
    }
    return found->n < found->cap;
}

static void resource_add(struct machine *m, struct str r) {
    for (size_t i = 0; i < m->n_gpu_resources; i++) {
        if (str_eq(m->gpu_resources[i], r)) {
            return;
        }
    }
    m->gpu_resources[m->n_gpu_resources++] = r;
}

/* The boards of a node, each once: "nvidia-h200", "nvidia-h200-nvidia-a100-80gb". */
static struct str boards_name(struct arena *a, const struct inventory *inv) {
    struct buf b;
    buf_init(&b, 4096);
    for (size_t i = 0; i < inv->n; i++) {
        bool seen = false;
        for (size_t k = 0; k < i; k++) {
            seen = seen || str_eq(inv->gpus[k].model, inv->gpus[i].model);
        }
        if (!seen) {
            buf_c(&b, b.n > 0 ? " " : "");
            buf_str(&b, inv->gpus[i].model);
        }
    }
    struct str name = gpu_flavor_name(a, buf_view(&b));
    buf_release(&b);
    return name;
}

static struct gpu_type *type_of(struct arena *a, struct machine *m, const struct object *o,
                                const struct inventory *inv) {
    struct str flavor = boards_name(a, inv);
    for (size_t i = 0; i < m->n_types; i++) {
        if (str_eq(m->types[i].flavor, flavor)) {
            return &m->types[i];
        }
    }
    struct gpu_type *t = &m->types[m->n_types];
    *t = (struct gpu_type){flavor, object_label(o, STR(PRODUCT_LABEL)), pool_new(&m->names)};
    if (flavor.p == NULL || t->pool == NULL) {
        return NULL;
    }
    m->n_types++;
    return t;
}

static int gpus_read(struct arena *a, const struct inventory *inv, struct machine *m) {
    size_t most = m->n_gpu_resources + 1;
    for (size_t i = 0; i < inv->n; i++) {
        most += inv->gpus[i].n_profiles;
    }
    struct str *all = ARENA_ARRAY(a, struct str, most);
    if (all == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < m->n_gpu_resources; i++) {
        all[i] = m->gpu_resources[i];
    }
    m->gpu_resources = all;
    resource_add(m, STR(POOL_GPU_RESOURCE));
    for (size_t i = 0; i < inv->n; i++) {
        for (size_t k = 0; k < inv->gpus[i].n_profiles; k++) {
            resource_add(m, inv->gpus[i].profiles[k].resource);
        }
    }
    return 0;
}

/* A node as it was decoded. */
struct node_view {
    struct inventory gpus;
    struct node_input in;
    int64_t cpu, memory;
    bool described;    /* it says how much it has */
    struct err unread; /* why its GPUs are not understood */
};

static int node_decode(struct arena *a, const struct object *o, struct node_view *v) {
    yyjson_doc *doc;
    struct node *n = ARENA_NEW(a, struct node);
    *v = (struct node_view){.described = false};
    int r = n != NULL ? object_tree(o, a, &doc, NULL) : ERR_NOMEM;
    if (r == 0) {
        r = codec_decode(&schema_node, yyjson_doc_get_root(doc), a, n, NULL);
    }
    for (size_t i = 0; r == 0 && i < n->metadata->annotations.n; i++) {
        if (str_is(n->metadata->annotations.v[i].key, INVENTORY_ANNOTATION)) {
            struct str text = n->metadata->annotations.v[i].value;
            r = inventory_decode(text, a, &v->gpus, &v->unread);
            if (r != 0 && r != ERR_NOMEM) { /* as if it had no GPUs, until it says so properly */
                v->gpus = (struct inventory){0};
                r = 0;
            }
        }
    }
    if (r == 0) {
        r = translate_node(n, &v->gpus, a, &v->in);
    }
    for (size_t i = 0; r == 0 && i < v->in.n_amounts; i++) {
        bool cpu = str_is(v->in.amounts[i].resource, "cpu");
        bool memory = str_is(v->in.amounts[i].resource, "memory");
        v->cpu += cpu ? v->in.amounts[i].v : 0;
        v->memory += memory ? v->in.amounts[i].v : 0;
        v->described = v->described || cpu || memory;
    }
    return r;
}

/* All of a node's GPUs that decides what a queue has to cover. */
static uint64_t gpus_shape(const struct object *o, const struct inventory *inv) {
    uint64_t h = str_hash(object_label(o, STR(PRODUCT_LABEL)));
    for (size_t i = 0; i < inv->n; i++) {
        const struct gpu_card *g = &inv->gpus[i];
        uint64_t modes = (uint64_t)(g->mig_enabled || g->mig_managed) << 1;
        h = hash_mix(hash_mix(h, str_hash(g->model)), modes | (!g->mig_enabled || g->mig_managed));
        for (size_t k = 0; k < g->n_profiles; k++) {
            h = hash_mix(h, str_hash(g->profiles[k].resource));
        }
    }
    return h;
}

/* A node that is not described yet is left out: it comes again when it is. */
static int node_read(struct defaults_controller *c, const struct object *o, struct machine *m) {
    struct arena *a = &c->base.arena;
    struct node_view v;
    int r = node_decode(a, o, &v);
    if (r == 0 && v.unread.code != 0) {
        log_warn(c->base.env.log, "node %.*s: %s: %s; its GPUs are not offered", STR_ARG(o->name),
                 INVENTORY_ANNOTATION, v.unread.text);
    }
    if (r != 0 || !v.described) {
        return r;
    }
    m->cpu += v.cpu;
    m->memory += v.memory;
    m->n_nodes++;
    r = shape_vec_push(&m->shapes, gpus_shape(o, &v.gpus));
    if (r != 0 || v.gpus.n == 0) {
        return r;
    }
    struct gpu_type *t = type_of(a, m, o, &v.gpus);
    r = t != NULL ? pool_node_put(t->pool, &v.in, NULL) : ERR_NOMEM;
    return r != 0 ? r : gpus_read(a, &v.gpus, m);
}

static int machine_read(struct defaults_controller *c, struct machine *m) {
    struct nodes_found found = {.cap = POOL_NODES_MAX};
    found.v = ARENA_ARRAY(&c->base.arena, const struct object *, found.cap);
    if (found.v == NULL) {
        return ERR_NOMEM;
    }
    mirror_scan(c->base.env.mirror, c->base.kinds[D_NODE], (struct str){0}, add_managed, &found);
    m->types = ARENA_ARRAY(&c->base.arena, struct gpu_type, found.n + 1);
    int r = m->types != NULL ? 0 : ERR_NOMEM;
    for (size_t i = 0; r == 0 && i < found.n; i++) {
        r = node_read(c, found.v[i], m);
    }
    return r;
}

static void machine_release(struct machine *m) {
    for (size_t i = 0; i < m->n_types; i++) {
        pool_free(m->types[i].pool);
    }
    names_release(&m->names);
    shape_vec_release(&m->shapes);
}

/* ---- what is made of it ---- */

static struct meta head(const char *ns, struct str name) {
    static struct str_pair label[] = {{STR(DEFAULT_LABEL), STR("true")}};
    return (struct meta){
        .name = name, .namespace = str_of(ns != NULL ? ns : ""), .labels = {label, 1}};
}

static struct resource_quota quota(struct str resource, int64_t v) {
    return (struct resource_quota){.name = resource, .nominal_quota = amount_quantity(resource, v)};
}

static bool quota_there(const struct flavor_quotas *f, struct str resource) {
    size_t i = 0;
    while (i < f->resources.n && !str_eq(f->resources.v[i].name, resource)) {
        i++;
    }
    return i < f->resources.n;
}

/* The quotas of a flavor, with those of `covered` that it lacks: each flavor of a group has all its resources, and of
 * those that a type does not have there are 0. */
static int quotas_fill(struct arena *a, struct machine *m, const struct str_list *covered,
                       bool none, struct flavor_quotas *f) {
    const struct gpu_type *t = NULL;
    struct resource_quota *v =
        ARENA_ARRAY(a, struct resource_quota, f->resources.n + covered->n + 1);
    if (v == NULL) {
        return ERR_NOMEM;
    }
    if (f->resources.n > 0) {
        memcpy(v, f->resources.v, f->resources.n * sizeof(*v));
    }
    for (size_t i = 0; i < m->n_types; i++) {
        t = str_eq(m->types[i].flavor, f->name) ? &m->types[i] : t;
    }
    f->resources.v = v;
    for (size_t i = 0; i < covered->n; i++) {
        struct str r = covered->v[i];
        if (!quota_there(f, r)) {
            bool has = !none && t != NULL;
            v[f->resources.n++] = quota(r, has ? pool_most(t->pool, names_find(&m->names, r)) : 0);
        }
    }
    return 0;
}

static const struct flavor_quotas *flavor_in(const struct resource_group *g, struct str name) {
    for (size_t i = 0; g != NULL && i < g->flavors.n; i++) {
        if (str_eq(g->flavors.v[i].name, name)) {
            return &g->flavors.v[i];
        }
    }
    return NULL;
}

/* A group covers all GPUs of the machine afterwards; what is there stays. none: as in groups_make. */
static int group_widen(struct arena *a, struct machine *m, bool none, struct resource_group *g) {
    size_t nr = g->covered_resources.n, nf = g->flavors.n;
    struct str *covered = ARENA_ARRAY(a, struct str, nr + m->n_gpu_resources + 1);
    struct flavor_quotas *flavors = ARENA_ARRAY(a, struct flavor_quotas, nf + m->n_types + 1);
    if (covered == NULL || flavors == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < nr; i++) {
        covered[i] = g->covered_resources.v[i];
    }
    for (size_t i = 0; i < nf; i++) {
        flavors[i] = g->flavors.v[i];
    }
    for (size_t k = 0; k < m->n_gpu_resources; k++) {
        size_t i = 0;
        while (i < nr && !str_eq(covered[i], m->gpu_resources[k])) {
            i++;
        }
        covered[nr] = m->gpu_resources[k];
        nr += i == nr;
    }
    for (size_t k = 0; k < m->n_types; k++) {
        if (flavor_in(g, m->types[k].flavor) == NULL) {
            flavors[nf++] = (struct flavor_quotas){.name = m->types[k].flavor};
        }
    }
    g->covered_resources = (struct str_list){covered, nr};
    g->flavors.v = flavors;
    g->flavors.n = nf;
    int r = 0;
    for (size_t i = 0; i < nf && r == 0; i++) {
        r = quotas_fill(a, m, &g->covered_resources, none, &flavors[i]);
    }
    return r;
}

/* The group with GPUs, or how many groups there are. */
static size_t gpu_group(const struct resource_group_list *l) {
    for (size_t i = 0; i < l->n; i++) {
        for (size_t k = 0; k < l->v[i].covered_resources.n; k++) {
            if (str_starts(l->v[i].covered_resources.v[k], STR("nvidia.com/"))) {
                return i;
            }
        }
    }
    return l->n;
}

/* The groups with all GPUs of the machine. */
static int widen(struct arena *a, struct machine *m, bool none, struct resource_group_list *l) {
    struct resource_group *v = ARENA_ARRAY(a, struct resource_group, l->n + 1);
    size_t at = gpu_group(l);
    if (v == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < l->n; i++) {
        v[i] = l->v[i];
    }
    l->v = v;
    l->n += at == l->n;
    return group_widen(a, m, none, &v[at]);
}

/* What the machine has, or `none` of it. */
static int groups_make(struct arena *a, struct machine *m, bool none,
                       struct resource_group_list *ret) {
    static struct str covered[] = {STR("cpu"), STR("memory")};
    struct resource_group *g = ARENA_NEW(a, struct resource_group);
    struct flavor_quotas *f = ARENA_NEW(a, struct flavor_quotas);
    struct resource_quota *v = ARENA_ARRAY(a, struct resource_quota, 2);
    if (g == NULL || f == NULL || v == NULL) {
        return ERR_NOMEM;
    }
    v[0] = quota(covered[0], none ? 0 : m->cpu);
    v[1] = quota(covered[1], none ? 0 : m->memory);
    f->name = STR("default");
    f->resources.v = v;
    f->resources.n = 2;
    g->covered_resources = (struct str_list){covered, 2};
    g->flavors.v = f;
    g->flavors.n = 1;
    *ret = (struct resource_group_list){g, 1};
    return m->n_types > 0 ? widen(a, m, none, ret) : 0;
}

/* ---- the work ---- */

static bool missing(struct defaults_controller *c, int kind, const char *ns, struct str name) {
    return mirror_get(c->base.env.mirror, c->base.kinds[kind], str_of(ns), name) == NULL;
}

static enum work create(struct defaults_controller *c, int kind, const char *ns, const void *view) {
    struct round *r = controller_begin(&c->base);
    if (edit_create(r, c->base.kinds[kind], str_of(ns), view) == 0) {
        workqueue_look(c->base.queue, (struct work_key){0}, 0); /* the next one, after this */
    }
    return round_end(r);
}

/* A flavor for GPUs of this type; NULL: the one for all else. */
static enum work create_flavor(struct defaults_controller *c, const struct gpu_type *t) {
    struct meta meta = head(NULL, t != NULL ? t->flavor : STR("default"));
    struct str_pair product = {STR(PRODUCT_LABEL), t != NULL ? t->product : STR("")};
    struct resource_flavor_spec spec = {.node_labels = {&product, !str_empty(product.value)}};
    return create(c, D_FLAVOR, NULL, &(struct resource_flavor){&meta, &spec});
}

static enum work create_cohort(struct defaults_controller *c, struct machine *m) {
    struct meta meta = head(NULL, STR(POOL_COHORT));
    struct cohort_spec spec = {0};
    return groups_make(&c->base.arena, m, false, &spec.resource_groups) == 0
               ? create(c, D_COHORT, NULL, &(struct cohort){.metadata = &meta, .spec = &spec})
               : WORK_RETRY;
}

static enum work create_queue(struct defaults_controller *c, struct machine *m) {
    struct meta meta = head(NULL, STR("default"));
    struct label_selector everywhere = {0};
    struct cluster_queue_spec spec = {.cohort_name = STR(POOL_COHORT),
                                      .namespace_selector = &everywhere};
    struct cluster_queue q = {.metadata = &meta, .spec = &spec};
    return groups_make(&c->base.arena, m, true, &spec.resource_groups) == 0
               ? create(c, D_CLUSTER_QUEUE, NULL, &q)
               : WORK_RETRY;
}

/* Creates the first thing that is missing. */
static enum work next(struct defaults_controller *c, struct machine *m) {
    if (missing(c, D_FLAVOR, NULL, STR("default"))) {
        return create_flavor(c, NULL);
    }
    for (size_t i = 0; i < m->n_types; i++) {
        if (missing(c, D_FLAVOR, NULL, m->types[i].flavor)) {
            return create_flavor(c, &m->types[i]);
        }
    }
    if (missing(c, D_COHORT, NULL, STR(POOL_COHORT))) {
        return create_cohort(c, m);
    }
    if (missing(c, D_CLUSTER_QUEUE, NULL, STR("default"))) {
        return create_queue(c, m);
    }
    if (missing(c, D_LOCAL_QUEUE, "default", STR("default"))) {
        struct meta meta = head("default", STR("default"));
        struct local_queue_spec spec = {.cluster_queue = STR("default")};
        return create(c, D_LOCAL_QUEUE, "default",
                      &(struct local_queue){.metadata = &meta, .spec = &spec});
    }
    struct meta meta = head("kube-system", STR("berth-defaults"));
    struct str_pair made = {STR("made"), STR("true")};
    return create(c, D_CONFIG_MAP, "kube-system",
                  &(struct config_map){.metadata = &meta, .data = {&made, 1}});
}

/* ---- GPUs that came later ---- */

/* An object that was made here, with its view; NULL: there is none. ERR_NOMEM. */
static int made_here(struct defaults_controller *c, int kind, struct str name, void *view,
                     const struct object **ret) {
    const struct object *o =
        mirror_get(c->base.env.mirror, c->base.kinds[kind], (struct str){0}, name);
    yyjson_doc *doc;
    *ret = NULL;
    if (o == NULL || str_empty(object_label(o, STR(DEFAULT_LABEL))) || o->deleting_ns != 0) {
        return 0;
    }
    int r = object_tree(o, &c->base.arena, &doc, NULL);
    if (r == 0) {
        r = codec_decode(kind_storage(o->kind)->schema, yyjson_doc_get_root(doc), &c->base.arena,
                         view, NULL);
    }
    *ret = r == 0 ? o : NULL;
    return r;
}

static bool covers(const struct resource_group_list *l, const struct machine *m,
                   const struct gpu_type *t) {
    size_t at = gpu_group(l);
    const struct flavor_quotas *f = flavor_in(at < l->n ? &l->v[at] : NULL, t->flavor);
    for (size_t i = 0; i < m->n_gpu_resources; i++) {
        uint32_t id = names_find(&m->names, m->gpu_resources[i]);
        if (pool_most(t->pool, id) > 0 && (f == NULL || !quota_there(f, m->gpu_resources[i]))) {
            return false;
        }
    }
    return true;
}

static bool covers_all(const struct resource_group_list *l, const struct machine *m) {
    bool all = true;
    for (size_t i = 0; i < m->n_types && all; i++) {
        all = covers(l, m, &m->types[i]);
    }
    return all;
}

static enum work change(struct defaults_controller *c, const struct object *o, const void *was,
                        const void *want) {
    struct round *r = controller_begin(&c->base);
    (void)edit_send(r, o, "", EDIT_VERSION, was, want);
    workqueue_look(c->base.queue, (struct work_key){0}, 0); /* the next one, after this */
    return round_end(r);
}

static enum work widen_cohort(struct defaults_controller *c, const struct object *o,
                              const struct cohort *was, struct machine *m) {
    struct cohort_spec spec = *was->spec;
    struct cohort want = *was;
    want.spec = &spec;
    return widen(&c->base.arena, m, false, &spec.resource_groups) == 0 ? change(c, o, was, &want)
                                                                       : WORK_RETRY;
}

/* The queue says by the same write that its next generation is ours as well. */
static enum work widen_queue(struct defaults_controller *c, const struct object *o,
                             const struct cluster_queue *was, bool none, struct machine *m) {
    struct arena *a = &c->base.arena;
    struct cluster_queue_spec spec = *was->spec;
    struct meta meta = *was->metadata;
    struct cluster_queue want = *was;
    want.metadata = &meta;
    want.spec = &spec;
    struct str next = arena_f(a, "%lld", (long long)o->generation + 1);
    return meta_set(&meta.annotations, a, DEFAULT_GENERATION, next) == 0 &&
                   widen(a, m, none, &spec.resource_groups) == 0
               ? change(c, o, was, &want)
               : WORK_RETRY;
}

static bool edited(const struct object *o, const struct cluster_queue *q) {
    struct str said = meta_annotation(q->metadata, DEFAULT_GENERATION);
    int64_t ours = 1;
    return (!str_empty(said) && !str_to_i64(said, &ours)) || ours != o->generation;
}

/* What there is by now needs nothing more of us. */
static enum work settle(struct defaults_controller *c, struct machine *m, uint64_t told) {
    struct shape_vec before = c->known;
    c->known = m->shapes;
    m->shapes = before;
    c->settled = true;
    c->told = told;
    return WORK_OK;
}

static enum work tell(struct defaults_controller *c, struct machine *m, const struct object *o,
                      const struct resource_group_list *groups) {
    struct buf b;
    buf_init(&b, LIMIT_EVENT_MESSAGE / 2);
    for (size_t i = 0; i < m->n_types; i++) {
        if (!covers(groups, m, &m->types[i])) {
            buf_f(&b, "%s%.*s", b.n > 0 ? ", " : "", STR_ARG(m->types[i].flavor));
        }
    }
    struct str flavors = buf_view(&b);
    uint64_t told = str_hash(flavors) | 1;
    if (told != c->told) {
        static const char say[] =
            "GPUs that came later are not covered (%.*s), and nothing is added to this queue "
            "because somebody edited it. To have Berth add them: kubectl annotate clusterqueue "
            "default --overwrite " DEFAULT_GENERATION "=%lld";
        log_warn(c->base.env.log,
                 "clusterqueue default: GPUs that came later are not covered (%.*s); "
                 "see docs/hardware.md",
                 STR_ARG(flavors));
        recorder_event(c->base.recorder, o, EVENT_WARNING, "GpusNotCovered", say, STR_ARG(flavors),
                       (long long)o->generation);
    }
    buf_release(&b);
    return settle(c, m, told);
}

/* The Cohort first: a queue that has nothing of its own gains by what it borrows. */
static enum work extend(struct defaults_controller *c, struct machine *m) {
    static const struct resource_group_list nothing;
    const struct object *o, *pool_o;
    struct cluster_queue queue;
    struct cohort pool;
    if (made_here(c, D_CLUSTER_QUEUE, STR("default"), &queue, &o) != 0 ||
        made_here(c, D_COHORT, STR(POOL_COHORT), &pool, &pool_o) != 0) {
        return WORK_RETRY;
    }
    const struct resource_group_list *groups =
        o != NULL && queue.spec != NULL ? &queue.spec->resource_groups : &nothing;
    if (o == NULL || queue.spec == NULL || covers_all(groups, m)) {
        return settle(c, m, 0);
    }
    if (edited(o, &queue)) {
        return tell(c, m, o, groups);
    }
    for (size_t i = 0; i < m->n_types; i++) {
        if (missing(c, D_FLAVOR, NULL, m->types[i].flavor)) {
            return create_flavor(c, &m->types[i]);
        }
    }
    bool borrows = str_is(queue.spec->cohort_name, POOL_COHORT);
    if (borrows && pool_o != NULL && pool.spec != NULL &&
        !covers_all(&pool.spec->resource_groups, m)) {
        return widen_cohort(c, pool_o, &pool, m);
    }
    return widen_queue(c, o, &queue, borrows, m);
}

static enum work step(void *self, struct work_key key) {
    struct defaults_controller *c = self;
    bool made = !missing(c, D_CONFIG_MAP, "kube-system", STR("berth-defaults"));
    struct machine m = {0};
    enum work w = WORK_RETRY;
    names_init(&m.names);
    if (machine_read(c, &m) == 0) {
        w = m.n_nodes == 0 ? WORK_OK : made ? extend(c, &m) : next(c, &m);
    }
    machine_release(&m);
    return w;
}

/* Whether nothing about its GPUs is news. */
static bool known(struct defaults_controller *c, const struct object *o) {
    struct node_view v;
    arena_reset(&c->base.arena);
    if (!c->settled || node_decode(&c->base.arena, o, &v) != 0) {
        return false;
    }
    bool there = !v.described;
    uint64_t shape = gpus_shape(o, &v.gpus);
    for (size_t i = 0; i < c->known.n && !there; i++) {
        there = c->known.v[i] == shape;
    }
    return there;
}

static void on_node(void *ctx, const struct change *ch) {
    struct defaults_controller *c = ctx;
    if (str_is(object_label(ch->obj, STR(MANAGED_LABEL)), "true") && !known(c, ch->obj)) {
        workqueue_look(c->base.queue, (struct work_key){0}, 0);
    }
}

/* Somebody may have done what he was told to do. */
static void on_cluster_queue(void *ctx, const struct change *ch) {
    struct defaults_controller *c = ctx;
    if (c->told != 0 && str_is(ch->obj->name, "default")) {
        workqueue_look(c->base.queue, (struct work_key){0}, 0);
    }
}

static void start(void *self) {
    struct defaults_controller *c = self;
    workqueue_look(c->base.queue, (struct work_key){0}, 0);
}

static void release(void *self) {
    struct defaults_controller *c = self;
    shape_vec_release(&c->known);
}

const struct controller_row defaults_controller = {
    .name = "defaults",
    .set = CONTROL_DEFAULTS,
    .who = "berth-defaults-controller",
    CONTROLLER_KINDS([D_FLAVOR] = {"kueue.x-k8s.io", "ResourceFlavor", .may = MAY_CREATE},
                     [D_COHORT] = {"kueue.x-k8s.io", "Cohort", .may = MAY_CREATE | MAY_PATCH},
                     [D_CLUSTER_QUEUE] = {"kueue.x-k8s.io", "ClusterQueue", on_cluster_queue,
                                          .may = MAY_CREATE | MAY_PATCH},
                     [D_LOCAL_QUEUE] = {"kueue.x-k8s.io", "LocalQueue", .may = MAY_CREATE},
                     [D_CONFIG_MAP] = {"", "ConfigMap", .may = MAY_CREATE},
                     [D_NODE] = {"", "Node", on_node}),
    .start = start,
    .step = step,
    .arena = ARENA_MAX,
    .size = sizeof(struct defaults_controller),
    .release = release,
};
