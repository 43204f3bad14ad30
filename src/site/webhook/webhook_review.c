/* webhook_review: see webhook_review.h. Here: AdmissionReview. */
#include "site/webhook/webhook_review.h"

#include "api/schema/codec.h"
#include "api/walk/causes.h"
#include "base/limits.h"
#include "wire/json/json_diff.h"
#include "wire/text/base64.h"

#define API_VERSION "admission.k8s.io/v1"

struct review {
    const struct webhook *w;
    struct admission *admission;
    yyjson_val *request;
    const struct kind *kind; /* NULL: Berth has no tables of it */
    const struct kind_version *kv;
    struct admission_ask q;
    struct arena *a;
    struct buf *out;
};

static int no_memory(struct err *err) {
    return err_set(err, ERR_NOMEM, "out of memory");
}

/* ---- the question ---- */

static int read_op(struct str s, enum admission_op *ret) {
    static const struct {
        const char *name;
        enum admission_op op;
    } rows[] = {
        {"CREATE", ADMISSION_CREATE}, {"UPDATE", ADMISSION_UPDATE}, {"DELETE", ADMISSION_DELETE}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (str_is(s, rows[i].name)) {
            *ret = rows[i].op;
            return 0;
        }
    }
    return ERR_BAD_REQUEST;
}

static int read_user(struct review *r) {
    yyjson_val *groups = json_path(r->request, "userInfo.groups"), *g;
    size_t i, n = yyjson_is_arr(groups) ? yyjson_arr_size(groups) : 0;
    struct str *v = ARENA_ARRAY(r->a, struct str, n + 1);
    if (v == NULL) {
        return ERR_NOMEM;
    }
    size_t max;
    yyjson_arr_foreach(groups, i, max, g) {
        v[i] = json_str(g);
    }
    r->q.user = json_str_at(r->request, "userInfo.username");
    r->q.groups = v;
    r->q.n_groups = n;
    return 0;
}

/* The object in its storage version, as a document of its own. NULL: out of memory, or a conversion that failed. */
static yyjson_mut_doc *stored_form(struct review *r, yyjson_val *v, struct err *err) {
    yyjson_mut_doc *d = json_mut_copy(r->a, v);
    if (d == NULL) {
        (void)no_memory(err);
        return NULL;
    }
    return r->kv == NULL || codec_to_storage(r->kind, r->kv, d, err) == 0 ? d : NULL;
}

/* The same, not to be changed. */
static int frozen(struct review *r, yyjson_mut_doc *d, yyjson_val **ret, struct err *err) {
    struct buf b;
    yyjson_doc *doc;
    buf_init(&b, 0);
    json_write_mut(&b, yyjson_mut_doc_get_root(d));
    struct str text = arena_str(r->a, buf_view(&b));
    int code =
        buf_ok(&b) != 0 || text.p == NULL ? no_memory(err) : json_parse(r->a, text, &doc, err);
    buf_release(&b);
    if (code == 0) {
        *ret = yyjson_doc_get_root(doc);
    }
    return code;
}

static int read_objects(struct review *r, struct err *err) {
    yyjson_val *obj = json_get(r->request, STR("object"));
    yyjson_val *old = json_get(r->request, STR("oldObject"));
    bool is_delete = r->q.op == ADMISSION_DELETE;
    if (!is_delete && !yyjson_is_obj(obj)) {
        return err_set(err, ERR_BAD_REQUEST, "the review has no object");
    }
    if (r->q.op != ADMISSION_CREATE && !yyjson_is_obj(old)) {
        return err_set(err, ERR_BAD_REQUEST, "the review has no oldObject");
    }
    if (!is_delete) {
        r->q.doc = stored_form(r, obj, err);
        if (r->q.doc == NULL) {
            return err->code;
        }
        r->q.obj = yyjson_mut_doc_get_root(r->q.doc);
    }
    if (r->q.op != ADMISSION_CREATE) {
        r->q.old = old;
        if (r->kv != NULL && r->kv->to_storage != NULL) {
            yyjson_mut_doc *d = stored_form(r, old, err);
            return d == NULL ? err->code : frozen(r, d, &r->q.old, err);
        }
    }
    return 0;
}

static int read_request(struct review *r, yyjson_val *root, struct err *err) {
    r->request = json_get(root, STR("request"));
    struct str group = json_str_at(r->request, "kind.group");
    struct str version = json_str_at(r->request, "kind.version");
    struct str kind = json_str_at(r->request, "kind.kind");
    if (!str_is(json_str_at(root, "apiVersion"), API_VERSION) ||
        !str_is(json_str_at(root, "kind"), "AdmissionReview")) {
        return err_set(err, ERR_BAD_REQUEST, "expected an AdmissionReview of " API_VERSION);
    }
    if (json_str_at(r->request, "uid").n == 0 ||
        read_op(json_str_at(r->request, "operation"), &r->q.op) != 0) {
        return err_set(err, ERR_BAD_REQUEST, "the review has no request with uid and operation");
    }
    if (!str_is(group, r->w->group) ||
        !str_is(json_str_at(r->request, "resource.resource"), r->w->plural)) {
        return err_set(err, ERR_BAD_REQUEST, "this webhook is for %s of %s", r->w->plural,
                       r->w->group);
    }
    r->kind = kind_by_name(group, kind);
    r->kv = r->kind != NULL ? kind_version(r->kind, version) : NULL;
    if (r->w->own_kind && r->kv == NULL) {
        return err_set(err, ERR_BAD_REQUEST, "version %.*s of %s is not known", STR_ARG(version),
                       r->w->plural);
    }
    r->q.kind = r->kind;
    r->q.version = r->kv != NULL ? str_of(kind_storage(r->kind)->version) : version;
    r->q.subresource = json_str_at(r->request, "subResource");
    r->q.ns = json_str_at(r->request, "namespace");
    r->q.name = json_str_at(r->request, "name");
    r->q.arena = r->a;
    r->q.causes = (struct causes){.arena = r->a};
    return read_user(r) != 0 ? no_memory(err) : read_objects(r, err);
}

/* ---- the answer ---- */

static void begin(struct review *r) {
    buf_c(r->out, "{\"apiVersion\":\"" API_VERSION "\",\"kind\":\"AdmissionReview\",\"response\":"
                  "{\"uid\":");
    buf_json(r->out, json_str_at(r->request, "uid"));
}

static void end(struct review *r) {
    for (size_t i = 0; i < r->q.n_warnings; i++) {
        buf_c(r->out, i == 0 ? ",\"warnings\":[" : ",");
        buf_json(r->out, r->q.warnings[i]);
    }
    buf_c(r->out, r->q.n_warnings > 0 ? "]}}" : "}}");
}

static struct str name_of(const struct review *r) {
    struct str name = json_mstr_at(r->q.obj, "metadata.name");
    return name.n > 0 ? name : r->q.name;
}

static void write_causes(struct review *r) {
    const struct causes *c = &r->q.causes;
    struct buf text;
    buf_init(&text, 1 << 20);
    causes_message(&text, r->kind->group, r->kind->kind, name_of(r), c);
    buf_c(r->out, "\"code\":422,\"reason\":\"Invalid\",\"message\":");
    buf_json(r->out, buf_view(&text));
    buf_release(&text);
    buf_c(r->out, ",\"details\":{\"name\":");
    buf_json(r->out, name_of(r));
    buf_f(r->out, ",\"group\":\"%s\",\"kind\":\"%s\",\"causes\":[", r->kind->group, r->kind->kind);
    for (size_t i = 0; i < c->n; i++) {
        buf_c(r->out, i > 0 ? ",{\"reason\":" : "{\"reason\":");
        buf_json(r->out, cause_reason(c->v[i].type));
        buf_c(r->out, ",\"message\":");
        buf_json(r->out, c->v[i].text);
        buf_c(r->out, ",\"field\":");
        buf_json(r->out, c->v[i].field);
        buf_ch(r->out, '}');
    }
    buf_c(r->out, "]}}");
}

/* True when q says no: that is then the answer. */
static bool refused(struct review *r) {
    if (r->q.causes.n == 0 && r->q.denied.n == 0) {
        return false;
    }
    begin(r);
    buf_c(r->out, ",\"allowed\":false,\"status\":{\"status\":\"Failure\",");
    if (r->q.conflict.n > 0) {
        buf_c(r->out, "\"code\":409,\"reason\":\"Conflict\",\"message\":");
        buf_json(r->out, r->q.conflict);
        buf_ch(r->out, '}');
    } else if (r->q.causes.n > 0) {
        write_causes(r);
    } else {
        buf_c(r->out, "\"code\":403,\"reason\":\"Forbidden\",\"message\":");
        buf_json(r->out, r->q.denied);
        buf_ch(r->out, '}');
    }
    end(r);
    return true;
}

/* The patch that makes the object that was sent of the one in q. */
static int write_patch(struct review *r, bool *ret_any, struct err *err) {
    yyjson_val *now;
    int code = r->kv != NULL ? codec_from_storage(r->kind, r->kv, r->q.doc, err) : 0;
    code = code ? code : frozen(r, r->q.doc, &now, err);
    if (code != 0) {
        return code;
    }
    struct buf patch;
    buf_init(&patch, 0);
    *ret_any = json_diff(json_get(r->request, STR("object")), now, &patch) > 0;
    if (*ret_any) {
        buf_c(r->out, ",\"patchType\":\"JSONPatch\",\"patch\":\"");
        base64_encode(r->out, buf_view(&patch));
        buf_ch(r->out, '"');
    }
    code = buf_ok(&patch) != 0 ? no_memory(err) : 0;
    buf_release(&patch);
    return code;
}

static int mutate(struct review *r, enum webhook_verdict *ret, struct err *err) {
    bool changed = false;
    int code = 0;
    if (r->q.obj != NULL && r->kind != NULL) {
        code = r->w->own_kind ? codec_default(r->kind, r->q.doc, err) : 0;
        code = code || r->admission == NULL ? code : r->admission->mutate(r->admission, &r->q, err);
    }
    if (code != 0 || refused(r)) {
        *ret = WEBHOOK_DENIED;
        return code;
    }
    begin(r);
    buf_c(r->out, ",\"allowed\":true");
    if (r->q.obj != NULL && r->kind != NULL) {
        code = write_patch(r, &changed, err);
    }
    end(r);
    *ret = changed ? WEBHOOK_PATCHED : WEBHOOK_ALLOWED;
    return code;
}

static int validate(struct review *r, enum webhook_verdict *ret, struct err *err) {
    int code = 0;
    if (r->w->own_kind && r->q.obj != NULL) {
        bool status = str_is(r->q.subresource, "status") && r->q.old != NULL;
        code = codec_default(r->kind, r->q.doc,
                             err); /* 4 is "4" to rules, as when it is stored by us */
        code = code ? code
                    : (status ? codec_validate_status : codec_validate)(r->kind, r->q.obj, r->q.old,
                                                                        &r->q.causes);
        code = code != 0 ? no_memory(err) : 0;
    }
    if (code == 0 && r->kind != NULL && r->admission != NULL && r->q.causes.n == 0) {
        code = r->admission->validate(r->admission, &r->q, err);
    }
    if (code != 0 || refused(r)) {
        *ret = WEBHOOK_DENIED;
        return code;
    }
    begin(r);
    buf_c(r->out, ",\"allowed\":true");
    end(r);
    *ret = WEBHOOK_ALLOWED;
    return 0;
}

int webhook_review(const struct webhook *w, struct admission *admission, struct str body,
                   struct arena *a, struct buf *out, enum webhook_verdict *ret, struct err *err) {
    struct err e = {0};
    struct review r = {.w = w, .admission = admission, .a = a, .out = out};
    enum webhook_verdict verdict = WEBHOOK_DENIED;
    yyjson_doc *doc;
    int code = json_parse(a, body, &doc, &e);
    code = code ? code : read_request(&r, yyjson_doc_get_root(doc), &e);
    code = code ? code : (w->mutating ? mutate : validate)(&r, &verdict, &e);
    if (code == 0 && (buf_ok(out) != 0 || arena_ok(a) != 0)) {
        code = no_memory(&e);
    }
    if (code != 0) {
        return err_set(err, code, "%s", e.text);
    }
    *ret = verdict;
    return 0;
}
