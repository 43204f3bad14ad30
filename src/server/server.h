/*
 * server: the embedded Kubernetes API server over a mirror. One per process, on the loop thread.
 *
 *     struct server_options o = {.loop = l, .mirror = m, .guard = g, .tls = t, .host =
 STR("127.0.0.1"), .port = 6443};
 *     struct server *s = server_new(&o, &err);       nothing listens yet; server_writer() works at
 once
 *     server_start(s, &err);                         listens
 *     server_stop(s, 5000, stopped, ctx);            readyz fails, watches end, answers in flight
 finish, then stopped()
 *     server_free(s);
 *
 * The mirror's `staged` callback must lead to mirror_flush soon (loop_defer): every write waits for its commit. The
 * server outlives nothing it was given: free it before the mirror and the loop.
 */
#ifndef BERTH_SERVER_SERVER_H
#define BERTH_SERVER_SERVER_H

#include "api/selector.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/offload.h"
#include "mirror/mirror.h"
#include "mirror/writer.h"
#include "net/http_server.h"
#include "net/loop.h"
#include "net/tls.h"
#include "port/admission.h"
#include "port/log_source.h"
#include "port/pod_sessions.h"
#include "port/virtual.h"
#include "wire/prometheus.h"

struct server;
struct guard;

/* A page that the outer world adds: dashboard assets, healthz of something else, ... `prefix` is
 * matched on whole
 * segments ("/ui" takes /ui and /ui/x); the handler answers r. Authorized as the path it is, unless `open`. */
struct server_page {
    const char *prefix;
    bool open;
    void (*handler)(void *ctx, struct http_request *r);
    void *ctx;
};

struct server_options {
    uint32_t service_base; /* of the addresses of Services; 0: 10.43.0.0/16 */
    int service_bits;
    struct loop *loop;
    struct mirror *mirror;
    struct guard *guard;           /* server/kit/guard.h; NULL: everything is allowed (tests) */
    struct log_source *logs;       /* NULL: pod logs answer 501 */
    struct pod_sessions *sessions; /* NULL: exec, attach and portforward answer 503 */
    struct admission *admission;   /* asked before anything is stored; NULL: nobody has a say */
    /* Who answers for computed kinds; NULL: nobody (503) */
    const struct virtual_registry *virtuals;
    struct offload *offload; /* reads long YAML bodies; NULL: on the loop. It outlives the server */
    struct log *log;         /* NULL: silent; only what an operator must know */
    struct tls_server *tls;  /* NULL: plain HTTP */
    const char
        *pki; /* folder of the authority that signs certificates of clients; NULL: nobody signs */
    struct str host;
    uint16_t port;        /* 0: any free one */
    bool allow_any;       /* listen on other than loopback */
    struct prom *metrics; /* for /metrics, after the server's own; may be NULL */
    /* false and a word why: /readyz fails. May be NULL. */
    bool (*ready)(void *ctx, struct str *ret_why);
    void *ready_ctx;
    struct str notes; /* lines for /readyz?verbose */
    /* Looks at every request before anybody else: true when it answered, or will. May be NULL. */
    bool (*front)(void *ctx, struct http_request *r);
    void *front_ctx;
    const struct server_page *pages; /* kept by the caller */
    size_t n_pages;
};

/* When CustomResourceDefinitions were loaded from the store, before objects of any other kind are: the kinds that they
 * describe are known again. */
int server_recover_kinds(struct mirror *m, struct err *err);

struct server *server_new(const struct server_options *o, struct err *err);
int server_start(struct server *s, struct err *err);
uint16_t server_port(const struct server *s); /* 0 before server_start */
/* A request that came on a listener of somebody else's: answered as if it had come on ours. That listener's requests
 * must all have ended before server_free; server_stop ends their watches. */
void server_handle(struct server *s, struct http_request *r);
/* Of such a request, whose body has not come: http_server_options.head of that listener. */
bool server_head(struct server *s, struct http_request *r);
/* Asks all streams' rights again, soon: a session of theirs may have ended. */
void server_recheck(struct server *s);
void server_stop(struct server *s, int64_t grace_ms, void (*stopped)(void *ctx), void *ctx);
void server_free(struct server *s); /* NULL is a no-op; not before `stopped` when it was started */

/* Writes of controllers: the same pipeline as HTTP, without authentication and authorization; the
 * user is
 * system:serviceaccount:kube-system:<who>. Owned by the server. */
struct writer *server_writer(struct server *s);

/* Makes an object at start (default namespaces, roles) if it is absent, synchronously staged; the body is JSON of any
 * served version. 0 also when it exists: then the rules of a role that says autoupdate "true" are made those of the
 * body, unless the stored role says "false". Flush the mirror afterwards. */
int server_bootstrap(struct server *s, struct str json, struct err *err);
/* The FlowSchemas and PriorityLevelConfigurations that are there from the start, by server_bootstrap. */
int server_bootstrap_flows(struct server *s, struct err *err);

#endif
