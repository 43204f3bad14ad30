/*
 * dns: questions and answers of the Domain Name System (RFC 1035, with EDNS's size, RFC 6891): one question in, a
 * message out. Names are texts in lower case without the last dot: "web.prod.svc.cluster.local".
 */
#ifndef BERTH_WIRE_DNS_H
#define BERTH_WIRE_DNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum { DNS_NAME_MAX = 253, DNS_LABEL_MAX = 63, DNS_UDP_PLAIN = 512, DNS_MESSAGE_MAX = 65535 };
enum {
    DNS_A = 1,
    DNS_NS = 2,
    DNS_CNAME = 5,
    DNS_SOA = 6,
    DNS_PTR = 12,
    DNS_TXT = 16,
    DNS_AAAA = 28,
    DNS_SRV = 33,
    DNS_ANY = 255
};
enum {
    DNS_OK = 0,
    DNS_FORMERR = 1,
    DNS_SERVFAIL = 2,
    DNS_NXDOMAIN = 3,
    DNS_NOTIMP = 4,
    DNS_REFUSED = 5
};

struct dns_question {
    uint16_t id, type;
    bool recurse; /* asked for */
    bool edns;
    uint16_t room; /* bytes that the asker takes by UDP */
    char name[DNS_NAME_MAX + 1];
    size_t name_n;
};

/* One question of class IN, opcode QUERY. ERR_SYNTAX: no message of DNS (say nothing); ERR_INVALID: answer FORMERR;
 * ERR_UNSUPPORTED: answer NOTIMP. For the last two id is set and the name is empty. */
int dns_read(struct str message, struct dns_question *ret);

/* A question, appended: to somebody who knows more. */
void dns_ask(struct buf *out, uint16_t id, struct str name, uint16_t type);
/* The IPv4 addresses of an answer, at most max; 0 when it has none or is none. */
size_t dns_read_addresses(struct str message, uint32_t *ret, size_t max);

/* A message under construction: begin, then records in this order, then end. */
struct dns_answer {
    struct buf *out;
    size_t from, max;
    unsigned answers, others, authority;
    bool truncated;
};
void dns_begin(struct dns_answer *a, struct buf *out, const struct dns_question *q, int rcode,
               bool authoritative, size_t max);
void dns_a(struct dns_answer *a, struct str name, uint32_t ttl, uint32_t ip);
void dns_cname(struct dns_answer *a, struct str name, uint32_t ttl, struct str target);
void dns_srv(struct dns_answer *a, struct str name, uint32_t ttl, uint16_t port, struct str target);
/* Of the zone, for "no such name" and "no such record": how long that may be believed. */
void dns_soa(struct dns_answer *a, struct str zone, uint32_t ttl);
/* More addresses, of the targets of SRV records. */
void dns_more_a(struct dns_answer *a, struct str name, uint32_t ttl, uint32_t ip);
/* Counts, the bit for "cut", and EDNS where the question had it. 0, or ERR_NOMEM. */
int dns_end(struct dns_answer *a, const struct dns_question *q);

#endif
