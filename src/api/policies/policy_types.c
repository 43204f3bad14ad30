/* policy_types: status.typeChecking of a ValidatingAdmissionPolicy. See policy_scope.h. */
#include "api/policies/policy_scope.h"

#include "api/schema/crd_schema.h"
#include "api/schema/kind.h"
#include "base/limits.h"
#include "wire/json/json.h"

enum { TYPES = 10 }; /* of a rule that are looked at [k8s: 10] */

struct looked {
    const struct kind *kind;
    const struct kind_version *kv;
};
struct policy_types {
    struct looked v[TYPES];
    size_t n;
};

static bool has_star(yyjson_mut_val *list) {
    size_t i, n;
    yyjson_mut_val *e;
    yyjson_mut_arr_foreach(list, i, n, e) {
        if (str_is(json_mstr(e), "*")) {
            return true;
        }
    }
    return yyjson_mut_arr_size(list) == 0;
}

static void add(struct policy_types *t, const struct kind *k, struct str version) {
    const struct kind_version *kv = kind_version(k, version);
    for (size_t i = 0; i < t->n; i++) {
        if (t->v[i].kv == kv) {
            return;
        }
    }
    if (kv != NULL && t->n < TYPES) {
        t->v[t->n++] = (struct looked){k, kv};
    }
}

static void add_rule(struct policy_types *t, yyjson_mut_val *rule) {
    yyjson_mut_val *groups = json_mget(rule, STR("apiGroups")), *g, *v, *r;
    yyjson_mut_val *versions = json_mget(rule, STR("apiVersions"));
    yyjson_mut_val *resources = json_mget(rule, STR("resources"));
    size_t i, j, k, n, m, o;
    if (has_star(groups) || has_star(versions)) {
        return;
    }
    yyjson_mut_arr_foreach(groups, i, n, g) {
        yyjson_mut_arr_foreach(versions, j, m, v) {
            yyjson_mut_arr_foreach(resources, k, o, r) {
                const struct kind *kind =
                    t->n < TYPES ? kind_by_resource(json_mstr(g), json_mstr(v), json_mstr(r))
                                 : NULL;
                if (kind != NULL) {
                    add(t, kind, json_mstr(v));
                }
            }
        }
    }
}

static const struct cel_sort *sort_of(struct arena *a, const struct kind *k,
                                      const struct kind_version *kv) {
    if (k == NULL || kv == NULL) {
        return &cel_dyn;
    }
    if (kv->schema->custom == NULL) {
        return cel_sort_of_schema(a, kv->schema, str_of(k->kind));
    }
    const struct cel_sort *s =
        cel_sort_of_json(a, yyjson_doc_get_root(kv->schema->custom->doc), str_of(k->kind), true);
    return s != NULL ? s : &cel_dyn;
}

static const struct cel_sort *params_sort(struct arena *a, yyjson_mut_val *spec) {
    yyjson_mut_val *ref = json_mget(spec, STR("paramKind"));
    struct str api = json_mstr_at(ref, "apiVersion"), group, version;
    if (ref == NULL) {
        return NULL;
    }
    if (!str_cut(api, '/', &group, &version)) {
        version = api;
    }
    const struct kind *k = kind_by_api_version(api, json_mstr_at(ref, "kind"));
    return sort_of(a, k, k != NULL ? kind_version(k, version) : NULL);
}

/* The faults of one expression for each of the kinds; empty: none. */
static void check_one(struct arena *a, const struct policy_types *t, yyjson_mut_val *spec,
                      struct str text, struct buf *out) {
    yyjson_mut_val *vars = json_mget(spec, STR("variables")), *v;
    const struct cel_sort *sort;
    struct str fault;
    size_t k, n;
    for (size_t i = 0; i < t->n; i++) {
        struct policy_scope s;
        policy_scope_init(&s, a, sort_of(a, t->v[i].kind, t->v[i].kv), params_sort(a, spec), true);
        policy_scope_use_variables(&s);
        yyjson_mut_arr_foreach(vars, k, n, v) {
            int r = policy_compile(a, &s, json_mstr_at(v, "expression"), "", &sort, &fault);
            policy_scope_add(&s, json_mstr_at(v, "name"), r == 0 ? sort : &cel_dyn);
        }
        if (policy_compile(a, &s, text, "", &sort, &fault) == ERR_SYNTAX) {
            const struct kind *kind = t->v[i].kind;
            buf_f(out, "%s%s%s%s, Kind=%s: %.*s\n", out->n > 0 ? "\n" : "", kind->group,
                  kind->group[0] != '\0' ? "/" : "", t->v[i].kv->version, kind->kind,
                  STR_ARG(str_skip(fault, strlen("compilation failed: "))));
        }
    }
}

static void warn(struct arena *a, const struct policy_types *t, yyjson_mut_doc *d,
                 yyjson_mut_val *spec, yyjson_mut_val *validation, const char *member, size_t i,
                 yyjson_mut_val *list) {
    struct str text = json_mstr(json_mget(validation, str_of(member)));
    struct buf b;
    if (text.n == 0) {
        return;
    }
    buf_init(&b, LIMIT_OBJECT_BYTES / 4);
    check_one(a, t, spec, text, &b);
    yyjson_mut_val *w = b.n > 0 && buf_ok(&b) == 0 ? yyjson_mut_obj(d) : NULL;
    if (w != NULL) {
        (void)json_mset_str(d, w, "fieldRef", arena_f(a, "spec.validations[%zu].%s", i, member));
        (void)json_mset_str(d, w, "warning", buf_view(&b));
        (void)yyjson_mut_arr_append(list, w);
    }
    buf_release(&b);
}

yyjson_mut_val *policy_type_warnings(struct arena *a, yyjson_mut_doc *d, yyjson_mut_val *policy) {
    struct policy_types t = {.n = 0};
    yyjson_mut_val *spec = json_mget(policy, STR("spec")), *e, *out = yyjson_mut_arr(d);
    yyjson_mut_val *rules = json_mpath(spec, "matchConstraints.resourceRules");
    yyjson_mut_val *validations = json_mget(spec, STR("validations"));
    size_t i, n;
    yyjson_mut_arr_foreach(rules, i, n, e) {
        add_rule(&t, e);
    }
    yyjson_mut_arr_foreach(validations, i, n, e) {
        if (out != NULL && i < LIMIT_POLICY_EXPRESSIONS) {
            warn(a, &t, d, spec, e, "expression", i, out);
            warn(a, &t, d, spec, e, "messageExpression", i, out);
        }
    }
    return arena_ok(a) == 0 ? out : NULL;
}
