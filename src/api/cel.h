/*
 * cel: the rules of x-kubernetes-validations: parsed when a schema is compiled, evaluated when an object is written.
 *
 * A language of our own making inside the bounds that docs/custom-resources.md names; what an expression uses beyond
 * them makes its rule `unsupported`: it is named in a warning and never evaluated. Pure, with a budget of steps.
 */
#ifndef BERTH_API_CEL_H
#define BERTH_API_CEL_H

#include "api/kind.h"

struct cel_expr;
struct crd_node;

struct cel_rule {
    struct str rule, message, reason, field_path; /* as written */
    const struct cel_expr *expr;                  /* NULL: unsupported */
    const struct cel_expr *message_expr;          /* or NULL */
    struct str unsupported; /* why it is not enforced; NUL-terminated; empty: it is */
    bool uses_old, optional_old;
};

/* Compiles the array `rules` of a schema; everything in the arena. ERR_NOMEM. */
int cel_rules_new(struct arena *a, yyjson_val *rules, struct cel_rule **ret, size_t *ret_n);

#endif
