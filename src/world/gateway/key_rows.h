/*
 * key_rows: from ModelKeys and Namespaces to the gateway's keys. Pure: reads a mirror.
 *
 * A key is what its object says, bounded by its project: the priority is at most that of the Namespace, the project's
 * limits and weight are those of the Namespace's annotations (api/serving/view_key.h). The secrets of
 * revoked keys, and of those that are being deleted, are nobody's. Two objects with the same secret: the older one has
 * it, so that nobody can take another's key over by copying its digest.
 */
#ifndef BERTH_WORLD_KEY_ROWS_H
#define BERTH_WORLD_KEY_ROWS_H

#include "base/arena.h"
#include "base/log.h"
#include "gateway/key_store.h"
#include "mirror/mirror.h"

struct key_project {
    struct routes_limits limits;
    int32_t weight, priority_max;
};

/* What a Namespace says; absent or broken: no limit, weight 1, priority 0. Broken ones are logged to log (may be
 * NULL). */
struct key_project key_project_of(const struct mirror *m, struct str ns, struct log *log);

/* A set of all keys; ERR_NOMEM. */
int key_rows_make(const struct mirror *m, struct log *log, struct key_set **ret, struct err *err);
/* A number for a subject or uid: the same for the same text, not 0. */
uint64_t key_number(struct str text);

#endif
