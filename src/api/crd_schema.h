/*
 * crd_schema: the structural schema of a custom kind's version, compiled, and what it does to objects.
 *
 * A CustomResourceDefinition carries its rules as data (openAPIV3Schema). Compiled, they are a tree of nodes that is
 * walked beside the object: prune what it does not name, fill defaults, say what is wrong. struct schema.custom points
 * to it, and the codec's functions lead here; nobody else calls them. Everything of a compiled schema is in its own
 * arena; it can be freed when no schema points to it any more.
 *
 * The texts of violations are those of a kube-apiserver.
 */
#ifndef BERTH_API_CRD_SCHEMA_H
#define BERTH_API_CRD_SCHEMA_H

#include "api/walk.h"

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

struct crd_schema {
    struct arena arena;
    yyjson_doc *doc; /* of openAPIV3Schema */
    const struct crd_node *root;
    uint64_t serial;      /* another for each compiled schema */
    struct str *warnings; /* rules that are not enforced, and why */
    size_t n_warnings;
};

/* Compiles `schema` (openAPIV3Schema; NULL: everything goes). It must have passed crd_structural. ERR_NOMEM;
 * ERR_TOO_LARGE beyond LIMIT_CRD_*. */
int crd_schema_new(yyjson_val *schema, struct crd_schema **ret, struct err *err);
void crd_schema_free(struct crd_schema *s); /* NULL is a no-op */

const struct crd_node *crd_prop(const struct crd_node *n,
                                struct str name); /* NULL when not named */
/* The node of a member by name: the property's, or that of the others. NULL: none. */
const struct crd_node *crd_member(const struct crd_node *n, struct str name);

/* The pruning of codec_prune for a part of an object (metadata) that a table describes. */
void codec_prune_at(const struct schema *s, yyjson_mut_val *obj, const struct path *at,
                    void (*unknown)(void *ctx, struct str path), void *ctx);
/* Members that the schema does not name are removed, each told. `at` is where the value stands; apiVersion, kind and
 * metadata of the `root` are the caller's. */
struct crd_pruner {
    void (*unknown)(void *ctx, struct str path); /* may be NULL */
    void *ctx;
    struct buf text;
};
void crd_prune(struct crd_pruner *p, const struct crd_node *n, yyjson_mut_val *obj,
               const struct path *at, bool root);

/* nulls that may not be there are dropped, defaults are filled in, below what is there. ERR_NOMEM. */
int crd_default(const struct crd_node *n, yyjson_mut_doc *d, yyjson_mut_val *v);
void crd_drop_nulls(const struct crd_node *n, yyjson_mut_val *v);

/* Every violated rule. What is the same in old (NULL on create) is not held against the object again. */
void crd_validate(const struct crd_schema *s, yyjson_mut_val *obj, yyjson_val *old,
                  struct causes *causes);
/* A format by name ("date-time"): false when v is not of it; true for unknown formats. */
bool crd_format(struct str format, struct str v);

/* One OpenAPI component for this version: its name is written by the caller. */
void crd_openapi(const struct crd_schema *s, const char *group, const char *kind,
                 const char *version, struct buf *out);

#endif
