/*
 * source_value: by format.
 */
#include "core/scale/source_value.h"

#include <float.h>
#include <math.h>

#include "base/buf.h"
#include "core/scale/json_at.h"
#include "wire/text/quantity.h"
#include "wire/yaml.h"

static int no_number(struct str location, struct err *err) {
    return err_set(
        err, ERR_INVALID,
        "valueLocation \"%.*s\" must point to a numeric value or a string parseable as a "
        "Quantity",
        STR_ARG(location));
}

static int of_text(struct str text, struct str location, double *ret, struct err *err) {
    struct quantity q;
    if (quantity_parse(text, &q, NULL) != 0) {
        return no_number(location, err);
    }
    *ret = (double)q.whole + (double)q.nano / 1e9;
    return 0;
}

static int of_json(struct str body, struct str location, struct arena *a, double *ret,
                   struct err *err) {
    struct json_at v = json_at(a, body, location);
    if (v.type == JSON_AT_TEXT) {
        return of_text(v.text, location, ret, err);
    }
    if (v.type != JSON_AT_NUMBER) {
        return no_number(location, err);
    }
    *ret = v.number;
    return 0;
}

/* ---- YAML ---- */

/* The greatest number stands for an infinite one, which a tree of JSON cannot have. */
#define INFINITE "1.7976931348623157e308"

static struct str without_infinite(struct str body, struct arena *a) {
    struct buf b;
    buf_init(&b, 0);
    for (size_t i = 0; i < body.n; i++) {
        struct str rest = str_skip(body, i);
        bool alone = i > 0 && body.p[i - 1] == ' ' &&
                     (rest.n == 4 || (rest.n > 4 && (rest.p[4] == '\n' || rest.p[4] == '\r')));
        if (alone && (str_starts(rest, STR(".inf")) || str_starts(rest, STR(".Inf")) ||
                      str_starts(rest, STR(".INF")) || str_starts(rest, STR(".nan")) ||
                      str_starts(rest, STR(".NaN")) || str_starts(rest, STR(".NAN")))) {
            buf_c(&b, INFINITE);
            i += 3;
        } else {
            buf_ch(&b, body.p[i]);
        }
    }
    struct str text = arena_str(a, buf_view(&b));
    buf_release(&b);
    return text;
}

static yyjson_mut_val *child(yyjson_mut_val *v, struct str key) {
    uint64_t i;
    if (yyjson_mut_is_arr(v)) {
        return str_to_u64(key, &i) ? yyjson_mut_arr_get(v, (size_t)i) : NULL;
    }
    return json_mget(v, key);
}

static int of_yaml(struct str body, struct str location, struct arena *a, double *ret,
                   struct err *err) {
    struct yaml_docs docs;
    int rc = yaml_parse(a, without_infinite(body, a), &docs, err);
    yyjson_mut_val *v = rc == 0 && docs.n > 0 ? yyjson_mut_doc_get_root(docs.v[0]) : NULL;
    struct str rest = location, key;
    bool more = true;
    if (!yyjson_mut_is_obj(v)) {
        return rc ? rc : no_number(location, err);
    }
    while (more && (yyjson_mut_is_obj(v) || yyjson_mut_is_arr(v))) {
        struct str tail;
        more = str_cut(rest, '.', &key, &tail);
        key = more ? key : rest;
        rest = tail;
        v = child(v, key); /* a number ends the path, whatever follows */
    }
    if (yyjson_mut_is_str(v)) {
        return of_text(json_mstr(v), location, ret, err);
    }
    bool too_great = yyjson_mut_is_uint(v) && yyjson_mut_get_uint(v) > INT64_MAX;
    if (!yyjson_mut_is_num(v) || too_great) {
        return no_number(location, err);
    }
    *ret = yyjson_mut_get_num(v);
    *ret = *ret == DBL_MAX ? INFINITY : *ret;
    return 0;
}

int source_value(struct str format, struct str body, struct str location, struct arena *a,
                 double *ret, struct err *err) {
    if (str_is(format, "json")) {
        return of_json(body, location, a, ret, err);
    }
    if (str_is(format, "yaml")) {
        return of_yaml(body, location, a, ret, err);
    }
    return err_set(err, ERR_INVALID, "format %.*s is not supported", STR_ARG(format));
}
