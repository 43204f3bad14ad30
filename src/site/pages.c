/* pages: health and metrics over HTTP. See pages.h. */
#include "site/pages.h"

#include "base/mem.h"

enum { PIECE = 128 << 10, HIGH_WATER = 1 << 20, CONNECTIONS = 64 };
#define TEXT "text/plain; charset=utf-8"

struct pages {
    struct http_server *http;
    struct clock *clock;
    const struct health *health;
    struct prom *prom;
};

/* A registry on its way out, kept with its request. */
struct page_scrape {
    struct pages *pages;
    struct http_request *r;
    struct prom_cursor cursor;
    struct timer *timer;
    struct buf piece;
    bool paused;
};

static void closed(void *user) {
    struct page_scrape *x = user;
    x->pages->clock->timer_free(x->timer);
    buf_release(&x->piece);
    mem_free(x);
}

static void again(struct page_scrape *x) {
    if (!x->paused) {
        x->pages->clock->timer_start(x->timer, 0);
    }
}

static void step(void *ctx) {
    struct page_scrape *x = ctx;
    buf_reset(&x->piece);
    bool more = prom_write_some(x->pages->prom, &x->cursor, PIECE, &x->piece);
    if (buf_ok(&x->piece) != 0) {
        http_stream_end(x->r);
        return;
    }
    if (x->piece.n > 0 && http_stream_write(x->r, buf_view(&x->piece)) != 0) {
        return; /* the connection is being cut; closed follows */
    }
    if (!more) {
        http_stream_end(x->r);
        return;
    }
    x->paused = http_stream_waiting(x->r) > HIGH_WATER;
    again(x);
}

static void drained(void *user) {
    struct page_scrape *x = user;
    if (x->paused) {
        x->paused = false;
        again(x);
    }
}

static void metrics_answer(struct pages *p, struct http_request *r) {
    struct page_scrape *x = mem_zalloc(sizeof(*x));
    struct timer *timer = x ? p->clock->timer_new(p->clock, step, x) : NULL;
    if (timer == NULL) {
        mem_free(x);
        http_respond(r, 500, TEXT, STR("no memory\n"));
        return;
    }
    *x = (struct page_scrape){.pages = p, .r = r, .timer = timer};
    buf_init(&x->piece, 0);
    http_set_user(r, x, closed);
    prom_begin(p->prom, &x->cursor);
    http_stream_begin(r, 200, PROM_CONTENT_TYPE);
    http_stream_on_drain(r, drained);
    again(x);
}

static bool parameter(struct str query, const char *name, struct str *ret_value) {
    struct str part, key, value;
    while (str_next(&query, '&', &part)) {
        str_cut(part, '=', &key, &value);
        if (str_is(key, name)) {
            *ret_value = value;
            return true;
        }
    }
    return false;
}

/* "livez" and what follows it; false: some other path. */
static bool health_answer(struct pages *p, struct http_request *r) {
    static const char *const groups[] = {"healthz", "livez", "readyz"};
    struct str path = str_skip(http_path(r), 1), group, one, exclude = {0}, unused;
    str_cut(path, '/', &group, &one);
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        if (!str_is(group, groups[i])) {
            continue;
        }
        struct buf b;
        bool unknown = false;
        buf_init(&b, 1 << 20);
        parameter(http_query(r), "exclude", &exclude);
        bool well = health_report(p->health, groups[i], one, exclude,
                                  parameter(http_query(r), "verbose", &unused), &b, &unknown);
        http_add_header(r, "Cache-Control", STR("no-cache, private"));
        http_add_header(r, "X-Content-Type-Options", STR("nosniff"));
        if (unknown) {
            http_respond(r, 404, TEXT, STR("404 page not found\n"));
        } else {
            http_respond(r, well ? 200 : 500, TEXT, buf_view(&b));
        }
        buf_release(&b);
        return true;
    }
    return false;
}

static void handle(void *ctx, struct http_request *r) {
    struct pages *p = ctx;
    struct str method = http_method(r), path = http_path(r);
    if (!str_is(method, "GET") && !str_is(method, "HEAD")) {
        http_add_header(r, "Allow", STR("GET, HEAD"));
        http_respond(r, 405, TEXT, STR("405 method not allowed\n"));
    } else if (p->prom && str_is(path, "/metrics")) {
        metrics_answer(p, r);
    } else if (p->health && health_answer(p, r)) {
        /* answered */
    } else if (str_is(path, "/")) {
        struct buf b;
        buf_init(&b, 4096);
        buf_c(&b, "{\"paths\":[");
        buf_c(&b, p->health ? "\"/healthz\",\"/livez\"" : "");
        buf_c(&b, p->health && p->prom ? "," : "");
        buf_c(&b, p->prom ? "\"/metrics\"" : "");
        buf_c(&b, p->health ? ",\"/readyz\"]}\n" : "]}\n");
        http_respond(r, 200, "application/json", buf_view(&b));
        buf_release(&b);
    } else {
        http_respond(r, 404, TEXT, STR("404 page not found\n"));
    }
}

int pages_start(const struct pages_options *o, struct pages **ret, struct err *err) {
    struct pages *p = mem_zalloc(sizeof(*p));
    if (p == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    *p = (struct pages){.clock = loop_clock(o->loop), .health = o->health, .prom = o->prom};
    struct http_server_options h = {
        .host = o->host,
        .port = o->port,
        .allow_any = o->allow_any,
        .body_max = 4096,
        .connections_max = CONNECTIONS,
        .handler = handle,
        .ctx = p,
    };
    int r = http_server_start(o->loop, &h, &p->http, err);
    if (r != 0) {
        mem_free(p);
        return r;
    }
    *ret = p;
    return 0;
}

uint16_t pages_port(const struct pages *p) {
    return http_server_port(p->http);
}

void pages_free(struct pages *p) {
    if (p) {
        http_server_free(p->http);
        mem_free(p);
    }
}
