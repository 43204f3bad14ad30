/* autoscaler: what the files of HorizontalPodAutoscaler share: its rules, and autoscaling/v1 to and from v2. */
#ifndef BERTH_API_AUTOSCALER_H
#define BERTH_API_AUTOSCALER_H

#include "api/kinds/kinds.h"

void autoscaler_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c);
/* The rules of one direction, for every kind that has a behavior. */
void autoscaler_check_rules(yyjson_mut_val *rules, const struct path *at, struct causes *c);

/* In place. What v1 has no member for stands in annotations (autoscaling.alpha.kubernetes.io/...), as in Kubernetes. */
int autoscaler_up(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err);
int autoscaler_down(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err);

#endif
