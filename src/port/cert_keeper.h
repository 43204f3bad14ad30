/*
 * cert_keeper: the interface that knows when a certificate must be renewed, and issues it. Controllers keep its answer
 * in a Secret (control/admit/webhook_certs.h); site/webhook/webhook_cert.h implements it with OpenSSL. Loop thread
 * only.
 */
#ifndef BERTH_PORT_CERT_KEEPER_H
#define BERTH_PORT_CERT_KEEPER_H

#include "base/arena.h"
#include "base/err.h"

/* What the Secret holds, as PEM. */
struct cert_set {
    /* ca.crt: the authorities that clients trust, the newest first; one or two */
    struct str bundle;
    struct str ca_key;    /* ca.key: of the newest */
    struct str cert, key; /* tls.crt, tls.key: of the server */
};

struct cert_keeper {
    /* What should be there at `now` (wall ns) in place of `have` (empty: nothing), texts in the arena. 0 and
     * *ret_changed false: it may stay; *ret_next: when to ask again, in ns from now. ERR_NOMEM, ERR_INTERNAL. */
    int (*renew)(struct cert_keeper *k, const struct cert_set *have, int64_t now, struct arena *a,
                 struct cert_set *ret, bool *ret_changed, int64_t *ret_next, struct err *err);
};

#endif
