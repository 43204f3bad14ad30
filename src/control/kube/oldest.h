/*
 * oldest: of the objects of a kind, the oldest beyond a number go. For controllers that keep a table from growing.
 */
#ifndef BERTH_CONTROL_OLDEST_H
#define BERTH_CONTROL_OLDEST_H

#include "control/kit/controller.h"

struct oldest {
    const struct kind *kind;
    size_t keep; /* so many stay; 0: all */
    size_t most; /* removed at a time */
    /* Which are counted; NULL: all. Cheap: it is asked of every one. */
    bool (*counts)(const struct object *o);
    /* Asked again of one that is to go; NULL: it may. */
    bool (*may_go)(struct arena *a, const struct object *o);
    int64_t grace_seconds;
};

/* Removes in the round; true: more are to go than `most`. Takes memory from the step's arena. */
bool oldest_remove(struct controller *c, struct round *r, const struct oldest *how);

#endif
