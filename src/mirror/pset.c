/* pset: pointers found by hash. See pset.h. */
#include "mirror/pset.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

void pset_release(struct pset *s) {
    mem_free(s->slots);
    *s = (struct pset){0};
}

static void place(struct pset_slot *slots, size_t mask, uint64_t hash, void *item) {
    size_t i = hash & mask;
    while (slots[i].item) {
        i = (i + 1) & mask;
    }
    slots[i] = (struct pset_slot){.item = item, .hash = hash};
}

static int grow(struct pset *s) {
    size_t n = s->slots ? (s->mask + 1) * 2 : 16;
    struct pset_slot *slots = mem_array(n, sizeof(*slots));
    if (slots == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; s->slots && i <= s->mask; i++) {
        if (s->slots[i].item) {
            place(slots, n - 1, s->slots[i].hash, s->slots[i].item);
        }
    }
    mem_free(s->slots);
    s->slots = slots;
    s->mask = n - 1;
    return 0;
}

int pset_add(struct pset *s, uint64_t hash, void *item) {
    assert(item);
    /* at most four fifths full: one slot is always free, so that every probe ends */
    if ((s->slots == NULL || (s->n + 1) * 5 > (s->mask + 1) * 4) && grow(s) != 0) {
        return ERR_NOMEM;
    }
    place(s->slots, s->mask, hash, item);
    s->n++;
    return 0;
}

/* The slot of an item that must be there. */
static size_t slot_of(const struct pset *s, uint64_t hash, const void *item) {
    size_t i = hash & s->mask;
    while (s->slots[i].item != item) {
        assert(s->slots[i].item);
        i = (i + 1) & s->mask;
    }
    return i;
}

void pset_swap(struct pset *s, uint64_t hash, const void *item, void *by) {
    assert(by);
    s->slots[slot_of(s, hash, item)].item = by;
}

void pset_del(struct pset *s, uint64_t hash, void *item) {
    size_t i = slot_of(s, hash, item);
    /* move back what would not be found past the hole */
    for (size_t j = (i + 1) & s->mask; s->slots[j].item; j = (j + 1) & s->mask) {
        size_t home = s->slots[j].hash & s->mask;
        if (((j - home) & s->mask) >= ((j - i) & s->mask)) {
            s->slots[i] = s->slots[j];
            i = j;
        }
    }
    s->slots[i].item = NULL;
    s->n--;
}

size_t pset_first(const struct pset *s, uint64_t hash) {
    return hash & s->mask;
}

void *pset_next(const struct pset *s, uint64_t hash, size_t *pos) {
    if (s->slots == NULL) {
        return NULL;
    }
    for (;;) {
        const struct pset_slot *slot = &s->slots[*pos];
        if (slot->item == NULL) {
            return NULL;
        }
        *pos = (*pos + 1) & s->mask;
        if (slot->hash == hash) {
            return slot->item;
        }
    }
}

static uint64_t mix(uint64_t a, uint64_t b) {
    __uint128_t p = (__uint128_t)a * b;
    return (uint64_t)p ^ (uint64_t)(p >> 64);
}

/* Where the process was loaded differs from run to run: enough of a seed against crafted names, with no order of
 * anything depending on it. */
static uint64_t seed(void) {
    return (uint64_t)(uintptr_t)&seed | 1;
}

uint64_t pset_hash_ptr(const void *p) {
    return mix((uint64_t)(uintptr_t)p ^ 0xa0761d6478bd642fu, 0xe7037ed1a0b428dbu);
}

uint64_t pset_hash(uint64_t h, const void *p, size_t n) {
    const char *c = p;
    h ^= n + seed();
    for (; n >= 8; n -= 8, c += 8) {
        uint64_t w;
        memcpy(&w, c, 8);
        h = mix(h ^ w, 0xa0761d6478bd642fu);
    }
    uint64_t w = 0;
    if (n) {
        memcpy(&w, c, n);
    }
    return mix(h ^ w, 0xe7037ed1a0b428dbu);
}
