/* health: see health.h. */
#include "core/route/health.h"

static void enter(struct endpoint_health *h, enum health_state state, int64_t now) {
    h->state = state;
    h->since = now;
    h->failures = h->successes = 0;
    h->trial = false;
}

static void forget(struct endpoint_health *h, int64_t now) {
    while (h->state == HEALTH_CLOSED && h->times > 0 && now - h->since >= HEALTH_FORGETS) {
        h->times--;
        h->since += HEALTH_FORGETS;
    }
}

static void open(struct endpoint_health *h, int64_t now) {
    int64_t time = HEALTH_BASE;

    h->times += h->times < HEALTH_TIMES_MAX;
    for (int32_t i = 1; i < h->times && time < HEALTH_LONGEST; i++) {
        time *= 2;
    }
    enter(h, HEALTH_OPEN, now);
    h->until = now + (time < HEALTH_LONGEST ? time : HEALTH_LONGEST);
}

bool health_allows(struct endpoint_health *h, int64_t now) {
    forget(h, now);
    if (h->state == HEALTH_OPEN && now >= h->until) {
        enter(h, HEALTH_HALF, now);
    }
    return h->state == HEALTH_CLOSED || (h->state == HEALTH_HALF && !h->trial);
}

void health_sent(struct endpoint_health *h) {
    h->trial = h->trial || h->state == HEALTH_HALF;
}

void health_untold(struct endpoint_health *h) {
    h->trial = false;
}

bool health_ended(struct endpoint_health *h, bool failed, bool may_open, int64_t now) {
    forget(h, now);
    h->trial = false;
    if (h->state == HEALTH_OPEN) {
        return false; /* of before */
    }
    if (!failed) {
        h->failures = 0;
        h->successes += h->state == HEALTH_HALF;
        if (h->state == HEALTH_HALF && h->successes >= HEALTH_SUCCESSES) {
            enter(h, HEALTH_CLOSED, now);
        }
        return false;
    }
    h->failures += h->failures < INT32_MAX;
    if (h->state == HEALTH_HALF || (h->failures >= HEALTH_FAILURES && may_open)) {
        open(h, now);
        return true;
    }
    return false;
}
