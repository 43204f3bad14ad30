/*
 * property (core): for tests: a random life of an engine as a list of small events, and what must hold all along.
 *
 * An event is three numbers; what it means in full is drawn from its seed, so that a case can be cut down event by
 * event and printed. The same case gives the same events always.
 */
#ifndef BERTH_CORE_PROPERTY_H
#define BERTH_CORE_PROPERTY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum property_kind {
    EV_COHORT, /* put: parent, quota, weight */
    EV_COHORT_DEL,
    EV_QUEUE, /* put: everything */
    EV_QUEUE_DEL,
    EV_QUEUE_STOP, /* and start again */
    EV_FLAVOR_DEL,
    EV_FLAVOR_PUT,
    EV_SUBMIT,
    EV_PRIORITY,
    EV_FINISH,  /* one that holds quota */
    EV_DELETE,  /* whatever it is */
    EV_EVICTED, /* a victim gives its quota back and waits again */
    EV_KEEP,    /* the eviction could not be written */
    EV_UNDO,    /* nor the admission */
    EV_TICK,
    EV_RUN,      /* until nothing is left to decide */
    EV_RUN_PART, /* a few heads only */
    EV_KINDS
};

struct property_event {
    uint8_t kind, id;
    uint32_t seed;
};

enum { EVENTS_MAX = 160 };

struct property_case {
    uint32_t options; /* the options' seed */
    struct property_event v[EVENTS_MAX];
    size_t n;
};

struct property_result {
    char failure[512];  /* empty: all held */
    uint64_t decisions; /* a hash of all that was decided, in order */
    size_t admitted, preempted, rounds;
    bool asked; /* nobody was active at the end: all that are parked were asked about */
    /* Evictions did not end by themselves, where the rules do not promise that they do */
    bool endless;
};

enum { BREAK_AS_DRAWN = -1 };

/* Where runs tell what is decided; NULL: nowhere. */
extern FILE *property_trace;

const char *property_name(unsigned kind);
void property_draw(struct property_case *c, uint64_t seed);
void property_print(const struct property_case *c, FILE *out);
bool property_read(struct property_case *c, FILE *in); /* what property_print wrote */
/* budget: of each call; 0: without bound. break_alternation: 0, 1, or BREAK_AS_DRAWN. */
void property_run(const struct property_case *c, size_t budget, int break_alternation,
                  struct property_result *ret);

#endif
