/* jws: a JSON Web Token taken apart. See jws.h. */
#include "wire/jws.h"

#include "wire/text/base64.h"

#define NUMBER_MAX 9007199254740992.0 /* 2^53: beyond it a double has no whole seconds */

static int syntax(struct err *err, const char *what) {
    return err_set(err, ERR_SYNTAX, "%s", what);
}

static void found_twice(void *ctx, struct str path) {
    *(bool *)ctx = true;
}

/* One part: an object whose members are told apart. */
static int parse_part(struct arena *a, struct str part, bool header, yyjson_val **ret,
                      struct err *err) {
    const char *what = header ? "header is" : "claims are",
               *has = header ? "header has" : "claims have";
    size_t max = header ? JWS_HEADER_MAX : JWS_BYTES_MAX;
    yyjson_doc *doc;
    bool twice = false;
    struct str json = base64url_decode(a, part);
    if (json.p == NULL) {
        return arena_ok(a) ? err_set(err, ERR_NOMEM, "out of memory")
                           : err_set(err, ERR_SYNTAX, "the %s not base64url", what);
    }
    if (json.n > max) {
        return err_set(err, ERR_TOO_LARGE, "the %s longer than %zu bytes", what, max);
    }
    int r = json_parse(a, json, &doc, err);
    if (r != 0) {
        return err_wrap(err, "the %s no JSON", what);
    }
    yyjson_val *v = yyjson_doc_get_root(doc);
    if (!yyjson_is_obj(v)) {
        return err_set(err, ERR_SYNTAX, "the %s not a JSON object", what);
    }
    r = json_duplicates(v, a, found_twice, &twice);
    if (r != 0) {
        return err_set(err, r, "out of memory");
    }
    if (twice) {
        return err_set(err, ERR_SYNTAX, "the %s a member twice", has);
    }
    *ret = v;
    return 0;
}

int jws_parse(struct arena *a, struct str text, struct jws *ret, struct err *err) {
    struct str header, claims, signature, rest;
    yyjson_val *h, *c;
    if (text.n > JWS_BYTES_MAX) {
        return err_set(err, ERR_TOO_LARGE, "longer than %d bytes", JWS_BYTES_MAX);
    }
    if (!str_cut(text, '.', &header, &rest) || !str_cut(rest, '.', &claims, &signature) ||
        str_find(signature, '.') >= 0) {
        return err_set(err, ERR_NOT_FOUND, "not three parts between dots");
    }
    int r = parse_part(a, header, true, &h, err);
    r = r ? r : parse_part(a, claims, false, &c, err);
    if (r != 0) {
        return r;
    }
    struct jws t = {.signed_part = str_head(text, header.n + 1 + claims.n),
                    .signature = base64url_decode(a, signature),
                    .alg = json_str(json_get(h, STR("alg"))),
                    .kid = json_str(json_get(h, STR("kid"))),
                    .claims = c};
    yyjson_val *kid = json_get(h, STR("kid"));
    if (t.signature.p == NULL) {
        return arena_ok(a) ? err_set(err, ERR_NOMEM, "out of memory")
                           : syntax(err, "the signature is not base64url");
    }
    if (t.alg.n == 0) {
        return syntax(err, "the header has no alg");
    }
    if (kid != NULL && !yyjson_is_str(kid)) {
        return syntax(err, "the header's kid is not a text");
    }
    if (json_get(h, STR("crit")) != NULL) {
        return syntax(err, "the header asks for extensions (crit)");
    }
    *ret = t;
    return 0;
}

yyjson_val *jws_claim(const struct jws *t, struct str name) {
    return json_get(t->claims, name);
}

static bool is_one_of(struct str s, const struct str *list, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (s.n > 0 && str_eq(s, list[i])) {
            return true;
        }
    }
    return false;
}

bool jws_is_for(const struct jws *t, const struct str *audiences, size_t n) {
    yyjson_val *aud = jws_claim(t, STR("aud")), *v;
    size_t i, max;
    if (!yyjson_is_arr(aud)) {
        return is_one_of(json_str(aud), audiences, n);
    }
    yyjson_arr_foreach(aud, i, max, v) {
        if (is_one_of(json_str(v), audiences, n)) {
            return true;
        }
    }
    return false;
}

bool jws_time(const struct jws *t, const char *claim, int64_t *ret_seconds) {
    yyjson_val *v = jws_claim(t, str_of(claim));
    double d = yyjson_is_num(v) ? yyjson_get_num(v) : NUMBER_MAX * 2;
    if (!(d >= -NUMBER_MAX && d <= NUMBER_MAX)) {
        return false;
    }
    *ret_seconds = (int64_t)d;
    return true;
}
