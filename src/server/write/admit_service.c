/*
 * admit_service: gives a Service its address and its node ports, from the ranges, such as no other has.
 *
 * What others have is read from the mirror each time: nothing has to be kept, and nothing is lost at a restart. What is
 * staged but not yet committed is not in it, so what was given lately is remembered for a while.
 */
#include <stdio.h>

#include "base/mem.h"
#include "server/write/admit.h"
#include "wire/json/json.h"

enum { NODE_PORT_FIRST = 30000, NODE_PORT_LAST = 32767, LATELY = 4096, LATELY_S = 30 };

struct service_given {
    uint32_t value; /* an address, or a port */
    int64_t until;
};

/* Lives as long as the server: what was given lately. */
struct service_lately {
    struct service_given v[LATELY];
    size_t next;
};

struct service_taken {
    uint32_t base, size;
    uint8_t *addresses; /* a bit each */
    uint8_t ports[(NODE_PORT_LAST - NODE_PORT_FIRST) / 8 + 1];
    const struct object *self; /* the Service that is written */
};

static bool parse_ip(struct str s, uint32_t *ret) {
    struct str part;
    uint32_t ip = 0;
    int n = 0;

    while (str_next(&s, '.', &part)) {
        uint64_t v;
        if (n++ == 4 || part.n > 3 || !str_to_u64(part, &v) || v > 255) {
            return false;
        }
        ip = ip << 8 | (uint32_t)v;
    }
    *ret = ip;
    return n == 4;
}

static void take_address(struct service_taken *t, uint32_t ip) {
    if (ip >= t->base && ip - t->base < t->size) {
        t->addresses[(ip - t->base) / 8] |= (uint8_t)(1 << (ip - t->base) % 8);
    }
}

static bool has_address(const struct service_taken *t, uint32_t ip) {
    return t->addresses[(ip - t->base) / 8] >> (ip - t->base) % 8 & 1;
}

static void take_port(struct service_taken *t, int64_t port) {
    if (port >= NODE_PORT_FIRST && port <= NODE_PORT_LAST) {
        t->ports[(port - NODE_PORT_FIRST) / 8] |= (uint8_t)(1 << (port - NODE_PORT_FIRST) % 8);
    }
}

static bool has_port(const struct service_taken *t, int64_t port) {
    return t->ports[(port - NODE_PORT_FIRST) / 8] >> (port - NODE_PORT_FIRST) % 8 & 1;
}

/* Members that only Services have by this name, found without a parse: there may be many. */
static bool note_others(void *ctx, const struct object *o) {
    struct service_taken *t = ctx;
    struct str rest = o->json;
    struct str ip_key = STR("\"clusterIP\":\""), port_key = STR("\"nodePort\":");
    uint32_t ip;

    if (t->self && str_eq(o->uid, t->self->uid)) {
        return true;
    }
    for (const char *p; (p = memchr(rest.p, '"', rest.n));) {
        rest = str_skip(rest, (size_t)(p - rest.p));
        if (str_starts(rest, ip_key)) {
            struct str v = str_skip(rest, ip_key.n);
            ptrdiff_t end = str_find(v, '"');
            if (end > 0 && parse_ip(str_head(v, (size_t)end), &ip)) {
                take_address(t, ip);
            }
        } else if (str_starts(rest, port_key)) {
            int64_t port = 0;
            for (struct str v = str_skip(rest, port_key.n);
                 v.n && v.p[0] >= '0' && v.p[0] <= '9' && port < 100000; v = str_skip(v, 1)) {
                port = port * 10 + (v.p[0] - '0');
            }
            take_port(t, port);
        }
        rest = str_skip(rest, 1);
    }
    return true;
}

static void remember(struct server *s, uint32_t value) {
    struct service_lately *l = s->services;

    if (l) {
        l->v[l->next++ % LATELY] =
            (struct service_given){value, server_now(s) + LATELY_S * NS_PER_SEC};
    }
}

static void note_lately(struct server *s, struct service_taken *t) {
    const struct service_lately *l = s->services;

    for (size_t i = 0; l && i < LATELY; i++) {
        if (l->v[i].until > server_now(s)) {
            take_address(t, l->v[i].value);
            take_port(t, l->v[i].value);
        }
    }
}

static int look_around(struct write *w, struct service_taken *t) {
    struct server *s = w->s;

    t->base = s->o.service_base ? s->o.service_base : 0x0a2b0000;
    t->size = s->o.service_base ? (uint32_t)1 << (32 - s->o.service_bits) : 1 << 16;
    t->addresses = arena_zalloc(w->arena, t->size / 8 + 1);
    t->self = w->old;
    s->services = s->services ? s->services : mem_zalloc(sizeof(*s->services));
    if (t->addresses == NULL || s->services == NULL) {
        return failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory");
    }
    mirror_scan(s->o.mirror, w->req->kind, STR(""), note_others, t);
    note_lately(s, t);
    return 0;
}

static int refuse(struct write *w, const char *field, struct str value, const char *why) {
    struct str name = json_mstr_at(yyjson_mut_doc_get_root(w->doc), "metadata.name");
    struct str text =
        arena_f(w->arena, "%s: Invalid value: \"%.*s\": %s", field, STR_ARG(value), why);

    (void)failure_set(&w->failure, w->arena, ERR_INVALID, "Service \"%.*s\" is invalid: %.*s",
                      STR_ARG(name), STR_ARG(text));
    return failure_cause(&w->failure, w->arena, STR("FieldValueInvalid"), text, str_of(field));
}

/* The first address is the API's own, whose Service is called default/kubernetes. */
static bool is_of_api(struct write *w) {
    struct str name = json_mstr_at(yyjson_mut_doc_get_root(w->doc), "metadata.name");

    return str_is(w->req->ns, "default") && str_is(name, "kubernetes");
}

static int give_address(struct write *w, struct service_taken *t, yyjson_mut_val *spec) {
    struct str said = json_mstr(json_mget(spec, STR("clusterIP")));
    uint32_t ip = 0;

    if (str_is(said, "None")) {
        return 0;
    }
    if (said.n) {
        if (!parse_ip(said, &ip) || ip <= t->base || ip - t->base >= t->size - 1) {
            return refuse(w, "spec.clusterIPs", said,
                          "failed to allocate IP: the provided IP is not in the valid range of "
                          "Services");
        }
        if (has_address(t, ip) || (ip == t->base + 1 && !is_of_api(w))) {
            return refuse(w, "spec.clusterIPs", said,
                          "failed to allocate IP: provided IP is already allocated");
        }
    }
    /* From a place that the name says: Services that come and go do not share an address at once. */
    struct str key =
        arena_f(w->arena, "%.*s/%.*s", STR_ARG(w->req->ns),
                STR_ARG(json_mstr_at(yyjson_mut_doc_get_root(w->doc), "metadata.name")));
    uint32_t from = (uint32_t)(str_hash(key) % t->size);
    for (uint32_t i = 0; ip == 0 && i < t->size; i++) {
        uint32_t at = (from + i) % t->size;
        bool usable = at > 9 && at < t->size - 1; /* the first ten are for who asks for them */
        ip = usable && !has_address(t, t->base + at) ? t->base + at : 0;
    }
    if (ip == 0) {
        return failure_set(&w->failure, w->arena, ERR_TOO_MANY,
                           "failed to allocate a service IP: range is full");
    }
    struct str text =
        arena_f(w->arena, "%u.%u.%u.%u", ip >> 24, ip >> 16 & 255, ip >> 8 & 255, ip & 255);
    remember(w->s, ip);
    yyjson_mut_val *list = yyjson_mut_arr(w->doc);
    yyjson_mut_arr_add_strncpy(w->doc, list, text.p, text.n);
    return json_mset_str(w->doc, spec, "clusterIP", text) ||
                   json_mset(w->doc, spec, STR("clusterIPs"), list)
               ? failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory")
               : 0;
}

static int give_port(struct write *w, struct service_taken *t, yyjson_mut_val *port) {
    int64_t said = yyjson_mut_get_sint(json_mget(port, STR("nodePort")));
    char text[24];

    snprintf(text, sizeof(text), "%lld", (long long)said);
    if (said && (said < NODE_PORT_FIRST || said > NODE_PORT_LAST)) {
        return refuse(w, "spec.ports[0].nodePort", str_of(text),
                      "provided port is not in the valid range. The range of valid ports is "
                      "30000-32767");
    }
    if (said && has_port(t, said)) {
        return refuse(w, "spec.ports[0].nodePort", str_of(text),
                      "provided port is already allocated");
    }
    uint32_t n = NODE_PORT_LAST - NODE_PORT_FIRST + 1,
             from = (uint32_t)((uint64_t)server_now(w->s) / 1000 % n);
    for (uint32_t i = 0; said == 0 && i < n; i++) {
        int64_t at = NODE_PORT_FIRST + (from + i) % n;
        said = has_port(t, at) ? 0 : at;
    }
    if (said == 0) {
        return failure_set(&w->failure, w->arena, ERR_TOO_MANY,
                           "failed to allocate a nodePort: range is full");
    }
    take_port(t, said);
    remember(w->s, (uint32_t)said);
    return json_mset_i64(w->doc, port, "nodePort", said)
               ? failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory")
               : 0;
}

/* What an update leaves out and the server gave stays as it is. */
static void keep(struct write *w, yyjson_mut_val *spec) {
    struct str ip = json_str_at(w->old_tree, "spec.clusterIP");
    yyjson_arr_iter it = yyjson_arr_iter_with(json_path(w->old_tree, "spec.ports"));

    if (ip.n && json_mstr(json_mget(spec, STR("clusterIP"))).n == 0) {
        json_mset_str(w->doc, spec, "clusterIP", ip);
    }
    for (yyjson_val *o; (o = yyjson_arr_iter_next(&it)) != NULL;) {
        int64_t node = json_i64_at(o, "nodePort", 0);
        yyjson_mut_arr_iter ports = yyjson_mut_arr_iter_with(json_mget(spec, STR("ports")));
        for (yyjson_mut_val *p; node && (p = yyjson_mut_arr_iter_next(&ports)) != NULL;) {
            if (yyjson_mut_get_sint(json_mget(p, STR("port"))) == json_i64_at(o, "port", 0) &&
                str_eq(json_mstr(json_mget(p, STR("protocol"))), json_str_at(o, "protocol")) &&
                yyjson_mut_get_sint(json_mget(p, STR("nodePort"))) == 0) {
                json_mset_i64(w->doc, p, "nodePort", node);
            }
        }
    }
}

/* A Service that no longer has node ports lets go of those it was given. */
static void let_go(struct write *w, yyjson_mut_val *spec) {
    yyjson_mut_arr_iter ports = yyjson_mut_arr_iter_with(json_mget(spec, STR("ports")));
    struct str was = json_str_at(w->old_tree, "spec.type");

    if (str_is(was, "NodePort") || str_is(was, "LoadBalancer")) {
        for (yyjson_mut_val *p; (p = yyjson_mut_arr_iter_next(&ports)) != NULL;) {
            json_mdel(p, STR("nodePort"));
        }
    }
}

static int give_ports(struct write *w, struct service_taken *t, yyjson_mut_val *spec) {
    yyjson_mut_arr_iter ports = yyjson_mut_arr_iter_with(json_mget(spec, STR("ports")));
    int r = 0;

    for (yyjson_mut_val *p; r == 0 && (p = yyjson_mut_arr_iter_next(&ports)) != NULL;) {
        if (str_is(json_mstr(json_mget(p, STR("protocol"))), "TCP")) {
            r = give_port(w, t, p);
        }
    }
    return r;
}

int admit_service(struct write *w) {
    yyjson_mut_val *spec = json_mget(yyjson_mut_doc_get_root(w->doc), STR("spec"));
    struct str type = json_mstr(json_mget(spec, STR("type")));
    bool balancer = str_is(type, "LoadBalancer"), node_ports = balancer || str_is(type, "NodePort");
    struct service_taken t = {0};

    if (spec == NULL || str_is(type, "ExternalName")) {
        return 0;
    }
    if (w->old) {
        keep(w, spec);
    }
    if (w->old && !node_ports) {
        let_go(w, spec);
    }
    if (balancer && w->call) {
        call_warn(w->call, STR("there are no load balancers here: the Service is reached as one "
                               "of type NodePort is, on the machine's loopback"));
    }
    bool has_ip = w->old && json_str_at(w->old_tree, "spec.clusterIP").n;
    if (has_ip && !node_ports) {
        return 0;
    }
    int r = look_around(w, &t);
    r = r || has_ip ? r : give_address(w, &t, spec);
    return r || !node_ports ? r : give_ports(w, &t, spec);
}

void admit_service_release(struct server *s) {
    mem_free(s->services);
    s->services = NULL;
}
