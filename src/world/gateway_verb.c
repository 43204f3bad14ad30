/*
 * gateway_verb: `berth gateway`: passes requests for models on to the servers that have them.
 *
 * The thread of main has the loop of signals and of the file of routes; the workers have their own
 * (gateway/gateway.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "gateway/gateway.h"
#include "gateway/routes_yaml.h"
#include "gateway/see/witness.h"
#include "net/loop.h"
#include "net/tls.h"
#include "wire/text/time.h"
#include "world/gateway/gateway_watch.h"
#include "world/kit/address.h"
#include "world/kit/verbs.h"

struct gateway_world {
    const struct cli_args *args;
    struct log_fd log;
    struct loop *loop;
    struct gateway *gateway;
    struct tls_server *tls;
    const char *file; /* of routes; NULL: they come from the API server */
    struct gateway_watch *watch;
    struct loop_signal *reload, *term, *interrupt;
    uint64_t sampled; /* of WITNESS_ALL */
    int64_t drain_ms;
    bool stopping;
};

static int read_file(const char *path, struct buf *to, struct err *err) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd == -1) {
        return err_sys(err, errno, "open %s", path);
    }
    ssize_t n;
    do {
        char *at = buf_room(to, 64 << 10);
        n = at ? read(fd, at, 64 << 10) : -1;
        to->n += n > 0 ? (size_t)n : 0;
    } while (n > 0);
    int e = errno;
    close(fd);
    if (buf_ok(to) != 0) {
        return err_set(err, ERR_TOO_LARGE, "%s has more than %d bytes", path, ROUTES_FILE_MAX);
    }
    return n < 0 ? err_sys(err, e, "read %s", path) : 0;
}

/* The file's routes become the gateway's. */
static int load(struct gateway_world *w, struct err *err) {
    struct buf text;
    struct routes *r = NULL;
    buf_init(&text, ROUTES_FILE_MAX);
    int code = read_file(w->file, &text, err);
    code = code ? code : routes_read_yaml(buf_view(&text), &r, err);
    buf_release(&text);
    if (code != 0) {
        return code;
    }
    size_t n = routes_count(r);
    gateway_set_routes(w->gateway, r);
    log_info(&w->log.log, "routes of %s: %zu model%s", w->file, n, n == 1 ? "" : "s");
    return 0;
}

/* ---- signals ---- */

static void on_reload(void *ctx, int signum) {
    struct gateway_world *w = ctx;
    struct err err = {0};
    if (w->file && load(w, &err) != 0) {
        log_error(&w->log.log, "routes stay as they were: %s", err.text);
    }
    if (w->tls && tls_server_reload(w->tls, &err) != 0) {
        log_error(&w->log.log, "the certificate stays as it was: %s", err.text);
    }
}

static void end_loop(void *ctx) {
    loop_stop(((struct gateway_world *)ctx)->loop);
}

/* On a worker's thread. */
static void on_stopped(void *ctx) {
    struct gateway_world *w = ctx;
    (void)loop_post(w->loop, end_loop, w);
}

static void on_end(void *ctx, int signum) {
    struct gateway_world *w = ctx;
    if (w->stopping) {
        loop_stop(w->loop);
        return;
    }
    w->stopping = true;
    log_info(&w->log.log, "stopping: streams under way may end; a second signal cuts them");
    gateway_stop(w->gateway, w->drain_ms, on_stopped, w);
}

/* ---- options ---- */

static int usage(struct err *err) {
    fprintf(stderr, "berth gateway: %s\n", err->text);
    return CLI_USAGE;
}

static int read_count(const struct cli_args *a, const char *name, int64_t most, int64_t otherwise,
                      int64_t *ret, struct err *err) {
    const char *text = cli_value(a, name);
    *ret = otherwise;
    if (text && (!str_to_i64(str_of(text), ret) || *ret < 1 || *ret > most)) {
        return err_set(err, ERR_BAD_REQUEST, "--%s: \"%s\": expected a number from 1 to %lld", name,
                       text, (long long)most);
    }
    return 0;
}

static int read_drain(const struct cli_args *a, int64_t *ret, struct err *err) {
    const char *text = cli_value(a, "drain");
    int64_t ns = GATEWAY_DRAIN_MS * NS_PER_MS;
    if (text &&
        (duration_parse(str_of(text), &ns, NULL) != 0 || ns < 0 || ns > 24 * 3600 * NS_PER_SEC)) {
        return err_set(err, ERR_BAD_REQUEST, "--drain: \"%s\": expected a duration from 0s to 24h",
                       text);
    }
    *ret = ns / NS_PER_MS;
    return 0;
}

/* A share from 0 to 1, with at most six decimals. */
static int read_sample(const struct cli_args *a, uint64_t *ret, struct err *err) {
    const char *text = cli_value(a, "sample");
    char *end = NULL;
    double share = text ? strtod(text, &end) : 1;
    if (text && (end == text || *end || !(share >= 0 && share <= 1))) {
        return err_set(err, ERR_BAD_REQUEST, "--sample: \"%s\": expected a share from 0 to 1",
                       text);
    }
    *ret = (uint64_t)(share * WITNESS_ALL + 0.5);
    return 0;
}

static int read_options(struct gateway_world *w, struct address *address, struct gateway_options *o,
                        struct err *err) {
    const struct cli_args *a = w->args;
    const char *listen = cli_value(a, "listen"), *zone = cli_value(a, "zone");
    int64_t workers, connections, cores = sysconf(_SC_NPROCESSORS_ONLN);
    cores = cores < 1 ? 1 : cores > GATEWAY_WORKERS_MAX ? GATEWAY_WORKERS_MAX : cores;
    int code = address_parse("--listen", listen ? listen : "127.0.0.1:8080", address, err);
    code = code ? code : read_count(a, "workers", GATEWAY_WORKERS_MAX, cores, &workers, err);
    code = code ? code : read_count(a, "connections", 1000000, 20000, &connections, err);
    code = code ? code : read_drain(a, &w->drain_ms, err);
    code = code ? code : read_sample(a, &w->sampled, err);
    w->file = cli_value(a, "routes");
    static const char *const watching[] = {"kubeconfig", "context", "pods-of",
                                           "access-log", "otlp",    "sample"};
    for (size_t i = 0; i < sizeof watching / sizeof *watching && code == 0 && w->file; i++) {
        if (cli_value(a, watching[i])) {
            code = err_set(err, ERR_BAD_REQUEST,
                           "--%s: not with --routes, which asks no API server", watching[i]);
        }
    }
    if (code == 0 && (cli_value(a, "tls-cert") == NULL) != (cli_value(a, "tls-key") == NULL)) {
        code = err_set(err, ERR_BAD_REQUEST, "--tls-cert and --tls-key: expected both, or neither");
    }
    struct gateway_origins origins = {0};
    const char *origin;
    for (size_t i = 0; code == 0 && (origin = cli_nth(a, "allow-origin", i)) != NULL; i++) {
        code = origin_add(&origins, str_of(origin), err);
        code = code ? err_wrap(err, "--allow-origin") : 0;
    }
    if (code != 0) {
        return code;
    }
    *o = (struct gateway_options){
        .origins = origins,
        .host = str_of(address->host),
        .port = address->port,
        .allow_any = true,
        .workers = (unsigned)workers,
        .zone = str_of(zone),
        .connections_max = (size_t)connections,
        .log = &w->log.log,
    };
    return 0;
}

/* ---- running ---- */

static int watch(struct gateway_world *w, struct gateway_options *o, struct err *err) {
    const struct cli_args *a = w->args;
    const struct gateway_watch_options wo = {
        .kubeconfig = cli_value(a, "kubeconfig"),
        .context = cli_value(a, "context"),
        .pods_of = cli_value(a, "pods-of"),
        .access_log = cli_value(a, "access-log"),
        .otlp = cli_value(a, "otlp"),
        .sampled = w->sampled,
        .sleeps = !cli_flag(a, "no-sleep"),
        .workers = o->workers,
    };
    int code = gateway_watch_new(w->loop, &w->log.log, &wo, &w->watch, err);
    if (code == 0) {
        gateway_watch_fill(w->watch, o);
    }
    return code;
}

static int start(struct gateway_world *w, struct gateway_options *o, struct err *err) {
    const char *cert = cli_value(w->args, "tls-cert");
    w->loop = loop_new(err);
    if (w->loop == NULL) {
        return ERR_IO;
    }
    if (cert) {
        w->tls = tls_server_new(cert, cli_value(w->args, "tls-key"), NULL, err);
        o->tls = w->tls;
        if (w->tls == NULL) {
            return ERR_IO;
        }
    }
    int code = w->file ? 0 : watch(w, o, err);
    code = code ? code : gateway_start(o, &w->gateway, err);
    if (code == 0 && w->file) {
        code = load(w, err);
    } else if (code == 0) {
        gateway_watch_to(w->watch, w->gateway);
    }
    if (code != 0) {
        return code;
    }
    w->reload = loop_signal(w->loop, SIGHUP, on_reload, w, err);
    w->term = w->reload ? loop_signal(w->loop, SIGTERM, on_end, w, err) : NULL;
    w->interrupt = w->term ? loop_signal(w->loop, SIGINT, on_end, w, err) : NULL;
    return w->interrupt ? 0 : ERR_IO;
}

static int run(const struct cli_args *a) {
    struct gateway_world w = {.args = a};
    struct gateway_options o;
    struct address address;
    struct err err = {0};
    if (read_options(&w, &address, &o, &err) != 0) {
        return usage(&err);
    }
    if (cli_flag(a, "with-parent") && (prctl(PR_SET_PDEATHSIG, SIGTERM) == -1 || getppid() == 1)) {
        return CLI_FAILED; /* the parent is gone already */
    }
    log_fd_init(&w.log, LOG_INFO, STDERR_FILENO);
    int code = start(&w, &o, &err);
    if (code == 0) {
        bool v6 = str_find(o.host, ':') >= 0;
        log_info(&w.log.log, "listening on %s://%s%s%s:%u with %u worker%s",
                 w.tls ? "https" : "http", v6 ? "[" : "", address.host, v6 ? "]" : "",
                 gateway_port(w.gateway), o.workers, o.workers == 1 ? "" : "s");
        loop_run(w.loop);
    } else {
        fprintf(stderr, "berth gateway: %s\n", err.text);
    }
    gateway_free(w.gateway);
    gateway_watch_free(w.watch);
    tls_server_free(w.tls);
    loop_signal_free(w.reload);
    loop_signal_free(w.term);
    loop_signal_free(w.interrupt);
    if (w.loop) {
        loop_free(w.loop);
    }
    return code ? CLI_FAILED : CLI_OK;
}

static const struct cli_option options[] = {
    {"kubeconfig", 0, "FILE", "the API server whose models and keys are watched", NULL, false},
    {"context", 0, "NAME", "of the kubeconfig", NULL, false},
    {"routes", 0, "FILE",
     "models and their servers from a file, without keys; read again on SIGHUP", NULL, false},
    {"listen", 0, "ADDRESS", "where to listen (default 127.0.0.1:8080)", NULL, false},
    {"workers", 0, "N", "threads, each with connections of its own (default: the processors)", NULL,
     false},
    {"zone", 0, "NAME", "the gateway's own zone, whose servers it prefers", NULL, false},
    {"connections", 0, "N", "of clients, of each worker (default 20000)", NULL, false},
    {"drain", 0, "TIME", "how long streams may go on after SIGTERM (default 10m)", NULL, false},
    {"tls-cert", 0, "FILE", "certificate, PEM; with --tls-key", NULL, false},
    {"tls-key", 0, "FILE", "its key, PEM", NULL, false},
    {"allow-origin", 0, "ORIGIN",
     "pages of this origin may ask, such as https://berth.example:8090; repeatable", NULL, true},
    {"access-log", 0, "FILE", "a line of JSON for each request, without prompts", NULL, false},
    {"otlp", 0, "URL", "a collector of spans, OTLP over HTTP: http://127.0.0.1:4318", NULL, false},
    {"sample", 0, "SHARE", "of requests without a traceparent, to --otlp: 0 to 1 (default 1)", NULL,
     false},
    {"no-sleep", 0, NULL, "idle models are not scaled to zero: one gateway of several does that",
     NULL, false},
    {"pods-of", 0, "DIR", "reach the pods of the `berth up` with this data folder", NULL, false},
    {"with-parent", 0, NULL, "end when the parent process ends", NULL, false},
};

const struct cli_verb world_gateway = {
    .name = "gateway",
    .group = GROUP_MACHINE,
    .arguments = "[--kubeconfig FILE | --routes FILE]",
    .summary = "pass requests for models on to their servers",
    .about =
        "Serves OpenAI's API, Anthropic's messages and KServe's v1 and v2 for the models of an "
        "API\n"
        "server, by its ModelKeys, or for those of a file. Answers are streamed as they come.\n"
        "SIGHUP reads the file again; SIGTERM lets streams end. `berth up` starts one itself.",
    .examples = "  berth gateway --kubeconfig ~/.kube/config --zone a\n"
                "  berth gateway --routes routes.yaml --listen 127.0.0.1:8080\n",
    .options = options,
    .n_options = sizeof(options) / sizeof(options[0]),
    .local = run,
};
