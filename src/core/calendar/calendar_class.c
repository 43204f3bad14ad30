/* calendar_class (core): cards that are alike: their placements (core/mig/mig_set.h) and what they serve. */
#include "core/calendar/calendar_private.h"
#include "core/mig/mig.h"

static bool same_profiles(const struct card_class *k, const struct calendar_card *in) {
    if (k->n_profiles != in->n_profiles) {
        return false;
    }
    for (size_t i = 0; i < k->n_profiles; i++) {
        const struct gpu_profile *a = &k->profiles[i], *b = &in->profiles[i];
        if (!str_eq(a->name, b->name) || !str_eq(a->resource, b->resource) || a->size != b->size ||
            a->compute_slices != b->compute_slices || a->starts != b->starts ||
            a->media != b->media || a->max_instances != b->max_instances) {
            return false;
        }
    }
    return true;
}

static int profile_named(const struct calendar_card *in, struct str name) {
    for (size_t i = 0; i < in->n_profiles; i++) {
        if (str_eq(in->profiles[i].name, name)) {
            return (int)i;
        }
    }
    return NOWHERE;
}

static bool same_layout(const struct card_class *k, const struct calendar_card *in) {
    if (k->dynamic != in->dynamic || k->set.slices != in->slices ||
        (k->dynamic && k->reconfig != in->reconfig_s)) {
        return false;
    }
    if (k->dynamic) {
        return true;
    }
    if (in->n_layout != (k->set.whole != 0 ? 0 : k->set.n)) {
        return false;
    }
    for (size_t i = 0; i < in->n_layout; i++) {
        if (k->set.p[i].profile != profile_named(in, in->layout[i].profile) ||
            k->set.p[i].start != in->layout[i].start) {
            return false;
        }
    }
    return true;
}

static int add_layout(struct card_class *k, const struct calendar_card *in, struct err *err) {
    uint32_t taken = 0;
    for (size_t i = 0; i < in->n_layout; i++) {
        int profile = profile_named(in, in->layout[i].profile);
        const struct gpu_profile *g = profile != NOWHERE ? &k->profiles[profile] : NULL;
        if (g == NULL || !mig_start_legal(g->starts, g->size, k->set.slices, in->layout[i].start) ||
            !mig_set_add(&k->set, k->profiles, (size_t)profile, in->layout[i].start)) {
            return err_set(err, ERR_INVALID, "GPU %.*s: layout: %.*s may not start at %d",
                           STR_ARG(in->uuid), STR_ARG(in->layout[i].profile), in->layout[i].start);
        }
        uint32_t mask = mig_place_mask(&k->set, &k->set.p[k->set.n - 1]);
        if ((taken & mask) != 0) {
            return err_set(err, ERR_INVALID, "GPU %.*s: layout: %.*s at %d overlaps another",
                           STR_ARG(in->uuid), STR_ARG(in->layout[i].profile), in->layout[i].start);
        }
        taken |= mask;
    }
    return 0;
}

static void fill_resources(struct card_class *k) {
    for (size_t i = 0; i < k->set.n; i++) {
        int16_t profile = k->set.p[i].profile;
        size_t r = 0;
        while (r < k->n_resources && k->resources[r].profile != profile) {
            r++;
        }
        if (r == k->n_resources) {
            k->resources[k->n_resources++] = (struct class_resource){
                .name = profile == NOWHERE ? STR(CALENDAR_GPU) : k->profiles[profile].resource,
                .profile = profile,
            };
        }
        k->resources[r].mask |= bit(i);
    }
    for (size_t r = 0; r < k->n_resources; r++) {
        k->resources[r].most = class_most(k, &k->resources[r], k->set.all);
    }
}

static int copy_profiles(struct card_class *k, const struct calendar_card *in) {
    size_t bytes = in->n_profiles * sizeof(*k->profiles);
    for (size_t i = 0; i < in->n_profiles; i++) {
        bytes += in->profiles[i].name.n + in->profiles[i].resource.n;
    }
    bytes += (in->n_profiles + 1) * sizeof(*k->resources);
    char *p = mem_zalloc(bytes + 1);
    if (p == NULL) {
        return ERR_NOMEM;
    }
    k->memory = p;
    k->resources = (struct class_resource *)(void *)p;
    p += (in->n_profiles + 1) * sizeof(*k->resources);
    k->profiles = (struct gpu_profile *)(void *)p;
    p += in->n_profiles * sizeof(*k->profiles);
    for (size_t i = 0; i < in->n_profiles; i++) {
        struct str *part[] = {&k->profiles[i].name, &k->profiles[i].resource};
        k->profiles[i] = in->profiles[i];
        for (size_t j = 0; j < 2; j++) {
            if (part[j]->n > 0) {
                memcpy(p, part[j]->p, part[j]->n);
            }
            part[j]->p = p;
            p += part[j]->n;
        }
    }
    k->n_profiles = in->n_profiles;
    return 0;
}

void class_free(struct card_class *k) {
    if (k != NULL) {
        mem_free(k->memory);
        mem_free(k);
    }
}

static int class_new(const struct calendar_card *in, struct card_class **ret, struct err *err) {
    struct card_class *k = mem_zalloc(sizeof(*k));
    if (k == NULL || copy_profiles(k, in) != 0) {
        class_free(k);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    mig_set_begin(&k->set, in->slices, k->profiles, k->n_profiles);
    k->dynamic = in->dynamic;
    k->reconfig = in->dynamic ? in->reconfig_s : 0;
    int r = 0;
    if (in->slices <= 0 || (!in->dynamic && in->n_layout == 0)) {
        mig_set_add_whole(&k->set);
    } else if (in->dynamic) {
        mig_set_add_all(&k->set, k->profiles, k->n_profiles);
    } else {
        r = add_layout(k, in, err);
    }
    if (r != 0) {
        class_free(k);
        return r;
    }
    mig_set_close(&k->set);
    fill_resources(k);
    k->counts = mig_set_can_bind(&k->set);
    *ret = k;
    return 0;
}

int class_find(struct flavor *f, const struct calendar_card *in, uint16_t *ret_no,
               struct err *err) {
    size_t empty = f->n_classes;
    for (size_t i = 0; i < f->n_classes; i++) {
        if (same_profiles(f->classes[i], in) && same_layout(f->classes[i], in)) {
            *ret_no = (uint16_t)i;
            return 0;
        }
        if (f->classes[i]->cards == 0) {
            empty = i;
        }
    }
    if (empty == FLAVOR_CLASSES_MAX) {
        return err_set(err, ERR_TOO_MANY, "flavor %.*s has more than %d kinds of GPU layout",
                       STR_ARG(f->name), FLAVOR_CLASSES_MAX);
    }
    struct card_class *k = NULL;
    int r = class_new(in, &k, err);
    if (r != 0) {
        return r;
    }
    if (empty < f->n_classes) {
        class_free(f->classes[empty]);
        f->cover.stale = true; /* it named resources */
    } else {
        f->n_classes++;
    }
    f->classes[empty] = k;
    *ret_no = (uint16_t)empty;
    return 0;
}

const struct class_resource *class_resource(const struct card_class *k, struct str resource) {
    for (size_t i = 0; i < k->n_resources; i++) {
        if (str_eq(k->resources[i].name, resource)) {
            return &k->resources[i];
        }
    }
    return NULL;
}

int32_t class_most(const struct card_class *k, const struct class_resource *r, uint64_t free) {
    return mig_set_together(&k->set, r->profile, free & r->mask);
}

static bool counts_allow_at(const struct card_class *k, uint8_t placement, int64_t instant,
                            class_beside *next, const void *look, struct class_cursor c) {
    struct mig_sums sums = mig_sums_of(&k->set, placement);
    const struct span *x;
    while ((x = next(look, &c, instant, time_more(instant, 1))) != NULL) {
        if (x->placement != SPAN_CLOSED) {
            mig_sums_add(&sums, x->placement);
        }
    }
    return mig_sums_allow(&sums);
}

bool class_counts_allow(const struct card_class *k, uint8_t placement, int64_t from, int64_t to,
                        class_beside *next, const void *look, const struct class_cursor *start) {
    struct class_cursor c = *start;
    const struct span *x;
    if (k->set.p[placement].profile == NOWHERE) {
        return true;
    }
    bool allow = counts_allow_at(k, placement, from, next, look, *start);
    while (allow &&
           (x = next(look, &c, from, to)) != NULL) { /* sums only rise where a span starts */
        allow = x->start <= from || counts_allow_at(k, placement, x->start, next, look, *start);
    }
    return allow;
}

int32_t class_size(const struct card_class *k, uint8_t placement) {
    return k->set.slices <= 0 ? 1 : k->set.p[placement].size;
}
