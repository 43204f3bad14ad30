/*
 * splice: carries bytes between two sockets, both ways, until both sides have ended. One side may end before the other
 * (half-closed connections stay so). At most SPLICE_BYTES are held in each direction: a slow reader slows the writer.
 */
#ifndef BERTH_NODE_NET_SPLICE_H
#define BERTH_NODE_NET_SPLICE_H

#include "base/err.h"
#include "net/loop.h"

enum { SPLICE_BYTES = 65536 };

struct splice;

/* Takes both descriptors over (also on failure), which do not block; b may still be connecting. ended comes once, on
 * the loop thread, when all is over; the splice is gone then. */
int splice_start(struct loop *l, int a, int b, void (*ended)(void *ctx, struct splice *s),
                 void *ctx, struct splice **ret, struct err *err);
void splice_free(struct splice *s); /* ends it without a word; NULL is a no-op */

#endif
