/* policy: joins authentication, RBAC, reviews and audit behind struct guard. See policy.h. */
#include "server/auth/policy.h"

#include "api/schema/codec.h"
#include "base/mem.h"
#include "net/tls.h"
#include "server/auth/audit.h"
#include "server/auth/authn.h"
#include "server/auth/escalate.h"
#include "server/auth/policy_impersonate.h"
#include "server/auth/policy_node.h"
#include "server/auth/policy_protect.h"
#include "server/auth/policy_roles.h"
#include "server/auth/policy_scale.h"
#include "server/auth/rbac.h"
#include "server/auth/review.h"
#include "server/auth/token.h"
#include "site/oidc/oidc.h"
#include "wire/json/json.h"
#include "wire/text/time.h"

struct policy {
    struct guard guard; /* first: a guard is its policy */
    struct clock *clock;
    struct rbac *rbac;
    struct audit *audit;
    struct token_key key;
    bool has_key;
    char *issuer;
    struct str audience; /* the issuer, as one audience */
    struct authn authn;
    struct sessions *sessions;
};

static struct policy *policy_of(struct guard *g) {
    return (struct policy *)g;
}

/* ---- who ---- */

/* The user that a session of the dashboard was opened for by name. */
static int session_user(const struct session *one, struct arena *a, struct user *ret) {
    struct str_list groups = {.v = ARENA_ARRAY(a, struct str, one->who.n_groups + 1)}, all;
    struct str name = arena_str(a, one->who.user);
    if (groups.v == NULL || name.p == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < one->who.n_groups; i++) {
        groups.v[groups.n++] = arena_str(a, one->who.groups[i]);
    }
    int r = authn_groups(a, groups.v, groups.n, &all);
    if (r == 0 && arena_ok(a) == 0) {
        *ret = (struct user){.name = name, .groups = all};
        return 0;
    }
    return ERR_NOMEM;
}

/* By the dashboard's cookie. A session whose token counts no more is over. */
static int by_session(struct policy *p, const struct http_request *r, struct arena *a,
                      struct user *ret, struct err *err) {
    const struct session *one = NULL;
    int code = p->sessions ? sessions_of(p->sessions, r, &one, err) : ERR_NOT_FOUND;
    if (code == ERR_NOT_FOUND) {
        return authn_anonymous(a, ret);
    }
    if (code != 0) {
        return code;
    }
    int64_t ends = one->who.expires_ns;
    if (one->who.token.n == 0) {
        code = session_user(one, a, ret);
    } else {
        struct str token = arena_str(a, one->who.token);
        code = token.p ? authn_bearer(&p->authn, token, NULL, clock_wall(p->clock), a, ret, err)
                       : err_set(err, ERR_NOMEM, "no memory to authenticate");
        if (code == ERR_UNAUTHORIZED) {
            sessions_close(p->sessions, one);
        }
    }
    if (code == 0 && (ret->expires_ns == 0 || ret->expires_ns > ends)) {
        ret->expires_ns = ends;
    }
    return code;
}

/* A browser shows a client certificate as it does a cookie: to whatever page asks. Other clients send neither of these
 * headers. */
static int by_certificate(struct policy *p, const struct http_request *r, struct str cn,
                          struct str org, struct arena *a, struct user *ret, struct err *err) {
    bool browser = http_header(r, "Sec-Fetch-Site").n || http_header(r, "Origin").n;
    int code = browser ? session_same_origin(p->sessions, r, err) : 0;
    return code ? code : authn_certificate(cn, org, a, ret, err);
}

static int authenticate(struct guard *g, struct http_request *r, const struct api_request *q,
                        struct arena *a, struct user *ret, struct err *err) {
    struct policy *p = policy_of(g);
    struct str cn = {0}, org = {0};
    struct user u;
    int code;
    struct str token = authn_token_in(http_header(r, "Authorization"),
                                      http_header(r, "Sec-WebSocket-Protocol"), a);
    if (http_client_cert(r, &cn, &org)) {
        code = by_certificate(p, r, cn, org, a, &u, err);
    } else if (token.n) {
        code = authn_bearer(&p->authn, token, NULL, clock_wall(p->clock), a, &u, err);
    } else {
        code = by_session(p, r, a, &u, err);
    }
    code = code ? code : policy_impersonate(p->rbac, r, a, &u, err);
    if (code == 0) {
        *ret = u;
    }
    return code;
}

static bool wait_for_keys(struct guard *g, struct oidc_waiter *w) {
    struct policy *p = policy_of(g);
    return p->authn.oidc && oidc_wait(p->authn.oidc, w);
}

/* ---- may they ---- */

/* What is asked of a request, and of a review that asks whether one would be allowed. */
static bool allows(void *ctx, const struct api_request *q, struct arena *a,
                   struct str *ret_reason) {
    struct rbac_attributes want = {
        .user = &q->user,
        .verb = q->verb_name,
        .resource_request = q->resource,
        .group = q->group,
        .resource = q->plural,
        .subresource = q->subresource,
        .name = q->authz_name,
        .ns = policy_is_clusterwide(q) ? STR("") : q->ns,
        .path = q->path,
    };
    struct policy *p = ctx;
    return rbac_allows(p->rbac, &want, a, ret_reason) &&
           policy_node_may(p->authn.mirror, q, a, ret_reason);
}

static int authorize(struct guard *g, const struct api_request *q, struct arena *a,
                     struct str *ret_reason, struct err *err) {
    return allows(policy_of(g), q, a, ret_reason)
               ? 0
               : err_set(err, ERR_FORBIDDEN, "%.*s", STR_ARG(*ret_reason));
}

/* A Secret that is a bearer token makes its reader somebody: that takes more than the right to write Secrets. */
static int check_token_secret(struct policy *p, const struct api_request *q, yyjson_mut_val *obj,
                              struct arena *a, struct err *err) {
    struct rbac_attributes want = {.user = &q->user,
                                   .verb = STR("create"),
                                   .resource_request = true,
                                   .group = STR("berth.dev"),
                                   .resource = STR("tokens"),
                                   .ns = q->ns};
    struct str reason;
    if (!str_eq(json_mstr_at(obj, "type"), AUTHN_TOKEN_TYPE) ||
        rbac_allows(p->rbac, &want, a, &reason)) {
        return 0;
    }
    return err_set(err, ERR_FORBIDDEN,
                   "User \"%.*s\" cannot create resource \"tokens\" in API group \"berth.dev\"",
                   STR_ARG(q->user.name));
}

static int admit_write(struct guard *g, const struct api_request *q, yyjson_mut_val *obj,
                       const struct object *old, struct arena *a, struct err *err) {
    struct policy *p = policy_of(g);
    if (str_is(str_of(q->kind->plural), "secrets")) {
        return check_token_secret(p, q, obj, a, err);
    }
    int r = policy_node_writes(q, obj, err);
    r = r ? r : policy_protect(p->rbac, p->authn.mirror, q, obj, old, a, err);
    r = r ? r : policy_scale(p->rbac, q, obj, old, a, err);
    return r ? r : escalate_check(p->rbac, &q->user, q->kind, q->ns, obj, old, a, err);
}

static int admit_template(struct guard *g, const struct api_request *q, yyjson_mut_val *obj,
                          struct arena *a, struct err *err) {
    return policy_protect_template(policy_of(g)->authn.mirror, q, obj, a, err);
}

/* ---- reviews and tokens ---- */

static int token_review(struct policy *p, yyjson_mut_doc *d, struct arena *a, struct err *err) {
    yyjson_mut_val *wanted = json_mpath(d->root, "spec.audiences"), *v;
    struct str_list audiences = {.v = ARENA_ARRAY(a, struct str, yyjson_mut_arr_size(wanted) + 1)};
    struct user who;
    size_t i, max;
    if (audiences.v == NULL) {
        return err_set(err, ERR_NOMEM, "no memory for a review");
    }
    yyjson_mut_arr_foreach(wanted, i, max, v) {
        audiences.v[audiences.n++] = json_mstr(v);
    }
    if (audiences.n == 0) {
        audiences = p->authn.audiences;
    }
    int r = authn_bearer(&p->authn, json_mstr_at(d->root, "spec.token"), &audiences,
                         clock_wall(p->clock), a, &who, err);
    if (r != 0 && r != ERR_UNAUTHORIZED && r != ERR_AGAIN) { /* the latter: not known, so far */
        return r;
    }
    return review_token(r == 0 ? &who : NULL, &audiences, d, err);
}

static int review(struct guard *g, const struct api_request *q, yyjson_mut_doc *d, struct arena *a,
                  struct err *err) {
    struct policy *p = policy_of(g);
    struct str kind = str_of(q->kind->kind);
    if (str_is(kind, "SelfSubjectReview")) {
        return review_self(&q->user, d, err);
    }
    if (str_is(kind, "SelfSubjectRulesReview")) {
        return review_rules(p->rbac, &q->user, d, err);
    }
    if (str_is(kind, "TokenReview")) {
        return token_review(p, d, a, err);
    }
    if (str_ends(kind, STR("SubjectAccessReview"))) {
        return review_access(allows, p, &q->user, q->kind, q->ns, d, a, err);
    }
    return err_set(err, ERR_UNSUPPORTED, "%.*s is not answered here", STR_ARG(kind));
}

static int make_jti(struct arena *a, struct str *ret, struct err *err) {
    unsigned char b[16];
    int r = tls_random(b, sizeof(b), err);
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    *ret = arena_f(a, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
                   b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
                   b[14], b[15]);
    return r ? r : ret->p ? 0 : ERR_NOMEM;
}

/* A pod without a name for its account runs as "default". Its node, if it has one, is said in the token. */
static int check_runs_as(struct policy *p, const struct object *pod, const struct user *who,
                         struct arena *a, struct token_claims *c, struct err *err) {
    yyjson_doc *tree;
    if (object_tree(pod, a, &tree, NULL) != 0) {
        return err_set(err, ERR_NOMEM, "no memory for a token");
    }
    struct str runs_as = json_str_at(yyjson_doc_get_root(tree), "spec.serviceAccountName");
    if (!str_eq(runs_as.n > 0 ? runs_as : STR("default"), c->account)) {
        return err_set(err, ERR_BAD_REQUEST,
                       "spec.boundObjectRef: cannot bind token for serviceaccount \"%.*s\" to pod "
                       "running with different serviceaccount name",
                       STR_ARG(c->account));
    }
    c->node = json_str_at(yyjson_doc_get_root(tree), "spec.nodeName");
    const struct object *node =
        c->node.n
            ? mirror_get(p->authn.mirror, kind_by_name(STR(""), STR("Node")), STR(""), c->node)
            : NULL;
    c->node_uid = node ? node->uid : STR("");
    return policy_node_has(who, yyjson_doc_get_root(tree), err);
}

/* The object that the token is bound to: it is there, and has the uid that was named, if one was. */
static int find_bound(struct policy *p, const struct kind *k, struct str ns,
                      const struct bound_object *ref, const struct object **ret, struct err *err) {
    const struct object *o = mirror_get(p->authn.mirror, k, ns, ref->name);
    if (o == NULL) {
        return err_set(err, ERR_NOT_FOUND, "%s \"%.*s\" not found", k->plural, STR_ARG(ref->name));
    }
    if (ref->uid.n && !str_eq(ref->uid, o->uid)) {
        return err_set(
            err, ERR_CONFLICT,
            "the UID in the bound object reference (%.*s) does not match the UID in record",
            STR_ARG(ref->uid));
    }
    *ret = o;
    return 0;
}

/* A pod that runs as the account, a Secret of its namespace, or a Node. A node's own credential binds to its pods
 * alone. */
static int bind_token(struct policy *p, const struct bound_object *ref, const struct user *who,
                      struct arena *a, struct token_claims *c, struct err *err) {
    const struct object *o;
    if (ref == NULL) {
        return policy_node_has(who, NULL, err);
    }
    bool pod = str_is(ref->kind, "Pod"), secret = str_is(ref->kind, "Secret");
    if (!pod && !secret && !str_is(ref->kind, "Node")) {
        return err_set(err, ERR_INVALID,
                       "spec.boundObjectRef.kind: Unsupported value: \"%.*s\": supported values: "
                       "\"Node\", \"Pod\", \"Secret\"",
                       STR_ARG(ref->kind));
    }
    int r = pod ? 0 : policy_node_has(who, NULL, err);
    const struct kind *k = kind_by_name(STR(""), ref->kind);
    r = r ? r : find_bound(p, k, pod || secret ? c->ns : STR(""), ref, &o, err);
    if (r != 0) {
        return r;
    }
    if (pod) {
        c->pod = o->name;
        c->pod_uid = o->uid;
        return check_runs_as(p, o, who, a, c, err);
    }
    *(secret ? &c->secret : &c->node) = o->name;
    *(secret ? &c->secret_uid : &c->node_uid) = o->uid;
    return 0;
}

static int read_request(struct policy *p, yyjson_mut_doc *d, const struct user *who,
                        struct arena *a, struct token_claims *c, int64_t *ret_seconds,
                        struct err *err) {
    struct buf text;
    yyjson_doc *doc;
    struct token_request req = {0};
    buf_init(&text, 0);
    json_write_mut(&text, d->root);
    int r = buf_ok(&text) ? err_set(err, ERR_NOMEM, "no memory for a token")
                          : json_parse(a, buf_view(&text), &doc, err);
    buf_release(&text);
    r = r ? r : codec_decode(&schema_token_request, yyjson_doc_get_root(doc), a, &req, err);
    if (r != 0) {
        return r;
    }
    const struct token_request_spec *spec = req.spec;
    *ret_seconds =
        spec && spec->expiration_seconds.set ? spec->expiration_seconds.v : TOKEN_SECONDS_DEFAULT;
    c->audiences = spec && spec->audiences.n ? spec->audiences : p->authn.audiences;
    if (*ret_seconds < TOKEN_SECONDS_MIN) {
        return err_set(err, ERR_INVALID,
                       "spec.expirationSeconds: Invalid value: %lld: may not specify a duration "
                       "less than 10 minutes",
                       (long long)*ret_seconds);
    }
    *ret_seconds = *ret_seconds > TOKEN_SECONDS_MAX ? TOKEN_SECONDS_MAX : *ret_seconds;
    return bind_token(p, spec ? spec->bound_object_ref : NULL, who, a, c, err);
}

static int answer_token(yyjson_mut_doc *d, const struct token_claims *c, int64_t seconds,
                        struct str token, struct err *err) {
    yyjson_mut_val *spec = json_mensure(d, d->root, "spec"),
                   *status = json_mensure(d, d->root, "status");
    yyjson_mut_val *list = yyjson_mut_arr(d);
    char when[TIME_TEXT_MAX];
    bool ok = spec && status && list;
    for (size_t i = 0; ok && i < c->audiences.n; i++) {
        ok = yyjson_mut_arr_add_strncpy(d, list, c->audiences.v[i].p, c->audiences.v[i].n);
    }
    ok = ok && json_mset(d, spec, STR("audiences"), list) == 0 &&
         json_mset_i64(d, spec, "expirationSeconds", seconds) == 0 &&
         json_mset_str(d, status, "token", token) == 0 &&
         json_mset_str(d, status, "expirationTimestamp",
                       time_text(c->expires * NS_PER_SEC, when)) == 0;
    return ok ? 0 : err_set(err, ERR_NOMEM, "no memory for a token");
}

static int token(struct guard *g, const struct api_request *q, const struct object *account,
                 yyjson_mut_doc *d, struct arena *a, struct err *err) {
    struct policy *p = policy_of(g);
    struct token_claims c = {.issuer = p->authn.issuer,
                             .ns = account->ns,
                             .account = account->name,
                             .account_uid = account->uid};
    int64_t seconds, now = clock_wall(p->clock) / NS_PER_SEC;
    if (!p->has_key) {
        return err_set(err, ERR_UNSUPPORTED, "this server has no key for service account tokens");
    }
    int r = read_request(p, d, &q->user, a, &c, &seconds, err);
    r = r ? r : make_jti(a, &c.jti, err);
    if (r != 0) {
        return r;
    }
    struct buf out;
    c.subject = arena_f(a, "system:serviceaccount:%.*s:%.*s", STR_ARG(c.ns), STR_ARG(c.account));
    c.issued = c.not_before = now;
    c.expires = now + seconds;
    buf_init(&out, 0);
    r = token_mint(&p->key, &c, &out, err);
    r = r ? r : answer_token(d, &c, seconds, buf_view(&out), err);
    buf_release(&out);
    return r;
}

static void audit(struct guard *g, const struct audit_record *rec) {
    struct policy *p = policy_of(g);
    struct audit_record r = *rec;
    if (p->audit) {
        r.revision = mirror_revision(p->authn.mirror);
        audit_add(p->audit, &r);
    }
}

/* ---- the whole ---- */

static int start(struct policy *p, const struct policy_options *o, struct err *err) {
    struct audit_options log = {.file = o->audit_file,
                                .max_bytes = o->audit_bytes,
                                .reads = o->audit_reads,
                                .clock = o->clock};
    p->clock = o->clock;
    p->sessions = o->sessions;
    p->issuer = mem_cstr(o->issuer);
    if (p->issuer == NULL) {
        return err_set(err, ERR_NOMEM, "no memory for the policy");
    }
    p->audience = str_of(p->issuer);
    int r = rbac_new(o->mirror, &p->rbac, err);
    if (r == 0 && o->key_file) {
        r = token_key_init(&p->key, o->key_file, err);
        p->has_key = r == 0;
    }
    if (r == 0 && o->audit_file) {
        r = audit_new(&log, &p->audit, err);
    }
    p->authn = (struct authn){.mirror = o->mirror,
                              .oidc = o->oidc,
                              .key = p->has_key ? &p->key : NULL,
                              .issuer = p->audience,
                              .audiences = {&p->audience, 1}};
    return r;
}

struct policy *policy_new(const struct policy_options *o, struct err *err) {
    struct policy *p = mem_zalloc(sizeof(*p));
    if (p == NULL) {
        err_set(err, ERR_NOMEM, "no memory for the policy");
        return NULL;
    }
    p->guard = (struct guard){.authenticate = authenticate,
                              .wait = wait_for_keys,
                              .authorize = authorize,
                              .admit_write = admit_write,
                              .admit_template = admit_template,
                              .review = review,
                              .token = token,
                              .audit = audit};
    if (start(p, o, err) != 0) {
        policy_free(p);
        return NULL;
    }
    return p;
}

void policy_free(struct policy *p) {
    if (p == NULL) {
        return;
    }
    audit_free(p->audit);
    rbac_free(p->rbac);
    token_key_release(&p->key);
    mem_free(p->issuer);
    mem_free(p);
}

struct guard *policy_guard(struct policy *p) {
    return &p->guard;
}

int policy_bootstrap(int (*create)(void *ctx, struct str json, struct err *err), void *ctx,
                     struct err *err) {
    return policy_each_default(create, ctx, err);
}

int policy_new_token(struct arena *a, struct str user, const struct str_list *groups,
                     int64_t expires_ns, struct str *ret_token, struct str *ret_secret,
                     struct err *err) {
    return authn_new_token(a, user, groups, expires_ns, ret_token, ret_secret, err);
}

int policy_identify(struct policy *p, struct str token, struct arena *a, struct oidc_waiter *w,
                    struct user *ret, struct err *err) {
    int r = authn_bearer(&p->authn, token, NULL, clock_wall(p->clock), a, ret, err);
    return r == ERR_AGAIN && !oidc_wait(p->authn.oidc, w)
               ? err_set(err, ERR_UNAUTHORIZED, "invalid bearer token: its key is not known")
               : r;
}

static void answer_page(struct policy *p, struct http_request *r, bool jwks) {
    struct buf b;
    buf_init(&b, 0);
    if (jwks && p->has_key) {
        token_write_jwks(&p->key, &b);
    } else if (p->has_key) {
        token_write_discovery(p->authn.issuer, &b);
    }
    if (b.n && buf_ok(&b) == 0) {
        http_respond(r, 200, jwks ? "application/jwk-set+json" : "application/json", buf_view(&b));
    } else {
        http_respond(r, p->has_key ? 500 : 404, "text/plain", STR("404 page not found\n"));
    }
    buf_release(&b);
}

void policy_page_jwks(void *ctx, struct http_request *r) {
    answer_page(ctx, r, true);
}

void policy_page_issuer(void *ctx, struct http_request *r) {
    answer_page(ctx, r, false);
}
