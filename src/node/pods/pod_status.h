/*
 * pod_status: what a shim wrote (state.json) as a Pod's status. Pure.
 */
#ifndef BERTH_NODE_POD_STATUS_H
#define BERTH_NODE_POD_STATUS_H

#include "base/buf.h"
#include "wire/json/json.h"

struct pod_status_in {
    yyjson_val *pod;
    yyjson_val *state; /* state.json, or NULL: nothing has run yet */
    struct str host_ip, pod_ip;
    int64_t start_ns; /* when the node took the pod */
    int64_t now_ns;
    /* When nothing ran or the shim is gone: why. For a pod that waits: reason and message of its
     * containers. */
    struct str reason, message;
    bool failed; /* the pod failed as a whole with reason and message */
    bool lost;   /* the shim died: containers that ran are gone */
};

/* Appends {"metadata":{"uid"},"status":{...}}, a strategic merge patch for the status subresource
 * of that very pod. *ret_phase: a static string. */
void pod_status_write(const struct pod_status_in *in, struct buf *out, const char **ret_phase);

#endif
