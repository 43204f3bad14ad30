/* crd_check: the rules of CustomResourceDefinitions. Internal to this room. */
#ifndef BERTH_API_CRD_CHECK_H
#define BERTH_API_CRD_CHECK_H

#include "api/walk/causes.h"
#include "api/walk/walk.h"
#include "wire/json/json.h"

/* The hooks of the kind's row. */
void crd_set_defaults(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err);
void crd_prepare(yyjson_mut_doc *d, yyjson_mut_val *obj, yyjson_val *old, int64_t now);
void crd_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *causes);

/* Whether openAPIV3Schema is structural, each fault named; `at` is where it stands. What its rules cost is not told
 * again when it is the same as old (NULL: there was none). */
void crd_structural(yyjson_val *schema, yyjson_val *old, const struct path *at, struct causes *c);

/* Whether its defaults are values that it allows. */
void crd_check_defaults(yyjson_val *schema, const struct path *at, struct causes *c);

#endif
