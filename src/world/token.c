/*
 * token: `berth token`: a bearer token for a person or a program.
 *
 * The token is made here and printed once; the server gets a Secret with its hash. What the token may do is what roles
 * grant to its user and groups. It lives in world because the form of that Secret is the server's.
 */
#include <stdio.h>

#include "cli/kit/kit.h"
#include "net/loop.h"
#include "server/auth/policy.h"
#include "world/kit/token_options.h"
#include "world/kit/verbs.h"

static int run(struct cli *c) {
    struct str groups[TOKEN_GROUPS_MAX], token, secret;
    struct str_list list;
    int64_t lasts;
    yyjson_val *made;
    int code = token_time(c, &lasts);
    code = code ? code : token_groups(c, groups, &list);
    code = code ? code : cli_connect(c);
    if (code != CLI_OK) {
        return code;
    }
    int64_t ends = clock_wall(loop_clock(c->loop)) + lasts;
    if (policy_new_token(&c->arena, str_of(c->args.args[0]), &list, ends, &token, &secret,
                         &c->err) != 0) {
        return cli_fail(c, NULL);
    }
    struct str path = cli_path(c, "v1", "secrets", STR("kube-system"), STR(""), NULL);
    if (cli_request(c, "POST", path, secret, &made) != 0) {
        return cli_fail(c, "make a token");
    }
    printf("%.*s\n", STR_ARG(token));
    fprintf(stderr, "for user %s; to revoke it: kubectl -n kube-system delete secret %.*s\n",
            c->args.args[0], STR_ARG(json_str_at(made, "metadata.name")));
    return CLI_OK;
}

static const struct cli_option options[] = {
    {"group", 0, "NAME", "a group the user is in; may be given several times", NULL, true},
    {"time", 0, "TIME", "how long it counts: 90m, 24h (default 24h, at most 8760h)", NULL, false},
};

const struct cli_verb world_token = {
    .name = "token",
    .group = GROUP_MACHINE,
    .arguments = "USER",
    .summary = "make a bearer token for a user",
    .about =
        "Makes a token for USER and prints it, once; the server keeps its hash alone. What it may\n"
        "do is what roles grant: kubectl create rolebinding NAME --clusterrole=edit --user=USER",
    .examples = "  berth token alice --group team-a --time 8h\n"
                "  kubectl --token=$(berth token alice) get jobs\n",
    .options = options,
    .n_options = sizeof(options) / sizeof(options[0]),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
