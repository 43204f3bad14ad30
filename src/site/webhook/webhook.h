/*
 * webhook: what a kube-apiserver asks Berth, answered over HTTPS: AdmissionReview (v1) at the paths of api/webhooks.h,
 * ConversionReview (v1) at /convert. Nothing else is served, and nothing without TLS.
 *
 *     struct webhook_server_options o = {.loop = l, .mirror = m, .admission = a, .host = STR("0.0.0.0"), .port = 9443,
 *                                        .allow_any = true, .ns = STR("berth-system")};
 *     struct webhook_server *s = webhook_server_new(&o, &err);
 *     webhook_server_check      for readyz: it listens, with a certificate
 *     webhook_server_stop(s, 5000, stopped, ctx); webhook_server_free(s);
 *
 * The certificate comes from the Secret, which the leader keeps (webhook_certs.h): every replica feeds on it,
 * listens from the moment it is there, and takes over a new one for connections to come. Or from files, looked at once
 * a minute; then the Secret is not read. A pair that does not fit together, or cannot be read, is tried again, and
 * what was served before goes on. What is answered needs no leadership.
 *
 * A question that cannot be answered yet (the mirror is not full) gets 500 and no review, so that the webhook's
 * failurePolicy decides. Loop thread only.
 */
#ifndef BERTH_SITE_WEBHOOK_H
#define BERTH_SITE_WEBHOOK_H

#include "base/log.h"
#include "mirror/mirror.h"
#include "net/http_server.h"
#include "port/admission.h"
#include "wire/prometheus.h"

struct webhook_server;

struct webhook_server_options {
    struct loop *loop;
    struct mirror *mirror;       /* where the Secret is */
    struct admission *admission; /* NULL: the tables of Kueue's kinds alone */
    struct log *log;
    struct prom *metrics; /* berth_webhook_requests_total; may be NULL */
    struct str host;
    uint16_t port; /* 0: any free one, see webhook_server_port */
    bool allow_any;
    const char *cert_file, *key_file; /* NULL: from the Secret; kept by the caller */
    int64_t files_every_ns;           /* 0: a minute */
    struct str ns, secret; /* of the Secret; secret empty: WEBHOOK_SECRET; kept by the caller */
};

/* ERR_INVALID, ERR_IO: the files. A Secret that is not there, or holds nothing usable, is waited for. */
struct webhook_server *webhook_server_new(const struct webhook_server_options *o, struct err *err);
uint16_t webhook_server_port(const struct webhook_server *s); /* 0 before it listens */
/* For health_add: 0, or ERR_UNAVAILABLE while it does not listen. */
int webhook_server_check(void *s, struct err *err);
void webhook_server_stop(struct webhook_server *s, int64_t grace_ms, void (*stopped)(void *ctx),
                         void *ctx);
void webhook_server_free(struct webhook_server *s); /* NULL is a no-op */

#endif
