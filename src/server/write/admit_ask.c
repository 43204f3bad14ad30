/*
 * admit_ask: the world's own admission, and admission policies, asked in the write pipeline. Where there are none
 * nothing is done.
 */
#include "server/policies/policies.h"
#include "server/write/admit.h"
#include "server/write/hook_ask.h"
#include "server/write/hooks.h"
#include "wire/json/json.h"

/* The asker's further rights, through the same guard. */
static bool may(const struct admission_ask *q, const char *verb, const char *group,
                const char *resource, const char *subresource, struct str ns) {
    const struct write *w = q->may_ctx;
    struct guard *g = w->s->o.guard;
    struct api_request want = *w->req;
    struct str reason = {0};
    struct err err = {0};
    want.verb = VERB_UPDATE;
    want.verb_name = str_of(verb);
    want.group = str_of(group);
    want.plural = str_of(resource);
    want.subresource = str_of(subresource);
    want.ns = ns;
    want.name = want.authz_name = (struct str){0};
    return w->behalf != WRITE_FOR_USER || g == NULL || g->authorize == NULL ||
           g->authorize(g, &want, w->arena, &reason, &err) == 0;
}

static struct admission_ask ask_of(const struct write *w, bool removes) {
    const struct api_request *q = w->req;
    const struct kind *k = kind_stored(q->kind);
    return (struct admission_ask){
        .op = removes          ? ADMISSION_DELETE
              : w->old != NULL ? ADMISSION_UPDATE
                               : ADMISSION_CREATE,
        .kind = k,
        .version = str_of(kind_storage(k)->version),
        .subresource = removes ? (struct str){0} : q->subresource,
        .ns = request_key_ns(q),
        .name = q->name,
        .user = q->user.name,
        .groups = q->user.groups.v,
        .n_groups = q->user.groups.n,
        .doc = removes ? NULL : w->doc,
        .obj = removes ? NULL : yyjson_mut_doc_get_root(w->doc),
        .old = w->old_tree,
        .arena = w->arena,
        .internal = w->behalf != WRITE_FOR_USER,
        .dry = q->opt.dry_run,
        .may = may,
        .may_ctx = (void *)w,
        .causes = {.arena = w->arena},
    };
}

static void warn(struct write *w, const struct admission_ask *q) {
    for (size_t i = 0; w->call != NULL && i < q->n_warnings; i++) {
        call_warn(w->call, q->warnings[i]);
    }
}

int admit_mutate(struct write *w) {
    struct admission *a = w->s->o.admission;
    if (a == NULL) {
        return 0;
    }
    struct err err = {0};
    struct admission_ask q = ask_of(w, false);
    int r = a->mutate(a, &q, &err);
    warn(w, &q);
    return r != 0 ? failure_err(&w->failure, w->arena, &err) : 0;
}

static int validate(struct write *w, struct admission_ask *q) {
    struct admission *a = w->s->o.admission;
    struct err err = {0};
    int r = a->validate(a, q, &err);
    warn(w, q);
    if (r != 0) {
        return failure_err(&w->failure, w->arena, &err);
    }
    if (q->denied.n > 0) {
        struct str name = q->obj != NULL ? json_mstr_at(q->obj, "metadata.name") : q->name;
        return failure_forbidden(&w->failure, w->arena, q->kind, name, "%.*s", STR_ARG(q->denied));
    }
    if (q->conflict.n > 0) {
        struct str name = q->obj != NULL ? json_mstr_at(q->obj, "metadata.name") : q->name;
        r = failure_conflict(&w->failure, w->arena, q->kind, name, q->conflict);
        for (size_t i = 0; i < q->causes.n; i++) {
            r = failure_cause(&w->failure, w->arena, STR("FieldValueInvalid"), q->causes.v[i].text,
                              q->causes.v[i].field);
        }
        return r;
    }
    return 0;
}

int admit_validate(struct write *w, struct causes *causes) {
    if (w->s->o.admission == NULL || str_is(w->req->subresource, "status")) {
        return 0;
    }
    struct admission_ask q = ask_of(w, false);
    int r = validate(w, &q);
    if (r == 0) {
        *causes = q.causes;
    }
    return r;
}

int admit_remove(struct write *w) {
    if (w->s->o.admission == NULL) {
        return 0;
    }
    struct admission_ask q = ask_of(w, true);
    int r = validate(w, &q);
    if (r == 0 && q.causes.n > 0) {
        r = failure_invalid(&w->failure, w->arena, q.kind->group, q.kind->kind, q.name, &q.causes);
    }
    return r;
}

/* ---- policies ---- */

static int review_of(struct policies_ask *q, const struct kind_version *kv, yyjson_val **ret) {
    struct write *w = q->ctx;
    struct str question, text;
    struct err err = {0};
    yyjson_doc *doc;
    int r = hook_question(w, kv, &question);
    if (r != 0) {
        return r;
    }
    text = arena_f(w->arena, "{\"uid\":\"\"%.*s}", STR_ARG(question));
    if (text.p == NULL || json_parse(w->arena, text, &doc, &err) != 0) {
        return failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory");
    }
    *ret = yyjson_doc_get_root(doc);
    return 0;
}

static void warn_policy(struct policies_ask *q, struct str text) {
    struct write *w = q->ctx;
    if (w->call != NULL) {
        call_warn(w->call, text);
    }
}

static void note(struct policies_ask *q, struct str key, struct str value) {
    struct write *w = q->ctx;
    if (w->call != NULL) {
        call_note(w->call, key, value);
    }
}

static int change(struct policies_ask *q, const struct kind_version *kv,
                  int (*make)(void *ctx, yyjson_mut_doc *d, struct err *err), void *ctx,
                  struct err *err) {
    struct write *w = q->ctx;
    int r = hook_change(w, kv, make, ctx, err);
    return r ? r : write_default(w, err);
}

static int ask_policies(struct write *w, bool removes, struct hook_labels *l,
                        struct policies_ask *ret) {
    int r = hooks_labels(w, removes, l);
    if (r == 0) {
        *ret = (struct policies_ask){
            .s = w->s,
            .req = w->req,
            .arena = w->arena,
            .name = removes ? w->old->name
                            : json_mstr_at(yyjson_mut_doc_get_root(w->doc), "metadata.name"),
            .subresource = l->m.subresource,
            .operation = l->m.operation,
            .namespace_labels = l->m.namespace_labels,
            .labels = l->m.labels,
            .old_labels = l->m.old_labels,
            .review = review_of,
            .change = change,
            .warn = warn_policy,
            .note = note,
            .ctx = w,
            .failure = &w->failure,
        };
    }
    return r;
}

int admit_policies(struct write *w, bool removes) {
    struct hook_labels l;
    struct policies_ask ask;
    if (w->unasked || w->whole || !policies_any(w->s, w->req->kind)) {
        return 0;
    }
    int r = ask_policies(w, removes, &l, &ask);
    return r ? r : policies_validate(&ask);
}

int admit_mutating(struct write *w, bool again) {
    struct hook_labels l;
    struct policies_ask ask;
    bool changed;
    if (w->unasked || w->whole || !policies_any_mutating(w->s, w->req->kind)) {
        return 0;
    }
    int r = ask_policies(w, false, &l, &ask);
    return r ? r : policies_mutate(&ask, again, &changed);
}

int admit_note_types(struct write *w) {
    return policies_note_types(w->req->kind, w->doc, w->arena) == 0
               ? 0
               : failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory");
}
