/*
 * time: RFC 3339 instants and Go durations, to and from nanoseconds.
 *
 * Instants are nanoseconds since 1970 UTC in an int64 (years 1678 to 2261; others are ERR_RANGE). Two forms, as in
 * Kubernetes: `Time`, written in whole seconds, read with or without a fraction and with any offset; and `MicroTime`,
 * written and read with exactly six digits of fraction. Output is always UTC with 'Z'. No locale, no time zone data.
 */
#ifndef BERTH_WIRE_TIME_H
#define BERTH_WIRE_TIME_H

#include "base/err.h"
#include "base/str.h"

enum { TIME_TEXT_MAX = 40, DURATION_TEXT_MAX = 40 };

int time_parse(struct str text, int64_t *ret_ns, struct err *err);       /* Time */
int time_parse_micro(struct str text, int64_t *ret_ns, struct err *err); /* MicroTime */
/* Views of `out`, which is NUL-terminated. Fractions are cut towards the past. */
struct str time_text(int64_t ns, char out[static TIME_TEXT_MAX]);
struct str time_text_micro(int64_t ns, char out[static TIME_TEXT_MAX]);
struct str time_text_nano(int64_t ns,
                          char out[static TIME_TEXT_MAX]); /* nine digits, trailing zeros dropped */

struct time_parts {
    int32_t year;
    int month, day; /* from 1 */
    int hour, minute, second;
    int32_t nano;
    int weekday; /* 0 = Sunday */
};
struct time_parts time_split(int64_t ns);
/* Seconds since 1970 of a proleptic Gregorian date and time; parts may be out of range (month 13, day 0). */
int64_t time_join(int32_t year, int month, int day, int hour, int minute, int second);

/* Go's time.ParseDuration: "1h2m3.5s", "300ms", "-1.5h", "0". Units ns us µs ms s m h. */
int duration_parse(struct str text, int64_t *ret_ns, struct err *err);
/* Go's Duration.String: "1h2m3.5s", "1.5ms", "0s". */
struct str duration_text(int64_t ns, char out[static DURATION_TEXT_MAX]);

#endif
