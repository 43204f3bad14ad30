/*
 * calendar_spans (core): intervals by start, in chunks; for each chunk the latest end, so that those that overlap a
 * stretch of time are found without walking over the rest. And steps: a function of time made of jumps, with the least
 * value over a stretch. Both take and give nothing back to the heap while a trial is undone: chunks are kept.
 */
#ifndef BERTH_CORE_CALENDAR_SPANS_H
#define BERTH_CORE_CALENDAR_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SPANS_CHUNK = 64, STEPS_CHUNK = 128, SPAN_CLOSED = 255 };

struct span {
    int64_t start, end;
    uint32_t entry; /* number of the entry; of the window when closed */
    uint16_t unit;
    uint8_t placement; /* of the card's class; SPAN_CLOSED: out of service */
    bool together;     /* its line is on one node */
};

struct spans_chunk {
    size_t n;
    struct span v[SPANS_CHUNK];
};

/* Chunks that wait to be used; shared by all spans of a calendar. */
struct spans_store {
    struct spans_chunk **v;
    size_t n, cap;
};

struct spans_head {       /* of a chunk */
    int64_t first, until; /* its first start, its latest end */
    int64_t longest;      /* the longest of its spans */
    struct spans_chunk *chunk;
};

struct spans {
    struct spans_head *v;
    size_t n_chunks, cap, n;
};

struct spans_at {
    size_t chunk, i;
};

void spans_store_release(struct spans_store *st);
void spans_release(struct spans *s);
/* So that `more` further insertions cannot fail. 0 or ERR_NOMEM. */
int spans_reserve(struct spans *s, struct spans_store *st, size_t more);
/* 0 or ERR_NOMEM, never after spans_reserve. Equal (start, entry, unit) must not be there. */
int spans_insert(struct spans *s, struct spans_store *st, const struct span *x);
bool spans_remove(struct spans *s, struct spans_store *st, const struct span *x);
int64_t spans_last(const struct spans *s); /* the latest start; INT64_MIN: there are none */
/* Those that overlap [from, to), by start, entry, unit; *at starts as {0}. NULL: no more, before a later `to`. */
const struct span *spans_next(const struct spans *s, struct spans_at *at, int64_t from, int64_t to);

struct steps_chunk {
    size_t n;
    int64_t at[STEPS_CHUNK], jump[STEPS_CHUNK];
    uint32_t uses[STEPS_CHUNK]; /* stretches that begin or end there */
};

struct steps {
    struct steps_chunk **chunks;
    int64_t *first, *sum,
        *least; /* of each chunk: first time, sum of jumps, least partial sum (after 1..n jumps) */
    size_t n_chunks, cap;
    int64_t base; /* value before the first jump */
};

void steps_release(struct steps *s);
/* Adds v to the value within [from, to). *ret_made: bit 0: a jump at `from` was made, bit 1: at `to` (CALENDAR_FOREVER
 * has none). 0 or ERR_NOMEM; cannot fail where both jumps are there. */
int steps_add(struct steps *s, int64_t from, int64_t to, int64_t v, unsigned *ret_made);
/* Takes such a stretch away. Its jumps stay, until steps_drop finds that no stretch uses them. */
void steps_sub(struct steps *s, int64_t from, int64_t to, int64_t v);
void steps_drop(struct steps *s, int64_t at);
/* Least value over [from, to), from < to; *ret_at (may be NULL): where it begins. */
int64_t steps_least(const struct steps *s, int64_t from, int64_t to, int64_t *ret_at);
/* The first stretch within [from, to) where the value is below `need`: false when there is none. */
bool steps_below(const struct steps *s, int64_t from, int64_t to, int64_t need, int64_t *ret_from,
                 int64_t *ret_to);
/* The last time before `to`, not before `from`, at which the value is below `need`; *ret: where that stretch ends. */
bool steps_last_below(const struct steps *s, int64_t from, int64_t to, int64_t need, int64_t *ret);

#endif
