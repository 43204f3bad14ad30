/*
 * model: what the router was told of Services and policies. The node keeps it equal to the API; a router without a
 * node goes on with what it has.
 *
 * Records, one JSON object each, named by `key`:
 *
 *     svc/NS/NAME   {"ip":"10.43.0.5","affinity":10800,"external":"example.org",
 *                    "ports":[{"name":"http","protocol":"TCP","port":80,"nodePort":30080,"to":["10.42.0.2:80"]}],
 *                    "hosts":[{"ip":"10.42.0.2","host":"web-0"}]}
 *                   ip "" or "None": headless, names alone. `to` are ready endpoints; `hosts` who has a name.
 *     wall/ID       ID is i... for what comes in, o... for what goes out
 *                   {"rules":[{"cidr":["10.0.0.0/8"],"not":["10.1.0.0/16"],"ports":["tcp/80","udp/53-60"]}]}
 *                   what is let through, in one direction; a rule without cidr (ports) is for all. No rule: nothing.
 *     pod/IP        {"in":"ID","out":"ID","closed":true}
 *                   walls of a pod; a direction that is not named is open. closed: no names but those of the cluster.
 */
#ifndef BERTH_NODE_NET_MODEL_H
#define BERTH_NODE_NET_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "wire/json/json.h"

enum { MODEL_TCP = 6, MODEL_UDP = 17, MODEL_SCTP = 132 };

struct model_endpoint {
    uint32_t ip;
    uint16_t port;
};
struct model_port {
    struct str name;
    uint8_t protocol;
    uint16_t port, node_port; /* node_port 0: none */
    struct model_endpoint *to;
    size_t n_to;
};
struct model_host {
    uint32_t ip;
    struct str name; /* empty: none of its own */
};
struct model_service {
    struct arena arena; /* of all below */
    struct str key, ns, name, external;
    uint32_t id, ip;  /* id: of this router, never used again; ip 0: headless */
    int64_t affinity; /* seconds; 0: none */
    struct model_port *ports;
    size_t n_ports;
    struct model_host *hosts;
    size_t n_hosts;
    bool marked; /* told again since "begin" */
};
struct model_rule {
    struct str *cidr, *except,
        *ports; /* checked texts, as nft takes them; ports "tcp dport 80-90" */
    size_t n_cidr, n_except, n_ports;
};
struct model_wall {
    struct arena arena;
    struct str key;
    struct model_rule *rules;
    size_t n;
    bool marked;
};
struct model_pod {
    char key[24]; /* "10.42.0.2" */
    uint32_t ip;
    char in[32], out[32]; /* ids of walls; "" is open */
    bool closed, marked;
};

struct net_model {
    struct map services; /* "NS/NAME" */
    struct map walls;    /* "ID" */
    struct map pods;     /* "IP" */
    uint32_t last_id;
    /* What changed: what was there (NULL: nothing), what is there now (NULL: it has gone). */
    void (*service)(void *ctx, const struct model_service *was, const struct model_service *now);
    void (*wall)(void *ctx, const struct model_wall *was, const struct model_wall *now);
    void (*pod)(void *ctx, const struct model_pod *was, const struct model_pod *now);
    void *ctx;
};

/* record: the JSON object with its key. ERR_INVALID names what is wrong; nothing is changed then. */
int model_put(struct net_model *m, yyjson_val *record, struct err *err);
void model_drop(struct net_model *m, struct str key);
/* Everything that is not told again between the two is dropped. */
void model_begin(struct net_model *m);
void model_end(struct net_model *m);
void model_release(struct net_model *m);

const struct model_service *model_service_named(const struct net_model *m, struct str ns,
                                                struct str name);
const struct model_pod *model_pod_at(const struct net_model *m, uint32_t ip);

/* "10.42.0.2"; "10.42.0.0/16" where bits is not NULL (an address alone is /32). */
bool model_ip(struct str text, uint32_t *ret_ip, int *ret_bits);
/* "10.42.0.2:8000" */
bool model_endpoint(struct str text, struct model_endpoint *ret);
void model_ip_text(uint32_t ip, char out[16]);

#endif
