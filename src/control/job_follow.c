/* job_follow: see job_follow.h. */
#include "control/job_follow.h"

#include "api/queue_notes.h"
#include "base/limits.h"

bool job_pods_ready(const struct job *j) {
    const struct job_status *s = j->status;
    if (!s) {
        return job_workload_count(j) == 0;
    }
    int64_t n = (int64_t)s->succeeded + (s->ready.set ? s->ready.v : 0);
    n += s->uncounted_terminated_pods ? (int64_t)s->uncounted_terminated_pods->succeeded.n : 0;
    return n >= job_workload_count(j);
}

void job_ready_set(struct workload_change *ch, bool admitted, bool ready) {
    const struct condition *c = conditions_find(&ch->conditions, "PodsReady");
    bool recovers = c && (str_is(c->reason, "WaitForRecovery") || str_is(c->reason, "Recovered"));
    if (!admitted || (!ready && !recovers && !(c && str_is(c->status, "True")))) {
        workload_change_set(ch, "PodsReady", false, "WaitForStart",
                            STR("Not all pods are ready or succeeded"));
    } else if (!ready) {
        workload_change_set(ch, "PodsReady", false, "WaitForRecovery",
                            STR("At least one pod has failed, waiting for recovery"));
    } else {
        workload_change_set(ch, "PodsReady", true, recovers ? "Recovered" : "Started",
                            STR("All pods reached readiness and the workload is running"));
    }
}

/* ---- annotations ---- */

static bool shared(struct str key) {
    return str_is(key, "berth.dev/protected-until") || str_is(key, "berth.dev/minimum-runtime") ||
           str_is(key, KUEUE_GATED_ANNOTATION) || str_starts(key, STR("provreq.kueue.x-k8s.io/"));
}

/* A gate that was opened on the Workload alone stays open: nobody may close one. */
static bool closes(struct str key, const struct str *was, struct str now) {
    return str_is(key, KUEUE_GATED_ANNOTATION) &&
           !queue_gates_within(now, was ? *was : (struct str){0});
}

static const struct str *value_of(const struct str_map *m, struct str key) {
    for (size_t i = 0; i < m->n; i++) {
        if (str_eq(m->v[i].key, key)) {
            return &m->v[i].value;
        }
    }
    return NULL;
}

bool job_annotations_write(const struct job *j, const struct str_map *had, struct buf *out) {
    const struct str_map none = {0}, *now = &j->metadata->annotations;
    const struct str_map *before = had ? had : &none;
    size_t n = 0;
    for (size_t i = 0; i < now->n; i++) {
        const struct str *was = shared(now->v[i].key) ? value_of(before, now->v[i].key) : NULL;
        if (shared(now->v[i].key) && (!was || !str_eq(*was, now->v[i].value)) &&
            !(had && closes(now->v[i].key, was, now->v[i].value))) {
            buf_c(out, n++ ? "," : "");
            buf_json(out, now->v[i].key);
            buf_c(out, ":");
            buf_json(out, now->v[i].value);
        }
    }
    for (size_t i = 0; i < before->n; i++) {
        if (shared(before->v[i].key) && !value_of(now, before->v[i].key)) {
            buf_c(out, n++ ? "," : "");
            buf_json(out, before->v[i].key);
            buf_c(out, ":null");
        }
    }
    return n > 0;
}

struct str job_pending_checks(const struct workload *wl, struct arena *a) {
    struct buf b;
    buf_init(&b, LIMIT_EVENT_MESSAGE * 2);
    for (size_t i = 0; wl->status && i < wl->status->admission_checks.n; i++) {
        const struct admission_check_state *c = &wl->status->admission_checks.v[i];
        if (str_is(c->state, "Pending") && !str_empty(c->message)) {
            buf_f(&b, "%s%.*s: %.*s", b.n ? "; " : "", STR_ARG(c->name), STR_ARG(c->message));
        }
    }
    struct str text = b.n ? arena_str(a, buf_view(&b)) : (struct str){0};
    buf_release(&b);
    return text;
}
