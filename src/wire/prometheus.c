/*
 * prometheus: metrics in memory and their text exposition. See prometheus.h.
 *
 * A series' key in its family's map is its label values joined by 0xff, a byte that UTF-8 never has. Everything is
 * kept in insertion order, so that two scrapes differ only in numbers.
 */
#include "wire/prometheus.h"

#include <math.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"

static const double default_bounds[] = {.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10};

struct prom_series {
    struct prom_family *family;
    char *key;
    size_t key_n;
    uint64_t serial;    /* of its family, ascending in the map's order */
    double value;       /* counter, gauge; sum of a histogram */
    uint64_t count;     /* histogram */
    uint64_t buckets[]; /* histogram: not cumulated */
};

struct prom_family {
    char *name, *help;
    enum prom_type type;
    char *labels[PROM_LABELS_MAX];
    size_t n_labels;
    double bounds[PROM_BUCKETS_MAX];
    size_t n_bounds, series_max;
    uint64_t serial;
    struct map series;
};

struct collector {
    void (*collect)(void *ctx);
    bool (*step)(void *ctx, uint64_t *at); /* in its place */
    void *ctx;
};

VEC(collector_vec, struct collector);

struct prom {
    struct map families;
    struct collector_vec collectors;
};

/* ---- families and series ---- */

struct prom *prom_new(void) {
    return mem_zalloc(sizeof(struct prom));
}

static void series_free(struct prom_series *s) {
    if (s) {
        mem_free(s->key);
        mem_free(s);
    }
}

void prom_clear(struct prom_family *f) {
    const struct map_entry *e;
    for (size_t i = 0; f && (e = map_next(&f->series, &i));) {
        series_free(e->value);
    }
    if (f) {
        map_clear(&f->series);
    }
}

static void family_free(struct prom_family *f) {
    if (f == NULL) {
        return;
    }
    prom_clear(f);
    map_release(&f->series);
    for (size_t i = 0; i < f->n_labels; i++) {
        mem_free(f->labels[i]);
    }
    mem_free(f->name);
    mem_free(f->help);
    mem_free(f);
}

void prom_free(struct prom *p) {
    if (p == NULL) {
        return;
    }
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(&p->families, &i));) {
        family_free(e->value);
    }
    map_release(&p->families);
    collector_vec_release(&p->collectors);
    mem_free(p);
}

static bool agrees(const struct prom_family *f, enum prom_type type, const char *const *labels,
                   size_t n) {
    bool same = f->type == type && f->n_labels == n;
    for (size_t i = 0; same && i < n; i++) {
        same = str_is(str_of(f->labels[i]), labels[i]);
    }
    return same;
}

struct prom_family *prom_family(struct prom *p, enum prom_type type, const char *name,
                                const char *help, const char *const *labels, size_t n_labels) {
    struct prom_family *f = p ? map_get(&p->families, str_of(name)) : NULL;
    if (p == NULL || n_labels > PROM_LABELS_MAX || f) {
        return f && agrees(f, type, labels, n_labels) ? f : NULL;
    }
    f = mem_zalloc(sizeof(*f));
    if (f == NULL) {
        return NULL;
    }
    f->type = type;
    f->series_max = PROM_SERIES_MAX;
    f->name = mem_cstr(str_of(name));
    f->help = mem_cstr(str_of(help));
    f->n_bounds = type == PROM_HISTOGRAM ? sizeof(default_bounds) / sizeof(default_bounds[0]) : 0;
    memcpy(f->bounds, default_bounds, sizeof(default_bounds));
    bool ok = f->name && f->help;
    for (; ok && f->n_labels < n_labels; f->n_labels++) {
        f->labels[f->n_labels] = mem_cstr(str_of(labels[f->n_labels]));
        ok = f->labels[f->n_labels] != NULL;
    }
    if (!ok || map_put(&p->families, str_of(f->name), f, NULL) != 0) {
        family_free(f);
        return NULL;
    }
    return f;
}

int prom_buckets(struct prom_family *f, const double *bounds, size_t n) {
    if (f == NULL || f->type != PROM_HISTOGRAM || n > PROM_BUCKETS_MAX ||
        map_count(&f->series) > 0) {
        return ERR_INVALID;
    }
    memcpy(f->bounds, bounds, n * sizeof(*bounds));
    f->n_bounds = n;
    return 0;
}

void prom_limit(struct prom_family *f, size_t series_max) {
    if (f) {
        f->series_max = series_max;
    }
}

static void join(struct buf *b, const struct prom_family *f, const struct str *values) {
    for (size_t i = 0; i < f->n_labels; i++) {
        if (i > 0) {
            buf_ch(b, '\xff');
        }
        buf_str(b, values[i]);
    }
}

static struct prom_series *add_series(struct prom_family *f, struct str key) {
    struct prom_series *s = mem_zalloc(sizeof(*s) + (f->n_bounds + 1) * sizeof(s->buckets[0]));
    if (s == NULL) {
        return NULL;
    }
    s->family = f;
    s->serial = ++f->serial;
    s->key = mem_cstr(key);
    s->key_n = key.n;
    if (s->key == NULL || map_put(&f->series, str_from(s->key, s->key_n), s, NULL) != 0) {
        series_free(s);
        return NULL;
    }
    return s;
}

/* The key lies in `room` when it fits there, else in b. */
enum { KEY_ROOM = 512 };

static struct str key_of(const struct prom_family *f, const struct str *values, char *room,
                         struct buf *b) {
    size_t n = 0;
    for (size_t i = 0; i < f->n_labels; i++) {
        n += values[i].n + 1;
    }
    if (n > KEY_ROOM) {
        join(b, f, values);
        return buf_view(b);
    }
    n = 0;
    for (size_t i = 0; i < f->n_labels; i++) {
        if (i > 0) {
            room[n++] = '\xff';
        }
        if (values[i].n > 0) {
            memcpy(room + n, values[i].p, values[i].n);
            n += values[i].n;
        }
    }
    return str_from(room, n);
}

struct prom_series *prom_find(const struct prom_family *f, const struct str *values) {
    char room[KEY_ROOM];
    struct buf b;
    struct prom_series *s = NULL;
    if (f == NULL) {
        return NULL;
    }
    buf_init(&b, 0);
    struct str key = key_of(f, values, room, &b);
    if (buf_ok(&b) == 0) {
        s = map_get(&f->series, key);
    }
    buf_release(&b);
    return s;
}

struct prom_series *prom_series(struct prom_family *f, const struct str *values) {
    char room[KEY_ROOM];
    struct buf b;
    struct prom_series *s = prom_find(f, values);
    if (f == NULL || s || map_count(&f->series) >= f->series_max) {
        return s;
    }
    buf_init(&b, 0);
    struct str key = key_of(f, values, room, &b);
    if (buf_ok(&b) == 0) {
        s = add_series(f, key);
    }
    buf_release(&b);
    return s;
}

struct prom_series *prom_with_n(struct prom_family *f, const char *const *values, size_t n) {
    struct str views[PROM_LABELS_MAX] = {{0}};
    if (f == NULL || n != f->n_labels) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        views[i] = str_of(values[i]);
    }
    return prom_series(f, views);
}

void prom_forget(struct prom_series *s) {
    if (s) {
        map_del(&s->family->series, str_from(s->key, s->key_n));
        series_free(s);
    }
}

/* ---- counting ---- */

void prom_add(struct prom_series *s, double v) {
    if (s && s->family->type != PROM_HISTOGRAM && (v >= 0 || s->family->type == PROM_GAUGE)) {
        s->value += v;
    }
}

void prom_set(struct prom_series *s, double v) {
    if (s && s->family->type == PROM_GAUGE) {
        s->value = v;
    }
}

void prom_observe(struct prom_series *s, double v) {
    if (s == NULL || s->family->type != PROM_HISTOGRAM) {
        return;
    }
    size_t i = 0;
    while (i < s->family->n_bounds && !(v <= s->family->bounds[i])) {
        i++;
    }
    s->buckets[i]++;
    s->count++;
    s->value += v;
}

int prom_collector(struct prom *p, void (*collect)(void *ctx), void *ctx) {
    return collector_vec_push(&p->collectors, (struct collector){.collect = collect, .ctx = ctx});
}

int prom_stepper(struct prom *p, bool (*step)(void *ctx, uint64_t *at), void *ctx) {
    return collector_vec_push(&p->collectors, (struct collector){.step = step, .ctx = ctx});
}

void prom_collector_del(struct prom *p, void *ctx) {
    size_t n = 0;
    for (size_t i = 0; p && i < p->collectors.n; i++) {
        if (p->collectors.v[i].ctx != ctx) {
            p->collectors.v[n++] = p->collectors.v[i];
        }
    }
    if (p) {
        p->collectors.n = n;
    }
}

/* ---- writing ---- */

static void write_escaped(struct buf *b, struct str s, bool quotes) {
    size_t from = 0;
    for (size_t i = 0; i < s.n; i++) {
        char ch = s.p[i];
        if (ch == '\n' || ch == '\\' || (quotes && ch == '"')) {
            buf_add(b, s.p + from, i - from);
            buf_ch(b, '\\');
            buf_ch(b, ch == '\n' ? 'n' : ch);
            from = i + 1;
        }
    }
    buf_add(b, s.p + from, s.n - from);
}

void prom_write_head(struct buf *out, enum prom_type type, struct str name, struct str help) {
    static const char *const types[] = {"counter", "gauge", "histogram"};
    buf_f(out, "# HELP %.*s ", STR_ARG(name));
    write_escaped(out, help, false);
    buf_f(out, "\n# TYPE %.*s %s\n", STR_ARG(name), types[type]);
}

void prom_write_number(struct buf *out, double v) {
    char text[40];
    if (isnan(v) || isinf(v)) {
        buf_c(out, isnan(v) ? "NaN" : v > 0 ? "+Inf" : "-Inf");
        return;
    }
    if (v < 1e6 && v > -1e6 && v == (double)(int64_t)v) {
        buf_i64(out, (int64_t)v);
        return;
    }
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, v);
        if (strtod(text, NULL) == v) {
            break;
        }
    }
    buf_c(out, text);
}

/* name_suffix{a="x",le="0.1"} number */
static void write_line(struct buf *out, const struct prom_series *s, const char *suffix,
                       const double *le, double number) {
    const struct prom_family *f = s->family;
    struct str rest = {s->key, s->key_n}, value;
    buf_c(out, f->name);
    buf_c(out, suffix);
    buf_c(out, f->n_labels || le ? "{" : "");
    for (size_t i = 0; i < f->n_labels; i++) {
        str_cut(rest, '\xff', &value, &rest);
        buf_c(out, i ? "," : "");
        buf_c(out, f->labels[i]);
        buf_c(out, "=\"");
        write_escaped(out, value, true);
        buf_ch(out, '"');
    }
    if (le) {
        buf_f(out, "%sle=\"", f->n_labels ? "," : "");
        prom_write_number(out, *le);
        buf_ch(out, '"');
    }
    buf_c(out, f->n_labels || le ? "} " : " ");
    prom_write_number(out, number);
    buf_ch(out, '\n');
}

static void write_series(struct buf *out, const struct prom_series *s) {
    const struct prom_family *f = s->family;
    uint64_t below = 0;
    if (f->type != PROM_HISTOGRAM) {
        write_line(out, s, "", NULL, s->value);
        return;
    }
    for (size_t i = 0; i <= f->n_bounds; i++) {
        double le = i < f->n_bounds ? f->bounds[i] : INFINITY;
        below += s->buckets[i];
        write_line(out, s, "_bucket", &le, (double)below);
    }
    write_line(out, s, "_sum", NULL, s->value);
    write_line(out, s, "_count", NULL, (double)s->count);
}

void prom_begin(struct prom *p, struct prom_cursor *c) {
    *c = (struct prom_cursor){0};
    for (size_t i = 0; i < p->collectors.n; i++) {
        if (p->collectors.v[i].collect) {
            p->collectors.v[i].collect(p->collectors.v[i].ctx);
        }
    }
}

/* One step of a stepper; false: all are done. */
static bool collect_some(struct prom *p, struct prom_cursor *c) {
    while (c->collector < p->collectors.n) {
        const struct collector *x = &p->collectors.v[c->collector];
        if (x->step && x->step(x->ctx, &c->at)) {
            return true;
        }
        c->collector++;
        c->at = 0;
    }
    return false;
}

/* Series that were dropped meanwhile let the later ones move down. */
static void find_place(const struct prom_family *f, struct prom_cursor *c) {
    const struct map *m = &f->series;
    c->entry = c->entry < m->used ? c->entry : m->used;
    while (c->entry > 0) {
        const struct prom_series *s = m->entries[c->entry - 1].value;
        if (s && s->serial <= c->serial) {
            break;
        }
        c->entry--;
    }
}

bool prom_write_some(struct prom *p, struct prom_cursor *c, size_t bytes, struct buf *out) {
    const struct map_entry *e, *s;
    size_t full = out->n + bytes;
    if (collect_some(p, c)) {
        return true;
    }
    for (; c->family < p->families.used;
         c->family++, c->entry = 0, c->serial = 0, c->headed = false) {
        e = &p->families.entries[c->family];
        struct prom_family *f = e->value; /* families are never dropped */
        find_place(f, c);
        if (!c->headed && map_count(&f->series) > 0) {
            prom_write_head(out, f->type, str_of(f->name), str_of(f->help));
            c->headed = true;
        }
        while ((s = map_next(&f->series, &c->entry))) {
            write_series(out, s->value);
            c->serial = ((const struct prom_series *)s->value)->serial;
            if (out->n >= full) {
                return true;
            }
        }
    }
    return false;
}

void prom_write(struct prom *p, struct buf *out) {
    struct prom_cursor c;
    prom_begin(p, &c);
    while (prom_write_some(p, &c, SIZE_MAX / 4, out)) {
    }
}
