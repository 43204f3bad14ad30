/*
 * panel: the dashboard's own listener, its sessions, and the links that sign people in. `berth up` and `berth operate`
 * have one each.
 *
 *     panel_new       sessions and pages; nothing listens
 *     panel_listen    plain HTTP on loopback, or HTTPS; what is not the dashboard's goes to `api`, with the headers of
 *                     dashboard_api_headers
 *     panel_front     the same pages for another listener (server_options.front)
 *     panel_stop, panel_free
 */
#ifndef BERTH_WORLD_PANEL_H
#define BERTH_WORLD_PANEL_H

#include "site/dashboard.h"
#include "world/kit/address.h"

struct panel;

enum { PANEL_HOSTS_MAX = 16, PANEL_PORT = 8090 };

/* What was asked for on the command line. */
struct panel_at {
    bool on;
    bool chosen; /* the address was given; else another port does as well */
    struct address address;
    struct str hosts[PANEL_HOSTS_MAX]; /* names that browsers may call it by */
    size_t n_hosts;
    const char *cert_file, *key_file; /* NULL: plain HTTP */
};

struct panel_options {
    struct loop *loop;
    struct log *log;
    struct str instance; /* what tells this Berth from others on the host */
    const char *world;
    const struct panel_at *at; /* kept by the caller */
    const struct calendar_seat *calendar;
    bool allow_any;
    struct oidc_login *login; /* as dashboard_options; NULL: nobody */
    struct str login_name;
    void (*identify)(void *ctx, struct str token, struct dashboard_asking *k);
    void (*signed_out)(void *ctx); /* may be NULL */
    bool (*head)(
        void *ctx,
        struct http_request *r); /* of what goes to `api`: http_server_options.head; may be NULL */
    void (*api)(void *ctx, struct http_request *r);
    void *ctx;
};

struct panel *panel_new(const struct panel_options *o, struct err *err);
int panel_listen(struct panel *p, struct err *err); /* no-op unless it is on */
bool panel_front(void *panel, struct http_request *r);
struct sessions *panel_sessions(struct panel *p);

/* "http://127.0.0.1:8090/dashboard/"; empty when it does not listen. */
void panel_address(const struct panel *p, struct buf *out);
/* The origins of its pages, "http://localhost:8090", in the arena: its address, and for each name that browsers may
 * call it by one without and one with a proxy that ends TLS. Their number; 0: it does not listen. */
enum { PANEL_ORIGINS_MAX = 3 + 2 * PANEL_HOSTS_MAX };
size_t panel_origins(const struct panel *p, struct arena *a,
                     const char *ret[static PANEL_ORIGINS_MAX]);
/* Its pages may ask the gateway at this address, kept by the caller (site/dashboard.h). */
void panel_set_gateway(struct panel *p, const char *url);
/* An address that signs `user` in, once, within ten minutes. ERR_UNAVAILABLE: it does not listen. */
int panel_link(struct panel *p, const struct session_who *who, struct buf *out, struct err *err);
/* What `berth dashboard` asks on the admin socket: "dashboard", or "dashboard<TAB>USER<TAB>GROUP..."; nobody named is
 * the administrator. */
int panel_asked(struct panel *p, struct str line, struct buf *out, struct err *err);

/* Stops listening; answers in flight have grace_ms. stopped comes also when it never listened. */
void panel_stop(struct panel *p, int64_t grace_ms, void (*stopped)(void *ctx), void *ctx);
/* Its requests end; before whoever `api` and `identify` lead to. */
void panel_close(struct panel *p);
void panel_free(struct panel *p); /* NULL is a no-op; after panel_close and after those */

#endif
