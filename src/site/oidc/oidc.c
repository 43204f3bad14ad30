/*
 * oidc: fetches documents and keys, and verifies tokens. See oidc.h.
 *
 *     IDLE --timer, unknown key--> DISCOVERY --document--> KEYS --keys--> IDLE
 *                                      \--------failure--------\-------> IDLE, sooner next time
 */
#include "site/oidc/oidc.h"

#include <stdio.h>

#include "base/mem.h"
#include "net/http_client.h"
#include "net/tls.h"
#include "site/oidc/oidc_keys.h"

enum { DOCUMENT_MAX = 256 << 10, FETCH_MS = 10000, SEEN_SLOTS = 256, ARENA_BYTES = 4 << 20 };

enum fetch_stage { FETCH_IDLE, FETCH_DISCOVERY, FETCH_KEYS };

struct issuer {
    struct oidc *x;
    const struct oidc_issuer *o;
    struct http_client *client;
    struct http_call *call;
    struct timer *timer;
    struct oidc_keys keys;
    enum fetch_stage stage;
    int64_t fetched_mono; /* when the last fetch began, or failed; 0: there was none */
    unsigned failures;    /* in a row */
    char jwks_uri[OIDC_URL_MAX + 1];
    char authorization[OIDC_URL_MAX + 1], token[OIDC_URL_MAX + 1], end_session[OIDC_URL_MAX + 1];
    /* Tokens whose signature was found good by the present keys: checking one takes time */
    unsigned char seen[SEEN_SLOTS][32];
};

struct oidc {
    struct loop *loop;
    struct log *log;
    const struct oidc_config *config;
    struct oidc_waiter *waiters;
    size_t n_waiters;
    size_t n;
    struct issuer v[];
};

static void fetch(struct issuer *s);

/* ---- who waits ---- */

bool oidc_wait(struct oidc *x, struct oidc_waiter *w) {
    bool under_way = false;
    for (size_t i = 0; i < x->n; i++) {
        under_way = under_way || x->v[i].stage != FETCH_IDLE;
    }
    if (!under_way || x->n_waiters == OIDC_WAITERS_MAX) {
        return false;
    }
    w->next = x->waiters;
    w->prev = &x->waiters;
    if (w->next) {
        w->next->prev = &w->next;
    }
    x->waiters = w;
    w->count = &x->n_waiters;
    x->n_waiters++;
    return true;
}

void oidc_wait_cancel(struct oidc_waiter *w) {
    if (w->prev) {
        *w->prev = w->next;
        if (w->next) {
            w->next->prev = w->prev;
        }
        w->prev = NULL;
        (*w->count)--;
    }
}

static void tell_waiters(struct oidc *x) {
    struct oidc_waiter *all = x->waiters; /* who waits again is told the next time */
    x->waiters = NULL;
    if (all) {
        all->prev = &all;
    }
    while (all) {
        struct oidc_waiter *w = all;
        oidc_wait_cancel(w);
        w->ready(w->ctx);
    }
}

/* ---- fetching ---- */

static void again_in(struct issuer *s, int64_t seconds) {
    loop_clock(s->x->loop)->timer_start(s->timer, seconds * NS_PER_SEC);
}

static void failed(struct issuer *s, const char *what, const char *why) {
    int64_t wait = s->failures < 6 ? INT64_C(1) << s->failures : OIDC_RETRY_MAX_S;
    if (s->failures == 0) { /* the ones after it are no news */
        log_warn(s->x->log, "oidc: %.*s: %s: %s; what is known of it stays, trying again",
                 STR_ARG(s->o->url), what, why);
    }
    s->failures++;
    s->stage = FETCH_IDLE;
    /* From its end: one that took long to fail would be begun again by those who waited for it, who would wait on. */
    s->fetched_mono = clock_mono(loop_clock(s->x->loop));
    again_in(s, wait);
    tell_waiters(s->x);
}

static int get(struct issuer *s, struct str url, void (*done)(void *, const struct http_reply *)) {
    struct err err = {0};
    struct str accept = STR("Accept: application/json");
    struct http_call_options o = {.method = "GET",
                                  .url = url,
                                  .headers = &accept,
                                  .n_headers = 1,
                                  .timeout_ms = FETCH_MS,
                                  .body_max = OIDC_KEYS_BYTES,
                                  .done = done,
                                  .ctx = s};
    int r = http_client_send(s->client, &o, &s->call, &err);
    if (r != 0) {
        failed(s, "asking", err.text);
    }
    return r;
}

/* False, and told: there is no document. */
static bool answered(struct issuer *s, const struct http_reply *r, const char *what) {
    char text[32];
    s->call = NULL;
    if (r->code != 0) {
        failed(s, what, r->err.text);
        return false;
    }
    if (r->status != 200) {
        (void)snprintf(text, sizeof(text), "status %d", r->status);
        failed(s, what, text);
        return false;
    }
    return true;
}

static void got_keys(void *ctx, const struct http_reply *r) {
    struct issuer *s = ctx;
    struct oidc_keys keys;
    struct err err = {0};
    if (!answered(s, r, "its keys")) {
        return;
    }
    if (oidc_keys_read(r->body, &keys, &err) != 0) {
        failed(s, "its keys", err.text);
        return;
    }
    if (s->failures > 0 || s->keys.n == 0) {
        log_info(s->x->log, "oidc: %.*s: %zu keys are known", STR_ARG(s->o->url), keys.n);
    }
    oidc_keys_release(&s->keys);
    s->keys = keys;
    memset(s->seen, 0, sizeof(s->seen));
    s->failures = 0;
    s->stage = FETCH_IDLE;
    again_in(s, OIDC_REFRESH_S);
    tell_waiters(s->x);
}

/* An address in the document; what is no address is left out. */
static void take_url(yyjson_val *doc, const char *member, char *ret, size_t cap) {
    struct str url = json_str(json_get(doc, str_of(member)));
    ret[0] = '\0';
    if (oidc_url_is_endpoint(url)) {
        (void)str_copy(url, ret, cap);
    }
}

static const char *take_document(struct issuer *s, struct str text, struct arena *a) {
    yyjson_doc *doc;
    if (text.n > DOCUMENT_MAX || json_parse(a, text, &doc, NULL) != 0) {
        return "it is no JSON, or too long";
    }
    yyjson_val *v = yyjson_doc_get_root(doc);
    if (!str_eq(json_str(json_get(v, STR("issuer"))), s->o->url)) {
        return "it is another issuer's";
    }
    take_url(v, "jwks_uri", s->jwks_uri, sizeof(s->jwks_uri));
    take_url(v, "authorization_endpoint", s->authorization, sizeof(s->authorization));
    take_url(v, "token_endpoint", s->token, sizeof(s->token));
    take_url(v, "end_session_endpoint", s->end_session, sizeof(s->end_session));
    return s->jwks_uri[0] ? NULL : "it has no jwks_uri that is https";
}

static void got_document(void *ctx, const struct http_reply *r) {
    struct issuer *s = ctx;
    struct arena a;
    if (!answered(s, r, "its discovery document")) {
        return;
    }
    arena_init(&a, ARENA_BYTES);
    const char *wrong = take_document(s, r->body, &a);
    arena_release(&a);
    if (wrong != NULL) {
        failed(s, "its discovery document", wrong);
        return;
    }
    s->stage = FETCH_KEYS;
    (void)get(s, str_of(s->jwks_uri), got_keys);
}

static void fetch(struct issuer *s) {
    char url[OIDC_URL_MAX + 64];
    struct str base = s->o->url;
    if (s->stage != FETCH_IDLE) {
        return;
    }
    if (str_ends(base, STR("/"))) {
        base.n--;
    }
    if (s->o->discovery_url.n) {
        (void)str_copy(s->o->discovery_url, url, sizeof(url));
    } else {
        (void)snprintf(url, sizeof(url), "%.*s/.well-known/openid-configuration", STR_ARG(base));
    }
    s->fetched_mono = clock_mono(loop_clock(s->x->loop));
    s->stage = FETCH_DISCOVERY;
    (void)get(s, str_of(url), got_document);
}

static void due(void *ctx) {
    fetch(ctx);
}

/* Whether one is under way, or was begun now. */
static bool refetch(struct issuer *s) {
    int64_t now = clock_mono(loop_clock(s->x->loop));
    if (s->stage == FETCH_IDLE && now - s->fetched_mono >= OIDC_REFETCH_S * NS_PER_SEC) {
        fetch(s);
    }
    return s->stage != FETCH_IDLE;
}

/* ---- tokens ---- */

static int no(struct err *err, const char *why) {
    return err_set(err, ERR_UNAUTHORIZED, "invalid bearer token: %s", why);
}

static struct issuer *issuer_of(struct oidc *x, struct str url) {
    for (size_t i = 0; i < x->n; i++) {
        if (url.n && str_eq(url, x->v[i].o->url)) {
            return &x->v[i];
        }
    }
    return NULL;
}

static bool takes_alg(const struct oidc_issuer *o, struct str alg) {
    bool taken = o->n_algs == 0 && jwk_alg_known(alg);
    for (size_t i = 0; i < o->n_algs; i++) {
        taken = taken || str_eq(alg, o->algs[i]);
    }
    return taken;
}

static int check_signature(struct issuer *s, struct str text, const struct jws *t,
                           struct err *err) {
    unsigned char hash[32], *slot;
    tls_sha256(text, hash);
    slot = s->seen[hash[0] % SEEN_SLOTS];
    if (memcmp(slot, hash, sizeof(hash)) == 0) {
        return 0;
    }
    int r = oidc_keys_verify(&s->keys, t->kid, t->alg, t->signed_part, t->signature, err);
    /* Without a kid any key may have made it, so only new keys can tell */
    if (r == ERR_NOT_FOUND || (r == ERR_UNAUTHORIZED && t->kid.n == 0)) {
        if (refetch(s)) {
            return err_set(err, ERR_AGAIN, "the issuer is asked for its keys");
        }
        return no(err, s->keys.n ? "its key is not known" : "its issuer has not answered yet");
    }
    if (r == 0) {
        memcpy(slot, hash, sizeof(hash));
    }
    return r ? err_wrap(err, "invalid bearer token") : 0;
}

int oidc_verify(struct oidc *x, struct str token, int64_t now_ns, struct arena *a,
                struct oidc_user *ret, struct err *err) {
    struct jws t;
    int r = jws_parse(a, token, &t, err);
    if (r == ERR_NOMEM) {
        return r;
    }
    struct issuer *s = r == 0 ? issuer_of(x, json_str(jws_claim(&t, STR("iss")))) : NULL;
    if (s == NULL) { /* also what is malformed: another may know it */
        return err_set(err, ERR_NOT_FOUND, "not a token of a known issuer");
    }
    if (!takes_alg(s->o, t.alg)) {
        return no(err, "its algorithm is not taken");
    }
    r = check_signature(s, token, &t, err);
    return r ? r : oidc_claims_user(s->o, &t, now_ns, a, ret, err);
}

/* ---- the whole ---- */

static int start(struct issuer *s, struct err *err) {
    struct clock *c = loop_clock(s->x->loop);
    struct http_client_options o = {
        .ca_pem = s->o->ca_pem, .user_agent = STR("berth"), .one_by_one = true};
    int r = http_client_new(s->x->loop, &o, &s->client, err);
    if (r != 0) {
        return err_wrap(err, "oidc: %.*s", STR_ARG(str_head(s->o->url, 200)));
    }
    s->timer = c->timer_new(c, due, s);
    if (s->timer == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    again_in(s, 0);
    return 0;
}

int oidc_new(struct loop *l, struct log *log, const struct oidc_config *config, struct oidc **ret,
             struct err *err) {
    struct oidc *x = mem_zalloc(sizeof(*x) + config->n * sizeof(x->v[0]));
    int r = 0;
    if (x == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    x->loop = l;
    x->log = log;
    x->config = config;
    for (; r == 0 && x->n < config->n; x->n++) {
        x->v[x->n].x = x;
        x->v[x->n].o = &config->issuers[x->n];
        r = start(&x->v[x->n], err);
    }
    if (r != 0) {
        oidc_free(x);
        return r;
    }
    *ret = x;
    return 0;
}

void oidc_free(struct oidc *x) {
    if (x == NULL) {
        return;
    }
    while (x->waiters) {
        oidc_wait_cancel(x->waiters);
    }
    for (size_t i = 0; i < x->n; i++) {
        loop_clock(x->loop)->timer_free(x->v[i].timer);
        http_client_free(x->v[i].client);
        oidc_keys_release(&x->v[i].keys);
    }
    mem_free(x);
}

bool oidc_endpoints(const struct oidc *x, size_t issuer, struct oidc_endpoints *ret) {
    const struct issuer *s = issuer < x->n ? &x->v[issuer] : NULL;
    if (s == NULL || s->authorization[0] == '\0' || s->token[0] == '\0') {
        return false;
    }
    *ret =
        (struct oidc_endpoints){str_of(s->authorization), str_of(s->token), str_of(s->end_session)};
    return true;
}

size_t oidc_n_keys(const struct oidc *x, size_t issuer) {
    return issuer < x->n ? x->v[issuer].keys.n : 0;
}

struct http_client *oidc_client(struct oidc *x, size_t issuer) {
    return issuer < x->n ? x->v[issuer].client : NULL;
}
