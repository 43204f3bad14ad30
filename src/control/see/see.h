/*
 * see: what answers questions about the queues and never decides: explanations, previews, the fleet,
 * the catalog of models.
 */
#ifndef BERTH_CONTROL_SEE_H
#define BERTH_CONTROL_SEE_H

#include "base/err.h"

struct see;
struct queue_controller;

/* Reads the controller's engine and records, and is outlived by it. NULL: out of memory. */
struct see *see_new(struct queue_controller *q, struct err *err);
void see_free(
    struct see *s); /* NULL is a no-op; questions under way are answered with ERR_UNAVAILABLE */

#endif
