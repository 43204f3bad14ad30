/*
 * daemon_history: the ControllerRevisions of a DaemonSet, one for each template that it had, which `kubectl rollout
 * history` shows and `rollout undo` goes back to.
 *
 * A template's revision is called <set>-<hash> and numbered one above the newest; one that serves again is the newest
 * again. The oldest go, beyond as many as revisionHistoryLimit says, unless pods are of their template.
 */
#ifndef BERTH_CONTROL_DAEMON_HISTORY_H
#define BERTH_CONTROL_DAEMON_HISTORY_H

#include "api/tables/field.h"
#include "control/kit/controller.h"

struct daemon_history {
    const struct mirror *mirror;
    const struct kind *kind; /* ControllerRevision */
    const struct object *set;
    yyjson_val *tree; /* the set's */
    struct str hash;  /* of its template */
    struct opt_i32 limit;
    struct arena *arena;
    /* Are there pods of the template with this hash? */
    bool (*lives)(void *ctx, struct str hash);
    void *ctx;
};

/* Writes what is missing, and returns how many writes that takes; r NULL: only that. */
size_t daemon_history_keep(const struct daemon_history *h, struct round *r);

#endif
