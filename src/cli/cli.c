/* cli: picks the verb, makes the connection, turns errors into words and exit codes. See cli.h and cli_int.h. */
#include "cli/cli.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/kit/kit.h"
#include "cli/kit/near.h"
#include "kube/config.h"
#include "kube/path.h"
#include "wire/text/time.h"
#include "wire/yaml.h"

enum { ARENA_MAX = 1 << 30, ANSWER_MAX = 512 << 20 };

/* clang-format off */
const struct cli_verb *const cli_verbs[] = {
    &cli_submit,
    &cli_queue,
    &cli_logs,
    &cli_cancel,
    &cli_book,
    &cli_bookings,
    &cli_availability,
    &cli_top,
    &cli_gpu,
    &cli_fit,
    &cli_models,
    &cli_deploy,
    &cli_services,
    &cli_chat,
    &cli_key,
    &cli_project,
    &cli_whoami,
    &cli_version,
    &cli_completion,
    NULL,
};
/* clang-format on */

const struct cli_verb *cli_verb_at(const struct cli *c, size_t i) {
    size_t own = sizeof(cli_verbs) / sizeof(*cli_verbs) - 1;
    for (size_t k = own; i >= own && c->machine && c->machine[k - own]; k++) {
        if (k == i) {
            return c->machine[k - own];
        }
    }
    return i < own ? cli_verbs[i] : NULL;
}

static void overview(const struct cli *c) {
    static const char *const titles[GROUP_COUNT] = {
        [GROUP_JOBS] = "Jobs and GPUs", [GROUP_MACHINE] = "This machine", [GROUP_OTHER] = "More"};
    const struct cli_verb *v;
    struct buf b;
    buf_init(&b, 0);
    buf_c(&b, "Berth gives out GPUs: slices and whole ones, by queue and quota.\n\n"
              "Usage: berth VERB [options]\n");
    for (size_t g = 0; g < GROUP_COUNT; g++) {
        buf_f(&b, "\n%s:\n", titles[g]);
        for (size_t i = 0; (v = cli_verb_at(c, i)); i++) {
            if (v->group == g) {
                buf_f(&b, "  %-13s %s\n", v->name, v->summary);
            }
        }
    }
    buf_c(&b,
          "  help          what a verb does: berth help VERB, or berth VERB --help\n\n"
          "Exit status: 0 done, 1 failed, 2 wrong usage, 3 no such thing, 4 not allowed,\n"
          "5 the server cannot be reached, 6 the job failed (submit --wait).\n\n"
          "First steps: `berth up` in one terminal, `berth submit --slice 1g.18gb --wait -- env` "
          "in another.\n");
    cli_out(&b);
    buf_release(&b);
}

int cli_exit_code(int code) {
    switch (code) {
    case 0:
        return CLI_OK;
    case ERR_NOT_FOUND:
        return CLI_NOT_FOUND;
    case ERR_FORBIDDEN:
    case ERR_UNAUTHORIZED:
        return CLI_FORBIDDEN;
    case ERR_UNAVAILABLE:
    case ERR_TIMEOUT:
        return CLI_UNREACHABLE;
    default:
        return CLI_FAILED;
    }
}

int cli_fail(struct cli *c, const char *doing) {
    cli_clean(c->err.text);
    fprintf(stderr, "berth %s: %s%s%s\n", c->args.verb->name, doing ? doing : "", doing ? ": " : "",
            c->err.text);
    int code = cli_exit_code(c->err.code);
    if (code == CLI_UNREACHABLE) {
        fprintf(stderr, "Is it running? `berth up` starts one; KUBECONFIG says which is asked.\n");
    }
    return code;
}

int cli_usage(struct cli *c, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    err_setv(&c->err, ERR_BAD_REQUEST, fmt, ap);
    va_end(ap);
    fprintf(stderr, "berth %s: %s\nberth %s --help says more.\n", c->args.verb->name, c->err.text,
            c->args.verb->name);
    return CLI_USAGE;
}

/* ---- the connection ---- */

/* The file that `berth up` writes; NULL when there is none. */
static const char *own_kubeconfig(struct cli *c) {
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    struct str path = {0};
    if (geteuid() == 0) {
        path = STR("/var/lib/berth/kubeconfig");
    } else if (data && data[0] == '/') {
        path = arena_f(&c->arena, "%s/berth/kubeconfig", data);
    } else if (home) {
        path = arena_f(&c->arena, "%s/.local/share/berth/kubeconfig", home);
    }
    return path.p && access(path.p, R_OK) == 0 ? path.p : NULL;
}

bool cli_has_server(struct cli *c) {
    return cli_value(&c->args, "kubeconfig") != NULL || kube_config_exists() ||
           own_kubeconfig(c) != NULL;
}

int cli_connect(struct cli *c) {
    const char *file = cli_value(&c->args, "kubeconfig");
    if (file == NULL && !kube_config_exists()) {
        file = own_kubeconfig(c);
        if (file == NULL) {
            fprintf(stderr,
                    "berth %s: no server is known: start one with `berth up`, or set "
                    "KUBECONFIG\n",
                    c->args.verb->name);
            return CLI_UNREACHABLE;
        }
    }
    c->loop = loop_new(&c->err);
    c->client = c->loop ? kube_client_new(c->loop, file, cli_value(&c->args, "context"),
                                          "berth/" BERTH_VERSION " (linux)", &c->err)
                        : NULL;
    if (c->client == NULL) {
        int code = cli_fail(c, NULL);
        return code == CLI_NOT_FOUND ? CLI_UNREACHABLE
                                     : code; /* a kubeconfig or context, not an object */
    }
    const char *project = cli_value(&c->args, "project");
    project = project ? project : cli_value(&c->args, "namespace");
    c->project = project ? str_of(project) : kube_namespace(c->client);
    return 0;
}

int cli_request(struct cli *c, const char *method, struct str path, struct str body,
                yyjson_val **ret) {
    struct buf answer;
    yyjson_doc *doc = NULL;
    buf_init(&answer, ANSWER_MAX);
    c->err = (struct err){0};
    int r = kube_wait(c->client, method, path, body, NULL, &answer, &c->err);
    r = r ? r : json_parse(&c->arena, buf_view(&answer), &doc, &c->err);
    buf_release(&answer);
    if (r == 0 && ret) {
        *ret = yyjson_doc_get_root(doc);
    }
    return r;
}

int cli_get(struct cli *c, struct str path, yyjson_val **ret) {
    return cli_request(c, "GET", path, (struct str){0}, ret);
}

bool cli_no_project(struct cli *c) {
    struct str path = cli_path(c, "v1", "namespaces", (struct str){0}, c->project, NULL);
    struct err before = c->err;
    if (cli_get(c, path, NULL) != ERR_NOT_FOUND) {
        c->err = before;
        return false;
    }
    err_set(&c->err, ERR_NOT_FOUND, "there is no project \"%.*s\"", STR_ARG(c->project));
    return true;
}

struct str cli_meant(struct cli *c, struct str want, const struct str *names, size_t n) {
    struct str near[NEAR_MOST];
    size_t found = near_names(want, names, n, near);
    bool few = found == 0 && n > 0 && n <= NEAR_MOST;
    struct buf b;
    buf_init(&b, 0);
    for (size_t i = 0; i < (few ? n : found); i++) {
        buf_c(&b, i > 0 ? (few ? ", " : " or ") : few ? "; there are " : "; did you mean ");
        buf_str(&b, few ? names[i] : near[i]);
    }
    buf_c(&b, found > 0 ? "?" : "");
    struct str text = arena_str(&c->arena, buf_view(&b));
    buf_release(&b);
    return text;
}

size_t cli_names(struct cli *c, yyjson_val *const *lists, size_t n_lists, struct str **ret) {
    yyjson_val *item;
    size_t most = 0, n = 0, i, max;
    for (size_t k = 0; k < n_lists; k++) {
        most += yyjson_arr_size(json_get(lists[k], STR("items")));
    }
    *ret = ARENA_ARRAY(&c->arena, struct str, most + 1);
    for (size_t k = 0; *ret != NULL && k < n_lists; k++) {
        yyjson_arr_foreach(json_get(lists[k], STR("items")), i, max, item) {
            (*ret)[n++] = json_str_at(item, "metadata.name");
        }
    }
    return n;
}

struct str cli_path(struct cli *c, const char *api_version, const char *plural, struct str ns,
                    struct str name, const char *sub) {
    struct buf b;
    buf_init(&b, 8192);
    kube_path(&b, str_of(api_version), str_of(plural), ns, name, str_of(sub));
    struct str path = arena_str(&c->arena, buf_view(&b));
    buf_release(&b);
    return path;
}

struct str cli_path_with(struct cli *c, struct str path, const char *key, struct str value) {
    struct buf b;
    buf_init(&b, 8192);
    buf_str(&b, path);
    kube_query(&b, key, value);
    struct str with = arena_str(&c->arena, buf_view(&b));
    buf_release(&b);
    return with;
}

/* ---- printing ---- */

void cli_out(const struct buf *b) {
    if (b->n > 0) {
        fwrite(b->p, 1, b->n, stdout);
    }
}

static void print_name(struct buf *out, yyjson_val *v) {
    struct str kind = json_str_at(v, "kind"), name = json_str_at(v, "metadata.name");
    for (size_t i = 0; i < kind.n; i++) {
        char ch = kind.p[i];
        buf_ch(out, ch >= 'A' && ch <= 'Z' ? (char)(ch - 'A' + 'a') : ch);
    }
    struct str version = json_str_at(v, "apiVersion");
    ptrdiff_t slash = str_find(version, '/');
    if (slash > 0) {
        buf_ch(out, '.');
        buf_str(out, str_head(version, (size_t)slash));
    }
    buf_f(out, "/%.*s\n", STR_ARG(name));
}

bool cli_print(struct cli *c, yyjson_val *v) {
    struct buf b;
    if (c->format == FORMAT_TABLE || c->format == FORMAT_WIDE) {
        return false;
    }
    buf_init(&b, 0);
    if (c->format == FORMAT_YAML) {
        yaml_write(&b, v);
    } else if (c->format == FORMAT_JSON) {
        size_t n = 0;
        char *text = yyjson_val_write(v, YYJSON_WRITE_PRETTY_TWO_SPACES, &n);
        buf_add(&b, text, n);
        buf_ch(&b, '\n');
        free(text); /* yyjson's own allocation */
    } else {
        yyjson_val *items = json_get(v, STR("items")), *item;
        size_t i, n;
        if (items == NULL) {
            print_name(&b, v);
        }
        yyjson_arr_foreach(items, i, n, item) {
            print_name(&b, item);
        }
    }
    cli_out(&b);
    buf_release(&b);
    return true;
}

int cli_print_text(struct cli *c, struct buf *text) {
    yyjson_doc *doc;
    int r = json_parse(&c->arena, buf_view(text), &doc, &c->err);
    buf_release(text);
    if (r != 0) {
        return cli_fail(c, NULL);
    }
    cli_print(c, yyjson_doc_get_root(doc));
    return CLI_OK;
}

struct str cli_age(struct cli *c, struct str time) {
    int64_t then;
    if (time_parse(time, &then, NULL) != 0) {
        return STR("<unknown>");
    }
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    long long s = (long long)ts.tv_sec - then / 1000000000;
    s = s < 0 ? 0 : s;
    return s < 120      ? arena_f(&c->arena, "%llds", s)
           : s < 7200   ? arena_f(&c->arena, "%lldm", s / 60)
           : s < 172800 ? arena_f(&c->arena, "%lldh", s / 3600)
                        : arena_f(&c->arena, "%lldd", s / 86400);
}

yyjson_val *cli_condition(yyjson_val *object, const char *type) {
    yyjson_val *all = json_path(object, "status.conditions"), *one;
    size_t i, n;
    yyjson_arr_foreach(all, i, n, one) {
        if (str_is(json_str_at(one, "type"), type)) {
            return one;
        }
    }
    return NULL;
}

bool cli_condition_true(yyjson_val *object, const char *type) {
    return str_is(json_str_at(cli_condition(object, type), "status"), "True");
}

void cli_clean(char *text) {
    for (; *text; text++) {
        unsigned char ch = (unsigned char)*text;
        if (ch < ' ' || ch == 0x7f) {
            *text = ch == '\n' || ch == '\t' ? ' ' : '?';
        }
    }
}

void cli_sleep_ms(int ms) {
    struct timespec ts = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&ts, NULL);
}

/* ---- the beginning ---- */

static void look_at_terminal(struct cli *c) {
    struct winsize w;
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    if (!isatty(STDOUT_FILENO)) {
        return;
    }
    const char *columns = getenv("COLUMNS");
    uint64_t wanted;
    if (columns && str_to_u64(str_of(columns), &wanted) && wanted > 0 && wanted < 10000) {
        c->columns = (int)wanted;
    } else {
        c->columns = ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 ? w.ws_col : 80;
    }
    c->colour = !(no && *no) && term && strcmp(term, "dumb") != 0;
}

static void read_format(struct cli *c) {
    static const struct {
        const char *name;
        enum cli_format format;
    } formats[] = {
        {"wide", FORMAT_WIDE}, {"name", FORMAT_NAME}, {"json", FORMAT_JSON}, {"yaml", FORMAT_YAML}};
    const char *o = cli_value(&c->args, "output");
    for (size_t i = 0; o && i < sizeof(formats) / sizeof(*formats); i++) {
        if (strcmp(o, formats[i].name) == 0) {
            c->format = formats[i].format;
        }
    }
}

static int show_help(const struct cli_verb *v) {
    struct buf b;
    buf_init(&b, 0);
    cli_help(v, &b);
    cli_out(&b);
    buf_release(&b);
    return CLI_OK;
}

static int run_remote(struct cli *c) {
    arena_init(&c->arena, ARENA_MAX);
    look_at_terminal(c);
    read_format(c);
    int code = c->args.verb->run(c);
    kube_client_free(c->client);
    loop_free(c->loop);
    arena_release(&c->arena);
    return code;
}

static int run_verb(struct cli *c, const struct cli_verb *v, int argc, char **argv) {
    if (cli_parse(v, argc, argv, &c->args, &c->err) != 0) {
        c->args.verb = v;
        struct err e = c->err;
        return cli_usage(c, "%s", e.text);
    }
    int code = cli_flag(&c->args, "help") ? show_help(v)
               : v->local                 ? v->local(&c->args)
                                          : run_remote(c);
    if (fflush(stdout) != 0 && code == CLI_OK) {
        fprintf(stderr, "berth %s: cannot write: %s\n", v->name, strerror(errno));
        code = CLI_FAILED;
    }
    return code;
}

static const struct cli_verb *verb_named(const struct cli *c, const char *name) {
    const struct cli_verb *v;
    for (size_t i = 0; (v = cli_verb_at(c, i)); i++) {
        if (strcmp(v->name, name) == 0) {
            return v;
        }
    }
    return NULL;
}

int cli_main(int argc, char **argv, const struct cli_verb *const *machine) {
    static struct cli c; /* large, and one per process */
    const char *name = argc > 1 ? argv[1] : "help";
    bool help = strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0;
    c = (struct cli){.machine = machine};
    if (help && argc < 3) {
        overview(&c);
        return argc > 1 ? CLI_OK : CLI_USAGE;
    }
    name = help ? argv[2] : strcmp(name, "--version") == 0 ? "version" : name;
    const struct cli_verb *v = verb_named(&c, name);
    if (v == NULL) {
        fprintf(stderr, "berth: there is no verb \"%s\"; berth --help lists them\n", name);
        return CLI_USAGE;
    }
    return help ? show_help(v) : run_verb(&c, v, argc - 2, argv + 2);
}
