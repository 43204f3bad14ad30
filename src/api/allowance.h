/*
 * allowance: what an object counts against a ResourceQuota of its namespace, and which objects a quota counts: one
 * place for the admission that charges and the controller that counts again.
 *
 *     every kind               count/<plural>.<group>, count/<plural> of core; of core also the plural of configmaps,
 *                              persistentvolumeclaims, replicationcontrollers, resourcequotas, secrets, services
 *     Pod, unless it ended     pods; cpu, memory, ephemeral-storage, hugepages-*: as they are and with requests. and
 *                              limits. before them; other resources with requests. before them
 *     Service                  services.nodeports, services.loadbalancers
 *     PersistentVolumeClaim    requests.storage; both with <class>.storageclass.storage.k8s.io/ before them
 *
 * A quota with scopes counts pods alone.
 */
#ifndef BERTH_API_ALLOWANCE_H
#define BERTH_API_ALLOWANCE_H

#include "api/schema/kind.h"
#include "api/tables/view_policy.h"

/* An amount by its name in a map; NULL: there is none. */
const struct quantity *allowance_find(const struct quantity_map *m, struct str name);
/* m[name] += q, in a map that is grown in the arena. 0 or ERR_NOMEM; sums beyond the range stay at its end. */
int allowance_add(struct quantity_map *m, struct arena *a, struct str name, struct quantity q);
int allowance_sub(struct quantity_map *m, struct arena *a, struct str name, struct quantity q);

/* Whether an object of this kind counts by more than that it is there: what it is has to be read. */
bool allowance_reads(const struct kind *k);
/* All that the object counts. tree: of the object, for kinds that are read; else it may be NULL. ERR_NOMEM, ERR_SYNTAX.
 */
int allowance_usage(const struct kind *k, yyjson_val *tree, struct arena *a,
                    struct quantity_map *ret, struct err *err);
/* Does the quota count this object at all, by its scopes? */
bool allowance_covers(const struct namespace_quota_spec *q, const struct kind *k, yyjson_val *tree);
/* Could objects of this kind count under this name? */
bool allowance_is_of(struct str name, const struct kind *k);

/* A pod says what it asks for of cpu and memory where a quota has them: what its containers leave out, as "limits.cpu
 * for: a,b; requests.memory for: a"; empty: nothing. In the arena. */
struct str allowance_unsaid(const struct quantity_map *hard, yyjson_val *pod, struct arena *a);

/* "must be a standard resource for quota" and the like, or NULL. */
const char *allowance_name_fault(struct str name);
/* Whether amounts of it are whole numbers. */
bool allowance_is_whole(struct str name);
bool allowance_scope_known(struct str scope);
/* Whether a scope makes sense for a standard resource. */
bool allowance_scope_fits(struct str scope, struct str name);

#endif
