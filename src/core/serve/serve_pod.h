/*
 * serve_pod (core): the pod template of a served model: its runtime's pod, with what the service says laid over it, as
 * KServe does it (predictor.go, utils.MergeRuntimeContainers).
 *
 *     container kserve-container   the runtime's, the model's members over it: arguments are added to the runtime's,
 *                                  variables, mounts and amounts are replaced by name, all else as a whole
 *     pod                          the runtime's members, the service's over them: volumes, containers and secrets by
 *                                  name, node labels by key, all else as a whole
 *     {{.Name}} and the like       filled in, in all texts of the containers (serve_template.h)
 *     the model                    at /mnt/models: a claim's folder is mounted; of other places the volume
 *                                  kserve-provision-location is, and the annotation SERVE_SOURCE names the place for
 *                                  who fetches it
 *     $PORT                        the container's first port, 8080 unless it has one; a server without a readiness
 *                                  probe is ready when it accepts connections there
 *
 * Pure: trees in, a tree out, in the arena of the document.
 */
#ifndef BERTH_CORE_SERVE_POD_H
#define BERTH_CORE_SERVE_POD_H

#include "core/serve/serve_template.h"
#include "wire/json/json.h"

#define SERVE_SOURCE "internal.serving.kserve.io/storage-initializer-sourceuri"
#define SERVE_VOLUME "kserve-provision-location"
#define SERVE_CLAIM_VOLUME "kserve-pvc-source"
enum { SERVE_PORT = 8080, SERVE_MEMBERS_MAX = 256 /* of labels, annotations, node labels */ };

/* What a HardwareProfile gives a server that does not say otherwise. */
struct serve_hardware {
    const struct str_pair *amounts; /* "nvidia.com/gpu", "1" */
    size_t n_amounts;
    yyjson_val *node_selector, *tolerations; /* NULL: none */
};

struct serve_pod_of {
    yyjson_val *runtime; /* spec of the runtime; NULL: the service has containers of its own */
    yyjson_val *pod;     /* what is laid over its pod: spec.predictor, spec.template; may be NULL */
    yyjson_val *server;  /* what is laid over kserve-container; may be NULL */
    struct str server_name;  /* the one of `pod`'s containers that `server` is; empty: none is */
    struct str version, uri; /* of the image, of the model; empty: none */
    const struct str *args;  /* added behind all others */
    size_t n_args;
    struct str_map labels;  /* of the pod, whatever others say */
    struct serve_meta meta; /* for placeholders */
    struct serve_hardware hardware;
};

/* *ret: {"metadata": ..., "spec": ...} in d. ERR_INVALID: a placeholder that is not known, no server among the
 * containers, or an object with more than SERVE_MEMBERS_MAX members; ERR_NOMEM. */
int serve_pod(const struct serve_pod_of *of, yyjson_mut_doc *d, yyjson_mut_val **ret,
              int32_t *ret_port, struct err *err);

#endif
