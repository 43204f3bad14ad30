/* Tests of whole verbs: what is printed, what is asked, and the exit codes. */
#include "base/test.h"

#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/kit/bed.h"

#define KUEUE "/apis/kueue.x-k8s.io/v1beta2"

static const char workloads[] =
    "{\"items\":[{\"metadata\":{\"namespace\":\"x\",\"name\":\"job-eval-1\",\"creationTimestamp\":"
    "\"2020-01-02T00:00:00Z\",\"ownerReferences\":[{\"kind\":\"Job\",\"name\":\"eval\","
    "\"controller\":true}]},\"spec\":{\"queueName\":\"lq\"},\"status\":{\"conditions\":[{\"type\":"
    "\"QuotaReserved\",\"status\":\"False\",\"message\":\"no quota left\"}]}},"
    "{\"metadata\":{\"namespace\":\"y\",\"name\":\"other\",\"creationTimestamp\":"
    "\"2020-01-01T00:00:00Z\"},\"spec\":{\"queueName\":\"lq\"}}]}";
static const char local_queues[] =
    "{\"items\":[{\"metadata\":{\"namespace\":\"x\",\"name\":\"lq\"},\"spec\":{\"clusterQueue\":"
    "\"cq\"}},{\"metadata\":{\"namespace\":\"y\",\"name\":\"lq\"},\"spec\":{\"clusterQueue\":"
    "\"cq\"}}]}";

static void test_queue(void **state) {
    static const struct route routes[] = {
        {"GET " KUEUE "/workloads", 200, workloads},
        {"GET " KUEUE "/localqueues", 200, local_queues},
    };
    bed_start(routes, 2);
    assert_int_equal(RUN("queue"), CLI_OK);
    struct str got = buf_view(&bed.out), head, line;
    str_cut(got, '\n', &head, &line);
    assert_str_eq(head, STR("JOB    QUEUE   POSITION   STATE     AGE     STARTS   WAITS FOR"));
    assert_true(str_starts(line, STR("eval   lq      2          waiting   ")));
    assert_true(str_ends(line, STR("   no quota left\n")));
    assert_int_equal(RUN("queue", "-A", "-o", "name"), CLI_OK);
    assert_str_eq(buf_view(&bed.out), STR("workload.kueue.x-k8s.io/other\n"
                                          "workload.kueue.x-k8s.io/job-eval-1\n"));
    assert_int_equal(RUN("queue", "none"), CLI_NOT_FOUND);
    assert_int_equal(RUN("queue", "lq", "-A"), CLI_OK);
    assert_int_equal(RUN("queue", "none", "-A"), CLI_NOT_FOUND);
    assert_true(str_contains(buf_view(&bed.told), STR("no project has a queue \"none\"")));
    bed_stop();
}

static bool told(const char *text) {
    return str_contains(buf_view(&bed.told), str_of(text));
}

/* In all projects a name may be a ClusterQueue's; one that is nobody's is told, with those that are like it. */
static void test_queue_everywhere(void **state) {
    static const struct route routes[] = {
        {"GET " KUEUE "/workloads", 200, workloads},
        {"GET " KUEUE "/localqueues", 200, local_queues},
        {"GET " KUEUE "/namespaces/x/localqueues", 200, local_queues},
        {"GET " KUEUE "/namespaces/x/localqueues/lk", 404, "{}"},
        {"GET " KUEUE "/clusterqueues", 200,
         "{\"items\":[{\"metadata\":{\"name\":\"cq\"}},{\"metadata\":{\"name\":\"idle-one\"}}]}"},
        {"GET /api/v1/namespaces/x", 200, "{}"},
    };
    bed_start(routes, 6);
    assert_int_equal(RUN("queue", "cq", "-A", "-o", "name"), CLI_OK);
    assert_str_eq(buf_view(&bed.out), STR("workload.kueue.x-k8s.io/other\n"
                                          "workload.kueue.x-k8s.io/job-eval-1\n"));
    assert_int_equal(RUN("queue", "idle-one", "-A"), CLI_OK);
    assert_true(told("nothing waits or runs\n"));
    assert_int_equal(RUN("queue", "idleone", "-A", "-o", "json"), CLI_NOT_FOUND);
    assert_true(told("no project has a queue \"idleone\", and there is no ClusterQueue of that "
                     "name; did you mean idle-one?\n"));
    assert_int_equal(RUN("queue", "lk"), CLI_NOT_FOUND);
    assert_true(told("project \"x\" has no queue \"lk\"; did you mean lq?\n"));
    assert_int_equal(RUN("queue", "why", "-A", "eval"), CLI_USAGE);
    bed_stop();
}

/* Whose project there is not gets no empty answer; who may not look whether there is, does. */
static void test_no_project(void **state) {
    static const struct route routes[] = {
        {"GET " KUEUE "/workloads", 200, "{\"items\":[]}"},
        {"GET " KUEUE "/localqueues", 200, "{\"items\":[]}"},
        {"GET " KUEUE "/namespaces/x/workloads", 200, "{\"items\":[]}"},
        {"GET " KUEUE "/namespaces/x/localqueues", 200, "{\"items\":[]}"},
        {"GET " KUEUE "/namespaces/x/localqueues/q", 404, "{}"},
        {"GET /apis/berth.dev/v1alpha1/namespaces/x/reservations", 200, "{\"items\":[]}"},
        {"GET /api/v1/namespaces/x", 403, "{}"},
    };
    static const char *const lines[][4] = {
        {"queue"},
        {"queue", "-o", "json"},
        {"queue", "q"},
        {"queue", "why", "j"},
        {"logs", "j"},
        {"logs", "pod/p"},
        {"cancel", "j"},
        {"bookings"},
        {"bookings", "-o", "yaml"},
        {"bookings", "b"},
    };
    bed_start(routes, 6); /* without the last one: then it is not found */
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        assert_int_equal(RUN(lines[i][0], lines[i][1], lines[i][2]), CLI_NOT_FOUND);
        assert_true(told("there is no project \"x\"\n"));
        assert_int_equal(bed.out.n, 0);
    }
    bed_stop();
    bed_start(routes, 7);
    assert_int_equal(RUN("queue"), CLI_OK);
    assert_true(told("nothing waits or runs in project \"x\""));
    assert_int_equal(RUN("bookings", "-o", "json"), CLI_OK);
    assert_int_equal(RUN("queue", "why", "j"), CLI_NOT_FOUND);
    assert_true(told("project \"x\" has no job or workload \"j\"\n"));
    bed_stop();
}

/* Two of the same moment: their queue knows which is first. */
static void test_queue_order(void **state) {
    static const struct route routes[] = {
        {"GET " KUEUE "/workloads", 200,
         "{\"items\":[{\"metadata\":{\"namespace\":\"x\",\"name\":\"a\",\"uid\":\"u1\"},\"spec\":{"
         "\"queueName\":\"lq\"}},{\"metadata\":{\"namespace\":\"x\",\"name\":\"b\",\"uid\":\"u2\"},"
         "\"spec\":{\"queueName\":\"lq\"}},{\"metadata\":{\"namespace\":\"x\",\"name\":\"c\","
         "\"uid\":"
         "\"u3\"},\"spec\":{\"queueName\":\"lq\"}}]}"},
        {"GET " KUEUE "/localqueues", 200, local_queues},
        {"GET /apis/berth.dev/v1alpha1/namespaces/x/workloadexplanations", 200,
         "{\"items\":[{\"metadata\":{\"uid\":\"u1\"},\"status\":{\"position\":{\"clusterQueue\":2}}"
         "},"
         "{\"metadata\":{\"uid\":\"u3\"},\"status\":{\"position\":{\"clusterQueue\":1}}}]}"},
    };
    bed_start(routes, 3);
    assert_int_equal(RUN("queue"), CLI_OK);
    struct str got = buf_view(&bed.out), line;
    static const char *const begins[] = {"JOB ", "c     lq      1 ", "a     lq      2 ", "b "};
    for (size_t i = 0; i < 4; i++) { /* the one that nobody knows about is last */
        assert_true(str_next(&got, '\n', &line));
        assert_true(str_starts(line, str_of(begins[i])));
    }
    bed_stop();
}

#define WHY "/apis/berth.dev/v1alpha1"
#define EXPLANATION                                                                                \
    "{\"metadata\":{\"name\":\"job-eval-1\",\"uid\":\"u1\"},\"status\":{\"job\":\"eval\","         \
    "\"state\":\"Waiting\",\"summary\":\"2 gpu missing\",\"text\":\"Waits for: 2 gpu missing\\n"   \
    "Lacks:\\u001b\\n\",\"position\":{\"clusterQueue\":7},\"estimate\":{\"text\":\"in 5m "         \
    "to 20m (observed run times)\"}}}"

static void test_queue_why(void **state) {
    static const struct route routes[] = {
        {"GET " KUEUE "/workloads", 200,
         "{\"items\":[{\"metadata\":{\"namespace\":\"x\",\"name\":\"job-eval-1\",\"uid\":\"u1\"},"
         "\"spec\":{\"queueName\":\"lq\"}}]}"},
        {"GET " KUEUE "/namespaces/x/workloads", 200,
         "{\"items\":[{\"metadata\":{\"name\":\"job-eval-1\",\"ownerReferences\":[{\"name\":"
         "\"eval\",\"controller\":true}]}}]}"},
        {"GET " KUEUE "/localqueues", 200, local_queues},
        {"GET " WHY "/namespaces/x/workloadexplanations", 200, "{\"items\":[" EXPLANATION "]}"},
        {"GET " WHY "/namespaces/x/workloadexplanations/eval", 404,
         "{\"kind\":\"Status\",\"code\":404,\"reason\":\"NotFound\"}"},
        {"GET " WHY "/namespaces/x/workloadexplanations/nope", 404,
         "{\"kind\":\"Status\",\"code\":404,\"reason\":\"NotFound\"}"},
        {"GET " WHY "/namespaces/x/workloadexplanations/job-eval-1", 200, EXPLANATION},
        {"GET " WHY "/namespaces/x/workloadexplanations/loose", 404,
         "{\"kind\":\"Status\",\"code\":404,\"reason\":\"NotFound\"}"},
        {"GET " WHY "/namespaces/x/workloadexplanations/stuck", 404,
         "{\"kind\":\"Status\",\"code\":404,\"reason\":\"NotFound\"}"},
        {"GET /apis/batch/v1/namespaces/x/jobs/loose", 200, "{\"metadata\":{\"name\":\"loose\"}}"},
        {"GET /apis/batch/v1/namespaces/x/jobs/stuck", 200,
         "{\"metadata\":{\"name\":\"stuck\",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"lq\"}}}"},
        {"GET /api/v1/namespaces/x/events?fieldSelector=", 200,
         "{\"items\":[{\"lastTimestamp\":\"2020-01-01T00:00:01Z\",\"message\":\"no class\"},"
         "{\"lastTimestamp\":\"2020-01-01T00:00:00Z\",\"message\":\"older\"}]}"},
        {"GET /api/v1/namespaces/x", 200, "{}"},
    };
    bed_start(routes, 13);
    assert_int_equal(RUN("queue"), CLI_OK); /* the table has what the server worked out */
    assert_true(str_contains(buf_view(&bed.out), STR("   7          waiting   ")));
    assert_true(str_contains(buf_view(&bed.out), STR("   in 5m to 20m   2 gpu missing\n")));
    const char *const whole = "eval (workload job-eval-1): Waiting, since <unknown>\n"
                              "Waits for: 2 gpu missing\nLacks:?\n";
    assert_int_equal(RUN("queue", "why", "eval"), CLI_OK);
    assert_str_eq(buf_view(&bed.out), str_of(whole));
    assert_int_equal(RUN("queue", "eval"), CLI_OK); /* no queue of that name, but a job */
    assert_str_eq(buf_view(&bed.out), str_of(whole));
    assert_int_equal(RUN("queue", "why", "job-eval-1", "-o", "name"), CLI_OK);
    assert_int_equal(RUN("queue", "why", "nope"), CLI_NOT_FOUND);
    assert_true(
        str_contains(buf_view(&bed.told), STR("project \"x\" has no job or workload \"nope\"")));
    assert_int_equal(RUN("queue", "why", "loose"), CLI_NOT_FOUND);
    assert_true(str_contains(buf_view(&bed.told), STR("job \"loose\" waits in no queue")));
    assert_int_equal(RUN("queue", "why", "stuck"), CLI_NOT_FOUND);
    assert_true(
        str_contains(buf_view(&bed.told),
                     STR("job \"stuck\" names queue \"lq\" and has no workload: no class\n")));
    assert_int_equal(RUN("queue", "why"), CLI_USAGE);
    assert_int_equal(RUN("queue", "a", "b"), CLI_USAGE);
    bed_stop();
}

static void test_queue_preview(void **state) {
    static const struct route routes[] = {
        {"POST " WHY "/queuepreviews", 201,
         "{\"status\":{\"admitted\":[{\"namespace\":\"x\",\"name\":\"w\",\"clusterQueue\":\"cq\","
         "\"priority\":3}],\"evicted\":[{\"priority\":0,\"reason\":\"its ClusterQueue is "
         "drained\"}],\"admittedCount\":1,\"evictedCount\":1,\"waitingCount\":4,"
         "\"suggestions\":[{\"message\":\"raise it\"}],\"notes\":[\"n1\"]}}"},
    };
    char file[] = "/tmp/verbs-test-XXXXXX";
    static const char text[] = "kind: LocalQueue\nmetadata: {name: a}\n---\nkind: List\nitems:\n"
                               "- {kind: Cohort}\n- {kind: ClusterQueue}\n";
    int fd = mkstemp(file);
    assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
    close(fd);
    bed_start(routes, 1);
    assert_int_equal(RUN("queue", "preview", "-f", file, "--delete", "rf/old"), CLI_OK);
    assert_str_eq(buf_view(&bed.out),
                  STR("WOULD BE   PROJECT   WORKLOAD           CLUSTER QUEUE   PRIORITY   REASON\n"
                      "admitted   x         w                  cq              3          -\n"
                      "evicted    -         (another team's)   -               0          its "
                      "ClusterQueue is drained\n"));
    assert_true(
        str_contains(buf_view(&bed.told),
                     STR("1 would be admitted, 1 evicted, 4 wait; nothing was written\n"
                         "suggestion: raise it: then it borrows no more for what waits, and takes "
                         "back what is its own\nnote: n1\n")));
    assert_true(str_contains(
        buf_view(&bed.seen),
        STR("\"objects\":[{\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"a\",\"namespace\":"
            "\"x\"}},{\"kind\":\"Cohort\"},{\"kind\":\"ClusterQueue\"}],\"deletions\":[{\"kind\":"
            "\"ResourceFlavor\",\"name\":\"old\"}]")));
    assert_int_equal(RUN("queue", "preview"), CLI_USAGE);
    assert_int_equal(RUN("queue", "preview", "--delete", "pod/x"), CLI_USAGE);
    assert_int_equal(RUN("queue", "preview", "-f", "/nonexistent"), CLI_NOT_FOUND);
    assert_true(str_contains(buf_view(&bed.told), STR("berth queue: /nonexistent: No such file")));
    assert_int_equal(RUN("queue", "preview", "-f", "/dev/null"), CLI_FAILED);
    assert_true(str_contains(buf_view(&bed.told), STR("/dev/null: there is no object in it")));
    assert_int_equal(RUN("queue", "-f", file), CLI_USAGE);
    bed_stop();
    unlink(file);
}

static void test_queue_of_one_project(void **state) {
    static const struct route routes[] = {
        {"GET " KUEUE "/workloads", 403, "{}"},
        {"GET " KUEUE "/namespaces/x/workloads", 200, workloads},
        {"GET " KUEUE "/namespaces/x/localqueues", 200, local_queues},
    };
    bed_start(routes, 3);
    assert_int_equal(RUN("queue"), CLI_OK);
    assert_true(str_contains(buf_view(&bed.out), STR("eval   lq      2+         waiting")));
    assert_int_equal(RUN("queue", "-A"), CLI_FORBIDDEN);
    bed_stop();
}

#define JOB(conditions)                                                                            \
    "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j1\",\"uid\":\"u\"},"  \
    "\"spec\":{},\"status\":{\"conditions\":[" conditions "]}}"
#define JOBS "/apis/batch/v1/namespaces/x/jobs"
#define PODS                                                                                       \
    "{\"items\":[{\"metadata\":{\"name\":\"j1-b\",\"creationTimestamp\":\"2\"},\"status\":{"       \
    "\"phase\":\"Succeeded\"}},{\"metadata\":{\"name\":\"j1-a\",\"creationTimestamp\":\"1\"}}]}"

#define PROJECT                                                                                    \
    { "GET /api/v1/namespaces/x", 200, "{}" }
#define QUEUE                                                                                      \
    { "GET " KUEUE "/namespaces/x/localqueues/default", 200, "{}" }

static void test_submit(void **state) {
    static const struct route routes[] = {{"POST " JOBS, 201, JOB("")}, PROJECT, QUEUE};
    bed_start(routes, 3);
    assert_int_equal(RUN("submit", "--gpus", "1", "--", "true"), CLI_OK);
    assert_str_eq(buf_view(&bed.out), STR("job/j1 submitted\n"));
    assert_true(str_contains(buf_view(&bed.seen), STR("\"nvidia.com/gpu\":\"1\"")));
    assert_int_equal(RUN("submit", "-o", "name", "--", "true"), CLI_OK);
    assert_str_eq(buf_view(&bed.out), STR("job.batch/j1\n"));
    assert_int_equal(RUN("submit", "--gpus", "x", "--", "true"), CLI_USAGE);
    bed_stop();
}

static void submit_and_wait(const char *job, int code) {
    struct route routes[] = {
        PROJECT,
        QUEUE,
        {"POST " JOBS, 201, job},
        {"GET " JOBS "/j1", 200, job},
        {"GET /api/v1/namespaces/x/pods?labelSelector=batch.kubernetes.io%2Fjob-name%3Dj1", 200,
         PODS},
        {"GET /api/v1/namespaces/x/pods/j1-b/log?follow=true", 200, "hello\n"},
    };
    bed_start(routes, 6);
    assert_int_equal(RUN("submit", "--wait", "--", "true"), code);
    assert_str_eq(buf_view(&bed.out), STR("hello\n"));
    bed_stop();
}

static void test_submit_and_wait(void **state) {
    submit_and_wait(JOB("{\"type\":\"Complete\",\"status\":\"True\"}"), CLI_OK);
    submit_and_wait(JOB("{\"type\":\"Failed\",\"status\":\"True\",\"message\":\"exit code 1\"}"),
                    CLI_JOB_FAILED);
}

static void refused(const struct route *routes, size_t n, const char *const *words, int code,
                    const char *told) {
    bed_start(routes, n);
    assert_int_equal(bed_run(words), code);
    assert_true(str_contains(buf_view(&bed.told), str_of(told)));
    assert_false(str_contains(buf_view(&bed.seen), STR("POST")));
    bed_stop();
}

/* What would wait for ever is not submitted, and the answer says what there is. */
static void test_submit_refused(void **state) {
    static const struct route routes[] = {
        PROJECT,
        QUEUE,
        {"GET " KUEUE "/namespaces/x/localqueues", 200,
         "{\"items\":[{\"metadata\":{\"name\":\"default\"}},{\"metadata\":{\"name\":\"night\"}}]}"},
        {"GET " KUEUE "/namespaces/x/localqueues/none", 404, "{\"kind\":\"Status\",\"code\":404}"},
        {"GET /api/v1/nodes", 200,
         "{\"items\":[{\"status\":{\"allocatable\":{\"cpu\":\"2\",\"memory\":\"4Gi\","
         "\"nvidia.com/mig-1g.18gb\":\"7\","
         "\"nvidia.com/mig-1g.18gb.me\":\"1\"}}},{\"status\":{\"allocatable\":{"
         "\"nvidia.com/mig-1g.18gb\":\"7\"}}}]}"},
    };
    refused(NULL, 0, (const char *const[]){"submit", "--", "true", NULL}, CLI_NOT_FOUND,
            "there is no project \"x\"; `kubectl create namespace x` makes one");
    refused(routes, 5, (const char *const[]){"submit", "-q", "none", "--", "true", NULL},
            CLI_NOT_FOUND, "has no queue \"none\"; with --queue choose one of: default, night\n");
    refused(routes, 5, (const char *const[]){"submit", "-s", "1g.10gb", "--", "true", NULL},
            CLI_NOT_FOUND, "no GPU here has 1g.10gb; there are 1g.18gb, 1g.18gb.me\n");
    refused(routes, 5, (const char *const[]){"submit", "-g", "9", "--", "true", NULL},
            CLI_NOT_FOUND, "--gpus: no node has 9; the most on one is none\n");
    refused(routes, 5, (const char *const[]){"submit", "--cpu", "999", "--", "true", NULL},
            CLI_NOT_FOUND, "--cpu: no node has 999; the most on one is 2\n");
    refused(routes, 5, (const char *const[]){"submit", "--memory", "9TB", "--", "true", NULL},
            CLI_NOT_FOUND, "--memory: no node has 9TB; the most on one is 4Gi\n");
    refused(routes, 5, (const char *const[]){"submit", "-w", "-o", "json", "--", "true", NULL},
            CLI_USAGE, "--wait prints the job's log");
    bed_start(routes, 5); /* there is one; but the job's name is taken, as the table has no POST */
    assert_int_equal(RUN("submit", "-s", "1g.18gb+me", "--", "true"), CLI_NOT_FOUND);
    assert_true(str_contains(buf_view(&bed.seen), STR("POST")));
    bed_stop();
}

static void test_name_taken(void **state) {
    static const struct route routes[] = {
        PROJECT,
        QUEUE,
        {"POST " JOBS, 409,
         "{\"kind\":\"Status\",\"reason\":\"AlreadyExists\",\"message\":\"no\",\"code\":409}"}};
    bed_start(routes, 3);
    assert_int_equal(RUN("submit", "--name", "a", "--", "true"), CLI_FAILED);
    assert_true(
        str_contains(buf_view(&bed.told), STR("choose another --name, or `berth cancel a`")));
    bed_stop();
}

/* The end of a job that failed is told with what its process ended with. */
static void test_failure_told(void **state) {
    static const struct route routes[] = {
        PROJECT,
        QUEUE,
        {"POST " JOBS, 201, JOB("")},
        {"GET " JOBS "/j1", 200,
         JOB("{\"type\":\"Failed\",\"status\":\"True\",\"message\":\"backoff limit\"}")},
        {"GET /api/v1/namespaces/x/pods?labelSelector", 200,
         "{\"items\":[{\"metadata\":{\"name\":\"p\"},\"status\":{\"phase\":\"Failed\","
         "\"containerStatuses\":[{\"state\":{\"terminated\":{\"exitCode\":127,\"reason\":"
         "\"StartError\",\"message\":\"no such program\"}}}]}}]}"},
        {"GET /api/v1/namespaces/x/pods/p/log", 200, ""},
    };
    bed_start(routes, 6);
    assert_int_equal(RUN("submit", "--wait", "--", "true"), CLI_JOB_FAILED);
    assert_true(str_contains(
        buf_view(&bed.told),
        STR("job/j1 failed: exit status 127, StartError: no such program (backoff limit)\n")));
    bed_stop();
}

static void test_logs(void **state) {
    static const struct route routes[] = {
        {"GET " JOBS "/j1", 200, JOB("")},
        {"GET /api/v1/namespaces/x/pods?labelSelector", 200, PODS},
        {"GET /api/v1/namespaces/x/pods/j1-b/log?tailLines=5", 200, "newest\n"},
        {"GET /api/v1/namespaces/x/pods/p/log", 200, "of the pod\n"},
    };
    bed_start(routes, 4);
    assert_int_equal(RUN("logs", "--tail", "5", "j1"), CLI_OK);
    assert_str_eq(buf_view(&bed.out), STR("newest\n"));
    assert_int_equal(RUN("logs", "p"), CLI_OK); /* no such job: then a pod */
    assert_str_eq(buf_view(&bed.out), STR("of the pod\n"));
    assert_int_equal(RUN("logs", "pod/none"), CLI_NOT_FOUND);
    assert_int_equal(RUN("logs", "job/none"), CLI_NOT_FOUND);
    assert_int_equal(RUN("logs", "deployment/x"), CLI_USAGE);
    assert_int_equal(RUN("logs", "--tail", "x", "p"), CLI_USAGE);
    bed_stop();
}

static void test_cancel(void **state) {
    static const struct route routes[] = {{"DELETE " JOBS "/j1", 200, "{\"kind\":\"Status\"}"}};
    bed_start(routes, 1);
    assert_int_equal(RUN("cancel", "job/j1", "none"), CLI_NOT_FOUND);
    assert_str_eq(buf_view(&bed.out), STR("job/j1 cancelled\n"));
    assert_true(str_contains(buf_view(&bed.seen), STR("\"propagationPolicy\":\"Background\"")));
    bed_stop();
}

static void test_top(void **state) {
    static const struct route routes[] = {
        {"GET /api/v1/nodes", 200,
         "{\"items\":[{\"metadata\":{\"name\":\"n1\",\"annotations\":{\"berth.dev/gpus\":"
         "\"{\\\"simulated\\\":true,\\\"gpus\\\":[{\\\"index\\\":0,\\\"uuid\\\":\\\"GPU-1\\\","
         "\\\"model\\\":\\\"M\\\",\\\"memoryMiB\\\":1024,\\\"slices\\\":2,\\\"mig\\\":false,"
         "\\\"healthy\\\":true,\\\"pod\\\":\\\"u1\\\"}]}\"}}},{\"metadata\":{\"name\":\"n2\"}}]}"},
        {"GET /api/v1/pods", 200,
         "{\"items\":[{\"metadata\":{\"namespace\":\"x\",\"name\":\"p\",\"uid\":\"u1\"}}]}"},
    };
    bed_start(routes, 2);
    assert_int_equal(RUN("top"), CLI_OK);
    assert_str_eq(buf_view(&bed.out), STR("n1 (simulated)\n"
                                          "GPU 0  M  utilisation unknown\n"
                                          "  [aaaaaaaaaaaaa]\n"
                                          "    a  whole GPU     x/p\n"));
    assert_int_equal(RUN("top", "-o", "yaml"), CLI_OK);
    assert_true(str_contains(buf_view(&bed.out), STR("name: n1\n")));
    bed_stop();
}

/* A cluster: nodes that say nothing of their cards, a server without Fleet. */
static void test_top_of_a_cluster(void **state) {
    static const struct route routes[] = {
        {"GET /api/v1/nodes", 200,
         "{\"items\":[{\"metadata\":{\"name\":\"n1\",\"labels\":{\"nvidia.com/gpu.product\":"
         "\"NVIDIA-A100\"}},\"status\":{\"capacity\":{\"nvidia.com/gpu\":\"8\",\"cpu\":\"9\"},"
         "\"allocatable\":{\"nvidia.com/"
         "gpu\":\"7\"},\"conditions\":[{\"type\":\"Ready\",\"status\":"
         "\"True\"}]}},{\"metadata\":{\"name\":\"n2\",\"labels\":{\"nvidia.com/gpu.product\":"
         "\"NVIDIA-A100\"}},\"status\":{\"capacity\":{\"nvidia.com/gpu\":\"8\"},\"allocatable\":{"
         "\"nvidia.com/gpu\":\"8\"},\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\"}]}},"
         "{\"metadata\":{\"name\":\"n3\"},\"status\":{\"capacity\":{\"cpu\":\"4\"}}}]}"},
        {"GET /api/v1/pods", 200,
         "{\"items\":[{\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"resources\":{\"limits\":{"
         "\"nvidia.com/"
         "gpu\":\"2\"}}}]},\"status\":{\"phase\":\"Running\"}},{\"spec\":{\"nodeName\":"
         "\"n1\",\"containers\":[{\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"4\"}}}]},"
         "\"status\":{\"phase\":\"Succeeded\"}}]}"},
    };
    bed_start(routes, 2);
    assert_int_equal(RUN("top"), CLI_OK);
    assert_str_eq(buf_view(&bed.out),
                  STR("TYPE          WHAT   TOTAL   USED   RESERVED   FREE   WAITING   BROKEN\n"
                      "NVIDIA-A100   GPU    16      2      -          5      -         9\n"));
    assert_int_equal(RUN("top", "-o", "json"), CLI_OK);
    assert_true(str_contains(buf_view(&bed.out), STR("\"kind\": \"Fleet\"")));
    bed_stop();
    bed_start(routes, 1); /* who may not list pods does not know what is used */
    assert_int_equal(RUN("top"), CLI_OK);
    assert_true(str_contains(buf_view(&bed.out), STR("GPU    16      -      -          -      -")));
    bed_stop();
}

/* Who may not list nodes has it from Fleet. */
static void test_top_by_fleet(void **state) {
    static const struct route routes[] = {
        {"GET /api/v1/nodes", 403,
         "{\"kind\":\"Status\",\"message\":\"no\",\"reason\":\"Forbidden\",\"code\":403}"},
        {"GET /apis/berth.dev/v1alpha1/fleets/current", 200,
         "{\"kind\":\"Fleet\",\"types\":[{\"flavor\":\"h200\",\"resources\":[{\"resource\":"
         "\"nvidia.com/mig-4g.71gb\",\"total\":1,\"used\":0,\"reserved\":1,\"free\":0,"
         "\"waiting\":3,\"broken\":0}]}],\"cards\":[{\"node\":\"n1\",\"index\":0,\"model\":"
         "\"NVIDIA H200\",\"memoryGiB\":141,\"slices\":8,\"migEnabled\":true,\"health\":"
         "\"Healthy\",\"temperature\":41,\"instances\":[{\"profile\":\"4g.71gb\",\"start\":0,"
         "\"size\":4,\"used\":true},{\"profile\":\"2g.35gb\",\"start\":4,\"size\":2,\"used\":true,"
         "\"utilization\":7,\"namespace\":\"x\",\"pod\":\"p\"}]}],\"attention\":[{\"text\":"
         "\"a b\",\"namespace\":\"x\"}]}"},
    };
    bed_start(routes, 2);
    assert_int_equal(RUN("top", "-o", "wide"), CLI_OK);
    assert_str_eq(buf_view(&bed.out),
                  STR("n1\nGPU 0  NVIDIA H200  utilisation unknown  41 C\n"
                      "  [aaaaaaaaaaaaaaaaaaaaaaaaaaa|bbbbbbbbbbbbb|......|......]\n"
                      "    a  4g.71gb          ?   somebody else\n"
                      "    b  2g.35gb         7 %  x/p\n"
                      "\n"
                      "TYPE   WHAT      TOTAL   USED   RESERVED   FREE   WAITING   BROKEN\n"
                      "h200   4g.71gb   1       0      1          0      3         0\n"
                      "\n! a b, project x\n"));
    bed_stop();
    bed_start(routes, 1);
    assert_int_equal(RUN("top"), CLI_FORBIDDEN);
    bed_stop();
}

static void test_without_server(void **state) {
    bed_start(NULL, 0);
    assert_int_equal(RUN("queue", "--kubeconfig", "/nonexistent"), CLI_UNREACHABLE);
    assert_int_equal(RUN("nonsense"), CLI_USAGE);
    assert_int_equal(RUN("version"), CLI_OK);
    assert_str_eq(buf_view(&bed.out), STR("berth " BERTH_VERSION "\n"));
    assert_int_equal(RUN("completion", "zsh"), CLI_USAGE);
    FILE *f = fopen(getenv("KUBECONFIG"), "we");
    fputs("current-context: c\ncontexts: [{name: c, context: {cluster: k}}]\n"
          "clusters: [{name: k, cluster: {server: 'http://127.0.0.1:1'}}]\n",
          f);
    fclose(f);
    assert_int_equal(RUN("queue"), CLI_UNREACHABLE);
    bed_stop();
}

#define CARD(index, uuid, healthy, trouble)                                                        \
    "{\\\"index\\\":" index ",\\\"uuid\\\":\\\"" uuid                                              \
    "\\\",\\\"model\\\":\\\"NVIDIA H200\\\",\\\"slices\\\":8,"                                     \
    "\\\"mig\\\":true,\\\"healthy\\\":" healthy trouble "}"
#define GPU_NODE(name, notes, cards)                                                               \
    "{\"metadata\":{\"name\":\"" name "\",\"annotations\":{" notes "\"berth.dev/gpus\":"           \
    "\"{\\\"simulated\\\":false,\\\"gpus\\\":[" cards "]}\"}}}"

/* GPUs and their health, and the one that failed brought back by name, by number, by the beginning of its UUID. */
static void test_gpu(void **state) {
    static const struct route routes[] = {
        {"GET /api/v1/nodes", 200,
         "{\"items\":[" GPU_NODE(
             "n1", "",
             CARD("0", "GPU-aaaaaaaa-1", "true", "") "," CARD(
                 "1", "GPU-aaaaaaaa-2", "false",
                 ",\\\"trouble\\\":\\\"Xid 48: double-bit ECC error\\\"")) ",{\"metadata\":{"
                                                                           "\"name\":\"n2\"}}]}"},
        {"PATCH /api/v1/nodes/n1", 200, "{}"},
        {"GET /api/v1/nodes/n1", 200, GPU_NODE("n1", "\"berth.dev/clear-gpus\":\"x\",", "")},
        {"GET /api/v1/nodes/n1", 200, GPU_NODE("n1", "", ""), .after = 1},
    };
    static const char *const ids[] = {"n1/1", "GPU-aaaaaaaa-2"};

    bed_start(routes, 4);
    assert_int_equal(RUN("gpu", "list"), CLI_OK);
    assert_str_eq(buf_view(&bed.out),
                  STR("NODE   GPU   UUID             MODEL         MIG   STATE            TROUBLE\n"
                      "n1     0     GPU-aaaaaaaa-1   NVIDIA H200   on    in service       -\n"
                      "n1     1     GPU-aaaaaaaa-2   NVIDIA H200   on    out of service   Xid 48: "
                      "double-bit ECC error\n"));
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(RUN("gpu", "clear", ids[i]), CLI_OK);
        assert_str_eq(buf_view(&bed.out), STR("node/n1 cleared GPU-aaaaaaaa-2\n"));
        assert_true(str_contains(buf_view(&bed.seen), STR("PATCH /api/v1/nodes/n1 {\"metadata\":"
                                                          "{\"annotations\":{\"berth.dev/clear-"
                                                          "gpus\":\"GPU-aaaaaaaa-2\"}}}")));
    }
    assert_int_equal(RUN("gpu", "clear", "GPU-aaaaaaaa"), CLI_FAILED);
    assert_true(told("\"GPU-aaaaaaaa\" is more than one GPU"));
    assert_int_equal(RUN("gpu", "clear", "n1/0"), CLI_FAILED);
    assert_true(told("is in service: there is nothing to clear"));
    assert_int_equal(RUN("gpu", "clear", "n2/0"), CLI_NOT_FOUND);
    assert_int_equal(RUN("gpu", "clear"), CLI_USAGE);
    assert_int_equal(RUN("gpu", "mend"), CLI_USAGE);
    assert_int_equal(RUN("gpu", "list", "n1"), CLI_USAGE);
    bed_stop();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queue_order),
        cmocka_unit_test(test_queue_everywhere),
        cmocka_unit_test(test_no_project),
        cmocka_unit_test(test_queue_why),
        cmocka_unit_test(test_queue_preview),
        cmocka_unit_test(test_queue),
        cmocka_unit_test(test_queue_of_one_project),
        cmocka_unit_test(test_submit),
        cmocka_unit_test(test_submit_and_wait),
        cmocka_unit_test(test_logs),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_submit_refused),
        cmocka_unit_test(test_name_taken),
        cmocka_unit_test(test_failure_told),
        cmocka_unit_test(test_top),
        cmocka_unit_test(test_top_of_a_cluster),
        cmocka_unit_test(test_top_by_fleet),
        cmocka_unit_test(test_gpu),
        cmocka_unit_test(test_without_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
