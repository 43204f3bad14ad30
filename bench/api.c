/*
 * bench-api: a running `berth up`, over its HTTP API.   bench-api [--pin] BERTH [CREATES [CONNECTIONS]]
 *
 * Start time, memory, durable creates and reads of 1 KB ConfigMaps over 64 keep-alive TLS connections, and how
 * long after its create is sent an object reaches each of 100 watchers. Floors of the same run: fdatasync of 4
 * KiB, and a bare TLS server that answers 1 KB, driven by the same load generator.
 *
 * --pin gives one CPU to the servers (all threads of `berth up`, and before it the bare one) and another to this load
 * generator. "cpu us" is the time that the server's threads were on a CPU, per request: it says more than the rate
 * where a machine is shared.
 */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "echo.h"
#include "http_load.h"
#include "measure.h"
#include "up.h"

enum { IDLE_MS = 2000, WATCHERS = 100, WATCHED = 200, VALUE_BYTES = 800 };

/* ---- requests ---- */

static size_t create_text(const char *name, int64_t stamp, char *out) {
    static char value[VALUE_BYTES + 1];
    memset(value, 'v', VALUE_BYTES);
    char body[2048];
    int n = snprintf(body, sizeof(body),
                     "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\"},"
                     "\"data\":{\"t\":\"%lld\",\"v\":\"%s\"}}",
                     name, (long long)stamp, value);
    return (size_t)snprintf(out, LOAD_REQUEST_MAX,
                            "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\n"
                            "Host: 127.0.0.1\r\nContent-Type: application/json\r\n"
                            "Content-Length: %d\r\n\r\n%s",
                            n, body);
}

static size_t create_request(void *ctx, size_t i, char *out) {
    char name[32];
    snprintf(name, sizeof(name), "object-%07zu", i);
    return create_text(name, 0, out);
}

static size_t get_request(void *ctx, size_t i, char *out) {
    return (size_t)snprintf(out, LOAD_REQUEST_MAX,
                            "GET /api/v1/namespaces/default/configmaps/object-%07zu HTTP/1.1\r\n"
                            "Host: 127.0.0.1\r\n\r\n",
                            i * 7919 % *(size_t *)ctx);
}

/* ---- server-side apply ---- */

enum { APPLIED = 500 };

/* A Deployment of 3 KB without pods, as people write them; `round` is the value of a variable in it. */
static size_t apply_text(size_t i, int round, char *out) {
    char body[LOAD_REQUEST_MAX / 2];
    int n =
        snprintf(body, sizeof(body),
                 "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":"
                 "\"d%zu\",\"labels\":{\"app\":\"d\"}},\"spec\":{\"replicas\":0,\"paused\":"
                 "true,\"selector\":{\"matchLabels\":{\"app\":\"d\"}},\"template\":{"
                 "\"metadata\":{\"labels\":{\"app\":\"d\"}},\"spec\":{\"containers\":[{"
                 "\"name\":\"main\",\"image\":\"example.com/image:1\",\"command\":[\"sleep\","
                 "\"inf\"],\"ports\":[{\"containerPort\":80},{\"containerPort\":443}],\"env\":[",
                 i);
    for (int k = 0; k < 50; k++) {
        n += snprintf(body + n, sizeof(body) - (size_t)n,
                      "%s{\"name\":\"VARIABLE_%d\",\"value\":\"value number %d\"}", k ? "," : "", k,
                      k ? k : round);
    }
    n += snprintf(body + n, sizeof(body) - (size_t)n, "]}]}}}}");
    return (size_t)snprintf(out, LOAD_REQUEST_MAX,
                            "PATCH /apis/apps/v1/namespaces/default/deployments/d%zu"
                            "?fieldManager=bench HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                            "Content-Type: application/apply-patch+yaml\r\n"
                            "Content-Length: %d\r\n\r\n%s",
                            i, n, body);
}

static size_t apply_request(void *ctx, size_t i, char *out) {
    bool changes = *(bool *)ctx;
    return apply_text(i % APPLIED, changes ? 1 + (int)(i / APPLIED) : 0, out);
}

static double load(const char *what, struct load l, pid_t server, double floor,
                   const char *floor_name) {
    l.latency = calloc(l.requests, sizeof(*l.latency));
    double cpu = up_cpu_ns(server);
    if (l.latency == NULL || load_run(&l) == -1) {
        up_die(what);
    }
    double rate = (double)l.requests / l.seconds;
    cpu = (up_cpu_ns(server) - cpu) / 1e3 / (double)l.requests;
    printf("%-34s %9.0f  %8.2f  %8.2f  %8.1f", what, rate,
           (double)measure_percentile(l.latency, l.requests, 0.5) / 1e6,
           (double)measure_percentile(l.latency, l.requests, 0.99) / 1e6, cpu);
    if (floor > 0) {
        printf("  %6.2f x %s", rate / floor, floor_name);
    }
    printf("\n");
    fflush(stdout);
    free(l.latency);
    return rate;
}

/* ---- watch fan-out ---- */

struct watcher {
    struct load_stream *stream;
    char tail[64]; /* the end of the last bytes: a stamp may be cut in two */
    size_t tail_n;
};

/* Finds the stamps `"t":"N"` in the stream, and notes how old each is. */
static size_t take_stamps(struct watcher *w, char *p, size_t n, int64_t *age) {
    static const char mark[] = "\"t\":\"";
    size_t found = 0;
    int64_t now = measure_now();
    char *last = p, *at = p;
    p[n] = 0;
    while ((at = strstr(at, mark))) {
        char *end = strchr(at + sizeof(mark) - 1, '"');
        if (end == NULL) {
            break;
        }
        int64_t stamp = strtoll(at + sizeof(mark) - 1, NULL, 10);
        if (stamp > 0) {
            age[found++] = now - stamp;
        }
        last = at = end;
    }
    size_t left = (size_t)(p + n - last);
    left = left < sizeof(w->tail) ? left : sizeof(w->tail);
    w->tail_n = left;
    memcpy(w->tail, p + n - left, left);
    return found;
}

static size_t read_watcher(struct watcher *w, int64_t *age) {
    static char buf[(64 << 10) + 128];
    size_t found = 0;
    for (;;) {
        memcpy(buf, w->tail, w->tail_n);
        int n = load_read(w->stream, buf + w->tail_n, 64 << 10);
        if (n == -1) {
            up_die("a watch ended");
        }
        if (n == 0) {
            return found;
        }
        found += take_stamps(w, buf, w->tail_n + (size_t)n, age + found);
    }
}

static void open_watchers(struct watcher *w, struct pollfd *p) {
    static const char plain[] = "GET /api/v1/namespaces/default/configmaps?watch=true"
                                "&sendInitialEvents=false&resourceVersionMatch=NotOlderThan"
                                " HTTP/1.1\r\n"
                                "Host: 127.0.0.1\r\n\r\n";
    for (int i = 0; i < WATCHERS; i++) {
        w[i] = (struct watcher){.stream = load_open(up.tls, up.port, plain, sizeof(plain) - 1)};
        if (w[i].stream == NULL) {
            up_die("cannot watch");
        }
        p[i] = (struct pollfd){.fd = load_fd(w[i].stream), .events = POLLIN};
    }
}

static size_t poll_watchers(struct watcher *w, struct pollfd *p, int timeout_ms, int64_t *age) {
    size_t found = 0;
    if (poll(p, WATCHERS, timeout_ms) > 0) {
        for (int i = 0; i < WATCHERS; i++) {
            found += p[i].revents ? read_watcher(&w[i], age + found) : 0;
        }
    }
    return found;
}

/* What watchers cost a fresh server while nothing happens. */
static void idle_watchers(double *ret_kib, double *ret_cpu) {
    static struct watcher w[WATCHERS];
    static struct pollfd p[WATCHERS];
    double memory = up_rss_mib();
    open_watchers(w, p);
    (void)poll(NULL, 0, 500);
    double cpu = up_cpu_ns(up.pid);
    (void)poll(NULL, 0, IDLE_MS);
    *ret_cpu = (up_cpu_ns(up.pid) - cpu) / (IDLE_MS * 1e4);
    *ret_kib = (up_rss_mib() - memory) * 1024 / WATCHERS;
    for (int i = 0; i < WATCHERS; i++) {
        load_close(w[i].stream);
    }
}

/* One create at a time, each in the hands of all watchers before the next. */
static void fan_out(void) {
    static struct watcher w[WATCHERS];
    static struct pollfd p[WATCHERS];
    static int64_t age[(WATCHED + 1) * WATCHERS * 2];
    open_watchers(w, p);
    while (poll_watchers(w, p, 500, age)) {
    } /* what they are sent to begin with has no stamp */
    char request[LOAD_REQUEST_MAX], name[32], skip[8192];
    size_t n = 0;
    struct load_stream *writer = load_open(up.tls, up.port, NULL, 0);
    for (int i = 0; writer && i < WATCHED; i++) {
        snprintf(name, sizeof(name), "watched-%d", i);
        size_t len = create_text(name, measure_now(), request);
        int code = load_write(writer, request, len);
        size_t want = (size_t)(i + 1) * WATCHERS;
        for (int turns = 0; n < want && turns < 10000; turns++) {
            n += poll_watchers(w, p, 100, age + n);
        }
        if (code != 0 || n < want) {
            up_die("a watcher did not see a create");
        }
        (void)load_read(writer, skip, sizeof(skip));
    }
    load_close(writer);
    printf("%-34s %9s  %8.2f  %8.2f  %8s  (create sent to event received)\n", "watch, 100 watchers",
           "", (double)measure_percentile(age, n, 0.5) / 1e6,
           (double)measure_percentile(age, n, 0.99) / 1e6, "");
    for (int i = 0; i < WATCHERS; i++) {
        load_close(w[i].stream);
    }
}

/* The bare server is gone when this returns: it must not share the CPU with what is measured next. */
static double bare_tls(size_t connections) {
    static size_t one = 1;
    pid_t echo;
    if (up.pin) {
        up_pin(0);
    }
    int port = echo_start(&echo);
    if (up.pin) {
        up_pin(1);
    }
    struct load l = {.tls = SSL_CTX_new(TLS_client_method()),
                     .port = port,
                     .connections = connections,
                     .requests = 50000,
                     .request = get_request,
                     .ctx = &one,
                     .status = 200};
    double rate = port == -1 ? 0 : load("floor: bare TLS", l, echo, 0, "");
    if (port != -1) {
        kill(echo, SIGKILL);
        (void)waitpid(echo, NULL, 0);
    }
    SSL_CTX_free(l.tls);
    return rate;
}

/* The same objects again and again: first they are made, then nothing is new, then one value is. */
static void applies(struct load l, double disk) {
    bool changes = false;
    l.request = apply_request;
    l.ctx = &changes;
    l.requests = APPLIED;
    l.status = 201;
    load("apply 3 KB, new", l, up.pid, disk, "fdatasync");
    l.requests = 20 * APPLIED;
    l.status = 200;
    load("apply 3 KB, nothing new", l, up.pid, 0, "");
    changes = true;
    load("apply 3 KB, one value, durable", l, up.pid, disk, "fdatasync");
}

static void measure_api(size_t creates, size_t connections, double disk, double floor) {
    up_start(NULL, NULL);
    double idle = up_rss_mib(), watch_kib, watch_cpu;
    idle_watchers(&watch_kib, &watch_cpu);
    struct load l = {.tls = up.tls,
                     .port = up.port,
                     .connections = connections,
                     .requests = creates,
                     .request = create_request,
                     .status = 201};
    load("create 1 KB, durable", l, up.pid, disk, "fdatasync");
    l.requests = creates < 50000 ? 50000 : creates;
    l.request = get_request;
    l.ctx = &creates;
    l.status = 200;
    load("get 1 KB", l, up.pid, floor, "bare TLS");
    applies(l, disk);
    fan_out();
    printf("\nstart to ready %.0f ms; memory of the API process %.1f MiB idle, %.1f MiB with %zu "
           "objects\n",
           up.start_ms, idle, up_rss_mib(), creates + WATCHED);
    printf("%d idle watchers over TLS: %.0f KiB of memory each, %.2f %% of a CPU for all\n",
           WATCHERS, watch_kib, watch_cpu);
    up_stop();
}

int main(int argc, char **argv) {
    up.pin = argc > 1 && strcmp(argv[1], "--pin") == 0;
    argc -= up.pin;
    argv += up.pin;
    size_t creates = argc > 2 ? strtoul(argv[2], NULL, 10) : 50000;
    size_t connections = argc > 3 ? strtoul(argv[3], NULL, 10) : 64;
    if (argc < 2 || creates == 0 || connections == 0) {
        fprintf(stderr, "usage: bench-api [--pin] BERTH [CREATES [CONNECTIONS]]\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    up.who = "bench-api";
    up.berth = argv[1];
    up_folder();
    double disk = measure_fdatasync(up.dir, 4096, 1);
    printf("Bounds: a request has %d steps of the loop's time, a body of %d bytes and %d values.\n",
           LIMIT_REQUEST_STEPS, LIMIT_BODY_BYTES, LIMIT_BODY_VALUES);
    printf("%zu connections\n%-34s %9s  %8s  %8s  %8s\n", connections, "", "per s", "p50 ms",
           "p99 ms", "cpu us");
    printf("%-34s %9.0f\n", "floor: fdatasync of 4 KiB", disk);
    measure_api(creates, connections, disk, bare_tls(connections));
    return 0;
}
