/*
 * booking (core): the life of a booking as tables and sums. Pure; times in seconds since 1970 (UTC).
 *
 *   - the state machine: phases, events, and which event leads where, with what is to be done (booking_step);
 *   - the clock of one booking: which event is due next, and when (booking_due);
 *   - limits: what a user, a project and the tenant may book, as refusals that carry numbers (booking_limits_check);
 *   - the waitlist: its order, and who gets room that became free (booking_waitlist_run).
 *
 * Who may do what, texts, and objects are control's.
 */
#ifndef BERTH_CORE_BOOKING_H
#define BERTH_CORE_BOOKING_H

#include "core/calendar/calendar.h"

/* ---- the state machine ---- */

enum booking_phase {
    BOOKING_NEW, /* not decided yet: status.phase is empty */
    BOOKING_PENDING_APPROVAL,
    BOOKING_WAITLISTED,
    BOOKING_OFFERED,
    BOOKING_CONFIRMED,
    BOOKING_PREPARING,
    BOOKING_ACTIVE,
    BOOKING_DEGRADED,
    BOOKING_ENDING,
    BOOKING_ENDED,
    BOOKING_REJECTED,
    BOOKING_CANCELLED,
    BOOKING_RELEASED,
    BOOKING_EXPIRED,
    BOOKING_PHASES,
};

enum booking_event {
    BOOKING_NOTHING,
    BOOKING_ACCEPT, /* it fits, and nobody need approve */
    BOOKING_HOLD,   /* it fits, and waits for approval */
    BOOKING_WAIT,   /* it does not fit, and wants to wait */
    BOOKING_REFUSE, /* it does not fit, or a limit or the policy forbids it */
    BOOKING_APPROVE,
    BOOKING_REJECT,
    BOOKING_APPROVAL_OVER, /* nobody approved in time */
    BOOKING_ROOM,          /* waiting, and now it fits: its place is taken */
    BOOKING_OFFER,         /* the same, but its user wants to be asked */
    BOOKING_CLAIM,
    BOOKING_OFFER_OVER,
    BOOKING_TOO_LATE, /* waiting, and the latest useful start is past */
    BOOKING_CHANGE,   /* other times or lines, and they fit */
    BOOKING_CHANGE_WAIT, /* other times or lines of one that waits, or that waits again because they do not fit */
    BOOKING_CANCEL,
    BOOKING_PROJECT_GONE,
    BOOKING_PREPARE, /* start less the lead */
    BOOKING_START,   /* start, and its objects are ready */
    BOOKING_LATE,    /* start, and they are not */
    BOOKING_READY,   /* a degraded one whose time has begun has all it booked */
    BOOKING_EXTEND,
    BOOKING_WARN, /* 30, 15, 5 minutes before the end */
    BOOKING_NO_SHOW_WARN,
    BOOKING_NO_SHOW,  /* nobody came: released */
    BOOKING_LOST,     /* hardware of its plan is gone, and no other place was found */
    BOOKING_RESTORED, /* a degraded one that has not begun has a whole plan again */
    BOOKING_END,
    BOOKING_DRAINED, /* nothing of it runs, or the grace is over */
    BOOKING_MISSED,  /* nobody was there from its start to its end */
    BOOKING_EVENTS,
};

/* What a transition asks for. */
enum booking_effect {
    BOOKING_TAKE = 1 << 0,         /* its place in the calendar is held from now on */
    BOOKING_GIVE = 1 << 1,         /* ... is given back; the waitlist is run */
    BOOKING_COMMIT = 1 << 2,       /* the cost is committed */
    BOOKING_REFUND = 1 << 3,       /* by the rule for cancelling */
    BOOKING_CREDIT = 1 << 4,       /* time lost without the user's fault */
    BOOKING_CLOSE_LEDGER = 1 << 5, /* the cost is charged */
    BOOKING_MAKE = 1 << 6,         /* objects are made, held */
    BOOKING_OPEN = 1 << 7,         /* objects are opened for work */
    BOOKING_SHUT = 1 << 8,         /* objects go, as the end policy says */
    BOOKING_REPLAN = 1 << 9,
    BOOKING_END_NOW = 1 << 10, /* status.end becomes now, when that is earlier */
    BOOKING_NOTIFY = 1 << 11,
    BOOKING_TO_BACK = 1 << 12, /* waits again, behind all of its class */
};

/* 0 with *ret_to and *ret_effects (enum booking_effect), or ERR_CONFLICT: not in this phase. */
int booking_step(enum booking_phase from, enum booking_event event, enum booking_phase *ret_to,
                 uint32_t *ret_effects);
bool booking_final(enum booking_phase p);             /* nothing leads out */
bool booking_holds(enum booking_phase p);             /* it has a place in the calendar */
bool booking_begun(enum booking_phase p);             /* PREPARING to ENDING: objects may exist */
const char *booking_phase_name(enum booking_phase p); /* "PendingApproval"; "" of BOOKING_NEW */
const char *booking_event_name(enum booking_event e); /* "ApprovalOver": for conditions and audit */
enum booking_phase booking_phase_of(struct str name); /* BOOKING_PHASES: no such phase */

/* ---- the clock of one booking ---- */

enum { BOOKING_WARNINGS_MAX = 8 };

struct booking_clock {
    enum booking_phase phase;
    int64_t start, end;                       /* as granted */
    int64_t prepare_at;                       /* start less lead (and time to change the layout) */
    int64_t approval_until;                   /* 0: never */
    int64_t offer_until;                      /* 0: never */
    int64_t latest_start;                     /* of one that waits */
    int64_t drained_until;                    /* end and the overstay: ENDING ends then */
    int64_t warnings_s[BOOKING_WARNINGS_MAX]; /* before the end */
    size_t n_warnings;
    int64_t warned_at;          /* the last warning given (its time, not the clock's); 0: none */
    int64_t no_show_at;         /* 0: somebody came, or nobody asks */
    enum booking_event no_show; /* BOOKING_NO_SHOW or BOOKING_NO_SHOW_WARN */
    bool ready;                 /* objects are ready, the plan is whole */
    bool drained;
};

/* The event that is due at `now` and its time in *ret_at; else BOOKING_NOTHING and the time of the next one
 * (CALENDAR_FOREVER: none by the clock alone). Events missed come one by one, in order of time. */
enum booking_event booking_due(const struct booking_clock *k, int64_t now, int64_t *ret_at);
/* min(ttl, start - lead) from creation; never before `created`. */
int64_t booking_approval_until(int64_t created, int64_t start, int64_t ttl_s, int64_t lead_s);
/* now + window, never past start. */
int64_t booking_offer_until(int64_t now, int64_t start, int64_t window_s);

/* ---- amounts ---- */

/* GPU shares are in millionths of a card: memory slices of a unit over those of its card. */
#define BOOKING_GPU INT64_C(1000000)

int64_t booking_share(int32_t size, int32_t slices); /* 1g of 8: 125000; 0 slices: a whole card */
int64_t booking_gpu_ms(int64_t share, int64_t count,
                       int64_t seconds); /* GPU-milliseconds; saturates */
/* "12.5": GPU-hours with up to 3 decimals, rounded half up. */
struct str booking_hours_text(struct arena *a, int64_t gpu_ms);

/* ---- limits ---- */

enum booking_scope { BOOKING_USER, BOOKING_PROJECT, BOOKING_TENANT, BOOKING_SCOPES };

enum booking_limit {
    BOOKING_CONCURRENT_UNITS, /* units at one time */
    BOOKING_FUTURE,           /* bookings that have not ended */
    BOOKING_DURATION,         /* seconds; contiguous bookings of one beneficiary count as one */
    BOOKING_WEEK,             /* GPU-milliseconds in any 7 days */
    BOOKING_MONTH,            /* in any 30 days */
    BOOKING_SHORTEST,         /* seconds: at least `allowed` */
    BOOKING_AHEAD,            /* seconds from now to the start */
    BOOKING_GRID, /* start or end is not on the grid: allowed is the step, asked the time */
    BOOKING_PAST, /* the start is before now: allowed is the first that is not */
    BOOKING_LIMITS,
};

struct booking_caps { /* of one scope; 0: no limit */
    int64_t concurrent_units, future, max_duration_s, gpu_ms_week, gpu_ms_month;
};

/* One booking that counts: of the scope, in a phase that holds, or waiting. */
struct booking_use {
    int64_t start, end;
    int64_t units;
    int64_t share;   /* of all units together, in millionths of a card */
    bool same_owner; /* of the same beneficiary as the one asked for: stacks */
};

struct booking_request {
    int64_t now;
    struct booking_use use;
    struct booking_caps caps[BOOKING_SCOPES];
    const struct booking_use *uses[BOOKING_SCOPES]; /* near it, without the booking itself */
    size_t n_uses[BOOKING_SCOPES];
    int64_t open[BOOKING_SCOPES]; /* bookings that have not ended, without it, near or not */
    int64_t min_duration_s, max_duration_s, ahead_s; /* of the policy; 0: none */
    int64_t grid_s, grid_base;                       /* 0: no grid */
    int64_t past_s;                                  /* how far in the past a start may lie */
    int64_t old_start; /* of a change: a start that stays is not judged again; else 0 */
};

struct booking_refusal {
    enum booking_limit limit;
    enum booking_scope scope; /* BOOKING_SCOPES: the policy itself */
    int64_t allowed, asked;   /* what is allowed, what it would come to */
    int64_t from, to;         /* where: of sums over time */
};

/* All that is violated, lowest scope first: their number (at most BOOKING_REFUSALS_MAX), or ERR_NOMEM. */
enum { BOOKING_REFUSALS_MAX = BOOKING_LIMITS * BOOKING_SCOPES };
int booking_limits_check(const struct booking_request *r, struct booking_refusal *ret);
const char *booking_limit_name(enum booking_limit l); /* "concurrentUnits" */
const char *booking_scope_name(enum booking_scope s); /* "user"; "policy" */

/* ---- the waitlist ---- */

enum { BOOKING_PASSES_MAX = 3 };
#define BOOKING_PASS_SECONDS INT64_C(86400)

struct booking_waiter {
    struct calendar_ask ask;  /* id, lines, rank; start..end as wished */
    int64_t earliest, latest; /* flexible: start >= earliest, end <= latest; 0, 0: as wished only */
    int64_t min_s;            /* flexible: shortest; 0: the wished */
    int32_t class_rank;       /* higher first */
    int64_t used;             /* recent GPU-milliseconds of its user: less first */
    int64_t since;            /* waits since; OFFER_OVER sets it anew */
    struct str name;          /* namespace/name: the last tie */
    int32_t passes;           /* how often others passed it: kept by the caller */
    /* what came of it */
    bool granted; /* it is in the calendar now, with start and end */
    bool passed;  /* somebody behind it got room that it competes for: count one */
    int64_t start, end;
    int32_t position; /* 1 is next; 0 when granted */
};

/* Sorts by class, use, time, name. */
void booking_waitlist_sort(struct booking_waiter *v, size_t n);
/* Sorts, then gives room in that order. Whoever could be had a start for in their window has it (it is booked, however
 * far ahead), so who stays has none; those behind may pass, because nothing that was promised is delayed. But whoever
 * was passed BOOKING_PASSES_MAX times by some who compete (the same flavors at a time of its window), or has waited
 * BOOKING_PASS_SECONDS, is passed no more by those. Granted ones are inserted into the calendar. 0 or ERR_NOMEM (what
 * was granted by then stays granted). */
int booking_waitlist_run(struct calendar *c, struct booking_waiter *v, size_t n, int64_t now);

#endif
