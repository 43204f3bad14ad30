/*
 * typed: what server-side apply does with values that a schema describes: whose fields they are, how two differ, one
 * laid over another, and fields taken out.
 *
 * Values are trees of JSON as they come; forms (form.h) say what is one value, and what has parts. All walks are
 * charged to the arena's allowance of steps; where that, or memory, ends first, the code says so: ERR_TOO_LARGE,
 * ERR_NOMEM. ERR_INVALID has a text that begins with the path.
 */
#ifndef BERTH_API_TYPED_H
#define BERTH_API_TYPED_H

#include "api/managed/fields.h"
#include "api/managed/form.h"

/* The paths of a value: those of its leaves, and of the elements of lists. */
int typed_fields(struct arena *a, const struct form *f, yyjson_mut_val *v, struct fields *ret,
                 struct err *err);
/* The same of what is to be applied: each member is one that the schema has, of its type, and no element of a list that
 * has names stands twice: else ERR_INVALID, ".spec.x: field not declared in schema". */
int typed_config(struct arena *a, const struct form *f, yyjson_mut_val *v, struct fields *ret,
                 struct err *err);

/* How two values differ: what the second has that the first had not (with what is above it, where that is new as
 * well), what has another value, what is gone. Either may be NULL. Elements that stand twice count as one. */
struct typed_change {
    struct fields added, modified, removed;
};
int typed_compare(struct arena *a, const struct form *f, yyjson_mut_val *was, yyjson_mut_val *now,
                  struct typed_change *ret, struct err *err);
/* The same of one member of two objects; the rest of them is not looked at. */
int typed_compare_member(struct arena *a, const struct form *f, const char *name,
                         yyjson_mut_val *was, yyjson_mut_val *now, struct typed_change *ret,
                         struct err *err);

/* `live` with `config` laid over it. Both are used up: the result is made of them. *ret_change: how it differs from
 * live; *ret_exact false: elements that stood twice had a part in it, and only typed_compare can say. */
int typed_merge(yyjson_mut_doc *d, const struct form *f, yyjson_mut_val *live,
                yyjson_mut_val *config, yyjson_mut_val **ret, struct typed_change *ret_change,
                bool *ret_exact, struct err *err);

/* Takes out what the set names, in place, and what is left empty by that, but for members of `keep` (may be NULL). */
int typed_remove(struct arena *a, const struct form *f, yyjson_mut_val *v, const struct fields *set,
                 const struct fields *keep, struct err *err);

/* The set with those members of objects that have members of it below them. Keys of maps are not among them. */
struct fields typed_named(struct arena *a, const struct form *f, const struct fields *set);
/* The set as the schema has it now: where it has become one value, who owned a part of that owns it. *ret_changed is
 * set to true when anything has. */
struct fields typed_reconciled(struct arena *a, const struct form *f, const struct fields *set,
                               bool *ret_changed);

#endif
