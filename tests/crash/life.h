/*
 * life: one life of a mirror and its store under test, from recovery to the end, with a witness watching.
 */
#ifndef BERTH_TESTS_CRASH_LIFE_H
#define BERTH_TESTS_CRASH_LIFE_H

#include "base/prng.h"
#include "store/fake_loop.h"
#include "store/store.h"
#include "witness.h"

struct life {
    struct fake_loop loop;
    struct store *store;
    struct mirror *m;
    struct witness *w;
    int value;    /* the last one given out */
    bool stopped; /* the store said so */
    /* Called before and after the witness is told; may be NULL. For a witness in another process. */
    void (*staged)(struct life *l, uint64_t rv, int key, int value);
    void (*flushed)(struct life *l);
    void (*acked)(struct life *l, uint64_t rv);
};

/* Opens and recovers with o (dir, vfs, ...; the rest is set here). On failure there is nothing to end. */
int life_begin(struct life *l, struct store_options o, struct err *err);
/* Some writes at random in one or two batches. */
void life_writes(struct life *l, struct prng *r);
void life_settle(struct life *l); /* until every write has its outcome */
void life_end(struct life *l);

#endif
