/* Fuzz target: tokens of OpenID Connect issuers. The first line is the token, what follows a JWKS document or the file
 * that says who the issuers are: all three are text of others. */
#include "base/arena.h"
#include "fuzz.h"
#include "site/oidc/oidc_claims.h"
#include "site/oidc/oidc_keys.h"

static void look_at_claims(struct arena *a, const struct jws *t, const struct oidc_config *c) {
    static const struct oidc_issuer plain = {.audiences = {{"berth", 5}},
                                             .n_audiences = 1,
                                             .username_claim = {"sub", 3},
                                             .groups_claim = {"groups", 6}};
    struct oidc_user u;
    (void)oidc_claims_user(&plain, t, INT64_C(1800000000000000000), a, &u, NULL);
    for (size_t i = 0; i < c->n; i++) {
        (void)oidc_claims_user(&c->issuers[i], t, INT64_C(1800000000000000000), a, &u, NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct str text = str_from((const char *)data, size), token, rest;
    struct oidc_config config;
    struct oidc_keys keys = {0};
    struct arena a;
    struct jws t;
    (void)str_cut(text, '\n', &token, &rest);
    arena_init(&a, 8 << 20);
    oidc_config_init(&config);
    if (oidc_config_read(&config, rest, NULL) != 0) {
        config.n = 0;
    }
    bool has_keys = oidc_keys_read(rest, &keys, NULL) == 0;
    if (jws_parse(&a, token, &t, NULL) == 0) {
        look_at_claims(&a, &t, &config);
        if (has_keys) {
            (void)oidc_keys_verify(&keys, t.kid, t.alg, t.signed_part, t.signature, NULL);
        }
    }
    if (has_keys) {
        oidc_keys_release(&keys);
    }
    oidc_config_release(&config);
    arena_release(&a);
    return 0;
}
