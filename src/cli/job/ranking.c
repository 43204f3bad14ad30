/* ranking: see ranking.h. */
#include "cli/job/ranking.h"

#include "cli/kit/kit.h"

const char *rank_state_name(enum rank_state s) {
    static const char *const names[] = {
        [RANK_RUNNING] = "running", [RANK_RESERVED] = "reserved", [RANK_WAITING] = "waiting",
        [RANK_HELD] = "held",       [RANK_FINISHED] = "finished", [RANK_STOPPING] = "stopping",
    };
    return names[s];
}

static enum rank_state state_of(yyjson_val *w) {
    if (cli_condition_true(w, "Finished")) {
        return RANK_FINISHED;
    }
    if (cli_condition_true(w, "Evicted") && cli_condition_true(w, "QuotaReserved")) {
        return RANK_STOPPING;
    }
    if (cli_condition_true(w, "Admitted")) {
        return RANK_RUNNING;
    }
    if (cli_condition_true(w, "QuotaReserved")) {
        return RANK_RESERVED;
    }
    return json_bool_at(w, "spec.active", true) ? RANK_WAITING : RANK_HELD;
}

/* What it waits for, from the conditions' messages. */
static struct str why_of(yyjson_val *w, enum rank_state state) {
    struct str reserved = json_str_at(cli_condition(w, "QuotaReserved"), "message");
    struct str evicted = json_str_at(cli_condition(w, "Evicted"), "message");
    switch (state) {
    case RANK_WAITING:
        return reserved.n ? reserved : evicted.n ? evicted : STR("not looked at yet");
    case RANK_STOPPING:
        return json_str_at(cli_condition(w, "Evicted"), "reason");
    case RANK_HELD:
        return evicted.n ? evicted : STR("spec.active is false");
    case RANK_RESERVED:
        return STR("admission checks");
    default:
        return (struct str){0};
    }
}

/* The name of the controlling owner, else the workload's own. */
static struct str job_of(yyjson_val *w) {
    yyjson_val *owners = json_path(w, "metadata.ownerReferences"), *o;
    size_t i, n;
    yyjson_arr_foreach(owners, i, n, o) {
        if (json_bool_at(o, "controller", false)) {
            return json_str_at(o, "name");
        }
    }
    return json_str_at(w, "metadata.name");
}

static struct str cluster_queue_of(yyjson_val *w, yyjson_val *local_queues, struct str ns,
                                   struct str queue) {
    yyjson_val *items = json_get(local_queues, STR("items")), *q;
    struct str admitted = json_str_at(w, "status.admission.clusterQueue");
    size_t i, n;
    if (admitted.n) {
        return admitted;
    }
    yyjson_arr_foreach(items, i, n, q) {
        if (str_eq(json_str_at(q, "metadata.name"), queue) &&
            str_eq(json_str_at(q, "metadata.namespace"), ns)) {
            return json_str_at(q, "spec.clusterQueue");
        }
    }
    return (struct str){0};
}

static int compare(const void *pa, const void *pb) {
    const struct ranked *a = pa, *b = pb;
    int by = str_cmp(a->cluster_queue, b->cluster_queue);
    by = by ? by : (a->state > b->state) - (a->state < b->state);
    by = by ? by : (a->priority < b->priority) - (a->priority > b->priority);
    by = by ? by : str_cmp(a->created, b->created);
    by = by ? by : str_cmp(a->ns, b->ns);
    return by ? by
              : str_cmp(json_str_at(a->workload, "metadata.name"),
                        json_str_at(b->workload, "metadata.name"));
}

int ranking_make(struct arena *a, yyjson_val *workloads, yyjson_val *local_queues,
                 struct ranked **ret, size_t *ret_n) {
    yyjson_val *items = json_get(workloads, STR("items")), *w;
    size_t i, n, count = yyjson_arr_size(items);
    struct ranked *v = ARENA_ARRAY(a, struct ranked, count + 1);
    if (v == NULL) {
        return ERR_NOMEM;
    }
    yyjson_arr_foreach(items, i, n, w) {
        struct ranked *r = &v[i];
        r->workload = w;
        r->ns = json_str_at(w, "metadata.namespace");
        r->queue = json_str_at(w, "spec.queueName");
        r->job = job_of(w);
        r->cluster_queue = cluster_queue_of(w, local_queues, r->ns, r->queue);
        r->state = state_of(w);
        r->priority = json_i64_at(w, "spec.priority", 0);
        r->created = json_str_at(w, "metadata.creationTimestamp");
        r->why = why_of(w, r->state);
    }
    qsort(v, count, sizeof(*v), compare);
    size_t position = 0;
    for (i = 0; i < count; i++) {
        bool same = i > 0 && str_eq(v[i].cluster_queue, v[i - 1].cluster_queue);
        position = same ? position : 0;
        v[i].position = v[i].state == RANK_WAITING ? ++position : 0;
    }
    *ret = v;
    *ret_n = count;
    return 0;
}
