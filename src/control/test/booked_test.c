/* Tests of what placement knows of bookings that have not begun (queue_pins.c), in a fake world: two GPUs, of which the
 * first choice is booked from an hour on. */
#include "control/test/queue_scene.h"
#include "core/admit/engine.h"
#include "wire/text/time.h"

static void two_gpus(struct scene *s) {
    struct gpu_card cards[] = {h200("GPU-0", true), h200("GPU-1", true)};
    cards[1].index = 1;
    start(s);
    quota(s, "100", "BestEffortFIFO");
    node_of(s, "n1", cards, 2, "NVIDIA-H200");
}

static void book(struct scene *s, const char *phase, int64_t in_ns) {
    char json[1024], at[TIME_TEXT_MAX], end[TIME_TEXT_MAX];
    int64_t from = clock_wall(s->w.env.clock) + in_ns;
    time_text(from, at);
    time_text(from + 3600 * NS_PER_SEC, end);
    if (fake_world_get(&s->w, "Reservation", "default", "r") == NULL) {
        snprintf(json, sizeof(json),
                 "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"Reservation\",\"metadata\":{"
                 "\"namespace\":\"default\",\"name\":\"r\"},\"spec\":{\"start\":\"%s\",\"end\":"
                 "\"%s\",\"lines\":[{\"resource\":\"nvidia.com/gpu\",\"count\":1}]}}",
                 at, end);
        fake_world_put(&s->w, json);
    }
    snprintf(json, sizeof(json),
             "{\"status\":{\"phase\":\"%s\",\"start\":\"%s\",\"end\":\"%s\",\"plan\":[{\"line\":0,"
             "\"resource\":\"nvidia.com/gpu\",\"node\":\"n1\",\"gpu\":\"GPU-0\",\"start\":0,"
             "\"size\":8}]}}",
             phase, at, end);
    fake_world_patch(&s->w, "Reservation", "default", "r", "status", json);
}

/* job: it is of a Job that may run for so many seconds; limit: it may itself. 0: no such limit. */
static void workload(struct scene *s, const char *name, int job, int limit) {
    char json[1024], owner[256] = "", most[64] = "";
    if (job > 0) {
        snprintf(json, sizeof(json),
                 "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s\","
                 "\"namespace\":\"default\"},\"spec\":{\"activeDeadlineSeconds\":%d,\"template\":{"
                 "\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":"
                 "\"i\"}]}}}}",
                 name, job);
        struct str uid = fake_world_put(&s->w, json)->uid;
        snprintf(owner, sizeof(owner),
                 ",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":"
                 "\"%s\",\"uid\":\"%.*s\",\"controller\":true}]",
                 name, STR_ARG(uid));
    }
    if (limit > 0) {
        snprintf(most, sizeof(most), "\"maximumExecutionTimeSeconds\":%d,", limit);
    }
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{"
             "\"name\":\"%s\",\"namespace\":\"default\"%s},\"spec\":{\"queueName\":\"lq\",%s"
             "\"podSets\":[{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":{"
             "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\","
             "\"resources\":{\"requests\":{\"nvidia.com/mig-2g.35gb\":\"1\"},\"limits\":{"
             "\"nvidia.com/mig-2g.35gb\":\"1\"}}}]}}}]}}",
             name, owner, most);
    fake_world_put(&s->w, json);
    settle(s);
}

static bool on(struct scene *s, const char *name, const char *gpu) {
    const struct object *o = fake_world_get(&s->w, "Workload", "default", name);
    struct pool *pool = engine_pool(queue_controller_engine(s->q));
    const struct seat *seat = pool_workload_first(pool, o->uid);
    assert_non_null(seat);
    return str_is(seat->devices[0].gpu, gpu);
}

static void by_its_end(void **state) {
    struct scene s;
    two_gpus(&s);
    book(&s, "Confirmed", 3600 * NS_PER_SEC);
    settle(&s);
    workload(&s, "short", 0, 600);
    assert_true(on(&s, "short", "GPU-0"));
    workload(&s, "job", 600, 0);
    assert_true(on(&s, "job", "GPU-0"));
    workload(&s, "open", 0, 0); /* nobody knows: it is taken to run for a week */
    assert_true(on(&s, "open", "GPU-1"));
    workload(&s, "long", 0, 7200);
    assert_true(on(&s, "long", "GPU-1"));
    workload(&s, "long-job", 7200, 86400); /* the shorter of both */
    assert_true(on(&s, "long-job", "GPU-1"));
    workload(&s, "last", 0,
             0); /* there is no other place: it is a victim when the booking begins */
    assert_true(on(&s, "last", "GPU-0"));
    end(&s);
}

/* A booking that is being prepared has a ClusterQueue that says its places; one that ended has none; and one that was
 * moved has others. After a restart all is as before. */
static void as_it_is(void **state) {
    static const char *const phases[] = {"Preparing", "Cancelled", "Ended"};
    for (size_t i = 0; i < 3; i++) {
        struct scene s;
        two_gpus(&s);
        book(&s, "Confirmed", 3600 * NS_PER_SEC);
        settle(&s);
        assert_int_equal(pool_pins(engine_pool(queue_controller_engine(s.q))), 1);
        controller_free(s.q);
        controllers(&s);
        settle(&s);
        assert_int_equal(pool_pins(engine_pool(queue_controller_engine(s.q))), 1);
        book(&s, "Confirmed", 7300 * NS_PER_SEC); /* later */
        settle(&s);
        workload(&s, "a", 0, 7200);
        assert_true(on(&s, "a", "GPU-0"));
        book(&s, phases[i], 0);
        settle(&s);
        assert_int_equal(pool_pins(engine_pool(queue_controller_engine(s.q))), 0);
        fake_world_delete(&s.w, "Reservation", "default", "r", "");
        end(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_its_end),
        cmocka_unit_test(as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
