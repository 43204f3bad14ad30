/*
 * status: one table from our codes to HTTP status and Kubernetes reason; the rest is putting texts together in the
 * words that kubectl and client-go look for.
 */
#include "server/kit/status.h"

#include "api/walk/causes.h"

#include <stdio.h>

static const struct code_row {
    int code, http;
    const char *reason;
} code_rows[] = {
    {ERR_NOMEM, 500, "InternalError"},
    {ERR_SYNTAX, 400, "BadRequest"},
    {ERR_BAD_REQUEST, 400, "BadRequest"},
    {ERR_INVALID, 422, "Invalid"},
    {ERR_UNAUTHORIZED, 401, "Unauthorized"},
    {ERR_FORBIDDEN, 403, "Forbidden"},
    {ERR_NOT_FOUND, 404, "NotFound"},
    {ERR_METHOD, 405, "MethodNotAllowed"},
    {ERR_NOT_ACCEPTABLE, 406, "NotAcceptable"},
    {ERR_EXISTS, 409, "AlreadyExists"},
    {ERR_CONFLICT, 409, "Conflict"},
    {ERR_EXPIRED, 410, "Expired"},
    {ERR_TOO_LARGE, 413, "RequestEntityTooLarge"},
    {ERR_MEDIA_TYPE, 415, "UnsupportedMediaType"},
    {ERR_TOO_MANY, 429, "TooManyRequests"},
    {ERR_INTERNAL, 500, "InternalError"},
    {ERR_UNAVAILABLE, 503, "ServiceUnavailable"},
    {ERR_TIMEOUT, 504, "Timeout"},
    {ERR_IO, 500, "InternalError"},
    {ERR_RANGE, 400, "BadRequest"},
    {ERR_AGAIN, 500, "InternalError"},
    {ERR_GONE, 500, "InternalError"},
    {ERR_UNSUPPORTED, 501, "NotImplemented"},
};

static const struct code_row *row_of(int code) {
    for (size_t i = 0; i < sizeof(code_rows) / sizeof(code_rows[0]); i++) {
        if (code_rows[i].code == code) {
            return &code_rows[i];
        }
    }
    return &code_rows[15];
}

int http_of_code(int code) {
    return row_of(code)->http;
}

static int failure_code(struct failure *f, int code, struct str message) {
    const struct code_row *row = row_of(code);
    *f = (struct failure){
        .code = code, .http = row->http, .reason = row->reason, .message = message};
    if (message.p == NULL) { /* the arena is full: say at least that */
        f->message = STR("out of memory");
    }
    return code;
}

static struct str arena_vf(struct arena *a, const char *fmt, va_list ap) {
    struct buf b;
    buf_init(&b, 1 << 20);
    buf_vf(&b, fmt, ap);
    struct str s = buf_ok(&b) == 0 ? arena_str(a, buf_view(&b)) : (struct str){0};
    buf_release(&b);
    return s;
}

int failure_set(struct failure *f, struct arena *a, int code, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    struct str s = arena_vf(a, fmt, ap);
    va_end(ap);
    return failure_code(f, code, s);
}

int failure_err(struct failure *f, struct arena *a, const struct err *err) {
    int http = http_of_code(err->code);
    struct str text = arena_str(a, str_of(err->text));
    if (http == 500) {
        failure_code(f, err->code, arena_f(a, "Internal error occurred: %s", err->text));
        (void)failure_cause(f, a, (struct str){0}, text, (struct str){0});
        return f->code;
    }
    failure_code(f, err->code, text);
    if (err->code == ERR_TOO_MANY) {
        f->retry_after = 1;
    }
    return f->code;
}

int failure_cause(struct failure *f, struct arena *a, struct str reason, struct str message,
                  struct str field) {
    struct failure_cause *v = ARENA_ARRAY(a, struct failure_cause, f->n_causes + 1);
    if (v != NULL) {
        if (f->n_causes > 0) {
            memcpy(v, f->causes, f->n_causes * sizeof(*v));
        }
        v[f->n_causes++] = (struct failure_cause){reason, message, field};
        f->causes = v;
    }
    return f->code;
}

int failure_unknown_path(struct failure *f) {
    return failure_code(f, ERR_NOT_FOUND, STR("the server could not find the requested resource"));
}

int failure_method(struct failure *f) {
    return failure_code(f, ERR_METHOD,
                        STR("the server does not allow this method on the requested resource"));
}

int failure_too_many(struct failure *f) {
    failure_code(f, ERR_TOO_MANY, STR("Too many requests, please try again later."));
    f->retry_after = 1;
    return f->code;
}

struct str resource_label(struct arena *a, const struct kind *k) {
    return k->group[0] ? arena_f(a, "%s.%s", k->plural, k->group) : str_of(k->plural);
}

static void set_details(struct failure *f, const struct kind *k, struct str name) {
    f->name = name;
    f->group = str_of(k->group);
    f->kind = str_of(k->plural);
}

int failure_not_found(struct failure *f, struct arena *a, const struct kind *k, struct str name) {
    failure_code(
        f, ERR_NOT_FOUND,
        arena_f(a, "%.*s \"%.*s\" not found", STR_ARG(resource_label(a, k)), STR_ARG(name)));
    set_details(f, k, name);
    return f->code;
}

int failure_exists(struct failure *f, struct arena *a, const struct kind *k, struct str name) {
    failure_code(
        f, ERR_EXISTS,
        arena_f(a, "%.*s \"%.*s\" already exists", STR_ARG(resource_label(a, k)), STR_ARG(name)));
    set_details(f, k, name);
    return f->code;
}

int failure_conflict(struct failure *f, struct arena *a, const struct kind *k, struct str name,
                     struct str why) {
    if (why.n == 0) {
        why = STR("the object has been modified; please apply your changes to the latest version "
                  "and try again");
    }
    failure_code(f, ERR_CONFLICT,
                 arena_f(a, "Operation cannot be fulfilled on %.*s \"%.*s\": %.*s",
                         STR_ARG(resource_label(a, k)), STR_ARG(name), STR_ARG(why)));
    set_details(f, k, name);
    return f->code;
}

int failure_forbidden(struct failure *f, struct arena *a, const struct kind *k, struct str name,
                      const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    struct str why = arena_vf(a, fmt, ap);
    va_end(ap);
    struct str label = resource_label(a, k);
    struct str text = name.n > 0
                          ? arena_f(a, "%.*s \"%.*s\" is forbidden: %.*s", STR_ARG(label),
                                    STR_ARG(name), STR_ARG(why))
                          : arena_f(a, "%.*s is forbidden: %.*s", STR_ARG(label), STR_ARG(why));
    failure_code(f, ERR_FORBIDDEN, text);
    set_details(f, k, name);
    return f->code;
}

int failure_invalid(struct failure *f, struct arena *a, const char *group, const char *kind,
                    struct str name, const struct causes *c) {
    struct buf b;
    buf_init(&b, 1 << 20);
    causes_message(&b, group, kind, name, c);
    failure_code(f, ERR_INVALID, arena_str(a, buf_view(&b)));
    buf_release(&b);
    f->name = name;
    f->group = str_of(group);
    f->kind = str_of(kind);
    f->causes = ARENA_ARRAY(a, struct failure_cause, c->n);
    if (f->causes != NULL) {
        for (size_t i = 0; i < c->n; i++) {
            f->causes[i] =
                (struct failure_cause){cause_reason(c->v[i].type), c->v[i].text, c->v[i].field};
        }
        f->n_causes = c->n;
    }
    return f->code;
}

int failure_invalid_one(struct failure *f, struct arena *a, const char *group, const char *kind,
                        struct str name, enum cause_type type, const char *field, const char *fmt,
                        ...) {
    va_list ap;
    va_start(ap, fmt);
    struct str text = arena_vf(a, fmt, ap);
    va_end(ap);
    struct cause one = {type, str_of(field), text};
    struct causes c = {.arena = a, .v = &one, .n = 1, .cap = 1};
    return failure_invalid(f, a, group, kind, name, &c);
}

/* `"key":"value",` unless the value is empty. */
static void member(struct buf *out, const char *key, struct str value) {
    if (value.n > 0) {
        buf_f(out, "\"%s\":", key);
        buf_json(out, value);
        buf_ch(out, ',');
    }
}

static void drop_comma(struct buf *out) {
    if (buf_ok(out) == 0 && out->n > 0 && out->p[out->n - 1] == ',') {
        out->n--;
    }
}

static void write_causes(const struct failure *f, struct buf *out) {
    buf_c(out, "\"causes\":[");
    for (size_t i = 0; i < f->n_causes; i++) {
        buf_c(out, i ? ",{" : "{");
        member(out, "reason", f->causes[i].reason);
        member(out, "message", f->causes[i].message);
        member(out, "field", f->causes[i].field);
        drop_comma(out);
        buf_ch(out, '}');
    }
    buf_c(out, "],");
}

void failure_json(const struct failure *f, struct buf *out) {
    buf_c(out, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{");
    member(out, "continue", f->continue_token);
    drop_comma(out);
    buf_c(out, "},\"status\":\"Failure\",\"message\":");
    buf_json(out, f->message);
    buf_f(out, ",\"reason\":\"%s\",", f->reason);
    bool plain = f->http == 401 || f->http == 400;
    if (f->name.n || f->group.n || f->kind.n || f->n_causes || f->retry_after || !plain) {
        buf_c(out, "\"details\":{");
        member(out, "name", f->name);
        member(out, "group", f->group);
        member(out, "kind", f->kind);
        member(out, "uid", f->uid);
        if (f->n_causes > 0) {
            write_causes(f, out);
        }
        if (f->retry_after > 0) {
            buf_f(out, "\"retryAfterSeconds\":%d,", f->retry_after);
        }
        drop_comma(out);
        buf_c(out, "},");
    }
    buf_f(out, "\"code\":%d}\n", f->http);
}

void failure_to_err(const struct failure *f, struct err *err) {
    (void)err_set(err, f->code, "%.*s", STR_ARG(f->message));
}

void status_success(struct buf *out, const struct kind *k, struct str name, struct str uid,
                    int http) {
    buf_c(out, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Success\"");
    if (name.n > 0 && k != NULL) {
        buf_c(out, ",\"details\":{");
        member(out, "name", name);
        member(out, "group", str_of(k->group));
        member(out, "kind", str_of(k->plural));
        member(out, "uid", uid);
        drop_comma(out);
        buf_ch(out, '}');
    }
    if (http != 200) {
        buf_f(out, ",\"code\":%d", http);
    }
    buf_c(out, "}\n");
}
