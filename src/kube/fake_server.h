/*
 * fake_server: a scripted API server for tests. Answers are queued in order; each request is noted as
 * "METHOD path?query body|" (a request without an answer left is held open until the end).
 */
#ifndef BERTH_KUBE_FAKE_SERVER_H
#define BERTH_KUBE_FAKE_SERVER_H

#include <stdlib.h>
#include <unistd.h>

#include "base/test.h"
#include "kube/client.h"
#include "net/http_server.h"

struct fake_answer {
    int status;
    const char *
        body; /* several lines of a watch: sent as a stream that is ended, or, with `open`, is not */
    bool stream, open;
    const char *header; /* "Retry-After: 0" */
};

struct fake_server {
    struct loop *loop;
    struct http_server *http;
    struct kube_client *client;
    const struct fake_answer *script;
    size_t n, at;
    struct buf seen;
    char file[64];
    size_t stop_at; /* stop the loop when this many requests came */
};

static void fake_handle(void *ctx, struct http_request *r) {
    struct fake_server *f = ctx;
    struct str q = http_query(r), name, value;
    buf_f(&f->seen, "%.*s %.*s%s%.*s %.*s|", STR_ARG(http_method(r)), STR_ARG(http_path(r)),
          q.n ? "?" : "", STR_ARG(q), STR_ARG(http_body(r)));
    if (f->at < f->n) {
        const struct fake_answer *a = &f->script[f->at];
        if (a->header) {
            str_cut(str_of(a->header), ':', &name, &value);
            char text[32];
            str_copy(name, text, sizeof(text));
            http_add_header(r, text, str_trim(value));
        }
        if (a->stream) {
            http_stream_begin(r, a->status, "application/json");
            http_stream_write(r, str_of(a->body));
            if (!a->open) {
                http_stream_end(r);
            }
        } else {
            http_respond(r, a->status, "application/json", str_of(a->body));
        }
    }
    f->at++;
    if (f->at == f->stop_at) {
        loop_stop(f->loop);
    }
}

static void fake_start(struct fake_server *f, const struct fake_answer *script, size_t n) {
    struct err err;
    *f = (struct fake_server){.script = script, .n = n};
    buf_init(&f->seen, 0);
    f->loop = loop_new(&err);
    struct http_server_options o = {.host = STR("127.0.0.1"), .handler = fake_handle, .ctx = f};
    assert_ok(http_server_start(f->loop, &o, &f->http, &err), &err);
    snprintf(f->file, sizeof(f->file), "/tmp/fake-server-XXXXXX");
    int fd = mkstemp(f->file);
    FILE *file = fdopen(fd, "w");
    fprintf(file,
            "current-context: c\ncontexts: [{name: c, context: {cluster: k}}]\n"
            "clusters: [{name: k, cluster: {server: 'http://127.0.0.1:%u'}}]\n",
            http_server_port(f->http));
    fclose(file);
    f->client = kube_client_new(f->loop, f->file, NULL, "test", &err);
    assert_non_null(f->client);
}

static void fake_stop(struct fake_server *f) {
    kube_client_free(f->client);
    http_server_free(f->http);
    loop_free(f->loop);
    buf_release(&f->seen);
    unlink(f->file);
}

#endif
