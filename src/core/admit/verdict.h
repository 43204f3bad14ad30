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
#include "core/place/pool.h"
#include "wire/text/quantity.h"

enum pend_reason { /* from mild to severe, where flavors are compared */
                   PEND_NONE,
                   PEND_EVALUATION,        /* PendingEvaluation: failed checks, nothing decided */
                   PEND_WAITING_FOR_READY, /* WaitingForPodsReady: blockAdmission */
                   PEND_WAITING_FOR_PREEMPTED, /* WaitingForPreemptedWorkloads: victims are on their way out */
                   PEND_GATED, /* AdmissionGated: it would preempt, but a preemption gate is closed */
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
    DETAIL_EXCEEDS,      /* a: requested by earlier pod sets, b: by this one, c: capacity */
    DETAIL_UNUSED,       /* a: how much more is needed */
    DETAIL_OTHER_FLAVOR, /* a: the flavor that the holder which it replaces has */
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

/* What happened to a head after flavors were found for it. */
enum pend_turn {
    TURN_NONE,
    TURN_CONTENDED,    /* it fitted, until another workload of the same cycle took the quota */
    TURN_OVERLAP,      /* its victims are also those of another workload of the cycle */
    TURN_DEFERRED_FIT, /* and it will fit when those are gone */
    TURN_PREEMPTING,   /* n_preempting victims are on their way out */
    TURN_REFUSED,      /* its victims may not go: break_alternation */
    TURN_FAILED_CHECKS
};

/* A flavor that was tried for a set: for the text "Flavors considered". */
struct considered_flavor {
    uint32_t flavor, borrow;
    const char *mode; /* "Fit", "NoFit", "Preempt", "Reclaim", "NoCandidates": static */
    const struct verdict_detail *why; /* details of this flavor */
    size_t n_why;
};
struct considered_set {
    struct str name;
    struct considered_flavor *v;
    size_t n;
};
struct considered {
    struct considered_set *sets;
    size_t n_sets;
};

struct verdict {
    enum pend_reason reason;
    enum pend_turn turn;
    uint32_t n_preempting;
    const struct verdict_set *sets; /* those with details */
    size_t n_sets;
    struct place_why place; /* PEND_WAITING_FOR_PLACEMENT */
};

/* Kueue's word for the condition's reason: "WaitingForQuota", ... */
const char *pend_reason_text(enum pend_reason r);
/* "Flavors considered: ..." without those words; empty when every flavor was a plain fit. */
void considered_text(const struct considered *c, const struct names *flavors,
                     const struct names *resources, struct arena *a, struct buf *out);
/* The condition's message. `a` is for scratch. */
void verdict_text(const struct verdict *v, const struct names *flavors,
                  const struct names *resources, struct arena *a, struct buf *out);
/* An amount as Kubernetes writes it: cpu in milli-units, memory in powers of 1024. */
struct quantity amount_quantity(struct str resource, int64_t v);
void amount_text(struct str resource, int64_t v, struct buf *out);

#endif
