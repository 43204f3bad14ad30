/* keep: `berth backup` and `berth restore`. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "store/store.h"
#include "world/kit/admin_socket.h"
#include "world/kit/paths.h"
#include "world/kit/verbs.h"

static int fail(const struct cli_args *a, int status, const struct err *err) {
    fprintf(stderr, "berth %s: %s\n", a->verb->name, err->text);
    return status;
}

static int backup(const struct cli_args *a) {
    const char *file = a->args[0];
    struct paths p;
    struct err err = {0};
    char cwd[PATH_MAX], line[2 * PATH_MAX];
    if (paths_init(&p, cli_value(a, "data"), false, &err) != 0) {
        return fail(a, CLI_FAILED, &err);
    }
    if (file[0] == '/' || getcwd(cwd, sizeof(cwd)) == NULL) {
        cwd[0] = 0;
    }
    snprintf(line, sizeof(line), "backup %s%s%s", cwd, cwd[0] ? "/" : "", file);
    if (strchr(line, '\n')) {
        err_set(&err, ERR_BAD_REQUEST, "FILE: a path without newlines is expected");
        return fail(a, CLI_USAGE, &err);
    }
    if (admin_ask(p.admin_socket, str_of(line), &err) != 0) {
        return fail(a, CLI_FAILED, &err);
    }
    printf("backup: %s\n", line + strlen("backup "));
    return CLI_OK;
}

static int restore(const struct cli_args *a) {
    const char *data = cli_value(a, "data");
    struct err err = {0};
    if (data == NULL) {
        err_set(&err, ERR_BAD_REQUEST, "--data is needed: an empty or missing folder");
        return fail(a, CLI_USAGE, &err);
    }
    if (store_restore(a->args[0], data, &err) != 0) {
        return fail(a, CLI_FAILED, &err);
    }
    printf("restored: %s\n", data);
    return CLI_OK;
}

static const struct cli_option backup_options[] = {
    {"data", 0, "DIR", "the data folder of the running `berth up`", NULL, false}};
static const struct cli_option restore_options[] = {
    {"data", 0, "DIR", "the folder to make: empty or missing", NULL, false}};

const struct cli_verb world_backup = {
    .name = "backup",
    .group = GROUP_MACHINE,
    .arguments = "FILE",
    .summary = "copy the data of `berth up` to a file, while it serves",
    .about =
        "Copies everything a running `berth up` knows to FILE, consistent and synced, while it\n"
        "serves.",
    .examples = "  berth backup /srv/backup/berth-monday.db\n",
    .options = backup_options,
    .n_options = 1,
    .min_args = 1,
    .max_args = 1,
    .local = backup,
};

const struct cli_verb world_restore = {
    .name = "restore",
    .group = GROUP_MACHINE,
    .arguments = "--data DIR FILE",
    .summary = "make a data folder from such a file",
    .about = "Makes the data folder DIR, which must be empty or missing, from a file that\n"
             "`berth backup` wrote.",
    .examples = "  berth restore --data /var/lib/berth-new /srv/backup/berth-monday.db\n",
    .options = restore_options,
    .n_options = 1,
    .min_args = 1,
    .max_args = 1,
    .local = restore,
};
