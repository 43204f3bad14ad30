/* operate_options: what `berth operate` was asked for, checked. Strings are views of argv or static. */
#ifndef BERTH_WORLD_OPERATE_OPTIONS_H
#define BERTH_WORLD_OPERATE_OPTIONS_H

#include "base/err.h"
#include "cli/kit/options.h"
#include "control/control_set.h"
#include "world/kit/panel.h"

struct operate_options {
    const char *kubeconfig, *context; /* NULL: as kubectl finds them, or the service account */
    const char *config;               /* Kueue's Configuration file; NULL: none */
    struct control_list controllers;
    struct address metrics, health, webhook; /* of those that are asked for */
    bool serve_metrics, serve_health, serve_webhook, allow_any;
    struct panel_at dashboard;
    const char *webhook_cert, *webhook_key; /* files; NULL: a certificate of our own, in a Secret */
    bool elect;
    int64_t lease_ns, renew_ns, retry_ns;
    const char *lease_name;
    const char *ns; /* where the Lease and the Secret are; NULL: ours, or kube-system */
    double qps;     /* 0: no limit */
    size_t burst, concurrent_writes; /* 0: the writer's own */
    bool verbose;
};

enum { OPERATE_OPTIONS = 25 };
extern const struct cli_option operate_option_rows[OPERATE_OPTIONS];

int operate_options_read(const struct cli_args *a, struct operate_options *ret, struct err *err);

#endif
