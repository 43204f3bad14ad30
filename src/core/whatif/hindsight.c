/* hindsight: see hindsight.h. */
#include "core/whatif/hindsight.h"

#include <math.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"

enum { PRIOR = 8 };
static const int64_t SHORT_NS = INT64_C(5000000000); /* what starts so soon teaches nothing */
static const double SCORE_MAX = 60;

struct class {
    double scores[HINDSIGHT_SCORES]; /* a ring */
    double late[HINDSIGHT_LATE];
    size_t n, at, n_late;
    uint64_t used;
    size_t key_n;
    char key[HINDSIGHT_KEY_MAX];
};

struct open {
    struct hindsight_told told;
    size_t place; /* in the ring */
    size_t key_n, uid_n;
    char key[HINDSIGHT_KEY_MAX];
    char uid[];
};

struct hindsight {
    struct class all[HINDSIGHT_CLASSES]; /* in one block: a copy costs little */
    size_t n_all;
    struct map classes, opens;
    struct open *ring[HINDSIGHT_OPEN]; /* in the order of telling */
    size_t at;
    uint64_t uses;
};

struct hindsight *hindsight_new(void) {
    return mem_zalloc(sizeof(struct hindsight));
}

void hindsight_free(struct hindsight *h) {
    if (h == NULL) {
        return;
    }
    for (size_t i = 0; i < HINDSIGHT_OPEN; i++) {
        mem_free(h->ring[i]);
    }
    map_release(&h->classes);
    map_release(&h->opens);
    mem_free(h);
}

/* ---- classes ---- */

static size_t put_text(char *text, size_t n, struct str s) {
    s = str_head(s, n < HINDSIGHT_KEY_MAX ? HINDSIGHT_KEY_MAX - n : 0);
    if (s.n > 0) {
        memcpy(text + n, s.p, s.n);
    }
    return n + s.n;
}

static size_t put_number(char *text, size_t n, uint64_t v) {
    char digits[20];
    size_t at = sizeof(digits);
    do {
        digits[--at] = (char)('0' + v % 10);
        v /= 10;
    } while (v > 0);
    return put_text(text, n, str_from(digits + at, sizeof(digits) - at));
}

static uint64_t power_of(int64_t v) {
    return v <= 0 ? 0 : 64 - (uint64_t)__builtin_clzll((uint64_t)v);
}

struct str hindsight_class(const struct workload_input *in, char text[static HINDSIGHT_KEY_MAX]) {
    size_t n = put_text(text, 0, str_head(in->queue, HINDSIGHT_KEY_MAX / 2));
    n = put_text(text, n, in->priority < 0 ? STR("/-") : STR("/"));
    n = put_number(text, n, in->priority < 0 ? -(uint64_t)in->priority : (uint64_t)in->priority);
    for (size_t i = 0; i < in->n_sets && n < HINDSIGHT_KEY_MAX; i++) {
        const struct set_input *s = &in->sets[i];
        n = put_text(text, n, STR("/"));
        n = put_number(text, n, power_of(s->count));
        for (size_t k = 0; k < s->n_requests && n < HINDSIGHT_KEY_MAX; k++) {
            n = put_text(text, n, STR(","));
            n = put_text(text, n, s->requests[k].resource);
            n = put_number(text, n, power_of(s->requests[k].v));
        }
    }
    return str_from(text, n);
}

/* One that is free, or the one that was not used longest. */
static struct class *class_room(struct hindsight *h) {
    struct class *oldest = &h->all[0];
    if (h->n_all < HINDSIGHT_CLASSES) {
        return &h->all[h->n_all++];
    }
    for (size_t i = 1; i < HINDSIGHT_CLASSES; i++) {
        oldest = h->all[i].used < oldest->used ? &h->all[i] : oldest;
    }
    map_del(&h->classes, str_from(oldest->key, oldest->key_n));
    return oldest;
}

static int class_index(struct hindsight *h, struct class *c) {
    return map_put(&h->classes, str_from(c->key, c->key_n), c, NULL);
}

/* The class, made where it was not there; NULL: no memory. */
static struct class *class_of(struct hindsight *h, struct str key) {
    struct class *c = map_get(&h->classes, key);
    if (c == NULL) {
        c = class_room(h);
        *c = (struct class){0};
        c->key_n = put_text(c->key, 0, key);
        if (class_index(h, c) != 0) {
            c->key_n = 0; /* its room is the oldest now */
            return NULL;
        }
    }
    c->used = ++h->uses;
    return c;
}

struct hindsight *hindsight_copy(const struct hindsight *h) {
    struct hindsight *to = hindsight_new();
    if (to == NULL) {
        return NULL;
    }
    memcpy(to->all, h->all, h->n_all * sizeof(*h->all));
    to->n_all = h->n_all;
    to->uses = h->uses;
    for (size_t i = 0; i < to->n_all; i++) {
        if (class_index(to, &to->all[i]) != 0) {
            hindsight_free(to);
            return NULL;
        }
    }
    return to;
}

/* ---- scores ---- */

/* How far from mid a score of 1, or -1, is: what the runs differ by, but an eighth of the wait at least, since what
 * they all have in common is not seen in how they differ. */
static double reach(const struct outlook *o, int64_t at, bool after) {
    double wait = (double)(o->mid - at),
           by = (double)(after ? o->late - o->mid : o->mid - o->early);
    return fmax(by, wait / 8);
}

static double score_of(const struct hindsight_told *t, int64_t came) {
    double off = (double)(came - t->said.mid);
    return fmax(-SCORE_MAX, fmin(SCORE_MAX, off / reach(&t->said, t->at, off > 0)));
}

static void open_forget(struct hindsight *h, struct open *o) {
    if (o != NULL) {
        map_del(&h->opens, str_from(o->uid, o->uid_n));
        h->ring[o->place] = NULL;
        mem_free(o);
    }
}

void hindsight_note(struct hindsight *h, struct str uid, struct str class,
                    const struct hindsight_told *told) {
    if (told->said.late == FORECAST_NEVER || told->said.mid - told->at < SHORT_NS ||
        map_get(&h->opens, uid) != NULL) {
        return;
    }
    struct open *o = mem_zalloc(sizeof(*o) + uid.n);
    if (o == NULL) {
        return;
    }
    o->told = *told;
    o->key_n = put_text(o->key, 0, class);
    o->uid_n = uid.n;
    o->place = h->at;
    memcpy(o->uid, uid.p, uid.n);
    open_forget(h, h->ring[h->at]);
    if (map_put(&h->opens, str_from(o->uid, o->uid_n), o, NULL) != 0) {
        mem_free(o);
        return;
    }
    h->ring[h->at] = o;
    h->at = (h->at + 1) % HINDSIGHT_OPEN;
}

struct hindsight_told hindsight_told(const struct hindsight *h, struct str uid) {
    const struct open *o = map_get(&h->opens, uid);
    return o != NULL ? o->told : (struct hindsight_told){0};
}

void hindsight_started(struct hindsight *h, struct str uid, int64_t at) {
    struct open *o = map_get(&h->opens, uid);
    struct class *c = o != NULL ? class_of(h, str_from(o->key, o->key_n)) : NULL;
    if (c != NULL) {
        c->scores[c->at] = score_of(&o->told, at);
        c->at = (c->at + 1) % HINDSIGHT_SCORES;
        c->n += c->n < HINDSIGHT_SCORES;
    }
    open_forget(h, o);
}

void hindsight_gone(struct hindsight *h, struct str uid) {
    open_forget(h, map_get(&h->opens, uid));
}

void hindsight_late(struct hindsight *h, struct str class, const struct hindsight_told *told,
                    int64_t now) {
    struct class *c = told->at > 0 && now > told->said.late ? class_of(h, class) : NULL;
    if (c != NULL && c->n_late < HINDSIGHT_LATE) {
        c->late[c->n_late++] = score_of(told, now);
    }
}

/* ---- stretching ---- */

static int lower(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Until there are scores of the class: as if forecasts were as wide as they say. */
static size_t scores_of(const struct class *c,
                        double v[HINDSIGHT_SCORES + HINDSIGHT_LATE + PRIOR]) {
    static const double prior[PRIOR] = {-1, -0.7, -0.4, -0.1, 0.1, 0.4, 0.7, 1};
    size_t n = 0;
    for (size_t i = 0; c != NULL && i < c->n; i++) {
        v[n++] = c->scores[i];
    }
    for (size_t i = 0; c != NULL && i < c->n_late; i++) {
        v[n++] = c->late[i];
    }
    for (size_t i = n < PRIOR ? n : PRIOR; i < PRIOR; i++) {
        v[n++] = prior[i * 5 % PRIOR]; /* as many as are lacking, of both sides */
    }
    qsort(v, n, sizeof(*v), lower);
    return n;
}

static double quantile(const double *v, size_t n, double u) {
    double p = u * (double)(n + 1) - 1;
    p = fmax(0, fmin(p, (double)(n - 1)));
    size_t i = (size_t)p;
    return i + 1 < n ? v[i] + (p - (double)i) * (v[i + 1] - v[i]) : v[i];
}

static int64_t at_score(const struct outlook *o, int64_t now, double score) {
    double t = (double)(o->mid - now) + score * reach(o, now, score > 0);
    return t <= 0 ? now : t < (double)(INT64_MAX / 2) ? now + (int64_t)t : FORECAST_NEVER;
}

void hindsight_adjust(const struct hindsight *h, struct str class,
                      const struct hindsight_told *told, int64_t now, struct outlook *o) {
    double v[HINDSIGHT_SCORES + HINDSIGHT_LATE + PRIOR];
    struct outlook as = *o;
    if (o->late == FORECAST_NEVER || o->mid <= now) {
        return;
    }
    size_t n = scores_of(map_get(&h->classes, class), v);
    int64_t late = told != NULL && told->at > 0 ? now - told->said.late : 0;
    double own = late > 0 ? score_of(told, now) : 0;
    o->early = at_score(&as, now, quantile(v, n, 0.1));
    o->mid = at_score(&as, now, quantile(v, n, 0.5));
    o->late = at_score(&as, now, fmax(quantile(v, n, 0.9), own));
    o->late =
        late > o->late - now ? now + late : o->late; /* put off for so long, it may be again */
}
