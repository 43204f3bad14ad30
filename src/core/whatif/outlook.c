/* outlook: see outlook.h. */
#include "core/whatif/outlook.h"

#include <math.h>
#include <stdlib.h>

#include "base/prng.h"

enum { RUNS_LEAST = 5, WILD = 8 };
static const int64_t NEAR_NS = 20 * 1000000000LL;

/* ---- draws ---- */

/* How far above the median the upper half lies, as a share of it: the weight of the tail. A short history knows little
 * of it. */
static double tail_of(const int64_t *seen, size_t n) {
    size_t from = n / 2;
    double median = (double)seen[(n - 1) / 2] + 1, sum = 0;
    for (size_t i = from; i < n; i++) {
        sum += fmin((double)seen[i] / median, 1e6);
    }
    double above = log(fmax(sum / (double)(n - from), 1));
    return fmin(above + 0.5 / (double)n, 1);
}

static int64_t to_ns(double v) {
    return v < 9e18 ? (int64_t)v : INT64_MAX;
}

int64_t outlook_draw(const int64_t *seen, size_t n, int64_t elapsed, double u) {
    size_t from = 0;
    while (from < n && seen[from] <= elapsed) {
        from++;
    }
    const int64_t *v = seen + from;
    size_t m = from < n ? n - from : 0;
    double p = u * (double)(m + 1), tail = tail_of(seen, n);
    if (p >= (double)m) { /* longer than all of them */
        double last = m > 0 ? (double)v[m - 1] : fmax((double)elapsed, 1);
        return to_ns(last * pow((double)(m + 1) - p, -tail));
    }
    if (p < 1) { /* shorter than all of them */
        double low = fmax((double)elapsed, (double)v[0] * exp(-tail));
        return to_ns(low + p * ((double)v[0] - low));
    }
    size_t i = (size_t)p;
    return to_ns((double)v[i - 1] + (p - (double)i) * (double)(v[i] - v[i - 1]));
}

/* ---- runs ---- */

struct runs {
    const struct clone *clone;
    const struct forecast_options *o;
    const struct forecast_work *works;
    size_t n;
    struct forecast_work *drawn; /* of the run under way */
    uint8_t *strata; /* of each work OUTLOOK_RUNS: which part of its history in which run */
    int64_t *starts; /* likewise */
    size_t done, heads_left;
};

static uint64_t seed_of(struct str uid) {
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < uid.n; i++) {
        h = (h ^ (unsigned char)uid.p[i]) * 1099511628211u;
    }
    return h;
}

static void shuffle(struct str uid, uint8_t strata[static OUTLOOK_RUNS]) {
    struct prng r;
    prng_seed(&r, seed_of(uid));
    for (size_t k = 0; k < OUTLOOK_RUNS; k++) {
        size_t to = (size_t)prng_below(&r, k + 1);
        strata[k] = strata[to];
        strata[to] = (uint8_t)k;
    }
}

static bool drawn(const struct forecast_work *w) {
    return w->n_seen > 0 && w->unit > 0;
}

static int64_t draw_time(const struct forecast_work *w, int64_t elapsed, double u) {
    int64_t v = outlook_draw(w->seen, w->n_seen, elapsed < 0 ? -1 : elapsed / w->unit, u);
    return v < INT64_MAX / w->unit ? v * w->unit : INT64_MAX;
}

static void draw(struct runs *r) {
    for (size_t i = 0; i < r->n; i++) {
        struct forecast_work *w = &r->drawn[i];
        *w = r->works[i];
        if (!drawn(w)) {
            continue;
        }
        double u = (r->strata[i * OUTLOOK_RUNS + r->done] + 0.5) / OUTLOOK_RUNS;
        w->runtime = draw_time(w, -1, u);
        if (w->holds) {
            int64_t whole = draw_time(w, w->elapsed, u);
            w->remaining = whole > w->elapsed ? whole - w->elapsed : 0;
        }
    }
}

/* One that does not come to its end within what is left does not count. */
static int run_once(struct runs *r, bool *ret_cut) {
    struct forecast_options o = *r->o;
    struct engine *e;
    size_t heads = 0;
    o.waits = NULL;
    o.heads = &heads;
    o.heads_max = r->heads_left;
    draw(r);
    int code = clone_build(r->clone, &e);
    if (code != 0) {
        return code;
    }
    code = forecast_run(e, r->drawn, r->n, &o, ret_cut);
    engine_free(e);
    for (size_t i = 0; code == 0 && !*ret_cut && i < r->n; i++) {
        r->starts[i * OUTLOOK_RUNS + r->done] = r->drawn[i].start;
    }
    r->done += code == 0 && !*ret_cut;
    r->heads_left -= heads < r->heads_left ? heads : r->heads_left;
    return code;
}

static int earlier(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static struct outlook of_starts(int64_t *starts, size_t n) {
    qsort(starts, n, sizeof(*starts), earlier);
    return (struct outlook){starts[n / 10], starts[n / 2], starts[n - 1 - n / 10]};
}

static int run_all(struct runs *r, bool *ret_cut) {
    int code = 0;
    for (size_t i = 0; i < r->n; i++) {
        shuffle(r->works[i].uid, r->strata + i * OUTLOOK_RUNS);
    }
    for (bool cut = false; code == 0 && !cut && r->heads_left > 0 && r->done < OUTLOOK_RUNS;) {
        code = run_once(r, &cut);
    }
    *ret_cut = r->done < RUNS_LEAST;
    return code;
}

int outlook_run(const struct clone *c, const struct forecast_work *works, size_t n,
                const struct forecast_options *o, struct arena *a, struct outlook *ret,
                bool *ret_cut) {
    struct runs r = {.clone = c, .o = o, .works = works, .n = n};
    r.heads_left = o->heads_max > 0 ? o->heads_max : FORECAST_HEADS / 2;
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        ret[i] = (struct outlook){works[i].start, works[i].start, works[i].start};
        any = any || drawn(&works[i]);
    }
    *ret_cut = false;
    if (!any) {
        return 0;
    }
    r.drawn = ARENA_ARRAY(a, struct forecast_work, n);
    r.strata = ARENA_ARRAY(a, uint8_t, n * OUTLOOK_RUNS);
    r.starts = ARENA_ARRAY(a, int64_t, n * OUTLOOK_RUNS);
    if (r.drawn == NULL || r.strata == NULL || r.starts == NULL) {
        return ERR_NOMEM;
    }
    int code = run_all(&r, ret_cut);
    for (size_t i = 0; code == 0 && i < n; i++) {
        ret[i] = *ret_cut ? (struct outlook){FORECAST_NEVER, FORECAST_NEVER, FORECAST_NEVER}
                          : of_starts(r.starts + i * OUTLOOK_RUNS, r.done);
    }
    return code;
}

/* ---- saying ---- */

/* Near enough to be told as one time: within twenty seconds, or 45 hundredths of the wait. */
enum outlook_kind outlook_says(const struct outlook *o, int64_t now) {
    if (o->mid == FORECAST_NEVER) {
        return OUTLOOK_NEVER;
    }
    int64_t wait = o->mid > now ? o->mid - now : 0;
    if (o->late == FORECAST_NEVER) {
        return OUTLOOK_UNKNOWN;
    }
    int64_t width = o->late - o->early, late = o->late > now ? o->late - now : 0;
    if (width <= NEAR_NS || width / 9 <= wait / 20) {
        return OUTLOOK_TIME;
    }
    return late / WILD > wait ? OUTLOOK_UNKNOWN : OUTLOOK_RANGE;
}
