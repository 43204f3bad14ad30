/*
 * paths: what a request asks for, by its method and path.
 *
 * The table has every path that is passed on; all others are answered with 404, so that what servers have for
 * their owners (/metrics, /sleep, /load, /v1/load_lora_adapter, ...) is not reached through the gateway.
 */
#ifndef BERTH_GATEWAY_PATHS_H
#define BERTH_GATEWAY_PATHS_H

#include "base/str.h"

enum paths_model { /* where the model's name is */
                   PATHS_IN_BODY,
                   PATHS_IN_PATH,
                   PATHS_LIST, /* /v1/models: the gateway answers */
                   PATHS_ONE,  /* /v1/models/NAME: the gateway answers */
                   PATHS_OWN,  /* /healthz, /readyz, /metrics: the gateway answers */
};

struct paths_rule {
    const char *method; /* of HTTP */
    const char *path;   /* the whole, or what stands before the model's name */
    enum paths_model where;
    unsigned protocol;     /* of enum routes_protocol */
    const char *operation; /* gen_ai.operation.name */
    const char *onward;    /* the server's path; NULL: the same */
    bool usage;            /* a stream of it can be asked for its usage (stream_options) */
    bool anthropic;        /* errors are Anthropic's */
    bool stores;           /* unless it says "store": false the server keeps something */
};

struct paths_found {
    const struct paths_rule *rule;
    struct str model; /* in the path: as it stands there */
    struct str after; /* in the path: what follows the name (":predict", "/infer") */
};

enum paths_answer {
    PATHS_FOUND,
    PATHS_UNKNOWN,
    PATHS_METHOD /* the path is known with another method */
};
enum paths_answer paths_find(struct str method, struct str path, struct paths_found *ret);

#endif
