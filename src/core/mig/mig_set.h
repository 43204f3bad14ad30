/*
 * mig_set (core): all places that instances may have on one kind of card, as a set: a place, one profile at one start,
 * is a bit, and what cannot stand beside it a mask. The whole card is a place as well, which excludes all others.
 *
 * The same geometry as mig.h has of what is placed, for searches that ask often what a card could still do: what is
 * free is one word, and putting an instance somewhere is one AND. Counts (compute slices of the card, how many of a
 * profile there may be) are not in the masks, as on the boards there are the legal starts already say so; whether they
 * can bind on this card is asked once (mig_set_can_bind), and where they can, of each place (mig_sums).
 */
#ifndef BERTH_CORE_MIG_SET_H
#define BERTH_CORE_MIG_SET_H

#include "api/inventory.h"

enum {
    MIG_PLACES_MAX = 63,
    MIG_WHOLE = -1, /* for a profile: the whole card */
    /* What taking the last place of a whole card costs, where an instance's place costs 1: sooner sliced cards. */
    MIG_WHOLE_WEIGHT = 64,
};

struct mig_place {
    int16_t profile; /* of the card's; MIG_WHOLE */
    int8_t start, size;
    int32_t compute;
    bool media;
    uint64_t block; /* places that cannot be taken at the same time, itself among them */
};

struct mig_set {
    struct mig_place p[MIG_PLACES_MAX];
    size_t n;
    int32_t slices;                       /* memory slices of the card; 0: it has none */
    int32_t compute;                      /* compute slices: what its largest profile has */
    int32_t most[INVENTORY_PROFILES_MAX]; /* instances of each profile */
    uint64_t all, open, whole; /* places; those that count as options (no media); the whole card */
};

/* Building: begin, add, close. */
void mig_set_begin(struct mig_set *s, int32_t slices, const struct gpu_profile *profiles, size_t n);
void mig_set_add_whole(struct mig_set *s);
/* false: it is full. */
bool mig_set_add(struct mig_set *s, const struct gpu_profile *profiles, size_t profile,
                 int32_t start);
/* The whole card, and every legal start of every profile; of one that has no room for all of its starts, and of those
 * after it, none. */
void mig_set_add_all(struct mig_set *s, const struct gpu_profile *profiles, size_t n);
void mig_set_close(struct mig_set *s);

static inline uint64_t mig_bit(size_t place) {
    return UINT64_C(1) << place;
}

/* Memory slices of a place, as bits. */
uint32_t mig_place_mask(const struct mig_set *s, const struct mig_place *p);
/* How much these places are worth as options. */
static inline int32_t mig_set_weight(const struct mig_set *s, uint64_t places) {
    return (int32_t)__builtin_popcountll(places & s->open & ~s->whole) +
           ((places & s->whole) != 0 ? MIG_WHOLE_WEIGHT : 0);
}

/* The place of `can` (not empty) that takes the fewest options of `free` away: the lowest of equals. Inline, as
 * these two are where a search spends its time. */
static inline uint8_t mig_set_least_loss(const struct mig_set *s, uint64_t free, uint64_t can,
                                         int32_t *ret_loss) {
    uint8_t best = 0;
    int32_t least = INT32_MAX;

    for (; can != 0; can &= can - 1) {
        size_t i = (size_t)__builtin_ctzll(can);
        int32_t loss = mig_set_weight(s, free & s->p[i].block);
        if (loss < least) {
            least = loss;
            best = (uint8_t)i;
        }
    }
    *ret_loss = least;
    return best;
}

/* The most of a profile that can stand together in the free places `of` it. */
int32_t mig_set_together(const struct mig_set *s, int16_t profile, uint64_t of);

/* Is there a set of places without conflict that takes more compute, or more of a profile, than there is? Where looking
 * takes too long, it is taken to be so. */
bool mig_set_can_bind(const struct mig_set *s);

/* One more at `place`, beside what is added: do the counts allow it? */
struct mig_sums {
    const struct mig_set *set;
    const struct mig_place *place;
    int32_t compute, same;
};

static inline struct mig_sums mig_sums_of(const struct mig_set *s, uint8_t place) {
    return (struct mig_sums){s, &s->p[place], s->p[place].compute, 1};
}
static inline void mig_sums_add(struct mig_sums *m, uint8_t beside) {
    m->compute += m->set->p[beside].compute;
    m->same += m->set->p[beside].profile == m->place->profile;
}
static inline bool mig_sums_allow(const struct mig_sums *m) {
    return m->place->profile == MIG_WHOLE ||
           (m->compute <= m->set->compute && m->same <= m->set->most[m->place->profile]);
}

#endif
