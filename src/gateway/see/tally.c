/* tally: rows in a map for each worker. See tally.h. */
#include "gateway/see/tally.h"

#include <pthread.h>

#include "base/map.h"
#include "base/mem.h"
#include "wire/prometheus.h"

enum { BUCKETS_MAX = 16, KEY_MAX = 2048, CODE_MAX = 48 };

enum what { DURATION, FIRST, HELD, TOKENS_IN, TOKENS_OUT, SIZE_IN, SIZE_OUT, WHATS };

/* [otel] gen-ai-metrics, advised bounds of the buckets; sizes: as tokens, in bytes. */
static const double seconds[] = {0.01, 0.02, 0.04, 0.08,  0.16,  0.32,  0.64,
                                 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92};
static const double first_seconds[] = {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,
                                       0.25,  0.5,   0.75, 1,    2.5,  5,    7.5,  10};
static const double counts[] = {1,     4,     16,     64,      256,     1024,     4096,
                                16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864};

#define BOUNDS(v) v, sizeof(v) / sizeof((v)[0])
static const struct {
    const double *bounds;
    size_t n;
    const char *names[3], *help;
} histograms[WHATS] = {
    [DURATION] = {BOUNDS(seconds),
                  {"inference_objective_request_duration_seconds",
                   "gen_ai_server_request_duration_seconds"},
                  "Time from the whole request to the end of its answer."},
    [FIRST] = {BOUNDS(first_seconds),
               {"gen_ai_server_time_to_first_token_seconds"},
               "Time from the whole request to the first byte of its answer's body."},
    [HELD] = {BOUNDS(seconds),
              {"berth_gateway_hold_duration_seconds"},
              "How long requests waited for an endpoint, of those that waited."},
    [TOKENS_IN] = {BOUNDS(counts),
                   {"inference_objective_input_tokens"},
                   "Tokens of prompts, as the servers counted them."},
    [TOKENS_OUT] = {BOUNDS(counts),
                    {"inference_objective_output_tokens"},
                    "Tokens of answers, as the servers counted them."},
    [SIZE_IN] = {BOUNDS(counts),
                 {"inference_objective_request_sizes"},
                 "Bytes of bodies of requests."},
    [SIZE_OUT] = {BOUNDS(counts),
                  {"inference_objective_response_sizes"},
                  "Bytes of bodies of answers."},
};

struct histogram {
    uint64_t buckets[BUCKETS_MAX + 1], n;
    double sum;
};

struct tally_code {
    char text[CODE_MAX];
    uint64_t n;
};

struct tally_row {
    char *key; /* "project\nmodel\ntarget\noperation\nservice" */
    uint64_t requests;
    int64_t under_way, last_s;
    struct tally_code codes[TALLY_CODES]; /* of errors */
    struct histogram h[WHATS];
};

struct shard { /* of one worker */
    pthread_mutex_t lock;
    struct map rows;
    struct tally_row other;
};

struct request_tally {
    unsigned n;
    struct shard shards[];
};

/* ---- counting ---- */

static void observe(struct histogram *h, enum what w, double v) {
    size_t i = 0;
    while (i < histograms[w].n && v > histograms[w].bounds[i]) {
        i++;
    }
    h->buckets[i]++;
    h->n++;
    h->sum += v;
}

static void count_code(struct tally_row *r, struct str code) {
    for (size_t i = 0; i < TALLY_CODES; i++) {
        struct tally_code *c = &r->codes[i];
        if (c->n == 0) {
            bool last = i + 1 == TALLY_CODES;
            (void)snprintf(c->text, sizeof c->text, "%.*s", STR_ARG(last ? STR("other") : code));
        }
        if (c->n == 0 || str_eq(str_of(c->text), str_head(code, CODE_MAX - 1)) ||
            i + 1 == TALLY_CODES) {
            c->n++;
            return;
        }
    }
}

static struct tally_row *row_of(struct shard *s, const struct routes_model *m,
                                struct str operation) {
    char key[KEY_MAX];
    struct str served = m && m->n_backends ? m->backends[0].served : (struct str){0};
    struct str name = m ? m->name : (struct str){0};
    int n = snprintf(key, sizeof key, "%.*s\n%.*s\n%.*s\n%.*s\n%.*s",
                     STR_ARG(m ? m->project : (struct str){0}), STR_ARG(name),
                     STR_ARG(served.n ? served : name), STR_ARG(operation),
                     STR_ARG(m ? m->service : (struct str){0}));
    struct str view = str_from(key, n < KEY_MAX ? (size_t)n : KEY_MAX - 1);
    struct tally_row *r = map_get(&s->rows, view);
    if (r != NULL || map_count(&s->rows) >= TALLY_ROWS_MAX) {
        return r ? r : &s->other;
    }
    r = mem_zalloc(sizeof *r);
    if (r == NULL || (r->key = mem_cstr(view)) == NULL ||
        map_put(&s->rows, str_of(r->key), r, NULL) != 0) {
        if (r != NULL) {
            mem_free(r->key);
        }
        mem_free(r);
        return &s->other;
    }
    return r;
}

/* Which operation it is counts when it is over: till then it is in a row without. */
void tally_started(struct request_tally *t, unsigned worker, const struct routes_model *m) {
    struct shard *s = &t->shards[worker % t->n];
    pthread_mutex_lock(&s->lock);
    row_of(s, m, STR(""))->under_way++;
    pthread_mutex_unlock(&s->lock);
}

static struct str code_of(const struct gateway_seen *s, char text[CODE_MAX]) {
    static const char *const ends[] = {[GATEWAY_END_CANCELLED] = "client_gone",
                                       [GATEWAY_END_UPSTREAM] = "upstream",
                                       [GATEWAY_END_TIMED_OUT] = "timeout",
                                       [GATEWAY_END_SLOW_CLIENT] = "slow_client"};
    if (s->refused.n) {
        return s->refused;
    }
    if (s->end < sizeof ends / sizeof *ends && ends[s->end]) {
        return str_of(ends[s->end]);
    }
    if (s->status >= 400) {
        (void)snprintf(text, CODE_MAX, "%d", s->status);
        return str_of(text);
    }
    return (struct str){0};
}

static void observe_if(struct tally_row *r, enum what w, int64_t v, double unit) {
    if (v >= 0) {
        observe(&r->h[w], w, (double)v / unit);
    }
}

void tally_ended(struct request_tally *t, unsigned worker, const struct gateway_seen *s,
                 bool began) {
    struct shard *shard = &t->shards[worker % t->n];
    char text[CODE_MAX];
    struct str code = code_of(s, text);
    pthread_mutex_lock(&shard->lock);
    if (began) {
        row_of(shard, s->model, STR(""))->under_way--;
    }
    struct tally_row *r = row_of(shard, s->model, s->operation.n ? s->operation : STR("unknown"));
    r->requests++;
    r->last_s = (s->begun_wall_ns + (s->took_ns > 0 ? s->took_ns : 0)) / 1000000000;
    if (code.n) {
        count_code(r, code);
    }
    observe_if(r, DURATION, s->took_ns, 1e9);
    observe_if(r, FIRST, s->first_ns, 1e9);
    observe_if(r, HELD, s->held_ns > 0 ? s->held_ns : -1, 1e9);
    observe_if(r, TOKENS_IN, s->tokens_in, 1);
    observe_if(r, TOKENS_OUT, s->tokens_out, 1);
    observe_if(r, SIZE_IN, (int64_t)s->bytes_in, 1);
    observe_if(r, SIZE_OUT, (int64_t)s->bytes_out, 1);
    pthread_mutex_unlock(&shard->lock);
}

/* ---- reading ---- */

static void add(struct tally_row *to, const struct tally_row *r) {
    to->requests += r->requests;
    to->under_way += r->under_way;
    for (size_t i = 0; i < TALLY_CODES && r->codes[i].n; i++) {
        size_t j = 0;
        while (j + 1 < TALLY_CODES && to->codes[j].n &&
               strcmp(to->codes[j].text, r->codes[i].text) != 0) {
            j++;
        }
        if (to->codes[j].n == 0) {
            memcpy(to->codes[j].text, r->codes[i].text, CODE_MAX);
        }
        to->codes[j].n += r->codes[i].n;
    }
    for (size_t w = 0; w < WHATS; w++) {
        for (size_t i = 0; i <= histograms[w].n; i++) {
            to->h[w].buckets[i] += r->h[w].buckets[i];
        }
        to->h[w].n += r->h[w].n;
        to->h[w].sum += r->h[w].sum;
    }
}

static int add_named(struct map *sum, const struct tally_row *r, const char *key) {
    struct tally_row *to = map_get(sum, str_of(key));
    if (to == NULL) {
        to = mem_zalloc(sizeof *to);
        if (to == NULL || (to->key = mem_cstr(str_of(key))) == NULL ||
            map_put(sum, str_of(to->key), to, NULL) != 0) {
            if (to != NULL) {
                mem_free(to->key);
            }
            mem_free(to);
            return ERR_NOMEM;
        }
    }
    add(to, r);
    return 0;
}

static int add_up(struct request_tally *t, struct map *sum) {
    const struct map_entry *e;
    int code = 0;
    for (unsigned i = 0; i < t->n; i++) {
        struct shard *s = &t->shards[i];
        pthread_mutex_lock(&s->lock);
        for (size_t k = 0; code == 0 && (e = map_next(&s->rows, &k)) != NULL;) {
            code = add_named(sum, e->value, ((const struct tally_row *)e->value)->key);
        }
        if (code == 0 && (s->other.requests || s->other.under_way)) {
            code = add_named(sum, &s->other, "\nother\nother\nother\n");
        }
        pthread_mutex_unlock(&s->lock);
    }
    return code;
}

static void write_label(struct buf *out, const char *name, struct str value, bool first) {
    buf_f(out, "%s%s=\"", first ? "" : ",", name);
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] == '"' || value.p[i] == '\\') {
            buf_ch(out, '\\');
        }
        buf_ch(out, value.p[i]);
    }
    buf_ch(out, '"');
}

/* Rows that only count what is under way have no operation. */
static bool is_running(const struct tally_row *r) {
    struct str rest = str_of(r->key), part;
    for (size_t i = 0; i < 4; i++) {
        (void)str_cut(rest, '\n', &part, &rest);
    }
    return part.n == 0;
}

static void write_labels(struct buf *out, const struct tally_row *r) {
    static const char *const names[] = {"project", "model_name", "target_model_name",
                                        "gen_ai_operation_name"};
    struct str rest = str_of(r->key), part;
    for (size_t i = 0; i < 4; i++) {
        (void)str_cut(rest, '\n', &part, &rest);
        if (i < 3 || part.n) {
            write_label(out, names[i], part, i == 0);
        }
    }
}

static void write_line(struct buf *out, const char *name, const char *suffix,
                       const struct tally_row *r, const char *label, struct str value, double v) {
    buf_f(out, "%s%s{", name, suffix);
    write_labels(out, r);
    if (label != NULL) {
        write_label(out, label, value, false);
    }
    buf_c(out, "} ");
    prom_write_number(out, v);
    buf_ch(out, '\n');
}

static void write_histogram(struct buf *out, const char *name, enum what w, const struct map *sum) {
    const struct map_entry *e;
    prom_write_head(out, PROM_HISTOGRAM, str_of(name), str_of(histograms[w].help));
    for (size_t i = 0; (e = map_next(sum, &i)) != NULL;) {
        const struct tally_row *r = e->value;
        uint64_t so_far = 0;
        if (is_running(r)) {
            continue;
        }
        for (size_t k = 0; k <= histograms[w].n; k++) {
            struct buf le;
            buf_init(&le, 64);
            if (k == histograms[w].n) {
                buf_c(&le, "+Inf");
            } else {
                prom_write_number(&le, histograms[w].bounds[k]);
            }
            so_far += r->h[w].buckets[k];
            write_line(out, name, "_bucket", r, "le", buf_view(&le), (double)so_far);
            buf_release(&le);
        }
        write_line(out, name, "_sum", r, NULL, STR(""), r->h[w].sum);
        write_line(out, name, "_count", r, NULL, STR(""), (double)r->h[w].n);
    }
}

static void write_counts(struct buf *out, const struct map *sum) {
    const struct map_entry *e;
    prom_write_head(out, PROM_COUNTER, STR("inference_objective_request_total"),
                    STR("Requests that ended."));
    for (size_t i = 0; (e = map_next(sum, &i)) != NULL;) {
        const struct tally_row *r = e->value;
        if (!is_running(r)) {
            write_line(out, "inference_objective_request_total", "", r, NULL, STR(""),
                       (double)r->requests);
        }
    }
    prom_write_head(out, PROM_GAUGE, STR("inference_objective_running_requests"),
                    STR("Requests under way, held ones included."));
    for (size_t i = 0; (e = map_next(sum, &i)) != NULL;) {
        const struct tally_row *r = e->value;
        if (is_running(r)) {
            write_line(out, "inference_objective_running_requests", "", r, NULL, STR(""),
                       (double)r->under_way);
        }
    }
    prom_write_head(out, PROM_COUNTER, STR("inference_objective_request_error_total"),
                    STR("Requests that failed, by the error's code or the answer's status."));
    for (size_t i = 0; (e = map_next(sum, &i)) != NULL;) {
        const struct tally_row *r = e->value;
        for (size_t k = 0; k < TALLY_CODES && r->codes[k].n; k++) {
            write_line(out, "inference_objective_request_error_total", "", r, "error_code",
                       str_of(r->codes[k].text), (double)r->codes[k].n);
        }
    }
}

static void free_rows(struct map *m) {
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(m, &i)) != NULL;) {
        struct tally_row *r = e->value;
        mem_free(r->key);
        mem_free(r);
    }
    map_release(m);
}

void tally_write(struct request_tally *t, struct buf *out) {
    struct map sum = {0};
    if (add_up(t, &sum) == 0) {
        write_counts(out, &sum);
        for (size_t w = 0; w < WHATS; w++) {
            for (size_t k = 0; histograms[w].names[k]; k++) {
                write_histogram(out, histograms[w].names[k], (enum what)w, &sum);
            }
        }
    }
    free_rows(&sum);
}

struct tally_activity tally_activity(struct request_tally *t, struct str project,
                                     struct str service) {
    struct tally_activity a = {0};
    const struct map_entry *e;
    for (unsigned i = 0; i < t->n; i++) {
        struct shard *s = &t->shards[i];
        pthread_mutex_lock(&s->lock);
        for (size_t k = 0; (e = map_next(&s->rows, &k)) != NULL;) {
            const struct tally_row *r = e->value;
            const char *last = strrchr(r->key, '\n');
            struct str of;
            (void)str_cut(str_of(r->key), '\n', &of, &(struct str){0});
            if (str_eq(of, project) && str_is(service, last + 1)) {
                a.under_way += r->under_way;
                a.last_s = a.last_s > r->last_s ? a.last_s : r->last_s;
            }
        }
        pthread_mutex_unlock(&s->lock);
    }
    return a;
}

/* ---- life ---- */

struct request_tally *tally_new(unsigned workers) {
    struct request_tally *t = mem_zalloc(sizeof *t + workers * sizeof t->shards[0]);
    if (t != NULL) {
        t->n = workers;
        for (unsigned i = 0; i < workers; i++) {
            pthread_mutex_init(&t->shards[i].lock, NULL);
        }
    }
    return t;
}

void tally_free(struct request_tally *t) {
    if (t == NULL) {
        return;
    }
    for (unsigned i = 0; i < t->n; i++) {
        free_rows(&t->shards[i].rows);
        pthread_mutex_destroy(&t->shards[i].lock);
    }
    mem_free(t);
}
