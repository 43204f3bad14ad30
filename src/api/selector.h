/*
 * selector: label and field selectors, parsed once, matched often.
 *
 * Label selectors come as a query parameter ("a=b,c in (d,e),!f,g>5") or as a LabelSelector object (matchLabels,
 * matchExpressions); field selectors as a query parameter ("spec.nodeName=n1,status.phase!=Failed"). The parsed form
 * lives in the arena and holds copies, so the text may go away. Limits: LIMIT_SELECTOR_BYTES, LIMIT_SELECTOR_TERMS.
 */
#ifndef BERTH_API_SELECTOR_H
#define BERTH_API_SELECTOR_H

#include "api/tables/field.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "wire/json/json.h"

enum selector_op {
    SELECTOR_EQ, /* also "==" */
    SELECTOR_NE, /* also true when absent */
    SELECTOR_IN,
    SELECTOR_NOT_IN, /* also true when absent */
    SELECTOR_EXISTS,
    SELECTOR_NOT_EXISTS,
    SELECTOR_GT, /* integers */
    SELECTOR_LT,
};

struct selector_term {
    struct str key;
    enum selector_op op;
    struct str *values; /* sorted bytewise */
    size_t n;
    int64_t number; /* SELECTOR_GT, SELECTOR_LT */
};

struct selector {
    struct selector_term *terms; /* all must hold */
    size_t n;
    bool nothing; /* matches nothing (an absent LabelSelector); else no terms match everything */
};

/* ERR_BAD_REQUEST "unable to parse requirement: ..."; ERR_TOO_LARGE; ERR_NOMEM. Empty text matches everything. */
int selector_parse(struct arena *a, struct str text, struct selector *ret, struct err *err);
/* From a LabelSelector object: NULL or null matches nothing, {} everything. ERR_INVALID names the part. */
int selector_from_json(struct arena *a, yyjson_val *v, struct selector *ret, struct err *err);
/* From a map of labels that must all be equal (Service and Job selectors). */
int selector_from_map(struct arena *a, const struct str_map *labels, struct selector *ret,
                      struct err *err);
bool selector_matches(const struct selector *s, const struct str_map *labels);
/* As a query parameter has it; what matches nothing is written as nothing. */
void selector_write(const struct selector *s, struct buf *out);

/* Field selectors: SELECTOR_EQ and SELECTOR_NE only, the values unescaped. ERR_BAD_REQUEST. */
int field_selector_parse(struct arena *a, struct str text, struct selector *ret, struct err *err);
/* Every field must be metadata.name, metadata.namespace or in `allowed` (NULL-terminated, may be NULL); else
 * ERR_BAD_REQUEST "field label not supported: x". */
int field_selector_check(const struct selector *s, const char *const *allowed, struct err *err);
/* get(ctx, path) gives the field's value as text, empty when absent. */
bool field_selector_matches(const struct selector *s, struct str (*get)(void *ctx, struct str path),
                            void *ctx);
/* The value that `path` must equal: for indexes and named authorization. */
bool field_selector_requires(const struct selector *s, struct str path, struct str *ret);

#endif
