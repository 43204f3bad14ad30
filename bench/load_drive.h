/*
 * load_drive: what Kueue's test runner does, over HTTP: creates the workloads of a plan when they are due, watches
 * all Workloads, and finishes each when it was admitted for its run time; one that is evicted gives its quota back.
 *
 * Events arrive in the order in which things became durable, so what is held is added up from them, and anything
 * beyond a quota shows.
 */
#ifndef BERTH_BENCH_LOAD_DRIVE_H
#define BERTH_BENCH_LOAD_DRIVE_H

#include <openssl/ssl.h>

#include "load_plan.h"

enum { CLASS_TIMES = 3 };

struct drive {
    struct plan *plan;
    SSL_CTX *tls;
    int port;
    size_t connections;
    double runtime_scale;  /* 0: a workload ends as soon as its admission is seen */
    double interval_scale; /* 0: created as fast as answers come */
    int stall_s;           /* gives up after so long without an event */
    /* results */
    int64_t start, created,
        end; /* ns: the first create is sent, the last is answered, the last end is seen */
    int64_t *create_ns, *finish_ns; /* time to the answer, of each item */
    int64_t *admit_ns;              /* create sent to admission seen; of the first admission */
    size_t finished, events, conflicts, evictions, beyond_quota;
};

/* 0, or -1 with a line on stderr. */
int drive_run(struct drive *d);

/* The texts of requests: the length of what was written into out (LOAD_REQUEST_MAX bytes). */
size_t drive_create_text(const struct plan *p, size_t item, char *out);
size_t drive_request(char *out, const char *method, const char *type, const char *path,
                     const char *body);
#define DRIVE_WORKLOADS "/apis/kueue.x-k8s.io/v1beta2/namespaces/%s/workloads"

#endif
