/*
 * worker: struct offload (base/offload.h) on one thread of its own, which answers by the loop's posts.
 *
 * One thread, because what-if runs may not take the machine from the API; WORKER_WAITING_MAX jobs may wait.
 */
#ifndef BERTH_WORLD_WORKER_H
#define BERTH_WORLD_WORKER_H

#include "base/offload.h"
#include "net/loop.h"

enum { WORKER_WAITING_MAX = 64 };

struct worker;

/* The thread starts with the first job. */
struct worker *worker_new(struct loop *l); /* NULL: out of memory */
struct offload *worker_offload(struct worker *w);
/* Stops what runs and forgets what waits; done is called for each of them before this returns. Not from a job. */
void worker_free(struct worker *w);

#endif
