/*
 * strategic: strategic merge patch by a kind's field table. The algorithm is wire/json/strategic.h; this gives it the
 * tables.
 *
 * Lists merge when their field has FIELD_F_MERGE, by its merge_key or as a set of scalars. Below a map of objects, and
 * below fields that the table does not know, lists are replaced.
 */
#ifndef BERTH_API_STRATEGIC_H
#define BERTH_API_STRATEGIC_H

#include "api/tables/field.h"
#include "wire/json/strategic.h"

/* Patches d's root, an object of schema s. Errors as patch_strategic. */
int api_patch_strategic(const struct schema *s, yyjson_mut_doc *d, yyjson_val *patch,
                        struct err *err);

#endif
