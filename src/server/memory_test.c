/*
 * Every allocation of whole requests fails once: the server answers 500 or 503, or rightly, or drops the connection;
 * the object is as before or as asked for, never half; and the next request works. The server runs on the main thread,
 * where allocations fail; the client on a thread of its own, over a socket.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/test.h"
#include "server/server.h"

#define MAPS "/api/v1/namespaces/default/configmaps"
#define QUEUES "/apis/kueue.x-k8s.io/v1beta1/clusterqueues"
#define JOBS "/apis/batch/v1/namespaces/default/jobs"
#define MAP                                                                                        \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\",\"labels\":"       \
    "{\"l\":\"v\"},\"finalizers\":[]},\"data\":{\"k\":\"old\",\"other\":\"o\"}}"
#define NEW_MAP                                                                                    \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\"},"                 \
    "\"data\":{\"k\":\"new\",\"more\":\"m\"}}"
#define QUEUE                                                                                      \
    "{\"apiVersion\":\"kueue.x-k8s.io/v1beta1\",\"kind\":\"ClusterQueue\",\"metadata\":{"          \
    "\"name\":\"c\"},\"spec\":{\"cohort\":\"all\",\"namespaceSelector\":{},\"resourceGroups\":[{"  \
    "\"coveredResources\":[\"cpu\"],\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":"        \
    "\"cpu\",\"nominalQuota\":\"4\"}]}]}]}}"
#define JOB                                                                                        \
    "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"c\"},\"spec\":{"       \
    "\"completions\":3,\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{"      \
    "\"name\":\"m\",\"image\":\"i\",\"resources\":{\"limits\":{\"cpu\":\"50m\"}}}]}}}}"
#define TABLE "application/json;as=Table;g=meta.k8s.io;v=v1"
#define METADATA "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

/* The first allocation is the connection's own: accepting is tried again a second later, which one step shows. */
enum { ANSWER_MAX = 256 << 10, NTH_FIRST = 2, NTH_MAX = 3000, WAIT_SECONDS = 10 };

struct world {
    struct loop *loop;
    struct mirror *mirror;
    struct server *server;
    uint64_t nth; /* for arm */
    int hit, wrong;
    sem_t posted;
};

/* ---- the server's thread ---- */

static void flush(void *ctx) {
    mirror_flush(((struct world *)ctx)->mirror);
}

static void staged(void *ctx) {
    struct world *w = ctx;
    if (loop_defer(w->loop, flush, w) != 0) {
        mirror_flush(w->mirror);
    }
}

static void arm(void *ctx) {
    struct world *w = ctx;
    w->hit = mem_fault_hit();
    mem_fault(w->nth, 0);
    sem_post(&w->posted);
}

static void stopped(void *ctx) {
    loop_stop(((struct world *)ctx)->loop);
}

static void stop(void *ctx) {
    struct world *w = ctx;
    server_stop(w->server, 1000, stopped, w);
}

/* ---- the client's ---- */

struct answer {
    int status; /* 0: the connection ended before an answer */
    const char *body;
    char text[ANSWER_MAX];
};

/* The nth allocation of the server's thread from now on fails; 0: none. True when the one before has failed. */
static bool fail_nth(struct world *w, uint64_t nth) {
    w->nth = nth;
    assert_int_equal(loop_post(w->loop, arm, w), 0);
    while (sem_wait(&w->posted) != 0) {
    }
    return w->hit;
}

static int dial(const struct world *w) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(server_port(w->server))};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    struct timeval limit = {.tv_sec = WAIT_SECONDS};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

static void ask(int fd, const char *method, const char *path, const char *type, const char *accept,
                const char *body) {
    static char out[16 << 10];
    int n = snprintf(out, sizeof(out),
                     "%s %s HTTP/1.1\r\nHost: h\r\nConnection: close\r\nAccept: %s\r\n"
                     "Content-Type: %s\r\nContent-Length: %zu\r\n\r\n%s",
                     method, path, accept ? accept : "application/json",
                     type ? type : "application/json", strlen(body), body);
    assert_in_range(n, 1, sizeof(out) - 1);
    (void)send(fd, out, (size_t)n, MSG_NOSIGNAL);
}

/* Reads to the end of the connection; an answer that began must be whole. */
static void hear(int fd, struct answer *a) {
    size_t n = 0;
    ssize_t got;
    while ((got = recv(fd, a->text + n, sizeof(a->text) - 1 - n, 0)) > 0) {
        n += (size_t)got;
    }
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        fail_msg("no answer and no end");
    }
    close(fd);
    a->text[n] = 0;
    a->status = n ? (int)strtol(a->text + strlen("HTTP/1.1 "), NULL, 10) : 0;
    const char *head = strstr(a->text, "\r\n\r\n");
    a->body = head ? head + 4 : a->text + n;
    const char *length = strcasestr(a->text, "content-length: ");
    if (n &&
        (head == NULL || length == NULL || strtoul(length + 16, NULL, 10) != strlen(a->body))) {
        fail_msg("half an answer: %s", a->text);
    }
}

/* Without what differs from one run to the next: all that may be part of a revision, a uid (which YAML quotes when it
 * looks like a number), a time, or a token. */
static char *plain(const char *text) {
    char *out = mem_alloc(strlen(text) + 1), *p = out;
    assert_non_null(out);
    for (; *text; text++) {
        if (strchr("0123456789abcdef-\"", *text) == NULL) {
            *p++ = *text;
        }
    }
    *p = 0;
    return out;
}

static void request(struct world *w, struct answer *a, const char *method, const char *path,
                    const char *body) {
    int fd = dial(w);
    ask(fd, method, path, NULL, NULL, body);
    hear(fd, a);
}

struct step {
    const char *method, *path, *type, *accept, *body;
    const char *seed;               /* what is there before; NULL: nothing */
    const char *collection, *probe; /* the object's own */
};

static const struct step steps[] = {
    {"POST", MAPS, 0, 0, NEW_MAP, NULL, MAPS, MAPS "/c"},
    {"POST", MAPS, "application/yaml", 0, NEW_MAP, NULL, MAPS, MAPS "/c"},
    {"PUT", MAPS "/c", 0, 0, NEW_MAP, MAP, MAPS, MAPS "/c"},
    {"PATCH", MAPS "/c", "application/merge-patch+json", 0,
     "{\"data\":{\"k\":\"new\",\"other\":null}}", MAP, MAPS, MAPS "/c"},
    {"PATCH", MAPS "/c", "application/strategic-merge-patch+json", 0,
     "{\"metadata\":{\"finalizers\":[\"a.b/c\"]},\"data\":{\"k\":\"new\"}}", MAP, MAPS, MAPS "/c"},
    {"PATCH", MAPS "/c", "application/json-patch+json", 0,
     "[{\"op\":\"test\",\"path\":\"/data/k\",\"value\":\"old\"},{\"op\":\"move\",\"from\":\"/data/"
     "k\","
     "\"path\":\"/data/z\"}]",
     MAP, MAPS, MAPS "/c"},
    {"PATCH", MAPS "/c?fieldManager=m", "application/apply-patch+yaml", 0, NEW_MAP, NULL, MAPS,
     MAPS "/c"},
    {"PATCH", MAPS "/c?fieldManager=m&force=true", "application/apply-patch+yaml", 0, NEW_MAP, MAP,
     MAPS, MAPS "/c"},
    {"DELETE", MAPS "/c", 0, 0, "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\"}", MAP, MAPS,
     MAPS "/c"},
    {"DELETE", MAPS "?labelSelector=l%3Dv", 0, 0, "", MAP, MAPS, MAPS "/c"},
    {"GET", MAPS "/c", 0, "application/yaml", "", MAP, MAPS, MAPS "/c"},
    {"GET", MAPS "?labelSelector=l%20in%20(v,w),!x&fieldSelector=metadata.name%3Dc", 0, 0, "", MAP,
     MAPS, MAPS "/c"},
    {"GET", MAPS "?limit=1", 0, TABLE, "", MAP, MAPS, MAPS "/c"},
    {"GET", MAPS, 0, METADATA, "", MAP, MAPS, MAPS "/c"},
    {"POST", QUEUES, 0, 0, QUEUE, NULL, QUEUES, QUEUES "/c"},
    {"PATCH", QUEUES "/c", "application/merge-patch+json", 0, "{\"spec\":{\"cohort\":\"some\"}}",
     QUEUE, QUEUES, QUEUES "/c"},
    {"GET", QUEUES, 0, 0, "", QUEUE, QUEUES, QUEUES "/c"},
    {"GET", QUEUES, 0, TABLE, "", QUEUE, QUEUES, QUEUES "/c"},
    {"POST", JOBS, 0, 0, JOB, NULL, JOBS, JOBS "/c"},
    {"PATCH", JOBS "/c", "application/strategic-merge-patch+json", 0,
     "{\"spec\":{\"parallelism\":2}}", JOB, JOBS, JOBS "/c"},
    {"PATCH", JOBS "/c/status", "application/merge-patch+json", 0, "{\"status\":{\"active\":1}}",
     JOB, JOBS, JOBS "/c"},
    {"PATCH", JOBS "/c?fieldManager=m&force=true", "application/apply-patch+yaml", 0, JOB, JOB,
     JOBS, JOBS "/c"},
    {"GET", JOBS "?fieldSelector=status.successful%3D0", 0, 0, "", JOB, JOBS, JOBS "/c"},
    {"DELETE", JOBS "/c?propagationPolicy=Background", 0, 0, "", JOB, JOBS, JOBS "/c"},
};

/* The object as it is now: status and text. */
static char *state(struct world *w, const struct step *s, struct answer *a) {
    request(w, a, "GET", s->probe, "");
    assert_true(a->status == 200 || a->status == 404);
    return plain(a->body);
}

static void reset(struct world *w, const struct step *s, struct answer *a) {
    char path[256];
    int n = snprintf(path, sizeof(path), "%s?propagationPolicy=Background", s->probe);
    assert_in_range(n, 1, sizeof(path) - 1);
    int fd = dial(w);
    ask(fd, "PATCH", s->probe, "application/merge-patch+json", NULL,
        "{\"metadata\":{\"finalizers\":null}}");
    hear(fd, a);
    request(w, a, "DELETE", path, "");
    if (s->seed) {
        request(w, a, "POST", s->collection, s->seed);
        assert_int_equal(a->status, 201);
    }
}

static bool run_step(struct world *w, const struct step *s, uint64_t nth, struct answer *a) {
    reset(w, s, a);
    (void)fail_nth(w, nth);
    int fd = dial(w);
    ask(fd, s->method, s->path, s->type, s->accept, s->body);
    hear(fd, a);
    return fail_nth(w, 0);
}

static void check_step(struct world *w, const struct step *s) {
    static struct answer a, b;
    reset(w, s, &a);
    char *before = state(w, s, &b);
    (void)run_step(w, s, 0, &a);
    char *want = plain(a.body), *after = state(w, s, &b);
    int status = a.status;
    assert_in_range(status, 200, 201);
    bool hit = true;
    for (uint64_t nth = s == steps ? 1 : NTH_FIRST; hit; nth++) {
        assert_in_range(nth, 1, NTH_MAX);
        hit = run_step(w, s, nth, &a);
        char *body = plain(a.body), *now = state(w, s, &b);
        bool done = a.status == status && strcmp(body, want) == 0 && strcmp(now, after) == 0;
        bool refused = hit && (a.status == 500 || a.status == 503 || a.status == 0) &&
                       (strcmp(now, before) == 0 || strcmp(now, after) == 0);
        if (!done && !refused) {
            print_error("%s %s, allocation %lu: %d %s\nnow %s\n", s->method, s->path,
                        (unsigned long)nth, a.status, a.body, b.body);
            w->wrong++;
        }
        mem_free(body);
        mem_free(now);
    }
    mem_free(before);
    mem_free(after);
    mem_free(want);
}

/* ---- a patch of the status alone does what one of more does ---- */

static int patch_status(struct world *w, struct answer *a, const char *body) {
    int fd = dial(w);
    ask(fd, "PATCH", JOBS "/c/status", "application/merge-patch+json", NULL, body);
    hear(fd, a);
    return a->status;
}

static void check_status(struct world *w) {
    static const struct step job = {.seed = JOB, .collection = JOBS, .probe = JOBS "/c"};
    static struct answer a;
    char body[256], *alone, *with_more;
    reset(w, &job, &a);
    assert_int_equal(patch_status(w, &a, "{\"status\":{\"active\":1,\"nope\":2}}"), 200);
    assert_non_null(strstr(a.text, "unknown field \\\"status.nope\\\""));
    alone = state(w, &job, &a);
    assert_null(strstr(a.body, "nope"));
    reset(w, &job, &a);
    assert_int_equal(patch_status(w, &a,
                                  "{\"metadata\":{\"labels\":{\"l\":\"v\"}},\"spec\":{"
                                  "\"completions\":9},\"status\":{\"active\":1,\"nope\":2}}"),
                     200);
    with_more = state(w, &job, &a);
    assert_string_equal(alone, with_more);
    mem_free(alone);
    mem_free(with_more);
    unsigned long rv = strtoul(strstr(a.body, "\"resourceVersion\":\"") + 19, NULL, 10);
    for (int at = -1; at <= 0; at++) { /* an older one, then the newest */
        int n = snprintf(body, sizeof(body),
                         "{\"metadata\":{\"resourceVersion\":\"%lu\"},\"status\":null}",
                         rv + (unsigned long)at);
        assert_in_range(n, 1, sizeof(body) - 1);
        assert_int_equal(patch_status(w, &a, body), at == 0 ? 200 : 409);
    }
    assert_null(strstr(a.body, "\"active\":1"));
    assert_int_equal(
        patch_status(w, &a, "{\"metadata\":{\"resourceVersion\":\"x\"},\"status\":{}}"), 422);
    assert_int_equal(patch_status(w, &a, "{\"status\":{\"active\":\"x\"}}") / 100, 4);
}

/* ---- a watch: whole, or ended ---- */

/* Reads the stream until `until` was seen; false when it ended before. */
static bool stream_until(int fd, struct answer *a, size_t *n, const char *until) {
    while (strstr(a->text, until) == NULL) {
        ssize_t got = recv(fd, a->text + *n, sizeof(a->text) - 1 - *n, 0);
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            fail_msg("the stream goes on without %s:\n%s", until, a->text);
        }
        if (got <= 0) {
            return false;
        }
        *n += (size_t)got;
        a->text[*n] = 0;
    }
    return true;
}

static void check_watch(struct world *w, const char *path, const char *accept) {
    static const struct step map = {.seed = MAP, .collection = MAPS, .probe = MAPS "/c"};
    static struct answer a, b;
    bool hit = true;
    for (uint64_t nth = NTH_FIRST; hit; nth++) {
        assert_in_range(nth, 1, NTH_MAX);
        reset(w, &map, &b);
        (void)fail_nth(w, nth);
        int fd = dial(w);
        ask(fd, "GET", path, NULL, accept, "");
        size_t n = 0;
        a.text[0] = 0;
        bool whole = stream_until(fd, &a, &n, "initial-events-end");
        int early = whole && strstr(a.text, "\"type\":\"ADDED\"") == NULL;
        request(w, &b, "DELETE", MAPS "/c", "");
        bool deleted = b.status == 200;
        if (whole && deleted) {
            whole = stream_until(fd, &a, &n, "\"type\":\"DELETED\"") &&
                    stream_until(fd, &a, &n, "}\n\r\n");
        }
        hit = fail_nth(w, 0);
        close(fd);
        if (early || (!hit && !(whole && deleted))) {
            print_error("%s, allocation %lu: %s\n", path, (unsigned long)nth, a.text);
            w->wrong++;
        }
    }
}

/* ---- a watch of what is computed ---- */

static int compute(struct virtual_source *s, const struct virtual_ask *q, virtual_done *done,
                   void *ctx, struct virtual_call **ret, struct err *err) {
    (void)q->may(q, "list", "", "pods", STR("x"), STR(""));
    done(ctx, 0,
         STR("{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"AvailabilityList\",\"metadata\":{},"
             "\"items\":[{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"Availability\","
             "\"metadata\":{\"name\":\"one\"},\"flavor\":\"h200\",\"total\":8}]}"),
         NULL);
    return 0;
}

static void check_computed(struct world *w, const char *accept) {
    static const char path[] = "/apis/berth.dev/v1alpha1/availabilities?watch=1&step=1h"
                               "&sendInitialEvents=true&allowWatchBookmarks=true"
                               "&resourceVersionMatch=NotOlderThan";
    static struct answer a;
    bool hit = true;
    for (uint64_t nth = NTH_FIRST; hit; nth++) {
        assert_in_range(nth, 1, NTH_MAX);
        (void)fail_nth(w, nth);
        int fd = dial(w);
        ask(fd, "GET", path, NULL, accept, "");
        size_t n = 0;
        a.text[0] = 0;
        bool whole = stream_until(fd, &a, &n, "initial-events-end");
        hit = fail_nth(w, 0);
        close(fd);
        bool refused = strstr(a.text, " 500 ") || strstr(a.text, " 503 ") || !a.text[0];
        bool ended = strstr(a.text, " 200 ") && strstr(a.text, "\r\n0\r\n");
        if (whole ? strstr(a.text, "\"type\":\"ADDED\"") == NULL : !hit || !(refused || ended)) {
            print_error("a computed watch, allocation %lu: %s\n", (unsigned long)nth, a.text);
            w->wrong++;
        }
    }
}

static const char WATCH_ALL[] = MAPS "?watch=1&sendInitialEvents=true&allowWatchBookmarks=true"
                                     "&resourceVersionMatch=NotOlderThan&labelSelector=l";
static const char WATCH_FIELD[] = MAPS "?watch=1&sendInitialEvents=true&allowWatchBookmarks=true"
                                       "&resourceVersionMatch=NotOlderThan"
                                       "&fieldSelector=metadata.name%3Dc";

/* ---- */

static void *client(void *ctx) {
    struct world *w = ctx;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        check_step(w, &steps[i]);
    }
    check_status(w);
    check_watch(w, WATCH_ALL, NULL);
    check_watch(w, WATCH_FIELD, TABLE);
    check_computed(w, NULL);
    check_computed(w, TABLE);
    assert_int_equal(loop_post(w->loop, stop, w), 0);
    return NULL;
}

static void every_allocation_fails_once(void **unused) {
    static const char space[] = "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{"
                                "\"name\":\"default\"}}";
    struct world w = {0};
    struct err err = {0};
    w.loop = loop_new(&err);
    assert_non_null(w.loop);
    struct mirror_options mo = {.clock = loop_clock(w.loop), .staged = staged, .staged_ctx = &w};
    w.mirror = mirror_new(&mo);
    struct virtual_source source = {
        .group = "berth.dev", .resource = "availabilities", .subresource = "", .ask = compute};
    struct virtual_registry *virtuals = virtual_new();
    assert_non_null(virtuals);
    virtual_add(virtuals, &source);
    struct server_options so = {
        .loop = w.loop, .mirror = w.mirror, .virtuals = virtuals, .host = STR("127.0.0.1")};
    w.server = server_new(&so, &err);
    assert_non_null(w.server);
    assert_ok(server_bootstrap(w.server, str_of(space), &err), &err);
    mirror_flush(w.mirror);
    assert_ok(server_start(w.server, &err), &err);
    assert_int_equal(sem_init(&w.posted, 0, 0), 0);
    pthread_t t;
    assert_int_equal(pthread_create(&t, NULL, client, &w), 0);
    assert_int_equal(loop_run(w.loop), 0);
    pthread_join(t, NULL);
    mem_fault(0, 0);
    assert_int_equal(w.wrong, 0);
    server_free(w.server);
    virtual_free(virtuals);
    mirror_free(w.mirror);
    loop_free(w.loop);
    sem_destroy(&w.posted);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_fails_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
