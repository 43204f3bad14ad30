/*
 * quantity: Kubernetes' resource amounts ("100m", "1.5Gi", "1e3"), exact.
 *
 * A Kubernetes quantity is at most 2^63-1 in magnitude and never finer than a billionth, so it is held as whole units
 * and billionths: 16 bytes by value, no allocation, no rounding. All zero is the quantity 0 (and "absent"). Values
 * beyond the magnitude are capped while parsing and finer ones are rounded away from zero, as Kubernetes documents;
 * arithmetic that would leave the range is ERR_RANGE. `format` is how it was written, so that the text comes back in
 * canonical form: "1000m" -> "1", "1024Mi" -> "1Gi", "0.5Ki" -> "512".
 */
#ifndef BERTH_WIRE_QUANTITY_H
#define BERTH_WIRE_QUANTITY_H

#include "base/buf.h"
#include "base/err.h"

enum quantity_format {
    QUANTITY_DECIMAL,  /* n u m "" k M G T P E */
    QUANTITY_BINARY,   /* Ki Mi Gi Ti Pi Ei */
    QUANTITY_EXPONENT, /* 1e3 */
};

struct quantity {
    int64_t whole;  /* floor of the amount: -0.5 is whole -1, nano 500000000 */
    int32_t nano;   /* 0 .. 999999999 */
    uint8_t format; /* enum quantity_format */
};

enum { QUANTITY_TEXT_MAX = 48 };

/* ERR_SYNTAX with Kubernetes' own text. */
int quantity_parse(struct str text, struct quantity *ret, struct err *err);
/* Canonical text: a view of `out`, which is NUL-terminated. */
struct str quantity_text(struct quantity q, char out[static QUANTITY_TEXT_MAX]);
void quantity_write(struct buf *b, struct quantity q);

struct quantity quantity_of(int64_t units, enum quantity_format format);
struct quantity quantity_of_milli(int64_t milli, enum quantity_format format);

static inline bool quantity_is_zero(struct quantity q) {
    return q.whole == 0 && q.nano == 0;
}
int quantity_sign(struct quantity q);                   /* -1, 0, 1 */
int quantity_cmp(struct quantity a, struct quantity b); /* <0, 0, >0; the format does not count */

/* *q += y, *q -= y. ERR_RANGE with *q unchanged. A zero *q takes y's format, as Kubernetes does. */
int quantity_add(struct quantity *q, struct quantity y);
int quantity_sub(struct quantity *q, struct quantity y);

/* Units, or thousandths, rounded away from zero; saturated at INT64_MIN/INT64_MAX. */
int64_t quantity_value(struct quantity q);
int64_t quantity_milli(struct quantity q);

#endif
