/*
 * nft: applies rules, by libnftables, in the network namespace of the calling thread. The only file that knows it.
 */
#ifndef BERTH_NODE_NET_NFT_H
#define BERTH_NODE_NET_NFT_H

#include "base/buf.h"
#include "base/err.h"

struct nft;

struct nft *nft_new(struct err *err); /* NULL and err: not here */
void nft_free(struct nft *n);
/* One transaction: all of it or nothing. text is ended with a NUL by this. */
int nft_apply(struct nft *n, struct buf *text, struct err *err);

#endif
