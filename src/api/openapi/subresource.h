/*
 * subresource: the subresources of a resource, for discovery and OpenAPI.
 */
#ifndef BERTH_API_SUBRESOURCE_H
#define BERTH_API_SUBRESOURCE_H

#include "api/schema/kind.h"

struct subresource {
    const char *name;
    const char *group, *version, *kind; /* of its body; kind NULL: the resource's own */
    const char *verbs;                  /* as discovery has them: JSON, in order */
};

/* The i-th of a kind in the version asked for, "status" first; NULL after the last. */
const struct subresource *subresource_at(const struct kind *k, size_t i);

#endif
