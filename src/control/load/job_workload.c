/* job_workload: see job_workload.h. */
#include "control/load/job_workload.h"

#include "api/meta.h"
#include "api/schema/codec.h"
#include "base/hash/sha1.h"
#include "base/limits.h"
#include "control/kit/edit.h"
#include "control/load/integration_private.h"
#include "control/load/job_slices.h"

struct str workload_name_extra(const char *kind, const char *group, struct str owner,
                               struct str uid, struct str extra, struct arena *a) {
    uint8_t hash[SHA1_BYTES];
    struct str key = arena_f(a, "%s\n%s\n%.*s\n%.*s%s%.*s", kind, group, STR_ARG(owner),
                             STR_ARG(uid), extra.n ? "\n" : "", STR_ARG(extra));
    struct str prefix = arena_f(a, "%s-%.*s", kind, STR_ARG(owner));
    if (arena_ok(a) != 0) {
        return (struct str){0};
    }
    sha1(key, hash);
    struct str name = arena_f(a, "%.*s-%02x%02x%x", STR_ARG(str_head(prefix, LIMIT_NAME - 6)),
                              hash[0], hash[1], hash[2] >> 4);
    for (char *p = (char *)name.p; name.n && *p && *p != '-'; p++) {
        *p |= *p >= 'A' && *p <= 'Z' ? 0x20 : 0;
    }
    return name;
}

struct str workload_name(const char *kind, const char *group, struct str owner, struct str uid,
                         struct arena *a) {
    return workload_name_extra(kind, group, owner, uid, STR(""), a);
}

/* ---- the Workload ---- */

int job_workload_own(struct meta *m, struct arena *a, const struct object *o) {
    const struct opt_bool yes = {true, true};
    struct owner_reference ref = {
        str_of(kind_api_version(o->kind)), str_of(o->kind->kind), o->name, o->uid, yes, yes};
    return meta_add_owner(m, a, &ref);
}

/* What says that it is one of an elastic Job. */
static int slice_notes(const struct job_workload_slice *as, struct meta *m, struct arena *a) {
    int r = meta_set(&m->annotations, a, KUEUE_ELASTIC_ANNOTATION, STR("true"));
    r = r ? r : meta_set(&m->annotations, a, KUEUE_SLICE_NAME, as->chain);
    return r || str_empty(as->replaces)
               ? r
               : meta_set(&m->annotations, a, KUEUE_SLICE_REPLACES, as->replaces);
}

static int labels(const struct job_look *l, struct meta *m) {
    const struct queue_settings *s = l->settings;
    struct str_pair *v = ARENA_ARRAY(l->arena, struct str_pair, s->n_label_keys_to_copy + 1);
    size_t n = 0;
    if (v == NULL) {
        return ERR_NOMEM;
    }
    v[n++] = (struct str_pair){STR(KUEUE_JOB_UID_LABEL), l->obj->uid};
    for (size_t i = 0; i < s->n_label_keys_to_copy; i++) {
        struct str value = object_label(l->obj, s->label_keys_to_copy[i]);
        if (value.p && !str_is(s->label_keys_to_copy[i], KUEUE_JOB_UID_LABEL)) {
            v[n++] = (struct str_pair){s->label_keys_to_copy[i], value};
        }
    }
    m->labels = (struct str_map){v, n};
    return 0;
}

struct str job_workload_prebuilt(const struct job_look *l) {
    struct str name = job_look_annotation(l, KUEUE_PREBUILT);
    return str_empty(name) ? object_label(l->obj, STR(KUEUE_PREBUILT)) : name;
}

/* ---- pod sets ---- */

#define TOPOLOGY "kueue.x-k8s.io/podset-"

/* What the template's annotations ask of a topology; *ret NULL: nothing. ERR_NOMEM. */
static int topology(const struct job_part *p, struct arena *a, struct topology_request **ret) {
    yyjson_val *notes = json_path(p->template, "metadata.annotations");
    struct str required = json_str(json_get(notes, STR(TOPOLOGY "required-topology")));
    struct str preferred = json_str(json_get(notes, STR(TOPOLOGY "preferred-topology")));
    struct str any = json_str(json_get(notes, STR(TOPOLOGY "unconstrained-topology")));
    struct str slice = json_str(json_get(notes, STR(TOPOLOGY "slice-required-topology")));
    struct str group = json_str(json_get(notes, STR(TOPOLOGY "group-name")));
    int64_t size;
    *ret = NULL;
    if (required.p == NULL && preferred.p == NULL && any.p == NULL && slice.p == NULL) {
        return 0;
    }
    struct topology_request *t = ARENA_NEW(a, struct topology_request);
    if (t == NULL) {
        return ERR_NOMEM;
    }
    t->required = required;
    t->preferred = required.p ? (struct str){0} : preferred;
    t->unconstrained =
        (struct opt_bool){required.p == NULL && preferred.p == NULL && any.p, str_is(any, "true")};
    if (slice.p && str_to_i64(json_str(json_get(notes, STR(TOPOLOGY "slice-size"))), &size) &&
        size > 0 && size <= INT32_MAX) {
        t->pod_set_slice_required_topology = slice;
        t->pod_set_slice_size = (struct opt_i32){true, (int32_t)size};
    }
    t->pod_index_label = str_of(p->index_label ? p->index_label : "");
    t->pod_set_group_name = required.p || preferred.p ? group : (struct str){0};
    *ret = t;
    return 0;
}

static int pod_set(const struct job_part *p, struct arena *a, struct pod_set_draft *ret) {
    struct pod_template_draft *t = ARENA_NEW(a, struct pod_template_draft);
    yyjson_val *about = json_get(p->template, STR("metadata"));
    int r = t ? topology(p, a, &ret->topology_request) : ERR_NOMEM;
    if (r == 0 && yyjson_is_obj(about)) {
        t->metadata = ARENA_NEW(a, struct meta);
        r = t->metadata ? codec_decode(&schema_meta, about, a, t->metadata, NULL) : ERR_NOMEM;
    }
    if (r == 0) {
        t->spec = json_get(p->template, STR("spec"));
        ret->name = p->name;
        ret->count = p->count;
        ret->min_count = (struct opt_i32){p->least > 0, p->least};
        ret->template = t;
    }
    return r;
}

int job_workload_pod_sets(const struct job_look *l, struct pod_set_draft_list *ret) {
    struct pod_set_draft *v = ARENA_ARRAY(l->arena, struct pod_set_draft, l->n_parts + 1);
    int r = v ? 0 : ERR_NOMEM;
    for (size_t i = 0; r == 0 && i < l->n_parts; i++) {
        r = pod_set(&l->parts[i], l->arena, &v[i]);
    }
    *ret = (struct pod_set_draft_list){v, r == 0 ? l->n_parts : 0};
    return r;
}

int job_workload_write(const struct job_look *l, const struct workload_priority *p,
                       const struct job_workload_slice *as, struct buf *out) {
    struct workload_draft d;
    struct meta *about;
    int r = edit_meta_of(l->tree, l->arena, &about);
    r = r ? r : workload_draft_init(&d, l->arena, about, p);
    r = r || as == NULL ? r : slice_notes(as, d.metadata, l->arena);
    r = r ? r : labels(l, d.metadata);
    r = r ? r : job_workload_own(d.metadata, l->arena, l->obj);
    if (r == 0) {
        d.metadata->name = as ? as->name
                              : workload_name(l->row->is->kind, l->row->is->group, l->obj->name,
                                              l->obj->uid, l->arena);
        d.metadata->namespace = l->obj->ns;
        r = as && as->pod_sets ? 0 : job_workload_pod_sets(l, &d.spec->pod_sets);
    }
    if (r == 0 && as && as->pod_sets) {
        d.spec->pod_sets = *as->pod_sets;
    }
    r = r ? r : arena_ok(l->arena);
    return r ? r : workload_draft_encode(&d, out);
}

/* ---- equivalence ---- */

static bool same_part(yyjson_val *x, yyjson_val *y, const char *path) {
    yyjson_val *a = json_path(x, path), *b = json_path(y, path);
    return a && b ? json_equal(a, b) : (a == NULL) == (b == NULL);
}

static bool same_raw(yyjson_val *mine, yyjson_val *theirs, bool tolerations) {
    return same_part(mine, theirs, "spec.containers") &&
           same_part(mine, theirs, "spec.initContainers") &&
           (!tolerations || same_part(mine, theirs, "spec.tolerations"));
}

/* A template as a server that knows the Workload kind keeps it: pruned, with defaults. */
static yyjson_mut_val *as_kept(const struct job_look *l, yyjson_val *template) {
    const struct kind *k = kind_by_name(STR("kueue.x-k8s.io"), STR("Workload"));
    yyjson_mut_doc *d = json_mut_new(l->arena);
    yyjson_mut_val *root = d ? yyjson_mut_obj(d) : NULL, *set = d ? yyjson_mut_obj(d) : NULL;
    yyjson_mut_val *list = d ? yyjson_mut_arr(d) : NULL, *copy = NULL;
    if (k && root && set && list) {
        yyjson_mut_doc_set_root(d, root);
        copy = yyjson_val_mut_copy(d, template);
    }
    if (copy == NULL || json_mset(d, set, STR("template"), copy) != 0 ||
        !yyjson_mut_arr_append(list, set)) {
        return NULL;
    }
    yyjson_mut_val *spec = json_mensure(d, root, "spec");
    if (spec == NULL || json_mset(d, spec, STR("podSets"), list) != 0 ||
        codec_prune(&schema_workload, d, root, NULL, NULL) != 0 || codec_default(k, d, NULL) != 0) {
        return NULL;
    }
    return json_mget(yyjson_mut_arr_get_first(json_mpath(root, "spec.podSets")), STR("template"));
}

static bool same_kept(const struct job_look *l, yyjson_val *mine, yyjson_val *theirs,
                      bool tolerations) {
    static const char *const paths[] = {"spec.containers", "spec.initContainers",
                                        "spec.tolerations"};
    yyjson_mut_val *x = as_kept(l, mine), *y = as_kept(l, theirs);
    for (size_t i = 0; i < (tolerations ? 3 : 2); i++) {
        yyjson_mut_val *a = json_mpath(x, paths[i]), *b = json_mpath(y, paths[i]);
        if (!(a && b ? json_mequal(a, b) : (a == NULL) == (b == NULL))) {
            return false;
        }
    }
    return x && y;
}

/* A partial admission runs with fewer pods than the Workload asks for. */
static bool count_fits(const struct job_part *p, const struct pod_set *set,
                       const struct workload *wl, size_t i) {
    const struct workload_admission *ad = wl->status ? wl->status->admission : NULL;
    return p->count == set->count ||
           (ad && i < ad->pod_set_assignments.n && ad->pod_set_assignments.v[i].count.set &&
            ad->pod_set_assignments.v[i].count.v == p->count);
}

static bool matches(const struct job_look *l, yyjson_val *wl_tree, const struct workload *wl,
                    bool reserved, bool any_count) {
    const struct opt_i32 none = {0};
    const struct opt_i32 *limit = wl->spec ? &wl->spec->maximum_execution_time_seconds : &none;
    yyjson_val *sets = json_path(wl_tree, "spec.podSets");
    if (wl->spec == NULL || wl->spec->pod_sets.n != l->n_parts ||
        (limit->set ? limit->v : 0) !=
            workload_time_limit(object_label(l->obj, STR(KUEUE_MAX_TIME_LABEL)))) {
        return false;
    }
    bool tolerations = !reserved && !job_look_injected(l, sets);
    for (size_t i = 0; i < l->n_parts; i++) {
        const struct pod_set *set = &wl->spec->pod_sets.v[i];
        yyjson_val *theirs = json_get(yyjson_arr_get(sets, i), STR("template"));
        if ((!any_count && !count_fits(&l->parts[i], set, wl, i)) ||
            (tolerations && (set->min_count.set ? set->min_count.v : 0) != l->parts[i].least)) {
            return false;
        }
        if (!same_raw(l->parts[i].template, theirs, tolerations) &&
            !same_kept(l, l->parts[i].template, theirs, tolerations)) {
            return false;
        }
    }
    return true;
}

bool job_workload_matches(const struct job_look *l, yyjson_val *wl_tree, const struct workload *wl,
                          bool reserved) {
    return matches(l, wl_tree, wl, reserved, false);
}

bool job_workload_resized(const struct job_look *l, yyjson_val *wl_tree, const struct workload *wl,
                          bool reserved) {
    return matches(l, wl_tree, wl, reserved, true);
}
