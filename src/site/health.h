/*
 * health: named checks, and their report as Kubernetes writes it for /livez, /readyz and /healthz.
 *
 * A check is cheap and answers at once: it says what it knows. A group is the path without its slash. Everything runs
 * on the loop thread.
 */
#ifndef BERTH_SITE_HEALTH_H
#define BERTH_SITE_HEALTH_H

#include "base/buf.h"
#include "base/err.h"

enum health_group {
    HEALTH_LIVE = 1 << 0,  /* livez: a failing check means that a restart may help */
    HEALTH_READY = 1 << 1, /* readyz: not now */
    HEALTH_ALL = HEALTH_LIVE | HEALTH_READY, /* healthz reports both */
};

struct health;

struct health *health_new(void); /* with check "ping"; NULL: out of memory */
void health_free(struct health *h);
/* name: static, short, without spaces. check: 0, or an error whose text is shown to nobody but the log and the verbose
 * report's "reason withheld". ERR_NOMEM. */
int health_add(struct health *h, unsigned groups, const char *name,
               int (*check)(void *ctx, struct err *err), void *ctx);

/* Appends the report for one group ("livez", "readyz", "healthz"), or for one check of it (`only`, else empty). True
 * when all that was asked for is well; then the short report is "ok". `exclude` names checks to leave out, separated by
 * commas. *ret_unknown (may be NULL): `only` names no check. */
bool health_report(const struct health *h, const char *path, struct str only, struct str exclude,
                   bool verbose, struct buf *out, bool *ret_unknown);

#endif
