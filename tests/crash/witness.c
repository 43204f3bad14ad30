/* witness: see witness.h. */
#include "witness.h"

#include <assert.h>
#include <stdio.h>

#include "base/mem.h"
#include "mirror/fake_kind.h"

void witness_staged(struct witness *w, uint64_t rv, int key, int value) {
    assert(w->n < WITNESS_OPS && key < WITNESS_KEYS);
    w->ops[w->n++] = (struct witness_op){.rv = rv, .key = key, .value = value};
}

void witness_flushed(struct witness *w) {
    if (w->n) {
        w->ops[w->n - 1].ends_batch = true;
    }
}

void witness_outcome(struct witness *w, uint64_t rv, enum witness_outcome outcome) {
    size_t i = w->n;
    while (i > 0 && w->ops[i - 1].rv != rv) {
        i--;
    }
    assert(i > 0 && w->ops[i - 1].outcome == OUTCOME_UNKNOWN);
    w->ops[i - 1].outcome = outcome;
    if (outcome == OUTCOME_ACKED) {
        assert(rv > w->acked_rv);
        w->acked_rv = rv;
        w->acks++;
    }
}

static int value_of(const struct mirror *m, int key) {
    char name[16];
    witness_key(key, name);
    const struct object *o = mirror_get(m, &fake_map, STR("ns"), str_of(name));
    if (o == NULL) {
        return 0;
    }
    static const struct str mark = {"\"v\":\"", 5};
    size_t at = 0;
    while (!str_starts(str_skip(o->json, at), mark)) {
        at++;
    }
    struct str digits = str_skip(o->json, at + mark.n), rest;
    int64_t v = -1;
    (void)str_cut(digits, ' ', &digits, &rest);
    (void)str_to_i64(digits, &v);
    return (int)v;
}

const char *witness_check(const struct witness *w, const struct mirror *m) {
    static char text[200];
    uint64_t rv = mirror_revision(m);
    if (rv < w->acked_rv || rv < w->base_rv) {
        snprintf(text, sizeof(text), "revision %llu is recovered, %llu was acknowledged",
                 (unsigned long long)rv, (unsigned long long)w->acked_rv);
        return text;
    }
    int want[WITNESS_KEYS];
    memcpy(want, w->base, sizeof(want));
    bool at_end = rv == w->base_rv;
    for (size_t i = 0; i < w->n && w->ops[i].rv <= rv; i++) {
        if (w->ops[i].outcome != OUTCOME_REFUSED) {
            want[w->ops[i].key] = w->ops[i].value;
            at_end = w->ops[i].rv == rv && w->ops[i].ends_batch;
        }
    }
    if (!at_end) {
        snprintf(text, sizeof(text), "revision %llu does not end a batch", (unsigned long long)rv);
        return text;
    }
    for (int key = 0; key < WITNESS_KEYS; key++) {
        int got = value_of(m, key);
        if (got != want[key]) {
            snprintf(text, sizeof(text), "key %d has %d where %d was written (revision %llu)", key,
                     got, want[key], (unsigned long long)rv);
            return text;
        }
    }
    return NULL;
}

void witness_rebase(struct witness *w, const struct mirror *m) {
    w->base_rv = w->acked_rv = mirror_revision(m);
    w->n = 0;
    for (int key = 0; key < WITNESS_KEYS; key++) {
        w->base[key] = value_of(m, key);
    }
}

void witness_key(int key, char name[static 16]) {
    snprintf(name, 16, "k%03d", key % 1000);
}

struct object *witness_object(int key, int value, size_t size) {
    char name[16];
    witness_key(key, name);
    char *text = mem_alloc(size + 16);
    if (text == NULL) {
        return NULL;
    }
    int n = snprintf(text, 16, "%d ", value);
    memset(text + n, 'x', size);
    struct object *o = NULL;
    (void)fake_object(&fake_map, STR("ns"), str_of(name), str_of(name), STR(""),
                      str_from(text, (size_t)n + size), &o, NULL);
    mem_free(text);
    return o;
}
