/* map: an insertion-ordered hash table, linear probing over a table of entry indexes. See map.h. */
#include "base/map.h"

#include <assert.h>

#include "base/err.h"
#include "base/keyed_hash.h"
#include "base/mem.h"

void map_set_seed(uint64_t seed) {
    keyed_hash_seed(seed);
}

void map_init(struct map *m) {
    *m = (struct map){0};
}

void map_release(struct map *m) {
    mem_free(m->entries);
    mem_free(m->slots);
    *m = (struct map){0};
}

void map_clear(struct map *m) {
    if (m->slots) {
        memset(m->slots, 0, (m->slot_mask + 1) * sizeof(*m->slots));
    }
    m->n = m->used = 0;
}

static void slot_insert(uint32_t *slots, size_t mask, uint64_t hash, size_t index) {
    size_t i = hash & mask;
    while (slots[i]) {
        i = (i + 1) & mask;
    }
    slots[i] = (uint32_t)(index + 1);
}

/* Rebuilds with room for one more, dropping holes. */
static int rebuild(struct map *m) {
    size_t cap = m->n < 6 ? 8 : m->n * 2;
    size_t slots_n = 16;
    while (slots_n < cap * 2) {
        slots_n *= 2;
    }
    if (cap >= UINT32_MAX) {
        return ERR_NOMEM;
    }
    struct map_entry *entries = mem_array(cap, sizeof(*entries));
    uint32_t *slots = mem_array(slots_n, sizeof(*slots));
    if (entries == NULL || slots == NULL) {
        mem_free(entries);
        mem_free(slots);
        return ERR_NOMEM;
    }
    size_t used = 0;
    for (size_t i = 0; i < m->used; i++) {
        if (m->entries[i].value) {
            entries[used] = m->entries[i];
            slot_insert(slots, slots_n - 1, entries[used].hash, used);
            used++;
        }
    }
    mem_free(m->entries);
    mem_free(m->slots);
    m->entries = entries;
    m->slots = slots;
    m->used = used;
    m->cap = cap;
    m->slot_mask = slots_n - 1;
    return 0;
}

static struct map_entry *find(const struct map *m, struct str key, uint64_t hash) {
    if (m->slots == NULL) {
        return NULL;
    }
    for (size_t i = hash & m->slot_mask; m->slots[i]; i = (i + 1) & m->slot_mask) {
        struct map_entry *e = &m->entries[m->slots[i] - 1];
        if (e->value && e->hash == hash && str_eq(e->key, key)) {
            return e;
        }
    }
    return NULL;
}

void *map_get(const struct map *m, struct str key) {
    struct map_entry *e = find(m, key, keyed_hash(key));
    return e ? e->value : NULL;
}

int map_put(struct map *m, struct str key, void *value, void **ret_old) {
    assert(value);
    uint64_t hash = keyed_hash(key);
    struct map_entry *e = find(m, key, hash);
    void *old = e ? e->value : NULL;
    if (e == NULL) {
        if (m->used == m->cap && rebuild(m) != 0) {
            return ERR_NOMEM;
        }
        e = &m->entries[m->used];
        slot_insert(m->slots, m->slot_mask, hash, m->used);
        m->used++;
        m->n++;
    }
    *e = (struct map_entry){.key = key, .value = value, .hash = hash};
    if (ret_old) {
        *ret_old = old;
    }
    return 0;
}

void *map_del(struct map *m, struct str key) {
    struct map_entry *e = find(m, key, keyed_hash(key));
    if (e == NULL) {
        return NULL;
    }
    void *old = e->value;
    e->value = NULL;
    e->key = (struct str){NULL, 0};
    m->n--;
    return old;
}

size_t map_count(const struct map *m) {
    return m->n;
}

const struct map_entry *map_next(const struct map *m, size_t *pos) {
    while (*pos < m->used) {
        const struct map_entry *e = &m->entries[(*pos)++];
        if (e->value) {
            return e;
        }
    }
    return NULL;
}
