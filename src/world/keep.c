/* keep: `berth backup` and `berth restore`. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store.h"
#include "world/admin_socket.h"
#include "world/options.h"
#include "world/paths.h"
#include "world/verbs.h"

static int fail(const char *verb, int status, const struct err *err) {
    fprintf(stderr, "berth %s: %s\n", verb, err->text);
    return status;
}

/* Parses [--data DIR] FILE; -1: go on, else the exit status. */
static int parse(const char *verb, const struct verb_help *help, int argc, char **argv,
                 const char **ret_data, const char **ret_file) {
    const struct option_row rows[] = {{"data", "DIR", "the data folder", ret_data}};
    struct err err = {0};
    bool helped = false;
    int rest = 0;
    int r = options_parse(rows, 1, argc, argv, help, &rest, &helped, &err);
    if (r == 0 && helped) {
        return 0;
    }
    if (r == 0 && rest + 1 != argc) {
        r = err_set(&err, ERR_BAD_REQUEST, "expected one FILE; see --help");
    }
    if (r != 0) {
        return fail(verb, 2, &err);
    }
    *ret_file = argv[rest];
    return -1;
}

int backup_main(int argc, char **argv) {
    static const struct verb_help help = {"berth backup [--data DIR] FILE",
                                          "Copies everything a running `berth up` knows to FILE, "
                                          "consistent and synced, while it serves.",
                                          "  berth backup /srv/backup/berth-monday.db\n"};
    const char *data = NULL, *file = NULL;
    int status = parse("backup", &help, argc, argv, &data, &file);
    if (status >= 0) {
        return status;
    }
    struct paths p;
    struct err err = {0};
    char cwd[PATH_MAX], line[2 * PATH_MAX];
    if (paths_init(&p, data, false, &err) != 0) {
        return fail("backup", 1, &err);
    }
    if (file[0] == '/' || !getcwd(cwd, sizeof(cwd))) {
        cwd[0] = 0;
    }
    snprintf(line, sizeof(line), "backup %s%s%s", cwd, cwd[0] ? "/" : "", file);
    if (strchr(line, '\n')) {
        err_set(&err, ERR_BAD_REQUEST, "FILE: a path without newlines is expected");
        return fail("backup", 2, &err);
    }
    if (admin_ask(p.admin_socket, str_of(line), &err) != 0) {
        return fail("backup", 1, &err);
    }
    printf("backup: %s\n", line + strlen("backup "));
    return 0;
}

int restore_main(int argc, char **argv) {
    static const struct verb_help help = {
        "berth restore --data DIR FILE",
        "Makes the data folder DIR, which must be empty or missing, from a file that `berth "
        "backup` wrote.",
        "  berth restore --data /var/lib/berth-new /srv/backup/berth-monday.db\n"};
    const char *data = NULL, *file = NULL;
    int status = parse("restore", &help, argc, argv, &data, &file);
    if (status >= 0) {
        return status;
    }
    struct err err = {0};
    if (!data) {
        err_set(&err, ERR_BAD_REQUEST, "--data is needed: an empty or missing folder");
        return fail("restore", 2, &err);
    }
    if (store_restore(file, data, &err) != 0) {
        return fail("restore", 1, &err);
    }
    printf("restored: %s\n", data);
    return 0;
}
