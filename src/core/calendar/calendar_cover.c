/*
 * calendar_cover (core): which cards need not be looked at.
 *
 * As far ahead as something begins a flavor keeps bits for each quarter of an hour, card and resource: what is on the
 * card for all of that quarter leaves no place for one. With the four bits of an hour goes a fifth: one of them is set.
 * A bit that is set is true; one that is not set says nothing. So taking a span away clears bits at once, putting one
 * there sets them later, when the trial is over. Without memory there are no bits, and all cards are looked at.
 */
#include "core/calendar/calendar_private.h"

enum {
    HOUR = 3600,
    PARTS = 4, /* of an hour */
    PART = HOUR / PARTS,
    ANY = PARTS, /* the fifth word: a part of the hour */
    WORDS,       /* for an hour, a resource and 64 cards */
    BLOCK = 32,  /* hours that are learned at once */
    HOURS_MIN = 336,
    HOURS_MAX = 4096,
    COVER_BYTES = 64 << 20,
    AGE_HOURS = 720,
};

void cover_release(struct cover *v) {
    mem_free(v->bits);
    *v = (struct cover){.stale = true};
}

static bool none(const struct cover *v) {
    return v->stale || v->hours == 0;
}

static uint64_t *words_of(const struct cover *v, size_t hour, size_t plane, size_t word) {
    return v->bits + ((hour * v->planes + plane) * v->words + word) * WORDS;
}

/* The hours that meet [from, to): [*a, *b). */
static void hours_of(const struct cover *v, int64_t from, int64_t to, size_t *a, size_t *b) {
    int64_t end = v->base + (int64_t)v->hours * HOUR;
    int64_t lo = from <= v->base ? 0 : from >= end ? (int64_t)v->hours : (from - v->base) / HOUR;
    int64_t hi = to <= v->base ? 0
                 : to >= end   ? (int64_t)v->hours
                               : (to - v->base + HOUR - 1) / HOUR;
    *a = (size_t)lo;
    *b = (size_t)hi;
}

/* What no other can have: for each part of n hours, the placements that are blocked for all of it. */
static bool blocked_parts(const struct card *card, int64_t from, size_t n, uint64_t *ret) {
    int64_t to = from + (int64_t)n * HOUR;
    struct spans_at at = {0};
    const struct span *x;
    bool some = false;
    memset(ret, 0, n * PARTS * sizeof(*ret));
    while ((x = spans_next(&card->spans, &at, from, to)) != NULL) {
        uint64_t block =
            x->placement == SPAN_CLOSED ? UINT64_MAX : card->class->set.p[x->placement].block;
        int64_t i = x->start <= from ? 0 : (x->start - from + PART - 1) / PART;
        int64_t end = x->end >= to ? (int64_t)n * PARTS : (x->end - from) / PART;
        some = some || i < end;
        for (; i < end; i++) {
            ret[i] |= block;
        }
    }
    return some;
}

static void learn_hours(struct cover *v, const struct card *card, size_t hour, size_t n) {
    uint64_t blocked[BLOCK * PARTS], mask = UINT64_C(1) << card->pos % 64;
    if (!blocked_parts(card, v->base + (int64_t)hour * HOUR, n, blocked)) {
        return;
    }
    for (size_t h = 0; h < n; h++) {
        const uint64_t *b = &blocked[h * PARTS];
        uint64_t ever = b[0] | b[1] | b[2] | b[3];
        for (size_t p = 0; ever != 0 && p < v->planes; p++) {
            uint64_t need = v->masks[card->class_no][p];
            if ((need & ~ever) != 0) {
                continue;
            }
            uint64_t *words = words_of(v, hour + h, p, card->pos / 64);
            for (size_t i = 0; i < PARTS; i++) {
                bool full = (need & ~b[i]) == 0;
                words[i] |= full ? mask : 0;
                words[ANY] |= full ? mask : 0;
            }
        }
    }
}

void cover_learn(const struct card *card, int64_t from, int64_t to) {
    struct cover *v = &card->flavor->cover;
    size_t a, b;
    if (none(v)) {
        return;
    }
    hours_of(v, from, to, &a, &b);
    for (; a < b; a += BLOCK) {
        learn_hours(v, card, a, b - a < BLOCK ? b - a : BLOCK);
    }
}

void cover_forget(const struct card *card, int64_t from, int64_t to) {
    struct cover *v = &card->flavor->cover;
    uint64_t mask = UINT64_C(1) << card->pos % 64;
    size_t a, b;
    if (none(v)) {
        return;
    }
    hours_of(v, from, to, &a, &b);
    for (; a < b; a++) {
        for (size_t p = 0; p < v->planes; p++) {
            uint64_t *words = words_of(v, a, p, card->pos / 64);
            for (size_t i = 0; (words[ANY] & mask) != 0 && i < WORDS; i++) {
                words[i] &= ~mask;
            }
        }
    }
}

/* The planes' names, and what they are in each class. */
static void name_planes(const struct flavor *f, struct cover *v) {
    v->planes = 1;
    for (size_t k = 0; k < f->n_classes; k++) {
        const struct card_class *x = f->classes[k];
        v->masks[k][0] = x->set.all;
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

/* Hours until the last entry begins. */
static size_t hours_ahead(const struct calendar *c, int64_t base) {
    int64_t ahead = 0, last = spans_last(&c->time);
    if (last > base && !__builtin_sub_overflow(last, base, &ahead)) {
        ahead /= HOUR;
    }
    return ahead > HOURS_MAX ? HOURS_MAX : ahead < HOURS_MIN ? HOURS_MIN : (size_t)ahead;
}

static void rebuild(const struct calendar *c, struct flavor *f) {
    struct cover *v = &f->cover;
    size_t words = (f->cards.n + 63) / 64, ahead;
    int64_t now = c->now > 0 ? c->now : 0;
    cover_release(v);
    name_planes(f, v);
    v->base = now - now % HOUR;
    ahead = 2 * hours_ahead(c, v->base); /* so that it is not made anew for each that is later */
    size_t hour = v->planes * (words > 0 ? words : 1) * WORDS;
    size_t most = COVER_BYTES / sizeof(*v->bits) / hour;
    most = most < HOURS_MAX ? most : HOURS_MAX;
    size_t hours = ahead < most ? ahead : most;
    v->bits = mem_array(hours * hour + words, sizeof(*v->bits));
    if (v->bits == NULL || words == 0) {
        return;
    }
    v->skip = v->bits + hours * hour;
    v->hours = hours;
    v->most = most;
    v->words = words;
    v->stale = false;
    for (size_t i = 0; i < f->cards.n; i++) {
        f->cards.v[i]->pos = (uint32_t)i;
        cover_learn(f->cards.v[i], v->base, CALENDAR_FOREVER);
    }
}

/* Adds one word of each hour, of all cards. */
static void skip_more(struct cover *v, size_t hour, size_t plane, size_t word) {
    const uint64_t *bits = words_of(v, hour, plane, 0) + word;
    for (size_t i = 0; i < v->words; i++) {
        v->skip[i] |= bits[i * WORDS];
    }
}

/* Only between trials: what is put somewhere in one may be taken away without a word. */
void cover_ready(struct calendar *c) {
    for (size_t i = 0; c->journal.n == 0 && i < c->flavors.n; i++) {
        struct flavor *f = c->flavors.v[i];
        const struct cover *v = &f->cover;
        bool far = v->hours < v->most && hours_ahead(c, v->base) > v->hours;
        if (v->stale || far || c->now > v->base + (int64_t)AGE_HOURS * HOUR) {
            rebuild(c, f);
        }
    }
}

const uint64_t *cover_skip(struct flavor *f, struct str resource, int64_t from, int64_t to) {
    struct cover *v = &f->cover;
    size_t a, b, plane;
    if (none(v)) {
        return NULL;
    }
    for (plane = v->planes - 1; plane > 0 && !str_eq(v->names[plane], resource);) {
        plane--;
    }
    hours_of(v, from, to, &a, &b);
    memset(v->skip, 0, v->words * sizeof(*v->skip));
    for (; a < b; a++) {
        int64_t at = v->base + (int64_t)a * HOUR;
        if (from <= at && to >= at + HOUR) {
            skip_more(v, a, plane, ANY);
            continue;
        }
        for (size_t i = 0; i < PARTS; i++) {
            if (at + (int64_t)(i + 1) * PART > from && at + (int64_t)i * PART < to) {
                skip_more(v, a, plane, i);
            }
        }
    }
    return v->skip;
}
