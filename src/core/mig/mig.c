/* mig (core): legal placements of slices and what they leave. */
#include "core/mig/mig.h"

uint32_t mig_mask(const struct mig_board *b, const struct mig_state *s) {
    uint32_t mask = s->shut;
    for (int32_t i = 0; i < b->slices; i++) {
        if (s->at[i] > 0) {
            mask |= mig_span(i, b->profiles[s->at[i] - 1].size);
        }
    }
    return mask;
}

static bool count_allows(const struct mig_board *b, const struct mig_state *s, size_t profile) {
    const struct mig_profile *p = &b->profiles[profile];
    int32_t same = 0, media = 0;
    for (int32_t i = 0; i < b->slices; i++) {
        if (s->at[i] > 0) {
            same += s->at[i] - 1 == (int8_t)profile;
            media += b->profiles[s->at[i] - 1].media;
        }
    }
    return same < p->max && !(p->media && media > 0);
}

static bool start_free(const struct mig_board *b, uint32_t mask, const struct mig_profile *p,
                       int32_t start) {
    return mig_start_legal(p->starts, p->size, b->slices, start) &&
           (mask & mig_span(start, p->size)) == 0;
}

bool mig_legal(const struct mig_board *b, const struct mig_state *s, size_t profile,
               int32_t start) {
    return start_free(b, mig_mask(b, s), &b->profiles[profile], start) &&
           count_allows(b, s, profile);
}

int32_t mig_capability(const struct mig_board *b, const struct mig_state *s) {
    uint32_t mask = mig_mask(b, s);
    int32_t n = 0;
    for (size_t p = 0; p < b->n; p++) {
        if (b->profiles[p].media || !count_allows(b, s, p)) {
            continue;
        }
        for (int32_t i = 0; i < b->slices; i++) {
            n += start_free(b, mask, &b->profiles[p], i);
        }
    }
    return n;
}

int32_t mig_best_start(const struct mig_board *b, const struct mig_state *s, size_t profile,
                       uint32_t avoid, int32_t *ret_left) {
    int32_t best = -1, left = -1;
    int least = INVENTORY_SLICES_MAX + 1;
    uint32_t mask = mig_mask(b, s);
    if (!count_allows(b, s, profile)) {
        return -1;
    }
    for (int32_t i = 0; i < b->slices; i++) {
        if (!start_free(b, mask, &b->profiles[profile], i)) {
            continue;
        }
        int taken = __builtin_popcount(avoid & mig_span(i, b->profiles[profile].size));
        if (taken > least) {
            continue;
        }
        struct mig_state after = *s;
        after.at[i] = (int8_t)(profile + 1);
        int32_t c = mig_capability(b, &after);
        if (taken < least || c > left) {
            best = i;
            left = c;
            least = taken;
        }
    }
    if (best >= 0) {
        *ret_left = left;
    }
    return best;
}

int32_t mig_room_for(const struct mig_board *b, const struct mig_state *s, size_t profile) {
    struct mig_state after = *s;
    int32_t n = 0;
    for (int32_t i = 0; i < b->slices; i++) { /* equal pieces fit best from the left */
        if (mig_legal(b, &after, profile, i)) {
            after.at[i] = (int8_t)(profile + 1);
            n++;
        }
    }
    return n;
}

int32_t mig_most(const struct mig_board *b, size_t profile) {
    return mig_room_for(b, &(struct mig_state){{0}}, profile);
}
