/*
 * calendar (core): bookings by time and card, and whether one more booking fits.
 *
 * Time is seconds since 1970 (UTC), intervals are half-open [start, end); CALENDAR_FOREVER ends what has no end.
 *
 * Supply is of two sorts. A CARD is one GPU with its geometry: a booking takes the whole card, or slices of it from
 * legal starts. A POOL is a plain number of a resource in a flavor, where Berth does not place (or for what has no
 * geometry). A flavor may have cards, pools, or both, never both for one resource: the cards' resources win.
 *
 * An ENTRY is what was accepted: a booking, a standing quota (floating, for ever), a closed count. It has lines; all of
 * them are placed or nothing is. The whole plan, entry -> (card, profile, start) for all of its time, is a certificate:
 * at no instant do two places overlap, every start is legal, compute slices and media engines suffice, and every card
 * is in service. calendar_verify() proves it again from nothing but the entries, cards and windows. So nothing is
 * oversold by construction; what remains is not to refuse what would fit:
 *
 *   1. without moving anybody: the card that loses the fewest further placements;
 *   2. exchange: two like cards swap what they have between two instants at which neither is in use. For units that are
 *      alike (whole GPUs, slices of a static layout) this accepts whatever fits the count at every instant;
 *   3. repair: entries that have not started are placed anew by depth-first search, earliest first, largest first,
 *      with a
 *      budget of steps. Equal input gives equal plans.
 *
 * Who may be moved: an entry that is not fixed and has not started (start > now), and floating ones. Moves change other
 * entries' plans: calendar_moved_next() names them, so that their status is written again.
 *
 * Dynamic geometry: between two different placements that share a slice (a whole card shares all) lie `reconfig_s`
 * seconds in which neither is booked; the same placement again needs none. Static geometry: only the layout's places
 * exist (an empty layout: only the whole card).
 *
 * A line is served by one flavor: the first of its list that has room. same_node: all units of the line on one node.
 *
 * Everything passed in is copied; views handed out live until the next call that changes the calendar. Trials (check,
 * alternatives, earliest, latest) leave it as it was. On failure nothing has changed.
 */
#ifndef BERTH_CORE_CALENDAR_H
#define BERTH_CORE_CALENDAR_H

#include "api/inventory.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#define CALENDAR_FOREVER INT64_MAX
#define CALENDAR_GPU "nvidia.com/gpu" /* the resource of a whole card */

enum {
    CALENDAR_LINES_MAX = 16,
    CALENDAR_FLAVORS_MAX = 16, /* of one line */
    CALENDAR_UNITS_MAX = 1024, /* cards or slices of one entry; of pools any count */
    CALENDAR_ENTRIES_MAX = 1000000,
    CALENDAR_CARDS_MAX = 60000,
    CALENDAR_PLACEMENTS_MAX = 63, /* (profile, start) pairs of one card, the whole card counted */
    CALENDAR_ALTERNATIVES_MAX = 5,
    CALENDAR_REPAIR_STEPS = 4000, /* unless calendar_options say otherwise; so the next two */
    CALENDAR_SEARCH_STEPS = 2000,
    CALENDAR_SEARCH_LOOKS = 1000000,
};

struct calendar;

struct calendar_options {
    int64_t grid_s;    /* starts that are proposed are multiples of it after grid_base; 0: 900 */
    int64_t grid_base; /* the policy zone's offset makes it differ from 0 */
    /* Placements tried by one repair; 0: CALENDAR_REPAIR_STEPS; negative: none */
    int32_t repair_steps;
    int32_t search_steps; /* starts tried by one search in time; 0: CALENDAR_SEARCH_STEPS */
    /* Cards and entries looked at by one search or healing, all in all; 0: CALENDAR_SEARCH_LOOKS. */
    int64_t search_looks;
};

struct calendar *
calendar_new(const struct calendar_options *o); /* NULL options: all defaults; NULL: no memory */
void calendar_free(struct calendar *c);
void calendar_set_options(struct calendar *c, const struct calendar_options *o);

/* Time goes on: what has started by now is frozen. Never goes back: an earlier `now` is ignored. */
void calendar_now(struct calendar *c, int64_t now);

/* ---- supply ---- */

struct calendar_slot {
    struct str profile; /* name of a gpu_profile */
    int32_t start;
};

struct calendar_card {
    struct str node, uuid, flavor;
    int32_t index;
    const struct gpu_profile *profiles; /* from the node's inventory; none: only the whole card */
    size_t n_profiles;
    int32_t slices; /* memory slices; 0: cannot do MIG */
    bool dynamic;   /* the planner chooses the layout; else `layout` is all there is */
    const struct calendar_slot *layout;
    size_t n_layout;
    int32_t reconfig_s;
    int64_t from,
        to; /* when it is in service; 0, 0: always. Added hardware of the future: a card with a from */
};

/* A change of supply first takes the places away that no longer exist, then heals (calendar_heal): who lost a place is
 * placed anew where there is room, started or not. Who finds none is *broken*: it stays, without its lost places, and
 * is listed by calendar_broken_next(). An unchanged card or pool costs nothing.
 * 0, ERR_NOMEM, ERR_TOO_MANY, ERR_INVALID (the err says what). */
int calendar_card_put(struct calendar *c, const struct calendar_card *card, struct err *err);
int calendar_card_del(struct calendar *c, struct str uuid); /* ERR_NOT_FOUND */
bool calendar_card_next(const struct calendar *c, size_t *pos,
                        struct calendar_card *ret); /* no profiles, layout */
int calendar_pool_put(struct calendar *c, struct str flavor, struct str resource, int64_t total,
                      struct err *err); /* total 0: gone */

struct calendar_window {
    struct str id;
    int64_t start, end;
    const struct str *nodes; /* these nodes' cards are out of service ... */
    size_t n_nodes;
    struct str flavor,
        resource; /* ... or, without nodes: `delta` more (Added) or fewer (Blackout) of a resource */
    /* For a resource of cards only negative: as many units are kept free, wherever is best */
    int64_t delta;
};

/* Puts (or replaces) a window; heals as above. For nodes known only later too. */
int calendar_window_put(struct calendar *c, const struct calendar_window *w, struct err *err);
int calendar_window_del(struct calendar *c, struct str id);
/* Who would be broken by it that is not now: ids in the arena. The window itself need not be there. */
int calendar_window_check(struct calendar *c, const struct calendar_window *w, struct arena *a,
                          struct str **ret_ids, size_t *ret_n, struct err *err);

/* ---- entries ---- */

struct calendar_line {
    struct str resource; /* "nvidia.com/gpu", "nvidia.com/mig-2g.35gb" */
    int64_t count;
    const struct str *flavors; /* in order of preference; none: any, by name */
    size_t n_flavors;
    bool same_node;
};

/* One place of a plan. Of a pool: flavor and count alone. */
struct calendar_place {
    uint32_t line;
    struct str flavor, node, gpu; /* gpu: uuid */
    int32_t gpu_index;
    struct str profile;  /* empty: the whole card */
    int32_t start, size; /* memory slices; 0, 0 of a whole card that has none */
    int64_t count;       /* 1 for cards */
    bool lost;           /* its card is gone or out of service: only line and count say anything */
};

struct calendar_plan {
    struct calendar_place *v;
    size_t n;
};

struct calendar_ask {
    struct str id; /* a reservation's uid; any string that is unique */
    int64_t start, end;
    const struct calendar_line *lines;
    size_t n_lines;
    int32_t rank;  /* whose place goes first when supply shrinks: lower rank is broken first, ... */
    int64_t order; /* ... then the higher order (creation time) */
    /* A standing quota: bound to no card until used; may be moved though it has started */
    bool floating;
    bool fixed; /* never moved (live instances, prepared bookings) */
};

enum calendar_trouble {
    CALENDAR_FITS,
    CALENDAR_UNKNOWN, /* no such resource in any of the flavors */
    CALENDAR_SMALL,   /* there are only `most` in all of them, even when nothing is booked */
    CALENDAR_BUSY,    /* between from and to only `free` of `need` are left */
    CALENDAR_SHAPE, /* enough is free at each instant, but no placement of it: geometry, or nobody may move */
    CALENDAR_APART, /* same_node: no node has that many together */
    CALENDAR_PLACE, /* a change of a started entry: its own place is taken from `from` on */
};

/* Why it does not fit. */
struct calendar_why {
    enum calendar_trouble trouble;
    uint32_t line;
    int64_t need, most, free;
    int64_t from, to; /* the first stretch at which it fails */
    bool gave_up;     /* the budget of steps ended the search: it might fit */
};

/* 0; ERR_CONFLICT: does not fit (*why); ERR_EXISTS; ERR_INVALID (empty interval, no lines, no count); ERR_TOO_MANY;
 * ERR_NOMEM. why may be NULL. */
int calendar_insert(struct calendar *c, const struct calendar_ask *ask, struct calendar_why *why);
/* The same, undone again; the plan (may be NULL) in the arena. When `instead` is not empty, that entry is left out of
 * account: a change is checked (then ask->id may be the same). */
int calendar_check(struct calendar *c, const struct calendar_ask *ask, struct str instead,
                   struct arena *a, struct calendar_plan *ret, struct calendar_why *why);
/* At exactly these places, as written down before a restart; nobody is moved. Places of a pool need line, flavor and
 * count. A place that is taken, not legal, or unknown is lost, and so is what a line asks for beyond its places: the
 * entry holds the others and is broken (calendar_heal). ERR_CONFLICT: none is left, or a line has too many. */
int calendar_restore(struct calendar *c, const struct calendar_ask *ask,
                     const struct calendar_place *places, size_t n);
bool calendar_remove(struct calendar *c, struct str id); /* true: it was there */
/* Other times, lines or flags for an entry; the old stay when the new do not fit (ERR_CONFLICT, ERR_NOT_FOUND). A line
 * keeps its places when they do (same number, resource); more count adds places, less takes the last away. Of a started
 * or fixed entry the places that stay never change; a start in the past cannot change (ERR_INVALID). */
int calendar_change(struct calendar *c, const struct calendar_ask *ask, struct calendar_why *why);
/* How far a started entry may be extended on its own places: the latest end up to `want` that fits (on the grid), or
 * its present end. */
int64_t calendar_extend_most(struct calendar *c, struct str id, int64_t want);
int calendar_pin(struct calendar *c, struct str id, bool fixed); /* ERR_NOT_FOUND */

int calendar_plan_of(const struct calendar *c, struct str id, struct arena *a,
                     struct calendar_plan *ret); /* ERR_NOT_FOUND, ERR_NOMEM */
size_t calendar_entries(const struct calendar *c);

/* Takes one id whose plan was changed by somebody else's insertion, change, or by supply; false when there is none. */
bool calendar_moved_next(struct calendar *c, struct str *ret_id);
/* *pos starts at 0. Entries that lack places, lowest rank first is not promised: order of insertion. */
bool calendar_broken_next(const struct calendar *c, size_t *pos, struct str *ret_id);
/* Tries to place what is broken: highest rank first, then lowest order. The number that is whole again. Done by the
 * calls that change supply; worth calling after calendar_remove. It looks at search_looks cards and entries, and for
 * one that is broken in any case; where that is not enough for all, calendar_heal_due() says so, and calendar_heal_on()
 * goes on, until every one had its turn. */
size_t calendar_heal(struct calendar *c);
bool calendar_heal_due(const struct calendar *c);
size_t calendar_heal_on(struct calendar *c);

/* ---- searches in time ----
 *
 * What a search may look at is bounded (search_steps, search_looks): beyond that it finds nothing. */

/* The first start t >= from, on the grid, with t + duration <= to (of the ask's own duration) at which it fits: 0 and
 * *ret_start, or ERR_CONFLICT. ask->start and end give the duration only. calendar_latest: the last one. */
int calendar_earliest(struct calendar *c, const struct calendar_ask *ask, struct str instead,
                      int64_t from, int64_t to, int64_t *ret_start);
int calendar_latest(struct calendar *c, const struct calendar_ask *ask, struct str instead,
                    int64_t from, int64_t to, int64_t *ret_start);
/* A flexible booking: the whole duration as early as possible, else the longest that is at least min_s, as early as
 * possible. 0 and both times, or ERR_CONFLICT. */
int calendar_fit(struct calendar *c, const struct calendar_ask *ask, struct str instead,
                 int64_t earliest, int64_t latest, int64_t min_s, int64_t *ret_start,
                 int64_t *ret_end);

enum calendar_alternative_kind {
    CALENDAR_EARLIER,
    CALENDAR_LATER,
    CALENDAR_OTHER_FLAVOR,
    CALENDAR_LARGER, /* a larger slice, or a whole card */
    CALENDAR_FEWER,  /* the same time, fewer units */
    CALENDAR_SPLIT, /* two parts one after the other with a pause: start..end is the first, start2..end2 the second */
};

struct calendar_alternative {
    enum calendar_alternative_kind kind;
    int64_t start, end, start2, end2;
    struct calendar_line *lines; /* in the arena; each names its one flavor */
    size_t n_lines;
};

/* What fits instead, each of it checked, nearest first: by distance of start, then by what it costs in memory slices.
 * Starts within [from, to). At most CALENDAR_ALTERNATIVES_MAX. 0 (also when there are none), ERR_NOMEM. */
int calendar_alternatives(struct calendar *c, const struct calendar_ask *ask, struct str instead,
                          int64_t from, int64_t to, struct arena *a,
                          struct calendar_alternative **ret, size_t *ret_n);

/* ---- views ---- */

struct calendar_type {
    struct str flavor, resource, profile; /* profile empty: whole cards, or a pool */
    bool cards;
    int32_t size,
        slices;    /* memory slices of one unit, of its card (of the first such card); 0 of pools */
    int64_t total; /* when nothing were booked: the most of them that could exist, windows apart */
};

/* All (flavor, resource) by name. *pos starts at 0. */
bool calendar_type_next(const struct calendar *c, size_t *pos, struct calendar_type *ret);

struct calendar_free {
    /* Units of this resource alone that could be had for the whole slot, nobody moved */
    int64_t free;
    int64_t total; /* the same, were nothing booked: windows count */
};

/* Slot i is [from + i*step, from + (i+1)*step). ret: n of them. ERR_NOT_FOUND, ERR_NOMEM. */
int calendar_slots(const struct calendar *c, struct str flavor, struct str resource, int64_t from,
                   int64_t step, size_t n, struct calendar_free *ret);

struct calendar_busy {
    struct str id;
    int64_t start, end, count;
};

/* Entries that have units of (flavor, resource) at any time in [from, to), by start, then order of insertion; in the
 * arena. Empty flavor or resource: any. ERR_NOMEM. */
int calendar_busy_list(const struct calendar *c, struct str flavor, struct str resource,
                       int64_t from, int64_t to, struct arena *a, struct calendar_busy **ret,
                       size_t *ret_n);

/* Proves the certificate anew, from entries, cards and windows alone, by other means than those that made it. 0, or
 * ERR_INTERNAL with a text that names the entries. */
int calendar_verify(const struct calendar *c, struct err *err);
/* All that is placed, folded into one number: equal before a trial and after. */
uint64_t calendar_digest(const struct calendar *c);

#endif
