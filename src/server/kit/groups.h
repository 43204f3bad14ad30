/*
 * groups (server): the group-versions of all kinds, in the order of discovery: core first, then
 * the others by name.
 *
 * Made from the tables, and made again when the kinds change: valid until then. Within a group the preferred version is
 * first.
 */
#ifndef BERTH_SERVER_GROUPS_H
#define BERTH_SERVER_GROUPS_H

#include "api/schema/kind.h"

struct group_version {
    const char *group, *version;
};

const struct group_version *groups_all(size_t *ret_n);
/* Those of one group, which are neighbours there; NULL and 0: there is no such group. */
const struct group_version *groups_of(const char *group, size_t *ret_n);
/* The kinds of a group, in the order of kinds_all; without memory for the order: all kinds. */
const struct kind *const *groups_kinds(const char *group, size_t *ret_n);
/* The place of one of them there, or -1. */
ptrdiff_t groups_find(const char *group, const char *version);

#endif
