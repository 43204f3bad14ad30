/* main: picks the verb. The node's hidden verbs come first, since a shim starts for every pod. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "node/node.h"
#include "world/verbs.h"

struct verb {
    const char *name;
    int (*main)(int argc, char **argv);
};

static const struct verb verbs[] = {
    {"shim", shim_main},       {"nvml-helper", nvml_helper_main}, {"up", up_main},
    {"down", down_main},       {"node", node_verb_main},          {"backup", backup_main},
    {"restore", restore_main},
};

int main(int argc, char **argv) {
    for (size_t i = 0; argc > 1 && i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(argv[1], verbs[i].name) == 0) {
            return verbs[i].main(argc - 1, argv + 1);
        }
    }
    return cli_main(argc, argv);
}
