/*
 * webhook_convert: ConversionReview, see webhook_review.h. One object at a time is converted, in memory of its own that
 * is used again for the next: a page of a list is some thousand objects.
 */
#include "api/schema/codec.h"
#include "site/webhook/webhook_review.h"

#define API_VERSION "apiextensions.k8s.io/v1"

enum { OBJECT_BYTES = 32 << 20 };

static int convert_one(yyjson_val *v, struct str desired, struct arena *a, struct buf *out,
                       struct err *err) {
    struct str api_version = json_str_at(v, "apiVersion"), name = json_str_at(v, "kind");
    const struct kind *k = kind_by_api_version(api_version, name);
    const struct kind *same = kind_by_api_version(desired, name);
    struct str group, from, to;
    if (k == NULL || k != same || !str_cut(api_version, '/', &group, &from) ||
        !str_cut(desired, '/', &group, &to)) {
        return err_set(err, ERR_INVALID, "%.*s %.*s cannot be made one of %.*s",
                       STR_ARG(str_head(api_version, 128)), STR_ARG(str_head(name, 128)),
                       STR_ARG(str_head(desired, 128)));
    }
    yyjson_mut_doc *d = json_mut_copy(a, v);
    int code = d == NULL ? err_set(err, ERR_NOMEM, "out of memory")
                         : codec_to_storage(k, kind_version(k, from), d, err);
    code = code ? code : codec_from_storage(k, kind_version(k, to), d, err);
    if (code == 0) {
        json_write_mut(out, yyjson_mut_doc_get_root(d));
    }
    return code;
}

static int convert_all(yyjson_val *request, struct buf *out, struct err *err) {
    yyjson_val *objects = json_get(request, STR("objects")), *v;
    struct str desired = json_str_at(request, "desiredAPIVersion");
    struct arena one;
    size_t i, n;
    int code = 0;
    if (!yyjson_is_arr(objects)) {
        return err_set(err, ERR_INVALID, "the review has no objects");
    }
    arena_init(&one, OBJECT_BYTES);
    yyjson_arr_foreach(objects, i, n, v) {
        buf_c(out, i > 0 ? "," : "");
        code = convert_one(v, desired, &one, out, err);
        if (code != 0) {
            break;
        }
        arena_reset(&one);
    }
    arena_release(&one);
    return code;
}

static void begin(struct buf *out, yyjson_val *request) {
    buf_c(out, "{\"apiVersion\":\"" API_VERSION "\",\"kind\":\"ConversionReview\",\"response\":"
               "{\"uid\":");
    buf_json(out, json_str_at(request, "uid"));
}

int webhook_convert(struct str body, struct arena *a, struct buf *out, enum webhook_verdict *ret,
                    struct err *err) {
    yyjson_doc *doc;
    struct err e = {0};
    int code = json_parse(a, body, &doc, err);
    if (code != 0) {
        return code;
    }
    yyjson_val *root = yyjson_doc_get_root(doc), *request = json_get(root, STR("request"));
    if (!str_is(json_str_at(root, "apiVersion"), API_VERSION) ||
        !str_is(json_str_at(root, "kind"), "ConversionReview") ||
        json_str_at(request, "uid").n == 0) {
        return err_set(err, ERR_BAD_REQUEST, "expected a ConversionReview of " API_VERSION);
    }
    size_t start = out->n;
    begin(out, request);
    buf_c(out, ",\"convertedObjects\":[");
    code = convert_all(request, out, &e);
    if (code == ERR_NOMEM || buf_ok(out) != 0) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    if (code != 0) {
        out->n = start;
        begin(out, request);
        buf_c(out, ",\"convertedObjects\":[],\"result\":{\"status\":\"Failure\",\"message\":");
        buf_json(out, str_of(e.text));
        buf_c(out, "}}}");
        *ret = WEBHOOK_DENIED;
        return 0;
    }
    buf_c(out, "],\"result\":{\"status\":\"Success\"}}}");
    *ret = WEBHOOK_CONVERTED;
    return 0;
}
