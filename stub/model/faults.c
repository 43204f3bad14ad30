/* faults: what goes wrong on demand, and what a test may ask of the stub. */
#include <stdio.h>

#include "server.h"

static const char *const kinds[] = {
    [FAULT_NONE] = "none",      [FAULT_STATUS] = "status", [FAULT_HANG] = "hang",
    [FAULT_CUT] = "cut",        [FAULT_SLOW] = "slow",     [FAULT_BAD] = "bad-json",
    [FAULT_LOADING] = "loading"};

static void ok(struct http_request *r) {
    http_respond(r, 200, "application/json", STR("{}"));
}

static enum fault_kind kind_of(struct str name) {
    for (size_t i = 1; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (str_is(name, kinds[i])) {
            return (enum fault_kind)i;
        }
    }
    return FAULT_NONE;
}

/* Nobody is answered at the address for a while: connecting is refused. */
static void refuse_for(struct server *s, int64_t ms) {
    s->asleep = true;
    s->clock->timer_start(s->again, 20 * NS_PER_MS); /* once this is answered */
    s->began = clock_mono(s->clock) + ms * NS_PER_MS;
}

static bool add(struct server *s, yyjson_val *v, const char **ret_why) {
    struct fault f = {.kind = kind_of(json_str_at(v, "kind")),
                      .status = json_i64_at(v, "status", 500),
                      .after = json_i64_at(v, "after", 1),
                      .ms = json_i64_at(v, "ms", 1000),
                      .count = json_i64_at(v, "count", -1)};

    if (str_is(json_str_at(v, "kind"), "refuse")) {
        refuse_for(s, f.ms);
        return true;
    }
    *ret_why = f.kind == FAULT_NONE
                   ? "kind: must be status, hang, cut, slow, bad-json, loading or refuse"
               : s->n_faults == FAULTS_MAX ? "there are 16 faults already"
               : !str_copy(json_str_at(v, "path"), f.path, sizeof(f.path)) ? "path: too long"
               : f.status < 400 || f.status > 599 ? "status: must be 400 to 599"
                                                  : NULL;
    if (*ret_why == NULL) {
        s->faults[s->n_faults++] = f;
    }
    return *ret_why == NULL;
}

/* POST adds one, DELETE ends all. */
void faults_serve(struct server *s, struct http_request *r) {
    const char *why = NULL;
    yyjson_doc *doc;
    struct err err;

    if (str_is(http_method(r), "DELETE")) {
        s->n_faults = 0;
        ok(r);
    } else if (json_parse(http_arena(r), http_body(r), &doc, &err)) {
        answer_error(r, 400, "BadRequestError", NULL, err.text);
    } else if (!add(s, yyjson_doc_get_root(doc), &why)) {
        answer_error(r, 400, "BadRequestError", NULL, why);
    } else {
        ok(r);
    }
}

static void forget(struct server *s, size_t i) {
    s->n_faults--;
    for (; i < s->n_faults; i++) {
        s->faults[i] = s->faults[i + 1];
    }
}

struct fault faults_take(struct server *s, struct str path) {
    for (size_t i = 0; i < s->n_faults; i++) {
        struct fault *f = &s->faults[i], got = *f;
        if (!str_starts(path, str_of(f->path))) {
            continue;
        }
        if (f->count > 0 && --f->count == 0) {
            forget(s, i);
        }
        return got;
    }
    return (struct fault){0};
}

void state_serve(struct server *s, struct http_request *r) {
    struct buf b;

    buf_init(&b, 1 << 16);
    buf_f(&b,
          "{\"requests\":%llu,\"running\":%zu,\"waiting\":%zu,\"aborted\":%llu,\"stopped\":%llu,"
          "\"usage\":%.4f,\"preemptions\":%llu,\"prefixHits\":%llu,\"faults\":%zu}",
          (unsigned long long)s->requests, s->engine.n_running, s->engine.n_waiting,
          (unsigned long long)s->finished[FINISH_ABORT],
          (unsigned long long)(s->finished[FINISH_STOP] + s->finished[FINISH_LENGTH] +
                               s->finished[FINISH_TOOLS]),
          engine_usage(&s->engine), (unsigned long long)s->engine.counts.preemptions,
          (unsigned long long)s->engine.counts.prefix_hits, s->n_faults);
    http_respond(r, 200, "application/json", buf_view(&b));
    buf_release(&b);
}

void last_keep(struct server *s, struct http_request *r) {
    struct str name, value;
    struct buf *b = &s->last;

    buf_reset(b);
    buf_c(b, "{\"method\":");
    buf_json(b, http_method(r));
    buf_c(b, ",\"path\":");
    buf_json(b, http_path(r));
    buf_c(b, ",\"query\":");
    buf_json(b, http_query(r));
    buf_c(b, ",\"headers\":[");
    for (size_t i = 0; http_header_at(r, i, &name, &value); i++) {
        buf_c(b, i ? ",[" : "[");
        buf_json(b, name);
        buf_ch(b, ',');
        buf_json(b, value);
        buf_ch(b, ']');
    }
    buf_c(b, "],\"body\":");
    buf_json(b, http_body(r));
    buf_c(b, "}");
}
