/*
 * webhooks: what a kube-apiserver asks Berth about, as a table: one row is one path. What is printed has a webhook for
 * objects that are queued and, where new ones are changed, another for those that are not.
 *
 * `berth manifests` prints the configurations from it, site/webhook serves the paths in it, and
 * control/admit/webhook_certs keeps their caBundle. Paths are those of Kueue, so that dashboards and network rules made
 * for it still fit; names are ours, so that both can be told apart where one replaces the other.
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
    /* One of Kueue's: asked in every namespace, and not about what Berth itself writes */
    bool own_kind;
    unsigned ops; /* set of enum webhook_op */
};

const struct webhook *webhooks_all(size_t *ret_n);
const struct webhook *webhook_by_path(struct str path); /* NULL: none */

/* Appends both configurations as YAML documents, each begun by "---". `ns` is where Berth runs. While Berth is down
 * what names a queue (or is marked as a pod that waits) cannot be made: failurePolicy Fail. The rest can, as it is: it
 * is asked about only for the LocalQueue "default" and where all jobs are managed, by a webhook of its own
 * ("-unqueued") with failurePolicy Ignore, and has no rules. kube-system and Berth's own namespace are never asked
 * about. */
void webhooks_write(struct str ns, struct buf *out);

#endif
