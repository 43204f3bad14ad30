/* ledger_private: declarations shared by the files of the ledger. */
#ifndef BERTH_SIM_LEDGER_PRIVATE_H
#define BERTH_SIM_LEDGER_PRIVATE_H

#include "sim/ledger.h"

/* The class of a Workload, as Kueue's load generator labels it. */
#define LEDGER_CLASS_LABEL "kueue.x-k8s.io/performance-scheduler-class"

void ledger_no_memory(struct ledger *l);

/* ledger_quota.c */
void ledger_on_quota(void *ctx, const struct change *ch);
/* Trees and capacities as they are written now, when quota was edited. */
void ledger_settle(struct ledger *l);
/* Made when it is not known; NULL for no name, and out of memory. */
struct ledger_queue *ledger_queue_of(struct ledger *l, struct str name);
/* The number of a pair; LEDGER_PAIRS when there are too many: the ledger has failed. */
unsigned ledger_pair(struct ledger *l, struct str flavor, struct str resource);
void ledger_use_add(struct ledger *l, struct ledger_use *u, int64_t v);
/* The queue's share, after its usage changed. */
void ledger_share(struct ledger *l, struct ledger_queue *q);
/* So many Workloads more that are not over; q may be NULL. */
void ledger_open(struct ledger *l, struct ledger_queue *q, int64_t more);

#endif
