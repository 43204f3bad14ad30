/* webhook: see webhook.h. */
#include "site/webhook/webhook.h"

#include <sys/stat.h>

#include "base/limits.h"
#include "base/mem.h"
#include "site/webhook/webhook_review.h"
#include "wire/text/base64.h"

enum { CHECK_FILES_S = 60, SECRET_BYTES = 1 << 20 };

struct webhook_server {
    struct webhook_server_options o;
    struct tls_server *tls; /* NULL until there is a certificate */
    struct http_server *http;
    struct feed *feed;
    struct timer *timer; /* of the files */
    struct prom_family *counts;
    char *host;
    struct stat cert_was, key_was;
    bool files_due; /* they changed, and are not served yet */
    bool stopping;
};

/* ---- one question ---- */

static void count(struct webhook_server *s, const char *path, const char *verdict) {
    if (s->counts != NULL) {
        prom_add(prom_with(s->counts, path, verdict), 1);
    }
}

static const char *verdict_name(enum webhook_verdict v) {
    static const char *const names[] = {"allowed", "patched", "denied", "converted"};
    return names[v];
}

static void refuse(struct webhook_server *s, struct http_request *r, const char *path, int status,
                   const char *text) {
    count(s, path, "error");
    http_respond(r, status, "text/plain; charset=utf-8", str_of(text));
}

static void answer(struct webhook_server *s, struct http_request *r, const struct webhook *w) {
    struct err err = {0};
    struct buf out;
    enum webhook_verdict verdict = WEBHOOK_ALLOWED;
    const char *path = w != NULL ? w->path : WEBHOOK_CONVERT_PATH;
    buf_init(&out, 0);
    int code = w != NULL ? webhook_review(w, s->o.admission, http_body(r), http_arena(r), &out,
                                          &verdict, &err)
                         : webhook_convert(http_body(r), http_arena(r), &out, &verdict, &err);
    if (code == 0) {
        count(s, path, verdict_name(verdict));
        http_respond(r, 200, "application/json", buf_view(&out));
    } else {
        bool malformed = code == ERR_SYNTAX || code == ERR_BAD_REQUEST || code == ERR_TOO_LARGE;
        refuse(s, r, path, malformed ? 400 : 500, err.text);
    }
    buf_release(&out);
}

static void handle(void *ctx, struct http_request *r) {
    struct webhook_server *s = ctx;
    struct str path = http_path(r);
    const struct webhook *w = webhook_by_path(path);
    struct str type, rest;
    (void)str_cut(http_header(r, "Content-Type"), ';', &type, &rest);
    if (w == NULL && !str_is(path, WEBHOOK_CONVERT_PATH)) {
        refuse(s, r, "", 404, "no such webhook\n");
    } else if (!str_is(http_method(r), "POST")) {
        refuse(s, r, w != NULL ? w->path : WEBHOOK_CONVERT_PATH, 405, "POST a review\n");
    } else if (!str_eq_nocase(str_trim(type), STR("application/json"))) {
        refuse(s, r, w != NULL ? w->path : WEBHOOK_CONVERT_PATH, 415, "reviews are JSON\n");
    } else {
        answer(s, r, w);
    }
}

/* ---- the certificate ---- */

static int listen_now(struct webhook_server *s, struct err *err) {
    struct http_server_options o = {
        .host = str_of(s->host),
        .port = s->o.port,
        .allow_any = s->o.allow_any,
        .tls = s->tls,
        .body_max = LIMIT_WEBHOOK_BODY_BYTES,
        .connections_max = LIMIT_WEBHOOK_CONNECTIONS,
        .handler = handle,
        .ctx = s,
    };
    int r = http_server_start(s->o.loop, &o, &s->http, err);
    if (r == 0) {
        log_info(s->o.log, "webhooks are served on port %u", http_server_port(s->http));
    }
    return r;
}

static void serve(struct webhook_server *s, struct str cert, struct str key) {
    struct err err = {0};
    int r = 0;
    if (s->tls == NULL) {
        s->tls = tls_server_new_pem(cert, key, &err);
        r = s->tls == NULL ? err.code : 0;
    } else {
        r = tls_server_set_pem(s->tls, cert, key, &err);
    }
    if (r == 0 && s->http == NULL && !s->stopping) {
        r = listen_now(s, &err);
    }
    if (r != 0) {
        log_error(s->o.log, "webhooks: the certificate cannot be served: %s", err.text);
    }
}

static void take_secret(struct webhook_server *s, const struct object *o) {
    struct arena a;
    yyjson_doc *doc;
    arena_init(&a, SECRET_BYTES * 4);
    if (object_tree(o, &a, &doc, NULL) == 0) {
        yyjson_val *data = json_get(yyjson_doc_get_root(doc), STR("data"));
        struct str cert = base64_decode(&a, json_str(json_get(data, STR("tls.crt"))));
        struct str key = base64_decode(&a, json_str(json_get(data, STR("tls.key"))));
        if (cert.n > 0 && key.n > 0) { /* empty: the leader has not been there yet */
            serve(s, cert, key);
        }
    }
    arena_release(&a);
}

static void on_secret(void *ctx, const struct change *c) {
    struct webhook_server *s = ctx;
    if (c->type != CHANGE_DELETED && str_eq(c->obj->ns, s->o.ns) &&
        str_eq(c->obj->name, s->o.secret)) {
        take_secret(s, c->obj);
    }
}

static bool file_changed(const char *file, struct stat *was) {
    struct stat now;
    if (stat(file, &now) != 0) {
        return false;
    }
    bool changed = now.st_mtim.tv_sec != was->st_mtim.tv_sec ||
                   now.st_mtim.tv_nsec != was->st_mtim.tv_nsec || now.st_ino != was->st_ino ||
                   now.st_size != was->st_size;
    *was = now;
    return changed;
}

static int64_t files_every(const struct webhook_server *s) {
    return s->o.files_every_ns > 0 ? s->o.files_every_ns : CHECK_FILES_S * NS_PER_SEC;
}

/* A pair is often written one file after the other: what does not fit together yet is tried until it does. */
static void look_at_files(void *ctx) {
    struct webhook_server *s = ctx;
    struct err err = {0};
    bool cert = file_changed(s->o.cert_file, &s->cert_was);
    bool key = file_changed(s->o.key_file, &s->key_was);
    if (cert || key || s->files_due) {
        bool failed = tls_server_reload(s->tls, &err) != 0;
        if (!failed) {
            log_info(s->o.log, "webhooks: a new certificate is served, of %s", s->o.cert_file);
        } else if (cert || key) {
            log_error(s->o.log, "webhooks: the new certificate is left alone: %s", err.text);
        }
        s->files_due = failed;
    }
    loop_clock(s->o.loop)->timer_start(s->timer, files_every(s));
}

static int start_files(struct webhook_server *s, struct err *err) {
    struct clock *clock = loop_clock(s->o.loop);
    s->timer = clock->timer_new(clock, look_at_files, s);
    if (s->timer == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    (void)file_changed(s->o.cert_file, &s->cert_was);
    (void)file_changed(s->o.key_file, &s->key_was);
    s->tls = tls_server_new(s->o.cert_file, s->o.key_file, NULL, err);
    clock->timer_start(s->timer, files_every(s));
    return s->tls == NULL ? err->code : listen_now(s, err);
}

static int start_secret(struct webhook_server *s, struct err *err) {
    const struct kind *k = kind_by_name(STR(""), STR("Secret"));
    s->feed = mirror_feed(s->o.mirror, k, on_secret, s);
    if (s->feed == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    const struct object *o = mirror_get(s->o.mirror, k, s->o.ns, s->o.secret);
    if (o != NULL) {
        take_secret(s, o);
    }
    return 0;
}

/* ---- its life ---- */

struct webhook_server *webhook_server_new(const struct webhook_server_options *o, struct err *err) {
    static const char *const labels[] = {"path", "result"};
    struct err e = {0};
    struct webhook_server *s = mem_zalloc(sizeof(*s));
    if (s == NULL) {
        (void)err_set(err, ERR_NOMEM, "out of memory");
        return NULL;
    }
    s->o = *o;
    s->o.secret = o->secret.n > 0 ? o->secret : STR(WEBHOOK_SECRET);
    s->host = mem_cstr(o->host);
    if (o->metrics != NULL) {
        s->counts = prom_family(o->metrics, PROM_COUNTER, "berth_webhook_requests_total",
                                "Questions of API servers, by webhook and answer.", labels, 2);
    }
    int r = s->host == NULL        ? err_set(&e, ERR_NOMEM, "out of memory")
            : o->cert_file != NULL ? start_files(s, &e)
                                   : start_secret(s, &e);
    if (r != 0) {
        (void)err_set(err, r, "webhooks: %s", e.text);
        webhook_server_free(s);
        return NULL;
    }
    return s;
}

uint16_t webhook_server_port(const struct webhook_server *s) {
    return s->http != NULL ? http_server_port(s->http) : 0;
}

int webhook_server_check(void *ctx, struct err *err) {
    const struct webhook_server *s = ctx;
    return s->http != NULL && !s->stopping
               ? 0
               : err_set(err, ERR_UNAVAILABLE, "webhooks are not served: no certificate yet");
}

void webhook_server_stop(struct webhook_server *s, int64_t grace_ms, void (*stopped)(void *ctx),
                         void *ctx) {
    s->stopping = true;
    if (s->http != NULL) {
        http_server_stop(s->http, grace_ms, stopped, ctx);
    } else {
        stopped(ctx);
    }
}

void webhook_server_free(struct webhook_server *s) {
    if (s == NULL) {
        return;
    }
    feed_free(s->feed);
    if (s->timer != NULL) {
        loop_clock(s->o.loop)->timer_free(s->timer);
    }
    http_server_free(s->http);
    tls_server_free(s->tls);
    mem_free(s->host);
    mem_free(s);
}
