/*
 * meta (server): the rules of metadata that the server owns: names, uid, timestamps, generation,
 * deletion, finalizers.
 *
 * All functions work on w->doc in the storage version and fill w->failure; see pipeline.h for when
 * they run.
 */
#ifndef BERTH_SERVER_META_H
#define BERTH_SERVER_META_H

#include "server/write/pipeline.h"

/* Name (generated where asked), namespace, uid, creationTimestamp, generation; status is dropped.
 * */
int meta_create(struct write *w);
/* Checks name, uid and resourceVersion against w->old and takes over what only the server sets. */
int meta_update(struct write *w);
/* Of that the resourceVersion alone: for an object that is the stored one everywhere else. */
int meta_precondition(struct write *w);
/* +1 when anything but metadata and status differs from w->old. */
int meta_generation(struct write *w);
/* True when the object to be is marked for deletion and nothing holds it any more. */
bool meta_released(const struct kind *k, yyjson_mut_val *root);
/* The time as Kubernetes writes it, in the document. */
int meta_set_time(yyjson_mut_doc *d, yyjson_mut_val *obj, const char *key, int64_t ns);
/* The condition of this type in the status of w->doc is True since w->now; reason and message may be NULL. 0 or
 * ERR_NOMEM. */
int meta_set_condition(struct write *w, const char *type, const char *reason, const char *message);

#endif
