/*
 * hold: one look at a Workload and at what it is made for, and what the controllers that hold work back do with both,
 * whatever that is: a job (job_queue.c), pods (pod_group.c), a set that serves (serving_set.c).
 *
 * A look has a struct hold_look: who is told Events, the Workload as it is, and what its conditions say. Each function
 * that returns enum work writes at most once, as a round of its own, and the next look goes on; WORK_OK: there was
 * nothing to write.
 */
#ifndef BERTH_CONTROL_HOLD_H
#define BERTH_CONTROL_HOLD_H

#include "control/hold/pod_group_write.h"
#include "control/kit/controller.h"
#include "control/load/workload_status.h"

struct hold_look {
    struct controller *c;
    const struct queue_settings *settings;
    /* The object that the Workload is made for, which is told Events; NULL: it is gone. */
    const struct object *about;
    const struct object *wl_obj; /* NULL: no Workload */
    yyjson_val *wl_tree;
    struct workload wl;
    bool admitted, evicted, reserved, wl_finished;
};

/* Reads the Workload wl_obj: the tree, the view, the conditions. */
int hold_see(struct hold_look *h, struct err *err);
/* Sets the four flags from the conditions of `wl`, for a caller that has read the view itself. */
void hold_sync(struct hold_look *h);
/* Its condition; NULL: it has none of that type. */
const struct condition *hold_condition(const struct hold_look *h, const char *type);
/* QuotaReserved is False with the reason OnHold. */
bool hold_is_on_hold(const struct hold_look *h);

/* ---- the status ---- */

void hold_change_init(const struct hold_look *h, struct workload_change *ch);
enum work hold_change(const struct hold_look *h, struct workload_change *ch);
/* Finished, with this reason (static); hold_finish also tells `about`. */
enum work hold_end(const struct hold_look *h, const char *reason, struct str message);
enum work hold_finish(const struct hold_look *h, const char *reason, struct str message);
/* Takes the quota away: QuotaReserved False with this reason. */
enum work hold_unset(const struct hold_look *h, const char *reason, struct str message);
/* PodsReady, where the Configuration asks for it. */
enum work hold_ready(const struct hold_look *h, bool admitted, bool ready);
/* How many pods of a pod set need no quota any more: the number in the status; and writes the numbers. */
int32_t hold_reclaimed(const struct hold_look *h, struct str set);
enum work hold_reclaim(const struct hold_look *h, struct reclaimable_pod *v, size_t n);

/* ---- the Workload ---- */

/* Creates the Workload, or changes the one that is there to what would be created. */
enum work hold_make(const struct hold_look *h, const struct group_workload *w);
/* Writes another spec; other metadata (`code`: of composing them). */
enum work hold_respec(const struct hold_look *h, struct workload_spec *spec);
enum work hold_remeta(const struct hold_look *h, int code, const struct meta *meta);
enum work hold_drop_finalizer(const struct hold_look *h, const struct object *wl);
/* The priority that a new one has, by the label of what it is made for and the class of its pods. ERR_NOT_FOUND: a
 * class is not there, which `about` was told; ERR_NOMEM. */
int hold_priority(const struct hold_look *h, struct str pod_class, struct workload_priority *ret);
/* Does the label name another priority class than the Workload has, which may still be changed? */
bool hold_wants_class(const struct hold_look *h);

/* Events. */
void hold_tell_created(const struct hold_look *h, struct str name);
void hold_tell_updated(const struct hold_look *h);
void hold_tell_removed(const struct hold_look *h, const struct object *wl);

/* Was it deactivated by Berth, and is the time over for which what it is made for is kept? If not yet, it is looked at
 * again by then. */
bool hold_is_expired(const struct hold_look *h);

#endif
