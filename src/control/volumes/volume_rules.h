/*
 * volume_rules: what belongs together, of claims, volumes and classes: pure decisions on views.
 */
#ifndef BERTH_CONTROL_VOLUME_RULES_H
#define BERTH_CONTROL_VOLUME_RULES_H

#include "api/tables/view_storage.h"
#include "base/arena.h"

/* The amount of `storage`; zero when there is none. */
struct quantity rules_storage(const struct quantity_map *m);
/* Its size as asked for. */
struct quantity rules_asked(const struct claim *c);

/* Does the volume's claimRef name this claim: by uid, or where it has none, by name? */
bool rules_refers(const struct persistent_volume *v, struct str ns, struct str name,
                  struct str uid);
/* Is the reference to nobody in particular yet: no claimRef, or one without a uid? */
bool rules_is_loose(const struct persistent_volume *v);

/* Could the claim be bound to this volume: class, modes, size, labels, kind? What is left out is whose it is. NULL:
 * it could; else what is in the way, in a few words. */
const char *rules_misfit(const struct claim *c, const struct persistent_volume *v);
/* Of two that fit, is `a` better: the smaller one, and of equal ones the first by name. b may be NULL. */
bool rules_is_better(const struct persistent_volume *a, const struct persistent_volume *b);

/* The node that a volume says it is on: the single value of kubernetes.io/hostname; empty: it says nothing of the
 * kind. */
struct str rules_node(const struct persistent_volume *v);

#endif
