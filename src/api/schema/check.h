/*
 * check: what validation is made of: the texts of violated rules, and the named formats.
 *
 * The texts are those that Kubernetes' clients know ("Required value", "Invalid value: ..."). Internal to this room,
 * but for format_fault.
 */
#ifndef BERTH_API_CHECK_H
#define BERTH_API_CHECK_H

#include "api/schema/kind.h"
#include "api/walk/walk.h"
#include "wire/json/json.h"

/* `detail` may be NULL. */
void cause_required(struct causes *c, const struct path *at, const char *detail);
void cause_invalid(struct causes *c, const struct path *at, struct str value, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* The value as JSON, whatever it is. */
void cause_invalid_json(struct causes *c, const struct path *at, yyjson_mut_val *v, const char *fmt,
                        ...) __attribute__((format(printf, 4, 5)));
void cause_forbidden(struct causes *c, const struct path *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void cause_duplicate(struct causes *c, const struct path *at, struct str value);
void cause_unsupported(struct causes *c, const struct path *at, struct str value,
                       const char *const *values);
void cause_type(struct causes *c, const struct path *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* What both field tables and structural schemas say, in the words of a kube-apiserver: of another type than wanted
 * ("integer", or what a format is called), too long, too many or too few, beyond a bound. */
void cause_wrong_type(struct causes *c, const struct path *at, struct str want, const char *is);
const char *check_type_name(yyjson_mut_val *v); /* "object", "integer", ...; "null" */
void cause_too_long(struct causes *c, const struct path *at, int64_t max);
void cause_too_many(struct causes *c, const struct path *at, int64_t n, int64_t max);
void cause_too_few(struct causes *c, const struct path *at, yyjson_mut_val *v, int64_t n,
                   int64_t min, const char *what);
/* `than` is "greater than or equal to", "less than", ...; `bound` the number as text. */
void cause_bound(struct causes *c, const struct path *at, yyjson_mut_val *v, const char *than,
                 struct str bound);

/* What is wrong with v as this format, or NULL. Unknown formats accept everything. */
const char *format_fault(const char *format, struct str v);

/* The rules of metadata, for every kind; texts at metadata.* */
void check_meta(const struct kind *k, yyjson_mut_val *obj, yyjson_val *old, struct causes *c);
/* Labels (values checked) or annotations (only keys and total size). */
void check_labels(struct causes *c, const struct path *at, yyjson_mut_val *map);
void check_annotations(struct causes *c, const struct path *at, yyjson_mut_val *map);
/* matchLabels and matchExpressions; NULL is fine. */
void check_selector(struct causes *c, const struct path *at, yyjson_mut_val *selector);

/* Whether a list or map is short enough to compare its names pairwise; CAUSE_TOO_MANY when not. */
bool check_size(yyjson_mut_val *list, const struct path *at, struct causes *c);
/* Equality of a changed value with a stored one; NULL and NULL are equal, member order does not count. */
bool same_value(yyjson_mut_val *a, yyjson_val *b);
/* Whether one value, no list or map of them, is of the row's type; else a CAUSE_TYPE is added. What is inside an object
 * is not looked at. */
bool codec_fits(const struct field *f, yyjson_mut_val *x, const struct path *at,
                struct causes *causes);

/* CAUSE_INVALID "field is immutable" unless the member is the same in both. */
void check_immutable(struct causes *c, const struct path *at, yyjson_mut_val *now, yyjson_val *old);

/* The hooks' shorthand: iterate the list member of an object (nothing when it is absent or no list). */
#define EACH(list_, i_, e_)                                                                        \
    yyjson_mut_arr_iter e_##_it = yyjson_mut_arr_iter_with(list_);                                 \
    yyjson_mut_val *e_;                                                                            \
    for (size_t i_ = 0; (e_ = yyjson_mut_arr_iter_next(&e_##_it)) != NULL; i_++)

#endif
