/*
 * strategic: Kubernetes' strategic merge patch, driven by an abstract schema.
 *
 * The schema answers, for a member name under a node, how it merges; `api/schema/strategic.h` adapts field tables.
 * Directives: $patch (replace, delete, merge), $retainKeys, $setElementOrder/<list>, $deleteFromPrimitiveList/<list>.
 * Without an order the elements of the patch that are new come first, in patch order; with one, the listed order
 * holds and elements only the server has keep their place behind their nearest listed predecessor. On failure the
 * document is left half-patched, see patch.h.
 */
#ifndef BERTH_WIRE_STRATEGIC_H
#define BERTH_WIRE_STRATEGIC_H

#include "wire/json/json.h"

struct strategic_field {
    const void *
        node; /* of the member's value, or of a list's elements; NULL: unknown, lists are replaced */
    /* Of a list of objects that merges; NULL with `merge`: a set of scalars */
    const char *merge_key;
    bool merge; /* a list merges instead of being replaced */
};

struct strategic_schema {
    /* Fills *ret for member `name` of an object at `node`; the caller clears it first. node may be NULL. */
    void (*field)(const void *node, struct str name, struct strategic_field *ret);
};

/* ERR_BAD_REQUEST: a directive that makes no sense; ERR_INVALID: an element without its merge key; ERR_NOMEM. */
int patch_strategic(yyjson_mut_doc *d, yyjson_val *patch, const struct strategic_schema *schema,
                    const void *root, struct err *err);

#endif
