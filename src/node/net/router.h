/*
 * router: the process that holds the network of this machine's pods. Inside the node room only; the hidden verb
 *
 *     berth router --data DIR --pods 10.42.0.0/16 --services 10.43.0.0/16 --uplink auto|pasta|none
 *
 * starts it (router_main in node/node.h), and it outlives the node that did, as pods do. Two processes: the *keeper*
 * stays in the machine's own network and does there what the other asks for (a listener on loopback for a NodePort, a
 * question to the machine's name servers, the way out by `pasta`); the *worker* lives in a network namespace of its
 * own, inside a user namespace where the kernel allows one, so that nothing it does can touch the machine's network.
 *
 *     machine's network         router's namespace                       pods
 *     -----------------         ----------------------------------      -------------
 *     keeper                    worker: DNS on the gateway's address     eth0 10.42.0.2
 *     127.0.0.1:30080 ------->  nftables: Services, policies  <-- veth --/
 *     pasta <----- tap -------  routes: one host route a pod  <-- veth ---- eth0 10.42.0.3
 *
 * Pods are routed, not bridged: every packet between two pods passes the rules of the router, and no pod can answer for
 * the address of another (strict reverse-path filter, one interface a pod). The gateway of all pods is the first
 * address of their range.
 *
 * Who talks to it: the node, in JSON lines on the socket DIR/node/router.sock:
 *
 *     {"op":"attach","uid":"...","ip":"10.42.0.2","ns":"default"}
 *                                                    a namespace for a pod; answer {"uid","netns"} or {"uid","error"}
 *     {"op":"adopt","uid":"...","ip":"..."}              it has a link from before the worker was another; no answer
 *     {"op":"detach","uid":"...","ended":true}           ended: all of its processes have (link_pool.h)
 *     {"op":"hello"}                                     answer {"pods":[{"uid","ip"}],"userns","uplink"}
 *     {"op":"begin"} {"op":"put",...} ... {"op":"end"}   everything that is known of Services; model.h has the records
 *     {"op":"put",...} {"op":"drop","key":"..."}         what changed
 *     {"op":"socket","type":"tcp"}                       a socket made in the router's namespace (pod_net.h)
 *     {"op":"api","to":"127.0.0.1:6443"}                 where the API server listens (api_way.h); "" is nowhere
 *     {"op":"stop"}
 *
 * A router that no node has talked to for a while, and whose pods have all ended, ends.
 */
#ifndef BERTH_NODE_NET_ROUTER_H
#define BERTH_NODE_NET_ROUTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "net/loop.h"
#include "node/net/link_pool.h"
#include "node/net/rules.h"

enum { ROUTER_LINE_MAX = 8 << 20, ROUTER_CLIENTS_MAX = 256 };
#define ROUTER_SOCKET "router.sock"
#define ROUTER_LOCK "router.lock"

struct router_options {
    const char *data_dir; /* absolute */
    uint32_t pods, services;
    int pods_bits, services_bits;
    bool uplink;        /* wanted, where pasta is installed */
    bool uplink_wanted; /* asked for by name: its absence is an error */
};

/* Asks the keeper, and waits for its answer, which is quick. */
struct outside {
    int fd;
};
/* router_keeper.c. A socket in the machine's network: SOCK_STREAM, listening on 127.0.0.1:port, or SOCK_DGRAM. -1 and
 * err. */
int outside_socket(struct outside *o, int type, uint16_t port, struct err *err);
/* A connection in the machine's network, which may not have come about yet. from 0: of any address. -1 and err. */
int outside_connect(struct outside *o, const struct model_endpoint *to, uint32_t from,
                    struct err *err);
/* The namespaces that the worker is in outlive it. */
void outside_hold(struct outside *o, bool own_user);
/* Starts the way out, for the worker; 0 once the link is there. */
int outside_uplink(struct outside *o, bool own_user, struct err *err);
/* The outer half, until the worker has ended of its own will; then everything of it has. One that was killed is
 * followed by another in the same namespaces, which the keeper holds: links and addresses of pods are there still.
 * start: in the child, with its end of the line to the keeper and the namespaces (-1: to be made); does not return. */
struct router_spaces {
    int user, net;
};
int router_keep(void (*start)(void *ctx, int line, const struct router_spaces *in), void *ctx);

struct router_pod {
    char uid[64];
    uint32_t ip;
    struct pod_link *link; /* NULL: it was made by a worker before this one */
};

struct router {
    struct router_options o;
    struct loop *loop;
    struct outside outside;
    int ns_fd; /* of its own network namespace */
    int netlink;
    bool own_user;   /* a user namespace of its own */
    bool uplink;     /* is there */
    struct map pods; /* uid -> struct router_pod */
    struct link_pool links;
    struct timer *filler; /* makes links ahead, when nobody has asked for one for a moment */
    struct net_model model;
    struct net_rules rules;
    struct nft *nft;
    struct resolver *resolver;
    struct node_ports *ports;
    struct api_way *api;
    struct router_serve *serve;
    bool apply_soon;
    struct timer *idle;
    int idle_rounds;
};

uint32_t router_gateway(const struct router_options *o);
/* The API's address among those of Services: the first. */
uint32_t router_api(const struct router_options *o);

/* router_pods.c */
int router_attach(struct router *r, struct str uid, struct str ns, uint32_t ip,
                  struct router_pod **ret, struct err *err);
void router_adopt(struct router *r, struct str uid, uint32_t ip);
/* ended: all processes of the pod have, for certain. */
void router_detach(struct router *r, struct str uid, bool ended);
void router_pods_release(struct router *r);
/* Detaches pods that have no shim any more; true when none is left. */
bool router_pods_sweep(struct router *r);

/* router_serve.c: the socket of the node. */
int router_serve_start(struct router *r, int listen_fd, struct err *err);
bool router_serve_busy(const struct router *r); /* a node is connected */
void router_serve_free(struct router_serve *s);

/* Soon, when nobody asks for one: links are made ahead. */
void router_fill(struct router *r);

/* After a change of the model: rules, listeners and names follow, soon. */
void router_changed(struct router *r);

#endif
