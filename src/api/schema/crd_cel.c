/*
 * crd_cel: the rules of x-kubernetes-validations beside the object. See crd_validate.h.
 *
 * Rules compare what is with what was: members with members of the same name, elements of a list that is a map with
 * those of the same keys. What did not change and does not look back is not held against the object again.
 */
#include "api/cel/cel.h"
#include "api/schema/check.h"
#include "api/schema/crd_validate.h"
#include "base/limits.h"

struct rules {
    struct causes *c;
    struct arena arena; /* of one rule */
    size_t steps;
    bool spent;
};

static void visit(struct rules *x, const struct crd_node *n, yyjson_val *v, yyjson_val *old,
                  const struct path *at);

static struct str rule_text(const struct cel_rule *r) {
    return r->message.n > 0 ? r->message : str_trim(r->rule);
}

static const char *type_text(const struct crd_node *n) {
    static const char *const names[] = {
        [CRD_ANY] = "",
        [CRD_OBJECT] = "object",
        [CRD_ARRAY] = "array",
        [CRD_STRING] = "string",
        [CRD_INTEGER] = "integer",
        [CRD_NUMBER] = "number",
        [CRD_BOOLEAN] = "boolean",
    };
    return names[n->type];
}

static void told(struct rules *x, const struct cel_rule *r, const struct crd_node *n, yyjson_val *v,
                 struct str message, const struct path *at) {
    struct path here = {.up = at, .step = PATH_MEMBER, .name = r->field_path};
    struct str where = path_text(r->field_path.n > 0 ? &here : at, x->c->arena);
    struct buf b;
    where = where.n > 0 ? where : STR("<nil>");
    if (str_is(r->reason, "FieldValueForbidden")) {
        causes_add(x->c, CAUSE_FORBIDDEN, where, "Forbidden: %.*s", STR_ARG(message));
        return;
    }
    if (str_is(r->reason, "FieldValueRequired")) {
        causes_add(x->c, CAUSE_REQUIRED, where, "Required value: %.*s", STR_ARG(message));
        return;
    }
    bool duplicate = str_is(r->reason, "FieldValueDuplicate");
    buf_init(&b, 0);
    buf_c(&b, duplicate ? "Duplicate value" : "Invalid value");
    if (n->type != CRD_OBJECT && n->type != CRD_ARRAY) {
        buf_c(&b, ": ");
        json_write(&b, v);
    }
    if (!duplicate) {
        buf_c(&b, ": ");
        buf_str(&b, message);
    }
    causes_add(x->c, duplicate ? CAUSE_DUPLICATE : CAUSE_INVALID, where, "%.*s",
               STR_ARG(buf_view(&b)));
    buf_release(&b);
}

static void failed(struct rules *x, const struct crd_node *n, const struct path *at,
                   const char *fmt, struct str why, struct str rule) {
    struct str where = path_text(at, x->c->arena);
    causes_add(x->c, CAUSE_INVALID, where.n > 0 ? where : STR("<nil>"),
               "Invalid value: \"%s\": %.*s%s%.*s", type_text(n), STR_ARG(why), fmt, STR_ARG(rule));
}

static void check_rule(struct rules *x, const struct cel_rule *r, const struct crd_node *n,
                       yyjson_val *v, yyjson_val *old, const struct path *at) {
    struct cel_input in = {
        .self = v,
        .old = r->uses_old ? old : NULL,
        .node = n,
        .optional_old = r->uses_old && r->optional_old,
        .arena = &x->arena,
        .steps = x->steps,
        .limit = LIMIT_CEL_STEPS_OBJECT,
    };
    struct str text = {0};
    arena_reset(&x->arena);
    enum cel_outcome out = cel_check(r->expr, &in, &text);
    if (out == CEL_ERROR) {
        failed(x, n, at, " evaluating rule: ", text, rule_text(r));
    } else if (out == CEL_TOO_LONG) {
        failed(x, n, at,
               "validation failed due to running out of cost budget, no further validation rules "
               "will be run",
               (struct str){0}, (struct str){0});
        x->spent = true;
    } else if (out == CEL_FALSE && !(old != NULL && !r->uses_old && json_equal(v, old))) {
        struct str message = r->message;
        if (r->message_expr == NULL || !cel_message(r->message_expr, &in, &message)) {
            message = r->message.n > 0
                          ? r->message
                          : arena_f(x->c->arena, "failed rule: %.*s", STR_ARG(rule_text(r)));
        }
        told(x, r, n, v, message, at);
    }
    x->steps = in.steps;
}

static bool same_keys(const struct crd_node *n, yyjson_val *e, yyjson_val *o) {
    bool same = true;
    for (size_t k = 0; k < n->n_keys && same; k++) {
        yyjson_val *a = json_get(e, n->keys[k]), *b = json_get(o, n->keys[k]);
        same = a != NULL && b != NULL ? json_equal(a, b) : a == b;
    }
    return same;
}

/* Mostly the one at the same place, which is `usual`. */
static yyjson_val *old_element(struct rules *x, const struct crd_node *n, yyjson_val *e,
                               yyjson_val *old, yyjson_val *usual) {
    size_t i, count;
    yyjson_val *o;
    if (!(n->flags & CRD_LIST_MAP) || !yyjson_is_arr(old)) {
        return NULL;
    }
    if (usual != NULL && same_keys(n, e, usual)) {
        return usual;
    }
    if (yyjson_arr_size(old) > LIMIT_NAMED_ITEMS ||
        !arena_charge(x->c->arena, 4 * yyjson_arr_size(old) * (n->n_keys + 1))) {
        return NULL;
    }
    yyjson_arr_foreach(old, i, count, o) {
        if (same_keys(n, e, o)) {
            return o;
        }
    }
    return NULL;
}

static void visit_below(struct rules *x, const struct crd_node *n, yyjson_val *v, yyjson_val *old,
                        const struct path *at) {
    if (yyjson_is_arr(v) && n->items != NULL) {
        yyjson_arr_iter it = yyjson_arr_iter_with(v);
        yyjson_arr_iter was = yyjson_arr_iter_with(old);
        yyjson_val *e;
        for (size_t i = 0; (e = yyjson_arr_iter_next(&it)) != NULL; i++) {
            struct path here = path_index(at, i);
            yyjson_val *usual = yyjson_arr_iter_next(&was);
            visit(x, n->items, e, old_element(x, n, e, old, usual), &here);
        }
    } else if (yyjson_is_obj(v)) {
        yyjson_obj_iter it = yyjson_obj_iter_with(v);
        yyjson_val *k;
        while ((k = yyjson_obj_iter_next(&it)) != NULL) {
            const struct crd_node *m = crd_member(n, json_str(k));
            bool named = crd_prop(n, json_str(k)) != NULL;
            struct path here = {
                .up = at, .step = named ? PATH_MEMBER : PATH_KEY, .name = json_str(k)};
            if (m != NULL) {
                visit(x, m, yyjson_obj_iter_get_val(k), json_get(old, json_str(k)), &here);
            }
        }
    }
}

static void visit(struct rules *x, const struct crd_node *n, yyjson_val *v, yyjson_val *old,
                  const struct path *at) {
    if (!(n->flags & CRD_CELS) || x->spent || x->c->n >= LIMIT_CRD_CAUSES || yyjson_is_null(v)) {
        return;
    }
    for (size_t i = 0; i < n->n_cels && !x->spent; i++) {
        const struct cel_rule *r = &n->cels[i];
        bool asks = r->expr != NULL && (!r->uses_old || r->optional_old || old != NULL);
        if (asks) {
            check_rule(x, r, n, v, old, at);
        }
    }
    visit_below(x, n, v, old, at);
}

/* What makes the rules pointless: they could not rely on the types and sizes. */
static bool blocked(const struct causes *c) {
    for (size_t i = 0; i < c->n; i++) {
        enum cause_type t = c->v[i].type;
        if (t == CAUSE_NOT_SUPPORTED || t == CAUSE_REQUIRED || t == CAUSE_TOO_LONG ||
            t == CAUSE_TOO_MANY || t == CAUSE_TYPE) {
            return true;
        }
    }
    return false;
}

void crd_validate_cel(struct crd_visit *v, const struct crd_node *n, yyjson_mut_val *obj,
                      yyjson_val *old) {
    struct buf b;
    yyjson_doc *doc;
    if (!(n->flags & CRD_CELS)) {
        return;
    }
    if (blocked(v->c)) {
        causes_add(v->c, CAUSE_INVALID, STR("<nil>"),
                   "Invalid value: null: some validation rules were not checked because the object "
                   "was invalid; correct the existing errors to complete validation");
        return;
    }
    buf_init(&b, 0);
    json_write_mut(&b, obj);
    struct str text = buf_ok(&b) == 0 ? arena_str(v->c->arena, buf_view(&b)) : (struct str){0};
    buf_release(&b);
    if (text.p == NULL || json_parse(v->c->arena, text, &doc, NULL) != 0) {
        v->c->arena->failed = ERR_NOMEM;
        return;
    }
    struct rules x = {.c = v->c};
    arena_init(&x.arena, LIMIT_CRD_BYTES);
    visit(&x, n, yyjson_doc_get_root(doc), old, NULL);
    arena_release(&x.arena);
}
