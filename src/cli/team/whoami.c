/* whoami: `berth whoami`: whom the server takes the caller for, where, and in which project verbs work. */
#include "cli/kit/kit.h"
#include "cli/kit/table.h"

#define REVIEW "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"SelfSubjectReview\"}"

static void tell(struct cli *c, yyjson_val *user) {
    static const char *const headers[] = {"USER", "GROUPS", "PROJECT"};
    yyjson_val *groups = json_get(user, STR("groups")), *g;
    struct table t;
    struct buf b;
    size_t i, n;
    buf_init(&b, 0);
    yyjson_arr_foreach(groups, i, n, g) {
        buf_c(&b, i ? "," : "");
        buf_str(&b, json_str(g));
    }
    table_init(&t, &c->arena, headers, 3);
    table_row(&t);
    table_set(&t, 0, STYLE_PLAIN, json_str_at(user, "username"));
    table_set(&t, 1, STYLE_PLAIN, b.n ? buf_view(&b) : STR("<none>"));
    table_set(&t, 2, STYLE_PLAIN, c->project);
    buf_reset(&b);
    table_write(&t, c->colour, 0, &b);
    cli_out(&b);
    buf_release(&b);
}

static int run(struct cli *c) {
    yyjson_val *review;
    int code = cli_connect(c);
    if (code != CLI_OK) {
        return code;
    }
    struct str none = {0};
    struct str path =
        cli_path(c, "authentication.k8s.io/v1", "selfsubjectreviews", none, none, NULL);
    if (cli_request(c, "POST", path, STR(REVIEW), &review) != 0) {
        return cli_fail(c, NULL);
    }
    yyjson_val *user = json_path(review, "status.userInfo");
    if (c->format == FORMAT_NAME) {
        printf("%.*s\n", STR_ARG(json_str_at(user, "username")));
    } else if (!cli_print(c, user)) {
        tell(c, user);
    }
    return CLI_OK;
}

const struct cli_verb cli_whoami = {
    .name = "whoami",
    .group = GROUP_OTHER,
    .arguments = "",
    .summary = "the user and groups that the server knows you by",
    .examples = "  berth whoami\n  berth whoami -o json\n",
    .run = run,
};
