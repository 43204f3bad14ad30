/*
 * integration_train: TrainJobs. Their pods come from a JobSet that the trainer makes of a runtime (TrainingRuntime,
 * ClusterTrainingRuntime) and of what the TrainJob says itself; the same is made here, as far as pods' counts,
 * resources, placement and containers go. What plugins of the trainer add to environments is not: it does not count.
 *
 *     pod set          count
 *     trainer          trainer.numNodes, else the runtime's mlPolicy.numNodes, else 1
 *     node, under MPI  numNodes, less one that the launcher takes with runLauncherAsNode; at least 1
 *     others           the runtime's parallelism times replicas
 *
 * What an admission gives is an entry of spec.runtimePatches that is ours by its manager's name.
 */
#include "control/load/integration_private.h"
#include "control/load/job_workload.h"

#define TRAINER_GROUP "trainer.kubeflow.org"
#define STEP_LABEL "trainer.kubeflow.org/trainjob-ancestor-step"
#define MANAGER "kueue.x-k8s.io/manager"

/* ---- the runtime ---- */

static int find_runtime(struct job_look *l, yyjson_val **ret, struct err *err) {
    struct str name = json_str_at(l->tree, "spec.runtimeRef.name");
    struct str kind = json_str_at(l->tree, "spec.runtimeRef.kind");
    bool own = str_is(kind, "TrainingRuntime");
    const struct kind *k =
        kind_by_name(STR(TRAINER_GROUP), str_empty(kind) ? STR("ClusterTrainingRuntime") : kind);
    const struct object *o = k ? mirror_get(l->mirror, k, own ? l->obj->ns : STR(""), name) : NULL;
    yyjson_doc *d;
    if (o == NULL) {
        return err_set(err, ERR_NOT_FOUND, "runtime '%.*s' not found", STR_ARG(name));
    }
    int r = object_tree(o, l->arena, &d, err);
    if (r == 0) {
        *ret = json_path(yyjson_doc_get_root(d), "spec");
    }
    return r;
}

static struct str step_of(yyjson_val *job) {
    return json_str(json_get(json_path(job, "template.metadata.labels"), STR(STEP_LABEL)));
}

static bool is_trainer(yyjson_val *job) {
    return str_is(step_of(job), "trainer");
}

static bool launcher_works(yyjson_val *runtime) {
    return json_bool_at(runtime, "mlPolicy.mpi.runLauncherAsNode", false);
}

static int64_t pods_of(const struct job_look *l, yyjson_val *runtime, yyjson_val *job) {
    int64_t nodes = json_i64_at(l->tree, "spec.trainer.numNodes", -1);
    int64_t count = json_i64_at(job, "template.spec.parallelism", 1);
    if (json_path(runtime, "mlPolicy.mpi")) {
        bool is_node = str_is(json_str_at(job, "name"), "node");
        if (is_node && nodes > 0) {
            return launcher_works(runtime) ? (nodes > 2 ? nodes - 1 : 1) : nodes;
        }
        return is_trainer(job) ? json_i64_at(runtime, "mlPolicy.numNodes", 1) : count;
    }
    if (!is_trainer(job)) {
        return count;
    }
    if (json_get(runtime, STR("mlPolicy"))) {
        count = json_i64_at(runtime, "mlPolicy.numNodes", 1);
    }
    return nodes > 0 ? nodes : count;
}

static int64_t replicas_of(yyjson_val *job) {
    return str_empty(step_of(job)) ? bounded(json_i64_at(job, "replicas", 1)) : 1;
}

/* ---- what the TrainJob says of the trainer's containers ---- */

static int overlay(yyjson_mut_doc *d, yyjson_mut_val *into, yyjson_val *from, const char *member) {
    yyjson_val *v = json_get(from, str_of(member));
    yyjson_mut_val *copy = v ? yyjson_val_mut_copy(d, v) : NULL;
    return v == NULL ? 0 : copy ? json_mset(d, into, str_of(member), copy) : ERR_NOMEM;
}

/* Member by member. */
static int merge_object(yyjson_mut_doc *d, yyjson_mut_val *parent, const char *dotted,
                        yyjson_val *from) {
    size_t i, n;
    yyjson_val *key, *v;
    int r = 0;
    if (!yyjson_is_obj(from) || yyjson_obj_size(from) == 0) {
        return 0;
    }
    yyjson_mut_val *into = json_mensure(d, parent, dotted);
    if (into == NULL) {
        return ERR_NOMEM;
    }
    yyjson_obj_foreach(from, i, n, key, v) {
        yyjson_mut_val *copy = yyjson_val_mut_copy(d, v);
        r = r ? r : copy ? json_mset(d, into, json_str(key), copy) : ERR_NOMEM;
    }
    return r;
}

static int set_container(const struct job_look *l, yyjson_mut_doc *d, yyjson_mut_val *c,
                         bool trainer) {
    yyjson_val *own = json_path(l->tree, "spec.trainer");
    int r = merge_object(d, c, "resources.requests", json_path(own, "resourcesPerNode.requests"));
    r = r ? r : merge_object(d, c, "resources.limits", json_path(own, "resourcesPerNode.limits"));
    if (trainer) {
        r = r ? r : overlay(d, c, own, "image");
        r = r ? r : overlay(d, c, own, "command");
        r = r ? r : overlay(d, c, own, "args");
    }
    return r;
}

static int set_trainer(const struct job_look *l, yyjson_val *runtime, yyjson_val *job,
                       yyjson_mut_doc *d, yyjson_mut_val *template) {
    size_t i, n;
    yyjson_mut_val *c;
    int r = 0;
    bool trainer = is_trainer(job);
    bool also = launcher_works(runtime) && str_is(json_str_at(job, "name"), "node");
    if (json_path(l->tree, "spec.trainer") == NULL || !(trainer || also)) {
        return 0;
    }
    yyjson_mut_arr_foreach(json_mpath(template, "spec.containers"), i, n, c) {
        if (r == 0 && str_is(json_mstr(json_mget(c, STR("name"))), "node")) {
            r = set_container(l, d, c, trainer);
        }
    }
    return r;
}

/* ---- patches of others ---- */

static int patch_template(yyjson_mut_doc *d, yyjson_mut_val *template, yyjson_val *patch) {
    static const char *const lists[] = {"tolerations", "schedulingGates"};
    yyjson_mut_val *spec = json_mensure(d, template, "spec");
    int r = spec ? 0 : ERR_NOMEM;
    r = r ? r : merge_object(d, template, "metadata.labels", json_path(patch, "metadata.labels"));
    r = r ? r
          : merge_object(d, template, "metadata.annotations",
                         json_path(patch, "metadata.annotations"));
    r = r ? r : merge_object(d, spec, "nodeSelector", json_path(patch, "spec.nodeSelector"));
    for (size_t i = 0; r == 0 && i < sizeof lists / sizeof *lists; i++) {
        r = overlay(d, spec, json_path(patch, "spec"), lists[i]);
    }
    return r;
}

static int patch_by_others(const struct job_look *l, struct str job, yyjson_mut_doc *d,
                           yyjson_mut_val *template) {
    size_t i, n, k, m;
    yyjson_val *p, *each;
    int r = 0;
    yyjson_arr_foreach(json_path(l->tree, "spec.runtimePatches"), i, n, p) {
        if (str_is(json_str_at(p, "manager"), MANAGER)) {
            continue;
        }
        yyjson_val *list = json_path(p, "trainingRuntimeSpec.template.spec.replicatedJobs");
        yyjson_arr_foreach(list, k, m, each) {
            if (r == 0 && str_eq(json_str_at(each, "name"), job)) {
                r = patch_template(d, template, json_path(each, "template.spec.template"));
            }
        }
    }
    return r;
}

static int add_job(struct job_look *l, yyjson_val *runtime, yyjson_val *job) {
    struct str name = json_str_at(job, "name");
    struct job_part *p = job_look_add(l, name, bounded(pods_of(l, runtime, job)) * replicas_of(job),
                                      json_path(job, "template.spec.template"));
    size_t i = l->n_parts - 1;
    if (p == NULL || p->template == NULL) {
        return p ? ERR_INVALID : ERR_NOMEM;
    }
    yyjson_mut_doc *d = job_look_open(l, i);
    yyjson_mut_val *t = d ? yyjson_mut_doc_get_root(d) : NULL;
    int r = t ? patch_by_others(l, name, d, t) : ERR_NOMEM;
    r = r ? r : set_trainer(l, runtime, job, d, t);
    return r ? r : job_look_close(l, i, d);
}

int train_adapt(struct job_look *l, struct err *err) {
    yyjson_val *runtime, *job;
    size_t i, n;
    int r = find_runtime(l, &runtime, err);
    if (r != 0) {
        return r;
    }
    yyjson_arr_foreach(json_path(runtime, "template.spec.replicatedJobs"), i, n, job) {
        r = r ? r : add_job(l, runtime, job);
    }
    return r == ERR_INVALID ? err_set(err, r, "a job of the runtime has no pod template") : r;
}

/* ---- status ---- */

static yyjson_val *runtime_jobs(const struct job_look *l) {
    struct job_look copy = *l;
    yyjson_val *runtime;
    return find_runtime(&copy, &runtime, NULL) == 0
               ? json_path(runtime, "template.spec.replicatedJobs")
               : NULL;
}

bool train_ready(const struct job_look *l) {
    int64_t jobs = 0;
    size_t i, n;
    yyjson_val *job;
    yyjson_arr_foreach(runtime_jobs(l), i, n, job) {
        jobs += replicas_of(job);
    }
    return jobs_ready(json_path(l->tree, "status.jobsStatus"), jobs);
}

int64_t train_reclaimable(const struct job_look *l, size_t i) {
    yyjson_val *job = yyjson_arr_get(runtime_jobs(l), i);
    int64_t replicas = replicas_of(job);
    return jobs_reclaimable(json_path(l->tree, "status.jobsStatus"), json_str_at(job, "name"),
                            replicas, replicas ? l->parts[i].count / replicas : 0);
}

/* ---- our patch ---- */

static yyjson_mut_val *our_patch(yyjson_mut_val *root) {
    size_t i, n;
    yyjson_mut_val *p;
    yyjson_mut_arr_foreach(json_mpath(root, "spec.runtimePatches"), i, n, p) {
        if (str_is(json_mstr(json_mget(p, STR("manager"))), MANAGER)) {
            return p;
        }
    }
    return NULL;
}

int train_prepare(yyjson_mut_doc *d, yyjson_mut_val *root) {
    yyjson_mut_val *spec = json_mensure(d, root, "spec");
    yyjson_mut_val *list = json_mget(spec, STR("runtimePatches"));
    if (spec == NULL || our_patch(root)) {
        return spec ? 0 : ERR_NOMEM;
    }
    if (!yyjson_mut_is_arr(list)) {
        list = yyjson_mut_arr(d);
        if (list == NULL || json_mset(d, spec, STR("runtimePatches"), list) != 0) {
            return ERR_NOMEM;
        }
    }
    yyjson_mut_val *p = yyjson_mut_obj(d);
    int r = p ? json_mset_str(d, p, "manager", STR(MANAGER)) : ERR_NOMEM;
    if (r == 0 && json_mensure(d, p, "trainingRuntimeSpec.template.spec") == NULL) {
        r = ERR_NOMEM;
    }
    return r == 0 && !yyjson_mut_arr_append(list, p) ? ERR_NOMEM : r;
}

static int put_copy(yyjson_mut_doc *d, yyjson_mut_val *root, const char *parent, const char *name,
                    yyjson_mut_val *v, size_t n) {
    if (n == 0) {
        return 0;
    }
    yyjson_mut_val *o = json_mensure(d, root, parent), *copy = yyjson_mut_val_mut_copy(d, v);
    return o && copy ? json_mset(d, o, str_of(name), copy) : ERR_NOMEM;
}

static yyjson_mut_val *job_patch(yyjson_mut_doc *d, const struct podset_info *in) {
    const char *meta = "template.spec.template.metadata", *spec = "template.spec.template.spec";
    yyjson_mut_val *p = yyjson_mut_obj(d);
    int r = p ? json_mset_str(d, p, "name", in->name) : ERR_NOMEM;
    r = r ? r
          : put_copy(d, p, meta, "annotations", in->annotations,
                     yyjson_mut_obj_size(in->annotations));
    r = r ? r : put_copy(d, p, meta, "labels", in->labels, yyjson_mut_obj_size(in->labels));
    r = r ? r
          : put_copy(d, p, spec, "nodeSelector", in->selector, yyjson_mut_obj_size(in->selector));
    r = r ? r
          : put_copy(d, p, spec, "tolerations", in->tolerations,
                     yyjson_mut_arr_size(in->tolerations));
    r = r ? r : put_copy(d, p, spec, "schedulingGates", in->gates, yyjson_mut_arr_size(in->gates));
    return r ? NULL : p;
}

int train_inject(const struct job_look *l, const struct podset_info *infos, size_t n,
                 yyjson_mut_doc *d, yyjson_mut_val *root, struct err *err) {
    yyjson_mut_val *list = yyjson_mut_arr(d);
    int r = list ? train_prepare(d, root) : ERR_NOMEM;
    for (size_t i = 0; r == 0 && i < n; i++) {
        yyjson_mut_val *p = job_patch(d, &infos[i]);
        r = p && yyjson_mut_arr_append(list, p) ? 0 : ERR_NOMEM;
    }
    yyjson_mut_val *spec =
        r ? NULL : json_mensure(d, our_patch(root), "trainingRuntimeSpec.template.spec");
    return spec ? json_mset(d, spec, STR("replicatedJobs"), list) : ERR_NOMEM;
}

int train_restore(const struct job_look *l, yyjson_val *was, yyjson_mut_doc *d,
                  yyjson_mut_val *root) {
    yyjson_mut_val *p = our_patch(root);
    json_mdel(json_mpath(p, "trainingRuntimeSpec.template.spec"), STR("replicatedJobs"));
    return 0;
}
