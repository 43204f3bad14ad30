/*
 * follow: how a job gets on, in plain words: from its Job, its Workload and its pod, asked again and again.
 *
 * What is said goes to standard error, once per change; the log goes to standard output.
 */
#include <signal.h>
#include <unistd.h>

#include "cli/kit/kit.h"

enum { ASK_EVERY_MS = 400, LINE_MAX_BYTES = 600 };

/* ---- logs ---- */

struct log_copy {
    struct cli *c;
    bool done;
    int code;
};

static bool copy_bytes(void *ctx, struct str bytes) {
    bool ok = fwrite(bytes.p, 1, bytes.n, stdout) == bytes.n;
    return fflush(stdout) == 0 && ok;
}

static void log_ended(void *ctx, const struct kube_reply *r) {
    struct log_copy *l = ctx;
    l->done = true;
    l->code = r->code;
    l->c->err = r->err;
    l->c->err.code = r->code;
    loop_stop(l->c->loop);
}

int cli_follow_log(struct cli *c, struct str ns, struct str pod, bool follow, const char *tail) {
    struct log_copy l = {.c = c};
    struct str path = cli_path(c, "v1", "pods", ns, pod, "log");
    if (follow) {
        path = cli_path_with(c, path, "follow", STR("true"));
    }
    if (tail) {
        path = cli_path_with(c, path, "tailLines", str_of(tail));
    }
    struct kube_request r = {.method = "GET",
                             .path = path,
                             .accept = "*/*",
                             .timeout_ms = -1,
                             .data = copy_bytes,
                             .done = log_ended,
                             .ctx = &l};
    int code = kube_send(c->client, &r, NULL, &c->err);
    if (code == 0) {
        loop_run(c->loop);
        code = l.done ? l.code : ERR_GONE;
    }
    return code;
}

/* ---- what there is to say ---- */

static yyjson_val *newest(yyjson_val *list) {
    yyjson_val *items = json_get(list, STR("items")), *item, *best = NULL;
    size_t i, n;
    yyjson_arr_foreach(items, i, n, item) {
        struct str t = json_str_at(item, "metadata.creationTimestamp");
        if (best == NULL || str_cmp(t, json_str_at(best, "metadata.creationTimestamp")) >= 0) {
            best = item;
        }
    }
    return best;
}

int cli_job_pods(struct cli *c, struct str ns, struct str job, yyjson_val **ret, size_t *ret_n) {
    yyjson_val *list;
    struct str path = cli_path(c, "v1", "pods", ns, (struct str){0}, NULL);
    struct str selector = arena_f(&c->arena, "batch.kubernetes.io/job-name=%.*s", STR_ARG(job));
    int r = cli_get(c, cli_path_with(c, path, "labelSelector", selector), &list);
    if (r == 0) {
        *ret = newest(list);
        *ret_n = yyjson_arr_size(json_get(list, STR("items")));
    }
    return r;
}

int cli_job_pod(struct cli *c, struct str ns, struct str job, yyjson_val **ret) {
    size_t n;
    return cli_job_pods(c, ns, job, ret, &n);
}

static int job_workload(struct cli *c, struct str ns, yyjson_val *job, yyjson_val **ret) {
    yyjson_val *list;
    struct str path = cli_path(c, "kueue.x-k8s.io/v1beta2", "workloads", ns, (struct str){0}, NULL);
    struct str selector = arena_f(&c->arena, "kueue.x-k8s.io/job-uid=%.*s",
                                  STR_ARG(json_str_at(job, "metadata.uid")));
    int r = cli_get(c, cli_path_with(c, path, "labelSelector", selector), &list);
    if (r == 0) {
        *ret = newest(list);
    }
    return r;
}

/* Why the first container waits, or why the pod has no place. */
static struct str pod_waits(yyjson_val *pod) {
    yyjson_val *states = json_path(pod, "status.containerStatuses");
    yyjson_val *waiting = json_path(yyjson_arr_get_first(states), "state.waiting");
    yyjson_val *scheduled = cli_condition(pod, "PodScheduled");
    struct str s = json_str_at(waiting, "message");
    s = s.n ? s : json_str_at(waiting, "reason");
    return s.n ? s : json_str_at(scheduled, "message");
}

struct str cli_job_words(struct cli *c, struct str ns, yyjson_val *job, yyjson_val **ret_pod) {
    yyjson_val *pod = NULL, *w = NULL;
    struct str name = json_str_at(job, "metadata.name");
    if (!json_bool_at(job, "spec.suspend", false) && cli_job_pod(c, ns, name, &pod) == 0 && pod) {
        struct str phase = json_str_at(pod, "status.phase"), why = pod_waits(pod);
        struct str node = json_str_at(pod, "spec.nodeName");
        if (!str_is(phase, "Pending")) {
            *ret_pod = pod;
            return arena_f(&c->arena, "running on %.*s", STR_ARG(node));
        }
        return arena_f(&c->arena, "starting%s%.*s%s%.*s", node.n ? " on " : "", STR_ARG(node),
                       why.n ? ": " : "", STR_ARG(why));
    }
    if (job_workload(c, ns, job, &w) != 0 || w == NULL) {
        return STR("waiting to be queued");
    }
    if (cli_condition_true(w, "Admitted")) {
        return STR("admitted");
    }
    yyjson_val *reserved = cli_condition(w, "QuotaReserved");
    if (str_is(json_str_at(reserved, "status"), "True")) {
        return STR("has its quota, waits for checks");
    }
    struct str why = json_str_at(reserved, "message");
    return why.n ? arena_f(&c->arena, "waiting: %.*s", STR_ARG(why)) : STR("waiting in the queue");
}

int cli_job_ended(yyjson_val *job) {
    return cli_condition_true(job, "Complete") ? CLI_OK
           : cli_condition_true(job, "Failed") ? CLI_JOB_FAILED
                                               : -1;
}

/* What the newest pod ended with: "exit status 3", "signal 9: killed for its memory". */
static struct str pod_end(struct cli *c, struct str ns, struct str job) {
    yyjson_val *pod = NULL;
    if (cli_job_pod(c, ns, job, &pod) != 0 || pod == NULL) {
        return (struct str){0};
    }
    yyjson_val *states = json_path(pod, "status.containerStatuses");
    yyjson_val *ended = json_path(yyjson_arr_get_first(states), "state.terminated");
    int64_t status = json_i64_at(ended, "exitCode", 0);
    struct str message = json_str_at(ended, "message"), reason = json_str_at(ended, "reason");
    if (status == 0) {
        return json_str_at(pod, "status.message");
    }
    bool plain = reason.n == 0 || str_is(reason, "Error");
    return arena_f(&c->arena, "exit status %lld%s%.*s%s%.*s", (long long)status, plain ? "" : ", ",
                   plain ? 0 : (int)reason.n, plain ? "" : reason.p, message.n ? ": " : "",
                   STR_ARG(message));
}

static int tell_end(struct cli *c, struct str ns, yyjson_val *job, int code) {
    char why[LINE_MAX_BYTES];
    struct str name = json_str_at(job, "metadata.name");
    struct str message = json_str_at(cli_condition(job, "Failed"), "message");
    struct str end = code == CLI_OK ? (struct str){0} : pod_end(c, ns, name);
    snprintf(why, sizeof(why), "%.*s%s%.*s%s", STR_ARG(end), end.n && message.n ? " (" : "",
             STR_ARG(message), end.n && message.n ? ")" : "");
    cli_clean(why);
    fprintf(stderr, "job/%.*s %s%s%s\n", STR_ARG(name), code == CLI_OK ? "is done" : "failed",
            *why ? ": " : "", why);
    return code;
}

/* What Ctrl-C says: written by a signal handler, so it is made beforehand. */
static char goes_on[4 * LINE_MAX_BYTES];

static void interrupted(int signum) {
    ssize_t told = write(STDERR_FILENO, goes_on, strlen(goes_on));
    (void)told; /* there is nobody left to tell */
    _exit(128 + signum);
}

static void catch_interrupts(struct str ns, const char *name) {
    struct sigaction sa = {.sa_handler = interrupted};
    snprintf(goes_on, sizeof(goes_on),
             "\njob/%s goes on; `berth logs -f -n %.*s %s` follows it, `berth cancel -n %.*s %s` "
             "ends it\n",
             name, STR_ARG(ns), name, STR_ARG(ns), name);
    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
}

int cli_follow_job(struct cli *c, struct str ns, struct str job_name) {
    char last[LINE_MAX_BYTES] = "", name[LINE_MAX_BYTES];
    bool logged = false;
    snprintf(name, sizeof(name), "%.*s", STR_ARG(job_name));
    catch_interrupts(ns, name);
    for (;;) {
        yyjson_val *job, *pod = NULL;
        char line[LINE_MAX_BYTES];
        arena_reset(
            &c->arena); /* the views of the last round are over; project is the client's or argv's */
        if (cli_get(c, cli_path(c, "batch/v1", "jobs", ns, str_of(name), NULL), &job) != 0) {
            return cli_fail(c, NULL);
        }
        int code = cli_job_ended(job);
        if (code >= 0 && logged) {
            return tell_end(c, ns, job, code);
        }
        struct str words = cli_job_words(c, ns, job, &pod);
        snprintf(line, sizeof(line), "%.*s", STR_ARG(words));
        cli_clean(line);
        if (code < 0 && strcmp(line, last) != 0) {
            fprintf(stderr, "job/%s: %s\n", name, line);
            memcpy(last, line, sizeof(last));
        }
        if (pod && !logged) {
            logged = true;
            if (cli_follow_log(c, ns, json_str_at(pod, "metadata.name"), true, NULL) != 0) {
                fprintf(stderr, "job/%s: no log: %s\n", name, c->err.text);
            }
            continue;
        }
        if (code >= 0) {
            return tell_end(c, ns, job, code);
        }
        cli_sleep_ms(ASK_EVERY_MS);
    }
}
