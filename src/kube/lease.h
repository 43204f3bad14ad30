/*
 * lease: what a Lease says of its holder, to and from JSON. What it says besides stays as it was.
 */
#ifndef BERTH_KUBE_LEASE_H
#define BERTH_KUBE_LEASE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

struct lease_record {
    struct str holder;  /* empty: nobody */
    int64_t duration_s; /* 0 when not said */
    int64_t transitions;
    struct str acquired; /* MicroTime, as text */
    struct str renewed;
    struct str rv, uid; /* of the object */
};

/* Views into the arena. ERR_SYNTAX, ERR_INVALID: no Lease; ERR_NOMEM. */
int lease_read(struct arena *a, struct str body, struct lease_record *ret, struct err *err);
/* The record alone: two observations that differ here are two signs of life. */
bool lease_same(const struct lease_record *a, const struct lease_record *b);
/* The body of the next update: `body` with the record's holder, duration, transitions, times and rv. `body` empty: a
 * new Lease ns/name. ERR_NOMEM, ERR_SYNTAX. */
int lease_write(struct str body, struct str ns, struct str name, const struct lease_record *r,
                struct buf *out, struct err *err);

#endif
