/*
 * queues: what it costs to create queues beside those that are there: N ClusterQueues, each with a LocalQueue and a
 * Workload, one after the other, with the queue controller at work in between; and how that grows.
 *
 *     bench-queues [N...]
 *
 * Times are the thread's own, of the controller and of the world in memory that it lives in.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/test.h"
#include "control/queue/queue_controller.h"
#include "control/test/fake_world.h"

#define V2 "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\","

static double thread_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void put(struct fake_world *w, size_t i, size_t per_cohort) {
    char json[1024], cohort[48] = "";
    if (per_cohort > 0) {
        snprintf(cohort, sizeof(cohort), "\"cohortName\":\"c%zu\",", i / per_cohort);
    }
    snprintf(json, sizeof(json),
             V2 "\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"q%zu\"},\"spec\":{%s"
                "\"namespaceSelector\":{},\"resourceGroups\":[{\"coveredResources\":[\"cpu\"],"
                "\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":"
                "\"4\"}]}]}]}}",
             i, cohort);
    fake_world_put(w, json);
    snprintf(json, sizeof(json),
             V2 "\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"q%zu\",\"namespace\":"
                "\"default\"},\"spec\":{\"clusterQueue\":\"q%zu\"}}",
             i, i);
    fake_world_put(w, json);
    snprintf(json, sizeof(json),
             V2 "\"kind\":\"Workload\",\"metadata\":{\"name\":\"w%zu\",\"namespace\":\"default\"},"
                "\"spec\":{\"queueName\":\"q%zu\",\"active\":true,\"podSets\":[{\"name\":\"main\","
                "\"count\":1,\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":"
                "\"i\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}}]}}",
             i, i);
    fake_world_put(w, json);
    fake_world_run(w, 2 * NS_PER_MS);
}

static double create(size_t n, size_t per_cohort) {
    struct fake_world w;
    struct err err = {0};
    fake_world_init(&w);
    fake_world_put(&w, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":"
                       "\"default\"}}");
    fake_world_put(&w, V2 "\"kind\":\"ResourceFlavor\",\"metadata\":{\"name\":\"f\"},\"spec\":{}}");
    struct queue_controller *q = queue_controller_new(&w.env, &err);
    assert_non_null(q);
    fake_world_run(&w, NS_PER_SEC);
    double begun = thread_now();
    for (size_t i = 0; i < n; i++) {
        put(&w, i, per_cohort);
    }
    double spent = thread_now() - begun;
    queue_controller_free(q);
    fake_world_release(&w);
    return spent;
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        size_t per_cohort;
    } shapes[] = {{"no cohorts", 0}, {"ten in a cohort", 10}, {"all in one cohort", SIZE_MAX}};
    static const char *const standard[] = {"1000", "4000", "10000"};
    size_t sizes = argc > 1 ? (size_t)argc - 1 : 3;
    const char *const *size = argc > 1 ? (const char *const *)argv + 1 : standard;
    for (size_t k = 0; k < sizeof(shapes) / sizeof(*shapes); k++) {
        double first = 0, last = 0, from = 0, to = 0;
        printf("%-18s", shapes[k].name);
        for (size_t i = 0; i < sizes; i++) {
            to = strtod(size[i], NULL);
            last = create((size_t)to, shapes[k].per_cohort);
            first = i == 0 ? last : first;
            from = i == 0 ? to : from;
            printf("  %6.0f: %7.2f s", to, last);
            fflush(stdout);
        }
        printf("  exponent %.2f\n", to > from ? log(last / first) / log(to / from) : NAN);
    }
    return 0;
}
