/* admit_ask: the world's own admission, asked in the write pipeline. Where there is none nothing is done. */
#include "server/write/admit.h"
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
