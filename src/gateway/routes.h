/*
 * routes: the gateway's table of models, and of the servers that answer for each: an immutable snapshot.
 *
 * A source (a YAML file, or a watch on the API server) makes a table, adds models, and hands it to
 * gateway_set_routes, which replaces the table of all workers. Nothing in a table changes once it was handed over; a
 * change is a new table. Tables are counted: each request that is under way keeps the one it began with, so that its
 * views stay valid.
 *
 *     struct routes *r = routes_new();
 *     routes_add(r, &model, err);        copies everything, checks it
 *     gateway_set_routes(g, r);          takes the reference
 *
 * Names. A model is called `name` within its project (a namespace). Clients may say the name, one of the aliases, or
 * "project/name". routes_find prefers the project of the caller's key; a name that only other projects have is found
 * when exactly one of them has it. Whether the key may use what was found is not decided here (keys.h).
 *
 * Limits: ROUTES_MODELS_MAX models, ROUTES_BYTES_MAX bytes, ENDPOINTS_MAX endpoints and ENDPOINT_GROUPS_MAX backends
 * of a model (core/route/endpoint.h).
 */
#ifndef BERTH_GATEWAY_ROUTES_H
#define BERTH_GATEWAY_ROUTES_H

#include "base/err.h"
#include "base/str.h"

enum {
    ROUTES_MODELS_MAX = 10000,
    ROUTES_BYTES_MAX = 256 << 20,
    ROUTES_ALIASES_MAX = 256,
    ROUTES_NAME_MAX = 512, /* bytes of the name of a model */
};

/* What the servers of a model speak. A path of a protocol that the model does not have is answered with 404. */
enum routes_protocol {
    ROUTES_OPENAI = 1, /* /v1/chat/completions and its relatives, Anthropic's /v1/messages */
    ROUTES_V1 = 2,     /* KServe: /v1/models/NAME:predict */
    ROUTES_V2 = 4,     /* KServe, Open Inference Protocol: /v2/models/NAME/infer */
};

/* Requests and tokens a minute, and concurrent streams; 0: no limit. */
struct routes_limits {
    int64_t requests, tokens, streams;
};

struct routes_endpoint {
    uint32_t id;        /* not 0; unique within its model; a restarted server gets a new one */
    struct str name;    /* for people: of the pod */
    struct str address; /* IPv4 or IPv6, no name */
    uint16_t port;
    struct str zone; /* empty: unknown */
    bool ready;      /* the *model* answers there, not merely the pod */
    bool draining;   /* gets no new requests; those under way go on */
    int32_t limit;   /* requests at once from each worker; 0: none */
};

/* Endpoints that share a weight: one revision of the service. */
struct routes_backend {
    struct str name;
    int32_t weight;    /* relative to the other backends; 0: gets nothing */
    struct str served; /* the model's name at these servers; empty: as the client wrote it */
    const struct routes_endpoint *endpoints;
    size_t n_endpoints;
};

/* Another name. served: the name at the servers (a LoRA adapter has its own); empty: the backend's. */
struct routes_alias {
    struct str name, served;
};

/* Why no endpoint may be ready. Only ROUTES_SERVING is silent: a request waits a little for an endpoint. */
enum routes_state {
    ROUTES_SERVING,
    ROUTES_AT_ZERO,  /* no replicas: a request is held, and activates it (demand.h) */
    ROUTES_STARTING, /* replicas exist, the model is not ready yet: a request is held */
    ROUTES_QUEUED, /* the start waits for quota: a request is refused with reason, position and estimate */
    ROUTES_STOPPED, /* by its owner: a request is refused */
};

struct routes_model {
    struct str name, project,
        service; /* service: of the InferenceService, for metrics and demand */
    const struct routes_alias *aliases;
    size_t n_aliases;
    unsigned protocols; /* of enum routes_protocol; 0: all */
    const struct routes_backend *backends;
    size_t n_backends;
    enum routes_state state;
    struct str reason; /* of the state, for people; may be empty */
    int64_t position;  /* in the queue, from 1; 0: unknown */
    int64_t eta_s;     /* until it is ready; 0: unknown */
    int32_t priority;  /* of its requests; more is more important */
    struct routes_limits limits;
    /* ms; 0: the defaults of gateway.h. connect: until connected; first_byte: from then until the head of the answer;
     * idle: between two parts of an answer; hold: how long a request may wait for an endpoint. */
    int64_t connect_ms, first_byte_ms, idle_ms, hold_ms;
    bool prefix_affinity; /* prefer the endpoint that has seen the beginning of the prompt */
    int64_t created_s;    /* since 1970, for /v1/models */
};

struct routes;

/* An empty table with one reference; NULL: no memory. */
struct routes *routes_new(void);
struct routes *routes_ref(struct routes *r); /* any thread; returns r */
void routes_unref(struct routes *r);         /* any thread; NULL is a no-op */

/* Copies the model. ERR_INVALID names the field; ERR_EXISTS: the project has a model or an alias of that name;
 * ERR_TOO_LARGE, ERR_NOMEM. Only before the table is handed over. */
int routes_add(struct routes *r, const struct routes_model *m, struct err *err);

struct routes_found {
    const struct routes_model *model;
    const struct routes_alias *alias; /* NULL: it was found by its name */
    size_t place;                     /* of the model in the table */
};
enum routes_answer { ROUTES_FOUND, ROUTES_UNKNOWN, ROUTES_AMBIGUOUS };
/* project: of the caller, or empty. */
enum routes_answer routes_find(const struct routes *r, struct str project, struct str name,
                               struct routes_found *ret);

size_t routes_count(const struct routes *r);
const struct routes_model *routes_at(const struct routes *r, size_t place); /* in order of adding */
/* What the servers call it: of the alias, of the backend, or as the client wrote it. */
struct str routes_served(const struct routes_found *f, size_t backend, struct str asked);

#endif
