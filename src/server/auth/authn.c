/* authn: authentication: the user behind a certificate or token. See authn.h. */
#include "server/auth/authn.h"

#include "net/tls.h"
#include "server/auth/bootstrap_token.h"
#include "site/oidc/oidc.h"
#include "wire/json/json.h"
#include "wire/text/base64.h"
#include "wire/text/time.h"

enum { SECRET_BYTES = 32, HASH_TEXT = 64, NAME_HEX = 40, TOKEN_TEXT_MAX = 16 << 10 };
#define PREFIX STR("berth_")
#define DELETED_GRACE_NS (INT64_C(60) * 1000000000)

static int unauthorized(struct err *err, const char *why) {
    return err_set(err, ERR_UNAUTHORIZED, "invalid bearer token: %s", why);
}

int authn_groups(struct arena *a, const struct str *g, size_t n, struct str_list *ret) {
    struct str_list l = {.v = ARENA_ARRAY(a, struct str, n + 1)};
    bool known = false;
    if (l.v == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        known = known || str_is(g[i], "system:authenticated");
        l.v[l.n++] = g[i];
    }
    if (!known) {
        l.v[l.n++] = STR("system:authenticated");
    }
    *ret = l;
    return 0;
}

int authn_anonymous(struct arena *a, struct user *ret) {
    struct str *group = ARENA_ARRAY(a, struct str, 1);
    if (group == NULL) {
        return ERR_NOMEM;
    }
    *group = STR("system:unauthenticated");
    *ret = (struct user){.name = STR("system:anonymous"), .groups = {group, 1}};
    return 0;
}

/* The non-empty parts of s between `sep`, in the arena. */
static int split(struct arena *a, struct str s, char sep, struct str_list *ret) {
    size_t n = 1;
    for (size_t i = 0; i < s.n; i++) {
        n += s.p[i] == sep;
    }
    struct str_list l = {.v = ARENA_ARRAY(a, struct str, n)};
    if (l.v == NULL) {
        return ERR_NOMEM;
    }
    for (struct str part; str_next(&s, sep, &part);) {
        if (part.n) {
            l.v[l.n++] = part;
        }
    }
    *ret = l;
    return 0;
}

int authn_certificate(struct str cn, struct str orgs, struct arena *a, struct user *ret,
                      struct err *err) {
    struct str_list groups, all;
    if (cn.n == 0) {
        return err_set(err, ERR_UNAUTHORIZED, "the client certificate has no common name");
    }
    struct str name = arena_str(a, cn);
    int r = split(a, arena_str(a, orgs), '\n', &groups);
    r = r ? r : authn_groups(a, groups.v, groups.n, &all);
    if (r != 0 || name.p == NULL) {
        return err_set(err, ERR_NOMEM, "no memory to authenticate");
    }
    *ret = (struct user){.name = name, .groups = all};
    return 0;
}

struct str authn_token_in(struct str authorization, struct str protocols, struct arena *a) {
    struct str scheme, rest, part;
    if (str_cut(authorization, ' ', &scheme, &rest) && str_eq_nocase(scheme, STR("Bearer"))) {
        return str_trim(rest);
    }
    while (str_next(&protocols, ',', &part)) {
        const struct str prefix = STR("base64url.bearer.authorization.k8s.io.");
        part = str_trim(part);
        if (str_starts(part, prefix)) {
            struct str token = base64url_decode(a, str_skip(part, prefix.n));
            return token.n ? token : STR("malformed");
        }
    }
    return (struct str){0};
}

/* ---- our own tokens ---- */

static bool same_in_constant_time(struct str a, struct str b) {
    unsigned char diff = a.n != b.n;
    for (size_t i = 0; i < a.n && i < b.n; i++) {
        diff |= (unsigned char)(a.p[i] ^ b.p[i]);
    }
    return diff == 0;
}

static struct str datum(struct arena *a, yyjson_val *secret, const char *key) {
    return base64_decode(a, json_str(json_get(json_get(secret, STR("data")), str_of(key))));
}

static int own_token(const struct authn *x, struct str token, int64_t now_ns, struct arena *a,
                     struct user *ret, struct err *err) {
    char hash[HASH_TEXT + 1];
    yyjson_doc *doc;
    struct str_list groups, all;
    int64_t expires;
    tls_sha256_text(token, hash);
    struct str name = arena_f(a, "berth-token-%.*s", NAME_HEX, hash);
    const struct kind *k = kind_by_name(STR(""), STR("Secret"));
    const struct object *o =
        k && name.p ? mirror_get(x->mirror, k, AUTHN_TOKEN_NAMESPACE, name) : NULL;
    if (o == NULL || object_tree(o, a, &doc, NULL) != 0) {
        return arena_ok(a) ? arena_ok(a) : unauthorized(err, "it is not known");
    }
    yyjson_val *secret = yyjson_doc_get_root(doc);
    if (!str_eq(json_str_at(secret, "type"), AUTHN_TOKEN_TYPE) ||
        !same_in_constant_time(datum(a, secret, "hash"), str_of(hash)) || o->deleting_ns != 0) {
        return unauthorized(err, "it is not known");
    }
    if (time_parse(datum(a, secret, "expires"), &expires, NULL) != 0 || expires <= now_ns) {
        return unauthorized(err, "it has expired");
    }
    struct user u = {.name = datum(a, secret, "user")};
    int r = split(a, datum(a, secret, "groups"), '\n', &groups);
    r = r ? r : authn_groups(a, groups.v, groups.n, &all);
    if (r != 0) {
        return err_set(err, r, "no memory to authenticate");
    }
    u.groups = all;
    u.expires_ns = expires;
    *ret = u;
    return u.name.n ? 0 : unauthorized(err, "it names no user");
}

static void add_datum(struct buf *b, const char *key, struct str value, bool last) {
    buf_f(b, "\"%s\":\"", key);
    base64_encode(b, value);
    buf_c(b, last ? "\"" : "\",");
}

static void write_secret(struct buf *b, const char *hash, struct str user,
                         const struct str_list *groups, int64_t expires_ns) {
    char when[TIME_TEXT_MAX];
    struct buf joined;
    buf_init(&joined, 0);
    for (size_t i = 0; i < groups->n; i++) {
        buf_c(&joined, i ? "\n" : "");
        buf_str(&joined, groups->v[i]);
    }
    buf_f(b,
          "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"namespace\":\"kube-system\","
          "\"name\":\"berth-token-%.*s\"},\"type\":\"berth.dev/token\",\"data\":{",
          NAME_HEX, hash);
    add_datum(b, "hash", str_of(hash), false);
    add_datum(b, "user", user, false);
    add_datum(b, "groups", buf_view(&joined), false);
    add_datum(b, "expires", time_text(expires_ns, when), true);
    buf_c(b, "}}");
    b->failed = b->failed ? b->failed : buf_ok(&joined);
    buf_release(&joined);
}

int authn_new_token(struct arena *a, struct str user, const struct str_list *groups,
                    int64_t expires_ns, struct str *ret_token, struct str *ret_secret,
                    struct err *err) {
    unsigned char random[SECRET_BYTES];
    char hash[HASH_TEXT + 1];
    struct buf b;
    int r = tls_random(random, sizeof(random), err);
    if (r != 0) {
        return r;
    }
    buf_init(&b, 0);
    buf_str(&b, PREFIX);
    base64url_encode(&b, str_from((const char *)random, sizeof(random)));
    struct str token = buf_ok(&b) ? (struct str){0} : arena_str(a, buf_view(&b));
    buf_reset(&b);
    tls_sha256_text(token, hash);
    write_secret(&b, hash, user, groups, expires_ns);
    struct str secret = buf_ok(&b) ? (struct str){0} : arena_str(a, buf_view(&b));
    explicit_bzero(random, sizeof(random));
    buf_release_secret(&b);
    if (token.p == NULL || secret.p == NULL) {
        return err_set(err, ERR_NOMEM, "no memory for a token");
    }
    *ret_token = token;
    *ret_secret = secret;
    return 0;
}

/* ---- ServiceAccount tokens ---- */

/* Exists with this uid, and was not deleted a while ago. */
static bool alive(const struct authn *x, const char *kind, struct str ns, struct str name,
                  struct str uid, int64_t now_ns) {
    const struct kind *k = kind_by_name(STR(""), str_of(kind));
    const struct object *o = k ? mirror_get(x->mirror, k, ns, name) : NULL;
    return o && uid.n && str_eq(o->uid, uid) &&
           (o->deleting_ns == 0 || o->deleting_ns > now_ns - DELETED_GRACE_NS);
}

static int add_extra(struct arena *a, struct user *u, const char *key, struct str value) {
    struct str *v = ARENA_ARRAY(a, struct str, 1);
    if (v == NULL || value.p == NULL) {
        return ERR_NOMEM;
    }
    *v = value;
    u->extra[u->n_extra++] = (struct user_extra){.key = str_of(key), .values = {v, 1}};
    return 0;
}

static int account_user(const struct token_claims *c, struct arena *a, struct user *ret) {
    struct user u = {.uid = c->account_uid, .expires_ns = c->expires * INT64_C(1000000000)};
    struct str groups[2] = {STR("system:serviceaccounts"),
                            arena_f(a, "system:serviceaccounts:%.*s", STR_ARG(c->ns))};
    u.name = arena_f(a, "system:serviceaccount:%.*s:%.*s", STR_ARG(c->ns), STR_ARG(c->account));
    u.extra = ARENA_ARRAY(a, struct user_extra, 5);
    if (u.name.p == NULL || u.extra == NULL || groups[1].p == NULL ||
        authn_groups(a, groups, 2, &u.groups) != 0) {
        return ERR_NOMEM;
    }
    int r = add_extra(a, &u, "authentication.kubernetes.io/credential-id",
                      arena_f(a, "JTI=%.*s", STR_ARG(c->jti)));
    if (c->pod.n) {
        r = r ? r : add_extra(a, &u, "authentication.kubernetes.io/pod-name", c->pod);
        r = r ? r : add_extra(a, &u, "authentication.kubernetes.io/pod-uid", c->pod_uid);
    }
    if (c->node.n) {
        r = r ? r : add_extra(a, &u, "authentication.kubernetes.io/node-name", c->node);
        r = r || c->node_uid.n == 0
                ? r
                : add_extra(a, &u, "authentication.kubernetes.io/node-uid", c->node_uid);
    }
    if (r == 0) {
        *ret = u;
    }
    return r;
}

/* The object that a token is bound to, if it is, lives. What a pod's token says of its node is no bond. */
static int check_bond(const struct authn *x, const struct token_claims *c, int64_t now_ns,
                      struct err *err) {
    if (c->pod.n && !alive(x, "Pod", c->ns, c->pod, c->pod_uid, now_ns)) {
        return unauthorized(err, "its pod is gone");
    }
    if (c->secret.n && !alive(x, "Secret", c->ns, c->secret, c->secret_uid, now_ns)) {
        return unauthorized(err, "its secret is gone");
    }
    if (c->node.n && c->pod.n == 0 && !alive(x, "Node", STR(""), c->node, c->node_uid, now_ns)) {
        return unauthorized(err, "its node is gone");
    }
    return 0;
}

static int account_token(const struct authn *x, struct str token, const struct str_list *audiences,
                         int64_t now_ns, struct arena *a, struct user *ret, struct err *err) {
    struct token_claims c;
    int r = token_verify(x->key, token, x->issuer, audiences, now_ns, a, &c, err);
    if (r != 0) { /* ERR_NOT_FOUND: another issuer's */
        return r;
    }
    struct str subject =
        arena_f(a, "system:serviceaccount:%.*s:%.*s", STR_ARG(c.ns), STR_ARG(c.account));
    if (!str_eq(c.subject, subject) ||
        !alive(x, "ServiceAccount", c.ns, c.account, c.account_uid, now_ns)) {
        return unauthorized(err, "its service account is gone");
    }
    r = check_bond(x, &c, now_ns, err);
    if (r != 0) {
        return r;
    }
    r = account_user(&c, a, ret);
    return r ? err_set(err, r, "no memory to authenticate") : 0;
}

/* ---- tokens of OpenID Connect issuers ---- */

static int issuer_token(const struct authn *x, struct str token, int64_t now_ns, struct arena *a,
                        struct user *ret, struct err *err) {
    struct oidc_user o;
    struct user u = {0};
    int r = oidc_verify(x->oidc, token, now_ns, a, &o, err);
    if (r != 0) {
        return r;
    }
    u = (struct user){.name = o.name, .uid = o.uid, .expires_ns = o.expires_ns};
    r = authn_groups(a, o.groups, o.n_groups, &u.groups);
    if (r == 0 && o.jti.n) {
        u.extra = ARENA_ARRAY(a, struct user_extra, 1);
        r = u.extra ? add_extra(a, &u, "authentication.kubernetes.io/credential-id",
                                arena_f(a, "JTI=%.*s", STR_ARG(o.jti)))
                    : ERR_NOMEM;
    }
    if (r != 0) {
        return err_set(err, r, "no memory to authenticate");
    }
    *ret = u;
    return 0;
}

bool authn_share_one(const struct str_list *x, const struct str_list *y) {
    for (size_t i = 0; i < x->n; i++) {
        for (size_t k = 0; k < y->n; k++) {
            if (x->v[i].n && str_eq(x->v[i], y->v[k])) {
                return true;
            }
        }
    }
    return false;
}

/* Tokens that say nothing of an audience of ours are for the API. */
static int any_other(const struct authn *x, struct str token, const struct str_list *audiences,
                     int64_t now_ns, struct arena *a, struct user *ret, struct err *err) {
    if (audiences && !authn_share_one(audiences, &x->audiences)) {
        return unauthorized(err, "it is for another audience");
    }
    if (str_starts(token, PREFIX)) {
        return own_token(x, token, now_ns, a, ret, err);
    }
    if (bootstrap_token_is(token)) {
        return bootstrap_token_user(x->mirror, token, now_ns, a, ret, err);
    }
    return x->oidc ? issuer_token(x, token, now_ns, a, ret, err) : ERR_NOT_FOUND;
}

int authn_bearer(const struct authn *x, struct str token, const struct str_list *audiences,
                 int64_t now_ns, struct arena *a, struct user *ret, struct err *err) {
    if (token.n == 0 || token.n > TOKEN_TEXT_MAX) {
        return unauthorized(err, "it is empty or too long");
    }
    int r = ERR_NOT_FOUND;
    if (x->key != NULL && !str_starts(token, PREFIX)) {
        r = account_token(x, token, audiences ? audiences : &x->audiences, now_ns, a, ret, err);
    }
    if (r == ERR_NOT_FOUND) {
        r = any_other(x, token, audiences, now_ns, a, ret, err);
    }
    return r == ERR_NOT_FOUND ? unauthorized(err, "it is not known") : r;
}
