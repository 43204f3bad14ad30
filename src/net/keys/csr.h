/*
 * csr: certificate signing requests (PKCS #10) and client certificates issued for them by our own authority. The
 * signature of a request is verified, which proves that the requester has the key.
 */
#ifndef BERTH_NET_CSR_H
#define BERTH_NET_CSR_H

#include "base/buf.h"
#include "base/err.h"

enum { CSR_BYTES_MAX = 32 << 10 };

/* Appends the common name, and the organizations separated by '\n'; *ret_names: it asks for names of hosts, or such,
 * too. ERR_INVALID: no request in PEM, a key or signature that is not taken, control characters in its subject. */
int csr_read(struct str pem, struct buf *ret_cn, struct buf *ret_orgs, bool *ret_names,
             struct err *err);

/* Appends, in PEM, a certificate for clients with the request's subject and key, signed by the authority of dir/ca.crt
 * and dir/ca.key, that ends `seconds` from now, or with the authority. ERR_INVALID, ERR_IO, ERR_NOMEM. */
int csr_sign(struct str pem, const char *dir, int64_t seconds, struct buf *out, struct err *err);

#endif
