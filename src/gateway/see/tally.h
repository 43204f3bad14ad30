/*
 * tally: counts of requests by model and operation, their page in Prometheus' text form, and how busy a model is.
 *
 * Names are those of the Gateway API Inference Extension (inference_objective_...) and of OpenTelemetry's
 * conventions for generative AI (gen_ai_server_...), with its bounds of buckets, written as Prometheus writes them.
 * Every series has the labels project, model_name, target_model_name and, but for requests under way,
 * gen_ai_operation_name.
 *
 * Each worker has counters and a lock of its own, so that workers do not wait for one another; a page adds them up. At
 * most TALLY_ROWS_MAX pairs of model and operation are told apart in a worker; the rest is counted as model "other".
 */
#ifndef BERTH_GATEWAY_TALLY_H
#define BERTH_GATEWAY_TALLY_H

#include "gateway/observe.h"

enum { TALLY_ROWS_MAX = 5000, TALLY_CODES = 24 };

struct request_tally;

struct request_tally *tally_new(unsigned workers); /* NULL: no memory */
void tally_free(struct request_tally *t);          /* NULL is a no-op */

void tally_started(struct request_tally *t, unsigned worker, const struct routes_model *m);
/* began: tally_started was called for it. */
void tally_ended(struct request_tally *t, unsigned worker, const struct gateway_seen *s,
                 bool began);
/* Appends the page. */
void tally_write(struct request_tally *t, struct buf *out);

struct tally_activity {
    int64_t under_way; /* requests */
    int64_t last_s;    /* when the last one ended, since 1970; 0: never */
};
/* Of the model of this service, over all workers. Any thread. */
struct tally_activity tally_activity(struct request_tally *t, struct str project,
                                     struct str service);

#endif
