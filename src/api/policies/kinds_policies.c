/*
 * kinds_policies: the rows of ValidatingAdmissionPolicy, MutatingAdmissionPolicy and their bindings, and their rules:
 * what a kube-apiserver refuses, with its texts. An expression that does not compile refuses the whole.
 */
#include "api/kinds/kinds.h"
#include "api/policies/policy_scope.h"
#include "base/limits.h"

extern const struct schema schema_validating_policy, schema_validating_binding;
extern const struct schema schema_mutating_policy, schema_mutating_binding;

enum { AUDITS = 20, AUDIT_BYTES = 5 * 1024 }; /* [k8s] */

/* ---- what is matched ---- */

static void check_star(yyjson_mut_val *rule, const char *member, const char *what,
                       const struct path *at, struct causes *c) {
    struct path here = path_member(at, member);
    yyjson_mut_val *list = json_mget(rule, str_of(member));
    EACH(list, i, v) {
        (void)i;
        if (str_is(json_mstr(v), "*") && yyjson_mut_arr_size(list) > 1) {
            cause_invalid_json(c, &here, list, "if '*' is present, must not specify other %s",
                               what);
            return;
        }
    }
}

static void check_rules(yyjson_mut_val *match, const char *member, const struct path *at,
                        struct causes *c) {
    struct path all = path_member(at, member);
    EACH(json_mget(match, str_of(member)), i, rule) {
        struct path here = path_index(&all, i), resources = path_member(&here, "resources");
        check_star(rule, "operations", "operations", &here, c);
        check_star(rule, "apiGroups", "API groups", &here, c);
        check_star(rule, "apiVersions", "API versions", &here, c);
        yyjson_mut_val *list = json_mget(rule, STR("resources"));
        EACH(list, k, v) {
            struct path place = path_index(&resources, k);
            if (json_mstr(v).n == 0) {
                cause_required(c, &place, NULL);
            } else if (str_is(json_mstr(v), "*/*") && yyjson_mut_arr_size(list) > 1) {
                cause_invalid_json(c, &resources, list,
                                   "if '*/*' is present, must not specify other resources");
            }
        }
    }
}

static void check_match(yyjson_mut_val *match, const struct path *at, struct causes *c) {
    struct path spaces = path_member(at, "namespaceSelector");
    struct path objects = path_member(at, "objectSelector");
    check_selector(c, &spaces, json_mget(match, STR("namespaceSelector")));
    check_selector(c, &objects, json_mget(match, STR("objectSelector")));
    check_rules(match, "resourceRules", at, c);
    check_rules(match, "excludeResourceRules", at, c);
}

/* ---- expressions ---- */

struct policy_check {
    struct arena a;
    struct policy_scope scope;  /* with variables and authorizer */
    struct policy_scope plain;  /* of conditions: no variables */
    struct policy_scope silent; /* of messages: no authorizer */
    struct causes *c;
};

static const struct cel_sort *check_text(struct policy_check *x, const struct policy_scope *s,
                                         struct str text, const char *wanted,
                                         const struct path *at) {
    const struct cel_sort *sort = &cel_dyn;
    struct str fault = {0};
    if (!arena_charge(x->c->arena, 50 + 5 * text.n)) {
        return sort;
    }
    int r = policy_compile(&x->a, s, text, wanted, &sort, &fault);
    (void)arena_charge(x->c->arena, x->a.steps);
    x->a.steps = 0;
    if (r == ERR_NOMEM) {
        x->c->arena->failed = ERR_NOMEM;
    } else if (r != 0) {
        cause_invalid(x->c, at, text, "%.*s", STR_ARG(fault));
    }
    return sort;
}

static void check_variables(struct policy_check *x, yyjson_mut_val *list, const struct path *spec) {
    struct path all = path_member(spec, "variables");
    if (yyjson_mut_arr_size(list) > LIMIT_POLICY_VARIABLES) {
        causes_add(x->c, CAUSE_TOO_MANY, path_text(&all, x->c->arena),
                   "Too many: %zu: must have at most %d items", yyjson_mut_arr_size(list),
                   LIMIT_POLICY_VARIABLES);
        return;
    }
    EACH(list, i, v) {
        struct path at = path_index(&all, i), name_at = path_member(&at, "name");
        struct path text_at = path_member(&at, "expression");
        struct str name = json_mstr_at(v, "name"), text = json_mstr_at(v, "expression");
        const struct cel_sort *sort = &cel_dyn;
        if (str_trim(name).n == 0) {
            cause_required(x->c, &name_at, "name is not specified");
        } else if (!cel_is_name(name)) {
            cause_invalid(x->c, &name_at, name, "name is not a valid CEL identifier");
        }
        if (str_trim(text).n == 0) {
            cause_required(x->c, &text_at, "expression is not specified");
        } else {
            sort = check_text(x, &x->scope, text, "", &text_at);
        }
        policy_scope_add(&x->scope, name, sort);
        policy_scope_add(&x->silent, name, sort);
    }
}

static void check_conditions(struct policy_check *x, yyjson_mut_val *list,
                             const struct path *spec) {
    struct path all = path_member(spec, "matchConditions");
    EACH(list, i, v) {
        struct path at = path_index(&all, i), name_at = path_member(&at, "name");
        struct path text_at = path_member(&at, "expression");
        struct str name = json_mstr_at(v, "name"), text = str_trim(json_mstr_at(v, "expression"));
        const char *fault = name.n > 0 ? format_fault("label-key", name) : NULL;
        if (fault != NULL) {
            cause_invalid(x->c, &name_at, name, "%s", fault);
        }
        EACH(list, k, earlier) {
            if (k < i && name.n > 0 && str_eq(json_mstr_at(earlier, "name"), name)) {
                cause_duplicate(x->c, &name_at, name);
                break;
            }
        }
        if (text.n == 0) {
            cause_required(x->c, &text_at, NULL);
        } else {
            (void)check_text(x, &x->plain, text, "b", &text_at);
        }
    }
}

static bool too_many(yyjson_mut_val *list, const struct path *at, struct causes *c) {
    size_t n = yyjson_mut_arr_size(list);
    if (n > LIMIT_POLICY_EXPRESSIONS) {
        causes_add(c, CAUSE_TOO_MANY, path_text(at, c->arena),
                   "Too many: %zu: must have at most %d items", n, LIMIT_POLICY_EXPRESSIONS);
    }
    return n > LIMIT_POLICY_EXPRESSIONS;
}

static void check_validations(struct policy_check *x, yyjson_mut_val *list,
                              const struct path *spec) {
    struct path all = path_member(spec, "validations");
    if (too_many(list, &all, x->c)) {
        return;
    }
    EACH(list, i, v) {
        struct path at = path_index(&all, i), text_at = path_member(&at, "expression");
        struct path maker_at = path_member(&at, "messageExpression");
        struct path message_at = path_member(&at, "message");
        struct str text = json_mstr_at(v, "expression"), message = json_mstr_at(v, "message");
        struct str maker = json_mstr_at(v, "messageExpression"), plain = str_trim(message);
        if (str_trim(text).n == 0) {
            cause_required(x->c, &text_at, "expression is not specified");
        } else {
            (void)check_text(x, &x->scope, text, "b", &text_at);
        }
        if (maker.n > 0 && str_trim(maker).n == 0) {
            cause_invalid(x->c, &maker_at, maker, "must be non-empty if specified");
        } else if (maker.n > 0) {
            (void)check_text(x, &x->silent, maker, "s", &maker_at);
        }
        if (message.n > 0 && plain.n == 0) {
            cause_invalid(x->c, &message_at, message, "message must be non-empty if specified");
        } else if (str_find(plain, '\n') >= 0 || str_find(plain, '\r') >= 0) {
            cause_invalid(x->c, &message_at, message, "message must not contain line breaks");
        }
    }
}

static void check_audits(struct policy_check *x, yyjson_mut_val *list, struct str policy,
                         const struct path *spec) {
    struct path all = path_member(spec, "auditAnnotations");
    if (yyjson_mut_arr_size(list) > AUDITS) {
        cause_invalid_json(x->c, &all, list, "must not have more than %d auditAnnotations", AUDITS);
        return;
    }
    EACH(list, i, v) {
        struct path at = path_index(&all, i), key_at = path_member(&at, "key");
        struct path text_at = path_member(&at, "valueExpression");
        struct str key = json_mstr_at(v, "key"),
                   text = str_trim(json_mstr_at(v, "valueExpression"));
        struct str whole = arena_f(&x->a, "%.*s/%.*s", STR_ARG(policy), STR_ARG(key));
        const char *fault = format_fault("label-key", whole);
        if (fault != NULL) {
            cause_invalid(x->c, &key_at, whole, "%s", fault);
        }
        EACH(list, k, earlier) {
            if (k < i && str_eq(json_mstr_at(earlier, "key"), key)) {
                cause_duplicate(x->c, &key_at, key);
                break;
            }
        }
        if (text.n == 0) {
            cause_required(x->c, &text_at, "valueExpression is not specified");
        } else if (text.n > AUDIT_BYTES) {
            cause_required(x->c, &text_at, "must not exceed 5120 bytes in length");
        } else {
            (void)check_text(x, &x->scope, text, "sn", &text_at);
        }
    }
}

/* ---- policies ---- */

static void check_param_kind(yyjson_mut_val *ref, const struct path *spec, struct causes *c) {
    struct path at = path_member(spec, "paramKind"), api_at = path_member(&at, "apiVersion");
    struct path kind_at = path_member(&at, "kind");
    struct str api = json_mstr_at(ref, "apiVersion"), kind = json_mstr_at(ref, "kind"), group,
               version;
    if (ref == NULL) {
        return;
    }
    if (api.n == 0) {
        cause_required(c, &api_at, NULL);
    } else if (!str_cut(api, '/', &group, &version)) {
        version = api;
        group = (struct str){0};
    }
    if (api.n > 0 && str_find(version, '/') >= 0) {
        cause_invalid(c, &api_at, api, "unexpected GroupVersion string: %.*s", STR_ARG(api));
    } else if (api.n > 0 && format_fault("dns1035-label", version) != NULL) {
        cause_invalid(c, &api_at, version, "%s", format_fault("dns1035-label", version));
    } else if (group.n > 0 && format_fault("dns1123-subdomain", group) != NULL) {
        cause_invalid(c, &api_at, group, "%s", format_fault("dns1123-subdomain", group));
    }
    if (kind.n == 0) {
        cause_required(c, &kind_at, NULL);
    }
}

static void check_constraints(yyjson_mut_val *spec, const struct path *spec_at, struct causes *c) {
    struct path at = path_member(spec_at, "matchConstraints");
    struct path rules = path_member(&at, "resourceRules");
    yyjson_mut_val *match = json_mget(spec, STR("matchConstraints"));
    if (match == NULL) {
        cause_required(c, &at, NULL);
        return;
    }
    check_match(match, &at, c);
    if (yyjson_mut_arr_size(json_mget(match, STR("resourceRules"))) == 0) {
        cause_required(c, &rules, NULL);
    }
}

static void begin(struct policy_check *x, yyjson_mut_val *spec, struct causes *c) {
    x->c = c;
    arena_init(&x->a, LIMIT_CRD_BYTES);
    const struct cel_sort *params = json_mget(spec, STR("paramKind")) != NULL ? &cel_dyn : NULL;
    policy_scope_init(&x->plain, &x->a, &cel_dyn, params, true);
    policy_scope_init(&x->scope, &x->a, &cel_dyn, params, true);
    policy_scope_init(&x->silent, &x->a, &cel_dyn, params, false);
    policy_scope_use_variables(&x->scope);
    policy_scope_use_variables(&x->silent);
}

static void validating_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path at = path_member(NULL, "spec"), rules = path_member(&at, "validations");
    struct path audits = path_member(&at, "auditAnnotations");
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    yyjson_mut_val *validations = json_mget(spec, STR("validations"));
    yyjson_mut_val *annotations = json_mget(spec, STR("auditAnnotations"));
    struct policy_check x;
    (void)old;
    begin(&x, spec, c);
    check_param_kind(json_mget(spec, STR("paramKind")), &at, c);
    check_constraints(spec, &at, c);
    check_conditions(&x, json_mget(spec, STR("matchConditions")), &at);
    check_variables(&x, json_mget(spec, STR("variables")), &at);
    if (yyjson_mut_arr_size(validations) + yyjson_mut_arr_size(annotations) == 0) {
        static const char text[] = "validations or auditAnnotations must contain at least one item";
        cause_required(c, &rules, text);
        cause_required(c, &audits, text);
    }
    check_validations(&x, validations, &at);
    check_audits(&x, annotations, json_mstr_at(obj, "metadata.name"), &at);
    arena_release(&x.a);
}

static void check_mutation(struct policy_check *x, yyjson_mut_val *v, const struct path *at) {
    struct str type = json_mstr_at(v, "patchType");
    bool apply = str_is(type, "ApplyConfiguration"), patch = str_is(type, "JSONPatch");
    const char *member = apply ? "applyConfiguration" : "jsonPatch";
    const char *other = apply ? "jsonPatch" : "applyConfiguration";
    struct path of = path_member(at, member), other_at = path_member(at, other);
    struct path text_at = path_member(&of, "expression");
    yyjson_mut_val *made = json_mget(v, str_of(member));
    struct str text = json_mstr_at(made, "expression");
    if (!apply && !patch) {
        return; /* told by the table */
    }
    if (json_mget(v, str_of(other)) != NULL) {
        cause_invalid_json(x->c, &other_at, json_mget(v, str_of(other)),
                           "must not be specified when patchType is %.*s", STR_ARG(type));
    }
    if (made == NULL) {
        cause_required(x->c, &of,
                       apply ? "must be specified when patchType is ApplyConfiguration"
                             : "must be specified when patchType is JSONPatch");
    } else if (str_trim(text).n == 0) {
        cause_required(x->c, &text_at, "expression is not specified");
    } else {
        (void)check_text(x, &x->scope, text, apply ? "o" : "J", &text_at);
    }
}

static void mutating_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path at = path_member(NULL, "spec"), all = path_member(&at, "mutations");
    struct path again = path_member(&at, "reinvocationPolicy");
    yyjson_mut_val *spec = json_mget(obj, STR("spec")), *list = json_mget(spec, STR("mutations"));
    struct policy_check x;
    (void)old;
    begin(&x, spec, c);
    x.scope.scope.makes = true;
    check_param_kind(json_mget(spec, STR("paramKind")), &at, c);
    check_constraints(spec, &at, c);
    check_conditions(&x, json_mget(spec, STR("matchConditions")), &at);
    check_variables(&x, json_mget(spec, STR("variables")), &at);
    if (yyjson_mut_arr_size(list) == 0) {
        cause_required(c, &all, "mutations must contain at least one item");
    }
    if (!too_many(list, &all, c)) {
        EACH(list, i, v) {
            struct path here = path_index(&all, i);
            check_mutation(&x, v, &here);
        }
    }
    if (json_mstr_at(spec, "reinvocationPolicy").n == 0) {
        cause_required(c, &again, NULL);
    }
    arena_release(&x.a);
}

/* ---- bindings ---- */

static void check_param_ref(yyjson_mut_val *ref, const struct path *spec, struct causes *c) {
    struct path at = path_member(spec, "paramRef"), name_at = path_member(&at, "name");
    struct path selector_at = path_member(&at, "selector");
    struct str name = json_mstr_at(ref, "name");
    yyjson_mut_val *selector = json_mget(ref, STR("selector"));
    if (ref == NULL) {
        return;
    }
    const char *fault = name.n > 0 ? format_fault("path-name", name) : NULL;
    if (fault != NULL) {
        cause_invalid(c, &name_at, name, "%s", fault);
    }
    check_selector(c, &selector_at, selector);
    if (name.n > 0 && selector != NULL) {
        cause_forbidden(c, &name_at, "name and selector are mutually exclusive");
        cause_forbidden(c, &selector_at, "name and selector are mutually exclusive");
    } else if (name.n == 0 && selector == NULL) {
        cause_required(c, &at, "one of name or selector must be specified");
    }
}

static void check_binding(yyjson_mut_val *spec, const struct path *at, struct causes *c) {
    struct path name_at = path_member(at, "policyName"), match = path_member(at, "matchResources");
    struct str name = json_mstr_at(spec, "policyName");
    if (name.n == 0) {
        cause_required(c, &name_at, NULL);
    } else if (format_fault("dns1123-subdomain", name) != NULL) {
        cause_invalid(c, &name_at, name, "%s", format_fault("dns1123-subdomain", name));
    }
    check_param_ref(json_mget(spec, STR("paramRef")), at, c);
    check_match(json_mget(spec, STR("matchResources")), &match, c);
}

static void mutating_binding_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path at = path_member(NULL, "spec");
    (void)old;
    check_binding(json_mget(obj, STR("spec")), &at, c);
}

static void validating_binding_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path at = path_member(NULL, "spec"), actions = path_member(&at, "validationActions");
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    yyjson_mut_val *list = json_mget(spec, STR("validationActions"));
    bool deny = json_mfind(list, NULL, STR("Deny")) != NULL;
    (void)old;
    check_binding(spec, &at, c);
    EACH(list, i, v) {
        struct path here = path_index(&actions, i);
        EACH(list, k, earlier) {
            if (k < i && str_eq(json_mstr(earlier), json_mstr(v))) {
                cause_duplicate(c, &here, json_mstr(v));
                break;
            }
        }
    }
    if (yyjson_mut_arr_size(list) == 0) {
        cause_required(c, &actions, "at least one validation action is required");
    } else if (deny && json_mfind(list, NULL, STR("Warn")) != NULL) {
        cause_invalid_json(c, &actions, list,
                           "must not contain both Deny and Warn (repeating the same validation "
                           "failure information in the API response and headers serves no "
                           "purpose)");
    }
}

/* ---- rows ---- */

static void param_cell(yyjson_val *obj, struct buf *out) {
    struct str api = json_str_at(obj, "spec.paramKind.apiVersion");
    struct str kind = json_str_at(obj, "spec.paramKind.kind");
    if (kind.n == 0) {
        buf_c(out, "\"<unset>\"");
        return;
    }
    buf_ch(out, '"');
    buf_f(out, "%.*s/%.*s", STR_ARG(api), STR_ARG(kind));
    buf_ch(out, '"');
}

static void validating_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    (void)now;
    if (i == 1) {
        buf_u64(out, yyjson_arr_size(json_path(obj, "spec.validations")));
    } else {
        param_cell(obj, out);
    }
}

static void mutating_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    (void)now;
    if (i == 1) {
        buf_u64(out, yyjson_arr_size(json_path(obj, "spec.mutations")));
    } else {
        param_cell(obj, out);
    }
}

static void binding_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    struct str ns = json_str_at(obj, "spec.paramRef.namespace");
    struct str name = json_str_at(obj, "spec.paramRef.name");
    (void)now;
    (void)i;
    if (json_path(obj, "spec.paramRef") == NULL) {
        buf_c(out, "\"<unset>\"");
        return;
    }
    struct buf b;
    buf_init(&b, 4096);
    buf_f(&b, "%.*s%s%.*s", STR_ARG(ns), ns.n > 0 ? "/" : "", STR_ARG(name));
    buf_json(out, name.n > 0 ? buf_view(&b) : STR("*"));
    buf_release(&b);
}

static const struct column validating_columns[] = {
    COLUMN_NAME,
    COLUMN("Validations", "integer", 0, "Number of validations."),
    COLUMN("ParamKind", "string", 0, "Kind of the parameters."),
    COLUMN_AGE,
};
static const struct column mutating_columns[] = {
    COLUMN_NAME,
    COLUMN("Mutations", "integer", 0, "Number of mutations."),
    COLUMN("ParamKind", "string", 0, "Kind of the parameters."),
    COLUMN_AGE,
};
static const struct column binding_columns[] = {
    COLUMN_NAME,
    COLUMN_PATH("PolicyName", "string", 0, "spec.policyName", "Policy that is bound."),
    COLUMN("ParamRef", "string", 0, "Parameters of the policy."),
    COLUMN_AGE,
};

#define POLICY(kind_, plural_, singular_, schema_, columns_, check_, cell_, flags_)                \
    {                                                                                              \
        .group = "admissionregistration.k8s.io", .kind = kind_, .plural = plural_,                 \
        .singular = singular_, .flags = KIND_RV_REQUIRED | (flags_),                               \
        .versions = &(const struct kind_version){.version = "v1", .schema = &schema_},             \
        .n_versions = 1, .columns = columns_, .n_columns = COUNT(columns_), .check = check_,       \
        .cell = cell_, .prepare = (flags_)&KIND_STATUS ? prepare_status : NULL                     \
    }

const struct kind kind_validating_policy =
    POLICY("ValidatingAdmissionPolicy", "validatingadmissionpolicies", "validatingadmissionpolicy",
           schema_validating_policy, validating_columns, validating_check, validating_cell,
           KIND_STATUS | KIND_GENERATION);
const struct kind kind_validating_binding =
    POLICY("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings",
           "validatingadmissionpolicybinding", schema_validating_binding, binding_columns,
           validating_binding_check, binding_cell, KIND_GENERATION);
const struct kind kind_mutating_policy = POLICY(
    "MutatingAdmissionPolicy", "mutatingadmissionpolicies", "mutatingadmissionpolicy",
    schema_mutating_policy, mutating_columns, mutating_check, mutating_cell, KIND_GENERATION);
const struct kind kind_mutating_binding =
    POLICY("MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings",
           "mutatingadmissionpolicybinding", schema_mutating_binding, binding_columns,
           mutating_binding_check, binding_cell, KIND_GENERATION);
