/*
 * options: the long options of a verb, as a table that also prints the help.
 *
 * Each row is "--name" with or without a value. Values are views of argv. An unknown option, a missing value and a
 * stray argument are errors that name the word and point to --help.
 */
#ifndef BERTH_WORLD_OPTIONS_H
#define BERTH_WORLD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct option_row {
    const char *name;  /* "data" */
    const char *value; /* what the value is, for the help: "DIR"; NULL: a flag */
    const char *help;
    const char **ret;  /* where the value goes (flags: set to "") */
};

struct verb_help {
    const char *usage;    /* "berth up [options]" */
    const char *about;    /* one paragraph */
    const char *examples; /* lines, each indented by two blanks; may be NULL */
};

/* Parses argv[1..]; *ret_rest gets the index of the first argument that is no option (argc when none). --help prints
 * and sets *ret_help. 0 or ERR_BAD_REQUEST. */
int options_parse(const struct option_row *rows, size_t n, int argc, char **argv,
                  const struct verb_help *help, int *ret_rest, bool *ret_help, struct err *err);

#endif
