/* origin: see origin.h. */
#include "gateway/origin.h"

static bool is_allowed(const struct gateway_origins *o, struct str origin) {
    for (size_t i = 0; i < o->n; i++) {
        if (str_eq(o->v[i], origin)) {
            return true;
        }
    }
    return false;
}

bool origin_may_ask(const struct gateway_origins *o, const struct http_request *r) {
    struct str origin = http_header(r, "origin");
    return origin.n == 0 || is_allowed(o, origin);
}

bool origin_answer(const struct gateway_origins *o, struct http_request *r) {
    struct str origin = http_header(r, "origin");
    bool asks =
        str_is(http_method(r), "OPTIONS") && http_header(r, "access-control-request-method").n > 0;
    if (origin.n == 0 || o->n == 0 || !is_allowed(o, origin)) {
        return false;
    }
    http_add_header(r, "Access-Control-Allow-Origin", origin);
    http_add_header(r, "Vary", STR("Origin"));
    if (!asks) {
        return false;
    }
    http_add_header(r, "Access-Control-Allow-Methods", STR("GET, POST"));
    http_add_header(r, "Access-Control-Allow-Headers", STR("authorization, content-type"));
    http_add_header(r, "Access-Control-Max-Age", STR("600"));
    http_respond(r, 204, NULL, STR(""));
    return true;
}

int origin_add(struct gateway_origins *o, struct str text, struct err *err) {
    bool https = str_starts(text, STR("https://"));
    struct str host = str_skip(text, https ? 8 : 7);
    if ((!https && !str_starts(text, STR("http://"))) || host.n == 0 || host.n > 300 ||
        str_find(host, '/') >= 0 || str_find(host, ' ') >= 0) {
        return err_set(err, ERR_INVALID,
                       "\"%.*s\": expected an origin without a path, such as "
                       "https://berth.example:8090",
                       STR_ARG(text));
    }
    if (o->n == ORIGINS_MAX) {
        return err_set(err, ERR_TOO_LARGE, "at most %d origins", ORIGINS_MAX);
    }
    o->v[o->n++] = text;
    return 0;
}
