/* net_watch: see net_watch.h. */
#include "node/net/net_watch.h"

#include <stdio.h>

#include "base/limits.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "kube/reflector.h"
#include "node/net/policy.h"

enum { SERVICE_MS = 10, POLICY_MS = 50, SERVICES_A_TURN = 256, RECORD_BYTES = 7 << 20 };
enum { WATCH_SERVICES, WATCH_SLICES, WATCH_POLICIES, WATCH_SPACES, WATCH_KINDS };

struct net_watch {
    struct net_watch_options o;
    struct mirror *mirror;
    const struct kind *kinds[WATCH_KINDS], *pod;
    struct feed *feeds[WATCH_KINDS];
    struct reflector *reflectors[WATCH_KINDS];
    struct timer *services, *policies;
    struct map due;  /* "NS/NAME" of Services to tell; the value is the key's own memory */
    struct map told; /* records of policies that stand: key -> the key's own memory */
    bool policies_due;
};

/* ---- Services ---- */

static void service_due(struct net_watch *w, struct str ns, struct str name) {
    char key[2 * LIMIT_NAME + 2];
    int n = snprintf(key, sizeof(key), "%.*s/%.*s", STR_ARG(ns), STR_ARG(name));
    struct str k = str_from(key, (size_t)n);

    if (map_get(&w->due, k) == NULL) {
        char *copy = mem_cstr(k);
        if (copy && map_put(&w->due, str_of(copy), copy, NULL)) {
            mem_free(copy);
        }
    }
    loop_clock(w->o.loop)->timer_start(w->services, SERVICE_MS * NS_PER_MS);
}

struct service_record {
    struct net_watch *w;
    struct buf *out;
    struct arena *arena;
    yyjson_val *spec;
    const struct object *service;
    struct str port_name; /* whose endpoints are written */
    bool first, any, hosts;
};

static bool is_ip(struct str s) {
    return s.n && s.p[0] >= '0' && s.p[0] <= '9' && str_find(s, ':') < 0;
}

/* Who is ready; where nobody is, those that still serve while they end, as kube-proxy has it. */
static bool is_meant(const struct service_record *r, yyjson_val *e, bool serving) {
    return serving ? json_bool_at(e, "conditions.serving", false) &&
                         json_bool_at(e, "conditions.terminating", false)
                   : json_bool_at(e, "conditions.ready", true);
}

static void add_endpoints(struct service_record *r, yyjson_val *slice, bool serving) {
    yyjson_arr_iter ports = yyjson_arr_iter_with(json_get(slice, STR("ports")));
    int64_t number = 0;

    for (yyjson_val *p; (p = yyjson_arr_iter_next(&ports));) {
        if (str_eq(json_str_at(p, "name"), r->port_name)) {
            number = json_i64_at(p, "port", 0);
        }
    }
    yyjson_arr_iter it = yyjson_arr_iter_with(json_get(slice, STR("endpoints")));
    for (yyjson_val *e; (e = yyjson_arr_iter_next(&it));) {
        struct str ip = json_str(yyjson_arr_get_first(json_get(e, STR("addresses"))));
        if (!is_ip(ip) || str_starts(ip, STR("127.")) || !is_meant(r, e, serving)) {
            continue;
        }
        if (r->hosts) {
            buf_c(r->out, r->first ? "{\"ip\":" : ",{\"ip\":");
            buf_json(r->out, ip);
            buf_c(r->out, ",\"host\":");
            buf_json(r->out, json_str_at(e, "hostname"));
            buf_ch(r->out, '}');
        } else if (number) {
            buf_f(r->out, "%s\"%.*s:%lld\"", r->first ? "" : ",", STR_ARG(ip), (long long)number);
        } else {
            continue;
        }
        r->first = false;
        r->any = true;
    }
}

static bool one_slice(void *ctx, const struct object *o) {
    struct service_record *r = ctx;
    yyjson_doc *d;

    if (o->kind == r->w->kinds[WATCH_SLICES] &&
        str_eq(object_label(o, STR("kubernetes.io/service-name")), r->service->name) &&
        object_tree(o, r->arena, &d, NULL) == 0) {
        add_endpoints(r, yyjson_doc_get_root(d), false);
    }
    return true;
}

static bool one_serving(void *ctx, const struct object *o) {
    struct service_record *r = ctx;
    yyjson_doc *d;

    if (o->kind == r->w->kinds[WATCH_SLICES] &&
        str_eq(object_label(o, STR("kubernetes.io/service-name")), r->service->name) &&
        object_tree(o, r->arena, &d, NULL) == 0) {
        add_endpoints(r, yyjson_doc_get_root(d), true);
    }
    return true;
}

/* The router itself answers for the API's address (api_way.h): nobody's slices lead elsewhere. */
static bool is_of_api(const struct object *service) {
    return str_is(service->ns, "default") && str_is(service->name, "kubernetes");
}

/* A controller's slices are found by their owner; somebody's own, of a Service without selector, by looking. */
static void each_slice(struct service_record *r) {
    bool own = yyjson_obj_size(json_get(r->spec, STR("selector"))) == 0;

    for (int pass = 0; pass < 2 && !r->any && !is_of_api(r->service); pass++) {
        bool (*each)(void *, const struct object *) = pass ? one_serving : one_slice;
        if (own) {
            mirror_scan(r->w->mirror, r->w->kinds[WATCH_SLICES], r->service->ns, each, r);
        } else {
            mirror_owned(r->w->mirror, r->service, each, r);
        }
    }
}

static void add_port(struct service_record *r, yyjson_val *p) {
    buf_c(r->out, "{\"name\":");
    buf_json(r->out, json_str_at(p, "name"));
    buf_c(r->out, ",\"protocol\":");
    buf_json(r->out, json_str_at(p, "protocol"));
    buf_f(r->out, ",\"port\":%lld,\"nodePort\":%lld,\"to\":[", (long long)json_i64_at(p, "port", 0),
          (long long)json_i64_at(p, "nodePort", 0));
    r->port_name = json_str_at(p, "name");
    r->first = true;
    r->any = false;
    each_slice(r);
    buf_c(r->out, "]}");
}

static void write_service(struct service_record *r) {
    yyjson_val *spec = r->spec;
    yyjson_arr_iter it = yyjson_arr_iter_with(json_get(spec, STR("ports")));
    bool sticky = str_is(json_str_at(spec, "sessionAffinity"), "ClientIP"), first = true;

    buf_f(r->out, "{\"op\":\"put\",\"key\":\"svc/%.*s/%.*s\",\"ip\":", STR_ARG(r->service->ns),
          STR_ARG(r->service->name));
    buf_json(r->out, json_str_at(spec, "clusterIP"));
    buf_f(r->out, ",\"affinity\":%lld,\"external\":",
          (long long)(sticky ? json_i64_at(spec, "sessionAffinityConfig.clientIP.timeoutSeconds",
                                           10800)
                             : 0));
    buf_json(r->out, str_is(json_str_at(spec, "type"), "ExternalName")
                         ? json_str_at(spec, "externalName")
                         : STR(""));
    buf_c(r->out, ",\"ports\":[");
    for (yyjson_val *p; (p = yyjson_arr_iter_next(&it)); first = false) {
        buf_c(r->out, first ? "" : ",");
        add_port(r, p);
    }
    buf_c(r->out, "],\"hosts\":[");
    if (str_is(json_str_at(spec, "clusterIP"), "None")) {
        r->hosts = r->first = true;
        r->any = false;
        each_slice(r);
    }
    buf_c(r->out, "]}");
}

static void tell_service(struct net_watch *w, struct str key) {
    struct str ns, name;
    struct arena a;
    struct buf out;
    yyjson_doc *d;

    str_cut(key, '/', &ns, &name);
    const struct object *o = mirror_get(w->mirror, w->kinds[WATCH_SERVICES], ns, name);
    arena_init(&a, 256 << 20);
    buf_init(&out, RECORD_BYTES);
    buf_f(&out, "svc/%.*s", STR_ARG(key));
    struct str record = arena_str(&a, buf_view(&out));
    if (o == NULL) {
        network_drop(w->o.network, record);
    } else if (object_tree(o, &a, &d, NULL) == 0) {
        struct service_record r = {.w = w,
                                   .out = &out,
                                   .arena = &a,
                                   .spec = json_get(yyjson_doc_get_root(d), STR("spec")),
                                   .service = o};
        buf_reset(&out);
        write_service(&r);
        if (buf_ok(&out) == 0) {
            network_put(w->o.network, record, buf_view(&out));
        } else {
            log_warn(w->o.log, "Service %.*s: too many endpoints to tell of", STR_ARG(key));
        }
    }
    buf_release(&out);
    arena_release(&a);
}

static void on_services(void *ctx) {
    struct net_watch *w = ctx;
    const struct map_entry *e;
    size_t n = 0;

    for (size_t i = 0; n < SERVICES_A_TURN && (e = map_next(&w->due, &i)); n++) {
        char *key = e->value;
        map_del(&w->due, str_of(key));
        tell_service(w, str_of(key));
        mem_free(key);
    }
    if (map_count(&w->due)) {
        loop_clock(w->o.loop)->timer_start(w->services, NS_PER_MS);
    }
}

/* ---- policies ---- */

VEC(policy_pod_vec, struct policy_pod);
VEC(policy_space_vec, struct policy_space);
VEC(policy_text_vec, struct policy_text);

struct policy_scene {
    struct net_watch *w;
    struct arena arena;
    struct policy_pod_vec pods;
    struct policy_space_vec spaces;
    struct policy_text_vec policies;
    struct map now; /* keys that were told this time */
};

static bool one_policy(void *ctx, const struct object *o) {
    struct policy_scene *s = ctx;
    yyjson_doc *d;

    if (object_tree(o, &s->arena, &d, NULL) == 0) {
        policy_text_vec_push(
            &s->policies,
            (struct policy_text){o->ns, o->name, json_get(yyjson_doc_get_root(d), STR("spec"))});
    }
    return true;
}

static bool one_pod(void *ctx, const struct object *o) {
    struct policy_scene *s = ctx;
    struct str ip = network_ip(s->w->o.network, o->uid);

    if (ip.n) {
        policy_pod_vec_push(&s->pods, (struct policy_pod){o->ns, ip, &o->labels});
    }
    return true;
}

static bool one_space(void *ctx, const struct object *o) {
    struct policy_scene *s = ctx;

    policy_space_vec_push(&s->spaces, (struct policy_space){o->name, &o->labels});
    return true;
}

static void put_record(void *ctx, struct str key, struct str json) {
    struct policy_scene *s = ctx;
    struct net_watch *w = s->w;

    network_put(w->o.network, key, json);
    if (map_get(&w->told, key) == NULL) {
        char *copy = mem_cstr(key);
        if (copy && map_put(&w->told, str_of(copy), copy, NULL)) {
            mem_free(copy);
        }
    }
    char *told = map_get(&w->told, key);
    if (told) {
        map_put(&s->now, str_of(told), told, NULL);
    }
}

/* Pods first: a wall goes after the last pod that has it. */
static void drop_rest(struct policy_scene *s) {
    struct net_watch *w = s->w;
    const struct map_entry *e;

    for (int walls = 0; walls < 2; walls++) {
        for (size_t i = 0; (e = map_next(&w->told, &i));) {
            char *key = e->value;
            bool wall = str_starts(str_of(key), STR("wall/"));
            if (wall == (walls == 1) && map_get(&s->now, str_of(key)) == NULL) {
                network_drop(w->o.network, str_of(key));
                map_del(&w->told, str_of(key));
                mem_free(key);
            }
        }
    }
}

void net_watch_policies_now(struct net_watch *w) {
    struct policy_scene s = {.w = w};

    w->policies_due = false;
    if (mirror_count(w->mirror, w->kinds[WATCH_POLICIES]) == 0 && map_count(&w->told) == 0) {
        return;
    }
    arena_init(&s.arena, 256 << 20);
    mirror_scan(w->mirror, w->kinds[WATCH_POLICIES], STR(""), one_policy, &s);
    mirror_scan(w->o.pods, w->pod, STR(""), one_pod, &s);
    mirror_scan(w->mirror, w->kinds[WATCH_SPACES], STR(""), one_space, &s);
    const struct policy_in in = {.pods = s.pods.v,
                                 .n_pods = s.pods.n,
                                 .spaces = s.spaces.v,
                                 .n_spaces = s.spaces.n,
                                 .policies = s.policies.v,
                                 .n_policies = s.policies.n,
                                 .arena = &s.arena,
                                 .put = put_record,
                                 .ctx = &s};
    if (policy_records(&in) == 0) {
        drop_rest(&s);
    } else {
        log_error(w->o.log, "policies of the network: no memory; those that stand stay");
        net_watch_pods_changed(w);
    }
    policy_pod_vec_release(&s.pods);
    policy_space_vec_release(&s.spaces);
    policy_text_vec_release(&s.policies);
    map_release(&s.now);
    arena_release(&s.arena);
}

static void on_policies(void *ctx) {
    net_watch_policies_now(ctx);
}

void net_watch_pods_changed(struct net_watch *w) {
    if (!w->policies_due) {
        w->policies_due = true;
        loop_clock(w->o.loop)->timer_start(w->policies, POLICY_MS * NS_PER_MS);
    }
}

/* ---- changes ---- */

static void on_change(void *ctx, const struct change *c) {
    struct net_watch *w = ctx;

    if (c->obj->kind == w->kinds[WATCH_SERVICES]) {
        service_due(w, c->obj->ns, c->obj->name);
    } else if (c->obj->kind == w->kinds[WATCH_SLICES]) {
        struct str name = object_label(c->obj, STR("kubernetes.io/service-name"));
        if (name.n) {
            service_due(w, c->obj->ns, name);
        }
    } else {
        net_watch_pods_changed(w);
    }
}

/* ---- for the environment of pods ---- */

struct services_walk {
    bool (*each)(void *ctx, struct str name, yyjson_val *spec);
    void *ctx;
    struct arena arena;
};

static bool one_service(void *ctx, const struct object *o) {
    struct services_walk *s = ctx;
    yyjson_doc *d;

    if (object_tree(o, &s->arena, &d, NULL) != 0) {
        return true;
    }
    yyjson_val *spec = json_get(yyjson_doc_get_root(d), STR("spec"));
    struct str ip = json_str_at(spec, "clusterIP");
    return ip.n == 0 || str_is(ip, "None") || s->each(s->ctx, o->name, spec);
}

void net_watch_services(const struct net_watch *w, struct str ns,
                        bool (*each)(void *ctx, struct str name, yyjson_val *spec), void *ctx) {
    struct services_walk s = {.each = each, .ctx = ctx};

    arena_init(&s.arena, 64 << 20);
    mirror_scan(w->mirror, w->kinds[WATCH_SERVICES], ns, one_service, &s);
    arena_release(&s.arena);
}

/* ---- life ---- */

int net_watch_start(const struct net_watch_options *o, struct net_watch **ret, struct err *err) {
    static const char *const names[WATCH_KINDS][2] = {{"", "Service"},
                                                      {"discovery.k8s.io", "EndpointSlice"},
                                                      {"networking.k8s.io", "NetworkPolicy"},
                                                      {"", "Namespace"}};
    struct net_watch *w = mem_zalloc(sizeof(*w));
    struct clock *c = loop_clock(o->loop);

    if (w == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    w->o = *o;
    w->pod = kind_by_name(STR(""), STR("Pod"));
    w->mirror =
        mirror_new(&(struct mirror_options){.clock = c, .history_events = MIRROR_NO_HISTORY});
    w->services = c->timer_new(c, on_services, w);
    w->policies = c->timer_new(c, on_policies, w);
    bool good = w->mirror && w->services && w->policies;
    for (int i = 0; good && i < WATCH_KINDS; i++) {
        w->kinds[i] = kind_by_name(str_of(names[i][0]), str_of(names[i][1]));
        w->feeds[i] = mirror_feed(w->mirror, w->kinds[i], on_change, w);
        const struct reflector_options r = {.kind = w->kinds[i], .log = o->log};
        w->reflectors[i] = w->feeds[i] ? reflector_start(o->kube, w->mirror, &r, err) : NULL;
        good = w->reflectors[i] != NULL;
    }
    if (!good) {
        net_watch_free(w);
        return err_set(err, ERR_NOMEM, "no memory to watch Services");
    }
    *ret = w;
    return 0;
}

static void free_keys(struct map *m) {
    const struct map_entry *e;

    for (size_t i = 0; (e = map_next(m, &i));) {
        mem_free(e->value);
    }
    map_release(m);
}

void net_watch_free(struct net_watch *w) {
    if (w == NULL) {
        return;
    }
    for (int i = 0; i < WATCH_KINDS; i++) {
        reflector_free(w->reflectors[i]);
        feed_free(w->feeds[i]);
    }
    mirror_free(w->mirror);
    loop_clock(w->o.loop)->timer_free(w->services);
    loop_clock(w->o.loop)->timer_free(w->policies);
    free_keys(&w->due);
    free_keys(&w->told);
    mem_free(w);
}
