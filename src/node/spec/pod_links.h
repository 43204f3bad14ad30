/*
 * pod_links: variables that tell a container of the Services of its namespace (enableServiceLinks), as the kubelet
 * names them: WEB_SERVICE_HOST, WEB_SERVICE_PORT, WEB_PORT_80_TCP_ADDR, ...
 */
#ifndef BERTH_NODE_POD_LINKS_H
#define BERTH_NODE_POD_LINKS_H

#include "node/spec/pod_env.h"

/* Services beyond this many are left out: their names are looked up by who needs them. */
enum { POD_LINKS_MAX = 64 };

/* spec: of a Service that has an address. 0, or the code of pod_env_set. */
int pod_links_add(struct pod_env *e, struct str name, yyjson_val *spec);
/* The same of the API server, which is where the pod reaches it: KUBERNETES_SERVICE_HOST and so on. */
int pod_links_api(struct pod_env *e, struct str host, struct str port);

#endif
