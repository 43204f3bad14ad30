/* simulate: `berth simulate`: files in, a run in virtual time, a report out. The world itself is sim/sim.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "control/admit/kueue_config.h"
#include "sim/report.h"
#include "wire/text/time.h"
#include "world/kit/verbs.h"
#include "world/simulate/simulate.h"

#define ARENA_MAX ((size_t)8 << 30)

struct stage { /* one file */
    int64_t at_ns;
    enum sim_act act;
    size_t first, n; /* of the manifests */
};

struct simulation {
    const struct cli_args *args;
    struct arena arena;
    struct sim_options options;
    struct kueue_config config;
    bool has_config;
    struct manifests manifests;
    struct stage stages[CLI_VALUES_MAX];
    size_t n_stages;
    struct load_file load;
    struct trace trace;
    int64_t gpus;
    bool json, each_queue;
    struct err err;
};

/* Reads a whole file, "-" being standard input, into the arena. */
static int read_all(struct simulation *x, const char *path, struct str *ret) {
    int fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    struct buf b;
    ssize_t n = -1;
    int e = 0;
    if (fd == -1) {
        return err_sys(&x->err, errno, "%s", path);
    }
    buf_init(&b, LIMIT_SIM_FILE_BYTES);
    for (;;) {
        char *room = buf_room(&b, 1 << 16);
        n = room ? read(fd, room, 1 << 16) : 0;
        if (n <= 0) {
            break;
        }
        b.n += (size_t)n;
    }
    if (n < 0) {
        e = err_sys(&x->err, errno, "%s", path);
    } else if (buf_ok(&b) != 0) {
        e = err_set(&x->err, ERR_TOO_LARGE, "%s: larger than %d MiB", path,
                    LIMIT_SIM_FILE_BYTES >> 20);
    }
    *ret = arena_str(&x->arena, buf_view(&b));
    buf_release(&b);
    if (fd != STDIN_FILENO) {
        close(fd);
    }
    return e ? e : ret->p ? 0 : err_set(&x->err, ERR_NOMEM, "%s: out of memory", path);
}

/* ---- options ---- */

static int bad(struct simulation *x, const char *option, const char *expected) {
    return err_set(&x->err, ERR_BAD_REQUEST, "--%s: expected %s", option, expected);
}

static int read_time(struct simulation *x, const char *option, const char *text, int64_t *ret) {
    int64_t ns;
    if (text && (duration_parse(str_of(text), &ns, NULL) != 0 || ns < 0)) {
        return bad(x, option, "a time such as 90s, 5m or 1h30m");
    }
    *ret = text ? ns : *ret;
    return 0;
}

static int read_number(struct simulation *x, const char *option, int64_t most, int64_t *ret) {
    const char *text = cli_value(x->args, option);
    int64_t n;
    if (text && (!str_to_i64(str_of(text), &n) || n < 0 || n > most)) {
        return bad(x, option, "a number");
    }
    *ret = text ? n : *ret;
    return 0;
}

static int read_options(struct simulation *x) {
    const struct cli_args *a = x->args;
    struct sim_options *o = &x->options;
    int64_t seed = 0;
    o->runtime_ns = 60 * NS_PER_SEC;
    o->checkpoint = cli_flag(a, "checkpoint");
    x->each_queue = cli_flag(a, "each-queue");
    o->story = cli_flag(a, "story");
    x->json = cli_value(a, "output") && strcmp(cli_value(a, "output"), "json") == 0;
    int e = read_time(x, "until", cli_value(a, "until"), &o->until_ns);
    e = e ? e : read_time(x, "startup", cli_value(a, "startup"), &o->startup_ns);
    e = e ? e : read_time(x, "runtime", cli_value(a, "runtime"), &o->runtime_ns);
    e = e ? e : read_time(x, "latency", cli_value(a, "latency"), &o->latency_ns);
    e = e ? e : read_number(x, "seed", INT64_MAX, &seed);
    e = e ? e : read_number(x, "gpus", LIMIT_SIM_PODS, &x->gpus);
    o->seed = (uint64_t)seed;
    if (e == 0 && cli_value(a, "gpus") && cli_value(a, "trace") == NULL) {
        return err_set(&x->err, ERR_BAD_REQUEST, "--gpus is for the queues of a --trace");
    }
    if (e == 0 && cli_value(a, "filename") == NULL && cli_value(a, "load") == NULL &&
        cli_value(a, "trace") == NULL) {
        return err_set(&x->err, ERR_BAD_REQUEST,
                       "nothing to simulate: --filename, --load or --trace");
    }
    return e;
}

/* ---- input ---- */

static int read_config(struct simulation *x) {
    const char *path = cli_value(x->args, "config");
    struct str text;
    int e = path ? read_all(x, path, &text) : 0;
    if (e || path == NULL) {
        return e;
    }
    e = kueue_config_read(text, &x->config, &x->err);
    if (e) {
        return err_wrap(&x->err, "%s", path);
    }
    x->has_config = true;
    x->options.settings = &x->config.settings;
    for (size_t i = 0; i < x->config.n_warnings; i++) {
        fprintf(stderr, "berth simulate: %s: %.*s\n", path, STR_ARG(x->config.warnings[i]));
    }
    return 0;
}

static int read_load(struct simulation *x) {
    const char *path = cli_value(x->args, "load");
    struct str text;
    int e = path ? read_all(x, path, &text) : 0;
    if (e || path == NULL) {
        return e;
    }
    e = load_file_read(&x->arena, text, &x->load, &x->err);
    if (e) {
        return err_wrap(&x->err, "%s", path);
    }
    if (x->load.topology) {
        fprintf(stderr, "berth simulate: %s: what it says of topology is not acted on yet\n", path);
    }
    return 0;
}

static int read_trace(struct simulation *x) {
    const char *path = cli_value(x->args, "trace");
    enum trace_form form = TRACE_PLAIN;
    struct str text;
    if (path == NULL) {
        return 0;
    }
    if (strncmp(path, "philly:", 7) == 0) {
        form = TRACE_PHILLY;
        path += 7;
    }
    int e = read_all(x, path, &text);
    if (e) {
        return e;
    }
    e = trace_read(&x->arena, form, text, &x->trace, &x->err);
    if (e) {
        return err_wrap(&x->err, "%s", path);
    }
    if (x->trace.left_out) {
        fprintf(stderr, "berth simulate: %s: %zu jobs without GPUs or run time are left out\n",
                path, x->trace.left_out);
    }
    return 0;
}

/* What an option does with its file; false: it has none that is manifests. */
static bool act_of(const char *option, enum sim_act *ret) {
    static const struct {
        const char *option;
        enum sim_act act;
    } acts[] = {{"filename", SIM_APPLY}, {"patch", SIM_PATCH}, {"delete", SIM_DELETE}};
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        if (strcmp(option, acts[i].option) == 0) {
            *ret = acts[i].act;
            return true;
        }
    }
    return false;
}

/* Every --filename, --patch and --delete, in order; --at TIME holds for those that follow it. */
static int read_manifests(struct simulation *x) {
    const struct cli_args *a = x->args;
    int64_t at = 0;
    int e = 0;
    for (size_t i = 0; e == 0 && i < a->n_values; i++) {
        const char *name = a->values[i].option->name, *path = a->values[i].text;
        enum sim_act act;
        struct str text;
        if (strcmp(name, "at") == 0) {
            e = read_time(x, name, path, &at);
        }
        if (e != 0 || !act_of(name, &act)) {
            continue;
        }
        struct stage *g = &x->stages[x->n_stages++];
        *g = (struct stage){.at_ns = at, .act = act, .first = x->manifests.n};
        e = read_all(x, path, &text);
        e = e ? e
            : act == SIM_APPLY
                ? manifests_read(&x->arena, path, text, &x->manifests, &x->err)
                : manifests_read_parts(&x->arena, path, text, &x->manifests, &x->err);
        g->n = x->manifests.n - g->first;
    }
    for (size_t i = 0; i < x->manifests.n; i++) {
        x->options.jobs = x->options.jobs || strcmp(x->manifests.v[i].kind->kind, "Job") == 0;
    }
    return e;
}

static int give(struct simulation *x, struct sim *s) {
    int e = 0;
    for (size_t i = 0; e == 0 && i < x->n_stages; i++) {
        const struct stage *g = &x->stages[i];
        for (size_t k = 0; e == 0 && k < g->n; k++) {
            e = sim_at(s, g->at_ns, g->act, &x->manifests.v[g->first + k], &x->err);
        }
    }
    e = e || x->load.n_cohorts == 0 ? e : sim_load(s, &x->load, &x->err);
    return e || x->trace.n == 0 ? e : sim_trace(s, &x->trace, x->gpus, &x->err);
}

/* ---- the run ---- */

static int fail(struct simulation *x, int code) {
    fprintf(stderr, "berth simulate: %s\n", x->err.text);
    if (code == CLI_USAGE) {
        fprintf(stderr, "berth simulate --help says more.\n");
    }
    return code;
}

static int simulate(struct simulation *x) {
    enum sim_end end;
    struct sim *s = sim_new(&x->options, &x->err);
    struct buf out;
    int e = s ? give(x, s) : ERR_NOMEM;
    e = e ? e : sim_run(s, &end, &x->err);
    buf_init(&out, 0);
    if (e == 0 && x->json) {
        report_json(s, end, &x->options, &out);
    } else if (e == 0) {
        simulate_table(s, end, &x->options, x->each_queue, &out);
    }
    if (e == 0 && buf_ok(&out) != 0) {
        e = err_set(&x->err, ERR_NOMEM, "out of memory");
    }
    if (e == 0) {
        fwrite(out.p, 1, out.n, stdout);
    }
    buf_release(&out);
    sim_free(s);
    return e ? fail(x, CLI_FAILED) : CLI_OK;
}

/* Warnings of controllers, but for the recorder's: nobody reads the Events of a simulation. */
static void log_line(struct log *l, enum log_level level, struct str line) {
    if (!str_starts(line, STR("events: "))) {
        fprintf(stderr, "berth simulate: %.*s\n", STR_ARG(line));
    }
}

static int run(const struct cli_args *a) {
    struct simulation *x = mem_zalloc(sizeof *x);
    struct log log = {.level = LOG_WARN, .write = log_line};
    int code;
    if (x == NULL) {
        fprintf(stderr, "berth simulate: out of memory\n");
        return CLI_FAILED;
    }
    x->args = a;
    x->options.log = &log;
    arena_init(&x->arena, ARENA_MAX);
    if (read_options(x) != 0) {
        code = fail(x, CLI_USAGE);
    } else if (read_config(x) != 0 || read_manifests(x) != 0 || read_load(x) != 0 ||
               read_trace(x) != 0) {
        code = fail(x, x->err.code == ERR_BAD_REQUEST ? CLI_USAGE : CLI_FAILED);
    } else {
        code = simulate(x);
    }
    if (x->has_config) {
        kueue_config_release(&x->config);
    }
    arena_release(&x->arena);
    mem_free(x);
    return code;
}

static const char *const outputs[] = {"table", "json", NULL};

static const struct cli_option options[] = {
    {"filename", 'f', "FILE", "manifests to apply: queues, nodes, Jobs, Workloads", NULL, true},
    {"load", 0, "FILE", "a load of queues and workloads, as Kueue's generator reads it", NULL,
     false},
    {"trace", 0, "FILE", "jobs as CSV; philly:FILE reads the public Philly list", NULL, false},
    {"gpus", 0, "NUMBER", "make the queues of the trace, sharing so many GPUs", NULL, false},
    {"at", 0, "TIME", "when to apply, patch or delete the files that follow", NULL, true},
    {"patch", 0, "FILE", "manifests of what is merged into objects then", NULL, true},
    {"delete", 0, "FILE", "manifests of what is deleted at that time", NULL, true},
    {"config", 0, "FILE", "a Kueue Configuration file: fair sharing, readiness, ...", NULL, false},
    {"until", 0, "TIME", "stop there; else when all is over or nothing moves", NULL, false},
    {"startup", 0, "TIME", "from an admission until the pods work; else 0s", NULL, false},
    {"runtime", 0, "TIME", "of what does not say how long it runs; else 60s", NULL, false},
    {"latency", 0, "TIME", "of each write of a controller; else 0s", NULL, false},
    {"checkpoint", 0, NULL, "what is evicted goes on where it was", NULL, false},
    {"seed", 0, "NUMBER", "shuffles what a load brings at one moment; else 0: not", NULL, false},
    {"each-queue", 0, NULL, "show each queue, however many there are", NULL, false},
    {"story", 0, NULL, "say what happened to each Workload, and when", NULL, false},
    {"output", 'o', "FORMAT", "table or json", outputs, false},
};

const struct cli_verb world_simulate = {
    .name = "simulate",
    .group = GROUP_MACHINE,
    .arguments = "[-f FILE...] [--load FILE] [--trace FILE]",
    .summary = "runs queues and loads in virtual time, and reports",
    .about =
        "The same controllers as in `berth up` decide, in virtual time, over objects in memory: "
        "no server is asked and nothing is started. The same input gives the same report.",
    .examples = "  berth simulate -f queues.yaml -f jobs.yaml\n"
                "  berth simulate --load load.yaml -o json\n"
                "  berth simulate -f queues.yaml --load load.yaml --at 10m -f less-quota.yaml\n"
                "  berth simulate --trace philly:philly_jobs.csv --gpus 2000\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .local = run,
};
