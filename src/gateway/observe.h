/*
 * observe: an interface of the gateway that reports what happens to requests, for metrics, logs and traces.
 *
 * Called on the workers' threads, with the number of the worker, so that an observer can keep one set of counters for
 * each worker without locks. It may not block. Views are valid during the call only. Prompts and
 * answers are never passed.
 */
#ifndef BERTH_GATEWAY_OBSERVE_H
#define BERTH_GATEWAY_OBSERVE_H

#include <stdint.h>

#include "base/buf.h"
#include "gateway/keys.h"

enum gateway_end {
    GATEWAY_END_WELL,       /* the answer is complete, whatever its status */
    GATEWAY_END_REFUSED,    /* by the gateway: key, limit, model, or no endpoint */
    GATEWAY_END_CANCELLED,  /* the client went away */
    GATEWAY_END_UPSTREAM,   /* no endpoint answered, or an answer broke off */
    GATEWAY_END_TIMED_OUT,  /* no first byte, or a pause too long */
    GATEWAY_END_SLOW_CLIENT /* the client did not take its answer */
};

/* W3C trace context. `started` sees what came and fills in what goes on to the server. */
struct gateway_trace {
    struct str parent, state; /* headers traceparent and tracestate, as they came; may be empty */
    char onward
        [64]; /* traceparent for the server, NUL-terminated; "": the one that came is passed on */
    uint64_t span; /* the observer's own, given back in `ended` */
};

struct gateway_seen {
    const struct gateway_key *key;    /* NULL: none was found */
    const struct routes_model *model; /* NULL: unknown */
    struct str operation; /* "chat", "text_completion", "embeddings", ...: gen_ai.operation.name */
    struct str method, path,
        peer;         /* path without the query; peer: address and port of the client */
    struct str asked; /* the model's name as the client wrote it */
    struct str endpoint, address, zone, backend; /* of the last try; empty: none was tried */
    struct str
        refused; /* the machine code of an error of the gateway, as in the answer; else empty */
    int status;  /* of the answer; 0: none was sent */
    enum gateway_end end;
    bool stream;
    int tries;             /* how often it was sent; 0: never */
    int64_t begun_wall_ns; /* since 1970 */
    /* ns since the request was complete; -1: it did not happen */
    int64_t held_ns; /* how long it waited for an endpoint; 0: not at all */
    int64_t sent_ns, first_ns,
        took_ns; /* to the server, the first byte of the answer's body, the end */
    int64_t tokens_in, tokens_out, tokens_cached; /* from the server's usage; -1: unknown */
    uint64_t bytes_in, bytes_out;                 /* of bodies, from and to the client */
    uint64_t events;                              /* of a stream of server-sent events */
    struct gateway_trace *trace;
};

struct gateway_observer {
    /* A request for a model arrived whole; its key and model are known (m, key: never NULL). May be NULL. */
    void (*started)(struct gateway_observer *o, unsigned worker, const struct gateway_key *key,
                    const struct routes_model *m, struct gateway_trace *t);
    /* It is over. Exactly once for each `started`, and for each that was refused before that (trace NULL). May be
     * NULL. */
    void (*ended)(struct gateway_observer *o, unsigned worker, const struct gateway_seen *s);
    /* A page of the gateway's own ("/metrics"): false: there is none, or not for this key. Appends to body and sets
     * *ret_type. Any worker's thread. May be NULL. */
    bool (*page)(struct gateway_observer *o, struct str path, struct buf *body,
                 const char **ret_type);
};

#endif
