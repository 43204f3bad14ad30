/*
 * calendar_cover (core): which cards need not be looked at.
 *
 * For each hour of the months to come a flavor keeps a bit for each card and resource: what is on it for the whole hour
 * leaves no place for one. A bit that is set is true; one that is not set says nothing. So taking a span away clears
 * bits at once, putting one there sets them later, when the trial is over. Without memory there are no bits, and all
 * cards are looked at.
 */
#include "core/calendar_private.h"

enum { HOUR = 3600, HOURS_MAX = 4096, COVER_BYTES = 32 << 20, AGE_HOURS = 720 };

void cover_release(struct cover *v) {
    mem_free(v->bits);
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
    uint64_t *word = &v->bits[hour * v->planes * v->words + card->pos / 64];
    uint64_t mask = UINT64_C(1) << card->pos % 64, blocked = 0;
    struct spans_at at = {0};
    const struct span *x;
    while ((x = spans_next(&card->spans, &at, from, from + HOUR)) != NULL) {
        if (x->start <= from && x->end >= from + HOUR) {
            blocked |=
                x->placement == SPAN_CLOSED ? UINT64_MAX : card->class->p[x->placement].block;
        }
    }
    for (size_t p = 0; p < v->planes; p++, word += v->words) {
        bool none = (v->masks[card->class_no][p] & ~blocked) == 0;
        *word = none ? *word | mask : *word & ~mask;
    }
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
    for (size_t i = a * v->planes; i < b * v->planes; i++) {
        v->bits[i * v->words + card->pos / 64] &= mask;
    }
}

/* The planes' names, and what they are in each class. */
static void name_planes(const struct flavor *f, struct cover *v) {
    v->planes = 1;
    for (size_t k = 0; k < f->n_classes; k++) {
        const struct card_class *x = f->classes[k];
        v->masks[k][0] = x->all;
        for (size_t i = 0; i < x->n_resources; i++) {
            size_t p = 1;
            while (p < v->planes && !str_eq(v->names[p], x->resources[i].name)) {
                p++;
            }
            if (p == v->planes && p < COVER_PLANES) {
                v->names[v->planes++] = x->resources[i].name;
            }
            if (p < COVER_PLANES) {
                v->masks[k][p] = x->resources[i].mask;
            }
        }
    }
}

static void rebuild(const struct calendar *c, struct flavor *f) {
    struct cover *v = &f->cover;
    size_t words = (f->cards.n + 63) / 64;
    cover_release(v);
    name_planes(f, v);
    size_t hours = COVER_BYTES / 8 / (v->planes * (words > 0 ? words : 1));
    hours = hours < HOURS_MAX ? hours : HOURS_MAX;
    v->bits = mem_array(v->planes * words * hours + words, sizeof(*v->bits));
    if (v->bits == NULL || words == 0) {
        return;
    }
    int64_t now = c->now > 0 ? c->now : 0;
    v->skip = v->bits + v->planes * words * hours;
    v->base = now - now % HOUR;
    v->hours = hours;
    v->words = words;
    v->stale = false;
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

const uint64_t *cover_skip(const struct calendar *c, struct flavor *f, struct str resource,
                           int64_t from, int64_t to) {
    struct cover *v = &f->cover;
    size_t a, b, plane;
    if (v->stale || c->now > v->base + (int64_t)AGE_HOURS * HOUR) {
        rebuild(c, f);
    }
    if (v->stale || v->hours == 0) {
        return NULL;
    }
    for (plane = v->planes - 1; plane > 0 && !str_eq(v->names[plane], resource);) {
        plane--;
    }
    hours_of(v, from, to, false, &a, &b);
    memset(v->skip, 0, v->words * sizeof(*v->skip));
    for (; a < b; a++) {
        const uint64_t *bits = v->bits + (a * v->planes + plane) * v->words;
        for (size_t i = 0; i < v->words; i++) {
            v->skip[i] |= bits[i];
        }
    }
    return v->skip;
}
