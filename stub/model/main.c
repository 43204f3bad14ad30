/* main: starts the stub model server; see server.h. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "server.h"

static void on_signal(void *ctx, int signum) {
    loop_stop(((struct server *)ctx)->loop);
}

static void on_exit_time(void *ctx) {
    exit((int)((struct server *)ctx)->o.exit_status);
}

static void stop(struct server *s, const struct err *err) {
    fprintf(stderr, "model-server: %s\n", err->text);
    loop_stop(s->loop);
}

/* What the start of vLLM says of the memory for keys and values. */
static void say_started(const struct server *s) {
    size_t tokens = s->o.engine.blocks * s->o.engine.block_tokens;

    printf("INFO [kv_cache_utils.py:716] GPU KV cache size: %zu tokens\n", tokens);
    printf("INFO [kv_cache_utils.py:720] Maximum concurrency for %lld tokens per request: %.2fx\n",
           (long long)s->o.max_len, (double)tokens / (double)s->o.max_len);
    printf("listening on %s:%u\n", s->o.host, s->o.port);
    fflush(stdout);
}

/* The time to listen has come: at the start, or again after it was refused for a while. */
static void on_listen(void *ctx) {
    struct server *s = ctx;
    int64_t wait = s->began - clock_mono(s->clock);
    struct err err;

    if (s->asleep && s->http) { /* connections end as well */
        http_server_free(s->http);
        s->http = NULL;
    }
    if (wait > 0) {
        s->clock->timer_start(s->again, wait);
        return;
    }
    s->asleep = false;
    if (serve_listen(s, &err)) {
        stop(s, &err);
        return;
    }
    say_started(s);
}

static bool model_is_there(const char *path) {
    DIR *d = opendir(path);
    struct dirent *e;
    struct stat st;
    bool any = d == NULL && stat(path, &st) == 0;

    while (d && !any && (e = readdir(d))) {
        any = e->d_name[0] != '.';
    }
    if (d) {
        closedir(d);
    }
    if (!any) {
        fprintf(stderr, "model-server: --model: there is nothing at %s\n", path);
    }
    return any;
}

static bool make_timers(struct server *s) {
    s->step = s->clock->timer_new(s->clock, server_step_over, s);
    s->again = s->clock->timer_new(s->clock, on_listen, s);
    s->exits = s->clock->timer_new(s->clock, on_exit_time, s);
    return s->step && s->again && s->exits;
}

static void split_reply(struct server *s) {
    struct str rest = str_of(s->o.reply), word;

    while (s->n_words < WORDS_MAX && str_next(&rest, ' ', &word)) {
        s->words[s->n_words++] = word;
    }
}

static int run(struct server *s, struct err *err) {
    s->clock = loop_clock(s->loop);
    s->began = clock_mono(s->clock) + s->o.start_ms * NS_PER_MS;
    if (engine_init(&s->engine, &s->o.engine) || !make_timers(s)) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    if (loop_signal(s->loop, SIGTERM, on_signal, s, err) == NULL ||
        loop_signal(s->loop, SIGINT, on_signal, s, err) == NULL) {
        return ERR_IO;
    }
    if (s->o.exit_ms) {
        s->clock->timer_start(s->exits, s->o.exit_ms * NS_PER_MS);
    }
    s->clock->timer_start(s->again, 0);
    loop_run(s->loop);
    http_server_free(s->http);
    return 0;
}

int main(int argc, char **argv) {
    static struct server s;
    struct err err = {0};

    if (!options_read(&s.o, argc, argv) || (s.o.must_exist && !model_is_there(s.o.model))) {
        return 2;
    }
    buf_init(&s.last, 256 << 20);
    metrics_init(&s);
    split_reply(&s);
    s.loop = loop_new(&err);
    if (s.loop == NULL || run(&s, &err)) {
        fprintf(stderr, "model-server: %s\n", err.text);
        return 1;
    }
    return 0;
}
