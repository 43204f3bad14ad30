/* completion: `berth completion bash`: a script made from the tables of options. */
#include "cli/cli_int.h"

static void add_options(struct buf *out, const struct cli_option *options, size_t n) {
    for (size_t i = 0; i < n; i++) {
        buf_f(out, " --%s", options[i].name);
    }
}

static void add_choices(struct buf *out, const struct cli_option *options, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (options[i].choices) {
            buf_f(out, "    --%s", options[i].name);
            if (options[i].letter) {
                buf_f(out, "|-%c", options[i].letter);
            }
            buf_c(out, ") words='");
            for (const char *const *c = options[i].choices; *c; c++) {
                buf_f(out, "%s%s", c == options[i].choices ? "" : " ", *c);
            }
            buf_c(out, "' ;;\n");
        }
    }
}

static void script(struct buf *out) {
    buf_c(out, "# bash completion of berth: source <(berth completion bash)\n"
               "_berth() {\n  local verb=${COMP_WORDS[1]} words=\n"
               "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
               "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    words='up down node backup restore help");
    for (const struct cli_verb *const *v = cli_verbs; *v; v++) {
        buf_f(out, " %s", (*v)->name);
    }
    buf_c(out, "'\n  else\n    case $verb in\n");
    for (const struct cli_verb *const *v = cli_verbs; *v; v++) {
        buf_f(out, "    %s) words='", (*v)->name);
        buf_c(out, strcmp((*v)->name, "completion") == 0 ? "bash" : "");
        add_options(out, (*v)->options, (*v)->n_options);
        add_options(out, cli_common_options, cli_n_common_options);
        buf_c(out, "' ;;\n");
    }
    buf_c(out, "    esac\n    case $prev in\n");
    add_choices(out, cli_common_options, cli_n_common_options);
    buf_c(out,
          "    --kubeconfig) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n    esac\n  fi\n"
          "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\n"
          "complete -o default -F _berth berth\n");
}

static int run(struct cli *c) {
    struct buf b;
    if (strcmp(c->args.args[0], "bash") != 0) {
        return cli_usage(c, "expected bash, not \"%s\"", c->args.args[0]);
    }
    buf_init(&b, 0);
    script(&b);
    cli_out(&b);
    buf_release(&b);
    return CLI_OK;
}

const struct cli_verb cli_completion = {
    .name = "completion",
    .arguments = "bash",
    .summary = "a script that completes our verbs and options",
    .examples = "  source <(berth completion bash)\n",
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
