/*
 * canonical: JSON in one form, by the tables, so that texts can be compared and hashed: members in the order of
 * their schema, keys of maps sorted, amounts in their shortest form, nothing that the tables do not know.
 *
 * What counts as unset differs by who compares; that is what a canonical says. A template is compared as upstream
 * reads it back (control/apps/template_text.h), a pod's role is hashed as Kueue writes it (control/load/pod_role.h).
 */
#ifndef BERTH_API_CANONICAL_H
#define BERTH_API_CANONICAL_H

#include "api/tables/field.h"
#include "base/buf.h"
#include "wire/json/json.h"

struct canonical {
    /* Whether the value (or NULL: there is none) of the member is left out. */
    bool (*unset)(const struct field *f, yyjson_val *v);
    bool keep_empty; /* members of FIELD_F_KEEP_EMPTY are written all the same, as null or zero */
    const char *skip_key; /* of maps; NULL: none */
};

/* `{...}` of an object of the schema, appended. The arena has the order of a map's keys. Failure sticks to the buf. */
void canonical_object(const struct canonical *c, const struct schema *s, yyjson_val *v,
                      struct arena *a, struct buf *out);
/* The value of one member, which is there. */
void canonical_member(const struct canonical *c, const struct field *f, yyjson_val *v,
                      struct arena *a, struct buf *out);

#endif
