/* tls_private: OpenSSL's side of tls, for the other files of net only. */
#ifndef BERTH_NET_TLS_PRIVATE_H
#define BERTH_NET_TLS_PRIVATE_H

#include <openssl/ssl.h>

#include "net/tls.h"

/* A server connection in accept state, without BIOs; NULL when out of memory. */
SSL *tls_server_ssl(struct tls_server *t);
/* Subject of the peer's verified certificate: CN and the O values, each followed by '\n' but the last. Appended. False
 * when there is none, or when a value has control characters. */
bool tls_peer_subject(SSL *ssl, struct buf *ret_cn, struct buf *ret_org);
/* Sets `code` with OpenSSL's newest reason and clears its queue. */
int tls_err(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
