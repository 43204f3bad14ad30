/*
 * pod_status: see pod_status.h. Conditions merge by type, so that PodScheduled, which is control's,
 * stays; container statuses are replaced whole.
 */
#include "node/pods/pod_status.h"

#include "wire/text/time.h"

static void add_time(struct buf *b, const char *name, int64_t ns) {
    char text[TIME_TEXT_MAX];

    buf_f(b, "\"%s\":\"%.*s\"", name, STR_ARG(time_text(ns, text)));
}

static void add_text(struct buf *b, const char *name, struct str value) {
    buf_f(b, "\"%s\":", name);
    buf_json(b, value);
}

static yyjson_val *state_of(yyjson_val *state, struct str name) {
    yyjson_arr_iter it;
    yyjson_val *c;

    yyjson_arr_iter_init(json_get(state, STR("containers")), &it);
    while ((c = yyjson_arr_iter_next(&it))) {
        if (str_eq(json_str_at(c, "name"), name)) {
            return c;
        }
    }
    return NULL;
}

static void add_terminated(struct buf *b, yyjson_val *e) {
    struct str message = json_str_at(e, "message");

    buf_f(b, "{\"terminated\":{\"exitCode\":%lld,", (long long)json_i64_at(e, "exitCode", 0));
    if (json_i64_at(e, "signal", 0)) {
        buf_f(b, "\"signal\":%lld,", (long long)json_i64_at(e, "signal", 0));
    }
    add_text(b, "reason", json_str_at(e, "reason"));
    if (!str_empty(message)) {
        buf_ch(b, ',');
        add_text(b, "message", message);
    }
    buf_ch(b, ',');
    add_time(b, "startedAt", json_i64_at(e, "startedNs", 0));
    buf_ch(b, ',');
    add_time(b, "finishedAt", json_i64_at(e, "finishedNs", 0));
    buf_c(b, "}}");
}

static void add_gone(struct buf *b, const struct pod_status_in *in, yyjson_val *s) {
    buf_c(b, "{\"terminated\":{\"exitCode\":137,\"reason\":\"ContainerStatusUnknown\",");
    add_text(b, "message",
             STR("The process that watched the container is gone; the container was ended."));
    buf_ch(b, ',');
    add_time(b, "startedAt", json_i64_at(s, "startedNs", in->start_ns));
    buf_ch(b, ',');
    add_time(b, "finishedAt", in->now_ns);
    buf_c(b, "}}");
}

static void add_waiting(struct buf *b, struct str reason, struct str message) {
    buf_c(b, "{\"waiting\":{");
    add_text(b, "reason", reason);
    if (!str_empty(message)) {
        buf_ch(b, ',');
        add_text(b, "message", message);
    }
    buf_c(b, "}}");
}

static void add_state(struct buf *b, const struct pod_status_in *in, yyjson_val *s,
                      bool init_pending) {
    struct str st = json_str_at(s, "state");
    yyjson_val *end = json_get(s, STR("end"));

    if (str_is(st, "done") && end) {
        add_terminated(b, end);
    } else if (s && in->lost) {
        add_gone(b, in, s);
    } else if (str_is(st, "running")) {
        buf_c(b, "{\"running\":{");
        add_time(b, "startedAt", json_i64_at(s, "startedNs", 0));
        buf_c(b, "}}");
    } else if (str_is(st, "backoff")) {
        add_waiting(b, STR("CrashLoopBackOff"),
                    STR("back-off before the container is started again"));
    } else if (!str_empty(in->reason)) {
        add_waiting(b, in->reason, in->message);
    } else {
        add_waiting(b, init_pending ? STR("PodInitializing") : STR("ContainerCreating"), STR(""));
    }
}

static void add_container(struct buf *b, const struct pod_status_in *in, yyjson_val *spec,
                          bool init_pending) {
    struct str name = json_str_at(spec, "name");
    yyjson_val *s = state_of(in->state, name), *last = json_get(s, STR("last"));
    bool running = str_is(json_str_at(s, "state"), "running") && !in->lost;
    bool init_done = json_bool_at(s, "init", false) && str_is(json_str_at(s, "state"), "done") &&
                     json_i64_at(s, "end.exitCode", 1) == 0;

    buf_ch(b, '{');
    add_text(b, "name", name);
    buf_ch(b, ',');
    add_text(b, "image", json_str_at(spec, "image"));
    buf_f(b, ",\"imageID\":\"\",\"ready\":%s,\"started\":%s,\"restartCount\":%lld,\"state\":",
          running || init_done ? "true" : "false", running ? "true" : "false",
          (long long)json_i64_at(s, "restarts", 0));
    add_state(b, in, s, init_pending);
    buf_c(b, ",\"lastState\":");
    if (str_is(json_str_at(s, "state"), "backoff") && json_get(s, STR("end"))) {
        last = json_get(s, STR("end"));
    }
    if (last) {
        add_terminated(b, last);
    } else {
        buf_c(b, "{}");
    }
    buf_ch(b, '}');
}

/* Are there init containers that still have to end (sidecars: to start)? */
static bool initializing(const struct pod_status_in *in) {
    yyjson_arr_iter it;
    yyjson_val *c;

    yyjson_arr_iter_init(json_path(in->pod, "spec.initContainers"), &it);
    while ((c = yyjson_arr_iter_next(&it))) {
        yyjson_val *s = state_of(in->state, json_str_at(c, "name"));
        bool up = json_bool_at(s, "sidecar", false) && str_is(json_str_at(s, "state"), "running");
        bool done =
            str_is(json_str_at(s, "state"), "done") && json_i64_at(s, "end.exitCode", 1) == 0;
        if (!up && !done) {
            return true;
        }
    }
    return false;
}

static bool all_running(const struct pod_status_in *in) {
    yyjson_arr_iter it;
    yyjson_val *c;

    yyjson_arr_iter_init(json_path(in->pod, "spec.containers"), &it);
    while ((c = yyjson_arr_iter_next(&it))) {
        if (!str_is(json_str_at(state_of(in->state, json_str_at(c, "name")), "state"), "running")) {
            return false;
        }
    }
    return !in->lost;
}

static const char *phase_of(const struct pod_status_in *in, bool init_pending) {
    struct str p = json_str_at(in->state, "phase");

    if (str_is(p, "Succeeded")) {
        return "Succeeded";
    }
    if (in->failed || in->lost || str_is(p, "Failed")) {
        return "Failed";
    }
    return in->state && !init_pending ? "Running" : "Pending";
}

static void add_condition(struct buf *b, const struct pod_status_in *in, const char *type, bool yes,
                          const char *reason, bool first) {
    yyjson_val *list = json_path(in->pod, "status.conditions"), *c, *old = NULL;
    yyjson_arr_iter it;

    yyjson_arr_iter_init(list, &it);
    while ((c = yyjson_arr_iter_next(&it))) {
        old = str_is(json_str_at(c, "type"), type) ? c : old;
    }
    buf_f(b, "%s{\"type\":\"%s\",\"status\":\"%s\",", first ? "" : ",", type,
          yes ? "True" : "False");
    if (*reason) {
        buf_f(b, "\"reason\":\"%s\",", reason);
    } else {
        buf_c(b, "\"reason\":null,");
    }
    if (old && str_is(json_str_at(old, "status"), yes ? "True" : "False")) {
        add_text(b, "lastTransitionTime", json_str_at(old, "lastTransitionTime"));
    } else {
        add_time(b, "lastTransitionTime", in->now_ns);
    }
    buf_ch(b, '}');
}

static void add_list(struct buf *b, const struct pod_status_in *in, const char *spec,
                     const char *status, bool init_pending) {
    yyjson_val *list = json_path(in->pod, spec), *c;
    yyjson_arr_iter it;
    bool first = true;

    if (yyjson_arr_size(list) == 0) {
        return;
    }
    buf_f(b, ",\"%s\":[", status);
    yyjson_arr_iter_init(list, &it);
    while ((c = yyjson_arr_iter_next(&it))) {
        buf_c(b, first ? "" : ",");
        add_container(b, in, c, init_pending);
        first = false;
    }
    buf_ch(b, ']');
}

void pod_status_write(const struct pod_status_in *in, struct buf *b, const char **ret_phase) {
    bool init_pending = initializing(in);
    const char *phase = phase_of(in, init_pending);
    bool over = !strcmp(phase, "Succeeded") || !strcmp(phase, "Failed");
    bool ready = !over && !init_pending && in->state && all_running(in);
    const char *why = !strcmp(phase, "Succeeded") ? "PodCompleted"
                      : over                      ? "PodFailed"
                      : ready                     ? ""
                                                  : "ContainersNotReady";

    buf_c(b, "{\"metadata\":{");
    add_text(b, "uid", json_str_at(in->pod, "metadata.uid"));
    buf_f(b, "},\"status\":{\"phase\":\"%s\"", phase);
    if (in->failed || in->lost) {
        buf_ch(b, ',');
        add_text(b, "reason", in->lost ? STR("ContainerStatusUnknown") : in->reason);
        buf_ch(b, ',');
        add_text(b, "message", in->message);
    }
    buf_ch(b, ',');
    add_text(b, "hostIP", in->host_ip);
    buf_c(b, ",\"hostIPs\":[{");
    add_text(b, "ip", in->host_ip);
    buf_c(b, "}],\"podIP\":\"127.0.0.1\",\"podIPs\":[{\"ip\":\"127.0.0.1\"}],");
    add_time(b, "startTime", in->start_ns);
    buf_c(b, ",\"conditions\":[");
    add_condition(b, in, "PodReadyToStartContainers", !over, "", true);
    add_condition(b, in, "Initialized", !init_pending,
                  !strcmp(phase, "Succeeded") ? "PodCompleted"
                  : init_pending              ? "ContainersNotInitialized"
                                              : "",
                  false);
    add_condition(b, in, "Ready", ready, why, false);
    add_condition(b, in, "ContainersReady", ready, why, false);
    buf_ch(b, ']');
    add_list(b, in, "spec.initContainers", "initContainerStatuses", init_pending);
    add_list(b, in, "spec.containers", "containerStatuses", init_pending);
    buf_c(b, "}}");
    *ret_phase = phase;
}
