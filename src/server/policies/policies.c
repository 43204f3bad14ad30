/* policies: see policies.h. Here: which there are, which of them a write meets, what follows from their verdicts. */
#include "server/policies/policies.h"

#include "api/policies/policy_scope.h"
#include "api/schema/codec.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/vec.h"
#include "server/policies/policies_set.h"
#include "wire/json/json.h"

#define GROUP "admissionregistration.k8s.io"

/* The kinds: a policy and its binding, of each make. */
enum { VALIDATING, MUTATING, MAKES };
enum { POLICY, BINDING, POLICY_KINDS = 2 * MAKES };

struct policies_make {
    struct policies_one **v; /* by name */
    size_t n;
    struct policies_binding **bindings; /* by name */
    size_t n_bindings;
};

struct policies {
    struct server *s;
    const struct kind *kinds[POLICY_KINDS]; /* 2 * make + POLICY or BINDING */
    const struct kind *namespaces;
    struct feed *feeds[POLICY_KINDS];
    struct policies_make makes[MAKES];
    struct arena scratch; /* of one verdict */
};

bool policies_spent(const struct policies_ask *q) {
    return arena_spent(q->arena) || q->steps > LIMIT_REQUEST_STEPS;
}

/* ---- which there are ---- */

struct compiling {
    struct policies *all;
    struct policies_make *x;
    struct policies_one **v;
    struct policies_binding **bindings;
    size_t n, cap;
    int code;
};

static bool compile_policy(void *ctx, const struct object *o) {
    struct compiling *c = ctx;
    struct policies_make *x = c->x;
    struct policies_one *p = NULL;
    if (c->n >= LIMIT_POLICIES) {
        log_error(c->all->s->o.log, "admission policies: only the first %d are enforced",
                  LIMIT_POLICIES);
        return false;
    }
    c->code = vec_grow((void **)&c->v, &c->cap, c->n, 1, sizeof(struct policies_one *));
    for (size_t i = 0; c->code == 0 && i < x->n && p == NULL; i++) {
        if (x->v[i] != NULL && x->v[i]->rv == o->rv && str_eq(x->v[i]->name, o->name)) {
            p = x->v[i];
            x->v[i] = NULL; /* taken over */
        }
    }
    c->code = c->code == 0 && p == NULL ? policies_one_new(o, &p) : c->code;
    if (c->code == 0) {
        c->v[c->n++] = p;
    }
    return c->code == 0;
}

static bool compile_binding(void *ctx, const struct object *o) {
    struct compiling *c = ctx;
    struct policies_make *x = c->x;
    struct policies_binding *b = NULL;
    if (c->n >= LIMIT_POLICY_BINDINGS) {
        log_error(c->all->s->o.log,
                  "bindings of admission policies: only the first %d are enforced",
                  LIMIT_POLICY_BINDINGS);
        return false;
    }
    c->code = vec_grow((void **)&c->bindings, &c->cap, c->n, 1, sizeof(struct policies_binding *));
    for (size_t i = 0; c->code == 0 && i < x->n_bindings && b == NULL; i++) {
        if (x->bindings[i] != NULL && x->bindings[i]->rv == o->rv &&
            str_eq(x->bindings[i]->name, o->name)) {
            b = x->bindings[i];
            x->bindings[i] = NULL;
        }
    }
    c->code = c->code == 0 && b == NULL ? policies_binding_new(o, &b) : c->code;
    if (c->code == 0) {
        c->bindings[c->n++] = b;
    }
    return c->code == 0;
}

static void free_policies(struct policies_one **v, size_t n) {
    for (size_t i = 0; i < n; i++) {
        policies_one_free(v[i]);
    }
    mem_free(v);
}

static void free_bindings(struct policies_binding **v, size_t n) {
    for (size_t i = 0; i < n; i++) {
        policies_binding_free(v[i]);
    }
    mem_free(v);
}

/* Out of memory: what could be compiled is enforced, and the log says that it is not all. */
static void compile(struct policies *x, int which) {
    struct policies_make *m = &x->makes[which / 2];
    struct compiling c = {.all = x, .x = m};
    bool policies = which % 2 == POLICY;
    mirror_scan(x->s->o.mirror, x->kinds[which], (struct str){0},
                policies ? compile_policy : compile_binding, &c);
    if (c.code != 0) {
        log_error(x->s->o.log, "admission policies: out of memory, not all are enforced");
    }
    if (policies) {
        free_policies(m->v, m->n);
        m->v = c.v;
        m->n = c.n;
    } else {
        free_bindings(m->bindings, m->n_bindings);
        m->bindings = c.bindings;
        m->n_bindings = c.n;
    }
}

static void changed(void *ctx, const struct change *ch) {
    struct policies *x = ctx;
    for (int i = 0; i < POLICY_KINDS; i++) {
        if (ch->obj->kind == x->kinds[i]) {
            compile(x, i);
        }
    }
}

int policies_init(struct server *s, struct err *err) {
    static const char *const names[POLICY_KINDS] = {
        "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding"};
    struct policies *x = mem_zalloc(sizeof(*x));
    if (x == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    x->s = s;
    x->namespaces = kind_by_name(STR(""), STR("Namespace"));
    arena_init(&x->scratch, LIMIT_POLICY_BYTES);
    s->policies = x;
    for (int i = 0; i < POLICY_KINDS; i++) {
        x->kinds[i] = kind_by_name(STR(GROUP), str_of(names[i]));
        x->feeds[i] = mirror_feed(s->o.mirror, x->kinds[i], changed, x);
        if (x->feeds[i] == NULL) {
            return err_set(err, ERR_NOMEM, "out of memory");
        }
        compile(x, i);
    }
    return 0;
}

void policies_release(struct server *s) {
    struct policies *x = s->policies;
    if (x == NULL) {
        return;
    }
    for (int i = 0; i < POLICY_KINDS; i++) {
        feed_free(x->feeds[i]);
    }
    for (int i = 0; i < MAKES; i++) {
        free_policies(x->makes[i].v, x->makes[i].n);
        free_bindings(x->makes[i].bindings, x->makes[i].n_bindings);
    }
    arena_release(&x->scratch);
    mem_free(x);
    s->policies = NULL;
}

static bool any_of(const struct server *s, int make, const struct kind *k) {
    const struct policies_make *m = s->policies != NULL ? &s->policies->makes[make] : NULL;
    return m != NULL && m->n > 0 && m->n_bindings > 0 && strcmp(k->group, GROUP) != 0;
}

bool policies_any(const struct server *s, const struct kind *k) {
    return any_of(s, VALIDATING, k);
}

bool policies_any_mutating(const struct server *s, const struct kind *k) {
    return any_of(s, MUTATING, k);
}

/* ---- parameters ---- */

struct params {
    struct policies_ask *q;
    const struct policies_binding *b;
    const struct kind *kind;
    const struct kind_version *kv;
    yyjson_val *v[LIMIT_POLICY_PARAMS];
    size_t n;
    bool full;
};

static yyjson_val *tree_of(struct params *p, const struct object *o) {
    yyjson_doc *doc;
    struct err err = {0};
    if (object_tree(o, p->q->arena, &doc, &err) != 0) {
        return NULL;
    }
    if (p->kv == NULL || p->kv->from_storage == NULL) {
        return yyjson_doc_get_root(doc);
    }
    yyjson_mut_doc *d = json_mut_copy(p->q->arena, yyjson_doc_get_root(doc));
    struct buf b;
    buf_init(&b, 0);
    int r = d != NULL ? codec_from_storage(p->kind, p->kv, d, &err) : ERR_NOMEM;
    if (r == 0) {
        json_write_mut(&b, yyjson_mut_doc_get_root(d));
    }
    struct str text = arena_str(p->q->arena, buf_view(&b));
    buf_release(&b);
    return r == 0 && json_parse(p->q->arena, text, &doc, NULL) == 0 ? yyjson_doc_get_root(doc)
                                                                    : NULL;
}

static bool add_param(void *ctx, const struct object *o) {
    struct params *p = ctx;
    if (!arena_charge(p->q->arena, 20)) {
        return false;
    }
    if (!selector_matches(&p->b->params, &o->labels)) {
        return true;
    }
    if (p->n == LIMIT_POLICY_PARAMS) {
        p->full = true;
        return false;
    }
    p->v[p->n++] = tree_of(p, o);
    return true;
}

/* NULL: p->v are the parameters (one NULL: without); else what is wrong with the configuration. */
static const char *collect(struct params *p, const struct policies_one *one) {
    const struct mirror *m = p->q->s->o.mirror;
    const struct policies_binding *b = p->b;
    struct str group, version, ns = b->param_ns.n > 0 ? b->param_ns : p->q->req->ns;
    p->n = 0;
    if (one->param_kind.n == 0 || !b->has_params) {
        p->v[p->n++] = NULL;
        return NULL;
    }
    p->kind = kind_by_api_version(one->param_api, one->param_kind);
    if (p->kind == NULL || (p->kind->flags & (KIND_VIRTUAL | KIND_COMPUTED))) {
        return arena_f(p->q->arena, "paramKind kind `%.*s, Kind=%.*s` not known",
                       STR_ARG(one->param_api), STR_ARG(one->param_kind))
            .p;
    }
    version = str_cut(one->param_api, '/', &group, &version) ? version : one->param_api;
    p->kv = kind_version(p->kind, version);
    bool namespaced = (p->kind->flags & KIND_NAMESPACED) != 0;
    if (!namespaced && b->param_ns.n > 0) {
        return "paramRef.namespace must not be provided for a cluster-scoped `paramKind`";
    }
    if (namespaced &&
        (ns.n == 0 || (b->param_ns.n == 0 && !(p->q->req->kind->flags & KIND_NAMESPACED)))) {
        return "cannot use namespaced paramRef in policy binding that matches cluster-scoped "
               "resources";
    }
    ns = namespaced ? ns : (struct str){0};
    const struct kind *stored = kind_stored(p->kind);
    if (b->param_name.n > 0) {
        const struct object *o = mirror_pending(m, stored, ns, b->param_name);
        if (o != NULL) {
            p->v[p->n++] = tree_of(p, o);
        }
    } else {
        mirror_scan(m, stored, ns, add_param, p);
    }
    if (p->full) {
        return arena_f(p->q->arena, "more than %d params found for policy binding",
                       LIMIT_POLICY_PARAMS)
            .p;
    }
    return p->n == 0 && b->deny_missing
               ? "no params found for policy binding with `Deny` parameterNotFoundAction"
               : NULL;
}

/* ---- verdicts ---- */

struct verdicts {
    struct policies_ask *q;
    const struct policies_one *p;
    const struct policies_binding *b; /* NULL: of the policy itself */
    struct str message, reason;       /* of the first denial */
    bool denied;
    struct buf failures; /* of the audit annotation */
};

static void refuse(struct verdicts *x, struct str message, struct str reason) {
    if (x->denied) {
        return;
    }
    x->denied = true;
    x->reason = reason;
    x->message = x->b != NULL
                     ? arena_f(x->q->arena,
                               "ValidatingAdmissionPolicy '%.*s' with binding '%.*s' denied "
                               "request: %.*s",
                               STR_ARG(x->p->name), STR_ARG(x->b->name), STR_ARG(message))
                     : arena_f(x->q->arena, "ValidatingAdmissionPolicy '%.*s' denied request: %.*s",
                               STR_ARG(x->p->name), STR_ARG(message));
}

static void denied(struct policies_judge *j, const struct policies_verdict *v) {
    struct verdicts *x = j->ctx;
    struct policies_ask *q = x->q;
    if (x->b->warn) {
        q->warn(q, arena_f(q->arena,
                           "Validation failed for ValidatingAdmissionPolicy '%.*s' with binding "
                           "'%.*s': %.*s",
                           STR_ARG(x->p->name), STR_ARG(x->b->name), STR_ARG(v->message)));
    }
    if (x->b->audit && x->failures.n < LIMIT_POLICY_NOTES) {
        struct buf *b = &x->failures;
        buf_c(b, b->n > 0 ? "," : "");
        buf_c(b, "{\"message\":");
        buf_json(b, v->message);
        buf_c(b, ",\"policy\":");
        buf_json(b, x->p->name);
        buf_c(b, ",\"binding\":");
        buf_json(b, x->b->name);
        buf_f(b, ",\"expressionIndex\":%zu,\"validationActions\":%.*s}",
              v->index == SIZE_MAX ? 0 : v->index, STR_ARG(x->b->actions));
    }
    if (x->b->deny) {
        refuse(x, v->message, v->reason);
    }
}

static void noted(struct policies_judge *j, struct str key, struct str value) {
    struct verdicts *x = j->ctx;
    x->q->note(x->q, arena_f(x->q->arena, "%.*s/%.*s", STR_ARG(x->p->name), STR_ARG(key)),
               arena_str(x->q->arena, value));
}

/* An error of the configuration denies, whatever the binding's actions are, unless failurePolicy says otherwise. */
static void misconfigured(struct verdicts *x, const char *why) {
    if (!x->p->ignore) {
        refuse(x,
               arena_f(x->q->arena, "failed to configure %s: %s",
                       x->b != NULL ? "binding" : "policy", why),
               (struct str){0});
    }
}

static yyjson_val *namespace_tree(struct policies *x, const struct policies_ask *q) {
    const struct kind *k = q->req->kind;
    const struct object *o =
        k->flags & KIND_NAMESPACED
            ? mirror_pending(x->s->o.mirror, x->namespaces, (struct str){0}, q->req->ns)
            : NULL;
    yyjson_doc *doc;
    return o != NULL && object_tree(o, q->arena, &doc, NULL) == 0 ? yyjson_doc_get_root(doc) : NULL;
}

static void judge_binding(struct policies *x, struct verdicts *v, yyjson_val *review,
                          yyjson_val *ns) {
    struct params *params = ARENA_NEW(v->q->arena, struct params);
    if (params == NULL) {
        return; /* the arena remembers */
    }
    params->q = v->q;
    params->b = v->b;
    const char *why = collect(params, v->p);
    if (why != NULL) {
        misconfigured(v, why);
        return;
    }
    for (size_t i = 0; i < params->n && !policies_spent(v->q); i++) {
        arena_reset(&x->scratch);
        struct policies_judge j = {.q = v->q,
                                   .p = v->p,
                                   .scratch = &x->scratch,
                                   .review = review,
                                   .params = params->v[i],
                                   .ns = ns,
                                   .denied = denied,
                                   .noted = noted,
                                   .ctx = v};
        policies_judge(&j);
    }
}

static int judge_policy(struct policies *x, struct verdicts *v) {
    const struct kind_version *kv = NULL;
    yyjson_val *review = NULL, *ns = NULL;
    v->b = NULL;
    if (!arena_charge(v->q->arena, 20) || !policies_matches(&v->p->match, v->q, &kv)) {
        return 0;
    }
    const struct policies_make *m = &x->makes[VALIDATING];
    for (size_t i = 0; i < m->n_bindings; i++) {
        const struct policies_binding *b = m->bindings[i];
        if (!arena_charge(v->q->arena, 4) || !str_eq(b->policy, v->p->name) ||
            !policies_matches(&b->match, v->q, NULL)) {
            continue;
        }
        if (v->p->broken) {
            misconfigured(v, "an expression of it cannot be compiled");
            return 0;
        }
        v->b = b;
        int r = review == NULL ? v->q->review(v->q, kv, &review) : 0;
        if (r != 0) {
            return r;
        }
        ns = ns != NULL ? ns : namespace_tree(x, v->q);
        judge_binding(x, v, review, ns);
    }
    return 0;
}

static int settle(struct verdicts *x) {
    struct failure *f = x->q->failure;
    struct str reason = x->reason.n > 0 ? x->reason : STR("Invalid");
    if (policies_spent(x->q)) {
        return failure_set(f, x->q->arena, ERR_TOO_LARGE,
                           "the request is too complex: admission policies take more than %d steps",
                           LIMIT_REQUEST_STEPS);
    }
    if (x->failures.n > 0) {
        x->q->note(x->q, STR("validation.policy.admission.k8s.io/validation_failure"),
                   arena_f(x->q->arena, "[%.*s]", STR_ARG(buf_view(&x->failures))));
    }
    if (!x->denied) {
        return 0;
    }
    (void)failure_forbidden(f, x->q->arena, x->q->req->kind, x->q->name, "%.*s",
                            STR_ARG(x->message));
    f->http = str_is(reason, "Forbidden")               ? 403
              : str_is(reason, "RequestEntityTooLarge") ? 413
                                                        : 422;
    reason = arena_str(x->q->arena, reason);
    f->reason = reason.p != NULL ? reason.p : "Invalid";
    return failure_cause(f, x->q->arena, STR(""), x->message, STR(""));
}

int policies_validate(struct policies_ask *q) {
    struct policies *x = q->s->policies;
    struct verdicts v = {.q = q};
    int r = 0;
    if (!policies_any(q->s, q->req->kind)) {
        return 0;
    }
    buf_init(&v.failures, LIMIT_OBJECT_BYTES);
    for (size_t i = 0; i < x->makes[VALIDATING].n && r == 0; i++) {
        v.p = x->makes[VALIDATING].v[i];
        r = judge_policy(x, &v);
    }
    r = r ? r : settle(&v);
    buf_release(&v.failures);
    return r;
}

/* ---- mutations ---- */

struct mutations {
    struct policies_ask *q;
    const struct policies_one *p;
    const struct policies_binding *b;
    const struct kind_version *kv;
    bool changed; /* since this policy began */
};

/* failurePolicy Fail: the write is refused. */
static int mutation_failed(struct mutations *x, struct str why, bool invalid) {
    struct failure *f = x->q->failure;
    struct arena *a = x->q->arena;
    if (x->p->ignore) {
        return 0;
    }
    struct str text = arena_f(a, "policy '%.*s' with binding '%.*s' denied request: %.*s",
                              STR_ARG(x->p->name), STR_ARG(x->b->name), STR_ARG(why));
    (void)failure_forbidden(f, a, x->q->req->kind, x->q->name, "%s", "");
    f->message = text;
    f->reason = invalid ? "Invalid" : "Forbidden";
    return failure_cause(f, a, STR(""), text, STR(""));
}

static int mutate_for(struct policies *x, struct mutations *m, yyjson_val *params) {
    struct policies_judge j = {
        .q = m->q, .p = m->p, .scratch = &x->scratch, .params = params, .ns = NULL};
    struct str why = {0};
    bool met = true;
    j.ns = namespace_tree(x, m->q);
    for (size_t i = 0; i < m->p->n_mutations && met && !policies_spent(m->q); i++) {
        arena_reset(&x->scratch);
        int r = m->q->review(m->q, m->kv, &j.review);
        if (r != 0) {
            return r;
        }
        if (i == 0 && policies_conditions(&j, &met, &why) != 0) {
            return mutation_failed(m, why, true);
        }
        r = met ? policies_mutation(&j, i, m->kv, &why) : 0;
        if (r == ERR_NOMEM) {
            return failure_set(m->q->failure, m->q->arena, r, "out of memory");
        }
        r = r != 0 ? mutation_failed(m, why, true) : 0;
        if (r != 0) {
            return r;
        }
        m->changed = m->changed || met;
    }
    return 0;
}

static int mutate_binding(struct policies *x, struct mutations *m) {
    struct params *params = ARENA_NEW(m->q->arena, struct params);
    if (params == NULL) {
        return failure_set(m->q->failure, m->q->arena, ERR_NOMEM, "out of memory");
    }
    params->q = m->q;
    params->b = m->b;
    const char *why = collect(params, m->p);
    why = why == NULL && m->p->broken ? "an expression of the policy cannot be compiled" : why;
    if (why != NULL) {
        return mutation_failed(m, arena_f(m->q->arena, "failed to configure binding: %s", why),
                               false);
    }
    int r = 0;
    for (size_t i = 0; i < params->n && r == 0 && !policies_spent(m->q); i++) {
        r = mutate_for(x, m, params->v[i]);
    }
    return r;
}

/* One policy by all of its bindings; *ret_changed. */
static int mutate_policy(struct policies *x, struct policies_ask *q, const struct policies_one *p,
                         bool *ret_changed) {
    const struct policies_make *make = &x->makes[MUTATING];
    struct mutations m = {.q = q, .p = p};
    int r = 0;
    if (!arena_charge(q->arena, 20) || !policies_matches(&p->match, q, &m.kv)) {
        return 0;
    }
    for (size_t i = 0; i < make->n_bindings && r == 0; i++) {
        m.b = make->bindings[i];
        if (arena_charge(q->arena, 4) && str_eq(m.b->policy, p->name) &&
            policies_matches(&m.b->match, q, NULL)) {
            r = mutate_binding(x, &m);
        }
    }
    *ret_changed = m.changed;
    return r;
}

int policies_mutate(struct policies_ask *q, bool again, bool *ret_changed) {
    struct policies *x = q->s->policies;
    const struct policies_make *m = &x->makes[MUTATING];
    size_t last = 0; /* behind the last policy that changed something */
    int r = 0;
    for (size_t i = 0; i < m->n && r == 0; i++) {
        bool changes = false;
        if (!again || m->v[i]->again) {
            r = mutate_policy(x, q, m->v[i], &changes);
        }
        last = changes ? i + 1 : last;
    }
    for (size_t i = 0; i + 1 < last && r == 0 && !again; i++) {
        bool changes = false;
        r = m->v[i]->again ? mutate_policy(x, q, m->v[i], &changes) : 0;
    }
    *ret_changed = last > 0;
    if (r == 0 && policies_spent(q)) {
        r = failure_set(q->failure, q->arena, ERR_TOO_LARGE,
                        "the request is too complex: admission policies take more than %d steps",
                        LIMIT_REQUEST_STEPS);
    }
    return r;
}

int policies_note_types(const struct kind *k, yyjson_mut_doc *d, struct arena *a) {
    yyjson_mut_val *root = yyjson_mut_doc_get_root(d);
    if (strcmp(k->kind, "ValidatingAdmissionPolicy") != 0 || strcmp(k->group, GROUP) != 0) {
        return 0;
    }
    struct arena own;
    arena_init(&own, LIMIT_CRD_BYTES);
    yyjson_mut_val *list = policy_type_warnings(&own, d, root);
    (void)arena_charge(a, own.steps);
    arena_release(&own);
    yyjson_mut_val *status = json_mensure(d, root, "status");
    yyjson_mut_val *checking = yyjson_mut_obj(d);
    int64_t generation = yyjson_mut_get_sint(json_mpath(root, "metadata.generation"));
    if (list == NULL || status == NULL || checking == NULL) {
        return ERR_NOMEM;
    }
    int r =
        yyjson_mut_arr_size(list) > 0 ? json_mset(d, checking, STR("expressionWarnings"), list) : 0;
    r = r ? r : json_mset(d, status, STR("typeChecking"), checking);
    return r ? r : json_mset_i64(d, status, "observedGeneration", generation);
}
