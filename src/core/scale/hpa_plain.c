/*
 * hpa_plain: from the value of one metric, a target and the pods to a number of replicas.
 */
#include <math.h>

#include "core/scale/hpa_private.h"

/* A quantity as upstream turns it into a double: an integer in the suffix that it is written with, times a power of
 * ten. */
static double amount(struct quantity q) {
    if (q.nano == 0) {
        return (double)q.whole;
    }
    __int128 nano = (__int128)q.whole * 1000000000 + q.nano;
    int exponent = -9;
    while (exponent < -3 && nano % 1000 == 0) {
        nano /= 1000;
        exponent += 3;
    }
    return (double)nano * (exponent == -3 ? 1e-3 : exponent == -6 ? 1e-6 : 1e-9);
}

bool hpa_within(const struct hpa_look *k, double ratio) {
    const struct hpa_behavior *b = k->config->configurable_tolerance ? k->in->spec->behavior : NULL;
    double up = k->config->tolerance, down = up;
    if (b != NULL && b->scale_down != NULL && b->scale_down->tolerance.set) {
        down = amount(b->scale_down->tolerance.v);
    }
    if (b != NULL && b->scale_up != NULL && b->scale_up->tolerance.set) {
        up = amount(b->scale_up->tolerance.v);
    }
    return 1.0 - down <= ratio && ratio <= 1.0 + up;
}

int32_t hpa_ceil(double v) {
    double up = ceil(v);
    return up >= INT32_MAX ? INT32_MAX : up <= INT32_MIN ? INT32_MIN : (int32_t)up;
}

static int64_t ready_pods(const struct hpa_look *k) {
    int64_t n = 0;
    for (size_t i = 0; i < k->n_pods; i++) {
        n += str_is(k->pods[i]->phase, "Running") && k->pods[i]->ready == HPA_READY_TRUE;
    }
    return n;
}

bool hpa_per_target(struct hpa_look *k, int64_t usage, int64_t target, struct hpa_proposal *ret,
                    struct str *why) {
    double ratio = (double)usage / (double)target;
    ret->usage = usage;
    if (k->in->spec_replicas == 0) {
        ret->replicas = hpa_ceil(ratio);
        return true;
    }
    if (hpa_within(k, ratio)) {
        ret->replicas = k->in->spec_replicas;
        return true;
    }
    if (k->n_pods == 0) {
        *why = STR("unable to calculate ready pods: no pods returned by selector while calculating "
                   "replica count");
        return false;
    }
    ret->replicas = hpa_ceil(ratio * (double)ready_pods(k));
    return true;
}

void hpa_per_pod(struct hpa_look *k, int64_t usage, int64_t target, struct hpa_proposal *ret) {
    int32_t pods = k->in->status_replicas;
    double ratio = (double)usage / ((double)target * (double)pods);
    ret->replicas = hpa_within(k, ratio) ? pods : hpa_ceil((double)usage / (double)target);
    if ((double)usage >= (double)INT64_MAX) {
        ret->usage = INT64_MAX;
    } else if (pods == 0) {
        ret->undefined = true;
    } else {
        ret->usage = (int64_t)ceil((double)usage / (double)pods);
    }
}
