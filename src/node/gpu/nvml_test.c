/*
 * nvml: the simulated library through the loader, as the real one would be used: overlap, counts,
 * order of destruction, holes, UUIDs, what is not supported; and every placement there is, counted
 * against known numbers.
 */
#include "base/test.h"

#include <stdlib.h>
#include <unistd.h>

#include "node/gpu/nvml_lib.h"
#include "node/gpu/nvml_scan.h"

static struct nvml_lib lib;
static struct nvml_device *gpu;

static void open_sim(const char *spec) {
    struct err err;

    setenv("BERTH_SIM_GPUS", spec, 1);
    unsetenv("BERTH_SIM_STATE");
    assert_ok(nvml_lib_open(&lib, getenv("BERTH_TEST_STUB"), &err), &err);
    assert_int_equal(lib.DeviceGetHandleByIndex(0, &gpu), 0);
}

static int create(unsigned profile, unsigned start, unsigned size, struct nvml_gpu_instance **ret) {
    struct nvml_placement p = {start, size};

    return lib.DeviceCreateGpuInstanceWithPlacement(gpu, profile, &p, ret);
}

static void test_two_id_spaces(void **state) {
    static const unsigned ids[NVML_GPU_PROFILE_COUNT] = {
        [0] = 19, [1] = 14, [2] = 9, [3] = 5, [4] = 0, [7] = 20, [9] = 15};
    static const int known[] = {0, 1, 2, 3, 4, 7, 9};
    struct nvml_gpu_profile p;
    unsigned found = 0;

    open_sim("8xh200");
    for (unsigned q = 0; q < NVML_GPU_PROFILE_COUNT; q++) {
        if (lib.DeviceGetGpuInstanceProfileInfo(gpu, q, &p) == 0) {
            assert_int_equal(p.id, ids[q]);
            found++;
        }
    }
    assert_int_equal(found, sizeof(known) / sizeof(known[0]));
    assert_int_equal(lib.DeviceGetGpuInstanceProfileInfo(gpu, 99, &p), NVML_INVALID_ARGUMENT);
    nvml_lib_close(&lib);
}

static void test_names_by_rule(void **state) {
    char name[32];

    nvml_profile_name(0, 1, 16384, 143771, name);
    assert_string_equal(name, "1g.18gb");
    nvml_profile_name(9, 1, 33024, 143771, name);
    assert_string_equal(name, "1g.35gb");
    nvml_profile_name(2, 3, 71168, 143771, name);
    assert_string_equal(name, "3g.71gb");
    nvml_profile_name(4, 7, 143360, 143771, name);
    assert_string_equal(name, "7g.141gb");
    nvml_profile_name(7, 1, 9728, 81920, name);
    assert_string_equal(name, "1g.10gb+me");
}

static void test_overlap_counts_and_order(void **state) {
    struct nvml_gpu_instance *three, *one, *x;
    struct nvml_compute_instance *ci;
    unsigned left;

    open_sim("1xh200");
    assert_int_equal(create(9, 4, 4, &three), 0);
    assert_int_equal(create(19, 6, 1, &x), NVML_INSUFFICIENT_RESOURCES); /* lies inside 3g */
    assert_int_equal(create(19, 3, 2, &x), NVML_INVALID_ARGUMENT);       /* not its size */
    assert_int_equal(create(20, 0, 1, &one), 0);
    assert_int_equal(create(20, 1, 1, &x), NVML_INSUFFICIENT_RESOURCES); /* one +me a GPU */
    assert_int_equal(lib.DeviceGetGpuInstanceRemainingCapacity(gpu, 19, &left), 0);
    assert_int_equal(left, 3);
    assert_int_equal(lib.GpuInstanceCreateComputeInstance(three, 2, &ci), 0);
    assert_int_equal(lib.GpuInstanceCreateComputeInstance(three, 0, &ci),
                     NVML_INSUFFICIENT_RESOURCES);
    assert_int_equal(lib.GpuInstanceDestroy(three), NVML_IN_USE);
    unsigned n = 8;
    struct nvml_compute_instance *v[8];
    assert_int_equal(lib.GpuInstanceGetComputeInstances(three, 2, v, &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(lib.ComputeInstanceDestroy(v[0]), 0);
    assert_int_equal(lib.GpuInstanceDestroy(three), 0);
    assert_int_equal(lib.GpuInstanceDestroy(three), NVML_INVALID_ARGUMENT);
    nvml_lib_close(&lib);
}

static void test_holes_uuids_and_use(void **state) {
    struct nvml_gpu_instance *a, *b;
    struct nvml_compute_instance *ca, *cb;
    struct nvml_device *mig;
    struct nvml_utilization u;
    struct nvml_attributes attributes;
    char first[NVML_TEXT], again[NVML_TEXT];
    unsigned id;

    open_sim("1xh200");
    assert_int_equal(create(19, 6, 1, &a), 0);
    assert_int_equal(create(14, 4, 2, &b), 0);
    assert_int_equal(lib.GpuInstanceCreateComputeInstance(a, 0, &ca), 0);
    assert_int_equal(lib.GpuInstanceCreateComputeInstance(b, 1, &cb), 0);
    assert_int_equal(lib.DeviceGetMigDeviceHandleByIndex(gpu, 0, &mig), 0);
    assert_int_equal(lib.DeviceGetUUID(mig, first, sizeof(first)), 0);
    assert_int_equal(lib.BerthSimHold(first, 1), 0);
    assert_int_equal(lib.ComputeInstanceDestroy(ca), NVML_IN_USE);
    assert_int_equal(lib.BerthSimHold(first, 0), 0);
    assert_int_equal(lib.ComputeInstanceDestroy(ca), 0);
    assert_int_equal(lib.DeviceGetMigDeviceHandleByIndex(gpu, 0, &mig),
                     NVML_NOT_FOUND); /* a hole */
    assert_int_equal(lib.DeviceGetMigDeviceHandleByIndex(gpu, 1, &mig), 0);
    assert_int_equal(lib.DeviceGetAttributes(mig, &attributes), 0);
    assert_int_equal(attributes.sm, 32);
    assert_int_equal(lib.DeviceGetUtilizationRates(gpu, &u), NVML_NOT_SUPPORTED);
    assert_int_equal(lib.GpuInstanceCreateComputeInstance(a, 0, &ca), 0);
    struct nvml_gpu_instance_info info;
    assert_int_equal(lib.GpuInstanceGetInfo(a, &info), 0);
    assert_int_equal(info.placement.start, 6);
    assert_int_equal(nvml_scan_mig_uuid(&lib, gpu, info.id, again), 0);
    assert_string_not_equal(first, again);
    assert_int_equal(lib.DeviceGetGpuInstanceId(mig, &id), 0);
    nvml_lib_close(&lib);
}

static void test_heat_follows_load(void **state) {
    struct nvml_gpu_instance *gi;
    struct nvml_compute_instance *ci;
    struct nvml_gpm_support gpm = {.version = 1};
    unsigned cold, warm, idle, busy;

    open_sim("1xh200");
    lib.DeviceGetTemperature(gpu, NVML_TEMPERATURE_GPU, &cold);
    lib.DeviceGetPowerUsage(gpu, &idle);
    assert_int_equal(create(0, 0, 8, &gi), 0);
    assert_int_equal(lib.GpuInstanceCreateComputeInstance(gi, 4, &ci), 0);
    lib.DeviceGetTemperature(gpu, NVML_TEMPERATURE_GPU, &warm);
    lib.DeviceGetPowerUsage(gpu, &busy);
    assert_true(warm > cold + 20);
    assert_true(busy > idle * 4);
    assert_int_equal(lib.GpmQueryDeviceSupport(gpu, &gpm), 0);
    assert_int_equal(gpm.supported, 1);
    nvml_lib_close(&lib);
    open_sim("4xa100-80gb");
    assert_int_equal(lib.GpmQueryDeviceSupport(gpu, &gpm), 0);
    assert_int_equal(gpm.supported, 0); /* unknown on Ampere, not 0 % */
    nvml_lib_close(&lib);
}

static void test_missing_symbols(void **state) {
    struct nvml_placement where = {0, 1};
    struct nvml_gpu_instance *gi;

    setenv("BERTH_SIM_MISSING", "nvmlDeviceCreateGpuInstanceWithPlacement", 1);
    open_sim("1xh200");
    assert_int_equal(NVML_DO(&lib, DeviceCreateGpuInstanceWithPlacement, gpu, 19, &where, &gi),
                     NVML_FUNCTION_NOT_FOUND);
    lib.DeviceGetMigMode = NULL; /* a library that does not have it at all */
    assert_int_equal(NVML_DO(&lib, DeviceGetMigMode, gpu, NULL, NULL), NVML_FUNCTION_NOT_FOUND);
    nvml_lib_close(&lib);
    unsetenv("BERTH_SIM_MISSING");
}

/* ---- every placement there is ---- */

struct walk {
    struct {
        unsigned profile, start, size;
    } v[64];
    size_t n;
    unsigned placed, maximal;
};

static void add_profile(struct walk *w, unsigned id) {
    struct nvml_placement p[32];
    unsigned n = 32;

    assert_int_equal(lib.DeviceGetGpuInstancePossiblePlacements(gpu, id, p, &n), 0);
    for (unsigned i = 0; i < n; i++) {
        w->v[w->n].profile = id;
        w->v[w->n].start = p[i].start;
        w->v[w->n++].size = p[i].size;
    }
}

static bool nothing_fits(const struct walk *w) {
    for (size_t i = 0; i < w->n; i++) {
        struct nvml_gpu_instance *gi;
        if (create(w->v[i].profile, w->v[i].start, w->v[i].size, &gi) == 0) {
            lib.GpuInstanceDestroy(gi);
            return false;
        }
    }
    return true;
}

/* With and without each placement: what is valid is valid in any order, so each set comes up once.
 */
static void walk(struct walk *w, size_t at) {
    struct nvml_gpu_instance *gi;

    if (at == w->n) {
        w->placed++;
        w->maximal += nothing_fits(w);
        return;
    }
    walk(w, at + 1);
    if (create(w->v[at].profile, w->v[at].start, w->v[at].size, &gi) == 0) {
        walk(w, at + 1);
        assert_int_equal(lib.GpuInstanceDestroy(gi), 0);
    }
}

static void test_enumeration(void **state) {
    static const unsigned ids[] = {19, 14, 9, 5, 0, 15, 20};
    static const struct {
        size_t profiles;
        unsigned placed, maximal;
    } golden[] = {{5, 298, 19}, {6, 723, 78}, {7, 2319, 239}};

    open_sim("1xh200");
    for (size_t g = 0; g < 3; g++) {
        struct walk w = {0};
        for (size_t i = 0; i < golden[g].profiles; i++) {
            add_profile(&w, ids[i]);
        }
        walk(&w, 0);
        assert_int_equal(w.placed, golden[g].placed);
        assert_int_equal(w.maximal, golden[g].maximal);
    }
    nvml_lib_close(&lib);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_id_spaces),
        cmocka_unit_test(test_names_by_rule),
        cmocka_unit_test(test_overlap_counts_and_order),
        cmocka_unit_test(test_holes_uuids_and_use),
        cmocka_unit_test(test_heat_follows_load),
        cmocka_unit_test(test_missing_symbols),
        cmocka_unit_test(test_enumeration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
