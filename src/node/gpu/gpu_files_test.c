/* gpu_files: which files belong to a place, from what a driver tells below a folder of the test. */
#include "node/files/testbed.h"

#include "node/gpu/gpu_files.h"

static void put(const char *root, const char *folder, const char *name, const char *text) {
    char dir[PATH_LEN];
    struct err err;

    snprintf(dir, sizeof(dir), "%.500s%.300s", root, folder);
    assert_ok(dir_make(dir, 0755, &err), &err);
    assert_ok(file_store(dir, name, str_of(text), 0644, &err), &err);
}

static void driver(const char *root) {
    put(root, "/proc", "devices",
        "Character devices:\n  1 mem\n195 nvidia-frontend\n234 nvidia-caps\n507 "
        "nvidia-uvm\n\nBlock devices:\n");
    put(root, "/proc/driver/nvidia/capabilities/gpu1/mig/gi9", "access",
        "DeviceFileMinor: 84\nDeviceFileMode: 292\nDeviceFileModify: 1\n");
    put(root, "/proc/driver/nvidia/capabilities/gpu1/mig/gi9/ci0", "access",
        "DeviceFileMinor: 85\nDeviceFileMode: 292\nDeviceFileModify: 1\n");
}

static void test_files(void **state) {
    char root[PATH_LEN];
    struct gpu_file f[GPU_FILES_MAX];
    const struct gpu_where v[] = {{1, 9}, {0, -1}, {1, 9}};
    static const struct gpu_file want[] = {{"nvidiactl", 195, 255},
                                           {"nvidia-uvm", 507, 0},
                                           {"nvidia-uvm-tools", 507, 1},
                                           {"nvidia1", 195, 1},
                                           {"nvidia-caps/nvidia-cap84", 234, 84},
                                           {"nvidia-caps/nvidia-cap85", 234, 85},
                                           {"nvidia0", 195, 0}};
    struct err err;
    size_t n = 99;

    test_folder(root);
    driver(root);
    assert_ok(gpu_files_list(root, v, 3, f, &n, &err), &err);
    assert_int_equal(n, sizeof(want) / sizeof(want[0]));
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(f[i].name, want[i].name);
        assert_int_equal(f[i].major, want[i].major);
        assert_int_equal(f[i].minor, want[i].minor);
    }
    assert_ok(gpu_files_list(root, v, 0, f, &n, &err), &err);
    assert_int_equal(n, 0);
    dir_remove(root, NULL);
}

static void test_what_the_driver_does_not_tell(void **state) {
    char root[PATH_LEN];
    struct gpu_file f[GPU_FILES_MAX];
    const struct gpu_where other = {1, 8}, unknown = {-1, -1};
    struct err err;
    size_t n = 99;

    test_folder(root);
    driver(root);
    assert_int_equal(gpu_files_list(root, &other, 1, f, &n, &err), ERR_NOT_FOUND);
    assert_int_equal(gpu_files_list(root, &unknown, 1, f, &n, &err), ERR_NOT_FOUND);
    assert_int_equal(n, 99);
    dir_remove(root, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_what_the_driver_does_not_tell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
