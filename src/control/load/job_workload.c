/* job_workload: see job_workload.h. */
#include "control/load/job_workload.h"

#include "api/schema/codec.h"
#include "base/limits.h"
#include "control/load/integration_private.h"
#include "control/load/job_follow.h"
#include "control/load/job_slices.h"
#include "base/hash/sha1.h"

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

/* ---- priority ---- */

struct default_class {
    const struct object *obj;
    int32_t value;
    int code;
};

static int class_value(const struct object *o, int32_t *ret, bool *ret_default) {
    struct arena a;
    yyjson_doc *d;
    arena_init(&a, LIMIT_OBJECT_BYTES * 8);
    int r = object_tree(o, &a, &d, NULL);
    if (r == 0) {
        int64_t v = json_i64_at(yyjson_doc_get_root(d), "value", 0);
        *ret = v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v;
        *ret_default = json_bool_at(yyjson_doc_get_root(d), "globalDefault", false);
    }
    arena_release(&a);
    return r;
}

static bool lowest_default(void *ctx, const struct object *o) {
    struct default_class *best = ctx;
    bool is_default = false;
    int32_t value = 0;
    best->code = class_value(o, &value, &is_default);
    if (is_default && (!best->obj || value < best->value)) {
        *best = (struct default_class){o, value, 0};
    }
    return best->code == 0;
}

int workload_priority_resolve(const struct mirror *m, struct str label, struct str pod_class,
                              struct workload_priority *ret, struct str *ret_missing) {
    bool own = !str_empty(label), unused;
    const char *group = own ? "kueue.x-k8s.io" : "scheduling.k8s.io";
    const char *kind = own ? "WorkloadPriorityClass" : "PriorityClass";
    const struct kind *k = kind_by_name(str_of(group), str_of(kind));
    struct str name = own ? label : pod_class;
    const struct object *o;
    int32_t value = 0;
    int r = 0;
    if (!str_empty(name)) {
        o = k ? mirror_get(m, k, STR(""), name) : NULL;
        if (!o) {
            *ret_missing = name;
            return ERR_NOT_FOUND;
        }
        r = class_value(o, &value, &unused);
    } else {
        struct default_class best = {0};
        if (k) {
            mirror_scan(m, k, STR(""), lowest_default, &best);
        }
        o = best.obj;
        value = best.value;
        r = best.code;
    }
    if (r == 0) {
        *ret = o ? (struct workload_priority){value, group, kind, o->name}
                 : (struct workload_priority){0};
    }
    return r;
}

/* ---- the Workload ---- */

static void member(struct buf *b, const char *name, struct str value) {
    buf_f(b, ",\"%s\":", name);
    buf_json(b, value);
}

void job_workload_owner(const struct object *o, struct buf *out) {
    buf_f(out, "{\"apiVersion\":\"%s\",\"kind\":\"%s\"", kind_api_version(o->kind), o->kind->kind);
    member(out, "name", o->name);
    member(out, "uid", o->uid);
    buf_c(out, ",\"controller\":true,\"blockOwnerDeletion\":true}");
}

/* What says that it is one of an elastic Job; job_annotations_write adds members behind. */
static void write_slice(const struct job_workload_slice *as, bool more, struct buf *b) {
    buf_c(b, "\"" KUEUE_ELASTIC_ANNOTATION "\":\"true\",\"" KUEUE_SLICE_NAME "\":");
    buf_json(b, as->chain);
    if (!str_empty(as->replaces)) {
        member(b, KUEUE_SLICE_REPLACES, as->replaces);
    }
    buf_c(b, more ? "," : "");
}

static void write_annotations(const struct job_look *l, const struct job_workload_slice *as,
                              struct buf *b) {
    struct buf shared;
    buf_init(&shared, LIMIT_OBJECT_BYTES);
    job_annotations_write(json_path(l->tree, "metadata.annotations"), NULL, true, &shared);
    if (as) {
        write_slice(as, shared.n > 0, b);
    }
    buf_str(b, buf_view(&shared));
    buf_release(&shared);
}

static void write_meta(const struct job_look *l, const struct job_workload_slice *as,
                       struct buf *b) {
    const struct queue_settings *s = l->settings;
    buf_c(
        b,
        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":");
    buf_json(b,
             as ? as->name
                : workload_name(l->row->kind, l->row->group, l->obj->name, l->obj->uid, l->arena));
    member(b, "namespace", l->obj->ns);
    buf_c(b, ",\"labels\":{\"" KUEUE_JOB_UID_LABEL "\":");
    buf_json(b, l->obj->uid);
    for (size_t i = 0; i < s->n_label_keys_to_copy; i++) {
        struct str value = object_label(l->obj, s->label_keys_to_copy[i]);
        if (value.p && !str_is(s->label_keys_to_copy[i], KUEUE_JOB_UID_LABEL)) {
            buf_c(b, ",");
            buf_json(b, s->label_keys_to_copy[i]);
            buf_c(b, ":");
            buf_json(b, value);
        }
    }
    buf_c(b, "},\"annotations\":{");
    write_annotations(l, as, b);
    buf_c(b, "},\"finalizers\":[\"" KUEUE_FINALIZER "\"],\"ownerReferences\":[");
    job_workload_owner(l->obj, b);
    buf_c(b, "]}");
}

int32_t job_workload_limit(const struct object *o) {
    int64_t n = 0;
    return str_to_i64(object_label(o, STR(KUEUE_MAX_TIME_LABEL)), &n) && n > 0 && n <= INT32_MAX
               ? (int32_t)n
               : 0;
}

struct str job_workload_prebuilt(const struct job_look *l) {
    struct str name = job_look_annotation(l, KUEUE_PREBUILT);
    return str_empty(name) ? object_label(l->obj, STR(KUEUE_PREBUILT)) : name;
}

/* ---- pod sets ---- */

#define TOPOLOGY "kueue.x-k8s.io/podset-"

static void text_member(struct buf *b, size_t *n, const char *name, struct str value) {
    buf_f(b, "%s\"%s\":", (*n)++ ? "," : "", name);
    buf_json(b, value);
}

/* What the template's annotations ask of a topology, if anything. */
static void write_topology(const struct job_part *p, struct buf *b) {
    yyjson_val *notes = json_path(p->template, "metadata.annotations");
    yyjson_val *required = json_get(notes, STR(TOPOLOGY "required-topology"));
    yyjson_val *preferred = json_get(notes, STR(TOPOLOGY "preferred-topology"));
    yyjson_val *any = json_get(notes, STR(TOPOLOGY "unconstrained-topology"));
    yyjson_val *slice = json_get(notes, STR(TOPOLOGY "slice-required-topology"));
    yyjson_val *group = json_get(notes, STR(TOPOLOGY "group-name"));
    size_t n = 0;
    int64_t size;
    if (!required && !preferred && !any && !slice) {
        return;
    }
    buf_c(b, ",\"topologyRequest\":{");
    if (required || preferred) {
        text_member(b, &n, required ? "required" : "preferred",
                    json_str(required ? required : preferred));
    } else if (any) {
        buf_f(b, "\"unconstrained\":%s", str_is(json_str(any), "true") ? "true" : "false");
        n++;
    }
    if (slice && str_to_i64(json_str(json_get(notes, STR(TOPOLOGY "slice-size"))), &size) &&
        size > 0 && size <= INT32_MAX) {
        text_member(b, &n, "podSetSliceRequiredTopology", json_str(slice));
        buf_f(b, ",\"podSetSliceSize\":%lld", (long long)size);
    }
    if (p->index_label) {
        text_member(b, &n, "podIndexLabel", str_of(p->index_label));
    }
    if (group && (required || preferred)) {
        text_member(b, &n, "podSetGroupName", json_str(group));
    }
    buf_c(b, "}");
}

void job_workload_pod_sets(const struct job_look *l, struct buf *out) {
    buf_c(out, "[");
    for (size_t i = 0; i < l->n_parts; i++) {
        const struct job_part *p = &l->parts[i];
        buf_c(out, i ? ",{\"name\":" : "{\"name\":");
        buf_json(out, p->name);
        buf_f(out, ",\"count\":%d", p->count);
        if (p->least > 0) {
            buf_f(out, ",\"minCount\":%d", p->least);
        }
        write_topology(p, out);
        buf_c(out, ",\"template\":");
        json_write(out, p->template);
        buf_c(out, "}");
    }
    buf_c(out, "]");
}

int job_workload_write(const struct job_look *l, const struct workload_priority *p,
                       const struct job_workload_slice *as, struct buf *out) {
    write_meta(l, as, out);
    buf_c(out, ",\"spec\":{\"podSets\":");
    if (as && !str_empty(as->pod_sets)) {
        buf_str(out, as->pod_sets);
    } else {
        job_workload_pod_sets(l, out);
    }
    member(out, "queueName", object_label(l->obj, STR(KUEUE_QUEUE_LABEL)));
    buf_f(out, ",\"priority\":%d", p->value);
    if (p->kind) {
        buf_f(out, ",\"priorityClassRef\":{\"group\":\"%s\",\"kind\":\"%s\"", p->group, p->kind);
        member(out, "name", p->name);
        buf_c(out, "}");
    }
    if (job_workload_limit(l->obj) > 0) {
        buf_f(out, ",\"maximumExecutionTimeSeconds\":%d", job_workload_limit(l->obj));
    }
    buf_c(out, ",\"active\":true}}");
    return arena_ok(l->arena) ? ERR_NOMEM : buf_ok(out);
}

/* ---- equivalence ---- */

static bool same_part(yyjson_val *x, yyjson_val *y, const char *path) {
    yyjson_val *a = json_path(x, path), *b = json_path(y, path);
    return a && b ? json_equal(a, b) : !a == !b;
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
    if (!copy || json_mset(d, set, STR("template"), copy) != 0 ||
        !yyjson_mut_arr_append(list, set)) {
        return NULL;
    }
    yyjson_mut_val *spec = json_mensure(d, root, "spec");
    if (!spec || json_mset(d, spec, STR("podSets"), list) != 0 ||
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
        if (!(a && b ? json_mequal(a, b) : !a == !b)) {
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
    if (!wl->spec || wl->spec->pod_sets.n != l->n_parts ||
        (limit->set ? limit->v : 0) != job_workload_limit(l->obj)) {
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
