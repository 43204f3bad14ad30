/*
 * body: what the gateway has to know of a request's JSON body: the model, whether the answer is a stream, how many
 * tokens it may have; and where these stand, so that they can be changed by splicing.
 *
 * The reader walks over the text once, keeps nothing but these facts and places, allocates nothing and copies
 * nothing. It knows the members of the outermost object (and of its stream_options) and skips the rest by counting
 * brackets, at most BODY_DEPTH_MAX deep. It can be fed in parts. It does not validate JSON as a whole, that is the
 * server's; but it never sees other members than a parser of JSON would: a name may be spelled with escapes, and a
 * name that it knows and that stands twice is refused, since parsers differ in which one counts.
 *
 * Of a multipart body (audio), `model` and `stream` are the form fields of these names.
 */
#ifndef BERTH_GATEWAY_BODY_H
#define BERTH_GATEWAY_BODY_H

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum { BODY_DEPTH_MAX = 512, BODY_MODEL_MAX = 512, BODY_EDITS_MAX = 3, BODY_NAME_MAX = 32 };

struct body_span { /* of bytes; n == 0: it is not there */
    size_t at, n;
};

struct body_facts {
    char model[BODY_MODEL_MAX]; /* decoded */
    size_t model_n;
    bool has_model, stream, usage; /* usage: the client asked for it in a stream */
    bool store;                    /* "store": true, of /v1/responses: the server keeps something */
    int64_t max_tokens;            /* of the answer; -1: not said */
    size_t open;                   /* behind the '{' of the body */
    struct body_span model_at;     /* the value, with its quotes in JSON */
    struct body_span options_at;   /* the value of stream_options */
    struct body_span usage_at;     /* the value of its include_usage */
    struct body_span
        prompt_at; /* of messages, prompt or input: the text that the server's cache is about */
};

/* ERR_SYNTAX or ERR_BAD_REQUEST with a text for the client: where it stands, or which member and what was expected.
 * */
int body_read_json(struct str body, struct body_facts *ret, struct err *err);
/* boundary: of Content-Type. The same errors. */
int body_read_form(struct str body, struct str boundary, struct body_facts *ret, struct err *err);
/* The boundary of a Content-Type of multipart/form-data; empty: it has none or two, or is something else. */
struct str body_boundary(struct str content_type);

/* Changes: instead of the bytes at `at`, n of them, `with`. In order, not overlapping. */
struct body_edit {
    size_t at, n;
    struct str with;
};

/* Appends those that make the server name the tokens of a stream. */
size_t body_ask_usage(const struct body_facts *f, struct str body, struct body_edit *edits,
                      size_t n);
/* The body with its edits in place, in at most 2 * n + 1 parts, which view both. Returns how many; edits get sorted.
 * */
size_t body_parts(struct str body, struct body_edit *edits, size_t n, struct str *ret);

#endif
