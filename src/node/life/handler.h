/*
 * handler: what a probe asks or a hook does, as a Pod describes it: run a command, make an HTTP request, connect, ask a
 * gRPC health service, sleep. Texts live as long as whoever read them says.
 */
#ifndef BERTH_NODE_HANDLER_H
#define BERTH_NODE_HANDLER_H

#include "base/str.h"

enum handler_kind {
    HANDLER_NONE,
    HANDLER_EXEC,
    HANDLER_HTTP,
    HANDLER_TCP,
    HANDLER_GRPC,
    HANDLER_SLEEP
};

struct handler {
    enum handler_kind kind;
    char **argv; /* EXEC; ends with NULL */
    /* HTTP, TCP, GRPC: an address, or a name, which a process of its own looks up */
    const char *host;
    uint16_t port;
    bool https;
    const char *path;    /* HTTP */
    struct str headers;  /* HTTP: whole lines, each with CRLF, Host among them */
    const char *service; /* GRPC; may be empty */
    int64_t sleep_s;
};

#endif
