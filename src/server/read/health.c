/* health: /version, /healthz, /livez, /readyz, /metrics and the index of paths. */
#include "base/mem.h"
#include "server/flow/flow.h"
#include "server/kit/handlers.h"
#include "wire/prometheus.h"

struct server_metrics {
    struct prom *prom;
    struct prom_family *requests, *seconds, *inflight;
    struct prom_series *watches, *cut;
    uint64_t cut_told; /* of those that were cut */
};

int health_init(struct server *s, struct err *err) {
    static const char *const request_labels[] = {"verb", "resource", "code"};
    static const char *const verb_label[] = {"verb"};
    static const char *const kind_label[] = {"request_kind"};
    struct server_metrics *m = mem_zalloc(sizeof(*m));
    if (m == NULL || (m->prom = prom_new()) == NULL) {
        mem_free(m);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    m->requests = prom_family(m->prom, PROM_COUNTER, "apiserver_request_total",
                              "API requests by verb, resource and HTTP status.", request_labels, 3);
    m->seconds =
        prom_family(m->prom, PROM_HISTOGRAM, "apiserver_request_duration_seconds",
                    "Time to answer, by verb; watches and logs are left out.", verb_label, 1);
    m->inflight = prom_family(m->prom, PROM_GAUGE, "apiserver_current_inflight_requests",
                              "Requests under way.", kind_label, 1);
    m->watches = prom_with_n(prom_family(m->prom, PROM_GAUGE, "apiserver_longrunning_requests",
                                         "Watches and followed logs.", NULL, 0),
                             NULL, 0);
    m->cut = prom_with_n(prom_family(m->prom, PROM_COUNTER, "berth_http_slow_peers_cut_total",
                                     "Connections ended because their peer took, or sent, too "
                                     "little for too long.",
                                     NULL, 0),
                         NULL, 0);
    prom_add(m->cut, 0);
    s->metrics = m;
    return 0;
}

struct prom *health_prom(struct server *s) {
    return s->metrics->prom;
}

void health_release(struct server *s) {
    if (s->metrics != NULL) {
        prom_free(s->metrics->prom);
        mem_free(s->metrics);
        s->metrics = NULL;
    }
}

/* Only words of our own become labels: a client's path must not make series. */
void health_count(struct server *s, const struct call *c, int http) {
    const struct api_request *q = &c->req;
    struct str verb = q->resource ? q->verb_name : STR("path");
    const char code[] = {(char)('0' + http / 100 % 10), (char)('0' + http / 10 % 10),
                         (char)('0' + http % 10)};
    struct str values[] = {verb, q->kind != NULL ? str_of(q->kind->plural) : STR(""),
                           str_from(code, sizeof(code))};
    if (verb.n == 0 || (q->resource && q->verb == VERB_OTHER)) {
        values[0] = STR("other");
    }
    prom_add(prom_series(s->metrics->requests, values), 1);
    if (q->verb != VERB_WATCH) {
        prom_observe(prom_series(s->metrics->seconds, values),
                     (double)(server_now(s) - c->started_ns) / 1e9);
    }
}

static void metrics_answer(struct call *c) {
    struct server *s = c->s;
    prom_set(prom_with(s->metrics->inflight, "readOnly"), (double)s->inflight_reads);
    prom_set(prom_with(s->metrics->inflight, "mutating"), (double)s->inflight_writes);
    prom_set(s->metrics->watches, (double)s->long_running);
    flows_gauges(s);
    if (s->http != NULL) {
        uint64_t cut = http_server_stats(s->http).cut_slow;
        prom_add(s->metrics->cut, (double)(cut - s->metrics->cut_told));
        s->metrics->cut_told = cut;
    }
    scrape_request(c, s->metrics->prom);
}

static void ready_answer(struct call *c) {
    struct server *s = c->s;
    struct str why = s->stopping ? STR("shutting down") : (struct str){0};
    bool ready = !s->stopping && (s->o.ready == NULL || s->o.ready(s->o.ready_ctx, &why));
    struct str ignored;
    if (ready && request_query_nth(&c->req, "verbose", 0, &ignored)) {
        call_bytes(c, 200, "text/plain; charset=utf-8",
                   arena_f(c->arena, "[+]ping ok\n%.*sreadyz check passed\n", STR_ARG(s->o.notes)));
    } else if (ready) {
        call_bytes(c, 200, "text/plain; charset=utf-8", STR("ok"));
    } else {
        call_bytes(c, 503, "text/plain; charset=utf-8",
                   arena_f(c->arena, "not ready: %.*s\n", STR_ARG(why)));
    }
}

static bool below(struct str path, const char *prefix) {
    struct str p = str_of(prefix);
    return str_starts(path, p) && (path.n == p.n || path.p[p.n] == '/');
}

bool health_request(struct call *c, struct str path) {
    if (below(path, "/healthz") || below(path, "/livez")) {
        call_bytes(c, 200, "text/plain; charset=utf-8", STR("ok"));
    } else if (below(path, "/readyz")) {
        ready_answer(c);
    } else if (str_is(path, "/metrics")) {
        metrics_answer(c);
    } else if (str_is(path, "/version")) {
        call_bytes(
            c, 200, "application/json",
            STR("{\"major\":\"1\",\"minor\":\"35\",\"gitVersion\":\"v1.35.0+berth." BERTH_VERSION
                "\",\"gitCommit\":\"\",\"gitTreeState\":\"clean\",\"buildDate\":\"\","
                "\"goVersion\":\"\",\"compiler\":\"cc\",\"platform\":\"linux/amd64\"}\n"));
    } else if (str_is(path, "/")) {
        call_bytes(c, 200, "application/json",
                   STR("{\"paths\":[\"/api\",\"/apis\",\"/healthz\",\"/livez\",\"/metrics\","
                       "\"/openapi/v2\",\"/openapi/v3\",\"/readyz\",\"/version\"]}\n"));
    } else {
        return false;
    }
    return true;
}
