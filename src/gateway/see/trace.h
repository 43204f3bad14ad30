/*
 * trace: W3C trace context: the traceparent that came with a request, and the one that goes on to the server.
 *
 * [w3c] www.w3.org/TR/trace-context: "00-" trace-id "-" parent-id "-" flags, of 32, 16 and 2 lower-case hexadecimal
 * digits; ids of zeros alone are not valid. One of a later version is read by its first 55 bytes.
 */
#ifndef BERTH_GATEWAY_TRACE_H
#define BERTH_GATEWAY_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum { TRACE_TEXT = 55 };

struct trace_context {
    unsigned char id[16];
    uint64_t parent; /* span; 0: none came */
    bool sampled;
};

bool trace_parse(struct str traceparent, struct trace_context *ret);
/* "00-...", NUL-terminated. */
void trace_text(const struct trace_context *t, uint64_t span, char out[TRACE_TEXT + 1]);

#endif
