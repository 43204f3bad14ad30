/*
 * crd_schema: from openAPIV3Schema to a tree of nodes. See crd_schema.h.
 *
 * The JSON document is kept beside the tree: defaults, allowed values and the OpenAPI text are read from it.
 */
#include "api/schema/crd_schema.h"

#include "api/cel/cel.h"
#include "base/limits.h"
#include "base/mem.h"
#include "wire/text/regex.h"

struct compiler {
    struct crd_schema *s;
    struct arena *a;
    size_t nodes;
    struct err *err;
};

static int compile(struct compiler *c, yyjson_val *v, const struct path *at,
                   const struct crd_node **ret);

static int out_of_memory(struct compiler *c) {
    return err_set(c->err, ERR_NOMEM, "the schema is too large");
}

static void warn(struct compiler *c, const struct path *at, const char *text) {
    struct str *v = ARENA_ARRAY(c->a, struct str, c->s->n_warnings + 1);
    if (v == NULL) {
        return;
    }
    if (c->s->n_warnings > 0) {
        memcpy(v, c->s->warnings, c->s->n_warnings * sizeof(*v));
    }
    struct str where = path_text(at, c->a);
    v[c->s->n_warnings] = arena_f(c->a, "%.*s: %s", STR_ARG(where), text);
    c->s->warnings = v;
    c->s->n_warnings++;
}

static bool flag(yyjson_val *v, const char *name) {
    return yyjson_get_bool(json_get(v, str_of(name)));
}

static int by_name(const void *a, const void *b) {
    return str_cmp(((const struct crd_prop *)a)->name, ((const struct crd_prop *)b)->name);
}

static int compile_props(struct compiler *c, yyjson_val *map, const struct path *at,
                         struct crd_node *n) {
    size_t count = yyjson_obj_size(map);
    yyjson_obj_iter it = yyjson_obj_iter_with(map);
    yyjson_val *k;
    n->props = count > 0 ? ARENA_ARRAY(c->a, struct crd_prop, count) : NULL;
    if (count > 0 && n->props == NULL) {
        return out_of_memory(c);
    }
    while (count > 0 && (k = yyjson_obj_iter_next(&it)) != NULL) {
        struct crd_prop *p = &n->props[n->n_props++];
        struct path here = {.up = at, .step = PATH_MEMBER, .name = json_str(k)};
        p->name = json_str(k);
        int r = compile(c, yyjson_obj_iter_get_val(k), &here, &p->node);
        if (r != 0) {
            return r;
        }
    }
    if (n->n_props > 1) {
        qsort(n->props, n->n_props, sizeof(*n->props), by_name);
    }
    return 0;
}

static int compile_list(struct compiler *c, yyjson_val *list, const struct path *at,
                        const struct crd_node *const **ret, size_t *ret_n) {
    size_t n = yyjson_arr_size(list);
    const struct crd_node **v = n > 0 ? ARENA_ARRAY(c->a, const struct crd_node *, n) : NULL;
    if (n > 0 && v == NULL) {
        return out_of_memory(c);
    }
    size_t i, max;
    yyjson_val *e;
    yyjson_arr_foreach(list, i, max, e) {
        int r = compile(c, e, at, &v[i]);
        if (r != 0) {
            return r;
        }
    }
    *ret = v;
    *ret_n = n;
    return 0;
}

static int strings(struct compiler *c, yyjson_val *list, struct str **ret, size_t *ret_n) {
    size_t n = yyjson_arr_size(list);
    struct str *v = n > 0 ? ARENA_ARRAY(c->a, struct str, n) : NULL;
    if (n > 0 && v == NULL) {
        return out_of_memory(c);
    }
    size_t i, max;
    yyjson_val *e;
    yyjson_arr_foreach(list, i, max, e) {
        v[i] = json_str(e);
    }
    *ret = v;
    *ret_n = n;
    return 0;
}

static bool number(yyjson_val *v, const char *name, double *ret) {
    yyjson_val *x = json_get(v, str_of(name));
    if (yyjson_is_num(x)) {
        *ret = yyjson_get_num(x);
    }
    return yyjson_is_num(x);
}

static int64_t length(yyjson_val *v, const char *name) {
    yyjson_val *x = json_get(v, str_of(name));
    if (yyjson_is_uint(x) && yyjson_get_uint(x) > INT64_MAX) {
        return INT64_MAX;
    }
    if (yyjson_is_real(x)) {
        double d = yyjson_get_real(x);
        return d >= 0 && d < 9e18 ? (int64_t)d : -1;
    }
    return yyjson_is_int(x) && yyjson_get_sint(x) >= 0 ? yyjson_get_sint(x) : -1;
}

static int compile_pattern(struct compiler *c, const struct path *at, struct crd_rules *r) {
    struct regex *re = NULL;
    struct err err = {0};
    int code = r->pattern.n > 0 ? regex_new(c->a, r->pattern, &re, &err) : 0;
    if (code == ERR_NOMEM) {
        return out_of_memory(c);
    }
    if (code != 0) {
        struct str text = arena_f(c->a, "the pattern is not enforced: %s", err.text);
        warn(c, at, text.p != NULL ? text.p : "the pattern is not enforced");
    }
    r->regex = re;
    return 0;
}

/* Whether the schema says anything about values at all; most nodes do not. */
static bool has_rules(yyjson_val *v) {
    static const char *const names[] = {
        "minimum",  "maximum",       "multipleOf",    "minLength", "maxLength", "minItems",
        "maxItems", "minProperties", "maxProperties", "pattern",   "format",    "enum",
        "required", "allOf",         "anyOf",         "oneOf",     "not",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (json_get(v, str_of(names[i])) != NULL) {
            return true;
        }
    }
    return false;
}

static int compile_rules(struct compiler *c, yyjson_val *v, const struct path *at,
                         struct crd_rules **ret) {
    struct crd_rules *r = ARENA_NEW(c->a, struct crd_rules);
    if (r == NULL) {
        return out_of_memory(c);
    }
    r->has_min = number(v, "minimum", &r->min);
    r->has_max = number(v, "maximum", &r->max);
    r->has_multiple = number(v, "multipleOf", &r->multiple);
    r->open_min = flag(v, "exclusiveMinimum");
    r->open_max = flag(v, "exclusiveMaximum");
    r->min_length = length(v, "minLength");
    r->max_length = length(v, "maxLength");
    r->min_items = length(v, "minItems");
    r->max_items = length(v, "maxItems");
    r->min_props = length(v, "minProperties");
    r->max_props = length(v, "maxProperties");
    r->pattern = json_str(json_get(v, STR("pattern")));
    r->format = json_str(json_get(v, STR("format")));
    yyjson_val *values = json_get(v, STR("enum"));
    r->values = yyjson_arr_size(values) > 0 ? values : NULL;
    int code = compile_pattern(c, at, r);
    code = code ? code : strings(c, json_get(v, STR("required")), &r->required, &r->n_required);
    code = code ? code : compile_list(c, json_get(v, STR("allOf")), at, &r->all_of, &r->n_all_of);
    code = code ? code : compile_list(c, json_get(v, STR("anyOf")), at, &r->any_of, &r->n_any_of);
    code = code ? code : compile_list(c, json_get(v, STR("oneOf")), at, &r->one_of, &r->n_one_of);
    yyjson_val *negated = json_get(v, STR("not"));
    if (code == 0 && yyjson_is_obj(negated)) {
        code = compile(c, negated, at, &r->negated);
    }
    *ret = r;
    return code;
}

static uint8_t type_of(struct str s) {
    static const char *const names[] = {
        [CRD_OBJECT] = "object",   [CRD_ARRAY] = "array",   [CRD_STRING] = "string",
        [CRD_INTEGER] = "integer", [CRD_NUMBER] = "number", [CRD_BOOLEAN] = "boolean",
    };
    for (size_t i = CRD_OBJECT; i < sizeof(names) / sizeof(names[0]); i++) {
        if (str_is(s, names[i])) {
            return (uint8_t)i;
        }
    }
    return CRD_ANY;
}

static unsigned flags_of(yyjson_val *v) {
    static const struct {
        const char *name;
        unsigned bit;
    } bits[] = {
        {"nullable", CRD_NULLABLE},
        {"x-kubernetes-preserve-unknown-fields", CRD_PRESERVE},
        {"x-kubernetes-embedded-resource", CRD_EMBEDDED},
        {"x-kubernetes-int-or-string", CRD_INT_OR_STRING},
    };
    unsigned flags = 0;
    for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
        flags |= flag(v, bits[i].name) ? bits[i].bit : 0;
    }
    struct str list = json_str(json_get(v, STR("x-kubernetes-list-type")));
    struct str map = json_str(json_get(v, STR("x-kubernetes-map-type")));
    flags |= str_is(list, "set") ? CRD_LIST_SET | CRD_LISTS : 0;
    flags |= str_is(list, "map") ? CRD_LIST_MAP | CRD_LISTS : 0;
    flags |= str_is(map, "atomic") ? CRD_ATOMIC : 0;
    if (str_is(list, "atomic") ||
        (str_is(json_str(json_get(v, STR("type"))), "array") && list.n == 0)) {
        flags |= CRD_ATOMIC;
    }
    return flags;
}

/* What is below shows in the flags above, so that passes need not go where nothing is. */
static void inherit(struct crd_node *n) {
    unsigned below = 0;
    for (size_t i = 0; i < n->n_props; i++) {
        below |= n->props[i].node->flags;
    }
    below |= n->items != NULL ? n->items->flags : 0;
    below |= n->additional != NULL ? n->additional->flags : 0;
    n->flags |= below & (CRD_DEFAULTS | CRD_CELS | CRD_LISTS);
    n->flags |= n->def != NULL ? CRD_DEFAULTS : 0;
    n->flags |= n->n_cels > 0 ? CRD_CELS : 0;
}

static int compile_below(struct compiler *c, yyjson_val *v, const struct path *at,
                         struct crd_node *n) {
    int r = compile_props(c, json_get(v, STR("properties")), at, n);
    yyjson_val *items = json_get(v, STR("items")), *more = json_get(v, STR("additionalProperties"));
    if (r == 0 && yyjson_is_obj(items)) {
        r = compile(c, items, at, &n->items);
    }
    if (r == 0 && yyjson_is_obj(more)) {
        n->flags |= CRD_ADDITIONAL;
        r = compile(c, more, at, &n->additional);
    } else if (yyjson_is_bool(more)) {
        n->flags |= yyjson_get_bool(more) ? CRD_ADDITIONAL : CRD_NO_ADDITIONAL;
    }
    return r;
}

static int compile(struct compiler *c, yyjson_val *v, const struct path *at,
                   const struct crd_node **ret) {
    struct crd_node *n = ARENA_NEW(c->a, struct crd_node);
    if (n == NULL) {
        return out_of_memory(c);
    }
    if (++c->nodes > LIMIT_CRD_NODES) {
        return err_set(c->err, ERR_TOO_LARGE, "a schema may have at most %d places",
                       LIMIT_CRD_NODES);
    }
    n->type = type_of(json_str(json_get(v, STR("type"))));
    n->flags = (uint16_t)flags_of(v);
    n->def = json_get(v, STR("default"));
    n->def = yyjson_is_null(n->def) ? NULL : n->def;
    size_t keys = 0, cels = 0;
    int r = strings(c, json_get(v, STR("x-kubernetes-list-map-keys")), &n->keys, &keys);
    n->n_keys = (uint32_t)keys;
    if (r == 0 && has_rules(v)) {
        r = compile_rules(c, v, at, &n->rules);
    }
    r = r ? r : compile_below(c, v, at, n);
    yyjson_val *rules = json_get(v, STR("x-kubernetes-validations"));
    if (r == 0 && yyjson_arr_size(rules) > 0) {
        r = cel_rules_new(c->a, rules, &n->cels, &cels) != 0 ? out_of_memory(c) : 0;
        n->n_cels = (uint32_t)cels;
        for (size_t i = 0; r == 0 && i < cels; i++) {
            if (n->cels[i].unsupported.n > 0) {
                warn(c, at, n->cels[i].unsupported.p);
            }
        }
    }
    inherit(n);
    *ret = n;
    return r;
}

int crd_schema_new(yyjson_val *schema, struct crd_schema **ret, struct err *err) {
    static uint64_t serial;
    struct crd_schema *s = mem_zalloc(sizeof(*s));
    if (s == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    arena_init(&s->arena, LIMIT_CRD_BYTES);
    struct buf b;
    buf_init(&b, 0);
    if (schema != NULL) {
        json_write(&b, schema);
    } else {
        buf_c(&b, "{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}");
    }
    struct compiler c = {.s = s, .a = &s->arena, .err = err};
    struct str text = arena_str(&s->arena, buf_view(&b));
    int r = buf_ok(&b) != 0 || text.p == NULL ? out_of_memory(&c) : 0;
    buf_release(&b);
    r = r ? r : json_parse(&s->arena, text, &s->doc, err);
    r = r ? r : compile(&c, yyjson_doc_get_root(s->doc), NULL, &s->root);
    if (r == 0 && arena_ok(&s->arena) != 0) {
        r = out_of_memory(&c);
    }
    if (r != 0) {
        crd_schema_free(s);
        return r;
    }
    s->serial = ++serial;
    s->sum = str_hash(text);
    *ret = s;
    return 0;
}

void crd_schema_free(struct crd_schema *s) {
    if (s != NULL) {
        arena_release(&s->arena);
        mem_free(s);
    }
}
