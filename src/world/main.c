/* main: picks the verb. The node's hidden verbs come first, since a shim starts for every pod. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "node/node.h"
#include "world/kit/verbs.h"

static const struct {
    const char *name;
    int (*main)(int argc, char **argv);
} hidden[] = {{"shim", shim_main},
              {"nvml-helper", nvml_helper_main},
              {"router", router_main},
              {"image-get", image_get_main},
              {"probe-tls", probe_tls_main}};

/* clang-format off */
static const struct cli_verb *const machine[] = {
    &world_up,
    &world_operate,
    &world_gateway,
    &world_down,
    &world_node,
    &world_backup,
    &world_restore,
    &world_dashboard,
    &world_token,
    &world_user,
    &world_image,
    &world_simulate,
    &world_manifests,
    NULL,
};
/* clang-format on */

int main(int argc, char **argv) {
    for (size_t i = 0; argc > 1 && i < sizeof(hidden) / sizeof(hidden[0]); i++) {
        if (strcmp(argv[1], hidden[i].name) == 0) {
            return hidden[i].main(argc - 1, argv + 1);
        }
    }
    return cli_main(argc, argv, machine);
}
