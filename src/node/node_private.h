/* node_private: declarations shared by the files of node. */
#ifndef BERTH_NODE_NODE_PRIVATE_H
#define BERTH_NODE_NODE_PRIVATE_H

#include "kube/client.h"
#include "kube/reflector.h"
#include "node/files/files.h"
#include "node/gpu/gpus.h"
#include "node/images/images.h"
#include "node/net/net_watch.h"
#include "node/net/network.h"
#include "node/node.h"
#include "node/node_self.h"
#include "node/pods/pods.h"
#include "node/volumes/volume_keeper.h"

struct node {
    struct node_options o;
    struct loop *loop;
    struct log *log;
    struct clock *clock;
    char name[254], program[PATH_LEN], data_dir[PATH_LEN], dir[PATH_LEN], stub[PATH_LEN];
    char sim_gpus[64], sim_state[PATH_LEN + 32];
    char **sim_env;
    int lock_fd;
    struct kube_client *kube;
    struct writer *writer;
    struct mirror *mirror;
    struct feed *feed;
    struct reflector *reflector;
    struct nvml_client *nvml;
    struct gpus *gpus;
    bool want_gpus; /* asked for by name: their absence is an error */
    size_t gpu_count;
    struct users users;
    struct sandbox_probe probe;
    struct images *images; /* NULL: pods are processes of the machine */
    char images_dir[PATH_LEN];
    struct pods *pods;
    struct node_self *self; /* NULL until the Node is registered */
    struct volume_keeper *volumes;
    struct network *network;
    struct net_watch *net_watch;        /* of Services and policies; NULL: not yet, or no network */
    bool no_network;                    /* there will be none */
    bool network_due;                   /* whether there is one is not known yet */
    bool watch_due;                     /* pods are watched as soon as it is */
    char gateway[16], network_why[200]; /* why there is none */
    struct arena arena;                 /* as long as the node */
    char api[24], api_service[16];      /* where pods reach the API server: see struct pod_facts */
    struct str authority;
    int64_t cpu_milli, memory, disk; /* disk: of the data folder's file system; 0: not told */
    char machine_id[64], kernel[128], os[128];
    /* node_publish.c */
    struct timer *heartbeat, *publish_timer;
    bool registered, publishing, publish_again, status_writing;
    char *published, *published_status; /* what the API has, to write only changes */
    int64_t status_written_mono;
    uint64_t events;
};

void node_fail(struct node *n, const struct err *err);
void node_watch_pods(struct node *n);
bool node_pod_alive(void *node, struct str uid);

/* node_fetch.c */
int node_find_api(struct node *n, struct err *err);
void node_fetch(void *node, const struct pod_fetch *what,
                void (*done)(void *done_ctx, int code, struct str json), void *done_ctx);

/* node_publish.c: Node, its status, its Lease, its events. */
void node_read_machine(struct node *n);
void node_register(struct node *n);
void node_publish(struct node *n); /* soon */
void node_on_heartbeat(void *node);
void node_on_publish(void *node);
void node_event(struct node *n, bool warning, const char *reason, const char *text);

#endif
