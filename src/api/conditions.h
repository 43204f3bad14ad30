/*
 * conditions: the status conditions of an object, found and set as Kubernetes' meta.SetStatusCondition does.
 *
 * A list that is to be changed is a copy first (conditions_copy): setting writes in place.
 */
#ifndef BERTH_API_CONDITIONS_H
#define BERTH_API_CONDITIONS_H

#include "api/tables/view_meta.h"
#include "base/arena.h"

/* NULL when there is none; l may be NULL, as an absent status is. */
const struct condition *conditions_find(const struct condition_list *l, const char *type);
bool conditions_true(const struct condition_list *l, const char *type);

/* The same conditions, which may be changed. 0 or ERR_NOMEM; l may be NULL. */
int conditions_copy(const struct condition_list *l, struct arena *a, struct condition_list *ret);

/* One condition as it should be. */
struct condition_want {
    const char *type, *status, *reason;
    struct str message;
};
/* Sets it: the time of the transition moves only with the status, and the generation (0: not said) with any difference.
 * The list is copied into the arena when it grows. *changed (may be NULL) becomes true when anything differs. Messages
 * are cut to their limit, ending in " ...". 0 or ERR_NOMEM. */
int conditions_put(struct condition_list *l, struct arena *a, const struct condition_want *want,
                   int64_t now_ns, int64_t generation, bool *changed);
/* The same with status True or False. */
int conditions_set(struct condition_list *l, struct arena *a, const char *type, bool truth,
                   const char *reason, struct str message, int64_t now_ns, int64_t generation,
                   bool *changed);
void conditions_remove(struct condition_list *l, const char *type, bool *changed);

#endif
