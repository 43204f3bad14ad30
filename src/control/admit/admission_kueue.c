/*
 * admission_kueue: what Kueue's webhooks of its own kinds do beyond their tables: where partial admission is off,
 * Workloads lose their minimal counts; flavors and cluster queues may not vanish while they are in use, so they are
 * held by a finalizer from the start. And beyond Kueue: a quota of more GPUs than there are is warned of.
 */
#include "api/inventory.h"
#include "control/admit/admission.h"
#include "control/load/translate.h"

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

enum { NODE_BYTES = 16 << 20 };

struct kueue_gpus {
    struct arena a; /* of one node */
    int64_t n;
};

/* What a node tells of, by its inventory or as others tell it. */
static bool count_gpus(void *ctx, const struct object *o) {
    struct kueue_gpus *g = ctx;
    yyjson_doc *d, *inv;
    arena_reset(&g->a);
    if (object_tree(o, &g->a, &d, NULL) != 0) {
        g->n = 0; /* not known: nothing is said */
        return false;
    }
    yyjson_val *root = yyjson_doc_get_root(d), *notes = json_path(root, "metadata.annotations");
    struct str text = json_str(json_get(notes, STR(INVENTORY_ANNOTATION)));
    yyjson_val *all = json_path(root, "status.allocatable");
    struct quantity q = {0};
    (void)quantity_parse(json_str(json_get(all, STR("nvidia.com/gpu"))), &q, NULL);
    int64_t cards = text.n > 0 && json_parse(&g->a, text, &inv, NULL) == 0
                        ? (int64_t)yyjson_arr_size(json_path(yyjson_doc_get_root(inv), "gpus"))
                        : 0;
    g->n += cards > q.whole ? cards : q.whole;
    return true;
}

static int64_t whole_of(yyjson_mut_val *v) {
    struct quantity q = {0};
    if (yyjson_mut_is_int(v)) {
        return yyjson_mut_get_sint(v);
    }
    (void)quantity_parse(json_mstr(v), &q, NULL);
    return q.whole;
}

static int64_t gpus_wanted(yyjson_mut_val *obj) {
    int64_t sum = 0;
    size_t i, n, k, m, j, l;
    yyjson_mut_val *group, *flavor, *r;
    yyjson_mut_arr_foreach(json_mpath(obj, "spec.resourceGroups"), i, n, group) {
        yyjson_mut_arr_foreach(json_mget(group, STR("flavors")), k, m, flavor) {
            yyjson_mut_arr_foreach(json_mget(flavor, STR("resources")), j, l, r) {
                if (str_is(json_mstr(json_mget(r, STR("name"))), "nvidia.com/gpu")) {
                    sum += whole_of(json_mget(r, STR("nominalQuota")));
                }
            }
        }
    }
    return sum;
}

static int mutate_queue(const struct admission_context *c, struct admission_ask *q,
                        struct err *err) {
    int64_t wanted = q->internal ? 0 : gpus_wanted(q->obj);
    struct kueue_gpus there = {.n = 0};
    arena_init(&there.a, NODE_BYTES);
    if (wanted > 0) {
        mirror_scan(c->mirror, kind_by_name(STR(""), STR("Node")), STR(""), count_gpus, &there);
    }
    if (there.n > 0 && wanted > there.n) {
        admission_warn(q,
                       "spec.resourceGroups: a quota of %lld of nvidia.com/gpu, and all nodes "
                       "together have %lld: what is beyond that is never given",
                       (long long)wanted, (long long)there.n);
    }
    arena_release(&there.a);
    return hold(c, q, err);
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
    {"kueue.x-k8s.io", "ClusterQueue", mutate_queue, NULL},
    {"kueue.x-k8s.io", "ResourceFlavor", hold, NULL},
    {"kueue.x-k8s.io", "Workload", mutate_workload, NULL},
    {0},
};
