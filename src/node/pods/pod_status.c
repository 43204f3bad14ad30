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

/* As Go prints a duration of whole seconds: "10s", "1m20s", "5m0s". */
static struct str back_off(yyjson_val *pod, struct str container, int64_t wait_ms, char out[400]) {
    long long s = (long long)(wait_ms / 1000);
    char span[32];

    if (s < 60) {
        snprintf(span, sizeof(span), "%llds", s);
    } else {
        snprintf(span, sizeof(span), "%lldm%llds", s / 60, s % 60);
    }
    int n = snprintf(
        out, 400, "back-off %s restarting failed container=%.*s pod=%.*s_%.*s(%.*s)", span,
        STR_ARG(container), STR_ARG(str_head(json_str_at(pod, "metadata.name"), 128)),
        STR_ARG(json_str_at(pod, "metadata.namespace")), STR_ARG(json_str_at(pod, "metadata.uid")));
    return str_from(out, n < 400 ? (size_t)n : 399);
}

static void add_state(struct buf *b, const struct pod_status_in *in, yyjson_val *s,
                      bool init_pending) {
    struct str st = json_str_at(s, "state");
    yyjson_val *end = json_get(s, STR("end"));
    char text[400];

    if (str_is(st, "done") && end) {
        add_terminated(b, end);
    } else if (s && in->lost) {
        add_gone(b, in, s);
    } else if (str_is(st, "running")) {
        buf_c(b, "{\"running\":{");
        add_time(b, "startedAt", json_i64_at(s, "startedNs", 0));
        buf_c(b, "}}");
    } else if (str_is(st, "backoff") && json_i64_at(s, "waitMs", 0) > 0) {
        add_waiting(b, STR("CrashLoopBackOff"),
                    back_off(in->pod, json_str_at(s, "name"), json_i64_at(s, "waitMs", 0), text));
    } else if (str_is(st, "backoff") && end) {
        add_terminated(b, end); /* it begins again at once */
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
    bool ended_well = json_bool_at(s, "init", false) && str_is(json_str_at(s, "state"), "done") &&
                      json_i64_at(s, "end.exitCode", 1) == 0;

    buf_ch(b, '{');
    add_text(b, "name", name);
    buf_ch(b, ',');
    add_text(b, "image", json_str_at(spec, "image"));
    struct str id = json_str_at(s, "imageID");
    buf_f(b, ",\"imageID\":\"%s%.*s\",\"ready\":%s,\"started\":%s,\"restartCount\":%lld,\"state\":",
          id.n ? "sha256:" : "", STR_ARG(id),
          (running && json_bool_at(s, "ready", true)) || ended_well ? "true" : "false",
          running && json_bool_at(s, "started", true) ? "true" : "false",
          (long long)json_i64_at(s, "restarts", 0));
    add_state(b, in, s, init_pending);
    buf_c(b, ",\"lastState\":");
    if (str_is(json_str_at(s, "state"), "backoff") && json_i64_at(s, "waitMs", 0) > 0 &&
        json_get(s, STR("end"))) {
        last = json_get(s, STR("end"));
    }
    if (last) {
        add_terminated(b, last);
    } else {
        buf_c(b, "{}");
    }
    buf_ch(b, '}');
}

/* Whether an init container holds nothing up any more: ended well, or a sidecar that has started. One that has started
 * before counts, too: what is after it runs. */
static bool init_done(yyjson_val *s) {
    struct str state = json_str_at(s, "state");

    if (json_bool_at(s, "sidecar", false)) {
        return json_i64_at(s, "restarts", 0) > 0 || json_get(s, STR("end")) ||
               (str_is(state, "running") && json_bool_at(s, "started", true));
    }
    return str_is(state, "done") && json_i64_at(s, "end.exitCode", 1) == 0;
}

/* Are there init containers that still have to end (sidecars: to start)? */
static bool initializing(const struct pod_status_in *in) {
    yyjson_arr_iter it;
    yyjson_val *c;

    yyjson_arr_iter_init(json_path(in->pod, "spec.initContainers"), &it);
    while ((c = yyjson_arr_iter_next(&it))) {
        yyjson_val *s = state_of(in->state, json_str_at(c, "name"));
        if (!init_done(s)) {
            return true;
        }
    }
    return false;
}

/* Is the container one that has to be ready for the pod to be: all but init containers that end? */
static bool counts(yyjson_val *spec, bool init) {
    return !init || str_is(json_str_at(spec, "restartPolicy"), "Always");
}

/* "containers with unready status: [a b]", or empty: all are ready. */
static struct str unready(const struct pod_status_in *in, struct buf *b) {
    static const char *const lists[] = {"spec.initContainers", "spec.containers"};
    yyjson_arr_iter it;
    yyjson_val *c;

    buf_reset(b);
    for (int i = 0; i < 2; i++) {
        yyjson_arr_iter_init(json_path(in->pod, lists[i]), &it);
        while ((c = yyjson_arr_iter_next(&it))) {
            yyjson_val *s = state_of(in->state, json_str_at(c, "name"));
            bool ready = str_is(json_str_at(s, "state"), "running") && !in->lost &&
                         json_bool_at(s, "ready", true);
            if (counts(c, i == 0) && !ready) {
                buf_c(b, b->n ? " " : "containers with unready status: [");
                buf_str(b, json_str_at(c, "name"));
            }
        }
    }
    buf_c(b, b->n ? "]" : "");
    return buf_view(b);
}

static struct str incomplete(const struct pod_status_in *in, struct buf *b) {
    yyjson_arr_iter it;
    yyjson_val *c;

    buf_reset(b);
    yyjson_arr_iter_init(json_path(in->pod, "spec.initContainers"), &it);
    while ((c = yyjson_arr_iter_next(&it))) {
        if (!init_done(state_of(in->state, json_str_at(c, "name")))) {
            buf_c(b, b->n ? " " : "containers with incomplete status: [");
            buf_str(b, json_str_at(c, "name"));
        }
    }
    buf_c(b, b->n ? "]" : "");
    return buf_view(b);
}

static yyjson_val *condition_of(const struct pod_status_in *in, struct str type) {
    yyjson_arr_iter it;
    yyjson_val *c;

    yyjson_arr_iter_init(json_path(in->pod, "status.conditions"), &it);
    while ((c = yyjson_arr_iter_next(&it))) {
        if (str_eq(json_str_at(c, "type"), type)) {
            return c;
        }
    }
    return NULL;
}

/* What readiness gates are not met, as Kubernetes says it; empty: all are. */
static struct str gates(const struct pod_status_in *in, struct buf *b) {
    yyjson_arr_iter it;
    yyjson_val *g;

    buf_reset(b);
    yyjson_arr_iter_init(json_path(in->pod, "spec.readinessGates"), &it);
    while ((g = yyjson_arr_iter_next(&it))) {
        struct str type = json_str_at(g, "conditionType");
        yyjson_val *c = condition_of(in, type);
        struct str status = json_str_at(c, "status");
        if (c == NULL) {
            buf_f(b, "%scorresponding condition of pod readiness gate \"%.*s\" does not exist.",
                  b->n ? ", " : "", STR_ARG(type));
        } else if (!str_is(status, "True")) {
            buf_f(b, "%sthe status of pod readiness gate \"%.*s\" is not \"True\", but %.*s",
                  b->n ? ", " : "", STR_ARG(type), STR_ARG(status));
        }
    }
    return buf_view(b);
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

/* A condition keeps the time of its last change. Reason and message that are empty are taken away. */
static void add_condition(struct buf *b, const struct pod_status_in *in, const char *type, bool yes,
                          const char *reason, struct str message) {
    yyjson_val *old = condition_of(in, str_of(type));

    buf_f(b, "%s{\"type\":\"%s\",\"status\":\"%s\",", b->p[b->n - 1] == '[' ? "" : ",", type,
          yes ? "True" : "False");
    if (*reason) {
        buf_f(b, "\"reason\":\"%s\",", reason);
    } else {
        buf_c(b, "\"reason\":null,");
    }
    if (message.n) {
        add_text(b, "message", message);
        buf_ch(b, ',');
    } else {
        buf_c(b, "\"message\":null,");
    }
    if (old && str_is(json_str_at(old, "status"), yes ? "True" : "False")) {
        add_text(b, "lastTransitionTime", json_str_at(old, "lastTransitionTime"));
    } else {
        add_time(b, "lastTransitionTime", in->now_ns);
    }
    buf_ch(b, '}');
}

static void add_conditions(struct buf *b, const struct pod_status_in *in, const char *phase,
                           bool init_pending) {
    bool succeeded = !strcmp(phase, "Succeeded"), over = succeeded || !strcmp(phase, "Failed");
    const char *why = succeeded ? "PodCompleted" : over ? "PodFailed" : "ContainersNotReady";
    struct buf text, more;

    buf_init(&text, 1 << 16);
    buf_init(&more, 1 << 16);
    buf_c(b, ",\"conditions\":[");
    add_condition(b, in, "PodReadyToStartContainers", !over, "", STR(""));
    add_condition(b, in, "Initialized", !init_pending,
                  succeeded      ? "PodCompleted"
                  : init_pending ? "ContainersNotInitialized"
                                 : "",
                  init_pending && !succeeded ? incomplete(in, &text) : STR(""));
    struct str waits = over ? STR("") : unready(in, &text),
               gate = over ? STR("") : gates(in, &more);
    bool all = !over && !waits.n && in->state;
    add_condition(b, in, "ContainersReady", all, all ? "" : why, waits);
    bool gated = all && gate.n;
    add_condition(b, in, "Ready", all && !gated,
                  gated ? "ReadinessGatesNotReady"
                  : all ? ""
                        : why,
                  gated ? gate : waits);
    buf_ch(b, ']');
    buf_release(&text);
    buf_release(&more);
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
    buf_c(b, "}],");
    if (in->pod_ip.n) {
        add_text(b, "podIP", in->pod_ip);
        buf_c(b, ",\"podIPs\":[{");
        add_text(b, "ip", in->pod_ip);
        buf_c(b, "}],");
    }
    add_time(b, "startTime", in->start_ns);
    add_conditions(b, in, phase, init_pending);
    add_list(b, in, "spec.initContainers", "initContainerStatuses", init_pending);
    add_list(b, in, "spec.containers", "containerStatuses", init_pending);
    add_list(b, in, "spec.ephemeralContainers", "ephemeralContainerStatuses", init_pending);
    buf_c(b, "}}");
    *ret_phase = phase;
}
