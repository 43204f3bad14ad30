/* causes: violated rules as Kubernetes' Status tells them. */
#ifndef BERTH_API_CAUSES_H
#define BERTH_API_CAUSES_H

#include "api/kind.h"

struct str cause_reason(enum cause_type t); /* "FieldValueInvalid" */
/* `ClusterQueue.kueue.x-k8s.io "x" is invalid: [spec.a: Required value, ...]` */
void causes_message(struct buf *b, const char *group, const char *kind, struct str name,
                    const struct causes *c);

#endif
