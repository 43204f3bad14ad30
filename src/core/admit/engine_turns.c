/*
 * engine_turns (core): break_alternation: two that evict each other do it once.
 *
 * Some inputs make Kueue evict for ever: A goes for B, B comes back and A goes for it, or three do so in a ring. With
 * this option a pair of workloads has one eviction between them in an era of their tree; a second one, in whichever
 * direction, is refused. An era ends when something comes from outside: a workload that was not on its way out gives
 * quota back, or quotas and queues change. So between two events from outside there are at most as many evictions as
 * pairs of workloads, and the engine comes to rest.
 */
#include "core/admit/engine_private.h"

struct engine_turn {
    uint64_t pair[2]; /* the key, by its bytes: both uids, the lesser hash first */
    struct engine_tree *tree;
    uint64_t era;
};

static struct str pair_key(const uint64_t *pair) {
    return str_from((const char *)pair, 2 * sizeof(*pair));
}

static void pair_of(const struct engine_workload *a, const struct engine_workload *b,
                    uint64_t *pair) {
    uint64_t x = hash_str(1, a->uid), y = hash_str(1, b->uid);
    pair[0] = x < y ? x : y;
    pair[1] = x < y ? y : x;
}

static void turn_drop(struct engine *e, struct engine_turn *t) {
    t->tree->turns--;
    map_del(&e->turns, pair_key(t->pair));
    mem_free(t);
}

void turns_clear(struct engine *e, const struct engine_tree *only) {
    size_t i = 0;
    if (map_count(&e->turns) == 0 || (only != NULL && only->turns == 0)) {
        return;
    }
    for (const struct map_entry *m; (m = map_next(&e->turns, &i)) != NULL;) {
        struct engine_turn *t = m->value;
        if (only == NULL || t->tree == only) {
            turn_drop(e, t);
        }
    }
}

bool turn_refused(const struct engine *e, const struct engine_workload *a,
                  const struct engine_workload *b) {
    uint64_t pair[2];
    pair_of(a, b, pair);
    const struct engine_turn *t = b->evicting ? NULL : map_get(&e->turns, pair_key(pair));
    return t != NULL && t->tree == a->queue->tree && t->era == a->queue->tree->era;
}

/* Turns of eras that have ended go when there are many. */
static void turns_thin(struct engine *e) {
    size_t i = 0;
    for (const struct map_entry *m; (m = map_next(&e->turns, &i)) != NULL;) {
        struct engine_turn *t = m->value;
        if (t->era != t->tree->era) {
            turn_drop(e, t);
        }
    }
}

int turn_take(struct engine *e, const struct engine_workload *a, const struct engine_workload *b) {
    uint64_t pair[2];
    pair_of(a, b, pair);
    struct engine_turn *t = map_get(&e->turns, pair_key(pair));
    if (t == NULL) {
        if (map_count(&e->turns) >= e->turns_room) {
            turns_thin(e);
            e->turns_room = 1024 + 2 * map_count(&e->turns);
        }
        t = mem_zalloc(sizeof(*t));
        if (t == NULL) {
            return ERR_NOMEM;
        }
        memcpy(t->pair, pair, sizeof(pair));
        if (map_put(&e->turns, pair_key(t->pair), t, NULL) != 0) {
            mem_free(t);
            return ERR_NOMEM;
        }
    } else {
        t->tree->turns--;
    }
    t->tree = a->queue->tree;
    t->tree->turns++;
    t->era = a->queue->tree->era;
    return 0;
}
