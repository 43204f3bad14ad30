/*
 * hpa_limit: a wanted number of replicas, steadied by past recommendations, and kept within bounds and rates.
 *
 * Without behavior: the highest recommendation of the window counts, and at most a doubling (or four). With it each
 * direction has its window and its policies, each of which says how far the number may be from the one at the start of
 * its period.
 */
#include <math.h>

#include "core/scale/hpa_private.h"

#define IN_RANGE "DesiredWithinRange", "the desired count is within the acceptable range"
#define TOO_FAST_UP                                                                                \
    "ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate"
#define TOO_FAST_DOWN                                                                              \
    "ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate"
#define TOO_MANY                                                                                   \
    "TooManyReplicas", "the desired replica count is more than the maximum replica count"
#define TOO_FEW "TooFewReplicas", "the desired replica count is less than the minimum replica count"

enum { SECOND = 1000000000, PERIOD_S = 15 };

struct hpa_verdict {
    int32_t replicas;
    const char *reason, *message;
};

/* The rules that fill in for a direction without any. */
static const struct hpa_rules rules_up = {
    .stabilization_window_seconds = {true, 0},
    .policies = {(struct hpa_policy[]){{{"Pods", 4}, 4, PERIOD_S}, {{"Percent", 7}, 100, PERIOD_S}},
                 2},
};
static const struct hpa_rules rules_down = {
    .policies = {(struct hpa_policy[]){{{"Percent", 7}, 100, PERIOD_S}}, 1},
};
static const struct hpa_rules *up_of(const struct hpa_look *k) {
    const struct hpa_rules *r = k->in->spec->behavior->scale_up;
    return r != NULL ? r : &rules_up;
}
static const struct hpa_rules *down_of(const struct hpa_look *k) {
    const struct hpa_rules *r = k->in->spec->behavior->scale_down;
    return r != NULL ? r : &rules_down;
}

static int32_t low(int32_t a, int32_t b) {
    return a < b ? a : b;
}

static int32_t high(int32_t a, int32_t b) {
    return a > b ? a : b;
}

static int32_t within_i32(double v) {
    return v >= INT32_MAX ? INT32_MAX : v <= INT32_MIN ? INT32_MIN : (int32_t)v;
}

/* The oldest, where there are as many as may be kept; else -1. */
static ptrdiff_t oldest_recommendation(const struct hpa_recommendations *all) {
    ptrdiff_t old = -1;
    for (size_t i = 0; all->n >= HPA_PAST_MAX && i < all->n; i++) {
        old = old < 0 || all->v[i].at_ns < all->v[old].at_ns ? (ptrdiff_t)i : old;
    }
    return old;
}

static ptrdiff_t oldest_change(const struct hpa_changes *all) {
    ptrdiff_t old = -1;
    for (size_t i = 0; all->n >= HPA_PAST_MAX && i < all->n; i++) {
        old = old < 0 || all->v[i].at_ns < all->v[old].at_ns ? (ptrdiff_t)i : old;
    }
    return old;
}

/* In the place of one that no window reaches any more, or as a further one. */
static void record(struct hpa_look *k, ptrdiff_t old, int32_t replicas) {
    struct hpa_recommendation r = {replicas, k->in->now_ns};
    old = old >= 0 ? old : oldest_recommendation(&k->memory->recommendations);
    if (old >= 0) {
        k->memory->recommendations.v[old] = r;
    } else if (hpa_recommendations_push(&k->memory->recommendations, r) != 0) {
        k->failed = ERR_NOMEM;
    }
}

static int32_t steady(struct hpa_look *k, int32_t desired) {
    const struct hpa_recommendations *past = &k->memory->recommendations;
    int64_t cutoff = k->in->now_ns - k->config->downscale_window_ns;
    int32_t highest = desired;
    ptrdiff_t old = -1;
    for (size_t i = 0; i < past->n; i++) {
        if (past->v[i].at_ns < cutoff) {
            old = (ptrdiff_t)i;
        } else {
            highest = high(highest, past->v[i].replicas);
        }
    }
    record(k, old, desired);
    return highest;
}

static struct hpa_verdict bound(const struct hpa_look *k, int32_t current, int32_t desired) {
    int32_t rate = within_i32(fmax(2.0 * current, 4.0)), max = k->in->spec->max_replicas;
    if (desired < k->min_replicas) {
        return (struct hpa_verdict){k->min_replicas, TOO_FEW};
    }
    if (desired > low(max, rate)) {
        return max > rate ? (struct hpa_verdict){rate, TOO_FAST_UP}
                          : (struct hpa_verdict){max, TOO_MANY};
    }
    return (struct hpa_verdict){desired, IN_RANGE};
}

/* ---- with behavior ---- */

static int32_t steady_both(struct hpa_look *k, int32_t current, int32_t desired) {
    const struct hpa_recommendations *past = &k->memory->recommendations;
    struct opt_i32 window = down_of(k)->stabilization_window_seconds;
    int64_t now = k->in->now_ns;
    int64_t up_cutoff = now - up_of(k)->stabilization_window_seconds.v * (int64_t)SECOND;
    int64_t down_cutoff =
        now - (window.set ? window.v * (int64_t)SECOND : k->config->downscale_window_ns);
    int32_t up = desired, down = desired;
    ptrdiff_t old = -1;
    for (size_t i = 0; i < past->n; i++) {
        int64_t at = past->v[i].at_ns;
        up = at > up_cutoff ? low(up, past->v[i].replicas) : up;
        down = at > down_cutoff ? high(down, past->v[i].replicas) : down;
        old = at < up_cutoff && at < down_cutoff ? (ptrdiff_t)i : old;
    }
    record(k, old, desired);
    return low(high(current, up), down);
}

/* By how much the number changed in the period. */
static int64_t changed(const struct hpa_look *k, const struct hpa_changes *c, int32_t period_s) {
    int64_t cutoff = k->in->now_ns - period_s * (int64_t)SECOND, sum = 0;
    for (size_t i = 0; i < c->n; i++) {
        sum += c->v[i].at_ns > cutoff ? c->v[i].by : 0;
    }
    return sum;
}

/* How far the number may go in one direction. */
static int32_t limit(const struct hpa_look *k, int32_t current, const struct hpa_rules *r,
                     bool up) {
    bool least = str_is(r->select_policy, "Min");
    bool highest = up != least; /* of the policies' numbers that one counts */
    int32_t result = highest ? INT32_MIN : INT32_MAX;
    if (str_is(r->select_policy, "Disabled")) {
        return current;
    }
    for (size_t i = 0; i < r->policies.n; i++) {
        const struct hpa_policy *p = &r->policies.v[i];
        double base = (double)(current - changed(k, &k->memory->ups, p->period_seconds) +
                               changed(k, &k->memory->downs, p->period_seconds));
        double proposed = up ? base + p->value : base - p->value;
        if (str_is(p->type, "Percent")) {
            proposed = up ? ceil(base * (1 + (double)p->value / 100))
                          : base * (1 - (double)p->value / 100);
        }
        int32_t here = within_i32(proposed);
        result = highest ? high(result, here) : low(result, here);
    }
    return result;
}

static struct hpa_verdict bound_rate(const struct hpa_look *k, int32_t current, int32_t desired) {
    int32_t max = k->in->spec->max_replicas, min = k->min_replicas;
    if (desired > current) {
        int32_t rate = high(limit(k, current, up_of(k), true), current);
        if (desired > low(max, rate)) {
            return max > rate ? (struct hpa_verdict){rate, TOO_FAST_UP}
                              : (struct hpa_verdict){max, TOO_MANY};
        }
    } else if (desired < current) {
        int32_t rate = low(limit(k, current, down_of(k), false), current);
        if (desired < high(min, rate)) {
            return min < rate ? (struct hpa_verdict){rate, TOO_FAST_DOWN}
                              : (struct hpa_verdict){min, TOO_FEW};
        }
    }
    return (struct hpa_verdict){desired, IN_RANGE};
}

static int32_t longest(const struct hpa_rules *r) {
    int32_t s = 0;
    for (size_t i = 0; i < r->policies.n; i++) {
        s = high(s, r->policies.v[i].period_seconds);
    }
    return s;
}

void hpa_remember(struct hpa_look *k, int32_t before, int32_t after) {
    if (k->in->spec->behavior == NULL) {
        return;
    }
    bool up = after > before;
    struct hpa_changes *c = up ? &k->memory->ups : &k->memory->downs;
    int64_t cutoff = k->in->now_ns - longest(up ? up_of(k) : down_of(k)) * (int64_t)SECOND;
    struct hpa_change now = {up ? after - before : before - after, k->in->now_ns, false};
    ptrdiff_t old = -1;
    for (size_t i = 0; i < c->n; i++) {
        c->v[i].outdated = c->v[i].outdated || c->v[i].at_ns < cutoff;
        old = c->v[i].outdated ? (ptrdiff_t)i : old;
    }
    old = old >= 0 ? old : oldest_change(c);
    if (old >= 0) {
        c->v[old] = now;
    } else if (hpa_changes_push(c, now) != 0) {
        k->failed = ERR_NOMEM;
    }
}

int32_t hpa_normalize(struct hpa_look *k, int32_t current, int32_t desired) {
    bool rules = k->in->spec->behavior != NULL;
    bool up = rules && desired >= current;
    int32_t steadied = rules ? steady_both(k, current, desired) : steady(k, desired);
    if (steadied == desired) {
        hpa_condition(k, "AbleToScale", true, "ReadyForNewScale",
                      STR("recommended size matches current size"));
    } else if (up) {
        hpa_condition(k, "AbleToScale", true, "ScaleUpStabilized",
                      STR("recent recommendations were lower than current one, applying the lowest "
                          "recent recommendation"));
    } else {
        hpa_condition(k, "AbleToScale", true, "ScaleDownStabilized",
                      STR("recent recommendations were higher than current one, applying the "
                          "highest recent recommendation"));
    }
    struct hpa_verdict v = rules ? bound_rate(k, current, steadied) : bound(k, current, steadied);
    hpa_condition(k, "ScalingLimited", v.replicas != steadied, v.reason, str_of(v.message));
    return v.replicas;
}
