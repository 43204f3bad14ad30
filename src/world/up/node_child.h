/*
 * node_child: `berth node`, or `berth gateway`, as a child process of `berth up`: started, started again when it ends,
 * stopped with us.
 *
 * Back-off from 200 ms, doubled to 30 s, forgotten after a minute of health. When we die without a word, the child's
 * parent-death signal ends it (its pods live on under their shims), so that there is never a second node.
 */
#ifndef BERTH_WORLD_NODE_CHILD_H
#define BERTH_WORLD_NODE_CHILD_H

#include "base/err.h"
#include "base/log.h"
#include "net/loop.h"

struct node_child;

/* argv as given to the program, NULL-terminated and kept by the caller: {"berth", "node", "--kubeconfig", ...}. */
int node_child_start(struct loop *l, struct log *log, const char *program, const char *const *argv,
                     struct node_child **ret, struct err *err);
/* SIGTERM, SIGKILL after 10 s; stopped comes on the loop thread. */
void node_child_stop(struct node_child *c, void (*stopped)(void *ctx), void *ctx);
void node_child_free(struct node_child *c); /* NULL is a no-op; after stopped */

#endif
