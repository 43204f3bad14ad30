/*
 * admit_kueue: what Kueue's webhook does to a new Job: it takes the LocalQueue "default" of its namespace if it names
 * none, the WorkloadPriorityClass "default" likewise, and a Job with a queue starts suspended, so that no pod exists
 * before it is admitted; every Job does where all Jobs are managed. A Job that another controller owns is that one's
 * business, and so are Jobs in namespaces where none are queued: nobody would ever start them.
 */
#include "server/admit.h"

#include "wire/json.h"

#define QUEUE_LABEL "kueue.x-k8s.io/queue-name"
#define CLASS_LABEL "kueue.x-k8s.io/priority-class"

static bool has_controller(yyjson_mut_val *root) {
    size_t i, n;
    yyjson_mut_val *o;
    yyjson_mut_arr_foreach(json_mpath(root, "metadata.ownerReferences"), i, n, o) {
        if (yyjson_mut_is_true(json_mget(o, STR("controller")))) {
            return true;
        }
    }
    return false;
}

static bool has_default_queue(struct write *w) {
    const struct kind *k = kind_by_name(STR("kueue.x-k8s.io"), STR("LocalQueue"));
    return k != NULL && mirror_pending(w->s->o.mirror, k, w->req->ns, STR("default")) != NULL;
}

static const struct server_kueue *settings_of(const struct write *w) {
    static const struct server_kueue defaults;
    return w->s->o.kueue != NULL ? w->s->o.kueue : &defaults;
}

static bool queued_here(struct write *w) {
    const struct selector *s = settings_of(w)->namespaces;
    const struct kind *k = kind_by_name(STR(""), STR("Namespace"));
    const struct str_map none = {0};
    if (s == NULL) {
        return !str_is(w->req->ns, "kube-system");
    }
    const struct object *o =
        k != NULL ? mirror_pending(w->s->o.mirror, k, (struct str){0}, w->req->ns) : NULL;
    return selector_matches(s, o != NULL ? &o->labels : &none);
}

/* A WorkloadPriorityClass "default" is the class of Jobs that name none. */
static int default_class(struct write *w, yyjson_mut_val *root) {
    const struct kind *k = kind_by_name(STR("kueue.x-k8s.io"), STR("WorkloadPriorityClass"));
    yyjson_mut_val *labels = json_mpath(root, "metadata.labels");
    if (settings_of(w)->no_default_class || json_mget(labels, STR(CLASS_LABEL)) != NULL ||
        k == NULL || mirror_pending(w->s->o.mirror, k, (struct str){0}, STR("default")) == NULL) {
        return 0;
    }
    labels = json_mensure(w->doc, root, "metadata.labels");
    return labels == NULL ? ERR_NOMEM : json_mset_str(w->doc, labels, CLASS_LABEL, STR("default"));
}

int admit_kueue(struct write *w) {
    const struct kind *k = w->req->kind;
    if (w->old != NULL || !str_is(str_of(k->group), "batch") || !str_is(str_of(k->kind), "Job")) {
        return 0;
    }
    yyjson_mut_val *root = yyjson_mut_doc_get_root(w->doc);
    yyjson_mut_val *labels = json_mpath(root, "metadata.labels");
    struct str queue = json_mstr(json_mget(labels, STR(QUEUE_LABEL)));
    bool all = settings_of(w)->all_jobs;
    int r = 0;
    if (has_controller(root) || !queued_here(w)) {
        return 0;
    }
    if (queue.n == 0 && has_default_queue(w)) {
        labels = json_mensure(w->doc, root, "metadata.labels");
        r = labels == NULL ? ERR_NOMEM : json_mset_str(w->doc, labels, QUEUE_LABEL, STR("default"));
        queue = STR("default");
    }
    r = r == 0 && (all || queue.n > 0) ? default_class(w, root) : r;
    if (r == 0 && (all || queue.n > 0)) {
        yyjson_mut_val *spec = json_mensure(w->doc, root, "spec");
        r = spec == NULL ? ERR_NOMEM : json_mset_bool(w->doc, spec, "suspend", true);
    }
    return r != 0 ? failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory") : 0;
}
