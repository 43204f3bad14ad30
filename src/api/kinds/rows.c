/* rows: the table of built-in kinds, in discovery order, from the list in kinds.h. */
#include "api/kinds/kinds.h"

#define KIND_ADDRESS(name_) &kind_##name_,
static const struct kind *const builtin[] = {BUILTIN_KINDS(KIND_ADDRESS)};

static const struct kind *const bodies[] = {
    &kind_delete_options,
    &kind_eviction,
    &kind_token_request,
    &kind_status,
};

const struct kind_rows kind_rows = {
    .served = builtin, .n_served = COUNT(builtin), .bodies = bodies, .n_bodies = COUNT(bodies)};
