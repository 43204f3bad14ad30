/*
 * cel_fields: whether a rule names members that its schema does not have, as far as that can be told before there is an
 * object. What has no schema, or one that lets anything in, may have any member.
 */
#include "api/cel/cel_int.h"
#include "wire/json/json.h"

/* What a name stands for: a schema, or NULL where nothing is known. */
struct scope {
    const struct scope *up;
    struct str name;
    yyjson_val *schema;
};

struct cel_field_look {
    struct str missing; /* empty: none was found */
};

static yyjson_val *type_of(struct cel_field_look *l, const struct cel_expr *e,
                           const struct scope *s);

/* Whether an object of this schema has the members that it names and no others. */
static bool is_closed(yyjson_val *schema) {
    static const char *const open[] = {"additionalProperties",
                                       "x-kubernetes-preserve-unknown-fields",
                                       "x-kubernetes-embedded-resource"};
    for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++) {
        if (json_get(schema, str_of(open[i])) != NULL) {
            return false;
        }
    }
    return str_is(json_str(json_get(schema, STR("type"))), "object") &&
           yyjson_obj_size(json_get(schema, STR("properties"))) > 0;
}

static yyjson_val *member(struct cel_field_look *l, yyjson_val *schema, struct str written) {
    char buf[256];
    struct str name = cel_plain_name(written, buf, sizeof(buf));
    yyjson_val *v = json_get(json_get(schema, STR("properties")), name);
    /* at the root, and only there, these are there without being said */
    bool own = str_is(name, "apiVersion") || str_is(name, "kind") || str_is(name, "metadata");
    if (v == NULL && !own && is_closed(schema) && l->missing.n == 0) {
        l->missing = name.p == buf ? written : name;
    }
    return str_is(name, "metadata") ? NULL : v;
}

static yyjson_val *element(yyjson_val *schema) {
    yyjson_val *v = json_get(schema, STR("items"));
    return v != NULL ? v : json_get(schema, STR("additionalProperties"));
}

static yyjson_val *named(const struct scope *s, struct str name) {
    while (s != NULL && !str_eq(s->name, name)) {
        s = s->up;
    }
    return s != NULL ? s->schema : NULL;
}

/* x.all(v, ...): v is an element of a list, and a key of a map; with two variables the second is the element. */
static void look_into_macro(struct cel_field_look *l, const struct cel_expr *e, yyjson_val *of,
                            const struct scope *s) {
    yyjson_val *items = json_get(of, STR("items")), *values = element(of);
    bool pair = e->var2.n > 0;
    struct scope one = {s, e->name, pair ? NULL : items}, two = {&one, e->var2, values};
    for (size_t i = 0; i < e->n_args; i++) {
        (void)type_of(l, e->args[i], pair ? &two : &one);
    }
}

static yyjson_val *type_of(struct cel_field_look *l, const struct cel_expr *e,
                           const struct scope *s) {
    if (e == NULL) {
        return NULL;
    }
    yyjson_val *a = type_of(l, e->a, s);
    (void)type_of(l, e->b, s);
    if (e->op == CEL_MACRO) {
        look_into_macro(l, e, a, s);
        return NULL;
    }
    for (size_t i = 0; i < e->n_args; i++) {
        (void)type_of(l, e->args[i], s);
    }
    switch (e->op) {
    case CEL_IDENT:
        return named(s, e->name);
    case CEL_SELECT:
        return member(l, a, e->name);
    case CEL_HAS:
        (void)member(l, a, e->name);
        return NULL;
    case CEL_INDEX:
        return element(a);
    default:
        return NULL;
    }
}

struct str cel_undefined_field(const struct cel_expr *e, yyjson_val *schema, bool optional_old) {
    struct cel_field_look l = {0};
    struct scope self = {NULL, STR("self"), schema};
    struct scope old = {&self, STR("oldSelf"), optional_old ? NULL : schema};
    (void)type_of(&l, e, &old);
    return l.missing;
}
