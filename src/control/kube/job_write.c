/* job_write: see job_write.h. */
#include "control/kube/job_write.h"

#include "api/inventory.h"
#include "api/pod_fields.h"
#include "base/limits.h"
#include "control/load/integration.h"

/* ---- pods ---- */

static yyjson_mut_val *copy_or_new(yyjson_mut_doc *d, yyjson_val *v) {
    return yyjson_is_obj(v) ? yyjson_val_mut_copy(d, v) : yyjson_mut_obj(d);
}

static int set_owner(yyjson_mut_doc *d, yyjson_mut_val *meta, const struct object *job) {
    yyjson_mut_val *list = yyjson_mut_arr(d), *o = yyjson_mut_arr_add_obj(d, list);
    int r = o ? 0 : ERR_NOMEM;
    r = r ? r : json_mset_str(d, o, "apiVersion", str_of(kind_api_version(job->kind)));
    r = r ? r : json_mset_str(d, o, "kind", str_of(job->kind->kind));
    r = r ? r : json_mset_str(d, o, "name", job->name);
    r = r ? r : json_mset_str(d, o, "uid", job->uid);
    r = r ? r : json_mset_bool(d, o, "controller", true);
    r = r ? r : json_mset_bool(d, o, "blockOwnerDeletion", true);
    return r ? r : json_mset(d, meta, STR("ownerReferences"), list);
}

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
        if (!env || !yyjson_mut_is_arr(env)) {
            env = yyjson_mut_arr(d);
            if (!env || json_mset(d, c, STR("env"), env) != 0) {
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
        if (!ref || json_mset_str(d, ref, "apiVersion", STR("v1")) != 0 ||
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

static int set_meta(yyjson_mut_doc *d, yyjson_mut_val *meta, const struct object *job,
                    yyjson_val *template_meta, const struct job_create *c) {
    char name[LIMIT_NAME + 16];
    int len = c->index < 0 ? snprintf(name, sizeof name, "%.*s-", STR_ARG(job->name))
                           : snprintf(name, sizeof name, "%.*s-%d-", STR_ARG(job->name), c->index);
    yyjson_mut_val *labels = copy_or_new(d, json_get(template_meta, STR("labels")));
    yyjson_mut_val *finalizers = yyjson_mut_arr(d);
    int r = finalizers && yyjson_mut_arr_add_str(d, finalizers, JOB_FINALIZER) ? 0 : ERR_NOMEM;
    r = r ? r : json_mset_str(d, meta, "generateName", str_from(name, (size_t)len));
    r = r ? r : json_mset_str(d, meta, "namespace", job->ns);
    r = r ? r : json_mset(d, meta, STR("labels"), labels);
    r = r ? r : set_labels(d, labels, job);
    r = r ? r
          : json_mset(d, meta, STR("annotations"),
                      copy_or_new(d, json_get(template_meta, STR("annotations"))));
    r = r ? r : json_mset(d, meta, STR("finalizers"), finalizers);
    return r ? r : set_owner(d, meta, job);
}

/* What the scheduler alone says of a pod is not its template's to say. A Job without a queue may name a node, as in
 * Kubernetes: its author had the right to. */
static void drop_places(yyjson_mut_val *root, const struct object *job) {
    yyjson_mut_val *notes = json_mpath(root, "metadata.annotations");
    json_mdel(notes, STR(DEVICES_ANNOTATION));
    json_mdel(notes, STR(POD_PLACEMENT_ANNOTATION));
    if (object_label(job, STR(KUEUE_QUEUE_LABEL)).n > 0) {
        json_mdel(json_mget(root, STR("spec")), STR("nodeName"));
    }
}

int job_write_pod(const struct object *job, yyjson_val *tree, const struct job_create *c,
                  bool per_index, struct arena *a, struct buf *out) {
    yyjson_mut_doc *d = json_mut_new(a);
    yyjson_mut_val *root = d ? yyjson_mut_obj(d) : NULL;
    if (!root) {
        return ERR_NOMEM;
    }
    yyjson_mut_doc_set_root(d, root);
    int r = json_mset_str(d, root, "apiVersion", STR("v1"));
    r = r ? r : json_mset_str(d, root, "kind", STR("Pod"));
    yyjson_mut_val *meta = json_mensure(d, root, "metadata");
    r = r || !meta ? ERR_NOMEM
                   : set_meta(d, meta, job, json_path(tree, "spec.template.metadata"), c);
    r = r ? r
          : json_mset(d, root, STR("spec"), copy_or_new(d, json_path(tree, "spec.template.spec")));
    if (r == 0 && c->index >= 0) {
        r = set_index(d, root, job, c, per_index);
    }
    if (r == 0) {
        drop_places(root, job);
        json_write_mut(out, root);
        r = buf_ok(out);
    }
    return r;
}
