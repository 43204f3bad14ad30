/*
 * held (core): requests that wait, for a model at zero to be ready or for a busy one to have room; and in which order
 * they go on.
 *
 * Bounded by number, bytes, number and bytes of one tenant, and time. Where it is full, what has the lowest priority
 * goes: the newcomer, or the newest of those that have less than he has, which is told to its owner (held_shed).
 * Released:
 *
 *     the highest priority first;
 *     of one priority by weight between tenants: start-time fair queueing (Goyal, Vin, Cheng 1996). A request is tagged
 *     start = max(virtual time, finish of the tenant's last), finish = start + cost / weight; the least start goes, and
 *     virtual time becomes it. So two tenants that always wait get their shares, to one request, and who was away gets
 *     nothing for it;
 *     of one tenant and priority in the order of coming.
 *
 * The caller says how many may go at once (places that the endpoints have) and is paced: `pace` of them a second
 * after the first `burst`, so that a server that has just started is not met by all. Virtual time and sequence
 * numbers are all that counts: the same calls give the same order.
 *
 * Memory is given once, for `most` requests. Handles are slot + generation: one that is gone is known as such.
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
    HELD_TENANT_FULL, /* this tenant has as many as he may */
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

/* HELD_TAKEN with a handle; *ret_shed is the owner of a request that made place, else NULL. */
enum held_refusal held_add(struct held_queue *h, const struct held_request *r, int64_t now,
                           uint64_t *ret_handle, void **ret_shed);
/* Its client is gone. False: it is not there any more. */
bool held_cancel(struct held_queue *h, uint64_t handle);
/* The owner of one whose deadline is over, which leaves; NULL: none. */
void *held_expire(struct held_queue *h, int64_t now);
/* The owner of the one that goes next, which leaves; NULL: none may go now. */
void *held_next(struct held_queue *h, int64_t now);
/* When to look again: ns until a release or a deadline; -1: nothing waits. */
int64_t held_wait(struct held_queue *h, int64_t now);
/* The model is ready (again): paces from the burst on. */
void held_open(struct held_queue *h, int64_t now);

#endif
