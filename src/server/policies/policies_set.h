/* policies_set (server): policies and bindings, compiled. Internal to policies. */
#ifndef BERTH_SERVER_POLICIES_SET_H
#define BERTH_SERVER_POLICIES_SET_H

#include "api/selector.h"
#include "server/policies/policies.h"

/* matchConstraints of a policy, matchResources of a binding. */
struct policies_match {
    struct selector namespaces, objects;
    yyjson_val *rules, *excluded; /* NULL: none */
    bool equivalent;
};

struct policies_text {
    struct str text;             /* as written */
    const struct cel_expr *expr; /* NULL: it does not compile here */
};

struct policies_check {
    struct policies_text expression,
        maker; /* maker: messageExpression, or the value of an annotation */
    struct str message, reason, key;
};

/* Of a mutating policy. */
struct policies_mutation {
    struct policies_text text;
    bool apply; /* ApplyConfiguration; else JSONPatch */
};

struct policies_one {
    struct arena arena;
    struct str name;
    uint64_t rv;
    bool ignore; /* failurePolicy */
    bool again;  /* reinvocationPolicy IfNeeded */
    bool broken; /* an expression does not compile: a configuration error */
    struct policies_match match;
    struct str param_api, param_kind; /* empty: none */
    struct policies_text *conditions;
    struct policies_check *validations, *audits;
    struct cel_variable *variables;
    struct policies_mutation *mutations;
    size_t n_mutations;
    size_t n_conditions, n_validations, n_audits, n_variables;
};

struct policies_binding {
    struct arena arena;
    struct str name, policy;
    uint64_t rv;
    struct policies_match match;
    struct str param_ns, param_name; /* of paramRef */
    struct selector params;          /* where it has no name */
    bool has_params, deny_missing;
    bool deny, warn, audit;
    struct str actions; /* as JSON */
};

/* 0, or ERR_NOMEM. */
int policies_one_new(const struct object *o, struct policies_one **ret);
void policies_one_free(struct policies_one *p);
int policies_binding_new(const struct object *o, struct policies_binding **ret);
void policies_binding_free(struct policies_binding *b);

/* Whether a write is matched; *ret_version: the version in which it is seen (may be NULL). */
bool policies_matches(const struct policies_match *m, const struct policies_ask *q,
                      const struct kind_version **ret_version);

/* One policy for one parameter object (NULL: none): the verdict of each validation goes to `told`. */
struct policies_verdict {
    size_t index;       /* of the validation; of none: SIZE_MAX */
    struct str message; /* why it is denied */
    struct str reason;  /* empty: Invalid */
};
struct policies_judge {
    struct policies_ask *q;
    const struct policies_one *p;
    struct arena *scratch;
    yyjson_val *review, *params, *ns; /* each may be NULL */
    void (*denied)(struct policies_judge *j, const struct policies_verdict *v);
    void (*noted)(struct policies_judge *j, struct str key, struct str value);
    void *ctx;
};
void policies_judge(struct policies_judge *j);

/* Mutation i of the policy, on the object as `review` has it, in this version. 0, or ERR_INVALID with why it could not
 * be made (*ret_why), ERR_NOMEM. Conditions: *ret_met false, and nothing is done. */
int policies_conditions(struct policies_judge *j, bool *ret_met, struct str *ret_why);
int policies_mutation(struct policies_judge *j, size_t i, const struct kind_version *kv,
                      struct str *ret_why);

#endif
