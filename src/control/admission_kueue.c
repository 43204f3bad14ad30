/*
 * admission_kueue: what Kueue's webhooks of its own kinds do beyond their tables: where partial admission is off,
 * Workloads lose their minimal counts.
 */
#include "control/admission.h"

static int mutate_workload(const struct admission_context *c, struct admission_ask *q,
                           struct err *err) {
    yyjson_mut_val *sets = json_mpath(q->obj, "spec.podSets");
    yyjson_mut_val *set;
    size_t i, n;
    if (q->op != ADMISSION_CREATE || c->settings->gates.partial_admission) {
        return 0;
    }
    yyjson_mut_arr_foreach(sets, i, n, set) {
        json_mdel(set, STR("minCount"));
    }
    return 0;
}

const struct admission_row admission_kueue_rows[] = {
    {"kueue.x-k8s.io", "Workload", mutate_workload, NULL},
    {0},
};
