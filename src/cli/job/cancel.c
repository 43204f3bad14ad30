/* cancel: `berth cancel`: ends jobs and takes them away, with their pods. */
#include "cli/kit/kit.h"

static const char *plain_name(const char *arg) {
    return strncmp(arg, "job/", 4) == 0 ? arg + 4 : arg;
}

static int run(struct cli *c) {
    int code = cli_connect(c), worst = CLI_OK;
    if (code != 0) {
        return code;
    }
    for (size_t i = 0; i < c->args.n_args; i++) {
        yyjson_val *gone;
        const char *name = plain_name(c->args.args[i]);
        struct str path = cli_path(c, "batch/v1", "jobs", c->project, str_of(name), NULL);
        struct str body = STR("{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\","
                              "\"propagationPolicy\":\"Background\"}");
        if (cli_request(c, "DELETE", path, body, &gone) != 0) {
            if (c->err.code == ERR_NOT_FOUND && !cli_no_project(c)) {
                err_set(&c->err, ERR_NOT_FOUND, "there is no job \"%s\" in project \"%.*s\"", name,
                        STR_ARG(c->project));
            }
            worst = cli_fail(c, NULL);
        } else if (!cli_print(c, gone)) {
            printf("job/%s cancelled\n", name);
        }
    }
    return worst;
}

const struct cli_verb cli_cancel = {
    .name = "cancel",
    .arguments = "JOB...",
    .summary = "end jobs, waiting or running",
    .about = "Ends jobs, waiting or running, and takes them away with their pods and logs.",
    .examples = "  berth cancel train-x7k2p\n  berth cancel -n team-a big small\n",
    .min_args = 1,
    .max_args = CLI_ARGS_MAX,
    .run = run,
};
