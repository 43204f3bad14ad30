/* gateway_watch: see gateway_watch.h. */
#include "world/gateway/gateway_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "gateway/see/witness.h"
#include "net/tls.h"
#include "node/net/pod_net.h"
#include "world/gateway/gateway_source.h"
#include "world/gateway/span_sender.h"

enum { LOG_MODE = 0600 };

struct gateway_watch {
    struct gateway_watch_options o;
    struct loop *loop;
    struct log *log;
    struct kube_client *kube;
    struct gateway_source *source;
    struct gateway *gateway;
    struct request_tally *tally;
    struct access_log *access;
    int access_fd;
    struct span_queue *spans;
    struct span_sender *sender;
    struct witness witness;
};

static void on_routes(void *ctx, struct routes *r) {
    struct gateway_watch *w = ctx;
    if (w->gateway != NULL) {
        gateway_set_routes(w->gateway, r);
    } else {
        routes_unref(r);
    }
}

static struct wake_activity activity(void *ctx, struct str project, struct str service) {
    struct gateway_watch *w = ctx;
    struct tally_activity a = tally_activity(w->tally, project, service);
    return (struct wake_activity){a.under_way, a.last_s};
}

/* On a worker's thread. Where pods are on the machine's own network there is no router. */
static int pod_socket(void *ctx, bool v6) {
    struct gateway_watch *w = ctx;
    struct err err;
    int fd = v6 ? -1 : pod_net_socket(w->o.pods_of, POD_NET_TCP, &err);
    if (fd == -1 && (v6 || err.code == ERR_NOT_FOUND)) {
        fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    }
    return fd;
}

static int open_log(struct gateway_watch *w, struct err *err) {
    const char *path = w->o.access_log;
    if (path == NULL) {
        return 0;
    }
    w->access_fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, LOG_MODE);
    return w->access_fd == -1 ? err_sys(err, errno, "--access-log: open %s", path)
                              : access_log_new(w->access_fd, &w->access, err);
}

static int open_spans(struct gateway_watch *w, struct err *err) {
    if (w->o.otlp == NULL) {
        return 0;
    }
    w->spans = spans_new();
    int r = w->spans ? 0 : err_set(err, ERR_NOMEM, "no memory for spans");
    r = r ? r : span_sender_new(w->loop, w->log, w->o.otlp, w->spans, &w->sender, err);
    return r ? err_wrap(err, "--otlp") : 0;
}

int gateway_watch_new(struct loop *l, struct log *log, const struct gateway_watch_options *o,
                      struct gateway_watch **ret, struct err *err) {
    struct gateway_watch *w = mem_zalloc(sizeof *w);
    uint64_t seed = 0;
    if (w == NULL) {
        return err_set(err, ERR_NOMEM, "no memory for a gateway");
    }
    *w = (struct gateway_watch){.o = *o, .loop = l, .log = log, .access_fd = -1};
    w->tally = tally_new(o->workers);
    int r = w->tally ? 0 : err_set(err, ERR_NOMEM, "no memory for a gateway");
    r = r ? r : open_log(w, err);
    r = r ? r : open_spans(w, err);
    r = r ? r : tls_random(&seed, sizeof seed, err);
    if (r == 0) {
        w->kube = kube_client_new(l, o->kubeconfig, o->context,
                                  "berth-gateway/" BERTH_VERSION " (linux)", err);
        r = w->kube ? 0 : err->code;
    }
    witness_init(&w->witness, w->tally, w->access, w->spans, o->sampled, seed);
    const struct gateway_source_options so = {.loop = l,
                                              .kube = w->kube,
                                              .log = log,
                                              .sleeps = o->sleeps,
                                              .routes = on_routes,
                                              .activity = activity,
                                              .ctx = w};
    r = r ? r : gateway_source_start(&so, &w->source, err);
    if (r != 0) {
        gateway_watch_free(w);
        return r;
    }
    *ret = w;
    return 0;
}

void gateway_watch_fill(struct gateway_watch *w, struct gateway_options *o) {
    o->keys = gateway_source_keys(w->source);
    o->demand = gateway_source_demand(w->source);
    o->observer = &w->witness.observer;
    if (w->o.pods_of != NULL) {
        o->socket = pod_socket;
        o->socket_ctx = w;
    }
}

void gateway_watch_to(struct gateway_watch *w, struct gateway *g) {
    w->gateway = g;
}

void gateway_watch_free(struct gateway_watch *w) {
    if (w == NULL) {
        return;
    }
    gateway_source_free(w->source);
    kube_client_free(w->kube);
    span_sender_free(w->sender);
    spans_free(w->spans);
    access_log_free(w->access);
    if (w->access_fd != -1) {
        close(w->access_fd);
    }
    tally_free(w->tally);
    mem_free(w);
}
