/* exchange_send: the choice of a server, the request as it goes there, and trying again. See gateway_private.h. */
#include <stdio.h>

#include "base/arena.h"
#include "gateway/gateway_private.h"

enum { LINE_BYTES = 512, INDEX_BYTES = 4 << 20, HASHES = 64 };

void exchange_ended(struct gateway_exchange *x, enum endpoint_end end) {
    endpoint_ended(&x->pool->endpoints, x->number, end, exchange_now(x));
}

/* ---- the head ---- */

static bool is_named_by_connection(const struct http_request *r, struct str name) {
    struct str value, item;
    for (size_t i = 0; http_header_nth(r, "connection", i, &value); i++) {
        while (str_next(&value, ',', &item)) {
            if (str_eq_nocase(str_trim(item), name)) {
                return true;
            }
        }
    }
    return false;
}

/* Headers that are not forwarded: hop-by-hop ones, the gateway's keys, and those that it writes itself. */
static bool stays_here(const struct gateway_exchange *x, struct str name) {
    static const char *const names[] = {
        "host",
        "te",
        "accept-encoding",
        "api-key",
        "authorization",
        "connection",
        "content-length",
        "cookie",
        "expect",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "x-api-key",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (str_eq_nocase(name, str_of(names[i]))) {
            return true;
        }
    }
    return x->trace.onward[0] && str_eq_nocase(name, STR("traceparent"));
}

static size_t head_size(const struct gateway_exchange *x) {
    struct str name, value;
    size_t n = LINE_BYTES + http_path(x->request).n + http_query(x->request).n + x->path.model.n +
               3 * ROUTES_NAME_MAX;
    for (size_t i = 0; http_header_at(x->request, i, &name, &value); i++) {
        n += name.n + value.n + 4;
    }
    return n;
}

struct text { /* that is known to be long enough */
    char *p;
    size_t n, cap;
};

static void put(struct text *t, struct str s) {
    size_t n = s.n < t->cap - t->n ? s.n : t->cap - t->n;
    if (n > 0) {
        memcpy(t->p + t->n, s.p, n);
    }
    t->n += n;
}

/* A name that an owner chose, in a path: what has a meaning of its own there is encoded. */
static void put_name(struct text *t, struct str s) {
    static const char plain[] = "-._~/:@!$&'()*+,;=", digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        char coded[3] = {'%', digits[c >> 4], digits[c & 15]};
        bool letter = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
        bool as_it_is = letter || (c != 0 && strchr(plain, c) != NULL);
        put(t, as_it_is ? str_from(s.p + i, 1) : str_from(coded, 3));
    }
}

static void put_target(struct gateway_exchange *x, struct text *t, struct str served) {
    const struct paths_rule *rule = x->path.rule;
    if (rule->where == PATHS_IN_PATH) {
        put(t, str_of(rule->path));
        if (str_eq(served, x->asked)) {
            put(t, served); /* as the client wrote it, encoded already */
        } else {
            put_name(t, served);
        }
        put(t, x->path.after);
    } else {
        put(t, rule->onward ? str_of(rule->onward) : http_path(x->request));
    }
    struct str query = http_query(x->request);
    if (query.n) {
        put(t, STR("?"));
        put(t, query);
    }
}

static void put_headers(struct gateway_exchange *x, struct text *t, size_t length) {
    struct str name, value, onward = str_of(x->trace.onward);
    bool named = http_header(x->request, "connection").n > 0;
    char number[48];
    for (size_t i = 0; http_header_at(x->request, i, &name, &value); i++) {
        if (!stays_here(x, name) && !(named && is_named_by_connection(x->request, name))) {
            put(t, name);
            put(t, STR(": "));
            put(t, value);
            put(t, STR("\r\n"));
        }
    }
    if (onward.n) {
        put(t, STR("traceparent: "));
        put(t, onward);
        put(t, STR("\r\n"));
    }
    snprintf(number, sizeof(number), "Content-Length: %zu\r\n\r\n", length);
    put(t, str_is(http_method(x->request), "GET") ? STR("\r\n") : str_of(number));
}

static struct str make_head(struct gateway_exchange *x, struct str served, size_t length) {
    size_t cap = head_size(x);
    struct text t = {arena_alloc(http_arena(x->request), cap), 0, cap};
    char host[96];
    bool v6 = str_find(x->sent_to.address, ':') >= 0;
    if (t.p == NULL) {
        return (struct str){0};
    }
    put(&t, http_method(x->request));
    put(&t, STR(" "));
    put_target(x, &t, served);
    snprintf(host, sizeof(host), " HTTP/1.1\r\nHost: %s%.*s%s:%u\r\n", v6 ? "[" : "",
             STR_ARG(x->sent_to.address), v6 ? "]" : "", x->sent_to.port);
    put(&t, str_of(host));
    put_headers(x, &t, length);
    return str_from(t.p, t.n);
}

/* ---- the body ---- */

static struct str quoted(struct gateway_exchange *x, struct str name) {
    struct buf b;
    buf_init(&b, 0);
    buf_json(&b, name);
    struct str s = arena_str(http_arena(x->request), buf_view(&b));
    buf_release(&b);
    return s;
}

/* The body's parts, behind ret[0]; returns their number. */
static size_t make_body(struct gateway_exchange *x, struct str served, struct str *ret) {
    size_t n = 0;
    struct str body = http_body(x->request);
    struct body_facts *f = &x->facts;
    bool json = f->has_model && body.p[f->model_at.at] == '"' && f->open > 0;
    if (f->has_model && !str_eq(served, x->asked)) {
        x->edits[n++] =
            (struct body_edit){f->model_at.at, f->model_at.n, json ? quoted(x, served) : served};
    }
    x->asks_usage = json && x->path.rule->usage && x->stream && !f->usage;
    if (x->asks_usage) {
        n = body_ask_usage(f, body, x->edits, n);
    }
    return body_parts(body, x->edits, n, ret + 1);
}

/* ---- sending ---- */

static int64_t or_else(int64_t ms, int64_t otherwise) {
    return ms ? ms : otherwise;
}

static void send_to(struct gateway_exchange *x, size_t place) {
    struct server_pool *p = x->pool;
    struct pool_server *s = &p->servers[place];
    const struct routes_model *m = x->found.model;
    struct str parts[HTTP_ASK_PARTS];
    x->sent_to = *s->route;
    x->number = s->number;
    x->place_backend = s->backend;
    struct str served = routes_served(&x->found, s->backend, x->asked);
    size_t n = make_body(x, served, parts), length = 0;
    for (size_t i = 1; i <= n; i++) {
        length += parts[i].n;
    }
    parts[0] = make_head(x, served, length);
    struct http_ask_options o = {
        .parts = parts,
        .n_parts = n + 1,
        .fresh = x->fresh,
        .connect_ms = or_else(m->connect_ms, GATEWAY_CONNECT_MS),
        .first_ms = or_else(m->first_byte_ms, GATEWAY_FIRST_BYTE_MS),
        .idle_ms = or_else(m->idle_ms, GATEWAY_IDLE_MS),
        .head = exchange_on_head,
        .body = exchange_on_body,
        .done = exchange_on_done,
        .ctx = x,
    };
    x->phase = EXCHANGE_SENT;
    x->ask = parts[0].p ? http_ask(s->peer, &o) : NULL;
    if (x->ask == NULL) {
        refusal_answer(x, &(struct refusal){503, "no_memory", 1, NULL, GATEWAY_END_UPSTREAM},
                       "no memory or no socket for a connection to a server");
        return;
    }
    x->seen.tries++;
    x->seen.sent_ns = x->seen.sent_ns < 0 ? exchange_now(x) - x->begun : x->seen.sent_ns;
    endpoint_sent(&p->endpoints.v[place]);
    if (x->n_hashes) {
        prefix_add(&p->prefixes, x->hashes, x->n_hashes, s->number);
    }
}

/* ---- the choice ---- */

static void match_prefix(struct gateway_exchange *x) {
    struct server_pool *p = x->pool;
    struct body_span at = x->facts.prompt_at;
    if (!x->found.model->prefix_affinity || at.n == 0) {
        return;
    }
    p->prefixes_made = p->prefixes_made || prefix_init(&p->prefixes, INDEX_BYTES) == 0;
    if (!p->prefixes_made) {
        return;
    }
    struct str salt = x->key ? x->key->project : STR(""), body = http_body(x->request);
    x->n_hashes = prefix_hashes(0, salt, str_from(body.p + at.at, at.n), x->hashes, HASHES);
    x->choice.prefixes = x->prefixes;
    x->choice.n_prefixes = prefix_find(&p->prefixes, x->hashes, x->n_hashes, x->prefixes);
}

static void refuse_all_bad(struct gateway_exchange *x) {
    refusal_answer(x, &(struct refusal){503, "no_healthy_endpoint", 5, NULL, GATEWAY_END_UPSTREAM},
                   "no server of %.*s is healthy at the moment", STR_ARG(x->asked));
}

/* A request that has waited takes the newest routes. False: its model was removed. */
static bool renew(struct gateway_exchange *x) {
    struct gateway_worker *w = x->worker;
    if (x->routes == w->routes) {
        return true;
    }
    struct routes_found f;
    if (gateway_key_find(w->routes, x->key, x->asked, &f) != ROUTES_FOUND ||
        (x->key && !gateway_key_may(x->key, f.model, f.alias))) {
        return false;
    }
    struct server_pool *p = worker_pool(w, &f);
    if (p == NULL) {
        return false;
    }
    server_pool_hold(p);
    server_pool_drop(x->pool);
    x->pool = p;
    routes_unref(x->routes);
    x->routes = routes_ref(w->routes);
    x->found = f;
    return true;
}

void exchange_route(struct gateway_exchange *x) {
    size_t place = 0;
    if (!renew(x)) {
        refusal_answer(x,
                       &(struct refusal){404, "model_not_found", 0, "model", GATEWAY_END_REFUSED},
                       "the model %.*s was deleted", STR_ARG(x->asked));
        return;
    }
    if (x->seen.tries == 0 && x->n_hashes == 0) {
        match_prefix(x);
    }
    /* A new request does not overtake waiting ones. */
    bool line = x->seen.tries == 0 && x->seen.held_ns == 0 && x->pool->held_made && x->pool->held.n;
    enum endpoint_none why =
        line ? ENDPOINT_NO_ROOM
             : endpoint_choose(&x->pool->endpoints, &x->choice, exchange_now(x), &place);
    switch (why) {
    case ENDPOINT_CHOSEN:
        send_to(x, place);
        break;
    case ENDPOINT_NO_READY:
    case ENDPOINT_NO_ROOM:
        exchange_hold(x, why);
        break;
    case ENDPOINT_ALL_BAD:
        refuse_all_bad(x);
        break;
    }
}

bool exchange_again(struct gateway_exchange *x, enum retry_cause cause) {
    int64_t now = exchange_now(x);
    if (x->retry.answered || !retry_may(&x->pool->retries, &x->retry, cause, now)) {
        return false;
    }
    x->retry.retries++;
    if (x->choice.n_tried < ENDPOINT_TRIED_MAX) {
        x->choice.tried[x->choice.n_tried++] = x->number;
    }
    size_t place = 0;
    enum endpoint_none why = renew(x)
                                 ? endpoint_choose(&x->pool->endpoints, &x->choice, now, &place)
                                 : ENDPOINT_NO_READY;
    if (why == ENDPOINT_NO_ROOM) {
        exchange_hold(x, why);
        return true;
    }
    if (why != ENDPOINT_CHOSEN) {
        return false;
    }
    send_to(x, place);
    return true;
}
