/* bed: see bed.h. */
#include "base/test.h"

#include "cli/kit/bed.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"
#include "net/http_server.h"

struct verbs_bed bed;

static pthread_t thread;
static struct loop *loop;
static struct http_server *http;
static char config[64], output[64], told[64]; /* files */

static unsigned asked_before(const char *request) {
    struct str rest = buf_view(&bed.seen);
    unsigned n = 0;
    for (; rest.n > 0; rest = str_skip(rest, 1)) {
        n += str_starts(rest, str_of(request));
    }
    return n;
}

static void answer(void *ctx, struct http_request *r) {
    char line[1024];
    const struct route *best = NULL;
    struct str q = http_query(r);
    snprintf(line, sizeof(line), "%.*s %.*s%s%.*s", STR_ARG(http_method(r)), STR_ARG(http_path(r)),
             q.n ? "?" : "", STR_ARG(q));
    for (size_t i = 0; i < bed.n; i++) {
        const struct route *o = &bed.routes[i];
        bool begins = strncmp(line, o->request, strlen(o->request)) == 0 &&
                      (o->after == 0 || asked_before(o->request) >= o->after);
        size_t n = strlen(o->request), than = best ? strlen(best->request) : 0;
        if (begins && (best == NULL || n > than || (n == than && o->after > best->after))) {
            best = o;
        }
    }
    buf_f(&bed.seen, "%s %.*s|", line, STR_ARG(http_body(r)));
    if (best) {
        http_respond(r, best->status, "application/json", str_of(best->body));
    } else {
        http_respond(
            r, 404, "application/json",
            STR("{\"kind\":\"Status\",\"message\":\"no such thing\",\"reason\":\"NotFound\","
                "\"code\":404}"));
    }
}

static void *serve(void *arg) {
    loop_run(loop);
    return NULL;
}

static void stop_loop(void *ctx) {
    loop_stop(loop);
}

void bed_start(const struct route *routes, size_t n) {
    struct err err;
    bed = (struct verbs_bed){.routes = routes, .n = n};
    buf_init(&bed.seen, 0);
    buf_init(&bed.out, 0);
    buf_init(&bed.told, 0);
    loop = loop_new(&err);
    struct http_server_options o = {.host = STR("127.0.0.1"), .handler = answer};
    assert_ok(http_server_start(loop, &o, &http, &err), &err);
    snprintf(config, sizeof(config), "/tmp/verbs-test-XXXXXX");
    snprintf(output, sizeof(output), "/tmp/verbs-test-XXXXXX");
    FILE *f = fdopen(mkstemp(config), "w");
    fprintf(f,
            "current-context: c\ncontexts: [{name: c, context: {cluster: k, namespace: x}}]\n"
            "clusters: [{name: k, cluster: {server: 'http://127.0.0.1:%u'}}]\n",
            http_server_port(http));
    fclose(f);
    close(mkstemp(output));
    snprintf(told, sizeof(told), "/tmp/verbs-test-XXXXXX");
    close(mkstemp(told));
    setenv("KUBECONFIG", config, 1);
    assert_int_equal(pthread_create(&thread, NULL, serve, NULL), 0);
}

void bed_stop(void) {
    loop_post(loop, stop_loop, NULL);
    pthread_join(thread, NULL);
    http_server_free(http);
    loop_free(loop);
    buf_release(&bed.seen);
    buf_release(&bed.out);
    buf_release(&bed.told);
    unlink(config);
    unlink(output);
    unlink(told);
}

/* Turns fd to an empty file; returns a copy of what it was. */
static int divert(int fd, const char *path) {
    int keep = dup(fd), file = open(path, O_RDWR | O_TRUNC | O_CLOEXEC);
    dup2(file, fd);
    close(file);
    return keep;
}

static void turn_back(int fd, int keep, const char *path, struct buf *ret) {
    dup2(keep, fd);
    close(keep);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    buf_reset(ret);
    ssize_t n = read(file, buf_room(ret, 65536), 65536);
    ret->n = n > 0 ? (size_t)n : 0;
    close(file);
}

int bed_run(const char *const *words) {
    char *argv[64] = {(char *)(uintptr_t) "berth"};
    int argc = 1;
    for (; words[argc - 1]; argc++) {
        argv[argc] = (char *)(uintptr_t)words[argc - 1];
    }
    fflush(stdout);
    int out = divert(1, output), errors = divert(2, told);
    int code = cli_main(argc, argv, NULL);
    fflush(stdout);
    turn_back(1, out, output, &bed.out);
    turn_back(2, errors, told, &bed.told);
    return code;
}
