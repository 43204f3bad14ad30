/*
 * prometheus: metrics in memory and their text exposition (version 0.0.4).
 *
 * A registry holds families (name, help, type, label names); a family holds one series per combination of label values.
 * Handles stay valid as long as the registry. Made and changed on one thread. Registration fails (NULL) when out of
 * memory, when the name is taken by another type, or beyond the family's limit of series: a NULL handle is accepted
 * everywhere and does nothing, so that counting never needs a check.
 */
#ifndef BERTH_WIRE_PROMETHEUS_H
#define BERTH_WIRE_PROMETHEUS_H

#include "base/buf.h"
#include "base/err.h"

#define PROM_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

enum prom_type { PROM_COUNTER, PROM_GAUGE, PROM_HISTOGRAM };
enum { PROM_LABELS_MAX = 8, PROM_BUCKETS_MAX = 24, PROM_SERIES_MAX = 20000 };

struct prom; /* a registry */
struct prom_family;
struct prom_series;

struct prom *prom_new(void);
void prom_free(struct prom *p);

/* `labels`: n names. The same name gives the same family again when type and labels agree. */
struct prom_family *prom_family(struct prom *p, enum prom_type type, const char *name,
                                const char *help, const char *const *labels, size_t n_labels);
/* Upper bounds, ascending, without +Inf; before the first series. The default is client_golang's. */
int prom_buckets(struct prom_family *f, const double *bounds, size_t n);
void prom_limit(struct prom_family *f, size_t series_max); /* in place of PROM_SERIES_MAX */

/* The series with these label values (n_labels of them), made when missing. */
struct prom_series *prom_series(struct prom_family *f, const struct str *values);
/* prom_with(f, "a", "b") with C strings. */
#define prom_with(f, ...)                                                                          \
    prom_with_n((f), (const char *const[]){__VA_ARGS__},                                           \
                sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))
struct prom_series *prom_with_n(struct prom_family *f, const char *const *values, size_t n);
/* NULL when there is none. */
struct prom_series *prom_find(const struct prom_family *f, const struct str *values);
void prom_forget(struct prom_series *s); /* one series */
void prom_clear(struct prom_family *f);  /* all of them */

void prom_add(struct prom_series *s, double v);     /* counter (v >= 0) and gauge */
void prom_set(struct prom_series *s, double v);     /* gauge */
void prom_observe(struct prom_series *s, double v); /* histogram */

/* `collect` is called before each write, to set gauges that are computed. 0 or ERR_NOMEM. */
int prom_collector(struct prom *p, void (*collect)(void *ctx), void *ctx);
/* The same for much work: a slice of it at each call, *at being 0 at first and the stepper's own after that. True:
 * there is more. */
int prom_stepper(struct prom *p, bool (*step)(void *ctx, uint64_t *at), void *ctx);
void prom_collector_del(struct prom *p, void *ctx); /* those with this ctx */
/* All families in order of registration, series in order of creation. */
void prom_write(struct prom *p, struct buf *out);

/* The same a piece at a time, so that a great registry holds nobody up: begin calls the collectors; each call of
 * prom_write_some takes one step of a stepper, or appends whole series until some `bytes` are there. True: there is
 * more. Series may come and go between two calls: none is written twice, and none that stays is left out. */
struct prom_cursor {
    size_t family, entry;
    uint64_t serial; /* of the last series written */
    bool headed;
    size_t collector; /* the stepper at work, and where it is */
    uint64_t at;
};
void prom_begin(struct prom *p, struct prom_cursor *c);
bool prom_write_some(struct prom *p, struct prom_cursor *c, size_t bytes, struct buf *out);

/* For writers without a registry. */
void prom_write_head(struct buf *out, enum prom_type type, struct str name, struct str help);
void prom_write_number(struct buf *out, double v); /* shortest form, "+Inf", "NaN" */

#endif
