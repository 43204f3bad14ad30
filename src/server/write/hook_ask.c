/* hook_ask: see hook_ask.h. */
#include "server/write/hook_ask.h"

#include "api/cel/cel.h"
#include "api/schema/codec.h"
#include "base/limits.h"
#include "server/kit/asker.h"
#include "server/kit/names.h"
#include "wire/json/json.h"
#include "wire/json/patch.h"
#include "wire/text/base64.h"

#define API_VERSION "admission.k8s.io/v1"

static int no_memory(struct err *err) {
    return err_set(err, ERR_NOMEM, "out of memory");
}

/* ---- the question ---- */

static void triple(struct buf *b, const char *name, const struct kind *k, struct str version,
                   const char *what, const char *value) {
    buf_f(b, ",\"%s\":{\"group\":\"%s\",\"version\":\"%.*s\",\"%s\":\"%s\"}", name, k->group,
          STR_ARG(version), what, value);
}

static void member(struct buf *b, const char *name, struct str v) {
    buf_f(b, ",\"%s\":", name);
    buf_json(b, v);
}

static void list(struct buf *b, const struct str_list *l) {
    buf_ch(b, '[');
    for (size_t i = 0; i < l->n; i++) {
        buf_c(b, i > 0 ? "," : "");
        buf_json(b, l->v[i]);
    }
    buf_ch(b, ']');
}

static void write_user(struct buf *b, const struct user *u) {
    buf_c(b, ",\"userInfo\":{\"username\":");
    buf_json(b, u->name);
    if (u->uid.n > 0) {
        member(b, "uid", u->uid);
    }
    buf_c(b, ",\"groups\":");
    list(b, &u->groups);
    for (size_t i = 0; i < u->n_extra; i++) {
        buf_c(b, i == 0 ? ",\"extra\":{" : ",");
        buf_json(b, u->extra[i].key);
        buf_ch(b, ':');
        list(b, &u->extra[i].values);
    }
    buf_c(b, u->n_extra > 0 ? "}}" : "}");
}

/* The document in the version asked for; d is left alone. */
static int write_object(struct write *w, const struct kind_version *kv, yyjson_mut_doc *d,
                        struct buf *b) {
    struct err err = {0};
    yyjson_mut_val *root = yyjson_mut_doc_get_root(d);
    if (kv->from_storage != NULL) {
        yyjson_mut_doc *copy = json_mut_new(w->arena);
        yyjson_mut_val *v = copy != NULL ? yyjson_mut_val_mut_copy(copy, root) : NULL;
        if (v == NULL) {
            return failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory");
        }
        yyjson_mut_doc_set_root(copy, v);
        if (codec_from_storage(w->req->kind, kv, copy, &err) != 0) {
            return failure_err(&w->failure, w->arena, &err);
        }
        root = yyjson_mut_doc_get_root(copy);
    }
    json_write_mut(b, root);
    return 0;
}

static int write_old(struct write *w, const struct kind_version *kv, struct buf *b) {
    if (w->old_tree == NULL) {
        buf_c(b, "null");
        return 0;
    }
    if (kv->from_storage == NULL) {
        json_write(b, w->old_tree);
        return 0;
    }
    yyjson_mut_doc *d = json_mut_copy(w->arena, w->old_tree);
    return d == NULL ? failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory")
                     : write_object(w, kv, d, b);
}

static void write_options(struct buf *b, const struct write *w, const char *operation) {
    const char *kind = w->req->verb == VERB_PATCH    ? "Patch"
                       : w->req->verb == VERB_UPDATE ? "Update"
                       : w->req->verb == VERB_CREATE ? "Create"
                                                     : "Delete";
    buf_f(b, ",\"dryRun\":%s,\"options\":{\"kind\":\"%sOptions\",\"apiVersion\":\"meta.k8s.io/v1\"",
          w->req->opt.dry_run ? "true" : "false", kind);
    if (w->req->opt.field_manager.n > 0 && str_is(str_of(operation), "DELETE") == false) {
        member(b, "fieldManager", w->req->opt.field_manager);
    }
    buf_ch(b, '}');
}

int hook_question(struct write *w, const struct kind_version *kv, struct str *ret) {
    const struct api_request *q = w->req;
    bool removes = w->doc == NULL;
    const char *operation = removes ? "DELETE" : w->old != NULL ? "UPDATE" : "CREATE";
    struct str name =
        removes ? w->old->name : json_mstr_at(yyjson_mut_doc_get_root(w->doc), "metadata.name");
    struct buf b;
    buf_init(&b, 0);
    triple(&b, "kind", q->kind, str_of(kv->version), "kind", q->kind->kind);
    triple(&b, "resource", q->kind, str_of(kv->version), "resource", q->kind->plural);
    triple(&b, "requestKind", q->kind, q->version, "kind", q->kind->kind);
    triple(&b, "requestResource", q->kind, q->version, "resource", q->kind->plural);
    if (!removes && q->subresource.n > 0) {
        member(&b, "subResource", q->subresource);
        member(&b, "requestSubResource", q->subresource);
    }
    member(&b, "name", name);
    if (q->ns.n > 0) {
        member(&b, "namespace", q->ns);
    }
    buf_f(&b, ",\"operation\":\"%s\"", operation);
    write_user(&b, &q->user);
    buf_c(&b, ",\"object\":");
    if (removes) {
        buf_c(&b, "null");
    }
    int r = removes ? 0 : write_object(w, kv, w->doc, &b);
    buf_c(&b, ",\"oldObject\":");
    r = r ? r : write_old(w, kv, &b);
    write_options(&b, w, operation);
    struct str text = arena_str(w->arena, buf_view(&b));
    if (r == 0 && (buf_ok(&b) != 0 || text.p == NULL)) {
        r = failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory");
    }
    buf_release(&b);
    if (r == 0) {
        *ret = text;
    }
    return r;
}

/* ---- matchConditions ---- */

static struct str add_fault(struct arena *a, struct str faults, struct str text, enum cel_outcome o,
                            struct str why) {
    struct str one =
        o == CEL_TOO_LONG
            ? STR("validation failed due to running out of cost budget, no further validation "
                  "rules will be run")
            : arena_f(a, "expression '%.*s' resulted in error: %.*s", STR_ARG(text), STR_ARG(why));
    return faults.n > 0 ? arena_f(a, "%.*s, %.*s", STR_ARG(faults), STR_ARG(one)) : one;
}

int hook_meets(struct write *w, yyjson_val *conditions, struct str question, bool *ret,
               struct err *err) {
    struct str text = arena_f(w->arena, "{\"uid\":\"\"%.*s}", STR_ARG(question)), faults = {0};
    yyjson_doc *d;
    yyjson_val *v;
    size_t i, n;
    *ret = true;
    if (yyjson_arr_size(conditions) == 0) {
        return 0;
    }
    int r = text.p ? json_parse(w->arena, text, &d, err) : no_memory(err);
    if (r != 0) {
        return r;
    }
    yyjson_val *request = yyjson_doc_get_root(d);
    struct rights_asker asker = {w->s, &w->req->user};
    const struct cel_bind binds[] = {
        {"object", CEL_BOUND_JSON, json_get(request, STR("object"))},
        {"oldObject", CEL_BOUND_JSON, json_get(request, STR("oldObject"))},
        {"request", CEL_BOUND_JSON, request},
        {"authorizer", CEL_BOUND_AUTHORIZER, NULL},
    };
    struct cel_input in = {.binds = binds,
                           .n_binds = 4,
                           .request_access = request,
                           .access = asker_may,
                           .access_ctx = &asker,
                           .arena = w->arena,
                           .limit = LIMIT_CEL_STEPS_OBJECT};
    yyjson_arr_foreach(conditions, i, n, v) {
        struct str expression = json_str_at(v, "expression"), why = {0};
        const struct cel_expr *e;
        struct err fault = {0};
        int parsed = cel_parse(w->arena, expression, &e, &fault);
        enum cel_outcome o = parsed == 0 ? cel_check(e, &in, &why) : CEL_ERROR;
        if (o == CEL_FALSE) {
            *ret = false;
            return 0;
        }
        why = parsed == 0 ? why : arena_str(w->arena, str_of(fault.text));
        faults = o != CEL_TRUE ? add_fault(w->arena, faults, expression, o, why) : faults;
    }
    (void)arena_charge(w->arena, 8 * in.steps);
    return faults.n > 0 ? err_set(err, ERR_INVALID, "%.*s", STR_ARG(faults)) : 0;
}

int hook_body(struct write *w, struct arena *a, struct str question, struct str *ret_uid,
              struct str *ret) {
    char uid[UID_TEXT_MAX];
    if (names_uid(w->s, uid, NULL) != 0) {
        return ERR_NOMEM;
    }
    *ret_uid = arena_str(a, str_of(uid));
    *ret = arena_f(w->arena,
                   "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"" API_VERSION
                   "\",\"request\":{\"uid\":\"%s\"%.*s}}",
                   uid, STR_ARG(question));
    return arena_ok(a) != 0 || arena_ok(w->arena) != 0 ? ERR_NOMEM : 0;
}

/* ---- the answer ---- */

static void read_response(struct arena *a, yyjson_val *v, struct hook_answer *ret) {
    yyjson_val *warnings = json_get(v, STR("warnings")), *e, *status = json_get(v, STR("status"));
    struct str patch = json_str_at(v, "patch"), type = json_str_at(v, "patchType");
    size_t i, n;
    ret->allowed = json_bool_at(v, "allowed", false);
    ret->http = (int)json_i64_at(status, "code", 0);
    ret->reason = json_str_at(status, "reason");
    ret->message = json_str_at(status, "message");
    ret->details = json_get(status, STR("details"));
    yyjson_arr_foreach(warnings, i, n, e) {
        if (ret->n_warnings < HOOK_WARNINGS && json_str(e).n > 0) {
            ret->warnings[ret->n_warnings++] = str_head(json_str(e), 256);
        }
    }
    if (patch.n > 0) {
        ret->patch = base64_decode(a, patch);
        if (!str_is(type, "JSONPatch") || ret->patch.n == 0) {
            ret->error = STR("its answer has a patch that is no JSONPatch in base64");
        }
    }
}

void hook_read_answer(struct arena *a, struct str uid, const struct http_reply *r,
                      struct hook_answer *ret) {
    struct err err = {0};
    yyjson_doc *doc;
    *ret = (struct hook_answer){0};
    if (r->code != 0) {
        ret->error = arena_f(a, "failed to call webhook: %s", r->err.text);
        return;
    }
    if (r->status != 200) {
        ret->error = arena_f(a, "failed to call webhook: the server answered %d: %.*s", r->status,
                             STR_ARG(str_trim(str_head(r->body, 200))));
        return;
    }
    /* The parsed document copies its strings out of a text that does not last. */
    if (json_parse(a, r->body, &doc, &err) != 0) {
        ret->error = arena_f(a, "its answer cannot be read: %s", err.text);
        return;
    }
    yyjson_val *root = yyjson_doc_get_root(doc), *response = json_get(root, STR("response"));
    if (!str_is(json_str_at(root, "apiVersion"), API_VERSION) ||
        !str_is(json_str_at(root, "kind"), "AdmissionReview") || !yyjson_is_obj(response)) {
        ret->error = STR("its answer is no AdmissionReview of " API_VERSION " with a response");
    } else if (!str_eq(json_str_at(response, "uid"), uid)) {
        ret->error = STR("its answer is to another question (response.uid differs)");
    } else {
        read_response(a, response, ret);
    }
}

int hook_denied(struct write *w, struct str name, const struct hook_answer *a) {
    struct failure *f = &w->failure;
    yyjson_val *causes = json_get(a->details, STR("causes")), *c;
    size_t i, n;
    struct str why = a->message.n > 0 ? a->message : a->reason;
    struct str text = why.n > 0
                          ? arena_f(w->arena, "admission webhook \"%.*s\" denied the request: %.*s",
                                    STR_ARG(name), STR_ARG(why))
                          : arena_f(w->arena,
                                    "admission webhook \"%.*s\" denied the request without "
                                    "explanation",
                                    STR_ARG(name));
    int code = a->http == 422 ? ERR_INVALID : a->http == 409 ? ERR_CONFLICT : ERR_FORBIDDEN;
    (void)failure_set(f, w->arena, code, "%s", "denied");
    f->message = text;
    f->http = a->http >= 400 && a->http < 600 ? a->http : a->http > 0 ? 400 : f->http;
    struct str reason = arena_str(w->arena, a->reason);
    if (reason.n > 0 && !str_is(reason, "Success")) {
        f->reason = reason.p;
    } else if (f->http == 400) {
        f->reason = "BadRequest";
    }
    f->name = json_str_at(a->details, "name");
    f->group = json_str_at(a->details, "group");
    f->kind = json_str_at(a->details, "kind");
    yyjson_arr_foreach(causes, i, n, c) {
        (void)failure_cause(f, w->arena, json_str_at(c, "reason"), json_str_at(c, "message"),
                            json_str_at(c, "field"));
    }
    return f->code;
}

/* ---- the patch ---- */

/* What nobody but the server says of an object. */
static const char *const kept[] = {"name",        "namespace",         "uid",
                                   "generation",  "creationTimestamp", "deletionTimestamp",
                                   "selfLink",    "resourceVersion",   "deletionGracePeriodSeconds",
                                   "generateName"};

static int keep_metadata(yyjson_mut_doc *d, yyjson_mut_val *was) {
    yyjson_mut_val *meta = json_mensure(d, yyjson_mut_doc_get_root(d), "metadata");
    if (meta == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        yyjson_mut_val *v = json_mget(json_mget(was, STR("metadata")), str_of(kept[i]));
        yyjson_mut_val *copy = v != NULL ? yyjson_mut_val_mut_copy(d, v) : NULL;
        if ((v != NULL && copy == NULL) || json_mset(d, meta, str_of(kept[i]), copy) != 0) {
            return ERR_NOMEM;
        }
    }
    return 0;
}

/* The patched status, in what was there before. */
static int status_only(yyjson_mut_doc *d, yyjson_mut_val *was) {
    yyjson_mut_val *status = json_mget(yyjson_mut_doc_get_root(d), STR("status"));
    yyjson_mut_val *copy = status != NULL ? yyjson_mut_val_mut_copy(d, status) : NULL;
    yyjson_mut_val *root = yyjson_mut_val_mut_copy(d, was);
    if (root == NULL || (status != NULL && copy == NULL)) {
        return ERR_NOMEM;
    }
    yyjson_mut_doc_set_root(d, root);
    return json_mset(d, root, STR("status"), copy);
}

/* A write of the whole has no say in the status of what has one. */
static int keep_status(yyjson_mut_doc *d, yyjson_mut_val *was) {
    yyjson_mut_val *v = json_mget(was, STR("status"));
    yyjson_mut_val *copy = v != NULL ? yyjson_mut_val_mut_copy(d, v) : NULL;
    return v != NULL && copy == NULL
               ? ERR_NOMEM
               : json_mset(d, yyjson_mut_doc_get_root(d), STR("status"), copy);
}

static int keep_rest(const struct write *w, yyjson_mut_doc *d, yyjson_mut_val *was) {
    bool status = str_is(w->req->subresource, "status");
    int r = status                              ? status_only(d, was)
            : w->req->kind->flags & KIND_STATUS ? keep_status(d, was)
                                                : 0;
    return r ? r : keep_metadata(d, was);
}

int hook_change(struct write *w, const struct kind_version *kv,
                int (*change)(void *ctx, yyjson_mut_doc *d, struct err *err), void *ctx,
                struct err *err) {
    const struct kind *k = w->req->kind;
    yyjson_mut_val *was = yyjson_mut_doc_get_root(w->doc);
    yyjson_mut_doc *d = json_mut_new(w->arena);
    yyjson_mut_val *root = d != NULL ? yyjson_mut_val_mut_copy(d, was) : NULL;
    if (root == NULL) {
        return no_memory(err);
    }
    yyjson_mut_doc_set_root(d, root);
    int r = codec_from_storage(k, kv, d, err);
    r = r ? r : change(ctx, d, err);
    if (r == 0 && !yyjson_mut_is_obj(yyjson_mut_doc_get_root(d))) {
        r = err_set(err, ERR_INVALID, "its patch leaves no object");
    }
    r = r ? r : codec_prune(kv->schema, d, yyjson_mut_doc_get_root(d), NULL, NULL);
    r = r ? r : codec_to_storage(k, kv, d, err);
    if (r == 0 && keep_rest(w, d, was) != 0) {
        r = no_memory(err);
    }
    if (r == 0) {
        w->doc = d;
    }
    return r == 0 || r == ERR_NOMEM ? r : ERR_INVALID;
}

struct patching {
    struct arena *arena;
    struct str patch;
};

static int apply_json_patch(void *ctx, yyjson_mut_doc *d, struct err *err) {
    struct patching *p = ctx;
    yyjson_doc *ops;
    int r = json_parse(p->arena, p->patch, &ops, err);
    return r ? r : patch_json(d, yyjson_doc_get_root(ops), err);
}

int hook_patch(struct write *w, const struct kind_version *kv, struct str patch, struct err *err) {
    struct patching p = {w->arena, patch};
    return hook_change(w, kv, apply_json_patch, &p, err);
}
