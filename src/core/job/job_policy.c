/* job_policy (core): see job_policy.h. */
#include "core/job/job_policy.h"

static bool code_matches(const struct exit_codes_rule *r, const struct pod_exit *e) {
    if (!str_empty(r->container_name) && !str_eq(r->container_name, e->container)) {
        return false;
    }
    bool in = false;
    for (size_t i = 0; i < r->values.n && !in; i++) {
        in = r->values.v[i] == e->code;
    }
    return str_is(r->operator, "NotIn") ? !in : in;
}

static const struct pod_exit *exit_match(const struct exit_codes_rule *r, const struct job_pod *p) {
    for (size_t i = 0; r && i < p->n_exits; i++) {
        if (code_matches(r, &p->exits[i])) {
            return &p->exits[i];
        }
    }
    return NULL;
}

static const struct pod_condition_rule *condition_match(const struct pod_failure_rule *r,
                                                        const struct job_pod *p) {
    for (size_t i = 0; i < r->on_pod_conditions.n; i++) {
        const struct pod_condition_rule *want = &r->on_pod_conditions.v[i];
        struct str status = str_empty(want->status) ? STR("True") : want->status;
        for (size_t j = 0; j < p->n_conditions; j++) {
            if (str_eq(want->type, p->conditions[j].type) &&
                str_eq(status, p->conditions[j].status)) {
                return want;
            }
        }
    }
    return NULL;
}

static enum failure_action action_of(struct str s) {
    return str_is(s, "Ignore")      ? FAILURE_IGNORE
           : str_is(s, "FailIndex") ? FAILURE_FAIL_INDEX
           : str_is(s, "FailJob")   ? FAILURE_FAIL_JOB
                                    : FAILURE_COUNT;
}

enum failure_action job_failure_action(const struct pod_failure_policy *policy,
                                       const struct job_pod *p, struct arena *a,
                                       struct str *ret_why) {
    for (size_t i = 0; policy && i < policy->rules.n; i++) {
        const struct pod_failure_rule *r = &policy->rules.v[i];
        const struct pod_exit *e = exit_match(r->on_exit_codes, p);
        const struct pod_condition_rule *c = e ? NULL : condition_match(r, p);
        if (e == NULL && c == NULL) {
            continue;
        }
        enum failure_action action = action_of(r->action);
        if (action == FAILURE_FAIL_JOB && ret_why && e) {
            *ret_why = arena_f(a,
                               "Container %.*s for pod %.*s/%.*s failed with exit code %d matching "
                               "FailJob rule at index %zu",
                               STR_ARG(e->container), STR_ARG(p->ns), STR_ARG(p->name), e->code, i);
        } else if (action == FAILURE_FAIL_JOB && ret_why) {
            *ret_why =
                arena_f(a, "Pod %.*s/%.*s has condition %.*s matching FailJob rule at index %zu",
                        STR_ARG(p->ns), STR_ARG(p->name), STR_ARG(c->type), i);
        }
        return action;
    }
    return FAILURE_COUNT;
}

int job_success_rule(const struct success_policy *policy, const struct index_set *completed,
                     int32_t completions, struct arena *a) {
    for (size_t i = 0; policy && i < policy->rules.n; i++) {
        const struct success_rule *r = &policy->rules.v[i];
        struct index_set wanted;
        int64_t have = index_set_count(completed), all = r->succeeded_count.v;
        index_set_init(&wanted, a);
        if (!str_empty(r->succeeded_indexes)) {
            if (index_set_parse(&wanted, r->succeeded_indexes, completions, NULL) != 0) {
                continue; /* admission refuses such a rule; one that got in never matches */
            }
            have = index_set_common(&wanted, completed);
            all = r->succeeded_count.set ? r->succeeded_count.v : index_set_count(&wanted);
        } else if (!r->succeeded_count.set) {
            continue;
        }
        if (have >= all) {
            return (int)i;
        }
    }
    return -1;
}
