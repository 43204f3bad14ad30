/*
 * job_inject: what an admission puts into a Job's pod template, and how it is taken out again (job_workload.h).
 *
 * In: the node labels of every flavor assigned become node selector, their tolerations are appended, the pod set's name
 * becomes a label; updates of admission checks are merged. The same key with another value can never be satisfied.
 */
#include "api/check.h"
#include "api/codec.h"
#include "base/limits.h"
#include "control/job_workload.h"

struct injection {
    yyjson_mut_doc *d;
    yyjson_mut_val *labels, *annotations, *selector, *tolerations; /* what is added */
    yyjson_val *template;
    bool more_tolerations;
};

static int merge_key(struct injection *in, yyjson_mut_val *into, const char *what, const char *path,
                     struct str key, struct str value, struct err *err) {
    struct str own = json_str(json_get(json_path(in->template, path), key));
    yyjson_mut_val *added = json_mget(into, key);
    struct str other = added ? json_mstr(added) : own;
    if ((added || json_get(json_path(in->template, path), key)) && !str_eq(other, value)) {
        return err_set(err, ERR_CONFLICT,
                       "conflict for %s: conflict for key=%.*s, value1=%.*s, value2=%.*s", what,
                       STR_ARG(key), STR_ARG(other), STR_ARG(value));
    }
    return json_mset(in->d, into, key, yyjson_mut_strncpy(in->d, value.p ? value.p : "", value.n));
}

static int merge_map(struct injection *in, yyjson_mut_val *into, const char *what, const char *path,
                     const struct str_map *map, struct err *err) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < map->n; i++) {
        r = merge_key(in, into, what, path, map->v[i].key, map->v[i].value, err);
    }
    return r;
}

static int add_copy(struct injection *in, yyjson_mut_val *copy) {
    size_t i, n;
    yyjson_mut_val *have;
    yyjson_mut_arr_foreach(in->tolerations, i, n, have) {
        if (json_mequal(have, copy)) {
            return 0;
        }
    }
    in->more_tolerations = true;
    return copy && yyjson_mut_arr_append(in->tolerations, copy) ? 0 : ERR_NOMEM;
}

static int add_toleration(struct injection *in, yyjson_val *t) {
    return add_copy(in, yyjson_val_mut_copy(in->d, t));
}

static int add_update_toleration(struct injection *in, const struct toleration *t) {
    const struct {
        const char *key;
        struct str v;
    } members[] = {
        {"key", t->key}, {"operator", t->operator}, {"value", t->value}, {"effect", t->effect}};
    yyjson_mut_val *o = yyjson_mut_obj(in->d);
    int r = o ? 0 : ERR_NOMEM;
    for (size_t i = 0; r == 0 && i < sizeof members / sizeof *members; i++) {
        r = str_empty(members[i].v) ? 0 : json_mset_str(in->d, o, members[i].key, members[i].v);
    }
    if (r == 0 && t->toleration_seconds.set &&
        !yyjson_mut_obj_add_int(in->d, o, "tolerationSeconds", t->toleration_seconds.v)) {
        r = ERR_NOMEM;
    }
    return r ? r : add_copy(in, o);
}

static int add_tolerations(struct injection *in, yyjson_val *list) {
    size_t i, n;
    yyjson_val *t;
    yyjson_arr_foreach(list, i, n, t) {
        if (add_toleration(in, t) != 0) {
            return ERR_NOMEM;
        }
    }
    return 0;
}

static int add_flavor(struct injection *in, const struct mirror *m, struct str name,
                      struct arena *a, struct err *err) {
    const struct object *o =
        mirror_get(m, kind_by_name(STR("kueue.x-k8s.io"), STR("ResourceFlavor")), STR(""), name);
    struct resource_flavor rf;
    yyjson_doc *d;
    if (!o) {
        return err_set(err, ERR_NOT_FOUND, "ResourceFlavor %.*s not found", STR_ARG(name));
    }
    int r = object_tree(o, a, &d, err);
    r = r ? r : codec_decode(&schema_resource_flavor, yyjson_doc_get_root(d), a, &rf, err);
    if (r != 0 || !rf.spec) {
        return r;
    }
    r = merge_map(in, in->selector, "nodeSelector", "spec.nodeSelector", &rf.spec->node_labels,
                  err);
    return r ? r : add_tolerations(in, json_path(yyjson_doc_get_root(d), "spec.tolerations"));
}

static int add_flavors(struct injection *in, const struct pod_set_assignment *ps,
                       const struct mirror *m, struct arena *a, struct err *err) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < ps->flavors.n; i++) {
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++) {
            seen = str_eq(ps->flavors.v[k].value, ps->flavors.v[i].value);
        }
        r = seen ? 0 : add_flavor(in, m, ps->flavors.v[i].value, a, err);
    }
    return r;
}

static int add_check_updates(struct injection *in, const struct workload *wl, struct str set,
                             struct err *err) {
    int r = 0;
    for (size_t i = 0; i < wl->status->admission_checks.n; i++) {
        const struct admission_check_state *c = &wl->status->admission_checks.v[i];
        for (size_t k = 0; r == 0 && k < c->pod_set_updates.n; k++) {
            const struct pod_set_update *u = &c->pod_set_updates.v[k];
            if (!str_eq(u->name, set)) {
                continue;
            }
            r = merge_map(in, in->labels, "labels", "metadata.labels", &u->labels, err);
            r = r ? r
                  : merge_map(in, in->annotations, "annotations", "metadata.annotations",
                              &u->annotations, err);
            r = r ? r
                  : merge_map(in, in->selector, "nodeSelector", "spec.nodeSelector",
                              &u->node_selector, err);
            for (size_t t = 0; r == 0 && t < u->tolerations.n; t++) {
                r = add_update_toleration(in, &u->tolerations.v[t]);
            }
            if (r == ERR_CONFLICT) {
                err_wrap(err, "invalid admission check PodSetUpdate");
            }
        }
    }
    return r;
}

/* Pods say which queues they came from. */
static int add_queue_labels(struct injection *in, const struct object *job,
                            const struct admission *ad, const struct queue_settings *s,
                            struct err *err) {
    struct str local = object_label(job, STR(KUEUE_QUEUE_LABEL));
    if (!s->gates.assign_queue_labels) {
        return 0;
    }
    int r = str_empty(local) ? 0
                             : merge_key(in, in->labels, "labels", "metadata.labels",
                                         STR("kueue.x-k8s.io/local-queue-name"), local, err);
    return r == 0 && format_fault("dns1123-label", ad->cluster_queue) == NULL
               ? merge_key(in, in->labels, "labels", "metadata.labels",
                           STR("kueue.x-k8s.io/cluster-queue-name"), ad->cluster_queue, err)
               : r;
}

static int injection_init(struct injection *in, yyjson_val *tree, struct arena *a) {
    *in = (struct injection){.d = json_mut_new(a), .template = json_path(tree, "spec.template")};
    if (!in->d) {
        return ERR_NOMEM;
    }
    in->labels = yyjson_mut_obj(in->d);
    in->annotations = yyjson_mut_obj(in->d);
    in->selector = yyjson_mut_obj(in->d);
    in->tolerations = yyjson_mut_arr(in->d);
    if (!in->labels || !in->annotations || !in->selector || !in->tolerations) {
        return ERR_NOMEM;
    }
    int r = add_tolerations(in, json_path(in->template, "spec.tolerations"));
    in->more_tolerations = false;
    return r;
}

/* An Indexed Job may ask for as many completions as it has pods at a time. */
static bool follows(const struct job *j) {
    for (size_t i = 0; i < j->metadata->annotations.n; i++) {
        if (str_is(j->metadata->annotations.v[i].key, KUEUE_COMPLETIONS_FOLLOW)) {
            return str_is(j->metadata->annotations.v[i].value, "true") &&
                   str_is(j->spec->completion_mode, "Indexed");
        }
    }
    return false;
}

/* Fewer pods at a time are for Jobs that agreed to it; an admission also counts fewer when some have ended. */
static void write_start(const struct object *obj, const struct job *j, const struct injection *in,
                        const struct workload *wl, struct buf *out) {
    const struct pod_set_assignment *ps = &wl->status->admission->pod_set_assignments.v[0];
    bool partial = wl->spec && wl->spec->pod_sets.n && wl->spec->pod_sets.v[0].min_count.set;
    buf_f(out, "{\"metadata\":{\"resourceVersion\":\"%llu\"},\"spec\":{\"suspend\":false",
          (unsigned long long)obj->rv);
    if (partial && ps->count.set && j->spec->parallelism.set &&
        ps->count.v < j->spec->parallelism.v &&
        (!j->spec->completions.set || ps->count.v < j->spec->completions.v || follows(j))) {
        buf_f(out, ",\"parallelism\":%d", ps->count.v);
        if (follows(j)) {
            buf_f(out, ",\"completions\":%d", ps->count.v);
        }
    }
    buf_c(out, ",\"template\":{\"metadata\":{\"labels\":");
    json_write_mut(out, in->labels);
    buf_c(out, ",\"annotations\":");
    json_write_mut(out, in->annotations);
    buf_c(out, "},\"spec\":{\"nodeSelector\":");
    json_write_mut(out, in->selector);
    if (in->more_tolerations) {
        buf_c(out, ",\"tolerations\":");
        json_write_mut(out, in->tolerations);
    }
    buf_c(out, "}}}}");
}

int job_workload_start(const struct object *obj, yyjson_val *tree, const struct job *j,
                       const struct workload *wl, const struct mirror *m,
                       const struct queue_settings *s, struct arena *a, struct buf *out,
                       struct err *err) {
    const struct admission *ad = wl->status->admission;
    struct injection in;
    if (!ad || ad->pod_set_assignments.n != 1) {
        return err_set(err, ERR_CONFLICT, "invalid podset infos: expecting 1 podset, got %zu",
                       ad ? ad->pod_set_assignments.n : 0);
    }
    const struct pod_set_assignment *ps = &ad->pod_set_assignments.v[0];
    int r = injection_init(&in, tree, a);
    r = r ? r
          : merge_key(&in, in.labels, "labels", "metadata.labels", STR(KUEUE_PODSET_LABEL),
                      ps->name, err);
    r = r ? r : add_queue_labels(&in, obj, ad, s, err);
    r = r ? r : add_flavors(&in, ps, m, a, err);
    r = r ? r : add_check_updates(&in, wl, ps->name, err);
    if (r == 0) {
        write_start(obj, j, &in, wl, out);
        r = buf_ok(out);
    }
    return r;
}

static bool has_mark(const struct pod_template *t) {
    for (size_t i = 0; t && t->metadata && i < t->metadata->labels.n; i++) {
        if (str_is(t->metadata->labels.v[i].key, KUEUE_PODSET_LABEL)) {
            return true;
        }
    }
    return false;
}

bool job_workload_injected(const struct job *j, const struct workload *wl) {
    const struct pod_template *was =
        wl->spec && wl->spec->pod_sets.n ? wl->spec->pod_sets.v[0].template : NULL;
    return has_mark(j->spec->template) && !has_mark(was);
}

/* A merge patch of one map: what is there and was not before goes, what was before comes. */
static void write_map_back(struct buf *out, const char *name, yyjson_val *now, yyjson_val *before) {
    size_t i, n, k = 0;
    yyjson_val *key, *v;
    buf_f(out, "\"%s\":{", name);
    yyjson_obj_foreach(now, i, n, key, v) {
        if (!json_get(before, json_str(key))) {
            buf_c(out, k++ ? "," : "");
            buf_json(out, json_str(key));
            buf_c(out, ":null");
        }
    }
    yyjson_obj_foreach(before, i, n, key, v) {
        buf_c(out, k++ ? "," : "");
        buf_json(out, json_str(key));
        buf_c(out, ":");
        json_write(out, v);
    }
    buf_c(out, "}");
}

int job_workload_restore(const struct object *obj, yyjson_val *tree, yyjson_val *wl_tree,
                         struct arena *a, struct buf *out) {
    yyjson_val *now = json_path(tree, "spec.template");
    yyjson_val *set = yyjson_arr_get_first(json_path(wl_tree, "spec.podSets"));
    yyjson_val *was = json_get(set, STR("template")), *t = json_path(was, "spec.tolerations");
    buf_f(out, "{\"metadata\":{\"resourceVersion\":\"%llu\"},\"spec\":{",
          (unsigned long long)obj->rv);
    int64_t count = json_i64_at(set, "count", 0), have = json_i64_at(tree, "spec.parallelism", 1);
    if (count > have && json_get(set, STR("minCount"))) {
        buf_f(out, "\"parallelism\":%lld,", (long long)count);
        struct str follow = json_str(
            json_get(json_path(tree, "metadata.annotations"), STR(KUEUE_COMPLETIONS_FOLLOW)));
        if (str_is(follow, "true") && str_is(json_str_at(tree, "spec.completionMode"), "Indexed")) {
            buf_f(out, "\"completions\":%lld,", (long long)count);
        }
    }
    buf_c(out, "\"template\":{\"metadata\":{");
    write_map_back(out, "labels", json_path(now, "metadata.labels"),
                   json_path(was, "metadata.labels"));
    buf_c(out, ",");
    write_map_back(out, "annotations", json_path(now, "metadata.annotations"),
                   json_path(was, "metadata.annotations"));
    buf_c(out, "},\"spec\":{");
    write_map_back(out, "nodeSelector", json_path(now, "spec.nodeSelector"),
                   json_path(was, "spec.nodeSelector"));
    buf_c(out, ",\"tolerations\":");
    if (t) {
        json_write(out, t);
    } else {
        buf_c(out, "null");
    }
    buf_c(out, "}}}}");
    return buf_ok(out);
}
