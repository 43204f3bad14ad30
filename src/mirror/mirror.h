/*
 * mirror: every object of the kinds we act on, in memory, with indexes and a change feed.
 *
 * Durable, then visible. mirror_write stages a change: it gets the next revision and is *pending* (later writes
 * check against it, through mirror_pending). mirror_flush hands what is staged to the journal as one batch; when
 * the journal says it is on disk, the batch is *committed*: reads, lists and feeds see it, in revision order,
 * and then each write's `done` is called. When the journal fails, every pending write fails with the journal's
 * error and nothing of it was ever visible. Without a journal (a reflector's mirror, tests) a flush commits at
 * once.
 *
 * Everything here runs on the loop thread. A feed function may stage writes but must not read what it just staged.
 */
#ifndef BERTH_MIRROR_MIRROR_H
#define BERTH_MIRROR_MIRROR_H

#include "base/clock.h"
#include "mirror/object.h"

struct mirror;

enum change_type { CHANGE_ADDED = 1, CHANGE_MODIFIED, CHANGE_DELETED };

struct change {
    enum change_type type;
    /* New state; for CHANGE_DELETED the last state, with rv of the deletion */
    const struct object *obj;
    const struct object *old; /* state before; NULL for CHANGE_ADDED */
};

/* Where batches go to become durable (the store). `submit` takes n changes in revision order, keeps them alive (it may
 * hold references), and later, on the loop thread, exactly once per batch and in order, calls mirror_journal_done. */
struct journal {
    int (*submit)(struct journal *j, const struct change *changes, size_t n, uint64_t batch,
                  struct err *err);
};

struct mirror_options {
    struct clock *clock;
    struct journal *journal; /* NULL: changes commit at flush */
    void (*staged)(
        void *
            ctx); /* called when the first change of a batch is staged: schedule mirror_flush soon */
    void *staged_ctx;
    /* Asked of each write (now: the pending state, or NULL) before it is staged; another answer than 0 is the write's.
     * NULL: all may. */
    int (*may)(void *ctx, enum change_type type, const struct object *obj, const struct object *now,
               struct err *err);
    void *may_ctx;
    /* Per kind; 0: LIMIT_HISTORY_EVENTS; MIRROR_NO_HISTORY: nobody resumes here */
    size_t history_events;
};
#define MIRROR_NO_HISTORY SIZE_MAX

struct mirror *mirror_new(const struct mirror_options *o);
void mirror_free(struct mirror *m);

/* ---- reading what is committed ---- */

uint64_t mirror_revision(const struct mirror *m); /* newest committed revision */
/* Borrowed: valid until the next commit; take object_ref to keep it. NULL when absent. */
const struct object *mirror_get(const struct mirror *m, const struct kind *k, struct str ns,
                                struct str name);
const struct object *mirror_by_uid(const struct mirror *m, struct str uid);
size_t mirror_count(const struct mirror *m, const struct kind *k);
/* In order of (namespace, name), bytewise; ns empty = all namespaces. each returns false to stop. */
void mirror_scan(const struct mirror *m, const struct kind *k, struct str ns,
                 bool (*each)(void *ctx, const struct object *o), void *ctx);
/* The object that ref, of an object of namespace ns, names; NULL when it is not here (object_named_by). */
const struct object *mirror_owner(const struct mirror *m, struct str ns,
                                  const struct owner_ref *ref);
/* Objects (of any kind) with an ownerReference that names owner, which need not be here any more. */
void mirror_owned(const struct mirror *m, const struct object *owner,
                  bool (*each)(void *ctx, const struct object *o), void *ctx);
/* Objects of namespace ns with the same owner as ref, which may be of a kind that is not here. */
void mirror_siblings(const struct mirror *m, struct str ns, const struct owner_ref *ref,
                     bool (*each)(void *ctx, const struct object *o), void *ctx);

/* The state at revision rv (<= mirror_revision), from after key (after_ns, after_name), in order: pages of one
 * snapshot. ERR_EXPIRED when history no longer reaches back to rv. */
int mirror_scan_at(const struct mirror *m, const struct kind *k, struct str ns, uint64_t rv,
                   struct str after_ns, struct str after_name,
                   bool (*each)(void *ctx, const struct object *o), void *ctx, struct err *err);

/* ---- the change feed ---- */

struct feed;
/* Calls each(ctx, change) for every committed change of kind k (NULL: all kinds), in revision order, from now on. */
struct feed *mirror_feed(struct mirror *m, const struct kind *k,
                         void (*each)(void *ctx, const struct change *c), void *ctx);
void feed_free(struct feed *f);
/* Replays committed changes with revision > rv of kind k (to resume a watch). ERR_EXPIRED when too old; then
 * *ret_oldest is the oldest revision that would do. */
int mirror_since(const struct mirror *m, const struct kind *k, uint64_t rv,
                 bool (*each)(void *ctx, const struct change *c), void *ctx, uint64_t *ret_oldest,
                 struct err *err);

/* ---- writing ---- */

/* 0 and the committed object (its last state when deleted), or an error. obj is borrowed. */
typedef void mirror_done(void *ctx, int code, const struct object *obj, const struct err *err);

/* The newest state, staged or committed; NULL when absent (or staged as deleted). */
const struct object *mirror_pending(const struct mirror *m, const struct kind *k, struct str ns,
                                    struct str name);
/* Stages one change. For ADDED and MODIFIED takes one reference of obj over (also on failure) and sets its rv; for
 * DELETED obj is the last state, with the metadata its watchers shall see, likewise taken over.
 * expect_rv: the rv of mirror_pending's object that this write is based on, 0 for "absent".
 * ERR_CONFLICT (ERR_EXISTS when expect_rv is 0) when the pending state is another; ERR_TOO_MANY beyond
 * LIMIT_STORE_OBJECTS. done may be NULL. */
int mirror_write(struct mirror *m, enum change_type type, struct object *obj, uint64_t expect_rv,
                 mirror_done *done, void *ctx, struct err *err);
void mirror_flush(struct mirror *m);
size_t mirror_staged(const struct mirror *m); /* writes not yet committed */
/* From the journal, on the loop thread. */
void mirror_journal_done(struct mirror *m, uint64_t batch, int code, const struct err *err);

/* ---- filling from outside (recovery, a reflector) ---- */

/* Puts an object as committed with its given rv, no feed, no history. Before the first write. Takes obj over. */
int mirror_load(struct mirror *m, struct object *obj, struct err *err);
/* The last revision used, for recovery: the next write gets rv + 1. */
void mirror_set_revision(struct mirror *m, uint64_t rv);
/* A change that already happened elsewhere (reflector): committed at once, feeds run. Takes obj over. What is here
 * never goes back: an object that is not newer than the one of its name, or whose uid is known to be deleted, is
 * ignored (0), and so is a deletion that is older than what is here (rv 0: its revision is not known, it counts). An
 * object in the place of another uid is told as a deletion and an addition. */
int mirror_apply(struct mirror *m, enum change_type type, struct object *obj, struct err *err);

/* Read your writes. Who fills a kind registers as its source; what the server answered to a write is then applied as
 * well, before the change comes through the source, unless the source is already past it. Answers about objects that no
 * source covers are ignored: nothing would ever tell that they are gone. */
struct mirror_source {
    const struct kind *kind;
    uint64_t passed; /* every change up to this revision has been applied; 0: not known yet */
    /* Whether changes of this object come through the source (its namespace, its selectors). */
    bool (*covers)(const struct mirror_source *s, const struct object *o);
    struct mirror_source *next; /* the mirror's */
};
void mirror_follow(struct mirror *m, struct mirror_source *s);
void mirror_unfollow(struct mirror *m, struct mirror_source *s); /* no-op when it is not there */
/* The state that a write was answered with. Takes obj over. */
int mirror_answer(struct mirror *m, struct object *obj, struct err *err);
/* A deletion was answered: the object of this uid is gone, and what is still on its way about it is ignored from now
 * on. No-op when another uid stands there, or nothing. */
int mirror_answer_gone(struct mirror *m, const struct kind *k, struct str ns, struct str name,
                       struct str uid, struct err *err);

/* The source's history went back, and what was deleted may be there again: forgets what of this kind is known to be
 * gone. */
void mirror_forget_gone(struct mirror *m, const struct kind *k);

#endif
