/* options: see options.h. */
#include "cli/kit/options.h"

enum { HELP_COLUMN = 28 };

static const char *const outputs[] = {"json", "yaml", "wide", "name", NULL};

static const struct cli_option common[] = {
    {"project", 'n', "NAME", "the project (namespace); else the context's", NULL, false},
    {"namespace", 0, "NAME", "the same as --project", NULL, false},
    {"output", 'o', "FORMAT", "how to print; else a table", outputs, false},
    {"kubeconfig", 0, "FILE", "how to reach the server", NULL, false},
    {"context", 0, "NAME", "context of the kubeconfig; else the current one", NULL, false},
    {"help", 'h', NULL, "this text", NULL, false},
};

const struct cli_option *cli_common_options(const struct cli_verb *v, size_t *ret_n) {
    size_t n = sizeof(common) / sizeof(*common);
    *ret_n = v->local ? 1 : n;
    return v->local ? &common[n - 1] : common; /* --help is the last */
}

static const struct cli_option *find(const struct cli_verb *v, struct str name, char letter) {
    size_t n_common;
    const struct cli_option *lists[] = {v->options, cli_common_options(v, &n_common)};
    size_t counts[] = {v->n_options, n_common};
    for (size_t l = 0; l < 2; l++) {
        for (size_t i = 0; i < counts[l]; i++) {
            const struct cli_option *o = &lists[l][i];
            if (letter ? o->letter == letter : str_is(name, o->name)) {
                return o;
            }
        }
    }
    return NULL;
}

/* "a, b or c" */
static void list_choices(const struct cli_option *o, struct buf *out) {
    for (const char *const *c = o->choices; *c; c++) {
        buf_f(out, "%s%s", c == o->choices ? "" : c[1] ? ", " : " or ", *c);
    }
}

static int check_choice(const struct cli_option *o, const char *text, struct err *err) {
    struct buf b;
    if (o->choices == NULL) {
        return 0;
    }
    for (const char *const *c = o->choices; *c; c++) {
        if (strcmp(*c, text) == 0) {
            return 0;
        }
    }
    buf_init(&b, 400);
    list_choices(o, &b);
    int r = err_set(err, ERR_BAD_REQUEST, "--%s: expected %.*s, not \"%s\"", o->name,
                    STR_ARG(buf_view(&b)), text);
    buf_release(&b);
    return r;
}

static int add_value(struct cli_args *a, const struct cli_option *o, const char *text,
                     struct err *err) {
    if (a->n_values == CLI_VALUES_MAX) {
        return err_set(err, ERR_BAD_REQUEST, "too many options");
    }
    int r = text ? check_choice(o, text, err) : 0;
    if (r == 0) {
        a->values[a->n_values++] = (struct cli_value){o, text};
    }
    return r;
}

/* One option at argv[*i]; moves *i past a value of its own. */
static int parse_option(struct cli_args *a, int argc, char **argv, int *i, struct err *err) {
    const char *word = argv[*i], *inline_value = NULL;
    const struct cli_option *o;
    if (word[1] == '-') {
        struct str name = str_of(word + 2), value;
        if (str_cut(name, '=', &name, &value)) {
            inline_value = value.p;
        }
        o = find(a->verb, name, 0);
    } else {
        o = find(a->verb, (struct str){0}, word[1]);
        inline_value = word[2] ? word + 2 : NULL;
    }
    if (o == NULL) {
        return err_set(err, ERR_BAD_REQUEST, "unknown option %s", word);
    }
    if (o->value == NULL) {
        return inline_value ? err_set(err, ERR_BAD_REQUEST, "--%s takes no value", o->name)
                            : add_value(a, o, NULL, err);
    }
    if (inline_value == NULL && *i + 1 < argc) {
        inline_value = argv[++*i];
    }
    if (inline_value == NULL) {
        return err_set(err, ERR_BAD_REQUEST, "--%s: expected %s", o->name, o->value);
    }
    return add_value(a, o, inline_value, err);
}

static int check_counts(const struct cli_args *a, struct err *err) {
    const struct cli_verb *v = a->verb;
    if (cli_flag(a, "help")) {
        return 0;
    }
    if (a->n_args > v->max_args) {
        return err_set(err, ERR_BAD_REQUEST, "unexpected argument \"%s\"%s", a->args[v->max_args],
                       v->command ? " (the command comes after --)" : "");
    }
    if (a->n_args < v->min_args || (v->command && (a->command == NULL || a->command[0] == NULL))) {
        return err_set(err, ERR_BAD_REQUEST, "expected %s", v->arguments);
    }
    return 0;
}

int cli_parse(const struct cli_verb *v, int argc, char **argv, struct cli_args *ret,
              struct err *err) {
    *ret = (struct cli_args){.verb = v};
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0 && v->command) {
            ret->command = argv + i + 1;
            break;
        }
        if (argv[i][0] == '-' && argv[i][1]) {
            int r = parse_option(ret, argc, argv, &i, err);
            if (r != 0) {
                return r;
            }
        } else if (ret->n_args == CLI_ARGS_MAX) {
            return err_set(err, ERR_BAD_REQUEST, "too many arguments");
        } else {
            ret->args[ret->n_args++] = argv[i];
        }
    }
    return check_counts(ret, err);
}

const char *cli_value(const struct cli_args *a, const char *name) {
    for (size_t i = a->n_values; i > 0; i--) {
        if (strcmp(a->values[i - 1].option->name, name) == 0) {
            return a->values[i - 1].text;
        }
    }
    return NULL;
}

bool cli_flag(const struct cli_args *a, const char *name) {
    for (size_t i = 0; i < a->n_values; i++) {
        if (strcmp(a->values[i].option->name, name) == 0) {
            return true;
        }
    }
    return false;
}

const char *cli_nth(const struct cli_args *a, const char *name, size_t nth) {
    for (size_t i = 0; i < a->n_values; i++) {
        if (strcmp(a->values[i].option->name, name) == 0 && nth-- == 0) {
            return a->values[i].text;
        }
    }
    return NULL;
}

static void help_options(const struct cli_option *options, size_t n, struct buf *out) {
    for (size_t i = 0; i < n; i++) {
        const struct cli_option *o = &options[i];
        size_t from = out->n;
        if (o->letter) {
            buf_f(out, "  -%c, --%s", o->letter, o->name);
        } else {
            buf_f(out, "      --%s", o->name);
        }
        if (o->value) {
            buf_f(out, " %s", o->value);
        }
        size_t width = out->n - from;
        buf_f(out, "%*s%s\n", width < HELP_COLUMN ? (int)(HELP_COLUMN - width) : 2, "", o->help);
        if (o->choices) {
            buf_f(out, "%*s", HELP_COLUMN, "");
            list_choices(o, out);
            buf_ch(out, '\n');
        }
    }
}

void cli_help(const struct cli_verb *v, struct buf *out) {
    size_t n;
    const struct cli_option *more = cli_common_options(v, &n);
    buf_f(out, "%s\n\nUsage: berth %s [options]%s%s\n\nOptions:\n",
          v->about ? v->about : v->summary, v->name, *v->arguments ? " " : "", v->arguments);
    help_options(v->options, v->n_options, out);
    help_options(more, n, out);
    buf_f(out, "\nExamples:\n%s", v->examples);
}
