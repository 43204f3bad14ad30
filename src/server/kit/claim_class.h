/*
 * claim_class: what admission does with claims by their StorageClass: one that says none gets the default one, the
 * newest where several are marked; and the size of one that has its volume may grow where its class allows that.
 */
#ifndef BERTH_SERVER_CLAIM_CLASS_H
#define BERTH_SERVER_CLAIM_CLASS_H

#include "mirror/mirror.h"

/* The new claim of the document gets its class. 0 or ERR_NOMEM. */
int claim_class_give(const struct mirror *m, yyjson_mut_doc *doc, struct arena *a);
/* May the claim become `claim`? False: it would grow, and its class forbids that. */
bool claim_class_allows(const struct mirror *m, yyjson_mut_val *claim, const struct object *old,
                        struct arena *a);

#endif
