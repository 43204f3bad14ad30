/*
 * status (server): failures, and their form on the wire: Status objects of meta/v1.
 *
 * A `struct failure` is filled by whoever refuses (texts in the request's arena) and written once by failure_json. Each
 * failure_* function returns f->code, so that `return failure_not_found(...)` sets and returns. f may not be NULL.
 */
#ifndef BERTH_SERVER_STATUS_H
#define BERTH_SERVER_STATUS_H

#include "api/schema/kind.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

struct failure_cause {
    struct str reason, message, field;
};

struct failure {
    int code;           /* enum err_code; 0: nothing failed */
    int http;           /* 404 */
    const char *reason; /* "NotFound" */
    struct str message;
    struct str name, group, kind,
        uid; /* details; kind is the plural resource, or the Kind for Invalid */
    struct failure_cause *causes;
    size_t n_causes;
    int retry_after;           /* seconds; also the Retry-After header; 0: none */
    struct str continue_token; /* metadata.continue of an expired list */
};

/* By code alone: HTTP status and reason follow from it; the message is as formatted. */
int failure_set(struct failure *f, struct arena *a, int code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
int failure_err(struct failure *f, struct arena *a, const struct err *err);
int failure_cause(struct failure *f, struct arena *a, struct str reason, struct str message,
                  struct str field);

int failure_unknown_path(struct failure *f); /* 404 without a name */
int failure_method(struct failure *f);
int failure_too_many(struct failure *f);
int failure_not_found(struct failure *f, struct arena *a, const struct kind *k, struct str name);
int failure_exists(struct failure *f, struct arena *a, const struct kind *k, struct str name);
/* why empty: "the object has been modified; ..." */
int failure_conflict(struct failure *f, struct arena *a, const struct kind *k, struct str name,
                     struct str why);
int failure_forbidden(struct failure *f, struct arena *a, const struct kind *k, struct str name,
                      const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* 422 from causes, in the shape of validation errors. */
int failure_invalid(struct failure *f, struct arena *a, const char *group, const char *kind,
                    struct str name, const struct causes *causes);
/* 422 of one cause: failure_invalid_one(f, a, "", "DeleteOptions", ..., CAUSE_INVALID, field,
 * "text"). */
int failure_invalid_one(struct failure *f, struct arena *a, const char *group, const char *kind,
                        struct str name, enum cause_type type, const char *field, const char *fmt,
                        ...) __attribute__((format(printf, 8, 9)));

void failure_json(const struct failure *f, struct buf *out);
void failure_to_err(const struct failure *f, struct err *err);

/* Status{status:Success} of a deletion or a subresource; uid may be empty. */
void status_success(struct buf *out, const struct kind *k, struct str name, struct str uid,
                    int http);

/* "jobs.batch", "pods". */
struct str resource_label(struct arena *a, const struct kind *k);
int http_of_code(int code);

#endif
