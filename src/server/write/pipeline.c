/* pipeline: see pipeline.h. Each verb is a short list of steps; a step fills w->failure and returns its code. */
#include "server/write/pipeline.h"
#include "server/kit/status_notes.h"

#include "api/schema/codec.h"
#include "api/schema/codec_encode.h"
#include "api/schema/strategic.h"
#include "base/limits.h"
#include "base/mem.h"
#include "server/kit/convert.h"
#include "server/managed/track.h"
#include "server/write/admit.h"
#include "server/write/body.h"
#include "server/write/crd.h"
#include "server/write/hooks.h"
#include "server/write/meta.h"
#include "server/write/remove.h"
#include "wire/json/json.h"
#include "wire/json/patch.h"

enum { SPARE_WRITES = 256 };

/* ---- what is changed beside ---- */

struct beside {
    struct object *obj;
    uint64_t rv; /* what it is based on */
    struct beside *next;
};

static int build_beside(struct write *w, const struct object *o, yyjson_val *tree,
                        struct buf *status, struct object **ret) {
    struct err err = {0};
    yyjson_mut_doc *d = json_mut_copy(w->arena, tree), *s = NULL;
    int r = d != NULL ? json_parse_mut(w->arena, buf_view(status), &s, &err) : ERR_NOMEM;
    yyjson_mut_val *copy = r == 0 ? yyjson_mut_val_mut_copy(d, yyjson_mut_doc_get_root(s)) : NULL;
    r = copy != NULL ? json_mset(d, yyjson_mut_doc_get_root(d), STR("status"), copy) : ERR_NOMEM;
    return r ? r : object_new_mut(o->kind, yyjson_mut_doc_get_root(d), ret, &err);
}

int write_beside(struct write *w, const struct object *o, yyjson_val *tree, const struct schema *s,
                 const void *status) {
    struct beside *b = ARENA_NEW(w->arena, struct beside);
    struct buf text;
    buf_init(&text, LIMIT_OBJECT_BYTES);
    codec_encode(s, status, &text);
    int r = b == NULL ? ERR_NOMEM : buf_ok(&text);
    r = r ? r : build_beside(w, o, tree, &text, &b->obj);
    buf_release(&text);
    if (r != 0) {
        return failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory");
    }
    b->rv = o->rv;
    b->next = w->beside;
    w->beside = b;
    return 0;
}

static void beside_stage(struct write *w) {
    while (w->beside != NULL) {
        struct beside *b = w->beside;
        w->beside = b->next;
        /* Without memory it is not charged; who keeps the status counts again. */
        (void)mirror_write(w->s->o.mirror, CHANGE_MODIFIED, b->obj, b->rv, NULL, NULL, NULL);
    }
}

static void beside_drop(struct write *w) {
    while (w->beside != NULL) {
        struct beside *b = w->beside;
        w->beside = b->next;
        object_unref(b->obj);
    }
}

void write_again(struct write *w) {
    w->failure = (struct failure){0};
    w->old = NULL;
    w->old_tree = NULL;
    w->doc = NULL;
    w->obj = NULL;
    w->applied = NULL;
    w->status_alone = false;
    w->http = 0;
    if (w->call != NULL) {
        w->call->quiet = true; /* it was warned in the first run */
    }
    write_run(w);
}

void write_abandon(struct write *w) {
    if (convert_forget_write(w)) {
        w->failure = (struct failure){.code = ERR_GONE, .http = 500, .reason = "InternalError"};
        write_finish(w);
    } else {
        hooks_abandon(w);
    }
}

/* ---- writes ---- */

struct write *write_new(struct server *s) {
    struct write *w = s->spare_writes;
    if (w != NULL) {
        s->spare_writes = w->next;
        s->n_spare_writes--;
        *w = (struct write){.s = s};
        return w;
    }
    w = mem_zalloc(sizeof(*w));
    if (w != NULL) {
        w->s = s;
    }
    return w;
}

void write_free(struct write *w) {
    if (w == NULL) {
        return;
    }
    object_unref(w->own);
    beside_drop(w);
    hooks_forget(w);
    (void)convert_forget_write(w);
    struct server *s = w->s;
    if (s->n_spare_writes >= SPARE_WRITES) {
        mem_free(w);
        return;
    }
    *w = (struct write){.s = s, .next = s->spare_writes};
    s->spare_writes = w;
    s->n_spare_writes++;
}

void write_release_spares(struct server *s) {
    while (s->spare_writes != NULL) {
        struct write *w = s->spare_writes;
        s->spare_writes = w->next;
        mem_free(w);
    }
    s->n_spare_writes = 0;
}

/* What loops over the object gave up: whatever else was said about it, that is why. */
static int too_complex(struct write *w) {
    return failure_set(&w->failure, w->arena, ERR_TOO_LARGE,
                       "the request is too complex: handling it takes more than %d steps",
                       LIMIT_REQUEST_STEPS);
}

/* What takes more memory than a request may have: whoever sent it can send less. The text needs none. */
static void too_large(struct write *w) {
    (void)failure_set(&w->failure, w->arena, ERR_TOO_LARGE, "%s", "");
    w->failure.message =
        w->type == BODY_APPLY_PATCH
            ? STR("the object has too many fields to be applied, or they are too long")
            : STR("the object is too large: handling it takes more memory than a request may have");
}

void write_finish(struct write *w) {
    /* One of many writes of a request (sweep.c) does not wait: nobody would tell it that the peer is gone. */
    bool may_wait = w->call != NULL || w->behalf != WRITE_FOR_USER;
    if (w->failure.code == ERR_AGAIN && may_wait && convert_await_write(w)) {
        beside_drop(w);
        return;
    }
    if (w->http == 0) {
        w->http = 200;
    }
    if (w->failure.code != 0 && !w->orphaned && arena_full(w->arena)) {
        too_large(w);
    } else if (w->failure.code != 0 && !w->orphaned && arena_spent(w->arena)) {
        (void)too_complex(w);
    }
    w->done(w);
}

/* From the mirror: the batch is on disk, or failed. */
static void committed(void *ctx, int code, const struct object *obj, const struct err *err) {
    struct write *w = ctx;
    if (code != 0) {
        struct err e = {.code = code};
        if (err != NULL) {
            e = *err;
        }
        if (w->orphaned) {
            /* The arena may be gone: the text is good for `done` alone. */
            w->failure = (struct failure){.code = code,
                                          .http = http_of_code(code),
                                          .reason = "InternalError",
                                          .message = err != NULL ? str_of(err->text) : STR("")};
        } else {
            (void)failure_err(&w->failure, w->arena, &e);
        }
    } else {
        w->obj = obj;
    }
    write_finish(w);
}

static bool is_dry(const struct write *w) {
    return w->req->opt.dry_run;
}

void write_stage(struct write *w, int type, struct object *obj) {
    w->removed = type == CHANGE_DELETED;
    if (is_dry(w)) {
        w->dry = true;
        obj->rv = w->old != NULL ? w->old->rv : 0;
        w->own = obj;
        w->obj = obj;
        write_finish(w);
        return;
    }
    struct err err = {0};
    uint64_t expect = w->old != NULL ? w->old->rv : 0;
    const struct kind *k = obj->kind;
    struct str name = arena_str(w->arena, obj->name);
    if (arena_ok(w->arena) != 0) { /* a step may have gone without what it had no memory for */
        object_unref(obj);
        (void)failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory");
        write_finish(w);
        return;
    }
    int code =
        mirror_write(w->s->o.mirror, (enum change_type)type, obj, expect, committed, w, &err);
    if (code == ERR_EXISTS) {
        (void)failure_exists(&w->failure, w->arena, k, name);
    } else if (code == ERR_CONFLICT) {
        (void)failure_conflict(&w->failure, w->arena, k, name, (struct str){0});
    } else if (code != 0) {
        (void)failure_err(&w->failure, w->arena, &err);
    }
    if (code != 0) {
        write_finish(w);
    } else {
        beside_stage(w);
    }
}

/* Objects lie in the store in the version that was storage's when they were written, with the defaults of then. */
static int as_stored_now(struct write *w) {
    struct err err = {0};
    struct buf b;
    yyjson_doc *doc;
    yyjson_mut_doc *d = json_mut_copy(w->arena, w->old_tree);
    int r = d == NULL ? err_set(&err, ERR_NOMEM, "out of memory")
                      : codec_from_storage(w->req->kind, kind_storage(w->req->kind), d, &err);
    r = r ? r : codec_default_in(w->req->kind, kind_storage(w->req->kind), d, &err);
    buf_init(&b, 0);
    if (r == 0) {
        json_write_mut(&b, yyjson_mut_doc_get_root(d));
        struct str text = arena_str(w->arena, buf_view(&b));
        r = json_parse(w->arena, text, &doc, &err);
    }
    buf_release(&b);
    if (r != 0) {
        return failure_err(&w->failure, w->arena, &err);
    }
    w->old_tree = yyjson_doc_get_root(doc);
    return 0;
}

int write_load(struct write *w) {
    const struct api_request *q = w->req;
    w->old = mirror_pending(w->s->o.mirror, kind_stored(q->kind), request_key_ns(q), q->name);
    if (w->old == NULL) {
        return failure_not_found(&w->failure, w->arena, q->kind, q->name);
    }
    struct err err = {0};
    yyjson_doc *doc;
    int code = object_tree(w->old, w->arena, &doc, &err);
    if (code != 0) {
        return failure_err(&w->failure, w->arena, &err);
    }
    w->old_tree = yyjson_doc_get_root(doc);
    const struct kind_version *kv = kind_storage(q->kind);
    bool other = kv->asks || w->old->rv <= kv->defaults_since;
    return other && q->verb != VERB_DELETE ? as_stored_now(w) : 0;
}

/* A value of the wrong type in a built-in kind does not even decode upstream: 400 that names the field. Custom kinds
 * are checked against their schema: 422, as every other cause. */
static int refuse(struct write *w, const struct kind *k, yyjson_mut_val *root,
                  const struct causes *causes) {
    for (size_t i = 0; i < causes->n; i++) {
        bool meta = str_starts(causes->v[i].field, STR("metadata."));
        bool decodes = !(k->flags & KIND_CUSTOM) || (w->req->kv->schema->custom && meta);
        if (causes->v[i].type == CAUSE_TYPE && decodes) {
            return failure_set(&w->failure, w->arena, ERR_BAD_REQUEST,
                               "%s in version \"%.*s\" cannot be handled as a %s: %.*s: %.*s",
                               k->kind, STR_ARG(w->req->version), k->kind,
                               STR_ARG(causes->v[i].field), STR_ARG(causes->v[i].text));
        }
    }
    struct str name = json_mstr_at(root, "metadata.name");
    return failure_invalid(&w->failure, w->arena, k->group, k->kind, name, causes);
}

/* All but the status is the stored object's (keep_other_half), which was defaulted and valid when it was written. */
static bool status_only(const struct write *w) {
    return w->old_tree != NULL &&
           (str_is(w->req->subresource, "status") || str_is(w->req->subresource, "approval"));
}

/* The version by whose rules the object is defaulted and checked: custom kinds have rules in each, and versions that
 * differ in more than their name are storage's by now. */
static const struct kind_version *rules_of(const struct write *w) {
    const struct kind_version *kv = w->req->kv;
    bool own = kv != NULL && kv->schema->custom != NULL && !kv->converts;
    return own ? kv : kind_storage(w->req->kind);
}

static int ask_guard(struct write *w, const struct kind *k, yyjson_mut_val *root) {
    struct guard *g = w->s->o.guard;
    struct err err = {0};
    int code = 0;
    if (g != NULL && g->admit_write != NULL && w->behalf == WRITE_FOR_USER) {
        code = g->admit_write(g, w->req, root, w->old, w->arena, &err);
    } else if (g != NULL && g->admit_template != NULL && w->behalf == WRITE_FOR_TEMPLATE) {
        code = g->admit_template(g, w->req, root, w->arena, &err);
    }
    if (code == ERR_FORBIDDEN) {
        return failure_forbidden(&w->failure, w->arena, k, json_mstr_at(root, "metadata.name"),
                                 "%s", err.text);
    }
    return code != 0 ? failure_err(&w->failure, w->arena, &err) : 0;
}

static int validate(struct write *w) {
    const struct kind *k = kind_stored(w->req->kind);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(w->doc);
    if (k->prepare != NULL) {
        k->prepare(w->doc, root, w->old_tree, w->now);
    }
    struct causes causes = {.arena = w->arena,
                            .ephemeral = str_is(w->req->subresource, "ephemeralcontainers")};
    const struct kind_version *kv = rules_of(w);
    int code = status_only(w) ? codec_validate_status_in(k, kv, root, w->old_tree, &causes)
                              : codec_validate_in(k, kv, root, w->old_tree, &causes);
    if (code != 0) {
        return failure_set(&w->failure, w->arena, code, "out of memory");
    }
    if (causes.n == 0 && (code = admit_validate(w, &causes)) != 0) {
        return code;
    }
    if (causes.n > 0) {
        return refuse(w, k, root, &causes);
    }
    if (k->notice != NULL && w->call != NULL && !status_only(w)) {
        call_warn(w->call, str_of(k->notice));
    }
    return arena_spent(w->arena) ? too_complex(w) : ask_guard(w, k, root);
}

static int build(struct write *w, struct object **ret) {
    struct err err = {0};
    if (arena_spent(w->arena)) {
        return too_complex(w);
    }
    int code =
        object_new_mut(kind_stored(w->req->kind), yyjson_mut_doc_get_root(w->doc), ret, &err);
    return code != 0 ? failure_err(&w->failure, w->arena, &err) : 0;
}

int write_default(struct write *w, struct err *err) {
    const struct kind *k = kind_stored(w->req->kind);
    return status_only(w) ? codec_default_status_in(k, rules_of(w), w->doc, err)
                          : codec_default_in(k, rules_of(w), w->doc, err);
}

static int set_defaults(struct write *w) {
    struct err err = {0};
    int code = write_default(w, &err);
    return code != 0 ? failure_err(&w->failure, w->arena, &err) : 0;
}

/* ---- who manages the fields ---- */

static struct track track_of(const struct write *w) {
    struct str agent = w->call != NULL ? http_header(w->call->http, "User-Agent") : STR("");
    return (struct track){.arena = w->arena,
                          .req = w->req,
                          .agent = agent,
                          .old = w->old_tree,
                          .now = w->now,
                          .begins = w->behalf == WRITE_FOR_USER && w->req->opt.field_manager.n > 0};
}

static int keep_account(struct write *w) {
    struct track t = track_of(w);
    if (w->applied != NULL) {
        return track_put(w->applied, w->doc, &w->failure);
    }
    int r = track_write(&t, w->doc, &w->failure);
    if (t.warning.n > 0 && w->call != NULL) {
        call_warn(w->call, t.warning);
    }
    return r;
}

/* An apply that makes an object names it itself: it is not made under another name than it says, or generated. */
static int has_name(struct write *w, yyjson_mut_val *root) {
    if (json_mstr_at(root, "metadata.name").n > 0) {
        return 0; /* meta_create compares it */
    }
    return failure_set(&w->failure, w->arena, ERR_BAD_REQUEST,
                       "the name of the object (%.*s based on URL) was undeterminable: name must "
                       "be provided",
                       STR_ARG(w->req->name));
}

/* An apply that means an object of a certain identity or state creates none. */
static int may_be_new(struct write *w) {
    yyjson_mut_val *root = yyjson_mut_doc_get_root(w->doc);
    struct str uid = json_mstr_at(root, "metadata.uid");
    if (w->old != NULL) {
        return 0;
    }
    if (uid.n == 0 && json_mstr_at(root, "metadata.resourceVersion").n == 0) {
        return has_name(w, root);
    }
    struct str why = uid.n > 0 ? arena_f(w->arena,
                                         "Precondition failed: UID in precondition: %.*s, UID in "
                                         "object meta: ",
                                         STR_ARG(str_head(uid, 64)))
                               : (struct str){0};
    return failure_conflict(&w->failure, w->arena, w->req->kind, w->req->name, why);
}

int write_lay(struct write *w) {
    int r = may_be_new(w);
    w->applied = ARENA_NEW(w->arena, struct track);
    if (w->applied == NULL) {
        return failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory");
    }
    *w->applied = track_of(w);
    r = r ? r : track_apply(w->applied, w->doc, &w->failure);
    return r ? r : body_finish_patch(w);
}

static int lay_over(struct write *w) {
    int r = body_config(w);
    return r ? r : write_lay(w);
}

/* The world's admission, then policies, then the webhooks of others; what those changed is defaulted again. */
static int admit(struct write *w) {
    bool changed = false;
    int r = w->req->subresource.n == 0 && !w->whole ? admit_object(w) : 0;
    r = r ? r : admit_mutating(w, false);
    r = r ? r : admit_certificate(w);
    r = r ? r : hooks_mutate(w, &changed);
    r = r == 0 && changed ? set_defaults(w) : r;
    return r == 0 && changed ? admit_mutating(w, true) : r;
}

/* A step that answered ERR_AGAIN waits, and runs again by itself. */
static void stop(struct write *w, int code) {
    if (code != ERR_AGAIN || w->failure.code == ERR_AGAIN) {
        write_finish(w);
    }
}

static int create_steps(struct write *w, struct object **ret) {
    int r = admit_namespace(w);
    r = r ? r : crd_admit_instance(w);
    r = r ? r : w->type == BODY_APPLY_PATCH ? lay_over(w) : body_decode(w);
    r = r ? r : meta_create(w);
    r = r ? r : set_defaults(w);
    r = r ? r : keep_account(w);
    r = r ? r : admit(w);
    r = r ? r : validate(w);
    r = r ? r : admit_policies(w, false);
    r = r ? r : hooks_validate(w);
    r = r ? r : admit_note_types(w);
    if (r == 0 && crd_is_definition(w->req->kind)) {
        r = crd_admit(w);
    }
    if (r != 0) {
        return r;
    }
    struct str name = json_mstr_at(yyjson_mut_doc_get_root(w->doc), "metadata.name");
    if (mirror_pending(w->s->o.mirror, kind_stored(w->req->kind), request_key_ns(w->req), name) !=
        NULL) {
        return failure_exists(&w->failure, w->arena, w->req->kind, name);
    }
    r = admit_quota(w);
    return r ? r : build(w, ret);
}

static void run_create(struct write *w) {
    struct object *obj = NULL;
    w->http = 201;
    int r = create_steps(w, &obj);
    if (r != 0) {
        stop(w, r);
        return;
    }
    write_stage(w, CHANGE_ADDED, obj);
}

/* Of a status that approves: the certificate is not its to write. */
static int keep_certificate(struct write *w, yyjson_mut_val *status) {
    struct str was = json_str_at(w->old_tree, "status.certificate");
    json_mdel(status, STR("certificate"));
    return was.n > 0 ? json_mset_str(w->doc, status, "certificate", was) : 0;
}

/* The part that this write may not touch comes from the stored object: a write of the whole has no say in status, one
 * of status, finalizers or ephemeral containers in nothing else. */
static int keep_other_half(struct write *w) {
    yyjson_mut_val *root = yyjson_mut_doc_get_root(w->doc);
    if (w->status_alone) {
        return 0; /* it was never anything else */
    }
    bool approval = str_is(w->req->subresource, "approval");
    bool status = approval || str_is(w->req->subresource, "status");
    const char *member = str_is(w->req->subresource, "finalize") ? "finalizers"
                         : str_is(w->req->subresource, "ephemeralcontainers")
                             ? "ephemeralContainers"
                             : NULL;
    if (!status && member == NULL) {
        if (!(w->req->kind->flags & KIND_STATUS) || w->whole) {
            return 0;
        }
        yyjson_val *v = json_path(w->old_tree, "status");
        yyjson_mut_val *copy = v != NULL ? yyjson_val_mut_copy(w->doc, v) : NULL;
        if (v != NULL && copy == NULL) {
            return ERR_NOMEM;
        }
        return json_mset(w->doc, root, STR("status"), copy);
    }
    yyjson_mut_val *part = status ? json_mget(root, STR("status"))
                                  : json_mget(json_mget(root, STR("spec")), str_of(member));
    yyjson_mut_val *none = approval ? yyjson_mut_obj(w->doc) : NULL;
    yyjson_mut_val *taken = part != NULL ? yyjson_mut_val_mut_copy(w->doc, part) : none;
    yyjson_mut_val *kept = yyjson_val_mut_copy(w->doc, w->old_tree);
    if (kept == NULL || ((part != NULL || approval) && taken == NULL)) {
        return ERR_NOMEM;
    }
    yyjson_mut_doc_set_root(w->doc, kept);
    json_mdel(json_mpath(kept, "metadata"), STR("resourceVersion"));
    if (status) {
        bool notes = w->req->kind->flags & KIND_STATUS_NOTES;
        int r = notes ? status_notes(w->doc, json_mpath(root, "metadata.annotations"), kept) : 0;
        r = r == 0 && approval ? keep_certificate(w, taken) : r;
        return r ? r : json_mset(w->doc, kept, STR("status"), taken);
    }
    yyjson_mut_val *spec = json_mensure(w->doc, kept, "spec");
    return spec == NULL ? ERR_NOMEM : json_mset(w->doc, spec, str_of(member), taken);
}

static uint64_t sum(struct str s) {
    uint64_t v = 0;
    for (size_t i = 0; i < s.n; i++) {
        v += (unsigned char)s.p[i];
    }
    return v;
}

/* The same object: byte for byte, or the same values in another order, which are the same bytes in another order. */
static bool unchanged(struct write *w, const struct object *now) {
    if (now->json.n != w->old->json.n) {
        return false;
    }
    if (str_eq(now->json, w->old->json)) {
        return true;
    }
    if (sum(now->json) != sum(w->old->json)) {
        return false;
    }
    yyjson_doc *a, *b;
    return json_parse(w->arena, now->json, &a, NULL) == 0 &&
           json_parse(w->arena, w->old->json, &b, NULL) == 0 &&
           json_equal(yyjson_doc_get_root(a), yyjson_doc_get_root(b));
}

static int replace_steps(struct write *w, struct object **ret) {
    int r = w->status_alone ? meta_precondition(w) : meta_update(w);
    if (r == 0 && keep_other_half(w) != 0) {
        r = failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory");
    }
    r = r ? r : set_defaults(w);
    r = r ? r : keep_account(w);
    r = r ? r : admit(w);
    r = r ? r : validate(w);
    if (r == 0 && crd_is_definition(w->req->kind)) {
        r = crd_admit(w);
    }
    r = r ? r : meta_generation(w);
    r = r ? r : admit_policies(w, false);
    r = r ? r : hooks_validate(w);
    r = r ? r : admit_note_types(w);
    if (r == 0 && w->req->subresource.n == 0) {
        r = admit_quota(w);
    }
    return r ? r : build(w, ret);
}

/* An apply of the very fields that its manager has already is of now when it changes the object all the same. */
static int date_apply(struct write *w, struct object **obj) {
    if (w->applied == NULL || !w->applied->same_fields) {
        return 0;
    }
    object_unref(*obj);
    *obj = NULL;
    track_touch(w->applied);
    int r = track_put(w->applied, w->doc, &w->failure);
    return r ? r : build(w, obj);
}

void write_replace(struct write *w) {
    struct object *obj = NULL;
    int r = replace_steps(w, &obj);
    if (r != 0) {
        stop(w, r);
        return;
    }
    const struct object *seen = mirror_get(w->s->o.mirror, obj->kind, obj->ns, obj->name);
    bool same = unchanged(w, obj);
    if (!same && (r = date_apply(w, &obj)) != 0) {
        write_finish(w);
    } else if (meta_released(obj->kind, yyjson_mut_doc_get_root(w->doc))) {
        write_stage(w, CHANGE_DELETED, obj);
    } else if (same && seen != NULL && seen->rv == w->old->rv) {
        /* An answer means committed: only a committed object may be answered without a write. */
        object_unref(obj);
        w->obj = w->old;
        write_finish(w);
    } else {
        write_stage(w, CHANGE_MODIFIED, obj);
    }
}

static void run_update(struct write *w) {
    const struct api_request *q = w->req;
    if (write_load(w) != 0) {
        if ((q->kind->flags & KIND_CREATE_ON_UPDATE) && q->subresource.n == 0) {
            w->failure = (struct failure){0};
            run_create(w);
            return;
        }
        write_finish(w);
        return;
    }
    if (body_decode(w) != 0) {
        write_finish(w);
        return;
    }
    write_replace(w);
}

/* The stored object in the version asked for: what a patch is written against. */
static int patch_target(struct write *w) {
    struct err err = {0};
    w->doc = json_mut_copy(w->arena, w->old_tree);
    if (w->doc == NULL) {
        return failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory");
    }
    if (w->req->kv->from_storage != NULL) {
        int code = codec_from_storage(w->req->kind, w->req->kv, w->doc, &err);
        return code != 0 ? failure_err(&w->failure, w->arena, &err) : 0;
    }
    return 0;
}

/* As controllers write: a merge patch of the status with a resourceVersion to be at, and nothing else. What it is
 * merged into is then the stored object everywhere but there, and need not be put together from two. */
static bool is_status_alone(const struct write *w, yyjson_val *patch) {
    yyjson_obj_iter it = yyjson_obj_iter_with(patch);
    if (!str_is(w->req->subresource, "status") || w->req->kv->from_storage != NULL ||
        w->req->kv->to_storage != NULL) {
        return false;
    }
    for (yyjson_val *k; (k = yyjson_obj_iter_next(&it)) != NULL;) {
        yyjson_val *v = yyjson_obj_iter_get_val(k);
        bool at_revision = str_is(json_str(k), "metadata") && yyjson_obj_size(v) == 1 &&
                           yyjson_is_str(json_get(v, STR("resourceVersion")));
        if (!at_revision && !str_is(json_str(k), "status")) {
            return false;
        }
    }
    return true;
}

/* A merge patch may be conditional on the uid, as controllers' are; nothing else needs doing here.
 * */
static int apply_patch(struct write *w) {
    struct err err = {0};
    yyjson_doc *patch;
    int code = body_parse(w->arena, w->body, &patch, &err);
    if (code == ERR_TOO_LARGE) {
        return failure_err(&w->failure, w->arena, &err);
    }
    if (code != 0) {
        return failure_set(&w->failure, w->arena, ERR_BAD_REQUEST, "the patch is malformed: %s",
                           err.text);
    }
    yyjson_val *root = yyjson_doc_get_root(patch);
    if (w->type == BODY_JSON_PATCH) {
        code = patch_json(w->doc, root, &err);
        if (code == ERR_INVALID) {
            return failure_set(&w->failure, w->arena, code,
                               "the server rejected our request due to an error in our request");
        }
        if (code == ERR_SYNTAX) {
            return failure_set(&w->failure, w->arena, ERR_BAD_REQUEST, "the patch is malformed: %s",
                               err.text);
        }
    } else if (!yyjson_is_obj(root)) {
        return failure_set(&w->failure, w->arena, ERR_BAD_REQUEST, "the patch is not an object");
    } else if (w->type == BODY_MERGE_PATCH) {
        w->status_alone = is_status_alone(w, root);
        code = patch_merge(w->doc, root, &err);
    } else {
        code = api_patch_strategic(w->req->kv->schema, w->doc, root, &err);
    }
    return code != 0 ? failure_err(&w->failure, w->arena, &err) : 0;
}

/* An apply to what there is not: it is created, which takes the right to. */
static int prepare_create(struct write *w) {
    struct api_request *q = ARENA_NEW(w->arena, struct api_request);
    struct str decision = {0};
    if (q == NULL) {
        return failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory");
    }
    *q = *w->req;
    q->verb = VERB_CREATE;
    q->verb_name = STR("create");
    w->failure = (struct failure){0};
    w->patch = w->req;
    w->req = q;
    return w->behalf == WRITE_FOR_USER
               ? guard_allow(w->s->o.guard, q, w->arena, &decision, &w->failure)
               : 0;
}

static void run_apply(struct write *w) {
    w->req = w->patch != NULL ? w->patch : w->req; /* it runs again, and all may be otherwise */
    int r = write_load(w);
    if (r == ERR_NOT_FOUND && w->req->subresource.n == 0) {
        r = prepare_create(w);
        if (r != 0) {
            write_finish(w);
        } else {
            run_create(w);
        }
        return;
    }
    r = r ? r : lay_over(w);
    if (r != 0) {
        write_finish(w);
    } else {
        write_replace(w);
    }
}

static void run_patch(struct write *w) {
    int r = write_load(w);
    r = r ? r : patch_target(w);
    r = r ? r : apply_patch(w);
    r = r ? r : body_finish_patch(w);
    if (r != 0) {
        write_finish(w);
        return;
    }
    write_replace(w);
}

void write_run(struct write *w) {
    w->now = w->now != 0 ? w->now : server_now(w->s);
    w->arena->steps = 0; /* each run is a turn of its own */
    if (w->steps != NULL) {
        w->steps(w);
        return;
    }
    if (w->type == BODY_APPLY_PATCH) {
        run_apply(w);
        return;
    }
    switch (w->req->verb) {
    case VERB_CREATE:
        run_create(w);
        return;
    case VERB_UPDATE:
        run_update(w);
        return;
    case VERB_PATCH:
        run_patch(w);
        return;
    case VERB_DELETE:
        remove_run(w);
        return;
    default:
        (void)failure_method(&w->failure);
        write_finish(w);
    }
}
