/*
 * mirror_private: declarations shared by the files of the mirror. Not for other rooms.
 *
 * One rule holds everything together: an index may already hold staged versions, and every reader skips an
 * object whose revision is newer than the mirror's (`visible`). So all memory a change needs is taken when it is
 * staged, and a commit cannot fail:
 *
 *   - the tree of a kind has one entry a key: the committed version, or a staged one when nothing is committed there;
 *     by_key finds the same objects by hash, for the tree costs a dozen comparisons in scattered memory;
 *   - the uid and owner indexes have an entry for each version alive, committed or staged;
 *   - history is a cache: where its ring cannot grow, it forgets.
 *
 * Batches stand in one queue in order of revision. A batch is committed, or fails, when it comes to the head.
 */
#ifndef BERTH_MIRROR_MIRROR_PRIVATE_H
#define BERTH_MIRROR_MIRROR_PRIVATE_H

#include "base/tree.h"
#include "mirror/mirror.h"
#include "mirror/pset.h"

struct obj_key {
    struct str ns, name;
};

struct past_change {
    enum change_type type;
    const struct object *obj, *old; /* one reference each; old may be NULL */
    int64_t at_ns;                  /* monotonic */
};

/* The newest committed changes of one kind, oldest first, in a ring. */
struct history {
    struct past_change *ring;
    size_t first, n, cap;
    size_t bytes;   /* of the objects' JSON in it */
    uint64_t start; /* changes after this revision are all here */
};

struct feed_list {
    struct feed *first, *last;
};

struct mirror_table {
    struct mirror_table *next;
    const struct kind *kind;
    struct tree objects; /* by struct obj_key */
    size_t n;            /* visible ones */
    struct history history;
    struct feed_list feeds;
};

struct feed {
    struct mirror *m;
    struct feed_list *list;
    struct feed *prev, *next, *next_dead;
    void (*each)(void *ctx, const struct change *c);
    void *ctx;
    uint64_t after; /* m->changes when it was made: older ones are not for it */
    bool dead;      /* freed inside a delivery; unlinked when that is over */
};

/* Objects by the uid of an owner. */
struct owners {
    struct pset objects; /* struct owned, by the object's address */
    struct pset heads;   /* struct owner_head, by uid */
};

/* One pending change. */
struct mirror_write {
    struct mirror_write *next;  /* in its batch */
    struct mirror_write *newer; /* the next change of the same key */
    struct mirror_table *table;
    enum change_type type;
    struct object *obj;       /* one reference */
    const struct object *old; /* what is in the tree when this commits; kept alive by it */
    uint64_t hash;            /* of the key */
    mirror_done *done;
    void *ctx;
};

/* An object that is gone, while events about it may still be on their way. */
struct tomb {
    struct tomb *newer, *older;
    int64_t at_ns;             /* monotonic */
    const struct object *last; /* what stood there; one reference */
};

struct tombs {
    struct pset by_key;
    struct tomb *newest, *oldest;
    size_t n;
};

enum batch_state { BATCH_OPEN, BATCH_SENT, BATCH_READY, BATCH_FAILED };

struct batch {
    struct batch *next;
    uint64_t id;
    enum batch_state state;
    struct mirror_write *first, *last;
    size_t n;
};

struct mirror {
    struct mirror_options o;
    uint64_t revision; /* newest committed */
    uint64_t last_rv;  /* newest given out; never given again, not even after a failure */
    uint64_t base;     /* history of no kind reaches further back */
    uint64_t changes;  /* committed since the start: orders feeds and changes */
    struct mirror_table *tables;
    struct pset by_kind; /* struct mirror_table */
    size_t n;            /* objects of all kinds, staged ones included */
    struct pset by_uid;  /* struct object */
    struct pset by_key;  /* struct object: what the trees hold, of all kinds */
    struct owners owners;
    struct pset pending; /* the newest struct mirror_write of each key */
    size_t n_pending;
    struct batch *head, *tail; /* queue; an open batch is the last */
    uint64_t last_batch;
    bool committing; /* the queue is being worked off */
    bool failing;    /* failed batches wait in the queue: nothing may be built on them */
    struct err failure;
    struct feed_list feeds; /* of all kinds */
    struct feed *dead;
    int delivering;
    struct mirror_source *sources;
    struct tombs tombs;
};

static inline bool visible(const struct mirror *m, const struct object *o) {
    return o && o->rv <= m->revision;
}

struct mirror_table *table_find(const struct mirror *m,
                                const struct kind *k); /* NULL when not seen yet */
struct mirror_table *table_get(struct mirror *m,
                               const struct kind *k); /* made when missing; NULL: no memory */

/* mirror.c */
/* Puts an object that nobody has heard of straight into the tree and the indexes. ERR_EXISTS, ERR_NOMEM. */
int mirror_put_loaded(struct mirror *m, struct mirror_table *t, struct object *obj);
/* Stages one change that no write made, as a batch of its own, and works the queue off. Takes obj over on success. */
int mirror_commit_one(struct mirror *m, enum change_type type, struct object *obj);

/* outside.c */
void tombs_release(struct tombs *t);

/* feed.c */
void feeds_deliver(struct mirror *m, struct mirror_table *t, const struct change *c);
void feeds_release(struct feed_list *list);

/* history.c */
/* At most max of them; 0: none, only where it would begin. */
void history_add(struct history *h, const struct change *c, size_t max, int64_t now);
void history_release(struct history *h);
const struct past_change *history_at(const struct history *h, size_t i); /* 0: oldest */
size_t history_after(const struct history *h, uint64_t rv); /* index of the first newer than rv */
uint64_t history_start(const struct mirror *m, const struct mirror_table *t); /* t may be NULL */

/* owners.c */
int owners_add(struct owners *x, const struct object *o); /* 0 or ERR_NOMEM with nothing changed */
void owners_del(struct owners *x, const struct object *o);
void owners_release(struct owners *x);
void owners_each(const struct owners *x, struct str uid,
                 bool (*each)(void *ctx, const struct object *o), void *ctx);

#endif
