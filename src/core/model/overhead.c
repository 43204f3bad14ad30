/* overhead: see overhead.h. */
#include "core/model/overhead.h"

#define MIB (INT64_C(1) << 20)

int64_t overhead_guess(const struct facts *f, const struct overhead_how *how) {
    double width = 2.0 * (double)f->hidden + 2.0 * (double)f->intermediate / (double)how->tensor;
    double layer = (double)how->batched * width * 2;
    double logits = (double)how->sequences * (double)f->vocab * 10;
    int64_t nccl = how->tensor * how->pipeline > 1 ? 256 * MIB : 0;

    if (how->llama) {
        return 614 * MIB + (int64_t)((double)how->batched * (double)f->vocab * 4);
    }
    double peak = layer > logits ? layer : logits;
    return 1024 * MIB + nccl + (peak < 1e15 ? (int64_t)peak : INT64_C(1000000000000000));
}

static struct overhead_entry *find(struct overhead_book *b, uint64_t key) {
    for (size_t i = 0; i < b->n; i++) {
        if (b->v[i].key == key) {
            b->v[i].used = ++b->clock;
            return &b->v[i];
        }
    }
    return NULL;
}

/* A new entry, in the place of the one that was used longest ago where there is no room. */
static struct overhead_entry *make(struct overhead_book *b, uint64_t key) {
    struct overhead_entry *e = &b->v[0];

    if (b->n < OVERHEAD_KEYS) {
        e = &b->v[b->n++];
    } else {
        for (size_t i = 1; i < b->n; i++) {
            e = b->v[i].used < e->used ? &b->v[i] : e;
        }
    }
    *e = (struct overhead_entry){.key = key, .used = ++b->clock};
    return e;
}

void overhead_learn(struct overhead_book *b, struct str key, int64_t bytes) {
    uint64_t hash = str_hash(key);
    struct overhead_entry *e;

    if (bytes < 0) {
        return;
    }
    e = find(b, hash);
    e = e != NULL ? e : make(b, hash);
    e->seen[e->n++ % OVERHEAD_SEEN] = bytes;
}

int64_t overhead_known(struct overhead_book *b, struct str key) {
    const struct overhead_entry *e = find(b, str_hash(key));
    int64_t most = -1;

    for (uint32_t i = 0; e != NULL && i < e->n && i < OVERHEAD_SEEN; i++) {
        most = e->seen[i] > most ? e->seen[i] : most;
    }
    return most;
}
