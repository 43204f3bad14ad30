/* probe: see probe.h. */
#include "node/life/probe.h"

void probe_begin(struct prober *p, int64_t now_ns) {
    p->passed = p->kind == PROBE_LIVENESS;
    p->held = p->last = false;
    p->run = 0;
    p->next_ns = now_ns + p->delay_ns;
}

void probe_release(struct prober *p, int64_t now_ns) {
    if (p->kind != PROBE_STARTUP && p->next_ns < now_ns) {
        p->next_ns = now_ns;
    }
}

int64_t probe_due(const struct prober *p, bool started) {
    bool mine = (p->kind == PROBE_STARTUP) != started;

    return p->set && mine && !p->held ? p->next_ns : INT64_MAX;
}

void probe_asked(struct prober *p, int64_t now_ns) {
    p->asked_ns = now_ns;
    p->next_ns = INT64_MAX;
}

bool probe_answer(struct prober *p, bool ok, int64_t now_ns) {
    int64_t next = p->asked_ns + p->period_ns;

    p->run = p->run && p->last == ok ? p->run + (p->run < INT32_MAX) : 1;
    p->last = ok;
    p->next_ns = next < now_ns ? now_ns : next;
    if (p->run < (ok ? p->success : p->failure)) {
        return false;
    }
    p->passed = ok;
    if (ok || p->kind == PROBE_READINESS) {
        return false;
    }
    p->held = true;
    p->run = 0;
    return true;
}
