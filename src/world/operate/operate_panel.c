/* operate_panel: see operate_panel.h. */
#include "world/operate/operate_panel.h"

#include "base/mem.h"
#include "kube/config.h"
#include "site/way/way.h"
#include "world/kit/worker.h"

struct operate_panel {
    struct panel *panel;
    struct way *way;
    struct virtual_registry *virtuals;
    struct worker *worker;
};

static void identify(void *ctx, struct str token, struct dashboard_asking *k) {
    struct operate_panel *p = ctx;
    way_identify(p->way, token, k);
}

static void signed_out(void *ctx) {
    struct operate_panel *p = ctx;
    way_recheck(p->way);
}

static void to_way(void *ctx, struct http_request *r) {
    struct operate_panel *p = ctx;
    way_handle(p->way, r);
}

static bool to_way_head(void *ctx, struct http_request *r) {
    struct operate_panel *p = ctx;
    return way_head(p->way, r);
}

static int make_way(struct operate_panel *p, const struct operate_panel_options *o,
                    const struct kube_config *c, struct err *err) {
    struct way_options w = {
        .loop = o->loop,
        .sessions = panel_sessions(p->panel),
        .server = c->server,
        .client = {.ca_pem = c->ca_pem,
                   .ca_file = c->ca_file,
                   .proxy = c->proxy,
                   .user_agent = STR("berth-dashboard/" BERTH_VERSION " (linux/amd64)"),
                   .tls_name = c->tls_name,
                   .tls_origin = c->server},
        .virtuals = p->virtuals,
        .mirror = o->mirror,
    };
    struct str path = str_skip(c->server, strlen("https://"));
    ptrdiff_t slash = str_find(path, '/');
    if (slash >= 0) {
        w.client.tls_origin = str_head(c->server, strlen("https://") + (size_t)slash);
    }
    p->way = way_new(&w, err);
    return p->way ? 0 : err->code;
}

static int make(struct operate_panel *p, const struct operate_panel_options *o,
                const struct kube_config *c, struct err *err) {
    struct panel_options panel = {
        .loop = o->loop,
        .log = o->log,
        .instance = c->server,
        .world = "operate",
        .at = o->at,
        .calendar = o->calendar,
        .allow_any = o->allow_any,
        .identify = identify,
        .signed_out = signed_out,
        .head = to_way_head,
        .api = to_way,
        .ctx = p,
    };
    p->virtuals = virtual_new();
    p->worker = worker_new(o->loop);
    if (p->virtuals == NULL || p->worker == NULL) {
        return err_set(err, ERR_NOMEM, "no memory for the dashboard");
    }
    p->panel = panel_new(&panel, err);
    int r = p->panel ? make_way(p, o, c, err) : err->code;
    return r ? r : panel_listen(p->panel, err);
}

int operate_panel_new(const struct operate_panel_options *o, struct operate_panel **ret,
                      struct err *err) {
    struct kube_config c = {0};
    if (!o->at->on) {
        return 0;
    }
    int r = kube_config_load(&c, o->kubeconfig, o->context, err);
    if (r != 0) {
        return r;
    }
    struct operate_panel *p = NULL;
    if (!str_starts(c.server, STR("https://"))) {
        r = err_set(err, ERR_UNSUPPORTED, "no dashboard: tokens are not sent to %.*s",
                    STR_ARG(c.server));
    } else {
        p = mem_zalloc(sizeof(*p));
        r = p ? make(p, o, &c, err) : err_set(err, ERR_NOMEM, "no memory for the dashboard");
    }
    kube_config_release(&c);
    if (r != 0) {
        operate_panel_free(p);
        p = NULL;
        if (!o->at->chosen && r != ERR_NOMEM) {
            log_info(o->log, "%s", err->text);
            r = 0;
        }
    }
    *ret = p;
    return r;
}

struct virtual_registry *operate_panel_virtuals(struct operate_panel *p) {
    return p ? p->virtuals : NULL;
}

struct offload *operate_panel_offload(struct operate_panel *p) {
    return p ? worker_offload(p->worker) : NULL;
}

void operate_panel_address(const struct operate_panel *p, struct buf *out) {
    if (p) {
        panel_address(p->panel, out);
    }
}

void operate_panel_free(struct operate_panel *p) {
    if (p == NULL) {
        return;
    }
    panel_close(p->panel); /* browsers first: what they wait for is let go */
    way_free(p->way);
    panel_free(p->panel);
    worker_free(p->worker);
    virtual_free(p->virtuals);
    mem_free(p);
}
