/* up_options: what `berth up` was asked for, checked. Strings are views of argv or static. */
#ifndef BERTH_WORLD_UP_OPTIONS_H
#define BERTH_WORLD_UP_OPTIONS_H

#include <stdbool.h>

#include "base/err.h"
#include "node/node.h"
#include "world/address.h"

struct up_options {
    const char *data;       /* NULL: the default folder */
    struct address listen;
    bool allow_any;         /* --listen may be other than loopback */
    const char *gpus;       /* as node_options.gpus */
    const char *kubeconfig; /* a further copy of the administrator's; NULL: none */
    const char *runtime;    /* "auto", ... checked */
    const char *nvml;
    const char *host_path;
    bool manage_mig;
    bool controllers;       /* run the controllers */
    bool node;              /* run a node */
    bool verbose;
};

/* *ret_help: the help was printed. 0 or ERR_BAD_REQUEST with a text for people. */
int up_options_parse(int argc, char **argv, struct up_options *ret, bool *ret_help,
                     struct err *err);

int node_runtime_parse(const char *text, enum node_runtime *ret, struct err *err);

#endif
