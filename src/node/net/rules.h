/*
 * rules: the packet filter of the router as text for nft, changed by what differs.
 *
 * What should stand (chains and sets with their bodies, elements of maps) is compared with what stands already; only
 * the difference becomes text: a Service whose endpoints changed is one chain, whatever else there is. The text is one
 * transaction: packets see all of it or nothing. Pure: it is applied elsewhere (nft.h).
 */
#ifndef BERTH_NODE_NET_RULES_H
#define BERTH_NODE_NET_RULES_H

#include "base/buf.h"
#include "base/map.h"
#include "node/net/model.h"

/* More endpoints of one port are left out of the choice: see docs/networks.md. */
#define RULES_UPLINK "up0" /* the link on which the way out begins */
enum { RULES_ENDPOINTS_MAX = 4096, RULES_AFFINITY_MAX = 256 };

struct net_rules {
    uint32_t pods, services;
    int pods_bits, services_bits;
    struct map items;            /* struct rules_item by name: chains, sets, elements */
    struct rules_item **changed; /* since the last time */
    size_t n_changed, cap_changed;
    uint32_t round;
    int failed; /* 0 or ERR_NOMEM: the difference is not whole */
};

void rules_init(struct net_rules *r);
void rules_release(struct net_rules *r);
/* The whole table as it should stand now: at the start, and when a difference could not be applied. */
void rules_whole(struct net_rules *r, struct buf *out);
/* The difference since the last time; nothing is written where nothing changed. 0, or ERR_NOMEM: take it whole. */
int rules_take(struct net_rules *r, struct buf *out);

void rules_pod(struct net_rules *r, uint32_t ip, bool here);
/* was, now: either may be NULL. */
void rules_service(struct net_rules *r, const struct model_service *was,
                   const struct model_service *now);
void rules_wall(struct net_rules *r, const struct model_wall *was, const struct model_wall *now);
void rules_walls_of_pod(struct net_rules *r, const struct model_pod *was,
                        const struct model_pod *now);

#endif
