/* err: outcomes and their texts. See err.h. */
#include "base/err.h"

#include <stdio.h>
#include <string.h>

static void mark_cut(struct err *err, int wanted) {
    if (wanted >= (int)sizeof(err->text)) {
        memcpy(err->text + sizeof(err->text) - 4, "...", 4);
    }
}

int err_setv(struct err *err, int code, const char *fmt, va_list ap) {
    if (err) {
        err->code = code;
        mark_cut(err, vsnprintf(err->text, sizeof(err->text), fmt, ap));
    }
    return code;
}

int err_set(struct err *err, int code, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    err_setv(err, code, fmt, ap);
    va_end(ap);
    return code;
}

int err_sys(struct err *err, int errno_value, const char *fmt, ...) {
    char what[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof(what), fmt, ap);
    va_end(ap);
    char why[128];
    return err_set(err, ERR_IO, "%s: %s", what, strerror_r(errno_value, why, sizeof(why)));
}

int err_wrap(struct err *err, const char *fmt, ...) {
    if (err == NULL) {
        return ERR_INTERNAL;
    }
    char ctx[256], old[sizeof(err->text)];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(ctx, sizeof(ctx), fmt, ap);
    va_end(ap);
    memcpy(old, err->text, sizeof(old));
    mark_cut(err, snprintf(err->text, sizeof(err->text), "%s: %s", ctx, old));
    return err->code;
}

const char *err_name(int code) {
    /* clang-format off */
    static const char *const names[] = {
        "Success",          "InternalError",         "BadRequest",      "BadRequest",
        "Invalid",          "Unauthorized",          "Forbidden",       "NotFound",
        "MethodNotAllowed", "NotAcceptable",         "AlreadyExists",   "Conflict",
        "Expired",          "RequestEntityTooLarge", "UnsupportedMediaType", "TooManyRequests",
        "InternalError",    "ServiceUnavailable",    "Timeout",         "InternalError",
        "BadRequest",       "Timeout",               "Gone",            "Unsupported",
    };
    /* clang-format on */
    _Static_assert(sizeof(names) / sizeof(names[0]) == -ERR_CODE_LAST + 1, "a name per code");
    return code <= 0 && code >= ERR_CODE_LAST ? names[-code] : "Unknown";
}
