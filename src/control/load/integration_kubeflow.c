/* integration_kubeflow: what a row cannot say of the training operator's kinds and of MPIJobs. */
#include "control/load/integration_private.h"

#define OFFSET_ANNOTATION "kueue.x-k8s.io/pod-index-offset"
#define GROUP_ANNOTATION "kueue.x-k8s.io/podset-group-name"

struct str kubeflow_priority_class(const struct job_look *l) {
    struct str name = json_str_at(l->tree, "spec.runPolicy.schedulingPolicy.priorityClass");
    for (size_t i = 0; i < l->n_parts && str_empty(name); i++) {
        name = json_str_at(l->parts[i].template, "spec.priorityClassName");
    }
    return name;
}

/* A launcher that works too is rank 0, so the workers' ranks begin at 1. */
int mpi_prepare(yyjson_mut_doc *d, yyjson_mut_val *root) {
    yyjson_mut_val *launcher = json_mpath(root, "spec.mpiReplicaSpecs.Launcher.template");
    yyjson_mut_val *worker = json_mpath(root, "spec.mpiReplicaSpecs.Worker.template");
    if (!yyjson_mut_is_true(json_mpath(root, "spec.runLauncherAsWorker")) || launcher == NULL ||
        worker == NULL ||
        json_mget(json_mpath(launcher, "metadata.annotations"), STR(GROUP_ANNOTATION))) {
        return 0;
    }
    yyjson_mut_val *notes = json_mensure(d, worker, "metadata.annotations");
    return notes ? json_mset_str(d, notes, OFFSET_ANNOTATION, STR("1")) : ERR_NOMEM;
}
