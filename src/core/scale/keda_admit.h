/*
 * keda_admit: the checks of KEDA's webhook for a ScaledObject, beyond its schema: conflicts with others, bounds,
 * fallbacks, formulas, names and triggers. Like KEDA's, they stop at the first fault of each sort.
 */
#ifndef BERTH_CORE_KEDA_ADMIT_H
#define BERTH_CORE_KEDA_ADMIT_H

#include "base/err.h"
#include "core/scale/keda.h"

/* An HPA that is there. */
struct keda_other_hpa {
    const struct meta *metadata;
    const struct scaled_ref *target;
};
struct keda_amounts {
    struct str name; /* of the container */
    struct quantity_map requests, limits;
};
struct keda_admission {
    const struct scaled_object *object;
    const struct scaled_object
        *others; /* ScaledObjects of the namespace, its own former self included */
    size_t n_others;
    const struct keda_other_hpa *hpas; /* of the namespace */
    size_t n_hpas;
    const struct keda_amounts *containers; /* of the target, a Deployment or StatefulSet */
    size_t n_containers;
    bool cpu_ranged, memory_ranged; /* a LimitRange gives containers a default of it */
    bool dry_run;
};

enum keda_refusal {
    KEDA_OTHER_OBJECT = 1 << 0,
    KEDA_OTHER_OBJECT_HPA = 1 << 1,
    KEDA_BAD_MODIFIERS = 1 << 2,
    KEDA_MODIFIERS_FALLBACK = 1 << 3,
    KEDA_MISSING_REQUESTS = 1 << 4,
    KEDA_NEVER_ZERO = 1 << 5,
    KEDA_OTHER_HPA = 1 << 6,
    KEDA_TRANSFER_UNNAMED = 1 << 7,
    KEDA_BAD_REPLICAS = 1 << 8,
    KEDA_BAD_FALLBACK = 1 << 9,
    KEDA_NAME_TOO_LONG = 1 << 10,
    KEDA_HPA_NAME_TOO_LONG = 1 << 11,
    KEDA_BAD_TRIGGERS = 1 << 12,
};
enum keda_warning { KEDA_POLLING_IDLE = 1 << 0, KEDA_COOLDOWN_IDLE = 1 << 1 };

struct keda_admitted {
    unsigned refusals, warnings; /* of the enums above */
    struct err why;              /* of the last refusal that has a text */
};
/* "other-scaled-object", ...: KEDA's names. One bit. */
const char *keda_refusal_name(enum keda_refusal r);
const char *keda_warning_name(enum keda_warning w);

/* 0 or ERR_NOMEM. */
int keda_admit(const struct keda_admission *in, struct arena *a, struct keda_admitted *ret);

#endif
