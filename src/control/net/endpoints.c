/* endpoints: keys are Services. See endpoints.h. */
#include "control/net/endpoints.h"

#include <stdlib.h>

#include "api/meta.h"
#include "api/schema/codec.h"
#include "api/tables/table.h"
#include "api/tables/view_discovery.h"
#include "base/limits.h"
#include "control/kit/edit.h"
#include "control/kit/views.h"

#define SERVICE_LABEL "kubernetes.io/service-name"
#define SLICE_MANAGER_LABEL "endpointslice.kubernetes.io/managed-by"
#define SLICE_MANAGER "endpointslice-controller.k8s.io"
#define MANAGED_LABEL "endpoints.kubernetes.io/managed-by"
#define MANAGER "endpoint-controller"
#define HEADLESS_LABEL "service.kubernetes.io/headless"
#define CAPACITY_NOTE "endpoints.kubernetes.io/over-capacity"

enum { SERVICES, SLICES, ENDPOINTS }; /* of the row's kinds */

struct endpoints_plan {
    struct controller *c;
    const struct service *service;
    struct endpoint_subset *subsets;
    size_t n, cap, n_addresses;
    bool truncated;
    int code;
};

/* ---- what should be ---- */

static bool has_ports(const struct endpoint_subset *s, const struct endpoint_slice *slice) {
    bool same = s->ports.n == slice->ports.n;

    for (size_t i = 0; same && i < s->ports.n; i++) {
        const struct slice_port *p = &slice->ports.v[i];
        same = s->ports.v[i].port == p->port.v && str_eq(s->ports.v[i].name, p->name) &&
               str_eq(s->ports.v[i].protocol, p->protocol);
    }
    return same;
}

/* The subset with the ports of this slice; NULL: no memory. */
static struct endpoint_subset *subset_of(struct endpoints_plan *p,
                                         const struct endpoint_slice *slice) {
    struct arena *a = &p->c->arena;

    for (size_t i = 0; i < p->n; i++) {
        if (has_ports(&p->subsets[i], slice)) {
            return &p->subsets[i];
        }
    }
    struct endpoint_port *ports = ARENA_ARRAY(a, struct endpoint_port, slice->ports.n + 1);
    if (ports == NULL || (p->n == p->cap && ARENA_GROW(a, p->subsets, p->cap) != 0)) {
        return NULL;
    }
    for (size_t i = 0; i < slice->ports.n; i++) {
        const struct slice_port *from = &slice->ports.v[i];
        ports[i] = (struct endpoint_port){.name = from->name,
                                          .port = from->port.v,
                                          .protocol = from->protocol,
                                          .app_protocol = from->app_protocol};
    }
    p->subsets[p->n] = (struct endpoint_subset){.ports = {ports, slice->ports.n}};
    return &p->subsets[p->n++];
}

static void add_endpoint(struct endpoints_plan *p, struct endpoint_subset *s,
                         const struct slice_endpoint *e) {
    const struct slice_conditions none = {{0}}, *c = e->conditions ? e->conditions : &none;
    bool ready = c->ready.set && c->ready.v;

    if (e->addresses.n == 0 || (!ready && c->terminating.set && c->terminating.v)) {
        return;
    }
    if (p->n_addresses == ENDPOINTS_MAX) {
        p->truncated = true;
        return;
    }
    p->n_addresses++;
    struct endpoint_address a = {.ip = e->addresses.v[0],
                                 .hostname = e->hostname,
                                 .node_name = e->node_name,
                                 .target_ref = e->target_ref};
    if (ready) {
        s->addresses.v[s->addresses.n++] = a;
    } else {
        s->not_ready_addresses.v[s->not_ready_addresses.n++] = a;
    }
}

/* Room for as many more in both lists. */
static int make_room(struct arena *a, struct endpoint_subset *s, size_t more) {
    struct endpoint_address *ready =
        ARENA_ARRAY(a, struct endpoint_address, s->addresses.n + more + 1);
    struct endpoint_address *other =
        ARENA_ARRAY(a, struct endpoint_address, s->not_ready_addresses.n + more + 1);

    if (ready == NULL || other == NULL) {
        return ERR_NOMEM;
    }
    if (s->addresses.n) {
        memcpy(ready, s->addresses.v, s->addresses.n * sizeof(*ready));
    }
    if (s->not_ready_addresses.n) {
        memcpy(other, s->not_ready_addresses.v, s->not_ready_addresses.n * sizeof(*other));
    }
    s->addresses.v = ready;
    s->not_ready_addresses.v = other;
    return 0;
}

static bool is_of_pods(const struct object *o) {
    return str_is(object_label(o, STR(SLICE_MANAGER_LABEL)), SLICE_MANAGER) && !o->deleting_ns;
}

static bool add_slice(void *ctx, const struct object *o) {
    struct endpoints_plan *p = ctx;
    struct arena *a = &p->c->arena;
    struct endpoint_slice slice;
    yyjson_doc *d;

    if (o->kind != p->c->kinds[SLICES] || !is_of_pods(o)) {
        return true;
    }
    p->code = object_tree(o, a, &d, NULL);
    p->code = p->code
                  ? p->code
                  : codec_decode(&schema_endpoint_slice, yyjson_doc_get_root(d), a, &slice, NULL);
    if (p->code == 0 && slice.endpoints.n) {
        struct endpoint_subset *s = subset_of(p, &slice);
        p->code = s ? make_room(a, s, slice.endpoints.n) : ERR_NOMEM;
        for (size_t i = 0; p->code == 0 && i < slice.endpoints.n; i++) {
            add_endpoint(p, s, &slice.endpoints.v[i]);
        }
    }
    return p->code == 0;
}

static int address_cmp(const void *va, const void *vb) {
    const struct endpoint_address *a = va, *b = vb;

    return str_cmp(a->ip, b->ip);
}

static int subset_cmp(const void *va, const void *vb) {
    const struct endpoint_subset *a = va, *b = vb;

    for (size_t i = 0; i < a->ports.n && i < b->ports.n; i++) {
        int c = str_cmp(a->ports.v[i].name, b->ports.v[i].name);
        c = c ? c
              : (a->ports.v[i].port > b->ports.v[i].port) -
                    (a->ports.v[i].port < b->ports.v[i].port);
        if (c) {
            return c;
        }
    }
    return (a->ports.n > b->ports.n) - (a->ports.n < b->ports.n);
}

/* The same order each time, so that what is the same is not written; subsets without addresses are left out. */
static void put_in_order(struct endpoints_plan *p) {
    size_t n = 0;

    for (size_t i = 0; i < p->n; i++) {
        struct endpoint_subset *s = &p->subsets[i];
        if (s->addresses.n) {
            qsort(s->addresses.v, s->addresses.n, sizeof(*s->addresses.v), address_cmp);
        }
        if (s->not_ready_addresses.n) {
            qsort(s->not_ready_addresses.v, s->not_ready_addresses.n,
                  sizeof(*s->not_ready_addresses.v), address_cmp);
        }
        if (s->addresses.n || s->not_ready_addresses.n) {
            p->subsets[n++] = *s;
        }
    }
    p->n = n;
    if (n) {
        qsort(p->subsets, n, sizeof(*p->subsets), subset_cmp);
    }
}

/* The labels of the Service, and whose they are. */
static int describe(struct endpoints_plan *p, struct meta *m) {
    struct arena *a = &p->c->arena;

    m->labels = p->service->metadata->labels;
    int code = meta_set(&m->labels, a, MANAGED_LABEL, STR(MANAGER));
    if (code == 0 && str_is(p->service->spec->cluster_ip, "None")) {
        code = meta_set(&m->labels, a, HEADLESS_LABEL, STR(""));
    }
    return code ? code
                : meta_set(&m->annotations, a, CAPACITY_NOTE,
                           p->truncated ? STR("truncated") : (struct str){0});
}

/* ---- writing ---- */

static void write_endpoints(struct endpoints_plan *p, struct round *r, const struct object *o,
                            struct str ns, struct str name) {
    struct controller *c = p->c;
    struct meta meta = {.name = name};
    struct endpoints was, want = {.metadata = &meta, .subsets = {p->subsets, p->n}};
    yyjson_doc *d;
    int code = 0;

    if (o) {
        code = object_tree(o, &c->arena, &d, NULL);
        code = code
                   ? code
                   : codec_decode(&schema_endpoints, yyjson_doc_get_root(d), &c->arena, &was, NULL);
        meta = code ? meta : *was.metadata;
    }
    code = code ? code : describe(p, &meta);
    if (code) {
        round_fail(r, code);
    } else if (o) {
        (void)edit_send(r, o, "", EDIT_VERSION, &was, &want);
    } else {
        (void)edit_create(r, c->kinds[ENDPOINTS], ns, &want);
    }
}

static enum work without_service(struct controller *c, const struct object *o) {
    return o && !o->deleting_ns ? controller_remove(c, o) : WORK_OK;
}

static enum work step(void *self, struct work_key key) {
    struct controller *c = self;
    const struct object *o = mirror_get(c->env.mirror, c->kinds[SERVICES], key.ns, key.name);
    const struct object *have = mirror_get(c->env.mirror, c->kinds[ENDPOINTS], key.ns, key.name);
    struct service service;
    yyjson_doc *d;

    if (o == NULL) {
        return without_service(c, have);
    }
    if (object_tree(o, &c->arena, &d, NULL) != 0 ||
        codec_decode(&schema_service, yyjson_doc_get_root(d), &c->arena, &service, NULL) != 0) {
        return WORK_RETRY;
    }
    if (o->deleting_ns || service.spec == NULL || service.spec->selector.n == 0 ||
        str_is(service.spec->type, "ExternalName")) {
        return WORK_OK;
    }
    struct endpoints_plan p = {.c = c, .service = &service};
    mirror_owned(c->env.mirror, o, add_slice, &p);
    if (p.code) {
        return WORK_RETRY;
    }
    put_in_order(&p);
    struct round *r = controller_begin(c);
    if (r == NULL) {
        return WORK_RETRY;
    }
    write_endpoints(&p, r, have, key.ns, key.name);
    return round_end(r);
}

/* ---- what to look at ---- */

static void by_name(void *self, const struct change *ch) {
    struct controller *c = self;

    workqueue_add(c->queue, ch->obj->ns, ch->obj->name);
}

/* Somebody's own, of a Service that is still to come, are not looked at. */
static void endpoints_changed(void *self, const struct change *ch) {
    struct controller *c = self;
    const struct object *o = ch->obj;

    if (mirror_get(c->env.mirror, c->kinds[SERVICES], o->ns, o->name) != NULL ||
        str_is(object_label(o, STR(MANAGED_LABEL)), MANAGER)) {
        by_name(self, ch);
    }
}

static void slice_changed(void *self, const struct change *ch) {
    struct controller *c = self;
    struct str service = object_label(ch->obj, STR(SERVICE_LABEL));

    if (service.n) {
        workqueue_add(c->queue, ch->obj->ns, service);
    }
}

const struct controller_row endpoints_controller = {
    .name = "endpoints",
    .set = CONTROL_ENDPOINTS,
    .who = "endpoint-controller",
    CONTROLLER_KINDS([SERVICES] = {"", "Service", by_name, .first = true},
                     [SLICES] = {"discovery.k8s.io", "EndpointSlice", slice_changed},
                     [ENDPOINTS] = {"", "Endpoints", endpoints_changed, .first = true,
                                    .may = MAY_CREATE | MAY_PATCH | MAY_DELETE}),
    .step = step,
    .size = sizeof(struct controller),
};
