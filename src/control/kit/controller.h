/*
 * controller: what most controllers consist of: a queue of keys, feeds that fill it, an arena for one piece of work, a
 * recorder of events. Embedded in a controller's own struct.
 */
#ifndef BERTH_CONTROL_CONTROLLER_H
#define BERTH_CONTROL_CONTROLLER_H

#include "base/arena.h"
#include "base/err.h"
#include "control/kit/env.h"
#include "control/kit/recorder.h"
#include "control/kit/round.h"
#include "control/kit/workqueue.h"

enum { CONTROLLER_FEEDS = 4 };

struct controller {
    struct control_env env;
    const char *who; /* static: writer and event source */
    struct workqueue *queue;
    struct recorder *recorder;
    struct feed *feeds[CONTROLLER_FEEDS];
    size_t n_feeds;
    struct arena arena; /* reset after each piece of work by controller_done */
};

/* work and resync get ctx. ERR_NOMEM; a failed controller is released all the same. */
int controller_init(struct controller *c, const struct control_env *env, const char *who,
                    enum work (*work)(void *ctx, struct str ns, struct str name),
                    void (*resync)(void *ctx), void *ctx, struct err *err);
/* kind NULL: every kind. */
int controller_feed(struct controller *c, const struct kind *k,
                    void (*each)(void *ctx, const struct change *ch), void *ctx, struct err *err);
void controller_release(struct controller *c);

/* A round for a key, whose "not found" answers are no failures: what should go is gone. NULL: out of memory. */
struct round *controller_round(struct controller *c, struct str ns, struct str name);
enum work controller_done(struct controller *c, enum work w); /* resets the arena, returns w */

#endif
