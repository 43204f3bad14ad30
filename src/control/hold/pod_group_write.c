/* pod_group_write: see pod_group_write.h. */
#include "control/hold/pod_group_write.h"

#include "base/limits.h"
#include "control/load/job_follow.h"

#define LWS_PREFIX "leaderworkerset.sigs.k8s.io"
#define LWS_NAME "leaderworkerset.sigs.k8s.io/name"

struct str group_label(yyjson_val *about, const char *key) {
    return json_str(json_get(json_path(about, "metadata.labels"), str_of(key)));
}

struct str group_annotation(yyjson_val *about, const char *key) {
    return json_str(json_get(json_path(about, "metadata.annotations"), str_of(key)));
}

int32_t group_time_limit(yyjson_val *about) {
    int64_t n = 0;
    return str_to_i64(group_label(about, KUEUE_MAX_TIME_LABEL), &n) && n > 0 && n <= INT32_MAX
               ? (int32_t)n
               : 0;
}

/* ---- members ---- */

static void member(struct buf *b, const char *before, struct str value) {
    buf_c(b, before);
    buf_json(b, value);
}

static void pair(struct buf *b, size_t *n, struct str key, struct str value) {
    buf_c(b, (*n)++ ? "," : "");
    buf_json(b, key);
    buf_ch(b, ':');
    buf_json(b, value);
}

static void write_labels(const struct group_workload *w, struct buf *b) {
    size_t n = 0;
    buf_c(b, ",\"labels\":{");
    if (!str_empty(w->job_uid)) {
        pair(b, &n, STR(KUEUE_JOB_UID_LABEL), w->job_uid);
    }
    for (size_t i = 0; i < w->n_labels; i++) {
        pair(b, &n, w->labels[i].key, w->labels[i].value);
    }
    buf_ch(b, '}');
}

static void write_annotations(const struct group_workload *w, struct buf *b) {
    struct buf more;
    size_t n = 0;
    buf_init(&more, LIMIT_OBJECT_BYTES);
    buf_c(b, ",\"annotations\":{");
    if (w->group) {
        pair(b, &n, STR(POD_IS_GROUP), STR("true"));
    }
    for (size_t i = 0; i < w->n_annotations; i++) {
        pair(b, &n, w->annotations[i].key, w->annotations[i].value);
    }
    if (job_annotations_write(json_path(w->about, "metadata.annotations"), NULL, true, &more)) {
        buf_c(b, n ? "," : "");
        buf_str(b, buf_view(&more));
    }
    b->failed = b->failed ? b->failed : buf_ok(&more);
    buf_ch(b, '}');
    buf_release(&more);
}

static void write_owner(struct buf *b, const struct group_owner *o) {
    buf_f(b, "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"name\":", o->api_version, o->kind);
    buf_json(b, o->name);
    member(b, ",\"uid\":", o->uid);
    buf_c(b, o->controller ? ",\"controller\":true,\"blockOwnerDeletion\":true}" : "}");
}

/* A map of a template's metadata. */
static void write_map(struct buf *b, const char *name, yyjson_val *map, bool lws, size_t *n_maps) {
    yyjson_val *key, *value;
    size_t i, max, n = 0;
    if (!map) {
        return;
    }
    buf_f(b, (*n_maps)++ ? ",\"%s\":{" : "\"%s\":{", name);
    yyjson_obj_foreach(map, i, max, key, value) {
        if (!lws || !str_starts(json_str(key), STR(LWS_PREFIX)) ||
            str_is(json_str(key), LWS_NAME)) {
            pair(b, &n, json_str(key), json_str(value));
        }
    }
    buf_ch(b, '}');
}

static void write_set(struct buf *b, const struct group_set *s) {
    size_t n = 0;
    buf_c(b, "{\"name\":");
    buf_json(b, s->name);
    buf_f(b, ",\"count\":%d,\"template\":{\"metadata\":{", s->count);
    write_map(b, "labels", json_get(s->metadata, STR("labels")), s->lws_keys, &n);
    write_map(b, "annotations", json_get(s->metadata, STR("annotations")), s->lws_keys, &n);
    buf_c(b, "},\"spec\":");
    json_write(b, s->spec);
    buf_c(b, "}}");
}

static void write_priority(struct buf *b, const struct workload_priority *p) {
    buf_f(b, ",\"priority\":%d", p->value);
    if (p->kind) {
        buf_f(b, ",\"priorityClassRef\":{\"group\":\"%s\",\"kind\":\"%s\"", p->group, p->kind);
        member(b, ",\"name\":", p->name);
        buf_ch(b, '}');
    }
}

static void write_spec(struct buf *b, const struct group_workload *w, bool update) {
    int32_t limit = group_time_limit(w->about);
    buf_c(b, "\"spec\":{\"podSets\":[");
    for (size_t i = 0; i < w->n_sets; i++) {
        buf_c(b, i ? "," : "");
        write_set(b, &w->sets[i]);
    }
    member(b, "],\"queueName\":", group_label(w->about, KUEUE_QUEUE_LABEL));
    write_priority(b, w->priority);
    if (limit > 0) {
        buf_f(b, ",\"maximumExecutionTimeSeconds\":%d", limit);
    } else if (update) {
        buf_c(b, ",\"maximumExecutionTimeSeconds\":null");
    }
    buf_c(b, update ? "}" : ",\"active\":true}");
}

int group_workload_write(const struct group_workload *w, struct buf *out) {
    buf_c(out, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":"
               "{\"name\":");
    buf_json(out, w->name);
    member(out, ",\"namespace\":", w->ns);
    write_labels(w, out);
    write_annotations(w, out);
    buf_c(out, ",\"finalizers\":[\"" KUEUE_FINALIZER "\"],\"ownerReferences\":[");
    for (size_t i = 0; i < w->n_owners; i++) {
        buf_c(out, i ? "," : "");
        write_owner(out, &w->owners[i]);
    }
    buf_c(out, "]},");
    write_spec(out, w, false);
    buf_ch(out, '}');
    return buf_ok(out);
}

static void head(const struct object *wl, struct buf *out) {
    buf_f(out, "{\"metadata\":{\"resourceVersion\":\"%llu\",\"uid\":", (unsigned long long)wl->rv);
    buf_json(out, wl->uid);
}

int group_workload_update(const struct object *wl, const struct group_workload *w,
                          struct buf *out) {
    head(wl, out);
    buf_c(out, "},");
    write_spec(out, w, true);
    buf_ch(out, '}');
    return buf_ok(out);
}

/* ---- what follows later ---- */

int group_workload_follow(const struct object *wl, yyjson_val *wl_tree, yyjson_val *about,
                          const struct str *queue, const struct workload_priority *priority,
                          bool *ret_gates, struct buf *out) {
    yyjson_val *now = json_path(about, "metadata.annotations");
    yyjson_val *had = json_path(wl_tree, "metadata.annotations");
    size_t m = 0;
    bool requeue = queue && !str_eq(*queue, json_str_at(wl_tree, "spec.queueName"));
    head(wl, out);
    buf_c(out, ",\"annotations\":{");
    size_t at = out->n;
    bool news = job_annotations_write(now, had, false, out);
    *ret_gates = news && str_contains(str_skip(buf_view(out), at), STR(KUEUE_GATED_ANNOTATION));
    buf_c(out, "}}");
    if (requeue || priority) {
        buf_c(out, ",\"spec\":{");
        if (requeue) {
            pair(out, &m, STR("queueName"), *queue);
        }
        if (priority) {
            buf_f(out, "%s\"priority\":%d,\"priorityClassRef\":", m ? "," : "", priority->value);
            buf_f(out, "{\"group\":\"%s\",\"kind\":\"%s\"", priority->group, priority->kind);
            member(out, ",\"name\":", priority->name);
            buf_ch(out, '}');
        }
        buf_ch(out, '}');
    }
    buf_ch(out, '}');
    return news || requeue || priority ? buf_ok(out) : ERR_NOT_FOUND;
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
static bool is_there(const struct object *wl, const struct mirror *m, yyjson_val *o) {
    struct owner_ref ref = {.api_version = json_str_at(o, "apiVersion"),
                            .kind = json_str_at(o, "kind"),
                            .name = json_str_at(o, "name"),
                            .uid = json_str_at(o, "uid")};
    return mirror_owner(m, wl->ns, &ref) != NULL;
}

int group_owners_add(const struct object *wl, yyjson_val *wl_tree, const struct mirror *m,
                     const struct gated_pod *const *pods, size_t n, bool controller,
                     size_t *ret_added, struct buf *out) {
    size_t i, max, k = 0, added = 0;
    yyjson_val *o;
    head(wl, out);
    buf_c(out, ",\"ownerReferences\":[");
    yyjson_arr_foreach(json_path(wl_tree, "metadata.ownerReferences"), i, max, o) {
        struct str uid = json_str_at(o, "uid");
        bool pod = str_is(json_str_at(o, "kind"), "Pod");
        if ((pod && !is_there(wl, m, o)) || (controller && is_listed(pods, n, uid))) {
            continue;
        }
        buf_c(out, k++ ? "," : "");
        json_write(out, o);
    }
    for (i = 0; i < n; i++) {
        const struct object *p = pods[i]->obj;
        if (!owned_by(wl, p->uid, controller)) {
            struct group_owner x = {"v1", "Pod", p->name, p->uid, controller};
            buf_c(out, k++ ? "," : "");
            write_owner(out, &x);
            added++;
        }
    }
    buf_c(out, "]}}");
    *ret_added = added;
    return added ? buf_ok(out) : ERR_NOT_FOUND;
}
