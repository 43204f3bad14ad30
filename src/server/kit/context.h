/*
 * context (server): declarations shared by the files of this room: the server itself and one call.
 *
 * A call is one HTTP request under way. It lives in the request's arena and ends with it: whoever waits for something
 * that may outlive the peer (a commit, a timer) keeps a pointer to the call that `detach` clears.
 */
#ifndef BERTH_SERVER_CONTEXT_H
#define BERTH_SERVER_CONTEXT_H

#include "port/virtual_watch.h"
#include "server/kit/groups.h"
#include "server/kit/guard.h"
#include "server/kit/negotiate.h"
#include "server/kit/request.h"
#include "server/kit/status.h"
#include "server/server.h"

struct watch_hub;
struct streams;
struct read_turns;
struct write;
struct crds;
struct conversions;
struct openapi_sums;
struct server_writer;
struct server_metrics;
struct flows;
struct flow;
struct hooks;
struct policies;
struct yaml_job;
struct talk_line;

struct server {
    struct server_options o;
    struct clock *clock;
    struct http_server *http;
    struct watch_hub *hub;           /* watch.c */
    struct virtual_hub *computed;    /* virtual_stream.c */
    struct streams *streams;         /* streams.c */
    struct read_turns *turns;        /* turns.c */
    struct flows *flows;             /* flow/flow.c */
    struct server_writer *writer;    /* writer.c */
    struct hooks *hooks;             /* hooks.c */
    struct policies *policies;       /* policies.c */
    struct server_metrics *metrics;  /* health.c */
    struct crds *crds;               /* crd.c */
    struct conversions *conversions; /* convert.c */
    struct yaml_job *yaml_jobs;      /* yaml_body.c */
    size_t n_yaml_jobs;
    struct talk_line *lines;         /* talk/line.c: sessions with pods */
    struct timer *lines_timer;       /* looks for idle ones while there are any */
    struct service_lately *services; /* admit_service.c */
    struct id_ranges *ids;           /* admit.c */
    struct write *spare_writes;      /* free list, pipeline.c */
    size_t n_spare_writes;
    /* For one item of a list, one frame of a watch: reset by its user each time */
    struct arena scratch;
    size_t inflight_reads, inflight_writes, long_running;
    bool stopping;
    struct openapi_sums *openapi; /* openapi.c */
    unsigned char random[1024];   /* for uids, names.c */
    size_t random_left;
};

/* What a policy notes of a request in the audit log. */
struct call_note {
    struct str key, value;
    struct call_note *next;
};

/* Where a call stands among others: flow/flow.h. */
struct flow_seat {
    struct flow *flow; /* NULL: it is exempt, or not admitted */
    struct str schema, schema_uid, level_uid;
    struct call *next; /* of those that wait */
    void (*go)(struct call *c);
    int64_t since; /* monotonic time of its coming */
    bool waits;
};

struct call {
    struct server *s;
    struct http_request *http;
    struct arena *arena;
    struct api_request req;
    struct media media;
    struct failure failure;
    struct str decision, audit_id;
    struct call_note *notes;
    size_t note_bytes;
    int64_t started_ns;
    struct flow_seat seat;
    size_t *inflight; /* the counter this call is counted in, or NULL */
    /* Called once when the request ends or the peer goes away while someone waits; NULL otherwise.
     * */
    void (*detach)(struct call *c, void *ctx);
    void *detach_ctx;
    struct oidc_waiter waiter; /* while who asks is being found out */
    bool answered;
    bool upgraded;                /* it is audited already */
    bool quiet;                   /* warnings are dropped: a write runs again */
    struct call_wait *converting; /* an answer that waits for a conversion, server.c */
    struct call *next, *prev;     /* of the streams under way, while `streams` */
    bool streams;
};

int64_t server_now(struct server *s); /* wall time */

/* ---- answers; each ends the call ---- */
void call_fail(struct call *c); /* c->failure */
void call_bytes(struct call *c, int http, const char *type, struct str body);
void call_json(struct call *c, int http,
               struct buf *b); /* fails with 500 when b failed; b stays the caller's */
/* For streams: headers that every API answer has, counting and audit. */
void call_stream(struct call *c, const char *type);
void call_stream_end(struct call *c);
/* The same for another protocol on the connection (http_upgrade); audited now, since it may last for hours. */
void call_upgrade(struct call *c, const char *protocol,
                  bool (*received)(void *user, struct str bytes));
/* For an answer in several steps, which stays counted as one: the same, and audit at its end. */
void call_long(struct call *c, const char *type);
void call_long_end(struct call *c);
/* A Warning header; kubectl prints it. */
void call_warn(struct call *c, struct str text);
/* An annotation of the request in the audit log; another value of a key is added to the first. Views are kept. Beyond
 * LIMIT_POLICY_NOTES they are left out. */
void call_note(struct call *c, struct str key, struct str value);

#endif
