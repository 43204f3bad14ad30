/*
 * mig (core): the geometry of GPU slices on one GPU, by what is placed. mig_set.h has it by what is still possible.
 *
 * A GPU has up to 16 memory slices. A profile takes `size` of them from one of its legal starts. Placed instances are
 * valid together when they do not overlap, each profile stays within its max, and at most one has media engines (+me);
 * compute never binds before memory, because the legal starts already say so. A live instance cannot move.
 *
 * Capability is the number of (profile, start) pairs still possible, profiles with media engines left aside (they would
 * only count their plain twin again). Placing where it stays highest keeps most options open.
 */
#ifndef BERTH_CORE_MIG_H
#define BERTH_CORE_MIG_H

#include "api/inventory.h"

struct mig_profile {
    int32_t id, size, max;
    uint32_t starts;
    bool media;
    uint32_t resource; /* number in the pool's names */
    struct str name;
};

struct mig_board {
    const struct mig_profile *profiles;
    size_t n;
    int32_t slices;
};

/* What is placed: profile index + 1 by start, 0 where nothing starts. */
struct mig_state {
    int8_t at[INVENTORY_SLICES_MAX];
    uint32_t shut; /* slices that are kept free: bit i */
};

/* Memory slices from `start` on, as bits. */
static inline uint32_t mig_span(int32_t start, int32_t size) {
    return ((1u << size) - 1) << start;
}
/* May an instance of this size start there, by the profile's legal starts? */
static inline bool mig_start_legal(uint32_t starts, int32_t size, int32_t slices, int32_t start) {
    return start >= 0 && size > 0 && start + size <= slices && (starts & (1u << start)) != 0;
}

uint32_t mig_mask(const struct mig_board *b, const struct mig_state *s); /* occupied slices */
bool mig_legal(const struct mig_board *b, const struct mig_state *s, size_t profile, int32_t start);
int32_t mig_capability(const struct mig_board *b, const struct mig_state *s);
/* The start that takes the fewest of the slices `avoid`, and of those the one that leaves the most capability (the
 * lowest of equals), and what is left; -1 when there is none. */
int32_t mig_best_start(const struct mig_board *b, const struct mig_state *s, size_t profile,
                       uint32_t avoid, int32_t *ret_left);
/* How many more of a profile fit beside what is placed. */
int32_t mig_room_for(const struct mig_board *b, const struct mig_state *s, size_t profile);
/* How many of a profile fit on an empty GPU: the ceiling of a quota. */
int32_t mig_most(const struct mig_board *b, size_t profile);

#endif
