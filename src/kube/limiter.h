/* limiter (kube): a token bucket: so many a second, and so many at once. Pure: the caller has the clock. */
#ifndef BERTH_KUBE_LIMITER_H
#define BERTH_KUBE_LIMITER_H

#include <stddef.h>
#include <stdint.h>

struct limiter {
    double per_ns; /* 0: no limit */
    double burst, tokens;
    int64_t at_ns;
};

void limiter_init(struct limiter *l, double qps, size_t burst,
                  int64_t now_ns); /* qps <= 0: no limit */
/* 0: go, a token is taken. Else how many ns to wait before asking again; nothing is taken. */
int64_t limiter_take(struct limiter *l, int64_t now_ns);

#endif
