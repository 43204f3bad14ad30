/*
 * bed: whole verbs against a server that answers from a table, in a thread of its own. For tests.
 *
 *     bed_start(routes, n);
 *     assert_int_equal(RUN("top"), 0);          bed.out and bed.told: what it wrote; bed.seen: what it asked
 *     bed_stop();
 */
#ifndef BERTH_CLI_BED_H
#define BERTH_CLI_BED_H

#include "base/buf.h"

struct route {
    const char *request; /* "GET /path?query": the longest that a request begins with answers it */
    int status;
    const char *body;
    /* It counts when that was asked so often before, and then instead of others of its length */
    unsigned after;
};

struct verbs_bed {
    const struct route *routes;
    size_t n;
    struct buf seen, out, told; /* requests; standard output and standard error of the last verb */
};
extern struct verbs_bed bed;

void bed_start(const struct route *routes, size_t n);
void bed_stop(void);
/* Runs a verb, NULL at the end. Its exit code. */
int bed_run(const char *const *words);
#define RUN(...) bed_run((const char *const[]){__VA_ARGS__, NULL})

#endif
