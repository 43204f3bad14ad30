/*
 * integration_ray: what a row cannot say of KubeRay's kinds: containers that its operator adds to pods are counted, and
 * what would outlive a job, or take more than was admitted, is refused.
 */
#include <strings.h>

#include "base/limits.h"
#include "control/load/integration_private.h"
#include "wire/text/quantity.h"

enum { POD_SETS_MAX = 18 }; /* of a Workload */

#define FT_ANNOTATION "ray.io/ft-enabled"
#define SUBMITTER "ray-job-submitter"

/* What KubeRay gives a container of its own. */
struct container_amounts {
    struct {
        const char *cpu, *memory;
    } limits, requests;
};
static const struct container_amounts submitter = {{"1", "1Gi"}, {"500m", "200Mi"}};
static const struct container_amounts autoscaler = {{"500m", "512Mi"}, {"500m", "512Mi"}};

/* ---- the head ---- */

static int set_amounts(yyjson_mut_doc *d, yyjson_mut_val *container, const char *at,
                       const char *cpu, const char *memory) {
    yyjson_mut_val *v = json_mensure(d, container, at);
    int r = v != NULL ? json_mset_str(d, v, "cpu", str_of(cpu)) : ERR_NOMEM;
    return r != 0 ? r : json_mset_str(d, v, "memory", str_of(memory));
}

/* A container that the operator adds. `given`: resources that somebody set, or NULL. */
static int add_container(yyjson_mut_doc *d, const char *name, yyjson_val *given,
                         const struct container_amounts *amounts) {
    yyjson_mut_val *list = json_mpath(yyjson_mut_doc_get_root(d), "spec.containers");
    yyjson_mut_val *c = yyjson_mut_obj(d);
    int r = c ? json_mset_str(d, c, "name", str_of(name)) : ERR_NOMEM;
    if (r == 0 && given) {
        yyjson_mut_val *copy = yyjson_val_mut_copy(d, given);
        r = copy ? json_mset(d, c, STR("resources"), copy) : ERR_NOMEM;
    } else if (r == 0) {
        r = set_amounts(d, c, "resources.limits", amounts->limits.cpu, amounts->limits.memory);
        r = r != 0 ? r
                   : set_amounts(d, c, "resources.requests", amounts->requests.cpu,
                                 amounts->requests.memory);
    }
    return r == 0 && list && !yyjson_mut_arr_append(list, c) ? ERR_NOMEM : r;
}

static int raise_request(yyjson_mut_doc *d, yyjson_mut_val *requests, const char *name,
                         const char *least) {
    struct quantity have, want;
    struct str now = json_mstr(json_mget(requests, str_of(name)));
    if (quantity_parse(str_of(least), &want, NULL) != 0) {
        return 0;
    }
    if (quantity_parse(now, &have, NULL) == 0 && quantity_cmp(have, want) >= 0) {
        return 0;
    }
    return json_mset_str(d, requests, name, str_of(least));
}

/* The Job that cleans Redis up afterwards runs in the head's place. */
static int count_cleanup(yyjson_mut_doc *d) {
    yyjson_mut_val *list = json_mpath(yyjson_mut_doc_get_root(d), "spec.containers");
    yyjson_mut_val *c = yyjson_mut_arr_get_first(list);
    yyjson_mut_val *requests = c ? json_mensure(d, c, "resources.requests") : NULL;
    if (requests == NULL) {
        return c ? ERR_NOMEM : 0;
    }
    int r = raise_request(d, requests, "cpu", "200m");
    return r ? r : raise_request(d, requests, "memory", "256Mi");
}

static bool fault_tolerant(const struct job_look *l, yyjson_val *cluster) {
    struct str v = job_look_annotation(l, FT_ANNOTATION);
    return json_get(cluster, STR("gcsFaultToleranceOptions")) ||
           (v.n == 4 && strncasecmp(v.p, "true", 4) == 0);
}

static int adapt_head(struct job_look *l, yyjson_val *cluster, bool sidecar) {
    bool scales = json_bool_at(cluster, "enableInTreeAutoscaling", false);
    bool cleans = fault_tolerant(l, cluster);
    if (l->n_parts == 0 || !(scales || cleans || sidecar)) {
        return 0;
    }
    yyjson_mut_doc *d = job_look_open(l, 0);
    int r = d ? 0 : ERR_NOMEM;
    r = r || !cleans ? r : count_cleanup(d);
    if (r == 0 && scales) {
        r = add_container(d, "autoscaler", json_path(cluster, "autoscalerOptions.resources"),
                          &autoscaler);
    }
    r = r || !sidecar ? r : add_container(d, SUBMITTER, NULL, &submitter);
    return r ? r : job_look_close(l, 0, d);
}

int ray_cluster_adapt(struct job_look *l, struct err *err) {
    return adapt_head(l, json_path(l->tree, "spec"), false);
}

int ray_service_adapt(struct job_look *l, struct err *err) {
    return adapt_head(l, json_path(l->tree, "spec.rayClusterConfig"), false);
}

/* ---- RayJob ---- */

/* Nothing said is K8sJobMode, as the CustomResourceDefinition defaults. */
static bool submits_by_job(const struct job_look *l) {
    struct str mode = json_str_at(l->tree, "spec.submissionMode");
    return str_empty(mode) || str_is(mode, "K8sJobMode");
}

/* What the operator makes of the head's image when no template is given. */
static yyjson_val *default_submitter(struct job_look *l) {
    yyjson_val *head = json_path(l->tree, "spec.rayClusterSpec.headGroupSpec.template.spec");
    yyjson_val *first = yyjson_arr_get_first(json_get(head, STR("containers")));
    yyjson_mut_doc *d = json_mut_new(l->arena);
    yyjson_mut_val *root = d ? yyjson_mut_obj(d) : NULL;
    yyjson_mut_val *spec = root ? json_mensure(d, root, "spec") : NULL;
    if (spec == NULL) {
        return NULL;
    }
    yyjson_mut_doc_set_root(d, root);
    int r = json_mset(d, spec, STR("containers"), yyjson_mut_arr(d));
    r = r ? r : add_container(d, SUBMITTER, NULL, &submitter);
    yyjson_mut_val *c = yyjson_mut_arr_get_first(json_mget(spec, STR("containers")));
    r = r ? r : json_mset_str(d, c, "image", json_str_at(first, "image"));
    r = r ? r : json_mset_str(d, spec, "restartPolicy", STR("Never"));
    return r ? NULL : job_look_fixed(l, d);
}

int ray_job_adapt(struct job_look *l, struct err *err) {
    bool sidecar = str_is(json_str_at(l->tree, "spec.submissionMode"), "SidecarMode");
    int r = adapt_head(l, json_path(l->tree, "spec.rayClusterSpec"), sidecar);
    if (r != 0 || !submits_by_job(l) || l->n_parts == 0) {
        return r;
    }
    static const struct integration_part row = {.at = "spec", .template = "submitterPodTemplate"};
    yyjson_val *own = json_path(l->tree, "spec.submitterPodTemplate");
    yyjson_val *t = own ? own : default_submitter(l);
    struct job_part *p = t ? job_look_add(l, STR("submitter"), 1, t) : NULL;
    if (p) {
        p->row = &row;
    }
    return p ? 0 : ERR_NOMEM;
}

bool ray_job_active(const struct job_look *l) {
    struct str s = json_str_at(l->tree, "status.jobDeploymentStatus");
    return !str_empty(s) && !str_is(s, "Suspended");
}

bool ray_job_ready(const struct job_look *l) {
    return str_is(json_str_at(l->tree, "status.rayClusterStatus.state"), "ready");
}

bool ray_job_finished(const struct job_look *l, struct job_end *ret) {
    struct str s = json_str_at(l->tree, "status.jobDeploymentStatus");
    if (!str_is(s, "Complete") && !str_is(s, "Failed")) {
        return false;
    }
    ret->good = str_is(json_str_at(l->tree, "status.jobStatus"), "SUCCEEDED");
    ret->message = json_str_at(l->tree, "status.message");
    return true;
}

bool ray_job_on_hold(const struct job_look *l) {
    return str_is(json_str_at(l->tree, "status.jobDeploymentStatus"), "ValidationFailed");
}

/* It uses a cluster that is there: that one is queued, if anything. */
bool ray_job_skipped(const struct job_look *l) {
    yyjson_val *v = json_path(l->tree, "spec.clusterSelector");
    return yyjson_is_obj(v) && yyjson_obj_size(v) > 0;
}

/* A submitter of the operator's own making becomes one of ours, since only that can say where it runs. */
int ray_job_inject(const struct job_look *l, const struct podset_info *infos, size_t n,
                   yyjson_mut_doc *d, yyjson_mut_val *root, struct err *err) {
    const struct job_part *last = &l->parts[l->n_parts - 1];
    yyjson_mut_val *spec = json_mget(root, STR("spec"));
    if (!submits_by_job(l) || json_mget(spec, STR("submitterPodTemplate"))) {
        return 0;
    }
    yyjson_mut_val *t = yyjson_val_mut_copy(d, last->template);
    int r = t ? podset_info_merge(&infos[n - 1], d, t, err) : ERR_NOMEM;
    return r ? r : json_mset(d, spec, STR("submitterPodTemplate"), t);
}

/* ---- rules ---- */

static void field(char *out, size_t n, const char *base, const char *member) {
    (void)snprintf(out, n, "%s.%s", base, member);
}

static void check_cluster(yyjson_mut_val *cluster, const char *base, struct causes *causes) {
    char at[128];
    size_t i, n;
    yyjson_mut_val *g, *groups = json_mget(cluster, STR("workerGroupSpecs"));
    if (yyjson_mut_is_true(json_mget(cluster, STR("enableInTreeAutoscaling")))) {
        field(at, sizeof at, base, "enableInTreeAutoscaling");
        causes_add(causes, CAUSE_INVALID, str_of(at),
                   "Invalid value: true: a kueue managed job should only use autoscaling when "
                   "workload slicing is enabled");
    }
    if (yyjson_mut_arr_size(groups) + 1 > POD_SETS_MAX) {
        field(at, sizeof at, base, "workerGroupSpecs");
        causes_add(causes, CAUSE_TOO_MANY, str_of(at), "Too many: %zu: must have at most %d items",
                   yyjson_mut_arr_size(groups) + 1, POD_SETS_MAX);
    }
    yyjson_mut_arr_foreach(groups, i, n, g) {
        if (str_is(json_mstr(json_mget(g, STR("groupName"))), "head")) {
            (void)snprintf(at, sizeof at, "%s.workerGroupSpecs[%zu].groupName", base, i);
            causes_add(causes, CAUSE_FORBIDDEN, str_of(at),
                       "Forbidden: \"head\" is reserved for the head group");
        }
    }
}

void ray_cluster_check(yyjson_mut_val *root, struct causes *causes) {
    check_cluster(json_mget(root, STR("spec")), "spec", causes);
}

void ray_service_check(yyjson_mut_val *root, struct causes *causes) {
    check_cluster(json_mpath(root, "spec.rayClusterConfig"), "spec.rayClusterConfig", causes);
}

void ray_job_check(yyjson_mut_val *root, struct causes *causes) {
    yyjson_mut_val *cluster = json_mpath(root, "spec.rayClusterSpec");
    bool chooses = yyjson_mut_obj_size(json_mpath(root, "spec.clusterSelector")) > 0;
    if (chooses && cluster) {
        causes_add(causes, CAUSE_INVALID, STR("spec.clusterSelector"),
                   "Invalid value: a kueue managed job should not use an existing cluster");
    }
    if (chooses) {
        return;
    }
    if (cluster == NULL) {
        causes_add(causes, CAUSE_REQUIRED, STR("spec.rayClusterSpec"),
                   "Required value: rayClusterSpec is required for Kueue-managed jobs that don't "
                   "use clusterSelector");
        return;
    }
    if (!yyjson_mut_is_true(json_mpath(root, "spec.shutdownAfterJobFinishes"))) {
        causes_add(causes, CAUSE_INVALID, STR("spec.shutdownAfterJobFinishes"),
                   "Invalid value: false: a kueue managed job should delete the cluster after "
                   "finishing");
    }
    check_cluster(cluster, "spec.rayClusterSpec", causes);
}
