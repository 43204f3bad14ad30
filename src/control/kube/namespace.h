/*
 * namespace: empties a namespace that is being deleted, says what is left in its conditions, and lets it go when it is
 * empty (subresource finalize). What is in it is deleted in the background, pods with their grace.
 */
#ifndef BERTH_CONTROL_NAMESPACE_H
#define BERTH_CONTROL_NAMESPACE_H

#include "base/err.h"
#include "control/kit/env.h"

struct namespace_controller;

struct namespace_controller *namespace_controller_new(const struct control_env *env,
                                                      struct err *err);
void namespace_controller_free(struct namespace_controller *c);

#endif
