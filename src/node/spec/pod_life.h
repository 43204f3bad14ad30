/*
 * pod_life: what a shim is told of a container's life: its probes and hooks, its signal, where its termination message
 * comes from. Pure.
 */
#ifndef BERTH_NODE_POD_LIFE_H
#define BERTH_NODE_POD_LIFE_H

#include "node/spec/pod_env.h"

/* Appends ,"startup":{...},"readiness":{...},"liveness":{...},"postStart":{...},"preStop":{...},"stopSignal":N,
 * "messageFile":"...","messageFromLog":true: those that the container has. Ports by name are looked up, commands are
 * expanded by e. message_file empty: none; image_signal: of its image, where the container names none. ERR_INVALID
 * names what cannot be. */
int pod_life_write(yyjson_val *container, const struct pod_env *e, struct str pod_ip,
                   struct str message_file, struct str image_signal, struct arena *a,
                   struct buf *out, struct err *err);
/* Where the container reads and writes its message: an absolute path. */
struct str pod_message_path(yyjson_val *container);

#endif
