/*
 * spans: the spans for a collector of traces: one for each request whose trace is sampled, as OTLP over HTTP in
 * JSON takes it.
 *
 * Workers put spans into a bounded queue; whoever has a loop takes them out in batches, as the body of a request to
 * /v1/traces. What does not fit is dropped and counted. Attributes are those of OpenTelemetry's conventions for
 * generative AI and HTTP; never a prompt, an answer or a key.
 *
 * [otlp] opentelemetry.io/docs/specs/otlp: ids are hexadecimal in JSON, times are nanoseconds as text.
 */
#ifndef BERTH_GATEWAY_SPANS_H
#define BERTH_GATEWAY_SPANS_H

#include "gateway/observe.h"
#include "gateway/see/trace.h"

enum { SPANS_MAX = 2048, SPANS_BATCH = 512 };

struct span_queue;

struct span_queue *spans_new(void);    /* NULL: no memory */
void spans_free(struct span_queue *s); /* NULL is a no-op */
/* Any thread. `at`: the trace, whose parent is the client's span (0: none). */
void spans_add(struct span_queue *s, const struct trace_context *at,
               const struct gateway_seen *seen);
/* The body with at most SPANS_BATCH spans, appended; how many there are. Any one thread. */
size_t spans_take(struct span_queue *s, struct buf *out);
uint64_t spans_dropped(struct span_queue *s);

#endif
