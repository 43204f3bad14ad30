/*
 * dashboard_session: GET, POST and DELETE of /dashboard/session.
 *
 *     POST with a token   identify it --> a session, a cookie
 *     POST with a code    a session, a cookie, at once
 *     GET                 identify the session's token once more --> who it is; 401 ends the session
 *     DELETE              no session, no cookie
 *
 * Wrong tokens and wrong codes are counted by address, apart: TRIES at once, then one in TRY_NS. A token is charged
 * before it is looked at, since that may take a while, in which any number of others could be sent; it is given back
 * when it was not wrong.
 */
#include <stdio.h>

#include "base/keyed_hash.h"
#include "base/mem.h"
#include "site/dashboard_private.h"
#include "site/refuse.h"
#include "wire/json/json.h"
#include "wire/text/time.h"

enum { TRIES = 10, BODY_MAX = 64 << 10 };
#define TRY_NS (3 * NS_PER_SEC)

struct dashboard_asking {
    struct dashboard *d;
    struct dashboard_asking *next, **prev;
    struct http_request *r; /* NULL: it has ended */
    uint64_t number;        /* of the session that is looked at; 0: a new one is to be made */
    bool told;              /* identified was called */
    bool page;              /* it is a page's address, and leads on */
    struct str token;       /* behind it */
};

void dashboard_asking_free(struct dashboard_asking *k) {
    *k->prev = k->next;
    if (k->next) {
        k->next->prev = k->prev;
    }
    mem_free_secret(k, sizeof(*k) + k->token.n);
}

static void closed(void *user) {
    struct dashboard_asking *k = user;
    k->r = NULL;
    if (k->told) {
        dashboard_asking_free(k);
    }
}

/* ---- how often ---- */

/* Tokens and codes are counted apart: pods share an address with people, and whoever guesses at the one would lock
 * those out who have the other. */
enum kind { OF_TOKENS = 't', OF_CODES = 'c' };

static struct peer *peer_of(struct dashboard *d, struct http_request *r, enum kind kind) {
    struct str all = http_peer(r);
    char text[sizeof(d->peers[0].key)];
    int n = snprintf(text, sizeof(text), "%c%.*s", (int)kind, (int)(str_find_last(all, ':') + 1),
                     all.p);
    struct str key = str_from(text, n < 0                      ? 0
                                    : (size_t)n < sizeof(text) ? (size_t)n
                                                               : sizeof(text) - 1);
    struct peer *p = &d->peers[keyed_hash(key) % PEERS_MAX];
    int64_t now = clock_mono(d->o.clock);
    if (!str_is(key, p->key)) {
        (void)str_copy(key, p->key, sizeof(p->key));
        p->left_ns = TRIES * TRY_NS;
    } else {
        p->left_ns += now - p->at;
    }
    p->left_ns = p->left_ns > TRIES * TRY_NS ? TRIES * TRY_NS : p->left_ns;
    p->at = now;
    return p;
}

static void charge(struct dashboard *d, struct http_request *r, enum kind kind) {
    peer_of(d, r, kind)->left_ns -= TRY_NS;
}

static void give_back(struct dashboard *d, struct http_request *r) {
    peer_of(d, r, OF_TOKENS)->left_ns += TRY_NS;
}

/* False: refused, for a while. */
static bool may_try(struct dashboard *d, struct http_request *r, enum kind kind) {
    if (peer_of(d, r, kind)->left_ns >= TRY_NS) {
        return true;
    }
    (void)http_add_header(r, "Retry-After", STR("3"));
    refuse(r, ERR_TOO_MANY,
           kind == OF_TOKENS ? "too many wrong tokens from this address: wait a moment"
                             : "too many wrong links from this address: wait a moment");
    return false;
}

/* ---- answers ---- */

static void private(struct http_request *r) {
    (void)http_add_header(r, "Cache-Control", STR("no-store"));
    (void)http_add_header(r, "X-Content-Type-Options", STR("nosniff"));
}

static void set_cookie(struct dashboard *d, struct http_request *r, struct str id, int64_t ends) {
    struct buf b;
    buf_init(&b, 1024);
    sessions_cookie(d->o.sessions, r, id, ends, &b);
    (void)http_add_header(r, "Set-Cookie", buf_view(&b));
    buf_release(&b);
}

static void show(struct dashboard *d, struct http_request *r, int http, const struct session *one) {
    struct buf b;
    char when[TIME_TEXT_MAX];
    buf_init(&b, 1 << 20);
    buf_c(&b, "{\"user\":");
    buf_json(&b, one->who.user);
    buf_c(&b, ",\"groups\":[");
    for (size_t i = 0; i < one->who.n_groups; i++) {
        buf_c(&b, i ? "," : "");
        buf_json(&b, one->who.groups[i]);
    }
    buf_c(&b, "],\"expires\":");
    buf_json(&b, time_text(one->who.expires_ns / NS_PER_SEC * NS_PER_SEC, when));
    buf_f(&b, ",\"world\":\"%s\",\"version\":\"%s\"", d->o.world, BERTH_VERSION);
    if (d->gateway.n > 0) {
        buf_c(&b, ",\"gateway\":");
        buf_json(&b, d->gateway);
    }
    buf_c(&b, "}\n");
    private(r);
    http_respond(r, http, "application/json", buf_view(&b));
    buf_release(&b);
}

static void log_sign_in(struct dashboard *d, struct http_request *r, const struct session *one) {
    if (d->o.log) {
        log_info(d->o.log, "dashboard: %.*s signed in from %.*s", STR_ARG(one->who.user),
                 STR_ARG(http_peer(r)));
    }
}

static void opened(struct dashboard *d, struct http_request *r, const char *id, bool page) {
    const struct session *one = sessions_find(d->o.sessions, str_of(id));
    if (one == NULL) {
        refuse(r, ERR_UNAUTHORIZED, "the session has ended already");
        return;
    }
    set_cookie(d, r, str_of(id), one->who.expires_ns);
    log_sign_in(d, r, one);
    if (page) {
        (void)http_add_header(r, "Location", STR("/dashboard/"));
        private(r);
        http_respond(r, 302, "text/plain; charset=utf-8", STR(""));
        return;
    }
    show(d, r, 201, one);
}

static void ended(struct dashboard *d, const struct session *one) {
    sessions_close(d->o.sessions, one);
    if (d->o.signed_out) {
        d->o.signed_out(d->o.ctx);
    }
}

/* ---- tokens ---- */

static void asked_again(struct dashboard_asking *k, int code, const struct err *err) {
    struct dashboard *d = k->d;
    const struct session *one = sessions_numbered(d->o.sessions, k->number);
    if (one && code == ERR_UNAUTHORIZED) {
        ended(d, one);
        one = NULL;
    }
    if (one) { /* who cannot be asked about just now is still who they were */
        show(d, k->r, 200, one);
    } else {
        set_cookie(d, k->r, STR(""), 0);
        refuse(k->r, ERR_UNAUTHORIZED, err && err->text[0] ? err->text : "the session has ended");
    }
}

static void asked_first(struct dashboard_asking *k, int code, const struct session_who *who,
                        const struct err *err) {
    struct err mine = {0};
    char id[SESSION_ID_MAX];
    if (code != ERR_UNAUTHORIZED && !k->page) {
        give_back(k->d, k->r);
    }
    if (code == 0) {
        struct session_who w = *who;
        w.token = k->token;
        code = sessions_open(k->d->o.sessions, &w, id, &mine);
        err = &mine;
    }
    if (k->page && code != 0) {
        dashboard_login_failed(k->d, k->r, "failed", err ? err->text : "");
        return;
    }
    if (code == 0) {
        opened(k->d, k->r, id, k->page);
        return;
    }
    refuse(k->r, code, err && err->text[0] ? err->text : "the token cannot be looked at");
}

void dashboard_identified(struct dashboard_asking *k, int code, const struct session_who *who,
                          const struct err *err) {
    k->told = true;
    if (k->r == NULL) {
        dashboard_asking_free(k);
    } else if (k->number) {
        asked_again(k, code, err);
    } else {
        asked_first(k, code, who, err);
    }
}

static void identify_for(struct dashboard *d, struct http_request *r, struct str token,
                         uint64_t number, bool page) {
    struct dashboard_asking *k = mem_zalloc(sizeof(*k) + token.n);
    if (k == NULL) {
        refuse(r, ERR_NOMEM, "no memory for a session");
        return;
    }
    *k = (struct dashboard_asking){
        .d = d, .r = r, .number = number, .page = page, .next = d->asking, .prev = &d->asking};
    if (k->next) {
        k->next->prev = &k->next;
    }
    d->asking = k;
    memcpy((char *)(k + 1), token.p, token.n);
    k->token = str_from((char *)(k + 1), token.n);
    http_set_user(r, k, closed);
    d->o.identify(d->o.ctx, k->token, k);
}

static void identify(struct dashboard *d, struct http_request *r, struct str token,
                     uint64_t number) {
    identify_for(d, r, token, number, false);
}

void dashboard_identify_page(struct dashboard *d, struct http_request *r, struct str token) {
    identify_for(d, r, token, 0, true);
}

/* ---- requests ---- */

static void sign_in(struct dashboard *d, struct http_request *r) {
    struct err err = {0};
    yyjson_doc *doc;
    char id[SESSION_ID_MAX];
    struct str type, parameters;
    str_cut(http_header(r, "Content-Type"), ';', &type, &parameters);
    if (session_same_origin(d->o.sessions, r, &err) != 0) {
        refuse(r, ERR_FORBIDDEN, err.text);
        return;
    }
    if (!str_eq_nocase(str_trim(type), STR("application/json"))) {
        refuse(r, ERR_MEDIA_TYPE, "expected application/json");
        return;
    }
    if (http_body(r).n > BODY_MAX || json_parse(http_arena(r), http_body(r), &doc, &err) != 0) {
        refuse(r, ERR_BAD_REQUEST, "the body is not JSON, or too long");
        return;
    }
    struct str token = str_trim(json_str_at(yyjson_doc_get_root(doc), "token"));
    struct str code = str_trim(json_str_at(yyjson_doc_get_root(doc), "code"));
    if ((token.n > 0) == (code.n > 0) || token.n > SESSION_TOKEN_MAX) {
        refuse(r, ERR_BAD_REQUEST, "expected {\"token\": \"...\"} or {\"code\": \"...\"}");
    } else if (token.n && may_try(d, r, OF_TOKENS)) {
        charge(d, r, OF_TOKENS);
        identify(d, r, token, 0); /* which takes its own copy */
        explicit_bzero((void *)(uintptr_t)token.p, token.n);
        explicit_bzero((void *)(uintptr_t)http_body(r).p, http_body(r).n);
    } else if (token.n == 0 && sessions_redeem(d->o.sessions, code, id, &err) == 0) {
        opened(d, r, id, false); /* which is known at once: wrong ones keep no right one out */
    } else if (token.n == 0 && may_try(d, r, OF_CODES)) {
        charge(d, r, OF_CODES);
        refuse(r, err.code, err.text);
    }
}

static void sign_out(struct dashboard *d, struct http_request *r) {
    const struct session *one = NULL;
    struct err err = {0};
    int code = sessions_of(d->o.sessions, r, &one, &err);
    if (code == ERR_FORBIDDEN) {
        refuse(r, code, err.text);
        return;
    }
    if (one) {
        if (d->o.log) {
            log_info(d->o.log, "dashboard: %.*s signed out", STR_ARG(one->who.user));
        }
        ended(d, one);
    }
    set_cookie(d, r, STR(""), 0);
    private(r);
    http_respond(r, 204, NULL, (struct str){0});
}

static void look(struct dashboard *d, struct http_request *r) {
    const struct session *one = NULL;
    struct err err = {0};
    int code = sessions_of(d->o.sessions, r, &one, &err);
    if (code == ERR_FORBIDDEN) {
        refuse(r, code, err.text);
    } else if (one == NULL) {
        if (code == ERR_UNAUTHORIZED && http_header(r, "Cookie").n) {
            set_cookie(d, r, STR(""), 0);
        }
        refuse(r, ERR_UNAUTHORIZED, "not signed in");
    } else if (one->who.token.n) {
        identify(d, r, one->who.token, one->number);
    } else {
        show(d, r, 200, one);
    }
}

void dashboard_session(struct dashboard *d, struct http_request *r) {
    struct str m = http_method(r);
    if (str_is(m, "POST")) {
        sign_in(d, r);
    } else if (str_is(m, "DELETE")) {
        sign_out(d, r);
    } else if (str_is(m, "GET") || str_is(m, "HEAD")) {
        look(d, r);
    } else {
        (void)http_add_header(r, "Allow", STR("GET, HEAD, POST, DELETE"));
        refuse(r, ERR_METHOD, "expected GET, POST or DELETE");
    }
}
