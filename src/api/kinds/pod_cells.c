/* pod_cells: the Status of a pod as people know it, and the other cells of `kubectl get pods`. */
#include "api/kinds/kinds.h"
#include "api/schema/codec.h"
#include "wire/text/time.h"

struct pod_summary {
    char status[160];
    size_t total, ready;
    int64_t restarts, last_restart_ns;
};

static void set_status(struct pod_summary *s, const char *prefix, struct str text) {
    snprintf(s->status, sizeof(s->status), "%s%.*s", prefix, STR_ARG(text));
}

static void count_restart(struct pod_summary *s, yyjson_val *status) {
    int64_t ns;
    s->restarts += json_i64_at(status, "restartCount", 0);
    struct str at = json_str_at(status, "lastState.terminated.finishedAt");
    if (at.n > 0 && time_parse(at, &ns, NULL) == 0 && ns > s->last_restart_ns) {
        s->last_restart_ns = ns;
    }
}

/* What a terminated container says: its reason, or the signal, or the exit code. */
static void terminated(struct pod_summary *s, const char *prefix, yyjson_val *t) {
    struct str reason = json_str_at(t, "reason");
    int64_t signal = json_i64_at(t, "signal", 0);
    if (reason.n > 0) {
        set_status(s, prefix, reason);
    } else if (signal != 0) {
        snprintf(s->status, sizeof(s->status), "%sSignal:%lld", prefix, (long long)signal);
    } else {
        snprintf(s->status, sizeof(s->status), "%sExitCode:%lld", prefix,
                 (long long)json_i64_at(t, "exitCode", 0));
    }
}

/* By its name; `usual` is the container at the same place, which it mostly is. */
static bool is_sidecar(yyjson_val *obj, yyjson_val *usual, struct str name) {
    yyjson_arr_iter it = yyjson_arr_iter_with(json_path(obj, "spec.initContainers"));
    yyjson_val *c = str_eq(json_str_at(usual, "name"), name) ? usual : yyjson_arr_iter_next(&it);
    while (c != NULL && !str_eq(json_str_at(c, "name"), name)) {
        c = yyjson_arr_iter_next(&it);
    }
    return str_is(json_str_at(c, "restartPolicy"), "Always");
}

/* True while an init container is not finished; the status then speaks of it. */
static bool init_summary(struct pod_summary *s, yyjson_val *obj) {
    size_t total = yyjson_arr_size(json_path(obj, "spec.initContainers")), i = 0;
    yyjson_arr_iter it = yyjson_arr_iter_with(json_path(obj, "status.initContainerStatuses"));
    yyjson_arr_iter spec = yyjson_arr_iter_with(json_path(obj, "spec.initContainers"));
    yyjson_val *c;
    for (; (c = yyjson_arr_iter_next(&it)) != NULL; i++) {
        yyjson_val *own = yyjson_arr_iter_next(&spec);
        yyjson_val *t = json_path(c, "state.terminated");
        struct str waiting = json_str_at(c, "state.waiting.reason");
        count_restart(s, c);
        if (t != NULL && json_i64_at(t, "exitCode", 0) == 0) {
            continue;
        }
        if (json_bool_at(c, "started", false) && is_sidecar(obj, own, json_str_at(c, "name"))) {
            s->ready += json_bool_at(c, "ready", false);
            continue;
        }
        if (t != NULL) {
            terminated(s, "Init:", t);
        } else if (waiting.n > 0 && !str_is(waiting, "PodInitializing")) {
            set_status(s, "Init:", waiting);
        } else {
            snprintf(s->status, sizeof(s->status), "Init:%zu/%zu", i, total);
        }
        return true;
    }
    return false;
}

static void containers_summary(struct pod_summary *s, yyjson_val *obj) {
    yyjson_val *list = json_path(obj, "status.containerStatuses");
    bool running = false, told = false; /* the first that is not running says why */
    size_t i, n;
    yyjson_val *c;
    yyjson_arr_foreach(list, i, n, c) {
        yyjson_val *t = json_path(c, "state.terminated");
        struct str waiting = json_str_at(c, "state.waiting.reason");
        count_restart(s, c);
        if (waiting.n > 0 || t != NULL) {
            if (!told && waiting.n > 0) {
                set_status(s, "", waiting);
            } else if (!told) {
                terminated(s, "", t);
            }
            told = true;
        } else if (json_bool_at(c, "ready", false) && json_path(c, "state.running") != NULL) {
            running = true;
            s->ready++;
        }
    }
    if (strcmp(s->status, "Completed") == 0 && running) {
        set_status(s, "",
                   str_is(condition_status(obj, "Ready"), "True") ? STR("Running")
                                                                  : STR("NotReady"));
    }
}

static bool is_gated(yyjson_val *obj) {
    yyjson_arr_iter it = yyjson_arr_iter_with(json_path(obj, "status.conditions"));
    yyjson_val *c;
    while ((c = yyjson_arr_iter_next(&it)) != NULL) {
        if (str_is(json_str_at(c, "type"), "PodScheduled")) {
            return str_is(json_str_at(c, "reason"), "SchedulingGated");
        }
    }
    return false;
}

static void summarise(yyjson_val *obj, struct pod_summary *s) {
    struct str phase = json_str_at(obj, "status.phase"), reason = json_str_at(obj, "status.reason");
    *s = (struct pod_summary){.total = yyjson_arr_size(json_path(obj, "spec.containers"))};
    set_status(s, "", is_gated(obj) ? STR("SchedulingGated") : reason.n > 0 ? reason : phase);
    yyjson_arr_iter it = yyjson_arr_iter_with(json_path(obj, "spec.initContainers"));
    yyjson_val *c;
    while ((c = yyjson_arr_iter_next(&it)) != NULL) {
        s->total += str_is(json_str_at(c, "restartPolicy"), "Always");
    }
    if (!init_summary(s, obj)) {
        s->restarts = 0; /* init containers' restarts no longer interest once they are done */
        containers_summary(s, obj);
    }
    bool over = str_is(phase, "Succeeded") || str_is(phase, "Failed");
    if (json_str_at(obj, "metadata.deletionTimestamp").n > 0) {
        if (str_is(reason, "NodeLost")) {
            set_status(s, "", STR("Unknown"));
        } else if (!over) {
            set_status(s, "", STR("Terminating"));
        }
    }
}

static void gates_cell(yyjson_val *obj, struct buf *out) {
    size_t n = 0, met = 0;
    yyjson_arr_iter it = yyjson_arr_iter_with(json_path(obj, "spec.readinessGates"));
    yyjson_val *g;
    while ((g = yyjson_arr_iter_next(&it)) != NULL) {
        char type[320];
        n++;
        met += str_copy(json_str_at(g, "conditionType"), type, sizeof(type)) &&
               str_is(condition_status(obj, type), "True");
    }
    if (n == 0) {
        cell_str(out, (struct str){0});
    } else {
        cell_f(out, "%zu/%zu", met, n);
    }
}

void pod_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    struct pod_summary s;
    summarise(obj, &s);
    switch (i) {
    case 1:
        cell_f(out, "%zu/%zu", s.ready, s.total);
        break;
    case 2:
        buf_json(out, str_of(s.status));
        break;
    case 3:
        if (s.restarts > 0 && s.last_restart_ns > 0) {
            buf_f(out, "\"%lld (", (long long)s.restarts);
            codec_age(s.last_restart_ns, now, out);
            buf_c(out, " ago)\"");
        } else {
            cell_f(out, "%lld", (long long)s.restarts);
        }
        break;
    case 5:
        cell_str(out, json_str_at(obj, "status.podIP"));
        break;
    case 6:
        cell_str(out, json_str_at(obj, "spec.nodeName"));
        break;
    case 7:
        cell_str(out, json_str_at(obj, "status.nominatedNodeName"));
        break;
    default:
        gates_cell(obj, out);
        break;
    }
}
