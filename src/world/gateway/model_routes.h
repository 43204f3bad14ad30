/*
 * model_routes: from objects of the API to the gateway's table of models. Pure: reads a mirror, makes a table.
 *
 * A model is
 *
 *     a Service with annotation (or, for plain names, label) berth.dev/model: NAME; or
 *     an InferenceService or LLMInferenceService, with Services and Deployments called as in KServe's Standard mode:
 *     NAME-predictor, beside it NAME-predictor-canary with its canaryTrafficPercent; NAME-kserve-workload-svc.
 *
 * Its endpoints are those of the Services' EndpointSlices. Its state is that of the Deployment of the Service's name
 * (or annotation berth.dev/model-deployment): no replicas are AT_ZERO where the Deployment may be woken, else STOPPED.
 *
 * Annotations of a Service or InferenceService; a broken one stops the model, and the refusal says which and why:
 *
 *     berth.dev/model-port          name or number of the Service's port; else "http", else the first
 *     berth.dev/model-served-name   the name at the servers; else the model's own name
 *     berth.dev/model-aliases       "a, b=served-as": more names, for LoRA adapters with the name at the servers
 *     berth.dev/model-protocols     of openai, v1, v2; else all
 *     berth.dev/model-deployment    which Deployment runs it
 *     berth.dev/model-requests-per-minute, -tokens-per-minute, -streams    limits of the model
 *     berth.dev/model-hold          how long a request may wait for it to start: 90s
 *
 * Annotation of a *Deployment*, whose owner agrees so that the gateway scales it:
 *
 *     berth.dev/model-idle          without a request for so long it is scaled to zero: 10m; "never": only woken
 *
 * An InferenceService with minReplicas: 0 agrees for its Deployments; its annotation berth.dev/model-idle says how
 * long, else MODEL_IDLE_S.
 */
#ifndef BERTH_WORLD_MODEL_ROUTES_H
#define BERTH_WORLD_MODEL_ROUTES_H

#include "base/arena.h"
#include "base/log.h"
#include "gateway/routes.h"
#include "mirror/mirror.h"

#define MODEL_NAME_NOTE "berth.dev/model"
#define MODEL_IDLE_NOTE "berth.dev/model-idle"

enum { MODEL_IDLE_S = 600, MODEL_BACKENDS_MAX = 2 };

/* A Deployment that the gateway may scale. */
struct model_wake {
    struct str project, service, deployment;
    int64_t idle_ns;  /* 0: never to zero */
    int64_t replicas; /* as it says now */
    bool can;         /* its owner agreed */
};

struct model_routes {
    struct routes *table;
    struct model_wake *wakes;
    size_t n_wakes;
};

/* ERR_NOMEM. What cannot be added (two models of one name) is logged and left out. The wakes lie in the arena;
 * the table's reference is the caller's. */
int model_routes_make(const struct mirror *m, struct arena *a, struct log *log,
                      struct model_routes *ret, struct err *err);
/* Whether a change of this object may change the table: Services without a model, and their slices, do not. */
bool model_routes_concern(const struct mirror *m, const struct change *c);

#endif
