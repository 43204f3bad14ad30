/*
 * quota (core): the quota tree. ClusterQueues are leaves, Cohorts inner nodes; each node has cells, one per pair of
 * flavor and resource.
 *
 *     local(n)     = lending limit absent ? 0 : max(0, subtree(n) - lending limit)     never seen by the parent
 *     subtree(n)   = nominal(n) + sum over children of (subtree - local)
 *     usage(queue) = what its workloads hold;  usage(cohort) = sum over children of max(0, usage - local)
 *
 * Each cell points at the parent's cell of the same pair, so an answer costs the depth of the tree and nothing else.
 * Changes of nodes are noted; quota_settle, before the next question, builds cells and sums of the trees they are in
 * anew from the queues' usage: what an edit costs is the size of its trees, however many others there are. Usage
 * changes through quota_use alone (the one mutator): inside a trial it keeps a journal, and quota_undo puts everything
 * back that was changed since the mark.
 *
 * A queue that is not active (stopped, or without a flavor) lends and is charged as any other: its quota stays its
 * cohort's, and what it holds counts until it is given back. Of the height of its cohort it is no part. Every node
 * under a cycle of cohorts stands apart: nothing of it counts elsewhere.
 */
#ifndef BERTH_CORE_QUOTA_H
#define BERTH_CORE_QUOTA_H

#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "core/quota/amount.h"

struct quota_node;

/* A pair as one number, ordered by flavor, then resource. */
static inline uint32_t quota_pair(uint32_t flavor, uint32_t resource) {
    return flavor << 16 | resource;
}

struct quota_limits {
    uint32_t pair;
    int64_t nominal, borrowing, lending; /* limits: AMOUNT_NONE when absent */
};

/* Lists that a node may be in: edited since its tree was settled; built anew and not asked about since. */
enum quota_list { QUOTA_EDITED, QUOTA_FRESH, QUOTA_LISTS };

struct quota_cell {
    struct quota_limits q; /* as put */
    int64_t subtree, usage;
    struct quota_cell *up; /* the same pair at the parent, or NULL */
    struct quota_node *node;
    struct quota_cell *over_first;            /* children's cells of this pair that are `over` */
    struct quota_cell *over_next, *over_prev; /* beside this one, when it is */
    /* Uses more than its subtree has, below a parent: it borrows. Settled forests only */
    bool over;
    bool offered; /* in the node's own spec: not only kept for usage or children */
};

/* How much of a resource, over all flavors of the tree, could ever be had at a cohort. */
struct quota_lend {
    uint32_t resource;
    int64_t v;
};

struct quota_node {
    struct str name;
    bool queue, declared, active;
    bool apart; /* not linked to the parent: in a cycle, or under one */
    bool edited, stale,
        gathered; /* stale: on a root, of all in its tree. gathered: while settling */
    bool
        redrawn; /* limits or parent are others than when it was settled. Settled roots: somebody's in the tree, until
                     the forest's user has read and cleared it */
    struct quota_limits *own; /* as put, sorted by pair */
    size_t n_own;
    struct quota_cell *cells; /* sorted by pair */
    size_t n_cells;
    struct str parent_name;   /* empty: none */
    struct quota_node *above; /* whom parent_name means; linked at once */
    struct quota_node *below, *beside,
        *beside_prev; /* the first that names this one; the others with it */
    struct {
        struct quota_node *next, *prev;
        bool in;
    } list[QUOTA_LISTS];
    struct quota_node *parent; /* set by settle; NULL for roots and nodes apart */
    uint32_t height, depth, n_children;
    struct quota_node *root, *tree_first,
        *tree_next;          /* settled: the queues of a tree, from its root */
    double weight;           /* fair sharing; 1 until its user sets it */
    struct quota_lend *lend; /* settled, cohorts: sorted by resource */
    size_t n_lend;
    uint64_t stamp; /* of the last walk that met this node (quota_forest.stamp) */
    void *walk;     /* what that walk keeps here */
    void *user;     /* the engine's queue */
};
VEC(quota_nodes, struct quota_node *);

struct quota_entry {
    struct quota_cell *cell;
    int64_t usage; /* before */
};
VEC(quota_journal, struct quota_entry);

struct quota_forest {
    struct quota_node *first[QUOTA_LISTS];
    struct map queues, cohorts;
    /* What settle built anew, last: whole trees, children before parents */
    struct quota_nodes order;
    struct quota_journal journal;
    unsigned trial; /* how many trials are open, one inside the other */
    bool dirty;     /* something is stale */
    uint64_t built; /* nodes built anew, in all */
    uint64_t stamp; /* the last walk's; a walk takes the next */
};

void quota_init(struct quota_forest *f);
void quota_release(struct quota_forest *f);

/* Makes or changes a node; name, parent and limits are copied. ERR_NOMEM. */
int quota_put(struct quota_forest *f, bool queue, struct str name, struct str parent, bool active,
              const struct quota_limits *limits, size_t n, struct quota_node **ret);
/* A queue must hold nothing. A cohort with children stays as an implicit one. */
void quota_del(struct quota_forest *f, struct quota_node *n);
struct quota_node *quota_find(const struct quota_forest *f, bool queue, struct str name);
/* Its tree is to be built anew, although nothing was put. */
void quota_touch(struct quota_forest *f, struct quota_node *n);
void quota_touch_all(struct quota_forest *f);
/* One that was built anew since this was asked last; NULL: none. */
struct quota_node *quota_fresh(struct quota_forest *f);
/* Recomputes what changes of nodes made stale. ERR_NOMEM: still dirty, ask nothing. */
int quota_settle(struct quota_forest *f);
/* Is it in a tree that waits to be built anew? */
static inline bool quota_stale(const struct quota_node *n) {
    return n->root == NULL || n->stale || n->root->stale;
}
/* Nodes of a settled forest, children before parents: those under these roots; NULL: all. ERR_NOMEM. */
int quota_nodes_of(const struct quota_forest *f, const struct quota_nodes *roots,
                   struct quota_nodes *out);

/* NULL when the node has no such cell. */
struct quota_cell *quota_cell_of(const struct quota_node *n, uint32_t pair);
/* quota_use at a queue, where the cell may be missing: usage outlives an edit of the spec that drops its pair. */
int quota_hold(struct quota_forest *f, struct quota_node *queue, uint32_t pair, int64_t v);

int64_t quota_local(const struct quota_cell *c);
int64_t quota_local_available(const struct quota_cell *c); /* what is local and free, at least 0 */
int64_t quota_available(const struct quota_cell *c);       /* may be negative when overcommitted */
int64_t quota_potential(const struct quota_cell *c);       /* as if nothing were used */
bool quota_borrows_with(const struct quota_cell *c, int64_t v);
/* Have all n cells, of one node, room of their own for rest[]? What has no room there is left in rest, and cells[]
 * become the parent's: asked again, it is about that one. */
bool quota_own_room(const struct quota_cell **cells, int64_t *rest, size_t n);
/* The borrow height that v more would have, 0 for none; *ret_smaller: the fitting subtree is not the whole tree. */
uint32_t quota_lowest_fit(const struct quota_cell *c, int64_t v, bool *ret_smaller);

/* What the children of a cohort may come to have together of a resource; 0 when nothing is known of it. */
int64_t quota_lendable(const struct quota_node *cohort, uint32_t resource);

/* v > 0 takes, v < 0 gives back; while its tree is stale only the queue itself changes. In a
 * trial the journal must have room: ERR_NOMEM changes nothing. */
int quota_use(struct quota_forest *f, struct quota_cell *c, int64_t v);
/* Trials nest: each mark is undone once, the last one first; or all that are open are kept. */
size_t quota_mark(struct quota_forest *f);            /* a trial from here on */
void quota_undo(struct quota_forest *f, size_t mark); /* back to the mark, whose trial ends */
void quota_keep(struct quota_forest *f);              /* ends every trial, changes stay */
/* All usages folded into one number: equal before a trial and after its undo. */
uint64_t quota_digest(const struct quota_forest *f);

#endif
