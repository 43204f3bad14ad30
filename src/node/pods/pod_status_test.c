/* pod_status: phases, states and conditions from what a shim wrote. */
#include "base/test.h"

#include "node/pods/pod_status.h"

static const char pod_json[] =
    "{\"metadata\":{\"uid\":\"u\"},\"spec\":{\"initContainers\":[{\"name\":\"i\",\"image\":\"x\"}],"
    "\"containers\":[{\"name\":\"a\",\"image\":\"y\"},{\"name\":\"b\"}]},\"status\":{"
    "\"conditions\":["
    "{\"type\":\"Ready\",\"status\":\"False\",\"lastTransitionTime\":\"2020-01-01T00:00:00Z\"}]}}";

#define I_DONE                                                                                     \
    "{\"name\":\"i\",\"init\":true,\"state\":\"done\",\"end\":{\"exitCode\":0,\"reason\":"         \
    "\"Completed\"}}"

static void look(const char *state, struct pod_status_in in, const char *want_phase,
                 const char *const *want) {
    struct arena a;
    yyjson_doc *pod, *st = NULL;
    struct buf b;
    struct err err;
    const char *phase;

    arena_init(&a, 1 << 20);
    assert_ok(json_parse(&a, str_of(pod_json), &pod, &err), &err);
    if (state) {
        assert_ok(json_parse(&a, str_of(state), &st, &err), &err);
    }
    in.pod = yyjson_doc_get_root(pod);
    in.state = st ? yyjson_doc_get_root(st) : NULL;
    in.host_ip = in.pod_ip = STR("127.0.0.1");
    buf_init(&b, 1 << 16);
    pod_status_write(&in, &b, &phase);
    assert_string_equal(phase, want_phase);
    for (; *want; want++) {
        if (!str_contains(buf_view(&b), str_of(*want))) {
            fail_msg("no %s in %s", *want, buf_cstr(&b));
        }
    }
    assert_ok(json_parse(&a, buf_view(&b), &st, &err), &err);
    buf_release(&b);
    arena_release(&a);
}

static void test_phases(void **state) {
    look(NULL, (struct pod_status_in){0}, "Pending",
         (const char *const[]){"\"PodInitializing\"", "\"metadata\":{\"uid\":\"u\"}", NULL});
    look(NULL,
         (struct pod_status_in){.reason = STR("CreateContainerConfigError"),
                                .message = STR("no map")},
         "Pending",
         (const char *const[]){"\"reason\":\"CreateContainerConfigError\"", "no map", NULL});
    look("{\"phase\":\"Running\",\"containers\":[{\"name\":\"i\",\"init\":true,\"state\":"
         "\"running\"},"
         "{\"name\":\"a\",\"state\":\"waiting\"}]}",
         (struct pod_status_in){0}, "Pending",
         (const char *const[]){"\"ContainersNotInitialized\"", NULL});
    look("{\"phase\":\"Running\",\"containers\":[" I_DONE ",{\"name\":\"a\",\"state\":\"running\"},"
         "{\"name\":\"b\",\"state\":\"running\"}]}",
         (struct pod_status_in){0}, "Running",
         (const char *const[]){"{\"type\":\"Ready\",\"status\":\"True\"", NULL});
    look("{\"phase\":\"Running\",\"containers\":[" I_DONE ",{\"name\":\"a\",\"state\":\"running\"},"
         "{\"name\":\"b\",\"state\":\"backoff\",\"waitMs\":80000,\"restarts\":2,\"end\":{"
         "\"exitCode\":9,\"reason\":"
         "\"Error\"}}]}",
         (struct pod_status_in){0}, "Running",
         (const char *const[]){"\"CrashLoopBackOff\"", "\"restartCount\":2", "\"exitCode\":9",
                               "back-off 1m20s restarting failed container=b pod=_(u)",
                               "containers with unready status: [b]",
                               /* unchanged conditions keep their time */
                               "\"status\":\"False\",\"reason\":\"ContainersNotReady\","
                               "\"message\":\"containers with unready status: [b]\","
                               "\"lastTransitionTime\":\"2020-01-01T00:00:00Z\"",
                               NULL});
}

static void test_ends(void **state) {
    look("{\"phase\":\"Succeeded\",\"containers\":[" I_DONE "]}", (struct pod_status_in){0},
         "Succeeded", (const char *const[]){"\"PodCompleted\"", NULL});
    look("{\"phase\":\"Failed\",\"containers\":[" I_DONE
         ",{\"name\":\"a\",\"state\":\"done\",\"end\":{"
         "\"exitCode\":137,\"signal\":9,\"reason\":\"OOMKilled\"}}]}",
         (struct pod_status_in){0}, "Failed",
         (const char *const[]){"\"OOMKilled\"", "\"signal\":9", NULL});
    look("{\"phase\":\"Running\",\"containers\":[" I_DONE
         ",{\"name\":\"a\",\"state\":\"running\"}]}",
         (struct pod_status_in){.lost = true, .message = STR("shot")}, "Failed",
         (const char *const[]){"\"ContainerStatusUnknown\"", "\"exitCode\":137", NULL});
    look(NULL, (struct pod_status_in){.failed = true, .reason = STR("GpuUnhealthy")}, "Failed",
         (const char *const[]){"\"reason\":\"GpuUnhealthy\"", NULL});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_phases),
        cmocka_unit_test(test_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
