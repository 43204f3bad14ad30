/*
 * webhook_cert: the certificate of the webhook server, and when it changes.
 *
 * An authority of its own signs it; the API server learns the authority through caBundle. Both are renewed when a third
 * of their time is left, and nobody ever sees a certificate whose authority it may not know yet:
 *
 *     state                                    step
 *     nothing usable                           a new authority and a certificate of it, at once
 *     the authority is old                     a second authority, both in the bundle; the old certificate serves
 *     the second one was known for an hour     a certificate of the second
 *     that certificate served for an hour      the first authority leaves the bundle
 *     the certificate is old, or has not all names    a new one of the newest authority
 *
 * Deciding is pure: plan() looks at times alone.
 */
#ifndef BERTH_SITE_WEBHOOK_CERT_H
#define BERTH_SITE_WEBHOOK_CERT_H

#include "port/cert_keeper.h"

enum {
    WEBHOOK_CA_DAYS = 3 * 365,
    WEBHOOK_CERT_DAYS = 90,
    WEBHOOK_CERT_OVERLAP_S = 3600, /* for every API server to take over a changed bundle */
    WEBHOOK_CERT_BACKDATE_S = 300, /* clocks differ */
};

enum webhook_cert_step {
    CERT_KEEP,
    CERT_ALL,     /* an authority and a certificate */
    CERT_NEW_CA,  /* one more authority */
    CERT_NEW,     /* a certificate of the newest authority */
    CERT_DROP_CA, /* the older authority goes */
};

/* Times in seconds since 1970. */
struct webhook_cert_look {
    size_t n_ca;               /* 0: none that can be read, or its key is lost */
    int64_t ca_from, ca_until; /* of the newest */
    bool usable;    /* the certificate, its key, and an authority of the bundle that signed it */
    bool names;     /* it has all the names */
    bool of_newest; /* it is the newest authority's */
    int64_t from, until; /* of the certificate */
};

/* *ret_next_s: in how many seconds to look again, when nothing is to be done now. */
enum webhook_cert_step webhook_cert_plan(const struct webhook_cert_look *l, int64_t now_s,
                                         int64_t *ret_next_s);

struct webhook_cert_keeper;
/* names: what clients call the server by (DNS names, addresses), the first is its CN; copied, at most 8. NULL: out of
 * memory. */
struct cert_keeper *webhook_cert_keeper_new(const struct str *names, size_t n);
void webhook_cert_keeper_free(struct cert_keeper *k); /* NULL is a no-op */

/* The first certificate of a bundle, cut off *rest; empty at the end. */
struct str webhook_cert_next(struct str *rest);

#endif
