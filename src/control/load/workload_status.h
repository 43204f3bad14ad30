/*
 * workload_status: changes of a Workload's status: each starts from the decoded status, sets conditions and members,
 * and is written as the patch between the two, conditional on the version it was decided from (control/kit/edit.h).
 */
#ifndef BERTH_CONTROL_WORKLOAD_STATUS_H
#define BERTH_CONTROL_WORKLOAD_STATUS_H

#include "api/conditions.h"
#include "control/kit/views.h"
#include "control/load/queue_settings.h"

struct workload_change {
    const struct object *obj;
    const struct workload *wl;
    struct arena *arena;
    int64_t now_ns;
    /* As wanted; all but its conditions may be shared with what was */
    struct workload_status status;
    bool changed;                          /* a condition differs */
    bool reset;                            /* checks go back to Pending */
    const struct queue_settings *settings; /* NULL: the defaults */
    int code;
};

/* A count in a status, and one more: the last stays the last. */
static inline int32_t workload_count_more(int32_t n) {
    return n < INT32_MAX ? n + 1 : n;
}

void workload_change_init(struct workload_change *c, const struct object *obj,
                          const struct workload *wl, struct arena *a, int64_t now_ns);
void workload_change_put(struct workload_change *c, const struct condition_want *want);
void workload_change_set(struct workload_change *c, const char *type, bool truth,
                         const char *reason, struct str message);
/* Evicted: checks go back to Pending, gates close, the eviction is counted; quota stays reserved. A check that said
 * Retry, and for how long, delays the return. */
void workload_change_evict(struct workload_change *c, const char *reason, const char *cause,
                           struct str message);
/* requeueState: how often it was sent back, and until when it waits; each 0: none. requeueAt never moves backward. */
void workload_change_requeue(struct workload_change *c, int32_t count, int64_t at_ns);
/* The wait is over: requeueAt goes, the count stays. */
void workload_change_requeued(struct workload_change *c);
/* Takes the quota away: QuotaReserved False with this reason, no admission, not Admitted. */
void workload_change_unset(struct workload_change *c, const char *reason, struct str message);
/* Gives the quota back after an eviction, once nothing runs: requeued at once, or blocked until somebody allows it. */
void workload_change_release(struct workload_change *c);
/* PodsReady:
 *
 *     False WaitForStart     not admitted, or admitted and never ready since
 *     False WaitForRecovery  admitted, was ready, is not any more
 *     True Started           ready for the first time since the admission
 *     True Recovered         ready again
 */
void workload_change_ready(struct workload_change *c, bool admitted, bool ready);
/* What QuotaReserved False says, without the gate UnadmittedWorkloadsObservability in the few words of old. Static when
 * `reason` is. */
const char *workload_wait_reason(const struct queue_settings *s, const char *reason);
/* What Admitted False says of one without quota, and its message; static. Without that gate it says so too when checks
 * are not ready; reset: they go back to Pending with this write. */
const char *workload_unreserved_reason(const struct queue_settings *s, const struct workload *w,
                                       bool reset, struct str *ret_message);
/* The event of an eviction: "EvictedDueTo...", static. cause: of a deactivation. */
const char *workload_evicted_event(struct str reason, struct str cause);
/* Names of Pending checks that have something to say: `name: message; ...`, in the arena; empty when none. */
struct str workload_pending_checks(const struct workload *wl, struct arena *a);
/* Appends the patch; 0, ERR_NOMEM, ERR_TOO_LARGE, or ERR_NOT_FOUND when nothing differs. */
int workload_change_write(const struct workload_change *c, struct buf *out);

#endif
