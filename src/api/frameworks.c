/* frameworks: the lists as an array. See frameworks.h. */
#include "api/frameworks.h"

#define ROW(id_, name_, group_, dashed_, kind_, singular_, plural_, version_, ...)                 \
    [FRAMEWORK_##id_] = {.name = name_,                                                            \
                         .group = group_,                                                          \
                         .kind = kind_,                                                            \
                         .version = version_,                                                      \
                         .long_name = kind_ "." version_ "." group_},

const struct framework frameworks[FRAMEWORKS] = {FRAMEWORKS_ALL(ROW)};
