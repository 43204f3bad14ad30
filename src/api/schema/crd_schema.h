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

#include "api/walk/causes.h"
#include "api/walk/crd_node.h"
#include "api/walk/walk.h"

struct crd_schema {
    struct arena arena;
    yyjson_doc *doc; /* of openAPIV3Schema */
    const struct crd_node *root;
    uint64_t serial;      /* another for each compiled schema */
    uint64_t sum;         /* the same for the same text, in every run */
    struct str *warnings; /* rules that are not enforced, and why */
    size_t n_warnings;
};

/* Compiles `schema` (openAPIV3Schema; NULL: everything goes). It must have passed crd_structural. ERR_NOMEM;
 * ERR_TOO_LARGE beyond LIMIT_CRD_*. */
int crd_schema_new(yyjson_val *schema, struct crd_schema **ret, struct err *err);
void crd_schema_free(struct crd_schema *s); /* NULL is a no-op */

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

#endif
