/*
 * network: the node's side of the pods' network: starts the router or finds the one that runs, gives each pod an
 * address, and keeps the router told of Services and policies.
 *
 * The router outlives the node. What it has (pods, their addresses) is asked of it at the start; records are told to it
 * whole then, and it drops what it was not told again.
 */
#ifndef BERTH_NODE_NET_NETWORK_H
#define BERTH_NODE_NET_NETWORK_H

#include <stdint.h>

#include "base/log.h"
#include "base/str.h"
#include "net/loop.h"

struct network;

struct network_options {
    struct loop *loop;
    struct log *log;
    const char *program, *data_dir; /* kept */
    const char *pods, *services;    /* "10.42.0.0/16"; kept */
    const char *uplink;             /* "auto", "pasta", "none"; kept */
    /* "127.0.0.1:6443": the API server, for pods; "": they do not reach it; kept */
    const char *api;
    /* The router is there: pods may be attached. Comes once, and again after the router was lost; the networks of pods
     * that ran then are lost. err: there is none and will be none. */
    void (*ready)(void *ctx, const struct err *err);
    /* A pod has its address, and will be attached after this: its walls can be told first. */
    void (*attaching)(void *ctx, struct str uid);
    void *ctx;
};

int network_start(const struct network_options *o, struct network **ret, struct err *err);
void network_free(struct network *n); /* the router stays */

/* done comes once, on the loop thread: code 0, the address, and the path of the namespace, valid during the call. A pod
 * that is attached already keeps what it has. */
typedef void network_attached(void *ctx, int code, struct str ip, struct str netns,
                              const struct err *err);
void network_attach(struct network *n, struct str uid, struct str ns, network_attached *done,
                    void *ctx);
/* Also one that is not attached. ended: all processes of the pod have, for certain (link_pool.h). */
void network_detach(struct network *n, struct str uid, bool ended);
/* Detaches what nobody knows any more. */
void network_keep(struct network *n, bool (*known)(void *ctx, struct str uid), void *ctx);
/* The address of a pod that is attached or about to be, or "". */
struct str network_ip(const struct network *n, struct str uid);

/* A record for the router (model.h): json has its key. */
void network_put(struct network *n, struct str key, struct str json);
void network_drop(struct network *n, struct str key);

/* "" where the router has none of its own: then pods' shims stay in the machine's. */
struct str network_userns(const struct network *n);
bool network_uplink(const struct network *n);
/* The first of the machine's routes that the range of pods hides from them, as text; false: none. */
bool network_overlap(const struct network *n, char out[32]);

#endif
