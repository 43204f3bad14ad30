/*
 * discover: which kinds an API server serves: groups, versions, resources.
 *
 * Asked by aggregated discovery (two requests); where a server does not know that, group by group. Groups whose own
 * server does not answer are left out, as kubectl leaves them out, and counted in `missing`. Whoever follows
 * CustomResourceDefinitions asks again when one comes or goes; others every few minutes.
 */
#ifndef BERTH_KUBE_DISCOVER_H
#define BERTH_KUBE_DISCOVER_H

#include "kube/client.h"

struct discovered {
    struct str group, version, plural, kind; /* group "" for core */
    bool namespaced;
    bool status; /* has the subresource */
    bool preferred; /* the version that the group puts first */
};

struct discovery {
    const struct discovered *v;
    size_t n;
    size_t missing; /* groups that did not answer */
};
/* NULL when it is not served. version empty: any, the preferred one first. */
const struct discovered *discovery_find(const struct discovery *d, struct str group,
                                        struct str version, struct str kind);

struct discover;
/* done comes once, never inside this call; what it gets is valid during the call. */
struct discover *discover_start(struct kube_client *c,
                                void (*done)(void *ctx, int code, const struct discovery *d,
                                             const struct err *err),
                                void *ctx, struct err *err);
void discover_cancel(struct discover *d); /* done is not called. NULL is a no-op; not after done */

#endif
