/*
 * run_times: how long workloads ran, as observed: a small memory of the last run times of alike ones, and their median.
 *
 * Alike are workloads of one LocalQueue whose owners are of one kind and have names of one pattern (digits do not
 * count: "train-17" and "train-18" are alike). Where a pattern was never seen, three runs of the same LocalQueue and
 * kind will do. Of those that declared how long they take it is remembered, too, which share of that they took.
 * Bounded: RUN_TIMES_KEYS patterns of RUN_TIMES_KEPT runs each; who was not used longest is forgotten.
 */
#ifndef BERTH_CONTROL_RUN_TIMES_H
#define BERTH_CONTROL_RUN_TIMES_H

#include "base/err.h"
#include "base/str.h"

enum { RUN_TIMES_KEYS = 4096, RUN_TIMES_KEPT = 32, RUN_TIMES_WHOLE = 1000000 };

struct run_times;

struct run_times_of {
    struct str ns, queue;  /* LocalQueue */
    struct str kind, name; /* of the owner; without one "Workload" and the workload's own */
};

struct run_times *run_times_new(void); /* NULL: out of memory */
void run_times_free(struct run_times *t);
/* One has run for so long (ns) and succeeded. No memory: it is not remembered. */
void run_times_note(struct run_times *t, const struct run_times_of *of, int64_t ran);
/* As well, of one that had declared to take so long: what share of that it took. */
void run_times_note_declared(struct run_times *t, const struct run_times_of *of, int64_t ran,
                             int64_t declared);
/* The median of alike ones, or -1. *ret_n: of how many. */
int64_t run_times_median(const struct run_times *t, const struct run_times_of *of, size_t *ret_n);
/* What is left of one that has run for `elapsed`: the median of the alike ones that ran longer, less that; -1 when none
 * is known that did. */
int64_t run_times_left(const struct run_times *t, const struct run_times_of *of, int64_t elapsed);
/* How long alike ones ran, the shortest first, in t's memory until the next note; *ret_n: how many. NULL: none is
 * known. */
const int64_t *run_times_seen(const struct run_times *t, const struct run_times_of *of,
                              size_t *ret_n);
/* Likewise, which shares of what they declared alike ones took, in 1/RUN_TIMES_WHOLE. NULL: fewer than three are
 * known. */
const int64_t *run_times_shares(const struct run_times *t, const struct run_times_of *of,
                                size_t *ret_n);
/* One that stands alone, for another thread; NULL: out of memory. */
struct run_times *run_times_copy(const struct run_times *t);

#endif
