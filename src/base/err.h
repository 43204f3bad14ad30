/*
 * err: one closed set of outcomes, and a text without allocation.
 *
 * A function that can fail returns int: 0, or one of the negative codes below, and takes `struct err *err` last (NULL
 * when the caller does not care). On failure it has no side effect and its ret_* outputs are untouched. Errors are
 * wrapped with context on the way up; libraries never log them. The codes map to Kubernetes' Status reasons (server).
 */
#ifndef BERTH_BASE_ERR_H
#define BERTH_BASE_ERR_H

#include <stdarg.h>

enum err_code {
    ERR_NOMEM = -1,          /* no memory, or an arena's limit (500 InternalError) */
    ERR_SYNTAX = -2,         /* malformed input (400 BadRequest) */
    ERR_BAD_REQUEST = -3,    /* well-formed but not acceptable as a request (400 BadRequest) */
    ERR_INVALID = -4,        /* fails validation; text names the field (422 Invalid) */
    ERR_UNAUTHORIZED = -5,   /* who are you (401) */
    ERR_FORBIDDEN = -6,      /* known, not allowed (403) */
    ERR_NOT_FOUND = -7,      /* (404) */
    ERR_METHOD = -8,         /* (405 MethodNotAllowed) */
    ERR_NOT_ACCEPTABLE = -9, /* (406) */
    ERR_EXISTS = -10,        /* (409 AlreadyExists) */
    ERR_CONFLICT = -11,      /* optimistic concurrency, preconditions (409 Conflict) */
    ERR_EXPIRED = -12,       /* resource version too old (410 Expired) */
    ERR_TOO_LARGE = -13,     /* a limit of base/limits.h on input (413) */
    ERR_MEDIA_TYPE = -14,    /* (415 UnsupportedMediaType) */
    ERR_TOO_MANY = -15,      /* try later (429 TooManyRequests) */
    ERR_INTERNAL = -16,      /* (500) */
    ERR_UNAVAILABLE = -17,   /* (503 ServiceUnavailable) */
    ERR_TIMEOUT = -18,       /* (504 Timeout) */
    ERR_IO = -19,            /* a system call failed; text has strerror (500) */
    ERR_RANGE = -20,         /* a number does not fit */
    ERR_AGAIN = -21,         /* needs more input, or more time: call again */
    ERR_GONE = -22,          /* a peer, process or device went away */
    ERR_UNSUPPORTED = -23,   /* this machine or peer cannot do it */
    ERR_CODE_LAST = -23,
};

struct err {
    int code;       /* 0 or one of enum err_code */
    char text[508]; /* NUL-terminated, cut with "..." when too long */
};

/* Sets code and text, returns code: `return err_set(err, ERR_INVALID, "%s: must be ...", field);` err may be NULL. */
int err_set(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int err_setv(struct err *err, int code, const char *fmt, va_list ap)
    __attribute__((format(printf, 3, 0)));
/* ERR_IO with strerror(errno_value) appended. */
int err_sys(struct err *err, int errno_value, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Puts "context: " before the text, returns the code. */
int err_wrap(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A short name: "NotFound", "Invalid", ... (Kubernetes' reason where there is one). */
const char *err_name(int code);

#endif
