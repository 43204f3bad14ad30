/*
 * bench-kube: the floor of a load under `berth operate`: what an API server needs for the writes alone.
 *
 *     bench-kube [--kubeconfig FILE] [--workloads N] [--in-flight N] [--watches N]
 *
 * Each Workload is created, admitted (a merge patch of its status) and finished (an apply patch of it), as a load
 * runner and a scheduler do, with nobody deciding anything and so many watches reading along. The API server needs
 * Kueue's CustomResourceDefinitions (berth manifests crds). Everything is made in a namespace of its own, which is
 * deleted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "kube/client.h"
#include "measure.h"

#define NS "berth-bench-kube"
#define WORKLOADS "/apis/kueue.x-k8s.io/v1beta2/namespaces/" NS "/workloads"
enum { BODY = 2048, PATH = 256, STEPS = 3, WATCHES_MAX = 16 };

static struct {
    struct loop *loop;
    struct kube_client *client;
    size_t n, in_flight, watches, begun, ended, cut;
    uint64_t watched; /* bytes */
    int64_t *took[STEPS];
} bench = {.n = 3000, .in_flight = 32, .watches = 2};

struct one {
    size_t i;
    int step;
    int64_t at;
};

static void die(const char *what, const struct err *err) {
    fprintf(stderr, "bench-kube: %s: %s\n", what, err->text);
    exit(1);
}

static void next(struct one *o);

static void begin(void) {
    if (bench.begun < bench.n) {
        struct one *o = calloc(1, sizeof(*o));
        if (o == NULL) {
            abort();
        }
        o->i = bench.begun++;
        next(o);
    }
}

static void answered(void *ctx, const struct kube_reply *r) {
    struct one *o = ctx;
    if (r->code != 0) {
        die("a write", &r->err);
    }
    bench.took[o->step][o->i] = measure_now() - o->at;
    if (++o->step < STEPS) {
        next(o);
        return;
    }
    free(o);
    begin();
    if (++bench.ended == bench.n) {
        loop_stop(bench.loop);
    }
}

#define CONDITION(type, reason)                                                                    \
    "{\"type\":\"" type "\",\"status\":\"True\",\"reason\":\"" reason                              \
    "\",\"message\":\"Quota reserved in ClusterQueue cohort-1-cq-1\","                             \
    "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}"

/* What step o is at asks for; the path's query says who. */
static struct kube_request request_of(const struct one *o, char *path, char *body) {
    struct kube_request r = {.method = "PATCH", .done = answered};
    switch (o->step) {
    case 0:
        r.method = "POST";
        snprintf(path, PATH, WORKLOADS "?fieldManager=runner");
        snprintf(
            body, BODY,
            "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":"
            "{\"name\":\"w%zu\",\"labels\":{\"class\":\"small\"}},\"spec\":{\"queueName\":\"lq\","
            "\"priority\":50,\"podSets\":[{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":"
            "{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\","
            "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}}]}}",
            o->i);
        break;
    case 1:
        r.content_type = "application/merge-patch+json";
        snprintf(path, PATH, WORKLOADS "/w%zu/status?fieldManager=scheduler", o->i);
        snprintf(
            body, BODY,
            "{\"status\":{\"conditions\":[" CONDITION(
                "QuotaReserved",
                "QuotaReserved") "," CONDITION("Admitted",
                                               "Admitted") "],\"admission\":{\"clusterQueue\":"
                                                           "\"cq\","
                                                           "\"podSetAssignments\":[{\"name\":"
                                                           "\"main\",\"count\":1,\"flavors\":"
                                                           "{\"cpu\":\"rf\"},\"resourceUsage\":{"
                                                           "\"cpu\":\"1\"}}]}}}");
        break;
    default:
        r.content_type = "application/apply-patch+yaml";
        snprintf(path, PATH, WORKLOADS "/w%zu/status?fieldManager=runner&force=true", o->i);
        snprintf(body, BODY,
                 "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":"
                 "{\"name\":\"w%zu\"},\"status\":{\"conditions\":[" CONDITION("Finished",
                                                                              "ByTest") "]}}",
                 o->i);
    }
    r.path = str_of(path);
    r.body = str_of(body);
    return r;
}

static void next(struct one *o) {
    char body[BODY], path[PATH];
    struct err err = {0};
    struct kube_call *call;
    struct kube_request r = request_of(o, path, body);
    r.ctx = o;
    o->at = measure_now();
    if (kube_send(bench.client, &r, &call, &err) != 0) {
        die("a write", &err);
    }
}

static bool seen(void *ctx, struct str bytes) {
    bench.watched += bytes.n;
    return true;
}

static void watch(void);

/* A server that is short of processors ends the watches that it could not serve in time. */
static void watch_ended(void *ctx, const struct kube_reply *r) {
    if (r->code != 0) {
        die("a watch", &r->err);
    }
    bench.cut++;
    watch();
}

static void watch(void) {
    struct kube_call *call;
    struct err err = {0};
    struct kube_request r = {.method = "GET",
                             .path = STR("/apis/kueue.x-k8s.io/v1beta2/workloads?watch=true"),
                             .timeout_ms = -1,
                             .data = seen,
                             .done = watch_ended};
    if (kube_send(bench.client, &r, &call, &err) != 0) {
        die("a watch", &err);
    }
}

static void set_up(const char *kubeconfig) {
    struct err err = {0};
    struct buf answer;
    buf_init(&answer, 1 << 20);
    bench.loop = loop_new(&err);
    bench.client =
        bench.loop ? kube_client_new(bench.loop, kubeconfig, NULL, "bench-kube", &err) : NULL;
    if (bench.client == NULL ||
        kube_wait(bench.client, "POST", STR("/api/v1/namespaces"),
                  STR("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"" NS
                      "\"}}"),
                  NULL, &answer, &err) != 0) {
        die("namespace " NS, &err);
    }
    buf_release(&answer);
    for (int s = 0; s < STEPS; s++) {
        bench.took[s] = calloc(bench.n, sizeof(int64_t));
        if (bench.took[s] == NULL) {
            abort();
        }
    }
}

static void tear_down(void) {
    struct err err = {0};
    struct buf answer;
    buf_init(&answer, 8 << 20);
    (void)kube_wait(bench.client, "DELETE", STR(WORKLOADS), STR(""), NULL, &answer, &err);
    (void)kube_wait(bench.client, "DELETE", STR("/api/v1/namespaces/" NS), STR(""), NULL, &answer,
                    &err);
    buf_release(&answer);
    kube_client_free(bench.client);
    loop_free(bench.loop);
}

static void report(double seconds) {
    static const char *const names[STEPS] = {"create", "admit", "finish"};
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    printf("%-8s %10s %10s\n", "write", "p50 ms", "p99 ms");
    for (int s = 0; s < STEPS; s++) {
        printf("%-8s %10.1f %10.1f\n", names[s],
               (double)measure_percentile(bench.took[s], bench.n, 0.5) / 1e6,
               (double)measure_percentile(bench.took[s], bench.n, 0.99) / 1e6);
        free(bench.took[s]);
    }
    printf(
        "%zu workloads in %.1f s: %.0f writes/s; 15,000 would take %.0f s with nobody deciding\n",
        bench.n, seconds, STEPS * (double)bench.n / seconds, 15000 * seconds / (double)bench.n);
    printf("%.1f MB watched, %zu watches cut off, own processor time %.1f s\n",
           (double)bench.watched / 1e6, bench.cut,
           (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec +
               (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6);
}

int main(int argc, char **argv) {
    const char *kubeconfig = NULL;
    for (int i = 1; i + 1 < argc; i += 2) {
        size_t n = strtoul(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--kubeconfig") == 0) {
            kubeconfig = argv[i + 1];
        } else if (strcmp(argv[i], "--workloads") == 0 && n > 0) {
            bench.n = n;
        } else if (strcmp(argv[i], "--in-flight") == 0 && n > 0) {
            bench.in_flight = n;
        } else if (strcmp(argv[i], "--watches") == 0 && n <= WATCHES_MAX) {
            bench.watches = n;
        } else {
            fprintf(stderr, "usage: bench-kube [--kubeconfig FILE] [--workloads N] [--in-flight N] "
                            "[--watches N]\n");
            return 2;
        }
    }
    set_up(kubeconfig);
    for (size_t i = 0; i < bench.watches; i++) {
        watch();
    }
    int64_t start = measure_now();
    for (size_t i = 0; i < bench.in_flight; i++) {
        begin();
    }
    loop_run(bench.loop);
    report((double)(measure_now() - start) / 1e9);
    tear_down();
    return 0;
}
