/* event_ttl: deletes Events an hour after they were last seen. A sweep a minute, in bounded steps. */
#ifndef BERTH_CONTROL_EVENT_TTL_H
#define BERTH_CONTROL_EVENT_TTL_H

#include "base/err.h"
#include "control/kit/env.h"

struct event_ttl_controller;

struct event_ttl_controller *event_ttl_controller_new(const struct control_env *env,
                                                      struct err *err);
void event_ttl_controller_free(struct event_ttl_controller *c);

#endif
