/*
 * pods: the pods of this node, each a small state machine between the API and its shim.
 *
 *     NEW -> DEVICES -> PREPARING -> STARTING -> RUNNING -> OVER
 *                                        \-> STOPPING -/
 *
 * The truth about a pod's processes is its folder (spec.json, state.json and the lock its shim
 * holds); the truth about what should be is the API. This only moves the one towards the other, so
 * a restart of the node forgets nothing. What can come right by itself (a ConfigMap that is
 * missing, a place of a slice that is taken) is tried again; what cannot fails the pod with a
 * reason.
 */
#ifndef BERTH_NODE_PODS_H
#define BERTH_NODE_PODS_H

#include "base/log.h"
#include "mirror/object.h"
#include "mirror/writer.h"
#include "net/loop.h"
#include "node/gpu/gpus.h"
#include "node/sandbox/sandbox.h"
#include "node/sandbox/users.h"
#include "node/spec/pod_env.h"

struct images;
struct network;
struct pods;

/* A source of a pod's files (pod_env.h); of tokens the pod that they are bound to. */
struct pod_fetch {
    enum pod_source kind;
    struct str ns, name, pod, pod_uid;
};

struct pods_options {
    struct loop *loop;
    struct log *log;
    struct writer *writer;
    struct gpus *gpus; /* or NULL */
    struct users *users;
    const struct sandbox_probe *probe;
    const char *data_dir, *program, *node_name, *host_path_dir, *weights_dir;
    struct images *images;  /* NULL: pods are processes, and their images are not looked at */
    const char *images_dir; /* DATA/images */
    bool images_always; /* a pod whose image cannot be had waits, though it could be processes */
    bool strict;        /* a limit that the kernel does not take stops its pod */
    struct network *network; /* NULL: pods use the machine's own */
    struct pod_facts facts;
    /* Gets what a pod is made of; done(done_ctx, code, json) comes later, once, on the loop thread. */
    void (*fetch)(void *ctx, const struct pod_fetch *what,
                  void (*done)(void *done_ctx, int code, struct str json), void *done_ctx);
    /* Services of a namespace that have an address; each returns false to stop. NULL: none. */
    void (*services)(void *ctx, struct str ns,
                     bool (*each)(void *each_ctx, struct str name, yyjson_val *spec),
                     void *each_ctx);
    void *ctx;
};

/* Starts the shim server and finds the pods that are already here. */
struct pods *pods_new(const struct pods_options *o, struct err *err);
/* Leaves all processes as they are. */
void pods_free(struct pods *p);
void pods_set_gpus(struct pods *p, struct gpus *gpus);
void pods_set_network(struct pods *p, struct network *n); /* NULL: there is none after all */
/* Without root, pods' network namespaces belong to this user namespace ("": to none of the kind), which their shims
 * are to join: those that start from now on. */
void pods_set_userns(struct pods *p, struct str path);

/* From the API: a pod of this node, new or changed; one that no longer exists; the first list is
 * complete. */
void pods_put(struct pods *p, const struct object *pod);
void pods_gone(struct pods *p, const struct object *pod);
void pods_synced(struct pods *p);

bool pods_alive(void *pods, struct str uid);            /* has, or may have, processes */
bool pods_has(const struct pods *pods, struct str uid); /* is not over */
/* The hardware under a pod failed: it is ended, and told why. */
void pods_trouble(struct pods *p, struct str uid, const char *why);
/* pods_claims.c: the volume of a claim holds more than its size: the pods that use it are evicted. */
void pods_claim_over(struct pods *p, struct str ns, struct str claim, const char *why);

struct pods_count {
    size_t running, waiting, over;
};
struct pods_count pods_count(const struct pods *p);

#endif
