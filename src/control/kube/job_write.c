/* job_write: see job_write.h. */
#include "control/kube/job_write.h"

#include "base/limits.h"
#include "control/kit/template_pod.h"

/* ---- pods ---- */

static int set_labels(yyjson_mut_doc *d, yyjson_mut_val *labels, const struct object *job) {
    int r = json_mset_str(d, labels, "batch.kubernetes.io/controller-uid", job->uid);
    r = r ? r : json_mset_str(d, labels, "batch.kubernetes.io/job-name", job->name);
    r = r ? r : json_mset_str(d, labels, "controller-uid", job->uid);
    return r ? r : json_mset_str(d, labels, "job-name", job->name);
}

/* The index in the environment of each container, taken from the label. */
static int set_index_env(yyjson_mut_doc *d, yyjson_mut_val *containers) {
    size_t i, n;
    yyjson_mut_val *c;
    yyjson_mut_arr_foreach(containers, i, n, c) {
        yyjson_mut_val *env = json_mget(c, STR("env"));
        if (env == NULL || !yyjson_mut_is_arr(env)) {
            env = yyjson_mut_arr(d);
            if (env == NULL || json_mset(d, c, STR("env"), env) != 0) {
                return ERR_NOMEM;
            }
        }
        if (json_mfind(env, "name", STR("JOB_COMPLETION_INDEX")) != NULL) {
            continue;
        }
        yyjson_mut_val *e = yyjson_mut_arr_add_obj(d, env);
        yyjson_mut_val *ref = e && json_mset_str(d, e, "name", STR("JOB_COMPLETION_INDEX")) == 0
                                  ? json_mensure(d, e, "valueFrom.fieldRef")
                                  : NULL;
        if (ref == NULL || json_mset_str(d, ref, "apiVersion", STR("v1")) != 0 ||
            json_mset_str(d, ref, "fieldPath", STR("metadata.labels['" JOB_INDEX_KEY "']")) != 0) {
            return ERR_NOMEM;
        }
    }
    return 0;
}

static int set_count(yyjson_mut_doc *d, yyjson_mut_val *map, const char *key, int32_t n) {
    char text[16];
    int len = snprintf(text, sizeof text, "%d", n);
    return json_mset_str(d, map, key, str_from(text, (size_t)len));
}

static int set_index(yyjson_mut_doc *d, yyjson_mut_val *root, const struct object *job,
                     const struct job_create *c, bool per_index) {
    yyjson_mut_val *meta = json_mget(root, STR("metadata")), *spec = json_mget(root, STR("spec"));
    yyjson_mut_val *notes = json_mget(meta, STR("annotations"));
    char host[LIMIT_NAME + 16];
    /* A host name is a DNS label: the Job's name is cut so that the index stays. */
    int room = snprintf(host, sizeof host, "-%d", c->index);
    int len = snprintf(host, sizeof host, "%.*s-%d",
                       STR_ARG(str_head(job->name, LIMIT_LABEL - (size_t)room)), c->index);
    int r = set_count(d, notes, JOB_INDEX_KEY, c->index);
    r = r ? r : set_count(d, json_mget(meta, STR("labels")), JOB_INDEX_KEY, c->index);
    if (r == 0 && per_index) {
        r = set_count(d, notes, JOB_INDEX_FAILURES_KEY, c->failures);
        r = r || !c->ignored ? r : set_count(d, notes, JOB_INDEX_IGNORED_KEY, c->ignored);
    }
    if (r == 0 && str_empty(json_mstr_at(spec, "hostname"))) {
        r = json_mset_str(d, spec, "hostname", str_from(host, (size_t)len));
    }
    r = r ? r : set_index_env(d, json_mget(spec, STR("containers")));
    return r ? r : set_index_env(d, json_mget(spec, STR("initContainers")));
}

static int set_meta(yyjson_mut_doc *d, yyjson_mut_val *meta, const struct object *job) {
    yyjson_mut_val *finalizers = yyjson_mut_arr(d);
    bool ok = finalizers && yyjson_mut_arr_add_str(d, finalizers, JOB_FINALIZER);
    int r = ok ? json_mset(d, meta, STR("finalizers"), finalizers) : ERR_NOMEM;
    return r ? r : set_labels(d, json_mget(meta, STR("labels")), job);
}

int job_write_pod(const struct object *job, yyjson_val *tree, const struct job_create *c,
                  bool per_index, struct arena *a, struct buf *out) {
    char name[LIMIT_NAME + 16];
    int len = c->index < 0 ? snprintf(name, sizeof name, "%.*s-", STR_ARG(job->name))
                           : snprintf(name, sizeof name, "%.*s-%d-", STR_ARG(job->name), c->index);
    struct template_pod t = {.owner = job,
                             .template = json_path(tree, "spec.template"),
                             .generate_name = str_from(name, (size_t)len)};
    yyjson_mut_doc *d = template_pod_new(&t, a);
    yyjson_mut_val *root = d ? yyjson_mut_doc_get_root(d) : NULL;
    int r = root ? set_meta(d, json_mget(root, STR("metadata")), job) : ERR_NOMEM;
    if (r == 0 && c->index >= 0) {
        r = set_index(d, root, job, c, per_index);
    }
    if (r == 0) {
        json_write_mut(out, root);
        r = buf_ok(out);
    }
    return r;
}
