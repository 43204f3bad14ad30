/*
 * apiserver: the API server alone, for tests: a loop, a mirror without journal, and the server over TLS, with the real
 * policy and one administrator. Writes DIR/kubeconfig, prints "ready PORT" and runs until SIGTERM.
 *
 *     api-testserver DIR [plain]      "plain": no TLS and no policy, for load
 *     api-testserver DIR fill N       with N ConfigMaps in the namespace "full"
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "control/admit/admission.h"
#include "server/auth/policy.h"
#include "server/server.h"

struct world {
    struct loop *loop;
    struct mirror *mirror;
    struct admission *admission;
    struct tls_server *tls;
    struct policy *policy;
    struct server *server;
    struct arena arena;
    bool flush_due;
};

static void flush(void *ctx) {
    struct world *w = ctx;
    w->flush_due = false;
    mirror_flush(w->mirror);
}

static void staged(void *ctx) {
    struct world *w = ctx;
    if (!w->flush_due && w->loop != NULL) {
        w->flush_due = loop_defer(w->loop, flush, w) == 0;
    }
}

static void stopped(void *ctx) {
    loop_stop(((struct world *)ctx)->loop);
}

static void on_signal(void *ctx, int signum) {
    struct world *w = ctx;
    server_stop(w->server, 1000, stopped, w);
}

static int make_pki(struct world *w, const char *dir, struct err *err) {
    static const struct str alt[] = {{"127.0.0.1", 9}, {"localhost", 9}};
    struct tls_name name = {.cn = STR("apiserver"), .alt = alt, .n_alt = 2, .server = true};
    static const struct str orgs[] = {{"system:masters", 14}};
    struct tls_name admin = {.cn = STR("admin"), .orgs = orgs, .n_orgs = 1, .client = true};
    int r = tls_make_ca(dir, "test", err);
    r = r ? r : tls_make_cert(dir, "server", &name, 30, err);
    r = r ? r : tls_make_cert(dir, "admin", &admin, 30, err);
    if (r == 0) {
        struct arena *a = &w->arena;
        w->tls =
            tls_server_new(arena_f(a, "%s/server.crt", dir).p, arena_f(a, "%s/server.key", dir).p,
                           arena_f(a, "%s/ca.crt", dir).p, err);
        r = w->tls == NULL ? err->code : 0;
    }
    return r;
}

static int create(void *ctx, struct str json, struct err *err) {
    return server_bootstrap(ctx, json, err);
}

static int bootstrap(struct world *w, struct err *err) {
    static const char *const names[] = {"default", "kube-system"};
    int r = w->policy != NULL ? policy_bootstrap(create, w->server, err) : 0;
    for (size_t i = 0; i < 2 && r == 0; i++) {
        r = server_bootstrap(w->server,
                             arena_f(&w->arena,
                                     "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\","
                                     "\"metadata\":{\"name\":\"%s\"}}",
                                     names[i]),
                             err);
    }
    r = r ? r
          : server_bootstrap(w->server,
                             STR("{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\",\"metadata\":{"
                                 "\"name\":\"default\",\"namespace\":\"default\"}}"),
                             err);
    mirror_flush(w->mirror);
    return r;
}

static int fill(struct world *w, struct str number, struct err *err) {
    char json[256];
    int64_t n;
    if (!str_to_i64(number, &n)) {
        return err_set(err, ERR_INVALID, "fill: expected a number");
    }
    int r = server_bootstrap(w->server,
                             STR("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{"
                                 "\"name\":\"full\"}}"),
                             err);
    for (int64_t i = 0; i < n && r == 0; i++) {
        int len = snprintf(json, sizeof(json),
                           "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
                           "\"m%06lld\",\"namespace\":\"full\"}}",
                           (long long)i);
        r = server_bootstrap(w->server, str_from(json, (size_t)len), err);
    }
    mirror_flush(w->mirror);
    return r;
}

static int build(struct world *w, const char *dir, bool plain, struct err *err) {
    arena_init(&w->arena, 1 << 20);
    w->loop = loop_new(err);
    if (w->loop == NULL) {
        return err->code;
    }
    struct mirror_options mo = {.clock = loop_clock(w->loop), .staged = staged, .staged_ctx = w};
    w->mirror = mirror_new(&mo);
    if (w->mirror == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    int r = plain ? 0 : make_pki(w, dir, err);
    if (r != 0) {
        return r;
    }
    struct policy_options po = {.mirror = w->mirror,
                                .clock = mo.clock,
                                .issuer = STR("https://test"),
                                .key_file = arena_f(&w->arena, "%s/server.key", dir).p};
    w->policy = plain ? NULL : policy_new(&po, err);
    if (!plain && w->policy == NULL) {
        return err->code;
    }
    struct admission_options ao = {.mirror = w->mirror};
    w->admission = admission_new(&ao);
    if (w->admission == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    struct server_options so = {
        .loop = w->loop,
        .mirror = w->mirror,
        .admission = w->admission,
        .guard = plain ? NULL : policy_guard(w->policy),
        .tls = w->tls,
        .host = STR("127.0.0.1"),
    };
    w->server = server_new(&so, err);
    if (w->server == NULL) {
        return err->code;
    }
    r = bootstrap(w, err);
    return r ? r : server_start(w->server, err);
}

static int write_kubeconfig(struct world *w, const char *dir) {
    FILE *f = fopen(arena_f(&w->arena, "%s/kubeconfig", dir).p, "we");
    if (f == NULL) {
        return -1;
    }
    (void)fprintf(f,
                  "apiVersion: v1\nkind: Config\ncurrent-context: t\n"
                  "clusters: [{name: t, cluster: {server: 'https://127.0.0.1:%d', "
                  "certificate-authority: %s/ca.crt}}]\n"
                  "users: [{name: t, user: {client-certificate: %s/admin.crt, client-key: "
                  "%s/admin.key}}]\n"
                  "contexts: [{name: t, context: {cluster: t, user: t, namespace: default}}]\n",
                  server_port(w->server), dir, dir, dir);
    return fclose(f);
}

int main(int argc, char **argv) {
    struct world w = {0};
    struct err err = {0};
    if (argc < 2) {
        return 2;
    }
    bool plain = argc > 2 && strcmp(argv[2], "plain") == 0;
    if (build(&w, argv[1], plain, &err) != 0 ||
        (argc > 3 && fill(&w, str_of(argv[3]), &err) != 0) || write_kubeconfig(&w, argv[1]) != 0) {
        (void)fprintf(stderr, "apiserver: %s\n", err.text);
        return 1;
    }
    struct loop_signal *s = loop_signal(w.loop, SIGTERM, on_signal, &w, &err);
    (void)printf("ready %d\n", server_port(w.server));
    (void)fflush(stdout);
    (void)loop_run(w.loop);
    loop_signal_free(s);
    server_free(w.server);
    policy_free(w.policy);
    admission_free(w.admission);
    mirror_free(w.mirror);
    tls_server_free(w.tls);
    loop_free(w.loop);
    arena_release(&w.arena);
    return 0;
}
