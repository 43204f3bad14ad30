/* prefix: see prefix.h. The hash is a multiply-and-fold of eight bytes at a time (as in wyhash's core), keyed. */
#include "core/route/prefix.h"

#include "base/err.h"
#include "base/mem.h"

static uint64_t mix(uint64_t a, uint64_t b) {
    __extension__ unsigned __int128 r = (unsigned __int128)a * b;
    return (uint64_t)r ^ (uint64_t)(r >> 64);
}

static uint64_t hash_on(uint64_t h, struct str s) {
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15), other = UINT64_C(0xd6e8feb86659fd93);
    size_t i = 0;

    for (; i + 8 <= s.n; i += 8) {
        uint64_t word;
        memcpy(&word, s.p + i, 8);
        h = mix(h ^ word ^ other, odd ^ h);
    }
    uint64_t tail = 0;
    for (size_t k = i; k < s.n; k++) {
        tail = tail << 8 | (unsigned char)s.p[k];
    }
    return mix(h ^ tail ^ odd, other ^ s.n);
}

size_t prefix_hashes(uint64_t seed, struct str salt, struct str prompt, uint64_t *ret,
                     size_t most) {
    uint64_t h = hash_on(seed, salt);
    size_t n = prompt.n / PREFIX_BLOCK;

    n = n < most ? n : most;
    for (size_t i = 0; i < n; i++) {
        h = hash_on(h, str_from(prompt.p + i * PREFIX_BLOCK, PREFIX_BLOCK));
        ret[i] = h != 0 ? h : 1;
    }
    return n;
}

int prefix_init(struct prefix_index *x, size_t bytes) {
    size_t sets = 1;

    while (sets * 2 * PREFIX_WAYS * sizeof(struct prefix_pair) <= bytes && sets < (1u << 24)) {
        sets *= 2;
    }
    *x = (struct prefix_index){.sets = sets};
    x->v = mem_zalloc(sets * PREFIX_WAYS * sizeof(*x->v));
    return x->v != NULL ? 0 : ERR_NOMEM;
}

void prefix_release(struct prefix_index *x) {
    mem_free(x->v);
    *x = (struct prefix_index){0};
}

static struct prefix_pair *set_of(const struct prefix_index *x, uint64_t hash) {
    return &x->v[(hash & (x->sets - 1)) * PREFIX_WAYS];
}

static bool listed(const struct prefix_match *v, size_t n, uint32_t endpoint) {
    for (size_t i = 0; i < n; i++) {
        if (v[i].endpoint == endpoint) {
            return true;
        }
    }
    return false;
}

size_t prefix_find(const struct prefix_index *x, const uint64_t *hashes, size_t n,
                   struct prefix_match ret[PREFIX_WAYS]) {
    size_t found = 0;

    for (size_t i = n; i-- > 0 && found < PREFIX_WAYS;) {
        const struct prefix_pair *set = set_of(x, hashes[i]);
        for (size_t k = 0; k < PREFIX_WAYS && found < PREFIX_WAYS; k++) {
            if (set[k].hash == hashes[i] && !listed(ret, found, set[k].endpoint)) {
                ret[found++] = (struct prefix_match){set[k].endpoint, (uint32_t)i + 1};
            }
        }
    }
    return found;
}

/* The pair itself, else a free place, else the oldest. Ticks wrap: ages are differences. */
static struct prefix_pair *place_for(const struct prefix_index *x, uint64_t hash,
                                     uint32_t endpoint) {
    struct prefix_pair *set = set_of(x, hash), *best = &set[0];

    for (size_t k = 0; k < PREFIX_WAYS; k++) {
        if (set[k].hash == hash && set[k].endpoint == endpoint) {
            return &set[k];
        }
        bool freer = set[k].hash == 0 && best->hash != 0;
        bool older = best->hash != 0 && x->tick - set[k].tick > x->tick - best->tick;
        best = freer || older ? &set[k] : best;
    }
    return best;
}

void prefix_add(struct prefix_index *x, const uint64_t *hashes, size_t n, uint32_t endpoint) {
    x->tick++;
    for (size_t i = 0; i < n; i++) {
        *place_for(x, hashes[i], endpoint) = (struct prefix_pair){hashes[i], endpoint, x->tick};
    }
}

void prefix_forget(struct prefix_index *x, uint32_t endpoint) {
    for (size_t i = 0; i < x->sets * PREFIX_WAYS; i++) {
        if (x->v[i].endpoint == endpoint) {
            x->v[i] = (struct prefix_pair){0};
        }
    }
}
