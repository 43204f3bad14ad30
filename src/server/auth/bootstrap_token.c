/* bootstrap_token: bootstrap tokens. See bootstrap_token.h. */
#include "server/auth/bootstrap_token.h"

#include "api/schema/kind.h"
#include "server/auth/authn.h"
#include "wire/text/base64.h"
#include "wire/text/time.h"

enum { ID_BYTES = 6, SECRET_BYTES = 16, GROUPS_MAX = 64 };
#define EXTRA_PREFIX STR("system:bootstrappers:")

static bool is_lower_or_digit(struct str s) {
    for (size_t i = 0; i < s.n; i++) {
        if (!(s.p[i] >= 'a' && s.p[i] <= 'z') && !(s.p[i] >= '0' && s.p[i] <= '9')) {
            return false;
        }
    }
    return true;
}

bool bootstrap_token_is(struct str token) {
    return token.n == ID_BYTES + 1 + SECRET_BYTES && token.p[ID_BYTES] == '.' &&
           is_lower_or_digit(str_head(token, ID_BYTES)) &&
           is_lower_or_digit(str_skip(token, ID_BYTES + 1));
}

static int no(struct err *err, const char *why) {
    return err_set(err, ERR_UNAUTHORIZED, "invalid bootstrap token: %s", why);
}

static struct str datum(struct arena *a, yyjson_val *secret, const char *key) {
    return base64_decode(a, json_str(json_get(json_get(secret, STR("data")), str_of(key))));
}

static bool same_in_constant_time(struct str a, struct str b) {
    unsigned char diff = a.n != b.n;
    for (size_t i = 0; i < a.n && i < b.n; i++) {
        diff |= (unsigned char)(a.p[i] ^ b.p[i]);
    }
    return diff == 0;
}

static int take_groups(struct arena *a, struct str list, struct user *u, struct err *err) {
    struct str groups[GROUPS_MAX], one;
    size_t n = 0;
    groups[n++] = STR("system:bootstrappers");
    while (str_next(&list, ',', &one)) {
        if (!str_starts(one, EXTRA_PREFIX) || one.n == EXTRA_PREFIX.n || n == GROUPS_MAX) {
            return no(err, "an extra group does not begin with system:bootstrappers:");
        }
        groups[n++] = one;
    }
    return authn_groups(a, groups, n, &u->groups) == 0
               ? 0
               : err_set(err, ERR_NOMEM, "no memory to authenticate");
}

static int from_secret(yyjson_val *secret, struct str token, int64_t now_ns, struct arena *a,
                       struct user *ret, struct err *err) {
    struct str id = str_head(token, ID_BYTES), ends = datum(a, secret, "expiration");
    struct user u = {.name = arena_f(a, "system:bootstrap:%.*s", STR_ARG(id))};
    if (!str_eq(json_str_at(secret, "type"), BOOTSTRAP_TOKEN_TYPE) ||
        !str_eq(datum(a, secret, "token-id"), id) ||
        !same_in_constant_time(datum(a, secret, "token-secret"), str_skip(token, ID_BYTES + 1))) {
        return no(err, "it is not known");
    }
    if (ends.n && (time_parse(ends, &u.expires_ns, NULL) != 0 || u.expires_ns <= now_ns)) {
        return no(err, "it has expired");
    }
    if (!str_is(datum(a, secret, "usage-bootstrap-authentication"), "true")) {
        return no(err, "it is not for authentication");
    }
    int r = take_groups(a, datum(a, secret, "auth-extra-groups"), &u, err);
    if (r == 0 && arena_ok(a) != 0) {
        r = err_set(err, ERR_NOMEM, "no memory to authenticate");
    }
    if (r == 0) {
        *ret = u;
    }
    return r;
}

int bootstrap_token_user(const struct mirror *m, struct str token, int64_t now_ns, struct arena *a,
                         struct user *ret, struct err *err) {
    const struct kind *k = kind_by_name(STR(""), STR("Secret"));
    struct str name = arena_f(a, "bootstrap-token-%.*s", STR_ARG(str_head(token, ID_BYTES)));
    const struct object *o = k && name.p ? mirror_get(m, k, STR("kube-system"), name) : NULL;
    yyjson_doc *doc;
    if (o == NULL || o->deleting_ns != 0) {
        return arena_ok(a) ? err_set(err, ERR_NOMEM, "no memory to authenticate")
                           : no(err, "it is not known");
    }
    if (object_tree(o, a, &doc, NULL) != 0) {
        return err_set(err, ERR_NOMEM, "no memory to authenticate");
    }
    return from_secret(yyjson_doc_get_root(doc), token, now_ns, a, ret, err);
}
