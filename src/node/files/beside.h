/* beside: files that are installed with the program: next to it, in the folders of a build, or in lib/berth. */
#ifndef BERTH_NODE_BESIDE_H
#define BERTH_NODE_BESIDE_H

#include <stdbool.h>

#include "node/files/files.h"

/* The path of `name`, which can be accessed as `mode` says (access()); false: it is nowhere. */
bool beside_program(const char *program, const char *name, int mode, char out[PATH_LEN]);

#endif
