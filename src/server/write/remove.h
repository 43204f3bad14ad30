/*
 * remove (server): deletion: preconditions, propagation, finalizers, grace.
 *
 *     held by finalizers, or given grace -> marked with deletionTimestamp, kept   (modified)
 *     nothing holds it                   -> gone                                  (deleted)
 *
 * Repeating a delete changes nothing. What is marked goes away with the write that takes its last finalizer
 * (meta_released), or with the node's delete of grace 0.
 */
#ifndef BERTH_SERVER_REMOVE_H
#define BERTH_SERVER_REMOVE_H

#include "server/write/pipeline.h"

void remove_run(struct write *w);

/* DeleteOptions from the body (may be empty) and the query; *ret_dry_run is set when they ask for
 * it. */
int remove_options(const struct api_request *q, struct arena *a, struct str body,
                   enum body_type type, struct delete_options *ret, bool *ret_dry_run,
                   struct failure *f);
/* The same from a tree (the deleteOptions of an Eviction); options may be NULL. */
int remove_options_of(yyjson_mut_val *options, struct arena *a, struct delete_options *ret,
                      bool *ret_dry_run, struct failure *f);

#endif
