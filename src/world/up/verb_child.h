/*
 * verb_child: a verb of this program (`berth node`, `berth gateway`) as a child process of `berth up`: started, started
 * again when it ends, stopped with its parent.
 *
 * Back-off from 200 ms, doubled to 30 s, forgotten after a minute of health. When the parent dies without stopping it,
 * the child's parent-death signal ends it, so that there is never a second node; pods live on under their shims.
 */
#ifndef BERTH_WORLD_VERB_CHILD_H
#define BERTH_WORLD_VERB_CHILD_H

#include "base/err.h"
#include "base/log.h"
#include "net/loop.h"

struct verb_child;

/* argv as given to the program, NULL-terminated and kept by the caller: {"berth", "node", "--kubeconfig", ...}; the
 * log names the child by the second word. */
int verb_child_start(struct loop *l, struct log *log, const char *program, const char *const *argv,
                     struct verb_child **ret, struct err *err);
/* SIGTERM, SIGKILL after 10 s; stopped comes on the loop thread. */
void verb_child_stop(struct verb_child *c, void (*stopped)(void *ctx), void *ctx);
void verb_child_free(struct verb_child *c); /* NULL is a no-op; after stopped */

#endif
