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

#include "api/schema/codec.h"
#include "base/limits.h"
#include "control/kit/controller.h"
#include "control/queue/queue_controller.h"

#define DEFAULT_LABEL "berth.dev/default"
#define DEFAULT_GENERATION "berth.dev/default-generation"
#define PRODUCT_LABEL "nvidia.com/gpu.product"

enum { ARENA_MAX = 512 << 20 }; /* every node is read */
enum { D_FLAVOR, D_COHORT, D_CLUSTER_QUEUE, D_LOCAL_QUEUE, D_CONFIG_MAP, D_NODE };

VEC(shape_vec, uint64_t);

struct defaults_controller {
    struct controller base;
    struct shape_vec
        known; /* the GPUs of a node, as a number: what there is of these is covered, or was told */
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
    r = r == 0 ? codec_decode(&schema_node, yyjson_doc_get_root(doc), a, n, NULL) : r;
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
    r = r == 0 ? translate_node(n, &v->gpus, a, &v->in) : r;
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
        buf_c(b, "\"nodeLabels\":{\"" PRODUCT_LABEL "\":");
        buf_json(b, t->product);
        buf_ch(b, '}');
    }
    buf_c(b, "}}");
}

/* ---- the work ---- */

static bool missing(struct defaults_controller *c, int kind, const char *ns, struct str name) {
    return mirror_get(c->base.env.mirror, c->base.kinds[kind], str_of(ns), name) == NULL;
}

static enum work create(struct defaults_controller *c, int kind, const char *ns, struct buf *b) {
    struct round *r = buf_ok(b) == 0 ? controller_begin(&c->base) : NULL;
    if (r == NULL) {
        return WORK_RETRY;
    }
    round_create(r, c->base.kinds[kind], str_of(ns), buf_view(b));
    workqueue_look(c->base.queue, (struct work_key){0}, 0); /* the next one, after this */
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

/* ---- GPUs that came later ---- */

/* One of the two that have groups; o NULL: there is none that was made here. */
struct grouped {
    const struct object *o;
    yyjson_mut_doc *doc;
    yyjson_mut_val *root, *groups;
};

static int grouped_read(struct defaults_controller *c, int kind, struct str name,
                        struct grouped *ret) {
    const struct object *o =
        mirror_get(c->base.env.mirror, c->base.kinds[kind], (struct str){0}, name);
    yyjson_doc *doc;
    *ret = (struct grouped){0};
    if (o == NULL || str_empty(object_label(o, STR(DEFAULT_LABEL))) || o->deleting_ns != 0) {
        return 0;
    }
    int r = object_tree(o, &c->base.arena, &doc, NULL);
    if (r != 0) {
        return r;
    }
    ret->doc = json_mut_copy(&c->base.arena, yyjson_doc_get_root(doc));
    ret->root = ret->doc != NULL ? yyjson_mut_doc_get_root(ret->doc) : NULL;
    ret->groups = json_mpath(ret->root, "spec.resourceGroups");
    if (ret->groups == NULL && ret->doc != NULL) {
        ret->groups = yyjson_mut_arr(ret->doc);
    }
    ret->o = o;
    return ret->groups != NULL ? 0 : ERR_NOMEM;
}

/* The group with GPUs, or NULL. */
static yyjson_mut_val *gpu_group(yyjson_mut_val *groups) {
    size_t i, n, k, m;
    yyjson_mut_val *g, *r;
    yyjson_mut_arr_foreach(groups, i, n, g) {
        yyjson_mut_arr_foreach(json_mget(g, STR("coveredResources")), k, m, r) {
            if (str_starts(json_mstr(r), STR("nvidia.com/"))) {
                return g;
            }
        }
    }
    return NULL;
}

static bool covers(yyjson_mut_val *groups, const struct machine *m, const struct gpu_type *t) {
    yyjson_mut_val *f = json_mfind(json_mget(gpu_group(groups), STR("flavors")), "name", t->flavor);
    for (size_t i = 0; i < m->n_gpu_resources; i++) {
        uint32_t id = names_find(&m->names, m->gpu_resources[i]);
        if (pool_most(t->pool, id) > 0 &&
            json_mfind(json_mget(f, STR("resources")), "name", m->gpu_resources[i]) == NULL) {
            return false;
        }
    }
    return true;
}

static bool covers_all(yyjson_mut_val *groups, const struct machine *m) {
    bool all = true;
    for (size_t i = 0; i < m->n_types && all; i++) {
        all = covers(groups, m, &m->types[i]);
    }
    return all;
}

static yyjson_mut_val *text(yyjson_mut_doc *d, struct str s) {
    return yyjson_mut_strncpy(d, s.p, s.n);
}

/* {"name": name, key: v} at the end of a list. */
static int append(yyjson_mut_doc *d, yyjson_mut_val *list, struct str name, const char *key,
                  yyjson_mut_val *v) {
    yyjson_mut_val *o = yyjson_mut_obj(d);
    int r = o != NULL && v != NULL && yyjson_mut_arr_append(list, o) ? 0 : ERR_NOMEM;
    r = r == 0 ? json_mset_str(d, o, "name", name) : r;
    return r == 0 ? json_mset(d, o, str_of(key), v) : r;
}

static int quotas_fill(yyjson_mut_doc *d, struct machine *m, yyjson_mut_val *covered, bool none,
                       yyjson_mut_val *flavor) {
    const struct gpu_type *t = NULL;
    size_t i, n;
    yyjson_mut_val *v, *quotas = json_mget(flavor, STR("resources"));
    int r = 0;
    for (size_t k = 0; k < m->n_types; k++) {
        t = str_eq(m->types[k].flavor, json_mstr_at(flavor, "name")) ? &m->types[k] : t;
    }
    yyjson_mut_arr_foreach(covered, i, n, v) {
        if (r != 0 || json_mfind(quotas, "name", json_mstr(v)) != NULL) {
            continue;
        }
        struct buf b;
        uint32_t id = names_find(&m->names, json_mstr(v));
        buf_init(&b, 64);
        amount_text(json_mstr(v), none || t == NULL ? 0 : pool_most(t->pool, id), &b);
        r = append(d, quotas, json_mstr(v), "nominalQuota", text(d, buf_view(&b)));
        buf_release(&b);
    }
    return r;
}

/* All GPUs of the machine are in the groups afterwards; what is there stays. none: as in groups_json. */
static int widen(const struct grouped *x, struct machine *m, bool none) {
    yyjson_mut_doc *d = x->doc;
    yyjson_mut_val *f, *g = gpu_group(x->groups);
    size_t i, n;
    int r = 0;
    if (g == NULL) {
        g = yyjson_mut_obj(d);
        r = g != NULL && yyjson_mut_arr_append(x->groups, g) ? 0 : ERR_NOMEM;
        r = r == 0 ? json_mset(d, g, STR("coveredResources"), yyjson_mut_arr(d)) : r;
        r = r == 0 ? json_mset(d, g, STR("flavors"), yyjson_mut_arr(d)) : r;
    }
    yyjson_mut_val *covered = json_mget(g, STR("coveredResources"));
    yyjson_mut_val *flavors = json_mget(g, STR("flavors"));
    for (size_t k = 0; k < m->n_gpu_resources && r == 0; k++) {
        if (json_mfind(covered, NULL, m->gpu_resources[k]) == NULL) {
            r = yyjson_mut_arr_append(covered, text(d, m->gpu_resources[k])) ? 0 : ERR_NOMEM;
        }
    }
    for (size_t k = 0; k < m->n_types && r == 0; k++) {
        if (json_mfind(flavors, "name", m->types[k].flavor) == NULL) {
            r = append(d, flavors, m->types[k].flavor, "resources", yyjson_mut_arr(d));
        }
    }
    yyjson_mut_arr_foreach(flavors, i, n, f) {
        r = r == 0 ? quotas_fill(d, m, covered, none, f) : r;
    }
    return r;
}

/* queue: it is the ClusterQueue, which says that its next generation is ours as well. */
static enum work groups_write(struct defaults_controller *c, int kind, const struct grouped *x,
                              bool queue, struct buf *b) {
    buf_f(b, "{\"metadata\":{\"resourceVersion\":\"%llu\"", (unsigned long long)x->o->rv);
    if (queue) {
        buf_f(b, ",\"annotations\":{\"" DEFAULT_GENERATION "\":\"%lld\"}",
              (long long)x->o->generation + 1);
    }
    buf_c(b, "},\"spec\":{\"resourceGroups\":");
    json_write_mut(b, x->groups);
    buf_c(b, "}}");
    struct round *r = buf_ok(b) == 0 ? controller_begin(&c->base) : NULL;
    if (r == NULL) {
        return WORK_RETRY;
    }
    round_patch(r, c->base.kinds[kind], (struct str){0}, x->o->name, "", PATCH_MERGE, buf_view(b));
    workqueue_look(c->base.queue, (struct work_key){0}, 0); /* the next one, after this */
    return round_end(r);
}

static bool edited(const struct grouped *queue) {
    struct str said = json_mstr(
        json_mget(json_mpath(queue->root, "metadata.annotations"), STR(DEFAULT_GENERATION)));
    int64_t ours = 1;
    return (!str_empty(said) && !str_to_i64(said, &ours)) || ours != queue->o->generation;
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

static enum work tell(struct defaults_controller *c, struct machine *m,
                      const struct grouped *queue) {
    struct buf b;
    buf_init(&b, LIMIT_EVENT_MESSAGE / 2);
    for (size_t i = 0; i < m->n_types; i++) {
        if (!covers(queue->groups, m, &m->types[i])) {
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
        recorder_event(c->base.recorder, queue->o, EVENT_WARNING, "GpusNotCovered", say,
                       STR_ARG(flavors), (long long)queue->o->generation);
    }
    buf_release(&b);
    return settle(c, m, told);
}

/* The Cohort first: a queue that has nothing of its own gains by what it borrows. */
static enum work extend(struct defaults_controller *c, struct machine *m, struct buf *b) {
    struct grouped queue, pool;
    int r = grouped_read(c, D_CLUSTER_QUEUE, STR("default"), &queue);
    r = r == 0 ? grouped_read(c, D_COHORT, STR(POOL_COHORT), &pool) : r;
    if (r != 0) {
        return WORK_RETRY;
    }
    if (queue.o == NULL || covers_all(queue.groups, m)) {
        return settle(c, m, 0);
    }
    if (edited(&queue)) {
        return tell(c, m, &queue);
    }
    for (size_t i = 0; i < m->n_types; i++) {
        if (missing(c, D_FLAVOR, NULL, m->types[i].flavor)) {
            flavor_json(&m->types[i], b);
            return create(c, D_FLAVOR, NULL, b);
        }
    }
    bool borrows = str_is(json_mstr_at(queue.root, "spec.cohortName"), POOL_COHORT);
    if (borrows && pool.o != NULL && !covers_all(pool.groups, m)) {
        return widen(&pool, m, false) == 0 ? groups_write(c, D_COHORT, &pool, false, b)
                                           : WORK_RETRY;
    }
    return widen(&queue, m, borrows) == 0 ? groups_write(c, D_CLUSTER_QUEUE, &queue, true, b)
                                          : WORK_RETRY;
}

static enum work step(void *self, struct work_key key) {
    struct defaults_controller *c = self;
    bool made = !missing(c, D_CONFIG_MAP, "kube-system", STR("berth-defaults"));
    struct machine m = {0};
    struct buf b;
    enum work w = WORK_RETRY;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    names_init(&m.names);
    if (machine_read(c, &m) == 0) {
        w = m.n_nodes == 0 ? WORK_OK : made ? extend(c, &m, &b) : next(c, &m, &b);
    }
    machine_release(&m);
    buf_release(&b);
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
