/* fleet_history: a sample of every type each minute, a day of them, in memory. */
#include "control/see/fleet_private.h"

#include "api/schema/codec_encode.h"
#include "base/mem.h"
#include "wire/text/time.h"

static const int64_t MINUTE_NS = 60 * NS_PER_SEC;
static const int64_t DAY_NS = FLEET_SAMPLES * 60 * NS_PER_SEC;
static const size_t ANSWER_MAX = (size_t)64 << 20;
enum { SUMS_MAX = 256 << 20 };

static void series_free(struct fleet_series *s) {
    if (s) {
        mem_free(s->v);
        mem_free(s);
    }
}

static struct fleet_series *series_new(struct str flavor, struct str product) {
    struct fleet_series *s = mem_zalloc(sizeof *s + flavor.n + product.n);
    if (s == NULL || (s->v = mem_alloc(FLEET_SAMPLES * sizeof *s->v)) == NULL) {
        mem_free(s);
        return NULL;
    }
    memcpy(s->text, flavor.p, flavor.n);
    if (product.n) {
        memcpy(s->text + flavor.n, product.p, product.n);
    }
    s->flavor = str_from(s->text, flavor.n);
    s->product = str_from(s->text + flavor.n, product.n);
    return s;
}

static struct fleet_series *series_of(struct fleet *f, const struct fleet_type *t) {
    struct fleet_series *s = map_get(&f->series, t->flavor);
    if (s || map_count(&f->series) >= FLEET_TYPES_MAX) {
        return s;
    }
    s = series_new(t->flavor, t->product);
    if (s && map_put(&f->series, s->flavor, s, NULL) != 0) {
        series_free(s);
        return NULL;
    }
    return s;
}

/* Types that nobody has had for a day. */
static void series_trim(struct fleet *f, int64_t now) {
    size_t at = 0;
    for (const struct map_entry *e; (e = map_next(&f->series, &at));) {
        struct fleet_series *s = e->value;
        if (now - s->seen_ns > DAY_NS) {
            map_del(&f->series, e->key);
            series_free(s);
        }
    }
}

void fleet_history_sample(struct fleet *f) {
    struct arena a;
    struct fleet_sums sums;
    int64_t now = clock_wall(f->c->env->clock);
    arena_init(&a, SUMS_MAX);
    bool ok = fleet_sum(f, &a, &sums) == 0;
    for (size_t i = 0; ok && i < sums.n; i++) {
        const struct fleet_type *t = &sums.v[i];
        struct fleet_series *s = series_of(f, t);
        if (s == NULL) {
            continue;
        }
        s->v[s->next] = (struct fleet_sample){
            .at_ns = now,
            .total = (float)t->total,
            .used = (float)t->used,
            .reserved = (float)t->reserved,
            .busy = t->busy_of > 0 ? (float)(t->busy / t->busy_of) : -1,
        };
        s->next = (s->next + 1) % FLEET_SAMPLES;
        s->n += s->n < FLEET_SAMPLES;
        s->seen_ns = now;
    }
    series_trim(f, now);
    fleet_sums_release(&sums);
    arena_release(&a);
}

static void on_minute(void *ctx) {
    struct fleet *f = ctx;
    fleet_history_sample(f);
    int64_t now = clock_wall(f->c->env->clock);
    f->c->env->clock->timer_start(f->minute, MINUTE_NS - now % MINUTE_NS);
}

/* ---- the answer ---- */

/* 2.25, 3, 0.13: hundredths. */
static double hundredths(float v) {
    return (double)(int64_t)((double)v * 100 + 0.5) / 100;
}

/* Failures are the arena's. */
static void series_write(const struct fleet_series *s, int64_t since, struct arena *a,
                         struct buf *out) {
    struct meta meta = {.name = s->flavor};
    struct fleet_history_view to = {.metadata = &meta, .flavor = s->flavor, .product = s->product};
    arena_reset(a);
    to.samples.v = ARENA_ARRAY(a, struct fleet_sample_view, s->n + 1);
    for (size_t i = 0; to.samples.v && i < s->n; i++) {
        const struct fleet_sample *v = &s->v[(s->next + FLEET_SAMPLES - s->n + i) % FLEET_SAMPLES];
        if (v->at_ns >= since) {
            to.samples.v[to.samples.n++] =
                (struct fleet_sample_view){.at_ns = v->at_ns,
                                           .total = hundredths(v->total),
                                           .used = hundredths(v->used),
                                           .reserved = hundredths(v->reserved),
                                           .busy_pct = {v->busy >= 0, hundredths(v->busy)}};
        }
    }
    codec_list_object(kind_by_name(STR("berth.dev"), STR("FleetHistory")), &to, out);
    out->failed = out->failed ? out->failed : to.samples.v ? 0 : ERR_NOMEM;
}

static void list_write(struct fleet *f, int64_t since, struct arena *a, struct buf *out) {
    size_t at = 0;
    codec_list_begin("FleetHistoryList", STR("berth.dev"), STR("v1alpha1"), out);
    for (const struct map_entry *e; (e = map_next(&f->series, &at));) {
        series_write(e->value, since, a, out);
    }
    codec_list_end(out);
}

int fleet_history_ask(struct virtual_source *source, const struct virtual_ask *q,
                      virtual_done *done, void *ctx, struct virtual_call **ret, struct err *err) {
    struct fleet *f = (struct fleet *)((char *)source - offsetof(struct fleet, history));
    const struct fleet_series *s = q->name.n ? map_get(&f->series, q->name) : NULL;
    int64_t now = clock_wall(f->c->env->clock), since = now - DAY_NS;
    struct str from = virtual_param(q, "from");
    struct arena a;
    struct buf b;
    (void)ret; /* answered at once */
    if (from.n && time_parse(from, &since, NULL) != 0) {
        return err_set(err, ERR_BAD_REQUEST,
                       "invalid value for query parameter \"from\": expected "
                       "a time, as 2026-11-23T09:00:00Z");
    }
    if (q->name.n && s == NULL) {
        return ERR_NOT_FOUND;
    }
    arena_init(&a, ANSWER_MAX);
    buf_init(&b, ANSWER_MAX);
    if (s) {
        series_write(s, since, &a, &b);
    } else {
        list_write(f, since, &a, &b);
    }
    int r = buf_ok(&b);
    if (r == 0) {
        done(ctx, 0, buf_view(&b), NULL);
    } else {
        err_set(err, r, "out of memory");
    }
    buf_release(&b);
    arena_release(&a);
    return r;
}

/* ---- life ---- */

int fleet_history_init(struct fleet *f) {
    struct clock *clock = f->c->env->clock;
    if (f->c->env->virtuals == NULL) {
        return 0; /* nobody could ask */
    }
    f->minute = clock->timer_new(clock, on_minute, f);
    if (f->minute == NULL) {
        return ERR_NOMEM;
    }
    clock->timer_start(f->minute, 5 * NS_PER_SEC); /* once nodes have told what they have */
    return 0;
}

void fleet_history_release(struct fleet *f) {
    size_t at = 0;
    for (const struct map_entry *e; (e = map_next(&f->series, &at));) {
        series_free(e->value);
    }
    map_release(&f->series);
    if (f->minute) {
        f->c->env->clock->timer_free(f->minute);
    }
}
