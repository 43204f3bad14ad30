/* mig_set (core): see mig_set.h. */
#include "core/mig/mig_set.h"

#include "core/mig/mig.h"

enum { LOOKED_MAX = 200000 };

void mig_set_begin(struct mig_set *s, int32_t slices, const struct gpu_profile *profiles,
                   size_t n) {
    *s = (struct mig_set){.slices = slices};
    for (size_t i = 0; i < n; i++) { /* the largest profile has them all */
        int32_t compute = profiles[i].compute_slices;
        s->compute = compute > s->compute ? compute : s->compute;
        s->most[i] = profiles[i].max_instances;
    }
}

void mig_set_add_whole(struct mig_set *s) {
    s->p[s->n] = (struct mig_place){.profile = MIG_WHOLE, .size = (int8_t)s->slices};
    s->whole = mig_bit(s->n++);
}

bool mig_set_add(struct mig_set *s, const struct gpu_profile *profiles, size_t profile,
                 int32_t start) {
    const struct gpu_profile *g = &profiles[profile];

    if (s->n == MIG_PLACES_MAX) {
        return false;
    }
    s->p[s->n++] = (struct mig_place){
        .profile = (int16_t)profile,
        .start = (int8_t)start,
        .size = (int8_t)g->size,
        .compute = g->compute_slices,
        .media = g->media,
    };
    return true;
}

void mig_set_add_all(struct mig_set *s, const struct gpu_profile *profiles, size_t n) {
    mig_set_add_whole(s);
    for (size_t i = 0; i < n; i++) {
        const struct gpu_profile *g = &profiles[i];
        size_t before = s->n;
        for (int32_t start = 0; start < s->slices; start++) {
            if (mig_start_legal(g->starts, g->size, s->slices, start) &&
                !mig_set_add(s, profiles, i, start)) {
                s->n = before;
                return;
            }
        }
    }
}

uint32_t mig_place_mask(const struct mig_set *s, const struct mig_place *p) {
    return p->profile == MIG_WHOLE ? mig_span(0, s->slices > 0 ? s->slices : 1)
                                   : mig_span(p->start, p->size);
}

void mig_set_close(struct mig_set *s) {
    for (size_t i = 0; i < s->n; i++) {
        struct mig_place *a = &s->p[i];
        uint32_t mask = mig_place_mask(s, a);
        a->block = mig_bit(i);
        for (size_t j = 0; j < s->n; j++) {
            const struct mig_place *b = &s->p[j];
            if ((mask & mig_place_mask(s, b)) != 0 || (a->media && b->media)) {
                a->block |= mig_bit(j);
            }
        }
        s->all |= mig_bit(i);
        s->open |= a->media ? 0 : mig_bit(i);
    }
}

int32_t mig_set_together(const struct mig_set *s, int16_t profile, uint64_t of) {
    int32_t n = 0, compute = 0;

    while (of != 0) { /* of one size, by start: taking the first is best */
        size_t i = (size_t)__builtin_ctzll(of);
        of &= ~s->p[i].block;
        compute += s->p[i].compute;
        n += compute <= s->compute;
    }
    return profile == MIG_WHOLE || n < s->most[profile] ? n : s->most[profile];
}

struct binding {
    const struct mig_set *set;
    int32_t looked;
    int32_t used[INVENTORY_PROFILES_MAX];
};

static bool binds(struct binding *b, size_t from, uint64_t free, int32_t compute) {
    if (++b->looked > LOOKED_MAX || compute > b->set->compute) {
        return true;
    }
    for (size_t i = from; i < b->set->n; i++) {
        const struct mig_place *p = &b->set->p[i];
        if ((free & mig_bit(i)) == 0 || p->profile == MIG_WHOLE) {
            continue;
        }
        int32_t *used = &b->used[p->profile];
        (*used)++;
        bool bad = *used > b->set->most[p->profile] ||
                   binds(b, i + 1, free & ~p->block, compute + p->compute);
        (*used)--;
        if (bad) {
            return true;
        }
    }
    return false;
}

bool mig_set_can_bind(const struct mig_set *s) {
    return binds(&(struct binding){.set = s}, 0, s->all, 0);
}
