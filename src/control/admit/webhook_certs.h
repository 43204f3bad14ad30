/*
 * webhook_certs: the leader's part of the webhooks' certificate.
 *
 * It keeps the Secret: what the cert_keeper says should be in it is written by a patch that carries the
 * resourceVersion it was decided on, so that of two writers one wins and the other looks again. And it tells API
 * servers whom to trust: the bundle is put as caBundle into the webhook configurations and into the conversion of
 * CustomResourceDefinitions, only where they point to Berth's Service (or carry berth.dev/inject-ca: "true").
 *
 * With `bundle` given, certificates come from files: then the Secret is left alone and that bundle is told.
 */
#ifndef BERTH_CONTROL_WEBHOOK_CERTS_H
#define BERTH_CONTROL_WEBHOOK_CERTS_H

#include "control/kit/controller.h"
#include "port/cert_keeper.h"

/* What it is made with: controller_new_with(&webhook_certs_controller, env, &options, err). */
struct webhook_certs_options {
    struct cert_keeper *keeper; /* borrowed; may be NULL with `bundle` */
    struct str bundle;          /* PEM; empty: of the Secret */
    /* Of Berth; service and secret empty: WEBHOOK_SERVICE, WEBHOOK_SECRET. Kept by the caller. */
    struct str ns, service, secret;
};

/* Of no set of `--controllers`: an operator with webhooks has it (world/operate/hooks.c). */
extern const struct controller_row webhook_certs_controller;

#endif
