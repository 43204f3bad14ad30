/*
 * model_routes: models are collected first, then the slices of their Services are read in one pass, so that a table
 * costs one look at each object, however many Services have no model. See model_routes.h.
 */
#include "world/gateway/model_routes.h"

#include <stdlib.h>

#include "base/map.h"
#include "core/serve/serve_names.h"
#include "wire/text/time.h"

#define SERVICE_OF_SLICE "kubernetes.io/service-name"
#define STOP_NOTE "serving.kserve.io/stop"
#define GROUP "serving.kserve.io"

enum { TEXT_MAX = 512, HASH_TEXT_MAX = 640 };

static const int64_t HOLD_MAX = 24 * 3600 * NS_PER_SEC; /* as in a file of routes */

/* One Service of a model. */
struct model_side {
    struct served_model *model;
    struct str service, deployment, port;
    int32_t weight;
    struct routes_endpoint *v;
    size_t n, cap;
};

struct served_model {
    struct routes_model r;
    struct model_side sides[MODEL_BACKENDS_MAX];
    size_t n_sides;
    struct str served, fault; /* fault: what is wrong with its annotations; empty: nothing */
    struct str queued;        /* what its start waits for; empty: nothing */
    bool stopped, wakes;
    int64_t idle_ns;
};

struct table_making {
    const struct mirror *m;
    struct arena *a;
    struct log *log;
    struct served_model **v;
    size_t n, cap;
    struct map sides; /* "ns/service" -> side */
    bool out;         /* of memory */
};

/* ---- annotations ---- */

static struct str note(yyjson_val *obj, const char *key) {
    return json_str(json_get(json_path(obj, "metadata.annotations"), str_of(key)));
}

static void blame(struct table_making *k, struct served_model *m, const char *key, struct str text,
                  const char *want) {
    if (m->fault.n == 0) {
        m->fault = arena_f(k->a, "annotation %s: %.*s: expected %s", key, STR_ARG(text), want);
    }
}

static int64_t number_note(struct table_making *k, struct served_model *m, yyjson_val *obj,
                           const char *key) {
    struct str text = note(obj, key);
    int64_t n = 0;
    if (text.n && (!str_to_i64(text, &n) || n < 0)) {
        blame(k, m, key, text, "a number from 0");
        n = 0;
    }
    return n;
}

static int64_t time_note(struct table_making *k, struct served_model *m, yyjson_val *obj,
                         const char *key, int64_t most, const char *want) {
    struct str text = note(obj, key);
    int64_t ns = 0;
    if (text.n && (duration_parse(text, &ns, NULL) != 0 || ns <= 0 || ns > most)) {
        blame(k, m, key, text, want);
        ns = 0;
    }
    return ns;
}

static void read_protocols(struct table_making *k, struct served_model *m, struct str text) {
    struct str word;
    while (str_next(&text, ',', &word)) {
        word = str_trim(word);
        unsigned p = str_is(word, "openai") ? ROUTES_OPENAI
                     : str_is(word, "v1")   ? ROUTES_V1
                     : str_is(word, "v2")   ? ROUTES_V2
                                            : 0;
        if (p == 0) {
            blame(k, m, "berth.dev/model-protocols", word, "openai, v1 or v2, with commas between");
        }
        m->r.protocols |= p;
    }
}

/* "a, b=served" */
static void read_aliases(struct table_making *k, struct served_model *m, struct str text) {
    struct routes_alias *v = ARENA_ARRAY(k->a, struct routes_alias, ROUTES_ALIASES_MAX);
    struct str word, name, served;
    size_t n = 0;
    while (v != NULL && str_next(&text, ',', &word)) {
        word = str_trim(word);
        bool named = str_cut(word, '=', &name, &served);
        if (word.n == 0 || n == ROUTES_ALIASES_MAX) {
            blame(k, m, "berth.dev/model-aliases", word, "at most 256 names with commas between");
            return;
        }
        v[n++] = named ? (struct routes_alias){str_trim(name), str_trim(served)}
                       : (struct routes_alias){word, m->served};
    }
    k->out = k->out || v == NULL;
    m->r.aliases = v;
    m->r.n_aliases = n;
}

static void read_notes(struct table_making *k, struct served_model *m, yyjson_val *obj) {
    struct str served = note(obj, "berth.dev/model-served-name");
    m->served = served.n ? served : m->r.name;
    m->r.limits = (struct routes_limits){
        .requests = number_note(k, m, obj, "berth.dev/model-requests-per-minute"),
        .tokens = number_note(k, m, obj, "berth.dev/model-tokens-per-minute"),
        .streams = number_note(k, m, obj, "berth.dev/model-streams")};
    m->r.hold_ms = time_note(k, m, obj, "berth.dev/model-hold", HOLD_MAX,
                             "a time like 90s or 10m, at most 24h") /
                   NS_PER_MS;
    if (note(obj, "berth.dev/model-protocols").n) {
        read_protocols(k, m, note(obj, "berth.dev/model-protocols"));
    }
    if (note(obj, "berth.dev/model-aliases").n) {
        read_aliases(k, m, note(obj, "berth.dev/model-aliases"));
    }
}

/* ---- models ---- */

static struct served_model *add_model(struct table_making *k, const struct object *o,
                                      struct str name) {
    if (k->n == k->cap) {
        size_t cap = k->cap ? 2 * k->cap : 64;
        struct served_model **v = ARENA_ARRAY(k->a, struct served_model *, cap);
        if (v == NULL) {
            k->out = true;
            return NULL;
        }
        for (size_t i = 0; i < k->n; i++) {
            v[i] = k->v[i];
        }
        k->v = v;
        k->cap = cap;
    }
    struct served_model *m = ARENA_ARRAY(k->a, struct served_model, 1);
    k->out = k->out || m == NULL;
    if (m != NULL) {
        m->r = (struct routes_model){.name = arena_str(k->a, name),
                                     .project = o->ns,
                                     .service = o->name,
                                     .created_s = o->created_ns / NS_PER_SEC};
        k->v[k->n++] = m;
    }
    return m;
}

static void add_side(struct table_making *k, struct served_model *m, struct str service,
                     struct str deployment, struct str port, int32_t weight) {
    struct model_side *s = &m->sides[m->n_sides++];
    struct str key = arena_f(k->a, "%.*s/%.*s", STR_ARG(m->r.project), STR_ARG(service));
    *s = (struct model_side){.model = m,
                             .service = arena_str(k->a, service),
                             .deployment = arena_str(k->a, deployment.n ? deployment : service),
                             .port = arena_str(k->a, port),
                             .weight = weight};
    k->out = k->out || map_put(&k->sides, key, s, NULL) != 0;
}

static yyjson_val *tree(struct table_making *k, const struct object *o) {
    yyjson_doc *d;
    if (object_tree(o, k->a, &d, NULL) != 0) {
        k->out = k->out || arena_ok(k->a) != 0;
        return NULL;
    }
    return yyjson_doc_get_root(d);
}

/* The object's bytes have it; a label needs no parsing, an annotation does, so the bytes are searched first. */
static bool has_model(const struct object *o) {
    return object_label(o, STR(MODEL_NAME_NOTE)).n > 0 ||
           str_contains(o->json, STR("\"" MODEL_NAME_NOTE "\""));
}

static bool on_service(void *ctx, const struct object *o) {
    struct table_making *k = ctx;
    yyjson_val *obj = has_model(o) ? tree(k, o) : NULL;
    struct str name = note(obj, MODEL_NAME_NOTE);
    name = name.n ? name : object_label(o, STR(MODEL_NAME_NOTE));
    struct served_model *m = obj && name.n ? add_model(k, o, name) : NULL;
    if (m != NULL) {
        read_notes(k, m, obj);
        add_side(k, m, o->name, note(obj, "berth.dev/model-deployment"),
                 note(obj, "berth.dev/model-port"), 1);
    }
    return !k->out;
}

/* Whether the queue has not decided about the newest pod yet, or is about to admit it: requests then wait for the start
 * as for any other. The texts are those of control/serve. */
static bool starts_soon(struct str message) {
    return str_contains(message, STR("waits for its Workload")) ||
           str_contains(message, STR("starts now")) || str_ends(message, STR(": waits for quota"));
}

/* Why the newest pod waits, if it waits for quota: the condition that the service's controller sets says so. */
static struct str queued_of(yyjson_val *obj) {
    yyjson_val *list = json_path(obj, "status.conditions"), *c;
    size_t i, n;
    yyjson_arr_foreach(list, i, n, c) {
        if (str_is(json_str_at(c, "reason"), "Queued") &&
            str_is(json_str_at(c, "status"), "False")) {
            struct str message = json_str_at(c, "message");
            return starts_soon(message) ? (struct str){0}
                   : message.n          ? message
                                        : STR("it waits for quota");
        }
    }
    return (struct str){0};
}

/* The word after `before` in a text, up to one of " ,:"; empty: there is none. */
static struct str word_after(struct str text, const char *before) {
    size_t n = strlen(before);
    for (size_t i = 0; i + n < text.n; i++) {
        if (str_starts(str_skip(text, i), str_of(before))) {
            struct str rest = str_skip(text, i + n);
            size_t end = 0;
            while (end < rest.n && strchr(" ,:", rest.p[end]) == NULL) {
                end++;
            }
            return str_head(rest, end);
        }
    }
    return (struct str){0};
}

/* "LocalQueue default: position 2, starts in 5m: ...", as explanations say it; what is not said stays unknown. */
static void read_place(struct served_model *m) {
    int64_t n, ns;
    if (str_to_i64(word_after(m->queued, "position "), &n) && n > 0) {
        m->r.position = n;
    }
    if (duration_parse(word_after(m->queued, "starts in "), &ns, NULL) == 0 && ns > 0) {
        m->r.eta_s = ns / NS_PER_SEC;
    }
}

/* What an InferenceService and its predictor agree to. */
static void read_scaling(struct table_making *k, struct served_model *m, yyjson_val *obj,
                         const char *least) {
    int64_t idle = time_note(k, m, obj, MODEL_IDLE_NOTE, INT64_MAX, "a time like 90s or 10m");
    m->wakes = json_i64_at(obj, least, 1) == 0;
    m->idle_ns = idle ? idle : MODEL_IDLE_S * NS_PER_SEC;
    m->stopped = str_is(note(obj, STOP_NOTE), "true");
    m->queued = queued_of(obj);
}

static bool on_inference(void *ctx, const struct object *o) {
    struct table_making *k = ctx;
    yyjson_val *obj = tree(k, o);
    struct served_model *m = obj && o->deleting_ns == 0 ? add_model(k, o, o->name) : NULL;
    struct serve_names names;
    struct err err = {0};
    if (m == NULL) {
        return !k->out;
    }
    read_notes(k, m, obj);
    read_scaling(k, m, obj, "spec.predictor.minReplicas");
    if (serve_names(k->a, o->name, o->ns, STR("example.com"), &names, &err) != 0) {
        m->fault = arena_f(k->a, "%s", err.text);
        return !k->out;
    }
    /* There is a canary's Service only while there is a canary. */
    const struct kind *services = kind_by_name(STR(""), STR("Service"));
    bool two = mirror_get(k->m, services, o->ns, names.canary) != NULL;
    int64_t canary = two ? json_i64_at(obj, "spec.predictor.canaryTrafficPercent", 0) : 0;
    canary = canary < 0 ? 0 : canary > 100 ? 100 : canary;
    struct str port = note(obj, "berth.dev/model-port");
    add_side(k, m, names.predictor, (struct str){0}, port, (int32_t)(100 - canary));
    if (canary > 0) {
        add_side(k, m, names.canary, (struct str){0}, port, (int32_t)canary);
    }
    return !k->out;
}

static bool on_llm(void *ctx, const struct object *o) {
    struct table_making *k = ctx;
    yyjson_val *obj = tree(k, o);
    struct str name = json_str_at(obj, "spec.model.name");
    struct served_model *m =
        obj && o->deleting_ns == 0 ? add_model(k, o, name.n ? name : o->name) : NULL;
    if (m != NULL) {
        read_notes(k, m, obj);
        read_scaling(k, m, obj,
                     json_path(obj, "spec.scaling") ? "spec.scaling.minReplicas" : "spec.replicas");
        add_side(k, m, arena_f(k->a, "%.*s-kserve-workload-svc", STR_ARG(o->name)),
                 arena_f(k->a, "%.*s-kserve", STR_ARG(o->name)), note(obj, "berth.dev/model-port"),
                 1);
    }
    return !k->out;
}

/* ---- endpoints ---- */

/* The port that is wanted; 0: the slice has none such. */
static uint16_t port_of(const struct model_side *s, yyjson_val *slice) {
    yyjson_val *list = json_get(slice, STR("ports")), *p;
    int64_t first = 0, named = 0, wanted = 0;
    size_t i, n;
    yyjson_arr_foreach(list, i, n, p) {
        int64_t port = json_i64_at(p, "port", 0);
        struct str name = json_str_at(p, "name");
        char digits[16];
        (void)snprintf(digits, sizeof digits, "%lld", (long long)port);
        if (port < 1 || port > 65535 || str_is(json_str_at(p, "protocol"), "UDP")) {
            continue;
        }
        first = first ? first : port;
        named = str_is(name, "http") ? port : named;
        wanted = s->port.n && (str_eq(name, s->port) || str_is(s->port, digits)) ? port : wanted;
    }
    return (uint16_t)(s->port.n ? wanted : named ? named : first);
}

/* The same server keeps its number; another pod, or the same address again, has another. */
static uint32_t number_of(struct str uid, struct str address, uint16_t port) {
    uint32_t h = 2166136261U; /* FNV-1a */
    char text[HASH_TEXT_MAX];
    int n = snprintf(text, sizeof text, "%.*s/%.*s/%u", STR_ARG(uid), STR_ARG(address), port);
    for (int i = 0; i < n && i < (int)sizeof text; i++) {
        h = (h ^ (unsigned char)text[i]) * 16777619U;
    }
    return h ? h : 1;
}

static void add_endpoint(struct table_making *k, struct model_side *s, yyjson_val *e,
                         uint16_t port) {
    struct str address = json_str(yyjson_arr_get_first(json_get(e, STR("addresses"))));
    struct str uid = json_str_at(e, "targetRef.uid"), zone = json_str_at(e, "zone");
    bool ending = json_bool_at(e, "conditions.terminating", false);
    if (s->n == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 8;
        struct routes_endpoint *v = ARENA_ARRAY(k->a, struct routes_endpoint, cap);
        if (v == NULL) {
            k->out = true;
            return;
        }
        for (size_t i = 0; i < s->n; i++) {
            v[i] = s->v[i];
        }
        s->v = v;
        s->cap = cap;
    }
    if (address.n) {
        s->v[s->n++] = (struct routes_endpoint){
            .id = number_of(uid, address, port),
            .name = json_str_at(e, "targetRef.name"),
            .address = address,
            .port = port,
            .zone = zone,
            .ready = json_bool_at(e, ending ? "conditions.serving" : "conditions.ready", !ending),
            .draining = ending,
        };
    }
}

static struct model_side *side_of(const struct map *sides, const struct object *slice) {
    char key[2 * TEXT_MAX];
    struct str service = object_label(slice, STR(SERVICE_OF_SLICE));
    int n = snprintf(key, sizeof key, "%.*s/%.*s", STR_ARG(slice->ns), STR_ARG(service));
    return service.n ? map_get(sides, str_from(key, (size_t)n)) : NULL;
}

static bool on_slice(void *ctx, const struct object *o) {
    struct table_making *k = ctx;
    struct model_side *s = side_of(&k->sides, o);
    yyjson_val *obj = s ? tree(k, o) : NULL, *e;
    uint16_t port = obj ? port_of(s, obj) : 0;
    size_t i, n;
    if (obj == NULL || str_is(json_str_at(obj, "addressType"), "FQDN")) {
        return !k->out;
    }
    if (port == 0 && s->port.n && yyjson_arr_size(json_get(obj, STR("ports")))) {
        blame(k, s->model, "berth.dev/model-port", s->port, "name or number of a port");
    }
    yyjson_val *list = json_get(obj, STR("endpoints"));
    yyjson_arr_foreach(list, i, n, e) {
        if (port != 0) {
            add_endpoint(k, s, e, port);
        }
    }
    return !k->out;
}

/* ---- Deployments ---- */

static void look_at_deployment(struct table_making *k, struct model_side *s, struct model_wake *w) {
    const struct kind *kind = kind_by_name(STR("apps"), STR("Deployment"));
    const struct object *o = mirror_get(k->m, kind, s->model->r.project, s->deployment);
    yyjson_val *obj = o ? tree(k, o) : NULL;
    struct str idle = note(obj, MODEL_IDLE_NOTE);
    *w = (struct model_wake){.project = s->model->r.project,
                             .service = s->model->r.service,
                             .deployment = s->deployment,
                             .replicas = obj ? json_i64_at(obj, "spec.replicas", 1) : -1,
                             .can = s->model->wakes,
                             .idle_ns = s->model->wakes ? s->model->idle_ns : 0};
    if (idle.n) {
        w->can = true;
        w->idle_ns = 0;
        if (!str_is(idle, "never") &&
            (duration_parse(idle, &w->idle_ns, NULL) != 0 || w->idle_ns <= 0)) {
            blame(k, s->model, MODEL_IDLE_NOTE, idle, "a time like 10m, or never");
            w->can = false;
        }
    }
}

static bool is_ready(const struct served_model *m) {
    for (size_t i = 0; i < m->n_sides; i++) {
        for (size_t j = 0; j < m->sides[i].n; j++) {
            if (m->sides[i].v[j].ready && !m->sides[i].v[j].draining) {
                return true;
            }
        }
    }
    return false;
}

static void find_state(struct table_making *k, struct served_model *m, const struct model_wake *w) {
    m->r.state = ROUTES_SERVING;
    if (m->fault.n) {
        m->r.state = ROUTES_STOPPED;
        m->r.reason = m->fault;
    } else if (m->stopped) {
        m->r.state = ROUTES_STOPPED;
        m->r.reason = STR("its owner stopped it (annotation " STOP_NOTE ")");
    } else if (w->replicas == 0 && !w->can) {
        m->r.state = ROUTES_STOPPED;
        m->r.reason = arena_f(k->a, "Deployment %.*s has no replicas", STR_ARG(w->deployment));
    } else if (w->replicas == 0) {
        m->r.state = ROUTES_AT_ZERO;
    } else if (w->replicas > 0 && !is_ready(m)) {
        m->r.state = m->queued.n ? ROUTES_QUEUED : ROUTES_STARTING;
        m->r.reason = m->queued;
        read_place(m);
    }
}

/* ---- the table ---- */

/* The older one of two models of a name is served. */
static int by_age(const void *a, const void *b) {
    const struct served_model *x = *(struct served_model *const *)a,
                              *y = *(struct served_model *const *)b;
    if (x->r.created_s != y->r.created_s) {
        return x->r.created_s < y->r.created_s ? -1 : 1;
    }
    int by = str_cmp(x->r.project, y->r.project);
    return by ? by : str_cmp(x->r.service, y->r.service);
}

static int add_route(struct table_making *k, struct served_model *m, struct routes *table,
                     struct err *err) {
    struct routes_backend backends[MODEL_BACKENDS_MAX];
    struct err why = {0};
    for (size_t i = 0; i < m->n_sides; i++) {
        const struct model_side *s = &m->sides[i];
        backends[i] = (struct routes_backend){s->service, s->weight, m->served, s->v, s->n};
    }
    m->r.backends = backends;
    m->r.n_backends = m->n_sides;
    int r = routes_add(table, &m->r, &why);
    if (r == ERR_NOMEM) {
        return err_set(err, r, "%s", why.text);
    }
    if (r != 0) {
        log_warn(k->log, "model %.*s of %.*s/%.*s is left out: %s", STR_ARG(m->r.name),
                 STR_ARG(m->r.project), STR_ARG(m->r.service), why.text);
    }
    return 0;
}

static void scan(struct table_making *k, const char *group, const char *name,
                 bool (*each)(void *ctx, const struct object *o)) {
    const struct kind *kind = kind_by_name(str_of(group), str_of(name));
    if (kind != NULL && !k->out) {
        mirror_scan(k->m, kind, STR(""), each, k);
    }
}

static int fill(struct table_making *k, struct model_routes *ret, struct err *err) {
    int r = 0;
    scan(k, "", "Service", on_service);
    scan(k, GROUP, "InferenceService", on_inference);
    scan(k, GROUP, "LLMInferenceService", on_llm);
    scan(k, "discovery.k8s.io", "EndpointSlice", on_slice);
    ret->table = routes_new();
    ret->wakes = ARENA_ARRAY(k->a, struct model_wake, k->n * MODEL_BACKENDS_MAX + 1);
    if (k->out || ret->table == NULL || ret->wakes == NULL) {
        return err_set(err, ERR_NOMEM, "no memory for the table of models");
    }
    if (k->n > 1) {
        qsort(k->v, k->n, sizeof *k->v, by_age);
    }
    for (size_t i = 0; i < k->n && r == 0; i++) {
        struct served_model *m = k->v[i];
        struct model_wake none = {.replicas = -1}, *first = &ret->wakes[ret->n_wakes];
        for (size_t j = 0; j < m->n_sides; j++) {
            look_at_deployment(k, &m->sides[j], &ret->wakes[ret->n_wakes++]);
        }
        find_state(k, m, m->n_sides ? first : &none);
        r = add_route(k, m, ret->table, err);
    }
    return r == 0 && k->out ? err_set(err, ERR_NOMEM, "no memory for the table of models") : r;
}

int model_routes_make(const struct mirror *m, struct arena *a, struct log *log,
                      struct model_routes *ret, struct err *err) {
    struct table_making k = {.m = m, .a = a, .log = log};
    struct model_routes made = {0};
    int r = fill(&k, &made, err);
    map_release(&k.sides);
    if (r != 0) {
        routes_unref(made.table);
        return r;
    }
    *ret = made;
    return 0;
}

bool model_routes_concern(const struct mirror *m, const struct change *c) {
    const struct object *o = c->obj;
    if (str_is(str_of(o->kind->kind), "EndpointSlice")) {
        struct str service = object_label(o, STR(SERVICE_OF_SLICE));
        const struct kind *k = kind_by_name(STR(""), STR("Service"));
        const struct object *s = service.n ? mirror_get(m, k, o->ns, service) : NULL;
        return s == NULL || has_model(s) || str_contains(s->json, STR("serving.kserve.io"));
    }
    if (str_is(str_of(o->kind->kind), "Service")) {
        return has_model(o) || (c->old && has_model(c->old)) ||
               str_contains(o->json, STR("serving.kserve.io"));
    }
    return true;
}
