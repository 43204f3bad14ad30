/*
 * defaults: what a fresh data folder needs so that a first job can run at once. See queue_controller.h.
 *
 * Made in this order, each only when missing, the marker last, so that an interrupted start goes on where it was:
 * ResourceFlavor `default` (cpu and memory), one per GPU type, Cohort `pool`, ClusterQueue `default`, LocalQueue
 * `default`, the marker. Made once, over the nodes there are then: what people change or delete afterwards stays as
 * they left it.
 *
 * The machine's quota is the Cohort's. The ClusterQueue in it has none of its own, so that everybody without a
 * reservation borrows, and whoever has one takes back what is his.
 *
 * A GPU type is what a node's label nvidia.com/gpu.product says, since that is all that a flavor can select by. A node
 * with different boards is a type of its own, named after all of them.
 */
#include "control/translate.h" /* first */

#include "api/codec.h"
#include "base/limits.h"
#include "control/queue_controller.h"
#include "control/round.h"

static const char WHO[] = "berth-defaults-controller";
#define DEFAULT_LABEL "berth.dev/default"

enum { ARENA_MAX = 512 << 20 }; /* every node is read */
enum { D_FLAVOR, D_COHORT, D_CLUSTER_QUEUE, D_LOCAL_QUEUE, D_CONFIG_MAP, D_NODE, D_COUNT };

struct defaults_controller {
    struct control_env env_copy;
    const struct control_env *env; /* the copy */
    const struct kind *kinds[D_COUNT];
    struct workqueue *queue; /* one key */
    struct expect *expect;
    struct feed *nodes;
    struct arena arena;
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
    *t = (struct gpu_type){flavor, object_label(o, STR("nvidia.com/gpu.product")),
                           pool_new(&m->names)};
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

/* A node that is not described yet is left out: it comes again when it is. */
static int node_read(struct arena *a, const struct object *o, struct machine *m) {
    struct inventory inv = {0};
    struct node_input in;
    yyjson_doc *doc;
    struct node *n = ARENA_NEW(a, struct node);
    bool described = false;
    int r = n != NULL ? object_tree(o, a, &doc, NULL) : ERR_NOMEM;
    r = r == 0 ? codec_decode(&schema_node, yyjson_doc_get_root(doc), a, n, NULL) : r;
    for (size_t i = 0; r == 0 && i < n->metadata->annotations.n; i++) {
        if (str_is(n->metadata->annotations.v[i].key, INVENTORY_ANNOTATION)) {
            r = inventory_decode(n->metadata->annotations.v[i].value, a, &inv, NULL);
        }
    }
    r = r == 0 ? translate_node(n, &inv, a, &in) : r;
    for (size_t i = 0; r == 0 && i < in.n_amounts; i++) {
        bool cpu = str_is(in.amounts[i].resource, "cpu");
        bool memory = str_is(in.amounts[i].resource, "memory");
        m->cpu += cpu ? in.amounts[i].v : 0;
        m->memory += memory ? in.amounts[i].v : 0;
        described = described || cpu || memory;
    }
    if (r != 0 || !described) {
        return r;
    }
    m->n_nodes++;
    if (inv.n == 0) {
        return 0;
    }
    struct gpu_type *t = type_of(a, m, o, &inv);
    r = t != NULL ? pool_node_put(t->pool, &in, NULL) : ERR_NOMEM;
    return r != 0 ? r : gpus_read(a, &inv, m);
}

static int machine_read(struct defaults_controller *c, struct machine *m) {
    struct nodes_found found = {.cap = POOL_NODES_MAX};
    found.v = ARENA_ARRAY(&c->arena, const struct object *, found.cap);
    if (found.v == NULL) {
        return ERR_NOMEM;
    }
    mirror_scan(c->env->mirror, c->kinds[D_NODE], (struct str){0}, add_managed, &found);
    m->types = ARENA_ARRAY(&c->arena, struct gpu_type, found.n + 1);
    int r = m->types != NULL ? 0 : ERR_NOMEM;
    for (size_t i = 0; r == 0 && i < found.n; i++) {
        r = node_read(&c->arena, found.v[i], m);
    }
    return r;
}

static void machine_release(struct machine *m) {
    for (size_t i = 0; i < m->n_types; i++) {
        pool_free(m->types[i].pool);
    }
    names_release(&m->names);
}

/* ---- manifests ---- */

static void head_json(struct buf *b, const char *version, const char *kind, const char *ns,
                      struct str name) {
    buf_f(b, "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":{", version, kind);
    if (ns != NULL) {
        buf_f(b, "\"namespace\":\"%s\",", ns);
    }
    buf_c(b, "\"name\":");
    buf_json(b, name);
    buf_c(b, ",\"labels\":{\"" DEFAULT_LABEL "\":\"true\"}}");
}

static void quota_json(struct buf *b, struct str resource, int64_t v, bool first) {
    buf_c(b, first ? "{\"name\":" : ",{\"name\":");
    buf_json(b, resource);
    buf_c(b, ",\"nominalQuota\":\"");
    amount_text(resource, v, b);
    buf_c(b, "\"}");
}

/* Each flavor of a group has all its resources: of those that a type does not have there are 0. */
static void gpu_flavor_json(struct machine *m, const struct gpu_type *t, bool none, struct buf *b) {
    buf_c(b, "{\"name\":");
    buf_json(b, t->flavor);
    buf_c(b, ",\"resources\":[");
    for (size_t i = 0; i < m->n_gpu_resources; i++) {
        uint32_t id = names_find(&m->names, m->gpu_resources[i]);
        quota_json(b, m->gpu_resources[i], none ? 0 : pool_most(t->pool, id), i == 0);
    }
    buf_c(b, "]}");
}

/* What the machine has, or `none` of it. */
static void groups_json(struct machine *m, bool none, struct buf *b) {
    buf_c(b, "\"resourceGroups\":[{\"coveredResources\":["
             "\"cpu\",\"memory\"],\"flavors\":[{\"name\":\"default\",\"resources\":[");
    quota_json(b, STR("cpu"), none ? 0 : m->cpu, true);
    quota_json(b, STR("memory"), none ? 0 : m->memory, false);
    buf_c(b, "]}]}");
    if (m->n_types > 0) {
        buf_c(b, ",{\"coveredResources\":[");
        for (size_t i = 0; i < m->n_gpu_resources; i++) {
            buf_c(b, i > 0 ? "," : "");
            buf_json(b, m->gpu_resources[i]);
        }
        buf_c(b, "],\"flavors\":[");
        for (size_t i = 0; i < m->n_types; i++) {
            buf_c(b, i > 0 ? "," : "");
            gpu_flavor_json(m, &m->types[i], none, b);
        }
        buf_c(b, "]}");
    }
    buf_ch(b, ']');
}

static void cohort_json(struct machine *m, struct buf *b) {
    head_json(b, "kueue.x-k8s.io/v1beta2", "Cohort", NULL, STR(POOL_COHORT));
    buf_c(b, ",\"spec\":{");
    groups_json(m, false, b);
    buf_c(b, "}}");
}

static void queue_json(struct machine *m, struct buf *b) {
    head_json(b, "kueue.x-k8s.io/v1beta2", "ClusterQueue", NULL, STR("default"));
    buf_c(b, ",\"spec\":{\"cohortName\":\"" POOL_COHORT "\",\"namespaceSelector\":{},");
    groups_json(m, true, b);
    buf_c(b, "}}");
}

static void flavor_json(const struct gpu_type *t, struct buf *b) {
    head_json(b, "kueue.x-k8s.io/v1beta2", "ResourceFlavor", NULL,
              t != NULL ? t->flavor : STR("default"));
    buf_c(b, ",\"spec\":{");
    if (t != NULL && !str_empty(t->product)) {
        buf_c(b, "\"nodeLabels\":{\"nvidia.com/gpu.product\":");
        buf_json(b, t->product);
        buf_ch(b, '}');
    }
    buf_c(b, "}}");
}

/* ---- the work ---- */

static bool missing(struct defaults_controller *c, int kind, const char *ns, struct str name) {
    return mirror_get(c->env->mirror, c->kinds[kind], str_of(ns), name) == NULL;
}

static enum work create(struct defaults_controller *c, int kind, const char *ns, struct buf *b) {
    struct round *r = buf_ok(b) == 0 ? round_new(c->queue, c->env->writer, c->expect, WHO,
                                                 (struct str){0}, STR("defaults"))
                                     : NULL;
    if (r == NULL) {
        return WORK_RETRY;
    }
    round_create(r, c->kinds[kind], str_of(ns), buf_view(b));
    workqueue_add(c->queue, (struct str){0}, STR("defaults")); /* the next one, after this */
    return round_end(r);
}

/* Creates the first thing that is missing. */
static enum work next(struct defaults_controller *c, struct machine *m, struct buf *b) {
    if (missing(c, D_FLAVOR, NULL, STR("default"))) {
        flavor_json(NULL, b);
        return create(c, D_FLAVOR, NULL, b);
    }
    for (size_t i = 0; i < m->n_types; i++) {
        if (missing(c, D_FLAVOR, NULL, m->types[i].flavor)) {
            flavor_json(&m->types[i], b);
            return create(c, D_FLAVOR, NULL, b);
        }
    }
    if (missing(c, D_COHORT, NULL, STR(POOL_COHORT))) {
        cohort_json(m, b);
        return create(c, D_COHORT, NULL, b);
    }
    if (missing(c, D_CLUSTER_QUEUE, NULL, STR("default"))) {
        queue_json(m, b);
        return create(c, D_CLUSTER_QUEUE, NULL, b);
    }
    if (missing(c, D_LOCAL_QUEUE, "default", STR("default"))) {
        head_json(b, "kueue.x-k8s.io/v1beta2", "LocalQueue", "default", STR("default"));
        buf_c(b, ",\"spec\":{\"clusterQueue\":\"default\"}}");
        return create(c, D_LOCAL_QUEUE, "default", b);
    }
    head_json(b, "v1", "ConfigMap", "kube-system", STR("berth-defaults"));
    buf_c(b, ",\"data\":{\"made\":\"true\"}}");
    return create(c, D_CONFIG_MAP, "kube-system", b);
}

static enum work work(void *ctx, struct str ns, struct str name) {
    struct defaults_controller *c = ctx;
    arena_reset(&c->arena);
    if (!missing(c, D_CONFIG_MAP, "kube-system", STR("berth-defaults"))) {
        return WORK_OK;
    }
    struct machine m = {0};
    struct buf b;
    enum work w = WORK_RETRY;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    names_init(&m.names);
    if (machine_read(c, &m) == 0) {
        w = m.n_nodes > 0 ? next(c, &m, &b) : WORK_OK;
    }
    machine_release(&m);
    buf_release(&b);
    return w;
}

static void on_node(void *ctx, const struct change *ch) {
    struct defaults_controller *c = ctx;
    if (str_is(object_label(ch->obj, STR(MANAGED_LABEL)), "true")) {
        workqueue_add(c->queue, (struct str){0}, STR("defaults"));
    }
}

static void resync(void *ctx) {
    struct defaults_controller *c = ctx;
    workqueue_add(c->queue, (struct str){0}, STR("defaults"));
}

struct defaults_controller *defaults_controller_new(const struct control_env *env,
                                                    struct err *err) {
    static const struct {
        const char *group, *kind;
    } names[D_COUNT] = {{"kueue.x-k8s.io", "ResourceFlavor"},
                        {"kueue.x-k8s.io", "Cohort"},
                        {"kueue.x-k8s.io", "ClusterQueue"},
                        {"kueue.x-k8s.io", "LocalQueue"},
                        {"", "ConfigMap"},
                        {"", "Node"}};
    struct defaults_controller *c = mem_zalloc(sizeof(*c));
    if (c == NULL) {
        err_set(err, ERR_NOMEM, "defaults controller: out of memory");
        return NULL;
    }
    c->env_copy = *env;
    c->env = &c->env_copy;
    arena_init(&c->arena, ARENA_MAX);
    for (size_t i = 0; i < D_COUNT; i++) {
        c->kinds[i] = kind_by_name(str_of(names[i].group), str_of(names[i].kind));
    }
    struct workqueue_options o = {.clock = c->env->clock, .work = work, .resync = resync, .ctx = c};
    c->queue = workqueue_new(&o);
    c->expect = expect_new(c->env->mirror, c->env->clock);
    c->nodes = mirror_feed(env->mirror, c->kinds[D_NODE], on_node, c);
    if (c->queue == NULL || c->expect == NULL || c->nodes == NULL) {
        defaults_controller_free(c);
        err_set(err, ERR_NOMEM, "defaults controller: out of memory");
        return NULL;
    }
    resync(c);
    return c;
}

void defaults_controller_free(struct defaults_controller *c) {
    if (c == NULL) {
        return;
    }
    if (c->nodes != NULL) {
        feed_free(c->nodes);
    }
    workqueue_free(c->queue);
    expect_free(c->expect);
    arena_release(&c->arena);
    mem_free(c);
}
