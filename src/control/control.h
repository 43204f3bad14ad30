/*
 * control: all controllers of a world, made and freed together.
 *
 * `berth up` runs every one; on a cluster that has its own Job controller, garbage collector and so on (the set
 * CONTROL_KUBERNETES), only the set CONTROL_CLUSTER runs. Order does not matter: each goes on from what the mirror
 * says. Their names for people are in control_set.h.
 */
#ifndef BERTH_CONTROL_CONTROL_H
#define BERTH_CONTROL_CONTROL_H

#include "base/err.h"
#include "control/kit/control_sets.h"
#include "control/kit/env.h"

struct control;

/* env is copied; what it points to is borrowed. */
struct control *control_new(const struct control_env *env, unsigned set, struct err *err);
void control_free(struct control *c); /* NULL is a no-op */
/* The declared controllers, whatever set they belong to, in the order in which they are made. */
struct controller_row;
const struct controller_row *const *control_rows(size_t *ret_n);
/* The engine of CONTROL_QUEUES, for questions and checks; NULL when that does not run. */
struct engine;
struct engine *control_engine(const struct control *c);

#endif
