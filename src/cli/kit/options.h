/*
 * options: the command line of a verb, by a table that also makes its help and its completion.
 *
 * A verb either asks a server (run) or works on this machine (local). Those that ask have the common options:
 * --project, --namespace, --output, --kubeconfig, --context; all have --help.
 *
 * Long options take their value as "--name VALUE" or "--name=VALUE", short ones as "-n VALUE" or "-nVALUE"; options and
 * arguments may be mixed; "--" ends options, and for verbs with a command what follows it is that command.
 */
#ifndef BERTH_CLI_OPTIONS_H
#define BERTH_CLI_OPTIONS_H

#include "base/buf.h"
#include "base/err.h"

struct cli;
struct cli_args;

enum cli_group { GROUP_JOBS, GROUP_MACHINE, GROUP_OTHER, GROUP_COUNT }; /* in the overview */

struct cli_option {
    const char *name;
    char letter;       /* 0: none */
    const char *value; /* what it takes: "NAME"; NULL: a flag */
    const char *help;
    const char *const *choices; /* NULL-terminated; NULL: anything */
    bool repeats;
};

struct cli_verb {
    const char *name, *arguments, *summary, *examples;
    const char *about; /* a paragraph for the help; NULL: the summary says it */
    const char *
        words; /* of its arguments those that are always the same, with blanks between; NULL: none */
    enum cli_group group;
    const struct cli_option *options;
    size_t n_options;
    size_t min_args, max_args;
    bool command;              /* takes "-- command..." */
    int (*run)(struct cli *c); /* an exit code of cli.h */
    int (*local)(const struct cli_args *a);
};

enum { CLI_OPTIONS_MAX = 24, CLI_VALUES_MAX = 256, CLI_ARGS_MAX = 256 };

struct cli_value {
    const struct cli_option *option;
    const char *text; /* NULL for a flag */
};

struct cli_args {
    const struct cli_verb *verb;
    struct cli_value values[CLI_VALUES_MAX];
    size_t n_values;
    const char *args[CLI_ARGS_MAX];
    size_t n_args;
    char **command; /* NULL-terminated; NULL when there is none */
};

/* The options that v has besides its own. */
const struct cli_option *cli_common_options(const struct cli_verb *v, size_t *ret_n);

/* argv without the program and the verb. ERR_BAD_REQUEST with the option's name and what was expected. */
int cli_parse(const struct cli_verb *v, int argc, char **argv, struct cli_args *ret,
              struct err *err);
/* The last value given, or NULL. */
const char *cli_value(const struct cli_args *a, const char *name);
bool cli_flag(const struct cli_args *a, const char *name);
/* The i-th value of an option that repeats; NULL when there are no more. */
const char *cli_nth(const struct cli_args *a, const char *name, size_t i);

void cli_help(const struct cli_verb *v, struct buf *out);

#endif
