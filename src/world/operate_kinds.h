/*
 * operate_kinds: which kinds the controllers of `berth operate` read, and what of their objects is kept.
 */
#ifndef BERTH_WORLD_OPERATE_KINDS_H
#define BERTH_WORLD_OPERATE_KINDS_H

#include "api/kind.h"
#include "control/queue_settings.h"

enum { OPERATE_KINDS_MAX = 64 };

struct operate_kind {
    const struct kind *kind;
    bool required; /* nothing begins without it; others are followed when they are served */
};

/* Fills ret with what the controllers of `set` (enum control_set) read. Returns how many. */
size_t operate_kinds(unsigned set, const struct queue_settings *s,
                     struct operate_kind ret[static OPERATE_KINDS_MAX]);
/* kube_trim (kube/writer.h): of pods that nobody queues, only who they are, where they run and what they use; of nodes
 * no images; of everything no managed fields. */
void operate_trim(const struct kind *k, yyjson_mut_val *obj);

#endif
