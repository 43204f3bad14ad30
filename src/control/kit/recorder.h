/*
 * recorder: Events, what controllers tell people about an object.
 *
 * An event is created as core/v1 Event named <object>.<hex time>, in the object's namespace ("default" for
 * cluster-scoped ones). A repeat (same object, type, reason and message) raises `count` and lastTimestamp of the same
 * Event by patch; more than ten different messages of one reason for one object within ten minutes become one
 * "(combined from similar events): ..."; and one object gets at most 25 at once, then one per five minutes, so that
 * no loop can flood the store. Messages are cut to 1024 bytes, ending in " ...". Events are best effort and yield to
 * other writes: a few are written at a time, the others wait; a failed write, missing memory, or more than 98,304 that
 * wait drop one.
 */
#ifndef BERTH_CONTROL_RECORDER_H
#define BERTH_CONTROL_RECORDER_H

#include "control/kit/env.h"

enum event_type { EVENT_NORMAL, EVENT_WARNING };

struct recorder;

/* component: "job-controller", static. NULL: out of memory. */
struct recorder *recorder_new(const struct control_env *env, const char *component);
void recorder_free(struct recorder *r); /* writes under way are forgotten */

void recorder_event(struct recorder *r, const struct object *about, enum event_type type,
                    const char *reason, const char *fmt, ...) __attribute__((format(printf, 5, 6)));

#endif
