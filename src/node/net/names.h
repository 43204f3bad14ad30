/*
 * names: answers questions about names from the model: Services, headless sets, their pods' host names. Pure.
 *
 *     SERVICE.NS.svc.cluster.local            its address, or those of all its pods; an alias
 *     HOST.SERVICE.NS.svc.cluster.local       a pod of a headless Service (StatefulSet, indexed Job)
 *     _PORT._PROTOCOL.SERVICE.NS.svc...       SRV
 *     A-B-C-D.NS.pod.cluster.local            the address that it says, when a pod has it
 */
#ifndef BERTH_NODE_NET_NAMES_H
#define BERTH_NODE_NET_NAMES_H

#include "base/buf.h"
#include "node/net/model.h"
#include "wire/text/dns.h"

#define NAMES_ZONE "cluster.local"
enum { NAMES_TTL_S = 5, NAMES_ANSWERS_MAX = 1000 };

/* true: the question is about a name of the cluster, and out has the answer (max bytes at most). false: nobody here
 * knows; it may be asked of others, and nothing was written. turn spreads what comes first. */
bool names_answer(const struct net_model *m, const struct dns_question *q, unsigned turn,
                  size_t max, struct buf *out);
/* The question is about an alias of a name outside of the cluster: whose addresses are to be asked of others first. */
bool names_alias(const struct net_model *m, const struct dns_question *q, struct str *ret_target);
/* The answer then, with what others said. */
void names_answer_alias(const struct dns_question *q, struct str target, const uint32_t *ips,
                        size_t n, size_t max, struct buf *out);
/* An answer without records. */
void names_refuse(const struct dns_question *q, int rcode, struct buf *out);

#endif
