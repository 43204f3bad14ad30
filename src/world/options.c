/* options: long options by table. See options.h. */
#include "world/options.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

static void print_help(const struct option_row *rows, size_t n, const struct verb_help *help) {
    printf("Usage: %s\n\n%s\n\nOptions:\n", help->usage, help->about);
    for (size_t i = 0; i < n; i++) {
        char left[64];
        snprintf(left, sizeof(left), "--%s%s%s", rows[i].name, rows[i].value ? " " : "",
                 rows[i].value ? rows[i].value : "");
        printf("  %-28s %s\n", left, rows[i].help);
    }
    printf("  %-28s %s\n", "--help", "this text");
    if (help->examples) {
        printf("\nExamples:\n%s", help->examples);
    }
}

static const struct option_row *find(const struct option_row *rows, size_t n, struct str name) {
    for (size_t i = 0; i < n; i++) {
        if (str_is(name, rows[i].name)) {
            return &rows[i];
        }
    }
    return NULL;
}

int options_parse(const struct option_row *rows, size_t n, int argc, char **argv,
                  const struct verb_help *help, int *ret_rest, bool *ret_help, struct err *err) {
    *ret_help = false;
    int i = 1;
    for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
        if (strcmp(argv[i], "--") == 0) {
            i++;
            break;
        }
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            print_help(rows, n, help);
            *ret_help = true;
            return 0;
        }
        struct str name, value;
        bool joined = str_cut(str_skip(str_of(argv[i]), 2), '=', &name, &value);
        const struct option_row *row = strncmp(argv[i], "--", 2) == 0 ? find(rows, n, name) : NULL;
        if (!row) {
            return err_set(err, ERR_BAD_REQUEST, "unknown option %s; see --help", argv[i]);
        }
        if (!row->value && joined) {
            return err_set(err, ERR_BAD_REQUEST, "--%s takes no value", row->name);
        }
        if (row->value && !joined && i + 1 >= argc) {
            return err_set(err, ERR_BAD_REQUEST, "--%s needs a value: %s", row->name, row->value);
        }
        *row->ret = !row->value ? "" : joined ? value.p : argv[++i];
    }
    *ret_rest = i;
    return 0;
}
