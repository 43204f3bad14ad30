/* node_verb: `berth node`, one machine's agent. `berth up` starts one; on a cluster it runs on each GPU node. */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "node/node.h"
#include "world/options.h"
#include "world/up_options.h"
#include "world/verbs.h"

struct settings {
    const char *kubeconfig, *data, *name, *gpus, *runtime, *manage_mig, *nvml, *host_path, *parent,
        *verbose;
};

static int parse(struct settings *s, int argc, char **argv, bool *ret_help, struct err *err) {
    const struct option_row rows[] = {
        {"kubeconfig", "FILE", "how to reach the API server", &s->kubeconfig},
        {"data", "DIR", "where pods, logs and the node's own state are kept", &s->data},
        {"name", "NAME", "name of the Node (default: the host name)", &s->name},
        {"gpus", "SPEC", "auto, none, sim:8xh200, sim:1xh200 or sim:4xa100-80gb", &s->gpus},
        {"runtime", "KIND", "auto, process or podman", &s->runtime},
        {"manage-mig", NULL, "the MIG mode of real GPUs may be changed while they are idle",
         &s->manage_mig},
        {"nvml", "FILE", "path of libnvidia-ml.so.1", &s->nvml},
        {"host-path", "DIR", "hostPath volumes below this folder are allowed", &s->host_path},
        {"with-parent", NULL, "end when the parent process ends", &s->parent},
        {"verbose", NULL, "log more", &s->verbose},
    };
    const struct verb_help help = {
        "berth node --data DIR [options]",
        "Runs pods that are bound to this machine, and carves MIG slices for them.", NULL};
    int rest;
    int r = options_parse(rows, sizeof(rows) / sizeof(rows[0]), argc, argv, &help, &rest, ret_help,
                          err);
    if (r == 0 && !*ret_help && rest != argc) {
        return err_set(err, ERR_BAD_REQUEST, "unexpected argument \"%s\"", argv[rest]);
    }
    if (r == 0 && !*ret_help && !s->data) {
        return err_set(err, ERR_BAD_REQUEST, "--data is needed: a folder");
    }
    return r;
}

int node_verb_main(int argc, char **argv) {
    struct settings s = {0};
    struct err err = {0};
    bool help = false;
    enum node_runtime runtime = NODE_RUNTIME_AUTO;
    int r = parse(&s, argc, argv, &help, &err);
    r = r ? r : node_runtime_parse(s.runtime, &runtime, &err);
    if (r != 0) {
        fprintf(stderr, "berth node: %s\n", err.text);
        return 2;
    }
    if (help) {
        return 0;
    }
    if (s.parent && (prctl(PR_SET_PDEATHSIG, SIGTERM) == -1 || getppid() == 1)) {
        return 1; /* the parent is gone already */
    }
    struct log_fd log;
    log_fd_init(&log, s.verbose ? LOG_DEBUG : LOG_INFO, 2);
    struct node_options o = {
        .log = &log.log,
        .kubeconfig = s.kubeconfig,
        .data_dir = s.data,
        .name = s.name,
        .gpus = s.gpus ? s.gpus : "auto",
        .runtime = runtime,
        .manage_mig = s.manage_mig != NULL,
        .nvml_path = s.nvml,
        .host_path_dir = s.host_path,
    };
    return node_main(&o);
}
