/*
 * calendar_private (core): declarations shared by the files of the calendar.
 *
 * The one mutators are cal_add, cal_del and cal_use: they keep the cards' spans, the flavors' slack and the units in
 * step, and write the journal. A trial is everything after cal_mark; cal_undo takes it back and cannot fail.
 */
#ifndef BERTH_CORE_CALENDAR_PRIVATE_H
#define BERTH_CORE_CALENDAR_PRIVATE_H

#include "base/map.h"
#include "base/vec.h"
#include "core/calendar/calendar.h"
#include "core/calendar/calendar_spans.h"
#include "core/mig/mig_set.h"

enum {
    NOWHERE = MIG_WHOLE,
    FLAVOR_CLASSES_MAX = 64,
    COVER_PLANES = 12,
    SEARCH_REPAIR = 50, /* steps of repair for each start that a search tries */
    GRID_S = 900,
};
#define CLOSED_BIT 0x80000000u /* closed spans are no entry's: the rest is the number of a window */

/* A resource that cards of a class serve. */
struct class_resource {
    struct str name;
    int16_t profile;
    uint64_t mask; /* its placements */
    int32_t most;  /* on an empty card */
};

/* Cards that are alike. */
struct card_class {
    struct gpu_profile *profiles; /* copied; names follow in the same memory */
    size_t n_profiles;
    bool dynamic;
    int64_t reconfig;
    struct mig_set set; /* its placements: what a card of the class could be made of */
    struct class_resource *resources;
    size_t n_resources;
    bool counts;  /* compute slices or a profile's maximum can bind where the starts allow */
    size_t cards; /* of this class */
    void *memory;
};

struct card {
    struct flavor *flavor;
    struct node *node;
    struct str uuid;
    struct card_class *class;
    int32_t index;
    uint16_t class_no; /* in the flavor */
    uint32_t pos;      /* in the flavor's list, when its cover was built */
    int64_t from, to;  /* in service */
    struct spans spans;
    void *memory;
};
VEC(cards, struct card *);

struct node {
    struct str name;
    struct cards cards;
    void *memory;
};

/* Which cards are taken for hours on end: see calendar_cover.c. */
struct cover {
    uint64_t *bits, *skip; /* one allocation; by hour, then plane, then card */
    int64_t base;
    size_t hours, most, words, planes;                /* most: hours that there may be */
    struct str names[COVER_PLANES];                   /* resources; the first plane: anything */
    uint64_t masks[FLAVOR_CLASSES_MAX][COVER_PLANES]; /* their placements in each class */
    bool stale;
};

struct pool_of { /* a plain number */
    struct flavor *flavor;
    struct str resource;
    int64_t total;
    struct steps slack; /* what is left, windows counted */
    void *memory;
};
VEC(pools_of, struct pool_of *);

struct flavor {
    struct str name;
    struct cards cards; /* by node, index, uuid */
    struct pools_of pools;
    struct card_class *classes[FLAVOR_CLASSES_MAX];
    size_t n_classes;
    struct steps slack; /* memory slices of all cards that nobody booked: a bound */
    struct cover cover;
    void *memory;
};
VEC(flavors, struct flavor *);

struct unit {
    struct card *card; /* both NULL: it has no place (lost) */
    struct pool_of *pool;
    int64_t count;
    uint16_t line;
    uint8_t placement;
    bool pinned; /* within one call: stays where it is */
};
VEC(units, struct unit);

struct entry_line {
    struct str resource;
    int64_t count;
    struct str *flavors;
    size_t n_flavors;
    bool same_node;
};

struct entry {
    struct str id;
    int64_t start, end;
    struct entry_line *lines;
    size_t n_lines;
    int32_t rank;
    int64_t order;
    bool floating, fixed;
    bool fresh;  /* within one call: it is being placed */
    bool closed; /* a window's: it keeps capacity away */
    bool moved;  /* in the list of those whose plan changed */
    bool broken; /* units lack places */
    uint32_t number;
    uint64_t born; /* order of insertion */
    struct units units;
    void *memory;
};
VEC(entries, struct entry *);

/* Healing of all that is broken, which may take several calls. */
struct heal_round {
    bool due;   /* it is not over */
    bool again; /* and another follows: something has changed since it began */
    bool begun; /* some had their turn, the last of them this one: rank, order and birth */
    struct entry last;
};

enum op_kind { OP_ADD, OP_DEL, OP_USE, OP_UNUSE };

struct op {
    enum op_kind kind;
    bool still;    /* the slack was left alone */
    unsigned made; /* jumps made in the slack */
    struct card *card;
    struct pool_of *pool;
    int64_t count; /* of the pool; of a card: what the unit without a place counted */
    struct span span;
};
VEC(ops, struct op);

struct range {
    const struct card *card;
    int64_t from, to;
};
VEC(ranges, struct range);

struct window {
    struct str id;
    int64_t start, end;
    struct str *nodes;
    size_t n_nodes;
    struct str flavor, resource;
    int64_t delta;
    struct entry *entry; /* holds what it keeps away */
    void *memory;
};
VEC(windows, struct window *);
VEC(numbers, uint32_t);

struct calendar {
    struct calendar_options o;
    int64_t now;
    struct flavors flavors; /* by name */
    struct map flavor_by;   /* name */
    struct map node_by;     /* name */
    struct map card_by;     /* uuid */
    struct map entry_by;    /* id */
    struct cards cards;     /* by number; NULL: free */
    struct entries entries; /* by number; NULL: free */
    struct numbers free_entries;
    struct windows windows;
    struct spans time; /* all entries, one span each */
    struct spans_store store;
    struct ops journal;
    size_t dels;             /* in the journal */
    struct ranges forgotten; /* of the cards' cover, in this trial */
    struct numbers moved;
    size_t moved_from;
    uint64_t births;
    size_t broken;      /* entries that lack places */
    int64_t steps;      /* left of the budget of the repair that runs */
    int64_t most_steps; /* what a trial may have: fewer while starts are searched */
    int64_t looks;      /* left of the search that runs; 1: it is over. 0: there is none */
    bool gave_up;
    struct heal_round heal;
    bool still; /* places change among like cards: sums stay as they are */
};

static inline uint64_t bit(size_t i) {
    return UINT64_C(1) << i;
}

/* So many cards or entries were looked at. */
static inline void cal_looked(struct calendar *c, size_t n) {
    if (c->looks > 0) {
        c->looks = c->looks > (int64_t)n ? c->looks - (int64_t)n : 1;
    }
}

static inline int64_t time_less(int64_t t, int64_t d) {
    return t < INT64_MIN + d ? INT64_MIN : t - d;
}

static inline int64_t time_more(int64_t t, int64_t d) {
    return t > INT64_MAX - d ? INT64_MAX : t + d;
}

static inline struct entry *cal_entry(const struct calendar *c, uint32_t number) {
    return c->entries.v[number];
}

/* May its places change? */
static inline bool cal_movable(const struct calendar *c, const struct entry *e) {
    return e->fresh || (!e->fixed && (e->floating || e->start > c->now));
}

/* ---- calendar_class.c ---- */

/* A class for such a card, or one of the flavor's that is alike. 0, ERR_NOMEM, ERR_INVALID, ERR_TOO_MANY. */
int class_find(struct flavor *f, const struct calendar_card *in, uint16_t *ret_no, struct err *err);
void class_free(struct card_class *k);
const struct class_resource *class_resource(const struct card_class *k, struct str resource);
/* The next span on a card that overlaps [from, to), seen by whoever searches; NULL: no more. A cursor begins as {0}
 * but for what `look` keeps in it. */
struct class_cursor {
    struct spans_at at;
    uint64_t left;
    struct span buf;
};
typedef const struct span *class_beside(const void *look, struct class_cursor *c, int64_t from,
                                        int64_t to);
/* Does one more of this placement keep compute slices and the profile's maximum at every instant of [from, to)? */
bool class_counts_allow(const struct card_class *k, uint8_t placement, int64_t from, int64_t to,
                        class_beside *next, const void *look, const struct class_cursor *start);
/* The most of a resource that fit into these free placements together. */
int32_t class_most(const struct card_class *k, const struct class_resource *r, uint64_t free);
int32_t class_size(const struct card_class *k,
                   uint8_t placement); /* memory slices; 1 of a card that has none */

/* ---- calendar_cover.c ---- */

void cover_release(struct cover *v);
void cover_learn(const struct card *card, int64_t from, int64_t to);  /* after spans came or went */
void cover_forget(const struct card *card, int64_t from, int64_t to); /* before one goes */
void cover_ready(struct calendar *c); /* before a trial: cards may have come or gone */
/* Cards, by place in the flavor's list, that cannot take one of the resource (empty: anything) at some time of
 * [from, to). Valid until the next removal or call; NULL: not known. */
const uint64_t *cover_skip(struct flavor *f, struct str resource, int64_t from, int64_t to);

/* ---- calendar_journal.c ---- */

size_t cal_mark(const struct calendar *c);
void cal_undo(struct calendar *c, size_t mark);
/* The trial is over and stays: who was moved is noted, but for these two (may be NULL). */
void cal_commit(struct calendar *c, const struct entry *own, const struct entry *old);
/* The unit e->units.v[unit] takes a place; it has none. 0 or ERR_NOMEM. */
int cal_add(struct calendar *c, struct entry *e, size_t unit, struct card *card, uint8_t placement);
/* The unit leaves its place. */
int cal_del(struct calendar *c, struct entry *e, size_t unit);
/* count of the pool is taken for the unit (negative: a window adds). */
int cal_use(struct calendar *c, struct entry *e, size_t unit, struct pool_of *pool, int64_t count);
int cal_unuse(struct calendar *c, struct entry *e, size_t unit);
/* All places of an entry are given back, outside of a trial; never fails. */
void cal_release(struct calendar *c, struct entry *e);
/* The unit loses its place on a card, outside of a trial; never fails. */
void cal_lose(struct calendar *c, struct entry *e, size_t unit);
/* Cards go out of service for a time, or come back: outside of trials. */
int cal_close(struct calendar *c, struct card *card, int64_t from, int64_t to, uint32_t window);
void cal_reopen(struct calendar *c, struct card *card, int64_t from, int64_t to, uint32_t window);
bool cal_lacks(const struct entry *e); /* a line has fewer places than it asks for */
void cal_note_moved(struct calendar *c, struct entry *e);

/* ---- calendar_place.c ---- */

/* Placements of the card that are free for all of [from, to). */
uint64_t cal_card_free(const struct calendar *c, const struct card *card, int64_t from, int64_t to);
bool cal_fits_at(const struct calendar *c, const struct card *card, uint8_t placement, int64_t from,
                 int64_t to);
int64_t cal_placed(const struct entry *e, size_t line); /* what of it has a place */
/* Where one more unit goes. */
struct want {
    struct entry *e;
    size_t unit; /* to be placed; in e->units */
    struct flavor *flavor;
    struct str resource;
    const struct node *node; /* NULL: any */
    uint64_t masks[FLAVOR_CLASSES_MAX];
};
void want_init(struct want *w, struct entry *e, struct flavor *f, struct str resource);
/* Puts the unit where the fewest options are lost. true: placed (its loss in *ret_loss). <0: ERR_NOMEM. */
int cal_place_direct(struct calendar *c, const struct want *w, int32_t *ret_loss);
/* Places all units of the entry's lines from `line` on that have no place yet; units are made as needed. 0,
 * ERR_CONFLICT with *why, ERR_NOMEM; partial work stays in the journal. */
int cal_place_lines(struct calendar *c, struct entry *e, struct calendar_why *why);

/* As many units of an entry that lacks some as there is room for, nobody moved, where a line is served already or can
 * be by one flavor alone. 0 or ERR_NOMEM. */
int cal_place_some(struct calendar *c, struct entry *e);

/* ---- calendar_exchange.c, calendar_repair.c ---- */

int cal_place_exchange(struct calendar *c, const struct want *w); /* 1, 0, ERR_NOMEM */
int cal_place_repair(struct calendar *c, const struct want *w);

/* ---- calendar_entry.c ---- */

int entry_new(const struct calendar_ask *ask, struct entry **ret);
void entry_free(struct entry *e);
int entry_add(struct calendar *c, struct entry *e); /* gives it a number and a place in time */
void entry_drop(struct calendar *c,
                struct entry *e); /* out of number and time; units' places are given back */
int ask_check(const struct calendar_ask *ask);
/* Places `ask` as it would be, in place of `old` (may be NULL); all is in the journal. On success *ret is the entry, in
 * the calendar, not in the map of ids. */
int cal_try(struct calendar *c, const struct calendar_ask *ask, struct entry *old,
            struct entry **ret, struct calendar_why *why);
void cal_try_end(struct calendar *c, struct entry *tried); /* takes it away again */

/* ---- calendar_supply.c ---- */

/* Takes the pool from entries until it is nowhere overdrawn: lowest rank, latest order first. In the journal. */
int cal_shed(struct calendar *c, struct pool_of *p, const struct entry *keep);

/* ---- calendar.c ---- */

struct flavor *cal_flavor(const struct calendar *c, struct str name);
struct pool_of *flavor_pool(const struct flavor *f, struct str resource);
bool flavor_serves(const struct flavor *f, struct str resource);  /* with cards */
int64_t flavor_most(const struct flavor *f, struct str resource); /* of an empty calendar */

#endif
