/* usage (core): the ledger of LocalQueues. See usage.h. */
#include "core/usage.h"

#include <math.h>

void usage_free(struct engine *e) {
}

double usage_of(const struct engine *e, const struct engine_workload *w) {
    return -1;
}

int usage_cmp(const struct engine *e, const struct engine_workload *a,
              const struct engine_workload *b) {
    return 0;
}

uint64_t usage_generation(const struct engine *e) {
    return 0;
}

int usage_take(struct engine *e, struct engine_workload *w, bool anew) {
    return 0;
}

void usage_give(struct engine *e, struct engine_workload *w, bool undone) {
}

int engine_local_put(struct engine *e, struct str local, double weight) {
    return 0;
}

void engine_local_del(struct engine *e, struct str local) {
}

int engine_local_usage_set(struct engine *e, struct str local, const struct resource_weight *used,
                           size_t n, int64_t at_ns) {
    return 0;
}

void engine_local_sample(struct engine *e, int64_t now_ns, int64_t *ret_next_ns) {
    *ret_next_ns = INT64_MAX;
}

double engine_local_usage(const struct engine *e, struct str local) {
    return -1;
}
