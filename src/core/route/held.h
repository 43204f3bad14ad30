/*
 * held (core): requests that wait, until a model scaled to zero is ready or a busy one has room, and the order in which
 * they are released.
 *
 * The queue is limited by number, by bytes, by both for each tenant, and by time. When it is full, the request with the
 * lowest priority is shed: the new one, or the newest of those with a lower priority, whose owner learns of it
 * (held_shed). Requests are released
 *
 *     by priority, the highest first;
 *     within a priority by the tenants' weights: start-time fair queueing (Goyal, Vin, Cheng 1996). A request is tagged
 *     start = max(virtual time, finish of the tenant's last), finish = start + cost / weight; the smallest start is
 *     released and becomes the virtual time. So two tenants that always have requests waiting get their shares to
 *     within one request, and a tenant that was idle gains nothing by it;
 *     within a tenant and priority in order of arrival.
 *
 * The caller says how many may be released at once (free places at the endpoints). The rate is limited to `pace` a
 * second after the first `burst`, so that a server that has just started is not flooded. Only virtual time and sequence
 * numbers count: the same calls give the same order.
 *
 * Memory is allocated once, for `most` requests. Handles are slot + generation, so stale ones are detected.
 */
#ifndef BERTH_CORE_ROUTE_HELD_H
#define BERTH_CORE_ROUTE_HELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/route/bucket.h"

enum { HELD_MOST = 1 << 20, HELD_TENANTS_MAX = 4096, HELD_WEIGHT_MAX = 10000 };

enum held_refusal {
    HELD_TAKEN,
    HELD_FULL,        /* by number or bytes, and nothing of lower priority waits */
    HELD_TENANT_FULL, /* the tenant's own limit is reached */
    HELD_TOO_MANY_TENANTS,
    HELD_LATE, /* its deadline is over */
};

struct held_bounds {
    size_t most, most_tenant;
    int64_t bytes, bytes_tenant;
    int64_t pace, burst; /* releases a second, and at first; pace 0: no limit */
};

struct held_item {
    uint64_t tenant, order, generation;
    int64_t bytes, deadline, since;
    uint64_t start; /* virtual */
    void *owner;
    int32_t priority;
    uint32_t lane; /* of the tenant + 1; 0: free */
};

struct held_lane { /* of one tenant */
    uint64_t tenant, finish;
    size_t n;
    int64_t bytes;
    bool used;
};

struct held_queue {
    struct held_bounds bounds;
    struct held_item *v;
    struct held_lane *lanes;
    size_t n, top; /* waiting; slots that were ever used */
    int64_t bytes;
    uint64_t virtual_time, order;
    uint64_t last; /* the latest finish: where virtual time goes on from when nothing waits */
    struct bucket pace;
};

struct held_request {
    uint64_t tenant;  /* who pays */
    int32_t weight;   /* 1 to HELD_WEIGHT_MAX */
    int32_t priority; /* more is more important */
    int64_t cost;     /* 1, or tokens */
    int64_t bytes, deadline;
    void *owner;
};

int held_init(struct held_queue *h, const struct held_bounds *b, int64_t now); /* 0 or ERR_NOMEM */
void held_release(struct held_queue *h);

/* HELD_TAKEN with a handle; *ret_shed is the owner of a request that was shed for it, else NULL. */
enum held_refusal held_add(struct held_queue *h, const struct held_request *r, int64_t now,
                           uint64_t *ret_handle, void **ret_shed);
/* Removes a request whose client is gone. False: it was no longer there. */
bool held_cancel(struct held_queue *h, uint64_t handle);
/* Removes a request past its deadline and returns its owner; NULL: none. */
void *held_expire(struct held_queue *h, int64_t now);
/* Releases the next request and returns its owner; NULL: none may go now. */
void *held_next(struct held_queue *h, int64_t now);
/* The same of those that may go now; the others keep their places and cost no release. `may` is asked only about a
 * request that would be the next. */
void *held_next_that(struct held_queue *h, int64_t now, bool (*may)(void *ctx, void *owner),
                     void *ctx);
/* ns until the next release or deadline; -1: nothing waits. */
int64_t held_wait(struct held_queue *h, int64_t now);
/* The model is ready (again): pacing starts over with the burst. */
void held_open(struct held_queue *h, int64_t now);

#endif
