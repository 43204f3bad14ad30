/*
 * policy_scope: the names that the expressions of admission policies and of webhooks' matchConditions may use, and the
 * checks of a policy's expressions against them.
 */
#ifndef BERTH_API_POLICY_SCOPE_H
#define BERTH_API_POLICY_SCOPE_H

#include "api/cel/cel_sort.h"

enum { POLICY_NAMES = 7, LIMIT_POLICY_VARIABLES = 64, LIMIT_POLICY_EXPRESSIONS = 64 };

struct policy_scope {
    struct cel_decl names[POLICY_NAMES];
    struct cel_decl variables[LIMIT_POLICY_VARIABLES];
    struct cel_scope scope;
};

/* object: of `object` and `oldObject`; params NULL: the policy has none. Without variables at first; each that compiles
 * is added by policy_scope_add, and may be read by those behind it. */
void policy_scope_init(struct policy_scope *s, struct arena *a, const struct cel_sort *object,
                       const struct cel_sort *params, bool authorizer);
void policy_scope_use_variables(struct policy_scope *s);
void policy_scope_add(struct policy_scope *s, struct str name, const struct cel_sort *sort);

/* 0, or ERR_SYNTAX with what is wrong as a kube-apiserver tells it ("compilation failed: ERROR: ..."), also when the
 * type is none of `wanted`: letters of cel_sort, 'o' an Object, 'J' a list of JSONPatch; "": any. ERR_NOMEM. */
int policy_compile(struct arena *a, const struct policy_scope *s, struct str text,
                   const char *wanted, const struct cel_sort **ret_sort, struct str *ret_fault);

/* What is wrong with the types of the policy's expressions for each kind that its rules name, as
 * status.typeChecking.expressionWarnings tells it. The list is in d; NULL: out of memory. */
yyjson_mut_val *policy_type_warnings(struct arena *a, yyjson_mut_doc *d, yyjson_mut_val *policy);

#endif
