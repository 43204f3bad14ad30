/*
 * tls_pipe: one question over TLS, blocking, for a process that has nothing else to do.
 */
#ifndef BERTH_NET_TLS_PIPE_H
#define BERTH_NET_TLS_PIPE_H

#include "base/err.h"
#include "base/str.h"

/* Shakes hands on a connected, blocking socket, without looking at the certificate; sends the request; writes the
 * answer, at most `most` bytes of it, to descriptor `out`. `name` is told to the server, should it be a name. */
int tls_pipe(int fd, const char *name, struct str request, int out, size_t most, struct err *err);

#endif
