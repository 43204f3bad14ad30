/* inventory: what goes out comes back, and hostile annotations are refused. */
#include "base/test.h"

#include "api/inventory.h"

static struct gpu_profile profiles[] = {
    {.name = {"1g.18gb", 7},
     .resource = {"nvidia.com/mig-1g.18gb", 22},
     .id = 19,
     .size = 1,
     .compute_slices = 1,
     .memory_mib = 16384,
     .max_instances = 7,
     .starts = 0x7f},
    {.name = {"1g.18gb+me", 10},
     .resource = {"nvidia.com/mig-1g.18gb.me", 25},
     .id = 20,
     .size = 1,
     .compute_slices = 1,
     .memory_mib = 16384,
     .max_instances = 1,
     .starts = 0x7f,
     .media = true},
};
static struct gpu_instance instances[] = {
    {.profile_id = 19,
     .start = 6,
     .size = 1,
     .uuid = {"MIG-a", 5},
     .pod_uid = {"u1", 2},
     .utilization_pct = 55},
    {.profile_id = 19, .start = 5, .size = 1, .utilization_pct = -1},
};

static struct gpu_card card(int32_t index) {
    return (struct gpu_card){.uuid = STR("GPU-1"),
                             .model = STR("NVIDIA H200"),
                             .board = STR("0x233510DE"),
                             .index = index,
                             .memory_mib = 143771,
                             .slices = 8,
                             .mig_enabled = true,
                             .mig_managed = true,
                             .healthy = false,
                             .trouble = STR("Xid 79: \"lost\""),
                             .profiles = profiles,
                             .n_profiles = 2,
                             .instances = instances,
                             .n_instances = 2,
                             .utilization_pct = -1,
                             .temperature_c = 41,
                             .power_mw = 120500,
                             .memory_used_mib = 0};
}

static void test_round_trip(void **state) {
    struct gpu_card cards[2] = {card(0), card(1)};
    struct inventory inv = {.gpus = cards, .n = 2, .simulated = true}, got;
    struct arena a;
    struct buf b, again;
    struct err err;

    arena_init(&a, 1 << 20);
    buf_init(&b, 0);
    buf_init(&again, 0);
    inventory_encode(&inv, &b);
    assert_ok(inventory_decode(buf_view(&b), &a, &got, &err), &err);
    assert_true(got.simulated);
    assert_int_equal(got.n, 2);
    assert_str_eq(got.gpus[1].trouble, STR("Xid 79: \"lost\""));
    assert_int_equal(got.gpus[1].n_profiles, 2);
    assert_true(got.gpus[1].profiles[1].media);
    assert_int_equal(got.gpus[0].profiles[0].starts, 0x7f);
    assert_int_equal(got.gpus[0].utilization_pct, -1);
    assert_int_equal(got.gpus[0].memory_used_mib, 0);
    assert_str_eq(got.gpus[0].instances[0].pod_uid, STR("u1"));
    assert_true(str_empty(got.gpus[0].instances[1].uuid));
    assert_int_equal(got.gpus[0].instances[0].utilization_pct, 55);
    assert_int_equal(got.gpus[0].instances[1].utilization_pct, -1); /* unknown, never 0 */
    inventory_encode(&got, &again);
    assert_str_eq(buf_view(&again), buf_view(&b));
    buf_release(&b);
    buf_release(&again);
    arena_release(&a);
}

static void test_devices(void **state) {
    struct pod_device v[] = {
        {.container = STR("main"),
         .gpu = STR("GPU-1"),
         .profile_id = 14,
         .profile = STR("2g.35gb"),
         .start = 4,
         .size = 2},
        {.container = STR("main"), .gpu = STR("GPU-2"), .profile_id = -1},
    };
    struct pod_devices d = {v, 2}, got;
    struct arena a;
    struct buf b;
    struct err err;

    arena_init(&a, 1 << 20);
    buf_init(&b, 0);
    pod_devices_encode(&d, &b);
    assert_ok(pod_devices_decode(buf_view(&b), &a, &got, &err), &err);
    assert_int_equal(got.n, 2);
    assert_int_equal(got.v[0].start, 4);
    assert_str_eq(got.v[0].profile, STR("2g.35gb"));
    assert_int_equal(got.v[1].profile_id, -1);
    buf_release(&b);
    arena_release(&a);
}

static void test_refused(void **state) {
    static const char *const bad[] = {
        "[]",
        "{\"gpus\":[{\"slices\":17}]}",
        "{\"gpus\":[{\"instances\":[{\"profile\":1,\"start\":16,\"size\":1}]}]}",
        "{\"gpus\":[{\"instances\":[{\"profile\":1,\"start\":-1,\"size\":1}]}]}",
        "{\"gpus\":[{\"profilesOf\":0}]}",
        "{\"gpus\":[{\"profiles\":[{\"id\":1,\"size\":0}]}]}",
        "{\"gpus\":[{\"index\":\"x\"}]}",
    };
    struct arena a;
    struct inventory inv = {.n = 77};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        arena_init(&a, 1 << 20);
        if (inventory_decode(str_of(bad[i]), &a, &inv, NULL) == 0) {
            fail_msg("accepted: %s", bad[i]);
        }
        assert_int_equal(inv.n, 77);
        arena_release(&a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
