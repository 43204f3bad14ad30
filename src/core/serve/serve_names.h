/*
 * serve_names (core): what the objects of an InferenceService are called and labelled, as KServe's Standard mode does
 * it, so that tools made for KServe find them.
 *
 *     Deployment, Service, autoscaler   NAME-predictor; of a canary NAME-predictor-canary (Berth's: Standard has none)
 *     labels                            app: isvc.NAME-predictor, serving.kserve.io/inferenceservice: NAME,
 *                                       component: predictor
 *     model in the container            /mnt/models, served as NAME
 *     address in the cluster            http://NAME-predictor.NAMESPACE.svc.cluster.local
 *     url                               http://NAME-NAMESPACE.DOMAIN
 */
#ifndef BERTH_CORE_SERVE_NAMES_H
#define BERTH_CORE_SERVE_NAMES_H

#include "base/arena.h"
#include "base/err.h"

#define SERVE_LABEL_SERVICE "serving.kserve.io/inferenceservice"
#define SERVE_LABEL_COMPONENT "component"
#define SERVE_LABEL_APP "app"
#define SERVE_MODEL_DIR "/mnt/models"
#define SERVE_CONTAINER "kserve-container"
/* "isvc." and "-predictor-canary" around it must be a label's value of at most 63 bytes. */
enum { SERVE_NAME_MAX = 63 - 5 - 17 };

struct serve_names {
    struct str predictor, canary; /* objects */
    struct str app, app_canary;   /* label app */
    struct str address, url, host;
};

/* ERR_INVALID: metadata.name is no DNS label that begins with a letter, or too long; ERR_NOMEM. domain:
 * "example.com". */
int serve_names(struct arena *a, struct str name, struct str namespace, struct str domain,
                struct serve_names *ret, struct err *err);

/* How an InferenceService is to be run, by annotation serving.kserve.io/deploymentMode; empty: Standard. ERR_INVALID
 * for a word that KServe has not; ERR_UNSUPPORTED for modes that Berth does not run (Knative, ModelMesh). */
int serve_names_mode(struct str annotation, struct err *err);

#endif
