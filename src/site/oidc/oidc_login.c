/* oidc_login: the authorization code flow. See oidc_login.h. */
#include "site/oidc/oidc_login.h"

#include <stdio.h>

#include "base/mem.h"
#include "net/http_client.h"
#include "net/tls.h"
#include "wire/text/base64.h"

enum {
    KEY_BYTES = 32,
    MADE_BYTES = 43,
    ANSWER_MAX = 256 << 10,
    EXCHANGE_MS = 15000,
    ARENA_BYTES = 4 << 20
};

struct oidc_exchange {
    struct oidc_exchange *next, **prev;
    struct oidc_login *x;
    struct http_call *call;
    char nonce[MADE_BYTES + 1];
    void (*done)(void *ctx, int code, struct str token, const struct err *err);
    void *ctx;
};

struct oidc_login {
    struct oidc_login_options o;
    char key[KEY_BYTES];
    struct oidc_exchange *exchanges;
    size_t n;
};

int oidc_login_new(const struct oidc_login_options *o, struct oidc_login **ret, struct err *err) {
    struct oidc_login *x = mem_zalloc(sizeof(*x));
    if (x == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    x->o = *o;
    int r = tls_random(x->key, sizeof(x->key), err);
    if (r != 0) {
        oidc_login_free(x);
        return r;
    }
    *ret = x;
    return 0;
}

static void exchange_free(struct oidc_exchange *e) {
    *e->prev = e->next;
    if (e->next) {
        e->next->prev = e->prev;
    }
    e->x->n--;
    mem_free_secret(e, sizeof(*e));
}

void oidc_login_cancel(struct oidc_exchange *e) {
    if (e->call) {
        http_call_cancel(e->call);
    }
    exchange_free(e);
}

void oidc_login_free(struct oidc_login *x) {
    if (x == NULL) {
        return;
    }
    while (x->exchanges) {
        oidc_login_cancel(x->exchanges);
    }
    mem_free_secret(x, sizeof(*x));
}

/* State, nonce or verifier of a cookie: 43 letters of base64url. */
static int make(const struct oidc_login *x, const char *what, struct str cookie,
                char ret[MADE_BYTES + 1]) {
    char text[16 + OIDC_LOGIN_COOKIE_BYTES];
    unsigned char mac[32];
    struct buf b;
    int n = snprintf(text, sizeof(text), "%s:%.*s", what, STR_ARG(cookie));
    tls_hmac_sha256(str_from(x->key, sizeof(x->key)), str_from(text, (size_t)n), mac);
    buf_init(&b, 0);
    base64url_encode(&b, str_from((const char *)mac, sizeof(mac)));
    int r = buf_ok(&b) || !str_copy(buf_view(&b), ret, MADE_BYTES + 1) ? ERR_NOMEM : 0;
    buf_release_secret(&b);
    return r;
}

/* One part of a query or form: its name, and the value escaped. */
static void add(struct buf *b, char before, const char *name, struct str value) {
    buf_f(b, "%c%s=", before, name);
    for (size_t i = 0; i < value.n; i++) {
        unsigned char c = (unsigned char)value.p[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '-' || c == '.' || c == '_' || c == '~';
        plain ? buf_ch(b, (char)c) : buf_f(b, "%%%02X", c);
    }
}

static void add_redirect(const struct oidc_login *x, struct buf *b, char before, struct str base) {
    struct buf whole;
    buf_init(&whole, 0);
    buf_str(&whole, base);
    buf_c(&whole, OIDC_LOGIN_PATH);
    add(b, before, "redirect_uri", x->o.redirect.n ? x->o.redirect : buf_view(&whole));
    b->failed = b->failed ? b->failed : buf_ok(&whole);
    buf_release(&whole);
}

static int new_cookie(int64_t now_ns, char ret[OIDC_LOGIN_COOKIE_BYTES + 1], struct err *err) {
    unsigned char random[32];
    struct buf b;
    int r = tls_random(random, sizeof(random), err);
    if (r != 0) {
        return r;
    }
    buf_init(&b, 0);
    buf_f(&b, "%016llx", (unsigned long long)(now_ns / NS_PER_SEC));
    base64url_encode(&b, str_from((const char *)random, sizeof(random)));
    r = buf_ok(&b) || !str_copy(buf_view(&b), ret, OIDC_LOGIN_COOKIE_BYTES + 1)
            ? err_set(err, ERR_NOMEM, "no memory")
            : 0;
    buf_release_secret(&b);
    return r;
}

/* RFC 7636, 4.2: base64url of the SHA-256 of the verifier. */
static void add_challenge(struct buf *b, const char *verifier) {
    unsigned char hash[32];
    struct buf text;
    tls_sha256(str_of(verifier), hash);
    buf_init(&text, 0);
    base64url_encode(&text, str_from((const char *)hash, sizeof(hash)));
    add(b, '&', "code_challenge", buf_view(&text));
    b->failed = b->failed ? b->failed : buf_ok(&text);
    buf_release(&text);
}

int oidc_login_begin(struct oidc_login *x, struct str base, int64_t now_ns,
                     char ret_cookie[OIDC_LOGIN_COOKIE_BYTES + 1], struct buf *ret_location,
                     struct err *err) {
    char state[MADE_BYTES + 1], nonce[MADE_BYTES + 1], verifier[MADE_BYTES + 1];
    struct oidc_endpoints at;
    if (!oidc_endpoints(x->o.oidc, x->o.issuer, &at)) {
        return err_set(err, ERR_UNAVAILABLE, "the issuer has not answered yet");
    }
    int r = new_cookie(now_ns, ret_cookie, err);
    struct str cookie = str_of(ret_cookie);
    if (r != 0 || make(x, "state", cookie, state) != 0 || make(x, "nonce", cookie, nonce) != 0 ||
        make(x, "verifier", cookie, verifier) != 0) {
        return r ? r : err_set(err, ERR_NOMEM, "no memory");
    }
    buf_str(ret_location, at.authorization);
    add(ret_location, str_find(at.authorization, '?') < 0 ? '?' : '&', "response_type",
        STR("code"));
    add(ret_location, '&', "client_id", x->o.client_id);
    add_redirect(x, ret_location, '&', base);
    add(ret_location, '&', "scope", x->o.scopes);
    add(ret_location, '&', "state", str_of(state));
    add(ret_location, '&', "nonce", str_of(nonce));
    add_challenge(ret_location, verifier);
    add(ret_location, '&', "code_challenge_method", STR("S256"));
    return buf_ok(ret_location) ? err_set(err, ERR_NOMEM, "no memory") : 0;
}

/* ---- the code ---- */

static bool same_in_constant_time(struct str a, const char *b) {
    unsigned char diff = a.n != MADE_BYTES;
    for (size_t i = 0; i < a.n && i < MADE_BYTES; i++) {
        diff |= (unsigned char)(a.p[i] ^ b[i]);
    }
    return diff == 0;
}

static bool is_young(struct str cookie, int64_t now_ns) {
    static const char digits[] = "0123456789abcdef";
    uint64_t at = 0, now = (uint64_t)(now_ns / NS_PER_SEC);
    if (cookie.n != OIDC_LOGIN_COOKIE_BYTES) {
        return false;
    }
    for (size_t i = 0; i < 16; i++) {
        const char *digit = memchr(digits, cookie.p[i], 16);
        if (digit == NULL) {
            return false;
        }
        at = at << 4 | (uint64_t)(digit - digits);
    }
    return at <= now && now - at <= OIDC_LOGIN_S;
}

/* The ID token in the answer, whose nonce is ours. */
static int take_token(const struct oidc_exchange *e, const struct http_reply *r, struct arena *a,
                      struct str *ret, struct err *err) {
    yyjson_doc *doc;
    struct jws t;
    if (r->code != 0) {
        return err_set(err, ERR_UNAVAILABLE, "the issuer: %s", r->err.text);
    }
    if (r->body.n > ANSWER_MAX || json_parse(a, r->body, &doc, NULL) != 0) {
        return err_set(err, ERR_UNAVAILABLE, "the issuer answered %d, and no JSON", r->status);
    }
    yyjson_val *v = yyjson_doc_get_root(doc);
    if (r->status != 200) {
        return err_set(err, ERR_UNAUTHORIZED, "the issuer answered %d %.*s", r->status,
                       STR_ARG(str_head(json_str(json_get(v, STR("error"))), 100)));
    }
    struct str token = json_str(json_get(v, STR("id_token")));
    if (token.n == 0 || jws_parse(a, token, &t, NULL) != 0) {
        return err_set(err, ERR_UNAUTHORIZED, "the issuer gave no ID token");
    }
    if (!same_in_constant_time(json_str(jws_claim(&t, STR("nonce"))), e->nonce)) {
        return err_set(err, ERR_UNAUTHORIZED, "the ID token is not the one that was asked for");
    }
    *ret = token;
    return 0;
}

static void exchanged(void *ctx, const struct http_reply *r) {
    struct oidc_exchange *e = ctx;
    void (*done)(void *, int, struct str, const struct err *) = e->done;
    void *done_ctx = e->ctx;
    struct str token = {0};
    struct err err = {0};
    struct arena a;
    arena_init(&a, ARENA_BYTES);
    int code = take_token(e, r, &a, &token, &err);
    exchange_free(e);
    done(done_ctx, code, token, &err);
    arena_release_secret(&a);
}

static void write_form(const struct oidc_login *x, struct buf *b, struct str base, struct str code,
                       const char *verifier) {
    buf_c(b, "grant_type=authorization_code");
    add(b, '&', "code", code);
    add_redirect(x, b, '&', base);
    add(b, '&', "client_id", x->o.client_id);
    add(b, '&', "code_verifier", str_of(verifier));
}

/* RFC 6749, 2.3.1: both are form-encoded before they are joined. */
static void write_basic(const struct oidc_login *x, struct buf *out) {
    struct buf b;
    buf_init(&b, 0);
    add(&b, ' ', "", x->o.client_id);
    add(&b, ':', "", x->o.secret);
    struct str pair = str_skip(buf_view(&b), 2); /* " =ID:=SECRET" */
    ptrdiff_t colon = str_find(pair, ':');
    struct buf joined;
    buf_init(&joined, 0);
    buf_str(&joined, str_head(pair, (size_t)(colon + 1)));
    buf_str(&joined, str_skip(pair, (size_t)(colon + 2)));
    buf_c(out, "Authorization: Basic ");
    base64_encode(out, buf_view(&joined));
    buf_release_secret(&b);
    buf_release_secret(&joined);
}

static int send(struct oidc_exchange *e, struct str url, struct str base, struct str code,
                const char *verifier, struct err *err) {
    struct oidc_login *x = e->x;
    struct buf form, basic;
    buf_init(&form, 0);
    buf_init(&basic, 0);
    write_form(x, &form, base, code, verifier);
    if (x->o.secret.n) {
        write_basic(x, &basic);
    }
    const struct str headers[] = {STR("Content-Type: application/x-www-form-urlencoded"),
                                  STR("Accept: application/json"), buf_view(&basic)};
    struct http_call_options o = {.method = "POST",
                                  .url = url,
                                  .headers = headers,
                                  .n_headers = x->o.secret.n ? 3 : 2,
                                  .body = buf_view(&form),
                                  .timeout_ms = EXCHANGE_MS,
                                  .body_max = ANSWER_MAX,
                                  .done = exchanged,
                                  .ctx = e};
    int r = buf_ok(&form) || buf_ok(&basic)
                ? err_set(err, ERR_NOMEM, "no memory")
                : http_client_send(oidc_client(x->o.oidc, x->o.issuer), &o, &e->call, err);
    buf_release_secret(&form);
    buf_release_secret(&basic);
    return r;
}

int oidc_login_end(struct oidc_login *x, struct str base, struct str cookie, struct str state,
                   struct str iss, struct str code, int64_t now_ns,
                   void (*done)(void *ctx, int code, struct str token, const struct err *err),
                   void *ctx, struct oidc_exchange **ret, struct err *err) {
    char want[MADE_BYTES + 1], verifier[MADE_BYTES + 1];
    struct oidc_endpoints at;
    if (!is_young(cookie, now_ns) || make(x, "state", cookie, want) != 0 ||
        !same_in_constant_time(state, want)) {
        return err_set(err, ERR_UNAUTHORIZED, "this browser did not begin to sign in, or long ago");
    }
    if ((iss.n && !str_eq(iss, x->o.issuer_url)) || code.n == 0) { /* RFC 9207 */
        return err_set(err, ERR_UNAUTHORIZED, "the answer is not the issuer's, or has no code");
    }
    struct oidc_exchange *e = x->n < OIDC_LOGINS_MAX ? mem_zalloc(sizeof(*e)) : NULL;
    if (e == NULL || !oidc_endpoints(x->o.oidc, x->o.issuer, &at)) {
        mem_free(e);
        return err_set(err, ERR_TOO_MANY, "too many sign in at once");
    }
    *e = (struct oidc_exchange){
        .x = x, .done = done, .ctx = ctx, .next = x->exchanges, .prev = &x->exchanges};
    if (e->next) {
        e->next->prev = &e->next;
    }
    x->exchanges = e;
    x->n++;
    int r = make(x, "nonce", cookie, e->nonce) || make(x, "verifier", cookie, verifier)
                ? err_set(err, ERR_NOMEM, "no memory")
                : send(e, at.token, base, code, verifier, err);
    explicit_bzero(verifier, sizeof(verifier));
    if (r != 0) {
        exchange_free(e);
        return r;
    }
    *ret = e;
    return 0;
}
