/* turns (core): see turns.h. */
#include "core/queue/turns.h"

#include "core/queue/queue.h"

struct turn_pair {
    uint64_t pair[2]; /* the key, by its bytes: both uids, the lesser hash first */
    struct cohort_tree *tree;
    uint64_t era;
};

static struct str pair_key(const uint64_t *pair) {
    return str_from((const char *)pair, 2 * sizeof(*pair));
}

static void pair_of(const struct queue_workload *a, const struct queue_workload *b,
                    uint64_t *pair) {
    uint64_t x = hash_str(1, a->uid), y = hash_str(1, b->uid);
    pair[0] = x < y ? x : y;
    pair[1] = x < y ? y : x;
}

static void turn_drop(struct turns *t, struct turn_pair *x) {
    x->tree->turns--;
    map_del(&t->pairs, pair_key(x->pair));
    mem_free(x);
}

void turns_clear(struct turns *t, const struct cohort_tree *only) {
    size_t i = 0;
    if (map_count(&t->pairs) == 0 || (only != NULL && only->turns == 0)) {
        return;
    }
    for (const struct map_entry *m; (m = map_next(&t->pairs, &i)) != NULL;) {
        struct turn_pair *x = m->value;
        if (only == NULL || x->tree == only) {
            turn_drop(t, x);
        }
    }
}

bool turns_refuse(const struct turns *t, const struct queue_workload *a,
                  const struct queue_workload *b) {
    uint64_t pair[2];
    pair_of(a, b, pair);
    const struct turn_pair *x = b->evicting ? NULL : map_get(&t->pairs, pair_key(pair));
    return x != NULL && x->tree == a->queue->tree && x->era == a->queue->tree->era;
}

/* Turns of eras that have ended go when there are many. */
static void turns_thin(struct turns *t) {
    size_t i = 0;
    for (const struct map_entry *m; (m = map_next(&t->pairs, &i)) != NULL;) {
        struct turn_pair *x = m->value;
        if (x->era != x->tree->era) {
            turn_drop(t, x);
        }
    }
}

int turns_take(struct turns *t, const struct queue_workload *a, const struct queue_workload *b) {
    uint64_t pair[2];
    pair_of(a, b, pair);
    struct turn_pair *x = map_get(&t->pairs, pair_key(pair));
    if (x == NULL) {
        if (map_count(&t->pairs) >= t->room) {
            turns_thin(t);
            t->room = 1024 + 2 * map_count(&t->pairs);
        }
        x = mem_zalloc(sizeof(*x));
        if (x == NULL) {
            return ERR_NOMEM;
        }
        memcpy(x->pair, pair, sizeof(pair));
        if (map_put(&t->pairs, pair_key(x->pair), x, NULL) != 0) {
            mem_free(x);
            return ERR_NOMEM;
        }
    } else {
        x->tree->turns--;
    }
    x->tree = a->queue->tree;
    x->tree->turns++;
    x->era = a->queue->tree->era;
    return 0;
}
