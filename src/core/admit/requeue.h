/*
 * requeue (core): where a head goes that a cycle considered and did not admit, as a table.
 *
 *     outcome     the result of the cycle for it (outcome.h)
 *     round       how far the scan over its flavors has come, and what the earlier flavors lacked
 *     news        whether something happened since it tried its first flavor
 *     policy      of its queue
 *
 * The first matching row says where the head goes, whether its reason for waiting is written, and whether the places
 * reserved for it stay reserved. docs/workloads.md prints the table; requeue_test.c compares both and goes through all
 * cases.
 */
#ifndef BERTH_CORE_REQUEUE_H
#define BERTH_CORE_REQUEUE_H

#include "base/buf.h"
#include "core/admit/outcome.h"

/* MISSED: an earlier flavor of the round had quota, and no place. */
enum requeue_round {
    REQUEUE_LEFT, /* there are flavors left to try */
    REQUEUE_LEFT_MISSED,
    REQUEUE_DONE, /* that was the last one */
    REQUEUE_DONE_MISSED,
    REQUEUE_SOUGHT, /* the last one of a round in which victims could go for a place alone */
    REQUEUE_SOUGHT_MISSED,
    REQUEUE_ROUNDS
};

enum requeue_news {
    REQUEUE_NO_NEWS,
    REQUEUE_FREED,  /* something was freed */
    REQUEUE_OUTRUN, /* others of the same cycle took a flavor that it would have had */
    REQUEUE_NEWS
};

/* SEEKS: it may evict, and tries all flavors first. */
enum requeue_policy {
    REQUEUE_BEST_EFFORT,
    REQUEUE_BEST_EFFORT_SEEKS,
    REQUEUE_STRICT,
    REQUEUE_STRICT_SEEKS,
    REQUEUE_POLICIES
};

enum requeue_place {
    REQUEUE_TO_HEAP,         /* back at once */
    REQUEUE_TO_HEAP_PLACED,  /* back at once, and tried again when a place may be free */
    REQUEUE_TO_HEAP_SEEKING, /* back at once, for a round in which victims may go for a place */
    REQUEUE_TO_HEAP_ANEW,    /* back at once, to its first flavor */
    REQUEUE_TO_ALONE,        /* parked: the reason is its own */
    REQUEUE_TO_ALIKE,        /* parked with all that are like it */
    REQUEUE_TO_ALIKE_PLACED  /* the same, until a place may be free */
};

struct requeue {
    enum requeue_place to;
    bool told; /* false: that a place is missing was told, and stays the reason */
    bool keeps_places;
};

/* The row of every case, looked up once: a cycle asks for every head. */
struct requeue_index {
    unsigned char row[OUTCOMES][REQUEUE_ROUNDS][REQUEUE_NEWS][REQUEUE_POLICIES];
};
void requeue_index_init(struct requeue_index *x);
struct requeue requeue_decide(const struct requeue_index *x, enum outcome outcome,
                              enum requeue_round round, enum requeue_news news,
                              enum requeue_policy policy);
size_t requeue_row_of(enum outcome outcome, enum requeue_round round, enum requeue_news news,
                      enum requeue_policy policy); /* which row decides */
size_t requeue_rows(void);
/* The table, in the form that documents have. */
void requeue_print(struct buf *out);

#endif
