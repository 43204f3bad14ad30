/*
 * pod_env: the environment and command line of a container, from the Pod as the API has it. Pure:
 * what it needs from ConfigMaps and Secrets is looked up through a function that has them already,
 * or says that they are missing.
 */
#ifndef BERTH_NODE_POD_ENV_H
#define BERTH_NODE_POD_ENV_H

#include "api/tables/field.h"
#include "wire/json/json.h"

enum pod_source { POD_CONFIG_MAP, POD_SECRET, POD_CLAIM, POD_PERSISTENT_VOLUME, POD_TOKEN };

struct pod_facts {
    struct str pod_ip, host_ip;
    struct str gateway; /* of pods with a network of their own, where their name server is */
    int64_t node_cpu_milli, node_memory; /* what a container without limits may use */
    /* "127.0.0.1:6443": the API server, as the machine reaches it; empty: nobody is told */
    struct str api;
    struct str api_service;   /* its address for pods that have a network of their own */
    struct str api_authority; /* PEM, which its certificate is verified by; empty: the machine's */
};

struct pod_env_in {
    yyjson_val *pod, *container;
    const struct pod_facts *facts;
    /* The object, or NULL when it does not exist. Asked for in the pod's own namespace, where it has one. */
    yyjson_val *(*lookup)(void *ctx, enum pod_source kind, struct str name);
    void *ctx;
};

struct pod_env {
    struct arena *arena;
    struct str_pair *v; /* in order; names do not repeat */
    size_t n, cap;
};

/* Sets (replacing) one variable. 0, ERR_NOMEM, or ERR_TOO_LARGE beyond LIMIT_POD_ENV. */
int pod_env_set(struct pod_env *e, struct str name, struct str value);
/* envFrom and env of the container, after what `e` has. ERR_NOT_FOUND names the missing ConfigMap,
 * Secret or key: it may come later. ERR_INVALID: it never will. */
int pod_env_build(struct pod_env *e, const struct pod_env_in *in, struct err *err);
/* $(NAME) by the variables so far, $$ for a dollar; what is not set stays as it is. */
struct str pod_env_expand(const struct pod_env *e, struct str text);
/* A downward API field: "metadata.labels['a']". ERR_INVALID for one that there is not. */
int pod_field(const struct pod_env_in *in, struct arena *a, struct str path, struct str *ret,
              struct err *err);
/* An amount of a container (in->container, unless the reference names one), in units of its divisor, rounded up. */
int pod_resource_field(const struct pod_env_in *in, struct arena *a, yyjson_val *ref,
                       struct str *ret, struct err *err);
/* Bytes of a key of a ConfigMap (data, binaryData) or Secret; false when it is not there. */
bool pod_source_key(yyjson_val *object, enum pod_source kind, struct str key, struct arena *a,
                    struct str *ret);
#endif
