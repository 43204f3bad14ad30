/*
 * deployment_write: the ReplicaSets that a Deployment makes.
 */
#ifndef BERTH_CONTROL_DEPLOYMENT_WRITE_H
#define BERTH_CONTROL_DEPLOYMENT_WRITE_H

#include "control/apps/deployment_decide.h"
#include "wire/json/json.h"

/* A set with the Deployment's template, `tree` being the Deployment's JSON, and this label of its own on the set, its
 * selector and its pods. 0 or ERR_NOMEM. */
int deployment_write_set(const struct object *deployment, yyjson_val *tree, struct str name,
                         struct str hash, const struct deployment_plan *plan, struct arena *a,
                         struct buf *out);

#endif
