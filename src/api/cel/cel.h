/*
 * cel: the rules of x-kubernetes-validations: parsed when a schema is compiled, evaluated when an object is written.
 *
 * An expression language of our own making inside the bounds that docs/custom-resources.md names. A definition with a
 * rule beyond them is refused; in one that was stored before, such a rule is `unsupported`: it is named in a warning
 * and never evaluated. Pure, with a budget of steps. Types
 * are checked as values meet, not beforehand.
 *
 *     text --cel_parse--> tree (cel_int.h) --cel_eval--> value
 */
#ifndef BERTH_API_CEL_H
#define BERTH_API_CEL_H

#include "api/walk/causes.h"
#include "wire/json/json.h"

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

/* One expression in the arena. ERR_SYNTAX: none; ERR_UNSUPPORTED: beyond us; ERR_TOO_LARGE, ERR_NOMEM. */
int cel_parse(struct arena *a, struct str text, const struct cel_expr **ret, struct err *err);
/* The first name that nothing declares but self, oldSelf and the macros' variables; empty: none. */
struct str cel_undeclared(const struct cel_expr *e);
/* The first member of self or oldSelf that the rule selects and an object of its schema cannot have; empty: none that
 * can be told beforehand. optional_old: oldSelf is an optional value. */
struct str cel_undefined_field(const struct cel_expr *e, yyjson_val *schema, bool optional_old);
/* Whether it names this variable. */
bool cel_uses(const struct cel_expr *e, const char *name);

/* What an evaluation may see and spend. */
struct cel_input {
    yyjson_val *self, *old; /* old: NULL when there is none */
    yyjson_val *request; /* of an admission: self is then "object", old "oldObject", either null */
    const struct crd_node *node; /* of both; may be NULL */
    bool optional_old;           /* oldSelf is an optional value */
    struct arena *arena;         /* for what is made on the way */
    size_t steps; /* spent so far; the limit of the object holds for all rules together */
    size_t limit;
};
enum cel_outcome { CEL_FALSE, CEL_TRUE, CEL_ERROR, CEL_TOO_LONG };
/* A rule: whether it holds; for CEL_ERROR *ret_text gets why it could not be told. */
enum cel_outcome cel_check(const struct cel_expr *e, struct cel_input *in, struct str *ret_text);
/* A message: false when it is no text or could not be made. */
bool cel_message(const struct cel_expr *e, struct cel_input *in, struct str *ret);

#endif
