/*
 * jws: parses a JSON Web Token in compact form (RFC 7515, RFC 7519). Pure: no key is involved.
 *
 *     base64url(header) . base64url(claims) . base64url(signature)
 *
 * Strict: three parts, no padding, header and claims are objects without duplicate members, no `crit`, `alg` is a
 * string. The owner of the keys verifies the signature and decides which algorithms are accepted (net/keys/jwk.h);
 * before that no claim may be trusted.
 */
#ifndef BERTH_WIRE_JWS_H
#define BERTH_WIRE_JWS_H

#include "wire/json/json.h"

enum {
    JWS_BYTES_MAX = 16 << 10, /* of the whole text */
    JWS_HEADER_MAX = 2 << 10, /* of the header, decoded */
};

struct jws {
    struct str signed_part; /* what the signature is for: a view of the text */
    struct str signature;   /* bytes */
    struct str alg, kid;    /* of the header; kid may be empty */
    yyjson_val *claims;     /* an object */
};

/* ERR_NOT_FOUND: the text has not the form of a token at all. ERR_SYNTAX: it has, and something in it is malformed.
 * ERR_TOO_LARGE, ERR_NOMEM. */
int jws_parse(struct arena *a, struct str text, struct jws *ret, struct err *err);

/* A claim by its whole name, which may have dots: claims such as "https://example.com/groups" are names, not paths. */
yyjson_val *jws_claim(const struct jws *t, struct str name);

/* Whether `aud`, one text or a list of them, has one of the audiences. */
bool jws_is_for(const struct jws *t, const struct str *audiences, size_t n);

/* A NumericDate in whole seconds (fractions are dropped). False: absent, no number, or beyond 2^53. */
bool jws_time(const struct jws *t, const char *claim, int64_t *ret_seconds);

#endif
