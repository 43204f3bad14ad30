/* node_fetch: what pods are made of, asked of the API: ConfigMaps, Secrets, claims and their volumes, tokens. */
#include <stdio.h>

#include "api/schema/codec_encode.h"
#include "api/tables/view_rbac.h"
#include "base/mem.h"
#include "node/net/model.h"
#include "node/node_private.h"
#include "node/spec/pod_made.h"

enum { ARENA_BYTES = 4 << 20, TOKEN_BODY_MAX = 1 << 16 };

/* ---- the API server, as pods are told of it ---- */

/* Where it listens: an IPv4 address, since pods have no other; else they are told nothing. */
int node_find_api(struct node *n, struct err *err) {
    struct str rest = kube_server(n->kube), at;
    struct model_endpoint e;
    uint32_t services;
    int bits;
    ptrdiff_t scheme = str_find(rest, '/');

    at = scheme < 0 ? rest : str_skip(rest, (size_t)scheme + 2);
    str_cut(at, '/', &at, &rest);
    arena_init(&n->arena, ARENA_BYTES);
    if (model_endpoint(at, &e)) {
        str_copy(at, n->api, sizeof(n->api));
    } else {
        log_info(n->log,
                 "node %s: pods are not told where the API server is: %.*s is not ADDRESS:PORT",
                 n->name, STR_ARG(at));
    }
    if (model_ip(str_of(n->o.service_range ? n->o.service_range : NODE_SERVICE_RANGE), &services,
                 &bits)) {
        model_ip_text(services + 1, n->api_service);
    }
    return kube_authority(n->kube, &n->arena, &n->authority, err);
}

/* ---- ConfigMaps and Secrets ---- */

struct fetch_call {
    void (*done)(void *ctx, int code, struct str json);
    void *ctx;
};

static void on_fetched(void *ctx, const struct kube_reply *r) {
    struct fetch_call *f = ctx;

    f->done(f->ctx, r->code, r->body);
    mem_free(f);
}

static void fail_late(void *ctx) {
    struct fetch_call *f = ctx;

    f->done(f->ctx, ERR_UNAVAILABLE, STR(""));
    mem_free(f);
}

static bool safe_name(struct str s) {
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.')) {
            return false;
        }
    }
    return path_plain(s);
}

/* A token that ends with its pod. */
static int fetch_token(struct node *n, const struct pod_fetch *w, const struct pod_token *t,
                       struct fetch_call *f) {
    struct str audience = t->audience;
    struct bound_object pod = {
        .kind = STR("Pod"), .api_version = STR("v1"), .name = w->pod, .uid = w->pod_uid};
    struct token_request_spec spec = {.expiration_seconds = {true, t->seconds},
                                      .bound_object_ref = &pod,
                                      .audiences = {&audience, audience.n > 0}};
    const struct token_request want = {.spec = &spec};
    struct kube_call *call;
    char path[PATH_LEN];
    struct buf body;

    int k = snprintf(path, sizeof(path), "/api/v1/namespaces/%.*s/serviceaccounts/%.*s/token",
                     STR_ARG(w->ns), STR_ARG(t->account));
    buf_init(&body, TOKEN_BODY_MAX);
    codec_encode(&schema_token_request, &want, &body);
    const struct kube_request r = {.method = "POST",
                                   .path = str_from(path, (size_t)k),
                                   .body = buf_view(&body),
                                   .done = on_fetched,
                                   .ctx = f};
    int code = !safe_name(t->account) || k >= (int)sizeof(path) || buf_ok(&body)
                   ? ERR_INVALID
                   : kube_send(n->kube, &r, &call, NULL);
    buf_release(&body);
    return code;
}

static int fetch_object(struct node *n, const struct pod_fetch *w, struct fetch_call *f) {
    struct kube_call *call;
    char path[PATH_LEN];

    static const char *const plurals[] = {
        [POD_SECRET] = "secrets",
        [POD_CONFIG_MAP] = "configmaps",
        [POD_CLAIM] = "persistentvolumeclaims",
    };
    int k = w->kind == POD_PERSISTENT_VOLUME
                ? snprintf(path, sizeof(path), "/api/v1/persistentvolumes/%.*s", STR_ARG(w->name))
                : snprintf(path, sizeof(path), "/api/v1/namespaces/%.*s/%s/%.*s", STR_ARG(w->ns),
                           plurals[w->kind], STR_ARG(w->name));
    const struct kube_request r = {
        .method = "GET", .path = str_from(path, (size_t)k), .done = on_fetched, .ctx = f};
    return !safe_name(w->name) || k >= (int)sizeof(path) ? ERR_INVALID
                                                         : kube_send(n->kube, &r, &call, NULL);
}

void node_fetch(void *ctx, const struct pod_fetch *w,
                void (*done)(void *done_ctx, int code, struct str json), void *done_ctx) {
    struct node *n = ctx;
    struct fetch_call *f = mem_zalloc(sizeof(*f));
    struct pod_token t;

    if (f == NULL) {
        return; /* asked again when the pod is tried again */
    }
    *f = (struct fetch_call){done, done_ctx};
    int code = w->kind != POD_TOKEN           ? fetch_object(n, w, f)
               : pod_token_named(w->name, &t) ? fetch_token(n, w, &t, f)
                                              : ERR_INVALID;
    if (code) {
        loop_defer(n->loop, fail_late, f);
    }
}
