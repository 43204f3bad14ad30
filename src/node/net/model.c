/* model: see model.h. A record is read whole into an arena of its own before it takes the place of the one before. */
#include "node/net/model.h"

#include "base/limits.h"
#include "base/mem.h"

enum { RECORD_BYTES = 16 << 20 };

/* ---- texts ---- */

bool model_ip(struct str text, uint32_t *ret_ip, int *ret_bits) {
    struct str rest = text, part, prefix = {NULL, 0};
    uint32_t ip = 0;
    uint64_t n = 32;
    int parts = 0;

    if (ret_bits && str_cut(text, '/', &rest, &prefix) && (!str_to_u64(prefix, &n) || n > 32)) {
        return false;
    }
    rest = ret_bits && prefix.p ? rest : text;
    while (str_next(&rest, '.', &part)) {
        uint64_t v;
        if (part.n == 0 || part.n > 3 || (part.n > 1 && part.p[0] == '0') ||
            !str_to_u64(part, &v) || v > 255 || parts == 4) {
            return false;
        }
        ip = ip << 8 | (uint32_t)v;
        parts++;
    }
    if (parts != 4) {
        return false;
    }
    *ret_ip = ip;
    if (ret_bits) {
        *ret_bits = (int)n;
    }
    return true;
}

bool model_endpoint(struct str text, struct model_endpoint *ret) {
    struct str host, port;
    uint64_t n;

    if (!str_cut(text, ':', &host, &port) || !model_ip(host, &ret->ip, NULL) ||
        !str_to_u64(port, &n) || n == 0 || n > 65535) {
        return false;
    }
    ret->port = (uint16_t)n;
    return true;
}

void model_ip_text(uint32_t ip, char out[16]) {
    snprintf(out, 16, "%u.%u.%u.%u", ip >> 24, ip >> 16 & 255, ip >> 8 & 255, ip & 255);
}

static uint8_t protocol(struct str name) {
    return str_is(name, "UDP") ? MODEL_UDP : str_is(name, "SCTP") ? MODEL_SCTP : MODEL_TCP;
}

/* ---- Services ---- */

static int read_port(struct model_service *s, struct model_port *p, yyjson_val *v) {
    yyjson_val *to = json_get(v, STR("to"));
    size_t n = yyjson_arr_size(to);
    yyjson_arr_iter it = yyjson_arr_iter_with(to);
    int64_t port = json_i64_at(v, "port", 0), node_port = json_i64_at(v, "nodePort", 0);

    if (port < 1 || port > 65535 || node_port < 0 || node_port > 65535) {
        return ERR_INVALID;
    }
    *p = (struct model_port){.name = arena_str(&s->arena, json_str_at(v, "name")),
                             .protocol = protocol(json_str_at(v, "protocol")),
                             .port = (uint16_t)port,
                             .node_port = (uint16_t)node_port,
                             .to = n ? ARENA_ARRAY(&s->arena, struct model_endpoint, n) : NULL};
    for (yyjson_val *e; p->to && (e = yyjson_arr_iter_next(&it));) {
        if (!model_endpoint(json_str(e), &p->to[p->n_to++])) {
            return ERR_INVALID;
        }
    }
    return 0;
}

static int read_service(struct model_service *s, struct str key, yyjson_val *v) {
    yyjson_val *ports = json_get(v, STR("ports")), *hosts = json_get(v, STR("hosts"));
    struct str ip = json_str_at(v, "ip");
    int code = 0;

    s->key = arena_str(&s->arena, key);
    s->external = arena_str(&s->arena, json_str_at(v, "external"));
    s->affinity = json_i64_at(v, "affinity", 0);
    if (!str_cut(s->key, '/', &s->ns, &s->name) ||
        (!str_empty(ip) && !str_is(ip, "None") && !model_ip(ip, &s->ip, NULL))) {
        return ERR_INVALID;
    }
    s->ports = ARENA_ARRAY(&s->arena, struct model_port, yyjson_arr_size(ports) + 1);
    s->hosts = ARENA_ARRAY(&s->arena, struct model_host, yyjson_arr_size(hosts) + 1);
    if (s->ports == NULL || s->hosts == NULL) {
        return ERR_NOMEM;
    }
    yyjson_arr_iter it = yyjson_arr_iter_with(ports);
    for (yyjson_val *e; code == 0 && (e = yyjson_arr_iter_next(&it));) {
        code = read_port(s, &s->ports[s->n_ports++], e);
    }
    it = yyjson_arr_iter_with(hosts);
    for (yyjson_val *e; code == 0 && (e = yyjson_arr_iter_next(&it));) {
        struct model_host *h = &s->hosts[s->n_hosts++];
        h->name = arena_str(&s->arena, json_str_at(e, "host"));
        code = model_ip(json_str_at(e, "ip"), &h->ip, NULL) ? 0 : ERR_INVALID;
    }
    return code ? code : arena_ok(&s->arena);
}

static void free_service(struct model_service *s) {
    struct arena a = s->arena;

    arena_release(&a);
    mem_free(s);
}

static void drop_service(struct net_model *m, struct str key) {
    struct model_service *s = map_del(&m->services, key);

    if (s) {
        m->service(m->ctx, s, NULL);
        free_service(s);
    }
}

static int put_service(struct net_model *m, struct str key, yyjson_val *v) {
    struct model_service *s = mem_zalloc(sizeof(*s)), *old;

    if (s == NULL) {
        return ERR_NOMEM;
    }
    arena_init(&s->arena, RECORD_BYTES);
    int code = read_service(s, key, v);
    if (code) {
        free_service(s);
        return code;
    }
    s->marked = true;
    old = map_get(&m->services, key);
    s->id = old ? old->id : ++m->last_id; /* its chains keep their names */
    if (map_put(&m->services, s->key, s, NULL)) {
        free_service(s);
        return ERR_NOMEM;
    }
    m->service(m->ctx, old, s);
    if (old) {
        free_service(old);
    }
    return 0;
}

/* ---- walls ---- */

/* Texts go to nft: only what was read and written anew. */
static int read_cidrs(struct arena *a, yyjson_val *list, struct str **ret, size_t *ret_n) {
    yyjson_arr_iter it = yyjson_arr_iter_with(list);
    char text[16];

    *ret = ARENA_ARRAY(a, struct str, yyjson_arr_size(list) + 1);
    for (yyjson_val *e; *ret && (e = yyjson_arr_iter_next(&it));) {
        uint32_t ip;
        int bits;
        if (!model_ip(json_str(e), &ip, &bits)) {
            return ERR_INVALID;
        }
        model_ip_text(ip, text);
        (*ret)[(*ret_n)++] = bits == 32 ? arena_f(a, "%s", text) : arena_f(a, "%s/%d", text, bits);
    }
    return 0;
}

static int read_ports(struct arena *a, yyjson_val *list, struct model_rule *r) {
    yyjson_arr_iter it = yyjson_arr_iter_with(list);

    r->ports = ARENA_ARRAY(a, struct str, yyjson_arr_size(list) + 1);
    for (yyjson_val *e; r->ports && (e = yyjson_arr_iter_next(&it));) {
        struct str text = json_str(e), proto, range, from, to;
        uint64_t low, high;
        bool pair = str_cut(text, '/', &proto, &range);
        if (!pair || !(str_is(proto, "tcp") || str_is(proto, "udp") || str_is(proto, "sctp"))) {
            return ERR_INVALID;
        }
        if (str_is(range, "*")) {
            r->ports[r->n_ports++] = arena_f(a, "meta l4proto %.*s", STR_ARG(proto));
            continue;
        }
        if (!str_cut(range, '-', &from, &to)) {
            from = to = range;
        }
        if (!str_to_u64(from, &low) || !str_to_u64(to, &high) || low > high || high > 65535) {
            return ERR_INVALID;
        }
        r->ports[r->n_ports++] =
            arena_f(a, "%.*s dport %u-%u", STR_ARG(proto), (unsigned)low, (unsigned)high);
        if (low == high) {
            r->ports[r->n_ports - 1] = arena_f(a, "%.*s dport %u", STR_ARG(proto), (unsigned)low);
        }
    }
    return 0;
}

static int read_wall(struct model_wall *w, struct str key, yyjson_val *v) {
    yyjson_val *rules = json_get(v, STR("rules"));
    yyjson_arr_iter it = yyjson_arr_iter_with(rules);
    int code = 0;

    w->key = arena_str(&w->arena, key);
    w->rules = ARENA_ARRAY(&w->arena, struct model_rule, yyjson_arr_size(rules) + 1);
    for (yyjson_val *e; code == 0 && w->rules && (e = yyjson_arr_iter_next(&it));) {
        struct model_rule *r = &w->rules[w->n++];
        code = read_cidrs(&w->arena, json_get(e, STR("cidr")), &r->cidr, &r->n_cidr);
        code =
            code ? code : read_cidrs(&w->arena, json_get(e, STR("not")), &r->except, &r->n_except);
        code = code ? code : read_ports(&w->arena, json_get(e, STR("ports")), r);
        if (json_get(e, STR("cidr")) == NULL) {
            r->cidr = NULL;
        }
    }
    return code ? code : arena_ok(&w->arena);
}

static void free_wall(struct model_wall *w) {
    struct arena a = w->arena;

    arena_release(&a);
    mem_free(w);
}

static bool plain_id(struct str id) {
    for (size_t i = 0; i < id.n; i++) {
        char c = id.p[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'))) {
            return false;
        }
    }
    return id.n > 0 && id.n < 32;
}

static int put_wall(struct net_model *m, struct str key, yyjson_val *v) {
    bool good = plain_id(key) && (key.p[0] == 'i' || key.p[0] == 'o');
    struct model_wall *w = good ? mem_zalloc(sizeof(*w)) : NULL;
    void *old = NULL;

    if (w == NULL) {
        return good ? ERR_NOMEM : ERR_INVALID;
    }
    arena_init(&w->arena, RECORD_BYTES);
    int code = read_wall(w, key, v);
    if (code == 0 && map_put(&m->walls, w->key, w, &old)) {
        code = ERR_NOMEM;
    }
    if (code) {
        free_wall(w);
        return code;
    }
    w->marked = true;
    m->wall(m->ctx, old, w);
    if (old) {
        free_wall(old);
    }
    return 0;
}

/* ---- pods ---- */

static int put_pod(struct net_model *m, struct str key, yyjson_val *v) {
    struct model_pod *p = mem_zalloc(sizeof(*p));
    struct str in = json_str_at(v, "in"), out = json_str_at(v, "out");
    void *old = NULL;

    if (p == NULL) {
        return ERR_NOMEM;
    }
    p->closed = json_bool_at(v, "closed", false);
    p->marked = true;
    if (!model_ip(key, &p->ip, NULL) || !str_copy(key, p->key, sizeof(p->key)) ||
        (in.n && !plain_id(in)) || (out.n && !plain_id(out)) ||
        !str_copy(in, p->in, sizeof(p->in)) || !str_copy(out, p->out, sizeof(p->out))) {
        mem_free(p);
        return ERR_INVALID;
    }
    if (map_put(&m->pods, str_of(p->key), p, &old)) {
        mem_free(p);
        return ERR_NOMEM;
    }
    m->pod(m->ctx, old, p);
    mem_free(old);
    return 0;
}

/* ---- all ---- */

int model_put(struct net_model *m, yyjson_val *record, struct err *err) {
    struct str key = json_str_at(record, "key"), kind, rest;
    int code = ERR_INVALID;

    if (!str_cut(key, '/', &kind, &rest)) {
        return err_set(err, code, "a record without a key");
    }
    if (str_is(kind, "svc")) {
        code = put_service(m, rest, record);
    } else if (str_is(kind, "wall")) {
        code = put_wall(m, rest, record);
    } else if (str_is(kind, "pod")) {
        code = put_pod(m, rest, record);
    }
    return code ? err_set(err, code, "record %.*s cannot be read", STR_ARG(key)) : 0;
}

void model_drop(struct net_model *m, struct str key) {
    struct str kind, rest;

    if (!str_cut(key, '/', &kind, &rest)) {
        return;
    }
    if (str_is(kind, "svc")) {
        drop_service(m, rest);
    } else if (str_is(kind, "wall")) {
        struct model_wall *w = map_del(&m->walls, rest);
        if (w) {
            m->wall(m->ctx, w, NULL);
            free_wall(w);
        }
    } else if (str_is(kind, "pod")) {
        struct model_pod *p = map_del(&m->pods, rest);
        if (p) {
            m->pod(m->ctx, p, NULL);
            mem_free(p);
        }
    }
}

void model_begin(struct net_model *m) {
    const struct map_entry *e;

    for (size_t i = 0; (e = map_next(&m->services, &i));) {
        ((struct model_service *)e->value)->marked = false;
    }
    for (size_t i = 0; (e = map_next(&m->walls, &i));) {
        ((struct model_wall *)e->value)->marked = false;
    }
    for (size_t i = 0; (e = map_next(&m->pods, &i));) {
        ((struct model_pod *)e->value)->marked = false;
    }
}

void model_end(struct net_model *m) {
    const struct map_entry *e;

    for (size_t i = 0; (e = map_next(&m->services, &i));) {
        struct model_service *s = e->value;
        if (!s->marked) {
            drop_service(m, s->key);
        }
    }
    for (size_t i = 0; (e = map_next(&m->pods, &i));) {
        struct model_pod *p = e->value;
        if (!p->marked) {
            map_del(&m->pods, str_of(p->key));
            m->pod(m->ctx, p, NULL);
            mem_free(p);
        }
    }
    for (size_t i = 0; (e = map_next(&m->walls, &i));) {
        struct model_wall *w = e->value;
        if (!w->marked) {
            map_del(&m->walls, w->key);
            m->wall(m->ctx, w, NULL);
            free_wall(w);
        }
    }
}

void model_release(struct net_model *m) {
    const struct map_entry *e;

    for (size_t i = 0; (e = map_next(&m->services, &i));) {
        free_service(e->value);
    }
    for (size_t i = 0; (e = map_next(&m->walls, &i));) {
        free_wall(e->value);
    }
    for (size_t i = 0; (e = map_next(&m->pods, &i));) {
        mem_free(e->value);
    }
    map_release(&m->services);
    map_release(&m->walls);
    map_release(&m->pods);
}

const struct model_service *model_service_named(const struct net_model *m, struct str ns,
                                                struct str name) {
    char key[2 * LIMIT_NAME + 2];
    int n = snprintf(key, sizeof(key), "%.*s/%.*s", STR_ARG(ns), STR_ARG(name));

    return n > 0 && n < (int)sizeof(key) ? map_get(&m->services, str_from(key, (size_t)n)) : NULL;
}

const struct model_pod *model_pod_at(const struct net_model *m, uint32_t ip) {
    char key[16];

    model_ip_text(ip, key);
    return map_get(&m->pods, str_of(key));
}
