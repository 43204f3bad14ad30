/*
 * bootstrap: what a Kubernetes API has from the start and clients expect: the four namespaces, berth-system, and the
 * two system PriorityClasses. Created when absent, also when somebody deletes one; never changed.
 */
#ifndef BERTH_CONTROL_BOOTSTRAP_H
#define BERTH_CONTROL_BOOTSTRAP_H

#include <stdbool.h>

struct mirror;

extern const struct controller_row bootstrap_controller;

bool bootstrap_done(const struct mirror *m); /* everything is there */

#endif
