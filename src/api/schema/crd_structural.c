/*
 * crd_structural: whether openAPIV3Schema is a structural schema, each fault named. See crd_check.h.
 *
 * The structure (what is there, of what type) is said outside of allOf, anyOf, oneOf and not; inside those only what
 * values must be like. The texts are those of a kube-apiserver.
 */
#include "api/cel/cel_sort.h"
#include "api/schema/cells.h"
#include "api/schema/check.h"
#include "api/schema/crd_check.h"
#include "api/schema/crd_schema.h"
#include "base/limits.h"
#include "wire/text/regex.h"

enum level { LEVEL_ROOT, LEVEL_ITEM, LEVEL_FIELD };

/* [k8s: of one expression, and of all of a schema] */
#define COST_OF_ONE UINT64_C(10000000)
#define COST_OF_ALL UINT64_C(100000000)
#define UNBOUNDED UINT64_MAX
enum { DEAREST = 4, REQUEST_BYTES = 3 << 20 };

struct structural {
    struct causes *c;
    size_t nodes;
    uint64_t times; /* how often the place that is looked at can be there; UNBOUNDED */
    bool costs;     /* are told */
    uint64_t total;
    struct dear {
        uint64_t cost;
        struct str at;
    } dearest[DEAREST];
};

static void visit(struct structural *x, yyjson_val *s, enum level level, const struct path *at);
static void visit_values(struct structural *x, yyjson_val *s, bool skip_any, bool skip_first_all,
                         const struct path *at);

static struct str text_at(yyjson_val *s, const char *name) {
    return json_str(json_get(s, str_of(name)));
}

static bool flag(yyjson_val *s, const char *name) {
    return yyjson_get_bool(json_get(s, str_of(name)));
}

static bool has(yyjson_val *s, const char *name) {
    yyjson_val *v = json_get(s, str_of(name));
    return v != NULL && !yyjson_is_null(v);
}

static void forbidden(struct structural *x, const struct path *at, const char *name,
                      const char *text) {
    struct path here = path_member(at, name);
    cause_forbidden(x->c, &here, "%s", text);
}

static void required(struct structural *x, const struct path *at, const char *name,
                     const char *text) {
    struct path here = path_member(at, name);
    cause_required(x->c, &here, text);
}

static void invalid(struct structural *x, const struct path *at, const char *name, struct str value,
                    const char *text) {
    struct path here = path_member(at, name);
    cause_invalid(x->c, &here, value, "%s", text);
}

/* [{type: integer}, {type: string}] */
static bool is_int_or_string(yyjson_val *list) {
    yyjson_val *a = yyjson_arr_get(list, 0), *b = yyjson_arr_get(list, 1);
    return yyjson_arr_size(list) == 2 && yyjson_obj_size(a) == 1 && yyjson_obj_size(b) == 1 &&
           str_is(text_at(a, "type"), "integer") && str_is(text_at(b, "type"), "string");
}

/* ---- below allOf and its like ---- */

static void visit_nested(struct structural *x, yyjson_val *s, bool skip_any,
                         const struct path *at) {
    static const char *const empty[] = {"type", "title", "description"};
    static const char *const undefined[] = {"additionalProperties", "default",
                                            "x-kubernetes-list-type", "x-kubernetes-map-type"};
    static const char *const flags[] = {"nullable", "x-kubernetes-preserve-unknown-fields",
                                        "x-kubernetes-embedded-resource",
                                        "x-kubernetes-int-or-string"};
    static const char *const lists[] = {"x-kubernetes-list-map-keys", "x-kubernetes-validations"};
    if (!yyjson_is_obj(s) || x->c->n >= LIMIT_CRD_CAUSES || ++x->nodes > LIMIT_CRD_NODES ||
        !arena_charge(x->c->arena, 30 + yyjson_obj_size(s))) {
        return;
    }
    for (size_t i = 0; i < COUNT(empty); i++) {
        if (text_at(s, empty[i]).n > 0) {
            forbidden(x, at, empty[i], "must be empty to be structural");
        }
    }
    for (size_t i = 0; i < COUNT(undefined); i++) {
        if (has(s, undefined[i])) {
            forbidden(x, at, undefined[i], "must be undefined to be structural");
        }
    }
    for (size_t i = 0; i < COUNT(flags); i++) {
        if (flag(s, flags[i])) {
            forbidden(x, at, flags[i], "must be false to be structural");
        }
    }
    for (size_t i = 0; i < COUNT(lists); i++) {
        if (yyjson_arr_size(json_get(s, str_of(lists[i]))) > 0) {
            forbidden(x, at, lists[i], "must be empty to be structural");
        }
    }
    struct path items = path_member(at, "items"), props = path_member(at, "properties");
    visit_nested(x, json_get(s, STR("items")), false, &items);
    yyjson_val *map = json_get(s, STR("properties")), *k;
    yyjson_obj_iter it = yyjson_obj_iter_with(map);
    while (yyjson_is_obj(map) && (k = yyjson_obj_iter_next(&it)) != NULL) {
        struct path here = path_key(&props, json_str(k));
        if (str_is(json_str(k), "metadata")) {
            cause_forbidden(x->c, &here, "must not be specified in a nested context");
        }
        visit_nested(x, yyjson_obj_iter_get_val(k), false, &here);
    }
    visit_values(x, s, skip_any, false, at);
}

static void visit_list(struct structural *x, yyjson_val *s, const char *name, bool skip_first_any,
                       const struct path *at) {
    yyjson_val *list = json_get(s, str_of(name));
    struct path up = path_member(at, name);
    size_t i, n;
    yyjson_val *e;
    yyjson_arr_foreach(list, i, n, e) {
        struct path here = path_index(&up, i);
        visit_nested(x, e, skip_first_any && i == 0, &here);
    }
}

/* A pattern that nobody could read; one that only we cannot is told when the schema is compiled. */
static void check_pattern(struct structural *x, yyjson_val *s, const struct path *at) {
    struct str pattern = text_at(s, "pattern");
    struct arena a;
    struct regex *re;
    struct err err = {0};
    if (pattern.n == 0 || arena_spent(x->c->arena)) {
        return;
    }
    arena_init(&a, LIMIT_CRD_BYTES);
    int code = regex_new(&a, pattern, &re, &err);
    (void)arena_charge(x->c->arena, a.steps);
    if (code == ERR_SYNTAX || code == ERR_TOO_LARGE) {
        struct path here = path_member(at, "pattern");
        cause_invalid(x->c, &here, pattern,
                      "must be a valid regular expression, but isn't: error parsing regexp: %s",
                      err.text);
    }
    arena_release(&a);
}

static void visit_values(struct structural *x, yyjson_val *s, bool skip_any, bool skip_first_all,
                         const struct path *at) {
    struct path negated = path_member(at, "not");
    if (!skip_any) {
        visit_list(x, s, "anyOf", false, at);
    }
    visit_list(x, s, "allOf", skip_first_all, at);
    visit_list(x, s, "oneOf", false, at);
    visit_nested(x, json_get(s, STR("not")), false, &negated);
    check_pattern(x, s, at);
}

/* ---- the structure ---- */

static void check_unsupported(struct structural *x, yyjson_val *s, const struct path *at) {
    static const char *const names[] = {"id",          "additionalItems", "patternProperties",
                                        "definitions", "dependencies",    "$ref"};
    char text[64];
    for (size_t i = 0; i < COUNT(names); i++) {
        if (has(s, names[i])) {
            (void)snprintf(text, sizeof(text), "%s is not supported", names[i]);
            forbidden(x, at, names[i], text);
        }
    }
    if (yyjson_is_arr(json_get(s, STR("items")))) {
        forbidden(x, at, "items", "items must be a schema object and not an array");
    }
    if (flag(s, "uniqueItems")) {
        forbidden(x, at, "uniqueItems",
                  "uniqueItems cannot be set to true since the runtime complexity becomes "
                  "quadratic");
    }
    yyjson_val *more = json_get(s, STR("additionalProperties"));
    if (more != NULL && yyjson_obj_size(json_get(s, STR("properties"))) > 0) {
        forbidden(x, at, "additionalProperties",
                  "additionalProperties and properties are mutual exclusive");
    }
    yyjson_val *keep = json_get(s, STR("x-kubernetes-preserve-unknown-fields"));
    if (yyjson_is_bool(keep) && !yyjson_get_bool(keep)) {
        struct path here = path_member(at, "x-kubernetes-preserve-unknown-fields");
        causes_add(x->c, CAUSE_INVALID, path_text(&here, x->c->arena),
                   "Invalid value: false: must be true or undefined");
    }
}

static void check_type(struct structural *x, yyjson_val *s, enum level level,
                       const struct path *at) {
    static const char *const types[] = {"array",  "boolean", "integer", "number",
                                        "object", "string",  NULL};
    static const char *const empty[] = {
        [LEVEL_ROOT] = "must not be empty at the root",
        [LEVEL_ITEM] = "must not be empty for specified array items",
        [LEVEL_FIELD] = "must not be empty for specified object fields",
    };
    struct str type = text_at(s, "type");
    struct path here = path_member(at, "type");
    bool embedded = flag(s, "x-kubernetes-embedded-resource");
    if (type.n > 0) {
        size_t i = 0;
        while (types[i] != NULL && !str_is(type, types[i])) {
            i++;
        }
        if (types[i] == NULL) {
            cause_unsupported(x->c, &here, type, types);
        }
    }
    if (embedded && !str_is(type, "object")) {
        const char *text = "must be object if x-kubernetes-embedded-resource is true";
        type.n == 0 ? required(x, at, "type", text) : invalid(x, at, "type", type, text);
    } else if (type.n == 0 && !flag(s, "x-kubernetes-int-or-string") &&
               !flag(s, "x-kubernetes-preserve-unknown-fields")) {
        required(x, at, "type", empty[level]);
    } else if (level == LEVEL_ROOT && type.n > 0 && !str_is(type, "object")) {
        invalid(x, at, "type", type, "must be object at the root");
    }
}

static void check_list_map(struct structural *x, yyjson_val *s, const struct path *at) {
    yyjson_val *keys = json_get(s, STR("x-kubernetes-list-map-keys"));
    yyjson_val *items = json_get(s, STR("items")), *props = json_get(items, STR("properties"));
    struct path up = path_member(at, "items"), list = path_member(at, "x-kubernetes-list-map-keys");
    if (yyjson_arr_size(keys) == 0) {
        required(x, at, "x-kubernetes-list-map-keys",
                 "must not be empty if x-kubernetes-list-type is map");
    }
    if (items == NULL) {
        required(x, at, "items", "must have a schema if x-kubernetes-list-type is map");
        return;
    }
    if (!str_is(text_at(items, "type"), "object")) {
        invalid(x, &up, "type", text_at(items, "type"),
                "must be object if parent array's x-kubernetes-list-type is map");
    }
    size_t i, n;
    yyjson_val *e;
    yyjson_arr_foreach(keys, i, n, e) {
        struct str key = json_str(e);
        if (!arena_charge(x->c->arena, yyjson_obj_size(props) + yyjson_arr_size(keys))) {
            return;
        }
        yyjson_val *prop = json_get(props, key);
        struct str type = text_at(prop, "type");
        struct path member = path_member(&up, "properties"), here = path_key(&member, key);
        if (prop == NULL) {
            struct buf b;
            buf_init(&b, 0);
            json_write(&b, keys);
            causes_add(x->c, CAUSE_INVALID, path_text(&list, x->c->arena),
                       "Invalid value: %.*s: entries must all be names of item properties",
                       STR_ARG(buf_view(&b)));
            buf_release(&b);
        } else if (str_is(type, "array") || str_is(type, "object")) {
            invalid(x, &here, "type", type,
                    "must be a scalar type if parent array's x-kubernetes-list-type is map");
        }
        bool needed = has(prop, "default");
        yyjson_val *must = json_get(items, STR("required")), *name;
        size_t k, n_must;
        (void)arena_charge(x->c->arena, yyjson_arr_size(must));
        yyjson_arr_foreach(must, k, n_must, name) {
            needed |= str_eq(json_str(name), key);
        }
        if (prop != NULL && !needed) {
            required(x, &here, "default",
                     "this property is in x-kubernetes-list-map-keys, so it must have a default "
                     "or be a required property");
        }
    }
}

static void check_lists(struct structural *x, yyjson_val *s, const struct path *at) {
    struct str type = text_at(s, "type"), list = text_at(s, "x-kubernetes-list-type");
    bool keys = yyjson_arr_size(json_get(s, STR("x-kubernetes-list-map-keys"))) > 0;
    if (str_is(type, "array") && !has(s, "items")) {
        required(x, at, "items", "must be specified");
    }
    if (has(s, "x-kubernetes-map-type") && !str_is(type, "object")) {
        const char *text = "must be object if x-kubernetes-map-type is specified";
        type.n == 0 ? required(x, at, "type", text) : invalid(x, at, "type", type, text);
    }
    if (list.n > 0 && !str_is(type, "array")) {
        const char *text = "must be array if x-kubernetes-list-type is specified";
        type.n == 0 ? required(x, at, "type", text) : invalid(x, at, "type", type, text);
    }
    if (keys && !str_is(list, "map")) {
        const char *text = "must be map if x-kubernetes-list-map-keys is non-empty";
        list.n == 0 ? required(x, at, "x-kubernetes-list-type", text)
                    : invalid(x, at, "x-kubernetes-list-type", list, text);
    }
    if (str_is(list, "map")) {
        check_list_map(x, s, at);
    }
    if (str_is(list, "set")) {
        yyjson_val *items = json_get(s, STR("items"));
        struct path up = path_member(at, "items");
        struct str of = text_at(items, "type"), how = text_at(items, "x-kubernetes-list-type");
        if (str_is(of, "array") && how.n > 0 && !str_is(how, "atomic")) {
            invalid(x, &up, "x-kubernetes-list-type", how,
                    "must be atomic as item of a list with x-kubernetes-list-type=set");
        }
        if (str_is(of, "object") && !str_is(text_at(items, "x-kubernetes-map-type"), "atomic")) {
            invalid(x, &up, "x-kubernetes-map-type", text_at(items, "x-kubernetes-map-type"),
                    "must be atomic as item of a list with x-kubernetes-list-type=set");
        }
    }
}

/* metadata of an object: at the root only its name may be restricted. */
static void check_metadata(struct structural *x, yyjson_val *meta, enum level level,
                           const struct path *at) {
    struct str type = text_at(meta, "type");
    if (!str_is(type, "object")) {
        invalid(x, at, "type", type, "must be object");
    }
    bool plain = true;
    yyjson_val *k;
    yyjson_obj_iter it = yyjson_obj_iter_with(meta);
    while ((k = yyjson_obj_iter_next(&it)) != NULL) {
        struct str name = json_str(k);
        plain &= str_is(name, "type") || str_is(name, "properties") || str_is(name, "description");
        plain &= !str_is(name, "description") || level != LEVEL_ROOT ||
                 text_at(meta, "description").n == 0;
    }
    yyjson_val *props = json_get(meta, STR("properties"));
    it = yyjson_obj_iter_with(props);
    while (yyjson_is_obj(props) && (k = yyjson_obj_iter_next(&it)) != NULL) {
        plain &= str_is(json_str(k), "name") || str_is(json_str(k), "generateName");
    }
    if (level == LEVEL_ROOT && !plain) {
        cause_forbidden(x->c, at,
                        "must not specify anything other than name and generateName, but metadata "
                        "is implicitly specified");
    }
}

static void check_resource(struct structural *x, yyjson_val *s, enum level level,
                           const struct path *at) {
    static const char *const texts[] = {"kind", "apiVersion"};
    yyjson_val *props = json_get(s, STR("properties"));
    bool embedded = flag(s, "x-kubernetes-embedded-resource");
    struct path up = path_member(at, "properties"), meta = path_key(&up, STR("metadata"));
    static const char *const others[] = {"x-kubernetes-embedded-resource",
                                         "x-kubernetes-preserve-unknown-fields"};
    for (size_t i = 0; i < COUNT(others); i++) {
        struct path here = path_member(at, others[i]);
        if (flag(s, "x-kubernetes-int-or-string") && flag(s, others[i])) {
            causes_add(x->c, CAUSE_INVALID, path_text(&here, x->c->arena),
                       "Invalid value: true: must be false if x-kubernetes-int-or-string is true");
        }
    }
    if (level != LEVEL_ROOT && !embedded) {
        return;
    }
    for (size_t i = 0; i < COUNT(texts); i++) {
        yyjson_val *p = json_get(props, str_of(texts[i]));
        struct path here = path_key(&up, str_of(texts[i]));
        if (p != NULL && !str_is(text_at(p, "type"), "string")) {
            invalid(x, &here, "type", text_at(p, "type"), "must be string");
        }
    }
    if (has(props, "metadata")) {
        check_metadata(x, json_get(props, STR("metadata")), level, &meta);
    }
    if (level == LEVEL_ROOT && has(s, "additionalProperties")) {
        forbidden(x, at, "additionalProperties", "must not be used at the root");
    }
    if (embedded && has(s, "additionalProperties")) {
        forbidden(x, at, "additionalProperties",
                  "must not be used if x-kubernetes-embedded-resource is set");
    }
    if (embedded && !flag(s, "x-kubernetes-preserve-unknown-fields") &&
        yyjson_obj_size(props) == 0) {
        required(x, at, "properties",
                 "must not be empty if x-kubernetes-embedded-resource is true without "
                 "x-kubernetes-preserve-unknown-fields");
    }
}

static uint64_t product(uint64_t a, uint64_t b) {
    uint64_t v;
    return __builtin_mul_overflow(a, b, &v) ? UINT64_MAX : v;
}

/* "exceeds budget by factor of 2.5x (try ...)" */
static void too_dear(struct structural *x, const struct path *at, const char *what, uint64_t cost,
                     uint64_t limit) {
    double factor = (double)cost / (double)limit;
    char text[32];
    (void)snprintf(text, sizeof(text), factor < 1.5 ? "%fx" : "%.1fx", factor);
    cause_forbidden(x->c, at,
                    "%s exceeds budget by factor of %s (try simplifying the rule(s), or adding "
                    "maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
                    "declared)",
                    what, factor > 100.0 ? "more than 100x" : text);
}

/* What an expression costs wherever its place is in an object, at most. */
static void check_cost(struct structural *x, yyjson_val *schema, const struct cel_expr *e,
                       bool message, const struct path *at) {
    uint64_t often = x->times != UNBOUNDED
                         ? x->times
                         : REQUEST_BYTES / (cel_least_bytes(schema, x->c->arena) + 1);
    uint64_t cost = product(cel_cost(e), often);
    if (!x->costs) {
        return;
    }
    if (cost > COST_OF_ONE) {
        too_dear(x, at, message ? "estimated messageExpression cost" : "estimated rule cost", cost,
                 COST_OF_ONE);
    }
    x->total = cost > UINT64_MAX - x->total ? UINT64_MAX : x->total + cost;
    for (size_t i = 0; i < DEAREST; i++) {
        if (cost > x->dearest[i].cost) {
            memmove(&x->dearest[i + 1], &x->dearest[i], (DEAREST - 1 - i) * sizeof(x->dearest[0]));
            x->dearest[i] = (struct dear){cost, path_text(at, x->c->arena)};
            return;
        }
    }
}

static void check_total(struct structural *x, const struct path *at) {
    if (x->total <= COST_OF_ALL) {
        return;
    }
    for (size_t i = 0; i < DEAREST && x->dearest[i].cost > 0; i++) {
        causes_add(x->c, CAUSE_FORBIDDEN, x->dearest[i].at,
                   "Forbidden: contributed to estimated rule & messageExpression cost total "
                   "exceeding cost limit for entire OpenAPIv3 schema");
    }
    too_dear(x, at,
             "x-kubernetes-validations estimated rule & messageExpression cost total for entire "
             "OpenAPIv3 schema",
             x->total, COST_OF_ALL);
}

/* What is not understood, by anybody or only here, is refused: a rule that is not enforced protects nobody. */
static void check_expression(struct structural *x, yyjson_val *schema, bool root, yyjson_val *rule,
                             struct str text, bool message, const struct path *here) {
    const struct cel_expr *e = NULL;
    const struct cel_sort *sort = NULL;
    struct str faults = {0};
    struct arena a;
    if (!arena_charge(x->c->arena, 50 + 5 * text.n)) {
        return;
    }
    arena_init(&a, LIMIT_CRD_BYTES);
    const struct cel_sort *self = cel_sort_of_json(&a, schema, STR("object"), root);
    self = self != NULL ? self : &cel_dyn;
    bool optional = flag(rule, "optionalOldSelf");
    struct cel_decl names[] = {{STR("self"), self},
                               {STR("oldSelf"), optional ? cel_sort_optional(&a, self) : self}};
    struct cel_scope scope = {.v = names, .n = 2};
    int code = cel_compile(&a, text, &scope, &e, &sort, &faults);
    (void)arena_charge(x->c->arena, a.steps); /* of patterns and members in it */
    if (code == ERR_NOMEM) {
        x->c->arena->failed = ERR_NOMEM;
    } else if (code != 0) {
        cause_invalid(x->c, here, text, "compilation failed: %.*s", STR_ARG(faults));
    } else if (!message && sort->letter != 'b') {
        cause_invalid(x->c, here, text, "cel expression must evaluate to a bool");
    } else if (message && sort->letter != 's') {
        cause_invalid(x->c, here, text, "messageExpression must evaluate to a string");
    } else {
        check_cost(x, schema, e, message, here);
    }
    arena_release(&a);
}

static void check_rule(struct structural *x, yyjson_val *schema, bool root, yyjson_val *rule,
                       const struct path *at) {
    struct str text = text_at(rule, "rule"), message = str_trim(text_at(rule, "message"));
    struct str maker = text_at(rule, "messageExpression");
    struct path here = path_member(at, "rule"), message_at = path_member(at, "message");
    struct path maker_at = path_member(at, "messageExpression");
    if (str_trim(text).n == 0) {
        cause_required(x->c, &here, "rule is not specified");
        return;
    }
    if (str_find(message, '\n') >= 0) {
        cause_invalid(x->c, &message_at, text_at(rule, "message"), "must not contain line breaks");
    } else if (str_find(str_trim(text), '\n') >= 0 && message.n == 0) {
        cause_required(x->c, &message_at, "message must be specified if rule contains line breaks");
    }
    check_expression(x, schema, root, rule, text, false, &here);
    if (maker.n > 0) {
        check_expression(x, schema, root, rule, maker, true, &maker_at);
    }
}

static void check_rules(struct structural *x, yyjson_val *s, enum level level,
                        const struct path *at) {
    yyjson_val *list = json_get(s, STR("x-kubernetes-validations"));
    struct path up = path_member(at, "x-kubernetes-validations");
    size_t i, n;
    yyjson_val *e;
    yyjson_arr_foreach(list, i, n, e) {
        struct path here = path_index(&up, i);
        check_rule(x, s, level == LEVEL_ROOT || flag(s, "x-kubernetes-embedded-resource"), e,
                   &here);
    }
}

/* How often the elements of a place can be there. */
static uint64_t times_of(uint64_t times, yyjson_val *limit) {
    double d = yyjson_is_num(limit) ? yyjson_get_num(limit) : -1;
    return times == UNBOUNDED || d < 0 ? UNBOUNDED
                                       : product(times, d > 1e15 ? (uint64_t)1e15 : (uint64_t)d);
}

static void visit(struct structural *x, yyjson_val *s, enum level level, const struct path *at) {
    if (!yyjson_is_obj(s) || x->c->n >= LIMIT_CRD_CAUSES || ++x->nodes > LIMIT_CRD_NODES ||
        !arena_charge(x->c->arena, 30 + yyjson_obj_size(s))) {
        return;
    }
    check_type(x, s, level, at);
    check_unsupported(x, s, at);
    check_lists(x, s, at);
    check_resource(x, s, level, at);
    check_rules(x, s, level, at);
    struct path items = path_member(at, "items"), more = path_member(at, "additionalProperties");
    uint64_t here_times = x->times;
    x->times = times_of(here_times, json_get(s, STR("maxItems")));
    visit(x, json_get(s, STR("items")), LEVEL_ITEM, &items);
    x->times = times_of(here_times, json_get(s, STR("maxProperties")));
    visit(x, json_get(s, STR("additionalProperties")), LEVEL_FIELD, &more);
    x->times = here_times;
    struct path props = path_member(at, "properties");
    yyjson_val *map = json_get(s, STR("properties")), *k;
    yyjson_obj_iter it = yyjson_obj_iter_with(map);
    while (yyjson_is_obj(map) && (k = yyjson_obj_iter_next(&it)) != NULL) {
        struct path here = path_key(&props, json_str(k));
        visit(x, yyjson_obj_iter_get_val(k), LEVEL_FIELD, &here);
    }
    /* x-kubernetes-int-or-string may be said in the old way, beside the new one. */
    yyjson_val *any = json_get(s, STR("anyOf")), *all = json_get(s, STR("allOf"));
    visit_values(x, s, is_int_or_string(any),
                 is_int_or_string(json_get(yyjson_arr_get(all, 0), STR("anyOf"))), at);
}

void crd_structural(yyjson_val *schema, yyjson_val *old, const struct path *at, struct causes *c) {
    struct structural x = {.c = c, .times = 1, .costs = old == NULL || !json_equal(schema, old)};
    visit(&x, schema, LEVEL_ROOT, at);
    check_total(&x, at);
}
