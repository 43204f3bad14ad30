/*
 * virtual_watch: watching what is computed when asked for (port/virtual.h): it is asked again when it may be another,
 * and who watches is told what is.
 *
 *     the question is new ---------------------> asked at once: ADDED for each object, then, where wanted, a bookmark
 *     something was committed, or TICK passed --> asked again: ADDED, MODIFIED, DELETED for what differs
 *
 * A question that several watch with the same rights is asked once, of whoever came first. It is asked at most once a
 * second; more rarely when that takes long or brings much; all together take at most a quarter of the loop's time.
 * A watcher whose peer has not taken what it was sent gets the newest state when it has, and nothing between.
 *
 *     struct virtual_hub *h = virtual_hub_new(clock, mirror);
 *     virtual_watch_start(h, &options, &w, &err);      nothing is called inside
 *     virtual_watch_drained(w);                        the peer took all
 *     virtual_watch_stop(w);                           the peer has gone: nothing is called any more
 *     virtual_hub_free(h);                             before the mirror; after all watchers have ended
 */
#ifndef BERTH_PORT_VIRTUAL_WATCH_H
#define BERTH_PORT_VIRTUAL_WATCH_H

#include "base/buf.h"
#include "mirror/mirror.h"
#include "port/virtual.h"

struct virtual_hub;
struct virtual_watcher;

/* Whoever has the connection. All but `ask` and `cancel` may be called at any time after virtual_watch_start. */
struct virtual_watch_peer {
    /* Asks with this watcher's rights, as virtual_source.ask does; `cancel` takes it back. */
    int (*ask)(void *ctx, virtual_done *done, void *done_ctx, struct err *err);
    void (*cancel)(void *ctx);
    /* There is an answer: a stream begins. Comes before everything below; if it does not come, `end` has an error. */
    void (*begin)(void *ctx);
    /* Appends an object as the peer wants it. */
    int (*object)(void *ctx, struct str json, struct buf *out);
    int (*write)(void *ctx, struct str bytes);
    size_t (*waiting)(void *ctx); /* bytes that the peer has not taken */
    /* The watcher is gone. 0: its time is over, or virtual_hub_stop. */
    void (*end)(void *ctx, int code, const struct err *err);
};

struct virtual_watch_options {
    const struct virtual_watch_peer *peer;
    void *ctx;
    const struct kind *kind;
    struct str version;        /* for bookmarks; kept by the caller */
    struct str question, user; /* the same question: the same answer, rights included; copied */
    unsigned form;             /* of what `object` writes: the same for the same form */
    bool bookmarks,
        initial_end; /* one a minute; one with k8s.io/initial-events-end after the first objects */
    int64_t seconds; /* how long it lasts */
};

struct virtual_hub *virtual_hub_new(struct clock *c, struct mirror *m); /* NULL: out of memory */
void virtual_hub_free(struct virtual_hub *h);                           /* NULL is a no-op */
void virtual_hub_stop(struct virtual_hub *h); /* ends all; new ones are refused */
size_t virtual_hub_count(const struct virtual_hub *h);

/* ERR_TOO_MANY (all, or this user's), ERR_NOMEM. */
int virtual_watch_start(struct virtual_hub *h, const struct virtual_watch_options *o,
                        struct virtual_watcher **ret, struct err *err);
void virtual_watch_drained(struct virtual_watcher *w);
void virtual_watch_stop(struct virtual_watcher *w);

#endif
