/* event_ttl: deletes Events an hour after they were last seen. A sweep a minute, in bounded steps. */
#ifndef BERTH_CONTROL_EVENT_TTL_H
#define BERTH_CONTROL_EVENT_TTL_H

extern const struct controller_row event_ttl_controller;

#endif
