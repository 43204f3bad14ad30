/* verbs: not a test but the program that tests run: the hidden verbs of the binary, and what test
 * containers do. */
#include <string.h>

#include "node/node.h"

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "shim")) {
        return shim_main(argc - 1, argv + 1);
    }
    if (argc > 1 && !strcmp(argv[1], "nvml-helper")) {
        return nvml_helper_main(argc - 1, argv + 1);
    }
    if (argc > 1 && !strcmp(argv[1], "image-get")) {
        return image_get_main(argc - 1, argv + 1);
    }
    if (argc > 1 && !strcmp(argv[1], "probe-tls")) {
        return probe_tls_main(argc - 1, argv + 1);
    }
    if (argc > 1 && !strcmp(argv[1], "router")) {
        return router_main(argc - 1, argv + 1);
    }
    return 2;
}
