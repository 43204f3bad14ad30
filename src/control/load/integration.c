/* integration: the table, and who is queued. See integration.h. */
#include "control/load/integration.h"

#include "api/conditions.h"
#include "control/load/integration_private.h"

#define INDEX_OF_JOB "batch.kubernetes.io/job-completion-index"
#define INDEX_OF_REPLICA "training.kubeflow.org/replica-index"

/* Pods of one replica type of Kubeflow's training operator. */
#define REPLICAS(specs_, key_, name_)                                                              \
    {                                                                                              \
        .at = "spec." specs_ "." key_, .name = name_, .template = "template",                      \
        .counts = {"replicas"},                                                                    \
    }
#define IS(id_) .is = &frameworks[FRAMEWORK_##id_]
#define KUBEFLOW(id_)                                                                              \
    IS(id_), .suspend = "spec.runPolicy.suspend", .index_label = INDEX_OF_REPLICA,                 \
             .running = "status.replicaStatuses.*.active", .ready_type = "Running",                \
             .done_type = "Succeeded", .failed_type = "Failed",                                    \
             .priority_class = kubeflow_priority_class
#define RAY_PARTS(base_)                                                                           \
    {.at = base_ ".headGroupSpec", .name = "head", .template = "template"}, {                      \
        .at = base_ ".workerGroupSpecs", .each = true, .name_at = "groupName",                     \
        .template = "template", .counts = {"replicas", "numOfHosts"},                              \
    }

static const struct framework replica_sets = {"replicaset", "apps", "ReplicaSet", "v1", ""};

static const struct integration rows[] = {
    {
        IS(BATCH_JOB),
        .flags = INTEGRATION_TEMPLATE_FIXED | INTEGRATION_PARTIAL | INTEGRATION_ELASTIC,
        .suspend = "spec.suspend",
        .parts = {{.at = "spec", .name = "main", .template = "template", .job = ""}},
        .index_label = INDEX_OF_JOB,
        .active = batch_active,
        .ready = batch_ready,
        .done_type = "Complete",
        .failed_type = "Failed",
        .reclaimable = batch_reclaimable,
        .inject = batch_inject,
        .restore = batch_restore,
        .check = batch_check,
    },
    {
        IS(JOBSET),
        .suspend = "spec.suspend",
        .parts = {{.at = "spec.replicatedJobs",
                   .each = true,
                   .name_at = "name",
                   .template = "template.spec.template",
                   .counts = {"replicas"},
                   .job = "template.spec"}},
        .index_label = INDEX_OF_JOB,
        .running = "status.replicatedJobsStatus[].active",
        .ready = jobset_ready,
        .done_type = "Completed",
        .failed_type = "Failed",
        .reclaimable = jobset_reclaimable,
    },
    {
        KUBEFLOW(PYTORCH),
        .parts = {REPLICAS("pytorchReplicaSpecs", "Master", "master"),
                  REPLICAS("pytorchReplicaSpecs", "Worker", "worker")},
    },
    {
        KUBEFLOW(TF),
        .parts = {REPLICAS("tfReplicaSpecs", "Chief", "chief"),
                  REPLICAS("tfReplicaSpecs", "Master", "master"),
                  REPLICAS("tfReplicaSpecs", "PS", "ps"),
                  REPLICAS("tfReplicaSpecs", "Worker", "worker"),
                  REPLICAS("tfReplicaSpecs", "Evaluator", "evaluator")},
    },
    {
        KUBEFLOW(XGBOOST),
        .parts = {REPLICAS("xgbReplicaSpecs", "Master", "master"),
                  REPLICAS("xgbReplicaSpecs", "Worker", "worker")},
    },
    {
        KUBEFLOW(PADDLE),
        .parts = {REPLICAS("paddleReplicaSpecs", "Master", "master"),
                  REPLICAS("paddleReplicaSpecs", "Worker", "worker")},
    },
    {
        KUBEFLOW(JAX),
        .parts = {REPLICAS("jaxReplicaSpecs", "Worker", "worker")},
    },
    {
        KUBEFLOW(MPI),
        .parts = {REPLICAS("mpiReplicaSpecs", "Launcher", "launcher"),
                  REPLICAS("mpiReplicaSpecs", "Worker", "worker")},
        .prepare = mpi_prepare,
    },
    {
        IS(TRAIN),
        .flags = INTEGRATION_APART,
        .suspend = "spec.suspend",
        .adapt = train_adapt,
        .index_label = INDEX_OF_JOB,
        .running = "status.jobsStatus[].active",
        .ready = train_ready,
        .done_type = "Complete",
        .failed_type = "Failed",
        .reclaimable = train_reclaimable,
        .inject = train_inject,
        .restore = train_restore,
        .prepare = train_prepare,
    },
    {
        IS(RAY_CLUSTER),
        .suspend = "spec.suspend",
        .parts = {RAY_PARTS("spec")},
        .adapt = ray_cluster_adapt,
        .state = "status.state",
        .state_runs = "ready",
        .check = ray_cluster_check,
    },
    {
        IS(RAY_JOB),
        .suspend = "spec.suspend",
        .parts = {RAY_PARTS("spec.rayClusterSpec")},
        .adapt = ray_job_adapt,
        .active = ray_job_active,
        .ready = ray_job_ready,
        .finished = ray_job_finished,
        .on_hold = ray_job_on_hold,
        .skipped = ray_job_skipped,
        .inject = ray_job_inject,
        .check = ray_job_check,
    },
    {
        IS(RAY_SERVICE),
        .suspend = "spec.rayClusterConfig.suspend",
        .parts = {RAY_PARTS("spec.rayClusterConfig")},
        .adapt = ray_service_adapt,
        .ready_type = "Ready",
        .check = ray_service_check,
    },
    {
        IS(APP_WRAPPER),
        .suspend = "spec.suspend",
        .adapt = wrapper_adapt,
        .active = wrapper_active,
        .ready_type = "PodsReady",
        .finished = wrapper_finished,
        .inject = wrapper_inject,
        .restore = wrapper_restore,
    },
    /* What is queued pod by pod has no member that holds it back: control/hold/pod_group and the like queue it. */
    {IS(POD)},
    {IS(DEPLOYMENT)},
    {IS(STATEFUL_SET)},
    {IS(LEADER_WORKER_SET)},
    {.is = &replica_sets, .flags = INTEGRATION_HOP},
};

enum { ROWS = sizeof rows / sizeof *rows, LEVELS = 10 };

const struct integration *integration_rows(size_t *ret_n) {
    *ret_n = ROWS;
    return rows;
}

const struct integration *integration_by_name(struct str framework) {
    for (size_t i = 0; i < ROWS; i++) {
        if (str_is(framework, rows[i].is->name) && !(rows[i].flags & INTEGRATION_HOP)) {
            return &rows[i];
        }
    }
    return NULL;
}

static const struct integration *row_of(struct str group, struct str kind) {
    for (size_t i = 0; i < ROWS; i++) {
        if (str_is(kind, rows[i].is->kind) && str_is(group, rows[i].is->group)) {
            return &rows[i];
        }
    }
    return NULL;
}

const struct integration *integration_of(const struct kind *k) {
    return row_of(str_of(k->group), str_of(k->kind));
}

const struct integration *integration_of_owner(const struct owner_ref *o) {
    size_t n = 0;
    while (n < o->api_version.n && o->api_version.p[n] != '/') {
        n++;
    }
    return row_of(str_head(o->api_version, n < o->api_version.n ? n : 0), o->kind);
}

const struct kind *integration_kind(const struct integration *i) {
    return kind_by_name(str_of(i->is->group), str_of(i->is->kind));
}

bool integration_enabled(const struct integration *i, const struct queue_settings *s) {
    if (i->flags & INTEGRATION_HOP) {
        return false;
    }
    if (s->n_frameworks == 0) {
        return true;
    }
    for (size_t k = 0; k < s->n_frameworks; k++) {
        if (str_is(s->frameworks[k], i->is->name)) {
            return true;
        }
    }
    return false;
}

/* ---- who is queued ---- */

bool integration_in_namespace(const struct mirror *m, const struct queue_settings *s,
                              struct str ns) {
    static const struct str_map none;
    if (s->managed_namespaces == NULL) {
        return !str_is(ns, "kube-system") &&
               (str_empty(s->own_namespace) || !str_eq(ns, s->own_namespace));
    }
    const struct kind *k = kind_by_name(STR(""), STR("Namespace"));
    const struct object *o = k ? mirror_get(m, k, STR(""), ns) : NULL;
    return selector_matches(s->managed_namespaces, o ? &o->labels : &none);
}

bool integration_namespace_moved(const struct queue_settings *s, const struct change *ch) {
    return s->managed_namespaces && ch->type != CHANGE_DELETED &&
           (ch->old == NULL || selector_matches(s->managed_namespaces, &ch->old->labels) !=
                                   selector_matches(s->managed_namespaces, &ch->obj->labels));
}

int integration_ancestor(const struct mirror *m, const struct queue_settings *s,
                         const struct owner_ref *controller, struct str ns,
                         const struct object **ret) {
    const struct object *top = NULL;
    const struct owner_ref *o = controller;
    for (size_t level = 0; o; level++) {
        const struct integration *row = integration_of_owner(o);
        const struct object *above = row ? mirror_by_uid(m, o->uid) : NULL;
        if (row && above == NULL && integration_kind(row)) {
            return ERR_NOT_FOUND;
        }
        if (above == NULL || !object_named_by(above, ns, o)) {
            break;
        }
        if (level == LEVELS) {
            return ERR_TOO_LARGE;
        }
        if (integration_enabled(row, s) &&
            (s->manage_jobs_without_queue_name ||
             !str_empty(object_label(above, STR(KUEUE_QUEUE_LABEL))))) {
            top = above;
        }
        o = object_controller(above);
    }
    *ret = top;
    return 0;
}

struct newest {
    const struct object *wl;
};

static bool finished(const struct object *wl) {
    struct arena a;
    yyjson_doc *d;
    bool r = false;
    size_t i, n;
    yyjson_val *c;
    arena_init(&a, 64 << 20);
    if (object_tree(wl, &a, &d, NULL) == 0) {
        yyjson_arr_foreach(json_path(yyjson_doc_get_root(d), "status.conditions"), i, n, c) {
            r = r || (str_is(json_str_at(c, "type"), "Finished") &&
                      str_is(json_str_at(c, "status"), "True"));
        }
    }
    arena_release(&a);
    return r;
}

static bool keep_newest(void *ctx, const struct object *o) {
    struct newest *best = ctx;
    if (str_is(str_of(o->kind->kind), "Workload") &&
        (best->wl == NULL || o->created_ns >= best->wl->created_ns) && !finished(o)) {
        best->wl = o;
    }
    return true;
}

const struct object *integration_workload(const struct mirror *m, const struct object *o) {
    struct newest best = {0};
    mirror_owned(m, o, keep_newest, &best);
    return best.wl;
}
