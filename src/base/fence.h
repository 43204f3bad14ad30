/*
 * fence: may we still write? Asked right before bytes of a write go out, by whoever sends them.
 *
 * On a cluster only the leader writes, and a process that stood still (stopped, suspended, starved) wakes up in the
 * middle of what it was doing, with a lease that may have passed to another. So every write is asked about twice: when
 * it is handed over, and again whenever the sender is about to do I/O; once the answer is no, writes that are queued or
 * under way are cancelled, before anything of them is sent. They fail with ERR_UNAVAILABLE; whether one that was under
 * way was done is not known, as with a lost connection. The answer may become yes again.
 */
#ifndef BERTH_BASE_FENCE_H
#define BERTH_BASE_FENCE_H

#include <stdbool.h>
#include <stddef.h>

struct fence {
    /* Cheap: a clock is read. Changes nothing that the asker could notice. Loop thread. */
    bool (*open)(struct fence *f);
};

/* f may be NULL: nobody else writes. */
static inline bool fence_open(struct fence *f) {
    return f == NULL || f->open(f);
}

#endif
