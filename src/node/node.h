/*
 * node: one machine. Its GPUs, their slices, and the pods that are bound to it.
 *
 * `berth node` is a process of its own: it registers a Node, watches the pods whose spec.nodeName
 * is that Node, and runs each under a shim of its own, so that a training run survives a restart of
 * `berth node` and of `berth up`. It talks to the API as any client would.
 *
 * Hidden verbs. The binary must offer four verbs to itself, before it parses anything else:
 *
 *     berth shim ...           return shim_main(argc - 1, argv + 1);
 *     berth nvml-helper ...    return nvml_helper_main(argc - 1, argv + 1);
 *     berth router ...         return router_main(argc - 1, argv + 1);
 *     berth image-get ...      return image_get_main(argc - 1, argv + 1);
 *
 * In the data folder:
 *
 *     pods/<uid>/spec.json     what the shim runs: written once, before the shim starts
 *     pods/<uid>/state.json    what happened: written by the shim alone, by rename
 *     pods/<uid>/log/...       container logs (logread.h)
 *     pods/<uid>/root/...      working folders and volumes
 *     pods/<uid>/layers/...    what containers with an image wrote
 *     images/                  unpacked images (image_store.h)
 *     volumes/                 folders of PersistentVolumes, and snapshots (volume_files.h)
 *     node/                    uid ranges of projects, the MIG journal, GPUs out of service, the simulated GPUs
 */
#ifndef BERTH_NODE_NODE_H
#define BERTH_NODE_NODE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "net/loop.h"

/* What a container's files are. PROCESS: the machine's; images are not looked at. PODMAN: its image's, which podman
 * fetches. AUTO: the image's where podman is installed and the image can be had, else the machine's. The walls are the
 * same. */
enum node_runtime { NODE_RUNTIME_AUTO, NODE_RUNTIME_PROCESS, NODE_RUNTIME_PODMAN };

#define NODE_POD_RANGE "10.42.0.0/16"
#define NODE_SERVICE_RANGE "10.43.0.0/16"

struct node_options {
    struct loop *loop;
    struct log *log;
    const char *kubeconfig; /* NULL: $KUBECONFIG, else ~/.kube/config */
    const char *data_dir;   /* made when missing, 0711 */
    const char *name;       /* NULL: the host name, in lower case */
    /* "auto", "none", "sim:8xh200", "sim:1xh200", "sim:4xa100-80gb"; NULL: "auto" */
    const char *gpus;
    enum node_runtime runtime;
    bool
        require_isolation; /* refuses to start where something is missing that keeps pods apart, and pods whose limits
                                  do not hold */
    bool manage_mig;       /* the MIG mode of real GPUs may be changed */
    const char *nvml_path; /* of libnvidia-ml.so.1; NULL: found */
    /* Ranges of the addresses of pods and of Services; NULL: 10.42.0.0/16 and 10.43.0.0/16. */
    const char *pod_range, *service_range;
    /* Networks of pods: "auto" (their own where this machine can make them), "own" (or do not start), "host"; the way
     * out of them: "auto", "pasta", "none". NULL: "auto". */
    const char *pod_network, *uplink;
    const char *host_path_dir; /* hostPath volumes must lie below; NULL: none are allowed */
    const char *weights_dir; /* file:// weights of models must lie below; NULL: none are allowed */
    const char *image_hosts; /* registries of images (image_hosts.h); NULL: any */
    const char *program;     /* offers the hidden verbs; NULL: this executable */
    /* Called once, when the Node is registered and its pods are known. May be NULL. */
    void (*ready)(void *ctx);
    /* Called when the node cannot go on (it never could reach the API, say). May be NULL. */
    void (*failed)(void *ctx, const struct err *err);
    void *ctx;
};

struct node;

/* Begins; everything else happens on the loop. The option strings are copied. */
int node_start(const struct node_options *o, struct node **ret, struct err *err);
/* Leaves the pods running, marks nothing, closes what it holds; stopped comes on the loop thread.
 */
void node_stop(struct node *n, void (*stopped)(void *ctx), void *ctx);
void node_free(struct node *n); /* NULL is a no-op; also without node_stop */

/* The whole process: starts, runs the loop until SIGTERM or SIGINT, stops. Returns an exit status.
 * o->loop may be NULL: then it makes one. Prints nothing but through o->log. */
int node_main(const struct node_options *o);

/* For `berth down`: ends every pod of the data folder, whether or not a node runs: stop, grace,
 * kill, down to the last descendant. Blocks at most grace_ms and a little. *ret_killed (may be
 * NULL) counts pods that were alive. Stop `berth node` first, or it will start them again. */
int node_kill_all(const char *data_dir, int64_t grace_ms, int *ret_killed, struct err *err);

/* What keeps the pods of this machine apart, and what is missing of it; see sandbox_describe, sandbox_lacks. Takes
 * some milliseconds: it is tried. */
void node_isolation(struct buf *ret_has, struct buf *ret_lacks);

/* The hidden verbs; shim_main is the program berth-shim as well, where that is installed (shim_program.c). */
int shim_main(int argc, char **argv);
int nvml_helper_main(int argc, char **argv);
int router_main(int argc, char **argv);
int image_get_main(int argc, char **argv);
int probe_tls_main(int argc, char **argv);

#endif
