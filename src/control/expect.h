/*
 * expect: has the mirror caught up with what this controller wrote?
 *
 * Between a write's completion and its arrival in the mirror (at once when embedded, a moment later on a cluster), a
 * controller would decide from a stale picture and, say, create its pods twice. So each object written is remembered
 * under the key whose work wrote it until the mirror shows that version, or a newer one, or its deletion. Work on a key
 * waits while expect_met says no; the feed that brings the change adds the key again anyway. What is not seen for five
 * minutes is given up: better a second look than a key that waits for ever.
 */
#ifndef BERTH_CONTROL_EXPECT_H
#define BERTH_CONTROL_EXPECT_H

#include "mirror/mirror.h"

struct expect;

struct expect *expect_new(struct mirror *m, struct clock *clock); /* NULL: out of memory */
void expect_free(struct expect *e);

/* obj came back from a create or patch made for key (ns, name). Remembers it unless the mirror has it already. Out of
 * memory it remembers nothing: the decision is then made from what is seen, as a conflict would show. */
void expect_written(struct expect *e, struct str ns, struct str name, const struct object *obj);
/* obj came back from a removal: waits until it is gone, or being deleted. */
void expect_removed(struct expect *e, struct str ns, struct str name, const struct object *obj);
/* From the feeds of the kinds written, before the key is added to a queue. */
void expect_seen(struct expect *e, const struct change *c);
/* True: go ahead. False: *ret_wait_ns (may be NULL) is when to look again at the latest. */
bool expect_met(struct expect *e, struct str ns, struct str name, int64_t *ret_wait_ns);
size_t expect_count(const struct expect *e);

#endif
