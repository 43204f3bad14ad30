/* exchange: the life of a request: its path, key, model and limits are checked, then it is sent or waits. See
 * gateway_private.h. */
#include <stdio.h>

#include "base/arena.h"
#include "gateway/gateway_private.h"

enum { ASK_KEY_MS = 10, ASK_KEY_LONGEST_MS = 5000, TOKENS_UNSAID = 256, BYTES_A_TOKEN = 4 };

int64_t exchange_now(const struct gateway_exchange *x) {
    return clock_mono(x->worker->clock);
}

static void refuse(struct gateway_exchange *x, int status, const char *code, const char *text) {
    refusal_answer(x, &(struct refusal){status, code, .end = GATEWAY_END_REFUSED}, "%s", text);
}

/* ---- the end ---- */

void exchange_over(struct gateway_exchange *x, enum gateway_end end, int status) {
    if (x->phase != EXCHANGE_OVER) {
        x->phase = EXCHANGE_OVER;
        x->seen.end = end;
        x->seen.status = status;
        x->seen.took_ns = exchange_now(x) - x->begun;
    }
}

static int64_t charged_tokens(const struct gateway_exchange *x) {
    const struct token_usage *u = &x->usage;
    if (u->in >= 0 || u->out >= 0) {
        return (u->in > 0 ? u->in : 0) + (u->out > 0 ? u->out : 0);
    }
    /* A request that was never sent is not charged. If the server did not report its usage, the estimate stands. */
    return x->seen.tries ? x->charge.tokens : 0;
}

static void tell_ended(struct gateway_exchange *x) {
    struct gateway_observer *o = x->worker->gateway->o.observer;
    struct gateway_seen *s = &x->seen;
    if (o == NULL || o->ended == NULL || (x->path.rule && x->path.rule->where == PATHS_OWN)) {
        return;
    }
    s->key = x->key;
    s->model = x->found.model;
    s->operation = str_of(x->path.rule ? x->path.rule->operation : NULL);
    s->method = http_method(x->request);
    s->path = http_path(x->request);
    s->peer = http_peer(x->request);
    s->asked = x->asked;
    s->stream = x->stream;
    s->tokens_in = x->usage.in;
    s->tokens_out = x->usage.out;
    s->tokens_cached = x->usage.cached;
    s->events = x->events.events;
    s->trace = x->started ? &x->trace : NULL;
    if (s->tries > 0) {
        s->endpoint = x->sent_to.name;
        s->address = x->sent_to.address;
        s->zone = x->sent_to.zone;
        s->backend = x->found.model ? x->found.model->backends[x->place_backend].name : STR("");
    }
    o->ended(o, x->worker->number, s);
}

/* The request is answered, or its client is gone: once for each. */
static void closed(void *user) {
    struct gateway_exchange *x = user;
    struct gateway_worker *w = x->worker;
    struct gateway *g = w->gateway;
    enum gateway_end end = x->paused ? GATEWAY_END_SLOW_CLIENT : GATEWAY_END_CANCELLED;
    if (x->phase == EXCHANGE_HELD) {
        exchange_unhold(x, GATEWAY_ABANDONED);
    }
    if (x->ask) {
        http_ask_cancel(x->ask);
        x->ask = NULL;
        exchange_ended(x, ENDPOINT_UNTOLD);
    }
    if (x->sse) {
        x->usage = x->events.usage;
        usage_stream_release(&x->events);
    }
    exchange_over(x, end, x->phase == EXCHANGE_ANSWERING || x->commented ? x->status : 0);
    limit_book_give(g->limits, &x->charge, charged_tokens(x), exchange_now(x));
    tell_ended(x);
    buf_release(&x->gathered);
    w->clock->timer_free(x->key_timer);
    if (x->key) {
        g->o.keys->release(g->o.keys, x->key);
    }
    if (x->pool) {
        struct server_pool *p = x->pool;
        exchange_pump(p);
        server_pool_drop(p);
    }
    routes_unref(x->routes);
}

/* ---- the key ---- */

static struct str token_of(const struct http_request *r) {
    struct str v = http_header(r, "authorization");
    if (v.n > 7 && str_eq_nocase(str_head(v, 7), STR("bearer "))) {
        return str_trim(str_skip(v, 7));
    }
    v = http_header(r, "x-api-key");
    return v.n ? v : http_header(r, "api-key");
}

static enum gateway_key_found find_key(struct gateway_worker *w, struct http_request *r,
                                       const struct gateway_key **ret) {
    struct gateway_keys *k = w->gateway->o.keys;
    struct str token = token_of(r);
    if (token.n == 0) {
        return GATEWAY_KEY_UNKNOWN;
    }
    return k->find(k, token, clock_wall(w->clock) / NS_PER_SEC, ret);
}

static const char *key_trouble(enum gateway_key_found found, bool sent) {
    switch (found) {
    case GATEWAY_KEY_EXPIRED:
        return "the key has expired";
    case GATEWAY_KEY_UNKNOWN:
        return sent ? "the key is unknown, or was revoked"
                    : "no key: send it as \"Authorization: Bearer KEY\"";
    default:
        return "the key cannot be checked now";
    }
}

static void refuse_key(struct gateway_exchange *x, enum gateway_key_found found) {
    bool unauthorized = found == GATEWAY_KEY_EXPIRED || found == GATEWAY_KEY_UNKNOWN;
    struct refusal r = {unauthorized ? 401 : 503, "invalid_api_key", unauthorized ? 0 : 1, NULL,
                        GATEWAY_END_REFUSED};
    r.code = found == GATEWAY_KEY_EXPIRED ? "expired_api_key"
             : unauthorized               ? "invalid_api_key"
                                          : "keys_unavailable";
    refusal_answer(x, &r, "%s", key_trouble(found, token_of(x->request).n > 0));
}

static void ask_key(void *ctx) {
    struct gateway_exchange *x = ctx;
    struct gateway_worker *w = x->worker;
    enum gateway_key_found found = find_key(w, x->request, &x->key);
    if (found == GATEWAY_KEY_FOUND) {
        http_set_account(x->request, x->key->name);
        exchange_checked(x);
        return;
    }
    int64_t now = exchange_now(x);
    x->key_until = x->key_until ? x->key_until : now + ASK_KEY_LONGEST_MS * NS_PER_MS;
    x->key_timer = x->key_timer ? x->key_timer : w->clock->timer_new(w->clock, ask_key, x);
    if (found == GATEWAY_KEY_ASKING && now < x->key_until && x->key_timer) {
        w->clock->timer_start(x->key_timer, ASK_KEY_MS * NS_PER_MS);
        return;
    }
    refuse_key(x, found);
}

/* ---- the model ---- */

static bool refuse_body(struct gateway_exchange *x, const struct err *err) {
    refuse(x, 400, "invalid_request", err->text);
    return false;
}

/* False: it was refused. */
static bool read_model(struct gateway_exchange *x) {
    struct err err = {0};
    struct str type = http_header(x->request, "content-type");
    struct str body = http_body(x->request), boundary = body_boundary(type), second;
    if (x->path.rule->where == PATHS_IN_PATH) {
        x->asked = x->path.model;
        return true;
    }
    if (http_header_nth(x->request, "content-type", 1, &second)) {
        refuse(x, 400, "invalid_request", "Content-Type: stands twice");
        return false;
    }
    bool form = str_eq_nocase(str_head(type, 10), STR("multipart/"));
    int code = form ? body_read_form(body, boundary, &x->facts, &err)
                    : body_read_json(body, &x->facts, &err);
    if (code != 0) {
        return refuse_body(x, &err);
    }
    if (!x->facts.has_model) {
        refusal_answer(x, &(struct refusal){400, "missing_model", 0, "model", GATEWAY_END_REFUSED},
                       "model: must be the name of a model");
        return false;
    }
    x->asked = str_from(x->facts.model, x->facts.model_n);
    x->stream = x->facts.stream;
    return true;
}

/* False: it was refused. */
static bool find_model(struct gateway_exchange *x) {
    enum routes_answer a = gateway_key_find(x->routes, x->key, x->asked, &x->found);
    if (a == ROUTES_AMBIGUOUS) {
        refuse(x, 400, "ambiguous_model",
               "several projects have a model of this name: say \"project/name\"");
        return false;
    }
    bool may = a == ROUTES_FOUND &&
               (x->key == NULL || gateway_key_may(x->key, x->found.model, x->found.alias));
    bool speaks = may && (x->found.model->protocols & x->path.rule->protocol);
    if (!speaks) {
        x->found.model =
            may ? x->found.model : NULL; /* a model that the key may not use is not found */
        refusal_answer(x,
                       &(struct refusal){404, "model_not_found", 0, "model", GATEWAY_END_REFUSED},
                       may ? "the model %.*s does not answer on this path"
                           : "there is no model %.*s, or the key may not use it",
                       STR_ARG(x->asked));
        return false;
    }
    return true;
}

static void add_left(struct gateway_exchange *x, const char *what, const struct limit_left *l) {
    char name[64], text[48];
    if (l->limit == 0) {
        return;
    }
    snprintf(name, sizeof(name), "x-ratelimit-limit-%s", what);
    snprintf(text, sizeof(text), "%lld", (long long)l->limit);
    http_add_header(x->request, name, str_of(text));
    snprintf(name, sizeof(name), "x-ratelimit-remaining-%s", what);
    snprintf(text, sizeof(text), "%lld", (long long)l->left);
    http_add_header(x->request, name, str_of(text));
    snprintf(name, sizeof(name), "x-ratelimit-reset-%s", what);
    snprintf(text, sizeof(text), "%lldms", (long long)((l->reset_ns + NS_PER_MS - 1) / NS_PER_MS));
    http_add_header(x->request, name, str_of(text));
}

/* False: it was refused. */
static bool take_limits(struct gateway_exchange *x) {
    static const char *const of[] = {"requests a minute", "tokens a minute", "streams at once"};
    struct limits_answer a = {0};
    int64_t most = x->facts.max_tokens;
    int64_t tokens = (int64_t)(http_body(x->request).n / BYTES_A_TOKEN) +
                     (most < 0 || x->path.rule->where == PATHS_IN_PATH ? TOKENS_UNSAID : most);
    tokens = tokens < BUCKET_LIMIT_MAX ? tokens : BUCKET_LIMIT_MAX;
    const char *refused = limit_book_take(x->worker->gateway->limits, x->key, x->found.model,
                                          tokens, exchange_now(x), &x->charge, &x->limits, &a);
    add_left(x, "requests", &x->limits.requests);
    add_left(x, "tokens", &x->limits.tokens);
    if (refused == NULL) {
        return true;
    }
    int64_t wait_s = (a.wait + NS_PER_SEC - 1) / NS_PER_SEC;
    struct refusal r = {429, "rate_limit_exceeded", wait_s > 0 ? wait_s : 1, NULL,
                        GATEWAY_END_REFUSED};
    refusal_answer(x, &r, "the limit of the %s on %s is reached", refused, of[a.refused]);
    return false;
}

static void tell_started(struct gateway_exchange *x) {
    static const struct gateway_key nobody = {.weight = 1};
    struct gateway_observer *o = x->worker->gateway->o.observer;
    x->trace.parent = http_header(x->request, "traceparent");
    x->trace.state = http_header(x->request, "tracestate");
    x->started = true;
    if (o && o->started) {
        o->started(o, x->worker->number, x->key ? x->key : &nobody, x->found.model, &x->trace);
    }
}

void exchange_checked(struct gateway_exchange *x) {
    struct gateway_worker *w = x->worker;
    x->phase = EXCHANGE_CHECKED;
    if (w->routes == NULL) {
        refusal_answer(x, &(struct refusal){503, "not_ready", 1, NULL, GATEWAY_END_REFUSED},
                       "the gateway does not know its routes yet");
        return;
    }
    x->routes = routes_ref(w->routes);
    if (x->path.rule->where == PATHS_LIST || x->path.rule->where == PATHS_ONE) {
        own_answer(x);
        return;
    }
    if (!read_model(x) || !find_model(x) || !take_limits(x)) {
        return;
    }
    tell_started(x);
    struct server_pool *p = worker_pool(w, &x->found);
    if (p == NULL) {
        refuse(x, 500, "no_memory", "no memory");
        return;
    }
    x->pool = server_pool_hold(p);
    retry_request(&p->retries, exchange_now(x));
    x->retry.effects =
        x->path.rule->stores && x->facts.store && http_header(x->request, "idempotency-key").n == 0;
    struct str session = http_header(x->request, "x-session-id");
    x->choice.session = session.n ? server_pool_hash(session) : 0;
    exchange_route(x);
}

/* ---- the beginning ---- */

static bool find_path(struct gateway_exchange *x) {
    struct http_request *r = x->request;
    enum paths_answer a = paths_find(http_method(r), http_path(r), &x->path);
    if (a == PATHS_UNKNOWN) {
        refuse(x, 404, "unknown_path", "the gateway does not serve this path");
    } else if (a == PATHS_METHOD) {
        refuse(x, 405, "method_not_allowed", "this path takes another method");
    }
    return a == PATHS_FOUND;
}

static struct gateway_exchange *begin(struct gateway_worker *w, struct http_request *r) {
    struct gateway_exchange *x = ARENA_NEW(http_arena(r), struct gateway_exchange);
    if (x == NULL) {
        http_respond(r, 500, NULL, STR(""));
        return NULL;
    }
    x->request = r;
    x->worker = w;
    x->begun = exchange_now(x);
    x->usage = USAGE_NONE;
    x->facts.max_tokens = -1;
    x->seen = (struct gateway_seen){
        .begun_wall_ns = clock_wall(w->clock), .sent_ns = -1, .first_ns = -1, .took_ns = -1};
    buf_init(&x->gathered, 0);
    http_set_user(r, x, closed);
    return x;
}

void exchange_handle(void *ctx, struct http_request *r) {
    struct gateway_worker *w = ctx;
    if (origin_answer(&w->gateway->o.origins, r)) {
        return;
    }
    struct gateway_exchange *x = begin(w, r);
    if (x == NULL || !find_path(x)) {
        return;
    }
    x->seen.bytes_in = http_body(r).n;
    if (w->gateway->o.keys == NULL && !origin_may_ask(&w->gateway->o.origins, r)) {
        refuse(x, 403, "origin_not_allowed",
               "pages of other sites may not ask a gateway without keys: allow the page's origin "
               "with --allow-origin");
        return;
    }
    if (x->path.rule->where == PATHS_OWN) {
        own_page(x);
    } else if (x->worker->gateway->o.keys) {
        ask_key(x);
    } else {
        exchange_checked(x);
    }
}

/* Called with the head of a request: a client without a valid key is refused before its body is read. */
bool exchange_head(void *ctx, struct http_request *r) {
    struct gateway_worker *w = ctx;
    struct paths_found path;
    const struct gateway_key *key = NULL;
    enum gateway_key_found found = GATEWAY_KEY_UNKNOWN;
    enum paths_answer a = paths_find(http_method(r), http_path(r), &path);
    if (a == PATHS_FOUND) {
        found = find_key(w, r, &key);
        if (found == GATEWAY_KEY_FOUND) {
            http_set_account(r, key->name);
            w->gateway->o.keys->release(w->gateway->o.keys, key);
            return true;
        }
        if (found == GATEWAY_KEY_ASKING) {
            return true; /* a short body may come meanwhile */
        }
    }
    struct gateway_exchange *x = origin_answer(&w->gateway->o.origins, r) ? NULL : begin(w, r);
    if (x && find_path(x)) {
        refuse_key(x, found);
    }
    return false;
}
