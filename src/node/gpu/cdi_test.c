/* cdi: files of a driver by a specification as nvidia-ctk writes it; what is none, and what is not taken. */
#include "node/files/testbed.h"

#include "node/gpu/cdi.h"

struct bed {
    char dir[PATH_LEN], spec[PATH_LEN], lib[PATH_LEN];
    struct arena a;
};

static int set_up(void **state) {
    struct bed *b = calloc(1, sizeof(*b));
    char path[PATH_LEN];

    test_folder(b->dir);
    arena_init(&b->a, 4 << 20);
    snprintf(b->spec, sizeof(b->spec), "%.500s/cdi", b->dir);
    snprintf(b->lib, sizeof(b->lib), "%.500s/lib", b->dir);
    assert_int_equal(dir_make(b->spec, 0755, NULL), 0);
    assert_int_equal(dir_make(b->lib, 0755, NULL), 0);
    assert_int_equal(file_store(b->lib, "libcuda.so.550.1", STR("x"), 0644, NULL), 0);
    assert_int_equal(file_store(b->lib, "nvidia-smi", STR("x"), 0755, NULL), 0);
    snprintf(path, sizeof(path), "%.500s/libcuda.so.1", b->lib);
    assert_int_equal(symlink("libcuda.so.550.1", path), 0);
    snprintf(path, sizeof(path), "%.500s/libcuda.so", b->lib);
    assert_int_equal(symlink("libcuda.so.1", path), 0);
    snprintf(path, sizeof(path), "%.500s/libother.so", b->lib);
    assert_int_equal(symlink("nvidia-smi", path), 0);
    *state = b;
    return 0;
}

static int tear_down(void **state) {
    struct bed *b = *state;

    dir_remove(b->dir, NULL);
    arena_release(&b->a);
    free(b);
    return 0;
}

static int load(struct bed *b, const char *text, struct cdi_file **v, size_t *n, struct err *err) {
    const char *const dirs[] = {"/nowhere", b->spec, NULL};

    assert_int_equal(file_store(b->spec, "a.yaml", str_of(text), 0644, NULL), 0);
    return cdi_read(dirs, &b->a, v, n, err);
}

static void test_files(void **state) {
    struct bed *b = *state;
    struct cdi_file *v;
    struct err err;
    size_t n, names = 0;
    struct str text = arena_f(&b->a,
                              "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n- name: all\n  "
                              "containerEdits:\n    deviceNodes:\n"
                              "    - path: /dev/nvidia0\ncontainerEdits:\n  env: "
                              "[NVIDIA_VISIBLE_DEVICES=void]\n  hooks:\n"
                              "  - hookName: createContainer\n    path: /bin/false\n  mounts:\n"
                              "  - {hostPath: %s/libcuda.so.550.1, containerPath: "
                              "/usr/lib/libcuda.so.550.1, options: [ro]}\n"
                              "  - {hostPath: %s/nvidia-smi, containerPath: /usr/bin/nvidia-smi}\n"
                              "  - {hostPath: %s/gone, containerPath: /usr/bin/gone}\n"
                              "  - {hostPath: %s, containerPath: /run/a-folder}\n"
                              "  - {hostPath: %s/nvidia-smi, containerPath: /usr/../etc/x}\n",
                              b->lib, b->lib, b->lib, b->lib, b->lib);

    assert_ok(load(b, text.p, &v, &n, &err), &err);
    assert_int_equal(n, 4);
    for (size_t i = 0; i < n; i++) {
        names += str_is(v[i].target, "/usr/lib/libcuda.so.1") ||
                 str_is(v[i].target, "/usr/lib/libcuda.so");
        if (str_contains(v[i].target, STR("libcuda"))) {
            assert_true(str_ends(v[i].source, STR("/libcuda.so.550.1")));
        }
    }
    assert_int_equal(names, 2);
    assert_str_eq(cdi_library_path(v, n, &b->a), STR("/usr/lib"));
}

static void test_none(void **state) {
    struct bed *b = *state;
    struct cdi_file *v;
    struct err err;
    size_t n = 7;

    assert_ok(load(b,
                   "kind: other.com/device\ncontainerEdits: {mounts: [{hostPath: /etc/passwd, "
                   "containerPath: /x}]}\n",
                   &v, &n, &err),
              &err);
    assert_int_equal(n, 0);
    assert_int_equal(cdi_library_path(v, n, &b->a).n, 0);
    assert_int_not_equal(load(b, "kind: [nvidia\n", &v, &n, &err), 0);
    assert_true(str_contains(str_of(err.text), STR("a.yaml")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_none, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
