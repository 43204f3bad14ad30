/* dashboard: see dashboard.h. */
#include "site/dashboard.h"

#include <stdio.h>
#include <time.h>

#include "base/mem.h"
#include "site/dashboard_private.h"
#include "site/refuse.h"

/* No inline script or style, nothing from elsewhere; data: for the small pictures inside the styles. */
#define POLICY                                                                                     \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "              \
    "font-src 'self'; connect-src 'self'%s%.*s; manifest-src 'self'; base-uri 'none'; "            \
    "form-action 'none'; frame-ancestors 'none'"

struct dashboard *dashboard_new(const struct dashboard_options *o, struct err *err) {
    struct dashboard *d = mem_zalloc(sizeof(*d));
    if (d == NULL) {
        err_set(err, ERR_NOMEM, "no memory for the dashboard");
        return NULL;
    }
    d->o = *o;
    sessions_proxies(o->sessions, o->hosts, o->n_hosts);
    return d;
}

void dashboard_free(struct dashboard *d) {
    if (d == NULL) {
        return;
    }
    while (d->asking) {
        dashboard_asking_free(d->asking);
    }
    while (d->logins) {
        dashboard_login_free(d->logins);
    }
    mem_free(d);
}

void dashboard_set_gateway(struct dashboard *d, struct str url) {
    d->gateway = url.n <= GATEWAY_URL_MAX ? url : (struct str){0};
}

/* ---- headers ---- */

static void header(struct http_request *r, const char *name, struct str value) {
    (void)http_add_header(r, name, value);
}

static void page_headers(const struct dashboard *d, struct http_request *r) {
    char policy[sizeof(POLICY) + GATEWAY_URL_MAX];
    snprintf(policy, sizeof(policy), POLICY, d->gateway.n > 0 ? " " : "", STR_ARG(d->gateway));
    header(r, "Content-Security-Policy", str_of(policy));
    header(r, "X-Frame-Options", STR("DENY"));
    header(r, "X-Content-Type-Options", STR("nosniff"));
    header(r, "Referrer-Policy", STR("no-referrer"));
    header(r, "Cross-Origin-Opener-Policy", STR("same-origin"));
    header(r, "Cross-Origin-Resource-Policy", STR("same-origin"));
    header(r, "Permissions-Policy", STR("camera=(), geolocation=(), microphone=(), payment=()"));
}

void dashboard_api_headers(struct http_request *r) {
    header(r, "Content-Security-Policy",
           STR("default-src 'none'; frame-ancestors 'none'; sandbox"));
    header(r, "X-Content-Type-Options", STR("nosniff"));
    header(r, "Cross-Origin-Resource-Policy", STR("same-origin"));
}

static bool may_read(struct http_request *r) {
    struct str m = http_method(r);
    if (str_is(m, "GET") || str_is(m, "HEAD")) {
        return true;
    }
    header(r, "Allow", STR("GET, HEAD"));
    refuse(r, ERR_METHOD, "only GET and HEAD are answered here");
    return false;
}

static void redirect(struct http_request *r) {
    header(r, "Location", STR("/dashboard/"));
    header(r, "Cache-Control", STR("no-cache"));
    http_respond(r, 302, "text/plain; charset=utf-8", STR("/dashboard/\n"));
}

bool dashboard_host(struct dashboard *d, struct http_request *r) {
    struct str host = http_header(r, "Host"), second;
    if (http_secure(r) || (dashboard_host_known(host, d->o.hosts, d->o.n_hosts) &&
                           !http_header_nth(r, "Host", 1, &second))) {
        return true;
    }
    header(r, "Cache-Control", STR("no-store"));
    http_respond(r, 421, "text/plain; charset=utf-8",
                 STR("421: this server is not known by that name: call it localhost or 127.0.0.1, "
                     "or start it with --dashboard-host NAME\n"));
    return false;
}

/* ---- files ---- */

static const struct asset *asset_of(const struct assets *all, struct str path) {
    size_t lo = 0, hi = all->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = str_cmp(path, str_of(all->v[mid].path));
        if (c == 0) {
            return &all->v[mid];
        }
        lo = c > 0 ? mid + 1 : lo;
        hi = c < 0 ? mid : hi;
    }
    return NULL;
}

static void send_asset(const struct dashboard *d, struct http_request *r, const struct asset *x) {
    bool packed = x->gzip_n > 0 && dashboard_takes_gzip(http_header(r, "Accept-Encoding"));
    char tag[48];
    snprintf(tag, sizeof(tag), "\"%s%s\"", x->hash, packed ? "-gz" : "");
    page_headers(d, r);
    header(r, "ETag", str_of(tag));
    header(r, "Vary", STR("Accept-Encoding"));
    header(r, "Cache-Control",
           x->hashed ? STR("public, max-age=31536000, immutable") : STR("no-cache"));
    if (dashboard_names_tag(http_header(r, "If-None-Match"), str_of(tag))) {
        http_respond(r, 304, NULL, (struct str){0});
        return;
    }
    if (packed) {
        header(r, "Content-Encoding", STR("gzip"));
    }
    http_respond(r, 200, x->type,
                 packed ? str_from(x->plain + x->plain_n, x->gzip_n)
                        : str_from(x->plain, x->plain_n));
}

/* path: after "/dashboard/". Names of the table are plain, so nothing is decoded. */
static void send_page(struct dashboard *d, struct http_request *r, struct str path) {
    const struct asset *x = asset_of(d->o.assets, path);
    if (!may_read(r)) {
        return;
    }
    if (x == NULL && !str_starts(path, STR("assets/"))) {
        x = asset_of(d->o.assets, STR("index.html"));
    }
    if (x) {
        send_asset(d, r, x);
    } else {
        page_headers(d, r);
        header(r, "Cache-Control", STR("no-store"));
        http_respond(r, 404, "text/plain; charset=utf-8", STR("404 page not found\n"));
    }
}

/* ---- feeds ---- */

static void date_text(int64_t ns, char out[40]) {
    time_t t = (time_t)(ns / NS_PER_SEC);
    struct tm tm;
    gmtime_r(&t, &tm);
    strftime(out, 40, "%a, %d %b %Y %H:%M:%S GMT", &tm);
}

static void send_feed(struct dashboard *d, struct http_request *r, struct str name) {
    struct calendar_source *s = d->o.calendar ? d->o.calendar->source : NULL;
    struct calendar_body body = {0};
    struct err err = {0};
    char when[40];
    if (!may_read(r)) {
        return;
    }
    bool named = str_ends(name, STR(".ics")) && str_find(name, '/') < 0;
    int code = !named ? err_set(&err, ERR_NOT_FOUND, "there is no such calendar")
               : s == NULL
                   ? err_set(&err, ERR_UNAVAILABLE, "calendars are not served here just now")
                   : s->get(s, str_head(name, name.n - 4), &body, &err);
    if (code != 0) {
        refuse(r, code, code == ERR_NOT_FOUND ? "there is no such calendar" : err.text);
        return;
    }
    date_text(body.modified_ns, when);
    header(r, "ETag", body.etag);
    header(r, "Last-Modified", str_of(when));
    header(r, "Cache-Control", STR("private, no-cache"));
    header(r, "X-Content-Type-Options", STR("nosniff"));
    header(r, "X-Robots-Tag", STR("noindex"));
    struct str tags = http_header(r, "If-None-Match"), since = http_header(r, "If-Modified-Since");
    if (tags.n ? dashboard_names_tag(tags, body.etag) : str_is(since, when)) {
        http_respond(r, 304, NULL, (struct str){0});
        return;
    }
    header(r, "Content-Disposition", STR("inline; filename=\"berth.ics\""));
    http_respond(r, 200, "text/calendar; charset=utf-8", body.text);
}

/* ---- where to ---- */

static bool wants_page(struct http_request *r) {
    return !http_secure(r) || str_contains(http_header(r, "Accept"), STR("text/html"));
}

bool dashboard_answer(struct dashboard *d, struct http_request *r) {
    const struct str pages = STR("/dashboard/"), feeds = STR("/calendar/");
    struct str path = http_path(r);
    if (str_is(path, "/dashboard/session")) {
        dashboard_session(d, r);
    } else if (dashboard_login(d, r)) {
        return true;
    } else if (str_starts(path, pages)) {
        send_page(d, r, str_skip(path, pages.n));
    } else if (str_starts(path, feeds)) {
        send_feed(d, r, str_skip(path, feeds.n));
    } else if (str_is(path, "/dashboard") || (str_is(path, "/") && wants_page(r))) {
        if (may_read(r)) {
            redirect(r);
        }
    } else {
        return false;
    }
    return true;
}
