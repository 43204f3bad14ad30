/* node_verb: `berth node`, one machine's agent. `berth up` starts one; on a cluster it runs on each GPU node. */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/cli.h"
#include "node/node.h"
#include "world/kit/verbs.h"
#include "world/up/up_options.h"

static int run(const struct cli_args *a) {
    const char *gpus = cli_value(a, "gpus");
    if (cli_value(a, "data") == NULL) {
        fprintf(stderr, "berth node: --data is needed: a folder\n");
        return CLI_USAGE;
    }
    if (cli_flag(a, "with-parent") && (prctl(PR_SET_PDEATHSIG, SIGTERM) == -1 || getppid() == 1)) {
        return CLI_FAILED; /* the parent is gone already */
    }
    struct err err;
    if (image_hosts_option(a, &err)) {
        fprintf(stderr, "berth node: %s\n", err.text);
        return CLI_USAGE;
    }
    struct log_fd log;
    log_fd_init(&log, cli_flag(a, "verbose") ? LOG_DEBUG : LOG_INFO, 2);
    struct node_options o = {
        .log = &log.log,
        .kubeconfig = cli_value(a, "kubeconfig"),
        .data_dir = cli_value(a, "data"),
        .name = cli_value(a, "name"),
        .gpus = gpus ? gpus : "auto",
        .runtime = runtime_option(a),
        .manage_mig = cli_flag(a, "manage-mig"),
        .require_isolation = cli_flag(a, "require-isolation"),
        .nvml_path = cli_value(a, "nvml"),
        .host_path_dir = cli_value(a, "host-path"),
        .weights_dir = cli_value(a, "weights"),
        .image_hosts = cli_value(a, "image-registries"),
        .pod_network = cli_value(a, "pod-network"),
        .pod_range = cli_value(a, "pod-range"),
        .service_range = cli_value(a, "service-range"),
        .uplink = cli_value(a, "pod-uplink"),
    };
    return node_main(&o);
}

static const struct cli_option options[] = {
    {"kubeconfig", 0, "FILE", "how to reach the API server", NULL, false},
    {"data", 0, "DIR", "where pods, logs and the node's own state are kept", NULL, false},
    {"name", 0, "NAME", "name of the Node; else the host name", NULL, false},
    GPUS_OPTION,
    RUNTIME_OPTION,
    MANAGE_MIG_OPTION,
    REQUIRE_ISOLATION_OPTION,
    NVML_OPTION,
    HOST_PATH_OPTION,
    WEIGHTS_OPTION,
    IMAGE_HOSTS_OPTION,
    POD_NETWORK_OPTION,
    POD_RANGE_OPTION,
    SERVICE_RANGE_OPTION,
    UPLINK_OPTION,
    {"with-parent", 0, NULL, "end when the parent process ends", NULL, false},
    VERBOSE_OPTION,
};

const struct cli_verb world_node = {
    .name = "node",
    .group = GROUP_MACHINE,
    .arguments = "--data DIR",
    .summary = "run pods on this machine for a server (`berth up` starts one itself)",
    .about = "Runs pods that are bound to this machine, and carves MIG slices for them.",
    .examples = "  berth node --data /var/lib/berth --kubeconfig node.kubeconfig\n",
    .options = options,
    .n_options = sizeof(options) / sizeof(*options),
    .local = run,
};
