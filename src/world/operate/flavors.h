/* flavors: ResourceFlavors as a cluster's nodes suggest them, printed. */
#ifndef BERTH_WORLD_FLAVORS_H
#define BERTH_WORLD_FLAVORS_H

#include "cli/kit/kit.h"

int flavors_run(struct cli *c); /* an exit code of cli.h */

#endif
