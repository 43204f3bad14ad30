/* policies_set: see policies_set.h. */
#include "server/policies/policies_set.h"

#include "base/limits.h"
#include "base/mem.h"
#include "server/kit/resource_rule.h"
#include "wire/json/json.h"

enum { SET_BYTES = 32 << 20 };

static int read_match(struct arena *a, yyjson_val *v, struct policies_match *ret) {
    *ret = (struct policies_match){
        .rules = json_get(v, STR("resourceRules")),
        .excluded = json_get(v, STR("excludeResourceRules")),
        .equivalent = !str_is(json_str_at(v, "matchPolicy"), "Exact"),
    };
    int r = selector_from_json(a, json_get(v, STR("namespaceSelector")), &ret->namespaces, NULL);
    r = r ? r : selector_from_json(a, json_get(v, STR("objectSelector")), &ret->objects, NULL);
    ret->namespaces.nothing = ret->objects.nothing = false; /* absent: everything */
    return r;
}

/* ---- policies ---- */

static struct policies_text compile(struct policies_one *p, struct str text) {
    struct policies_text t = {.text = text};
    if (text.n > 0 && cel_parse(&p->arena, text, &t.expr, NULL) != 0) {
        t.expr = NULL;
        p->broken = true;
    }
    return t;
}

static int read_checks(struct policies_one *p, yyjson_val *list, const char *expression,
                       const char *maker, struct policies_check **ret, size_t *ret_n) {
    size_t i, n, count = yyjson_arr_size(list);
    yyjson_val *e;
    struct policies_check *v = ARENA_ARRAY(&p->arena, struct policies_check, count + 1);
    if (v == NULL) {
        return ERR_NOMEM;
    }
    yyjson_arr_foreach(list, i, n, e) {
        v[i].expression = compile(p, json_str(json_get(e, str_of(expression))));
        v[i].maker = maker != NULL ? compile(p, json_str(json_get(e, str_of(maker))))
                                   : (struct policies_text){0};
        v[i].message = json_str_at(e, "message");
        v[i].reason = json_str_at(e, "reason");
        v[i].key = json_str_at(e, "key");
    }
    *ret = v;
    *ret_n = count;
    return 0;
}

static int read_lists(struct policies_one *p, yyjson_val *spec) {
    yyjson_val *list = json_get(spec, STR("matchConditions")), *e;
    yyjson_val *variables = json_get(spec, STR("variables"));
    size_t i, n;
    p->n_conditions = yyjson_arr_size(list);
    p->n_variables = yyjson_arr_size(variables);
    p->conditions = ARENA_ARRAY(&p->arena, struct policies_text, p->n_conditions + 1);
    p->variables = ARENA_ARRAY(&p->arena, struct cel_variable, p->n_variables + 1);
    if (p->conditions == NULL || p->variables == NULL) {
        return ERR_NOMEM;
    }
    yyjson_arr_foreach(list, i, n, e) {
        p->conditions[i] = compile(p, json_str_at(e, "expression"));
    }
    yyjson_arr_foreach(variables, i, n, e) {
        struct policies_text t = compile(p, json_str_at(e, "expression"));
        p->variables[i] = (struct cel_variable){json_str_at(e, "name"), t.expr};
    }
    int r = read_checks(p, json_get(spec, STR("validations")), "expression", "messageExpression",
                        &p->validations, &p->n_validations);
    return r ? r
             : read_checks(p, json_get(spec, STR("auditAnnotations")), "valueExpression", NULL,
                           &p->audits, &p->n_audits);
}

static int read_mutations(struct policies_one *p, yyjson_val *list) {
    size_t i, n;
    yyjson_val *e;
    p->n_mutations = yyjson_arr_size(list);
    p->mutations = ARENA_ARRAY(&p->arena, struct policies_mutation, p->n_mutations + 1);
    if (p->mutations == NULL) {
        return ERR_NOMEM;
    }
    yyjson_arr_foreach(list, i, n, e) {
        bool apply = str_is(json_str_at(e, "patchType"), "ApplyConfiguration");
        p->mutations[i].apply = apply;
        p->mutations[i].text = compile(
            p, json_str_at(e, apply ? "applyConfiguration.expression" : "jsonPatch.expression"));
        p->broken = p->broken || p->mutations[i].text.expr == NULL;
    }
    return 0;
}

int policies_one_new(const struct object *o, struct policies_one **ret) {
    struct policies_one *p = mem_zalloc(sizeof(*p));
    yyjson_doc *doc;
    if (p == NULL) {
        return ERR_NOMEM;
    }
    arena_init(&p->arena, SET_BYTES);
    p->rv = o->rv;
    p->name = arena_str(&p->arena, o->name);
    int r = object_tree(o, &p->arena, &doc, NULL);
    yyjson_val *spec = r == 0 ? json_get(yyjson_doc_get_root(doc), STR("spec")) : NULL;
    p->ignore = str_is(json_str_at(spec, "failurePolicy"), "Ignore");
    p->param_api = json_str_at(spec, "paramKind.apiVersion");
    p->param_kind = json_str_at(spec, "paramKind.kind");
    r = r ? r : read_match(&p->arena, json_get(spec, STR("matchConstraints")), &p->match);
    p->again = str_is(json_str_at(spec, "reinvocationPolicy"), "IfNeeded");
    r = r ? r : read_lists(p, spec);
    r = r ? r : read_mutations(p, json_get(spec, STR("mutations")));
    if (r != 0 || arena_ok(&p->arena) != 0) {
        policies_one_free(p);
        return ERR_NOMEM;
    }
    *ret = p;
    return 0;
}

void policies_one_free(struct policies_one *p) {
    if (p != NULL) {
        arena_release(&p->arena);
        mem_free(p);
    }
}

/* ---- bindings ---- */

static void read_actions(struct policies_binding *b, yyjson_val *list) {
    yyjson_val *e;
    size_t i, n;
    struct buf text;
    yyjson_arr_foreach(list, i, n, e) {
        b->deny = b->deny || str_is(json_str(e), "Deny");
        b->warn = b->warn || str_is(json_str(e), "Warn");
        b->audit = b->audit || str_is(json_str(e), "Audit");
    }
    buf_init(&text, 4096);
    json_write(&text, list);
    b->actions = list != NULL ? arena_str(&b->arena, buf_view(&text)) : STR("[]");
    buf_release(&text);
}

int policies_binding_new(const struct object *o, struct policies_binding **ret) {
    struct policies_binding *b = mem_zalloc(sizeof(*b));
    yyjson_doc *doc;
    if (b == NULL) {
        return ERR_NOMEM;
    }
    arena_init(&b->arena, SET_BYTES);
    b->rv = o->rv;
    b->name = arena_str(&b->arena, o->name);
    int r = object_tree(o, &b->arena, &doc, NULL);
    yyjson_val *spec = r == 0 ? json_get(yyjson_doc_get_root(doc), STR("spec")) : NULL;
    yyjson_val *ref = json_get(spec, STR("paramRef"));
    b->policy = json_str_at(spec, "policyName");
    b->has_params = ref != NULL;
    b->param_ns = json_str_at(ref, "namespace");
    b->param_name = json_str_at(ref, "name");
    b->deny_missing = str_is(json_str_at(ref, "parameterNotFoundAction"), "Deny");
    r = r ? r : read_match(&b->arena, json_get(spec, STR("matchResources")), &b->match);
    r = r ? r : selector_from_json(&b->arena, json_get(ref, STR("selector")), &b->params, NULL);
    read_actions(b, json_get(spec, STR("validationActions")));
    if (r != 0 || arena_ok(&b->arena) != 0) {
        policies_binding_free(b);
        return ERR_NOMEM;
    }
    *ret = b;
    return 0;
}

void policies_binding_free(struct policies_binding *b) {
    if (b != NULL) {
        arena_release(&b->arena);
        mem_free(b);
    }
}

/* ---- matching ---- */

static bool any_rule(yyjson_val *rules, const struct policies_ask *q, struct str version) {
    struct resource_ask ask = {q->req->kind, q->subresource, q->operation, q->name};
    yyjson_val *rule;
    size_t i, n;
    yyjson_arr_foreach(rules, i, n, rule) {
        if (!arena_charge(q->arena, 8)) {
            return false;
        }
        if (resource_rule_matches(rule, &ask, version) && resource_rule_names(rule, q->name)) {
            return true;
        }
    }
    return false;
}

/* The version of the first rule that matches, or NULL. */
static const struct kind_version *ruled(yyjson_val *rules, bool equivalent,
                                        const struct policies_ask *q) {
    const struct kind *k = q->req->kind;
    if (any_rule(rules, q, q->req->version)) {
        return kind_version(k, q->req->version);
    }
    for (size_t i = 0; equivalent && i < k->n_versions; i++) {
        if (any_rule(rules, q, str_of(k->versions[i].version))) {
            return &k->versions[i];
        }
    }
    return NULL;
}

bool policies_matches(const struct policies_match *m, const struct policies_ask *q,
                      const struct kind_version **ret_version) {
    if (q->namespace_labels != NULL && !selector_matches(&m->namespaces, q->namespace_labels)) {
        return false;
    }
    if (m->objects.n > 0 && !(q->labels != NULL && selector_matches(&m->objects, q->labels)) &&
        !(q->old_labels != NULL && selector_matches(&m->objects, q->old_labels))) {
        return false;
    }
    if (ruled(m->excluded, m->equivalent, q) != NULL) {
        return false;
    }
    const struct kind_version *kv = yyjson_arr_size(m->rules) == 0
                                        ? kind_version(q->req->kind, q->req->version)
                                        : ruled(m->rules, m->equivalent, q);
    if (kv != NULL && ret_version != NULL) {
        *ret_version = kv;
    }
    return kv != NULL;
}
