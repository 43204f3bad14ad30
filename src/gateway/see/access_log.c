/* access_log: two buffers, one that is filled while the other is written. See access_log.h. */
#include "gateway/see/access_log.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "base/mem.h"
#include "wire/text/time.h"

enum { LINE_MAX_BYTES = 16 << 10 };

struct access_log {
    int fd;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct buf filling, writing;
    uint64_t dropped;
    bool ending;
};

/* ---- a line ---- */

static void text(struct buf *out, const char *name, struct str v) {
    if (v.n) {
        buf_f(out, ",\"%s\":", name);
        buf_json(out, v);
    }
}

static void number(struct buf *out, const char *name, int64_t v) {
    if (v >= 0) {
        buf_f(out, ",\"%s\":%lld", name, (long long)v);
    }
}

static void ms(struct buf *out, const char *name, int64_t ns) {
    if (ns >= 0) {
        buf_f(out, ",\"%s\":%lld.%03lld", name, (long long)(ns / 1000000),
              (long long)(ns / 1000 % 1000));
    }
}

/* 32 hexadecimal digits of a traceparent that is well formed, or nothing. */
static struct str trace_of(const struct gateway_trace *t) {
    struct str v = t == NULL ? (struct str){0} : t->onward[0] ? str_of(t->onward) : t->parent;
    return v.n >= 55 && v.p[2] == '-' && v.p[35] == '-' ? str_head(str_skip(v, 3), 32)
                                                        : (struct str){0};
}

void access_log_line(const struct gateway_seen *s, struct buf *out) {
    static const char *const ends[] = {[GATEWAY_END_WELL] = "well",
                                       [GATEWAY_END_REFUSED] = "refused",
                                       [GATEWAY_END_CANCELLED] = "client_gone",
                                       [GATEWAY_END_UPSTREAM] = "upstream",
                                       [GATEWAY_END_TIMED_OUT] = "timeout",
                                       [GATEWAY_END_SLOW_CLIENT] = "slow_client"};
    char when[TIME_TEXT_MAX];
    struct str time = time_text_micro(s->begun_wall_ns, when);
    buf_f(out, "{\"time\":\"%.*s\"", STR_ARG(time));
    text(out, "method", s->method);
    text(out, "path", s->path);
    number(out, "status", s->status);
    text(out, "end", str_of(ends[s->end]));
    text(out, "code", s->refused);
    text(out, "operation", s->operation);
    text(out, "asked", s->asked);
    if (s->model != NULL) {
        text(out, "project", s->model->project);
        text(out, "model", s->model->name);
    }
    if (s->key != NULL) {
        text(out, "key", s->key->name);
        text(out, "keyProject", s->key->project);
        text(out, "user", s->key->subject);
    }
    text(out, "peer", s->peer);
    text(out, "endpoint", s->endpoint);
    text(out, "address", s->address);
    text(out, "zone", s->zone);
    buf_f(out, ",\"stream\":%s", s->stream ? "true" : "false");
    number(out, "tries", s->tries);
    ms(out, "heldMs", s->held_ns);
    ms(out, "firstMs", s->first_ns);
    ms(out, "tookMs", s->took_ns);
    number(out, "tokensIn", s->tokens_in);
    number(out, "tokensOut", s->tokens_out);
    number(out, "tokensCached", s->tokens_cached);
    number(out, "bytesIn", (int64_t)s->bytes_in);
    number(out, "bytesOut", (int64_t)s->bytes_out);
    text(out, "trace", trace_of(s->trace));
    buf_c(out, "}\n");
}

/* ---- the thread ---- */

static void write_all(int fd, struct str s) {
    while (s.n > 0) {
        ssize_t n = write(fd, s.p, s.n);
        if (n == -1 && errno != EINTR) {
            return; /* a full disk costs lines, not requests */
        }
        s = n > 0 ? str_skip(s, (size_t)n) : s;
    }
}

static void *run(void *ctx) {
    struct access_log *l = ctx;
    pthread_mutex_lock(&l->lock);
    for (;;) {
        while (l->filling.n == 0 && !l->ending) {
            pthread_cond_wait(&l->more, &l->lock);
        }
        if (l->filling.n == 0) {
            break;
        }
        struct buf full = l->filling;
        l->filling = l->writing;
        l->writing = full;
        pthread_mutex_unlock(&l->lock);
        write_all(l->fd, buf_view(&l->writing));
        buf_reset(&l->writing);
        pthread_mutex_lock(&l->lock);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

void access_log_add(struct access_log *l, const struct gateway_seen *s) {
    struct buf line;
    buf_init(&line, LINE_MAX_BYTES);
    access_log_line(s, &line);
    pthread_mutex_lock(&l->lock);
    if (buf_ok(&line) != 0 || l->filling.n + line.n > ACCESS_LOG_BYTES) {
        l->dropped++;
    } else {
        buf_str(&l->filling, buf_view(&line));
        pthread_cond_signal(&l->more);
    }
    pthread_mutex_unlock(&l->lock);
    buf_release(&line);
}

uint64_t access_log_dropped(struct access_log *l) {
    pthread_mutex_lock(&l->lock);
    uint64_t n = l->dropped;
    pthread_mutex_unlock(&l->lock);
    return n;
}

int access_log_new(int fd, struct access_log **ret, struct err *err) {
    struct access_log *l = mem_zalloc(sizeof *l);
    if (l == NULL) {
        return err_set(err, ERR_NOMEM, "no memory for the access log");
    }
    l->fd = fd;
    buf_init(&l->filling, 0);
    buf_init(&l->writing, 0);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->more, NULL);
    if (pthread_create(&l->thread, NULL, run, l) != 0) {
        mem_free(l);
        return err_set(err, ERR_NOMEM, "no thread for the access log");
    }
    *ret = l;
    return 0;
}

void access_log_free(struct access_log *l) {
    if (l == NULL) {
        return;
    }
    pthread_mutex_lock(&l->lock);
    l->ending = true;
    pthread_cond_signal(&l->more);
    pthread_mutex_unlock(&l->lock);
    pthread_join(l->thread, NULL);
    buf_release(&l->filling);
    buf_release(&l->writing);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->more);
    mem_free(l);
}
