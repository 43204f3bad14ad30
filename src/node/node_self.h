/*
 * node_self: this machine's Node as the API has it: what an administrator asks of the node there, and what an earlier
 * life of the node left there.
 */
#ifndef BERTH_NODE_NODE_SELF_H
#define BERTH_NODE_NODE_SELF_H

#include "base/buf.h"
#include "base/err.h"

struct node;
struct node_self;

/* Watches the Node from now on. Annotation berth.dev/clear-gpus is obeyed and taken away. */
int node_self_start(struct node *n, struct node_self **ret, struct err *err);
void node_self_free(struct node_self *s);

/* Appends ,"NAME":null for each label of the Node that is ours to write (what GPU Feature Discovery would say) and that
 * is not among `fresh`, members of a JSON object. s may be NULL: nothing is known yet. */
void node_self_stale_labels(const struct node_self *s, struct str fresh, struct buf *out);
/* The same of GPU resources in status.capacity. */
void node_self_stale_resources(const struct node_self *s, struct str fresh, struct buf *out);

#endif
