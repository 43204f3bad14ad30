/* policies_judge: the expressions of one policy for one write and one parameter object. See policies_set.h. */
#include "api/managed/typed.h"
#include "base/limits.h"
#include "server/kit/asker.h"
#include "server/policies/policies_set.h"
#include "wire/json/json.h"
#include "wire/json/patch.h"

enum {
    STEP_WEIGHT = 8,         /* of the allowance, for a step of an expression */
    NOTE_BYTES = 10 * 1024,  /* [k8s: of the value of an audit annotation] */
    MESSAGE_BYTES = 5 * 1024 /* [k8s: of a messageExpression's text] */
};

#define SPENT                                                                                      \
    "validation failed due to running out of cost budget, no further validation rules will be run"

/* What its expressions see. */
struct policy_view {
    struct policies_judge *j;
    struct cel_bind binds[CEL_BINDS];
    struct cel_variables variables;
    struct rights_asker asker;
    struct cel_input in;
};

static void see(struct policy_view *x, struct policies_judge *j) {
    const struct policies_one *p = j->p;
    size_t n = 0;
    *x = (struct policy_view){.j = j, .asker = {j->q->s, &j->q->req->user}};
    x->binds[n++] = (struct cel_bind){"object", CEL_BOUND_JSON, json_get(j->review, STR("object"))};
    x->binds[n++] =
        (struct cel_bind){"oldObject", CEL_BOUND_JSON, json_get(j->review, STR("oldObject"))};
    x->binds[n++] = (struct cel_bind){"request", CEL_BOUND_JSON, j->review};
    x->binds[n++] = (struct cel_bind){"namespaceObject", CEL_BOUND_JSON, j->ns};
    x->binds[n++] = (struct cel_bind){"authorizer", CEL_BOUND_AUTHORIZER, NULL};
    x->binds[n++] = (struct cel_bind){"variables", CEL_BOUND_VARIABLES, NULL};
    if (p->param_kind.n > 0) {
        x->binds[n++] = (struct cel_bind){"params", CEL_BOUND_JSON, j->params};
    }
    x->variables = (struct cel_variables){
        .v = p->variables,
        .n = p->n_variables,
        .made = ARENA_ARRAY(j->scratch, struct cel_value *, p->n_variables + 1),
    };
    x->in = (struct cel_input){
        .binds = x->binds,
        .n_binds = n,
        .variables = x->variables.made != NULL ? &x->variables : NULL,
        .request_access = j->review,
        .access = asker_may,
        .access_ctx = &x->asker,
        .arena = j->scratch,
        .limit = LIMIT_CEL_STEPS_OBJECT,
    };
}

static struct str failed(struct policies_judge *j, struct str text, enum cel_outcome o,
                         struct str why) {
    return o == CEL_TOO_LONG ? STR(SPENT)
                             : arena_f(j->q->arena, "expression '%.*s' resulted in error: %.*s",
                                       STR_ARG(text), STR_ARG(why));
}

/* An error denies, unless the policy says otherwise. */
static void deny(struct policies_judge *j, size_t index, struct str message, struct str reason) {
    struct policies_verdict v = {index, arena_str(j->q->arena, message), reason};
    j->denied(j, &v);
}

static void charge(struct policy_view *x) {
    uint64_t steps = x->in.steps * STEP_WEIGHT + x->j->scratch->steps;
    x->j->q->steps += steps;
    (void)arena_charge(x->j->q->arena, steps);
    x->in.steps = 0;
    x->j->scratch->steps = 0;
}

/* Do all conditions hold? An error counts only where none is false: *ret_why is the first. */
static bool conditions(struct policy_view *x, struct str *ret_why) {
    struct policies_judge *j = x->j;
    struct str first = {0}, why = {0};
    for (size_t i = 0; i < j->p->n_conditions; i++) {
        const struct policies_text *t = &j->p->conditions[i];
        enum cel_outcome o = cel_check(t->expr, &x->in, &why);
        if (o == CEL_FALSE) {
            return false;
        }
        if (o != CEL_TRUE && first.n == 0) {
            first = failed(j, t->text, o, why);
        }
    }
    *ret_why = first;
    return first.n == 0;
}

static bool meets(struct policy_view *x) {
    struct str why = {0};
    bool met = conditions(x, &why);
    if (why.n > 0 && !x->j->p->ignore) {
        deny(x->j, SIZE_MAX, why, (struct str){0});
    }
    return met;
}

/* The message of a validation that does not hold. */
static struct str message_of(struct policy_view *x, const struct policies_check *c) {
    struct str text = {0};
    if (c->maker.expr == NULL || !cel_message(c->maker.expr, &x->in, &text) ||
        text.n > MESSAGE_BYTES) {
        text = str_trim(c->message);
    }
    return text.n > 0 ? text
                      : arena_f(x->j->q->arena, "failed expression: %.*s",
                                STR_ARG(str_trim(c->expression.text)));
}

static void validate(struct policy_view *x) {
    struct policies_judge *j = x->j;
    for (size_t i = 0; i < j->p->n_validations; i++) {
        const struct policies_check *c = &j->p->validations[i];
        struct str why = {0};
        enum cel_outcome o = cel_check(c->expression.expr, &x->in, &why);
        if (o == CEL_FALSE) {
            deny(j, i, message_of(x, c), c->reason);
        } else if (o != CEL_TRUE && !j->p->ignore) {
            deny(j, i, failed(j, c->expression.text, o, why), (struct str){0});
        }
        if (o == CEL_TOO_LONG) {
            return;
        }
    }
}

static void note(struct policy_view *x) {
    struct policies_judge *j = x->j;
    for (size_t i = 0; i < j->p->n_audits; i++) {
        const struct policies_check *c = &j->p->audits[i];
        struct str text = {0}, why = {0};
        enum cel_outcome o = cel_text(c->expression.expr, &x->in, &text, &why);
        text = str_head(str_trim(text), NOTE_BYTES);
        if (o == CEL_TRUE && text.n > 0) {
            j->noted(j, c->key, text);
        } else if (o == CEL_FALSE) {
            deny(j, SIZE_MAX,
                 arena_f(j->q->arena,
                         "valueExpression '%.*s' resulted in unsupported return type: %.*s. Return "
                         "type must be either string or null.",
                         STR_ARG(c->expression.text), STR_ARG(why)),
                 (struct str){0});
        } else if (o != CEL_TRUE && !j->p->ignore) {
            deny(j, SIZE_MAX, failed(j, c->expression.text, o, why), (struct str){0});
        }
    }
}

void policies_judge(struct policies_judge *j) {
    struct policy_view x;
    see(&x, j);
    if (meets(&x)) {
        validate(&x);
        note(&x);
    }
    charge(&x);
}

/* ---- mutations ---- */

int policies_conditions(struct policies_judge *j, bool *ret_met, struct str *ret_why) {
    struct policy_view x;
    see(&x, j);
    *ret_met = conditions(&x, ret_why);
    charge(&x);
    return ret_why->n > 0 ? ERR_INVALID : 0;
}

/* The names of the types that an Object{...} is made of follow the names of its fields. Here: what is one value to an
 * apply may not be merged: it would take away what it does not say. */
static bool finds_atomic(struct arena *a, const struct form *f, yyjson_mut_val *v, struct buf *at,
                         struct str *ret) {
    size_t hint = 0, had = at->n, i, n;
    yyjson_mut_val *k, *e;
    bool container = yyjson_mut_is_obj(v) || yyjson_mut_is_arr(v);
    if (!container || !arena_charge(a, 10)) {
        return false;
    }
    if (form_rule(f, v) == RULE_LEAF && f->how != FORM_UNKNOWN) {
        *ret = arena_str(a, buf_view(at));
        return true;
    }
    if (yyjson_mut_is_arr(v)) {
        struct form below = form_element(f);
        yyjson_mut_arr_foreach(v, i, n, e) {
            buf_f(at, "[%zu]", i);
            if (finds_atomic(a, &below, e, at, ret)) {
                return true;
            }
            at->n = had;
        }
        return false;
    }
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(v);
    while ((k = yyjson_mut_obj_iter_next(&it)) != NULL) {
        bool named;
        struct form below = form_member(f, json_mstr(k), &hint, &named);
        buf_f(at, ".%.*s", STR_ARG(json_mstr(k)));
        if (finds_atomic(a, &below, yyjson_mut_obj_iter_get_val(k), at, ret)) {
            return true;
        }
        at->n = had;
    }
    return false;
}

struct mutating {
    struct policies_judge *j;
    const struct policies_mutation *m;
    const struct kind_version *kv;
    struct policy_view view;
    enum cel_outcome outcome;
    struct str why;
};

static int merge(struct mutating *x, yyjson_mut_doc *d, yyjson_mut_val *config, struct err *err) {
    struct arena *a = x->j->q->arena;
    yyjson_mut_val *live = yyjson_mut_doc_get_root(d), *made;
    struct form form = form_root(x->kv->schema);
    struct typed_change change;
    struct fields fields;
    struct str atomic = {0};
    struct buf at;
    bool exact;
    (void)json_mset_str(d, config, "apiVersion", json_mstr_at(live, "apiVersion"));
    (void)json_mset_str(d, config, "kind", json_mstr_at(live, "kind"));
    buf_init(&at, 4096);
    bool whole = finds_atomic(a, &form, config, &at, &atomic);
    buf_release(&at);
    if (whole) {
        return err_set(err, ERR_INVALID,
                       "error applying patch: invalid ApplyConfiguration: may not mutate atomic "
                       "arrays, maps or structs: %.*s",
                       STR_ARG(atomic));
    }
    int r = typed_config(a, &form, config, &fields, err);
    if (r == ERR_INVALID) {
        struct err inner = *err;
        return err_set(err, r,
                       "error applying patch: failed to convert patch object to typed "
                       "object: %s",
                       inner.text);
    }
    r = r ? r : typed_merge(d, &form, live, config, &made, &change, &exact, err);
    if (r == 0) {
        yyjson_mut_doc_set_root(d, made);
    }
    return r;
}

static int patch(struct mutating *x, yyjson_mut_doc *d, yyjson_mut_val *list, struct err *err) {
    struct buf b;
    yyjson_doc *ops;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    json_write_mut(&b, list);
    int r = buf_ok(&b);
    r = r ? err_set(err, r, "the patch is too large")
          : json_parse(x->j->q->arena, buf_view(&b), &ops, err);
    r = r ? r : patch_json(d, yyjson_doc_get_root(ops), err);
    buf_release(&b);
    return r;
}

static int change(void *ctx, yyjson_mut_doc *d, struct err *err) {
    struct mutating *x = ctx;
    yyjson_mut_val *made = NULL;
    x->outcome = cel_json(x->m->text.expr, &x->view.in, d, &made, &x->why);
    charge(&x->view);
    if (x->outcome != CEL_TRUE) {
        return err_set(err, ERR_INVALID, "it could not be evaluated");
    }
    return x->m->apply ? merge(x, d, made, err) : patch(x, d, made, err);
}

int policies_mutation(struct policies_judge *j, size_t i, const struct kind_version *kv,
                      struct str *ret_why) {
    struct mutating x = {.j = j, .m = &j->p->mutations[i], .kv = kv, .outcome = CEL_TRUE};
    struct err err = {0};
    see(&x.view, j);
    int r = j->q->change(j->q, kv, change, &x, &err);
    if (r != 0) {
        *ret_why = x.outcome != CEL_TRUE ? failed(j, x.m->text.text, x.outcome, x.why)
                                         : arena_str(j->q->arena, str_of(err.text));
    }
    return r;
}
