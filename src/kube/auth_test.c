/*
 * Tests of who we say we are, against a server over TLS: programs and their expiry, 401, token files that change, names
 * and passwords, acting as others, another name in the server's certificate.
 */
#include "kube/auth.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/test.h"
#include "kube/client.h"
#include "kube/exec.h"
#include "net/http_server.h"
#include "net/tls.h"

struct bed {
    char dir[64];
    struct loop *loop;
    struct tls_server *tls;
    struct http_server *http;
    struct kube_client *client;
    struct buf seen;     /* "Bearer one|" */
    const char *refused; /* the Authorization that is answered 401 */
    struct err err;
};

static void handle(void *ctx, struct http_request *r) {
    struct bed *b = ctx;
    struct str who = http_header(r, "authorization"), cn, org;
    bool has_cert = http_client_cert(r, &cn, &org);
    buf_str(&b->seen, who);
    static const char *const others[] = {"impersonate-user", "impersonate-uid", "impersonate-group",
                                         "impersonate-extra-a%2fb"};
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        struct str v;
        for (size_t k = 0; http_header_nth(r, others[i], k, &v); k++) {
            buf_f(&b->seen, " %s=%.*s", others[i] + 12, STR_ARG(v));
        }
    }
    if (has_cert) {
        buf_f(&b->seen, " cert %.*s", STR_ARG(cn));
    }
    buf_ch(&b->seen, '|');
    bool bad = b->refused && str_is(who, b->refused);
    http_respond(r, bad ? 401 : 200, "application/json", http_header(r, "host"));
}

static void write_file(struct bed *b, const char *name, const char *text, mode_t mode) {
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", b->dir, name);
    FILE *f = fopen(path, "we");
    fputs(text, f);
    fclose(f);
    chmod(path, mode);
}

static void setup(struct bed *b, const char *cert_name, const char *cluster, const char *user) {
    struct str alt = str_of(cert_name);
    struct tls_name name = {.cn = STR("server"), .alt = &alt, .n_alt = 1, .server = true};
    struct tls_name person = {.cn = STR("somebody"), .client = true};
    char crt[128], key[128], ca[128], config[128];
    *b = (struct bed){0};
    snprintf(b->dir, sizeof(b->dir), "/tmp/auth-test-XXXXXX");
    assert_non_null(mkdtemp(b->dir));
    buf_init(&b->seen, 0);
    b->loop = loop_new(&b->err);
    assert_ok(tls_make_ca(b->dir, "test", &b->err), &b->err);
    assert_ok(tls_make_cert(b->dir, "server", &name, 1, &b->err), &b->err);
    assert_ok(tls_make_cert(b->dir, "person", &person, 1, &b->err), &b->err);
    snprintf(crt, sizeof(crt), "%s/server.crt", b->dir);
    snprintf(key, sizeof(key), "%s/server.key", b->dir);
    snprintf(ca, sizeof(ca), "%s/ca.crt", b->dir);
    snprintf(config, sizeof(config), "%s/config", b->dir);
    b->tls = tls_server_new(crt, key, ca, &b->err);
    struct http_server_options o = {
        .host = STR("127.0.0.1"), .tls = b->tls, .handler = handle, .ctx = b};
    assert_ok(http_server_start(b->loop, &o, &b->http, &b->err), &b->err);
    FILE *f = fopen(config, "we");
    fprintf(f,
            "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
            "clusters: [{name: k, cluster: {certificate-authority: ca.crt, server: "
            "'https://127.0.0.1:%u'%s}}]\nusers: [{name: u, user: %s}]\n",
            http_server_port(b->http), cluster, user);
    fclose(f);
    b->client = kube_client_new(b->loop, config, NULL, "test", &b->err);
    assert_ok(b->client ? 0 : -1, &b->err);
}

static void teardown(struct bed *b) {
    static const char *const names[] = {"server.crt", "server.key", "person.crt", "person.key",
                                        "ca.crt",     "ca.key",     "config",     "plugin",
                                        "n",          "token"};
    char path[128];
    kube_client_free(b->client);
    http_server_free(b->http);
    loop_free(b->loop);
    tls_server_free(b->tls);
    buf_release(&b->seen);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        snprintf(path, sizeof(path), "%s/%s", b->dir, names[i]);
        unlink(path);
    }
    assert_int_equal(rmdir(b->dir), 0);
}

static int get(struct bed *b, struct buf *body) {
    return kube_wait(b->client, "GET", STR("/x"), STR(""), NULL, body, &b->err);
}

static void saw(struct bed *b, const char *text) {
    assert_str_eq(buf_view(&b->seen), str_of(text));
    buf_reset(&b->seen);
}

#define PLUGIN                                                                                     \
    "{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: "       \
    "./plugin, args: [a], env: [{name: GREETING, value: hi}], installHint: buy it}}"
#define CREDENTIAL(status)                                                                         \
    "#!/bin/sh\ncd \"$(dirname \"$0\")\"\necho x >>n\n"                                            \
    "case $KUBERNETES_EXEC_INFO in *'\"interactive\":false'*) ;; *) exit 3;; esac\n"               \
    "[ \"$GREETING$1\" = hia ] || exit 4\n"                                                        \
    "N=$(wc -l <n | tr -d ' ')\n"                                                                  \
    "cat <<E\n{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\","    \
    "\"status\":" status "}\nE\n"

static void a_program_runs_once(void **state) {
    struct bed b;
    setup(&b, "127.0.0.1", "", PLUGIN);
    write_file(&b, "plugin", CREDENTIAL("{\"token\":\"t$N\"}"), 0700);
    assert_ok(get(&b, NULL), &b.err);
    assert_ok(get(&b, NULL), &b.err);
    saw(&b, "Bearer t1|Bearer t1|");
    b.refused = "Bearer t1";
    assert_ok(get(&b, NULL), &b.err); /* 401: once more, with another credential */
    saw(&b, "Bearer t1|Bearer t2|");
    b.refused = "Bearer t3";
    assert_ok(get(&b, NULL), &b.err);
    saw(&b, "Bearer t2|");
    teardown(&b);
}

static void a_credential_expires(void **state) {
    struct bed b;
    setup(&b, "127.0.0.1", "", PLUGIN);
    write_file(&b, "plugin",
               CREDENTIAL("{\"token\":\"t$N\",\"expirationTimestamp\":\"2001-01-01T00:00:00Z\"}"),
               0700);
    assert_ok(get(&b, NULL), &b.err);
    usleep(1100000); /* one that is old when it comes is used for a second all the same */
    assert_ok(get(&b, NULL), &b.err);
    saw(&b, "Bearer t1|Bearer t2|");
    teardown(&b);
}

static void a_program_gives_a_certificate(void **state) {
    struct bed b;
    setup(&b, "127.0.0.1", "", PLUGIN);
    write_file(
        &b, "plugin",
        CREDENTIAL("{\"clientCertificateData\":\"$(sed 's/$/\\\\n/' person.crt | tr -d '\\n')\","
                   "\"clientKeyData\":\"$(sed 's/$/\\\\n/' person.key | tr -d '\\n')\"}"),
        0700);
    assert_ok(get(&b, NULL), &b.err);
    saw(&b, " cert somebody|");
    teardown(&b);
}

static void fails(const char *plugin, mode_t mode, int code, const char *says) {
    struct bed b;
    setup(&b, "127.0.0.1", "", PLUGIN);
    write_file(&b, "plugin", plugin, mode);
    assert_int_equal(get(&b, NULL), code);
    if (strstr(b.err.text, says) == NULL || strstr(b.err.text, "user.exec") == NULL) {
        print_error("%s\n", b.err.text);
        fail();
    }
    saw(&b, "");
    teardown(&b);
}

static void programs_fail(void **state) {
    fails("", 0600, ERR_NOT_FOUND, "buy it");
    fails("#!/bin/sh\necho please log in >&2\nexit 5\n", 0700, ERR_UNAUTHORIZED,
          "exit status 5: please log in");
    fails("#!/bin/sh\necho '{}'\n", 0700, ERR_INVALID, "ExecCredential");
    fails("#!/bin/sh\necho hello\n", 0700, ERR_SYNTAX, "./plugin");
    fails("#!/bin/sh\nhead -c 2000000 /dev/zero\nsleep 60\n", 0700, ERR_TOO_LARGE, "more than");
    fails("#!/bin/sh\nkill -9 $$\n", 0700, ERR_UNAUTHORIZED, "signal 9");
    fails(CREDENTIAL("{\"clientKeyData\":\"x\"}"), 0700, ERR_INVALID, "clientCertificateData");
}

static void a_token_file_changes(void **state) {
    struct bed b;
    setup(&b, "127.0.0.1", "", "{tokenFile: token}");
    assert_int_equal(get(&b, NULL), ERR_NOT_FOUND);
    write_file(&b, "token", "one\n", 0600);
    assert_ok(get(&b, NULL), &b.err);
    write_file(&b, "token", "three\n", 0600);
    assert_ok(get(&b, NULL), &b.err);
    saw(&b, "Bearer one|Bearer three|");
    b.refused = "Bearer three";
    assert_int_equal(get(&b, NULL), ERR_UNAUTHORIZED); /* there is no other: not tried again */
    saw(&b, "Bearer three|");
    teardown(&b);
}

static void names_and_others(void **state) {
    struct bed b;
    setup(&b, "127.0.0.1", "",
          "{username: u, password: 'p:w', as: boss, as-uid: '7', as-groups: [g1, g2],"
          " as-user-extra: {a/b: [x]}}");
    assert_ok(get(&b, NULL), &b.err);
    saw(&b, "Basic dTpwOnc= user=boss uid=7 group=g1 group=g2 extra-a%2fb=x|");
    teardown(&b);
}

static void another_name_in_the_certificate(void **state) {
    struct bed b;
    struct buf body;
    char host[32];
    buf_init(&body, 0);
    setup(&b, "in.side", ", tls-server-name: in.side", "{token: t}");
    assert_ok(get(&b, &body), &b.err);
    snprintf(host, sizeof(host), "127.0.0.1:%u", http_server_port(b.http));
    assert_str_eq(buf_view(&body), str_of(host)); /* the Host header says where it went */
    teardown(&b);
    setup(&b, "in.side", "", "{token: t}");
    assert_int_equal(get(&b, NULL), ERR_UNAVAILABLE);
    teardown(&b);
    buf_release(&body);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_runs_once),
        cmocka_unit_test(a_credential_expires),
        cmocka_unit_test(a_program_gives_a_certificate),
        cmocka_unit_test(programs_fail),
        cmocka_unit_test(a_token_file_changes),
        cmocka_unit_test(names_and_others),
        cmocka_unit_test(another_name_in_the_certificate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
