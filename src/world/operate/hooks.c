/* hooks: see hooks.h. */
#include "world/operate/hooks.h"

#include "api/webhooks.h"
#include "base/mem.h"
#include "control/admit/admission.h"
#include "control/admit/webhook_certs.h"
#include "site/webhook/webhook.h"
#include "site/webhook/webhook_cert.h"

struct operate_hooks {
    struct hooks_options o;
    struct admission *admission;
    struct webhook_server *server;
    struct cert_keeper *keeper;
    void *certs; /* the controller of this term */
};

/* By what API servers call it: its Service, or where it listens. */
static struct cert_keeper *make_keeper(const struct operate_hooks *h) {
    struct buf names[3];
    struct str views[4];
    for (size_t i = 0; i < 3; i++) {
        static const char *const ends[] = {".svc", ".svc.cluster.local", ""};
        buf_init(&names[i], 1024);
        buf_f(&names[i], WEBHOOK_SERVICE ".%.*s%s", STR_ARG(h->o.ns), ends[i]);
        views[i] = buf_view(&names[i]);
    }
    views[3] = str_of(h->o.options->webhook.host);
    struct cert_keeper *k = webhook_cert_keeper_new(views, 4);
    for (size_t i = 0; i < 3; i++) {
        buf_release(&names[i]);
    }
    return k;
}

struct operate_hooks *hooks_new(const struct hooks_options *o, struct err *err) {
    const struct operate_options *p = o->options;
    struct operate_hooks *h = mem_zalloc(sizeof *h);
    if (h == NULL) {
        err_set(err, ERR_NOMEM, "no memory");
        return NULL;
    }
    h->o = *o;
    struct admission_options a = {
        .mirror = o->mirror,
        .settings = o->settings,
        .ready = o->ready,
        .ready_ctx = o->ctx,
    };
    h->admission = admission_new(&a);
    h->keeper = p->webhook_cert ? NULL : make_keeper(h);
    if (h->admission == NULL || (h->keeper == NULL && p->webhook_cert == NULL)) {
        err_set(err, ERR_NOMEM, "no memory");
        hooks_free(h);
        return NULL;
    }
    struct webhook_server_options w = {
        .loop = o->loop,
        .mirror = o->mirror,
        .admission = h->admission,
        .log = o->log,
        .metrics = o->metrics,
        .host = str_of(p->webhook.host),
        .port = p->webhook.port,
        .allow_any = p->allow_any,
        .cert_file = p->webhook_cert,
        .key_file = p->webhook_key,
        .ns = o->ns,
    };
    h->server = webhook_server_new(&w, err);
    if (h->server == NULL) {
        hooks_free(h);
        return NULL;
    }
    return h;
}

void hooks_free(struct operate_hooks *h) {
    if (h) {
        hooks_end_term(h);
        webhook_server_free(h->server);
        admission_free(h->admission);
        webhook_cert_keeper_free(h->keeper);
        mem_free(h);
    }
}

void hooks_stop(struct operate_hooks *h, int64_t grace_ms, void (*stopped)(void *ctx), void *ctx) {
    webhook_server_stop(h->server, grace_ms, stopped, ctx);
}

int hooks_check(void *ctx, struct err *err) {
    struct operate_hooks *h = ctx;
    return webhook_server_check(h->server, err);
}

int hooks_begin_term(struct operate_hooks *h, const struct control_env *env, struct err *err) {
    struct webhook_certs_options o = {.keeper = h->keeper, .ns = h->o.ns};
    if (h->certs || h->keeper == NULL) {
        return 0;
    }
    h->certs = controller_new_with(&webhook_certs_controller, env, &o, err);
    return h->certs ? 0 : err->code;
}

void hooks_end_term(struct operate_hooks *h) {
    controller_free(h->certs);
    h->certs = NULL;
}
