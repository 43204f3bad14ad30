/* calendar_class (core): the geometry of cards that are alike, as sets of placements. */
#include "core/calendar/calendar_private.h"

enum { ENUMERATE_MAX = 200000 };

static uint32_t slices_of(const struct placement *p, int32_t slices) {
    return p->profile == NOWHERE ? ((1u << (slices > 0 ? slices : 1)) - 1)
                                 : ((1u << p->size) - 1) << p->start;
}

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
    if (k->dynamic != in->dynamic || k->slices != in->slices ||
        (k->dynamic && k->reconfig != in->reconfig_s)) {
        return false;
    }
    if (k->dynamic) {
        return true;
    }
    if (in->n_layout != (k->whole != 0 ? 0 : k->n)) {
        return false;
    }
    for (size_t i = 0; i < in->n_layout; i++) {
        if (k->p[i].profile != profile_named(in, in->layout[i].profile) ||
            k->p[i].start != in->layout[i].start) {
            return false;
        }
    }
    return true;
}

static void add_whole(struct card_class *k) {
    k->p[k->n] = (struct placement){.profile = NOWHERE, .size = (int8_t)k->slices};
    k->whole = bit(k->n++);
}

static void add_place(struct card_class *k, size_t profile, int32_t start) {
    const struct gpu_profile *g = &k->profiles[profile];
    k->p[k->n++] = (struct placement){
        .profile = (int16_t)profile,
        .start = (int8_t)start,
        .size = (int8_t)g->size,
        .compute = g->compute_slices,
        .media = g->media,
    };
}

static bool legal_start(const struct card_class *k, const struct gpu_profile *g, int32_t start) {
    return start >= 0 && g->size > 0 && start + g->size <= k->slices &&
           (g->starts & (1u << start)) != 0;
}

static void add_all(struct card_class *k) {
    add_whole(k);
    for (size_t i = 0; i < k->n_profiles; i++) {
        const struct gpu_profile *g = &k->profiles[i];
        size_t before = k->n;
        for (int32_t s = 0; s < k->slices; s++) {
            if (legal_start(k, g, s) && k->n < CALENDAR_PLACEMENTS_MAX) {
                add_place(k, i, s);
            } else if (legal_start(k, g, s)) {
                k->n = before; /* no room for all of its starts: the profile is not offered */
                return;
            }
        }
    }
}

static int add_layout(struct card_class *k, const struct calendar_card *in, struct err *err) {
    uint32_t taken = 0;
    for (size_t i = 0; i < in->n_layout; i++) {
        int profile = profile_named(in, in->layout[i].profile);
        if (profile == NOWHERE || k->n == CALENDAR_PLACEMENTS_MAX ||
            !legal_start(k, &k->profiles[profile], in->layout[i].start)) {
            return err_set(err, ERR_INVALID, "GPU %.*s: layout: %.*s may not start at %d",
                           STR_ARG(in->uuid), STR_ARG(in->layout[i].profile), in->layout[i].start);
        }
        add_place(k, (size_t)profile, in->layout[i].start);
        uint32_t mask = slices_of(&k->p[k->n - 1], k->slices);
        if ((taken & mask) != 0) {
            return err_set(err, ERR_INVALID, "GPU %.*s: layout: %.*s at %d overlaps another",
                           STR_ARG(in->uuid), STR_ARG(in->layout[i].profile), in->layout[i].start);
        }
        taken |= mask;
    }
    return 0;
}

static void fill_blocks(struct card_class *k) {
    for (size_t i = 0; i < k->n_profiles; i++) { /* the largest profile has them all */
        int32_t compute = k->profiles[i].compute_slices;
        k->compute = compute > k->compute ? compute : k->compute;
    }
    for (size_t i = 0; i < k->n; i++) {
        struct placement *a = &k->p[i];
        uint32_t mask = slices_of(a, k->slices);
        a->block = bit(i);
        for (size_t j = 0; j < k->n; j++) {
            const struct placement *b = &k->p[j];
            if ((mask & slices_of(b, k->slices)) != 0 || (a->media && b->media)) {
                a->block |= bit(j);
            }
        }
        k->all |= bit(i);
        k->open |= a->media ? 0 : bit(i);
    }
}

static void fill_resources(struct card_class *k) {
    for (size_t i = 0; i < k->n; i++) {
        int16_t profile = k->p[i].profile;
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
        k->resources[r].most = class_most(k, &k->resources[r], k->all);
    }
}

struct census {
    const struct card_class *k;
    int32_t steps;
    int32_t used[INVENTORY_PROFILES_MAX];
};

/* Is there a set of placements without conflict that takes more compute, or more of a profile, than there is? */
static bool can_bind(struct census *s, size_t from, uint64_t free, int32_t compute) {
    if (++s->steps > ENUMERATE_MAX || compute > s->k->compute) {
        return true;
    }
    for (size_t i = from; i < s->k->n; i++) {
        const struct placement *p = &s->k->p[i];
        if ((free & bit(i)) == 0 || p->profile == NOWHERE) {
            continue;
        }
        int32_t *used = &s->used[p->profile];
        (*used)++;
        bool bad = *used > s->k->profiles[p->profile].max_instances ||
                   can_bind(s, i + 1, free & ~p->block, compute + p->compute);
        (*used)--;
        if (bad) {
            return true;
        }
    }
    return false;
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
    k->slices = in->slices;
    k->dynamic = in->dynamic;
    k->reconfig = in->dynamic ? in->reconfig_s : 0;
    int r = 0;
    if (in->slices <= 0 || (!in->dynamic && in->n_layout == 0)) {
        add_whole(k);
    } else if (in->dynamic) {
        add_all(k);
    } else {
        r = add_layout(k, in, err);
    }
    if (r != 0) {
        class_free(k);
        return r;
    }
    fill_blocks(k);
    fill_resources(k);
    k->counts = can_bind(&(struct census){.k = k}, 0, k->all, 0);
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

int32_t class_weight(const struct card_class *k, uint64_t placements) {
    return (int32_t)__builtin_popcountll(placements & k->open & ~k->whole) +
           ((placements & k->whole) != 0 ? WHOLE_WEIGHT : 0);
}

int32_t class_most(const struct card_class *k, const struct class_resource *r, uint64_t free) {
    int32_t n = 0, compute = 0;
    uint64_t left = free & r->mask;
    while (left != 0) { /* of one size, by start: taking the first is best */
        size_t i = (size_t)__builtin_ctzll(left);
        left &= ~k->p[i].block;
        compute += k->p[i].compute;
        n += compute <= k->compute;
    }
    return r->profile == NOWHERE || n < k->profiles[r->profile].max_instances
               ? n
               : k->profiles[r->profile].max_instances;
}

int32_t class_size(const struct card_class *k, uint8_t placement) {
    return k->slices <= 0 ? 1 : k->p[placement].size;
}
