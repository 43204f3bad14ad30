/* podset_info: see podset_info.h. */
#include "control/load/podset_info.h"

#include "api/schema/check.h"
#include "api/schema/codec.h"
#include "control/kit/views.h"
#include "control/load/job_slices.h"

#define WORKLOAD_ANNOTATION "kueue.x-k8s.io/workload"
#define UNCONSTRAINED_ANNOTATION "kueue.x-k8s.io/podset-unconstrained-topology"
#define CONFLICT "invalid admission check PodSetUpdate: conflict for "

int podset_info_init(struct podset_info *in, struct arena *a) {
    yyjson_mut_doc *d = json_mut_new(a);
    if (d == NULL) {
        return ERR_NOMEM;
    }
    *in = (struct podset_info){.doc = d,
                               .labels = yyjson_mut_obj(d),
                               .annotations = yyjson_mut_obj(d),
                               .selector = yyjson_mut_obj(d),
                               .tolerations = yyjson_mut_arr(d),
                               .gates = yyjson_mut_arr(d)};
    return in->labels && in->annotations && in->selector && in->tolerations && in->gates
               ? 0
               : ERR_NOMEM;
}

/* ---- keys ---- */

static int set_key(yyjson_mut_doc *d, yyjson_mut_val *into, const char *what, struct str key,
                   struct str value, struct err *err) {
    yyjson_mut_val *have = json_mget(into, key);
    if (have == NULL) {
        return json_mset(d, into, key, yyjson_mut_strncpy(d, value.p ? value.p : "", value.n));
    }
    struct str other = json_mstr(have);
    return str_eq(other, value)
               ? 0
               : err_set(err, ERR_CONFLICT,
                         CONFLICT "%s: conflict for key=%.*s, value1=%.*s, value2=%.*s", what,
                         STR_ARG(key), STR_ARG(other), STR_ARG(value));
}

static int set_map(struct podset_info *in, yyjson_mut_val *into, const char *what,
                   const struct str_map *map, struct err *err) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < map->n; i++) {
        r = set_key(in->doc, into, what, map->v[i].key, map->v[i].value, err);
    }
    return r;
}

static bool has_equal(yyjson_mut_val *list, yyjson_mut_val *v) {
    size_t i, n;
    yyjson_mut_val *have;
    yyjson_mut_arr_foreach(list, i, n, have) {
        if (json_mequal(have, v)) {
            return true;
        }
    }
    return false;
}

/* Takes `v` over, which is of the list's document. */
static int append_new(yyjson_mut_val *list, yyjson_mut_val *v) {
    if (v == NULL) {
        return ERR_NOMEM;
    }
    return has_equal(list, v) || yyjson_mut_arr_append(list, v) ? 0 : ERR_NOMEM;
}

/* ---- what is given ---- */

static int add_flavor(struct podset_info *in, const struct podset_ask *q, struct str name,
                      struct err *err) {
    const struct kind *k = kind_by_name(STR("kueue.x-k8s.io"), STR("ResourceFlavor"));
    const struct object *o = k ? mirror_get(q->mirror, k, STR(""), name) : NULL;
    yyjson_doc *doc;
    size_t i, n;
    yyjson_val *key, *v;
    if (o == NULL) {
        return err_set(err, ERR_NOT_FOUND, "ResourceFlavor %.*s not found", STR_ARG(name));
    }
    int r = object_tree(o, q->arena, &doc, err);
    if (r != 0) {
        return r;
    }
    yyjson_val *spec = json_path(yyjson_doc_get_root(doc), "spec");
    yyjson_val *labels = json_path(spec, "nodeLabels"), *list = json_path(spec, "tolerations");
    if (labels) {
        yyjson_obj_foreach(labels, i, n, key, v) {
            r = r ? r
                  : set_key(in->doc, in->selector, "nodeSelector", json_str(key), json_str(v), err);
        }
    }
    yyjson_arr_foreach(list, i, n, v) {
        r = r ? r : append_new(in->tolerations, yyjson_val_mut_copy(in->doc, v));
    }
    return r;
}

static int add_flavors(struct podset_info *in, const struct podset_ask *q, struct err *err) {
    const struct str_map *f = &q->wl->status->admission->pod_set_assignments.v[q->set].flavors;
    int r = 0;
    for (size_t i = 0; r == 0 && i < f->n; i++) {
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++) {
            seen = str_eq(f->v[k].value, f->v[i].value);
        }
        r = seen ? 0 : add_flavor(in, q, f->v[i].value, err);
    }
    return r;
}

/* Pods say which queues they came from. */
static int add_queue_labels(struct podset_info *in, const struct podset_ask *q, struct err *err) {
    struct str queue = q->wl->spec->queue_name, cluster = q->wl->status->admission->cluster_queue;
    if (!q->settings->gates.assign_queue_labels) {
        return 0;
    }
    int r = str_empty(queue) ? 0
                             : set_key(in->doc, in->labels, "labels",
                                       STR("kueue.x-k8s.io/local-queue-name"), queue, err);
    return r == 0 && !str_empty(cluster) && format_fault("dns1123-label", cluster) == NULL
               ? set_key(in->doc, in->labels, "labels", STR("kueue.x-k8s.io/cluster-queue-name"),
                         cluster, err)
               : r;
}

static const struct pod_set *set_named(const struct workload *wl, struct str name) {
    for (size_t i = 0; wl->spec && i < wl->spec->pod_sets.n; i++) {
        if (str_eq(wl->spec->pod_sets.v[i].name, name)) {
            return &wl->spec->pod_sets.v[i];
        }
    }
    return NULL;
}

/* A placement by topology: pods wait until each has its place. */
static int add_topology(struct podset_info *in, const struct podset_ask *q,
                        const struct pod_set *set, struct err *err) {
    const struct topology_request *t = set ? set->topology_request : NULL;
    bool asked = t && (!str_empty(t->required) || !str_empty(t->preferred) || t->unconstrained.set);
    yyjson_mut_val *gate = yyjson_mut_obj(in->doc);
    int r = gate ? json_mset_str(in->doc, gate, "name", STR(KUEUE_TOPOLOGY_GATE)) : ERR_NOMEM;
    r = r ? r : append_new(in->gates, gate);
    r = r ? r
          : set_key(in->doc, in->annotations, "annotations", STR(WORKLOAD_ANNOTATION),
                    q->wl_obj->name, err);
    return r || asked ? r
                      : set_key(in->doc, in->annotations, "annotations",
                                STR(UNCONSTRAINED_ANNOTATION), STR("true"), err);
}

/* ---- updates of admission checks ---- */

static yyjson_mut_val *toleration_json(yyjson_mut_doc *d, const struct toleration *t) {
    const struct {
        const char *key;
        struct str v;
    } members[] = {{"key", t->key},
                   {"operator", t->operator}, {"value", t->value}, {"effect", t->effect}};
    yyjson_mut_val *o = yyjson_mut_obj(d);
    int r = o ? 0 : ERR_NOMEM;
    for (size_t i = 0; r == 0 && i < sizeof members / sizeof *members; i++) {
        r = str_empty(members[i].v) ? 0 : json_mset_str(d, o, members[i].key, members[i].v);
    }
    if (r == 0 && t->toleration_seconds.set) {
        r = json_mset_i64(d, o, "tolerationSeconds", t->toleration_seconds.v);
    }
    return r ? NULL : o;
}

static int add_update(struct podset_info *in, const struct pod_set_update *u, struct err *err) {
    int r = set_map(in, in->annotations, "annotations", &u->annotations, err);
    r = r ? r : set_map(in, in->labels, "labels", &u->labels, err);
    r = r ? r : set_map(in, in->selector, "nodeSelector", &u->node_selector, err);
    for (size_t t = 0; r == 0 && t < u->tolerations.n; t++) {
        r = append_new(in->tolerations, toleration_json(in->doc, &u->tolerations.v[t]));
    }
    return r;
}

static int add_updates(struct podset_info *in, const struct podset_ask *q, struct err *err) {
    const struct workload_status *s = q->wl->status;
    for (size_t i = 0; i < s->admission_checks.n; i++) {
        const struct admission_check_state *c = &s->admission_checks.v[i];
        for (size_t k = 0; k < c->pod_set_updates.n; k++) {
            if (!str_eq(c->pod_set_updates.v[k].name, in->name)) {
                continue;
            }
            int r = add_update(in, &c->pod_set_updates.v[k], err);
            if (r == ERR_CONFLICT) {
                err_wrap(err, "in admission check \"%.*s\"", STR_ARG(c->name));
            }
            if (r != 0) {
                return r;
            }
            break;
        }
    }
    return 0;
}

/* Pods of an elastic Job name the first of its Workloads: they outlive the one that they are made under. */
static int add_slice(struct podset_info *in, const struct podset_ask *q, struct err *err) {
    const struct str_map *notes = &q->wl->metadata->annotations;
    struct str elastic = {0}, name = q->wl_obj->name;
    for (size_t i = 0; i < notes->n; i++) {
        elastic = str_is(notes->v[i].key, KUEUE_ELASTIC_ANNOTATION) ? notes->v[i].value : elastic;
        name = str_is(notes->v[i].key, KUEUE_SLICE_NAME) ? notes->v[i].value : name;
    }
    return q->settings->gates.elastic_jobs && str_is(elastic, "true")
               ? set_key(in->doc, in->annotations, "annotations", STR(KUEUE_SLICE_NAME), name, err)
               : 0;
}

int podset_info_admitted(struct podset_info *in, const struct podset_ask *q, struct err *err) {
    const struct pod_set_assignment *ps = &q->wl->status->admission->pod_set_assignments.v[q->set];
    const struct pod_set *set = set_named(q->wl, ps->name);
    in->name = ps->name;
    in->count = ps->count.set ? ps->count.v : set ? set->count : 0;
    int r = set_key(in->doc, in->labels, "labels", STR(KUEUE_PODSET_LABEL), ps->name, err);
    r = r ? r : add_queue_labels(in, q, err);
    r = r ? r : add_flavors(in, q, err);
    r = r || ps->topology_assignment == NULL ? r : add_topology(in, q, set, err);
    r = r ? r : add_slice(in, q, err);
    return r ? r : add_updates(in, q, err);
}

int podset_infos_admitted(const struct podset_ask *q, size_t want, struct podset_info **ret,
                          struct err *err) {
    const struct workload_admission *ad = q->wl->status ? q->wl->status->admission : NULL;
    size_t n = ad ? ad->pod_set_assignments.n : 0;
    struct podset_ask each = *q;
    if (n != want) {
        return err_set(err, ERR_CONFLICT, "invalid podset infos: expecting %zu podset, got %zu",
                       want, n);
    }
    struct podset_info *v = arena_zalloc(q->arena, (n ? n : 1) * sizeof *v);
    int r = v ? 0 : ERR_NOMEM;
    for (each.set = 0; r == 0 && each.set < n; each.set++) {
        r = podset_info_init(&v[each.set], q->arena);
        r = r ? r : podset_info_admitted(&v[each.set], &each, err);
    }
    if (r == 0) {
        *ret = v;
    }
    return r;
}

/* ---- in and out ---- */

static int merge_map(yyjson_mut_doc *d, yyjson_mut_val *template, const char *path,
                     const char *what, yyjson_mut_val *map, struct err *err) {
    size_t i, n;
    yyjson_mut_val *key, *v;
    int r = 0;
    if (yyjson_mut_obj_size(map) == 0) {
        return 0;
    }
    yyjson_mut_val *into = json_mensure(d, template, path);
    if (into == NULL) {
        return ERR_NOMEM;
    }
    yyjson_mut_obj_foreach(map, i, n, key, v) {
        r = r ? r : set_key(d, into, what, json_mstr(key), json_mstr(v), err);
    }
    return r;
}

static int merge_list(yyjson_mut_doc *d, yyjson_mut_val *template, const char *name,
                      yyjson_mut_val *list) {
    size_t i, n;
    yyjson_mut_val *v;
    int r = 0;
    if (yyjson_mut_arr_size(list) == 0) {
        return 0;
    }
    yyjson_mut_val *spec = json_mensure(d, template, "spec");
    yyjson_mut_val *into = json_mget(spec, str_of(name));
    if (spec && !yyjson_mut_is_arr(into)) {
        into = yyjson_mut_arr(d);
        r = into ? json_mset(d, spec, str_of(name), into) : ERR_NOMEM;
    }
    if (spec == NULL) {
        return ERR_NOMEM;
    }
    yyjson_mut_arr_foreach(list, i, n, v) {
        r = r ? r : append_new(into, yyjson_mut_val_mut_copy(d, v));
    }
    return r;
}

int podset_info_merge(const struct podset_info *in, yyjson_mut_doc *d, yyjson_mut_val *template,
                      struct err *err) {
    int r = merge_map(d, template, "metadata.annotations", "annotations", in->annotations, err);
    r = r ? r : merge_map(d, template, "metadata.labels", "labels", in->labels, err);
    r = r ? r : merge_map(d, template, "spec.nodeSelector", "nodeSelector", in->selector, err);
    r = r ? r : merge_list(d, template, "tolerations", in->tolerations);
    return r ? r : merge_list(d, template, "schedulingGates", in->gates);
}

static int put_back(yyjson_mut_doc *d, yyjson_mut_val *parent, const char *name, yyjson_val *was) {
    if (was == NULL) {
        json_mdel(parent, str_of(name));
        return 0;
    }
    yyjson_mut_val *copy = yyjson_val_mut_copy(d, was);
    return copy ? json_mset(d, parent, str_of(name), copy) : ERR_NOMEM;
}

int podset_info_restore(yyjson_mut_doc *d, yyjson_mut_val *template, yyjson_val *was) {
    static const char *const of_meta[] = {"labels", "annotations"};
    static const char *const of_spec[] = {"nodeSelector", "tolerations", "schedulingGates"};
    yyjson_val *old_meta = json_path(was, "metadata"), *old_spec = json_path(was, "spec");
    yyjson_mut_val *meta = json_mget(template, STR("metadata"));
    yyjson_mut_val *spec = json_mget(template, STR("spec"));
    int r = 0;
    for (size_t i = 0; r == 0 && meta && i < sizeof of_meta / sizeof *of_meta; i++) {
        r = put_back(d, meta, of_meta[i], json_get(old_meta, str_of(of_meta[i])));
    }
    for (size_t i = 0; r == 0 && spec && i < sizeof of_spec / sizeof *of_spec; i++) {
        r = put_back(d, spec, of_spec[i], json_get(old_spec, str_of(of_spec[i])));
    }
    return r;
}

bool podset_info_held(yyjson_val *template, yyjson_val *was) {
    struct str key = STR(KUEUE_PODSET_LABEL);
    return json_get(json_path(template, "metadata.labels"), key) &&
           json_get(json_path(was, "metadata.labels"), key) == NULL;
}
