/* job_workload: see job_workload.h. */
#include "control/job_workload.h"

#include "base/limits.h"
#include "control/index_set.h"
#include "control/job_follow.h"
#include "control/sha1.h"

struct str workload_name(const char *kind, const char *group, struct str owner, struct str uid,
                         struct arena *a) {
    uint8_t hash[SHA1_BYTES];
    struct str key = arena_f(a, "%s\n%s\n%.*s\n%.*s", kind, group, STR_ARG(owner), STR_ARG(uid));
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

int32_t job_workload_count(const struct job *j) {
    int32_t n = j->spec->parallelism.set ? j->spec->parallelism.v : 1;
    return j->spec->completions.set && j->spec->completions.v < n ? j->spec->completions.v : n;
}

int32_t job_workload_reclaimable(const struct job *j, struct arena *a) {
    int32_t parallelism = j->spec->parallelism.set ? j->spec->parallelism.v : 1;
    if (parallelism <= 1 || !j->spec->completions.set || !j->status) {
        return 0;
    }
    int64_t ended = j->status->succeeded;
    if (str_is(j->spec->completion_mode, "Indexed")) {
        struct index_set done, failed;
        index_set_init(&done, a);
        index_set_init(&failed, a);
        if (index_set_parse(&done, j->status->completed_indexes, j->spec->completions.v, NULL) !=
                0 ||
            index_set_parse(&failed, j->status->failed_indexes, j->spec->completions.v, NULL) !=
                0) {
            return 0;
        }
        ended =
            index_set_count(&done) + index_set_count(&failed) - index_set_common(&done, &failed);
    }
    int64_t left = j->spec->completions.v - ended;
    int32_t count = job_workload_count(j); /* with few completions less than parallelism */
    return (int32_t)(left < 0 ? count : left < count ? count - left : 0);
}

/* ---- priority ---- */

struct default_class {
    const struct object *obj;
    int32_t value;
};

static int32_t class_value(const struct object *o, bool *ret_default) {
    struct arena a;
    yyjson_doc *d;
    int64_t v = 0;
    arena_init(&a, LIMIT_OBJECT_BYTES * 8);
    if (object_tree(o, &a, &d, NULL) == 0) {
        v = json_i64_at(yyjson_doc_get_root(d), "value", 0);
        *ret_default = json_bool_at(yyjson_doc_get_root(d), "globalDefault", false);
    }
    arena_release(&a);
    return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v;
}

static bool lowest_default(void *ctx, const struct object *o) {
    struct default_class *best = ctx;
    bool is_default = false;
    int32_t value = class_value(o, &is_default);
    if (is_default && (!best->obj || value < best->value)) {
        *best = (struct default_class){o, value};
    }
    return true;
}

int workload_priority_resolve(const struct mirror *m, struct str label, struct str pod_class,
                              struct workload_priority *ret, struct str *ret_missing) {
    bool own = !str_empty(label), unused;
    const char *group = own ? "kueue.x-k8s.io" : "scheduling.k8s.io";
    const char *kind = own ? "WorkloadPriorityClass" : "PriorityClass";
    const struct kind *k = kind_by_name(str_of(group), str_of(kind));
    struct str name = own ? label : pod_class;
    const struct object *o;
    int32_t value;
    if (!str_empty(name)) {
        o = k ? mirror_get(m, k, STR(""), name) : NULL;
        if (!o) {
            *ret_missing = name;
            return ERR_NOT_FOUND;
        }
        value = class_value(o, &unused);
    } else {
        struct default_class best = {0};
        if (k) {
            mirror_scan(m, k, STR(""), lowest_default, &best);
        }
        o = best.obj;
        value = best.value;
    }
    *ret =
        o ? (struct workload_priority){value, group, kind, o->name} : (struct workload_priority){0};
    return 0;
}

/* ---- the Workload ---- */

static void member(struct buf *b, const char *name, struct str value) {
    buf_f(b, ",\"%s\":", name);
    buf_json(b, value);
}

static void write_meta(const struct object *obj, const struct job *j,
                       const struct queue_settings *s, struct arena *a, struct buf *b) {
    buf_c(
        b,
        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":");
    buf_json(b, workload_name("Job", "batch", obj->name, obj->uid, a));
    member(b, "namespace", obj->ns);
    buf_c(b, ",\"labels\":{\"" KUEUE_JOB_UID_LABEL "\":");
    buf_json(b, obj->uid);
    for (size_t i = 0; i < s->n_label_keys_to_copy; i++) {
        struct str value = object_label(obj, s->label_keys_to_copy[i]);
        if (value.p && !str_is(s->label_keys_to_copy[i], KUEUE_JOB_UID_LABEL)) {
            buf_c(b, ",");
            buf_json(b, s->label_keys_to_copy[i]);
            buf_c(b, ":");
            buf_json(b, value);
        }
    }
    buf_c(b, "},\"annotations\":{");
    job_annotations_write(j, NULL, b);
    buf_c(b, "},\"finalizers\":[\"" KUEUE_FINALIZER "\"],\"ownerReferences\":[{\"apiVersion\":"
             "\"batch/v1\",\"kind\":\"Job\"");
    member(b, "name", obj->name);
    member(b, "uid", obj->uid);
    buf_c(b, ",\"controller\":true,\"blockOwnerDeletion\":true}]}");
}

int32_t job_workload_limit(const struct job *j) {
    int64_t n = 0;
    for (size_t i = 0; i < j->metadata->labels.n; i++) {
        if (str_is(j->metadata->labels.v[i].key, KUEUE_MAX_TIME_LABEL) &&
            str_to_i64(j->metadata->labels.v[i].value, &n)) {
            return n > 0 && n <= INT32_MAX ? (int32_t)n : 0;
        }
    }
    return 0;
}

static struct str annotation(const struct job *j, const char *key) {
    for (size_t i = 0; i < j->metadata->annotations.n; i++) {
        if (str_is(j->metadata->annotations.v[i].key, key)) {
            return j->metadata->annotations.v[i].value;
        }
    }
    return (struct str){0};
}

int32_t job_workload_least(const struct job *j) {
    int64_t n;
    return str_to_i64(annotation(j, KUEUE_MIN_PARALLELISM), &n) && n > 0 &&
                   n < job_workload_count(j)
               ? (int32_t)n
               : 0;
}

int job_workload_write(const struct object *obj, yyjson_val *tree, const struct job *j,
                       const struct workload_priority *p, const struct queue_settings *s,
                       struct arena *a, struct buf *out) {
    write_meta(obj, j, s, a, out);
    buf_f(out, ",\"spec\":{\"podSets\":[{\"name\":\"" KUEUE_PODSET_MAIN "\",\"count\":%d",
          job_workload_count(j));
    if (job_workload_least(j) > 0) {
        buf_f(out, ",\"minCount\":%d", job_workload_least(j));
    }
    buf_c(out, ",\"template\":");
    json_write(out, json_path(tree, "spec.template"));
    buf_c(out, "}]");
    member(out, "queueName", object_label(obj, STR(KUEUE_QUEUE_LABEL)));
    buf_f(out, ",\"priority\":%d", p->value);
    if (p->kind) {
        buf_f(out, ",\"priorityClassRef\":{\"group\":\"%s\",\"kind\":\"%s\"", p->group, p->kind);
        member(out, "name", p->name);
        buf_c(out, "}");
    }
    if (job_workload_limit(j) > 0) {
        buf_f(out, ",\"maximumExecutionTimeSeconds\":%d", job_workload_limit(j));
    }
    buf_c(out, ",\"active\":true}}");
    return arena_ok(a) ? ERR_NOMEM : buf_ok(out);
}

static bool same_part(yyjson_val *x, yyjson_val *y, const char *path) {
    yyjson_val *a = json_path(x, path), *b = json_path(y, path);
    return a && b ? json_equal(a, b) : !a == !b;
}

bool job_workload_matches(yyjson_val *job_tree, const struct job *j, yyjson_val *wl_tree,
                          const struct workload *wl, bool admitted) {
    const struct opt_i32 none = {0};
    const struct opt_i32 *limit = wl->spec ? &wl->spec->maximum_execution_time_seconds : &none;
    if (!wl->spec || wl->spec->pod_sets.n != 1 ||
        (limit->set ? limit->v : 0) != job_workload_limit(j)) {
        return false;
    }
    /* A partial admission runs with fewer pods than the Workload asks for. */
    int32_t have = wl->spec->pod_sets.v[0].count, count = job_workload_count(j);
    const struct admission *ad = wl->status ? wl->status->admission : NULL;
    if (count != have &&
        !(ad && ad->pod_set_assignments.n == 1 && ad->pod_set_assignments.v[0].count.set &&
          ad->pod_set_assignments.v[0].count.v == count)) {
        return false;
    }
    yyjson_val *theirs = yyjson_arr_get_first(json_path(wl_tree, "spec.podSets"));
    yyjson_val *mine = json_path(job_tree, "spec.template");
    theirs = json_get(theirs, STR("template"));
    return same_part(mine, theirs, "spec.containers") &&
           same_part(mine, theirs, "spec.initContainers") &&
           (admitted || job_workload_injected(j, wl) ||
            same_part(mine, theirs, "spec.tolerations"));
}
