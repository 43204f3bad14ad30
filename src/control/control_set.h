/*
 * control_set: which controllers run, by names that people write: `--controllers kueue,-workloads`.
 *
 * A list of words with commas, read from left to right; each adds to the set, and with a '-' before it takes away. A
 * list that begins by taking away begins with `all`. Group words stand for what one other program would run:
 *
 *     all          every controller of this world
 *     none         nothing
 *     kubernetes   what a kube-controller-manager does: bootstrap, namespaces, service-accounts, garbage-collector,
 *                  jobs, nodes, roles, event-ttl, endpoints, cron-jobs, disruptions, quotas, apps,
 *                  volumes, autoscaling
 *     kueue        what Kueue's manager does: queues, job-queue, workloads
 */
#ifndef BERTH_CONTROL_CONTROL_SET_H
#define BERTH_CONTROL_CONTROL_SET_H

#include "base/buf.h"
#include "base/err.h"
#include "control/control.h"

struct control_list {
    unsigned set; /* of enum control_set */
    /* Those of them whose own word, or group word, was written ("all" names nothing) */
    unsigned named;
};

/* `all`: what that word means here. ERR_BAD_REQUEST names the word and lists those there are. */
int control_set_parse(struct str list, unsigned all, struct control_list *ret, struct err *err);
/* The words of a set, with commas; "none" for the empty one. */
void control_set_words(unsigned set, struct buf *out);

#endif
