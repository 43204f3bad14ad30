/* kv: see kv.h. Sums saturate: a model that overflows them fits nowhere. */
#include "core/model/kv.h"

static int64_t times(int64_t a, int64_t b) {
    int64_t n;
    return __builtin_mul_overflow(a, b, &n) ? INT64_MAX : n;
}

static int64_t plus(int64_t a, int64_t b) {
    int64_t n;
    return __builtin_add_overflow(a, b, &n) ? INT64_MAX : n;
}

static int64_t upward(int64_t n, int64_t by) {
    return n / by + (n % by != 0);
}

static bool attends(const struct facts_layers *g) {
    return g->kind == FACTS_FULL || g->kind == FACTS_WINDOW;
}

static int64_t layer_token(const struct facts *f, const struct kv_how *how,
                           const struct facts_layers *g) {
    int64_t heads = g->latent ? g->kv_heads : upward(g->kv_heads, how->tensor);
    int64_t bits = how->bits > 0 ? how->bits : f->kv_bits;
    return plus(times(times(heads, g->key + g->value), bits) / 8, g->extra);
}

/* Layers of a kind in the largest stage. */
static int64_t stage_layers(const struct kv_how *how, const struct facts_layers *g) {
    return upward(g->count, how->pipeline);
}

/* How many layers the groups of a mixed model have; 1: nothing is filled up. */
static int64_t group_size(const struct facts *f, const struct kv_how *how) {
    int64_t least = INT64_MAX, most = 0, kinds = 0;

    for (size_t i = 0; i < f->n_groups; i++) {
        const struct facts_layers *g = &f->groups[i];
        if (attends(g)) {
            int64_t n = stage_layers(how, g);
            least = n < least ? n : least;
            most = n > most ? n : most;
            kinds++;
        }
    }
    return kinds < 2 || how->slack == 0 ? 1 : most * 2 < least * 3 ? most : least;
}

static int64_t blocks_of(const struct facts *f, const struct kv_how *how,
                         const struct facts_layers *g, int64_t context) {
    int64_t seen = plus(f->window - 1, how->batched);
    if (g->kind == FACTS_FULL) {
        return upward(context, how->block);
    }
    return upward(seen < context ? seen : context, how->block) + how->slack;
}

int64_t kv_token(const struct facts *f, const struct kv_how *how) {
    int64_t sum = 0;
    for (size_t i = 0; i < f->n_groups; i++) {
        const struct facts_layers *g = &f->groups[i];
        if (g->kind == FACTS_FULL) {
            sum = plus(sum, times(stage_layers(how, g), layer_token(f, how, g)));
        }
    }
    return sum;
}

int64_t kv_sequence(const struct facts *f, const struct kv_how *how, int64_t context) {
    int64_t size = group_size(f, how), sum = 0;

    for (size_t i = 0; i < f->n_groups; i++) {
        const struct facts_layers *g = &f->groups[i];
        int64_t layers = stage_layers(how, g);
        if (attends(g)) {
            int64_t block = times(how->block, layer_token(f, how, g));
            layers = times(upward(layers, size), size);
            sum = plus(sum, times(times(layers, block), blocks_of(f, how, g, context)));
        } else {
            sum = plus(sum, times(layers, upward(g->state_bytes,
                                                 g->kind == FACTS_STATE ? how->tensor : 1)));
        }
    }
    return sum;
}

static bool all_full(const struct facts *f) {
    for (size_t i = 0; i < f->n_groups; i++) {
        if (f->groups[i].kind == FACTS_WINDOW || f->groups[i].kind == FACTS_STATE) {
            return false;
        }
    }
    return true;
}

int64_t kv_tokens(const struct facts *f, const struct kv_how *how, int64_t budget,
                  int64_t context) {
    int64_t token = kv_token(f, how);

    if (budget <= 0 || context <= 0) {
        return 0;
    }
    if (all_full(f)) {
        return token > 0 ? budget / times(how->block, token) * how->block : 0;
    }
    int64_t one = kv_sequence(f, how, context);
    double n = one > 0 ? (double)budget / (double)one * (double)context : 0;
    return n < 9e18 ? (int64_t)n : INT64_MAX;
}

int64_t kv_longest(const struct facts *f, const struct kv_how *how, int64_t budget, int64_t most) {
    int64_t low = 0, high = most;

    while (low < high) {
        int64_t mid = low + (high - low + 1) / 2;
        if (kv_sequence(f, how, mid) <= budget) {
            low = mid;
        } else {
            high = mid - 1;
        }
    }
    return low;
}
