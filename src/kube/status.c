/* status (kube): see status.h. */
#include "kube/status.h"

enum { STATUS_ARENA = 4 << 20, TEXT_MAX = 200 };

static int code_of(int64_t http, struct str reason) {
    static const struct {
        int http, code;
    } codes[] = {
        {400, ERR_BAD_REQUEST}, {401, ERR_UNAUTHORIZED}, {403, ERR_FORBIDDEN},
        {404, ERR_NOT_FOUND},   {405, ERR_METHOD},       {406, ERR_NOT_ACCEPTABLE},
        {408, ERR_TIMEOUT},     {409, ERR_CONFLICT},     {410, ERR_EXPIRED},
        {413, ERR_TOO_LARGE},   {415, ERR_MEDIA_TYPE},   {422, ERR_INVALID},
        {429, ERR_TOO_MANY},    {500, ERR_INTERNAL},     {502, ERR_UNAVAILABLE},
        {503, ERR_UNAVAILABLE}, {504, ERR_TIMEOUT},
    };
    if (str_is(reason, "AlreadyExists")) {
        return ERR_EXISTS;
    }
    for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
        if (codes[i].http == http) {
            return codes[i].code;
        }
    }
    return http >= 500 ? ERR_INTERNAL : ERR_BAD_REQUEST;
}

int kube_status_value(yyjson_val *status, struct err *err) {
    struct str message = json_str_at(status, "message"), reason = json_str_at(status, "reason");
    int code = code_of(json_i64_at(status, "code", 500), reason);
    if (message.n == 0) {
        message = reason.n ? reason : STR("no reason given");
    }
    return err_set(err, code, "%.*s", STR_ARG(message));
}

int kube_status(int http_status, struct str body, struct err *err) {
    if (http_status >= 200 && http_status < 300) {
        return 0;
    }
    struct arena a;
    arena_init(&a, STATUS_ARENA);
    yyjson_doc *doc = NULL;
    int code = code_of(http_status, (struct str){0});
    if (json_parse(&a, body, &doc, NULL) == 0 &&
        str_is(json_str_at(yyjson_doc_get_root(doc), "kind"), "Status")) {
        yyjson_val *root = yyjson_doc_get_root(doc);
        kube_status_value(root, err);
        code = code_of(http_status, json_str_at(root, "reason"));
        if (err) {
            err->code = code;
        }
    } else {
        struct str text = str_trim(str_head(body, TEXT_MAX));
        err_set(err, code, "HTTP status %d%s%.*s", http_status, text.n ? ": " : "", STR_ARG(text));
    }
    arena_release(&a);
    return code;
}

bool kube_status_too_new(struct str body) {
    return str_contains(body, STR("ResourceVersionTooLarge"));
}
