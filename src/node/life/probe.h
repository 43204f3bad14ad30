/*
 * probe: when a container is asked again, and what its answers come to. Pure: now in, verdict out.
 *
 * A startup probe holds the others back until it has passed once. Liveness counts as passed, readiness as failed, until
 * as many answers in a row as its threshold say otherwise. A liveness or startup probe that has failed wants its
 * container ended; it asks nothing more until the container has begun anew.
 */
#ifndef BERTH_NODE_PROBE_H
#define BERTH_NODE_PROBE_H

#include <stdbool.h>
#include <stdint.h>

enum probe_kind { PROBE_STARTUP, PROBE_READINESS, PROBE_LIVENESS, PROBE_KINDS };

struct prober {
    enum probe_kind kind;
    bool set; /* the container has one */
    int64_t delay_ns, period_ns, timeout_ns;
    int success, failure; /* thresholds, 1 at least */
    int64_t grace_s;      /* of a container that it ends; -1: the pod's */
    /* since the container's start */
    bool passed, held;
    bool last;        /* the last answer, */
    int run;          /* and how many like it came in a row */
    int64_t next_ns;  /* when it is asked next */
    int64_t asked_ns; /* when it was asked last */
};

/* The container has begun. */
void probe_begin(struct prober *p, int64_t now_ns);
/* The startup probe has passed, or there is none: the first time for this one to be asked is not past by then. */
void probe_release(struct prober *p, int64_t now_ns);
/* When it wants to be asked, given whether the startup probe has passed; INT64_MAX: not. */
int64_t probe_due(const struct prober *p, bool started);
void probe_asked(struct prober *p, int64_t now_ns);
/* An answer. True: the container is to be ended. */
bool probe_answer(struct prober *p, bool ok, int64_t now_ns);

#endif
