/*
 * talk: sessions with the pods of this machine as port/pod_sessions.h has them:
 * each a connection to pods/<uid>/talk.sock in the data folder, where the pod's
 * shim listens (wire/podtalk.h).
 */
#ifndef BERTH_NODE_TALK_H
#define BERTH_NODE_TALK_H

#include "net/loop.h"
#include "port/pod_sessions.h"

struct pod_sessions *talk_new(const char *data_dir, struct loop *loop, struct err *err);
void talk_free(struct pod_sessions *s); /* NULL is a no-op; close every session first */

#endif
