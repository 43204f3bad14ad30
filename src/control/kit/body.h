/*
 * body: parts of request bodies that several controllers write: times, conditions.
 */
#ifndef BERTH_CONTROL_BODY_H
#define BERTH_CONTROL_BODY_H

#include "api/tables/view_meta.h"
#include "base/buf.h"

/* Members shared by bodies: `,"name":"2026-..."` (null for 0), and a list of conditions. */
void write_time(struct buf *out, const char *name, int64_t ns);
void write_conditions(struct buf *out, const struct condition_list *l, bool with_probe);

#endif
