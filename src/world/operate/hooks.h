/*
 * hooks: the webhooks of `berth operate`: the admission they answer with, the server, and, while we lead, who keeps the
 * certificate. Every replica serves; one keeps.
 */
#ifndef BERTH_WORLD_HOOKS_H
#define BERTH_WORLD_HOOKS_H

#include "control/kit/env.h"
#include "net/loop.h"
#include "world/operate/operate_options.h"

struct operate_hooks;

struct hooks_options {
    struct loop *loop;
    struct mirror *mirror;
    struct log *log;
    struct prom *metrics;
    const struct queue_settings *settings;
    const struct operate_options *options; /* with serve_webhook */
    struct str ns;                         /* where Berth runs; kept by the caller */
    bool (*ready)(void *ctx);              /* whether the mirror is complete */
    void *ctx;
};

struct operate_hooks *hooks_new(const struct hooks_options *o, struct err *err);
/* Nothing new is taken, what was asked is answered; then `stopped`. */
void hooks_stop(struct operate_hooks *h, int64_t grace_ms, void (*stopped)(void *ctx), void *ctx);
void hooks_free(struct operate_hooks *h);
/* For health_add. */
int hooks_check(void *h, struct err *err);
/* We lead: keeps the certificate, with these means, until the end of the term. No-op where it comes from files. */
int hooks_begin_term(struct operate_hooks *h, const struct control_env *env, struct err *err);
void hooks_end_term(struct operate_hooks *h);

#endif
