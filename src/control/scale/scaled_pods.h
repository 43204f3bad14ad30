/* scaled_pods: the pods of a selector as the arithmetic wants them, and what metrics.k8s.io says that they use. */
#ifndef BERTH_CONTROL_SCALED_PODS_H
#define BERTH_CONTROL_SCALED_PODS_H

#include "control/kit/env.h"
#include "core/scale/hpa.h"

struct scaled_pods {
    struct hpa_pod *v;
    size_t n, cap;
};

/* Of a namespace; what does not parse as a selector picks none. 0 or ERR_NOMEM. Copies: nothing of an object is kept.
 * */
int scaled_pods_read(const struct control_env *env, const struct kind *pods, struct str ns,
                     struct str selector, struct arena *a, struct scaled_pods *ret);
/* Asked of whoever answers for metrics.k8s.io here; an answer that does not come at once is an error. */
void scaled_pods_use(const struct control_env *env, struct str ns, struct str selector,
                     struct arena *a, struct hpa_use *ret);

#endif
