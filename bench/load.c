/*
 * bench-load: a load in the shape of Kueue's generator files through a real `berth up`, everything over HTTPS.
 *
 *     bench-load [--runtime SCALE] [--interval SCALE] [--connections N] [--no-floor] BERTH FILE
 *
 * --runtime 0 (the default): a workload is finished as soon as its admission is seen; 1: after its runtimeMs.
 * --interval 1 (the default): workloads are created at the file's intervals, or as soon as answers allow; 0: at once.
 *
 * The floor of the same run: the same create, admission and finish bodies, three durable writes for each workload, over
 * the same HTTP server with none of the controllers that queue.
 *
 * It fails (exit 1) when not every workload was finished, a quota was exceeded, or counters do not come back to zero.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"
#include "http_load.h"
#include "load_drive.h"
#include "measure.h"
#include "up.h"
#include "wire/json/json.h"

enum { PAGE = 500, COUNTERS_S = 20, SETUP_STEPS = 5 };

static struct plan plan;
static size_t connections = 128;

/* ---- requests for many things, one after the other ---- */

struct batch {
    size_t (*text)(size_t i, char *out);
};

static size_t batch_text(void *ctx, size_t i, char *out) {
    return ((struct batch *)ctx)->text(i, out);
}

static double send_all(const char *what, size_t n, int status, size_t (*text)(size_t, char *),
                       int64_t **ret_latency) {
    struct batch b = {text};
    struct load l = {.tls = up.tls,
                     .port = up.port,
                     .connections = connections,
                     .requests = n,
                     .request = batch_text,
                     .ctx = &b,
                     .status = status};
    l.latency = calloc(n, sizeof(*l.latency));
    if (l.latency == NULL || load_run(&l) == -1) {
        up_die(what);
    }
    if (ret_latency) {
        *ret_latency = l.latency;
    } else {
        free(l.latency);
    }
    return l.seconds;
}

static size_t post(char *out, const char *path, const char *body) {
    return drive_request(out, "POST", "application/json", path, body);
}

static size_t flavor_text(size_t i, char *out) {
    return post(
        out, "/apis/kueue.x-k8s.io/v1beta2/resourceflavors",
        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ResourceFlavor\",\"metadata\":"
        "{\"name\":\"rf\"}}");
}

static size_t cohort_text(size_t i, char *out) {
    char body[512];
    snprintf(body, sizeof(body),
             "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Cohort\","
             "\"metadata\":{\"name\":\"%s\"}}",
             plan.cohorts[i].name);
    return post(out, "/apis/kueue.x-k8s.io/v1beta2/cohorts", body);
}

static size_t cluster_queue_text(size_t i, char *out) {
    const struct plan_queue *q = &plan.queues[i];
    char body[2048], limit[64] = "";
    if (q->borrowing[0]) {
        snprintf(limit, sizeof(limit), ",\"borrowingLimit\":\"%s\"", q->borrowing);
    }
    snprintf(body, sizeof(body),
             "{\"apiVersion\":\"kueue.x-k8s.io/"
             "v1beta2\",\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":"
             "\"%s\"},\"spec\":{\"cohortName\":\"%s\",\"namespaceSelector\":{},\"preemption\":{"
             "\"reclaimWithinCohort\":\"%s\",\"withinClusterQueue\":\"%s\"},\"resourceGroups\":[{"
             "\"coveredResources\":[\"cpu\"],\"flavors\":[{\"name\":\"rf\",\"resources\":[{"
             "\"name\":\"cpu\","
             "\"nominalQuota\":\"%s\"%s}]}]}]}}",
             q->name, plan.cohorts[q->cohort].name, q->reclaim, q->within, q->nominal, limit);
    return post(out, "/apis/kueue.x-k8s.io/v1beta2/clusterqueues", body);
}

static size_t namespace_text(size_t i, char *out) {
    char body[512];
    snprintf(body, sizeof(body),
             "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\"}}",
             plan.queues[i].name);
    return post(out, "/api/v1/namespaces", body);
}

static size_t local_queue_text(size_t i, char *out) {
    const char *name = plan.queues[i].name;
    char body[1024], path[PLAN_NAME * 2];
    snprintf(path, sizeof(path), "/apis/kueue.x-k8s.io/v1beta2/namespaces/%s/localqueues", name);
    snprintf(
        body, sizeof(body),
        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":{\"name\":"
        "\"%s\",\"namespace\":\"%s\"},\"spec\":{\"clusterQueue\":\"%s\"}}",
        name, name, name);
    return post(out, path, body);
}

static double set_up(void) {
    double s = send_all("ResourceFlavor", 1, 201, flavor_text, NULL);
    s += send_all("Cohorts", plan.n_cohorts, 201, cohort_text, NULL);
    s += send_all("ClusterQueues", plan.n_queues, 201, cluster_queue_text, NULL);
    s += send_all("Namespaces", plan.n_queues, 201, namespace_text, NULL);
    return s + send_all("LocalQueues", plan.n_queues, 201, local_queue_text, NULL);
}

/* ---- the floor ---- */

static size_t create_text(size_t i, char *out) {
    return drive_create_text(&plan, i, out);
}

#define CONDITION(type_, reason_, message_)                                                        \
    "{\"type\":\"" type_ "\",\"status\":\"True\",\"reason\":\"" reason_                            \
    "\",\"message\":\"" message_                                                                   \
    "\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\",\"observedGeneration\":1}"
#define RESERVED                                                                                   \
    CONDITION("QuotaReserved", "QuotaReserved", "Quota reserved in ClusterQueue cq-0-00-cohort-0") \
    "," CONDITION("Admitted", "Admitted", "The workload is admitted")

static size_t status_text(size_t i, const char *status, char *out) {
    char path[PLAN_NAME * 4];
    snprintf(path, sizeof(path), DRIVE_WORKLOADS "/%s/status",
             plan.queues[plan.items[i].queue].name, plan.items[i].name);
    return drive_request(out, "PATCH", "application/merge-patch+json", path, status);
}

static size_t admit_text(size_t i, char *out) {
    const struct plan_class *c = &plan.classes[plan.items[i].class];
    char body[2048];
    snprintf(body, sizeof(body),
             "{\"status\":{\"admission\":{\"clusterQueue\":\"%s\",\"podSetAssignments\":[{\"name\":"
             "\"main\","
             "\"flavors\":{\"cpu\":\"rf\"},\"resourceUsage\":{\"cpu\":\"%s\"},\"count\":%lld}]},"
             "\"conditions\":[" RESERVED "]}}",
             plan.queues[plan.items[i].queue].name, c->request, (long long)c->pods);
    return status_text(i, body, out);
}

static size_t finish_text(size_t i, char *out) {
    return status_text(i,
                       "{\"status\":{\"conditions\":[" RESERVED
                       "," CONDITION("Finished", "ByTest", "By test runner") "]}}",
                       out);
}

static double floor_seconds(void) {
    size_t n = plan.n_items;
    up_folder();
    up_start("--controllers",
             "defaults"); /* with none, Kueue's kinds would be CustomResourceDefinitions */
    send_all("Namespaces", plan.n_queues, 201, namespace_text, NULL);
    double cpu = up_cpu_ns(up.pid);
    double create = send_all("creates", n, 201, create_text, NULL);
    double admit = send_all("admissions", n, 200, admit_text, NULL);
    double finish = send_all("finishes", n, 200, finish_text, NULL);
    cpu = up_cpu_ns(up.pid) - cpu;
    double all = create + admit + finish;
    printf("floor: 3 x %zu durable writes without controllers: %.2f s (creates %.0f/s, admissions "
           "%.0f/s, "
           "finishes %.0f/s), server CPU %.2f s\n",
           n, all, (double)n / create, (double)n / admit, (double)n / finish, cpu / 1e9);
    fflush(stdout);
    up_stop();
    return all;
}

/* ---- what is there afterwards ---- */

/* A whole answer of a GET, read to the end of the connection's wait; the body in *ret. */
static void get(const char *path, const char *accept, struct buf *ret) {
    char text[1024];
    snprintf(text, sizeof(text),
             "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nAccept: %s\r\n\r\n", path,
             accept);
    struct load_stream *s = load_open(up.tls, up.port, text, strlen(text));
    if (s == NULL) {
        up_die("cannot read back");
    }
    buf_reset(ret);
    for (;;) {
        char *p = buf_room(ret, 64 << 10);
        int n = p ? load_read(s, p, 64 << 10) : -1;
        if (n == 0) {
            struct pollfd f = {.fd = load_fd(s), .events = POLLIN};
            (void)poll(&f, 1, 30000);
        } else if (n < 0) {
            break;
        } else {
            ret->n += (size_t)n;
        }
    }
    load_close(s);
    char *body = strstr(buf_cstr(ret), "\r\n\r\n");
    if (strncmp(buf_cstr(ret), "HTTP/1.1 200", 12) != 0 || body == NULL) {
        fprintf(stderr, "%.300s\n", ret->p);
        up_die("cannot read back");
    }
    bool chunked = strcasestr(ret->p, "transfer-encoding: chunked") != NULL;
    buf_consume(ret, (size_t)(body + 4 - ret->p));
    for (size_t in = 0, out = 0; chunked && in < ret->n;) {
        char *end;
        size_t n = strtoul(ret->p + in, &end, 16);
        in = (size_t)(end + 2 - ret->p);
        memmove(ret->p + out, ret->p + in, n);
        in += n + 2;
        out += n;
        if (n == 0) {
            ret->n = out;
            chunked = false;
        }
    }
}

static bool is_finished(yyjson_val *o) {
    size_t i, n;
    yyjson_val *c;
    yyjson_arr_foreach(json_path(o, "status.conditions"), i, n, c) {
        if (str_is(json_str_at(c, "type"), "Finished") &&
            str_is(json_str_at(c, "status"), "True")) {
            return true;
        }
    }
    return false;
}

static bool is_idle_queue(yyjson_val *o) {
    return json_i64_at(o, "status.pendingWorkloads", -1) == 0 &&
           json_i64_at(o, "status.reservingWorkloads", -1) == 0 &&
           json_i64_at(o, "status.admittedWorkloads", -1) == 0;
}

/* Pages through a list as kubectl does; how many objects are as asked, or rows when nothing is asked. */
static size_t list(const char *path, const char *accept, bool (*good)(yyjson_val *o),
                   double *ret_seconds) {
    struct arena a;
    struct buf b;
    char next[512] = "", url[1024];
    size_t count = 0;
    int64_t reading = 0;
    arena_init(&a, (size_t)1 << 30);
    buf_init(&b, 0);
    do {
        snprintf(url, sizeof(url), "%s?limit=%d%s%s", path, PAGE, next[0] ? "&continue=" : "",
                 next);
        int64_t before = measure_now();
        get(url, accept, &b);
        reading += measure_now() - before;
        arena_reset(&a);
        yyjson_doc *doc;
        if (json_parse(&a, buf_view(&b), &doc, NULL) != 0) {
            up_die("a list is no JSON");
        }
        yyjson_val *root = yyjson_doc_get_root(doc), *o;
        yyjson_val *items = json_get(root, good ? STR("items") : STR("rows"));
        size_t i, n;
        yyjson_arr_foreach(items, i, n, o) {
            count += good == NULL || good(o);
        }
        snprintf(next, sizeof(next), "%.*s", STR_ARG(json_str_at(root, "metadata.continue")));
    } while (next[0]);
    *ret_seconds = (double)reading / 1e9;
    buf_release(&b);
    arena_release(&a);
    return count;
}

/* Events yield to other writes: how many there are in the end, and how long after the last workload. */
static void await_events(const struct drive *d) {
    struct buf b;
    struct arena a;
    size_t before = 0, now = 0, revision = 0;
    int64_t last = d->end;
    arena_init(&a, 1 << 20);
    buf_init(&b, 0);
    do {
        before = now;
        get("/api/v1/events?limit=1", "application/json", &b);
        yyjson_doc *doc;
        arena_reset(&a);
        if (json_parse(&a, buf_view(&b), &doc, NULL) != 0) {
            up_die("a list is no JSON");
        }
        yyjson_val *root = yyjson_doc_get_root(doc);
        now = (size_t)json_i64_at(root, "metadata.remainingItemCount", -1) + 1;
        revision = strtoull(json_str_at(root, "metadata.resourceVersion").p, NULL, 10);
        last = now != before ? measure_now() : last;
        (void)poll(NULL, 0, 50);
    } while (measure_now() - last < 1000000000);
    printf("events: %zu, the last %.1f s after the last end; %zu writes in all, %zu of statuses of "
           "queues and of what was set up\n",
           now, (double)(last - d->end) / 1e9, revision, revision - now - 3 * plan.n_items);
    buf_release(&b);
    arena_release(&a);
}

static bool verify(const struct drive *d) {
    static const char json[] = "application/json";
    double s, rows_s;
    size_t done = list("/apis/kueue.x-k8s.io/v1beta2/workloads", json, is_finished, &s), idle = 0;
    size_t rows = list("/apis/kueue.x-k8s.io/v1beta2/workloads",
                       "application/json;as=Table;v=v1;g=meta.k8s.io", NULL, &rows_s);
    printf("afterwards: the list of %zu workloads takes %.2f s in pages of %d, as a table %.2f s\n",
           rows, s, PAGE, rows_s);
    int64_t start = measure_now();
    do {
        idle = list("/apis/kueue.x-k8s.io/v1beta2/clusterqueues", json, is_idle_queue, &s);
        (void)poll(NULL, 0, idle < plan.n_queues ? 100 : 0);
    } while (idle < plan.n_queues && measure_now() - start < (int64_t)COUNTERS_S * 1000000000);
    printf("verified: %zu of %zu workloads are Finished; %zu of %zu ClusterQueues count nothing "
           "(after %.1f s); "
           "%zu times beyond a quota\n",
           done, plan.n_items, idle, plan.n_queues, (double)(measure_now() - start) / 1e9,
           d->beyond_quota);
    return done == plan.n_items && idle == plan.n_queues && d->beyond_quota == 0;
}

/* ---- the run ---- */

static double own_cpu(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void times(const char *what, int64_t *v, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)v[i];
    }
    printf("  %-28s %7zu %10.1f %10.1f %10.1f\n", what, n, n ? sum / (double)n / 1e6 : 0,
           (double)measure_percentile(v, n, 0.5) / 1e6,
           (double)measure_percentile(v, n, 0.99) / 1e6);
}

static void report(const struct drive *d) {
    int64_t *v = calloc(plan.n_items, sizeof(*v));
    printf("\n  %-28s %7s %10s %10s %10s   (ms)\n", "", "", "average", "p50", "p99");
    for (size_t c = 0; v && c < plan.n_classes; c++) {
        char what[PLAN_NAME + 32];
        size_t n = 0;
        for (size_t i = 0; i < plan.n_items; i++) {
            if (plan.items[i].class == c) {
                v[n++] = d->admit_ns[i];
            }
        }
        snprintf(what, sizeof(what), "to admission: %s", plan.classes[c].name);
        times(what, v, n);
    }
    times("create, to the answer", d->create_ns, plan.n_items);
    times("finish, to the answer", d->finish_ns, plan.n_items);
    free(v);
}

static bool run(struct drive *d, double floor) {
    up_folder();
    up_start("--no-node", NULL);
    double idle = up_rss_mib(), setup = set_up();
    double server = up_cpu_ns(up.pid), own = own_cpu(), before = up_rss_mib();
    d->tls = up.tls;
    d->port = up.port;
    if (drive_run(d) != 0) {
        up_die("the load did not end");
    }
    double all = (double)(d->end - d->start) / 1e9;
    server = (up_cpu_ns(up.pid) - server) / 1e9;
    double rss = up_rss_mib(), n = (double)plan.n_items;
    printf("set up: %zu ClusterQueues, Namespaces and LocalQueues, %zu Cohorts: %.2f s\n",
           plan.n_queues, plan.n_cohorts, setup);
    printf("%zu workloads: %.2f s from the first create to the last end seen (%.0f/s), with the "
           "set-up %.2f s\n",
           plan.n_items, all, n / all, all + setup);
    printf("  creates took %.2f s; %zu events, %zu conflicts, %zu evictions\n",
           (double)(d->created - d->start) / 1e9, d->events, d->conflicts, d->evictions);
    printf("  CPU: server %.2f s (%.0f us a workload), this client %.2f s; memory %.1f MiB idle, "
           "%.1f before, "
           "%.1f after (%.1f KiB a workload)\n",
           server, server / n * 1e6, own_cpu() - own, idle, before, rss, (rss - before) * 1024 / n);
    if (floor > 0) {
        printf("  %.2f x the floor\n", all / floor);
    }
    report(d);
    await_events(d);
    bool good = verify(d);
    up_stop();
    return good;
}

static bool option(int *argc, char ***argv, const char *name) {
    if (*argc < 2 || strcmp((*argv)[1], name) != 0) {
        return false;
    }
    --*argc;
    ++*argv;
    return true;
}

int main(int argc, char **argv) {
    struct drive d = {.plan = &plan, .interval_scale = 1, .stall_s = 30};
    bool with_floor = true, more = true;
    while (more) {
        const char *v = argc > 2 ? argv[2] : "";
        more = false;
        if (option(&argc, &argv, "--no-floor")) {
            with_floor = false;
            more = true;
            continue;
        }
        double *into = option(&argc, &argv, "--runtime")    ? &d.runtime_scale
                       : option(&argc, &argv, "--interval") ? &d.interval_scale
                                                            : NULL;
        bool conns = into == NULL && option(&argc, &argv, "--connections");
        if (into) {
            *into = strtod(v, NULL);
        } else if (conns) {
            connections = strtoul(v, NULL, 10);
        }
        if (into || conns) {
            argc--;
            argv++;
            more = true;
        }
    }
    if (argc != 3 || connections < 4 || plan_read(argv[2], &plan) != 0) {
        fprintf(
            stderr,
            "usage: bench-load [--runtime SCALE] [--interval SCALE] [--connections N] [--no-floor] "
            "BERTH FILE\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    up.who = "bench-load";
    up.berth = argv[1];
    d.connections = connections;
    printf("%s: %zu workloads in %zu queues of %zu cohorts; run times x %g, intervals x %g, %zu "
           "connections%s\n",
           argv[2], plan.n_items, plan.n_queues, plan.n_cohorts, d.runtime_scale, d.interval_scale,
           connections, plan.topology ? "; without its topology" : "");
    fflush(stdout);
    double floor = with_floor ? floor_seconds() : 0;
    return run(&d, floor) ? 0 : 1;
}
