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
    size_t n_bounds;
    struct map series;
};

struct collector {
    void (*collect)(void *ctx);
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
    if (!f) {
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
    if (!p) {
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
    if (!p || n_labels > PROM_LABELS_MAX || f) {
        return f && agrees(f, type, labels, n_labels) ? f : NULL;
    }
    f = mem_zalloc(sizeof(*f));
    if (!f) {
        return NULL;
    }
    f->type = type;
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
    if (!f || f->type != PROM_HISTOGRAM || n > PROM_BUCKETS_MAX || map_count(&f->series) > 0) {
        return ERR_INVALID;
    }
    memcpy(f->bounds, bounds, n * sizeof(*bounds));
    f->n_bounds = n;
    return 0;
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
    if (!s) {
        return NULL;
    }
    s->family = f;
    s->key = mem_cstr(key);
    s->key_n = key.n;
    if (!s->key || map_put(&f->series, str_from(s->key, s->key_n), s, NULL) != 0) {
        series_free(s);
        return NULL;
    }
    return s;
}

struct prom_series *prom_series(struct prom_family *f, const struct str *values) {
    struct buf key;
    struct prom_series *s = NULL;
    if (!f) {
        return NULL;
    }
    buf_init(&key, 0);
    join(&key, f, values);
    if (buf_ok(&key) == 0) {
        s = map_get(&f->series, buf_view(&key));
        if (!s && map_count(&f->series) < PROM_SERIES_MAX) {
            s = add_series(f, buf_view(&key));
        }
    }
    buf_release(&key);
    return s;
}

struct prom_series *prom_with_n(struct prom_family *f, const char *const *values, size_t n) {
    struct str views[PROM_LABELS_MAX] = {{0}};
    if (!f || n != f->n_labels) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        views[i] = str_of(values[i]);
    }
    return prom_series(f, views);
}

void prom_drop(struct prom_family *f, const struct str *values) {
    struct buf key;
    if (!f) {
        return;
    }
    buf_init(&key, 0);
    join(&key, f, values);
    if (buf_ok(&key) == 0) {
        series_free(map_del(&f->series, buf_view(&key)));
    }
    buf_release(&key);
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
    if (!s || s->family->type != PROM_HISTOGRAM) {
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

double prom_value(const struct prom_series *s) {
    return !s ? 0 : s->family->type == PROM_HISTOGRAM ? (double)s->count : s->value;
}

int prom_collector(struct prom *p, void (*collect)(void *ctx), void *ctx) {
    return collector_vec_push(&p->collectors, (struct collector){collect, ctx});
}

/* ---- writing ---- */

static void write_escaped(struct buf *b, struct str s, bool quotes) {
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '\n') {
            buf_c(b, "\\n");
        } else if (s.p[i] == '\\' || (quotes && s.p[i] == '"')) {
            buf_f(b, "\\%c", s.p[i]);
        } else {
            buf_ch(b, s.p[i]);
        }
    }
}

void prom_write_label_value(struct buf *out, struct str value) {
    write_escaped(out, value, true);
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
    buf_f(out, "%s%s", f->name, suffix);
    buf_c(out, f->n_labels || le ? "{" : "");
    for (size_t i = 0; i < f->n_labels; i++) {
        str_cut(rest, '\xff', &value, &rest);
        buf_f(out, "%s%s=\"", i ? "," : "", f->labels[i]);
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

void prom_write(struct prom *p, struct buf *out) {
    const struct map_entry *e, *s;
    for (size_t i = 0; i < p->collectors.n; i++) {
        p->collectors.v[i].collect(p->collectors.v[i].ctx);
    }
    for (size_t i = 0; (e = map_next(&p->families, &i));) {
        struct prom_family *f = e->value;
        if (map_count(&f->series) > 0) {
            prom_write_head(out, f->type, str_of(f->name), str_of(f->help));
        }
        for (size_t k = 0; (s = map_next(&f->series, &k));) {
            write_series(out, s->value);
        }
    }
}
