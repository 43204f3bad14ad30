/*
 * pod_files: /etc/hosts and /etc/resolv.conf of a pod that has a network of its own, as the kubelet writes them. Pure.
 */
#ifndef BERTH_NODE_POD_FILES_H
#define BERTH_NODE_POD_FILES_H

#include "base/buf.h"
#include "wire/json/json.h"

/* The most name servers, and search domains, that resolvers look at. */
enum { POD_NAMESERVERS_MAX = 3, POD_SEARCHES_MAX = 32 };

/* localhost, the pod's own name and spec.hostAliases. */
void pod_hosts_write(yyjson_val *pod, struct str ip, struct buf *out);
/* dnsPolicy and dnsConfig; server: the name server of the cluster; machine: the machine's own resolv.conf. */
void pod_resolv_write(yyjson_val *pod, struct str server, struct str machine, struct buf *out);

#endif
