/*
 * gateway_child: `berth gateway` as a child process of `berth up`, on an address that is known before it starts.
 *
 * Where the user chose no port and the usual one is taken, another free one is: it is looked for by binding, claimed
 * among all Berths of the machine, and given up again for the child.
 */
#ifndef BERTH_WORLD_GATEWAY_CHILD_H
#define BERTH_WORLD_GATEWAY_CHILD_H

#include "base/log.h"
#include "net/loop.h"
#include "world/kit/address.h"

struct gateway_child;

struct gateway_child_options {
    struct loop *loop;
    struct log *log;
    const struct address *address;
    bool chosen;            /* the user says the address: no other will do */
    const char *kubeconfig; /* these two as long as the child */
    const char *data;
    const char *const *origins; /* of web pages that may ask it; as long as the child */
    size_t n_origins;
};

/* ERR_IO: the address cannot be had. */
int gateway_child_start(const struct gateway_child_options *o, struct gateway_child **ret,
                        struct err *err);
/* Streams under way have some seconds; stopped comes on the loop thread. */
void gateway_child_stop(struct gateway_child *c, void (*stopped)(void *ctx), void *ctx);
void gateway_child_free(struct gateway_child *c); /* NULL is a no-op; after stopped */
/* "http://127.0.0.1:8091" */
const char *gateway_child_url(const struct gateway_child *c);

#endif
