/*
 * pki: the certificates of a data folder: authority, server, administrator, node. Made when missing, renewed near their
 * end; see net/tls.h.
 *
 *     admin   CN berth-admin                 O system:masters
 *     node    CN system:node:<host name>     O system:nodes
 *     gateway CN system:berth-gateway        O system:berth-gateway
 *     sa      the key alone is used: it signs ServiceAccount tokens
 */
#ifndef BERTH_WORLD_PKI_H
#define BERTH_WORLD_PKI_H

#include "base/str.h"
#include "world/kit/paths.h"

/* host: the address that is served, without brackets; service_ip: that of Service default/kubernetes. Both go into the
 * server's certificate beside the names of loopback and of the Service. */
int pki_make(const struct paths *p, const char *host, struct str service_ip, struct err *err);

#endif
