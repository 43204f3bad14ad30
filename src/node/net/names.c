/* names: see names.h. */
#include "node/net/names.h"

/* What a name means. */
struct names_target {
    const struct model_service *service;
    struct str host;           /* of one pod, or empty */
    struct str port, protocol; /* of an SRV name, or empty */
    uint32_t ip;               /* by itself */
};

static bool last_label(struct str *rest, struct str *ret) {
    ptrdiff_t dot = str_find_last(*rest, '.');

    if (rest->n == 0) {
        return false;
    }
    *ret = str_skip(*rest, dot < 0 ? 0 : (size_t)dot + 1);
    *rest = str_head(*rest, dot < 0 ? 0 : (size_t)dot);
    return true;
}

static bool is_dashed(const struct net_model *m, struct str label, uint32_t *ret) {
    char text[16];

    if (!str_copy(label, text, sizeof(text))) {
        return false;
    }
    for (char *c = text; *c; c++) {
        *c = *c == '-' ? '.' : *c;
    }
    return model_ip(str_of(text), ret, NULL) && model_pod_at(m, *ret);
}

/* false: there is no such name. */
static bool find(const struct net_model *m, struct str name, struct names_target *ret) {
    struct str kind, ns, service, host, protocol;

    *ret = (struct names_target){0};
    if (!last_label(&name, &kind) || !last_label(&name, &ns) || !last_label(&name, &service)) {
        return false;
    }
    if (str_is(kind, "pod")) {
        return name.n == 0 && is_dashed(m, service, &ret->ip);
    }
    ret->service = str_is(kind, "svc") ? model_service_named(m, ns, service) : NULL;
    if (ret->service == NULL || !last_label(&name, &host)) {
        return ret->service != NULL;
    }
    if (host.n > 1 && host.p[0] == '_') {
        protocol = host;
        if (!last_label(&name, &host) || host.n < 2 || host.p[0] != '_' || name.n) {
            return false;
        }
        ret->protocol = str_skip(protocol, 1);
        ret->port = str_skip(host, 1);
        return true;
    }
    ret->host = host;
    for (size_t i = 0; i < ret->service->n_hosts; i++) {
        if (name.n == 0 && str_eq(ret->service->hosts[i].name, host)) {
            return true;
        }
    }
    return false;
}

static void add_hosts(struct dns_answer *a, const struct model_service *s, struct str name,
                      struct str host, unsigned turn) {
    size_t n = s->n_hosts < NAMES_ANSWERS_MAX ? s->n_hosts : NAMES_ANSWERS_MAX;

    for (size_t i = 0; i < s->n_hosts && a->answers < n; i++) {
        const struct model_host *h = &s->hosts[(i + turn) % s->n_hosts];
        if (host.n == 0 || str_eq(h->name, host)) {
            dns_a(a, name, NAMES_TTL_S, h->ip);
        }
    }
}

static bool port_is(const struct model_port *p, const struct names_target *t) {
    const char *protocol = p->protocol == MODEL_UDP    ? "udp"
                           : p->protocol == MODEL_SCTP ? "sctp"
                                                       : "tcp";
    return str_is(t->protocol, protocol) && str_eq(p->name, t->port);
}

static void host_name(const struct model_service *s, const struct model_host *h, struct buf *out) {
    char ip[16];

    buf_reset(out);
    if (h && h->name.n) {
        buf_f(out, "%.*s.", STR_ARG(h->name));
    } else if (h) {
        model_ip_text(h->ip, ip);
        for (char *c = ip; *c; c++) {
            *c = *c == '.' ? '-' : *c;
        }
        buf_f(out, "%s.", ip);
    }
    buf_f(out, "%.*s.%.*s.svc." NAMES_ZONE, STR_ARG(s->name), STR_ARG(s->ns));
}

static void add_srv(struct dns_answer *a, const struct names_target *t, struct str name) {
    const struct model_service *s = t->service;
    struct buf target;

    buf_init(&target, 1024);
    for (size_t i = 0; i < s->n_ports; i++) {
        const struct model_port *p = &s->ports[i];
        if (!port_is(p, t)) {
            continue;
        }
        if (s->ip) {
            host_name(s, NULL, &target);
            dns_srv(a, name, NAMES_TTL_S, p->port, buf_view(&target));
            dns_more_a(a, buf_view(&target), NAMES_TTL_S, s->ip);
            continue;
        }
        for (size_t k = 0; k < p->n_to && a->answers < NAMES_ANSWERS_MAX; k++) {
            struct model_host h = {.ip = p->to[k].ip};
            for (size_t j = 0; j < s->n_hosts; j++) {
                h = s->hosts[j].ip == h.ip ? s->hosts[j] : h;
            }
            host_name(s, &h, &target);
            dns_srv(a, name, NAMES_TTL_S, p->to[k].port, buf_view(&target));
        }
    }
    buf_release(&target);
}

static bool in_zone(struct str name, struct str *ret_rest);

/* What an alias leads to, should it be of the cluster, and should that be no alias again. */
static void add_aliased(struct dns_answer *a, const struct net_model *m, struct str name,
                        unsigned turn) {
    struct names_target t;
    struct str rest;

    if (!in_zone(name, &rest) || !find(m, rest, &t) || t.service == NULL || t.port.n) {
        return;
    }
    if (t.service->ip && t.host.n == 0) {
        dns_a(a, name, NAMES_TTL_S, t.service->ip);
    } else if (t.service->external.n == 0) {
        add_hosts(a, t.service, name, t.host, turn);
    }
}

static void add_records(struct dns_answer *a, const struct net_model *m,
                        const struct dns_question *q, const struct names_target *t, unsigned turn) {
    struct str name = str_from(q->name, q->name_n);
    const struct model_service *s = t->service;
    bool address = q->type == DNS_A || q->type == DNS_ANY;

    if (s && s->external.n) {
        dns_cname(a, name, NAMES_TTL_S, s->external);
        if (address) {
            add_aliased(a, m, s->external, turn);
        }
    } else if (t->port.n && (q->type == DNS_SRV || q->type == DNS_ANY)) {
        add_srv(a, t, name);
    } else if (!address || t->port.n) {
        return;
    } else if (s == NULL) {
        dns_a(a, name, NAMES_TTL_S, t->ip);
    } else if (s->ip && t->host.n == 0) {
        dns_a(a, name, NAMES_TTL_S, s->ip);
    } else {
        add_hosts(a, s, name, t->host, turn);
    }
}

static bool in_zone(struct str name, struct str *ret_rest) {
    struct str zone = STR(NAMES_ZONE);

    if (str_eq(name, zone)) {
        *ret_rest = STR("");
        return true;
    }
    if (name.n <= zone.n + 1 || !str_ends(name, zone) || name.p[name.n - zone.n - 1] != '.') {
        return false;
    }
    *ret_rest = str_head(name, name.n - zone.n - 1);
    return true;
}

/* Exists without records: the zone, "svc", "NS.svc". */
static bool is_between(struct str rest) {
    return rest.n == 0 || str_is(rest, "svc") || str_is(rest, "pod");
}

bool names_answer(const struct net_model *m, const struct dns_question *q, unsigned turn,
                  size_t max, struct buf *out) {
    struct str rest;
    struct names_target t;
    struct dns_answer a;

    if (!in_zone(str_from(q->name, q->name_n), &rest)) {
        return false;
    }
    bool known = find(m, rest, &t);
    dns_begin(&a, out, q, known || is_between(rest) ? DNS_OK : DNS_NXDOMAIN, true, max);
    if (known) {
        add_records(&a, m, q, &t, turn);
    }
    if (a.answers == 0 && !a.truncated) {
        dns_soa(&a, STR(NAMES_ZONE), NAMES_TTL_S);
    }
    dns_end(&a, q);
    return true;
}

bool names_alias(const struct net_model *m, const struct dns_question *q, struct str *ret_target) {
    struct names_target t;
    struct str rest;

    if (!in_zone(str_from(q->name, q->name_n), &rest) || !find(m, rest, &t) || t.service == NULL ||
        t.service->external.n == 0 || q->type != DNS_A || in_zone(t.service->external, &rest)) {
        return false;
    }
    *ret_target = t.service->external;
    return true;
}

void names_answer_alias(const struct dns_question *q, struct str target, const uint32_t *ips,
                        size_t n, size_t max, struct buf *out) {
    struct dns_answer a;

    dns_begin(&a, out, q, DNS_OK, true, max);
    dns_cname(&a, str_from(q->name, q->name_n), NAMES_TTL_S, target);
    for (size_t i = 0; i < n; i++) {
        dns_a(&a, target, NAMES_TTL_S, ips[i]);
    }
    dns_end(&a, q);
}

void names_refuse(const struct dns_question *q, int rcode, struct buf *out) {
    struct dns_answer a;

    dns_begin(&a, out, q, rcode, false, DNS_UDP_PLAIN);
    dns_end(&a, q);
}
