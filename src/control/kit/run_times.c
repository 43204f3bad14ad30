/* run_times: see run_times.h. */
#include "control/kit/run_times.h"

#include <stdio.h>

#include "base/limits.h"
#include "base/map.h"
#include "base/mem.h"

enum { KEY_MAX = 4 * LIMIT_NAME, FALLBACK_RUNS = 3 };

struct sample {
    int64_t runs[RUN_TIMES_KEPT];   /* a ring */
    int64_t sorted[RUN_TIMES_KEPT]; /* the same, the shortest first */
    size_t n, at;
    struct sample *prev, *next; /* by use, newest first */
    size_t key_n;
    char key[];
};

struct run_times {
    struct map by_key;
    struct sample *newest, *oldest;
};

struct run_times *run_times_new(void) {
    return mem_zalloc(sizeof(struct run_times));
}

void run_times_free(struct run_times *t) {
    if (t == NULL) {
        return;
    }
    for (struct sample *s = t->newest, *next; s != NULL; s = next) {
        next = s->next;
        mem_free(s);
    }
    map_release(&t->by_key);
    mem_free(t);
}

/* ---- keys ---- */

/* A name with its runs of digits as '#'; a last part after a dash that has a digit is '#' as a whole. */
static size_t pattern(struct str name, char *out, size_t cap) {
    ptrdiff_t dash = str_find_last(name, '-');
    struct str last = dash >= 0 ? str_skip(name, (size_t)dash + 1) : (struct str){0};
    bool cut = false;
    for (size_t i = 0; i < last.n; i++) {
        cut = cut || (last.p[i] >= '0' && last.p[i] <= '9');
    }
    struct str head = cut ? str_head(name, (size_t)dash + 1) : name;
    size_t n = 0;
    for (size_t i = 0; i < head.n && n + 2 < cap; i++) {
        bool digit = head.p[i] >= '0' && head.p[i] <= '9';
        if (!digit) {
            out[n++] = head.p[i];
        } else if (n == 0 || out[n - 1] != '#') {
            out[n++] = '#';
        }
    }
    if (cut) {
        out[n++] = '#';
    }
    return n;
}

enum of_what { TIMES = '=', SHARES = '%' };

/* Empty when it is too long to be one. */
static struct str key_of(const struct run_times_of *of, enum of_what what, bool whole,
                         char out[static KEY_MAX]) {
    char name[LIMIT_NAME + 2];
    size_t n = whole ? pattern(of->name, name, sizeof(name)) : 0;
    int len = snprintf(out, KEY_MAX, "%c%.*s/%.*s/%.*s/%.*s", (char)what, STR_ARG(of->ns),
                       STR_ARG(of->queue), STR_ARG(of->kind), (int)n, name);
    return len > 0 && len < KEY_MAX ? str_from(out, (size_t)len) : (struct str){0};
}

/* ---- the list by use ---- */

static void unlink_sample(struct run_times *t, struct sample *s) {
    *(s->prev != NULL ? &s->prev->next : &t->newest) = s->next;
    *(s->next != NULL ? &s->next->prev : &t->oldest) = s->prev;
}

static void link_newest(struct run_times *t, struct sample *s) {
    s->prev = NULL;
    s->next = t->newest;
    *(t->newest != NULL ? &t->newest->prev : &t->oldest) = s;
    t->newest = s;
}

static struct sample *sample_add(struct run_times *t, struct str key) {
    struct sample *s;
    if (map_count(&t->by_key) >= RUN_TIMES_KEYS) {
        s = t->oldest;
        unlink_sample(t, s);
        map_del(&t->by_key, str_from(s->key, s->key_n));
        mem_free(s);
    }
    s = mem_zalloc(sizeof(*s) + key.n);
    if (s == NULL) {
        return NULL;
    }
    memcpy(s->key, key.p, key.n);
    s->key_n = key.n;
    if (map_put(&t->by_key, str_from(s->key, s->key_n), s, NULL) != 0) {
        mem_free(s);
        return NULL;
    }
    link_newest(t, s);
    return s;
}

/* Beside the ring the sorted ones: the oldest goes out, the new one in. */
static void sample_put(struct sample *s, int64_t ran) {
    size_t i = 0;
    if (s->n == RUN_TIMES_KEPT) {
        while (s->sorted[i] != s->runs[s->at]) {
            i++;
        }
        memmove(s->sorted + i, s->sorted + i + 1, (--s->n - i) * sizeof(*s->sorted));
    }
    for (i = s->n++; i > 0 && s->sorted[i - 1] > ran; i--) {
        s->sorted[i] = s->sorted[i - 1];
    }
    s->sorted[i] = ran;
    s->runs[s->at] = ran;
    s->at = (s->at + 1) % RUN_TIMES_KEPT;
}

static void note(struct run_times *t, struct str key, int64_t ran) {
    struct sample *s = str_empty(key) ? NULL : map_get(&t->by_key, key);
    if (s != NULL) {
        unlink_sample(t, s);
        link_newest(t, s);
    } else if (!str_empty(key)) {
        s = sample_add(t, key);
    }
    if (s != NULL) {
        sample_put(s, ran);
    }
}

void run_times_note(struct run_times *t, const struct run_times_of *of, int64_t ran) {
    char key[KEY_MAX];
    if (ran >= 0) {
        note(t, key_of(of, TIMES, false, key), ran);
        note(t, key_of(of, TIMES, true, key), ran);
    }
}

void run_times_note_declared(struct run_times *t, const struct run_times_of *of, int64_t ran,
                             int64_t declared) {
    char key[KEY_MAX];
    if (ran >= 0 && declared >= RUN_TIMES_WHOLE) {
        int64_t share = ran / (declared / RUN_TIMES_WHOLE);
        note(t, key_of(of, SHARES, false, key), share);
        note(t, key_of(of, SHARES, true, key), share);
    }
}

/* Of the pattern, `least` at least; else of the queue and kind, three. */
static const int64_t *known(const struct run_times *t, const struct run_times_of *of,
                            enum of_what what, size_t least, size_t *ret_n) {
    char key[KEY_MAX];
    const struct sample *s = map_get(&t->by_key, key_of(of, what, true, key));
    if (s == NULL || s->n < least) {
        s = map_get(&t->by_key, key_of(of, what, false, key));
        s = s != NULL && s->n >= FALLBACK_RUNS ? s : NULL;
    }
    *ret_n = s != NULL ? s->n : 0;
    return s != NULL ? s->sorted : NULL;
}

const int64_t *run_times_seen(const struct run_times *t, const struct run_times_of *of,
                              size_t *ret_n) {
    return known(t, of, TIMES, 1, ret_n);
}

const int64_t *run_times_shares(const struct run_times *t, const struct run_times_of *of,
                                size_t *ret_n) {
    return known(t, of, SHARES, FALLBACK_RUNS, ret_n);
}

/* Of those that ran longer than `than`; *ret_n: how many. -1: none. */
static int64_t median_above(const struct run_times *t, const struct run_times_of *of, int64_t than,
                            size_t *ret_n) {
    size_t n, from = 0;
    const int64_t *v = run_times_seen(t, of, &n);
    while (from < n && v[from] <= than) {
        from++;
    }
    *ret_n = n - from;
    return from < n ? v[from + (n - from - 1) / 2] : -1;
}

int64_t run_times_median(const struct run_times *t, const struct run_times_of *of, size_t *ret_n) {
    return median_above(t, of, -1, ret_n);
}

int64_t run_times_left(const struct run_times *t, const struct run_times_of *of, int64_t elapsed) {
    size_t n;
    int64_t median = median_above(t, of, elapsed, &n);
    return median >= 0 ? median - elapsed : -1;
}

struct run_times *run_times_copy(const struct run_times *t) {
    struct run_times *copy = run_times_new();
    for (const struct sample *s = t->oldest; s != NULL && copy != NULL; s = s->prev) {
        struct sample *to = sample_add(copy, str_from(s->key, s->key_n));
        if (to == NULL) {
            run_times_free(copy);
            return NULL;
        }
        memcpy(to->runs, s->runs, sizeof(to->runs));
        memcpy(to->sorted, s->sorted, sizeof(to->sorted));
        to->n = s->n;
        to->at = s->at;
    }
    return copy;
}
