/*
 * evict (server): the eviction of a pod: its deletion, where its disruption budget allows that.
 *
 * The budget's status is checked and charged in the step that stages the deletion (api/disruption.h), in one batch with
 * it: of evictions that come together no more are allowed than there is room for. Pods that have ended, wait to be
 * placed or are deleted already, are in nobody's budget.
 */
#ifndef BERTH_SERVER_EVICT_H
#define BERTH_SERVER_EVICT_H

#include "server/write/pipeline.h"

/* w is of a pod, with its delete_options; w->done is called in the end. */
void evict_run(struct write *w);
/* For remove.c: w->doc is the pod that is evicted, which gets its condition. 0 or ERR_NOMEM. */
int evict_mark(struct write *w);

#endif
