/* cel: the rules of a schema. See cel.h. */
#include "api/cel/cel_tree.h"

#include "base/limits.h"
#include "wire/json/json.h"

static void parse_rule(struct arena *a, struct cel_rule *r, struct str message) {
    struct err err = {0};
    int code = cel_parse(a, r->rule, &r->expr, &err);
    if (code != 0) {
        r->expr = NULL;
        struct str text = arena_f(a, "the rule is not enforced (%s): %.*s", err.text,
                                  STR_ARG(str_head(str_trim(r->rule), 200)));
        r->unsupported = text.p != NULL ? text : STR("a rule is not enforced");
        return;
    }
    r->uses_old = cel_uses(r->expr, "oldSelf");
    if (message.n > 0 && cel_parse(a, message, &r->message_expr, NULL) != 0) {
        r->message_expr = NULL; /* the plain message does */
    }
}

int cel_rules_new(struct arena *a, yyjson_val *rules, struct cel_rule **ret, size_t *ret_n) {
    size_t n = yyjson_arr_size(rules);
    struct cel_rule *v = ARENA_ARRAY(a, struct cel_rule, n);
    if (v == NULL) {
        return ERR_NOMEM;
    }
    size_t i, max;
    yyjson_val *r;
    yyjson_arr_foreach(rules, i, max, r) {
        struct str path = str_trim(json_str_at(r, "fieldPath"));
        v[i] = (struct cel_rule){
            .rule = json_str_at(r, "rule"),
            .message = str_trim(json_str_at(r, "message")),
            .reason = json_str_at(r, "reason"),
            .field_path = path.n > 0 && path.p[0] == '.' ? str_skip(path, 1) : path,
            .optional_old = json_bool_at(r, "optionalOldSelf", false),
        };
        parse_rule(a, &v[i], json_str_at(r, "messageExpression"));
    }
    if (arena_ok(a) != 0) {
        return ERR_NOMEM;
    }
    *ret = v;
    *ret_n = n;
    return 0;
}

bool cel_uses(const struct cel_expr *e, const char *name) {
    if (e == NULL) {
        return false;
    }
    if (e->op == CEL_IDENT) {
        return str_is(e->name, name);
    }
    bool uses = cel_uses(e->a, name) || cel_uses(e->b, name);
    for (size_t i = 0; i < e->n_args && !uses; i++) {
        uses = cel_uses(e->args[i], name);
    }
    return uses;
}
