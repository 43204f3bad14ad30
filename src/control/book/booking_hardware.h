/*
 * booking_hardware: what nodes have, as far as it can be booked, and what a unit of it is worth in GPUs.
 *
 * Where Berth places pods, a node has as many of each MIG profile as its GPUs could be sliced into, and of whole GPUs
 * as many as there are; elsewhere it has what its status says is allocatable. Whether a node is ready does not count:
 * quota is not taken away for a restart, and work there waits by itself. When there are nodes on which Berth places
 * pods, others count for nothing.
 *
 * Fed with every change of a Node; only what matters is kept, so that telemetry is no news.
 */
#ifndef BERTH_CONTROL_BOOKING_HARDWARE_H
#define BERTH_CONTROL_BOOKING_HARDWARE_H

#include "control/load/translate.h"

#define BOOKING_GPU_PREFIX "nvidia.com/"

enum { BOOKING_WHOLE = 1000000 }; /* a GPU, in millionths */

struct booking_device {
    struct str resource;
    int64_t share; /* of a GPU, by memory, in millionths; 0: not known */
};

struct booking_node {
    const struct object *obj; /* a reference */
    bool managed;
    int64_t cards;
    struct node_amount *amounts;
    size_t n_amounts;
    struct booking_device *devices;
    size_t n_devices;
};

struct booking_hardware {
    struct map nodes; /* name -> struct booking_node */
    size_t n_managed;
    uint64_t version; /* rises with every change that matters */
};

void booking_hardware_init(struct booking_hardware *h);
void booking_hardware_release(struct booking_hardware *h);
/* A node came or changed; `a` is for scratch. *ret_changed: what can be booked did. ERR_NOMEM, or what is wrong with
 * the object: then it counts as it did before. */
int booking_hardware_put(struct booking_hardware *h, const struct object *o, struct arena *a,
                         bool *ret_changed);
bool booking_hardware_del(struct booking_hardware *h, struct str name); /* true: it was there */

/* NULL: it does not count. */
const struct booking_node *booking_hardware_next(const struct booking_hardware *h, size_t *pos);
int64_t booking_node_amount(const struct booking_node *n, struct str resource);
int64_t booking_node_share(const struct booking_node *n, struct str resource);

#endif
