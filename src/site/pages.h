/*
 * pages: what a process that is no API server serves about itself: /healthz, /livez, /readyz (and one check of each
 * below them), /metrics, and an index.
 *
 * Plain HTTP, GET and HEAD alone; nothing secret is said. Loopback unless allow_any. Metrics may be served at an
 * address of their own; a great registry goes out a piece at a time.
 */
#ifndef BERTH_SITE_PAGES_H
#define BERTH_SITE_PAGES_H

#include "net/http_server.h"
#include "site/health.h"
#include "wire/prometheus.h"

struct pages;

struct pages_options {
    struct loop *loop;
    struct str host;
    uint16_t port; /* 0: any free one */
    bool allow_any;
    const struct health *health; /* NULL: not served here */
    struct prom *prom;           /* NULL: not served here */
};

int pages_start(const struct pages_options *o, struct pages **ret, struct err *err);
uint16_t pages_port(const struct pages *p);
void pages_free(struct pages *p);

#endif
