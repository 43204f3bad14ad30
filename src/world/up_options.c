/* up_options: the options of `berth up`. See up_options.h. */
#include "world/up_options.h"

#include <string.h>

#include "base/str.h"
#include "world/options.h"

static const struct verb_help help = {
    "berth up [options]",
    "Runs Berth on this machine: an API server that speaks Kubernetes, its store, the queue "
    "engine, and a node that\n"
    "runs pods on GPUs and MIG slices. Prints one line `berth: ready` when it serves. SIGTERM "
    "stops it and leaves the\n"
    "pods running for the next `berth up`; `berth down` ends them too.",
    "  berth up\n"
    "  berth up --data .data/run --listen 127.0.0.1:6443 --gpus sim:8xh200\n"
    "  berth up --gpus none --kubeconfig ~/.kube/config\n"};

int node_runtime_parse(const char *text, enum node_runtime *ret, struct err *err) {
    struct str s = str_of(text ? text : "auto");
    if (str_is(s, "auto")) {
        *ret = NODE_RUNTIME_AUTO;
    } else if (str_is(s, "process")) {
        *ret = NODE_RUNTIME_PROCESS;
    } else if (str_is(s, "podman")) {
        *ret = NODE_RUNTIME_PODMAN;
    } else {
        return err_set(err, ERR_BAD_REQUEST, "--runtime: \"%s\": expected auto, process or podman",
                       text);
    }
    return 0;
}

/* One of `allowed` (NULL-terminated), or an error that lists them. */
static int check_word(const char *option, const char *value, const char *const *allowed,
                      const char *listed, struct err *err) {
    for (; *allowed; allowed++) {
        if (strcmp(value, *allowed) == 0) {
            return 0;
        }
    }
    return err_set(err, ERR_BAD_REQUEST, "%s: \"%s\": expected %s", option, value, listed);
}

static int check(const struct up_options *o, const char *controllers, struct err *err) {
    static const char *const gpus[] = {
        "auto", "none", "sim:8xh200", "sim:1xh200", "sim:4xa100-80gb", NULL};
    static const char *const sets[] = {"all", "none", NULL};
    enum node_runtime runtime;
    int r = check_word("--gpus", o->gpus, gpus,
                       "auto, none, sim:8xh200, sim:1xh200 or sim:4xa100-80gb", err);
    r = r ? r : check_word("--controllers", controllers, sets, "all or none", err);
    r = r ? r : node_runtime_parse(o->runtime, &runtime, err);
    if (r == 0 && !o->listen.loopback && !o->allow_any) {
        return err_set(
            err, ERR_BAD_REQUEST,
            "--listen: %s is not a loopback address; add --allow-any to serve the network",
            o->listen.host);
    }
    return r;
}

int up_options_parse(int argc, char **argv, struct up_options *ret, bool *ret_help,
                     struct err *err) {
    const char *listen = "127.0.0.1:6443", *allow = NULL, *mig = NULL, *controllers = "all",
               *no_node = NULL, *verbose = NULL;
    struct up_options o = {.gpus = "auto", .runtime = "auto"};
    const struct option_row rows[] = {
        {"data", "DIR", "data folder (default: /var/lib/berth for root, else ~/.local/share/berth)",
         &o.data},
        {"listen", "ADDR:PORT", "where to serve (default 127.0.0.1:6443; port 0: any free one)",
         &listen},
        {"allow-any", NULL, "--listen may be another address than loopback", &allow},
        {"gpus", "SPEC", "auto, none, sim:8xh200, sim:1xh200 or sim:4xa100-80gb (default auto)",
         &o.gpus},
        {"kubeconfig", "FILE", "write the administrator's kubeconfig there, too", &o.kubeconfig},
        {"runtime", "KIND", "auto, process or podman (default auto)", &o.runtime},
        {"manage-mig", NULL, "the MIG mode of real GPUs may be changed while they are idle", &mig},
        {"nvml", "FILE", "path of libnvidia-ml.so.1", &o.nvml},
        {"host-path", "DIR", "hostPath volumes below this folder are allowed", &o.host_path},
        {"controllers", "SET", "all or none: none is an API server alone", &controllers},
        {"no-node", NULL, "run no node on this machine", &no_node},
        {"verbose", NULL, "log more", &verbose},
    };
    int rest = 0;
    int r = options_parse(rows, sizeof(rows) / sizeof(rows[0]), argc, argv, &help, &rest, ret_help,
                          err);
    if (r != 0 || *ret_help) {
        return r;
    }
    if (rest != argc) {
        return err_set(err, ERR_BAD_REQUEST, "unexpected argument \"%s\"; see --help", argv[rest]);
    }
    o.allow_any = allow != NULL;
    o.manage_mig = mig != NULL;
    o.controllers = strcmp(controllers, "none") != 0;
    o.node = !no_node && o.controllers;
    o.verbose = verbose != NULL;
    r = address_parse("--listen", listen, &o.listen, err);
    r = r ? r : check(&o, controllers, err);
    if (r == 0) {
        *ret = o;
    }
    return r;
}
