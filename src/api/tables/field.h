/*
 * field: one row describes one field of a kind; everything that must know the field reads the row.
 *
 * Decoding into C views, encoding from protobuf, defaulting, validation, pruning, strategic merge, `kubectl explain`,
 * OpenAPI and the CustomResourceDefinitions for clusters come from these tables. A row without a C member (member < 0)
 * is still served, checked and kept; the controllers just never look at it.
 *
 * How a decoded member looks, by type and shape (all views point into the JSON document or the arena):
 *
 *     FIELD_STRING, FIELD_BYTES (still base64)                struct str        empty when absent
 *     FIELD_BOOL, FIELD_INT32, FIELD_INT64                    bool, int32_t, int64_t; FIELD_F_OPT: struct opt_*
 *     FIELD_DOUBLE                                            double; FIELD_F_OPT: struct opt_double
 *     FIELD_QUANTITY                                          struct quantity   (quantity.h), zero when absent;
 *                                                             FIELD_F_OPT: struct opt_quantity (view_meta.h)
 *     FIELD_TIME, FIELD_MICROTIME                             int64_t ns since 1970, 0 when absent
 *     FIELD_DURATION                                          int64_t ns
 *     FIELD_INT_OR_STRING                                     struct str        digits for an integer
 *     FIELD_OBJECT                                            pointer to the view of `of`, NULL when absent; a schema
 *                                                             without a view (size 0) gives yyjson_val * as FIELD_ANY
 *     FIELD_ANY                                               yyjson_val *      NULL when absent
 *     shape FIELD_LIST of T                                   struct {T *v; size_t n;}, T as above; objects by value
 *     shape FIELD_MAP of T                                    struct {struct {struct str key; T value;} *v; size_t n;}
 */
#ifndef BERTH_API_FIELD_H
#define BERTH_API_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct opt_bool {
    bool set, v;
};
struct opt_i32 {
    bool set;
    int32_t v;
};
struct opt_i64 {
    bool set;
    int64_t v;
};
struct opt_double {
    bool set;
    double v;
};
struct str_list {
    struct str *v;
    size_t n;
};
struct str_pair {
    struct str key, value;
};
struct str_map {
    struct str_pair *v;
    size_t n;
};

enum field_type {
    FIELD_STRING,
    FIELD_BOOL,
    FIELD_INT32,
    FIELD_INT64,
    FIELD_DOUBLE,
    FIELD_BYTES,
    FIELD_QUANTITY,
    FIELD_TIME,
    FIELD_MICROTIME,
    FIELD_DURATION,
    FIELD_INT_OR_STRING,
    FIELD_OBJECT,
    FIELD_ANY,
};

enum field_shape { FIELD_ONE, FIELD_LIST, FIELD_MAP };

enum field_flag {
    FIELD_F_REQUIRED = 1 << 0,   /* must be present (and non-empty for strings and lists) */
    FIELD_F_OPT = 1 << 1,        /* a pointer upstream: an explicit zero differs from absent (also on protobuf) */
    FIELD_F_IMMUTABLE = 1 << 2,  /* may not change after create */
    FIELD_F_MERGE = 1 << 3,      /* strategic merge patch: merge the list (by merge_key, or as a set of scalars) */
    FIELD_F_RETAIN_KEYS = 1 << 4,/* strategic merge patch: $retainKeys is meaningful */
    FIELD_F_ATOMIC = 1 << 5,     /* server-side apply: an atomic list or map */
    FIELD_F_SET = 1 << 6,        /* server-side apply: a set of scalars */
    FIELD_F_KEEP_EMPTY = 1 << 7, /* written on the wire even when empty (no omitempty upstream) */
    FIELD_F_WRITE_ONLY = 1 << 8, /* accepted, folded into another field, never stored (Secret stringData) */
    /* On protobuf a message that has the value under one of its tags: a boolean or an object of `of` (1 and 2), or an
     * object or a list of objects or strings (1 and 2). In JSON the value itself. */
    FIELD_F_EITHER = 1 << 9,
    FIELD_F_NO_ZERO = 1 << 10,   /* a number of which 0 is told as a missing value */
};

struct schema;
struct crd_schema;

struct field {
    const char *json;
    uint8_t type, shape;
    uint8_t json_n; /* length of `json`; 0: not counted (tables made at run time) */
    uint8_t proto;  /* protobuf tag; 0 when the kind has no protobuf form */
    /* Tag of the message that upstream embeds here without a JSON level of its own; of one in such a message both,
     * outer << 4 | inner; 0: none */
    uint8_t proto_in;
    bool member_opt;  /* the member is a struct opt_* */
    uint16_t member_size; /* bytes of one value in it; of an object's view, 0: left as yyjson_val * (member.h) */
    uint32_t flags;
    uint16_t view_size;          /* bytes of the view that has the member */
    const struct schema *of;     /* for FIELD_OBJECT, and on protobuf for FIELD_F_EITHER */
    int member;                  /* offset in the C view, or -1 */
    const char *merge_key;       /* strategic merge patch */
    const char *list_keys;       /* server-side apply, "a,b" for a list that is a map */
    const char *def;             /* default, as JSON text; applied when the parent is present */
    const char *const *values;   /* NULL-terminated allowed values of a string */
    int64_t min, max;            /* number range, or length of a string/list/map; both 0: unchecked */
    const char *format;          /* named check: "dns1123-subdomain", "dns1123-label", "label-key", ... */
    const char *doc;             /* one or two sentences in our own words; may be NULL */
};

struct schema {
    const char *name; /* OpenAPI component, e.g. "io.k8s.api.core.v1.Container" */
    const struct field *fields;
    size_t n;
    size_t size; /* of the C view; 0 when it has none */
    const char *doc;
    const struct crd_schema *custom; /* of a custom kind's version: what `fields` do not say (crd_schema.h) */
    bool atomic; /* server-side apply: an object of it is one value */
};

#endif
