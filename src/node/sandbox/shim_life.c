/*
 * shim_life: what happens to a container while it runs, and how it is ended: probes (node/life/probe.h), postStart,
 * preStop, the signal, the grace period, whose turn it is. The texts of events are Kubernetes'.
 */
#include <signal.h>

#include "base/clock.h"
#include "node/sandbox/shim.h"

enum { LEAST_GRACE_S = 2, SIDECAR_STEP_MS = 20 };

static const char *const probe_names[PROBE_KINDS] = {"Startup", "Readiness", "Liveness"};

static void judge(struct shim *s, struct shim_container *c) {
    const struct shim_check *startup = &c->checks[PROBE_STARTUP],
                            *readiness = &c->checks[PROBE_READINESS];
    bool running = c->state == CONTAINER_RUNNING;
    bool started = running && c->post_done && (!startup->probe.set || startup->probe.passed);
    bool ready = started && (!readiness->probe.set || readiness->probe.passed);

    if (started && !c->started) {
        probe_release(&c->checks[PROBE_READINESS].probe, shim_mono());
        probe_release(&c->checks[PROBE_LIVENESS].probe, shim_mono());
    }
    s->dirty |= c->started != started || c->ready != ready;
    c->started = started;
    c->ready = ready;
}

void shim_life_begin(struct shim *s, struct shim_container *c) {
    int64_t now = shim_mono();

    c->stop = STOP_NOT;
    c->post_done = c->post_start.kind == HANDLER_NONE;
    for (int i = 0; i < PROBE_KINDS; i++) {
        probe_begin(&c->checks[i].probe, now);
    }
    if (!c->post_done) {
        shim_attempt_begin(s, c, &c->hook, &c->post_start, INT64_MAX);
    }
    judge(s, c);
}

void shim_life_end(struct shim_container *c) {
    for (int i = 0; i < PROBE_KINDS; i++) {
        shim_attempt_end(&c->checks[i].attempt);
    }
    shim_attempt_end(&c->hook);
    c->stop = STOP_NOT;
    c->started = c->ready = false;
}

/* ---- probes ---- */

static void on_answer(struct shim *s, struct shim_container *c, struct shim_check *k) {
    const struct shim_attempt *a = &k->attempt;
    const char *name = probe_names[k->probe.kind];

    if (!a->ok) {
        shim_tell(s, c, true, "Unhealthy",
                  a->errored ? "%s probe errored and resulted in failure state: %s"
                             : "%s probe failed: %s",
                  name, a->text);
    }
    bool end = probe_answer(&k->probe, a->ok, shim_mono());
    shim_attempt_end(&k->attempt);
    if (end && c->stop == STOP_NOT) {
        shim_tell(s, c, false, "Killing", "Container %.*s failed %s probe%s", STR_ARG(c->name),
                  k->probe.kind == PROBE_STARTUP ? "startup" : "liveness",
                  s->restart == RESTART_NEVER && !c->sidecar ? "" : ", will be restarted");
        shim_stop_container(s, c, k->probe.grace_s >= 0 ? k->probe.grace_s : s->grace_s);
    }
    judge(s, c);
}

static void step_probes(struct shim *s, struct shim_container *c, int64_t now) {
    for (int i = 0; i < PROBE_KINDS; i++) {
        struct shim_check *k = &c->checks[i];
        shim_attempt_step(&k->attempt, now);
        if (k->attempt.h && k->attempt.done) {
            on_answer(s, c, k);
        }
        /* A container that ends is asked for readiness alone: it may still serve. */
        bool may = c->post_done && (c->stop == STOP_NOT || i == PROBE_READINESS);
        if (may && k->attempt.h == NULL && probe_due(&k->probe, c->started) <= now) {
            probe_asked(&k->probe, now);
            shim_attempt_begin(s, c, &k->attempt, &k->handler, k->probe.timeout_ns);
        }
    }
}

/* ---- hooks, and the end ---- */

static void step_post_start(struct shim *s, struct shim_container *c, int64_t now) {
    shim_attempt_step(&c->hook, now);
    if (!c->hook.done) {
        return;
    }
    c->post_done = true;
    if (!c->hook.ok) {
        shim_tell(s, c, true, "FailedPostStartHook", "PostStartHook failed: %s", c->hook.text);
        shim_tell(s, c, false, "Killing", "FailedPostStartHook");
    }
    bool failed = !c->hook.ok;
    shim_attempt_end(&c->hook);
    if (failed) {
        c->post_done = false; /* it never counts as started */
        shim_stop_container(s, c, s->grace_s);
    }
    judge(s, c);
}

static void kill_container(struct shim_container *c, int sig) {
    kill(-c->pid, sig);
}

/* A sidecar's turn comes when all others have ended, and the sidecars after it. */
static bool has_turn(const struct shim *s, const struct shim_container *c) {
    for (size_t i = 0; c->sidecar && s->stopping && i < s->n; i++) {
        const struct shim_container *o = &s->v[i];
        if (o->state == CONTAINER_RUNNING && o != c && (!o->sidecar || o > c)) {
            return false;
        }
    }
    return true;
}

static void ask_to_end(struct shim_container *c, int64_t now) {
    int64_t least = now + LEAST_GRACE_S * NS_PER_SEC;

    if (!c->graceful) {
        c->stop = STOP_KILLED;
        kill_container(c, SIGKILL);
        return;
    }
    c->kill_mono = c->kill_mono < least ? least : c->kill_mono;
    c->stop = STOP_ASKED;
    kill_container(c, c->stop_signal);
}

static void step_stop(struct shim *s, struct shim_container *c, int64_t now) {
    if (c->stop == STOP_QUEUED) {
        bool hook = c->pre_stop.kind != HANDLER_NONE && c->graceful;
        c->stop = hook ? STOP_HOOK : STOP_TURN;
        shim_attempt_end(&c->hook); /* a postStart that still runs */
        if (hook) {
            shim_attempt_begin(s, c, &c->hook, &c->pre_stop,
                               c->kill_mono > now ? c->kill_mono - now : 0);
        }
    }
    if (c->stop == STOP_HOOK) {
        shim_attempt_step(&c->hook, now);
        if (c->hook.h && !c->hook.done && now < c->kill_mono) {
            return;
        }
        if (c->hook.h && !c->hook.ok) {
            shim_tell(s, c, true, "FailedPreStopHook", "PreStopHook failed: %s", c->hook.text);
        }
        shim_attempt_end(&c->hook);
        c->stop = STOP_TURN;
    }
    if (c->stop == STOP_TURN && (has_turn(s, c) || now >= c->kill_mono)) {
        ask_to_end(c, now);
    }
    if (c->stop == STOP_ASKED && now >= c->kill_mono) {
        c->stop = STOP_KILLED;
        kill_container(c, SIGKILL);
    }
}

void shim_stop_container(struct shim *s, struct shim_container *c, int64_t grace_s) {
    int64_t until = shim_mono() + grace_s * NS_PER_SEC;

    if (c->state != CONTAINER_RUNNING) {
        return;
    }
    if (c->stop == STOP_NOT) {
        c->stop = STOP_QUEUED;
        c->kill_mono = until;
        c->graceful = grace_s > 0;
    } else if (until < c->kill_mono) {
        c->kill_mono = until;
        c->graceful &= grace_s > 0;
    }
}

void shim_stop_pod(struct shim *s, int64_t grace_s) {
    bool first = !s->stopping;

    s->stopping = true;
    s->dirty |= first;
    for (size_t i = 0; i < s->n; i++) {
        struct shim_container *c = &s->v[i];
        if (first && c->state == CONTAINER_RUNNING && c->stop == STOP_NOT) {
            shim_tell(s, c, false, "Killing", "Stopping container %.*s", STR_ARG(c->name));
        }
        shim_stop_container(s, c, grace_s);
    }
    shim_life_step(s);
}

/* ---- all of it ---- */

void shim_life_step(struct shim *s) {
    int64_t now = shim_mono();

    for (size_t i = 0; i < s->n; i++) {
        struct shim_container *c = &s->v[i];
        if (c->state != CONTAINER_RUNNING) {
            continue;
        }
        if (!c->post_done && c->hook.h && c->stop == STOP_NOT) {
            step_post_start(s, c, now);
        }
        step_probes(s, c, now);
        if (c->stop != STOP_NOT) {
            step_stop(s, c, now);
        }
    }
}

void shim_life_poll(struct shim *s, struct shim_poll *p) {
    for (size_t i = 0; i < s->n; i++) {
        for (int k = 0; k < PROBE_KINDS; k++) {
            shim_attempt_poll(&s->v[i].checks[k].attempt, p);
        }
        shim_attempt_poll(&s->v[i].hook, p);
    }
}

bool shim_life_reaped(struct shim *s, pid_t pid, int status) {
    for (size_t i = 0; i < s->n; i++) {
        struct shim_container *c = &s->v[i];
        if (shim_attempt_reaped(&c->hook, pid, status)) {
            return true;
        }
        for (int k = 0; k < PROBE_KINDS; k++) {
            if (shim_attempt_reaped(&c->checks[k].attempt, pid, status)) {
                return true;
            }
        }
    }
    return false;
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t container_due(const struct shim_container *c) {
    int64_t next = shim_attempt_due(&c->hook);

    if (c->hook.h && c->hook.done) {
        return 0;
    }
    for (int i = 0; i < PROBE_KINDS; i++) {
        const struct shim_check *k = &c->checks[i];
        bool may = c->post_done && (c->stop == STOP_NOT || i == PROBE_READINESS);
        if (k->attempt.h) {
            next = k->attempt.done ? 0 : least(next, shim_attempt_due(&k->attempt));
        } else if (may) {
            next = least(next, probe_due(&k->probe, c->started));
        }
    }
    if (c->stop == STOP_QUEUED) {
        return 0;
    }
    if (c->stop == STOP_TURN) {
        return least(next, shim_mono() + SIDECAR_STEP_MS * NS_PER_MS);
    }
    if (c->stop == STOP_KILLED) {
        return least(next, shim_mono() + SIDECAR_STEP_MS * NS_PER_MS);
    }
    return c->stop == STOP_ASKED || c->stop == STOP_HOOK ? least(next, c->kill_mono) : next;
}

int64_t shim_life_due(const struct shim *s) {
    int64_t next = INT64_MAX;

    for (size_t i = 0; i < s->n; i++) {
        if (s->v[i].state == CONTAINER_RUNNING) {
            next = least(next, container_due(&s->v[i]));
        }
    }
    return next;
}
