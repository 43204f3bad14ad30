/* run_times: see run_times.h. */
#include "control/run_times.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/map.h"
#include "base/mem.h"

enum { KEY_MAX = 4 * LIMIT_NAME, FALLBACK_RUNS = 3 };

struct sample {
    int64_t runs[RUN_TIMES_KEPT]; /* a ring */
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

/* Empty when it is too long to be one. */
static struct str key_of(const struct run_times_of *of, bool whole, char out[static KEY_MAX]) {
    char name[LIMIT_NAME + 2];
    size_t n = whole ? pattern(of->name, name, sizeof(name)) : 0;
    int len = snprintf(out, KEY_MAX, "%.*s/%.*s/%.*s/%.*s", STR_ARG(of->ns), STR_ARG(of->queue),
                       STR_ARG(of->kind), (int)n, name);
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

static void note(struct run_times *t, struct str key, int64_t ran) {
    struct sample *s = str_empty(key) ? NULL : map_get(&t->by_key, key);
    if (s != NULL) {
        unlink_sample(t, s);
        link_newest(t, s);
    } else if (!str_empty(key)) {
        s = sample_add(t, key);
    }
    if (s != NULL) {
        s->runs[s->at] = ran;
        s->at = (s->at + 1) % RUN_TIMES_KEPT;
        s->n += s->n < RUN_TIMES_KEPT;
    }
}

void run_times_note(struct run_times *t, const struct run_times_of *of, int64_t ran) {
    char key[KEY_MAX];
    if (ran >= 0) {
        note(t, key_of(of, false, key), ran);
        note(t, key_of(of, true, key), ran);
    }
}

static int by_length(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The run times of alike ones that ran longer than `than`, the shortest first; how many there are. */
static size_t longer(const struct run_times *t, const struct run_times_of *of, int64_t than,
                     int64_t v[RUN_TIMES_KEPT]) {
    char key[KEY_MAX];
    const struct sample *s = map_get(&t->by_key, key_of(of, true, key));
    size_t n = 0;
    if (s == NULL) {
        s = map_get(&t->by_key, key_of(of, false, key));
        s = s != NULL && s->n >= FALLBACK_RUNS ? s : NULL;
    }
    for (size_t i = 0; s != NULL && i < s->n; i++) {
        if (s->runs[i] > than) {
            v[n++] = s->runs[i];
        }
    }
    if (n > 1) {
        qsort(v, n, sizeof(*v), by_length);
    }
    return n;
}

int64_t run_times_median(const struct run_times *t, const struct run_times_of *of, size_t *ret_n) {
    int64_t v[RUN_TIMES_KEPT];
    size_t n = longer(t, of, -1, v);
    if (n == 0) {
        return -1;
    }
    *ret_n = n;
    return v[(n - 1) / 2];
}

int64_t run_times_left(const struct run_times *t, const struct run_times_of *of, int64_t elapsed) {
    int64_t v[RUN_TIMES_KEPT];
    size_t n = longer(t, of, elapsed, v);
    return n > 0 ? v[(n - 1) / 2] - elapsed : -1;
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
        to->n = s->n;
        to->at = s->at;
    }
    return copy;
}
