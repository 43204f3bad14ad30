/* refuse: see refuse.h. */
#include "site/refuse.h"

static int http_of(int code) {
    static const struct {
        int code, http;
    } rows[] = {
        {ERR_SYNTAX, 400},      {ERR_BAD_REQUEST, 400}, {ERR_UNAUTHORIZED, 401},
        {ERR_FORBIDDEN, 403},   {ERR_NOT_FOUND, 404},   {ERR_METHOD, 405},
        {ERR_EXISTS, 409},      {ERR_CONFLICT, 409},    {ERR_TOO_LARGE, 413},
        {ERR_MEDIA_TYPE, 415},  {ERR_INVALID, 422},     {ERR_TOO_MANY, 429},
        {ERR_UNSUPPORTED, 501}, {ERR_UNAVAILABLE, 503}, {ERR_TIMEOUT, 504},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].code == code) {
            return rows[i].http;
        }
    }
    return 500;
}

void refuse_status(int code, const char *text, struct buf *out) {
    buf_c(out, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
               "\"message\":");
    buf_json(out, str_of(text));
    buf_f(out, ",\"reason\":\"%s\",\"code\":%d}", err_name(code), http_of(code));
}

void refuse(struct http_request *r, int code, const char *text) {
    struct buf b;
    int http = http_of(code);
    buf_init(&b, 64 << 10);
    refuse_status(code, text, &b);
    buf_ch(&b, '\n');
    (void)http_add_header(r, "Cache-Control", STR("no-store"));
    (void)http_add_header(r, "X-Content-Type-Options", STR("nosniff"));
    http_respond(r, http, "application/json", buf_ok(&b) == 0 ? buf_view(&b) : STR("{}\n"));
    buf_release(&b);
}
