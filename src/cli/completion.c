/* completion: `berth completion bash`: a script made from the tables of options. */
#include "cli/kit/kit.h"

/* Words by hand, since bash breaks them at ':' and '=' as well: "sim:8xh200", "--output=json". */
static const char script_head[] =
    "# bash completion of berth: source <(berth completion bash)\n"
    "_berth() {\n"
    "  local line=${COMP_LINE:0:COMP_POINT} words= given cur prev verb done\n"
    "  read -ra given <<<\"$line\"\n"
    "  [[ $line == *[[:space:]] ]] && given+=('')\n"
    "  cur=${given[-1]} prev=${given[-2]} verb=${given[1]}\n"
    "  COMPREPLY=()\n"
    "  [[ \" ${given[*]:0:${#given[@]}-1} \" == *' -- '* ]] && return\n"
    "  [[ $cur == --*=* ]] && prev=${cur%%=*} cur=${cur#*=}\n"
    "  if [ ${#given[@]} -eq 2 ]; then\n    words='help";

static const char script_tail[] = "    esac\n"
                                  "  fi\n"
                                  "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                                  "  done=${cur%\"${cur##*:}\"}\n"
                                  "  COMPREPLY=(\"${COMPREPLY[@]#\"$done\"}\")\n"
                                  "}\n"
                                  "complete -o default -F _berth berth\n";

static void add_names(struct buf *out, const struct cli_option *options, size_t n) {
    for (size_t i = 0; i < n; i++) {
        buf_f(out, " --%s", options[i].name);
    }
}

/* What may follow an option: its choices, else whatever it is (files, unless the shell knows better). */
static void add_values(struct buf *out, const char *verb, const struct cli_option *options,
                       size_t n) {
    for (size_t i = 0; i < n; i++) {
        const struct cli_option *o = &options[i];
        if (o->value == NULL) {
            continue;
        }
        buf_f(out, "    '%s --%s'", verb, o->name);
        if (o->letter) {
            buf_f(out, "|'%s -%c'", verb, o->letter);
        }
        if (o->choices == NULL) {
            bool path = strcmp(o->value, "FILE") == 0 || strcmp(o->value, "DIR") == 0;
            buf_c(out, path ? ") return ;;\n" : ") compopt +o default; return ;;\n");
            continue;
        }
        buf_c(out, ") words='");
        for (const char *const *c = o->choices; *c; c++) {
            buf_f(out, "%s%s", c == o->choices ? "" : " ", *c);
        }
        buf_c(out, "' ;;\n");
    }
}

static void script(const struct cli *c, struct buf *out) {
    const struct cli_verb *v;
    buf_c(out, script_head);
    for (size_t i = 0; (v = cli_verb_at(c, i)); i++) {
        buf_f(out, " %s", v->name);
    }
    buf_c(out, "'\n  else\n    case $verb in\n    help) words='");
    for (size_t i = 0; (v = cli_verb_at(c, i)); i++) {
        buf_f(out, "%s%s", i ? " " : "", v->name);
    }
    buf_c(out, "' ;;\n");
    for (size_t i = 0; (v = cli_verb_at(c, i)); i++) {
        size_t n;
        const struct cli_option *common = cli_common_options(v, &n);
        buf_f(out, "    %s) words='%s", v->name, v->words ? v->words : "");
        add_names(out, v->options, v->n_options);
        add_names(out, common, n);
        buf_c(out, "' ;;\n");
    }
    buf_c(out, "    esac\n    case \"$verb $prev\" in\n");
    for (size_t i = 0; (v = cli_verb_at(c, i)); i++) {
        size_t n;
        const struct cli_option *common = cli_common_options(v, &n);
        add_values(out, v->name, v->options, v->n_options);
        add_values(out, v->name, common, n);
    }
    buf_c(out, script_tail);
}

static int run(struct cli *c) {
    struct buf b;
    if (strcmp(c->args.args[0], "bash") != 0) {
        return cli_usage(c, "expected bash, not \"%s\"", c->args.args[0]);
    }
    buf_init(&b, 0);
    script(c, &b);
    cli_out(&b);
    buf_release(&b);
    return CLI_OK;
}

const struct cli_verb cli_completion = {
    .name = "completion",
    .group = GROUP_OTHER,
    .arguments = "bash",
    .summary = "a script that completes verbs and options",
    .words = "bash",
    .examples = "  source <(berth completion bash)\n",
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
