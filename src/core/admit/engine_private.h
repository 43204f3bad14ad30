/* engine_private (core): declarations shared by the files of the engine. */
#ifndef BERTH_CORE_ENGINE_PRIVATE_H
#define BERTH_CORE_ENGINE_PRIVATE_H

#include "base/heap.h"
#include "base/tree.h"
#include "core/admit/engine.h"
#include "core/quota/quota.h"

struct preempt_scratch;
struct usage_ledger;
struct victim;
struct fair_round;

struct engine_flavor {
    struct flavor_input spec;
    char *memory; /* NULL: no such flavor */
    bool named;   /* some queue names it, or did */
};
VEC(flavor_vec, struct engine_flavor);

struct engine_group {
    uint32_t *resources, *flavors;
    size_t n_resources, n_flavors;
};

/* ---- who waits ----
 *
 * The workloads of a queue that any decision would treat alike are a class. A class is active (in its queue's heap, by
 * its first member) or parked, as a whole: parking and trying again cost the number of classes. A member that waits for
 * reasons of its own (a closed gate, a failed check) is parked alone, beside the class.
 */
struct engine_class {
    /* Of what decisions look at; others than this that share it have the next free number */
    uint64_t hash;
    uint64_t key; /* and of the LocalQueue where usage may order: the map's key, by its bytes */
    /* All that joined, linked: each shows what the class asks for */
    struct engine_workload *joined;
    struct engine_queue *queue;
    struct engine_lane *lane;
    struct engine_class *alike, *alike_prev; /* a ring: those of the same hash in the queue */
    struct engine_workload *head;            /* the first of members, and what orders it */
    int64_t priority, queued_ns;
    struct heap members;                  /* by queue time, then uid */
    struct engine_workload *first, *last; /* the same: those not told their reason come first */
    size_t n;                             /* joined, in whatever state but holding */
    size_t place;                         /* in its lane's heap */
    bool parked;
    bool wants_place;                           /* parked for want of a place */
    bool telling;                               /* in engine.tell */
    uint32_t told;                              /* members with this number know the reason */
    enum pend_reason told_reason;               /* which reason that is */
    struct engine_class *prev, *next;           /* parked classes of the queue */
    struct engine_class *tell_prev, *tell_next; /* of engine.tell */
};

/* The active classes of a LocalQueue, or of a queue (engine_lane.c). */
struct engine_lane {
    struct str local; /* in its memory */
    struct engine_queue *queue;
    struct heap heap; /* of active classes with members */
    size_t place;     /* in the queue's heap, when it has any */
    size_t n;         /* classes, active or not */
    struct usage_local *usage;
    struct engine_lane *usage_next, *usage_prev; /* of the same LocalQueue, in other queues */
};

enum workload_state {
    WORKLOAD_IDLE,    /* in no bucket: for a moment */
    WORKLOAD_HEAP,    /* a member of its class, which is active or parked */
    WORKLOAD_PARKED,  /* alone */
    WORKLOAD_FLIGHT,  /* a head of the cycle under way */
    WORKLOAD_HOLDING, /* has quota */
};

struct engine_set {
    struct str name;
    int32_t count, min_count;
    struct shape shape;
    struct pool_amount *requests;
    size_t n_requests;
    int32_t *tried; /* per request: the flavor tried last, or -1; all sets' in a row */
};

struct engine_workload {
    struct str uid;
    struct engine_queue *queue;
    int64_t priority, queued_ns;
    enum workload_state state;
    uint32_t told; /* engine_class.told when it was told */
    uint64_t hash;
    struct engine_class *class; /* NULL while it holds quota */
    struct engine_set *sets;
    struct held_amount *held; /* own memory; holding only */
    uint32_t n_sets, n_held;
    size_t place;                        /* in the heap of its class */
    struct engine_workload *prev, *next; /* in the heap: of its class; parked alone: of the queue */
    struct engine_workload *join_prev, *join_next; /* in whatever state but holding: of the class */
    struct str local, replaces;
    struct engine_workload *heir; /* was given the difference, and takes over (engine_resize.c) */
    bool gated, failed_checks;
    /* holding: what a search for victims asks */
    bool evicting, not_ready;
    bool listed;            /* in engine_queue.holders */
    bool entered, admitted; /* usage.h: an entry penalty is due; what it holds counts as used */
    /* the scan over its flavors */
    bool has_tried; /* sets[].tried is meaningful */
    bool outrun;    /* in this round over its flavors, one was lost to others of the same cycle */
    bool missed_place; /* in this round over its flavors, one had quota but no place */
    bool place_round;  /* in this round over its flavors, victims may go for a place alone */
    int64_t reserved_ns, protected_until_ns, minimum_runtime_ns; /* holding */
    uint64_t lifted; /* its seats are lifted in a trial (engine.lift_mark); 0: not */
    uint64_t tried_generation, tried_cycle;
    uint64_t scan_retries; /* engine_tree.retries when the round began */
    uint64_t chosen;       /* a victim of the cycle with this mark (engine.chosen_mark) */
};
VEC(workload_vec, struct engine_workload *);

struct engine_queue {
    struct str name;
    struct quota_node *node;
    struct engine_tree *tree; /* NULL until it was settled; see tree_valid */
    bool strict, held, borrow_costs_more, has_threshold, local_usage;
    bool active; /* able, and under no cycle of cohorts; as of the last settling */
    enum preempt_policy within_queue, reclaim, borrow_within;
    int64_t threshold;
    enum fungibility when_can_borrow, when_can_preempt;
    struct engine_group *groups;
    size_t n_groups;
    char *memory;                        /* of groups */
    struct heap heap;                    /* of lanes with active classes */
    struct engine_lane lane;             /* where usage never orders; otherwise: */
    struct map lanes;                    /* by LocalQueue */
    struct map kinds;                    /* hash -> a class of that hash */
    struct engine_class *parked_classes; /* with or without members */
    struct engine_workload *parked;      /* alone */
    struct engine_workload *flight;      /* its head in the cycle under way */
    struct engine_workload *preemptor;   /* the one that waits of this uid, or NULL */
    uint64_t preemptor_uid; /* hash of who evicted others to come in (see preemptor_set); 0: none */
    struct tree holders;    /* in victim order (preempt.h) */
    size_t n_active, n_parked, n_holding, n_evicting;
    /* Of what can be allocated: quota of the tree changed, or something left */
    uint64_t generation;
    bool listed;      /* in its tree's ready */
    bool parks;       /* in its tree's list of queues that have parked ones */
    bool waits_place; /* in engine.placeless */
    bool claims;      /* has places kept for its head */
    struct engine_queue *parks_next;
    struct map classes;
};
VEC(queue_vec, struct engine_queue *);

/* Cohort trees do not interact: each has its own cycles. A queue without a cohort is a tree. A tree is made anew after
 * every edit of its nodes; the others stay as they are. */
struct engine_tree {
    const struct quota_node *root;
    size_t n_queues;     /* that have it as theirs */
    uint64_t seen;       /* of engine.trees_seen, while they are listed */
    unsigned idle_limit; /* so many cycles without a change can still lead to one */
    size_t n_ready;
    struct engine_queue *parks; /* those with parked ones, linked */
    uint64_t cycle;
    unsigned idle;    /* cycles that changed nothing, in a row */
    bool awake;       /* a cycle may decide something */
    bool retry;       /* what is parked is to be tried again, before the next cycle */
    bool due;         /* in engine.due */
    bool poked;       /* something came while its cycle was under way */
    uint64_t retries; /* when everything parked was tried again last (engine.retry_clock) */
    struct engine_tree *due_next, *due_prev;
    int64_t wake_ns; /* a protection that kept victims away ends */
    size_t wake_place;
    uint64_t era;  /* break_alternation: grows when quota is freed or edited from outside */
    size_t turns;  /* its entries in engine.turns */
    uint64_t born; /* how many were made before it: an order that is the same in every process */
    /* Those with active members, and perhaps some without; room for all */
    struct engine_queue *ready[];
};
VEC(tree_vec, struct engine_tree *);

/* ---- a cycle ---- */

enum assign_mode { MODE_NO_FIT, MODE_NO_CANDIDATES, MODE_PREEMPT, MODE_RECLAIM, MODE_FIT };

struct assignment {
    enum assign_mode mode;
    uint32_t borrow;
    struct held_amount *held;
    struct quota_cell **cells; /* of held */
    enum assign_mode *modes;   /* of held */
    size_t n_held;
    const int32_t *counts; /* pods per set; NULL: as asked */
    bool grows;            /* counts are the difference to the holder that it replaces */
    int32_t *tried;        /* per request, all sets' in a row */
    struct victim *victims;
    size_t n_victims;
    struct verdict *verdict; /* details of what did not fit */
    struct considered *considered;
};

enum outcome {
    OUTCOME_NONE, /* not processed yet */
    OUTCOME_ADMITTED,
    OUTCOME_NO_FIT,        /* parks its class */
    OUTCOME_NO_CANDIDATES, /* the same: it needs victims and has none */
    OUTCOME_NO_PLACE,      /* quota, but no place */
    OUTCOME_GATED,         /* parks it alone */
    OUTCOME_FAILED_CHECKS,
    OUTCOME_REFUSED,
    OUTCOME_PREEMPTING, /* back at once; it stays first */
    OUTCOME_DEFERRED,
    OUTCOME_AGAIN, /* back at once */
};

struct cycle_entry {
    struct engine_workload *w; /* NULL: it went while the cycle was under way */
    struct assignment a;
    enum outcome outcome;
    bool preemptor; /* prioritize_preemptors: it goes first */
    bool stale;     /* one of its victims gave its quota back meanwhile */
};
VEC(entry_vec, struct cycle_entry);
VEC(action_vec, struct engine_action);

struct cycle_reservation {
    struct quota_cell *cell;
    int64_t v;
};
VEC(reservation_vec, struct cycle_reservation);

enum cycle_phase {
    CYCLE_NONE,
    CYCLE_HEADS,
    CYCLE_NOMINATE,
    CYCLE_ORDER,
    CYCLE_PROCESS,
    CYCLE_REQUEUE
};

/* Which trees are due, and who is still to be told why it waits (engine_tree.c, engine_queue.c). */
struct engine_agenda {
    uint64_t trees_seen, trees_made;
    uint64_t retry_clock;
    unsigned unparked; /* classes, for the budget */
    struct engine_tree *due, *due_last;
    struct heap wakes;                     /* trees by wake_ns */
    struct engine_class *tell, *tell_last; /* parked classes with members that do not know why */
    struct queue_vec placeless;            /* queues where somebody waits for a place */
    uint64_t pool_seen;                    /* generation when those were last retried */
};

/* The cycle under way, of one tree at a time (engine_cycle.c, engine_process.c). */
struct engine_cycle {
    struct engine_tree *tree;
    enum cycle_phase phase;
    size_t at, kept;    /* next entry of the phase; heads: next queue, and how many stay listed */
    struct arena tick;  /* of the cycle */
    struct arena spare; /* of the cycle before it, whose actions are still read */
    bool swapped;       /* in this call */
    struct entry_vec entries;
    struct reservation_vec reserved;
    struct workload_vec chosen; /* victims so far */
    uint64_t chosen_mark;
    size_t n_out; /* of chosen: taken out of the quota tree for now */
    struct fair_round *round;
    size_t round_base; /* its first entry */
    size_t progress;   /* decisions of this cycle that changed something */
    bool moved;        /* a scan over flavors is under way */
    bool round_stale;  /* something was released: shares are to be asked anew */
    struct action_vec actions;
};

struct engine {
    struct engine_options o;
    struct names flavor_names, resource_names;
    struct flavor_vec flavors; /* by number */
    struct quota_forest forest;
    struct pool *pool;
    struct map queues, workloads;
    struct preempt_scratch *scratch; /* of searches for victims; NULL until there was one */
    struct usage_ledger *usage;      /* of LocalQueues (usage.h); NULL until one is put */
    struct map turns;                /* who evicted whom (engine_turns.c) */
    size_t turns_room;               /* so many, until those of past eras are looked for */
    struct engine_agenda agenda;
    struct engine_cycle cycle;
    uint64_t lift_mark; /* engine_seat.c */
    /* engine_cycle: what is parked waits for the next event, whatever was freed meanwhile */
    bool as_kueue;
    size_t left;     /* of the budget */
    size_t looked;   /* holders that searches for victims looked at, not charged yet */
    int64_t now_ns;  /* as engine_run was told */
    uint64_t cycles; /* the highest number of a cycle, of all trees */
    size_t n_not_ready;
    bool halted; /* block_until_ready: until nobody is not ready */
};

/* alike.c */
/* Who may be alike, of what is in sets and priority. Resources count by their numbers: equal within one engine. */
uint64_t workload_hash(const struct engine_workload *w);
bool workload_says(
    const struct engine *e, const struct engine_workload *w,
    const struct workload_input *in); /* in all that decisions look at but the queue */
bool workload_alike(const struct engine_workload *a, const struct engine_workload *b);
/* In their pod sets, but for how many pods those have. */
bool workload_resized(const struct engine_workload *a, const struct engine_workload *b);

/* engine_workload.c */
struct engine_workload *workload_find(const struct engine *e, struct str uid);
/* Out of the order of victims, and in again after a key changed; without memory it is no victim for now. */
void holder_unlist(struct engine_workload *w);
int holder_list(struct engine_workload *w);
void holder_evicting(struct engine *e, struct engine_workload *w, bool evicting);
void holder_not_ready(struct engine *e, struct engine_workload *w, bool not_ready);
/* What it holds into the quota tree, sign 1, or out of it, -1. ERR_NOMEM inside a trial alone (quota_mark): undo it. */
int held_move(struct engine *e, const struct engine_workload *w, int sign);
void workload_drop(struct engine *e, struct engine_workload *w);
void workload_free(struct engine_workload *w);

/* engine_queue.c: the buckets of a queue */

/* Who evicted others to come in is first in its queue (unless that is strict, which keeps its order), by uid, until:
 *
 *     another of the queue evicts others       the record is that one's
 *     its admission is written and held        as Kueue does when it sees the write, not when it decides; the
 *                                              scheduler alone, without what is written, never forgets
 *     it is deleted, deactivated, or moves to another queue
 *
 * Nothing that a cycle comes to ends it: one that fits no longer, or has no victims any more, is parked, passed by, and
 * first again when it is tried again. */
void preemptor_set(struct engine_queue *q, struct engine_workload *w); /* NULL: none */
void preemptor_gone(const struct engine_workload *w);
int class_join(struct engine *e, struct engine_queue *q, struct engine_workload *w);
void class_leave(struct engine *e, struct engine_workload *w);
/* Into its class: active, or parked where that is. */
int queue_push(struct engine *e, struct engine_workload *w);
void queue_park(struct engine *e, struct engine_workload *w);   /* alone; never fails */
void queue_forget(struct engine *e, struct engine_workload *w); /* out of every bucket */
/* Parks the class of w, and those like it of other LocalQueues; the members are to be told the reason. */
void queue_park_alike(struct engine *e, struct engine_workload *w, bool place,
                      enum pend_reason reason);
struct engine_workload *queue_head(struct engine *e, struct engine_queue *q);
/* One parked class, or one parked alone, becomes active. */
int queue_unpark_one(struct engine *e, struct engine_queue *q);
int class_unpark(struct engine *e, struct engine_class *c);
/* The members were, or are to be, told this reason. */
void class_tell(struct engine *e, struct engine_class *c, enum pend_reason reason);
void class_told(struct engine_class *c, struct engine_workload *w);
void class_tell_end(struct engine *e, struct engine_class *c);
int workload_order(const void *a, const void *b, void *ctx);
void queue_free(struct engine *e, struct engine_queue *q);
/* Appends at most `limit` of those that wait: the active ones first, about in their order. */
int queue_waiting(const struct engine_queue *q, size_t limit, struct workload_vec *out);
struct engine_queue *queue_new(struct engine *e, struct str name);

/* engine_lane.c */
void lanes_init(struct engine *e, struct engine_queue *q);
void lanes_release(struct engine *e, struct engine_queue *q);
/* A new class of that LocalQueue; ERR_NOMEM. */
int lane_join(struct engine *e, struct engine_class *c, struct str local);
void lane_leave(struct engine *e, struct engine_class *c);
int lane_push(struct engine_class *c);    /* it is active; ERR_NOMEM: no change */
void lane_remove(struct engine_class *c); /* and no more */
void lane_moved(struct engine_class *c);  /* it has another head */
void lane_used(struct engine_lane *l);    /* what its LocalQueue used is another amount */
void lanes_order(struct engine_queue *q); /* usage orders now, or no longer */
struct engine_class *lanes_first(const struct engine_queue *q);
size_t lanes_active(const struct engine_queue *q); /* how many classes are */

/* engine_tree.c */
/* False: it is made anew before the next question, and all that waits in it is tried again then. */
static inline bool tree_valid(const struct engine_queue *q) {
    return q->tree != NULL && !quota_stale(q->node);
}
/* This node (NULL: none) is about to change: ends the cycle under way if it is of its tree; others go on. */
void engine_edits(struct engine *e, const struct quota_node *n);
/* The same for all queues that name a flavor; and then their trees are to be made anew. */
void flavor_edits(struct engine *e, uint32_t flavor);
void flavor_edited(struct engine *e, uint32_t flavor);
/* All trees, in the order of their roots. ERR_NOMEM. */
int trees_list(struct engine *e, struct tree_vec *out);
/* The queue goes; its tree goes with the last one. */
void tree_leave(struct engine *e, struct engine_queue *q);
/* Before any question to the tree. ERR_NOMEM: ask nothing. */
int engine_settle(struct engine *e);
void trees_free(struct engine *e);
int tree_wake_order(const void *a, const void *b, void *ctx);
void tree_wake(struct engine *e, struct engine_queue *q);  /* a cycle may decide something */
void tree_retry(struct engine *e, struct engine_queue *q); /* and what is parked is tried again */
void tree_wake_at(struct engine *e, struct engine_tree *t, int64_t ns); /* ERR_NOMEM: at once */
void tree_list(struct engine *e, struct engine_queue *q);               /* it has active members */
void tree_parks(struct engine *e, struct engine_queue *q);              /* it has parked ones */
/* Trees whose time has come, and those waiting for a place when the pool changed. */
void trees_wake(struct engine *e);
int tree_unpark(struct engine *e,
                struct engine_tree *t); /* within the budget; t->retry false: done */
void queue_placeless(struct engine *e, struct engine_queue *q);
struct engine_tree *tree_due(struct engine *e); /* the next with something to do, or NULL */
void tree_due_last(struct engine *e);           /* the first becomes the last */

/* engine_cycle.c */
void cycle_abort(struct engine *e);
int action_add(struct engine *e, const struct engine_action *a);

/* engine_nominate.c: flavors and victims for a head. pin: with the victims so far out of the quota tree, and only
 * flavors that it holds. */
int engine_nominate(struct engine *e, struct engine_workload *w, const struct assignment *pin,
                    struct assignment *ret);
/* What an assignment takes, one need for each cell; with room for `more`. */
struct preempt_need;
int needs_of(struct engine *e, const struct assignment *a, size_t more, struct preempt_need **ret,
             size_t *ret_n);
/* What the scan came to becomes w's memory of it. */
void scan_keep(struct engine *e, struct engine_workload *w, const struct assignment *a);
void scan_clear(struct engine_workload *w);
bool scan_left(const struct engine_workload *w); /* are there flavors left to try? */

/* engine_process.c */
int entry_process(struct engine *e, struct cycle_entry *n);
void cycle_unreserve(struct engine *e);
void chosen_in(struct engine *e);
void chosen_clear(struct engine *e);
void chosen_gone(struct engine *e,
                 struct engine_workload *w); /* w is about to give its quota back */

/* engine_seat.c: a place for all pods of an assignment. false: why is in the verdict */
int entry_seat(struct engine *e, struct cycle_entry *n, bool *ret_ok, bool *ret_seated);
/* The same with its victims gone: who would have no place then evicts nobody. The places that it would have are kept
 * for its queue (pool.h: claims) until its head comes to something else than to wait for victims. */
int entry_claim(struct engine *e, struct cycle_entry *n, bool *ret_ok);
void queue_unclaim(struct engine *e, struct engine_queue *q);
/* Victims for the sake of a place alone, into n->a. *ret_leaving: no need for any, those whose places it takes are on
 * their way out. */
int seat_victims(struct engine *e, struct cycle_entry *n, bool *ret_leaving, int64_t *ret_wake_ns);
/* A place as a further test of a search for victims (preempt_ask.fits); n 0: no pod needs one, or why says that they
 * are too many. */
enum { SEAT_TRIAL_COST_MAX = 1 << 18 }; /* nodes looked at in one search */
struct seat_trial {
    struct engine *e;
    struct place_input *in; /* its own */
    size_t n;
    struct place_why why; /* of the last that did not fit */
    int error;
    bool open;
    uint64_t before; /* check_undo; 0: not checked */
    struct workload_vec lifted;
};
void seat_trial_end(struct seat_trial *t); /* also after a failure */
int seat_trial_begin(struct engine *e, const struct engine_workload *w, const struct assignment *a,
                     struct seat_trial *t);
bool seat_trial_fits(void *ctx, const struct victim *v, size_t n);

/* engine_resize.c: a holder that grows or shrinks (engine.h) */
/* The holder that w may take over from now; NULL: none. */
struct engine_workload *resize_prior(const struct engine *e, const struct engine_workload *w);
/* How many pods of each set are new, in the tick's memory; NULL: out of memory. */
const int32_t *resize_counts(struct engine *e, const struct engine_workload *w,
                             const struct engine_workload *prior);
/* Are these still the new pods? */
bool resize_same(const struct engine *e, const struct engine_workload *w, const int32_t *counts);
/* The flavor that the holder has for it; -1: it has none. */
int64_t resize_flavor(const struct engine_workload *prior, uint32_t set, uint32_t resource);
/* The first ordinal that no seat of the holder has. */
int32_t resize_ordinal(const struct engine *e, const struct engine_workload *w, struct str set);
void resize_promise(struct engine *e, struct engine_workload *w);
/* w is about to give back what it holds: its heir takes that, and whose heir it was has none. */
void resize_release(struct engine *e, struct engine_workload *w);
/* What w was promised is its own now. */
void resize_take(struct engine *e, struct engine_workload *w);

/* engine_requeue.c */
int entry_requeue(struct engine *e, struct cycle_entry *n);
int tell_some(struct engine *e);

/* engine_turns.c: break_alternation */
void turns_clear(struct engine *e, const struct engine_tree *t); /* of that tree; NULL: all */
bool turn_refused(const struct engine *e, const struct engine_workload *a,
                  const struct engine_workload *b);
int turn_take(struct engine *e, const struct engine_workload *a, const struct engine_workload *b);

/* assign.c: 0, or ERR_NOMEM (the tick's limit). counts: NULL for all pods; pin: only flavors that it holds, from the
 * first on. */
int assign_flavors(struct engine *e, struct engine_workload *w, const int32_t *counts,
                   const struct assignment *pin, struct assignment *ret);
/* Does the next scan go on where the last one stopped? */
bool scan_holds(const struct engine *e, const struct engine_workload *w);

#endif
