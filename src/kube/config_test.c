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

#define CONFIG(cluster, user)                                                                      \
    "apiVersion: v1\nkind: Config\ncurrent-context: c1\n"                                          \
    "contexts:\n- name: c1\n  context: {cluster: k1, user: u1, namespace: team}\n"                 \
    "- name: c2\n  context: {cluster: k2, user: u1}\n"                                             \
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
    if (strstr(err.text, names) == NULL) {
        print_error("%s\n", err.text);
        fail();
    }
}

static void test_users(void **state) {
    struct kube_config c;
    struct err err;
    char *a = write_file(
        "a",
        CONFIG("{server: 'https://h:1/a/b/', tls-server-name: in.side, proxy-url: 'socks5://p:1',"
               " certificate-authority-data: aGVsbG8=, extensions: [{name: "
               "client.authentication.k8s.io/exec, extension: {audience: x}}]}",
               "{username: u, password: p, as: boss, as-uid: '7', as-groups: [g1, g2],"
               " as-user-extra: {scopes: [a, b], other: [c]}, exec: {apiVersion: "
               "client.authentication.k8s.io/v1beta1, command: bin/get, args: [token, '--x=1'],"
               " env: [{name: A, value: B}], provideClusterInfo: true, installHint: 'buy it'}}"));
    assert_ok(kube_config_load(&c, a, NULL, &err), &err);
    assert_str_eq(c.server, STR("https://h:1/a/b"));
    assert_str_eq(c.tls_name, STR("in.side"));
    assert_str_eq(c.proxy, STR("socks5://p:1"));
    assert_str_eq(c.as_user, STR("boss"));
    assert_int_equal(c.n_as_groups, 2);
    assert_str_eq(c.as_groups[1], STR("g2"));
    assert_int_equal(c.n_as_extra, 3);
    assert_str_eq(c.as_extra[1].key, STR("scopes"));
    assert_str_eq(c.as_extra[1].value, STR("b"));
    const struct kube_exec_config *e = &c.exec;
    assert_str_eq(e->dir, str_of(dir));
    assert_int_equal(e->interactive, EXEC_IF_AVAILABLE);
    assert_str_eq(e->args[1], STR("--x=1"));
    assert_str_eq(e->env[0], STR("A=B"));
    assert_str_eq(
        e->cluster_json,
        STR("{\"server\":\"https://h:1/a/b\",\"tls-server-name\":\"in.side\",\"proxy-url\":"
            "\"socks5://p:1\",\"certificate-authority-data\":\"aGVsbG8=\",\"config\":"
            "{\"audience\":\"x\"}}"));
    kube_config_release(&c);
}

static void test_refused(void **state) {
#define EXEC(rest) CONFIG("{server: 'https://h'}", "{exec: {" rest "}}")
#define V1 "apiVersion: client.authentication.k8s.io/v1"
    refuse(EXEC("command: x"), ERR_UNSUPPORTED, "user.exec.apiVersion");
    refuse(EXEC(V1), ERR_INVALID, "user.exec.command");
    refuse(EXEC(V1 ", command: x"), ERR_INVALID, "user.exec.interactiveMode");
    refuse(EXEC(V1 ", command: x, interactiveMode: never"), ERR_INVALID,
           "user.exec.interactiveMode");
    refuse(EXEC(V1 ", command: x, interactiveMode: Never, env: [{value: y}]"), ERR_INVALID,
           "user.exec.env[0].name");
    refuse(CONFIG("{server: 'https://h'}", "{auth-provider: {name: gcp}}"), ERR_UNSUPPORTED,
           "user.auth-provider");
    refuse(CONFIG("{server: 'https://h'}", "{as-groups: [g]}"), ERR_INVALID, "user.as");
    refuse(CONFIG("{server: 'https://h', proxy-url: 'ftp://p'}", "{}"), ERR_INVALID,
           "cluster.proxy-url");
    refuse(CONFIG("{server: 'https://h', tls-server-name: 'a b'}", "{}"), ERR_INVALID,
           "cluster.tls-server-name");
    refuse(CONFIG("{server: 'https://u:p@h'}", "{}"), ERR_INVALID, "cluster.server");
    refuse(CONFIG("{server: 'http://h'}", "{exec: {" V1 ", command: x, interactiveMode: Never}}"),
           ERR_INVALID, "plain http");
    refuse(CONFIG("{server: 'http://h'}", "{username: x, password: y}"), ERR_INVALID, "plain http");
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
        cmocka_unit_test_setup_teardown(test_users, setup_dir, teardown_dir),
        cmocka_unit_test_setup_teardown(test_refused, setup_dir, teardown_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
