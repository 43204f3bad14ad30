/*
 * conditions: reading and setting metav1 conditions of a decoded status.
 */
#ifndef BERTH_CONTROL_CONDITIONS_H
#define BERTH_CONTROL_CONDITIONS_H

#include "base/arena.h"
#include "control/kit/views.h"

/* NULL when there is none. */
const struct condition *conditions_find(const struct condition_list *l, const char *type);
bool conditions_true(const struct condition_list *l, const char *type);

/* Sets one condition; the time of the transition moves only with the status. The list is copied into the arena when it
 * grows. *changed (may be NULL) becomes true when anything differs. Messages are cut to their limit, ending in " ...".
 * 0 or ERR_NOMEM. */
int conditions_set(struct condition_list *l, struct arena *a, const char *type, bool truth,
                   const char *reason, struct str message, int64_t now_ns, int64_t generation,
                   bool *changed);
void conditions_remove(struct condition_list *l, const char *type, bool *changed);

#endif
