/*
 * dashboard_login: sign-in of the dashboard at an OpenID Connect issuer.
 *
 *     GET /dashboard/ways               {"issuer": "Example"}, the issuer that the page offers; or {"issuer": null}
 *     GET /dashboard/session/start      redirects to the issuer and sets the sign-in cookie
 *     GET /dashboard/session/callback   opens a session and redirects to /dashboard/, else to /dashboard/?signin=WHY
 *
 * The sign-in cookie is SameSite=Lax, because browsers do not send a Strict one when the issuer's page redirects here.
 * It opens no session by itself. WHY is "refused" (the issuer's error), "old" or "failed"; the log has the reason of
 * failures, without codes or tokens.
 */
#include "base/mem.h"
#include "site/dashboard_private.h"
#include "site/refuse.h"

enum { VALUE_MAX = 4096 };

#define COOKIE "berth-login"

/* A code that is exchanged. */
struct dashboard_login {
    struct dashboard *d;
    struct dashboard_login *next, **prev;
    struct http_request *r; /* NULL: the browser left */
    struct oidc_exchange *exchange;
};

void dashboard_login_free(struct dashboard_login *l) {
    *l->prev = l->next;
    if (l->next) {
        l->next->prev = l->prev;
    }
    mem_free(l);
}

static void closed(void *user) {
    struct dashboard_login *l = user;
    oidc_login_cancel(l->exchange);
    dashboard_login_free(l);
}

static void no_store(struct http_request *r) {
    (void)http_add_header(r, "Cache-Control", STR("no-store"));
    (void)http_add_header(r, "Referrer-Policy", STR("no-referrer"));
    (void)http_add_header(r, "X-Content-Type-Options", STR("nosniff"));
}

static void set_cookie(struct http_request *r, const char *value, int seconds) {
    struct buf b;
    buf_init(&b, 1024);
    buf_f(&b, COOKIE "=%s; Path=/dashboard/session; HttpOnly; SameSite=Lax; Max-Age=%d%s", value,
          seconds, http_secure(r) ? "; Secure" : "");
    (void)http_add_header(r, "Set-Cookie", buf_view(&b));
    buf_release(&b);
}

static void lead(struct http_request *r, struct str to) {
    (void)http_add_header(r, "Location", to);
    no_store(r);
    http_respond(r, 302, "text/plain; charset=utf-8", STR(""));
}

void dashboard_login_failed(struct dashboard *d, struct http_request *r, const char *why,
                            const char *text) {
    struct buf b;
    if (d->o.log &&
        str_is(str_of(why), "failed")) { /* anybody can be old or refused, any number of times */
        log_warn(d->o.log, "dashboard: somebody from %.*s could not sign in: %s",
                 STR_ARG(http_peer(r)), text);
    }
    buf_init(&b, 256);
    buf_f(&b, "/dashboard/?signin=%s", why);
    set_cookie(r, "", 0);
    lead(r, buf_view(&b));
    buf_release(&b);
}

/* "http://127.0.0.1:8090"; the listener looked at Host already where it must. */
static struct str base_of(struct http_request *r) {
    return arena_f(http_arena(r), "%s://%.*s", http_secure(r) ? "https" : "http",
                   STR_ARG(str_head(http_header(r, "Host"), 300)));
}

static void tell_ways(struct dashboard *d, struct http_request *r) {
    struct buf b;
    buf_init(&b, VALUE_MAX);
    buf_c(&b, "{\"issuer\":");
    d->o.login ? buf_json(&b, d->o.login_name) : buf_c(&b, "null");
    buf_c(&b, "}\n");
    no_store(r);
    http_respond(r, 200, "application/json", buf_view(&b));
    buf_release(&b);
}

static void begin(struct dashboard *d, struct http_request *r) {
    char cookie[OIDC_LOGIN_COOKIE_BYTES + 1];
    struct buf to;
    struct err err = {0};
    buf_init(&to, 16 << 10);
    if (oidc_login_begin(d->o.login, base_of(r), clock_wall(d->o.clock), cookie, &to, &err) != 0) {
        dashboard_login_failed(d, r, "failed", err.text);
    } else {
        set_cookie(r, cookie, OIDC_LOGIN_S);
        lead(r, buf_view(&to));
    }
    buf_release(&to);
}

static int hex(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* A value of the query, decoded; empty: it is not there, is there twice, or is malformed. */
static struct str query_value(struct http_request *r, const char *name) {
    struct str rest = http_query(r), part, key, value, found = {0};
    size_t times = 0;
    while (str_next(&rest, '&', &part)) {
        (void)str_cut(part, '=', &key, &value);
        if (str_is(key, name)) {
            found = value;
            times++;
        }
    }
    char *p = times == 1 && found.n <= VALUE_MAX ? arena_alloc(http_arena(r), found.n + 1) : NULL;
    size_t n = 0;
    for (size_t i = 0; p && i < found.n; i++) {
        int high = found.p[i] == '%' && i + 2 < found.n ? hex(found.p[i + 1]) : -1;
        int low = high >= 0 ? hex(found.p[i + 2]) : -1;
        if (found.p[i] == '%' && low < 0) {
            return (struct str){0};
        }
        p[n++] = low >= 0 ? (char)(high * 16 + low) : found.p[i] == '+' ? ' ' : found.p[i];
        i += low >= 0 ? 2 : 0;
    }
    return p ? str_from(p, n) : (struct str){0};
}

static void exchanged(void *ctx, int code, struct str token, const struct err *err) {
    struct dashboard_login *l = ctx;
    struct dashboard *d = l->d;
    struct http_request *r = l->r;
    http_set_user(r, NULL, NULL);
    dashboard_login_free(l);
    if (code != 0 || token.n > SESSION_TOKEN_MAX) {
        dashboard_login_failed(d, r, "failed", code ? err->text : "the token is too long");
        return;
    }
    set_cookie(r, "", 0);
    dashboard_identify_page(d, r, token);
}

static void end(struct dashboard *d, struct http_request *r) {
    struct dashboard_login *l = mem_zalloc(sizeof(*l));
    struct str cookie = {0};
    struct err err = {0};
    (void)session_cookie_value(http_header(r, "Cookie"), STR(COOKIE), 0, &cookie);
    if (l == NULL) {
        refuse(r, ERR_NOMEM, "no memory for a session");
        return;
    }
    *l = (struct dashboard_login){.d = d, .r = r, .next = d->logins, .prev = &d->logins};
    if (l->next) {
        l->next->prev = &l->next;
    }
    d->logins = l;
    bool refused = query_value(r, "error").n > 0;
    int code = refused ? ERR_UNAUTHORIZED
                       : oidc_login_end(d->o.login, base_of(r), cookie, query_value(r, "state"),
                                        query_value(r, "iss"), query_value(r, "code"),
                                        clock_wall(d->o.clock), exchanged, l, &l->exchange, &err);
    if (code == 0) {
        http_set_user(r, l, closed);
        return;
    }
    dashboard_login_free(l);
    dashboard_login_failed(d, r,
                           refused                    ? "refused"
                           : code == ERR_UNAUTHORIZED ? "old"
                                                      : "failed",
                           refused ? "the issuer refused" : err.text);
}

bool dashboard_login(struct dashboard *d, struct http_request *r) {
    struct str path = http_path(r);
    bool ways = str_is(path, "/dashboard/ways"), start = str_is(path, "/dashboard/session/start");
    if (!ways && !start && !str_is(path, OIDC_LOGIN_PATH)) {
        return false;
    }
    if (!str_is(http_method(r), "GET")) {
        (void)http_add_header(r, "Allow", STR("GET"));
        refuse(r, ERR_METHOD, "expected GET");
    } else if (ways) {
        tell_ways(d, r);
    } else if (d->o.login == NULL) {
        refuse(r, ERR_NOT_FOUND, "no issuer is configured for sign-in");
    } else if (start) {
        begin(d, r);
    } else {
        end(d, r);
    }
    return true;
}
