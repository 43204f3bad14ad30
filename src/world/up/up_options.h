/* up_options: what `berth up` was asked for, checked. Strings are views of argv or static. */
#ifndef BERTH_WORLD_UP_OPTIONS_H
#define BERTH_WORLD_UP_OPTIONS_H

#include <stdbool.h>

#include "base/err.h"
#include "cli/kit/options.h"
#include "control/kit/env.h"
#include "node/node.h"
#include "world/kit/panel.h"
#include "world/up/identity.h"

struct up_options {
    const char *data; /* NULL: the default folder */
    struct address listen;
    bool allow_any; /* --listen may be other than loopback */
    struct panel_at dashboard;
    struct {
        struct address address;
        bool on, chosen; /* chosen: by the user, so that no other port will do */
    } gateway;
    struct identity_at identity;
    const char *gpus;       /* as node_options.gpus */
    const char *config;     /* Kueue's Configuration file; NULL: none */
    const char *kubeconfig; /* a further copy of the administrator's; NULL: none */
    const char *runtime;    /* one of runtime_choices */
    const char *nvml;
    const char *host_path;
    const char *weights;
    const char *image_hosts;
    const char *pod_network, *pod_range, *service_range,
        *uplink;           /* as node_options; NULL: theirs */
    uint32_t service_base; /* of service_range; 0: the usual */
    int service_bits;
    bool manage_mig;
    bool require_isolation;
    bool accept_loss;      /* a database that is behind what is known of it is taken */
    struct retention kept; /* of what is over */
    unsigned controllers;  /* which run; enum control_set */
    /* None of Kueue's and ours: their kinds come as CustomResourceDefinitions */
    bool queues_outside;
    bool node; /* run a node */
    bool verbose;
};

enum { UP_OPTIONS = 27 + IDENTITY_N_OPTIONS };
extern const struct cli_option up_option_rows[UP_OPTIONS];

int up_options_read(const struct cli_args *a, struct up_options *ret, struct err *err);

/* ---- what `berth node` has as well ---- */

extern const char *const gpus_choices[], *const runtime_choices[], *const network_choices[],
                                                                       *const uplink_choices[];
enum node_runtime runtime_option(const struct cli_args *a);
enum node_runtime runtime_named(const char *word);

#define GPUS_OPTION                                                                                \
    { "gpus", 0, "SPEC", "the GPUs to give out; else auto", gpus_choices, false }
#define RUNTIME_OPTION                                                                             \
    {                                                                                              \
        "runtime", 0, "KIND",                                                                      \
            "files of pods: podman: their images', process: the machine's; else auto",             \
            runtime_choices, false                                                                 \
    }
#define MANAGE_MIG_OPTION                                                                          \
    { "manage-mig", 0, NULL, "the MIG mode of real GPUs may be changed while idle", NULL, false }
#define REQUIRE_ISOLATION_OPTION                                                                   \
    {                                                                                              \
        "require-isolation", 0, NULL,                                                              \
            "do not start where something is missing that keeps pods apart", NULL, false           \
    }
#define NVML_OPTION                                                                                \
    { "nvml", 0, "FILE", "path of libnvidia-ml.so.1; else found", NULL, false }
#define HOST_PATH_OPTION                                                                           \
    {                                                                                              \
        "host-path", 0, "DIR", "hostPath volumes below this folder are allowed; else none", NULL,  \
            false                                                                                  \
    }
#define WEIGHTS_OPTION                                                                             \
    {                                                                                              \
        "weights", 0, "DIR", "file:// weights of models below this folder are allowed; else none", \
            NULL, false                                                                            \
    }
#define IMAGE_HOSTS_OPTION                                                                         \
    {                                                                                              \
        "image-registries", 0, "HOSTS",                                                            \
            "registries that images may be pulled from (docker.io,*.example.org,!HOST); else any", \
            NULL, false                                                                            \
    }
#define POD_NETWORK_OPTION                                                                         \
    {                                                                                              \
        "pod-network", 0, "KIND", "own: pods have addresses of their own; else auto: if it can",   \
            network_choices, false                                                                 \
    }
#define POD_RANGE_OPTION                                                                           \
    { "pod-range", 0, "NETWORK", "addresses of pods; else 10.42.0.0/16", NULL, false }
#define SERVICE_RANGE_OPTION                                                                       \
    { "service-range", 0, "NETWORK", "addresses of Services; else 10.43.0.0/16", NULL, false }
#define UPLINK_OPTION                                                                              \
    {                                                                                              \
        "pod-uplink", 0, "KIND", "the way out for pods; else auto: pasta where installed",         \
            uplink_choices, false                                                                  \
    }
#define DASHBOARD_HOST_OPTION                                                                      \
    {                                                                                              \
        "dashboard-host", 0, "NAME", "a name that browsers may call it by, besides localhost",     \
            NULL, true                                                                             \
    }
/* Checks the list of --image-registries. */
int image_hosts_option(const struct cli_args *a, struct err *err);
/* Reads --dashboard-host into at->hosts. */
int dashboard_hosts_option(const struct cli_args *a, struct panel_at *at, struct err *err);
#define VERBOSE_OPTION                                                                             \
    { "verbose", 0, NULL, "log more", NULL, false }

#endif
