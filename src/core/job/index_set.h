/*
 * index_set (core): completion indexes of a Job as sorted ranges, and their text: "0,2-4,7".
 *
 * Lives in an arena. Text is accepted as Kubernetes writes it: ascending, ranges "first-last"; two neighbours are
 * written as "2,3" and three or more as "2-4". Numbers beyond `limit` are left out while reading, as upstream does
 * when completions shrank. Adding is cheap at the end and linear elsewhere.
 */
#ifndef BERTH_CORE_INDEX_SET_H
#define BERTH_CORE_INDEX_SET_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

struct index_range {
    int32_t first, last; /* both included */
};

struct index_set {
    struct arena *arena;
    struct index_range *v; /* sorted, never touching */
    size_t n, cap;
};

void index_set_init(struct index_set *s, struct arena *a);
/* ERR_SYNTAX, ERR_NOMEM. Indexes >= limit are dropped. */
int index_set_parse(struct index_set *s, struct str text, int32_t limit, struct err *err);
int index_set_add(struct index_set *s, int32_t index); /* 0 or ERR_NOMEM; adding twice is fine */
bool index_set_has(const struct index_set *s, int32_t index);
int64_t index_set_count(const struct index_set *s);
void index_set_write(const struct index_set *s, struct buf *out);
/* Indexes that are in both. */
int64_t index_set_common(const struct index_set *a, const struct index_set *b);

#endif
