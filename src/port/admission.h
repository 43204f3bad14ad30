/*
 * admission: what is asked before an object is stored: may it be changed first, may it be stored at all.
 *
 * The same answers are given in both worlds: the embedded API server asks in its write pipeline, on a cluster the
 * webhooks ask for what a kube-apiserver sends. Controllers implement it (control/admit/admission.h), world hands it to
 * whoever asks. Pure but for reading the mirror: nothing is written, so a dry run needs no care. Loop thread only.
 *
 *     mutate     may change q->obj in place: defaults, suspension, gates, labels
 *     validate   adds causes (422), a denial (403) or a conflict (409); sees the object as it would be stored
 *
 * Objects are in their storage version for kinds that Berth has tables of; in the version that the request names
 * otherwise (custom resources of others: one version is understood each, see q->version).
 */
#ifndef BERTH_PORT_ADMISSION_H
#define BERTH_PORT_ADMISSION_H

#include "api/schema/kind.h"
#include "base/str.h"

enum admission_op { ADMISSION_CREATE, ADMISSION_UPDATE, ADMISSION_DELETE };

enum { ADMISSION_WARNINGS = 8 };

struct admission_ask {
    enum admission_op op;
    const struct kind *kind;
    struct str version;     /* of obj and old */
    struct str subresource; /* "", "status", "scale" */
    struct str ns, name;    /* name may be empty on create (generateName) */
    struct str user;        /* who asks */
    const struct str *groups;
    size_t n_groups;
    yyjson_mut_doc *doc; /* obj's document */
    yyjson_mut_val *obj; /* what is to be stored; NULL on delete */
    yyjson_val *old;     /* what is stored; NULL on create */
    struct arena *arena; /* for texts */
    bool internal;       /* asked for one of our own controllers */
    bool dry;            /* nothing will be stored */
    /* May the asker do this as well? ns empty: in the whole cluster. NULL: it cannot be asked here. */
    bool (*may)(const struct admission_ask *q, const char *verb, const char *group,
                const char *resource, const char *subresource, struct str ns);
    void *may_ctx;

    /* Filled by the answer. */
    struct causes causes; /* validate: each broken rule, with its field */
    struct str denied;    /* validate: a reason, where no field is to blame; empty: not denied */
    /* Validate: what is in the way (409, the causes beside it); empty: nothing */
    struct str conflict;
    struct str warnings[ADMISSION_WARNINGS];
    size_t n_warnings;
};

struct admission {
    /* 0, or an error for the Status (ERR_NOMEM, ERR_UNAVAILABLE while the mirror is not complete). */
    int (*mutate)(struct admission *a, struct admission_ask *q, struct err *err);
    int (*validate)(struct admission *a, struct admission_ask *q, struct err *err);
};

#endif
