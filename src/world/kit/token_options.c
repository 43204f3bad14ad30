/* token_options: see token_options.h. */
#include "world/kit/token_options.h"

#include "wire/text/time.h"

#define TIME_DEFAULT (24 * 3600 * NS_PER_SEC)
#define TIME_MIN (60 * NS_PER_SEC)
#define TIME_MAX (365 * 24 * 3600 * NS_PER_SEC)

int token_time(struct cli *c, int64_t *ret) {
    const char *text = cli_value(&c->args, "time");
    *ret = TIME_DEFAULT;
    if (text &&
        (duration_parse(str_of(text), ret, NULL) != 0 || *ret < TIME_MIN || *ret > TIME_MAX)) {
        return cli_usage(c, "--time: \"%s\": expected a duration from 1m to 8760h, like 90m or 24h",
                         text);
    }
    return CLI_OK;
}

int token_groups(struct cli *c, struct str groups[TOKEN_GROUPS_MAX], struct str_list *ret) {
    const char *g;
    *ret = (struct str_list){.v = groups};
    for (size_t i = 0; (g = cli_nth(&c->args, "group", i)) != NULL; i++) {
        if (i == TOKEN_GROUPS_MAX || g[0] == 0) {
            return cli_usage(c, "--group: expected at most %d names, none of them empty",
                             TOKEN_GROUPS_MAX);
        }
        groups[ret->n++] = str_of(g);
    }
    return CLI_OK;
}
