/* limiter (kube): see limiter.h. */
#include "kube/limiter.h"

void limiter_init(struct limiter *l, double qps, size_t burst, int64_t now_ns) {
    double b = burst ? (double)burst : 1;
    *l = (struct limiter){
        .per_ns = qps > 0 ? qps / 1e9 : 0, .burst = b, .tokens = b, .at_ns = now_ns};
}

int64_t limiter_take(struct limiter *l, int64_t now_ns) {
    if (!(l->per_ns > 0)) {
        return 0;
    }
    double more = (double)(now_ns - l->at_ns) * l->per_ns;
    l->tokens = l->tokens + more < l->burst ? l->tokens + more : l->burst;
    l->at_ns = now_ns;
    if (l->tokens < 1) {
        double ns = (1 - l->tokens) / l->per_ns;
        return ns > 3600e9 ? INT64_C(3600000000000) : (int64_t)ns + 1;
    }
    l->tokens -= 1;
    return 0;
}
