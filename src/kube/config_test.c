/* Tests of kubeconfig reading: merging, relative names, data, and what is refused. */
#include "kube/config.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/test.h"

static char dir[64];

static char *write_file(const char *name, const char *text) {
    static char path[4][128];
    static int i;
    char *p = path[i++ % 4];
    snprintf(p, sizeof(path[0]), "%s/%s", dir, name);
    FILE *f = fopen(p, "we");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    return p;
}

static int setup_dir(void **state) {
    snprintf(dir, sizeof(dir), "/tmp/config-test-XXXXXX");
    unsetenv("KUBECONFIG");
    return mkdtemp(dir) && setenv("HOME", dir, 1) == 0 ? 0 : -1;
}

static int teardown_dir(void **state) {
    char path[128];
    static const char *const names[] = {"a", "b"};
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        unlink(path);
    }
    return rmdir(dir);
}

#define CONFIG(cluster, user)                                                              \
    "apiVersion: v1\nkind: Config\ncurrent-context: c1\n"                                  \
    "contexts:\n- name: c1\n  context: {cluster: k1, user: u1, namespace: team}\n"         \
    "- name: c2\n  context: {cluster: k2, user: u1}\n"                                     \
    "clusters:\n- name: k1\n  cluster: " cluster "\nusers:\n- name: u1\n  user: " user "\n"

static void test_one_file(void **state) {
    struct kube_config c;
    struct err err;
    char *a =
        write_file("a", CONFIG("{server: 'https://h:1/', certificate-authority-data: aGVsbG8=}",
                               "{token: abc, client-key: keys/k.pem}"));
    assert_ok(kube_config_load(&c, a, NULL, &err), &err);
    assert_str_eq(c.server, STR("https://h:1"));
    assert_str_eq(c.ca_pem, STR("hello"));
    assert_str_eq(c.token, STR("abc"));
    assert_str_eq(c.ns, STR("team"));
    assert_true(str_starts(c.key_file, str_of(dir)) && str_ends(c.key_file, STR("/keys/k.pem")));
    kube_config_release(&c);
    assert_int_equal(kube_config_load(&c, a, "c2", &err), ERR_NOT_FOUND);
    assert_true(strstr(err.text, "cluster \"k2\"") != NULL);
    assert_int_equal(kube_config_load(&c, a, "c3", &err), ERR_NOT_FOUND);
    assert_int_equal(kube_config_load(&c, "/nonexistent", NULL, &err), ERR_NOT_FOUND);
}

static void test_merged(void **state) {
    struct kube_config c;
    struct err err;
    char list[400];
    char *a = write_file("a", CONFIG("{server: 'https://first'}", "{token: one}"));
    char *b = write_file("b", "current-context: c2\nclusters:\n"
                              "- {name: k1, cluster: {server: 'https://second'}}\n"
                              "- {name: k2, cluster: {server: 'https://two'}}\n");
    snprintf(list, sizeof(list), "%s:/nonexistent::%s", a, b);
    setenv("KUBECONFIG", list, 1);
    assert_true(kube_config_exists());
    assert_ok(kube_config_load(&c, NULL, NULL, &err), &err);
    assert_str_eq(c.server, STR("https://first"));
    kube_config_release(&c);
    assert_ok(kube_config_load(&c, NULL, "c2", &err), &err);
    assert_str_eq(c.server, STR("https://two"));
    assert_str_eq(c.ns, STR("default"));
    kube_config_release(&c);
    setenv("KUBECONFIG", "/nonexistent", 1);
    assert_int_equal(kube_config_load(&c, NULL, NULL, &err), ERR_NOT_FOUND);
    unsetenv("KUBECONFIG");
    unsetenv("KUBERNETES_SERVICE_HOST");
    assert_false(kube_config_exists());
    assert_int_equal(kube_config_load(&c, NULL, NULL, &err), ERR_NOT_FOUND);
}

static void refuse(const char *text, int code, const char *names) {
    struct kube_config c;
    struct err err;
    char *a = write_file("a", text);
    assert_int_equal(kube_config_load(&c, a, NULL, &err), code);
    if (!strstr(err.text, names)) {
        print_error("%s\n", err.text);
        fail();
    }
}

static void test_refused(void **state) {
    refuse(CONFIG("{server: 'https://h'}", "{exec: {command: x}}"), ERR_UNSUPPORTED, "user.exec");
    refuse(CONFIG("{server: 'https://h'}", "{username: x, password: y}"), ERR_UNSUPPORTED,
           "user.username");
    refuse(CONFIG("{server: 'http://h'}", "{token: x}"), ERR_INVALID, "plain http");
    refuse(CONFIG("{server: 'h:1'}", "{}"), ERR_INVALID, "cluster.server");
    refuse(CONFIG("{server: 'https://h', insecure-skip-tls-verify: true}", "{}"), ERR_INVALID,
           "insecure-skip-tls-verify");
    refuse(CONFIG("{server: 'https://h', certificate-authority-data: 'a!b='}", "{}"), ERR_SYNTAX,
           "certificate-authority-data");
    refuse("a: [", ERR_SYNTAX, "line");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_file, setup_dir, teardown_dir),
        cmocka_unit_test_setup_teardown(test_merged, setup_dir, teardown_dir),
        cmocka_unit_test_setup_teardown(test_refused, setup_dir, teardown_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
