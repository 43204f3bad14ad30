/* api_service: a key is the place of an object in the table. See api_service.h. */
#include "control/kit/api_service.h"

#include <arpa/inet.h>

#include "control/kit/controller.h"

#define NAME "kubernetes"
#define SERVICE "Service"
#define LOOK_AGAIN_NS (100 * NS_PER_MS)

enum { OBJECTS = 3, BODY_MAX = 4096, CLUSTER_PORT = 443 };

/* What is told, and where it stands in each object. */
struct told {
    struct str ip;
    bool v6;
    uint16_t port;
    struct str cluster_ip; /* "None": headless */
    uint16_t cluster_port;
};

static const struct object_row {
    const char *group, *kind;
    const char *head; /* of the object that is made */
    void (*body)(struct buf *b, const struct told *t);
    const char *list, *addresses, *ports; /* addresses: in the first of list; NULL: none */
} objects[OBJECTS];

/* ---- what is told ---- */

/* Where pods of this machine, whose network is its own, reach what listens on host. */
static bool told_of(const struct api_address *api, struct told *ret) {
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
    *ret = (struct told){.ip = one  ? api->host
                               : v6 ? STR("::1")
                                    : STR("127.0.0.1"),
                         .v6 = v6,
                         .port = api->port,
                         .cluster_ip = headless ? STR("None") : api->cluster_ip,
                         .cluster_port = headless ? api->port : CLUSTER_PORT};
    return true;
}

static void service_body(struct buf *b, const struct told *t) {
    buf_f(b,
          "\"spec\":{\"type\":\"ClusterIP\",\"clusterIP\":\"%.*s\",\"sessionAffinity\":\"None\","
          "\"ports\":[{\"name\":\"https\",\"protocol\":\"TCP\",\"port\":%u,\"targetPort\":%u}]}}",
          STR_ARG(t->cluster_ip), t->cluster_port, t->port);
}

static void endpoints_body(struct buf *b, const struct told *t) {
    buf_f(b,
          "\"subsets\":[{\"addresses\":[{\"ip\":\"%.*s\"}],\"ports\":[{\"name\":\"https\","
          "\"port\":%u,\"protocol\":\"TCP\"}]}]}",
          STR_ARG(t->ip), t->port);
}

static void slice_body(struct buf *b, const struct told *t) {
    buf_f(b,
          "\"addressType\":\"%s\",\"endpoints\":[{\"addresses\":[\"%.*s\"],\"conditions\":{"
          "\"ready\":true}}],\"ports\":[{\"name\":\"https\",\"port\":%u,\"protocol\":\"TCP\"}]}",
          t->v6 ? "IPv6" : "IPv4", STR_ARG(t->ip), t->port);
}

static const struct object_row objects[OBJECTS] = {
    {"", SERVICE,
     "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"" NAME "\",\"labels\":{"
     "\"component\":\"apiserver\",\"provider\":\"kubernetes\"}},",
     service_body, "spec", NULL, "ports"},
    {"", "Endpoints",
     "{\"apiVersion\":\"v1\",\"kind\":\"Endpoints\",\"metadata\":{\"name\":\"" NAME
     "\",\"labels\":{"
     "\"endpointslice.kubernetes.io/skip-mirror\":\"true\"}},",
     endpoints_body, "subsets", "addresses", "ports"},
    {"discovery.k8s.io", "EndpointSlice",
     "{\"apiVersion\":\"discovery.k8s.io/"
     "v1\",\"kind\":\"EndpointSlice\",\"metadata\":{\"name\":\"" NAME
     "\",\"labels\":{\"kubernetes.io/service-name\":\"" NAME "\"}},",
     slice_body, "endpoints", "addresses", NULL},
};

static yyjson_val *first(yyjson_val *v) {
    return yyjson_is_arr(v) ? yyjson_arr_get_first(v) : v;
}

/* Whether the object says what is told. */
static bool says(const struct object_row *x, yyjson_val *root, const struct told *t) {
    yyjson_val *in = first(json_get(root, str_of(x->list)));
    yyjson_val *ports = json_get(x->ports ? in : root, STR("ports"));
    yyjson_val *ip = x->addresses ? first(json_get(in, str_of(x->addresses))) : NULL;
    ip = yyjson_is_obj(ip) ? json_get(ip, STR("ip")) : ip;
    if (yyjson_arr_size(ports) != 1) {
        return false;
    }
    if (str_is(str_of(x->kind), SERVICE)) {
        return json_i64_at(first(ports), "port", 0) == t->cluster_port &&
               json_i64_at(first(ports), "targetPort", 0) == t->port &&
               str_eq(json_str_at(in, "clusterIP"), t->cluster_ip);
    }
    return json_i64_at(first(ports), "port", 0) == t->port &&
           (x->addresses == NULL || str_eq(json_str(ip), t->ip));
}

/* The address of a Service cannot be changed: one that has another is made anew. */
static bool must_go(const struct object_row *x, yyjson_val *root, const struct told *t) {
    return str_is(str_of(x->kind), SERVICE) &&
           !str_eq(json_str_at(root, "spec.clusterIP"), t->cluster_ip);
}

/* ---- keeping it ---- */

static enum work keep(struct controller *c, const struct object_row *x, const struct told *t) {
    const struct kind *k = kind_by_name(str_of(x->group), str_of(x->kind));
    const struct object *o = k ? mirror_get(c->env.mirror, k, STR("default"), STR(NAME)) : NULL;
    yyjson_doc *d;
    struct buf b;
    if (k == NULL || (o && object_tree(o, &c->arena, &d, NULL) != 0)) {
        return WORK_RETRY;
    }
    if (o && (o->deleting_ns || says(x, yyjson_doc_get_root(d), t))) {
        return WORK_OK;
    }
    struct round *r = controller_begin(c);
    buf_init(&b, BODY_MAX);
    buf_c(&b, o ? "{" : x->head);
    x->body(&b, t);
    if (buf_ok(&b) != 0) {
        round_fail(r, buf_ok(&b));
    } else if (o && must_go(x, yyjson_doc_get_root(d), t)) {
        round_remove(r, k, o->ns, o->name, NULL); /* its end is heard of, and then it is made */
    } else if (o) {
        round_patch(r, k, o->ns, o->name, "", PATCH_MERGE, buf_view(&b));
    } else {
        round_create(r, k, STR("default"), buf_view(&b));
    }
    buf_release(&b);
    return round_end(r);
}

static enum work step(void *self, struct work_key key) {
    struct controller *c = self;
    struct told t;
    const struct kind *namespaces = kind_by_name(STR(""), STR("Namespace"));
    bool there = mirror_get(c->env.mirror, namespaces, STR(""), STR("default")) != NULL;
    if (!there || !told_of(c->env.api, &t)) { /* at the start only */
        workqueue_look(c->queue, key, LOOK_AGAIN_NS);
        return WORK_OK;
    }
    return keep(c, &objects[key.what], &t);
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
    CONTROLLER_KINDS({"", SERVICE, changed, .may = MAY_CREATE | MAY_PATCH | MAY_DELETE},
                     {"", "Endpoints", changed, .may = MAY_CREATE | MAY_PATCH},
                     {"discovery.k8s.io", "EndpointSlice", changed, .may = MAY_CREATE | MAY_PATCH},
                     {"", "Namespace"}),
    .start = start,
    .step = step,
};
