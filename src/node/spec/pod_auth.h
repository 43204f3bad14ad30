/*
 * pod_auth: credentials for registries, from the Secrets that a pod names in imagePullSecrets, as one authfile:
 * {"auths": {"registry.example": {"auth": "..."}}}. Of two for the same registry the first counts.
 */
#ifndef BERTH_NODE_POD_AUTH_H
#define BERTH_NODE_POD_AUTH_H

#include "base/buf.h"
#include "wire/json/json.h"

enum { POD_AUTHS = 64 };

struct pod_auth {
    struct arena *arena;
    struct str hosts[POD_AUTHS];
    yyjson_val *entries[POD_AUTHS];
    size_t n;
};

/* A Secret of type kubernetes.io/dockerconfigjson or kubernetes.io/dockercfg. ERR_INVALID says what is wrong. */
int pod_auth_add(struct pod_auth *p, yyjson_val *secret, struct err *err);
/* The file; nothing when there are none. */
void pod_auth_write(const struct pod_auth *p, struct buf *out);

#endif
