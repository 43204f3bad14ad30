/* view_key: the decoded form of ModelKey (berth.dev/v1alpha1), by the tables of table_key.c. */
#ifndef BERTH_API_VIEW_KEY_H
#define BERTH_API_VIEW_KEY_H

#include "api/tables/view_meta.h"

enum {
    MODEL_KEY_DAYS = 90,              /* how long a key is valid when it does not say */
    MODEL_KEY_SHA256 = 64,            /* characters of the digest in hexadecimal */
    MODEL_KEY_PREFIX_MAX = 16,        /* of the secret, kept to recognise it */
    MODEL_KEY_MODELS_MAX = 64,        /* patterns */
    MODEL_KEY_LIMIT_MAX = 1000000000, /* a minute */
    MODEL_KEY_PRIORITY_MAX = 1000,
};

/* On a Namespace, which only administrators write: what all keys of the project have together, and how they compare
 * with those of other projects. A key's own limits come on top; its priority is at most the project's. */
#define MODEL_PROJECT_REQUESTS "berth.dev/model-requests-per-minute"
#define MODEL_PROJECT_TOKENS "berth.dev/model-tokens-per-minute"
#define MODEL_PROJECT_STREAMS "berth.dev/model-streams"
#define MODEL_PROJECT_WEIGHT "berth.dev/model-weight"
#define MODEL_PROJECT_PRIORITY "berth.dev/model-priority-max"

struct model_key_limits {
    int64_t requests_per_minute, tokens_per_minute, streams; /* 0: none */
};
struct model_key_spec {
    struct str sha256, prefix, user, purpose;
    struct str_list models;
    struct model_key_limits *limits;
    int32_t priority;
    int64_t expires_ns; /* 0: MODEL_KEY_DAYS after its creation */
    bool revoked;
};
struct model_key_status {
    int64_t last_used_ns;
};
struct model_key {
    struct meta *metadata;
    struct model_key_spec *spec;
    struct model_key_status *status;
};

extern const struct schema schema_model_key;

#endif
