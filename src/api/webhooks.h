/*
 * webhooks: what a kube-apiserver asks Berth about, as a table: one row is one webhook.
 *
 * `berth manifests` prints the configurations from it, site/webhook serves the paths in it, and control/webhook_certs
 * keeps their caBundle. Paths are those of Kueue, so that dashboards and network rules made for it still fit; names are
 * ours, so that both can be told apart where one replaces the other.
 */
#ifndef BERTH_API_WEBHOOKS_H
#define BERTH_API_WEBHOOKS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

/* Of both configurations, and of the Service and its certificate's Secret. */
#define WEBHOOK_CONFIGURATION "berth-webhook"
#define WEBHOOK_SERVICE "berth-webhook"
#define WEBHOOK_SECRET "berth-webhook-cert"
/* Of CustomResourceDefinitions with several versions. */
#define WEBHOOK_CONVERT_PATH "/convert"
/* On a configuration or definition: its caBundle is kept by Berth though it names an address and not the Service. */
#define WEBHOOK_INJECT_ANNOTATION "berth.dev/inject-ca"

enum webhook_op { WEBHOOK_CREATE = 1 << 0, WEBHOOK_UPDATE = 1 << 1, WEBHOOK_DELETE = 1 << 2 };

struct webhook {
    const char *name; /* "mjob.berth.dev" */
    const char *path; /* "/mutate-batch-v1-job" */
    const char *group, *version, *plural;
    bool mutating;
    bool status; /* asked about the status subresource, too */
    bool
        own_kind; /* one of Kueue's: asked in every namespace, and not about what Berth itself writes */
    unsigned ops; /* set of enum webhook_op */
};

const struct webhook *webhooks_all(size_t *ret_n);
const struct webhook *webhook_by_path(struct str path); /* NULL: none */

/* Appends both configurations as YAML documents, each begun by "---". `ns` is where Berth runs. Berth down means that
 * what names a queue cannot be made (failurePolicy Fail); kube-system and Berth's own namespace are never asked about,
 * so that the cluster comes up without it. */
void webhooks_write(struct str ns, struct buf *out);

#endif
