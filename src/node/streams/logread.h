/*
 * logread: container logs of this machine's pods as a log_source (port/log_source.h).
 *
 * Reads pods/<uid>/log/<container>/<restart>.log and its rotated parts (<restart>.log.1 is the
 * newest rotated one) in the data folder, in order, while the shim writes and rotates them. Follows
 * by a timer of the clock it is given, so that it needs no descriptor per follower's folder; the
 * end of a followed log is the end of its container (state.json).
 */
#ifndef BERTH_NODE_LOGREAD_H
#define BERTH_NODE_LOGREAD_H

#include "base/clock.h"
#include "port/log_source.h"

struct log_source *logread_new(const char *data_dir, struct clock *clock, struct err *err);
void logread_free(struct log_source *s); /* NULL is a no-op; close every reader first */

#endif
