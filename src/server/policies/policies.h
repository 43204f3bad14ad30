/*
 * policies (server): admission policies (admissionregistration.k8s.io/v1): CEL expressions that judge a write before it
 * is stored.
 *
 * Policies and bindings are compiled when they are committed. A write is judged immediately, on the newest state, by
 * each binding of each policy that matches it, in the order of their names. No other process is involved, so a verdict
 * depends only on the write and the state.
 *
 *     matchConstraints, then the binding's matchResources     rules, names, selectors, matchPolicy
 *     paramRef                                                one evaluation for each parameter object
 *     matchConditions                                         all true, or the policy is not evaluated
 *     validations, auditAnnotations                           then: validationActions, failurePolicy
 *     mutations                                               of mutating policies: merges or JSON patches, in turn
 *
 * Objects of admissionregistration.k8s.io itself are never judged, so that no policy can prevent its own removal.
 * Limits: the steps of one policy for one parameter object (LIMIT_CEL_STEPS_OBJECT), all of which are charged to the
 * request's allowance; LIMIT_POLICIES, LIMIT_POLICY_BINDINGS, LIMIT_POLICY_PARAMS.
 */
#ifndef BERTH_SERVER_POLICIES_H
#define BERTH_SERVER_POLICIES_H

#include "api/cel/cel.h"
#include "server/kit/context.h"

/* A write to be judged. */
struct policies_ask {
    struct server *s;
    const struct api_request *req;
    struct arena *arena; /* of the request: texts, and what is charged */
    struct str name, subresource, operation;
    const struct str_map *namespace_labels;    /* NULL: not of a namespace */
    const struct str_map *labels, *old_labels; /* NULL: there is no such object */
    /* The AdmissionRequest as JSON, with `object` and `oldObject` (or null) in this version. 0, or a failure. */
    int (*review)(struct policies_ask *q, const struct kind_version *kv, yyjson_val **ret);
    /* Changes the object that is judged: `change` gets it in this version, and what it makes of it is pruned, defaulted
     * and takes its place. 0, ERR_INVALID with a text, ERR_NOMEM. */
    int (*change)(struct policies_ask *q, const struct kind_version *kv,
                  int (*change)(void *ctx, yyjson_mut_doc *d, struct err *err), void *ctx,
                  struct err *err);
    void (*warn)(struct policies_ask *q, struct str text);
    /* An annotation of the request's line in the audit log. */
    void (*note)(struct policies_ask *q, struct str key, struct str value);
    void *ctx;
    struct failure *failure;
    uint64_t
        steps; /* of the evaluations so far: bounded also where the arena has no allowance, as controllers' */
};

bool policies_spent(const struct policies_ask *q);

int policies_init(struct server *s, struct err *err);
void policies_release(struct server *s);

/* Whether any policy could judge or change the write; if not, the rest need not be filled in. */
bool policies_any(const struct server *s, const struct kind *k);
bool policies_any_mutating(const struct server *s, const struct kind *k);
/* The object as mutating policies make it, in the order of their names; those with reinvocationPolicy IfNeeded once
 * more where the object was changed behind them, and, with `again`, they alone: somebody else changed it. 0; else
 * q->failure is filled. */
int policies_mutate(struct policies_ask *q, bool again, bool *ret_changed);
/* 0; else q->failure is filled. */
int policies_validate(struct policies_ask *q);
/* status.typeChecking and observedGeneration of a ValidatingAdmissionPolicy that is about to be stored. ERR_NOMEM. */
int policies_note_types(const struct kind *k, yyjson_mut_doc *d, struct arena *a);

#endif
