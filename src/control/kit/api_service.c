/* api_service: a key is the place of an object in the table. See api_service.h. */
#include "control/kit/api_service.h"

#include <arpa/inet.h>

#include "api/tables/view_core.h"
#include "api/tables/view_discovery.h"
#include "control/kit/apply.h"
#include "control/kit/controller.h"

#define NAME "kubernetes"
#define LOOK_AGAIN_NS (100 * NS_PER_MS)

enum { OBJECTS = 3, CLUSTER_PORT = 443 };

/* What is told. */
struct api_told {
    struct str ip;
    bool v6;
    uint16_t port;
    struct str cluster_ip; /* "None": headless */
    uint16_t cluster_port;
};

/* ---- what is told ---- */

/* Where pods of this machine, whose network is its own, reach what listens on host. */
static bool told_of(const struct api_address *api, struct api_told *ret) {
    char host[64];
    unsigned char any[16];
    if (api == NULL || api->port == 0) {
        return false;
    }
    bool fits = str_copy(api->host, host, sizeof host);
    bool v4 = fits && inet_pton(AF_INET, host, any) == 1;
    bool v6 = fits && !v4 && inet_pton(AF_INET6, host, any) == 1;
    bool one = (v4 && !str_is(api->host, "0.0.0.0")) || (v6 && !str_is(api->host, "::"));
    bool headless = str_empty(api->cluster_ip);
    *ret = (struct api_told){.ip = one  ? api->host
                                   : v6 ? STR("::1")
                                        : STR("127.0.0.1"),
                             .v6 = v6,
                             .port = api->port,
                             .cluster_ip = headless ? STR("None") : api->cluster_ip,
                             .cluster_port = headless ? api->port : CLUSTER_PORT};
    return true;
}

/* ---- the objects ---- */

static void put_service(struct apply *x, const struct kind *k, const struct object *o,
                        struct meta *meta, const struct api_told *t) {
    struct str_pair labels[] = {{STR("component"), STR("apiserver")},
                                {STR("provider"), STR("kubernetes")}};
    struct service_port port = {.name = STR("https"),
                                .protocol = STR("TCP"),
                                .port = t->cluster_port,
                                .target_port = arena_f(x->arena, "%u", t->port)};
    struct service_spec spec = {.ports = {&port, 1},
                                .cluster_ip = t->cluster_ip,
                                .type = STR("ClusterIP"),
                                .session_affinity = STR("None")};
    meta->labels = (struct str_map){labels, 2};
    (void)apply_object(x, k, o, &(struct service){.metadata = meta, .spec = &spec}, meta);
}

static void put_endpoints(struct apply *x, const struct kind *k, const struct object *o,
                          struct meta *meta, const struct api_told *t) {
    struct str_pair label = {STR("endpointslice.kubernetes.io/skip-mirror"), STR("true")};
    struct endpoint_address address = {.ip = t->ip};
    struct endpoint_port port = {.name = STR("https"), .port = t->port, .protocol = STR("TCP")};
    struct endpoint_subset subset = {.addresses = {&address, 1}, .ports = {&port, 1}};
    meta->labels = (struct str_map){&label, 1};
    (void)apply_object(x, k, o, &(struct endpoints){.metadata = meta, .subsets = {&subset, 1}},
                       meta);
}

static void put_slice(struct apply *x, const struct kind *k, const struct object *o,
                      struct meta *meta, const struct api_told *t) {
    struct str_pair label = {STR("kubernetes.io/service-name"), STR(NAME)};
    struct str ip = t->ip;
    struct slice_conditions ready = {.ready = {true, true}};
    struct slice_endpoint endpoint = {.addresses = {&ip, 1}, .conditions = &ready};
    struct slice_port port = {
        .name = STR("https"), .protocol = STR("TCP"), .port = {true, t->port}};
    struct endpoint_slice slice = {.metadata = meta,
                                   .endpoints = {&endpoint, 1},
                                   .ports = {&port, 1},
                                   .address_type = t->v6 ? STR("IPv6") : STR("IPv4")};
    meta->labels = (struct str_map){&label, 1};
    (void)apply_object(x, k, o, &slice, meta);
}

enum { SERVICE, ENDPOINTS, SLICE }; /* of the row's kinds, and keys */

static void (*const put[OBJECTS])(struct apply *x, const struct kind *k, const struct object *o,
                                  struct meta *meta, const struct api_told *t) = {
    [SERVICE] = put_service,
    [ENDPOINTS] = put_endpoints,
    [SLICE] = put_slice,
};

/* ---- keeping them ---- */

/* The address of a Service cannot be changed: one that has another is made anew, once its end is heard of. */
static bool must_go(struct controller *c, const struct object *o, const struct api_told *t) {
    yyjson_doc *d;
    return o->kind == c->kinds[SERVICE] && object_tree(o, &c->arena, &d, NULL) == 0 &&
           !str_eq(json_str_at(yyjson_doc_get_root(d), "spec.clusterIP"), t->cluster_ip);
}

static enum work keep(struct controller *c, unsigned which, const struct api_told *t) {
    const struct kind *k = c->kinds[which];
    const struct object *o = mirror_get(c->env.mirror, k, STR("default"), STR(NAME));
    if (o != NULL && o->deleting_ns != 0) {
        return WORK_OK;
    }
    if (o != NULL && must_go(c, o, t)) {
        return controller_remove(c, o);
    }
    struct meta meta = {.name = STR(NAME), .namespace = STR("default")};
    struct apply x = {.round = controller_begin(c), .arena = &c->arena};
    put[which](&x, k, o, &meta, t);
    return round_end(x.round);
}

static enum work step(void *self, struct work_key key) {
    struct controller *c = self;
    struct api_told t;
    const struct kind *namespaces = kind_by_name(STR(""), STR("Namespace"));
    bool there = mirror_get(c->env.mirror, namespaces, STR(""), STR("default")) != NULL;
    if (!there || !told_of(c->env.api, &t)) { /* at the start only */
        workqueue_look(c->queue, key, LOOK_AGAIN_NS);
        return WORK_OK;
    }
    return keep(c, key.what, &t);
}

static void start(void *self) {
    struct controller *c = self;
    for (unsigned i = 0; c->env.api && i < OBJECTS; i++) {
        workqueue_look(c->queue, (struct work_key){i}, 0);
    }
}

static void changed(void *self, const struct change *ch) {
    if (str_is(ch->obj->name, NAME) && str_is(ch->obj->ns, "default")) {
        start(self);
    }
}

const struct controller_row api_service_controller = {
    .name = "bootstrap",
    .set = CONTROL_BOOTSTRAP,
    .who = "api-service-controller",
    CONTROLLER_KINDS([SERVICE] = {"", "Service", changed,
                                  .may = MAY_CREATE | MAY_PATCH | MAY_DELETE},
                     [ENDPOINTS] = {"", "Endpoints", changed, .may = MAY_CREATE | MAY_PATCH},
                     [SLICE] = {"discovery.k8s.io", "EndpointSlice", changed,
                                .may = MAY_CREATE | MAY_PATCH},
                     {"", "Namespace"}),
    .start = start,
    .step = step,
};
