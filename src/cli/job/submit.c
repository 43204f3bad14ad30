/* submit: `berth submit`: a suspended Job with a queue's name, which the queue lets run when there is room. */
#include <errno.h>

#include "base/limits.h"
#include "cli/job/job_spec.h"
#include "cli/job/submit_check.h"
#include "cli/kit/kit.h"

/* Whether it was made; the trouble is told with what to do next. */
static int submit(struct cli *c, struct str job, yyjson_val **ret) {
    const char *name = cli_value(&c->args, "name");
    if (submit_check(c) != 0) {
        return cli_fail(c, NULL);
    }
    struct str path = cli_path(c, "batch/v1", "jobs", c->project, (struct str){0}, NULL);
    path = cli_path_with(c, path, "fieldManager", STR("berth-submit"));
    int r = cli_request(c, "POST", path, job, ret);
    if (r == ERR_EXISTS && name) {
        err_set(&c->err, r,
                "there is a job \"%s\" already: choose another --name, or `berth cancel %s` first",
                name, name);
    }
    return r ? cli_fail(c, NULL) : CLI_OK;
}

static int run(struct cli *c) {
    struct buf job;
    yyjson_val *made;
    bool wait = cli_flag(&c->args, "wait");
    if (wait && cli_value(&c->args, "output")) {
        return cli_usage(c, "--wait prints the job's log: --output is for submitting without it");
    }
    buf_init(&job, LIMIT_OBJECT_BYTES);
    if (job_spec_build(&c->args, &job, &c->err) != 0) {
        struct err e = c->err;
        buf_release(&job);
        return cli_usage(c, "%s", e.text);
    }
    int code = cli_connect(c);
    code = code ? code : submit(c, buf_view(&job), &made);
    buf_release(&job);
    if (code != 0) {
        return code;
    }
    struct str name = json_str_at(made, "metadata.name");
    if (!wait) {
        if (!cli_print(c, made)) {
            printf("job/%.*s submitted\n", STR_ARG(name));
        }
        return CLI_OK;
    }
    fprintf(stderr, "job/%.*s submitted\n", STR_ARG(name));
    return cli_follow_job(c, c->project, name);
}

static const struct cli_option options[] = {
    {"name", 0, "NAME", "name of the job; else made from the command", NULL, false},
    {"queue", 'q', "QUEUE", "local queue; else \"default\"", NULL, false},
    {"slice", 's', "PROFILE", "a slice of a GPU, as 2g.35gb", NULL, false},
    {"gpus", 'g', "N", "whole GPUs", NULL, false},
    {"cpu", 0, "AMOUNT", "processors, as 2 or 500m", NULL, false},
    {"memory", 0, "AMOUNT", "memory, as 4Gi", NULL, false},
    {"time", 't', "LIMIT", "ends the job after this, as 90s, 30m, 12h, 1d or 1h30m", NULL, false},
    {"image", 0, "IMAGE", "that it runs in, where podman is; else the machine's files", NULL,
     false},
    {"dir", 'C', "DIR", "where it starts; else an empty folder of its own", NULL, false},
    {"env", 'e', "NAME=VALUE", "a variable; NAME alone passes ours on", NULL, true},
    {"wait", 'w', NULL, "tell how it gets on and show its log; status 6 when it failed", NULL,
     false},
};

const struct cli_verb cli_submit = {
    .name = "submit",
    .arguments = "-- COMMAND...",
    .summary = "put a job into a queue",
    .about = "Puts a job into a queue: the command starts when there is quota and a place for it.",
    .examples = "  berth submit --slice 2g.35gb --time 2h -- python train.py --epochs 3\n"
                "  berth submit --gpus 2 --queue team-a --name big --dir ~/run --wait -- ./run.sh\n"
                "  berth submit --cpu 2 --memory 4Gi -e SEED=7 -- sh -c 'echo $SEED'\n",
    .options = options,
    .n_options = sizeof(options) / sizeof(*options),
    .command = true,
    .run = run,
};
