/* witness: see witness.h. */
#include "gateway/see/witness.h"

#include <stdio.h>
#include <string.h>

#include "gateway/see/trace.h"
#include "wire/prometheus.h"

enum { SPANS = sizeof((struct witness){0}.spans) / sizeof((struct witness){0}.spans[0]) };

/* Numbers that only need to differ: splitmix64, by Steele, Lea and Flood. */
static uint64_t next_span(struct witness *w, unsigned worker) {
    uint64_t z = w->spans[worker % SPANS].state += 0x9e3779b97f4a7c15U;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
    z = (z ^ z >> 27) * 0x94d049bb133111ebU;
    z ^= z >> 31;
    return z ? z : 1;
}

static bool make_up(struct witness *w, unsigned worker, struct trace_context *ret) {
    if (w->queue == NULL || next_span(w, worker) % WITNESS_ALL >= w->sampled) {
        return false;
    }
    *ret = (struct trace_context){.sampled = true};
    for (size_t i = 0; i < sizeof ret->id; i += sizeof(uint64_t)) {
        uint64_t half = next_span(w, worker);
        memcpy(&ret->id[i], &half, sizeof half);
    }
    return true;
}

static void started(struct gateway_observer *o, unsigned worker, const struct gateway_key *key,
                    const struct routes_model *m, struct gateway_trace *t) {
    struct witness *w = (struct witness *)o;
    struct trace_context context;
    (void)key;
    tally_started(w->tally, worker, m);
    if (trace_parse(t->parent, &context) || make_up(w, worker, &context)) {
        t->span = next_span(w, worker);
        trace_text(&context, t->span, t->onward);
    }
}

/* The trace that went on to the server, below the client's span. */
static void add_span(struct witness *w, const struct gateway_seen *s) {
    struct trace_context at, came;
    if (trace_parse(str_of(s->trace->onward), &at) && at.sampled) {
        at.parent = trace_parse(s->trace->parent, &came) ? came.parent : 0;
        spans_add(w->queue, &at, s);
    }
}

static void ended(struct gateway_observer *o, unsigned worker, const struct gateway_seen *s) {
    struct witness *w = (struct witness *)o;
    tally_ended(w->tally, worker, s, s->trace != NULL);
    if (w->log != NULL) {
        access_log_add(w->log, s);
    }
    if (w->queue != NULL && s->trace != NULL) {
        add_span(w, s);
    }
}

static bool page(struct gateway_observer *o, struct str path, struct buf *body,
                 const char **ret_type) {
    struct witness *w = (struct witness *)o;
    if (!str_is(path, "/metrics")) {
        return false;
    }
    tally_write(w->tally, body);
    if (w->log != NULL) {
        prom_write_head(body, PROM_COUNTER, STR("berth_gateway_access_log_dropped_total"),
                        STR("Lines that the access log had no room for."));
        buf_f(body, "berth_gateway_access_log_dropped_total %llu\n",
              (unsigned long long)access_log_dropped(w->log));
    }
    if (w->queue != NULL) {
        prom_write_head(body, PROM_COUNTER, STR("berth_gateway_spans_dropped_total"),
                        STR("Spans that the queue to the collector had no room for."));
        buf_f(body, "berth_gateway_spans_dropped_total %llu\n",
              (unsigned long long)spans_dropped(w->queue));
    }
    *ret_type = PROM_CONTENT_TYPE;
    return true;
}

void witness_init(struct witness *w, struct request_tally *tally, struct access_log *log,
                  struct span_queue *queue, uint64_t sampled, uint64_t seed) {
    *w = (struct witness){.observer = {started, ended, page},
                          .tally = tally,
                          .log = log,
                          .queue = queue,
                          .sampled = sampled};
    for (size_t i = 0; i < SPANS; i++) {
        w->spans[i].state = seed + i * 0xd1342543de82ef95U;
    }
}
