/*
 * reservation_private: the planner's own: what it remembers of each booking and of what can be booked.
 *
 * Times here are seconds since 1970, as in core; nanoseconds stay in the views.
 *
 *   reservation.c          whose turn it is: keys, writes, feeds
 *   reservation_book.c     records of Reservations; what was decided, put back into the calendar
 *   reservation_supply.c   policy, nodes, standing quotas, windows: into the calendar
 *   reservation_decide.c   what is asked for; the first decision, changes, the waitlist
 *   reservation_limits.c   what users, projects and tenants have booked, and what the policy's limits allow
 *   reservation_step.c     one booking through its states
 *   reservation_status.c   the status as a patch; texts
 *   reservation_outcome.c  why not;  reservation_instead.c  what instead
 *   reservation_answer.c   ReservationCheck;  reservation_slots.c  Availability
 */
#ifndef BERTH_CONTROL_RESERVATION_PRIVATE_H
#define BERTH_CONTROL_RESERVATION_PRIVATE_H

#include "api/tables/view_reservation.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/tree.h"
#include "base/vec.h"
#include "control/book/reservation.h"
#include "control/kit/controller.h"
#include "control/kit/views.h"
#include "core/booking/booking.h"
#include "core/calendar/calendar.h"

enum { PLAN_MINUTE = 60, PLAN_HOUR = 3600, PLAN_DAY = 86400 };
/* A final booking is kept so long, for calendars and the monthly limit. */
enum { PLAN_KEEP_S = 31 * PLAN_DAY };
/* A node may be silent so long before its cards are given up. */
enum { PLAN_NODE_GRACE_S = 60 };
/* A place that was promised in an answer to a create is held so long until its object is seen. */
enum { PLAN_TENTATIVE_S = 2 };

/* Sorts of keys. */
enum plan_key {
    PLAN_BOOKING, /* with namespace and name */
    PLAN_WINDOW,  /* with the name of a CapacityWindow */
    PLAN_POLICY,
    PLAN_ITSELF, /* what has changed since the last step, and who is to be decided next */
    PLAN_ALL,    /* every booking: there was no memory for one */
};

/* The bookings of one user or one project that count towards limits. */
struct plan_scope {
    struct str name;
    struct tree by_start; /* struct booking, by counted_at */
    int64_t longest;      /* of all that ever were in it */
    int64_t open;         /* those that have not ended */
    char text[];
};

/* A place in a list. */
struct booking;
struct plan_link {
    struct plan_link *next, **here; /* here NULL: not in it */
    struct booking *booking;
};

/* What is remembered of a Reservation. */
struct booking {
    struct str ns, name, uid, user; /* user: whose it is; in `text` apart from user */
    int64_t created;
    char *user_text;
    /* as decided: what status will say */
    enum booking_phase phase;
    int64_t start, end;
    int64_t decided, deadline, active, ended, used, warned_at, extended, lost, since;
    int64_t warned;                   /* seconds before the end of the last warning */
    int64_t sequence, generation;     /* of the spec that was decided */
    int64_t lost_from;                /* it lacks what it booked since then; 0: it does not */
    int64_t committed_ms, charged_ms; /* GPU milliseconds */
    char reason[40];                  /* in one word; empty: none */
    char *message;                    /* owned */
    char *extra;                      /* owned: JSON members that are written once, after a comma */
    bool unused_told;
    /* of the spec */
    uint64_t want; /* hash of times and lines */
    int64_t units, share;
    int32_t rank;
    /* of the world */
    bool read;    /* the object's status has been taken in */
    bool held;    /* it is in the calendar */
    bool broken;  /* it lacks places */
    bool durable; /* its stored status has its place */
    bool moved;   /* its stored place is not its place any more */
    bool ready, drained, in_use;
    int32_t position, passes;
    uint64_t version, written; /* of what is above: different while status has to be written */
    uint64_t rv;               /* of the object that was last read */
    bool undecided;
    /* where it counts (reservation_limits.c) */
    struct plan_scope *of_user, *of_project; /* NULL: it does not */
    int64_t counted_at;                      /* its start, as it stands there */
    bool counted_open;
    struct plan_link waits, lacks;
    char text[]; /* ns, name, uid */
};

/* The policy, decoded into its own arena. */
struct plan_policy {
    struct arena arena;
    struct reservation_policy_spec *spec;
    uint64_t rv;
};

struct plan_tentative {
    struct plan_tentative *next;
    int64_t until;
    char *id; /* "tentative/<number>": also in the calendar */
    char *ns, *name;
};

/* What a node on which others place adds to a plain number. */
struct plan_amount {
    struct str node, flavor, resource;
    int64_t n;
};
VEC(plan_amounts, struct plan_amount);

struct reservation_controller {
    struct controller base;
    const struct kind *reservations, *policies, *windows, *nodes, *flavors, *queues, *cohorts;
    const struct kind *namespaces; /* of base.kinds */
    struct calendar *calendar;
    struct plan_policy policy;
    struct map by_key, by_uid;  /* "ns/name", uid: struct booking */
    struct tree undecided;      /* by (created, uid) */
    struct map users, projects; /* struct plan_scope, by name */
    struct plan_link *waiting;  /* in phase Waitlisted */
    struct plan_link *lacking;  /* broken */
    bool uncounted;        /* for want of memory, some booking does not stand where it counts */
    struct map windows_in; /* ids of windows' parts in the calendar: char * */
    struct plan_amounts amounts;
    struct arena amounts_arena;
    int64_t windows_at;   /* the next time at which a window means something else; 0: none */
    struct map pools_in;  /* "flavor resource" of pools in the calendar: char * */
    struct map floors_in; /* ids of standing quotas in the calendar: char * */
    struct plan_tentative *tentatives;
    uint64_t n_tentatives; /* that there ever were */
    size_t n_moved;        /* bookings whose moved place is not written yet */
    bool loaded;
    bool supply_dirty; /* nodes, flavors, quotas, windows or policy changed */
    bool floors_short; /* a standing quota did not find all of its room */
    bool given;        /* something came free: the waitlist is run */
    bool policy_wanted;
    int64_t decide_until; /* decisions of one turn end then (monotonic); 0: never */
    int64_t started;      /* when this controller began */
    int64_t supply_at;    /* look at the supply again at this time; 0: not by the clock */
    struct virtual_source check_source, slots_source;
    struct arena scratch; /* of decisions, inside one piece of work */
};

/* ---- reservation_book.c ---- */

/* A record of what was just seen; undecided. NULL: out of memory. */
struct booking *plan_booking_new(struct reservation_controller *c, const struct object *o);
void plan_booking_free(struct reservation_controller *c, struct booking *b);
int plan_booking_order(const void *key,
                       const void *item); /* of struct booking: creation, then uid */
void plan_moved_clear(struct reservation_controller *c, struct booking *b);
/* The booking whose ClusterQueue it is, and whether work runs in it; NULL: of none. */
struct booking *plan_queue_use(struct reservation_controller *c, const struct object *o, bool gone,
                               bool *ret);
void plan_user_set(struct reservation_controller *c, struct booking *b,
                   const struct reservation *r);
int64_t plan_now(const struct reservation_controller *c);
struct booking *booking_find(const struct reservation_controller *c, struct str ns,
                             struct str name);
struct booking *booking_by_uid(const struct reservation_controller *c, struct str uid);
/* The object decoded into the arena; NULL when it is not there or is another one now. */
struct reservation *booking_view(const struct reservation_controller *c, const struct booking *b,
                                 struct arena *a, const struct object **ret_object);
/* Its status is to be written, and it counts as it is now. */
void booking_touch(struct reservation_controller *c, struct booking *b);
/* Sets what status says for people. NULL fmt: nothing. */
void booking_say(struct booking *b, const char *reason, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void booking_extra(struct booking *b, struct str json); /* copied */
/* Supply, loading, and everything that is undecided, in order. After that the calendar is the truth. */
int plan_refresh(struct reservation_controller *c);
/* Whose plan was changed by what was just done. */
void plan_moved(struct reservation_controller *c);
void plan_look_at(struct reservation_controller *c, enum plan_key what, int64_t delay_ns);
void plan_kick(struct reservation_controller *c); /* look at the whole again, soon */
/* Out of memory for what was to be given or told: all of that again in a second. */
void plan_again(struct reservation_controller *c);
void plan_undecided_drop(struct reservation_controller *c,
                         struct booking *b); /* decided, or gone */

/* ---- reservation_supply.c ---- */

int plan_supply(struct reservation_controller *c);
/* Remembers an owned name in a map of names, and forgets it. */
int plan_name_keep(struct map *m, struct str name);
void plan_name_forget(struct map *m, struct str name);
bool plan_is_device(struct str resource);
/* reservation_window.c: CapacityWindows, standing quotas, what is never booked. */
int plan_windows(struct reservation_controller *c, struct arena *a);
int plan_floors(struct reservation_controller *c, struct arena *a);
void plan_window_drop(struct reservation_controller *c, struct str name);
enum work plan_window_work(struct reservation_controller *c, struct str name);
void plan_supply_release(struct reservation_controller *c);
int32_t plan_rank(struct str class_name);
/* The policy's grid at that time: its step, and what multiples of it start from. */
int64_t plan_grid_base(const struct reservation_controller *c, int64_t at);

/* ---- reservation_decide.c ---- */

/* What a spec asks of the calendar. */
struct plan_want {
    struct calendar_ask ask;
    int64_t earliest, latest, min_s; /* flexible; 0: not */
    int64_t units, share;            /* of all units together */
};

enum plan_verdict { PLAN_FITS, PLAN_LIMITS, PLAN_FULL };

/* What came of it: why not, and what instead. */
struct plan_outcome {
    enum plan_verdict verdict;
    int64_t start, end;
    const char *approver; /* "manager", "admin"; NULL: nobody need approve */
    struct booking_refusal refusals[BOOKING_REFUSALS_MAX];
    int n_refusals;
    struct calendar_why why;
};

int plan_want_of(struct reservation_controller *c, const struct reservation_spec *s, struct str id,
                 int64_t created, struct arena *a, struct plan_want *ret);
uint64_t plan_want_hash(const struct reservation_spec *s);
int64_t plan_share(const struct reservation_controller *c, const struct calendar_line *line);
/* Whose it is: beneficiary or requester. */
struct str plan_user(const struct reservation *r);
/* Would it be accepted? `instead`: the booking that it changes, or NULL. Nothing is changed; times in *ret. */
int plan_judge(struct reservation_controller *c, const struct reservation *r, struct str ns,
               const struct plan_want *w, struct booking *instead, struct plan_outcome *ret);
/* What tells of it in a status: refusals, alternatives, conflicts. Failures are the arena's. */
void plan_outcome_status(struct reservation_controller *c, const struct reservation *r,
                         const struct plan_want *w, const struct plan_outcome *o,
                         struct booking *instead, struct arena *a, struct reservation_status *ret);
/* The same, kept for the booking's next status. */
void plan_outcome_keep(struct reservation_controller *c, struct booking *b,
                       const struct reservation *r, const struct plan_want *w,
                       const struct plan_outcome *o, struct booking *instead);
const char *plan_outcome_reason(const struct plan_outcome *o);
struct str plan_outcome_text(struct reservation_controller *c, const struct reservation *r,
                             const struct plan_want *w, const struct plan_outcome *o,
                             struct arena *a);
void plan_decide_all(struct reservation_controller *c);
void plan_change(struct reservation_controller *c, struct booking *b, struct reservation *r);
void plan_waitlist(struct reservation_controller *c);
const char *plan_approver(struct reservation_controller *c, const struct reservation_spec *s,
                          struct str ns, const struct plan_want *w, int64_t length);
int64_t plan_gpu_ms(struct reservation_controller *c, const struct booking *b, int64_t from,
                    int64_t to);

/* ---- reservation_limits.c ---- */

VEC(plan_uses, struct booking_use);

/* What counts near a stretch of time, for any number of questions about it. */
struct plan_limits {
    struct reservation_controller *c;
    const struct booking *instead;
    struct booking_request q;
    struct plan_uses uses[BOOKING_SCOPES];
    int64_t from, to;
    size_t looked; /* at so many uses so far */
};

/* A booking stands where it counts: after its phase, times or user changed. */
void plan_count(struct reservation_controller *c, struct booking *b);
void plan_uncount(struct reservation_controller *c, struct booking *b);
void booking_broken(struct reservation_controller *c, struct booking *b, bool yes);
/* Those of a scope that end after `from` and some that do not, by start; then tree_next. */
struct booking *plan_scope_first(const struct plan_scope *s, int64_t from, struct tree_pos *at);
/* 0 (then plan_limits_end) or ERR_NOMEM. */
int plan_limits_begin(struct reservation_controller *c, const struct reservation *r, struct str ns,
                      const struct booking *instead, int64_t from, int64_t to,
                      struct plan_limits *ret);
void plan_limits_end(struct plan_limits *l);
/* The number of refusals in ret, or ERR_NOMEM. */
int plan_limits_ask(struct plan_limits *l, int64_t start, int64_t end, int64_t units, int64_t share,
                    struct booking_refusal *ret);
/* The same of one booking, into an outcome. */
int plan_limits_check(struct reservation_controller *c, const struct reservation *r, struct str ns,
                      const struct plan_want *w, const struct booking *instead,
                      struct plan_outcome *ret);
void plan_limits_release(struct reservation_controller *c);

/* ---- reservation_instead.c ---- */

/* What could be had instead: within all limits, and free. Without a start: ask again at its end. */
struct plan_offer {
    const char *kind;
    struct calendar_alternative x; /* its own kind says nothing */
};

/* At most RESERVATION_ALTERNATIVES of them, nearest first, in the arena. 0 or ERR_NOMEM. */
int plan_instead(struct reservation_controller *c, const struct reservation *r,
                 const struct plan_want *w, const struct plan_outcome *o, struct booking *instead,
                 struct arena *a, struct plan_offer **ret, size_t *ret_n);

/* ---- reservation_step.c ---- */

/* One event of a booking: phase, calendar, cost, Event. False: it may not come in this phase. */
bool plan_apply(struct reservation_controller *c, struct booking *b, const struct object *o,
                enum booking_event e, int64_t at);
/* All that is due now, by the clock and by what its spec says. */
void plan_step(struct reservation_controller *c, struct booking *b, const struct object *o,
               struct reservation *r);
/* When it is to be looked at again. */
int64_t plan_due(struct reservation_controller *c, struct booking *b, const struct reservation *r);
void plan_clock(struct reservation_controller *c, const struct booking *b,
                const struct reservation *r, struct booking_clock *k);

/* ---- reservation_status.c ---- */

/* The whole status, from what it was; in the arena. ERR_NOMEM. */
int plan_status(struct reservation_controller *c, struct booking *b, const struct reservation *r,
                struct arena *a, struct reservation_status *ret);
/* As a status says them. */
struct reservation_place_list plan_places(const struct reservation_controller *c,
                                          const struct calendar_plan *p,
                                          const struct calendar_line *lines, size_t n_lines,
                                          struct arena *a);
struct reservation_line_list plan_lines(struct arena *a, const struct calendar_line *lines,
                                        size_t n);
int64_t plan_ns(int64_t s); /* 0 of 0 and of CALENDAR_FOREVER */
/* "2 x nvidia.com/mig-2g.35gb, 1 x nvidia.com/gpu" */
struct str plan_lines_text(struct arena *a, const struct calendar_line *lines, size_t n);

/* ---- reservation_answer.c, reservation_slots.c ---- */

void plan_answers_init(struct reservation_controller *c);
void plan_answers_release(struct reservation_controller *c);
void plan_tentatives_trim(
    struct reservation_controller *c); /* those that are old, or whose object is seen */
void plan_tentatives_drop(struct reservation_controller *c);
int plan_slots_ask(struct virtual_source *s, const struct virtual_ask *q, virtual_done *done,
                   void *ctx, struct virtual_call **ret, struct err *err);

#endif
