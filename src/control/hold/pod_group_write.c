/* pod_group_write: see pod_group_write.h. */
#include "control/hold/pod_group_write.h"

#include "api/meta.h"
#include "control/kit/edit.h"

#define LWS_PREFIX "leaderworkerset.sigs.k8s.io"
#define LWS_NAME "leaderworkerset.sigs.k8s.io/name"

struct str group_label(yyjson_val *about, const char *key) {
    return json_str(json_get(json_path(about, "metadata.labels"), str_of(key)));
}

struct str group_annotation(yyjson_val *about, const char *key) {
    return json_str(json_get(json_path(about, "metadata.annotations"), str_of(key)));
}

struct owner_reference group_owner(const char *api_version, const char *kind,
                                   const struct object *o, bool controller) {
    const struct opt_bool yes = {controller, true};
    return (struct owner_reference){str_of(api_version), str_of(kind), o->name, o->uid, yes, yes};
}

/* ---- drafts ---- */

static int add_pairs(struct str_map *m, const struct str_pair *v, size_t n, struct arena *a) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < n; i++) {
        r = meta_set(m, a, v[i].key.p, v[i].value);
    }
    return r;
}

/* A map of a template's metadata. */
static int map_of(yyjson_val *map, bool lws, struct arena *a, struct str_map *ret) {
    yyjson_obj_iter it = yyjson_obj_iter_with(map);
    yyjson_val *key;
    *ret = (struct str_map){ARENA_ARRAY(a, struct str_pair, yyjson_obj_size(map) + 1), 0};
    while (ret->v && (key = yyjson_obj_iter_next(&it)) != NULL) {
        if (!lws || !str_starts(json_str(key), STR(LWS_PREFIX)) ||
            str_is(json_str(key), LWS_NAME)) {
            ret->v[ret->n++] =
                (struct str_pair){json_str(key), json_str(yyjson_obj_iter_get_val(key))};
        }
    }
    return ret->v ? 0 : ERR_NOMEM;
}

static int set_of(const struct group_set *s, struct arena *a, struct pod_set_draft *ret) {
    struct pod_template_draft *t = ARENA_NEW(a, struct pod_template_draft);
    struct meta *m = ARENA_NEW(a, struct meta);
    if (t == NULL || m == NULL) {
        return ERR_NOMEM;
    }
    *t = (struct pod_template_draft){m, s->spec};
    *ret = (struct pod_set_draft){.name = s->name, .count = s->count, .template = t};
    int r = map_of(json_get(s->metadata, STR("labels")), s->lws_keys, a, &m->labels);
    return r ? r
             : map_of(json_get(s->metadata, STR("annotations")), s->lws_keys, a, &m->annotations);
}

static int draft_of(const struct group_workload *w, struct arena *a, struct workload_draft *d) {
    struct pod_set_draft *sets = ARENA_ARRAY(a, struct pod_set_draft, w->n_sets + 1);
    struct meta *about;
    int r = sets ? edit_meta_of(w->about, a, &about) : ERR_NOMEM;
    r = r ? r : workload_draft_init(d, a, about, w->priority);
    for (size_t i = 0; r == 0 && i < w->n_sets; i++) {
        r = set_of(&w->sets[i], a, &sets[i]);
    }
    if (r == 0) {
        d->spec->pod_sets = (struct pod_set_draft_list){sets, w->n_sets};
    }
    return r;
}

int group_workload_write(const struct group_workload *w, struct arena *a, struct buf *out) {
    struct workload_draft d;
    int r = draft_of(w, a, &d);
    struct meta *m = r == 0 ? d.metadata : NULL;
    if (r == 0) {
        m->name = w->name;
        m->namespace = w->ns;
        m->owner_references.v = (struct owner_reference *)w->owners;
        m->owner_references.n = w->n_owners;
        r = w->group ? meta_set(&m->annotations, a, POD_IS_GROUP, STR("true")) : 0;
    }
    if (r == 0 && !str_empty(w->job_uid)) {
        r = meta_set(&m->labels, a, KUEUE_JOB_UID_LABEL, w->job_uid);
    }
    r = r ? r : add_pairs(&m->labels, w->labels, w->n_labels, a);
    r = r ? r : add_pairs(&m->annotations, w->annotations, w->n_annotations, a);
    return r ? r : workload_draft_encode(&d, out);
}

enum { ON = EDIT_VERSION | EDIT_UID };

int group_workload_update(const struct object *wl, yyjson_val *wl_tree,
                          const struct group_workload *w, struct arena *a, struct buf *out) {
    struct workload_draft was, want;
    int r = workload_draft_read(wl_tree, a, &was);
    r = r ? r : draft_of(w, a, &want);
    if (r == 0) {
        want.metadata = was.metadata;
        want.spec->active = was.spec->active;
        r = workload_draft_patch(wl, ON, &was, &want, out);
    }
    return r;
}

/* ---- what follows later ---- */

int group_workload_follow(const struct object *wl, yyjson_val *wl_tree, yyjson_val *about,
                          const struct str *queue, const struct workload_priority *priority,
                          bool *ret_gates, struct arena *a, struct buf *out) {
    struct workload_draft was, want;
    struct workload_draft_spec spec;
    struct meta meta, *now;
    int r = workload_draft_read(wl_tree, a, &was);
    r = r ? r : edit_meta_of(about, a, &now);
    if (r != 0) {
        return r;
    }
    meta = *was.metadata;
    spec = *was.spec;
    want = (struct workload_draft){&meta, &spec};
    spec.queue_name = queue ? *queue : spec.queue_name;
    if (priority) {
        spec.priority = (struct opt_i32){true, priority->value};
        spec.priority_class_ref = workload_class_ref(priority, a);
        r = spec.priority_class_ref ? 0 : ERR_NOMEM;
    }
    r = r ? r : workload_annotations_follow(&now->annotations, false, a, &meta.annotations);
    r = r ? r : workload_draft_patch(wl, ON, &was, &want, out);
    *ret_gates = r == 0 && !str_eq(meta_annotation(&meta, KUEUE_GATED_ANNOTATION),
                                   meta_annotation(was.metadata, KUEUE_GATED_ANNOTATION));
    return r;
}

static bool owned_by(const struct object *wl, struct str uid, bool controller) {
    for (size_t i = 0; i < wl->n_owners; i++) {
        if (str_eq(wl->owners[i].uid, uid)) {
            return wl->owners[i].controller || !controller;
        }
    }
    return false;
}

static bool is_listed(const struct gated_pod *const *pods, size_t n, struct str uid) {
    for (size_t i = 0; i < n; i++) {
        if (str_eq(pods[i]->obj->uid, uid)) {
            return true;
        }
    }
    return false;
}

/* A pod of the Workload's namespace that is there. */
static bool is_there(const struct object *wl, const struct mirror *m,
                     const struct owner_reference *o) {
    struct owner_ref ref = {
        .api_version = o->api_version, .kind = o->kind, .name = o->name, .uid = o->uid};
    return mirror_owner(m, wl->ns, &ref) != NULL;
}

int group_owners_add(const struct object *wl, yyjson_val *wl_tree, const struct mirror *m,
                     const struct gated_pod *const *pods, size_t n, bool controller,
                     size_t *ret_added, struct arena *a, struct buf *out) {
    struct meta *was, want;
    int r = edit_meta_of(wl_tree, a, &was);
    size_t had = r == 0 ? was->owner_references.n : 0, k = 0;
    struct owner_reference *v = ARENA_ARRAY(a, struct owner_reference, had + n + 1);
    *ret_added = 0;
    if (r != 0 || v == NULL) {
        return r ? r : ERR_NOMEM;
    }
    for (size_t i = 0; i < had; i++) {
        const struct owner_reference *o = &was->owner_references.v[i];
        if ((!str_is(o->kind, "Pod") || is_there(wl, m, o)) &&
            !(controller && is_listed(pods, n, o->uid))) {
            v[k++] = *o;
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (!owned_by(wl, pods[i]->obj->uid, controller)) {
            v[k++] = group_owner("v1", "Pod", pods[i]->obj, controller);
            ++*ret_added;
        }
    }
    want = *was;
    want.owner_references.v = v;
    want.owner_references.n = k;
    return *ret_added ? edit_write_meta(wl, ON, was, &want, out) : ERR_NOT_FOUND;
}
