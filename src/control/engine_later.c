/* engine_later: stands in for what the engine does not have yet; each gives way to the real one when it is there. */
#include "control/translate.h" /* first */

#define LATER __attribute__((weak))

LATER void engine_path(struct engine *e, struct str queue, struct buf *out) {
    buf_f(out, "/%.*s", STR_ARG(queue));
}

LATER void engine_workload_keep(struct engine *e, struct str uid) {
}

LATER void considered_text(const struct considered *c, const struct names *flavors,
                           const struct names *resources, struct arena *a, struct buf *out) {
}
