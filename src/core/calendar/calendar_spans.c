/* calendar_spans (core): intervals in chunks, and a function of time made of jumps. */
#include "core/calendar/calendar_spans.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"

#define FOREVER INT64_MAX

void spans_store_release(struct spans_store *st) {
    for (size_t i = 0; i < st->n; i++) {
        mem_free(st->v[i]);
    }
    mem_free(st->v);
    *st = (struct spans_store){0};
}

void spans_release(struct spans *s) {
    for (size_t i = 0; i < s->n_chunks; i++) {
        mem_free(s->v[i].chunk);
    }
    mem_free(s->v);
    *s = (struct spans){0};
}

/* Keeps `want` chunks in the store, and room to take back all that are out. */
static int store_fill(struct spans_store *st, size_t want) {
    if (want + SPANS_CHUNK > st->cap) {
        size_t cap = 2 * (want + SPANS_CHUNK);
        struct spans_chunk **v = mem_realloc(st->v, cap * sizeof(*v));
        if (v == NULL) {
            return ERR_NOMEM;
        }
        st->v = v;
        st->cap = cap;
    }
    while (st->n < want) {
        struct spans_chunk *x = mem_alloc(sizeof(*x));
        if (x == NULL) {
            return ERR_NOMEM;
        }
        st->v[st->n++] = x;
    }
    return 0;
}

int spans_reserve(struct spans *s, struct spans_store *st, size_t more) {
    int r = store_fill(st, more);
    if (r == 0 && s->n_chunks + more > s->cap) {
        size_t cap = 2 * (s->n_chunks + more);
        struct spans_head *v = mem_realloc(s->v, cap * sizeof(*v));
        if (v == NULL) {
            return ERR_NOMEM;
        }
        s->v = v;
        s->cap = cap;
    }
    return r;
}

static int order(const struct span *a, const struct span *b) {
    if (a->start != b->start) {
        return a->start < b->start ? -1 : 1;
    }
    if (a->entry != b->entry) {
        return a->entry < b->entry ? -1 : 1;
    }
    return (a->unit > b->unit) - (a->unit < b->unit);
}

/* The last chunk whose first item is not after x; 0 when x is before all. */
static size_t chunk_of(const struct spans *s, const struct span *x) {
    size_t lo = 0, hi = s->n_chunks;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        bool after = s->v[mid].first > x->start ||
                     (s->v[mid].first == x->start && order(&s->v[mid].chunk->v[0], x) > 0);
        if (after) {
            hi = mid;
        } else {
            lo = mid + 1;
        }
    }
    return lo == 0 ? 0 : lo - 1;
}

static int64_t length(const struct span *x) {
    int64_t n;
    return __builtin_sub_overflow(x->end, x->start, &n) ? FOREVER : n;
}

static void chunk_note(struct spans_head *h) {
    const struct spans_chunk *x = h->chunk;
    h->first = x->v[0].start;
    h->until = INT64_MIN;
    h->longest = 0;
    for (size_t i = 0; i < x->n; i++) {
        int64_t n = length(&x->v[i]);
        h->until = x->v[i].end > h->until ? x->v[i].end : h->until;
        h->longest = n > h->longest ? n : h->longest;
    }
}

static void chunk_open(struct spans *s, struct spans_store *st, size_t k) {
    memmove(&s->v[k + 1], &s->v[k], (s->n_chunks - k) * sizeof(*s->v));
    s->v[k] = (struct spans_head){.until = INT64_MIN, .chunk = st->v[--st->n]};
    s->v[k].chunk->n = 0;
    s->n_chunks++;
}

int spans_insert(struct spans *s, struct spans_store *st, const struct span *x) {
    if (s->n_chunks == s->cap || st->n == 0) {
        int r = spans_reserve(s, st, 1);
        if (r != 0) {
            return r;
        }
    }
    if (s->n_chunks == 0) {
        chunk_open(s, st, 0);
    }
    size_t k = s->n == 0 ? 0 : chunk_of(s, x);
    if (s->v[k].chunk->n == SPANS_CHUNK) {
        chunk_open(s, st, k + 1);
        bool last = k + 2 == s->n_chunks && order(&s->v[k].chunk->v[SPANS_CHUNK - 1], x) < 0;
        size_t keep = last ? SPANS_CHUNK : SPANS_CHUNK / 2; /* rising starts fill the chunks */
        struct spans_chunk *a = s->v[k].chunk, *b = s->v[k + 1].chunk;
        b->n = SPANS_CHUNK - keep;
        memcpy(b->v, &a->v[keep], b->n * sizeof(*b->v));
        a->n = keep;
        chunk_note(&s->v[k]);
        if (b->n > 0) {
            chunk_note(&s->v[k + 1]);
        }
        k += last || order(&b->v[0], x) <= 0;
    }
    struct spans_head *h = &s->v[k];
    struct spans_chunk *c = h->chunk;
    size_t i = c->n;
    while (i > 0 && order(&c->v[i - 1], x) > 0) {
        i--;
    }
    memmove(&c->v[i + 1], &c->v[i], (c->n - i) * sizeof(*c->v));
    c->v[i] = *x;
    c->n++;
    s->n++;
    h->first = c->v[0].start;
    h->until = x->end > h->until ? x->end : h->until;
    h->longest = length(x) > h->longest ? length(x) : h->longest;
    return 0;
}

bool spans_remove(struct spans *s, struct spans_store *st, const struct span *x) {
    if (s->n_chunks == 0) {
        return false;
    }
    size_t k = chunk_of(s, x), i = 0;
    struct spans_chunk *c = s->v[k].chunk;
    while (i < c->n && order(&c->v[i], x) != 0) {
        i++;
    }
    if (i == c->n) {
        return false;
    }
    memmove(&c->v[i], &c->v[i + 1], (c->n - i - 1) * sizeof(*c->v));
    c->n--;
    s->n--;
    if (c->n > 0) {
        chunk_note(&s->v[k]);
        return true;
    }
    memmove(&s->v[k], &s->v[k + 1], (s->n_chunks - k - 1) * sizeof(*s->v));
    s->n_chunks--;
    if (st->n < st->cap) {
        st->v[st->n++] = c;
    } else {
        mem_free(c);
    }
    return true;
}

int64_t spans_last(const struct spans *s) {
    const struct spans_chunk *c = s->n_chunks > 0 ? s->v[s->n_chunks - 1].chunk : NULL;
    return c == NULL ? INT64_MIN : c->v[c->n - 1].start;
}

/* The first of the chunk that is long enough to last until after `from`, by the longest of all. */
static size_t first_near(const struct spans_head *h, int64_t from) {
    const struct spans_chunk *c = h->chunk;
    size_t lo = 0, hi = c->n;
    bool any = h->longest == FOREVER || from < INT64_MIN + h->longest; /* from before all time on */
    int64_t after = any ? INT64_MIN : from - h->longest;
    if (c->v[0].start > after || after == INT64_MIN) {
        return 0;
    }
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (c->v[mid].start > after) {
            hi = mid;
        } else {
            lo = mid + 1;
        }
    }
    return lo;
}

const struct span *spans_next(const struct spans *s, struct spans_at *at, int64_t from,
                              int64_t to) {
    for (; at->chunk < s->n_chunks && s->v[at->chunk].first < to; at->chunk++, at->i = 0) {
        const struct spans_head *h = &s->v[at->chunk];
        if (h->until <= from) {
            continue;
        }
        const struct spans_chunk *c = h->chunk;
        for (at->i = at->i > 0 ? at->i : first_near(h, from); at->i < c->n; at->i++) {
            if (c->v[at->i].start >= to) {
                return NULL;
            }
            if (c->v[at->i].end > from) {
                return &c->v[at->i++];
            }
        }
    }
    return NULL;
}

/* ---- steps ---- */

/* Room for `want` chunks and what is kept of each. */
static int widen(struct steps *s, size_t want) {
    if (want <= s->cap) {
        return 0;
    }
    size_t cap = want < 4 ? 4 : 2 * want;
    struct steps_chunk **chunks = mem_realloc(s->chunks, cap * sizeof(*chunks));
    s->chunks = chunks != NULL ? chunks : s->chunks;
    int64_t **rest[] = {&s->first, &s->sum, &s->least};
    bool ok = chunks != NULL;
    for (size_t i = 0; ok && i < 3; i++) {
        int64_t *v = mem_realloc(*rest[i], cap * sizeof(*v));
        *rest[i] = v != NULL ? v : *rest[i];
        ok = v != NULL;
    }
    s->cap = ok ? cap : s->cap;
    return ok ? 0 : ERR_NOMEM;
}

void steps_release(struct steps *s) {
    for (size_t i = 0; i < s->n_chunks; i++) {
        mem_free(s->chunks[i]);
    }
    mem_free(s->chunks);
    mem_free(s->first);
    mem_free(s->sum);
    mem_free(s->least);
    *s = (struct steps){0};
}

static void steps_note(struct steps *s, size_t k) {
    const struct steps_chunk *c = s->chunks[k];
    int64_t sum = 0, least = INT64_MAX;
    for (size_t i = 0; i < c->n; i++) {
        sum += c->jump[i];
        least = sum < least ? sum : least;
    }
    s->first[k] = c->at[0];
    s->sum[k] = sum;
    s->least[k] = least;
}

/* The last chunk that begins at or before `at`; 0 when all are after. */
static size_t steps_chunk_of(const struct steps *s, int64_t at) {
    size_t lo = 0, hi = s->n_chunks;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (s->first[mid] > at) {
            hi = mid;
        } else {
            lo = mid + 1;
        }
    }
    return lo == 0 ? 0 : lo - 1;
}

static size_t jump_of(const struct steps_chunk *c, int64_t at) {
    size_t lo = 0, hi = c->n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (c->at[mid] < at) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

static int steps_split(struct steps *s, size_t k) {
    struct steps_chunk *x = mem_alloc(sizeof(*x));
    if (x == NULL || widen(s, s->n_chunks + 1) != 0) {
        mem_free(x);
        return ERR_NOMEM;
    }
    size_t at = s->n_chunks == 0 ? 0 : k + 1, after = s->n_chunks - at;
    memmove(&s->chunks[at + 1], &s->chunks[at], after * sizeof(*s->chunks));
    memmove(&s->first[at + 1], &s->first[at], after * sizeof(*s->first));
    memmove(&s->sum[at + 1], &s->sum[at], after * sizeof(*s->sum));
    memmove(&s->least[at + 1], &s->least[at], after * sizeof(*s->least));
    s->chunks[at] = x;
    x->n = 0;
    s->first[at] = INT64_MIN;
    s->n_chunks++;
    if (at > 0) {
        struct steps_chunk *c = s->chunks[k];
        size_t keep = c->n / 2;
        x->n = c->n - keep;
        memcpy(x->at, &c->at[keep], x->n * sizeof(*x->at));
        memcpy(x->jump, &c->jump[keep], x->n * sizeof(*x->jump));
        memcpy(x->uses, &c->uses[keep], x->n * sizeof(*x->uses));
        c->n = keep;
        steps_note(s, k);
        steps_note(s, k + 1);
    }
    return 0;
}

static int jump_add(struct steps *s, int64_t at, int64_t v, bool *ret_made) {
    size_t k = steps_chunk_of(s, at);
    size_t i = s->n_chunks == 0 ? 0 : jump_of(s->chunks[k], at);
    bool there = s->n_chunks > 0 && i < s->chunks[k]->n && s->chunks[k]->at[i] == at;
    if (!there && (s->n_chunks == 0 || s->chunks[k]->n == STEPS_CHUNK)) {
        if (steps_split(s, k) != 0) {
            return ERR_NOMEM;
        }
        k = steps_chunk_of(s, at);
        if (s->n_chunks == 1) {
            k = 0;
        }
        i = jump_of(s->chunks[k], at);
    }
    struct steps_chunk *c = s->chunks[k];
    if (!there) {
        memmove(&c->at[i + 1], &c->at[i], (c->n - i) * sizeof(*c->at));
        memmove(&c->jump[i + 1], &c->jump[i], (c->n - i) * sizeof(*c->jump));
        memmove(&c->uses[i + 1], &c->uses[i], (c->n - i) * sizeof(*c->uses));
        c->at[i] = at;
        c->jump[i] = 0;
        c->uses[i] = 0;
        c->n++;
    }
    c->jump[i] += v;
    c->uses[i]++;
    steps_note(s, k);
    *ret_made = !there;
    return 0;
}

static void jump_sub(struct steps *s, int64_t at, int64_t v) {
    size_t k = steps_chunk_of(s, at), i = jump_of(s->chunks[k], at);
    s->chunks[k]->jump[i] -= v;
    s->chunks[k]->uses[i]--;
    steps_note(s, k);
}

int steps_add(struct steps *s, int64_t from, int64_t to, int64_t v, unsigned *ret_made) {
    bool first = false, second = false;
    int r = jump_add(s, from, v, &first);
    if (r == 0 && to != FOREVER) {
        r = jump_add(s, to, -v, &second);
        if (r != 0) {
            jump_sub(s, from, v);
            if (first) {
                steps_drop(s, from);
            }
        }
    }
    if (r == 0) {
        *ret_made = (unsigned)first | (unsigned)second << 1;
    }
    return r;
}

void steps_sub(struct steps *s, int64_t from, int64_t to, int64_t v) {
    jump_sub(s, from, v);
    if (to != FOREVER) {
        jump_sub(s, to, -v);
    }
}

void steps_drop(struct steps *s, int64_t at) {
    if (s->n_chunks == 0) {
        return;
    }
    size_t k = steps_chunk_of(s, at), i = jump_of(s->chunks[k], at);
    struct steps_chunk *c = s->chunks[k];
    if (i == c->n || c->at[i] != at || c->uses[i] != 0) {
        return;
    }
    memmove(&c->at[i], &c->at[i + 1], (c->n - i - 1) * sizeof(*c->at));
    memmove(&c->jump[i], &c->jump[i + 1], (c->n - i - 1) * sizeof(*c->jump));
    memmove(&c->uses[i], &c->uses[i + 1], (c->n - i - 1) * sizeof(*c->uses));
    c->n--;
    if (c->n > 0) {
        steps_note(s, k);
        return;
    }
    mem_free(c);
    size_t after = s->n_chunks - k - 1;
    memmove(&s->chunks[k], &s->chunks[k + 1], after * sizeof(*s->chunks));
    memmove(&s->first[k], &s->first[k + 1], after * sizeof(*s->first));
    memmove(&s->sum[k], &s->sum[k + 1], after * sizeof(*s->sum));
    memmove(&s->least[k], &s->least[k + 1], after * sizeof(*s->least));
    s->n_chunks--;
}

/* The value just after the jumps at or before `at`; *k, *i: the first jump after it. */
static int64_t value_at(const struct steps *s, int64_t at, size_t *ret_k, size_t *ret_i) {
    int64_t v = s->base;
    size_t k = 0, i = 0;
    if (s->n_chunks > 0 && s->first[0] <= at) {
        size_t last = steps_chunk_of(s, at);
        for (; k < last; k++) {
            v += s->sum[k];
        }
        const struct steps_chunk *c = s->chunks[k];
        for (; i < c->n && c->at[i] <= at; i++) {
            v += c->jump[i];
        }
    }
    *ret_k = k;
    *ret_i = i;
    return v;
}

int64_t steps_least(const struct steps *s, int64_t from, int64_t to, int64_t *ret_at) {
    size_t k, i, where = SIZE_MAX;
    int64_t v = value_at(s, from, &k, &i), least = v, at = from;
    for (; k < s->n_chunks && s->first[k] < to; k++, i = 0) {
        const struct steps_chunk *c = s->chunks[k];
        if (i == 0 && c->at[c->n - 1] < to) { /* the whole chunk lies within */
            if (v + s->least[k] < least) {
                least = v + s->least[k];
                where = k;
            }
            v += s->sum[k];
            continue;
        }
        for (; i < c->n && c->at[i] < to; i++) {
            v += c->jump[i];
            if (v < least) {
                least = v;
                at = c->at[i];
                where = SIZE_MAX;
            }
        }
    }
    if (ret_at != NULL && where != SIZE_MAX) {
        const struct steps_chunk *c = s->chunks[where];
        int64_t sum = 0;
        for (i = 0; i < c->n; i++) {
            sum += c->jump[i];
            if (sum == s->least[where]) {
                at = c->at[i];
                break;
            }
        }
    }
    if (ret_at != NULL) {
        *ret_at = at;
    }
    return least;
}

bool steps_below(const struct steps *s, int64_t from, int64_t to, int64_t need, int64_t *ret_from,
                 int64_t *ret_to) {
    size_t k, i;
    int64_t v = value_at(s, from, &k, &i);
    int64_t begun = v < need ? from : FOREVER;
    for (; k < s->n_chunks; k++, i = 0) {
        const struct steps_chunk *c = s->chunks[k];
        if (begun == FOREVER && i == 0 && c->at[c->n - 1] < to && v + s->least[k] >= need) {
            v += s->sum[k];
            continue;
        }
        for (; i < c->n; i++) {
            if (begun == FOREVER && c->at[i] >= to) {
                return false;
            }
            v += c->jump[i];
            if (v < need && begun == FOREVER) {
                begun = c->at[i];
            } else if (v >= need && begun != FOREVER) {
                *ret_from = begun;
                *ret_to = c->at[i];
                return true;
            }
        }
    }
    if (begun == FOREVER) {
        return false;
    }
    *ret_from = begun;
    *ret_to = FOREVER;
    return true;
}

bool steps_last_below(const struct steps *s, int64_t from, int64_t to, int64_t need, int64_t *ret) {
    size_t k, i;
    int64_t v = value_at(s, from, &k, &i), end = INT64_MIN;
    bool below = v < need;
    for (; k < s->n_chunks && s->first[k] < to; k++, i = 0) {
        const struct steps_chunk *c = s->chunks[k];
        if (!below && i == 0 && v + s->least[k] >= need && c->at[c->n - 1] < to) {
            v += s->sum[k];
            continue;
        }
        for (; i < c->n && c->at[i] < to; i++) {
            v += c->jump[i];
            if (below && v >= need) {
                end = c->at[i];
            }
            below = v < need;
        }
    }
    if (below) {
        end = to;
    }
    if (end == INT64_MIN) {
        return false;
    }
    *ret = end;
    return true;
}
