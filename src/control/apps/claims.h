/*
 * claims: which objects are an owner's: pods a ReplicaSet's, ReplicaSets a Deployment's.
 *
 * An object is its controller's. Beside that, an owner adopts what nobody controls and its selector matches, and lets
 * go of what its selector matches no more, by patches of ownerReferences. An owner that is being deleted does neither,
 * nor is anything adopted that is being deleted.
 *
 * For controllers whose first two sorts of keys are CLAIM_OWNER, an owner, and CLAIM_ORPHAN, an object that may want
 * one. Selectors are immutable in apps/v1: they are read once; plain ones, which may change, again
 * when they did. An owner looks for orphans once when it is new, and again when an orphan came that it selects; so that
 * a namespace with many of either is not searched over and over.
 */
#ifndef BERTH_CONTROL_CLAIMS_H
#define BERTH_CONTROL_CLAIMS_H

#include "control/kit/controller.h"

enum { CLAIM_OWNER, CLAIM_ORPHAN }; /* sorts of keys */

struct claim_book {
    const struct mirror *mirror;
    struct workqueue *queue;
    const struct kind *owners, *owned;
    struct map *by_uid; /* of owners */
    bool plain; /* selectors are maps of labels (ReplicationController); set after claims_init */
    /* Whether an orphan that the selector matches may be the owner's; NULL: it may. */
    bool (*fits)(const struct object *owner, const struct object *orphan);
};

/* What is remembered of an owner. */
struct claim_owner {
    struct str uid;
    struct str selector; /* JSON */
    bool searched;       /* it has looked for orphans since one last came */
    size_t n;            /* objects that it had at the last look */
    char *fault;         /* of the latest write that failed; NULL: none */
};

/* After the controller's queue is there. 0 or ERR_NOMEM; released also when that failed. */
int claims_init(struct claim_book *c, struct controller *of, const struct kind *owners,
                const struct kind *owned);
void claims_release(struct claim_book *c);

/* For `changed` of both kinds: keep books and add keys. */
void claims_owner_changed(struct claim_book *c, const struct change *ch);
void claims_owned_changed(struct claim_book *c, const struct change *ch);
/* The step of a CLAIM_ORPHAN key: the owners that select it look for it. o may be NULL. */
enum work claims_orphan(struct claim_book *c, const struct object *o, struct arena *a);

/* NULL: nothing is remembered, for want of memory. */
struct claim_owner *claims_of(const struct claim_book *c, struct str uid);
/* Remembers the text of a failure, or with NULL that there is none. */
void claims_fail(struct claim_book *c, struct str uid, const char *text);

/* What is the owner's, in the arena. While something is still to be adopted or let go, a round of that is begun, and
 * the owner is looked at again when it ended. */
struct claimed {
    const struct object **v;
    size_t n;
};
/* 0: *ret; 1: *w is the step's outcome; or ERR_NOMEM. */
int claims_collect(struct claim_book *c, struct controller *of, const struct object *owner,
                   struct arena *a, struct claimed *ret, enum work *w);

#endif
