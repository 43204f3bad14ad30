/*
 * source_prometheus: GET .../api/v1/query, and the instant vector in its answer. Names of members are found whatever
 * the case of their letters, as Go's decoder finds them.
 */
#include "core/scale/source_prometheus.h"

#include <math.h>

#include "api/meta.h"
#include "base/buf.h"
#include "core/scale/go_float.h"
#include "wire/json/json.h"
#include "wire/text/base64.h"
#include "wire/text/time.h"

/* ---- the request ---- */

static void escape(struct buf *b, struct str s) {
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                     c == '-' || c == '_' || c == '.' || c == '~';
        if (plain || c == ' ') {
            buf_ch(b, c == ' ' ? '+' : (char)c);
        } else {
            buf_ch(b, '%');
            buf_ch(b, digits[c >> 4]);
            buf_ch(b, digits[c & 15]);
        }
    }
}

static struct str basic(const struct trigger *t, struct arena *a) {
    struct str pair = arena_f(a, "%.*s:%.*s", STR_ARG(trigger_text(t, "username")),
                              STR_ARG(trigger_text(t, "password")));
    struct buf b;
    buf_init(&b, 0);
    base64_encode(&b, pair);
    struct str text = arena_f(a, "Basic %.*s", STR_ARG(buf_view(&b)));
    buf_release(&b);
    return text;
}

static int headers(const struct trigger *t, struct arena *a, struct str_map *ret) {
    const struct trigger_value *custom = trigger_get(t, "customHeaders");
    int rc = 0;
    for (size_t i = 0; rc == 0 && custom != NULL && i < custom->map.n; i++) {
        struct str key = arena_str(a, custom->map.v[i].key);
        rc = key.p == NULL ? ERR_NOMEM : meta_set(ret, a, key.p, custom->map.v[i].value);
    }
    if (rc == 0 && trigger_mode(t, "bearer")) {
        rc = meta_set(ret, a, "Authorization",
                      arena_f(a, "Bearer %.*s", STR_ARG(trigger_text(t, "bearerToken"))));
    } else if (rc == 0 && trigger_mode(t, "basic")) {
        rc = meta_set(ret, a, "Authorization", basic(t, a));
    } else if (rc == 0 && trigger_mode(t, "custom")) {
        struct str key = arena_str(a, trigger_text(t, "customAuthHeader"));
        rc =
            key.p == NULL ? ERR_NOMEM : meta_set(ret, a, key.p, trigger_text(t, "customAuthValue"));
    }
    return rc;
}

int prometheus_request(const struct trigger *t, int64_t now_ns, struct arena *a,
                       struct prometheus_request *ret) {
    const struct trigger_value *more = trigger_get(t, "queryParameters");
    struct str ns = trigger_text(t, "namespace");
    char now[TIME_TEXT_MAX];
    struct buf b;
    buf_init(&b, 0);
    buf_str(&b, trigger_text(t, "serverAddress"));
    buf_c(&b, "/api/v1/query?query=");
    escape(&b, trigger_text(t, "query"));
    buf_c(&b, "&time=");
    buf_str(&b, time_text(now_ns, now));
    if (ns.n > 0) {
        buf_f(&b, "&namespace=%.*s", STR_ARG(ns));
    }
    for (size_t i = 0; more != NULL && i < more->map.n; i++) {
        buf_ch(&b, '&');
        escape(&b, more->map.v[i].key);
        buf_ch(&b, '=');
        escape(&b, more->map.v[i].value);
    }
    *ret = (struct prometheus_request){.url = arena_str(a, buf_view(&b))};
    buf_release(&b);
    int rc = headers(t, a, &ret->headers);
    return rc ? rc : arena_ok(a);
}

/* ---- the answer ---- */

/* The last member of this name. */
static yyjson_val *member(yyjson_val *obj, const char *name) {
    size_t i, max;
    yyjson_val *key, *value, *found = NULL;
    if (yyjson_is_obj(obj)) {
        yyjson_obj_foreach(obj, i, max, key, value) {
            found = str_eq_nocase(json_str(key), str_of(name)) ? value : found;
        }
    }
    return found;
}

static bool is_or_null(yyjson_val *v, bool is) {
    return v == NULL || yyjson_is_null(v) || is;
}

/* Of the types that the answer must have. */
static bool is_answer(yyjson_val *root) {
    yyjson_val *status = member(root, "status"), *data = member(root, "data");
    yyjson_val *type = member(data, "resultType"), *result = member(data, "result");
    bool ok = is_or_null(root, yyjson_is_obj(root)) && is_or_null(status, yyjson_is_str(status)) &&
              is_or_null(data, yyjson_is_obj(data)) && is_or_null(type, yyjson_is_str(type)) &&
              is_or_null(result, yyjson_is_arr(result));
    for (size_t i = 0; ok && i < yyjson_arr_size(result); i++) {
        yyjson_val *e = yyjson_arr_get(result, i), *m = member(e, "metric");
        yyjson_val *v = member(e, "value");
        ok = is_or_null(e, yyjson_is_obj(e)) && is_or_null(m, yyjson_is_obj(m)) &&
             is_or_null(v, yyjson_is_arr(v));
    }
    return ok;
}

static int empty(const struct trigger *t, const char *what, double *ret, struct err *err) {
    *ret = 0;
    return trigger_truth(t, "ignoreNullValues")
               ? 0
               : err_set(err, ERR_INVALID,
                         "prometheus metrics 'prometheus' target may be lost, the %s is empty",
                         what);
}

static int sample(const struct trigger *t, yyjson_val *v, double *ret, struct err *err) {
    double d = -1;
    if (!yyjson_is_null(v) && (!yyjson_is_str(v) || !go_float(json_str(v), &d))) {
        return err_set(err, ERR_INVALID, "the prometheus answer has a sample that is no number");
    }
    if ((isnan(d) || isinf(d)) && !trigger_truth(t, "ignoreNullValues")) {
        return err_set(err, ERR_INVALID, "prometheus query returns %f", d);
    }
    *ret = isnan(d) || isinf(d) ? 0 : d;
    return 0;
}

int prometheus_value(const struct trigger *t, int status, struct str body, struct arena *a,
                     double *ret, struct err *err) {
    struct str query = trigger_text(t, "query");
    yyjson_doc *d;
    if (status < 200 || status > 299) {
        return err_set(err, ERR_INVALID, "prometheus query api returned error. status: %d", status);
    }
    if (json_parse(a, body, &d, err) != 0 || !is_answer(yyjson_doc_get_root(d))) {
        return err_set(err, ERR_INVALID,
                       "the prometheus answer is not of the form that is expected");
    }
    yyjson_val *result = member(member(yyjson_doc_get_root(d), "data"), "result");
    yyjson_val *value = member(yyjson_arr_get_first(result), "value");
    size_t n = yyjson_arr_size(value);
    if (yyjson_arr_size(result) == 0) {
        return empty(t, "result", ret, err);
    }
    if (yyjson_arr_size(result) > 1) {
        return err_set(err, ERR_INVALID, "prometheus query %.*s returned multiple elements",
                       STR_ARG(query));
    }
    if (n == 0) {
        return empty(t, "value list", ret, err);
    }
    if (n < 2) {
        return err_set(err, ERR_INVALID, "prometheus query %.*s didn't return enough values",
                       STR_ARG(query));
    }
    return sample(t, yyjson_arr_get(value, 1), ret, err);
}
