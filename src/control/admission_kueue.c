/*
 * admission_kueue: what Kueue's webhooks of its own kinds do beyond their tables: where partial admission is off,
 * Workloads lose their minimal counts; flavors and cluster queues may not vanish while they are in use, so they are
 * held by a finalizer from the start.
 */
#include "control/admission.h"
#include "control/translate.h"

static int hold(const struct admission_context *c, struct admission_ask *q, struct err *err) {
    yyjson_mut_val *meta = json_mensure(q->doc, q->obj, "metadata");
    yyjson_mut_val *list = json_mget(meta, STR("finalizers"));
    if (q->op != ADMISSION_CREATE || json_mfind(list, NULL, STR(QUEUE_FINALIZER)) != NULL) {
        return 0;
    }
    if (!yyjson_mut_is_arr(list)) {
        list = yyjson_mut_arr(q->doc);
        if (meta == NULL || json_mset(q->doc, meta, STR("finalizers"), list) != 0) {
            return err_set(err, ERR_NOMEM, "out of memory");
        }
    }
    return yyjson_mut_arr_add_str(q->doc, list, QUEUE_FINALIZER)
               ? 0
               : err_set(err, ERR_NOMEM, "out of memory");
}

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
    {"kueue.x-k8s.io", "ClusterQueue", hold, NULL},
    {"kueue.x-k8s.io", "ResourceFlavor", hold, NULL},
    {"kueue.x-k8s.io", "Workload", mutate_workload, NULL},
    {0},
};
