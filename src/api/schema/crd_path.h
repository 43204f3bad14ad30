/*
 * crd_path: the JSONPath of printer columns and selectable fields, as much of it as definitions use.
 *
 *     .a.b   ['a.b']   ["a"]   [0]   [-1] [1:3]   [*]   .*   ..a   [?(@.type=="Ready")]   [?(@.n>3)]   .a\.b
 */
#ifndef BERTH_API_CRD_PATH_H
#define BERTH_API_CRD_PATH_H

#include "api/schema/kind.h"

/* ERR_SYNTAX when it is no path that we read. */
int crd_path_check(struct str path, struct err *err);
/* Each value there, in order; each returns false to stop. */
void crd_path_each(struct str path, yyjson_val *root, bool (*each)(void *ctx, yyjson_val *v),
                   void *ctx);

/* The cell of a column with a json_path. */
void crd_cell(const struct column *col, yyjson_val *obj, int64_t now, struct buf *out);

#endif
