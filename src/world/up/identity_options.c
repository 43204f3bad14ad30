/* identity_options: reads the options for token issuers. See identity.h. */
#include "world/up/identity.h"

static struct str given(const struct cli_args *a, const char *name) {
    return str_of(cli_value(a, name));
}

int identity_options_read(const struct cli_args *a, struct identity_at *ret, struct err *err) {
    struct identity_at at = {.config_file = cli_value(a, "authentication-config"),
                             .ca_file = cli_value(a, "oidc-ca-file"),
                             .sign_in = given(a, "oidc-sign-in"),
                             .scopes = given(a, "oidc-scopes"),
                             .redirect = given(a, "oidc-redirect-url"),
                             .secret_file = cli_value(a, "oidc-client-secret-file"),
                             .flags = {.issuer_url = given(a, "oidc-issuer-url"),
                                       .client_id = given(a, "oidc-client-id"),
                                       .username_claim = given(a, "oidc-username-claim"),
                                       .username_prefix = given(a, "oidc-username-prefix"),
                                       .groups_claim = given(a, "oidc-groups-claim"),
                                       .groups_prefix = given(a, "oidc-groups-prefix"),
                                       .signing_algs = given(a, "oidc-signing-algs")}};
    const char *one;
    for (size_t i = 0; (one = cli_nth(a, "oidc-required-claim", i)) != NULL; i++) {
        if (i == OIDC_REQUIRED_MAX) {
            return err_set(err, ERR_BAD_REQUEST, "--oidc-required-claim: at most %d times",
                           OIDC_REQUIRED_MAX);
        }
        at.required[at.flags.n_required++] = str_of(one);
    }
    const struct oidc_flags *f = &at.flags;
    bool more = f->client_id.n || at.ca_file || f->username_claim.n || f->username_prefix.n ||
                f->groups_claim.n || f->groups_prefix.n || f->n_required || f->signing_algs.n;
    if (f->issuer_url.n == 0 && more) {
        return err_set(err, ERR_BAD_REQUEST, "--oidc-... needs --oidc-issuer-url");
    }
    if (f->issuer_url.n && at.config_file) {
        return err_set(err, ERR_BAD_REQUEST,
                       "--authentication-config and --oidc-issuer-url exclude each other");
    }
    if (at.sign_in.n && f->issuer_url.n == 0 && at.config_file == NULL) {
        return err_set(err, ERR_BAD_REQUEST, "--oidc-sign-in needs an issuer");
    }
    if ((at.scopes.n || at.redirect.n || at.secret_file) && at.sign_in.n == 0) {
        return err_set(err, ERR_BAD_REQUEST,
                       "--oidc-scopes, --oidc-client-secret-file and --oidc-redirect-url need "
                       "--oidc-sign-in");
    }
    at.scopes = at.scopes.n ? at.scopes : STR("openid profile email");
    *ret = at;
    return 0;
}
