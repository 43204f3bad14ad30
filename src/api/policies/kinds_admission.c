/* kinds_admission: the rows of the webhook configurations, and their rules. */
#include "api/kinds/kinds.h"
#include "api/policies/policy_scope.h"
#include "base/limits.h"

extern const struct schema schema_mutating_configuration, schema_validating_configuration;

static void check_client(yyjson_mut_val *client, const struct path *at, struct causes *c) {
    struct path url_at = path_member(at, "url");
    struct str url = json_mstr_at(client, "url");
    bool service = json_mget(client, STR("service")) != NULL;
    if (service == (url.n > 0)) {
        cause_required(c, at, "exactly one of url or service is required");
    } else if (url.n > 0 && !str_starts(url, STR("https://"))) {
        cause_invalid(c, &url_at, url, "'https' is the only allowed URL scheme");
    }
}

static void check_versions(yyjson_mut_val *hook, const struct path *at, struct causes *c) {
    struct path here = path_member(at, "admissionReviewVersions");
    yyjson_mut_val *list = json_mget(hook, STR("admissionReviewVersions"));
    bool known = false;
    EACH(list, i, v) {
        (void)i;
        known = known || str_is(json_mstr(v), "v1");
    }
    if (!known && yyjson_mut_arr_size(list) > 0) {
        cause_invalid_json(c, &here, list, "must include at least one of v1");
    }
}

/* A star stands alone. */
static void check_stars(yyjson_mut_val *rule, const struct path *at, struct causes *c) {
    static const char *const lists[] = {"operations", "apiGroups", "apiVersions"};
    for (size_t k = 0; k < COUNT(lists); k++) {
        struct path here = path_member(at, lists[k]);
        yyjson_mut_val *list = json_mget(rule, str_of(lists[k]));
        EACH(list, i, v) {
            (void)i;
            if (str_is(json_mstr(v), "*") && yyjson_mut_arr_size(list) > 1) {
                cause_invalid_json(c, &here, list, "if '*' is present, must not specify other %s",
                                   lists[k]);
                break;
            }
        }
    }
}

static bool same_condition(yyjson_val *list, struct str text) {
    yyjson_val *v;
    size_t i, n;
    yyjson_arr_foreach(list, i, n, v) {
        if (str_eq(json_str_at(v, "expression"), text)) {
            return true;
        }
    }
    return false;
}

/* Those that were there before are not held against it again. */
static void check_conditions(yyjson_mut_val *hook, yyjson_val *was, const struct path *at,
                             struct causes *c) {
    struct path all = path_member(at, "matchConditions");
    yyjson_mut_val *list = json_mget(hook, STR("matchConditions"));
    struct policy_scope scope;
    struct arena a;
    if (yyjson_mut_arr_size(list) == 0) {
        return;
    }
    arena_init(&a, LIMIT_CRD_BYTES);
    policy_scope_init(&scope, &a, &cel_dyn, NULL, true);
    EACH(list, i, v) {
        struct path here = path_index(&all, i), text_at = path_member(&here, "expression");
        struct str text = str_trim(json_mstr_at(v, "expression")), fault = {0};
        const struct cel_sort *sort;
        if (text.n == 0 || same_condition(json_get(was, STR("matchConditions")), text)) {
            continue; /* told by the table */
        }
        int r = arena_charge(c->arena, 50 + 5 * text.n)
                    ? policy_compile(&a, &scope, text, "b", &sort, &fault)
                    : 0;
        if (r == ERR_NOMEM) {
            c->arena->failed = ERR_NOMEM;
        } else if (r != 0) {
            cause_invalid(c, &text_at, text, "%.*s", STR_ARG(fault));
        }
    }
    (void)arena_charge(c->arena, a.steps);
    arena_release(&a);
}

static yyjson_val *old_hook(yyjson_val *old, struct str name) {
    yyjson_val *list = json_get(old, STR("webhooks")), *v;
    size_t i, n;
    yyjson_arr_foreach(list, i, n, v) {
        if (str_eq(json_str_at(v, "name"), name)) {
            return v;
        }
    }
    return NULL;
}

static void configuration_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path all = path_member(NULL, "webhooks");
    yyjson_mut_val *list = json_mget(obj, STR("webhooks"));
    if (!check_size(list, &all, c)) {
        return;
    }
    EACH(list, i, hook) {
        struct path at = path_index(&all, i), name_at = path_member(&at, "name");
        struct path client_at = path_member(&at, "clientConfig"), rules = path_member(&at, "rules");
        struct path spaces = path_member(&at, "namespaceSelector");
        struct path objects = path_member(&at, "objectSelector");
        struct str name = json_mstr_at(hook, "name");
        size_t dots = 0;
        for (size_t k = 0; k < name.n; k++) {
            dots += name.p[k] == '.';
        }
        if (name.n > 0 && (format_fault("dns1123-subdomain", name) != NULL || dots < 2)) {
            cause_invalid(c, &name_at, name,
                          "should be a domain with at least three segments separated by dots");
        }
        EACH(list, j, earlier) {
            if (j < i && str_eq(json_mstr_at(earlier, "name"), name)) {
                cause_duplicate(c, &name_at, name);
            }
        }
        check_client(json_mget(hook, STR("clientConfig")), &client_at, c);
        check_versions(hook, &at, c);
        check_conditions(hook, old_hook(old, name), &at, c);
        check_selector(c, &spaces, json_mget(hook, STR("namespaceSelector")));
        check_selector(c, &objects, json_mget(hook, STR("objectSelector")));
        EACH(json_mget(hook, STR("rules")), k, rule) {
            struct path rule_at = path_index(&rules, k);
            check_stars(rule, &rule_at, c);
        }
    }
}

static void configuration_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    (void)i;
    (void)now;
    buf_u64(out, yyjson_arr_size(json_get(obj, STR("webhooks"))));
}

static const struct column configuration_columns[] = {
    COLUMN_NAME,
    COLUMN("Webhooks", "integer", 0, "Number of webhooks."),
    COLUMN_AGE,
};

#define CONFIGURATION(kind_, plural_, singular_, schema_)                                          \
    {                                                                                              \
        .group = "admissionregistration.k8s.io", .kind = kind_, .plural = plural_,                 \
        .singular = singular_, .flags = KIND_GENERATION | KIND_RV_REQUIRED,                        \
        .versions = &(const struct kind_version){.version = "v1", .schema = schema_},              \
        .n_versions = 1, .columns = configuration_columns,                                         \
        .n_columns = COUNT(configuration_columns), .check = configuration_check,                   \
        .cell = configuration_cell                                                                 \
    }

const struct kind kind_mutating_webhooks =
    CONFIGURATION("MutatingWebhookConfiguration", "mutatingwebhookconfigurations",
                  "mutatingwebhookconfiguration", &schema_mutating_configuration);
const struct kind kind_validating_webhooks =
    CONFIGURATION("ValidatingWebhookConfiguration", "validatingwebhookconfigurations",
                  "validatingwebhookconfiguration", &schema_validating_configuration);
