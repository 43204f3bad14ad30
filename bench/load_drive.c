/*
 * load_drive: one thread, one epoll: a pool of connections with one request each under way, and a watch.
 *
 * What is known of a workload is its newest event. An action (finish, give back) is written against that version; after
 * a conflict it is decided again from the next one.
 */
#include "load_drive.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/map.h"
#include "http_load.h"
#include "measure.h"
#include "wire/json/json.h"

enum { IN_BYTES = 32 << 10, LINE_BYTES = 4 << 20, ARENA = 8 << 20 };

enum action { ACT_NONE, ACT_CREATE, ACT_FINISH, ACT_GIVE_BACK };

struct item {
    struct item *next; /* of those that are ready to be acted on */
    char *conditions;  /* of the newest event: the text inside the brackets */
    int64_t sent, due;
    uint64_t rv, acted; /* version seen; version that the last action was written against */
    bool holds, evicted, admitted, finished, queued;
    char key[PLAN_NAME * 3];
};

struct conn {
    struct load_stream *s;
    enum action action; /* under way */
    size_t item;
    int64_t start;
    size_t in_n;
    char in[IN_BYTES];
};

struct watch {
    struct load_stream *s;
    bool header_done;
    size_t chunk; /* bytes left of the chunk, with its end of line */
    bool in_chunk;
    struct buf raw, line;
};

struct run {
    struct drive *d;
    struct item *items;
    struct conn *conns;
    struct watch watches[2]; /* Workloads, ClusterQueues */
    struct map by_key;
    struct heap later; /* items by due */
    struct item *ready, **ready_end;
    struct conn *
        *idle; /* a ring: each is used in its turn, as the server cuts one that never asks */
    size_t idle_at, n_idle, next_create, created;
    struct arena arena;
    int64_t last_event;
    int ep;
};

/* ---- texts ---- */

size_t drive_request(char *out, const char *method, const char *type, const char *path,
                     const char *body) {
    int n = snprintf(out, LOAD_REQUEST_MAX,
                     "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: %s\r\n"
                     "Content-Length: %zu\r\n\r\n%s",
                     method, path, type, strlen(body), body);
    if (n < 0 || n >= LOAD_REQUEST_MAX) {
        fprintf(stderr, "bench-load: a request is too long\n");
        exit(1);
    }
    return (size_t)n;
}

size_t drive_create_text(const struct plan *p, size_t item, char *out) {
    const struct plan_item *i = &p->items[item];
    const struct plan_class *c = &p->classes[i->class];
    const char *queue = p->queues[i->queue].name;
    const char *name = i->name;
    char path[PLAN_NAME * 2], body[4096];
    snprintf(path, sizeof(path), DRIVE_WORKLOADS, queue);
    snprintf(
        body, sizeof(body),
        "{\"apiVersion\":\"kueue.x-k8s.io/"
        "v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"%s\","
        "\"namespace\":\"%s\",\"labels\":{\"kueue.x-k8s.io/"
        "performance-scheduler-running-ms\":\"%lld\","
        "\"kueue.x-k8s.io/performance-scheduler-class\":\"%s\"}},\"spec\":{\"queueName\":\"%s\","
        "\"priority\":%lld,\"podSets\":[{\"name\":\"main\",\"count\":%lld,\"template\":{\"spec\":{"
        "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"pause\","
        "\"resources\":{\"requests\":{\"cpu\":\"%s\"}}}]}}}]}}",
        name, queue, (long long)c->runtime_ns / 1000000, c->name, queue, (long long)c->priority,
        (long long)c->pods, c->request);
    return drive_request(out, "POST", "application/json", path, body);
}

static void stamp(char out[static 32]) {
    time_t now = time(NULL);
    struct tm tm;
    gmtime_r(&now, &tm);
    strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

static size_t finish_text(const struct run *r, const struct item *it, char *out) {
    const struct plan *p = r->d->plan;
    const struct plan_item *i = &p->items[it - r->items];
    char path[PLAN_NAME * 4], body[6144], when[32];
    stamp(when);
    snprintf(path, sizeof(path), DRIVE_WORKLOADS "/%s/status", p->queues[i->queue].name, i->name);
    snprintf(
        body, sizeof(body),
        "{\"metadata\":{\"resourceVersion\":\"%llu\"},\"status\":{\"conditions\":[%s%s{\"type\":"
        "\"Finished\",\"status\":\"True\",\"reason\":\"ByTest\",\"message\":\"By test runner\","
        "\"lastTransitionTime\":\"%s\"}]}}",
        (unsigned long long)it->rv, it->conditions ? it->conditions : "",
        it->conditions && it->conditions[0] ? "," : "", when);
    return drive_request(out, "PATCH", "application/merge-patch+json", path, body);
}

/* QuotaReserved and Admitted become False; the rest stays. */
static size_t give_back_text(struct run *r, const struct item *it, char *out) {
    const struct plan *p = r->d->plan;
    const struct plan_item *i = &p->items[it - r->items];
    size_t k, n;
    char path[PLAN_NAME * 4], when[32];
    struct buf b;
    stamp(when);
    snprintf(path, sizeof(path), DRIVE_WORKLOADS "/%s/status", p->queues[i->queue].name, i->name);
    arena_reset(&r->arena);
    buf_init(&b, 0);
    buf_f(&b,
          "{\"metadata\":{\"resourceVersion\":\"%llu\"},\"status\":{\"admission\":null,"
          "\"conditions\":[",
          (unsigned long long)it->rv);
    yyjson_doc *doc;
    yyjson_val *c;
    struct str list = arena_f(&r->arena, "[%s]", it->conditions ? it->conditions : "");
    bool some = false;
    if (json_parse(&r->arena, list, &doc, NULL) == 0) {
        yyjson_arr_foreach(yyjson_doc_get_root(doc), k, n, c) {
            struct str type = json_str_at(c, "type");
            buf_c(&b, some ? "," : "");
            some = true;
            if (str_is(type, "QuotaReserved") || str_is(type, "Admitted")) {
                buf_f(&b,
                      "{\"type\":\"%.*s\",\"status\":\"False\",\"reason\":\"Pending\",\"message\":"
                      "\"Evicted by the test runner\",\"lastTransitionTime\":\"%s\"}",
                      STR_ARG(type), when);
            } else {
                json_write(&b, c);
            }
        }
    }
    buf_c(&b, "]}}");
    size_t len = drive_request(out, "PATCH", "application/merge-patch+json", path, buf_cstr(&b));
    buf_release(&b);
    return len;
}

/* ---- connections ---- */

static void put_idle(struct run *r, struct conn *c) {
    r->idle[(r->idle_at + r->n_idle++) % r->d->connections] = c;
}

static int start(struct run *r, enum action action, size_t item) {
    static char text[LOAD_REQUEST_MAX];
    struct conn *c = r->idle[r->idle_at++ % r->d->connections];
    r->n_idle--;
    struct item *it = &r->items[item];
    size_t n = action == ACT_CREATE   ? drive_create_text(r->d->plan, item, text)
               : action == ACT_FINISH ? finish_text(r, it, text)
                                      : give_back_text(r, it, text);
    c->action = action;
    c->item = item;
    c->in_n = 0;
    c->start = measure_now();
    if (action == ACT_CREATE) {
        it->sent = c->start;
    } else {
        it->acted = it->rv;
    }
    return load_write(c->s, text, n);
}

static void push_ready(struct run *r, struct item *it) {
    it->next = NULL;
    *r->ready_end = it;
    r->ready_end = &it->next;
}

static void decide(struct run *r, struct item *it) {
    const struct plan *p = r->d->plan;
    if (it->queued || it->finished || it->rv <= it->acted || !it->holds) {
        return;
    }
    if (it->evicted) {
        it->queued = true;
        push_ready(r, it);
    } else if (it->admitted) {
        int64_t runtime = p->classes[p->items[it - r->items].class].runtime_ns;
        it->queued = true;
        it->due = measure_now() + (int64_t)((double)runtime * r->d->runtime_scale);
        if (r->d->runtime_scale <= 0) {
            push_ready(r, it);
        } else if (heap_push(&r->later, it) != 0) {
            abort();
        }
    }
}

static int answered(struct run *r, struct conn *c) {
    int status = c->in_n > 12 ? (int)strtol(c->in + 9, NULL, 10) : 0;
    struct item *it = &r->items[c->item];
    int64_t took = measure_now() - c->start;
    put_idle(r, c);
    if (c->action == ACT_CREATE && status == 201) {
        r->d->create_ns[c->item] = took;
        r->d->created = c->start + took;
        r->created++;
        return 0;
    }
    if (c->action != ACT_CREATE && (status == 200 || status == 409)) {
        r->d->finish_ns[c->item] = took;
        r->d->conflicts += status == 409;
        decide(r, it);
        return 0;
    }
    fprintf(stderr, "bench-load: status %d: %.600s\n", status, c->in);
    return -1;
}

static bool whole_answer(struct conn *c) {
    c->in[c->in_n] = 0;
    char *body = strstr(c->in, "\r\n\r\n");
    char *length = body ? strcasestr(c->in, "\r\ncontent-length:") : NULL;
    return length && length < body &&
           c->in_n >= (size_t)(body + 4 - c->in) + strtoul(length + 17, NULL, 10);
}

static int receive(struct run *r, struct conn *c) {
    for (;;) {
        int n = load_read(c->s, c->in + c->in_n, sizeof(c->in) - 1 - c->in_n);
        if (n <= 0) {
            return n;
        }
        c->in_n += (size_t)n;
        if (whole_answer(c)) {
            return answered(r, c);
        }
    }
}

/* ---- events ---- */

static void account(struct run *r, struct item *it, bool holds) {
    struct plan *p = r->d->plan;
    const struct plan_item *i = &p->items[it - r->items];
    struct plan_queue *q = &p->queues[i->queue];
    struct plan_cohort *h = &p->cohorts[q->cohort];
    int64_t v = p->classes[i->class].milli;
    if (it->holds == holds) {
        return;
    }
    it->holds = holds;
    q->used_milli += holds ? v : -v;
    h->used_milli += holds ? v : -v;
    if (h->used_milli > h->nominal_milli ||
        (q->borrowing_milli >= 0 && q->used_milli > q->nominal_milli + q->borrowing_milli)) {
        r->d->beyond_quota++;
    }
}

static void read_conditions(struct item *it, yyjson_val *conditions, bool *ret_reserved) {
    size_t i, n;
    yyjson_val *c;
    struct buf b;
    buf_init(&b, 0);
    it->admitted = it->evicted = it->finished = *ret_reserved = false;
    yyjson_arr_foreach(conditions, i, n, c) {
        struct str type = json_str_at(c, "type");
        bool is = str_is(json_str_at(c, "status"), "True");
        it->admitted |= is && str_is(type, "Admitted");
        it->evicted |= is && str_is(type, "Evicted");
        it->finished |= is && str_is(type, "Finished");
        *ret_reserved |= is && str_is(type, "QuotaReserved");
        buf_c(&b, i > 0 ? "," : "");
        json_write(&b, c);
    }
    free(it->conditions);
    it->conditions = it->finished ? NULL : strndup(b.p ? b.p : "", b.n);
    buf_release(&b);
}

static int on_event(struct run *r, struct str line) {
    yyjson_doc *doc;
    arena_reset(&r->arena);
    if (json_parse(&r->arena, line, &doc, NULL) != 0) {
        fprintf(stderr, "bench-load: the watch sent no JSON: %.200s\n", line.p);
        return -1;
    }
    yyjson_val *root = yyjson_doc_get_root(doc), *o = json_get(root, STR("object"));
    if (str_is(json_str_at(root, "type"), "ERROR")) {
        fprintf(stderr, "bench-load: the watch ended: %.*s\n", STR_ARG(line));
        return -1;
    }
    struct str key = arena_f(&r->arena, "%.*s/%.*s", STR_ARG(json_str_at(o, "metadata.namespace")),
                             STR_ARG(json_str_at(o, "metadata.name")));
    struct item *it = map_get(&r->by_key, key);
    if (it == NULL) {
        return 0;
    }
    bool was = it->finished, reserved, first = it->admitted, evicted = it->evicted;
    size_t i = (size_t)(it - r->items);
    it->rv = strtoull(json_str_at(o, "metadata.resourceVersion").p, NULL, 10);
    read_conditions(it, json_path(o, "status.conditions"), &reserved);
    if (it->admitted && !first && r->d->admit_ns[i] == 0) {
        r->d->admit_ns[i] = measure_now() - it->sent;
    }
    account(r, it, reserved && !it->finished);
    r->d->evictions += it->evicted && !evicted;
    r->d->finished += it->finished && !was;
    r->d->events++;
    decide(r, it);
    return 0;
}

/* Takes whole lines out of the chunks. */
static int feed(struct run *r, struct watch *w) {
    struct buf *b = &w->raw;
    size_t at = 0;
    if (!w->header_done) {
        char *body = strstr(buf_cstr(b), "\r\n\r\n");
        if (body == NULL) {
            return 0;
        }
        if (strncmp(b->p, "HTTP/1.1 200", 12) != 0) {
            fprintf(stderr, "bench-load: no watch: %.300s\n", b->p);
            return -1;
        }
        w->header_done = true;
        at = (size_t)(body + 4 - b->p);
    }
    while (at < b->n) {
        if (w->chunk == 0) {
            char *end = memchr(b->p + at, '\n', b->n - at);
            if (end == NULL) {
                break;
            }
            w->chunk = strtoul(b->p + at, NULL, 16) + 2;
            at = (size_t)(end + 1 - b->p);
            if (w->chunk == 2) {
                fprintf(stderr, "bench-load: a watch ended\n");
                return -1;
            }
            continue;
        }
        size_t n = b->n - at < w->chunk ? b->n - at : w->chunk;
        size_t useful = w->chunk > 2 ? (n < w->chunk - 2 ? n : w->chunk - 2) : 0;
        buf_add(&w->line, b->p + at, useful);
        w->chunk -= n;
        at += n;
    }
    buf_consume(b, at);
    at = 0;
    for (char *end; at < w->line.n && (end = memchr(w->line.p + at, '\n', w->line.n - at));) {
        size_t n = (size_t)(end - w->line.p) - at;
        r->last_event = measure_now();
        if (w == &r->watches[0] && n > 0 && on_event(r, str_from(w->line.p + at, n)) == -1) {
            return -1;
        }
        at += n + 1;
    }
    buf_consume(&w->line, at);
    return 0;
}

static int read_watch(struct run *r, struct watch *w) {
    for (int turns = 0; turns < 16; turns++) {
        char *p = buf_room(&w->raw, IN_BYTES);
        int n = p ? load_read(w->s, p, IN_BYTES) : -1;
        if (n <= 0) {
            return n;
        }
        w->raw.n += (size_t)n;
        if (feed(r, w) == -1) {
            return -1;
        }
    }
    return 1; /* there may be more that epoll does not tell of */
}

/* ---- the run ---- */

static int by_due(const void *a, const void *b, void *ctx) {
    const struct item *x = a, *y = b;
    return x->due != y->due ? (x->due < y->due ? -1 : 1) : x < y ? -1 : x > y;
}

/* Ends are sent before creates, which take at most three of four connections. */
static int give_work(struct run *r, int *ret_wait_ms) {
    const struct plan *p = r->d->plan;
    int64_t now = measure_now();
    for (struct item *it; (it = heap_peek(&r->later)) && it->due <= now;) {
        push_ready(r, heap_pop(&r->later));
    }
    while (r->ready && r->n_idle > 0) {
        struct item *it = r->ready;
        r->ready = it->next;
        r->ready_end = r->ready ? r->ready_end : &r->ready;
        it->queued = false;
        if (it->finished || !it->holds || it->rv <= it->acted) {
            continue;
        }
        if (start(r, it->evicted ? ACT_GIVE_BACK : ACT_FINISH, (size_t)(it - r->items)) == -1) {
            return -1;
        }
    }
    size_t kept = r->d->connections / 4;
    int64_t due = 0;
    while (r->next_create < p->n_items && r->n_idle > kept) {
        due = (int64_t)((double)p->items[r->next_create].due_ns * r->d->interval_scale);
        if (r->d->start + due > now) {
            break;
        }
        if (start(r, ACT_CREATE, r->next_create++) == -1) {
            return -1;
        }
    }
    const struct item *first = heap_peek(&r->later);
    int64_t wait = first ? first->due - now : INT64_MAX;
    int64_t create =
        r->next_create < p->n_items && r->n_idle > kept ? r->d->start + due - now : INT64_MAX;
    wait = create < wait ? create : wait;
    *ret_wait_ms = wait == INT64_MAX ? 1000 : (int)((wait + 999999) / 1000000);
    return 0;
}

static int turn(struct run *r, int wait_ms) {
    struct epoll_event events[128];
    int n = epoll_wait(r->ep, events, 128, wait_ms), more = 0;
    if (n == -1 && errno != EINTR) {
        return -1;
    }
    for (int i = 0; i < n; i++) {
        void *p = events[i].data.ptr;
        bool watch = p == &r->watches[0] || p == &r->watches[1];
        int got = watch ? read_watch(r, p) : receive(r, p);
        if (got == -1) {
            fprintf(stderr, "bench-load: %s broke\n", watch ? "a watch" : "a connection");
            return -1;
        }
        more |= watch && got == 1;
    }
    return more;
}

static int until_done(struct run *r) {
    struct drive *d = r->d;
    int wait_ms = 0, more = 0;
    d->start = r->last_event = measure_now();
    while (d->finished < d->plan->n_items) {
        if (give_work(r, &wait_ms) == -1 || (more = turn(r, more ? 0 : wait_ms)) == -1) {
            return -1;
        }
        for (size_t i = 0; more && i < 2; i++) { /* TLS may hold what the socket does not show */
            more = read_watch(r, &r->watches[i]) == 1 || more;
        }
        if (measure_now() - r->last_event > (int64_t)d->stall_s * 1000000000) {
            fprintf(stderr, "bench-load: nothing happened for %d s: %zu of %zu finished\n",
                    d->stall_s, d->finished, d->plan->n_items);
            return -1;
        }
    }
    d->end = measure_now();
    return 0;
}

static int open_all(struct run *r) {
    static const char *const what[] = {"workloads", "clusterqueues"};
    struct drive *d = r->d;
    for (size_t i = 0; i < d->connections + 2; i++) {
        struct epoll_event e = {.events = EPOLLIN};
        char text[512] = "";
        struct load_stream *s;
        if (i >= d->connections) {
            struct watch *w = &r->watches[i - d->connections];
            snprintf(text, sizeof(text),
                     "GET /apis/kueue.x-k8s.io/v1beta2/%s?watch=true HTTP/1.1\r\n"
                     "Host: 127.0.0.1\r\n\r\n",
                     what[i - d->connections]);
            s = w->s = load_open(d->tls, d->port, text, strlen(text));
            e.data.ptr = w;
        } else {
            s = r->conns[i].s = load_open(d->tls, d->port, NULL, 0);
            e.data.ptr = &r->conns[i];
            put_idle(r, &r->conns[i]);
        }
        if (s == NULL || epoll_ctl(r->ep, EPOLL_CTL_ADD, load_fd(s), &e) == -1) {
            return -1;
        }
    }
    return 0;
}

static int prepare(struct run *r) {
    struct drive *d = r->d;
    size_t n = d->plan->n_items;
    r->items = calloc(n, sizeof(*r->items));
    r->conns = calloc(d->connections, sizeof(*r->conns));
    r->idle = calloc(d->connections, sizeof(struct conn *));
    d->create_ns = calloc(n, sizeof(int64_t));
    d->finish_ns = calloc(n, sizeof(int64_t));
    d->admit_ns = calloc(n, sizeof(int64_t));
    r->ep = epoll_create1(EPOLL_CLOEXEC);
    r->ready_end = &r->ready;
    arena_init(&r->arena, ARENA);
    heap_init(&r->later, by_due, NULL, HEAP_NO_PLACE);
    for (size_t i = 0; i < 2; i++) {
        buf_init(&r->watches[i].raw, LINE_BYTES);
        buf_init(&r->watches[i].line, LINE_BYTES);
    }
    for (size_t i = 0; i < n; i++) {
        const struct plan_item *p = &d->plan->items[i];
        snprintf(r->items[i].key, sizeof(r->items[i].key), "%s/%s", d->plan->queues[p->queue].name,
                 p->name);
        if (map_put(&r->by_key, str_of(r->items[i].key), &r->items[i], NULL) != 0) {
            return -1;
        }
    }
    return r->ep == -1 ? -1 : open_all(r);
}

int drive_run(struct drive *d) {
    static struct run r;
    r = (struct run){.d = d};
    int code = prepare(&r) == 0 ? until_done(&r) : -1;
    for (size_t i = 0; i < d->connections; i++) {
        load_close(r.conns[i].s);
    }
    for (size_t i = 0; i < 2; i++) {
        load_close(r.watches[i].s);
        buf_release(&r.watches[i].raw);
        buf_release(&r.watches[i].line);
    }
    for (size_t i = 0; i < d->plan->n_items; i++) {
        free(r.items[i].conditions);
    }
    close(r.ep);
    map_release(&r.by_key);
    heap_release(&r.later);
    arena_release(&r.arena);
    free(r.items);
    free(r.conns);
    free(r.idle);
    return code;
}
