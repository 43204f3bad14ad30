/*
 * body: parts of request bodies that several controllers write: times, conditions, an object without a finalizer.
 */
#ifndef BERTH_CONTROL_BODY_H
#define BERTH_CONTROL_BODY_H

#include "api/tables/view_meta.h"
#include "base/arena.h"
#include "base/buf.h"
#include "mirror/object.h"

/* A merge patch, conditional on the object's version, that takes one finalizer off. 0, ERR_NOMEM, or ERR_NOT_FOUND when
 * the object has no such finalizer. */
int write_without_finalizer(const struct object *o, const char *finalizer, struct arena *scratch,
                            struct buf *out);

/* Members shared by bodies: `,"name":"2026-..."` (null for 0), and a list of conditions. */
void write_time(struct buf *out, const char *name, int64_t ns);
void write_conditions(struct buf *out, const struct condition_list *l, bool with_probe);

#endif
