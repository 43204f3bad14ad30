/* job_pod_read: see job_pod_read.h. */
#include "control/kube/job_pod_read.h"

#include "wire/text/time.h"

static enum pod_phase phase_of(struct str s) {
    return str_is(s, "Running")     ? POD_RUNNING
           : str_is(s, "Succeeded") ? POD_SUCCEEDED
           : str_is(s, "Failed")    ? POD_FAILED
           : str_is(s, "Unknown")   ? POD_UNKNOWN
                                    : POD_PENDING;
}

static int64_t time_at(yyjson_val *v, const char *dotted) {
    int64_t ns = 0;
    struct str text = json_str_at(v, dotted);
    return !str_empty(text) && time_parse(text, &ns, NULL) == 0 ? ns : 0;
}

static int32_t small_number(yyjson_val *map, const char *key, int32_t otherwise) {
    int64_t n;
    if (!str_to_i64(json_str(json_get(map, str_of(key))), &n) || n < 0 || n > INT32_MAX) {
        return otherwise;
    }
    return (int32_t)n;
}

static bool in_list(yyjson_val *list, const char *name) {
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach(list, i, n, v) {
        if (str_is(json_str(v), name)) {
            return true;
        }
    }
    return false;
}

/* Exits with an error, restarts, and the latest end, over one list of container statuses. */
static void read_statuses(struct job_pod *p, yyjson_val *list, struct arena *a,
                          struct pod_exit *room) {
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach(list, i, n, v) {
        int64_t restarts = json_i64_at(v, "restartCount", 0);
        int64_t code = json_i64_at(v, "state.terminated.exitCode", 0);
        int64_t end = time_at(v, "state.terminated.finishedAt");
        p->restarts += restarts > 0 && restarts < 1000000 ? (int32_t)restarts : 0;
        p->finished_ns = end > p->finished_ns ? end : p->finished_ns;
        if (code != 0) {
            room[p->n_exits++] =
                (struct pod_exit){arena_str(a, json_str_at(v, "name")), (int32_t)code};
        }
    }
}

static int read_containers(struct job_pod *p, yyjson_val *status, struct arena *a) {
    yyjson_val *main_list = json_get(status, STR("containerStatuses"));
    yyjson_val *init_list = json_get(status, STR("initContainerStatuses"));
    size_t n = yyjson_arr_size(main_list) + yyjson_arr_size(init_list);
    if (n == 0) {
        return 0;
    }
    p->exits = ARENA_ARRAY(a, struct pod_exit, n);
    if (p->exits == NULL) {
        return ERR_NOMEM;
    }
    read_statuses(p, init_list, a, p->exits);
    read_statuses(p, main_list, a, p->exits);
    return 0;
}

static int read_conditions(struct job_pod *p, yyjson_val *list, struct arena *a,
                           int64_t *ret_unready) {
    size_t i, n = yyjson_arr_size(list);
    yyjson_val *v;
    if (n == 0) {
        return 0;
    }
    p->conditions = ARENA_ARRAY(a, struct pod_state_condition, n);
    if (p->conditions == NULL) {
        return ERR_NOMEM;
    }
    yyjson_arr_foreach(list, i, n, v) {
        struct pod_state_condition c = {arena_str(a, json_str_at(v, "type")),
                                        arena_str(a, json_str_at(v, "status"))};
        p->conditions[p->n_conditions++] = c;
        if (str_is(c.type, "Ready")) {
            p->ready = str_is(c.status, "True");
            *ret_unready = p->ready ? 0 : time_at(v, "lastTransitionTime");
        }
    }
    return 0;
}

int job_pod_read(const struct object *o, struct arena *scratch, struct arena *a,
                 struct job_pod *ret, struct err *err) {
    yyjson_doc *d;
    int r = object_tree(o, scratch, &d, err);
    if (r != 0) {
        return r;
    }
    yyjson_val *root = yyjson_doc_get_root(d), *status = json_get(root, STR("status"));
    yyjson_val *notes = json_path(root, "metadata.annotations");
    struct job_pod p = {
        .obj = o, .ns = o->ns, .name = o->name, .uid = o->uid, .created_ns = o->created_ns};
    int64_t unready = 0;
    p.phase = phase_of(json_str_at(status, "phase"));
    p.deleting = o->deleting_ns != 0;
    p.tracked = o->n_finalizers && in_list(json_path(root, "metadata.finalizers"), JOB_FINALIZER);
    p.scheduled = !str_empty(json_str_at(root, "spec.nodeName"));
    p.index = small_number(notes, JOB_INDEX_KEY, -1);
    p.index_failures = small_number(notes, JOB_INDEX_FAILURES_KEY, 0);
    p.index_ignored = small_number(notes, JOB_INDEX_IGNORED_KEY, 0);
    if (read_containers(&p, status, a) != 0 ||
        read_conditions(&p, json_get(status, STR("conditions")), a, &unready) != 0 ||
        arena_ok(a) != 0) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    p.ready = p.ready && p.phase == POD_RUNNING;
    if (!p.finished_ns) {
        int64_t grace = json_i64_at(root, "metadata.deletionGracePeriodSeconds", 0);
        p.finished_ns = unready          ? unready
                        : o->deleting_ns ? o->deleting_ns - grace * INT64_C(1000000000)
                                         : o->created_ns;
    }
    *ret = p;
    return 0;
}
