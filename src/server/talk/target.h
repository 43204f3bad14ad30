/*
 * target (server): what a request for pods/exec, pods/attach or
 * pods/portforward asks for: the pod, the container, the command, the streams,
 * the ports; with Kubernetes' texts where something is missing or wrong.
 */
#ifndef BERTH_SERVER_TARGET_H
#define BERTH_SERVER_TARGET_H

#include "server/kit/context.h"

struct talk_target {
    const struct object *pod; /* valid only while the request is looked at: copy
                               what is needed later */
    struct podtalk_open open; /* of exec and attach; views live in the call's arena */
    struct str *args;
    size_t n_args;
    uint16_t *ports; /* of portforward, from the query: only its plain protocol
                      asks for them there */
    size_t n_ports;
};

/* 0, or the failure is filled. */
int target_read(struct call *c, struct talk_target *ret);
/* Why nothing of the pod answers: the failure is filled and its code returned.
 */
int target_silent(struct call *c, const struct talk_target *t, const struct err *err);

#endif
