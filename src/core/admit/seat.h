/*
 * seat (core): assigns a place to every pod of an assignment, either now or after its victims have gone.
 */
#ifndef BERTH_CORE_SEAT_H
#define BERTH_CORE_SEAT_H

#include "core/admit/cycle.h"

/* A place for all pods of an assignment. *ret_ok false: why is in the verdict. */
int seat_entry(struct engine *e, struct cycle_entry *n, bool *ret_ok, bool *ret_seated);
/* The same with its victims gone: who would have no place then evicts nobody. The places that it would have are kept
 * for its queue (pool.h: claims) until its head comes to something else than to wait for victims. */
int seat_claim(struct engine *e, struct cycle_entry *n, bool *ret_ok);
/* Victims for the sake of a place alone, into n->a. *ret_leaving: no need for any, those whose places it takes are on
 * their way out. */
int seat_victims(struct engine *e, struct cycle_entry *n, bool *ret_leaving, int64_t *ret_wake_ns);

/* A place as a further test of a search for victims (preempt_ask.fits); n 0: no pod needs one, or why says that they
 * are too many. */
enum { SEAT_TRIAL_COST_MAX = 1 << 18 }; /* nodes looked at in one search */
struct seat_trial {
    struct engine *e;
    struct place_input *in; /* its own */
    size_t n;
    struct place_why why; /* of the last that did not fit */
    int error;
    bool open;
    uint64_t before; /* check_undo; 0: not checked */
    struct workload_vec lifted;
};
void seat_trial_end(struct seat_trial *t); /* also after a failure */
int seat_trial_begin(struct engine *e, const struct queue_workload *w, const struct assignment *a,
                     struct seat_trial *t);
bool seat_trial_fits(void *ctx, const struct victim *v, size_t n);

#endif
