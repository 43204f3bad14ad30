/* dashboard_verb: `berth dashboard`: a link that signs its owner in, from the running `berth up` of a data folder. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "world/kit/admin_socket.h"
#include "world/kit/paths.h"
#include "world/kit/verbs.h"

static int fail(int status, const struct err *err) {
    fprintf(stderr, "berth dashboard: %s\n", err->text);
    return status;
}

static bool is_word(const char *s) {
    return s[0] && strpbrk(s, "\t\n\r") == NULL;
}

static int run(const struct cli_args *a) {
    struct paths p;
    struct err err = {0};
    struct buf line, link;
    const char *user = cli_value(a, "as"), *group = NULL;
    bool words = user == NULL || is_word(user);
    buf_init(&line, 8000);
    buf_init(&link, 0);
    buf_c(&line, "dashboard");
    buf_c(&line, user ? "\t" : "");
    buf_c(&line, user ? user : "");
    for (size_t i = 0; (group = cli_nth(a, "group", i)) != NULL; i++) {
        words = words && is_word(group);
        buf_f(&line, "\t%s", group);
    }
    int status = CLI_OK;
    if (!words || (user == NULL && cli_nth(a, "group", 0)) || buf_ok(&line) != 0) {
        err_set(&err, ERR_BAD_REQUEST, "expected --as USER, and with it --group NAME");
        status = fail(CLI_USAGE, &err);
    } else if (paths_init(&p, cli_value(a, "data"), false, &err) != 0 ||
               admin_ask_text(p.admin_socket, buf_view(&line), &link, &err) != 0) {
        status = fail(CLI_FAILED, &err);
    } else {
        printf("%.*s\n", STR_ARG(buf_view(&link)));
        fprintf(stderr, "for one sign-in within ten minutes, as %s\n", user ? user : "berth-admin");
    }
    buf_release(&line);
    buf_release(&link);
    return status;
}

static const struct cli_option options[] = {
    {"data", 0, "DIR", "the data folder of the running `berth up`", NULL, false},
    {"as", 0, "USER", "sign in as this user; else as the administrator", NULL, false},
    {"group", 0, "NAME", "with --as: a group of that user; may be given several times", NULL, true},
};

const struct cli_verb world_dashboard = {
    .name = "dashboard",
    .group = GROUP_MACHINE,
    .arguments = "",
    .summary = "print a link that signs in to the dashboard",
    .about =
        "Prints an address of the dashboard that signs in whoever opens it first, once, within\n"
        "ten minutes. It asks the running `berth up` on this machine, through a socket in the "
        "data\n"
        "folder that its owner alone may use. Everybody else signs in with a token (berth token).",
    .examples = "  berth dashboard\n"
                "  berth dashboard --data .data/run --as alice --group team-a\n",
    .options = options,
    .n_options = sizeof(options) / sizeof(options[0]),
    .local = run,
};
