/*
 * pipeline (server): the one way in which objects change, for HTTP requests and for controllers.
 *
 *     create   decode, prune, default, admission, prepare, validate, stage as added
 *     update   the same on the body, with what the server owns taken from the stored object, stage
 as modified
 *     patch    the stored object in the version asked for, patched, then as update
 *     apply    the same with what is applied laid over it (managed/track.h); as create when there is none
 *     delete   preconditions, finalizers, grace: stage as modified or deleted (remove.h)
 *
 * Everything up to staging happens at once, on the newest state (pending writes included), so that no two writes ever
 * race and a patch without a resourceVersion never conflicts. The answer waits for the commit. `done` is called exactly
 * once: inside write_run for failures, dry runs and no-ops, else when the mirror committed.
 */
#ifndef BERTH_SERVER_PIPELINE_H
#define BERTH_SERVER_PIPELINE_H

#include "mirror/writer.h"
#include "server/kit/context.h"

struct beside;
struct write_wait;
struct hook_wait;
struct track;

/* On whose behalf something is written, and so what the guard is asked. */
enum write_for {
    WRITE_FOR_USER,     /* who sent the request: guard.admit_write */
    WRITE_FOR_TEMPLATE, /* a controller makes what a user's template says: guard.admit_template */
    WRITE_FOR_SYSTEM,   /* a controller's own decision, or bootstrap: nobody */
};

struct write {
    /* Filled by the caller of write_run. */
    struct server *s;
    const struct api_request *req; /* verb, kind, names, options, user; valid until staged */
    struct arena *arena;           /* valid until staged, and until done unless `orphaned` */
    struct str body;
    enum body_type type;
    enum write_for behalf; /* all but a user's are without warnings */
    bool whole;            /* doc is of our own making, status included (binding) */
    struct call *call;     /* the HTTP call, or NULL; cleared when its peer goes away */
    const struct delete_options *delete_options; /* of VERB_DELETE */
    void (*steps)(
        struct write *w); /* what is run, and again when webhooks have answered; NULL: the verb's */
    void (*done)(struct write *w);
    void *ctx;

    /* The outcome, for done. */
    struct failure failure;   /* failure.code 0: it went well; its texts are in the arena */
    const struct object *obj; /* the new state (the last one when removed); borrowed */
    int http;                 /* 200, 201 */
    bool removed;             /* the object is gone, not only marked */
    bool dry;                 /* nothing was stored */
    bool orphaned;            /* the arena is gone: failure has no texts */

    /* While it runs. */
    struct object *own;       /* a reference to release after done */
    const struct object *old; /* NULL on create */
    yyjson_val *old_tree;     /* storage version, with resourceVersion */
    yyjson_mut_doc *doc;      /* the object to be */
    bool status_alone; /* doc is the stored object but for its status, and a resourceVersion */
    struct hook_wait *asked;       /* of webhooks (hooks.h); NULL: nothing */
    struct write_wait *converting; /* of conversion webhooks (await.c); NULL: nothing */
    bool unasked;                  /* webhooks are not asked */
    bool evicts;                   /* it deletes a pod for an eviction */
    struct track *applied;         /* of an apply: who manages the fields of doc; NULL: none */
    /* Of an apply that creates: it as it came; `req` says create */
    const struct api_request *patch;
    struct beside *beside; /* what it changes of other objects; NULL: nothing */
    char uid[37],
        name[64]; /* what was made up in the first run, for those after it; empty: nothing */
    int64_t now;  /* of the first run */
    struct write *next;
};

struct write *write_new(struct server *s); /* NULL when out of memory */
void write_free(struct write *w);
/* Frees the list of spares. */
void write_release_spares(struct server *s);

void write_run(struct write *w);
/* It waited, and runs again from the start on the newest state. */
void write_again(struct write *w);
/* Nothing of it is staged and whoever sent it is gone: what it waits for is forgotten, and it ends with ERR_GONE. No-op
 * when it waits for nothing. */
void write_abandon(struct write *w);

/* For remove.c, subresource.c: the last step. Takes obj over. type is enum change_type. */
void write_stage(struct write *w, int type, struct object *obj);
/* Another object's status (a view of s) is changed with this write, staged in one batch with it: what an eviction takes
 * of a budget, a new object of a quota. tree is o's; nothing is staged when w is not. 0, or the failure is filled. */
int write_beside(struct write *w, const struct object *o, yyjson_val *tree, const struct schema *s,
                 const void *status);
/* Ends w with w->failure, or as said by w->obj; calls done. */
void write_finish(struct write *w);
/* For `done` of a call's write: the call when it is to be told that all went well; NULL: nobody waits any more, or it
 * was told of the failure. */
struct call *write_answered(struct write *w);
/* The call's detach, with the write: a peer that goes away does not take back what is staged. */
void write_orphan(struct call *c, void *ctx);
/* Loads the newest state into w->old and w->old_tree. ERR_NOT_FOUND fills the failure. */
int write_load(struct write *w);
/* An apply of w->doc, in the version asked for: it is laid over the stored object, converted and pruned. */
int write_lay(struct write *w);
/* w->doc's defaults. */
int write_default(struct write *w, struct err *err);
/* From w->doc (storage version, changed from w->old) on: default, admit, validate, generation,
 * no-op, stage. */
void write_replace(struct write *w);

#endif
