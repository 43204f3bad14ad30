/* oidc_claims: who the claims of a token are about. See oidc_claims.h. */
#include "site/oidc/oidc_claims.h"

enum { SHOWN = 64 };

static int no(struct err *err, const char *why) {
    return err_set(err, ERR_UNAUTHORIZED, "invalid bearer token: %s", why);
}

static int no_claim(struct err *err, struct str claim, const char *why) {
    return err_set(err, ERR_UNAUTHORIZED, "invalid bearer token: claim \"%.*s\" %s",
                   STR_ARG(str_head(claim, SHOWN)), why);
}

static int check_times(const struct jws *t, int64_t now, int64_t *ret_expires, struct err *err) {
    int64_t expires, from;
    if (!jws_time(t, "exp", &expires)) {
        return no(err, "it does not say when it expires");
    }
    if (expires <= now - OIDC_SKEW_S) {
        return no(err, "it has expired");
    }
    if (jws_claim(t, STR("nbf")) != NULL &&
        (!jws_time(t, "nbf", &from) || from > now + OIDC_SKEW_S)) {
        return no(err, "it is not valid yet");
    }
    *ret_expires = expires;
    return 0;
}

static int check_required(const struct oidc_issuer *o, const struct jws *t, struct err *err) {
    for (size_t i = 0; i < o->n_required; i++) {
        const struct oidc_required *q = &o->required[i];
        yyjson_val *v = jws_claim(t, q->claim);
        if (v == NULL) {
            return no_claim(err, q->claim, "is required and not there");
        }
        if (!yyjson_is_str(v) || !str_eq(json_str(v), q->value)) {
            return no_claim(err, q->claim, "has not the required value");
        }
    }
    return 0;
}

/* Control characters would end lines of the audit log and of headers. */
static bool is_name(struct str s) {
    for (size_t i = 0; i < s.n; i++) {
        if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f) {
            return false;
        }
    }
    return s.n > 0 && s.n <= OIDC_NAME_MAX;
}

static int take_name(struct arena *a, struct str claim, struct str prefix, struct str value,
                     struct str *ret, struct err *err) {
    if (!is_name(value)) {
        return no_claim(err, claim, "is empty, too long or has control characters");
    }
    struct str s = prefix.n ? arena_f(a, "%.*s%.*s", STR_ARG(prefix), STR_ARG(value)) : value;
    if (s.p == NULL) {
        return err_set(err, ERR_NOMEM, "no memory to authenticate");
    }
    if (str_starts(s, STR("system:"))) {
        return no_claim(err, claim, "begins with system:, which is not an issuer's to give");
    }
    *ret = s;
    return 0;
}

static int take_user(const struct oidc_issuer *o, const struct jws *t, struct arena *a,
                     struct str *ret, struct err *err) {
    yyjson_val *v = jws_claim(t, o->username_claim);
    yyjson_val *verified = jws_claim(t, STR("email_verified"));
    if (!yyjson_is_str(v)) {
        return no_claim(err, o->username_claim, "is not there, or no text");
    }
    if (str_is(o->username_claim, "email") && verified != NULL &&
        !(yyjson_is_bool(verified) && yyjson_get_bool(verified))) {
        return no(err, "its e-mail address is not verified");
    }
    return take_name(a, o->username_claim, o->username_prefix, json_str(v), ret, err);
}

/* One text, or a list of texts; absent: none. */
static int take_groups(const struct oidc_issuer *o, const struct jws *t, struct arena *a,
                       struct oidc_user *u, struct err *err) {
    yyjson_val *v = o->groups_claim.n ? jws_claim(t, o->groups_claim) : NULL, *one;
    size_t i, max, n = yyjson_is_arr(v) ? yyjson_arr_size(v) : 1;
    if (v == NULL || yyjson_is_null(v)) {
        return 0;
    }
    if (n > OIDC_GROUPS_MAX) {
        return no_claim(err, o->groups_claim, "has more than 512 groups");
    }
    u->groups = ARENA_ARRAY(a, struct str, n + 1);
    if (u->groups == NULL) {
        return err_set(err, ERR_NOMEM, "no memory to authenticate");
    }
    if (yyjson_is_str(v)) {
        u->n_groups = 1;
        return take_name(a, o->groups_claim, o->groups_prefix, json_str(v), &u->groups[0], err);
    }
    if (!yyjson_is_arr(v)) {
        return no_claim(err, o->groups_claim, "is neither a text nor a list of texts");
    }
    yyjson_arr_foreach(v, i, max, one) {
        if (!yyjson_is_str(one)) {
            return no_claim(err, o->groups_claim, "is neither a text nor a list of texts");
        }
        int r = take_name(a, o->groups_claim, o->groups_prefix, json_str(one),
                          &u->groups[u->n_groups], err);
        if (r != 0) {
            return r;
        }
        u->n_groups++;
    }
    return 0;
}

int oidc_claims_user(const struct oidc_issuer *o, const struct jws *t, int64_t now_ns,
                     struct arena *a, struct oidc_user *ret, struct err *err) {
    const int64_t ns = INT64_C(1000000000);
    struct oidc_user u = {0};
    int64_t expires = 0;
    if (!jws_is_for(t, o->audiences, o->n_audiences)) {
        return no(err, "it is for another audience");
    }
    int r = check_times(t, now_ns / ns, &expires, err);
    r = r ? r : check_required(o, t, err);
    r = r ? r : take_user(o, t, a, &u.name, err);
    r = r ? r : take_groups(o, t, a, &u, err);
    if (r == 0 && o->uid_claim.n) {
        yyjson_val *uid = jws_claim(t, o->uid_claim);
        r = yyjson_is_str(uid) && is_name(json_str(uid))
                ? 0
                : no_claim(err, o->uid_claim, "is not there, or no text");
        u.uid = json_str(uid);
    }
    if (r == 0) {
        struct str jti = json_str(jws_claim(t, STR("jti")));
        u.jti = is_name(jti) ? jti : (struct str){0};
        int64_t last = INT64_MAX / ns - OIDC_SKEW_S; /* that fits in nanoseconds */
        u.expires_ns = ((expires < last ? expires : last) + OIDC_SKEW_S) * ns;
        *ret = u;
    }
    return r;
}
