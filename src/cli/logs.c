/* logs: `berth logs`: what a job or pod has written. */
#include "cli/cli_int.h"

enum { ASK_EVERY_MS = 400 };

static int show(struct cli *c, struct str pod) {
    const char *tail = cli_value(&c->args, "tail");
    bool follow = cli_flag(&c->args, "follow");
    return cli_follow_log(c, c->project, pod, follow, tail) == 0 ? CLI_OK : cli_fail(c, NULL);
}

/* Shows the log of a job's newest pod; with -f waits until it has begun. *ret_no_job when there is no such job. */
static int show_job(struct cli *c, struct str name, bool *ret_no_job) {
    yyjson_val *job, *pod = NULL;
    int r = cli_get(c, cli_path(c, "batch/v1", "jobs", c->project, name, NULL), &job);
    *ret_no_job = r == ERR_NOT_FOUND;
    if (r != 0) {
        return *ret_no_job ? CLI_NOT_FOUND : cli_fail(c, NULL);
    }
    for (;;) {
        arena_reset(&c->arena); /* nothing of the last round is needed; name is the user's argument */
        if (cli_job_pod(c, c->project, name, &pod) != 0) {
            return cli_fail(c, NULL);
        }
        bool begun = pod && !str_is(json_str_at(pod, "status.phase"), "Pending");
        if (begun || (pod && !cli_flag(&c->args, "follow"))) {
            return show(c, json_str_at(pod, "metadata.name"));
        }
        if (!cli_flag(&c->args, "follow")) {
            fprintf(stderr, "berth logs: job/%.*s has no pod yet; -f waits for it\n",
                    STR_ARG(name));
            return CLI_FAILED;
        }
        cli_sleep_ms(ASK_EVERY_MS);
        if (cli_get(c, cli_path(c, "batch/v1", "jobs", c->project, name, NULL), &job) != 0) {
            return cli_fail(c, NULL);
        }
    }
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
            return no_job ? cli_fail(c, NULL) : code;
        }
    }
    code = show(c, name);
    return code;
}

static const struct cli_option options[] = {
    {"follow", 'f', NULL, "go on as it is written, until the end", NULL, false},
    {"tail", 0, "N", "only the last N lines", NULL, false},
};

const struct cli_verb cli_logs = {
    .name = "logs",
    .arguments = "JOB|POD",
    .summary = "what a job has written",
    .examples = "  berth logs train-x7k2p\n  berth logs -f --tail 20 train-x7k2p\n"
                "  berth logs pod/train-x7k2p-5jq8n\n",
    .options = options,
    .n_options = sizeof(options) / sizeof(*options),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
