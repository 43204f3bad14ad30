/*
 * calendar_cover (core): which cards need not be looked at.
 *
 * For each hour of the months to come a flavor keeps two bits of each card: something is on it for the whole hour (then
 * nobody can have the whole card at any time of it), and nothing more fits for the whole hour. A bit that is set is
 * true; one that is not set says nothing. So taking a span away clears bits at once, putting one there sets them later,
 * when the trial is over. Without memory there are no bits, and all cards are looked at.
 */
#include "core/calendar_private.h"

enum { HOUR = 3600, HOURS_MAX = 4096, COVER_BYTES = 8 << 20, AGE_HOURS = 720 };

void cover_release(struct cover *v) {
    mem_free(v->any);
    *v = (struct cover){.stale = true};
}

static void hours_of(const struct cover *v, int64_t from, int64_t to, bool whole, size_t *a,
                     size_t *b) {
    int64_t lo = from <= v->base ? 0 : (from - v->base + (whole ? HOUR - 1 : 0)) / HOUR;
    int64_t end = v->base + (int64_t)v->hours * HOUR;
    int64_t hi = to <= v->base ? 0
                 : to >= end   ? (int64_t)v->hours
                               : (to - v->base + (whole ? 0 : HOUR - 1)) / HOUR;
    *a = (size_t)(lo < (int64_t)v->hours ? lo : (int64_t)v->hours);
    *b = (size_t)hi;
}

static void learn_hour(struct cover *v, const struct card *card, size_t hour) {
    int64_t from = v->base + (int64_t)hour * HOUR;
    size_t word = hour * v->words + card->pos / 64;
    uint64_t mask = UINT64_C(1) << card->pos % 64, blocked = 0;
    struct spans_at at = {0};
    const struct span *x;
    bool any = false;
    while ((x = spans_next(&card->spans, &at, from, from + HOUR)) != NULL) {
        if (x->start <= from && x->end >= from + HOUR) {
            any = true;
            blocked |=
                x->placement == SPAN_CLOSED ? UINT64_MAX : card->class->p[x->placement].block;
        }
    }
    v->any[word] = any ? v->any[word] | mask : v->any[word] & ~mask;
    v->all[word] = (card->class->all & ~blocked) == 0 ? v->all[word] | mask : v->all[word] & ~mask;
}

void cover_learn(const struct card *card, int64_t from, int64_t to) {
    struct cover *v = &card->flavor->cover;
    size_t a, b;
    if (v->stale || v->hours == 0) {
        return;
    }
    hours_of(v, from, to, true, &a, &b);
    for (; a < b; a++) {
        learn_hour(v, card, a);
    }
}

void cover_forget(const struct card *card, int64_t from, int64_t to) {
    struct cover *v = &card->flavor->cover;
    uint64_t mask = ~(UINT64_C(1) << card->pos % 64);
    size_t a, b;
    if (v->stale || v->hours == 0) {
        return;
    }
    hours_of(v, from, to, true, &a, &b);
    for (; a < b; a++) {
        v->any[a * v->words + card->pos / 64] &= mask;
        v->all[a * v->words + card->pos / 64] &= mask;
    }
}

static void rebuild(const struct calendar *c, struct flavor *f) {
    struct cover *v = &f->cover;
    size_t words = (f->cards.n + 63) / 64, hours = COVER_BYTES / 16 / (words > 0 ? words : 1);
    hours = hours < HOURS_MAX ? hours : HOURS_MAX;
    cover_release(v);
    v->any = mem_array(2 * words * hours + words, sizeof(*v->any));
    if (v->any == NULL || words == 0) {
        return;
    }
    int64_t now = c->now > 0 ? c->now : 0;
    *v = (struct cover){.any = v->any,
                        .all = v->any + words * hours,
                        .skip = v->any + 2 * words * hours,
                        .base = now - now % HOUR,
                        .hours = hours,
                        .words = words};
    for (size_t i = 0; i < f->cards.n; i++) {
        struct card *card = f->cards.v[i];
        struct spans_at at = {0};
        const struct span *x;
        card->pos = (uint32_t)i;
        while ((x = spans_next(&card->spans, &at, v->base, CALENDAR_FOREVER)) != NULL) {
            cover_learn(card, x->start, x->end);
        }
    }
}

const uint64_t *cover_skip(const struct calendar *c, struct flavor *f, bool whole, int64_t from,
                           int64_t to) {
    struct cover *v = &f->cover;
    size_t a, b;
    if (v->stale || c->now > v->base + (int64_t)AGE_HOURS * HOUR) {
        rebuild(c, f);
    }
    if (v->stale || v->hours == 0) {
        return NULL;
    }
    hours_of(v, from, to, false, &a, &b);
    memset(v->skip, 0, v->words * sizeof(*v->skip));
    for (; a < b; a++) {
        const uint64_t *bits = (whole ? v->any : v->all) + a * v->words;
        for (size_t i = 0; i < v->words; i++) {
            v->skip[i] |= bits[i];
        }
    }
    return v->skip;
}
