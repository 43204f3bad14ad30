/*
 * hindsight (core): compares estimated with actual starts, and corrects later estimates.
 *
 * A forecast knows only what has been submitted. What it cannot know (small jobs that will overtake a large one,
 * declared run times that are three times too long) is learnt here from the errors of earlier forecasts. Each
 * workload's first outlook is kept until it starts; then it has a score: 0, it started at `mid`; 1, at `late`; -1, at
 * `early`; in between and beyond likewise. The last scores of a class (hindsight_class: queue, priority, size) stretch
 * the outlooks of the next ones. A workload that waits past its latest start counts with its wait so far: so an
 * estimate that slides widens, and then is unknown.
 *
 * Bounded: HINDSIGHT_CLASSES classes of HINDSIGHT_SCORES scores and HINDSIGHT_OPEN outlooks; the least recently used is
 * forgotten. No clock: times are given.
 */
#ifndef BERTH_CORE_HINDSIGHT_H
#define BERTH_CORE_HINDSIGHT_H

#include "core/whatif/outlook.h"

enum {
    HINDSIGHT_CLASSES = 512,
    HINDSIGHT_SCORES = 40,
    HINDSIGHT_LATE = 8, /* of those that wait still, in a class */
    HINDSIGHT_OPEN = 4096,
    HINDSIGHT_KEY_MAX = 160
};

struct hindsight;

/* What was said of one first. */
struct hindsight_told {
    int64_t at;          /* 0: nothing */
    struct outlook said; /* as outlook_run had it, not adjusted */
};

struct hindsight *hindsight_new(void); /* NULL: out of memory */
void hindsight_free(struct hindsight *h);
/* The classes without the outlooks, for another thread. NULL: out of memory. */
struct hindsight *hindsight_copy(const struct hindsight *h);

/* The class of a workload: its ClusterQueue, its priority and, to a power of two, what it asks for. In `text`. */
struct str hindsight_class(const struct workload_input *in, char text[static HINDSIGHT_KEY_MAX]);

/* Something was said of a workload that waits: kept when it is the first, and a time. No memory: it is not kept. */
void hindsight_note(struct hindsight *h, struct str uid, struct str class,
                    const struct hindsight_told *told);
struct hindsight_told hindsight_told(const struct hindsight *h, struct str uid);
/* It got quota. Unknown ones are ignored. */
void hindsight_started(struct hindsight *h, struct str uid, int64_t at);
/* It is not going to start: nothing is learnt. */
void hindsight_gone(struct hindsight *h, struct str uid);

/* One of the class waits still, past what was said of it: counts until the next hindsight_copy. */
void hindsight_late(struct hindsight *h, struct str class, const struct hindsight_told *told,
                    int64_t now);
/* Stretches *o by the scores of the class; and by what one's own is by now (`told` may be NULL). */
void hindsight_adjust(const struct hindsight *h, struct str class,
                      const struct hindsight_told *told, int64_t now, struct outlook *o);

#endif
