/*
 * shim_talk: the sessions of a pod (wire/podtalk.h): commands executed in its containers, terminals and outputs of
 * containers attached to, connections to its ports.
 *
 * The shim listens on DIR/talk.sock, which only Berth's own user may connect to: the socket is 0600, lies in a folder
 * that no pod sees, and who connects is asked for by SO_PEERCRED. A pod has TALK_SESSIONS at once; each keeps at most
 * TALK_WAITING bytes in either direction, and whoever does not read stops the other from writing.
 */
#ifndef BERTH_NODE_SHIM_TALK_H
#define BERTH_NODE_SHIM_TALK_H

#include "node/sandbox/shim.h"

enum { TALK_SESSIONS = 128, TALK_WAITING = 64 << 10 };

/* Listens, if it does not yet; a pod without a socket runs all the same. */
void shim_talk_open(struct shim *s);
void shim_talk_close(struct shim *s);
void shim_talk_poll(struct shim *s, struct shim_poll *p);
/* Time, and what is to be sent. */
void shim_talk_step(struct shim *s);
int64_t shim_talk_due(const struct shim *s); /* monotonic; INT64_MAX */
bool shim_talk_reaped(struct shim *s, pid_t pid, int status);
/* A container wrote this; a container has ended, and all sessions of it end. */
void shim_talk_wrote(struct shim *s, const struct shim_container *c, int stream, struct str bytes);
void shim_talk_ended(struct shim *s, const struct shim_container *c);
/* Whether somebody who is attached has not yet read what the container wrote before. */
bool shim_talk_full(const struct shim *s, const struct shim_container *c);

#endif
