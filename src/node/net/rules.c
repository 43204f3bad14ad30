/*
 * rules: see rules.h.
 *
 *     pre_nat, out_nat   Service address . protocol . port -> chain of the port -> DNAT to one of its endpoints
 *     post_nat           a pod that reaches itself through its Service, and the way out, get another source
 *     across             what goes from pod to pod or out: walls of the sender, walls of the receiver
 *     to_router          names alone, echo, and the API server for whom its walls let there
 *     to_service         a Service without endpoints refuses, at once
 *
 * A wall is a chain that returns what may pass and refuses the rest.
 */
#include "node/net/rules.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/vec.h"

enum rules_sort { RULES_CHAIN, RULES_SET, RULES_ELEMENT };

struct rules_item {
    enum rules_sort sort;
    bool stands, changed;
    uint32_t round;
    char *name, *want; /* want NULL: it shall go */
};

static const char base_text[] =
    "add table ip berth\ndelete table ip berth\n"
    "table ip berth {\n"
    "map services {\ntype ipv4_addr . inet_proto . inet_service : verdict\n}\n"
    "map senders {\ntype ipv4_addr : verdict\n}\n"
    "map receivers {\ntype ipv4_addr : verdict\n}\n"
    "set self {\ntype ipv4_addr . ipv4_addr\n}\n"
    "chain pre_nat {\ntype nat hook prerouting priority -100\n"
    "ip daddr . meta l4proto . th dport vmap @services\n}\n"
    "chain out_nat {\ntype nat hook output priority -100\n"
    "ip daddr . meta l4proto . th dport vmap @services\n}\n"
    "chain post_nat {\ntype nat hook postrouting priority 100\n"
    "ip saddr . ip daddr @self masquerade\n"
    "ip saddr %PODS% oifname \"" RULES_UPLINK "\" masquerade\n}\n"
    "chain refuse {\nmeta l4proto tcp reject with tcp reset\n"
    "reject with icmp type admin-prohibited\n}\n"
    "chain to_service {\nmeta l4proto tcp reject with tcp reset\n"
    "reject with icmp type port-unreachable\n}\n"
    "chain across {\ntype filter hook forward priority 0; policy drop;\n"
    "ct state established,related accept\nct state invalid drop\n"
    "ip daddr %SERVICES% goto to_service\n"
    "ip saddr . ip daddr @self accept\n"
    "ip saddr vmap @senders\nip daddr vmap @receivers\n"
    "ip saddr %PODS% accept\n}\n"
    "chain to_api {\nip saddr vmap @senders\naccept\n}\n"
    "chain to_router {\ntype filter hook input priority 0; policy drop;\n"
    "iifname \"lo\" accept\nct state established,related accept\n"
    "ip saddr %PODS% ip daddr %API% tcp dport 443 goto to_api\n"
    "ip daddr %SERVICES% goto to_service\n"
    "ip saddr %PODS% udp dport 53 accept\nip saddr %PODS% tcp dport 53 accept\n"
    "ip saddr %PODS% icmp type echo-request accept\n"
    "ip saddr %PODS% goto refuse\n}\n"
    "chain from_router {\ntype filter hook output priority 0\n"
    "ip daddr %SERVICES% goto to_service\n}\n"
    "}\n";

void rules_init(struct net_rules *r) {
    map_init(&r->items);
}

static void free_item(struct net_rules *r, struct rules_item *i) {
    map_del(&r->items, str_of(i->name));
    mem_free(i->name);
    mem_free(i->want);
    mem_free(i);
}

void rules_release(struct net_rules *r) {
    const struct map_entry *e;

    for (size_t i = 0; (e = map_next(&r->items, &i));) {
        free_item(r, e->value);
    }
    map_release(&r->items);
    mem_free(r->changed);
}

/* ---- what should stand ---- */

static void note(struct net_rules *r, struct rules_item *i) {
    if (i->changed) {
        return;
    }
    if (vec_grow((void **)&r->changed, &r->cap_changed, r->n_changed, 1, sizeof(i))) {
        r->failed = ERR_NOMEM;
        return;
    }
    i->changed = true;
    r->changed[r->n_changed++] = i;
}

static struct rules_item *item(struct net_rules *r, enum rules_sort sort, const char *name) {
    struct rules_item *i = map_get(&r->items, str_of(name));

    if (i) {
        return i;
    }
    i = mem_zalloc(sizeof(*i));
    if (i) {
        i->sort = sort;
        i->name = mem_cstr(str_of(name));
    }
    if (i == NULL || i->name == NULL || map_put(&r->items, str_of(i->name), i, NULL)) {
        if (i) {
            mem_free(i->name);
            mem_free(i);
        }
        r->failed = ERR_NOMEM;
        return NULL;
    }
    return i;
}

static void want(struct net_rules *r, enum rules_sort sort, const char *name, struct str body) {
    struct rules_item *i = item(r, sort, name);

    if (i == NULL) {
        return;
    }
    i->round = r->round;
    if (i->want && str_is(body, i->want)) {
        return;
    }
    mem_free(i->want);
    i->want = mem_cstr(body);
    r->failed = i->want ? r->failed : ERR_NOMEM;
    note(r, i);
}

static void unwant(struct net_rules *r, const char *name) {
    struct rules_item *i = map_get(&r->items, str_of(name));

    if (i && i->round != r->round && i->want) {
        mem_free(i->want);
        i->want = NULL;
        note(r, i);
    }
}

/* One pass over what belongs to a thing: of the thing as it is (put), then as it was, to let go of the rest. */
struct rules_pass {
    struct net_rules *r;
    bool put;
};

static void give(const struct rules_pass *p, enum rules_sort sort, const char *name,
                 struct str body) {
    if (p->put) {
        want(p->r, sort, name, body);
    } else {
        unwant(p->r, name);
    }
}

static void give_element(const struct rules_pass *p, const char *map, const char *key,
                         const char *value) {
    char name[128];

    snprintf(name, sizeof(name), "%s %s", map, key);
    give(p, RULES_ELEMENT, name, str_of(value));
}

/* ---- Services ---- */

static const char *protocol_name(uint8_t protocol) {
    return protocol == MODEL_UDP ? "udp" : protocol == MODEL_SCTP ? "sctp" : "tcp";
}

static void add_target(struct buf *b, const struct model_endpoint *e, const char *between) {
    char ip[16];

    model_ip_text(e->ip, ip);
    buf_f(b, "%s%s%u", ip, between, e->port);
}

static void by_chance(const struct model_port *p, struct buf *b) {
    size_t n = p->n_to < RULES_ENDPOINTS_MAX ? p->n_to : RULES_ENDPOINTS_MAX;

    buf_f(b, "meta l4proto %s dnat ip to ", protocol_name(p->protocol));
    if (n == 1) {
        add_target(b, p->to, ":");
    } else {
        buf_f(b, "numgen random mod %zu map { ", n);
        for (size_t i = 0; i < n; i++) {
            buf_f(b, "%s%zu : ", i ? ", " : "", i);
            add_target(b, &p->to[i], " . ");
        }
        buf_c(b, " }");
    }
    buf_ch(b, '\n');
}

/* One chain and one set of clients for each endpoint: who was sent there before, goes there again. */
static void by_client(const struct rules_pass *pass, const struct model_service *s,
                      const struct model_port *p, struct buf *b) {
    size_t n = p->n_to < RULES_AFFINITY_MAX ? p->n_to : RULES_AFFINITY_MAX;
    struct buf choice, body;
    char chain[80], set[104], type[120];

    buf_init(&choice, 0);
    buf_init(&body, 0);
    for (size_t i = 0; i < n; i++) {
        const struct model_endpoint *e = &p->to[i];
        snprintf(chain, sizeof(chain), "e%u%s%u_%08x_%u", s->id, protocol_name(p->protocol),
                 p->port, e->ip, e->port);
        snprintf(set, sizeof(set), "f%s_%lld", chain + 1, (long long)s->affinity);
        snprintf(type, sizeof(type),
                 "type ipv4_addr; size 65535; flags dynamic,timeout; timeout %llds;",
                 (long long)s->affinity);
        give(pass, RULES_SET, set, str_of(type));
        buf_reset(&body);
        buf_f(&body, "update @%s { ip saddr }\nmeta l4proto %s dnat ip to ", set,
              protocol_name(p->protocol));
        add_target(&body, e, ":");
        buf_ch(&body, '\n');
        give(pass, RULES_CHAIN, chain, buf_view(&body));
        buf_f(b, "ip saddr @%s goto %s\n", set, chain);
        buf_f(&choice, "%s%zu : goto %s", i ? ", " : "", i, chain);
    }
    buf_f(b, "numgen random mod %zu vmap { %.*s }\n", n, STR_ARG(buf_view(&choice)));
    buf_release(&choice);
    buf_release(&body);
}

static void pass_port(const struct rules_pass *pass, const struct model_service *s,
                      const struct model_port *p) {
    char chain[40], ip[16], key[64], go[64];
    struct buf body;

    if (s->ip == 0 || p->n_to == 0) {
        return;
    }
    buf_init(&body, 0);
    snprintf(chain, sizeof(chain), "s%u%s%u", s->id, protocol_name(p->protocol), p->port);
    if (s->affinity) {
        by_client(pass, s, p, &body);
    } else {
        by_chance(p, &body);
    }
    if (buf_ok(&body)) {
        pass->r->failed = ERR_NOMEM;
    }
    give(pass, RULES_CHAIN, chain, buf_view(&body));
    model_ip_text(s->ip, ip);
    snprintf(key, sizeof(key), "%s . %s . %u", ip, protocol_name(p->protocol), p->port);
    snprintf(go, sizeof(go), "goto %s", chain);
    give_element(pass, "services", key, go);
    buf_release(&body);
}

void rules_service(struct net_rules *r, const struct model_service *was,
                   const struct model_service *now) {
    r->round++;
    for (size_t i = 0; now && i < now->n_ports; i++) {
        pass_port(&(struct rules_pass){r, true}, now, &now->ports[i]);
    }
    for (size_t i = 0; was && i < was->n_ports; i++) {
        pass_port(&(struct rules_pass){r, false}, was, &was->ports[i]);
    }
}

/* ---- pods and walls ---- */

void rules_pod(struct net_rules *r, uint32_t ip, bool here) {
    char text[16], key[40];

    r->round++;
    model_ip_text(ip, text);
    snprintf(key, sizeof(key), "%s . %s", text, text);
    give_element(&(struct rules_pass){r, here}, "self", key, "");
}

static void add_list(struct buf *b, const char *what, const struct str *v, size_t n) {
    buf_f(b, "%s { ", what);
    for (size_t i = 0; i < n; i++) {
        buf_f(b, "%s%.*s", i ? ", " : "", STR_ARG(v[i]));
    }
    buf_c(b, " } ");
}

static void add_rule(struct buf *b, const struct model_rule *rule, bool in) {
    for (size_t i = 0; i < (rule->n_ports ? rule->n_ports : 1); i++) {
        if (rule->cidr) {
            add_list(b, in ? "ip saddr" : "ip daddr", rule->cidr, rule->n_cidr);
        }
        if (rule->n_except) {
            add_list(b, in ? "ip saddr !=" : "ip daddr !=", rule->except, rule->n_except);
        }
        if (rule->n_ports) {
            buf_f(b, "%.*s ", STR_ARG(rule->ports[i]));
        }
        buf_c(b, "return\n");
    }
}

static void pass_wall(const struct rules_pass *pass, const struct model_wall *w) {
    struct buf body;
    char name[48];

    buf_init(&body, 0);
    for (size_t i = 0; i < w->n; i++) {
        if (w->rules[i].cidr == NULL || w->rules[i].n_cidr) {
            add_rule(&body, &w->rules[i], w->key.p[0] == 'i');
        }
    }
    buf_c(&body, "goto refuse\n");
    if (buf_ok(&body)) {
        pass->r->failed = ERR_NOMEM;
    }
    snprintf(name, sizeof(name), "w%.*s", STR_ARG(w->key));
    give(pass, RULES_CHAIN, name, buf_view(&body));
    buf_release(&body);
}

void rules_wall(struct net_rules *r, const struct model_wall *was, const struct model_wall *now) {
    r->round++;
    if (now) {
        pass_wall(&(struct rules_pass){r, true}, now);
    }
    if (was) {
        pass_wall(&(struct rules_pass){r, false}, was);
    }
}

static void pass_pod(const struct rules_pass *pass, const struct model_pod *p) {
    char jump[64];

    if (p->in[0]) {
        snprintf(jump, sizeof(jump), "jump w%s", p->in);
        give_element(pass, "receivers", p->key, jump);
    }
    if (p->out[0]) {
        snprintf(jump, sizeof(jump), "jump w%s", p->out);
        give_element(pass, "senders", p->key, jump);
    }
}

void rules_walls_of_pod(struct net_rules *r, const struct model_pod *was,
                        const struct model_pod *now) {
    r->round++;
    if (now) {
        pass_pod(&(struct rules_pass){r, true}, now);
    }
    if (was) {
        pass_pod(&(struct rules_pass){r, false}, was);
    }
}

/* ---- as text ---- */

static void add_chain(struct buf *out, const struct rules_item *i) {
    struct str rest = str_of(i->want), line;

    buf_f(out, "add chain ip berth %s\nflush chain ip berth %s\n", i->name, i->name);
    while (str_next(&rest, '\n', &line)) {
        if (line.n) {
            buf_f(out, "add rule ip berth %s %.*s\n", i->name, STR_ARG(line));
        }
    }
}

static void element(struct buf *out, const char *verb, const struct rules_item *i, bool value) {
    struct str map, key;

    str_cut(str_of(i->name), ' ', &map, &key);
    buf_f(out, "%s element ip berth %.*s { %.*s", verb, STR_ARG(map), STR_ARG(key));
    if (value && i->want && i->want[0]) {
        buf_f(out, " : %s", i->want);
    }
    buf_c(out, " }\n");
}

/* In the order in which nft takes it: what is referred to comes before and goes after what refers to it. */
static void write_step(struct net_rules *r, struct buf *out, int step, const struct rules_item *i) {
    bool chain = i->sort == RULES_CHAIN, set = i->sort == RULES_SET,
         element_ = i->sort == RULES_ELEMENT;

    if (step == 0 && set && i->want && !i->stands) {
        buf_f(out, "add set ip berth %s { %s }\n", i->name, i->want);
    } else if (step == 1 && chain && i->want) {
        buf_f(out, "add chain ip berth %s\n", i->name);
    } else if (step == 2 && chain && i->want) {
        add_chain(out, i);
    } else if (step == 3 && element_ && i->stands) {
        element(out, "delete", i, false);
    } else if (step == 4 && element_ && i->want) {
        element(out, "add", i, true);
    } else if (step == 5 && chain && i->stands && i->want == NULL) {
        buf_f(out, "flush chain ip berth %s\n", i->name);
    } else if (step == 6 && chain && i->stands && i->want == NULL) {
        buf_f(out, "delete chain ip berth %s\n", i->name);
    } else if (step == 7 && set && i->stands && i->want == NULL) {
        buf_f(out, "delete set ip berth %s\n", i->name);
    }
}

enum { STEPS = 8 };

int rules_take(struct net_rules *r, struct buf *out) {
    int failed = r->failed;

    for (int step = 0; step < STEPS && !failed; step++) {
        for (size_t i = 0; i < r->n_changed; i++) {
            write_step(r, out, step, r->changed[i]);
        }
    }
    for (size_t i = 0; i < r->n_changed; i++) {
        struct rules_item *x = r->changed[i];
        x->changed = false;
        x->stands = x->want != NULL;
        if (x->want == NULL) {
            free_item(r, x);
        }
    }
    r->n_changed = 0;
    r->failed = 0;
    return failed;
}

static void add_base(const struct net_rules *r, struct buf *out) {
    const struct {
        struct str name;
        uint32_t ip;
        int bits;
    } words[] = {{STR("%PODS%"), r->pods, r->pods_bits},
                 {STR("%SERVICES%"), r->services, r->services_bits},
                 {STR("%API%"), r->services + 1, 32}};
    struct str rest = str_of(base_text);
    char ip[16];

    while (rest.n) {
        ptrdiff_t at = str_find(rest, '%');
        if (at < 0) {
            buf_str(out, rest);
            return;
        }
        buf_str(out, str_head(rest, (size_t)at));
        rest = str_skip(rest, (size_t)at);
        size_t i = 0;
        while (!str_starts(rest, words[i].name)) {
            i++; /* the text has no other words */
        }
        model_ip_text(words[i].ip, ip);
        buf_f(out, "%s/%d", ip, words[i].bits);
        rest = str_skip(rest, words[i].name.n);
    }
}

void rules_whole(struct net_rules *r, struct buf *out) {
    const struct map_entry *e;
    struct buf none;

    buf_init(&none, 0);
    rules_take(r, &none); /* what waits is part of the whole */
    buf_release(&none);
    add_base(r, out);
    for (size_t i = 0; (e = map_next(&r->items, &i));) {
        ((struct rules_item *)e->value)->stands = false;
    }
    for (int step = 0; step < STEPS; step++) {
        for (size_t i = 0; (e = map_next(&r->items, &i));) {
            write_step(r, out, step, e->value);
        }
    }
    for (size_t i = 0; (e = map_next(&r->items, &i));) {
        ((struct rules_item *)e->value)->stands = true;
    }
}
