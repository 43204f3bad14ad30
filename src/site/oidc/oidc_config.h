/*
 * oidc_config: the trusted OpenID Connect issuers and the meaning of their claims. Read from a file, Kubernetes'
 * AuthenticationConfiguration (apiserver.config.k8s.io/v1, v1beta1), or built from options.
 *
 * Everything lives in the config's arena. A field that is unknown, has the wrong type, or is not supported (CEL
 * expressions, egress selectors) is an error that names it.
 */
#ifndef BERTH_SITE_OIDC_CONFIG_H
#define BERTH_SITE_OIDC_CONFIG_H

#include "base/arena.h"
#include "base/err.h"

enum {
    OIDC_CONFIG_BYTES = 1 << 20, /* of the file */
    OIDC_ISSUERS_MAX = 16,
    OIDC_AUDIENCES_MAX = 64,
    OIDC_REQUIRED_MAX = 64,
    OIDC_URL_MAX = 2048,
    OIDC_CA_BYTES = 256 << 10, /* of the certificates of an issuer's authority */
};

struct oidc_required {
    struct str claim, value;
};

struct oidc_issuer {
    struct str url;           /* "https://..."; equal to `iss` */
    struct str discovery_url; /* of the discovery document; empty: derived from url */
    struct str ca_pem;        /* the CA of the issuer's certificate; empty: the system's */
    struct str audiences[OIDC_AUDIENCES_MAX]; /* `aud` must contain one of them */
    size_t n_audiences;
    struct str username_claim, username_prefix;
    struct str groups_claim, groups_prefix; /* no claim: no groups but system:authenticated */
    struct str uid_claim;                   /* empty: no uid */
    struct oidc_required required[OIDC_REQUIRED_MAX];
    size_t n_required;
    struct str algs[9]; /* accepted; none: all of net/keys/jwk.h */
    size_t n_algs;
};

struct oidc_config {
    struct arena arena;
    struct oidc_issuer *issuers;
    size_t n;
};

void oidc_config_init(struct oidc_config *c);
void oidc_config_release(struct oidc_config *c);

/* YAML or JSON. ERR_SYNTAX, ERR_INVALID ("jwt[0].issuer.url: ..."), ERR_TOO_LARGE, ERR_NOMEM. */
int oidc_config_read(struct oidc_config *c, struct str text, struct err *err);

/* The options as they were given; empty or NULL: not given. */
struct oidc_flags {
    struct str issuer_url, client_id, ca_pem;
    struct str username_claim,
        username_prefix; /* "sub"; the issuer and "#", or none for email; "-": none */
    struct str groups_claim, groups_prefix;
    const struct str *required; /* "claim=value" */
    size_t n_required;
    struct str signing_algs; /* "RS256,ES256"; RS256 */
};
/* Adds an issuer; copies the views. ERR_INVALID with the option's name. */
int oidc_config_add(struct oidc_config *c, const struct oidc_flags *f, struct err *err);

/* "https://host[:port][/path]": no user, query or fragment. NULL, or what is wrong. */
const char *oidc_url_fault(struct str url);
/* Of what an issuer's own document names: https, and no character that no URL has. */
bool oidc_url_is_endpoint(struct str url);

#endif
