/* limits: see limits.h. */
#include "core/route/limits.h"

#include <assert.h>

#define MINUTE INT64_C(60000000000)

void limits_init(struct limits_set *s, int64_t requests, int64_t tokens, int64_t streams,
                 int64_t now) {
    *s = (struct limits_set){.streams_max = streams};
    bucket_init(&s->requests, requests, requests, MINUTE, now);
    bucket_init(&s->tokens, tokens, tokens, MINUTE, now);
}

static void refuse(struct limits_answer *a, enum limits_kind kind, size_t set, int64_t wait) {
    bool later = a->refused == LIMITS_NONE || wait > a->wait;
    if (later) {
        *a = (struct limits_answer){kind, set, wait};
    }
}

struct limits_answer limits_take(struct limits_set *const *sets, size_t n, int64_t tokens,
                                 int64_t now) {
    struct limits_answer a = {.refused = LIMITS_NONE};

    assert(n <= LIMITS_SETS_MAX);
    for (size_t i = 0; i < n; i++) {
        struct limits_set *s = sets[i];
        int64_t requests = bucket_wait(&s->requests, 1, now);
        int64_t wait = bucket_wait(&s->tokens, tokens, now);
        if (requests > 0) {
            refuse(&a, LIMITS_REQUESTS, i, requests);
        }
        if (wait > 0) {
            refuse(&a, LIMITS_TOKENS, i, wait);
        }
        if (s->streams_max > 0 && s->streams >= s->streams_max) {
            refuse(&a, LIMITS_STREAMS, i, 0);
        }
    }
    for (size_t i = 0; i < n && a.refused == LIMITS_NONE; i++) {
        bucket_charge(&sets[i]->requests, 1, now);
        bucket_charge(&sets[i]->tokens, tokens, now);
        sets[i]->streams++;
    }
    return a;
}

void limits_give(struct limits_set *const *sets, size_t n, int64_t charged, int64_t tokens,
                 int64_t now) {
    for (size_t i = 0; i < n; i++) {
        bucket_settle(&sets[i]->tokens, charged - tokens, now);
        assert(sets[i]->streams > 0);
        sets[i]->streams--;
    }
}
