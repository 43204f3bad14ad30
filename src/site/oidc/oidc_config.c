/* oidc_config: the document, and the options that stand for one issuer. See oidc_config.h. */
#include "site/oidc/oidc_config.h"

#include <stdio.h>

#include "base/buf.h"
#include "net/keys/jwk.h"
#include "wire/yaml.h"

enum { SHOWN = 128, ARENA_BYTES = 32 << 20 };

void oidc_config_init(struct oidc_config *c) {
    *c = (struct oidc_config){0};
    arena_init(&c->arena, ARENA_BYTES);
}

void oidc_config_release(struct oidc_config *c) {
    arena_release(&c->arena);
    *c = (struct oidc_config){0};
}

#define SCHEME STR("https://")

static bool is_url_text(struct str s) {
    for (size_t i = 0; i < s.n; i++) {
        unsigned char ch = (unsigned char)s.p[i];
        if (ch <= ' ' || ch >= 0x7f || strchr("\"<>\\^`{|}", ch)) {
            return false;
        }
    }
    return s.n <= OIDC_URL_MAX;
}

bool oidc_url_is_endpoint(struct str url) {
    return str_starts(url, SCHEME) && url.n > SCHEME.n && is_url_text(url);
}

const char *oidc_url_fault(struct str url) {
    struct str rest = str_skip(url, SCHEME.n), host, path;
    if (!str_starts(url, SCHEME)) {
        return "must begin with https://";
    }
    if (!is_url_text(url)) {
        return "is too long, or has a character that no URL has";
    }
    (void)str_cut(rest, '/', &host, &path);
    if (str_find(rest, '?') >= 0 || str_find(rest, '#') >= 0) {
        return "must have no query and no fragment";
    }
    if (str_find(host, '@') >= 0) {
        return "must have no user";
    }
    return host.n == 0 || host.p[0] == ':' ? "has no host" : NULL;
}

/* ---- reading ---- */

struct config_place { /* of what is read, for errors */
    struct oidc_config *c;
    struct err *err;
    size_t i; /* jwt[i] */
};

static int fault(const struct config_place *p, const char *field, const char *what) {
    return err_set(p->err, ERR_INVALID, "jwt[%zu].%s: %s", p->i, field, what);
}

static int unknown(struct err *err, const char *path, struct str name) {
    return err_set(err, ERR_INVALID, "%s%s%.*s: unknown field", path, path[0] ? "." : "",
                   STR_ARG(str_head(name, SHOWN)));
}

/* Every member of v is one of names; NULL and absent objects pass. */
static int only(const struct config_place *p, yyjson_val *v, const char *path,
                const char *const *names) {
    char full[SHOWN];
    yyjson_obj_iter it = yyjson_obj_iter_with(v);
    yyjson_val *k;
    (void)snprintf(full, sizeof(full), "jwt[%zu]%s%s", p->i, path[0] ? "." : "", path);
    if (v != NULL && !yyjson_is_null(v) && !yyjson_is_obj(v)) {
        return err_set(p->err, ERR_INVALID, "%s: expected an object", full);
    }
    while ((k = yyjson_obj_iter_next(&it)) != NULL) {
        size_t i = 0;
        while (names[i] != NULL && !str_is(json_str(k), names[i])) {
            i++;
        }
        if (names[i] == NULL) {
            return unknown(p->err, full, json_str(k));
        }
    }
    return 0;
}

/* A text at a dotted path, copied; absent: empty. ERR_INVALID when it is something else. */
static int text_at(const struct config_place *p, yyjson_val *v, const char *path, struct str *ret) {
    yyjson_val *x = json_path(v, path);
    if (x != NULL && !yyjson_is_null(x) && !yyjson_is_str(x)) {
        return fault(p, path, "expected a string");
    }
    *ret = json_str(x);
    return 0;
}

/* What Kubernetes computes by CEL is not computed here. */
static int no_expression(const struct config_place *p, yyjson_val *v, const char *path) {
    return json_path(v, path) == NULL
               ? 0
               : fault(p, path, "expressions are not supported: name a claim instead");
}

static int read_issuer(const struct config_place *p, yyjson_val *v, struct oidc_issuer *o) {
    static const char *const names[] = {"url",       "discoveryURL",        "certificateAuthority",
                                        "audiences", "audienceMatchPolicy", NULL};
    yyjson_val *list = json_path(v, "issuer.audiences"), *one;
    struct str policy;
    size_t i, max;
    int r = only(p, json_get(v, STR("issuer")), "issuer", names);
    r = r ? r : text_at(p, v, "issuer.url", &o->url);
    r = r ? r : text_at(p, v, "issuer.discoveryURL", &o->discovery_url);
    r = r ? r : text_at(p, v, "issuer.certificateAuthority", &o->ca_pem);
    r = r ? r : text_at(p, v, "issuer.audienceMatchPolicy", &policy);
    if (r != 0) {
        return r;
    }
    if (!yyjson_is_arr(list) || yyjson_arr_size(list) == 0 ||
        yyjson_arr_size(list) > OIDC_AUDIENCES_MAX) {
        return fault(p, "issuer.audiences", "expected a list of 1 to 64 audiences");
    }
    yyjson_arr_foreach(list, i, max, one) {
        if (json_str(one).n == 0) {
            return fault(p, "issuer.audiences", "expected texts that are not empty");
        }
        o->audiences[o->n_audiences++] = json_str(one);
    }
    if (policy.n && !str_is(policy, "MatchAny")) {
        return fault(p, "issuer.audienceMatchPolicy", "expected MatchAny");
    }
    return o->n_audiences > 1 && policy.n == 0
               ? fault(p, "issuer.audienceMatchPolicy",
                       "required with more than one audience: MatchAny")
               : 0;
}

/* claim and prefix of username or groups. */
static int read_mapping(const struct config_place *p, yyjson_val *v, const char *what, bool needed,
                        struct str *ret_claim, struct str *ret_prefix) {
    static const char *const names[] = {"claim", "prefix", "expression", NULL};
    char path[SHOWN];
    (void)snprintf(path, sizeof(path), "claimMappings.%s", what);
    int r = only(p, json_path(v, path), path, names);
    (void)snprintf(path, sizeof(path), "claimMappings.%s.expression", what);
    r = r ? r : no_expression(p, v, path);
    (void)snprintf(path, sizeof(path), "claimMappings.%s.claim", what);
    r = r ? r : text_at(p, v, path, ret_claim);
    if (r == 0 && needed && ret_claim->n == 0) {
        r = fault(p, path, "required");
    }
    (void)snprintf(path, sizeof(path), "claimMappings.%s.prefix", what);
    r = r ? r : text_at(p, v, path, ret_prefix);
    bool has_prefix = json_path(v, path) != NULL;
    if (r == 0 && has_prefix != (ret_claim->n > 0)) {
        r = fault(p, path,
                  has_prefix ? "has no claim beside it"
                             : "required beside claim; \"\" for no prefix");
    }
    return r;
}

static int read_mappings(const struct config_place *p, yyjson_val *v, struct oidc_issuer *o) {
    static const char *const names[] = {"username", "groups", "uid", NULL};
    static const char *const uid_names[] = {"claim", "expression", NULL};
    int r = only(p, json_get(v, STR("claimMappings")), "claimMappings", names);
    r = r ? r : read_mapping(p, v, "username", true, &o->username_claim, &o->username_prefix);
    r = r ? r : read_mapping(p, v, "groups", false, &o->groups_claim, &o->groups_prefix);
    r = r ? r : only(p, json_path(v, "claimMappings.uid"), "claimMappings.uid", uid_names);
    r = r ? r : no_expression(p, v, "claimMappings.uid.expression");
    return r ? r : text_at(p, v, "claimMappings.uid.claim", &o->uid_claim);
}

static int read_rules(const struct config_place *p, yyjson_val *v, struct oidc_issuer *o) {
    static const char *const names[] = {"claim", "requiredValue", NULL};
    yyjson_val *list = json_get(v, STR("claimValidationRules")), *one;
    size_t i, max;
    if (list != NULL && (!yyjson_is_arr(list) || yyjson_arr_size(list) > OIDC_REQUIRED_MAX)) {
        return fault(p, "claimValidationRules", "expected a list of at most 64 rules");
    }
    yyjson_arr_foreach(list, i, max, one) {
        struct oidc_required q = {json_str(json_get(one, STR("claim"))),
                                  json_str(json_get(one, STR("requiredValue")))};
        if (json_get(one, STR("expression")) != NULL) {
            return fault(p, "claimValidationRules",
                         "expressions are not supported: give claim and requiredValue");
        }
        int r = only(p, one, "claimValidationRules", names);
        if (r != 0) {
            return r;
        }
        if (q.claim.n == 0) {
            return fault(p, "claimValidationRules", "a rule without a claim");
        }
        o->required[o->n_required++] = q;
    }
    return 0;
}

static int check_issuer(const struct config_place *p, const struct oidc_issuer *o) {
    const char *wrong = oidc_url_fault(o->url);
    if (wrong != NULL) {
        return fault(p, "issuer.url", wrong);
    }
    wrong = o->discovery_url.n ? oidc_url_fault(o->discovery_url) : NULL;
    if (wrong != NULL) {
        return fault(p, "issuer.discoveryURL", wrong);
    }
    if (str_eq(o->url, o->discovery_url)) {
        return fault(p, "issuer.discoveryURL", "must be another than issuer.url");
    }
    if (o->ca_pem.n > OIDC_CA_BYTES) {
        return fault(p, "issuer.certificateAuthority", "is too long");
    }
    for (size_t i = 0; i < p->i; i++) {
        if (str_eq(p->c->issuers[i].url, o->url)) {
            return fault(p, "issuer.url", "stands twice");
        }
    }
    return 0;
}

static int read_one(const struct config_place *p, yyjson_val *v) {
    static const char *const names[] = {"issuer", "claimMappings", "claimValidationRules", NULL};
    struct oidc_issuer *o = &p->c->issuers[p->i];
    if (json_get(v, STR("userValidationRules")) != NULL) {
        return fault(p, "userValidationRules", "expressions are not supported");
    }
    int r = only(p, v, "", names);
    r = r ? r : read_issuer(p, v, o);
    r = r ? r : read_mappings(p, v, o);
    r = r ? r : read_rules(p, v, o);
    return r ? r : check_issuer(p, o);
}

static int read_root(yyjson_val *root, struct err *err) {
    struct str version = json_str_at(root, "apiVersion");
    yyjson_obj_iter it = yyjson_obj_iter_with(root);
    yyjson_val *k;
    if (!str_is(version, "apiserver.config.k8s.io/v1") &&
        !str_is(version, "apiserver.config.k8s.io/v1beta1")) {
        return err_set(err, ERR_INVALID,
                       "apiVersion: \"%.*s\" is not one of apiserver.config.k8s.io/v1, "
                       "apiserver.config.k8s.io/v1beta1",
                       STR_ARG(str_head(version, SHOWN)));
    }
    if (!str_is(json_str_at(root, "kind"), "AuthenticationConfiguration")) {
        return err_set(err, ERR_INVALID, "kind: \"%.*s\" is not AuthenticationConfiguration",
                       STR_ARG(str_head(json_str_at(root, "kind"), SHOWN)));
    }
    while ((k = yyjson_obj_iter_next(&it)) != NULL) {
        struct str name = json_str(k);
        if (!str_is(name, "apiVersion") && !str_is(name, "kind") && !str_is(name, "jwt")) {
            return unknown(err, "", name);
        }
    }
    return 0;
}

/* The text as an immutable document, whose views live as long as the config. */
static int parse(struct oidc_config *c, struct str text, yyjson_val **ret, struct err *err) {
    yyjson_mut_doc *mut;
    yyjson_doc *doc;
    struct buf b;
    if (text.n > OIDC_CONFIG_BYTES) {
        return err_set(err, ERR_TOO_LARGE, "more than %d bytes", OIDC_CONFIG_BYTES);
    }
    int r = yaml_parse_one(&c->arena, text, &mut, err);
    if (r != 0) {
        return r;
    }
    buf_init(&b, 4 * OIDC_CONFIG_BYTES);
    json_write_mut(&b, yyjson_mut_doc_get_root(mut));
    r = buf_ok(&b) ? err_set(err, ERR_TOO_LARGE, "too large with its aliases")
                   : json_parse(&c->arena, buf_view(&b), &doc, err);
    buf_release(&b);
    if (r == 0) {
        *ret = yyjson_doc_get_root(doc);
    }
    return r;
}

/* Room for all issuers at once: views of them are kept by nobody yet. */
static int make_room(struct oidc_config *c, struct err *err) {
    if (c->issuers == NULL) {
        c->issuers = ARENA_ARRAY(&c->arena, struct oidc_issuer, OIDC_ISSUERS_MAX);
    }
    return c->issuers ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

int oidc_config_read(struct oidc_config *c, struct str text, struct err *err) {
    yyjson_val *root = NULL, *list, *one;
    size_t i, max;
    int r = parse(c, text, &root, err);
    r = r ? r : read_root(root, err);
    r = r ? r : make_room(c, err);
    if (r != 0) {
        return r;
    }
    list = json_get(root, STR("jwt"));
    if (!yyjson_is_arr(list) || yyjson_arr_size(list) == 0 ||
        yyjson_arr_size(list) > OIDC_ISSUERS_MAX) {
        return err_set(err, ERR_INVALID, "jwt: expected a list of 1 to %d issuers",
                       OIDC_ISSUERS_MAX);
    }
    yyjson_arr_foreach(list, i, max, one) {
        const struct config_place p = {c, err, c->n};
        r = read_one(&p, one);
        if (r != 0) {
            return r;
        }
        c->n++;
    }
    return 0;
}

/* ---- options ---- */

static int add_required(struct oidc_config *c, struct oidc_issuer *o, const struct oidc_flags *f,
                        struct err *err) {
    for (size_t i = 0; i < f->n_required; i++) {
        struct str claim, value;
        if (i == OIDC_REQUIRED_MAX || !str_cut(f->required[i], '=', &claim, &value) ||
            claim.n == 0) {
            return err_set(err, ERR_INVALID,
                           "--oidc-required-claim \"%.*s\": expected CLAIM=VALUE, at most %d times",
                           STR_ARG(str_head(f->required[i], SHOWN)), OIDC_REQUIRED_MAX);
        }
        o->required[o->n_required++] =
            (struct oidc_required){arena_str(&c->arena, claim), arena_str(&c->arena, value)};
    }
    return 0;
}

static int add_algs(struct oidc_config *c, struct oidc_issuer *o, struct str list,
                    struct err *err) {
    struct str rest = list.n ? list : STR("RS256"), one;
    while (str_next(&rest, ',', &one)) {
        one = str_trim(one);
        if (!jwk_alg_known(one) || o->n_algs == sizeof(o->algs) / sizeof(o->algs[0])) {
            return err_set(err, ERR_INVALID,
                           "--oidc-signing-algs \"%.*s\": expected a list of RS256, RS384, RS512, "
                           "PS256, PS384, PS512, ES256, ES384, ES512",
                           STR_ARG(str_head(one, SHOWN)));
        }
        o->algs[o->n_algs++] = arena_str(&c->arena, one);
    }
    return 0;
}

/* Names of several issuers must not meet: as upstream, the issuer is the prefix, unless a mail address is the name. */
static struct str prefix_of(struct oidc_config *c, const struct oidc_flags *f) {
    bool mail = str_is(f->username_claim, "email");
    if (str_is(f->username_prefix, "-") || (f->username_prefix.n == 0 && mail)) {
        return (struct str){0};
    }
    return f->username_prefix.n ? arena_str(&c->arena, f->username_prefix)
                                : arena_f(&c->arena, "%.*s#", STR_ARG(f->issuer_url));
}

int oidc_config_add(struct oidc_config *c, const struct oidc_flags *f, struct err *err) {
    const char *wrong = oidc_url_fault(f->issuer_url);
    if (wrong != NULL) {
        return err_set(err, ERR_INVALID, "--oidc-issuer-url %.*s: %s",
                       STR_ARG(str_head(f->issuer_url, SHOWN)), wrong);
    }
    if (f->client_id.n == 0) {
        return err_set(err, ERR_INVALID, "--oidc-issuer-url needs --oidc-client-id");
    }
    int r = make_room(c, err);
    if (r != 0 || c->n == OIDC_ISSUERS_MAX) {
        return r ? r : err_set(err, ERR_INVALID, "more than %d issuers", OIDC_ISSUERS_MAX);
    }
    struct oidc_issuer *o = &c->issuers[c->n];
    *o = (struct oidc_issuer){
        .url = arena_str(&c->arena, f->issuer_url),
        .ca_pem = arena_str(&c->arena, f->ca_pem),
        .audiences = {arena_str(&c->arena, f->client_id)},
        .n_audiences = 1,
        .username_claim =
            arena_str(&c->arena, f->username_claim.n ? f->username_claim : STR("sub")),
        .username_prefix = prefix_of(c, f),
        .groups_claim = arena_str(&c->arena, f->groups_claim),
        .groups_prefix = arena_str(&c->arena, f->groups_prefix),
    };
    r = add_required(c, o, f, err);
    r = r ? r : add_algs(c, o, f->signing_algs, err);
    r = r ? r : arena_ok(&c->arena) ? err_set(err, ERR_NOMEM, "out of memory") : 0;
    c->n += r == 0;
    return r;
}
