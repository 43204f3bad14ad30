/*
 * kinds_foreign: kinds of other projects that Berth queues, for a world in which somebody else serves them.
 *
 * A row has no table of fields: all of an object is kept as it is, and whoever acts on one knows the few paths that it
 * needs (integration.h). Where projects differ, several versions are understood; the first is preferred. `berth
 * operate` adds (kinds_add) those that its cluster serves; the embedded server makes rows of its own from
 * CustomResourceDefinitions, with the same group and kind.
 */
#ifndef BERTH_API_KINDS_FOREIGN_H
#define BERTH_API_KINDS_FOREIGN_H

#include "api/schema/kind.h"

/* The rows, static. */
const struct kind *kinds_foreign(size_t *ret_n);

#endif
