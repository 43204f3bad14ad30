/* keda_hpa: the HorizontalPodAutoscaler that KEDA keeps for a ScaledObject, as it writes it. */
#ifndef BERTH_CORE_KEDA_HPA_H
#define BERTH_CORE_KEDA_HPA_H

#include "core/scale/keda.h"
#include "core/scale/trigger.h"

struct keda_hpa {
    struct meta metadata; /* name, namespace, labels, annotations, owner */
    struct hpa_spec spec; /* before defaults */
    struct str_list external_names, resource_names; /* for the ScaledObject's status */
    struct str composite;                           /* name of the formula's metric; empty: none */
};

/* api_version and kind: of the target. auth: credentials of each trigger; NULL: none. ERR_INVALID: a trigger or the
 * formula is not valid, and err says what; ERR_NOMEM. All is in the arena, or the ScaledObject's own. */
int keda_hpa_make(const struct scaled_object *so, struct str api_version, struct str kind,
                  const struct str_map *auth, struct arena *a, struct keda_hpa *ret,
                  struct err *err);
/* Its name: the one that is set, or keda-hpa-NAME. */
struct str keda_hpa_name(const struct meta *m, const struct scaled_object_spec *s, struct arena *a);
int32_t keda_hpa_min(const struct scaled_object_spec *s);
int32_t keda_hpa_max(const struct scaled_object_spec *s);

#endif
