/* beside: see beside.h. */
#include "node/files/beside.h"

#include <stdio.h>
#include <unistd.h>

bool beside_program(const char *program, const char *name, int mode, char out[PATH_LEN]) {
    static const char *const places[] = {"",
                                         "/src/node",
                                         "/../node",
                                         "/../lib/berth",
                                         "/../../src/node",
                                         "/../lib/x86_64-linux-gnu/berth",
                                         "/../lib/aarch64-linux-gnu/berth"};
    struct str dir = str_of(program);
    ptrdiff_t slash = str_find_last(dir, '/');

    dir = str_head(dir, slash < 0 ? 0 : (size_t)slash);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        int k = snprintf(out, PATH_LEN, "%.*s%s/%s", STR_ARG(dir), places[i], name);
        if (k > 0 && k < PATH_LEN && access(out, mode) == 0) {
            return true;
        }
    }
    return false;
}
