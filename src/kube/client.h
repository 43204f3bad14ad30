/*
 * client (kube): requests to an API server, ours or a real one, by a kubeconfig.
 *
 * Asynchronous on a loop, over net's HTTP client; answers come on the loop thread, exactly once. TLS is always
 * verified, and credentials are never sent over plain http. kube_wait runs the loop until one request is answered:
 * for people's verbs, which do one thing at a time.
 */
#ifndef BERTH_KUBE_CLIENT_H
#define BERTH_KUBE_CLIENT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "net/loop.h"

struct kube_client;

/* path NULL: $KUBECONFIG, else ~/.kube/config. context NULL: the current one. */
struct kube_client *kube_client_new(struct loop *l, const char *kubeconfig, const char *context,
                                    const char *user_agent, struct err *err);
void kube_client_free(struct kube_client *c); /* cancels what is under way, without calling done */
struct str kube_namespace(const struct kube_client *c); /* of the context, else "default" */
struct str kube_server(const struct kube_client *c);    /* "https://127.0.0.1:6443" */

/* What its certificate is verified by, in PEM; empty: what the machine trusts. 0 or an error. */
int kube_authority(const struct kube_client *c, struct arena *a, struct str *ret, struct err *err);

struct kube_reply {
    int code;       /* 0, or an error: transport, or the Status' reason (ERR_NOT_FOUND, ...) */
    struct err err; /* message of the Status, or of the transport */
    int status;     /* HTTP status, 0 when there was none */
    bool sent;      /* after a transport's error: some of the request may have reached the server */
    struct str body; /* valid during the call */
};
typedef void kube_done(void *ctx, const struct kube_reply *r);

struct kube_request {
    const char *method; /* "GET" */
    struct str path;    /* "/api/v1/namespaces/default/pods?limit=500"; already encoded */
    struct str body;
    bool lasting;             /* path and body stay valid until done; else they are copied */
    const char *content_type; /* NULL: application/json */
    const char *accept;       /* NULL: application/json */
    int64_t timeout_ms;       /* 0: 60 s; -1: none (streams) */
    /* For streams (watch, follow): bytes as they come; done comes at the end. false ends the stream. */
    bool (*data)(void *ctx, struct str bytes);
    /* Asked right before the request goes out on a connection that stands, each time it is sent. False: it ends with
     * ERR_UNAVAILABLE, nothing sent. NULL: always. */
    bool (*may_send)(void *ctx);
    void *may_send_ctx;
    kube_done *done;
    void *ctx;
};
struct kube_call; /* a request under way */
int kube_send(struct kube_client *c, const struct kube_request *r, struct kube_call **ret,
              struct err *err);
void kube_cancel(struct kube_call *call); /* done is not called */

/* One request, blocking on the loop. *ret_body is appended to. Returns the reply's code. */
int kube_wait(struct kube_client *c, const char *method, struct str path, struct str body,
              const char *content_type, struct buf *ret_body, struct err *err);

#endif
