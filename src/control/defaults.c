/*
 * defaults: what a fresh data folder needs so that a first job can run at once. See queue_controller.h.
 *
 * Made in this order, each only when missing, the marker last, so that an interrupted start goes on where it was:
 * ResourceFlavor `default` (cpu and memory), one per GPU type, ClusterQueue `default`, LocalQueue `default`,
 * the marker.
 */
#include "control/translate.h" /* first */

#include "api/codec.h"
#include "base/limits.h"
#include "control/queue_controller.h"
#include "control/round.h"

static const char WHO[] = "berth-defaults-controller";
#define DEFAULT_LABEL "berth.dev/default"

enum { D_FLAVOR, D_CLUSTER_QUEUE, D_LOCAL_QUEUE, D_CONFIG_MAP, D_NODE, D_COUNT };

struct defaults_controller {
    struct control_env env_copy;
    const struct control_env *env; /* the copy */
    const struct kind *kinds[D_COUNT];
    struct workqueue *queue; /* one key */
    struct expect *expect;
    struct feed *nodes;
    struct arena arena;
};

/* What the machine has. */
struct machine {
    struct names names;
    struct pool *pool;
    struct str type;    /* flavor of the GPUs: "nvidia-h200"; empty: no GPUs */
    struct str product; /* label value, or empty */
    const struct node_amount *amounts;
    size_t n_amounts;
    struct str *gpu_resources; /* nvidia.com/gpu, nvidia.com/mig-* */
    size_t n_gpu_resources;
};

static bool first_managed(void *ctx, const struct object *o) {
    const struct object **found = ctx;
    if (str_is(object_label(o, STR(MANAGED_LABEL)), "true")) {
        *found = o;
        return false;
    }
    return true;
}

static bool any_foreign(void *ctx, const struct object *o) {
    bool *found = ctx;
    *found = *found || !str_is(object_label(o, STR(DEFAULT_LABEL)), "true");
    return !*found;
}

/* "NVIDIA H200" to "nvidia-h200". */
static struct str flavor_name(struct arena *a, struct str model) {
    struct str s = arena_str(a, str_head(model, LIMIT_LABEL));
    char *p = (char *)s.p;
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        char ch = p[i] >= 'A' && p[i] <= 'Z' ? (char)(p[i] + 32) : p[i];
        bool plain = (ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9');
        if (plain || (n > 0 && p[n - 1] != '-')) {
            p[n++] = plain ? ch : '-';
        }
    }
    while (n > 0 && p[n - 1] == '-') {
        n--;
    }
    return n > 0 ? str_from(p, n) : STR("gpu");
}

static void resource_add(struct machine *m, struct str r) {
    for (size_t i = 0; i < m->n_gpu_resources; i++) {
        if (str_eq(m->gpu_resources[i], r)) {
            return;
        }
    }
    m->gpu_resources[m->n_gpu_resources++] = r;
}

static int gpus_read(struct arena *a, const struct inventory *inv, struct machine *m) {
    size_t most = 1;
    for (size_t i = 0; i < inv->n; i++) {
        most += inv->gpus[i].n_profiles;
    }
    m->gpu_resources = ARENA_ARRAY(a, struct str, most);
    if (m->gpu_resources == NULL) {
        return ERR_NOMEM;
    }
    resource_add(m, STR(POOL_GPU_RESOURCE));
    for (size_t i = 0; i < inv->n; i++) {
        for (size_t k = 0; k < inv->gpus[i].n_profiles; k++) {
            resource_add(m, inv->gpus[i].profiles[k].resource);
        }
    }
    m->type = flavor_name(a, inv->gpus[0].model);
    return m->type.p != NULL ? 0 : ERR_NOMEM;
}

static int machine_read(struct defaults_controller *c, const struct object *o, struct machine *m) {
    struct arena *a = &c->arena;
    struct inventory inv = {0};
    struct node_input in;
    yyjson_doc *doc;
    struct node *n = ARENA_NEW(a, struct node);
    int r = n != NULL ? object_tree(o, a, &doc, NULL) : ERR_NOMEM;
    r = r == 0 ? codec_decode(&schema_node, yyjson_doc_get_root(doc), a, n, NULL) : r;
    for (size_t i = 0; r == 0 && i < n->metadata->annotations.n; i++) {
        if (str_is(n->metadata->annotations.v[i].key, INVENTORY_ANNOTATION)) {
            r = inventory_decode(n->metadata->annotations.v[i].value, a, &inv, NULL);
        }
    }
    r = r == 0 ? translate_node(n, &inv, a, &in) : r;
    r = r == 0 ? pool_node_put(m->pool, &in, NULL) : r;
    if (r != 0) {
        return r;
    }
    m->product = object_label(o, STR("nvidia.com/gpu.product"));
    m->amounts = in.amounts;
    m->n_amounts = in.n_amounts;
    return inv.n > 0 ? gpus_read(a, &inv, m) : 0;
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

static bool plain(struct str resource) {
    return str_is(resource, "cpu") || str_is(resource, "memory");
}

static void queue_json(struct machine *m, struct buf *b) {
    head_json(b, "kueue.x-k8s.io/v1beta2", "ClusterQueue", NULL, STR("default"));
    buf_c(b, ",\"spec\":{\"namespaceSelector\":{},\"resourceGroups\":[{\"coveredResources\":["
             "\"cpu\",\"memory\"],\"flavors\":[{\"name\":\"default\",\"resources\":[");
    const struct str both[] = {STR("cpu"), STR("memory")};
    for (size_t k = 0; k < 2; k++) {
        int64_t v = 0;
        for (size_t i = 0; i < m->n_amounts; i++) {
            v = str_eq(m->amounts[i].resource, both[k]) ? m->amounts[i].v : v;
        }
        quota_json(b, both[k], v, k == 0);
    }
    buf_c(b, "]}]}");
    if (!str_empty(m->type)) {
        buf_c(b, ",{\"coveredResources\":[");
        for (size_t i = 0; i < m->n_gpu_resources; i++) {
            buf_c(b, i > 0 ? "," : "");
            buf_json(b, m->gpu_resources[i]);
        }
        buf_c(b, "],\"flavors\":[{\"name\":");
        buf_json(b, m->type);
        buf_c(b, ",\"resources\":[");
        for (size_t i = 0; i < m->n_gpu_resources; i++) {
            uint32_t id = names_find(&m->names, m->gpu_resources[i]);
            quota_json(b, m->gpu_resources[i], pool_most(m->pool, id), i == 0);
        }
        buf_c(b, "]}]}");
    }
    buf_c(b, "]}}");
}

static void flavor_json(struct machine *m, bool gpu, struct buf *b) {
    head_json(b, "kueue.x-k8s.io/v1beta2", "ResourceFlavor", NULL,
              gpu ? m->type : STR("default"));
    buf_c(b, ",\"spec\":{");
    if (gpu && !str_empty(m->product)) {
        buf_c(b, "\"nodeLabels\":{\"nvidia.com/gpu.product\":");
        buf_json(b, m->product);
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
        flavor_json(m, false, b);
        return create(c, D_FLAVOR, NULL, b);
    }
    if (!str_empty(m->type) && missing(c, D_FLAVOR, NULL, m->type)) {
        flavor_json(m, true, b);
        return create(c, D_FLAVOR, NULL, b);
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
    const struct object *node = NULL;
    bool foreign = false;
    arena_reset(&c->arena);
    if (!missing(c, D_CONFIG_MAP, "kube-system", STR("berth-defaults"))) {
        return WORK_OK;
    }
    mirror_scan(c->env->mirror, c->kinds[D_NODE], (struct str){0}, first_managed, &node);
    mirror_scan(c->env->mirror, c->kinds[D_CLUSTER_QUEUE], (struct str){0}, any_foreign, &foreign);
    if (node == NULL || foreign) {
        return WORK_OK;
    }
    struct machine m = {0};
    struct buf b;
    enum work w = WORK_RETRY;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    names_init(&m.names);
    m.pool = pool_new(&m.names);
    if (m.pool != NULL && machine_read(c, node, &m) == 0) {
        /* A node that is not described yet comes again when it is. */
        bool known = false;
        for (size_t i = 0; i < m.n_amounts; i++) {
            known = known || plain(m.amounts[i].resource);
        }
        w = known ? next(c, &m, &b) : WORK_OK;
    }
    pool_free(m.pool);
    names_release(&m.names);
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
    } names[D_COUNT] = {{"kueue.x-k8s.io", "ResourceFlavor"}, {"kueue.x-k8s.io", "ClusterQueue"},
                        {"kueue.x-k8s.io", "LocalQueue"},     {"", "ConfigMap"},
                        {"", "Node"}};
    struct defaults_controller *c = mem_zalloc(sizeof(*c));
    if (c == NULL) {
        err_set(err, ERR_NOMEM, "defaults controller: out of memory");
        return NULL;
    }
    c->env_copy = *env;
    c->env = &c->env_copy;
    arena_init(&c->arena, 16 << 20);
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
