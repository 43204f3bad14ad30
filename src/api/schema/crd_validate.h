/* crd_validate: what the files that check objects by a structural schema share. Internal to this room. */
#ifndef BERTH_API_CRD_VALIDATE_H
#define BERTH_API_CRD_VALIDATE_H

#include "api/schema/crd_schema.h"

struct crd_visit {
    struct causes *c;
    size_t steps;    /* places looked at; alternatives look again */
    size_t matching; /* steps that patterns may still take */
};

/* Lists that are sets or maps name nothing twice; not told when old did, too. */
void crd_validate_lists(struct crd_visit *v, const struct crd_node *n, yyjson_mut_val *obj,
                        yyjson_val *old);
/* x-kubernetes-validations, unless what was found before makes them pointless. */
void crd_validate_cel(struct crd_visit *v, const struct crd_node *n, yyjson_mut_val *obj,
                      yyjson_val *old);

#endif
