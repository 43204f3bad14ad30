/* panel: see panel.h. */
#include "world/kit/panel.h"

#include "base/mem.h"
#include "net/tls.h"

#define ADMIN STR("berth-admin")
#define ADMINS STR("system:masters")

struct panel {
    struct panel_options o;
    struct sessions *sessions;
    struct dashboard *dashboard;
    struct tls_server *tls;
    struct http_server *http;
};

struct panel *panel_new(const struct panel_options *o, struct err *err) {
    struct panel *p = mem_zalloc(sizeof(*p));
    if (p == NULL) {
        err_set(err, ERR_NOMEM, "no memory for the dashboard");
        return NULL;
    }
    p->o = *o;
    p->sessions = sessions_new(loop_clock(o->loop), o->instance);
    struct dashboard_options d = {
        .clock = loop_clock(o->loop),
        .log = o->log,
        .sessions = p->sessions,
        .assets = &assets_built,
        .world = o->world,
        .calendar = o->calendar,
        .identify = o->identify,
        .login = o->login,
        .login_name = o->login_name,
        .signed_out = o->signed_out,
        .ctx = o->ctx,
        .hosts = o->at->hosts,
        .n_hosts = o->at->n_hosts,
    };
    p->dashboard = p->sessions ? dashboard_new(&d, err) : NULL;
    if (p->dashboard == NULL) {
        err_set(err, ERR_NOMEM, "no memory for the dashboard");
        panel_free(p);
        return NULL;
    }
    return p;
}

struct sessions *panel_sessions(struct panel *p) {
    return p->sessions;
}

bool panel_front(void *panel, struct http_request *r) {
    struct panel *p = panel;
    return p->o.at->on && dashboard_answer(p->dashboard, r);
}

static void handle(void *ctx, struct http_request *r) {
    struct panel *p = ctx;
    if (!dashboard_host(p->dashboard, r) || dashboard_answer(p->dashboard, r)) {
        return;
    }
    dashboard_api_headers(r);
    p->o.api(p->o.ctx, r);
}

static bool head(void *ctx, struct http_request *r) {
    struct panel *p = ctx;
    return dashboard_host(p->dashboard, r) && p->o.head(p->o.ctx, r);
}

int panel_listen(struct panel *p, struct err *err) {
    const struct panel_at *at = p->o.at;
    struct http_server_options o = {
        .host = str_of(at->address.host),
        .port = at->address.port,
        .allow_any = p->o.allow_any,
        .head = p->o.head ? head : NULL,
        .handler = handle,
        .ctx = p,
    };
    if (!at->on) {
        return 0;
    }
    if (at->cert_file) {
        p->tls = tls_server_new(at->cert_file, at->key_file, NULL, err);
        if (p->tls == NULL) {
            return err_wrap(err, "--dashboard-cert");
        }
        o.tls = p->tls;
    }
    int r = http_server_start(p->o.loop, &o, &p->http, err);
    if (r != 0 && !at->chosen) {
        o.port = 0;
        r = http_server_start(p->o.loop, &o, &p->http, err);
    }
    return r ? err_wrap(err, "--dashboard") : 0;
}

void panel_address(const struct panel *p, struct buf *out) {
    const char *host = p->o.at->address.host;
    bool v6 = str_find(str_of(host), ':') >= 0;
    if (p->http == NULL) {
        return;
    }
    bool any = str_is(str_of(host), "0.0.0.0") || str_is(str_of(host), "::");
    buf_c(out, p->tls ? "https://" : "http://");
    if (any) {
        buf_c(out, "localhost");
    } else {
        buf_f(out, v6 ? "[%s]" : "%s", host);
    }
    buf_f(out, ":%u/dashboard/", http_server_port(p->http));
}

size_t panel_origins(const struct panel *p, struct arena *a,
                     const char *ret[static PANEL_ORIGINS_MAX]) {
    static const char *const own[] = {"127.0.0.1", "localhost", "[::1]"};
    const char *scheme = p->tls ? "https" : "http";
    size_t n = 0;
    if (p->http == NULL) {
        return 0;
    }
    unsigned port = http_server_port(p->http);
    for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
        ret[n++] = arena_f(a, "%s://%s:%u", scheme, own[i], port).p;
    }
    for (size_t i = 0; i < p->o.at->n_hosts; i++) {
        struct str host = p->o.at->hosts[i];
        ret[n++] = arena_f(a, "%s://%.*s:%u", scheme, STR_ARG(host), port).p;
        ret[n++] = arena_f(a, "https://%.*s", STR_ARG(host)).p;
    }
    return arena_ok(a) == 0 ? n : 0;
}

void panel_set_gateway(struct panel *p, const char *url) {
    dashboard_set_gateway(p->dashboard, str_of(url));
}

int panel_link(struct panel *p, const struct session_who *who, struct buf *out, struct err *err) {
    char code[SESSION_ID_MAX];
    if (p->http == NULL) {
        return err_set(err, ERR_UNAVAILABLE, "the dashboard is off: --dashboard none");
    }
    int r = sessions_mint(p->sessions, who, code, err);
    if (r == 0) {
        panel_address(p, out);
        buf_f(out, "signin#code=%s", code);
        r = buf_ok(out) ? err_set(err, ERR_NOMEM, "no memory for a link") : 0;
    }
    return r;
}

int panel_asked(struct panel *p, struct str line, struct buf *out, struct err *err) {
    struct str groups[SESSION_GROUPS_MAX] = {ADMINS}, group;
    struct session_who who = {.user = ADMIN, .groups = groups, .n_groups = 1};
    struct str verb;
    str_next(&line, '\t', &verb);
    if (!str_is(verb, "dashboard")) {
        return err_set(err, ERR_BAD_REQUEST, "expected: dashboard [USER [GROUP...]]");
    }
    if (str_next(&line, '\t', &who.user)) {
        who.n_groups = 0;
    }
    while (str_next(&line, '\t', &group)) {
        if (who.n_groups == SESSION_GROUPS_MAX || group.n == 0) {
            return err_set(err, ERR_BAD_REQUEST, "at most %d groups, none of them empty",
                           SESSION_GROUPS_MAX);
        }
        groups[who.n_groups++] = group;
    }
    return who.user.n ? panel_link(p, &who, out, err)
                      : err_set(err, ERR_BAD_REQUEST, "the user's name is empty");
}

void panel_stop(struct panel *p, int64_t grace_ms, void (*stopped)(void *ctx), void *ctx) {
    if (p && p->http) {
        http_server_stop(p->http, grace_ms, stopped, ctx);
    } else {
        stopped(ctx);
    }
}

void panel_close(struct panel *p) {
    if (p) {
        http_server_free(TAKE(p->http));
    }
}

void panel_free(struct panel *p) {
    if (p == NULL) {
        return;
    }
    panel_close(p);
    dashboard_free(p->dashboard);
    sessions_free(p->sessions);
    tls_server_free(p->tls);
    mem_free(p);
}
