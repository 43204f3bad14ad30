/* submit: `berth submit`: a suspended Job with a queue's name, which the queue lets run when there is room. */
#include <errno.h>

#include "base/limits.h"
#include "cli/cli_int.h"
#include "cli/job_spec.h"

static int run(struct cli *c) {
    struct buf job;
    yyjson_val *made;
    buf_init(&job, LIMIT_OBJECT_BYTES);
    if (job_spec_build(&c->args, &job, &c->err) != 0) {
        struct err e = c->err;
        buf_release(&job);
        return cli_usage(c, "%s", e.text);
    }
    int code = cli_connect(c);
    if (code == 0) {
        struct str path = cli_path(c, "batch/v1", "jobs", c->project, (struct str){0}, NULL);
        path = cli_path_with(c, path, "fieldManager", STR("berth-submit"));
        if (cli_request(c, "POST", path, buf_view(&job), &made) != 0) {
            code = cli_fail(c, NULL);
        }
    }
    buf_release(&job);
    if (code != 0) {
        return code;
    }
    struct str name = json_str_at(made, "metadata.name");
    bool wait = cli_flag(&c->args, "wait");
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
    {"time", 't', "LIMIT", "ends the job after this, as 12h", NULL, false},
    {"image", 0, "IMAGE", "where the server runs containers; else busybox", NULL, false},
    {"env", 'e', "NAME=VALUE", "a variable; NAME alone passes ours on", NULL, true},
    {"wait", 'w', NULL, "tell how it gets on, show its log, exit with its result", NULL, false},
};

const struct cli_verb cli_submit = {
    .name = "submit",
    .arguments = "-- COMMAND...",
    .summary = "put a job into a queue",
    .examples = "  berth submit --slice 2g.35gb --time 2h -- python train.py --epochs 3\n"
                "  berth submit --gpus 2 --queue team-a --name big --wait -- ./run.sh\n"
                "  berth submit --cpu 2 --memory 4Gi -e SEED=7 -- sh -c 'echo $SEED'\n",
    .options = options,
    .n_options = sizeof(options) / sizeof(*options),
    .command = true,
    .run = run,
};
