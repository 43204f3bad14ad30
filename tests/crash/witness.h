/*
 * witness: what a store was asked and what it answered, to judge what is there after a crash.
 *
 * The rule: the recovered state is the state at the recovered revision, which ends a batch and is not before the
 * newest acknowledged write. So nothing acknowledged is lost, nothing deleted is back, nothing is there that was
 * never staged, and no batch is there by half. A write that was refused for lack of space must not be there; one
 * whose outcome is unknown (the store stopped, the process died) may be.
 */
#ifndef BERTH_TESTS_CRASH_WITNESS_H
#define BERTH_TESTS_CRASH_WITNESS_H

#include "mirror/mirror.h"

enum { WITNESS_KEYS = 24, WITNESS_OPS = 60000 };

enum witness_outcome { OUTCOME_UNKNOWN, OUTCOME_ACKED, OUTCOME_REFUSED };

struct witness {
    uint64_t base_rv; /* the state before the ops */
    int base[WITNESS_KEYS];
    struct witness_op {
        uint64_t rv;
        int key, value; /* value 0: deleted */
        bool ends_batch;
        enum witness_outcome outcome;
    } ops[WITNESS_OPS];
    size_t n;
    uint64_t acked_rv;
    uint64_t acks; /* in all */
};

void witness_staged(struct witness *w, uint64_t rv, int key, int value);
void witness_flushed(struct witness *w);
void witness_outcome(struct witness *w, uint64_t rv, enum witness_outcome outcome);
/* NULL when the mirror, just recovered, is as it must be; else what is wrong. Then witness_rebase starts from it. */
const char *witness_check(const struct witness *w, const struct mirror *m);
void witness_rebase(struct witness *w, const struct mirror *m);

/* The objects of the test: one a key, holding its value and `size` bytes more. */
struct object *witness_object(int key, int value, size_t size);
void witness_key(int key, char name[static 16]);

#endif
