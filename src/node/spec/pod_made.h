/*
 * pod_made: volumes whose files the API makes (configMap, secret, downwardAPI, and projected of those and of tokens),
 * and the one that a pod gets unasked: the token of its ServiceAccount, the API server's authority, and its namespace,
 * where clients in pods look for them. Pure: what they hold, as a payload.
 *
 * Files of a Secret and tokens belong to the pod's user and are nobody else's, whatever the mode says.
 */
#ifndef BERTH_NODE_POD_MADE_H
#define BERTH_NODE_POD_MADE_H

#include "node/files/payload.h"
#include "node/spec/pod_env.h"

#define POD_ACCOUNT_PATH "/var/run/secrets/kubernetes.io/serviceaccount"
/* Its folder among those of volumes, whose names have no such character. */
#define POD_ACCOUNT_VOLUME ".serviceaccount"

bool pod_made_is(yyjson_val *volume);
/* What the volume holds; views into the arena and the objects looked up. ERR_NOT_FOUND: a source that may come later;
 * ERR_INVALID: never. */
int pod_made_read(const struct pod_env_in *e, yyjson_val *volume, struct arena *a,
                  struct payload *out, struct err *err);

/* Whether a container gets the volume of the account: unless the pod says no, or mounts something there itself. */
bool pod_account_wanted(const struct pod_env_in *e);
bool pod_account_mounted(const struct pod_env_in *e, yyjson_val *container);
/* Looks the token up, so that it is noted as wanted. */
void pod_account_ask(const struct pod_env_in *e, struct arena *a);
int pod_account_read(const struct pod_env_in *e, struct arena *a, struct payload *out,
                     struct err *err);

/* Tokens are looked up as sources of sort POD_TOKEN, by a name of three words, of which the last may be empty. */
struct pod_token {
    struct str account;
    int64_t seconds;
    struct str audience; /* empty: the API server's own */
};
struct str pod_token_name(const struct pod_token *t, struct arena *a);
bool pod_token_named(struct str name, struct pod_token *ret);

#endif
