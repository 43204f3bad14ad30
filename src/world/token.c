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
#include "wire/text/time.h"
#include "world/kit/verbs.h"

#define TIME_DEFAULT (24 * 3600 * NS_PER_SEC)
#define TIME_MIN (60 * NS_PER_SEC)
#define TIME_MAX (365 * 24 * 3600 * NS_PER_SEC)

enum { GROUPS_OF_TOKEN_MAX = 32 };

static int read_time(struct cli *c, int64_t *ret) {
    const char *text = cli_value(&c->args, "time");
    *ret = TIME_DEFAULT;
    if (text &&
        (duration_parse(str_of(text), ret, NULL) != 0 || *ret < TIME_MIN || *ret > TIME_MAX)) {
        return cli_usage(c, "--time: \"%s\": expected a duration from 1m to 8760h, like 90m or 24h",
                         text);
    }
    return CLI_OK;
}

static int read_groups(struct cli *c, struct str groups[GROUPS_OF_TOKEN_MAX],
                       struct str_list *ret) {
    const char *g;
    *ret = (struct str_list){.v = groups};
    for (size_t i = 0; (g = cli_nth(&c->args, "group", i)) != NULL; i++) {
        if (i == GROUPS_OF_TOKEN_MAX || g[0] == 0) {
            return cli_usage(c, "--group: expected at most %d names, none of them empty",
                             GROUPS_OF_TOKEN_MAX);
        }
        groups[ret->n++] = str_of(g);
    }
    return CLI_OK;
}

static int run(struct cli *c) {
    struct str groups[GROUPS_OF_TOKEN_MAX], token, secret;
    struct str_list list;
    int64_t lasts;
    yyjson_val *made;
    int code = read_time(c, &lasts);
    code = code ? code : read_groups(c, groups, &list);
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
