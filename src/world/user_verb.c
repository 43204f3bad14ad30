/*
 * user_verb: `berth user`: people of an embedded Berth: their tokens and the projects that they are in.
 *
 * Berth has no list of users: a user is a name that a credential carries and that roles are given to. `add` therefore
 * is a token and memberships, `disable` revokes every token of the name, `remove` takes the memberships of
 * projects away as well. It lives in world because the form of a token's Secret is the server's. Tokens are printed
 * once; the server has their hashes. All is asked as the caller, who needs an administrator's rights.
 */
#include <stdio.h>

#include "cli/kit/table.h"
#include "cli/team/team.h"
#include "net/loop.h"
#include "server/auth/policy.h"
#include "wire/text/base64.h"
#include "wire/text/time.h"
#include "world/kit/token_options.h"
#include "world/kit/verbs.h"

enum { PROJECTS_MAX = 64 };

/* ---- a token ---- */

static void tell_token(struct cli *c, struct str name, struct str token, struct str secret,
                       int64_t ends) {
    char when[TIME_TEXT_MAX];
    struct buf b;
    time_text(ends, when);
    if (c->format != FORMAT_JSON && c->format != FORMAT_YAML) {
        printf("%.*s\n", STR_ARG(token));
        fprintf(stderr, "for user %.*s until %s; it is not shown again\n", STR_ARG(name), when);
        return;
    }
    buf_init(&b, 0);
    buf_c(&b, "{\"user\":");
    buf_json(&b, name);
    buf_f(&b, ",\"token\":\"%.*s\",\"secret\":\"%.*s\",\"expires\":\"%s\"}", STR_ARG(token),
          STR_ARG(secret), when);
    cli_print_text(c, &b);
}

static int make_token(struct cli *c, struct str name, const struct str_list *groups,
                      int64_t lasts) {
    struct str token, secret;
    yyjson_val *made;
    int64_t ends = clock_wall(loop_clock(c->loop)) + lasts;
    struct str path = cli_path(c, "v1", "secrets", STR("kube-system"), (struct str){0}, NULL);
    if (policy_new_token(&c->arena, name, groups, ends, &token, &secret, &c->err) != 0 ||
        cli_request(c, "POST", path, secret, &made) != 0) {
        return cli_fail(c, "make a token");
    }
    tell_token(c, name, token, json_str_at(made, "metadata.name"), ends);
    return CLI_OK;
}

/* ---- add, token ---- */

/* --in PROJECT[:ROLE] */
static int join(struct cli *c, struct str name) {
    struct team_member all[PROJECTS_MAX];
    const char *text;
    size_t n = 0;
    for (; (text = cli_nth(&c->args, "in", n)) != NULL; n++) {
        if (n == PROJECTS_MAX) {
            return cli_usage(c, "--in: expected at most %d projects", PROJECTS_MAX);
        }
        if (team_parse("in", text, &all[n], &c->err) != 0) {
            struct err e = c->err;
            return cli_usage(c, "%s", e.text);
        }
    }
    for (size_t i = 0; i < n; i++) {
        struct team_member m = {.name = name, .role = all[i].role};
        c->project = all[i].name;
        if (cli_no_project(c) || team_set(c, all[i].name, &m) != 0) {
            return cli_fail(c, NULL);
        }
    }
    return CLI_OK;
}

static int add(struct cli *c, struct str name) {
    struct str groups[TOKEN_GROUPS_MAX];
    struct str_list list;
    int64_t lasts;
    int code = token_time(c, &lasts);
    code = code ? code : token_groups(c, groups, &list);
    code = code ? code : cli_connect(c);
    code = code ? code : join(c, name);
    return code ? code : make_token(c, name, &list, lasts);
}

/* ---- what there is ---- */

static int get_tokens(struct cli *c, yyjson_val **ret) {
    struct str path = cli_path(c, "v1", "secrets", STR("kube-system"), (struct str){0}, NULL);
    return cli_get(c, cli_path_with(c, path, "fieldSelector", STR("type=berth.dev/token")), ret);
}

static struct str datum(struct cli *c, yyjson_val *secret, const char *key) {
    return base64_decode(&c->arena, json_str(json_get(json_get(secret, STR("data")), str_of(key))));
}

/* Of one token: its user, groups, and end; the hash stays where it is. */
static void describe(struct cli *c, yyjson_val *secret, struct buf *out) {
    struct str groups = datum(c, secret, "groups"), group;
    bool first = true;
    buf_c(out, "{\"user\":");
    buf_json(out, datum(c, secret, "user"));
    buf_c(out, ",\"groups\":[");
    while (groups.n && str_next(&groups, '\n', &group)) {
        buf_c(out, first ? "" : ",");
        buf_json(out, group);
        first = false;
    }
    buf_c(out, "],\"expires\":");
    buf_json(out, datum(c, secret, "expires"));
    buf_c(out, ",\"secret\":");
    buf_json(out, json_str_at(secret, "metadata.name"));
    buf_c(out, "}");
}

static int list(struct cli *c, yyjson_val *tokens) {
    static const char *const headers[] = {"USER", "GROUPS", "EXPIRES", "TOKEN"};
    yyjson_val *items = json_get(tokens, STR("items")), *o;
    struct table t;
    struct buf b;
    size_t i, n;
    buf_init(&b, 0);
    table_init(&t, &c->arena, headers, 4);
    buf_c(&b, "{\"items\":[");
    yyjson_arr_foreach(items, i, n, o) {
        struct str groups = datum(c, o, "groups");
        buf_c(&b, i ? "," : "");
        describe(c, o, &b);
        table_row(&t);
        table_set(&t, 0, STYLE_PLAIN, datum(c, o, "user"));
        table_set(&t, 1, STYLE_PLAIN, groups.n ? groups : STR("<none>"));
        table_set(&t, 2, STYLE_PLAIN, datum(c, o, "expires"));
        table_set(&t, 3, STYLE_PLAIN, json_str_at(o, "metadata.name"));
    }
    buf_c(&b, "]}");
    if (c->format != FORMAT_TABLE && c->format != FORMAT_WIDE && c->format != FORMAT_NAME) {
        return cli_print_text(c, &b);
    }
    buf_reset(&b);
    if (t.n_rows == 0) {
        fprintf(stderr, "nobody has a token\n");
    } else {
        table_write(&t, c->colour, 0, &b);
    }
    cli_out(&b);
    buf_release(&b);
    return CLI_OK;
}

/* ---- disable, remove ---- */

static int revoke(struct cli *c, yyjson_val *tokens, struct str name, size_t *ret_n) {
    yyjson_val *items = json_get(tokens, STR("items")), *o;
    struct str none = {0};
    size_t i, n;
    int r = 0;
    *ret_n = 0;
    yyjson_arr_foreach(items, i, n, o) {
        if (r == 0 && str_eq(datum(c, o, "user"), name)) {
            struct str secret = json_str_at(o, "metadata.name");
            r = cli_request(c, "DELETE",
                            cli_path(c, "v1", "secrets", STR("kube-system"), secret, NULL), none,
                            NULL);
            r = r == ERR_NOT_FOUND ? 0 : r;
            *ret_n += r == 0;
        }
    }
    return r;
}

struct user_search {
    struct str name;
    bool found;
};

static void look_for(void *ctx, const struct team_member *m) {
    struct user_search *x = ctx;
    x->found |= !m->group && str_eq(m->name, x->name);
}

/* Out of every project; *ret_n: how many those were. */
static int leave(struct cli *c, struct str name, size_t *ret_n) {
    struct str none = {0}, last = {0};
    yyjson_val *all, *o;
    size_t i, n;
    *ret_n = 0;
    int r = cli_get(c, cli_path(c, TEAM_RBAC "/v1", "rolebindings", none, none, NULL), &all);
    yyjson_val *items = r == 0 ? json_get(all, STR("items")) : NULL;
    yyjson_arr_foreach(items, i, n, o) {
        struct user_search x = {.name = name};
        struct str project = json_str_at(o, "metadata.namespace");
        struct team_member m = {.name = name};
        team_each(o, look_for, &x);
        if (r == 0 && x.found && str_starts(json_str_at(o, "metadata.name"), STR("project-"))) {
            r = team_set(c, project, &m);
            *ret_n += r == 0 && !str_eq(project, last);
            last = project;
        }
    }
    return r;
}

static int end(struct cli *c, yyjson_val *tokens, struct str name, bool removes) {
    size_t revoked, left = 0;
    int r = removes ? leave(c, name, &left) : 0;
    r = r ? r : revoke(c, tokens, name, &revoked);
    if (r != 0) {
        return cli_fail(c, NULL);
    }
    if (revoked == 0 && left == 0) {
        err_set(&c->err, ERR_NOT_FOUND, "user \"%.*s\" has no token%s", STR_ARG(name),
                removes ? " and is in no project" : "");
        return cli_fail(c, NULL);
    }
    printf("user/%.*s: %zu token%s revoked", STR_ARG(name), revoked, revoked == 1 ? "" : "s");
    if (removes) {
        printf(", taken out of %zu project%s", left, left == 1 ? "" : "s");
    }
    printf("\n");
    return CLI_OK;
}

/* ---- the verb ---- */

static int with_tokens(struct cli *c, const char *word, struct str name) {
    yyjson_val *tokens;
    int code = cli_connect(c);
    if (code != CLI_OK) {
        return code;
    }
    if (get_tokens(c, &tokens) != 0) {
        return cli_fail(c, NULL);
    }
    return name.n ? end(c, tokens, name, strcmp(word, "remove") == 0) : list(c, tokens);
}

/* An option that a word would ignore is refused. */
static int check_options(struct cli *c, const char *word, bool makes, bool adds) {
    static const char *const of_makes[] = {"group", "time"};
    for (size_t i = 0; i < 2; i++) {
        if (!makes && cli_value(&c->args, of_makes[i])) {
            return cli_usage(c, "%s: does not take --%s", word, of_makes[i]);
        }
    }
    if (!adds && cli_value(&c->args, "in")) {
        return cli_usage(c, "%s: does not take --in", word);
    }
    return CLI_OK;
}

static int run(struct cli *c) {
    const char *word = c->args.args[0];
    struct str name = str_of(c->args.n_args > 1 ? c->args.args[1] : "");
    bool adds = strcmp(word, "add") == 0, makes = adds || strcmp(word, "token") == 0;
    bool lists = strcmp(word, "list") == 0;
    if (!makes && !lists && strcmp(word, "disable") != 0 && strcmp(word, "remove") != 0) {
        return cli_usage(c, "expected add, token, list, disable or remove, not \"%s\"", word);
    }
    if (lists != (name.n == 0)) {
        return lists ? cli_usage(c, "unexpected argument \"%s\"", c->args.args[1])
                     : cli_usage(c, "%s: expected the name of a user", word);
    }
    if (name.n > TEAM_NAME_MAX || str_starts(name, STR("system:"))) {
        return cli_usage(c,
                         "%s: expected a name of at most %d bytes that does not begin with "
                         "system:",
                         word, TEAM_NAME_MAX);
    }
    int code = check_options(c, word, makes, adds);
    return code ? code : makes ? add(c, name) : with_tokens(c, word, name);
}

static const struct cli_option options[] = {
    {"in", 0, "PROJECT[:ROLE]", "add: a project to be in, as view, edit or admin; else edit", NULL,
     true},
    {"group", 0, "NAME", "a group that the token says the user is in", NULL, true},
    {"time", 0, "TIME", "how long the token counts: 90m, 24h (default 24h, at most 8760h)", NULL,
     false},
};

const struct cli_verb world_user = {
    .name = "user",
    .group = GROUP_OTHER,
    .arguments = "add | token | list | disable | remove [NAME]",
    .words = "add token list disable remove",
    .summary = "people: their tokens and the projects they are in",
    .about = "Gives people tokens and takes them back. `add` puts NAME into projects and prints a\n"
             "token, once; `token` prints another; `disable` revokes all tokens of NAME; `remove`\n"
             "takes NAME out of all projects as well. Certificates, and tokens of other issuers,\n"
             "cannot be revoked here.",
    .examples = "  berth user add ana --in vision:admin --group leads --time 720h\n"
                "  berth user token ana\n  berth user list -o json\n"
                "  berth user disable ana\n  berth user remove ana\n",
    .options = options,
    .n_options = sizeof(options) / sizeof(options[0]),
    .min_args = 1,
    .max_args = 2,
    .run = run,
};
