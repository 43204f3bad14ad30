/* review: see review.h. The texts are those of a kube-apiserver. */
#include "server/convert/review.h"

#define GROUP "apiextensions.k8s.io/"

const char *review_version(yyjson_val *webhook) {
    yyjson_val *list = json_get(webhook, STR("conversionReviewVersions")), *v;
    size_t i, n;
    yyjson_arr_foreach(list, i, n, v) {
        if (str_is(json_str(v), "v1")) {
            return "v1";
        }
        if (str_is(json_str(v), "v1beta1")) {
            return "v1beta1";
        }
    }
    return NULL;
}

void review_body(const char *version, struct str uid, struct str want, struct str objects,
                 struct buf *out) {
    buf_f(out, "{\"kind\":\"ConversionReview\",\"apiVersion\":\"" GROUP "%s\",\"request\":{",
          version);
    buf_c(out, "\"uid\":");
    buf_json(out, uid);
    buf_c(out, ",\"desiredAPIVersion\":");
    buf_json(out, want);
    buf_c(out, ",\"objects\":[");
    buf_str(out, objects);
    buf_c(out, "]}}");
}

/* Of version v1beta1 neither the kind nor the uid of an answer is looked at, as upstream does. */
static int check_review(yyjson_val *root, const char *version, struct str uid, struct err *err) {
    yyjson_val *response = json_get(root, STR("response"));
    struct str api = json_str_at(root, "apiVersion"), kind = json_str_at(root, "kind");
    struct str got = json_str_at(response, "uid"), status = json_str_at(response, "result.status");
    struct str message = json_str_at(response, "result.message");
    bool v1 = str_is(str_of(version), "v1");
    if (v1 && (!str_is(api, GROUP "v1") || !str_is(kind, "ConversionReview"))) {
        return err_set(err, ERR_INTERNAL,
                       "expected webhook response of " GROUP "v1, Kind=ConversionReview, got %.*s, "
                       "Kind=%.*s",
                       STR_ARG(str_head(api, 100)), STR_ARG(str_head(kind, 100)));
    }
    if (!yyjson_is_obj(response)) {
        return err_set(err, ERR_INTERNAL, "no response provided");
    }
    if (v1 && !str_eq(got, uid)) {
        return err_set(err, ERR_INTERNAL, "expected response.uid=\"%.*s\", got \"%.*s\"",
                       STR_ARG(uid), STR_ARG(str_head(got, 64)));
    }
    if (str_is(status, "Success")) {
        return 0;
    }
    return message.n > 0
               ? err_set(err, ERR_INTERNAL, "%.*s", STR_ARG(str_head(message, 400)))
               : err_set(err, ERR_INTERNAL, "response.result.status was '%.*s', not 'Success'",
                         STR_ARG(str_head(status, 64)));
}

int review_answer(struct arena *a, const char *version, struct str uid, struct str url,
                  const struct http_reply *r, yyjson_val **ret, struct err *err) {
    struct err bad = {0};
    yyjson_doc *doc;
    if (r->code != 0) {
        return err_set(err, ERR_INTERNAL, "Post \"%.*s\": %s", STR_ARG(str_head(url, 200)),
                       r->err.text);
    }
    if (r->status != 200) {
        return err_set(err, ERR_INTERNAL, "the server answered %d: %.*s", r->status,
                       STR_ARG(str_trim(str_head(r->body, 200))));
    }
    if (json_parse(a, r->body, &doc, &bad) != 0) {
        return err_set(err, ERR_INTERNAL, "its answer cannot be read: %s", bad.text);
    }
    yyjson_val *root = yyjson_doc_get_root(doc);
    int code = check_review(root, version, uid, err);
    if (code == 0) {
        *ret = json_path(root, "response.convertedObjects");
    }
    return code;
}

/* ---- one object ---- */

static int check_same(yyjson_val *sent, yyjson_val *got, struct err *err) {
    static const char *const names[][2] = {
        {"metadata.name", "name"}, {"metadata.namespace", "namespace"}, {"metadata.uid", "UID"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct str a = json_str_at(sent, names[i][0]), b = json_str_at(got, names[i][0]);
        if (!str_eq(a, b)) {
            return err_set(err, ERR_INTERNAL,
                           "returned invalid object: must have the same %s: %.*s "
                           "!= %.*s",
                           names[i][1], STR_ARG(str_head(a, 64)), STR_ARG(str_head(b, 64)));
        }
    }
    return 0;
}

static int check_object(yyjson_val *sent, yyjson_val *got, struct str want, struct err *err) {
    struct str api = json_str_at(got, "apiVersion"), kind = json_str_at(got, "kind");
    struct str was = json_str_at(sent, "kind");
    if (!str_eq(api, want)) {
        return err_set(err, ERR_INTERNAL,
                       "returned invalid object at index 0: invalid groupVersion (expected %.*s, "
                       "received %.*s)",
                       STR_ARG(want), STR_ARG(str_head(api, 100)));
    }
    if (!str_eq(kind, was)) {
        return err_set(err, ERR_INTERNAL,
                       "returned invalid object at index 0: invalid kind (expected %.*s, received "
                       "%.*s)",
                       STR_ARG(was), STR_ARG(str_head(kind, 100)));
    }
    if (!yyjson_is_obj(json_get(got, STR("metadata")))) {
        return err_set(err, ERR_INTERNAL,
                       "returned invalid metadata: missing metadata in "
                       "converted object");
    }
    return check_same(sent, got, err);
}

static int check_texts(yyjson_val *map, const char *name, struct err *err) {
    yyjson_obj_iter it = yyjson_obj_iter_with(map);
    if (map != NULL && !yyjson_is_null(map) && !yyjson_is_obj(map)) {
        return err_set(err, ERR_INTERNAL,
                       "returned invalid metadata: invalid metadata.%s in converted object", name);
    }
    for (yyjson_val *k; yyjson_is_obj(map) && (k = yyjson_obj_iter_next(&it)) != NULL;) {
        if (!yyjson_is_str(yyjson_obj_iter_get_val(k))) {
            return err_set(err, ERR_INTERNAL,
                           "returned invalid metadata: metadata.%s[%.*s] must be a string in "
                           "converted object",
                           name, STR_ARG(str_head(json_str(k), 64)));
        }
    }
    return 0;
}

static int join(yyjson_mut_doc *d, yyjson_val *sent, yyjson_val *got, struct err *err) {
    static const char *const theirs[] = {"labels", "annotations"};
    yyjson_mut_val *root = yyjson_mut_doc_get_root(d);
    yyjson_val *meta = json_get(sent, STR("metadata"));
    yyjson_mut_val *own = meta != NULL ? yyjson_val_mut_copy(d, meta) : yyjson_mut_obj(d);
    int r = own == NULL ? ERR_NOMEM : 0;
    for (size_t i = 0; r == 0 && i < 2; i++) {
        yyjson_val *map = json_get(json_get(got, STR("metadata")), str_of(theirs[i]));
        r = check_texts(map, theirs[i], err);
        yyjson_mut_val *copy = r == 0 && yyjson_is_obj(map) ? yyjson_val_mut_copy(d, map) : NULL;
        r = r ? r : json_mset(d, own, str_of(theirs[i]), copy);
    }
    return r ? r : json_mset(d, root, STR("metadata"), own);
}

int review_settle(struct arena *a, struct str sent, yyjson_val *got, struct str want,
                  struct buf *out, struct err *err) {
    yyjson_doc *doc;
    int r = json_parse(a, sent, &doc, err);
    r = r ? r : check_object(yyjson_doc_get_root(doc), got, want, err);
    yyjson_mut_doc *d = r == 0 ? json_mut_copy(a, got) : NULL;
    if (r == 0) {
        r = d == NULL ? ERR_NOMEM : join(d, yyjson_doc_get_root(doc), got, err);
    }
    if (r == 0) {
        json_write_mut(out, yyjson_mut_doc_get_root(d));
        r = buf_ok(out);
    }
    return r == 0 || r == ERR_INTERNAL ? r : err_set(err, ERR_NOMEM, "out of memory");
}
