/*
 * pod_sessions: how the API server reaches into a running pod, by interface: a
 * command in a container (exec), a container itself (attach), or a connection
 * to a port inside (portforward). In the embedded world node/streams/talk speaks
 * wire/podtalk.h with the pod's shim on this machine; tests have their own.
 * Loop thread only.
 *
 * No event is called inside one of the functions. After `exit`, which comes
 * once and last, and at any time before, the session must be closed; then no
 * event comes any more.
 */
#ifndef BERTH_PORT_POD_SESSIONS_H
#define BERTH_PORT_POD_SESSIONS_H

#include "mirror/object.h"
#include "wire/podtalk.h"

struct pod_session;

struct pod_session_events {
    void (*opened)(void *ctx); /* the process has started, or the port answered */
    /* stdout or stderr, or what comes out of the port (stdout). False: these were
   * taken, and no more come before resume. */
    bool (*data)(void *ctx, enum podtalk_stream s, struct str bytes);
    void (*end)(void *ctx, enum podtalk_stream s); /* nothing more comes on it */
    void (*drained)(void *ctx);                    /* nothing waits any more after `write` had said
                                 that something does */
    void (*exit)(void *ctx, const struct podtalk_exit *e);
};

struct pod_sessions {
    /* ERR_NOT_FOUND: the pod has no shim that listens (it has not started, or has
   * ended); ERR_TOO_MANY. */
    int (*open)(struct pod_sessions *s, const struct object *pod, const struct podtalk_open *o,
                const struct str *args, size_t n_args, const struct pod_session_events *ev,
                void *ctx, struct pod_session **ret, struct err *err);
    /* Bytes for stdin or the port, copied. Returns how many now wait: who gets
   * more than it likes stops until `drained`. */
    size_t (*write)(struct pod_session *p, struct str bytes);
    void (*end)(struct pod_session *p); /* of stdin, once what waits is through */
    void (*resize)(struct pod_session *p, uint16_t rows, uint16_t cols);
    void (*resume)(struct pod_session *p);
    void (*close)(struct pod_session *p); /* NULL is a no-op */
};

#endif
