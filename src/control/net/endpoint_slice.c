/*
 * endpoint_slice: keys are Services. See endpoint_slice.h.
 *
 * A pod leads to the Services that select it through a book of selectors, one entry a Service: pods change often, and
 * their namespace's Services need not be parsed each time.
 */
#include "control/net/endpoint_slice.h"

#include "api/schema/codec.h"
#include "api/selector.h"
#include "api/tables/table.h"
#include "api/tables/view_discovery.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/mem.h"
#include "control/kit/edit.h"
#include "control/kit/views.h"

#define SERVICE_LABEL "kubernetes.io/service-name"
#define MANAGED_LABEL "endpointslice.kubernetes.io/managed-by"
#define MANAGER "endpointslice-controller.k8s.io"
#define HEADLESS_LABEL "service.kubernetes.io/headless"

enum { SERVICES, PODS, SLICES }; /* of the row's kinds */
enum { SOON_MS = 10, LATE_MS = 500, PODS_A_MS = 10 };

struct book_entry {
    struct arena arena;
    struct str key, ns, name; /* key: "NS/NAME" */
    struct selector selector;
    size_t pods; /* found the last time */
};

struct slices {
    struct controller c;
    struct map book; /* key -> struct book_entry */
};

/* ---- the book of selectors ---- */

static void forget(struct slices *s, struct str key) {
    struct book_entry *e = map_del(&s->book, key);

    if (e) {
        struct arena a = e->arena;
        arena_release(&a);
        mem_free(e);
    }
}

static struct str key_of(const struct object *o, char room[2 * LIMIT_NAME + 2]) {
    int n = snprintf(room, 2 * LIMIT_NAME + 2, "%.*s/%.*s", STR_ARG(o->ns), STR_ARG(o->name));
    return str_from(room, (size_t)n);
}

/* Reads spec.selector into the entry; false: it has none. */
static bool read_selector(const struct object *o, struct book_entry *e) {
    yyjson_doc *d;

    if (object_tree(o, &e->arena, &d, NULL) != 0) {
        return false;
    }
    yyjson_val *v = json_path(yyjson_doc_get_root(d), "spec.selector"), *k;
    struct str_map map = {.v = ARENA_ARRAY(&e->arena, struct str_pair, yyjson_obj_size(v) + 1)};
    yyjson_obj_iter it = yyjson_obj_iter_with(v);
    while (map.v && (k = yyjson_obj_iter_next(&it)) != NULL) {
        map.v[map.n++] = (struct str_pair){json_str(k), json_str(yyjson_obj_iter_get_val(k))};
    }
    return map.n > 0 && selector_from_map(&e->arena, &map, &e->selector, NULL) == 0;
}

static void note(struct slices *s, const struct object *o) {
    char room[2 * LIMIT_NAME + 2];
    struct str key = key_of(o, room);
    struct book_entry *e = mem_zalloc(sizeof(*e));

    forget(s, key);
    if (e == NULL) {
        return;
    }
    arena_init(&e->arena, 4 << 20);
    e->key = arena_str(&e->arena, key);
    e->ns = arena_str(&e->arena, o->ns);
    e->name = arena_str(&e->arena, o->name);
    if (e->key.p == NULL || !read_selector(o, e) || map_put(&s->book, e->key, e, NULL) != 0) {
        struct arena a = e->arena;
        arena_release(&a);
        mem_free(e);
    }
}

/* A Service of many pods is looked at less often. */
static void look(struct slices *s, const struct book_entry *e) {
    int64_t ms = SOON_MS + (int64_t)e->pods / PODS_A_MS;

    workqueue_look(s->c.queue, (struct work_key){0, e->ns, e->name},
                   (ms < LATE_MS ? ms : LATE_MS) * NS_PER_MS);
}

static void service_changed(void *self, const struct change *ch) {
    struct slices *s = self;
    char room[2 * LIMIT_NAME + 2];

    if (ch->type == CHANGE_DELETED) {
        forget(s, key_of(ch->obj, room));
        return; /* its slices go with their owner */
    }
    note(s, ch->obj);
    workqueue_add(s->c.queue, ch->obj->ns, ch->obj->name);
}

static void pod_changed(void *self, const struct change *ch) {
    struct slices *s = self;
    const struct map_entry *m;

    for (size_t i = 0; (m = map_next(&s->book, &i)) != NULL;) {
        const struct book_entry *e = m->value;
        if (str_eq(e->ns, ch->obj->ns) &&
            (selector_matches(&e->selector, &ch->obj->labels) ||
             (ch->old && selector_matches(&e->selector, &ch->old->labels)))) {
            look(s, e);
        }
    }
}

static void slice_changed(void *self, const struct change *ch) {
    struct slices *s = self;

    for (size_t i = 0; i < ch->obj->labels.n; i++) {
        const struct str_pair *l = &ch->obj->labels.v[i];
        if (str_is(l->key, SERVICE_LABEL)) {
            workqueue_add(s->c.queue, ch->obj->ns, l->value);
        }
    }
}

/* ---- what should be ---- */

/* Pods whose ports are the same numbers. */
struct slice_group {
    struct slice_port *ports;
    size_t n_ports;
    struct slice_endpoint *v;
    size_t n, cap;
};

struct slice_plan {
    struct slices *s;
    const struct service *service;
    struct str ns, name;
    struct selector selector;
    struct slice_group groups[ENDPOINT_GROUPS_MAX];
    size_t n_groups, n_pods;
    bool failed;
};

/* The number of a port of the pod; 0: it has no such port. */
static int32_t port_number(yyjson_val *pod, const struct service_port *p) {
    static const char *const lists[] = {"spec.containers", "spec.initContainers"};
    int64_t number;

    if (p->target_port.n == 0) {
        return p->port;
    }
    if (str_to_i64(p->target_port, &number)) {
        return (int32_t)number;
    }
    for (int l = 0; l < 2; l++) {
        yyjson_arr_iter cs = yyjson_arr_iter_with(json_path(pod, lists[l]));
        for (yyjson_val *c; (c = yyjson_arr_iter_next(&cs)) != NULL;) {
            yyjson_arr_iter it = yyjson_arr_iter_with(json_get(c, STR("ports")));
            for (yyjson_val *x; (x = yyjson_arr_iter_next(&it)) != NULL;) {
                struct str protocol = json_str_at(x, "protocol");
                if (str_eq(json_str_at(x, "name"), p->target_port) &&
                    (protocol.n == 0 || str_eq(protocol, p->protocol))) {
                    return (int32_t)json_i64_at(x, "containerPort", 0);
                }
            }
        }
    }
    return 0;
}

static struct slice_group *group_of(struct slice_plan *p, yyjson_val *pod) {
    struct arena *a = &p->s->c.arena;
    size_t n = p->service->spec->ports.n;
    struct slice_port *ports = ARENA_ARRAY(a, struct slice_port, n + 1);
    size_t k = 0;

    for (size_t i = 0; ports && i < n; i++) {
        const struct service_port *sp = &p->service->spec->ports.v[i];
        int32_t number = port_number(pod, sp);
        if (number > 0) {
            ports[k++] = (struct slice_port){.name = sp->name,
                                             .protocol = sp->protocol,
                                             .port = {true, number},
                                             .app_protocol = sp->app_protocol};
        }
    }
    if (ports == NULL || (n && k == 0)) {
        p->failed |= ports == NULL;
        return NULL; /* none of its ports is here */
    }
    for (size_t g = 0; g < p->n_groups; g++) {
        struct slice_group *x = &p->groups[g];
        bool same = x->n_ports == k;
        for (size_t i = 0; same && i < k; i++) {
            same = x->ports[i].port.v == ports[i].port.v && str_eq(x->ports[i].name, ports[i].name);
        }
        if (same) {
            return x;
        }
    }
    if (p->n_groups == ENDPOINT_GROUPS_MAX) {
        return NULL;
    }
    p->groups[p->n_groups] = (struct slice_group){.ports = ports, .n_ports = k};
    return &p->groups[p->n_groups++];
}

static bool is_ready(yyjson_val *pod) {
    yyjson_arr_iter it = yyjson_arr_iter_with(json_path(pod, "status.conditions"));

    for (yyjson_val *c; (c = yyjson_arr_iter_next(&it)) != NULL;) {
        if (str_is(json_str_at(c, "type"), "Ready")) {
            return str_is(json_str_at(c, "status"), "True");
        }
    }
    return false;
}

static void fill(struct slice_plan *p, const struct object *o, yyjson_val *pod,
                 struct slice_endpoint *e) {
    struct arena *a = &p->s->c.arena;
    bool ready = is_ready(pod), ending = o->deleting_ns != 0;
    struct str *ip = ARENA_ARRAY(a, struct str, 1);
    struct slice_conditions *c = arena_zalloc(a, sizeof(*c));
    struct object_reference *ref = arena_zalloc(a, sizeof(*ref));

    if (ip == NULL || c == NULL || ref == NULL) {
        p->failed = true;
        return;
    }
    ip[0] = json_str_at(pod, "status.podIP");
    *c = (struct slice_conditions){
        .ready = {true, (ready && !ending) || p->service->spec->publish_not_ready_addresses},
        .serving = {true, ready},
        .terminating = {true, ending}};
    *ref = (struct object_reference){
        .kind = STR("Pod"), .namespace = o->ns, .name = o->name, .uid = o->uid};
    bool named = str_eq(json_str_at(pod, "spec.subdomain"), p->name);
    *e = (struct slice_endpoint){.addresses = {ip, 1},
                                 .conditions = c,
                                 .hostname = named ? json_str_at(pod, "spec.hostname") : STR(""),
                                 .target_ref = ref,
                                 .node_name = json_str_at(pod, "spec.nodeName")};
}

static bool add_pod(void *ctx, const struct object *o) {
    struct slice_plan *p = ctx;
    struct arena *a = &p->s->c.arena;
    yyjson_doc *d;

    if (!selector_matches(&p->selector, &o->labels)) {
        return true;
    }
    p->n_pods++;
    if (object_tree(o, a, &d, NULL) != 0) {
        p->failed = true;
        return false;
    }
    yyjson_val *pod = yyjson_doc_get_root(d);
    struct str phase = json_str_at(pod, "status.phase"), ip = json_str_at(pod, "status.podIP");
    if (ip.n == 0 || str_is(phase, "Succeeded") || str_is(phase, "Failed")) {
        return true;
    }
    struct slice_group *g = group_of(p, pod);
    if (g == NULL) {
        return !p->failed;
    }
    if (g->n == g->cap && ARENA_GROW(a, g->v, g->cap) != 0) {
        p->failed = true;
        return false;
    }
    fill(p, o, pod, &g->v[g->n++]);
    return !p->failed;
}

/* ---- writing ---- */

static void describe(struct slice_plan *p, const struct object *service, struct meta *m,
                     struct str name) {
    struct arena *a = &p->s->c.arena;
    struct str_pair *labels = ARENA_ARRAY(a, struct str_pair, 3);
    struct owner_reference *owner = arena_zalloc(a, sizeof(*owner));
    bool headless = str_is(p->service->spec->cluster_ip, "None");

    if (labels == NULL || owner == NULL) {
        p->failed = true;
        return;
    }
    labels[0] = (struct str_pair){STR(MANAGED_LABEL), STR(MANAGER)};
    labels[1] = (struct str_pair){STR(SERVICE_LABEL), p->name};
    labels[2] = (struct str_pair){STR(HEADLESS_LABEL), STR("")};
    *owner = (struct owner_reference){.api_version = STR("v1"),
                                      .kind = STR("Service"),
                                      .name = service->name,
                                      .uid = service->uid,
                                      .controller = {true, true},
                                      .block_owner_deletion = {true, true}};
    *m = (struct meta){
        .name = name, .labels = {labels, headless ? 3 : 2}, .owner_references = {owner, 1}};
}

/* A name that is the same each time: of the Service's uid and the place of the slice. */
static struct str slice_name(struct slice_plan *p, const struct object *service, size_t i) {
    struct arena *a = &p->s->c.arena;
    uint64_t h = str_hash(arena_f(a, "%.*s %zu", STR_ARG(service->uid), i));
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    char tail[6];

    for (int k = 0; k < 5; k++, h /= sizeof(letters) - 1) {
        tail[k] = letters[h % (sizeof(letters) - 1)];
    }
    tail[5] = 0;
    return arena_f(a, "%.*s-%s", STR_ARG(p->name), tail);
}

static void write_slice(struct slice_plan *p, struct round *r, const struct object *service,
                        const struct slice_group *g, size_t from, size_t i) {
    struct slices *s = p->s;
    struct str name = slice_name(p, service, i);
    const struct object *have = mirror_get(s->c.env.mirror, s->c.kinds[SLICES], p->ns, name);
    size_t n = g->n - from < ENDPOINT_SLICE_MAX ? g->n - from : ENDPOINT_SLICE_MAX;
    struct endpoint_slice was, want = {.endpoints = {g->v + from, n},
                                       .ports = {g->ports, g->n_ports},
                                       .address_type = STR("IPv4")};
    struct meta m;

    describe(p, service, &m, name);
    want.metadata = &m;
    if (p->failed) {
        round_fail(r, ERR_NOMEM);
        return;
    }
    if (have) {
        yyjson_doc *d;
        if (object_tree(have, &s->c.arena, &d, NULL) != 0 ||
            codec_decode(&schema_endpoint_slice, yyjson_doc_get_root(d), &s->c.arena, &was, NULL)) {
            round_fail(r, ERR_NOMEM);
            return;
        }
        want.metadata = was.metadata;
        (void)edit_send(r, have, "", EDIT_UID, &was, &want);
        return;
    }
    (void)edit_create(r, s->c.kinds[SLICES], p->ns, &want);
}

struct slice_stale {
    struct slice_plan *p;
    struct round *r;
    const struct object *service;
    size_t n; /* slices that there should be */
};

static bool remove_stale(void *ctx, const struct object *o) {
    struct slice_stale *x = ctx;
    bool ours = false;

    for (size_t i = 0; i < o->labels.n; i++) {
        ours |= str_is(o->labels.v[i].key, MANAGED_LABEL) && str_is(o->labels.v[i].value, MANAGER);
    }
    for (size_t i = 0; ours && i < x->n; i++) {
        ours = !str_eq(o->name, slice_name(x->p, x->service, i));
    }
    if (ours && str_is(str_of(o->kind->kind), "EndpointSlice") && !o->deleting_ns) {
        round_remove(x->r, o->kind, o->ns, o->name,
                     &(struct delete_options){.uid = o->uid, .grace_seconds = -1});
    }
    return true;
}

static void write_all(struct slice_plan *p, struct round *r, const struct object *service) {
    struct slice_stale stale = {p, r, service, 0};

    for (size_t g = 0; g < p->n_groups; g++) {
        for (size_t from = 0; from < p->groups[g].n; from += ENDPOINT_SLICE_MAX) {
            write_slice(p, r, service, &p->groups[g], from, stale.n++);
        }
    }
    if (stale.n == 0 && p->selector.n) { /* one without endpoints says that it was looked at */
        write_slice(p, r, service, &(struct slice_group){0}, 0, stale.n++);
    }
    mirror_owned(p->s->c.env.mirror, service, remove_stale, &stale);
}

static enum work step(void *self, struct work_key key) {
    struct slices *s = self;
    const struct object *o = mirror_get(s->c.env.mirror, s->c.kinds[SERVICES], key.ns, key.name);
    struct service service;
    yyjson_doc *d;
    char room[2 * LIMIT_NAME + 2];

    if (o == NULL || o->deleting_ns) {
        return WORK_OK;
    }
    struct book_entry *e = map_get(&s->book, key_of(o, room));
    if (object_tree(o, &s->c.arena, &d, NULL) != 0 ||
        codec_decode(&schema_service, yyjson_doc_get_root(d), &s->c.arena, &service, NULL) ||
        service.spec == NULL) {
        return WORK_RETRY;
    }
    struct slice_plan p = {.s = s, .service = &service, .ns = o->ns, .name = o->name};
    bool selects = e && !str_is(service.spec->type, "ExternalName");
    if (selects) {
        p.selector = e->selector;
        mirror_scan(s->c.env.mirror, s->c.kinds[PODS], o->ns, add_pod, &p);
        e->pods = p.n_pods;
    }
    if (p.failed) {
        return WORK_RETRY;
    }
    struct round *r = controller_begin(&s->c);
    write_all(&p, r, o);
    return round_end(r);
}

static int init(void *self, struct err *err) {
    struct slices *s = self;

    map_init(&s->book);
    return 0;
}

static void release(void *self) {
    struct slices *s = self;
    const struct map_entry *e;

    for (size_t i = 0; (e = map_next(&s->book, &i)) != NULL;) {
        forget(s, e->key);
    }
    map_release(&s->book);
}

const struct controller_row endpoint_slice_controller = {
    .name = "endpoints",
    .set = CONTROL_ENDPOINTS,
    .who = "endpointslice-controller",
    CONTROLLER_KINDS([SERVICES] = {"", "Service", service_changed, .first = true},
                     [PODS] = {"", "Pod", pod_changed},
                     [SLICES] = {"discovery.k8s.io", "EndpointSlice", slice_changed,
                                 .may = MAY_CREATE | MAY_PATCH | MAY_DELETE}),
    .step = step,
    .size = sizeof(struct slices),
    .init = init,
    .release = release,
};
