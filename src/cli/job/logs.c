/* logs: `berth logs`: what a job or pod has written. */
#include "base/limits.h"
#include "cli/kit/kit.h"

enum { ASK_EVERY_MS = 400 };

static int show(struct cli *c, struct str pod, const char *tail) {
    bool follow = cli_flag(&c->args, "follow");
    return cli_follow_log(c, c->project, pod, follow, tail) == 0 ? CLI_OK : cli_fail(c, NULL);
}

/* The log that was shown last: a retry is another pod, a restart the same pod with a higher count. */
struct shown {
    char pod[LIMIT_NAME + 1];
    int64_t restarts;
    bool any, told;
};

static bool is_new(struct shown *s, yyjson_val *pod) {
    yyjson_val *states = json_path(pod, "status.containerStatuses");
    int64_t restarts = json_i64_at(yyjson_arr_get_first(states), "restartCount", 0);
    struct str name = json_str_at(pod, "metadata.name");
    if (s->any && str_is(name, s->pod) && restarts <= s->restarts) {
        return false;
    }
    s->any = str_copy(name, s->pod, sizeof(s->pod));
    s->restarts = restarts;
    return true;
}

static void tell_others(struct str name, size_t pods, const char *pod) {
    if (pods > 1) {
        fprintf(stderr,
                "job/%.*s has %zu pods; this is pod/%s, the newest "
                "(kubectl get pods -l batch.kubernetes.io/job-name=%.*s)\n",
                STR_ARG(name), pods, pod, STR_ARG(name));
    }
}

/* One look at the job: an exit code when all is said, -1 to look again. */
static int look(struct cli *c, struct str name, struct shown *s, bool *ret_no_job) {
    bool follow = cli_flag(&c->args, "follow");
    yyjson_val *job, *pod = NULL, *running = NULL;
    size_t pods = 0;
    int r = cli_get(c, cli_path(c, "batch/v1", "jobs", c->project, name, NULL), &job);
    *ret_no_job = r == ERR_NOT_FOUND && !s->any;
    if (r != 0) {
        return *ret_no_job ? CLI_NOT_FOUND : cli_fail(c, NULL);
    }
    if (cli_job_pods(c, c->project, name, &pod, &pods) != 0) {
        return cli_fail(c, NULL);
    }
    bool begun = pod && !str_is(json_str_at(pod, "status.phase"), "Pending");
    bool first = !s->any;
    if ((begun || (pod && !follow)) && is_new(s, pod)) {
        tell_others(name, follow ? 0 : pods, s->pod);
        int code = show(c, str_of(s->pod), first ? cli_value(&c->args, "tail") : NULL);
        return follow && code == CLI_OK ? -1 : code;
    }
    if (cli_job_ended(job) >= 0 && !(pod && !begun)) {
        if (first) {
            fprintf(stderr, "job/%.*s has ended and left no pod, so there is no log\n",
                    STR_ARG(name));
        }
        return first ? CLI_FAILED : CLI_OK;
    }
    if (!first || (s->told && follow)) {
        return -1;
    }
    s->told = true;
    char why[600];
    snprintf(why, sizeof(why), "%.*s", STR_ARG(cli_job_words(c, c->project, job, &running)));
    cli_clean(why);
    fprintf(stderr, "job/%.*s has no log yet: %s%s\n", STR_ARG(name), why,
            follow ? "" : " (-f waits for it)");
    return follow ? -1 : CLI_FAILED;
}

/* Shows the log of a job's newest pod; with -f those of its retries, too, until the job has ended. */
static int show_job(struct cli *c, struct str name, bool *ret_no_job) {
    struct shown s = {0};
    int code;
    while ((code = look(c, name, &s, ret_no_job)) < 0) {
        arena_reset(
            &c->arena); /* nothing of the last round is needed; name is the user's argument */
        cli_sleep_ms(ASK_EVERY_MS);
    }
    return code;
}

static int run(struct cli *c) {
    struct str name = str_of(c->args.args[0]), kind = {0}, rest;
    const char *tail = cli_value(&c->args, "tail");
    uint64_t lines;
    bool no_job = false;
    if (tail && !str_to_u64(str_of(tail), &lines)) {
        return cli_usage(c, "--tail: expected a number of lines, not \"%s\"", tail);
    }
    if (str_cut(name, '/', &kind, &rest)) {
        name = rest;
        if (!str_is(kind, "job") && !str_is(kind, "pod")) {
            return cli_usage(c, "expected JOB or POD, not \"%s\"", c->args.args[0]);
        }
    } else {
        kind = (struct str){0};
    }
    int code = cli_connect(c);
    if (code != 0) {
        return code;
    }
    if (!str_is(kind, "pod")) {
        code = show_job(c, name, &no_job);
        if (!no_job || str_is(kind, "job")) {
            if (no_job && !cli_no_project(c)) {
                err_set(&c->err, ERR_NOT_FOUND, "there is no job \"%.*s\" in project \"%.*s\"",
                        STR_ARG(name), STR_ARG(c->project));
            }
            return no_job ? cli_fail(c, NULL) : code;
        }
    }
    code = cli_follow_log(c, c->project, name, cli_flag(&c->args, "follow"), tail);
    if (code == ERR_NOT_FOUND && !cli_no_project(c)) {
        err_set(&c->err, code, "there is no %s \"%.*s\" in project \"%.*s\"",
                kind.n ? "pod" : "job or pod", STR_ARG(name), STR_ARG(c->project));
    }
    return code ? cli_fail(c, NULL) : CLI_OK;
}

static const struct cli_option options[] = {
    {"follow", 'f', NULL, "wait for the start, go on as it is written, until the end", NULL, false},
    {"tail", 0, "N", "only the last N lines", NULL, false},
};

const struct cli_verb cli_logs = {
    .name = "logs",
    .arguments = "JOB|POD",
    .summary = "what a job has written",
    .about =
        "What a job has written, standard output and error as they came; of a job with several "
        "pods the\n"
        "newest one. With -f also the pods that follow when one fails and the job tries again.",
    .examples = "  berth logs train-x7k2p\n  berth logs -f --tail 20 train-x7k2p\n"
                "  berth logs pod/train-x7k2p-5jq8n\n",
    .options = options,
    .n_options = sizeof(options) / sizeof(*options),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
