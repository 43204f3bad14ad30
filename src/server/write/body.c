/* body: see body.h. Fields are reported by path in the version asked for, which is the one that
 * the user wrote. */
#include "server/write/body.h"

#include "api/protobuf/codec_protobuf.h"
#include "api/schema/codec.h"
#include "api/schema/crd_schema.h"
#include "base/limits.h"
#include "wire/json/json.h"
#include "wire/yaml.h"

enum { REPORTED_MAX = 32 }; /* further unknown fields of one body are not named */

struct reports {
    struct arena *arena;
    struct str v[REPORTED_MAX];
    size_t n;
    const char *what; /* "unknown" or "duplicate" */
    size_t lines;     /* of them, those that are keys of YAML, which come first */
    bool all;         /* unknown fields are among them already */
};

static void unknown(void *ctx, struct str path) {
    struct reports *r = ctx;
    if (r->n < REPORTED_MAX) {
        r->v[r->n++] = arena_f(r->arena, "unknown field \"%.*s\"", STR_ARG(path));
    }
}

static void repeated(void *ctx, struct str path) {
    struct reports *r = ctx;
    if (r->n < REPORTED_MAX) {
        r->v[r->n++] = arena_f(r->arena, "duplicate field \"%.*s\"", STR_ARG(path));
    }
}

static void repeated_line(void *ctx, size_t line, struct str key) {
    struct reports *r = ctx;
    if (r->n < REPORTED_MAX) {
        r->v[r->n++] = arena_f(r->arena, "line %zu: key \"%.*s\" already set in map", line,
                               STR_ARG(str_head(key, 128)));
        r->lines = r->n;
    }
}

static void report(void *ctx, struct str path) {
    struct reports *r = ctx;
    if (r->n < REPORTED_MAX) {
        r->v[r->n++] = arena_f(r->arena, "%s field \"%.*s\"", r->what, STR_ARG(path));
    }
}

static bool wants_strict(const struct write *w) {
    return str_is(w->req->opt.field_validation, "Strict");
}

static bool wants_reports(const struct write *w) {
    return w->behalf == WRITE_FOR_USER && !str_is(w->req->opt.field_validation, "Ignore");
}

/* As Go's reader of YAML and its decoder tell them. */
static struct str all_of(struct arena *a, const struct reports *r) {
    struct str all = r->lines > 0 ? STR("yaml: unmarshal errors:") : r->v[0];
    for (size_t i = r->lines > 0 ? 0 : 1; i < r->n; i++) {
        all =
            arena_f(a, "%.*s%s%.*s", STR_ARG(all), i < r->lines ? "\n  " : ", ", STR_ARG(r->v[i]));
    }
    return all;
}

/* Warns, or refuses: one error with all of them. */
static int settle_reports(struct write *w, const struct reports *r) {
    if (r->n == 0 || !wants_reports(w)) {
        return 0;
    }
    if (!wants_strict(w)) {
        for (size_t i = 0; i < r->n && w->call != NULL; i++) {
            call_warn(w->call, r->v[i]);
        }
        return 0;
    }
    struct str all = all_of(w->arena, r);
    const struct api_request *q = w->req;
    if (q->verb == VERB_PATCH) {
        return failure_invalid_one(&w->failure, w->arena, "", "", (struct str){0}, CAUSE_INVALID,
                                   "patch", "Invalid value: \"%.*s\": strict decoding error: %.*s",
                                   STR_ARG(str_head(w->body, 512)), STR_ARG(all));
    }
    return failure_set(
        &w->failure, w->arena, ERR_BAD_REQUEST,
        "%s in version \"%s\" cannot be handled as a %s: strict decoding error: %.*s",
        q->kind->kind, q->kv->version, q->kind->kind, STR_ARG(all));
}

int body_bad(struct write *w, const struct err *err) {
    if (err->code != ERR_SYNTAX) {
        return failure_err(&w->failure, w->arena, err);
    }
    return failure_set(&w->failure, w->arena, ERR_BAD_REQUEST,
                       "the object provided is unrecognized (must be of type %s): %s",
                       w->req->kind->kind, err->text);
}

int body_parse(struct arena *a, struct str body, yyjson_doc **ret, struct err *err) {
    yyjson_doc *doc;
    int code = json_parse(a, body, &doc, err);
    if (code == 0 && yyjson_doc_get_val_count(doc) > LIMIT_BODY_VALUES) {
        code = err_set(err, ERR_TOO_LARGE, "the body has more than %d names and values",
                       LIMIT_BODY_VALUES);
    }
    if (code == 0) {
        *ret = doc;
    }
    return code;
}

static int decode_json(struct write *w, struct reports *r) {
    struct err err = {0};
    yyjson_doc *doc;
    int code = body_parse(w->arena, w->body, &doc, &err);
    if (code == 0 && wants_reports(w)) {
        r->what = "duplicate";
        code = json_duplicates(yyjson_doc_get_root(doc), w->arena, report, r);
    }
    if (code == 0 && r->n > 0 && w->req->kv->schema->custom == NULL) {
        struct codec_names names = {unknown, repeated, r};
        r->n = 0;
        r->all = true;
        code = codec_names(w->req->kv->schema, yyjson_doc_get_root(doc), &names);
    }
    if (code == 0) {
        w->doc = json_mut_copy(w->arena, yyjson_doc_get_root(doc));
        code = w->doc == NULL ? err_set(&err, ERR_NOMEM, "out of memory") : 0;
    }
    if (code != 0) {
        return body_bad(w, &err);
    }
    if (r->n > 0 || !wants_reports(w)) {
        json_dedup(yyjson_mut_doc_get_root(w->doc));
    }
    return 0;
}

static int decode_protobuf(struct write *w) {
    struct err err = {0};
    const struct kind *k = NULL;
    const struct kind_version *kv = NULL;
    int code = codec_from_protobuf(w->body, w->arena, &w->doc, &k, &kv, &err);
    return code != 0 ? body_bad(w, &err) : 0;
}

/* Whether "batch/v1" is of this group and version. */
static bool is_version(struct str api, const char *group, const char *version) {
    struct str g = str_of(group), v = str_of(version);
    if (g.n == 0) {
        return str_eq(api, v);
    }
    return api.n == g.n + 1 + v.n && str_starts(api, g) && api.p[g.n] == '/' && str_ends(api, v);
}

static bool is_text(yyjson_mut_val *v) {
    return v == NULL || yyjson_mut_is_null(v) || yyjson_mut_is_str(v);
}

/* apiVersion and kind of the body: filled in, or refused. */
static int check_type(struct write *w) {
    const struct api_request *q = w->req;
    yyjson_mut_val *root = yyjson_mut_doc_get_root(w->doc);
    struct str api = json_mstr(json_mget(root, STR("apiVersion")));
    struct str kind = json_mstr(json_mget(root, STR("kind")));
    if (!is_text(json_mget(root, STR("kind"))) || !is_text(json_mget(root, STR("apiVersion")))) {
        return failure_set(&w->failure, w->arena, ERR_BAD_REQUEST,
                           "the object provided is unrecognized (must be of type %s): expected "
                           "strings as kind and apiVersion",
                           q->kind->kind);
    }
    if (kind.n == 0 && (q->kind->flags & KIND_CUSTOM)) {
        return failure_set(&w->failure, w->arena, ERR_BAD_REQUEST,
                           "the object provided is unrecognized (must be of type %s): Object "
                           "'Kind' is missing in '%.*s'",
                           q->kind->kind, STR_ARG(str_head(w->body, 256)));
    }
    if (kind.n > 0 && !str_is(kind, q->kind->kind) && q->kv->schema->custom != NULL) {
        return failure_invalid_one(&w->failure, w->arena, q->kind->group, q->kind->kind,
                                   json_mstr_at(root, "metadata.name"), CAUSE_INVALID, "kind",
                                   "Invalid value: \"%.*s\": must be %s",
                                   STR_ARG(str_head(kind, 256)), q->kind->kind);
    }
    if (kind.n > 0 && !str_is(kind, q->kind->kind)) {
        return failure_set(&w->failure, w->arena, ERR_BAD_REQUEST,
                           "%.*s in version \"%.*s\" cannot be handled as a %s: the kind in the "
                           "data (%.*s) does not match the expected kind (%s)",
                           STR_ARG(kind), STR_ARG(api), q->kind->kind, STR_ARG(kind),
                           q->kind->kind);
    }
    if (kind.n > 0 && is_version(api, q->kind->group, q->kv->version)) {
        return 0;
    }
    struct str want =
        arena_f(w->arena, "%s%s%s", q->kind->group, q->kind->group[0] ? "/" : "", q->kv->version);
    if (api.n > 0 && !str_eq(api, want)) {
        return failure_set(&w->failure, w->arena, ERR_BAD_REQUEST,
                           "the API version in the data (%.*s) does not match the expected API "
                           "version (%.*s)",
                           STR_ARG(api), STR_ARG(want));
    }
    if (json_mset_str(w->doc, root, "apiVersion", want) != 0 ||
        json_mset_str(w->doc, root, "kind", str_of(q->kind->kind)) != 0) {
        return failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory");
    }
    return 0;
}

/* What a webhook converts is filled and judged by the version that it was written in before: the webhook may rely on
 * that. After it the version of storage has its say, as for all others. */
static int judge_as_asked(struct write *w) {
    const struct api_request *q = w->req;
    struct causes causes = {.arena = w->arena};
    struct err err = {0};
    bool status = str_is(q->subresource, "status");
    int code = (status ? codec_default_status_in : codec_default_in)(q->kind, q->kv, w->doc, &err);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(w->doc);
    if (code == 0) {
        crd_validate(q->kv->schema->custom, root, NULL, &causes);
        code = arena_ok(w->arena);
    }
    if (code != 0) {
        return failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory");
    }
    return causes.n == 0 ? 0
                         : failure_invalid(&w->failure, w->arena, q->kind->group, q->kind->kind,
                                           json_mstr_at(root, "metadata.name"), &causes);
}

static int body_of_wrong_type(struct write *w, const struct cause *what) {
    const struct kind *k = w->req->kind;
    return failure_set(&w->failure, w->arena, ERR_BAD_REQUEST,
                       "%s in version \"%.*s\" cannot be handled as a %s: %.*s: %.*s", k->kind,
                       STR_ARG(w->req->version), k->kind, STR_ARG(what->field),
                       STR_ARG(what->text));
}

static int prune_and_convert(struct write *w, struct reports *r) {
    const struct api_request *q = w->req;
    struct err err = {0};
    struct causes types = {.arena = w->arena};
    yyjson_mut_val *root = yyjson_mut_doc_get_root(w->doc);
    void (*found)(void *ctx, struct str path) = wants_reports(w) && !r->all ? report : NULL;
    bool custom = (q->kind->flags & KIND_CUSTOM) != 0;
    r->what = "unknown";
    int code = w->status_alone ? codec_prune_status(q->kv->schema, w->doc, root, found, r)
                               : codec_prune_body(q->kv->schema, w->doc, root, found, r,
                                                  custom ? NULL : &types);
    if (code != 0) {
        return failure_set(&w->failure, w->arena, code, "out of memory");
    }
    if (types.n > 0) {
        return body_of_wrong_type(w, &types.v[0]);
    }
    code = settle_reports(w, r);
    if (code != 0) {
        return code;
    }
    if (q->kv->asks && (code = judge_as_asked(w)) != 0) {
        return code;
    }
    if (q->kv->to_storage != NULL) {
        code = codec_to_storage(q->kind, q->kv, w->doc, &err);
    }
    if (code == ERR_INTERNAL && q->kv->asks) {
        return failure_set(&w->failure, w->arena, ERR_BAD_REQUEST,
                           "%s in version \"%s\" cannot be handled as a %s: %s", q->kind->kind,
                           q->kv->version, q->kind->kind, err.text);
    }
    return code != 0 ? body_bad(w, &err) : 0;
}

int body_decode(struct write *w) {
    struct reports r = {.arena = w->arena};
    struct err err = {0};
    int code = 0;
    if (w->type == BODY_PROTOBUF) {
        code = decode_protobuf(w);
    } else if (w->type == BODY_YAML) {
        struct yaml_repeats repeats = {repeated_line, &r};
        code = yaml_parse_lax(w->arena, w->body, &repeats, &w->doc, &err);
        code = code != 0 ? body_bad(w, &err) : 0;
    } else {
        code = decode_json(w, &r);
    }
    if (code != 0) {
        return code;
    }
    if (!yyjson_mut_is_obj(yyjson_mut_doc_get_root(w->doc))) {
        return failure_set(
            &w->failure, w->arena, ERR_BAD_REQUEST,
            "the object provided is unrecognized (must be of type %s): not an object",
            w->req->kind->kind);
    }
    code = check_type(w);
    return code != 0 ? code : prune_and_convert(w, &r);
}

/* Members that stand twice: refused, warned of, or the last one counts. */
static int settle_duplicates(struct write *w, const struct reports *r) {
    if (r->n == 0 || !wants_reports(w)) {
        return 0;
    }
    if (wants_strict(w)) {
        struct str all = all_of(w->arena, r);
        return failure_set(&w->failure, w->arena, ERR_BAD_REQUEST,
                           "error strict decoding YAML: %s%.*s",
                           r->lines > 0 ? "error converting YAML to JSON: " : "", STR_ARG(all));
    }
    for (size_t i = 0; i < r->n && w->call != NULL; i++) {
        call_warn(w->call, r->v[i]);
    }
    return 0;
}

/* An apply names what it is of: nothing is filled in. */
static int check_config(struct write *w) {
    const struct api_request *q = w->req;
    yyjson_mut_val *root = yyjson_mut_doc_get_root(w->doc);
    struct str api = json_mstr(json_mget(root, STR("apiVersion")));
    struct str kind = json_mstr(json_mget(root, STR("kind")));
    if (!yyjson_mut_is_obj(root)) {
        return failure_set(&w->failure, w->arena, ERR_BAD_REQUEST,
                           "error decoding YAML: the applied configuration is not an object");
    }
    if (str_is(kind, q->kind->kind) && is_version(api, q->kind->group, q->kv->version)) {
        return 0;
    }
    return failure_set(&w->failure, w->arena, ERR_BAD_REQUEST,
                       "invalid object type: %.*s, Kind=%.*s", STR_ARG(str_head(api, 256)),
                       STR_ARG(str_head(kind, 256)));
}

int body_config(struct write *w) {
    struct reports r = {.arena = w->arena};
    struct err err = {0};
    struct str text = str_trim(w->body);
    bool json = text.n > 0 && text.p[0] == '{'; /* as kubectl and client-go send it */
    struct yaml_repeats repeats = {repeated_line, &r};
    int code =
        json ? decode_json(w, &r) : yaml_parse_lax(w->arena, w->body, &repeats, &w->doc, &err);
    if (code != 0 && json) {
        return code;
    }
    if (code == ERR_SYNTAX) {
        return failure_set(&w->failure, w->arena, ERR_BAD_REQUEST, "error decoding YAML: %s",
                           err.text);
    }
    if (code != 0) {
        return failure_err(&w->failure, w->arena, &err);
    }
    code = settle_duplicates(w, &r);
    return code != 0 ? code : check_config(w);
}

int body_finish_patch(struct write *w) {
    struct reports r = {.arena = w->arena};
    if (!yyjson_mut_is_obj(yyjson_mut_doc_get_root(w->doc))) {
        return failure_set(&w->failure, w->arena, ERR_BAD_REQUEST,
                           "the patched object is not an object");
    }
    int code = w->status_alone ? 0 : check_type(w);
    return code != 0 ? code : prune_and_convert(w, &r);
}

int body_any(struct arena *a, struct str body, enum body_type type, yyjson_mut_doc **ret,
             struct failure *f) {
    struct err err = {0};
    const struct kind *k = NULL;
    const struct kind_version *kv = NULL;
    int code = 0;
    if (str_trim(body).n == 0) {
        *ret = NULL;
        return 0;
    }
    if (type == BODY_PROTOBUF) {
        code = codec_from_protobuf(body, a, ret, &k, &kv, &err);
    } else if (type == BODY_YAML && body.n > LIMIT_YAML_AT_ONCE) {
        code = err_set(&err, ERR_TOO_LARGE, "a YAML body may have %d bytes here; send JSON",
                       LIMIT_YAML_AT_ONCE);
    } else if (type == BODY_YAML) {
        code = yaml_parse_one(a, body, ret, &err);
    } else {
        code = json_parse_mut(a, body, ret, &err);
    }
    if (code == 0 && !yyjson_mut_is_obj(yyjson_mut_doc_get_root(*ret))) {
        code = err_set(&err, ERR_BAD_REQUEST, "the body is not an object");
    }
    if (code == ERR_SYNTAX) {
        return failure_set(f, a, ERR_BAD_REQUEST, "the body is malformed: %s", err.text);
    }
    return code != 0 ? failure_err(f, a, &err) : 0;
}
