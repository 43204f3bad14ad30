/*
 * span_sender: spans to a collector, as OTLP over HTTP in JSON: a batch every second, or more when there are more.
 *
 * One request at a time. A batch that the collector does not take is lost and logged, at most once a minute: traces are
 * no reason to keep memory or to slow down requests.
 */
#ifndef BERTH_WORLD_SPAN_SENDER_H
#define BERTH_WORLD_SPAN_SENDER_H

#include "base/log.h"
#include "gateway/see/spans.h"
#include "net/loop.h"

struct span_sender;

/* url: "http://collector:4318"; "/v1/traces" is added. queue and log are borrowed. ERR_INVALID, ERR_NOMEM, ... */
int span_sender_new(struct loop *l, struct log *log, const char *url, struct span_queue *queue,
                    struct span_sender **ret, struct err *err);
void span_sender_free(struct span_sender *s); /* NULL is a no-op; what is queued is lost */

#endif
