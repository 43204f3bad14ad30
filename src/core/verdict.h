/*
 * verdict (core): why a workload waits, as data, and the text of it.
 *
 * The engine decides with numbers and keeps numbers; verdict_text writes what people read, at the edge, in the words
 * that Kueue uses for quota and in our own for placement.
 */
#ifndef BERTH_CORE_VERDICT_H
#define BERTH_CORE_VERDICT_H

#include "base/arena.h"
#include "base/buf.h"
#include "core/pool.h"

enum pend_reason { /* from mild to severe */
    PEND_NONE,
    PEND_WAITING_FOR_PLACEMENT, /* quota is there, a place is not */
    PEND_WAITING_FOR_QUOTA,
    PEND_EXCEEDS_MAX_QUOTA,
    PEND_NO_MATCHING_FLAVOR,
};

enum detail_kind {
    DETAIL_RESOURCE_UNAVAILABLE, /* no resource group covers it */
    DETAIL_FLAVOR_MISSING,
    DETAIL_TAINT,
    DETAIL_AFFINITY,
    DETAIL_EXCEEDS, /* a: requested by earlier pod sets, b: by this one, c: capacity */
    DETAIL_UNUSED,  /* a: how much more is needed */
};

struct verdict_detail {
    enum detail_kind kind;
    uint32_t resource, flavor;
    int64_t a, b, c;
    const struct taint *taint;
};

struct verdict_set {
    struct str name;
    struct verdict_detail *v;
    size_t n;
};

struct verdict {
    enum pend_reason reason;
    bool contended; /* it fitted, until another workload of the same cycle took the quota */
    const struct verdict_set *sets; /* those with details */
    size_t n_sets;
    struct place_why place; /* PEND_WAITING_FOR_PLACEMENT */
};

/* Kueue's word for the condition's reason: "WaitingForQuota", ... */
const char *pend_reason_text(enum pend_reason r);
/* The condition's message. `a` is for scratch. */
void verdict_text(const struct verdict *v, const struct names *flavors,
                  const struct names *resources, struct arena *a, struct buf *out);
/* An amount as Kubernetes writes it: cpu in milli-units, memory in powers of 1024. */
void amount_text(struct str resource, int64_t v, struct buf *out);

#endif
