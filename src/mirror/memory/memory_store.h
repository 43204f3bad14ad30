/*
 * memory_store: an API server's rules for changing objects, over a mirror that has no journal.
 *
 * For worlds that live in memory: the simulator, and tests. What controllers depend on is here: defaults, generateName,
 * uid, generation, the status and finalize subresources, finalizers, propagation, preconditions, graceful deletion of
 * pods. What the real server refuses (validation, authorization) is not. Every change is committed before the call
 * returns; uids and generated names count up, so that a run can be repeated.
 */
#ifndef BERTH_MIRROR_MEMORY_STORE_H
#define BERTH_MIRROR_MEMORY_STORE_H

#include "base/clock.h"
#include "mirror/mirror.h"
#include "mirror/writer.h"

struct memory_store {
    struct mirror *mirror;
    struct clock *clock;
    uint64_t serial;
};

/* 0 and *ret, a reference to the new state (for a removal the last one), or an error code. */
int memory_store_create(struct memory_store *s, const struct kind *k, struct str ns,
                        struct str json, const struct object **ret, struct err *err);
int memory_store_patch(struct memory_store *s, const struct kind *k, struct str ns, struct str name,
                       const char *sub, enum patch_type type, struct str body,
                       const struct object **ret, struct err *err);
int memory_store_remove(struct memory_store *s, const struct kind *k, struct str ns,
                        struct str name, const struct delete_options *o, const struct object **ret,
                        struct err *err);

#endif
