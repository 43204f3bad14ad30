/* cel_net: URLs, addresses and networks. See cel_tree.h. */
#include <arpa/inet.h>

#include "api/cel/cel_tree.h"
#include "base/limits.h"

struct cel_url {
    struct str scheme, host, hostname, port, path, query; /* host: with its port */
};
struct cel_net {
    unsigned char byte[16];
    size_t size; /* 4 or 16 */
    int prefix;  /* of a network; -1: an address */
};

/* ---- URLs: what Go's url.ParseRequestURI takes ---- */

static bool is_alpha(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool read_port(struct str s) {
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9') {
            return false;
        }
    }
    return true;
}

static bool read_host(struct str host, struct cel_url *u) {
    ptrdiff_t at = str_find_last(host, '@'), close = str_find_last(host, ']');
    host = str_skip(host, (size_t)(at + 1));
    u->host = host;
    close = at >= 0 ? str_find_last(host, ']') : close;
    if (host.n > 0 && host.p[0] == '[') {
        if (close < 0) {
            return false;
        }
        struct str rest = str_skip(host, (size_t)close + 1);
        u->hostname = str_from(host.p + 1, (size_t)close - 1);
        u->port = str_skip(rest, 1);
        return rest.n == 0 || (rest.p[0] == ':' && read_port(u->port));
    }
    for (size_t i = 0; i < host.n; i++) {
        if (strchr(" \"<>^`{}|\\", host.p[i]) != NULL) {
            return false;
        }
    }
    ptrdiff_t colon = str_find_last(host, ':');
    u->hostname = colon < 0 ? host : str_head(host, (size_t)colon);
    u->port = colon < 0 ? (struct str){0} : str_skip(host, (size_t)colon + 1);
    return read_port(u->port);
}

static bool escapes_hold(struct str s) {
    for (size_t i = 0; i < s.n; i++) {
        bool hex = i + 2 < s.n && strchr("0123456789abcdefABCDEF", s.p[i + 1]) != NULL &&
                   s.p[i + 1] != '\0' && strchr("0123456789abcdefABCDEF", s.p[i + 2]) != NULL &&
                   s.p[i + 2] != '\0';
        if (s.p[i] == '%' && !hex) {
            return false;
        }
    }
    return true;
}

static bool read_url(struct str s, struct cel_url *u) {
    size_t i = 0;
    *u = (struct cel_url){0};
    for (size_t k = 0; k < s.n; k++) {
        if ((unsigned char)s.p[k] < 0x20 || s.p[k] == 0x7f) {
            return false;
        }
    }
    while (i < s.n && (is_alpha(s.p[i]) || (i > 0 && strchr("0123456789+-.", s.p[i]) != NULL))) {
        i++;
    }
    if (i > 0 && i < s.n && s.p[i] == ':') {
        u->scheme = str_head(s, i);
        s = str_skip(s, i + 1);
    }
    ptrdiff_t mark = str_find(s, '?');
    if (mark >= 0) {
        u->query = str_skip(s, (size_t)mark + 1);
        s = str_head(s, (size_t)mark);
    }
    if (s.n == 0 || s.p[0] != '/') {
        return u->scheme.n > 0 && s.n > 0; /* "mailto:x": opaque */
    }
    if (u->scheme.n > 0 && str_starts(s, STR("//"))) {
        s = str_skip(s, 2);
        ptrdiff_t slash = str_find(s, '/');
        struct str host = slash < 0 ? s : str_head(s, (size_t)slash);
        s = slash < 0 ? (struct str){0} : str_skip(s, (size_t)slash);
        if (!read_host(host, u)) {
            return false;
        }
    }
    u->path = s;
    return escapes_hold(s);
}

bool cel_url_equal(const struct cel_url *a, const struct cel_url *b) {
    return str_eq(a->scheme, b->scheme) && str_eq(a->host, b->host) && str_eq(a->path, b->path) &&
           str_eq(a->query, b->query);
}

CEL_CALL(call_url) {
    (void)e;
    (void)n;
    struct cel_url *u = ARENA_NEW(r->in->arena, struct cel_url);
    bool good = u != NULL && cel_spend(r, v[0].s.n / 8) && read_url(v[0].s, u);
    return good ? (struct cel_value){.type = CEL_V_URL, .url = u}
                : cel_error(r,
                            "URL parse error during conversion from string: parse \"%.*s\": "
                            "invalid URI for request",
                            STR_ARG(str_head(v[0].s, 256)));
}

CEL_CALL(call_is_url) {
    (void)e;
    (void)n;
    struct cel_url u;
    return cel_bool(cel_spend(r, v[0].s.n / 8) && read_url(v[0].s, &u));
}

/* Characters that a path may have stand; others are escaped. */
static struct cel_value escaped_path(struct cel_run *r, struct str s) {
    struct buf b;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    for (size_t i = 0; i < s.n && cel_spend(r, i % 16 == 0); i++) {
        char c = s.p[i];
        if (is_alpha(c) || (c != '\0' && strchr("0123456789-_.~$&+,/:;=@%!'()*", c) != NULL)) {
            buf_ch(&b, c);
        } else {
            buf_f(&b, "%%%02X", (unsigned)(unsigned char)c);
        }
    }
    struct str out = buf_ok(&b) == 0 ? arena_str(r->in->arena, buf_view(&b)) : (struct str){0};
    buf_release(&b);
    return out.p != NULL || s.n == 0 ? cel_str(out) : cel_error(r, "too long");
}

CEL_CALL(call_url_part) {
    (void)n;
    const struct cel_url *u = v[0].url;
    return str_is(e->name, "getEscapedPath") ? escaped_path(r, u->path)
           : str_is(e->name, "getScheme")    ? cel_str(u->scheme)
           : str_is(e->name, "getHost")      ? cel_str(u->host)
           : str_is(e->name, "getHostname")  ? cel_str(u->hostname)
                                             : cel_str(u->port);
}

/* "a+b%20c" */
static struct str unescape(struct cel_run *r, struct str s) {
    static const char hex[] = "0123456789abcdef";
    struct str copy = arena_str(r->in->arena, s);
    char *p = (char *)(uintptr_t)copy.p;
    size_t n = 0;
    for (size_t i = 0; p != NULL && i < s.n; i++) {
        char c = s.p[i];
        if (c == '%' && i + 2 < s.n) {
            const char *hi = strchr(hex, s.p[i + 1] | 0x20), *lo = strchr(hex, s.p[i + 2] | 0x20);
            if (hi != NULL && lo != NULL && *hi != '\0' && *lo != '\0') {
                c = (char)((hi - hex) << 4 | (lo - hex));
                i += 2;
            }
        } else if (c == '+') {
            c = ' ';
        }
        p[n++] = c;
    }
    return p != NULL ? str_from(p, n) : (struct str){0};
}

static struct cel_list *values_of(struct cel_run *r, struct cel_map *m, struct str name) {
    for (size_t i = 0; i < m->n; i++) {
        if (str_eq(m->keys[i].s, name)) {
            return (struct cel_list *)(uintptr_t)m->values[i].list;
        }
    }
    struct cel_list *l = ARENA_NEW(r->in->arena, struct cel_list);
    size_t cap = m->cap;
    if (l == NULL || !cel_spend(r, 1 + m->n / 8) ||
        (m->n == m->cap && (ARENA_GROW(r->in->arena, m->keys, cap) != 0 ||
                            ARENA_GROW(r->in->arena, m->values, m->cap) != 0))) {
        return NULL;
    }
    m->keys[m->n] = cel_str(name);
    m->values[m->n++] = (struct cel_value){.type = CEL_V_LIST, .list = l};
    return l;
}

CEL_CALL(call_query) {
    (void)e;
    (void)n;
    struct cel_map *m = ARENA_NEW(r->in->arena, struct cel_map);
    struct str rest = v[0].url->query, part, key, value;
    while (m != NULL && rest.n > 0 && str_next(&rest, '&', &part)) {
        if (part.n == 0) {
            continue;
        }
        if (!str_cut(part, '=', &key, &value)) {
            key = part;
            value = STR("");
        }
        struct cel_list *l = values_of(r, m, unescape(r, key));
        if (l == NULL || cel_push(r, l, cel_str(unescape(r, value))) != 0) {
            return cel_error(r, "too long");
        }
    }
    return m != NULL ? (struct cel_value){.type = CEL_V_MAP, .map = m}
                     : cel_error(r, "out of memory");
}

/* ---- addresses ---- */

/* Without zones, and without IPv4 in IPv6, as upstream. */
static bool read_address(struct str s, struct cel_net *a) {
    char text[64];
    *a = (struct cel_net){.prefix = -1};
    if (s.n >= sizeof(text) || !str_copy(s, text, sizeof(text)) || memchr(s.p, '\0', s.n)) {
        return false;
    }
    if (inet_pton(AF_INET, text, a->byte) == 1) {
        a->size = 4;
        return true;
    }
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    a->size = 16;
    return inet_pton(AF_INET6, text, a->byte) == 1 &&
           memcmp(a->byte, mapped, sizeof(mapped)) != 0 && str_find(s, '.') < 0;
}

static bool read_cidr(struct str s, struct cel_net *a) {
    struct str address, length;
    uint64_t prefix;
    if (!str_cut(s, '/', &address, &length) || !read_address(address, a) ||
        !str_to_u64(length, &prefix) || (length.n > 1 && length.p[0] == '0') ||
        prefix > a->size * 8) {
        return false;
    }
    a->prefix = (int)prefix;
    return true;
}

bool cel_net_equal(const struct cel_net *a, const struct cel_net *b) {
    return a->size == b->size && a->prefix == b->prefix && memcmp(a->byte, b->byte, a->size) == 0;
}

struct str cel_net_text(struct arena *a, const struct cel_net *n) {
    char text[INET6_ADDRSTRLEN];
    if (inet_ntop(n->size == 4 ? AF_INET : AF_INET6, n->byte, text, sizeof(text)) == NULL) {
        return STR("");
    }
    return n->prefix < 0 ? arena_str(a, str_of(text)) : arena_f(a, "%s/%d", text, n->prefix);
}

static struct cel_value keep(struct cel_run *r, enum cel_type type, struct cel_net net) {
    struct cel_net *kept = ARENA_NEW(r->in->arena, struct cel_net);
    if (kept == NULL) {
        return cel_error(r, "out of memory");
    }
    *kept = net;
    return (struct cel_value){.type = type, .net = kept};
}

CEL_CALL(call_ip) {
    (void)e;
    (void)n;
    struct cel_net a;
    return cel_spend(r, v[0].s.n / 8) && read_address(v[0].s, &a)
               ? keep(r, CEL_V_IP, a)
               : cel_error(r,
                           "IP Address parse error during conversion from string: "
                           "ParseAddr(\"%.*s\"): unable to parse IP",
                           STR_ARG(str_head(v[0].s, 64)));
}

CEL_CALL(call_is_ip) {
    (void)e;
    (void)n;
    struct cel_net a;
    return cel_bool(cel_spend(r, v[0].s.n / 8) && read_address(v[0].s, &a));
}

CEL_CALL(call_is_canonical) {
    (void)e;
    (void)n;
    struct cel_net a;
    if (!cel_spend(r, v[0].s.n / 8) || !read_address(v[0].s, &a)) {
        return cel_error(r,
                         "IP Address parse error during conversion from string: "
                         "ParseAddr(\"%.*s\"): unable to parse IP",
                         STR_ARG(str_head(v[0].s, 64)));
    }
    return cel_bool(str_eq(cel_net_text(r->in->arena, &a), v[0].s));
}

CEL_CALL(call_family) {
    (void)r;
    (void)e;
    (void)n;
    return cel_int(v[0].net->size == 4 ? 4 : 6);
}

static bool all_zero(const unsigned char *p, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (p[i] != 0) {
            return false;
        }
    }
    return true;
}

static bool is_unspecified(const struct cel_net *a) {
    return all_zero(a->byte, a->size);
}

static bool is_loopback(const struct cel_net *a) {
    return a->size == 4 ? a->byte[0] == 127 : all_zero(a->byte, 15) && a->byte[15] == 1;
}

static bool is_multicast(const struct cel_net *a) {
    return a->size == 4 ? a->byte[0] >> 4 == 14 : a->byte[0] == 0xff;
}

static bool is_local_multicast(const struct cel_net *a) {
    return a->size == 4 ? a->byte[0] == 224 && a->byte[1] == 0 && a->byte[2] == 0
                        : a->byte[0] == 0xff && (a->byte[1] & 15) == 2;
}

static bool is_local_unicast(const struct cel_net *a) {
    return a->size == 4 ? a->byte[0] == 169 && a->byte[1] == 254
                        : a->byte[0] == 0xfe && (a->byte[1] & 0xc0) == 0x80;
}

CEL_CALL(call_ip_is) {
    (void)r;
    (void)n;
    const struct cel_net *a = v[0].net;
    static const unsigned char broadcast[4] = {255, 255, 255, 255};
    bool global = !is_unspecified(a) && !is_loopback(a) && !is_multicast(a) &&
                  !is_local_unicast(a) && !(a->size == 4 && memcmp(a->byte, broadcast, 4) == 0);
    return cel_bool(str_is(e->name, "isUnspecified")          ? is_unspecified(a)
                    : str_is(e->name, "isLoopback")           ? is_loopback(a)
                    : str_is(e->name, "isLinkLocalMulticast") ? is_local_multicast(a)
                    : str_is(e->name, "isLinkLocalUnicast")   ? is_local_unicast(a)
                                                              : global);
}

/* ---- networks ---- */

static struct cel_net masked(struct cel_net a) {
    for (size_t i = 0; i < a.size; i++) {
        int bits = a.prefix - (int)(8 * i);
        a.byte[i] &= (unsigned char)(bits >= 8 ? 0xff : bits <= 0 ? 0 : 0xff << (8 - bits));
    }
    return a;
}

/* Whether the address of b lies in a. */
static bool contains(const struct cel_net *a, const struct cel_net *b) {
    struct cel_net x = masked(*a), y = *b;
    y.prefix = a->prefix;
    y = masked(y);
    return a->size == b->size && memcmp(x.byte, y.byte, a->size) == 0;
}

CEL_CALL(call_cidr) {
    (void)e;
    (void)n;
    struct cel_net a;
    return cel_spend(r, v[0].s.n / 8) && read_cidr(v[0].s, &a)
               ? keep(r, CEL_V_CIDR, a)
               : cel_error(r,
                           "network address parse error during conversion from string: "
                           "netip.ParsePrefix(\"%.*s\"): unable to parse network",
                           STR_ARG(str_head(v[0].s, 64)));
}

CEL_CALL(call_is_cidr) {
    (void)e;
    (void)n;
    struct cel_net a;
    return cel_bool(cel_spend(r, v[0].s.n / 8) && read_cidr(v[0].s, &a));
}

CEL_CALL(call_contains) {
    (void)n;
    bool network = str_is(e->name, "containsCIDR");
    struct cel_net other;
    const struct cel_net *b = v[1].net;
    if (v[1].type == CEL_V_STRING) {
        bool good = network ? read_cidr(v[1].s, &other) : read_address(v[1].s, &other);
        if (!cel_spend(r, v[1].s.n / 8) || !good) {
            return cel_error(r, "%s parse error during conversion from string: \"%.*s\"",
                             network ? "network address" : "IP Address",
                             STR_ARG(str_head(v[1].s, 64)));
        }
        b = &other;
    }
    return cel_bool(contains(v[0].net, b) && (!network || v[0].net->prefix <= b->prefix));
}

CEL_CALL(call_cidr_part) {
    (void)n;
    struct cel_net a = *v[0].net;
    if (str_is(e->name, "prefixLength")) {
        return cel_int(a.prefix);
    }
    if (str_is(e->name, "masked")) {
        return keep(r, CEL_V_CIDR, masked(a));
    }
    a.prefix = -1;
    return keep(r, CEL_V_IP, a);
}

static const struct cel_function functions[] = {
    {"url", false, "s>U", call_url},
    {"isURL", false, "s>b", call_is_url},
    {"getScheme", true, "U>s", call_url_part},
    {"getHost", true, "U>s", call_url_part},
    {"getHostname", true, "U>s", call_url_part},
    {"getPort", true, "U>s", call_url_part},
    {"getEscapedPath", true, "U>s", call_url_part},
    {"getQuery", true, "U>{s[s]}", call_query},
    {"ip", false, "s>P", call_ip},
    {"isIP", false, "s>b", call_is_ip},
    {"ip.isCanonical", false, "s>b", call_is_canonical},
    {"family", true, "P>i", call_family},
    {"isUnspecified", true, "P>b", call_ip_is},
    {"isLoopback", true, "P>b", call_ip_is},
    {"isLinkLocalMulticast", true, "P>b", call_ip_is},
    {"isLinkLocalUnicast", true, "P>b", call_ip_is},
    {"isGlobalUnicast", true, "P>b", call_ip_is},
    {"cidr", false, "s>C", call_cidr},
    {"isCIDR", false, "s>b", call_is_cidr},
    {"containsIP", true, "CP>b Cs>b", call_contains},
    {"containsCIDR", true, "CC>b Cs>b", call_contains},
    {"ip", true, "C>P", call_cidr_part},
    {"masked", true, "C>C", call_cidr_part},
    {"prefixLength", true, "C>i", call_cidr_part},
};
CEL_FUNCTIONS(cel_net_functions, functions);
