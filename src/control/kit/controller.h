/*
 * controller: how to add a controller. It is declared, not written: one row says what it is, and everything that
 * controllers have in common comes from the row.
 *
 *     const struct controller_row event_ttl_controller = {
 *         .name = "event-ttl",                        the word people write in `--controllers`; of its set
 *         .set = CONTROL_EVENT_TTL,
 *         .who = "event-ttl-controller",              who writes and tells Events
 *         CONTROLLER_KINDS({"", "Event", .may = MAY_DELETE}),   what it watches, reads and writes
 *         .every_ns = 60 * NS_PER_SEC,                when it looks without a change
 *         .step = step,                               looks at one key
 *     };
 *
 * 1. Write control/<folder>/x.c, with the row at its end and a unit test beside it; x.h declares the row and says what
 *    the controller does. kube/event_ttl.c is a whole one in fewer than 60 lines.
 * 2. Name the row in the table of control/control.c.
 *
 * From the row come: the feeds of the kinds that have a function `changed`; the first look, at the start and when
 * memory was lost, at all objects of the kinds that say `first`; the queue of keys, with its back-off and its budget a
 * turn; life (controller_new, controller_free); and what it may write: a write that is not declared in `may` ends a
 * unit test in the fake world; elsewhere it is logged as an error and goes on (round_bind). Tests hold against the rows
 * what others keep: control_set_test.c the words of `--controllers`, operate_rows_test.c the kinds that `berth operate`
 * watches and the role that it has on a cluster.
 *
 * A change leads to keys; a step looks at the object of a key as it is now, never at what happened to it, and decides.
 * Keys have sorts (work_key.what), of the controller's own enum where it has more than one: `{GONE, ns, name}` and not
 * a name that means something else than a name. `changed` runs in the mirror's feed: it only adds keys (workqueue_look,
 * or controller_changed, which adds the object itself) and keeps books.
 *
 * A step reads the mirror, takes memory from `arena`, which is emptied after it, and writes in one round:
 *
 *     struct round *r = controller_begin(c);
 *     round_remove(r, o->kind, o->ns, o->name, &opts);
 *     return round_end(r);
 *
 * A key whose answers are due is busy. When they are in, the mirror shows what was written (mirror/writer.h): rounds
 * check it, so that a step never has to remember what it expects to see.
 *
 * A controller with memory of its own says how large (`size`); its struct begins with struct controller, is zero at
 * first, is filled by `init` and emptied by `release`, also when init failed half way.
 */
#ifndef BERTH_CONTROL_CONTROLLER_H
#define BERTH_CONTROL_CONTROLLER_H

#include "base/arena.h"
#include "base/err.h"
#include "control/kit/control_sets.h"
#include "control/kit/env.h"
#include "control/kit/recorder.h"
#include "control/kit/round.h"
#include "control/kit/workqueue.h"

/* A kind that a controller has to do with. */
struct controller_kind {
    const char *group, *kind; /* kind NULL: every kind there is */
    /* Adds the keys that a change leads to; NULL: it is not watched, only read or written. */
    void (*changed)(void *self, const struct change *ch);
    bool first; /* what is there at the start, or when memory was lost, comes as an addition */
    bool
        optional; /* not everybody serves it: its row may be NULL; `berth operate` begins without */
    bool
        embedded; /* only `berth up` has to do with it: `berth operate` neither watches nor writes it */
    unsigned may; /* of enum may: what it writes */
};

struct controller_row {
    /* The word of `--controllers`: of its set, whose controllers all have the same */
    const char *name;
    unsigned set;      /* one bit of enum control_set */
    const char *who;   /* who writes */
    const char *tells; /* who tells Events, where that is another name; NULL: who */
    const struct controller_kind *kinds;
    size_t n_kinds;
    enum work (*step)(void *self, struct work_key key);
    void (*start)(
        void *self); /* at the start and when memory was lost, after what is `first`; may be NULL */
    /* The key of sort 0 without a name comes each time this has passed; 0: never */
    int64_t every_ns;
    size_t budget; /* keys a turn; 0: 128; CONTROLLER_TURN: as many as the world says (env.turn) */
    size_t arena;  /* bytes for one step; 0: 64 MiB */
    /* Own memory; each may be 0 or NULL. */
    size_t size;
    int (*init)(void *self, struct err *err); /* before the feeds */
    void (*release)(void *self);              /* after the feeds, before the rest */
};
#define CONTROLLER_TURN SIZE_MAX
#define CONTROLLER_KINDS(...)                                                                      \
    .kinds = (const struct controller_kind[]){__VA_ARGS__},                                        \
    .n_kinds =                                                                                     \
        sizeof((const struct controller_kind[]){__VA_ARGS__}) / sizeof(struct controller_kind)

/* Keys of a controller that share a queue, and its budget a turn. */
struct controller_lane {
    struct controller *c;
    struct workqueue *queue;
};
enum { CONTROLLER_LANES = 3 };

/* What a controller's own struct begins with; `self` in the functions above. */
struct controller {
    struct control_env env;
    const struct controller_row *row;
    const char *who;
    const void *args;          /* of controller_new_with, while init runs; else NULL */
    const struct kind **kinds; /* of the row's kinds, in its order; NULL for "every kind" */
    struct feed **feeds;
    size_t n_feeds;
    struct workqueue *queue; /* of the first lane */
    struct controller_lane lanes[CONTROLLER_LANES];
    size_t n_lanes;
    struct recorder *recorder;
    struct arena arena;     /* of one step */
    struct work_key key;    /* of the step under way */
    struct workqueue *turn; /* whose step it is */
};

/* The controller, which begins with struct controller; all that is there already is in its queue. NULL and err: no
 * memory, or what its init says. */
void *controller_new(const struct controller_row *row, const struct control_env *env,
                     struct err *err);
/* The same for one whose init takes more than the environment. */
void *controller_new_with(const struct controller_row *row, const struct control_env *env,
                          const void *args, struct err *err);
void controller_free(void *self); /* NULL is a no-op; writes under way are forgotten (round.h) */

/* All that is there of the row's i-th kind, as additions. */
void controller_first_look(struct controller *c, size_t i);

/* For init: one more queue, with a budget of its own, for sorts of keys that must not wait behind all the others. It is
 * freed with the controller. NULL: out of memory. */
struct workqueue *controller_lane_new(struct controller *c);

/* A round for the key of this step, whose "not found" answers are no failures: what should go is gone. NULL, which the
 * functions of rounds take: out of memory. */
struct round *controller_begin(struct controller *c);
/* One patch as a whole round; `code` is that of the body, which is released. ERR_NOT_FOUND: there is nothing to
 * write. */
enum work controller_patch(struct controller *c, const struct object *o, const char *subresource,
                           int code, struct buf *body);
/* Removes the object and, in the background, what it owns, as a whole round; not a namesake that came since. */
enum work controller_remove(struct controller *c, const struct object *o);
/* `changed` for who looks at the object itself: adds {0, ns, name}, when it is not deleted. */
void controller_changed(void *self, const struct change *ch);

#endif
