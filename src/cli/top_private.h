/*
 * top_private: the parts of `berth top`: cards (top.c) and types of GPUs in numbers (top_types.c). `berth gpu` (gpu.c)
 * reads nodes as it does.
 */
#ifndef BERTH_CLI_TOP_PRIVATE_H
#define BERTH_CLI_TOP_PRIVATE_H

#include "api/inventory.h"
#include "cli/kit/kit.h"

/* A node's GPUs; false when it says nothing of any. */
bool top_inventory(struct cli *c, yyjson_val *node, struct inventory *ret);
/* Whether a node has GPUs that no inventory tells of. */
bool top_is_bare(yyjson_val *node);
/* A Fleet (types alone) of such nodes, made of what they and their pods say: for servers that have no Fleet. Counted as
 * in control/load/gpu_inventory.h; `used` is missing where the asker may not list pods. NULL: out of memory. */
yyjson_val *top_types_make(struct cli *c, yyjson_val *nodes);
/* The table of types, and with -o wide what needs attention; false when there is no type. */
bool top_types_print(struct cli *c, yyjson_val *fleet);

#endif
