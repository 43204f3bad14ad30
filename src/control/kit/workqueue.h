/*
 * workqueue: which objects a controller must look at again.
 *
 * Level-triggered: a key says which thing to look at, never what happened to it. A key waits at most once however often
 * it is added, and is worked on by one hand at a time: added while its work goes on, it comes back when that work ends.
 * Keys come out in the order in which they became due, `budget` of them a turn, so that the loop stays responsive.
 * Everything runs from one timer of the clock, also "now", so adding from a mirror feed is safe (work is never called
 * inside add) and virtual time drives it as real time does.
 *
 * A failure retries after 5 ms, 10 ms, ... 1000 s (doubling per consecutive failure of the key); success forgets.
 *
 * When the wall clock is set, every key that waits is due at once: most of them wait for a wall time, and a key that
 * looks too early only waits again.
 *
 * Out of memory: an add that fails is not lost. The queue remembers that it lost something and calls `resync` one
 * second later, which adds everything again.
 */
#ifndef BERTH_CONTROL_WORKQUEUE_H
#define BERTH_CONTROL_WORKQUEUE_H

#include "base/clock.h"
#include "base/str.h"

struct workqueue;

/* What to look at. `what` is the sort of thing, of the controller's own enum: a Job, a pod whose Job is gone, the plan
 * of all bookings. 0 where there is but one sort; below WORK_KEY_SORTS. ns and name are empty where one needs none. */
struct work_key {
    unsigned what;
    struct str ns, name;
};
enum { WORK_KEY_SORTS = 256 };

enum work {
    WORK_OK,    /* done for now; failures of the key are forgotten */
    WORK_RETRY, /* failed: again after the key's back-off */
    WORK_BUSY,  /* goes on; workqueue_done(key) will come */
};

struct workqueue_options {
    struct clock *clock;
    enum work (*step)(void *ctx, struct work_key key); /* views valid during the call */
    void (*resync)(void *ctx);                         /* may be NULL */
    void *ctx;
    int64_t base_ns, max_ns; /* back-off; 0: 5 ms and 1000 s */
    size_t budget;           /* keys a turn; 0: 128 */
};

struct workqueue *workqueue_new(const struct workqueue_options *o); /* NULL: out of memory */
void workqueue_free(struct workqueue *q); /* rounds under way are cut off (round.h) */

/* In delay_ns (0: now), or earlier when it is already due earlier; it does not wait for a back-off to end. */
void workqueue_look(struct workqueue *q, struct work_key key, int64_t delay_ns);
/* Ends work that answered WORK_BUSY: result is WORK_OK or WORK_RETRY. */
void workqueue_done(struct workqueue *q, struct work_key key, enum work result);
unsigned workqueue_tried(const struct workqueue *q, struct work_key key); /* failures in a row */

/* The same for keys of sort 0. */
void workqueue_add(struct workqueue *q, struct str ns, struct str name);
void workqueue_add_after(struct workqueue *q, struct str ns, struct str name, int64_t delay_ns);

size_t workqueue_len(const struct workqueue *q); /* keys due or waiting for their time */

/* Something that refers to the queue and outlives it (round.h): cut(link) is called by workqueue_free. */
struct workqueue_link {
    struct workqueue_link *prev, *next;
    void (*cut)(struct workqueue_link *l);
};
void workqueue_attach(struct workqueue *q, struct workqueue_link *l);
void workqueue_detach(struct workqueue_link *l);

#endif
