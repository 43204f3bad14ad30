/*
 * crd_node: one value of a custom kind as its compiled schema describes it (crd_schema.h makes the tree): its type, its
 * members, its rules. Everything of a tree is in the arena of its schema.
 */
#ifndef BERTH_API_CRD_NODE_H
#define BERTH_API_CRD_NODE_H

#include "wire/json/json.h"

struct regex;
struct cel_rule;

enum crd_type {
    CRD_ANY,
    CRD_OBJECT,
    CRD_ARRAY,
    CRD_STRING,
    CRD_INTEGER,
    CRD_NUMBER,
    CRD_BOOLEAN,
};

enum crd_flag {
    CRD_PRESERVE = 1 << 0,
    CRD_EMBEDDED = 1 << 1,
    CRD_INT_OR_STRING = 1 << 2,
    CRD_NULLABLE = 1 << 3,
    CRD_ADDITIONAL = 1 << 4,    /* additionalProperties is there: true, or the node `additional` */
    CRD_NO_ADDITIONAL = 1 << 5, /* it is false */
    CRD_LIST_SET = 1 << 6,
    CRD_LIST_MAP = 1 << 7,
    CRD_ATOMIC = 1 << 8,   /* x-kubernetes-list-type or -map-type: the whole is one value */
    CRD_DEFAULTS = 1 << 9, /* it, or something below it, has a default */
    CRD_CELS = 1 << 10,    /* ... has x-kubernetes-validations */
    CRD_LISTS = 1 << 11,   /* ... is a list that is a set or a map */
};

struct crd_prop {
    struct str name;
    const struct crd_node *node;
};

/* What a value must be like, beyond its type. */
struct crd_rules {
    bool has_min, has_max, open_min, open_max, has_multiple;
    double min, max, multiple;
    int64_t min_length, max_length, min_items, max_items, min_props, max_props; /* -1: unchecked */
    struct str pattern, format;
    const struct regex *regex; /* NULL with a pattern: one that we do not understand, not checked */
    yyjson_val *values;        /* enum: an array, or NULL */
    struct str *required;
    size_t n_required;
    const struct crd_node *const *all_of, *const *any_of, *const *one_of;
    size_t n_all_of, n_any_of, n_one_of;
    const struct crd_node *negated; /* not */
};

struct crd_node {
    uint8_t type;
    uint16_t flags;
    uint32_t n_props, n_keys, n_cels;
    struct crd_prop *props; /* by name, bytewise */
    const struct crd_node *items, *additional;
    yyjson_val *def;         /* default, or NULL */
    struct crd_rules *rules; /* NULL: none */
    struct str *keys;        /* x-kubernetes-list-map-keys */
    struct cel_rule *cels;
};

const struct crd_node *crd_prop(const struct crd_node *n,
                                struct str name); /* NULL when not named */
/* The node of a member by name: the property's, or that of the others. NULL: none. */
const struct crd_node *crd_member(const struct crd_node *n, struct str name);

#endif
