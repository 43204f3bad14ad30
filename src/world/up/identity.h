/*
 * identity: the OpenID Connect issuers that `berth up` trusts, from options or from a file.
 *
 * --authentication-config and --oidc-issuer-url exclude each other, as they do for kube-apiserver.
 */
#ifndef BERTH_WORLD_IDENTITY_H
#define BERTH_WORLD_IDENTITY_H

#include "cli/kit/options.h"
#include "server/auth/policy.h"
#include "site/dashboard.h"
#include "site/oidc/oidc.h"

/* The options of the command line; the views are of argv. */
struct identity_at {
    const char *config_file; /* NULL: none */
    struct oidc_flags flags; /* no issuer_url: none */
    const char *ca_file;     /* of the issuer; NULL: the system's authorities */
    struct str required[OIDC_REQUIRED_MAX];
    /* Sign-in of the dashboard, at the first issuer: the name that the page shows (empty: none), ... */
    struct str sign_in, scopes, redirect;
    const char *secret_file; /* of a confidential client; NULL: it is a public one */
};

struct identity;

int identity_options_read(const struct cli_args *a, struct identity_at *ret, struct err *err);

/* Reads the files. *ret_config has no issuers when none was asked for. The config is released by the caller. */
int identity_config(const struct identity_at *at, struct oidc_config *ret_config, struct err *err);

/* Keeps views of `at` and `config`: both must outlive it. */
int identity_new(struct loop *l, struct log *log, const struct identity_at *at,
                 struct oidc_config *config, struct identity **ret, struct err *err);
struct oidc_login *identity_login(struct identity *x); /* NULL: no sign-in with a browser */
void identity_free(struct identity *x); /* NULL is a no-op; after the server and the policy */
struct oidc *identity_oidc(struct identity *x); /* NULL: there are no issuers */

/* Tells the dashboard whose token it is, at once or when the issuer's keys have arrived. */
void identity_ask(struct identity *x, struct policy *p, struct str token,
                  struct dashboard_asking *k);

#define IDENTITY_OPTIONS                                                                           \
    {"authentication-config",                                                                      \
     0,                                                                                            \
     "FILE",                                                                                       \
     "token issuers, as Kubernetes' AuthenticationConfiguration",                                  \
     NULL,                                                                                         \
     false},                                                                                       \
        {"oidc-issuer-url",                                                                        \
         0,                                                                                        \
         "URL",                                                                                    \
         "https URL of an OpenID Connect issuer whose tokens are accepted",                        \
         NULL,                                                                                     \
         false},                                                                                   \
        {"oidc-client-id", 0, "ID", "the audience that tokens must have", NULL, false},            \
        {"oidc-ca-file", 0, "FILE", "CA of its TLS certificate; else the system's", NULL, false},  \
        {"oidc-username-claim",                                                                    \
         0,                                                                                        \
         "CLAIM",                                                                                  \
         "the claim with the user's name; else sub",                                               \
         NULL,                                                                                     \
         false},                                                                                   \
        {"oidc-username-prefix",                                                                   \
         0,                                                                                        \
         "TEXT",                                                                                   \
         "put before user names; else URL#, none for email; -: none",                              \
         NULL,                                                                                     \
         false},                                                                                   \
        {"oidc-groups-claim", 0, "CLAIM", "the claim with the groups; else none", NULL, false},    \
        {"oidc-groups-prefix", 0, "TEXT", "put before each group", NULL, false},                   \
        {"oidc-required-claim", 0, "CLAIM=VALUE", "a claim that tokens must have", NULL, true}, {  \
        "oidc-signing-algs", 0, "LIST", "accepted algorithms, RS256,ES256,...; else RS256", NULL,  \
            false                                                                                  \
    }
#define SIGN_IN_OPTIONS                                                                            \
    {"oidc-sign-in", 0,    "NAME", "the dashboard offers sign-in with the issuer as NAME",         \
     NULL,           false},                                                                       \
        {"oidc-scopes", 0, "LIST", "sign-in scopes; else openid profile email", NULL, false},      \
        {"oidc-client-secret-file", 0, "FILE", "secret of a confidential client", NULL, false}, {  \
        "oidc-redirect-url", 0, "URL", "the redirect URL, if a proxy changes it", NULL, false      \
    }
enum { IDENTITY_N_OPTIONS = 14 };

#endif
