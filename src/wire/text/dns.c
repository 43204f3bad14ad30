/* dns: see dns.h. Names are written whole: answers are short, and compression is what parsers stumble over. */
#include "wire/text/dns.h"

#include <string.h>

enum {
    HEADER = 12,
    CLASS_IN = 1,
    TYPE_OPT = 41,
    POINTER = 0xc0,
    EDNS_ROOM = 1232,
    RECORD_HEAD = 10
};

static uint16_t u16(const unsigned char *p) {
    return (uint16_t)(p[0] << 8 | p[1]);
}

/* A name at *at, with no pointers when `text` is wanted (a question has none). */
static bool read_name(struct str m, size_t *at, struct dns_question *q) {
    const unsigned char *p = (const unsigned char *)m.p;
    size_t i = *at, n = 0;

    for (;;) {
        if (i >= m.n) {
            return false;
        }
        unsigned len = p[i++];
        if (len == 0) {
            break;
        }
        if (len > DNS_LABEL_MAX || len > m.n - i || n + len + 1 > DNS_NAME_MAX + 1) {
            return false;
        }
        if (n) {
            q->name[n++] = '.';
        }
        for (unsigned k = 0; k < len; k++, i++) {
            unsigned char c = p[i];
            if (c <= ' ' || c >= 127 || c == '.') {
                return false;
            }
            q->name[n++] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
        }
    }
    q->name[n] = 0;
    q->name_n = n;
    *at = i;
    return true;
}

/* The one record that matters beside the question: OPT, whose name is empty. */
static void read_additional(struct str m, size_t at, unsigned count, struct dns_question *q) {
    const unsigned char *p = (const unsigned char *)m.p;

    while (count-- && m.n - at > RECORD_HEAD && p[at] == 0) {
        uint16_t type = u16(p + at + 1), class = u16(p + at + 3), n = u16(p + at + 9);
        if (type == TYPE_OPT) {
            q->edns = true;
            q->room = class < DNS_UDP_PLAIN ? DNS_UDP_PLAIN : class > EDNS_ROOM ? EDNS_ROOM : class;
        }
        at += 1 + RECORD_HEAD;
        if (m.n - at < n) {
            return;
        }
        at += n;
    }
}

int dns_read(struct str m, struct dns_question *ret) {
    const unsigned char *p = (const unsigned char *)m.p;
    struct dns_question q = {.room = DNS_UDP_PLAIN};
    size_t at = HEADER;

    if (m.n < HEADER || (p[2] & 0x80)) { /* an answer is never answered */
        return ERR_SYNTAX;
    }
    q.id = u16(p);
    q.recurse = p[2] & 1;
    *ret = q;
    if ((p[2] >> 3 & 15) != 0) {
        return ERR_UNSUPPORTED;
    }
    if (u16(p + 4) != 1 || u16(p + 6) != 0 || u16(p + 8) != 0 || !read_name(m, &at, &q) ||
        m.n - at < 4) {
        return ERR_INVALID;
    }
    q.type = u16(p + at);
    if (u16(p + at + 2) != CLASS_IN) {
        return ERR_UNSUPPORTED;
    }
    read_additional(m, at + 4, u16(p + 10), &q);
    *ret = q;
    return 0;
}

/* Past a name, which may end in a pointer. */
static bool skip_name(struct str m, size_t *at) {
    const unsigned char *p = (const unsigned char *)m.p;

    while (*at < m.n && p[*at] != 0) {
        if (p[*at] >= POINTER) {
            *at += 2;
            return *at <= m.n;
        }
        *at += 1 + (size_t)p[*at];
    }
    return ++*at <= m.n;
}

size_t dns_read_addresses(struct str m, uint32_t *ret, size_t max) {
    const unsigned char *p = (const unsigned char *)m.p;
    size_t at = HEADER, n = 0;

    if (m.n < HEADER || !(p[2] & 0x80) || u16(p + 4) != 1 || !skip_name(m, &at) || m.n - at < 4) {
        return 0;
    }
    at += 4;
    for (unsigned i = u16(p + 6); i > 0 && n < max; i--) {
        if (!skip_name(m, &at) || m.n - at < RECORD_HEAD) {
            break;
        }
        size_t size = u16(p + at + 8);
        bool address = u16(p + at) == DNS_A && u16(p + at + 2) == CLASS_IN && size == 4;
        at += RECORD_HEAD;
        if (m.n - at < size) {
            break;
        }
        if (address) {
            ret[n++] = (uint32_t)u16(p + at) << 16 | u16(p + at + 2);
        }
        at += size;
    }
    return n;
}

/* ---- writing ---- */

static void put16(struct buf *b, unsigned v) {
    buf_ch(b, (char)(v >> 8));
    buf_ch(b, (char)v);
}

static void put32(struct buf *b, uint32_t v) {
    put16(b, v >> 16);
    put16(b, v & 0xffff);
}

static void put_name(struct buf *b, struct str name) {
    struct str label;

    while (str_next(&name, '.', &label)) {
        size_t n = label.n < DNS_LABEL_MAX ? label.n : DNS_LABEL_MAX;
        if (n) {
            buf_ch(b, (char)n);
            buf_add(b, label.p, n);
        }
    }
    buf_ch(b, 0);
}

void dns_ask(struct buf *out, uint16_t id, struct str name, uint16_t type) {
    put16(out, id);
    put16(out, 0x0100); /* recursion, please */
    put16(out, 1);
    put16(out, 0);
    put32(out, 0);
    put_name(out, name);
    put16(out, type);
    put16(out, CLASS_IN);
}

void dns_begin(struct dns_answer *a, struct buf *out, const struct dns_question *q, int rcode,
               bool authoritative, size_t max) {
    struct str name = str_from(q->name, q->name_n);

    *a = (struct dns_answer){.out = out, .from = out->n, .max = max - (q->edns ? 11 : 0)};
    put16(out, q->id);
    buf_ch(out, (char)(0x80 | (authoritative ? 4 : 0) | (q->recurse ? 1 : 0)));
    buf_ch(out, (char)(0x80 | rcode)); /* recursion is offered */
    put16(out, q->type != 0);
    put16(out, 0);
    put16(out, 0);
    put16(out, 0);
    if (q->type) {
        put_name(out, name);
        put16(out, q->type);
        put16(out, CLASS_IN);
    }
}

/* The head of a record with n bytes of data; false when it has no room. */
static bool record(struct dns_answer *a, struct str name, unsigned type, uint32_t ttl, size_t n) {
    if (a->truncated || a->out->n - a->from + name.n + 2 + RECORD_HEAD + n > a->max) {
        a->truncated = true;
        return false;
    }
    put_name(a->out, name);
    put16(a->out, type);
    put16(a->out, CLASS_IN);
    put32(a->out, ttl);
    put16(a->out, (unsigned)n);
    return true;
}

static size_t name_size(struct str name) {
    return name.n ? name.n + 2 : 1;
}

void dns_a(struct dns_answer *a, struct str name, uint32_t ttl, uint32_t ip) {
    if (record(a, name, DNS_A, ttl, 4)) {
        put32(a->out, ip);
        a->answers++;
    }
}

void dns_cname(struct dns_answer *a, struct str name, uint32_t ttl, struct str target) {
    if (record(a, name, DNS_CNAME, ttl, name_size(target))) {
        put_name(a->out, target);
        a->answers++;
    }
}

void dns_srv(struct dns_answer *a, struct str name, uint32_t ttl, uint16_t port,
             struct str target) {
    if (record(a, name, DNS_SRV, ttl, 6 + name_size(target))) {
        put16(a->out, 0);
        put16(a->out, 100);
        put16(a->out, port);
        put_name(a->out, target);
        a->answers++;
    }
}

void dns_soa(struct dns_answer *a, struct str zone, uint32_t ttl) {
    if (record(a, zone, DNS_SOA, ttl, zone.n + 2 + 4 + zone.n + 13 + 20)) {
        size_t at = a->out->n;
        buf_ch(a->out, 3);
        buf_c(a->out, "ns1");
        put_name(a->out, zone);
        buf_ch(a->out, 10);
        buf_c(a->out, "hostmaster");
        put_name(a->out, zone);
        put32(a->out, 1);
        put32(a->out, 7200);
        put32(a->out, 1800);
        put32(a->out, 86400);
        put32(a->out, ttl);
        size_t n = a->out->n - at;
        if (buf_ok(a->out) == 0) {
            a->out->p[at - 2] = (char)(n >> 8);
            a->out->p[at - 1] = (char)n;
        }
        a->authority++;
    }
}

void dns_more_a(struct dns_answer *a, struct str name, uint32_t ttl, uint32_t ip) {
    bool cut = a->truncated; /* what is only offered may be left out */

    if (!cut && record(a, name, DNS_A, ttl, 4)) {
        put32(a->out, ip);
        a->others++;
    }
    a->truncated = cut;
}

int dns_end(struct dns_answer *a, const struct dns_question *q) {
    if (q->edns) {
        buf_ch(a->out, 0);
        put16(a->out, TYPE_OPT);
        put16(a->out, EDNS_ROOM);
        put32(a->out, 0);
        put16(a->out, 0);
        a->others++;
    }
    if (buf_ok(a->out)) {
        return ERR_NOMEM;
    }
    char *p = a->out->p + a->from;
    p[2] = (char)(p[2] | (a->truncated ? 2 : 0));
    p[6] = (char)(a->answers >> 8);
    p[7] = (char)a->answers;
    p[9] = (char)a->authority;
    p[10] = (char)(a->others >> 8);
    p[11] = (char)a->others;
    return 0;
}
