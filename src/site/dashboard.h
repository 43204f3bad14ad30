/*
 * dashboard: the pages, signing in and out, and calendar feeds. One per process, for any number of listeners.
 *
 *     GET    /                        to /dashboard/ for who wants a page; else not ours
 *     GET    /dashboard/assets/NAME   a file of the binary
 *     GET    /dashboard/...           the one page; the address is for its script
 *     POST   /dashboard/session       {"token": "..."} or {"code": "..."}: 201, a cookie, and as GET
 *     GET    /dashboard/session       {"user", "groups", "expires", "world", "version", "gateway"}, or 401
 *     DELETE /dashboard/session       signs out: 204
 *     GET    /dashboard/ways, /dashboard/session/start, /dashboard/session/callback   see dashboard_login.c
 *     GET    /calendar/TOKEN.ics      a feed; whoever knows the token may read it
 *
 * Everything else is for whoever has the listener (the embedded API, or site/way/way.h), with the cookie's user.
 *
 * The pages run under a strict Content-Security-Policy: scripts, styles and fonts of ours alone, nothing inline,
 * nobody may frame them. Answers have the compressed bytes for who accepts gzip, and a strong ETag for each form.
 */
#ifndef BERTH_SITE_DASHBOARD_H
#define BERTH_SITE_DASHBOARD_H

#include "base/log.h"
#include "port/calendar_source.h"
#include "site/assets.h"
#include "site/oidc/oidc_login.h"
#include "site/session.h"

struct dashboard;
struct dashboard_asking; /* a token that is being looked at */

struct dashboard_options {
    struct clock *clock;
    struct log *log; /* who signs in and out; NULL: silent */
    struct sessions *sessions;
    const struct assets *assets;
    const char *world;                    /* "up", "operate" */
    const struct calendar_seat *calendar; /* NULL: there are none */
    /* Whose token is this? Answered once, at once or later, by dashboard_identified. */
    void (*identify)(void *ctx, struct str token, struct dashboard_asking *k);
    /* The session ended before its time: what it holds open may be looked at. May be NULL. */
    void (*signed_out)(void *ctx);
    void *ctx;
    /* Who signs people in with a browser, and what the page calls them; NULL: nobody */
    struct oidc_login *login;
    struct str login_name;
    /* Names besides addresses of loopback by which browsers may call a plain listener, or a proxy in front of it that
     * ends TLS. */
    const struct str *hosts; /* kept by the caller */
    size_t n_hosts;
};

struct dashboard *dashboard_new(const struct dashboard_options *o, struct err *err);
/* After the HTTP servers, and after whoever identifies: nothing is answered any more. */
void dashboard_free(struct dashboard *d); /* NULL is a no-op */

/* Where models answer, "http://127.0.0.1:8100"; kept by the caller. Pages served from now on may ask there. */
void dashboard_set_gateway(struct dashboard *d, struct str url);

/* code 0: who->user, groups and expires_ns count. Else ERR_UNAUTHORIZED, ERR_UNAVAILABLE, ..., with a text for
 * people. */
void dashboard_identified(struct dashboard_asking *k, int code, const struct session_who *who,
                          const struct err *err);

/* Answers what is the dashboard's, now or later: true. False: it is not, and nothing was touched. */
bool dashboard_answer(struct dashboard *d, struct http_request *r);

/* Is Host a name of this machine, or one that was configured? A page that came from elsewhere may have made its own
 * name point here; so on a listener without TLS anything else is answered with 421, and false returned. */
bool dashboard_host(struct dashboard *d, struct http_request *r);

/* Headers for answers of the API on the dashboard's own listener: never a page. */
void dashboard_api_headers(struct http_request *r);

/* ---- parts, for tests and fuzzing ---- */

/* Does this Accept-Encoding take gzip? */
bool dashboard_takes_gzip(struct str accept_encoding);
/* Does If-None-Match name this tag (with its quotes)? */
bool dashboard_names_tag(struct str if_none_match, struct str tag);
/* "localhost", "127.0.0.1:8090", "[::1]:8090", or one of hosts, with or without a port. */
bool dashboard_host_known(struct str host, const struct str *hosts, size_t n);

#endif
