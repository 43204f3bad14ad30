/* policies_judge: the expressions of one policy for one write and one parameter object. See policies_set.h. */
#include "base/limits.h"
#include "server/kit/asker.h"
#include "server/policies/policies_set.h"
#include "wire/json/json.h"

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

/* Do all conditions hold? An error counts only where none is false. */
static bool meets(struct policy_view *x) {
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
    if (first.n > 0 && !j->p->ignore) {
        deny(j, SIZE_MAX, first, (struct str){0});
    }
    return first.n == 0;
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
    (void)arena_charge(j->q->arena, x.in.steps * STEP_WEIGHT + j->scratch->steps);
}
