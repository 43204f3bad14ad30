/*
 * kinds_apps: what the rows of apps/v1 share.
 */
#ifndef BERTH_API_KINDS_APPS_H
#define BERTH_API_KINDS_APPS_H

#include "api/schema/kind.h"
#include "api/walk/causes.h"

/* spec.replicas, status.replicas and the selector. */
extern const struct scale_paths apps_scale;
/* Selector, template labels, and pods that are to stay; `name` as Kubernetes' text about an empty selector has it. */
void apps_check(yyjson_mut_val *spec, const char *name, struct causes *c);

#endif
